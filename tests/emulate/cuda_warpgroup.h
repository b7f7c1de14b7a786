/* cuda_warpgroup.h - PTX that the 128 threads of a warpgroup execute together: wgmma.
 *
 * The PTX manual says which thread has which sum, and where a descriptor has the elements of a
 * matrix in shared memory. Only the swizzle of 128 bytes is here: its pattern repeats after 1024
 * bytes, in which chunk c of 16 bytes in row r of 128 lies at c ^ r. */
#ifndef TIRC_TESTS_EMULATE_CUDA_WARPGROUP_H
#define TIRC_TESTS_EMULATE_CUDA_WARPGROUP_H

namespace emulator
{
/* Element k of row or column i of an operand. turned: its rows go along k. */
static inline unsigned short operand(uint64_t descriptor, bool turned, unsigned i, unsigned k)
{
    const uint64_t fields = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32;
    if ((descriptor & ~fields) != 1ull << 62)
        fault("a descriptor that is not of a matrix with the swizzle of 128 bytes");
    unsigned start = (unsigned)(descriptor & 0x3fff) << 4,
             leading = (unsigned)(descriptor >> 16 & 0x3fff) << 4,
             stride = (unsigned)(descriptor >> 32 & 0x3fff) << 4;
    unsigned at = turned ? start + i / 64 * leading + k / 8 * stride + k % 8 * 128 + i % 64 * 2
                         : start + i / 8 * stride + i % 8 * 128 + k * 2;
    return *(const unsigned short *)shared_pointer(at ^ (at >> 7 & 7) << 4);
}

/* Thread t has rows t / 32 * 16 + t % 32 / 4 and 8 more, of eight columns two: sum
 * 4 * j + 2 * u + v is in column 8 * j + t % 4 * 2 + v of row 8 * u. */
template <const NarrowFormat &format> static inline void add_products(const Product &p, float *sums)
{
    unsigned t = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 128;
    for (unsigned n = 0; n < (unsigned)p.n; n++) {
        unsigned row = t / 32 * 16 + t % 32 / 4 + n / 2 % 2 * 8;
        unsigned column = n / 4 * 8 + t % 4 * 2 + n % 2;
        double sum = sums[n];
        for (unsigned k = 0; k < 16; k++)
            sum += narrow_value(format, operand(p.a, p.a_turned, row, k)) *
                   narrow_value(format, operand(p.b, p.b_turned, column, k));
        sums[n] = (float)sum;
    }
}

/* The operands of the PTX: sums, two descriptors, the predicate that they begin with the sums,
 * signs, and which operands are turned. */
template <const NarrowFormat &format, int n> static inline void issue(int line, const void **all)
{
    Product product = {};
    product.n = n;
    for (int i = 0; i < n; i++)
        product.sums[i] = (float *)all[i];
    product.a = *(const unsigned long long *)all[n];
    product.b = *(const unsigned long long *)all[n + 1];
    product.a_turned = *(const int *)all[n + 5];
    product.b_turned = *(const int *)all[n + 6];
    product.add = add_products<format>;
    for (int i = 2; i < 5; i++)
        if (*(const int *)all[n + i] != 1)
            fault("a product that does not add to its sums");
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
WGMMA(64, bf16)
WGMMA(128, bf16)
WGMMA(256, bf16)
WGMMA(64, f16)
WGMMA(128, f16)
WGMMA(256, f16)
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
static inline void ptx_fence_proxy_async_shared_cta()
{
    emulator::proxy_fence();
}

#endif
