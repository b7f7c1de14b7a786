// matmul_weights: 1 launch
//   x: bf16[64, 256], read
//   W: i8[128, 256], read
//   scale: f32[128], read
//   y: bf16[64, 128], written
//   W_map: cuTensorMapEncodeTiled of W, UINT8, extents {256, 128}, boxes {128, 128}, SWIZZLE_128B
//   x_map: cuTensorMapEncodeTiled of x, UINT16, extents {256, 64}, boxes {64, 64}, SWIZZLE_128B
// matmul_weights<<<1, dim3(128, 2), 65544>>>(scale, y, W_map, x_map);

static __device__ __forceinline__ unsigned short bf16_from_f32(float f)
{
    unsigned short h;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
#else
    unsigned int bits = __float_as_uint(f);
    h = f != f ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
    return h;
}

static __device__ __forceinline__ unsigned int fma_bf16x2(unsigned int a, unsigned int b,
                                                          unsigned int c)
{
    unsigned int d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

static __device__ __forceinline__ unsigned int bf16x2_from_i8(unsigned char low, unsigned char high)
{
#if __CUDA_ARCH__ >= 800
    unsigned int bits = __byte_perm(low | (unsigned int)high << 8, 0x43, 0x4140);
    return fma_bf16x2(bits & 0xff80ff80u, 0xbf80bf80u, bits & 0xff7fff7fu);
#else
    return __float_as_uint((float)(signed char)low) >> 16
        | __float_as_uint((float)(signed char)high);
#endif
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

extern "C" __global__ void __launch_bounds__(256)
matmul_weights(const float *__restrict__ scale, unsigned short *__restrict__ y,
               const __grid_constant__ TensorMap W_map, const __grid_constant__ TensorMap x_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    signed char (*W_shared)[128][128] = (signed char (*)[128][128])shared_memory;
    unsigned short (*x_shared)[64][64] = (unsigned short (*)[64][64])(shared_memory + 32768);
    prefetch_map(W_map);
    prefetch_map(x_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 65536);
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    float T[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 8; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                T[u][nj * 2 + pair] = 0.0f;
        }
    }
    if (lane == 0 && group == 0) {
        hinted_bulk_2d(&W_shared[0][0][0], W_map, 0, 0, &landed[begun % 1], 16384,
                       policy_evict_first());
        for (int ax0_2 = 0; ax0_2 < 2; ++ax0_2)
            copy_bulk_2d(&x_shared[ax0_2][0][0], x_map, ax0_2 * 64, 0, &landed[begun % 1], 8192);
    }
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    fence_proxy_async();
    __syncthreads();  // W_shared, x_shared: written above by other threads, read below
    for (int ko = 0; ko < 2; ++ko) {
        const int ko_1 = ko + 1;
        __align__(16) unsigned short V[2][16][2];
        if (ko < 1 && lane == 0 && group == 0) {
            hinted_bulk_2d(&W_shared[ko_1][0][0], W_map, ko_1 * 128, 0, &landed[begun % 1], 16384,
                           policy_evict_first());
            for (int ax0_2 = 0; ax0_2 < 2; ++ax0_2)
                copy_bulk_2d(&x_shared[ko_1 * 2 + ax0_2][0][0], x_map, ko_1 * 128 + ax0_2 * 64, 0,
                             &landed[begun % 1], 8192);
        }
        copy_bulk_commit<1>(landed, begun);  // the copies above are one group
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const int j = group * 64 + lane / 32 * 16 + u * 8 + lane % 32 / 4;
            #pragma unroll
            for (int k = 0; k < 16; ++k) {
                const char2 W_shared_v =
                    *(const char2 *)&W_shared[ko][j]
                                             [(k / 2 ^ j % 8) * 16 + k % 2 * 8 + lane % 4 * 2];
                unsigned int result;
                result = bf16x2_from_i8(W_shared_v.x, W_shared_v.y);
                *(unsigned int *)&V[j / 8 % 2][k][0] = result;
            }
        }
        #pragma unroll
        for (int ki = 0; ki < 2; ++ki) {
            float *mma_c = &T[0][0];
            const unsigned mma_a[16] = {
                *(const unsigned int *)&V[0][ki * 8][0],
                *(const unsigned int *)&V[1][ki * 8][0],
                *(const unsigned int *)&V[0][ki * 8 + 1][0],
                *(const unsigned int *)&V[1][ki * 8 + 1][0],
                *(const unsigned int *)&V[0][ki * 8 + 2][0],
                *(const unsigned int *)&V[1][ki * 8 + 2][0],
                *(const unsigned int *)&V[0][ki * 8 + 3][0],
                *(const unsigned int *)&V[1][ki * 8 + 3][0],
                *(const unsigned int *)&V[0][ki * 8 + 4][0],
                *(const unsigned int *)&V[1][ki * 8 + 4][0],
                *(const unsigned int *)&V[0][ki * 8 + 5][0],
                *(const unsigned int *)&V[1][ki * 8 + 5][0],
                *(const unsigned int *)&V[0][ki * 8 + 6][0],
                *(const unsigned int *)&V[1][ki * 8 + 6][0],
                *(const unsigned int *)&V[0][ki * 8 + 7][0],
                *(const unsigned int *)&V[1][ki * 8 + 7][0],
            };
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&x_shared[ko * 2 + ki][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "{%32, %33, %34, %35}, "
                             "%36, 1, 1, 1, 0;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[16]), "+f"(mma_c[17]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[18]), "+f"(mma_c[19]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[20]), "+f"(mma_c[21]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[22]), "+f"(mma_c[23]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[24]), "+f"(mma_c[25]),
                               "+f"(mma_c[10]), "+f"(mma_c[11]),
                               "+f"(mma_c[26]), "+f"(mma_c[27]),
                               "+f"(mma_c[12]), "+f"(mma_c[13]),
                               "+f"(mma_c[28]), "+f"(mma_c[29]),
                               "+f"(mma_c[14]), "+f"(mma_c[15]),
                               "+f"(mma_c[30]), "+f"(mma_c[31])
                             : "r"(mma_a[k * 4]), "r"(mma_a[k * 4 + 1]),
                               "r"(mma_a[k * 4 + 2]), "r"(mma_a[k * 4 + 3]),
                               "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: V is
                                                                        // accessed below
        settle_f32<32>(&T[0][0]);
        copy_bulk_wait<1>(landed, waited, begun);  // all copies
        fence_proxy_async();
        __syncthreads();  // W_shared, x_shared: written above, read in the next iteration of ko by
                          // other threads
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int j = group * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        #pragma unroll
        for (int nj = 0; nj < 8; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                y[(long long)(lane % 4 * 256 + group * 64 + lane / 32 * 16 + lane / 4 % 8)
                  + (long long)pair * 128 + (nj * 1024 + u * 8)] =
                    bf16_from_f32(scale[j] * T[u][nj * 2 + pair]);
        }
    }
}
