// matmul_bf16: 2 launches
//   A: bf16[20, 128], read
//   B: bf16[128, 72], read
//   C: bf16[20, 72], written
//   B_map: cuTensorMapEncodeTiled of B, UINT16, extents {72, 128}, boxes {64, 64}, SWIZZLE_128B
//   T_rf: f32[2, 20, 72], temporary, allocated by the caller
// matmul_bf16<<<dim3(2, 1, 2), 128>>>(A, T_rf, B_map);
// matmul_bf16_1<<<3, 128>>>(C, T_rf);

static __device__ __forceinline__ unsigned int bf16x2_from_f32(float low, float high)
{
    unsigned int h2;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h2) : "f"(high), "f"(low));
#else
    unsigned int l = __float_as_uint(low), h = __float_as_uint(high);
    l = low != low ? 0x7fff0000 : l + 0x7fff + (l >> 16 & 1);
    h = high != high ? 0x7fff0000 : h + 0x7fff + (h >> 16 & 1);
    h2 = l >> 16 | (h & 0xffff0000);
#endif
    return h2;
}

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
matmul_bf16(const unsigned short *__restrict__ A, float *__restrict__ T_rf,
            const __grid_constant__ TensorMap B_map)
{
    __shared__ __align__(1024) unsigned short A_shared[64][64];
    __shared__ __align__(1024) unsigned short B_shared[64][64];
    prefetch_map(B_map);
    __shared__ unsigned long long landed[1];
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int part = blockIdx.z;
    const int bx = blockIdx.x;
    const int lane = threadIdx.x;
    __align__(16) float T_rf_local[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 8; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                T_rf_local[u][nj * 2 + pair] = 0.0f;
        }
    }
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int i = each * 16 + lane / 8;
        copy_async_or_zero<16>(&A_shared[i][(lane % 8 ^ i % 8) * 8],
                               &A[i * 128 + part * 64 + lane % 8 * 8], i < 20);
    }
    if (lane == 0)
        hinted_bulk_2d(&B_shared[0][0], B_map, bx * 64, part * 64, &landed[begun % 1], 8192,
                       policy_evict_first());
    copy_async_commit();  // the copies above are one group
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_async_wait<0>();  // all copies
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    float *mma_c = &T_rf_local[0][0];
    const unsigned long long mma_p = 0x4000004000010000ull
        | (unsigned)__cvta_generic_to_shared(&A_shared[0][0]) % 0x40000 >> 4;
    const unsigned long long mma_q = 0x4000004002000000ull
        | (unsigned)__cvta_generic_to_shared(&B_shared[0][0]) % 0x40000 >> 4;
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
                     "%32, %33, 1, 1, 1, 0, 1;"
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
                     : "l"(mma_p + 2 * k), "l"(mma_q + 128 * k));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above are
                                                                    // one group
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: T_rf_shared
                                                                    // is accessed below
    settle_f32<32>(&T_rf_local[0][0]);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int i = lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (i < 20) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                if (bx * 32 + nj * 4 + lane % 4 < 36) {
                    *(float2 *)&T_rf[(long long)(part * 1440 + lane / 32 * 1152 + lane / 4 % 8 * 72
                                                 + bx * 64 + lane % 4 * 2) + (u * 576 + nj * 8)] =
                        make_float2(T_rf_local[u][nj * 2], T_rf_local[u][nj * 2 + 1]);
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
matmul_bf16_1(unsigned short *__restrict__ C, const float *__restrict__ T_rf)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) float T[4];
    const int i = (b * 128 + t) / 18;
    if (i < 20) {
        *(float4 *)&T[0] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        #pragma unroll
        for (int part = 0; part < 2; ++part) {
            const float4 T_v = *(const float4 *)&T[0];
            const float4 T_rf_v1 = *(const float4 *)&T_rf[part * 1440 + b * 512 + t * 4];
            float4 result;
            result.x = T_v.x + T_rf_v1.x;
            result.y = T_v.y + T_rf_v1.y;
            result.z = T_v.z + T_rf_v1.z;
            result.w = T_v.w + T_rf_v1.w;
            *(float4 *)&T[0] = result;
        }
    }
    if (b * 128 + t < 360) {
        *(uint2 *)&C[b * 512 + t * 4] =
            make_uint2(bf16x2_from_f32(T[0], T[1]), bf16x2_from_f32(T[2], T[3]));
    }
}
