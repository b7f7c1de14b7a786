// matmul_bf16: 1 launch
//   A: bf16[320, 264], read
//   B: bf16[264, 136], read
//   C: bf16[320, 136], written
//   A_map: cuTensorMapEncodeTiled of A, UINT16, extents {264, 320}, boxes {64, 64}, SWIZZLE_128B
//   B_map: cuTensorMapEncodeTiled of B, UINT16, extents {136, 264}, boxes {64, 32}, SWIZZLE_128B
// matmul_bf16<<<dim3(4, 3), 256, 81968>>>(C, A_map, B_map);

static __device__ __forceinline__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::: "memory");
}

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

template <int blocks>
static __device__ __forceinline__ void multicast_bulk_2d(void *to, const TensorMap &map, int x,
                                                         int y, unsigned long long *landed,
                                                         int bytes)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(mbarrier),
                 "h"((unsigned short)((1 << blocks) - 1)) : "memory");
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

template <int groups, int blocks>
static __device__ __forceinline__ void consumer_release_cluster(unsigned long long *released,
                                                                int &freed, int until)
{
    unsigned int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    __syncwarp();
    for (; freed < until; ++freed)
        if (lane < blocks)
            asm volatile("{ .reg .b32 there;"
                         " mapa.shared::cluster.u32 there, %0, %1;"
                         " mbarrier.arrive.shared::cluster.b64 _, [there]; }"
                         ::"r"((unsigned int)__cvta_generic_to_shared(released + freed % groups)),
                         "r"(lane) : "memory");
}

template <int threads>
static __device__ __forceinline__ void consumers_meet()
{
    asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
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

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256)
matmul_bf16(unsigned short *__restrict__ C, const __grid_constant__ TensorMap A_map,
            const __grid_constant__ TensorMap B_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*B_shared)[2][64][64] = (unsigned short (*)[2][64][64])shared_memory;
    unsigned short (*A_shared)[64][64] = (unsigned short (*)[64][64])(shared_memory + 49152);
    unsigned short (*C_shared)[64] = (unsigned short (*)[64])(shared_memory + 73728);
    prefetch_map(A_map);
    prefetch_map(B_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 81920);
    unsigned long long *released = landed + 3;
    roles_begin<3, 8>(landed, released);  // two mbarriers for each group of copies under way
    const int place = (int)blockIdx.y * 2 + (int)blockIdx.x / 2;
    const int of = place % 3;
    const int bx = place / 3;
    const int rank = (int)blockIdx.x % 2;
    const int lane = threadIdx.x;
    cluster_barrier();  // A_shared, B_shared: blocks of the cluster copy into those of others below
    if (threadIdx.x >= 128) {  // the producer, in a warpgroup of its own
        if (threadIdx.x == 128) {
            int begun = 0;
            for (int ko = 0; ko < 5; ++ko) {
                producer_acquire<3>(released, begun, 3);  // A_shared, B_shared: consumers of all
                                                          // blocks of the cluster have read the
                                                          // group of 3 iterations of ko before
                hinted_bulk_2d(&A_shared[ko % 3][0][0], A_map, ko * 64 - 56, of * 128 + rank * 64,
                               &landed[begun % 3], 8192, policy_evict_first());
                for (int ax1_1 = 0; ax1_1 < 2; ++ax1_1)
                    multicast_bulk_2d<2>(&B_shared[ko % 3][ax1_1][rank * 32][0], B_map,
                                         bx * 128 + ax1_1 * 64, ko * 64 + rank * 32 - 56,
                                         &landed[begun % 3], 8192);
                producer_commit<3>(landed, begun);  // the copies above are one group
            }
        }
    } else {  // the consumers
        int received = 0, freed = 0;
        __align__(16) float T[2][32];
        for (int u = 0; u < 2; ++u) {
            for (int panel = 0; panel < 2; ++panel) {
                for (int nj = 0; nj < 8; ++nj) {
                    for (int pair = 0; pair < 2; ++pair)
                        T[u][panel * 16 + nj * 2 + pair] = 0.0f;
                }
            }
        }
        for (int ko = 0; ko < 5; ++ko) {
            consumer_receive<3>(landed, received);  // A_shared, B_shared: copied by the producers
                                                    // of the cluster, read below
            {
                float *mma_c = &T[0][0];
                const unsigned long long mma_p = 0x4000004000010000ull
                    | (unsigned)__cvta_generic_to_shared(&A_shared[ko % 3][0][0]) % 0x40000 >> 4;
                const unsigned long long mma_q = 0x4000004002000000ull
                    | (unsigned)__cvta_generic_to_shared(&B_shared[ko % 3][0][0][0]) % 0x40000 >> 4;
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                #pragma unroll
                for (int k = 0; k < 4; k++)
                    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
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
                                 "%64, %65, 1, 1, 1, 0, 1;"
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
                                 : "l"(mma_p + 2 * k), "l"(mma_q + 128 * k));
            }
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions
                                                                            // above are one group
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // all instructions but
                                                                            // those of the last
                                                                            // group
            consumer_release_cluster<3, 2>(released, freed, received - 1);  // A_shared, B_shared:
                                                                            // read above, but for
                                                                            // the last group, which
                                                                            // instructions in
                                                                            // flight may read; the
                                                                            // producer overwrites
                                                                            // them
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: T is
                                                                        // accessed below
        settle_f32<64>(&T[0][0]);
        #pragma unroll
        for (int panels = 0; panels < 2; ++panels) {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                const int i = of * 128 + rank * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
                if (i < 320) {
                    #pragma unroll
                    for (int nj = 0; nj < 8; ++nj) {
                        if (bx * 64 + panels * 32 + nj * 4 + lane % 4 < 68) {
                            *(unsigned int *)&C_shared[lane / 32 * 16 + u * 8 + lane / 4 % 8]
                                                      [(nj ^ lane / 4 % 8) * 8 + lane % 4 * 2] =
                                bf16x2_from_f32(T[u][panels * 16 + nj * 2],
                                                T[u][panels * 16 + nj * 2 + 1]);
                        }
                    }
                }
            }
            consumers_meet<128>();  // C_shared: written above by other threads, read below
            if (bx * 16 + panels * 8 + lane % 8 < 17) {
                #pragma unroll
                for (int each = 0; each < 4; ++each) {
                    const int i = of * 128 + rank * 64 + each * 16 + lane / 8;
                    if (i < 320) {
                        *(uint4 *)&C[i * 136 + bx * 128 + panels * 64 + lane % 8 * 8] =
                            *(const uint4 *)&C_shared[each * 16 + lane / 8]
                                                     [(lane % 8 ^ lane / 8 % 8) * 8];
                    }
                }
            }
            consumers_meet<128>();  // C_shared: read above, overwritten in the next iteration of
                                    // panels by other threads
        }
    }
    cluster_barrier();  // A_shared, B_shared: other blocks release copies to this one above, which
                        // ends with it
}
