/* cuda_warpgroup.h - PTX that the 128 threads of a warpgroup execute together: wgmma.
 *
 * The PTX manual says which thread has which sum, and where a descriptor has the elements of a
 * matrix in shared memory. Only the swizzle of 128 bytes is here: its pattern repeats after 1024
 * bytes, in which chunk c of 16 bytes in row r of 128 lies at c ^ r. */
#ifndef TIRC_TESTS_EMULATE_CUDA_WARPGROUP_H
#define TIRC_TESTS_EMULATE_CUDA_WARPGROUP_H

namespace emulator
{
/* A matrix in shared memory, as its descriptor has it. */
struct Matrix {
    unsigned start, leading, stride;
};

static inline Matrix matrix(uint64_t descriptor)
{
    const uint64_t fields = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32;
    if ((descriptor & ~fields) != 1ull << 62)
        fault("a descriptor that is not of a matrix with the swizzle of 128 bytes");
    return {(unsigned)(descriptor & 0x3fff) << 4, (unsigned)(descriptor >> 16 & 0x3fff) << 4,
            (unsigned)(descriptor >> 32 & 0x3fff) << 4};
}

static inline const void *swizzled(unsigned at)
{
    return shared_pointer(at ^ (at >> 7 & 7) << 4);
}

/* Element k of row or column i of an operand whose rows go along k. */
template <class T> static inline T along_k(uint64_t descriptor, unsigned i, unsigned k)
{
    Matrix m = matrix(descriptor);
    return *(const T *)swizzled(m.start + i / 8 * m.stride + i % 8 * 128 + k * sizeof(T));
}

/* The same of two bytes; turned: its rows do not. */
static inline unsigned short operand(uint64_t descriptor, bool turned, unsigned i, unsigned k)
{
    if (!turned)
        return along_k<unsigned short>(descriptor, i, k);
    Matrix m = matrix(descriptor);
    return *(const unsigned short *)swizzled(m.start + i / 64 * m.leading + k / 8 * m.stride +
                                             k % 8 * 128 + i % 64 * 2);
}

/* Thread t has rows t / 32 * 16 + t % 32 / 4 and 8 more, of eight columns two: sum
 * 4 * j + 2 * u + v is in column 8 * j + t % 4 * 2 + v of row 8 * u. */
struct Place {
    unsigned row, column;
};

static inline Place place_of(unsigned sum)
{
    unsigned t = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 128;
    return {t / 32 * 16 + t % 32 / 4 + sum / 2 % 2 * 8, sum / 4 * 8 + t % 4 * 2 + sum % 2};
}

/* Adds the terms of so many steps along k, exactly, and rounds each sum once. */
template <class Term>
static inline void add_terms(const Product &p, uint32_t *sums, unsigned steps, Term term)
{
    for (unsigned n = 0; n < (unsigned)p.n; n++) {
        Place at = place_of(n);
        float before;
        memcpy(&before, &sums[n], sizeof before);
        double sum = before;
        for (unsigned k = 0; k < steps; k++)
            sum += term(n, at, k);
        float after = (float)sum;
        memcpy(&sums[n], &after, sizeof after);
    }
}

template <const NarrowFormat &format>
static inline void add_products(const Product &p, uint32_t *sums)
{
    add_terms(p, sums, 16, [&](unsigned, Place at, unsigned k) {
        return narrow_value(format, operand(p.a, p.a_turned, at.row, k)) *
               narrow_value(format, operand(p.b, p.b_turned, at.column, k));
    });
}

/* Of f32, whose last digits the hardware ignores. */
static inline void add_tf32(const Product &p, uint32_t *sums)
{
    add_terms(p, sums, 8, [&](unsigned, Place at, unsigned k) {
        return truncated(along_k<uint32_t>(p.a, at.row, k)) *
               truncated(along_k<uint32_t>(p.b, at.column, k));
    });
}

/* The same with the first operand in registers. */
static inline void add_tf32_rows(const Product &p, uint32_t *sums)
{
    add_terms(p, sums, 8, [&](unsigned n, Place at, unsigned k) {
        return truncated(p.rows[n / 2 % 2][k]) * truncated(along_k<uint32_t>(p.b, at.column, k));
    });
}

/* Of floats of 8 bits. The hardware keeps fewer digits of the sum. */
template <const NarrowFormat &format>
static inline void add_floats(const Product &p, uint32_t *sums)
{
    add_terms(p, sums, 32, [&](unsigned, Place at, unsigned k) {
        return narrow_value(format, along_k<unsigned char>(p.a, at.row, k)) *
               narrow_value(format, along_k<unsigned char>(p.b, at.column, k));
    });
}

template <class T> static inline void add_bytes(const Product &p, uint32_t *sums)
{
    for (unsigned n = 0; n < (unsigned)p.n; n++) {
        Place at = place_of(n);
        for (unsigned k = 0; k < 32; k++)
            sums[n] += (uint32_t)(along_k<T>(p.a, at.row, k) * along_k<T>(p.b, at.column, k));
    }
}

/* The operands of the PTX: sums, two descriptors, the predicate that they begin with the sums. */
static inline Product product_of(int n, const void **all)
{
    Product product = {};
    product.n = n;
    for (int i = 0; i < n; i++)
        product.sums[i] = (void *)all[i];
    product.a = *(const unsigned long long *)all[n];
    product.b = *(const unsigned long long *)all[n + 1];
    if (*(const int *)all[n + 2] != 1)
        fault("a product that does not add to its sums");
    return product;
}

/* Of floats also signs, and which operands are turned. */
template <const NarrowFormat &format, int n> static inline void issue(int line, const void **all)
{
    Product product = product_of(n, all);
    product.a_turned = *(const int *)all[n + 5];
    product.b_turned = *(const int *)all[n + 6];
    product.add = add_products<format>;
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

/* Sums, four registers, a descriptor, whether sums begin with what they hold, and signs. */
template <int n> static inline void issue_registers(int line, const void **all)
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
    product.add = add_tf32_rows;
    for (int i = 6; i < 8; i++)
        if (*(const int *)all[n + i] != 1)
            fault("a product with an operand of the other sign");
    product_rows(line, registers, &product);
    product_issue(line, product);
}

template <class T, int n> static inline void issue_bytes(int line, const void **all)
{
    Product product = product_of(n, all);
    product.add = add_bytes<T>;
    product_issue(line, product);
}
} // namespace emulator

#define WGMMA(n, type)                                                                             \
    template <class... Operands>                                                                   \
    static inline void ptx_wgmma_mma_async_sync_aligned_m64n##n##k16_f32_##type##_##type(          \
        Operands &&...operands)                                                                    \
    {                                                                                              \
        static_assert(sizeof...(operands) == n / 2 + 7, "m64nNk16 has N / 2 sums");                \
        const void *all[] = {&operands...};                                                        \
        emulator::issue<type##_format, n / 2>(__LINE__, all);                                      \
    }
WGMMA(8, bf16)
WGMMA(24, bf16)
WGMMA(64, bf16)
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

#define WGMMA(n, type, element)                                                                    \
    template <class... Operands>                                                                   \
    static inline void ptx_wgmma_mma_async_sync_aligned_m64n##n##k32_s32_##type##_##type(          \
        Operands &&...operands)                                                                    \
    {                                                                                              \
        static_assert(sizeof...(operands) == n / 2 + 3, "m64nNk32 has N / 2 sums");                \
        const void *all[] = {&operands...};                                                        \
        emulator::issue_bytes<element, n / 2>(__LINE__, all);                                      \
    }
WGMMA(8, s8, signed char)
WGMMA(24, s8, signed char)
WGMMA(64, s8, signed char)
WGMMA(96, s8, signed char)
WGMMA(128, s8, signed char)
WGMMA(192, s8, signed char)
WGMMA(256, s8, signed char)
WGMMA(8, u8, unsigned char)
WGMMA(24, u8, unsigned char)
WGMMA(64, u8, unsigned char)
WGMMA(96, u8, unsigned char)
WGMMA(128, u8, unsigned char)
WGMMA(192, u8, unsigned char)
WGMMA(256, u8, unsigned char)
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
            emulator::issue_registers<n / 2>(__LINE__, all);                                       \
        else                                                                                       \
            emulator::issue_along_k<n / 2>(__LINE__, all, emulator::add_tf32);                     \
    }
WGMMA(8)
WGMMA(64)
WGMMA(128)
WGMMA(256)
#undef WGMMA

#define WGMMA(n, type, format)                                                                     \
    template <class... Operands>                                                                   \
    static inline void ptx_wgmma_mma_async_sync_aligned_m64n##n##k32_f32_##type##_##type(          \
        Operands &&...operands)                                                                    \
    {                                                                                              \
        static_assert(sizeof...(operands) == n / 2 + 5, "m64nNk32 has N / 2 sums");                \
        const void *all[] = {&operands...};                                                        \
        emulator::issue_along_k<n / 2>(__LINE__, all, emulator::add_floats<format>);               \
    }
WGMMA(8, e4m3, f8e4m3_format)
WGMMA(64, e4m3, f8e4m3_format)
WGMMA(128, e4m3, f8e4m3_format)
WGMMA(192, e4m3, f8e4m3_format)
WGMMA(256, e4m3, f8e4m3_format)
WGMMA(64, e5m2, f8e5m2_format)
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
