// matmul_bf16: 1 launch
//   A: bf16[128, 256], read
//   B: bf16[256, 128], read
//   C: bf16[128, 128], written
//   A_map: cuTensorMapEncodeTiled of A, UINT16, extents {256, 128}, boxes {64, 64}, SWIZZLE_128B
//   B_map: cuTensorMapEncodeTiled of B, UINT16, extents {128, 256}, boxes {64, 64}, SWIZZLE_128B
//   C_map: cuTensorMapEncodeTiled of C, UINT16, extents {128, 128}, boxes {64, 64}, SWIZZLE_128B
// matmul_bf16<<<2, 256>>>(A_map, B_map, C_map);

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

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

static __device__ __forceinline__ void prefetch_map(const TensorMap &map)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
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

static __device__ __forceinline__ void store_bulk_2d(const TensorMap &map, int x, int y,
                                                     const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(from);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile"
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

template <int groups, int warps>
static __device__ __forceinline__ void roles_begin(unsigned long long *landed,
                                                   unsigned long long *released)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        for (int i = 0; i < groups; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         ::"r"((unsigned int)__cvta_generic_to_shared(landed + i))
                         : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                         ::"r"((unsigned int)__cvta_generic_to_shared(released + i)),
                         "n"(warps) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

static __device__ __forceinline__ void mbarrier_arrive(unsigned long long *at)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 ::"r"((unsigned int)__cvta_generic_to_shared(at)) : "memory");
}

static __device__ __forceinline__ void mbarrier_wait(unsigned long long *at,
                                                     unsigned int parity)
{
    unsigned int mbarrier = (unsigned int)__cvta_generic_to_shared(at), complete;
    do
        asm volatile("{ .reg .pred p;"
                     " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(complete) : "r"(mbarrier), "r"(parity) : "memory");
    while (!complete);
}

template <int groups>
static __device__ __forceinline__ void producer_acquire(unsigned long long *released,
                                                        int begun, int most)
{
    int before = begun - most;
    if (before >= 0)
        mbarrier_wait(released + before % groups, before / groups & 1);
}

template <int groups>
static __device__ __forceinline__ void producer_commit(unsigned long long *landed,
                                                       int &begun)
{
    mbarrier_arrive(landed + begun % groups);
    ++begun;
}

template <int groups>
static __device__ __forceinline__ void consumer_receive(unsigned long long *landed,
                                                        int &received)
{
    mbarrier_wait(landed + received % groups, received / groups & 1);
    ++received;
}

template <int groups>
static __device__ __forceinline__ void consumer_release(unsigned long long *released,
                                                        int &freed, int until)
{
    unsigned int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    __syncwarp();
    for (; freed < until; ++freed)
        if (lane == 0)
            mbarrier_arrive(released + freed % groups);
}

template <int threads>
static __device__ __forceinline__ void consumers_meet()
{
    asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
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
matmul_bf16(const __grid_constant__ TensorMap A_map, const __grid_constant__ TensorMap B_map,
            const __grid_constant__ TensorMap C_map)
{
    __shared__ __align__(1024) unsigned short B_shared[2][64][64];
    __shared__ __align__(1024) unsigned short A_shared[2][64][64];
    __shared__ __align__(1024) unsigned short C_shared[64][64];
    prefetch_map(A_map);
    prefetch_map(B_map);
    prefetch_map(C_map);
    __shared__ unsigned long long landed[4];
    unsigned long long *released = landed + 2;
    roles_begin<2, 4>(landed, released);  // two mbarriers for each group of copies under way
    const int at = blockIdx.x;
    const int lane = threadIdx.x;
    if (threadIdx.x >= 128) {  // the producer, in a warpgroup of its own
        if (threadIdx.x == 128) {
            int begun = 0;
            for (int turn = 0; turn < 2; ++turn) {
                for (int ko = 0; ko < 4; ++ko) {
                    producer_acquire<2>(released, begun, 2);  // A_shared, B_shared: consumers have
                                                              // read the group of 2 iterations of
                                                              // ko before
                    hinted_bulk_2d(&A_shared[ko % 2][0][0], A_map, ko * 64, at * 64,
                                   &landed[begun % 2], 8192, policy_evict_first());
                    hinted_bulk_2d(&B_shared[ko % 2][0][0], B_map, turn * 64, ko * 64,
                                   &landed[begun % 2], 8192, policy_evict_first());
                    producer_commit<2>(landed, begun);  // the copies above are one group
                }
            }
        }
    } else {  // the consumers
        int received = 0, freed = 0;
        for (int turn = 0; turn < 2; ++turn) {
            __align__(16) float T[2][16];
            for (int u = 0; u < 2; ++u) {
                for (int nj = 0; nj < 8; ++nj) {
                    for (int pair = 0; pair < 2; ++pair)
                        T[u][nj * 2 + pair] = 0.0f;
                }
            }
            for (int ko = 0; ko < 4; ++ko) {
                consumer_receive<2>(landed, received);  // A_shared, B_shared: copied by the
                                                        // producer, read below
                {
                    float *mma_c = &T[0][0];
                    const unsigned long long mma_p = 0x4000004000010000ull
                        | (unsigned)__cvta_generic_to_shared(&A_shared[ko % 2][0][0]) % 0x40000
                            >> 4;
                    const unsigned long long mma_q = 0x4000004002000000ull
                        | (unsigned)__cvta_generic_to_shared(&B_shared[ko % 2][0][0]) % 0x40000
                            >> 4;
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
                }
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions
                                                                                // above are one
                                                                                // group
                asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions
                settle_f32<32>(&T[0][0]);
                consumer_release<2>(released, freed, received);  // A_shared, B_shared: read above;
                                                                 // the producer overwrites them
            }
            store_bulk_wait<0>();  // all stores
            fence_proxy_async();
            consumers_meet<128>();  // C_shared: read above by other threads, overwritten below
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    *(unsigned int *)&C_shared[lane / 32 * 16 + u * 8 + lane / 4 % 8]
                                              [(nj ^ lane / 4 % 8) * 8 + lane % 4 * 2] =
                        bf16x2_from_f32(T[u][nj * 2], T[u][nj * 2 + 1]);
                }
            }
            fence_proxy_async();
            consumers_meet<128>();  // C_shared: written above by other threads, read below
            if (lane == 0)
                store_bulk_2d(C_map, turn * 64, at * 64, &C_shared[0][0]);
            store_bulk_commit();  // the stores above are one group
        }
        store_bulk_wait<0>();  // all stores
    }
}
