// conv_f16_nhwc: 1 launch
//   x: f16[3, 9, 8, 128], read
//   w: f16[3, 3, 128, 72], read
//   y: f16[3, 9, 8, 72], written
//   x_map: cuTensorMapEncodeTiled of x, UINT16, extents {128, 8, 9, 3}, boxes {64, 8, 8, 1}, SWIZZLE_128B
//   w_map: cuTensorMapEncodeTiled of w, UINT16, extents {72, 128, 3, 3}, boxes {64, 64, 1, 1}, SWIZZLE_128B
// conv_f16_nhwc<<<4, dim3(128, 2), 114704>>>(y, x_map, w_map);

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

extern "C" __global__ void __launch_bounds__(256)
conv_f16_nhwc(unsigned short *__restrict__ y, const __grid_constant__ TensorMap x_map,
              const __grid_constant__ TensorMap w_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*x_shared)[128][64] = (unsigned short (*)[128][64])shared_memory;
    unsigned short (*w_shared)[2][64][64] = (unsigned short (*)[2][64][64])(shared_memory + 49152);
    unsigned short (*y_shared)[8][8][64] = (unsigned short (*)[8][8][64])(shared_memory + 98304);
    prefetch_map(x_map);
    prefetch_map(w_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 114688);
    int begun = 0, waited = 0;
    copy_bulk_begin<2>(landed);  // an mbarrier for each group of copies under way
    const int grid = blockIdx.x;
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float T[2][32];
    const int n = grid / 2 * 2 + group;
    const int j = lane / 8 % 8;
    for (int u_1 = 0; u_1 < 2; ++u_1) {
        for (int panel = 0; panel < 2; ++panel) {
            for (int nj = 0; nj < 8; ++nj) {
                for (int pair = 0; pair < 2; ++pair)
                    T[u_1][panel * 16 + nj * 2 + pair] = 0.0f;
            }
        }
    }
    if (lane == 0 && group == 0) {
        for (int k_first = 0; k_first < 2; ++k_first) {
            for (int ax0 = 0; ax0 < 2; ++ax0)
                copy_bulk_4d(&x_shared[k_first][ax0 * 64][0], x_map, k_first * 64, -1,
                             grid % 2 * 8 - 1, grid / 2 * 2 + ax0, &landed[begun % 2], 8192);
            for (int panels = 0; panels < 2; ++panels)
                copy_bulk_4d(&w_shared[k_first][panels][0][0], w_map, panels * 64, k_first * 64, 0,
                             0, &landed[begun % 2], 8192);
        }
    }
    copy_bulk_commit<2>(landed, begun);  // the copies above are one group
    copy_bulk_wait<2>(landed, waited, begun);  // all copies
    __syncthreads();  // w_shared, x_shared: written above by other threads, read below
    for (int k_ = 0; k_ < 18; ++k_) {
        const int k_1 = k_ + 2;
        if (k_ < 16 && lane == 0 && group == 0) {
            for (int ax0 = 0; ax0 < 2; ++ax0)
                copy_bulk_4d(&x_shared[(k_ + 2) % 3][ax0 * 64][0], x_map, k_1 % 2 * 64,
                             k_1 / 2 % 3 - 1, grid % 2 * 8 + k_1 / 6 - 1, grid / 2 * 2 + ax0,
                             &landed[begun % 2], 8192);
            for (int panels = 0; panels < 2; ++panels)
                copy_bulk_4d(&w_shared[(k_ + 2) % 3][panels][0][0], w_map, panels * 64,
                             k_1 % 2 * 64, k_1 / 2 % 3, k_1 / 6, &landed[begun % 2], 8192);
        }
        copy_bulk_commit<2>(landed, begun);  // the copies above are one group
        float *mma_c = &T[0][0];
        const unsigned long long mma_p = 0x4000004000010000ull
            | (unsigned)__cvta_generic_to_shared(&x_shared[k_ % 3][group * 64][0]) % 0x40000 >> 4;
        const unsigned long long mma_q = 0x4000004002000000ull
            | (unsigned)__cvta_generic_to_shared(&w_shared[k_ % 3][0][0][0]) % 0x40000 >> 4;
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
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions
        settle_f32<64>(&T[0][0]);
        copy_bulk_wait<2>(landed, waited, begun - 1);  // all copies but those of the last group
        __syncthreads();  // w_shared, x_shared: written above, read in the next iteration of k by
                          // other threads; w_shared, x_shared: read above, overwritten in the next
                          // iteration of k by other threads
    }
    #pragma unroll
    for (int panels = 0; panels < 2; ++panels) {
        if (n < 3) {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                const int i = grid % 2 * 8 + lane / 32 * 2 + u;
                if (i < 9) {
                    #pragma unroll
                    for (int nj = 0; nj < 8; ++nj) {
                        if (panels * 32 + nj * 4 + lane % 4 < 36) {
                            *(unsigned int *)&y_shared[group][lane / 32 * 2 + u][lane / 4 % 8]
                                                      [(nj ^ lane / 4 % 8) * 8 + lane % 4 * 2] =
                                f16x2_from_f32(T[u][panels * 16 + nj * 2],
                                               T[u][panels * 16 + nj * 2 + 1]);
                        }
                    }
                }
            }
        }
        __syncthreads();  // y_shared: written above by other threads, read below
        if (n < 3 && panels * 8 + lane % 8 < 9) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int i = grid % 2 * 8 + each * 2 + lane / 64;
                if (i < 9) {
                    *(uint4 *)&y[((n * 9 + i) * 8 + j) * 72 + panels * 64 + lane % 8 * 8] =
                        *(const uint4 *)&y_shared[group][each * 2 + lane / 64][j]
                                                 [(lane % 8 ^ j) * 8];
                }
            }
        }
        __syncthreads();  // y_shared: read above, overwritten in the next iteration of panels by
                          // other threads
    }
}
