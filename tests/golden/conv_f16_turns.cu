// conv_f16_nhwc: 1 launch
//   x: f16[3, 16, 16, 64], read
//   w: f16[3, 3, 64, 72], read
//   y: f16[3, 16, 16, 72], written
//   x_map: cuTensorMapEncodeTiled of x, UINT16, extents {64, 16, 16, 3}, boxes {64, 8, 8, 1}, SWIZZLE_128B
//   w_map: cuTensorMapEncodeTiled of w, UINT16, extents {72, 64, 3, 3}, boxes {64, 64, 1, 1}, SWIZZLE_128B
// conv_f16_nhwc<<<3, dim3(128, 3), 114736>>>(y, x_map, w_map);

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

static __device__ __forceinline__ void copy_bulk_4d(void *to, const TensorMap &map, int x, int y,
                                                    int z, int u, unsigned long long *landed,
                                                    int bytes)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(mbarrier) : "memory");
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

static __device__ __forceinline__ void warpgroup_meets(int warpgroup)
{
    asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 2) : "memory");
}

template <int n>
static __device__ __forceinline__ void settle_f32(float *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+f"(t[i])::"memory");
}

extern "C" __global__ void __launch_bounds__(384)
conv_f16_nhwc(unsigned short *__restrict__ y, const __grid_constant__ TensorMap x_map,
              const __grid_constant__ TensorMap w_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*w_shared)[2][64][64] = (unsigned short (*)[2][64][64])shared_memory;
    unsigned short (*x_shared)[128][64] = (unsigned short (*)[128][64])(shared_memory + 49152);
    unsigned short (*y_shared)[8][8][64] = (unsigned short (*)[8][8][64])(shared_memory + 98304);
    prefetch_map(x_map);
    prefetch_map(w_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 114688);
    unsigned long long *released = landed + 3;
    roles_begin<3, 8>(landed, released);  // two mbarriers for each group of copies under way
    const int at = blockIdx.x;
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    if (threadIdx.y >= 2) {  // the producer, in a warpgroup of its own
        if (threadIdx.x == 0) {
            int begun = 0;
            for (int turn = 0; turn < (10 - at) / 3; ++turn) {
                for (int k_ = 0; k_ < 9; ++k_) {
                    producer_acquire<3>(released, begun, 3);  // x_shared, w_shared: consumers have
                                                              // read the group of 3 iterations of k
                                                              // before
                    for (int ax0 = 0; ax0 < 2; ++ax0)
                        copy_bulk_4d(&x_shared[k_ % 3][ax0 * 64][0], x_map, 0,
                                     (turn * 3 + at) % 2 * 8 + k_ % 3 - 1,
                                     (turn * 3 + at) / 2 % 2 * 8 + k_ / 3 - 1,
                                     (turn * 3 + at) / 4 * 2 + ax0, &landed[begun % 3], 8192);
                    for (int panels = 0; panels < 2; ++panels)
                        copy_bulk_4d(&w_shared[k_ % 3][panels][0][0], w_map, panels * 64, 0,
                                     k_ % 3, k_ / 3, &landed[begun % 3], 8192);
                    producer_commit<3>(landed, begun);  // the copies above are one group
                }
            }
        }
    } else {  // the consumers
        int received = 0, freed = 0;
        for (int turn = 0; turn < (10 - at) / 3; ++turn) {
            const int n = (turn * 3 + at) / 4 * 2 + group;
            __align__(16) float T[2][32];
            for (int u_1 = 0; u_1 < 2; ++u_1) {
                for (int panel = 0; panel < 2; ++panel) {
                    for (int nj = 0; nj < 8; ++nj) {
                        for (int pair = 0; pair < 2; ++pair)
                            T[u_1][panel * 16 + nj * 2 + pair] = 0.0f;
                    }
                }
            }
            for (int k_ = 0; k_ < 9; ++k_) {
                consumer_receive<3>(landed, received);  // x_shared, w_shared: copied by the
                                                        // producer, read below
                {
                    float *mma_c = &T[0][0];
                    const unsigned long long mma_p = 0x4000004000010000ull
                        | (unsigned)__cvta_generic_to_shared(&x_shared[k_ % 3][group * 64][0])
                                % 0x40000 >> 4;
                    const unsigned long long mma_q = 0x4000004002000000ull
                        | (unsigned)__cvta_generic_to_shared(&w_shared[k_ % 3][0][0][0]) % 0x40000
                            >> 4;
                    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                    #pragma unroll
                    for (int k = 0; k < 4; k++)
                        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
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
                                                                                // above are one
                                                                                // group
                asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions
                settle_f32<64>(&T[0][0]);
                consumer_release<3>(released, freed, received);  // x_shared, w_shared: read above;
                                                                 // the producer overwrites them
            }
            #pragma unroll
            for (int panels = 0; panels < 2; ++panels) {
                if (n < 3) {
                    #pragma unroll
                    for (int u = 0; u < 2; ++u) {
                        #pragma unroll
                        for (int nj = 0; nj < 8; ++nj) {
                            if (panels * 32 + nj * 4 + lane % 4 < 36) {
                                *(unsigned int *)&y_shared[group][lane / 32 * 2 + u][lane / 4 % 8]
                                                          [(nj ^ lane / 4 % 8) * 8
                                                           + lane % 4 * 2] =
                                    f16x2_from_f32(T[u][panels * 16 + nj * 2],
                                                   T[u][panels * 16 + nj * 2 + 1]);
                            }
                        }
                    }
                }
                warpgroup_meets(threadIdx.y);  // y_shared: written above by other threads of the
                                               // warpgroup, read below
                if (n < 3 && panels * 8 + lane % 8 < 9) {
                    #pragma unroll
                    for (int each = 0; each < 4; ++each) {
                        *(uint4 *)&y[((n * 16 + (turn * 3 + at) / 2 % 2 * 8 + each * 2 + lane / 64)
                                          * 16 + (turn * 3 + at) % 2 * 8 + lane / 8 % 8) * 72
                                     + panels * 64 + lane % 8 * 8] =
                            *(const uint4 *)&y_shared[group][each * 2 + lane / 64][lane / 8 % 8]
                                                     [(lane % 8 ^ lane / 8 % 8) * 8];
                    }
                }
                warpgroup_meets(threadIdx.y);  // y_shared: read above, overwritten in the next
                                               // iteration of panels by other threads of the
                                               // warpgroup
            }
        }
    }
}
