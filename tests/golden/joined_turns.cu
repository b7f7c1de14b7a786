// heads: 1 launch
//   x: bf16[128, 256], read
//   w: bf16[4, 32, 256], read
//   q: f32[128, 4, 32], written
//   x_map: cuTensorMapEncodeTiled of x, UINT16, extents {256, 128}, boxes {64, 64}, SWIZZLE_128B
//   w_map: cuTensorMapEncodeTiled of w, UINT16, extents {256, 32, 4}, boxes {64, 32, 2}, SWIZZLE_128B
//   q_map: cuTensorMapEncodeTiled of q, UINT32, extents {32, 4, 128}, boxes {32, 1, 64}, SWIZZLE_128B
// heads<<<2, 256, 81984>>>(x_map, w_map, q_map);

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

static __device__ __forceinline__ void hinted_bulk_3d(void *to, const TensorMap &map, int x, int y,
                                                      int z, unsigned long long *landed, int bytes,
                                                      unsigned long long policy)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1, {%2, %3, %4}], [%5], %6;"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(mbarrier),
                     "l"(policy) : "memory");
}

static __device__ __forceinline__ void store_bulk_3d(const TensorMap &map, int x, int y, int z,
                                                     const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(from);
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile"
                 ".bulk_group [%0, {%1, %2, %3}], [%4];"
                 ::"l"(&map), "r"(x), "r"(y), "r"(z), "r"(at) : "memory");
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
heads(const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap w_map,
      const __grid_constant__ TensorMap q_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*w_shared)[64][64] = (unsigned short (*)[64][64])shared_memory;
    unsigned short (*x_shared)[64][64] = (unsigned short (*)[64][64])(shared_memory + 32768);
    float (*q_shared_1)[64][32] = (float (*)[64][32])(shared_memory + 65536);
    prefetch_map(x_map);
    prefetch_map(w_map);
    prefetch_map(q_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 81920);
    unsigned long long *released = landed + 4;
    roles_begin<4, 4>(landed, released);  // two mbarriers for each group of copies under way
    const int at = blockIdx.x;
    const int lane = threadIdx.x;
    if (threadIdx.x >= 128) {  // the producer, in a warpgroup of its own
        if (threadIdx.x == 128) {
            int begun = 0;
            for (int turn = 0; turn < 2; ++turn) {
                for (int ko = 0; ko < 4; ++ko) {
                    producer_acquire<4>(released, begun, 4);  // x_shared, w_shared: consumers have
                                                              // read the group of 4 iterations of
                                                              // ko before
                    hinted_bulk_2d(&x_shared[ko][0][0], x_map, ko * 64, at * 64,
                                   &landed[begun % 4], 8192, policy_evict_first());
                    hinted_bulk_3d(&w_shared[ko][0][0], w_map, ko * 64, 0, turn * 2,
                                   &landed[begun % 4], 8192, policy_evict_first());
                    producer_commit<4>(landed, begun);  // the copies above are one group
                }
            }
        }
    } else {  // the consumers
        int received = 0, freed = 0;
        for (int turn = 0; turn < 2; ++turn) {
            __align__(16) float q_local[2][16];
            for (int u = 0; u < 2; ++u) {
                for (int panel_nj_fused = 0; panel_nj_fused < 8; ++panel_nj_fused) {
                    for (int pair = 0; pair < 2; ++pair)
                        q_local[u][panel_nj_fused * 2 + pair] = 0.0f;
                }
            }
            for (int ko = 0; ko < 4; ++ko) {
                consumer_receive<4>(landed, received);  // x_shared, w_shared: copied by the
                                                        // producer, read below
                {
                    float *mma_c = &q_local[0][0];
                    const unsigned long long mma_p = 0x4000004000010000ull
                        | (unsigned)__cvta_generic_to_shared(&x_shared[ko][0][0]) % 0x40000 >> 4;
                    const unsigned long long mma_q = 0x4000004000010000ull
                        | (unsigned)__cvta_generic_to_shared(&w_shared[ko][0][0]) % 0x40000 >> 4;
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
                                     "%32, %33, 1, 1, 1, 0, 0;"
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
                                     : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
                }
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions
                                                                                // above are one
                                                                                // group
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // all instructions
                                                                                // but those of the
                                                                                // last group
                consumer_release<4>(released, freed, received - 1);  // x_shared, w_shared: read
                                                                     // above, but for the last
                                                                     // group, which instructions in
                                                                     // flight may read; the
                                                                     // producer overwrites them
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions:
                                                                            // q_shared is accessed
                                                                            // below
            settle_f32<32>(&q_local[0][0]);
            store_bulk_wait<0>();  // all stores
            fence_proxy_async();
            consumers_meet<128>();  // q_shared_1: read above by other threads, overwritten below
            #pragma unroll
            for (int panels = 0; panels < 2; ++panels) {
                #pragma unroll
                for (int u = 0; u < 2; ++u) {
                    #pragma unroll
                    for (int nj = 0; nj < 4; ++nj) {
                        *(float2 *)&q_shared_1[panels][lane / 32 * 16 + u * 8 + lane / 4 % 8]
                                              [(nj * 2 + lane % 4 / 2 ^ lane / 4 % 8) * 4
                                               + lane % 2 * 2] =
                            make_float2(q_local[u][panels * 8 + nj * 2],
                                        q_local[u][panels * 8 + nj * 2 + 1]);
                    }
                }
                fence_proxy_async();
                consumers_meet<128>();  // q_shared_1: written above by other threads, read below
                if (lane == 0)
                    store_bulk_3d(q_map, 0, turn * 2 + panels, at * 64, &q_shared_1[panels][0][0]);
                store_bulk_commit();  // the stores above are one group
            }
        }
        store_bulk_wait<0>();  // all stores
    }
}
