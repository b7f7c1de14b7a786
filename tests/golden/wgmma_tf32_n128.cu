// matmul_tf32_rz_nt: 1 launch
//   A: f32[64, 64], read
//   B: f32[128, 64], read
//   C: f32[64, 128], written
//   A_map: cuTensorMapEncodeTiled of A, UINT32, extents {64, 64}, boxes {32, 64}, SWIZZLE_128B
//   B_map: cuTensorMapEncodeTiled of B, UINT32, extents {64, 128}, boxes {32, 128}, SWIZZLE_128B
// matmul_tf32_rz_nt<<<1, 128, 49168>>>(C, A_map, B_map);

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
matmul_tf32_rz_nt(float *__restrict__ C, const __grid_constant__ TensorMap A_map,
                  const __grid_constant__ TensorMap B_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    float (*A_shared)[64][32] = (float (*)[64][32])shared_memory;
    float (*B_shared)[128][32] = (float (*)[128][32])(shared_memory + 16384);
    prefetch_map(A_map);
    prefetch_map(B_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 49152);
    int begun = 0, waited = 0;
    copy_bulk_begin<2>(landed);  // an mbarrier for each group of copies under way
    const int lane = threadIdx.x;
    __align__(16) float C_local[2][32];
    for (int u = 0; u < 2; ++u) {
        for (int panel_nj_fused = 0; panel_nj_fused < 16; ++panel_nj_fused) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[u][panel_nj_fused * 2 + pair] = 0.0f;
        }
    }
    if (lane == 0) {
        for (int ko_first = 0; ko_first < 2; ++ko_first) {
            hinted_bulk_2d(&A_shared[ko_first][0][0], A_map, ko_first * 32, 0, &landed[begun % 2],
                           8192, policy_evict_first());
            hinted_bulk_2d(&B_shared[ko_first][0][0], B_map, ko_first * 32, 0, &landed[begun % 2],
                           16384, policy_evict_first());
        }
    }
    copy_bulk_commit<2>(landed, begun);  // the copies above are one group
    copy_bulk_wait<2>(landed, waited, begun);  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 2; ++ko) {
        copy_bulk_commit<2>(landed, begun);  // the copies above are one group
        {
            float *mma_c = &C_local[0][0];
            const unsigned long long mma_p = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&A_shared[ko][0][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&B_shared[ko][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31, "
                             "%32, %33, %34, %35, "
                             "%36, %37, %38, %39, "
                             "%40, %41, %42, %43, "
                             "%44, %45, %46, %47, "
                             "%48, %49, %50, %51, "
                             "%52, %53, %54, %55, "
                             "%56, %57, %58, %59, "
                             "%60, %61, %62, %63}, "
                             "%64, %65, 1, 1, 1;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[32]), "+f"(mma_c[33]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[34]), "+f"(mma_c[35]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[36]), "+f"(mma_c[37]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[38]), "+f"(mma_c[39]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[40]), "+f"(mma_c[41]),
                               "+f"(mma_c[10]), "+f"(mma_c[11]),
                               "+f"(mma_c[42]), "+f"(mma_c[43]),
                               "+f"(mma_c[12]), "+f"(mma_c[13]),
                               "+f"(mma_c[44]), "+f"(mma_c[45]),
                               "+f"(mma_c[14]), "+f"(mma_c[15]),
                               "+f"(mma_c[46]), "+f"(mma_c[47]),
                               "+f"(mma_c[16]), "+f"(mma_c[17]),
                               "+f"(mma_c[48]), "+f"(mma_c[49]),
                               "+f"(mma_c[18]), "+f"(mma_c[19]),
                               "+f"(mma_c[50]), "+f"(mma_c[51]),
                               "+f"(mma_c[20]), "+f"(mma_c[21]),
                               "+f"(mma_c[52]), "+f"(mma_c[53]),
                               "+f"(mma_c[22]), "+f"(mma_c[23]),
                               "+f"(mma_c[54]), "+f"(mma_c[55]),
                               "+f"(mma_c[24]), "+f"(mma_c[25]),
                               "+f"(mma_c[56]), "+f"(mma_c[57]),
                               "+f"(mma_c[26]), "+f"(mma_c[27]),
                               "+f"(mma_c[58]), "+f"(mma_c[59]),
                               "+f"(mma_c[28]), "+f"(mma_c[29]),
                               "+f"(mma_c[60]), "+f"(mma_c[61]),
                               "+f"(mma_c[30]), "+f"(mma_c[31]),
                               "+f"(mma_c[62]), "+f"(mma_c[63])
                             : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: C_shared is
                                                                    // accessed below
    settle_f32<64>(&C_local[0][0]);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        #pragma unroll
        for (int panel = 0; panel < 2; ++panel) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                *(float2 *)&C[(long long)(lane / 32 * 2048 + lane / 4 % 8 * 128 + lane % 4 * 2)
                              + (u * 1024 + panel * 64 + nj * 8)] =
                    make_float2(C_local[u][panel * 16 + nj * 2],
                                C_local[u][panel * 16 + nj * 2 + 1]);
            }
        }
    }
}
