// four_bits: 1 launch
//   x: f16[16, 1024], read
//   w: u8[64, 512], read
//   s: f16[64, 8], read
//   y: f16[16, 64], written
//   w_map: cuTensorMapEncodeTiled of w, UINT8, extents {512, 64}, boxes {64, 64}, SWIZZLE_64B
//   x_map: cuTensorMapEncodeTiled of x, UINT16, extents {1024, 16}, boxes {64, 16}, SWIZZLE_128B
// four_bits<<<8, 128>>>(s, y, w_map, x_map);

static __device__ __forceinline__ float f16_to_f32(unsigned short h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ unsigned short f16_from_f32(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

template <class T>
static __device__ __forceinline__ T *in_block(T *place, int rank)
{
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(place), "r"(rank));
    return there;
}

static __device__ __forceinline__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::: "memory");
}

static __device__ __forceinline__ unsigned int f16x2_from_f32(float low, float high)
{
    unsigned int h2;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h2) : "f"(high), "f"(low));
#else
    unsigned short l, h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(l) : "f"(low));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(high));
    h2 = l | (unsigned int)h << 16;
#endif
    return h2;
}

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

static __device__ __forceinline__ void prefetch_map(const TensorMap &map)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_begin(unsigned long long *landed)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        for (int i = 0; i < groups; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         ::"r"((unsigned int)__cvta_generic_to_shared(landed + i))
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

static __device__ __forceinline__ void copy_bulk_2d(void *to, const TensorMap &map, int x, int y,
                                                    unsigned long long *landed, int bytes)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(mbarrier) : "memory");
}

static __device__ __forceinline__ void hinted_bulk_2d(void *to, const TensorMap &map, int x, int y,
                                                      unsigned long long *landed, int bytes,
                                                      unsigned long long policy)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(mbarrier), "l"(policy) : "memory");
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_commit(unsigned long long *landed, int &begun)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                     ::"r"((unsigned int)__cvta_generic_to_shared(landed + begun % groups))
                     : "memory");
    ++begun;
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_wait(unsigned long long *landed, int &waited,
                                                      int until)
{
    for (; waited < until; ++waited) {
        unsigned int mbarrier =
            (unsigned int)__cvta_generic_to_shared(landed + waited % groups);
        unsigned int parity = waited / groups & 1, complete;
        do
            asm volatile("{ .reg .pred p;"
                         " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                         " selp.u32 %0, 1, 0, p; }"
                         : "=r"(complete) : "r"(mbarrier), "r"(parity) : "memory");
        while (!complete);
    }
}

static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

template <int n>
static __device__ __forceinline__ void settle_f32(float *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+f"(t[i])::"memory");
}

static __device__ __forceinline__ unsigned long long policy_evict_first()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(128)
four_bits(const unsigned short *__restrict__ s, unsigned short *__restrict__ y,
          const __grid_constant__ TensorMap w_map, const __grid_constant__ TensorMap x_map)
{
    __shared__ float t_rf[16][64];
    __shared__ __align__(512) unsigned char w_shared[64][64];
    __shared__ __align__(1024) unsigned short x_shared[2][16][64];
    prefetch_map(w_map);
    prefetch_map(x_map);
    __shared__ unsigned long long landed[1];
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int part = blockIdx.x;
    const int lane = threadIdx.x;
    float t_rf_local[2][4];
    const int i = part * 2 + lane / 64;
    const int j = lane % 64;
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 2; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                t_rf_local[u][nj * 2 + pair] = 0.0f;
        }
    }
    __align__(16) unsigned short t_factor[2][16][2];
    if (lane == 0)
        hinted_bulk_2d(&w_shared[0][0], w_map, part * 64, 0, &landed[begun % 1], 4096,
                       policy_evict_first());
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    fence_proxy_async();
    __syncthreads();  // w_shared: written above by other threads, read below
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int j_1 = lane / 32 * 16 + u * 8 + lane % 32 / 4;
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            *(unsigned int *)&t_factor[j_1 / 8 % 2][k][0] =
                f16x2_from_f32(
                    (__uint_as_float(
                         (unsigned int)(
                             ((int)w_shared[j_1][(k / 4 ^ j_1 / 2 % 4) * 16 + k % 4 * 4 + lane % 4]
                              & 15) - 8) + 8u | 1258291200u) - 8388616.0f)
                        * f16_to_f32(s[j_1 * 8 + part]),
                    (__uint_as_float(
                         (unsigned int)(
                             ((int)w_shared[j_1][(k / 4 ^ j_1 / 2 % 4) * 16 + k % 4 * 4 + lane % 4]
                              >> 4) - 8) + 8u | 1258291200u) - 8388616.0f)
                        * f16_to_f32(s[j_1 * 8 + part]));
        }
    }
    if (lane == 0) {
        for (int ax0_1 = 0; ax0_1 < 2; ++ax0_1)
            copy_bulk_2d(&x_shared[ax0_1][0][0], x_map, part * 128 + ax0_1 * 64, 0,
                         &landed[begun % 1], 2048);
    }
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    fence_proxy_async();
    __syncthreads();  // x_shared: written above by other threads, read below
    #pragma unroll
    for (int ki = 0; ki < 2; ++ki) {
        float *mma_c = &t_rf_local[0][0];
        const unsigned mma_a[16] = {
            *(const unsigned int *)&t_factor[0][ki * 8][0],
            *(const unsigned int *)&t_factor[1][ki * 8][0],
            *(const unsigned int *)&t_factor[0][ki * 8 + 1][0],
            *(const unsigned int *)&t_factor[1][ki * 8 + 1][0],
            *(const unsigned int *)&t_factor[0][ki * 8 + 2][0],
            *(const unsigned int *)&t_factor[1][ki * 8 + 2][0],
            *(const unsigned int *)&t_factor[0][ki * 8 + 3][0],
            *(const unsigned int *)&t_factor[1][ki * 8 + 3][0],
            *(const unsigned int *)&t_factor[0][ki * 8 + 4][0],
            *(const unsigned int *)&t_factor[1][ki * 8 + 4][0],
            *(const unsigned int *)&t_factor[0][ki * 8 + 5][0],
            *(const unsigned int *)&t_factor[1][ki * 8 + 5][0],
            *(const unsigned int *)&t_factor[0][ki * 8 + 6][0],
            *(const unsigned int *)&t_factor[1][ki * 8 + 6][0],
            *(const unsigned int *)&t_factor[0][ki * 8 + 7][0],
            *(const unsigned int *)&t_factor[1][ki * 8 + 7][0],
        };
        const unsigned long long mma_q = 0x4000004000010000ull
            | (unsigned)__cvta_generic_to_shared(&x_shared[ki][0][0]) % 0x40000 >> 4;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
                         "%0, %1, %2, %3, "
                         "%4, %5, %6, %7}, "
                         "{%8, %9, %10, %11}, "
                         "%12, 1, 1, 1, 0;"
                         :
                           "+f"(mma_c[0]), "+f"(mma_c[1]),
                           "+f"(mma_c[4]), "+f"(mma_c[5]),
                           "+f"(mma_c[2]), "+f"(mma_c[3]),
                           "+f"(mma_c[6]), "+f"(mma_c[7])
                         : "r"(mma_a[k * 4]), "r"(mma_a[k * 4 + 1]),
                           "r"(mma_a[k * 4 + 2]), "r"(mma_a[k * 4 + 3]),
                           "l"(mma_q + 2 * k));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above are
                                                                    // one group
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: t_factor is
                                                                    // accessed below
    settle_f32<8>(&t_rf_local[0][0]);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        #pragma unroll
        for (int nj = 0; nj < 2; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                *in_block(
                    &t_rf[nj * 8 + lane % 4 * 2 + pair][lane / 32 * 16 + u * 8 + lane / 4 % 8],
                    part) = t_rf_local[u][nj * 2 + pair];
        }
    }
    fence_proxy_async();
    cluster_barrier();  // t_rf: written above by other threads, read below
    float t = 0.0f;
    #pragma unroll
    for (int part_1 = 0; part_1 < 8; ++part_1)
        t += *in_block(&t_rf[i][j], part_1);
    y[i * 64 + j] = f16_from_f32(t);
    fence_proxy_async();
    cluster_barrier();  // other blocks read the memory of this one above, which ends with it
}
