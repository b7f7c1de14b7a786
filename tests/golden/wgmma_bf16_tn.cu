// product: 1 launch
//   A: bf16[72, 64], read
//   B: bf16[72, 66], read
//   C: f32[64, 66], written
//   A_map: cuTensorMapEncodeTiled of A, UINT16, extents {64, 72}, boxes {64, 64}, SWIZZLE_128B
// product<<<2, 128>>>(B, C, A_map);

template <int bytes>
static __device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool wanted)
{
#if __CUDA_ARCH__ >= 800
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to), n = wanted ? bytes : 0;
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(n));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from),
                     "n"(bytes), "r"(n));
#else
    if (bytes == 16)
        *(uint4 *)to = wanted ? *(const uint4 *)from : uint4();
    else if (bytes == 8)
        *(uint2 *)to = wanted ? *(const uint2 *)from : uint2();
    else
        *(unsigned int *)to = wanted ? *(const unsigned int *)from : 0;
#endif
}

static __device__ __forceinline__ void copy_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int pending>
static __device__ __forceinline__ void copy_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
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

extern "C" __global__ void __launch_bounds__(128)
product(const unsigned short *__restrict__ B, float *__restrict__ C,
        const __grid_constant__ TensorMap A_map)
{
    __shared__ __align__(1024) unsigned short A_shared[2][64][64];
    __shared__ __align__(1024) unsigned short B_shared[2][64][64];
    prefetch_map(A_map);
    __shared__ unsigned long long landed[2];
    int begun = 0, waited = 0;
    copy_bulk_begin<2>(landed);  // an mbarrier for each group of copies under way
    const int bx = blockIdx.x;
    const int lane = threadIdx.x;
    __align__(16) float C_local[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 8; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[u][nj * 2 + pair] = 0.0f;
        }
    }
    for (int ko_first = 0; ko_first < 2; ++ko_first) {
        if (lane == 0)
            hinted_bulk_2d(&A_shared[ko_first][0][0], A_map, 0, ko_first * 64 - 56,
                           &landed[begun % 2], 8192, policy_evict_first());
        #pragma unroll
        for (int each = 0; each < 16; ++each) {
            const int k = ko_first * 64 + each * 4 + lane / 32;
            copy_async_or_zero<4>(
                &B_shared[ko_first][each * 4 + lane / 32]
                         [(lane % 32 / 4 ^ each % 2 * 4 + lane / 32) * 8 + lane % 4 * 2],
                &B[(long long)(lane / 32 * 66 + bx * 64 + lane % 32 * 2)
                   + (long long)ko_first * 4224 + (each * 264 - 3696)],
                k > 55 && bx * 32 + lane % 32 < 33);
        }
    }
    copy_async_commit();  // the copies above are one group
    copy_bulk_commit<2>(landed, begun);  // the copies above are one group
    copy_async_wait<0>();  // all copies
    copy_bulk_wait<2>(landed, waited, begun);  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 2; ++ko) {
        copy_async_commit();  // the copies above are one group
        copy_bulk_commit<2>(landed, begun);  // the copies above are one group
        {
            float *mma_c = &C_local[0][0];
            const unsigned long long mma_p = 0x4000004002000000ull
                | (unsigned)__cvta_generic_to_shared(&A_shared[ko][0][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004002000000ull
                | (unsigned)__cvta_generic_to_shared(&B_shared[ko][0][0]) % 0x40000 >> 4;
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
                             "%32, %33, 1, 1, 1, 1, 1;"
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
                             : "l"(mma_p + 128 * k), "l"(mma_q + 128 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: C_shared is
                                                                    // accessed below
    settle_f32<32>(&C_local[0][0]);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        #pragma unroll
        for (int nj = 0; nj < 8; ++nj) {
            if (bx * 32 + nj * 4 + lane % 4 < 33) {
                *(float2 *)&C[(long long)(lane / 32 * 1056 + lane / 4 % 8 * 66 + bx * 64
                                          + lane % 4 * 2) + (u * 528 + nj * 8)] =
                    make_float2(C_local[u][nj * 2], C_local[u][nj * 2 + 1]);
            }
        }
    }
}
