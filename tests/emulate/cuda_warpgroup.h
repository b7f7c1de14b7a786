/* cuda_warpgroup.h - PTX that the 128 threads of a warpgroup execute together: wgmma.
 *
 * It takes the operands apart; warpgroup.cpp computes the products. */
#ifndef TIRC_TESTS_EMULATE_CUDA_WARPGROUP_H
#define TIRC_TESTS_EMULATE_CUDA_WARPGROUP_H

namespace emulator
{
/* The operands of the PTX: sums, two descriptors, the predicate that they begin with the sums. */
static inline Product product_of(int n, const void **all)
{
    Product product = {};
    product.n = n;
    for (int i = 0; i < n; i++)
        product.sums[i] = (void *)all[i];
    product.a = *(const unsigned long long *)all[n];
    product.b = *(const unsigned long long *)all[n + 1];
    product.fresh = *(const int *)all[n + 2] == 0;
    return product;
}

/* Of floats also signs, and which operands are turned. */
template <int n>
static inline void issue_halves(int line, const void **all,
                                void (*add)(const Product &, uint32_t *))
{
    Product product = product_of(n, all);
    product.a_turned = *(const int *)all[n + 5];
    product.b_turned = *(const int *)all[n + 6];
    product.add = add;
    for (int i = 3; i < 5; i++)
        if (*(const int *)all[n + i] != 1)
            fault("a product with an operand of the other sign");
    product_issue(line, product);
}

/* Whose operands are never turned: f32, and floats of 8 bits. */
template <int n>
static inline void issue_along_k(int line, const void **all,
                                 void (*add)(const Product &, uint32_t *))
{
    Product product = product_of(n, all);
    product.add = add;
    for (int i = 3; i < 5; i++)
        if (*(const int *)all[n + i] != 1)
            fault("a product with an operand of the other sign");
    product_issue(line, product);
}

/* Sums, four registers of so many elements of a row in all, a descriptor, whether sums begin with
 * what they hold, and signs of floats; of halves also whether the second operand is turned. */
template <int n>
static inline void issue_registers(int line, const void **all, int elements, bool floats,
                                   void (*add)(const Product &, uint32_t *))
{
    Product product = {};
    uint32_t registers[4];
    product.n = n;
    for (int i = 0; i < n; i++)
        product.sums[i] = (void *)all[i];
    for (int i = 0; i < 4; i++)
        registers[i] = *(const uint32_t *)all[n + i];
    product.b = *(const unsigned long long *)all[n + 4];
    product.fresh = *(const int *)all[n + 5] == 0;
    product.b_turned = elements == 16 && *(const int *)all[n + 8];
    product.add = add;
    for (int i = 6; floats && i < 8; i++)
        if (*(const int *)all[n + i] != 1)
            fault("a product with an operand of the other sign");
    product_rows(line, registers, elements, &product);
    product_issue(line, product);
}

template <int n>
static inline void issue_bytes(int line, const void **all, void (*add)(const Product &, uint32_t *))
{
    Product product = product_of(n, all);
    product.add = add;
    product_issue(line, product);
}
} // namespace emulator

#define WGMMA(n, type)                                                                             \
    template <class... Operands>                                                                   \
    static inline void ptx_wgmma_mma_async_sync_aligned_m64n##n##k16_f32_##type##_##type(          \
        Operands &&...operands)                                                                    \
    {                                                                                              \
        static_assert(sizeof...(operands) == n / 2 + 7 || sizeof...(operands) == n / 2 + 9,        \
                      "m64nNk16 has N / 2 sums");                                                  \
        const void *all[] = {&operands...};                                                        \
        if (sizeof...(operands) == n / 2 + 9)                                                      \
            emulator::issue_registers<n / 2>(__LINE__, all, 16, true, emulator::add_##type);       \
        else                                                                                       \
            emulator::issue_halves<n / 2>(__LINE__, all, emulator::add_##type);                    \
    }
WGMMA(8, bf16)
WGMMA(24, bf16)
WGMMA(64, bf16)
WGMMA(80, bf16)
WGMMA(96, bf16)
WGMMA(128, bf16)
WGMMA(192, bf16)
WGMMA(256, bf16)
WGMMA(8, f16)
WGMMA(24, f16)
WGMMA(64, f16)
WGMMA(96, f16)
WGMMA(128, f16)
WGMMA(192, f16)
WGMMA(256, f16)
#undef WGMMA

#define WGMMA(n, type)                                                                             \
    template <class... Operands>                                                                   \
    static inline void ptx_wgmma_mma_async_sync_aligned_m64n##n##k32_s32_##type##_##type(          \
        Operands &&...operands)                                                                    \
    {                                                                                              \
        static_assert(sizeof...(operands) == n / 2 + 3 || sizeof...(operands) == n / 2 + 6,        \
                      "m64nNk32 has N / 2 sums");                                                  \
        const void *all[] = {&operands...};                                                        \
        if (sizeof...(operands) == n / 2 + 6)                                                      \
            emulator::issue_registers<n / 2>(__LINE__, all, 32, false, emulator::add_##type);      \
        else                                                                                       \
            emulator::issue_bytes<n / 2>(__LINE__, all, emulator::add_##type);                     \
    }
WGMMA(8, s8)
WGMMA(24, s8)
WGMMA(64, s8)
WGMMA(96, s8)
WGMMA(128, s8)
WGMMA(192, s8)
WGMMA(256, s8)
WGMMA(8, u8)
WGMMA(24, u8)
WGMMA(64, u8)
WGMMA(96, u8)
WGMMA(128, u8)
WGMMA(192, u8)
WGMMA(256, u8)
#undef WGMMA

#define WGMMA(n)                                                                                   \
    template <class... Operands>                                                                   \
    static inline void ptx_wgmma_mma_async_sync_aligned_m64n##n##k8_f32_tf32_tf32(                 \
        Operands &&...operands)                                                                    \
    {                                                                                              \
        static_assert(sizeof...(operands) == n / 2 + 5 || sizeof...(operands) == n / 2 + 8,        \
                      "m64nNk8 has N / 2 sums");                                                   \
        const void *all[] = {&operands...};                                                        \
        if (sizeof...(operands) == n / 2 + 8)                                                      \
            emulator::issue_registers<n / 2>(__LINE__, all, 8, true, emulator::add_tf32);          \
        else                                                                                       \
            emulator::issue_along_k<n / 2>(__LINE__, all, emulator::add_tf32);                     \
    }
WGMMA(8)
WGMMA(64)
WGMMA(128)
WGMMA(256)
#undef WGMMA

#define WGMMA(n, type)                                                                             \
    template <class... Operands>                                                                   \
    static inline void ptx_wgmma_mma_async_sync_aligned_m64n##n##k32_f32_##type##_##type(          \
        Operands &&...operands)                                                                    \
    {                                                                                              \
        static_assert(sizeof...(operands) == n / 2 + 5 || sizeof...(operands) == n / 2 + 8,        \
                      "m64nNk32 has N / 2 sums");                                                  \
        const void *all[] = {&operands...};                                                        \
        if (sizeof...(operands) == n / 2 + 8)                                                      \
            emulator::issue_registers<n / 2>(__LINE__, all, 32, true, emulator::add_##type);       \
        else                                                                                       \
            emulator::issue_along_k<n / 2>(__LINE__, all, emulator::add_##type);                   \
    }
WGMMA(8, e4m3)
WGMMA(64, e4m3)
WGMMA(128, e4m3)
WGMMA(192, e4m3)
WGMMA(256, e4m3)
WGMMA(64, e5m2)
#undef WGMMA

static inline void ptx_wgmma_fence_sync_aligned()
{
    emulator::product_fence();
}
static inline void ptx_wgmma_commit_group_sync_aligned()
{
    emulator::product_commit();
}
static inline void ptx_wgmma_wait_group_sync_aligned(int pending)
{
    emulator::product_wait(pending);
}
/* An asm without instructions, for the compiler alone. */
static inline void ptx_()
{
}
static inline void ptx_fence_proxy_async_shared_cta()
{
    emulator::proxy_fence();
}

#endif
