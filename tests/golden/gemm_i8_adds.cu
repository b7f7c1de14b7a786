// matmul_i8_nt: 2 launches
//   A: i8[100, 2048], read
//   B: i8[200, 2048], read
//   C: i32[100, 200], written
//   A_map: cuTensorMapEncodeTiled of A, UINT8, extents {2048, 100}, boxes {128, 64}, SWIZZLE_128B
//   B_map: cuTensorMapEncodeTiled of B, UINT8, extents {2048, 200}, boxes {128, 64}, SWIZZLE_128B
//   C_map: cuTensorMapEncodeTiled of C, UINT32, extents {200, 100}, boxes {32, 64}, SWIZZLE_128B
// matmul_i8_nt<<<40, 128>>>(C);
// matmul_i8_nt_1<<<dim3(4, 2, 2), 128, 147480>>>(A_map, B_map, C_map);

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

static __device__ __forceinline__ void add_bulk_2d(const TensorMap &map, int x, int y,
                                                   const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(from);
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile"
                 ".bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(x), "r"(y), "r"(at) : "memory");
}

static __device__ __forceinline__ void store_bulk_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int pending>
static __device__ __forceinline__ void store_bulk_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
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
static __device__ __forceinline__ void settle_i32(int *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+r"(t[i])::"memory");
}

static __device__ __forceinline__ unsigned long long policy_evict_first()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

extern "C" __global__ void __launch_bounds__(128)
matmul_i8_nt(int *__restrict__ C)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    if (b * 128 + t < 5000) {
        *(int4 *)&C[b * 512 + t * 4] = make_int4(0, 0, 0, 0);
    }
}

extern "C" __global__ void __launch_bounds__(128)
matmul_i8_nt_1(const __grid_constant__ TensorMap A_map, const __grid_constant__ TensorMap B_map,
               const __grid_constant__ TensorMap C_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    signed char (*A_shared)[64][128] = (signed char (*)[64][128])shared_memory;
    signed char (*B_shared)[64][128] = (signed char (*)[64][128])(shared_memory + 65536);
    int (*C_rf)[64][32] = (int (*)[64][32])(shared_memory + 131072);
    prefetch_map(A_map);
    prefetch_map(B_map);
    prefetch_map(C_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 147456);
    int begun = 0, waited = 0;
    copy_bulk_begin<3>(landed);  // an mbarrier for each group of copies under way
    const int place = (int)blockIdx.y * 4 + (int)blockIdx.x;
    const int by = place % 2;
    const int bx = place / 2;
    const int part = blockIdx.z;
    const int lane = threadIdx.x;
    __align__(16) int C_rf_local[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int panel_nj_fused = 0; panel_nj_fused < 8; ++panel_nj_fused) {
            for (int pair = 0; pair < 2; ++pair)
                C_rf_local[u][panel_nj_fused * 2 + pair] = 0;
        }
    }
    if (lane == 0) {
        for (int ko_first = 0; ko_first < 3; ++ko_first) {
            for (int ax0 = 0; ax0 < 2; ++ax0)
                hinted_bulk_2d(&A_shared[ko_first * 2 + ax0][0][0], A_map,
                               part * 1024 + ko_first * 256 + ax0 * 128, by * 64,
                               &landed[begun % 3], 8192, policy_evict_first());
            for (int ax0_1 = 0; ax0_1 < 2; ++ax0_1)
                hinted_bulk_2d(&B_shared[ko_first * 2 + ax0_1][0][0], B_map,
                               part * 1024 + ko_first * 256 + ax0_1 * 128, bx * 64,
                               &landed[begun % 3], 8192, policy_evict_first());
        }
    }
    copy_bulk_commit<3>(landed, begun);  // the copies above are one group
    copy_bulk_wait<3>(landed, waited, begun);  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 4; ++ko) {
        const int ko_1 = ko + 3;
        if (ko < 1 && lane == 0) {
            for (int ax0 = 0; ax0 < 2; ++ax0)
                hinted_bulk_2d(&A_shared[ko * 2 + ax0 + 6][0][0], A_map,
                               part * 1024 + ko_1 * 256 + ax0 * 128, by * 64, &landed[begun % 3],
                               8192, policy_evict_first());
            for (int ax0_1 = 0; ax0_1 < 2; ++ax0_1)
                hinted_bulk_2d(&B_shared[ko * 2 + ax0_1 + 6][0][0], B_map,
                               part * 1024 + ko_1 * 256 + ax0_1 * 128, bx * 64, &landed[begun % 3],
                               8192, policy_evict_first());
        }
        copy_bulk_commit<3>(landed, begun);  // the copies above are one group
        #pragma unroll
        for (int ki = 0; ki < 2; ++ki) {
            int *mma_c = &C_rf_local[0][0];
            const unsigned long long mma_p = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&A_shared[ko * 2 + ki][0][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&B_shared[ko * 2 + ki][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "%32, %33, 1;"
                             :
                               "+r"(mma_c[0]), "+r"(mma_c[1]),
                               "+r"(mma_c[16]), "+r"(mma_c[17]),
                               "+r"(mma_c[2]), "+r"(mma_c[3]),
                               "+r"(mma_c[18]), "+r"(mma_c[19]),
                               "+r"(mma_c[4]), "+r"(mma_c[5]),
                               "+r"(mma_c[20]), "+r"(mma_c[21]),
                               "+r"(mma_c[6]), "+r"(mma_c[7]),
                               "+r"(mma_c[22]), "+r"(mma_c[23]),
                               "+r"(mma_c[8]), "+r"(mma_c[9]),
                               "+r"(mma_c[24]), "+r"(mma_c[25]),
                               "+r"(mma_c[10]), "+r"(mma_c[11]),
                               "+r"(mma_c[26]), "+r"(mma_c[27]),
                               "+r"(mma_c[12]), "+r"(mma_c[13]),
                               "+r"(mma_c[28]), "+r"(mma_c[29]),
                               "+r"(mma_c[14]), "+r"(mma_c[15]),
                               "+r"(mma_c[30]), "+r"(mma_c[31])
                             : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        copy_bulk_wait<3>(landed, waited, begun - 2);  // all copies but those of the last 2 groups
        fence_proxy_async();
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: C_rf_shared
                                                                    // is accessed below
    settle_i32<32>(&C_rf_local[0][0]);
    #pragma unroll
    for (int panels = 0; panels < 2; ++panels) {
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const int i = by * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
            if (i < 100) {
                #pragma unroll
                for (int nj = 0; nj < 4; ++nj) {
                    if (bx * 32 + panels * 16 + nj * 4 + lane % 4 < 100) {
                        *(int2 *)&C_rf[panels][lane / 32 * 16 + u * 8 + lane / 4 % 8]
                                      [(nj * 2 + lane % 4 / 2 ^ lane / 4 % 8) * 4 + lane % 2 * 2] =
                            make_int2(C_rf_local[u][panels * 8 + nj * 2],
                                      C_rf_local[u][panels * 8 + nj * 2 + 1]);
                    }
                }
            }
        }
        fence_proxy_async();
        __syncthreads();  // C_rf: written above by other threads, read below
        if (lane == 0)
            add_bulk_2d(C_map, bx * 64 + panels * 32, by * 64, &C_rf[panels][0][0]);
        store_bulk_commit();  // the stores above are one group
    }
    store_bulk_wait<0>();  // all stores
}
