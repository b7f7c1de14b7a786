// conv_f16_nchw: 3 launches
//   x: f16[3, 128, 9, 8], read
//   w: f16[72, 128, 3, 3], read
//   y: f16[3, 72, 9, 8], written
//   x_global_map: cuTensorMapEncodeTiled of x_global, UINT16, extents {128, 8, 9, 3}, boxes {64, 8, 8, 1}, SWIZZLE_128B
//   w_global_map: cuTensorMapEncodeTiled of w_global, UINT16, extents {128, 72, 3, 3}, boxes {64, 64, 1, 1}, SWIZZLE_128B
//   x_global: f16[3, 9, 8, 128], temporary, allocated by the caller
//   w_global: f16[3, 3, 72, 128], temporary, allocated by the caller
// conv_f16_nchw<<<dim3(2, 2, 3), 256>>>(x, x_global);
// conv_f16_nchw_1<<<324, 256>>>(w, w_global);
// conv_f16_nchw_2<<<4, 128, 139280>>>(y, x_global_map, w_global_map);

static __device__ __forceinline__ unsigned int pack_halves(unsigned short a, unsigned short b)
{
    return a | (unsigned int)b << 16;
}

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
conv_f16_nchw(const unsigned short *__restrict__ x, unsigned short *__restrict__ x_global)
{
    __shared__ __align__(16) unsigned short x_shared[64][64];
    const int ax0 = blockIdx.z;
    const int bp = blockIdx.y;
    const int bc = blockIdx.x;
    const int thread = threadIdx.x;
    if (bp * 8 + thread % 8 < 9) {
        #pragma unroll
        for (int each = 0; each < 2; ++each) {
            *(uint4 *)&x_shared[each * 32 + thread / 8]
                               [(thread % 8 ^ each * 4 + thread / 64) * 8] =
                *(const uint4 *)&x[((ax0 * 128 + bc * 64 + each * 32 + thread / 8) * 9 + bp * 8
                                    + thread % 8) * 8];
        }
    }
    __syncthreads();  // x_shared: written above by other threads, read below
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
        const int v2 = bp * 64 + each * 32 + thread / 8;
        const int v2_1 = bp * 8 + each * 4 + thread / 64;
        __align__(16) unsigned short x_shared_local[8];
        if (v2 < 72) {
            #pragma unroll
            for (int ax1 = 0; ax1 < 8; ++ax1)
                x_shared_local[ax1] =
                    x_shared[thread % 8 * 8 + ax1]
                            [(each * 4 + thread / 64 ^ thread % 8) * 8 + thread / 8 % 8];
        }
        if (v2_1 < 9) {
            *(uint4 *)&x_global[ax0 * 9216 + bp * 8192 + each * 4096 + thread / 8 * 128 + bc * 64
                                + thread % 8 * 8] =
                make_uint4(pack_halves(x_shared_local[0], x_shared_local[1]),
                           pack_halves(x_shared_local[2], x_shared_local[3]),
                           pack_halves(x_shared_local[4], x_shared_local[5]),
                           pack_halves(x_shared_local[6], x_shared_local[7]));
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
conv_f16_nchw_1(const unsigned short *__restrict__ w, unsigned short *__restrict__ w_global)
{
    const int grid = blockIdx.x;
    const int thread = threadIdx.x;
    const int u = grid / 108;
    const int v = grid / 36 % 3;
    const int o = grid % 36 * 2 + thread / 128;
    const int c = thread % 128;
    w_global[((u * 3 + v) * 72 + o) * 128 + c] = w[((o * 128 + c) * 3 + u) * 3 + v];
}

extern "C" __global__ void __launch_bounds__(128)
conv_f16_nchw_2(unsigned short *__restrict__ y, const __grid_constant__ TensorMap x_global_map,
                const __grid_constant__ TensorMap w_global_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*x_global_shared)[192][64] = (unsigned short (*)[192][64])shared_memory;
    unsigned short (*w_global_shared)[64][64] = (unsigned short (*)[64][64])(shared_memory + 98304);
    unsigned short (*y_shared)[64] = (unsigned short (*)[64])(shared_memory + 131072);
    prefetch_map(x_global_map);
    prefetch_map(w_global_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 139264);
    int begun = 0, waited = 0;
    copy_bulk_begin<2>(landed);  // an mbarrier for each group of copies under way
    const int grid = blockIdx.x;
    const int lane = threadIdx.x;
    __align__(16) float T[2][48];
    const int i = grid / 2 * 8 + lane % 8;
    for (int u_1 = 0; u_1 < 2; ++u_1) {
        for (int panel_nj_fused = 0; panel_nj_fused < 24; ++panel_nj_fused) {
            for (int pair = 0; pair < 2; ++pair)
                T[u_1][panel_nj_fused * 2 + pair] = 0.0f;
        }
    }
    if (lane == 0) {
        for (int k_first = 0; k_first < 2; ++k_first) {
            for (int ax0 = 0; ax0 < 3; ++ax0)
                copy_bulk_4d(&x_global_shared[k_first][ax0 * 64][0], x_global_map, k_first * 64,
                             -1, grid / 2 * 8 - 1, ax0, &landed[begun % 2], 8192);
            copy_bulk_4d(&w_global_shared[k_first][0][0], w_global_map, k_first * 64,
                         grid % 2 * 64, 0, 0, &landed[begun % 2], 8192);
        }
    }
    copy_bulk_commit<2>(landed, begun);  // the copies above are one group
    copy_bulk_wait<2>(landed, waited, begun);  // all copies
    __syncthreads();  // w_global_shared, x_global_shared: written above by other threads, read
                      // below
    for (int k_ = 0; k_ < 18; ++k_) {
        const int k_1 = k_ + 2;
        if (k_ < 16 && lane == 0) {
            for (int ax0 = 0; ax0 < 3; ++ax0)
                copy_bulk_4d(&x_global_shared[(k_ + 2) % 4][ax0 * 64][0], x_global_map,
                             k_1 % 2 * 64, k_1 / 2 % 3 - 1, grid / 2 * 8 + k_1 / 6 - 1, ax0,
                             &landed[begun % 2], 8192);
            copy_bulk_4d(&w_global_shared[(k_ + 2) % 4][0][0], w_global_map, k_1 % 2 * 64,
                         grid % 2 * 64, k_1 / 2 % 3, k_1 / 6, &landed[begun % 2], 8192);
        }
        copy_bulk_commit<2>(landed, begun);  // the copies above are one group
        float *mma_c = &T[0][0];
        const unsigned long long mma_p = 0x4000004000010000ull
            | (unsigned)__cvta_generic_to_shared(&w_global_shared[k_ % 4][0][0]) % 0x40000 >> 4;
        const unsigned long long mma_q = 0x4000004000010000ull
            | (unsigned)__cvta_generic_to_shared(&x_global_shared[k_ % 4][0][0]) % 0x40000 >> 4;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {"
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
                         "%60, %61, %62, %63, "
                         "%64, %65, %66, %67, "
                         "%68, %69, %70, %71, "
                         "%72, %73, %74, %75, "
                         "%76, %77, %78, %79, "
                         "%80, %81, %82, %83, "
                         "%84, %85, %86, %87, "
                         "%88, %89, %90, %91, "
                         "%92, %93, %94, %95}, "
                         "%96, %97, 1, 1, 1, 0, 0;"
                         :
                           "+f"(mma_c[0]), "+f"(mma_c[1]),
                           "+f"(mma_c[48]), "+f"(mma_c[49]),
                           "+f"(mma_c[2]), "+f"(mma_c[3]),
                           "+f"(mma_c[50]), "+f"(mma_c[51]),
                           "+f"(mma_c[4]), "+f"(mma_c[5]),
                           "+f"(mma_c[52]), "+f"(mma_c[53]),
                           "+f"(mma_c[6]), "+f"(mma_c[7]),
                           "+f"(mma_c[54]), "+f"(mma_c[55]),
                           "+f"(mma_c[8]), "+f"(mma_c[9]),
                           "+f"(mma_c[56]), "+f"(mma_c[57]),
                           "+f"(mma_c[10]), "+f"(mma_c[11]),
                           "+f"(mma_c[58]), "+f"(mma_c[59]),
                           "+f"(mma_c[12]), "+f"(mma_c[13]),
                           "+f"(mma_c[60]), "+f"(mma_c[61]),
                           "+f"(mma_c[14]), "+f"(mma_c[15]),
                           "+f"(mma_c[62]), "+f"(mma_c[63]),
                           "+f"(mma_c[16]), "+f"(mma_c[17]),
                           "+f"(mma_c[64]), "+f"(mma_c[65]),
                           "+f"(mma_c[18]), "+f"(mma_c[19]),
                           "+f"(mma_c[66]), "+f"(mma_c[67]),
                           "+f"(mma_c[20]), "+f"(mma_c[21]),
                           "+f"(mma_c[68]), "+f"(mma_c[69]),
                           "+f"(mma_c[22]), "+f"(mma_c[23]),
                           "+f"(mma_c[70]), "+f"(mma_c[71]),
                           "+f"(mma_c[24]), "+f"(mma_c[25]),
                           "+f"(mma_c[72]), "+f"(mma_c[73]),
                           "+f"(mma_c[26]), "+f"(mma_c[27]),
                           "+f"(mma_c[74]), "+f"(mma_c[75]),
                           "+f"(mma_c[28]), "+f"(mma_c[29]),
                           "+f"(mma_c[76]), "+f"(mma_c[77]),
                           "+f"(mma_c[30]), "+f"(mma_c[31]),
                           "+f"(mma_c[78]), "+f"(mma_c[79]),
                           "+f"(mma_c[32]), "+f"(mma_c[33]),
                           "+f"(mma_c[80]), "+f"(mma_c[81]),
                           "+f"(mma_c[34]), "+f"(mma_c[35]),
                           "+f"(mma_c[82]), "+f"(mma_c[83]),
                           "+f"(mma_c[36]), "+f"(mma_c[37]),
                           "+f"(mma_c[84]), "+f"(mma_c[85]),
                           "+f"(mma_c[38]), "+f"(mma_c[39]),
                           "+f"(mma_c[86]), "+f"(mma_c[87]),
                           "+f"(mma_c[40]), "+f"(mma_c[41]),
                           "+f"(mma_c[88]), "+f"(mma_c[89]),
                           "+f"(mma_c[42]), "+f"(mma_c[43]),
                           "+f"(mma_c[90]), "+f"(mma_c[91]),
                           "+f"(mma_c[44]), "+f"(mma_c[45]),
                           "+f"(mma_c[92]), "+f"(mma_c[93]),
                           "+f"(mma_c[46]), "+f"(mma_c[47]),
                           "+f"(mma_c[94]), "+f"(mma_c[95])
                         : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // all instructions but
                                                                        // those of the last group
        copy_bulk_wait<2>(landed, waited, begun - 1);  // all copies but those of the last group
        __syncthreads();  // w_global_shared, x_global_shared: written above, read in the next
                          // iteration of k by other threads; w_global_shared, x_global_shared: read
                          // above, overwritten in the next iteration of k by other threads
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: T is
                                                                    // accessed below
    settle_f32<96>(&T[0][0]);
    #pragma unroll
    for (int panels = 0; panels < 3; ++panels) {
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const int o = grid % 2 * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
            if (o < 72) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    const int i_1 = grid / 2 * 8 + nj;
                    if (i_1 < 9) {
                        *(unsigned int *)&y_shared[lane / 32 * 16 + u * 8 + lane / 4 % 8]
                                                  [(i_1 % 8 ^ lane / 4 % 8) * 8 + lane % 4 * 2] =
                            f16x2_from_f32(T[u][panels * 16 + nj * 2],
                                           T[u][panels * 16 + nj * 2 + 1]);
                    }
                }
            }
        }
        __syncthreads();  // y_shared: written above by other threads, read below
        if (i < 9) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int o = grid % 2 * 64 + each * 16 + lane / 8;
                if (o < 72) {
                    *(uint4 *)&y[((panels * 72 + o) * 9 + i) * 8] =
                        *(const uint4 *)&y_shared[each * 16 + lane / 8][(i % 8 ^ lane / 8 % 8) * 8];
                }
            }
        }
        __syncthreads();  // y_shared: read above, overwritten in the next iteration of panels by
                          // other threads
    }
}
