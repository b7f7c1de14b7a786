// matmul_weights: 1 launch
//   x: bf16[20, 1024], read
//   W: i8[70, 1024], read
//   scale: f32[70], read
//   y: bf16[20, 70], written
//   x_map: cuTensorMapEncodeTiled of x, UINT16, extents {1024, 20}, boxes {64, 24}, SWIZZLE_128B
// matmul_weights<<<dim3(8, 2), 128>>>(W, scale, y, x_map);

static __device__ __forceinline__ unsigned short bf16_from_f32(float f)
{
    unsigned short h;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
#else
    unsigned int bits = __float_as_uint(f);
    h = f != f ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
    return h;
}

template <class T>
static __device__ __forceinline__ T *in_block(T *place, int rank)
{
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(place), "r"(rank));
    return there;
}

static __device__ __forceinline__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::: "memory");
}

static __device__ __forceinline__ unsigned int fma_bf16x2(unsigned int a, unsigned int b,
                                                          unsigned int c)
{
    unsigned int d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

static __device__ __forceinline__ unsigned int bf16x2_from_i8(unsigned char low, unsigned char high)
{
#if __CUDA_ARCH__ >= 800
    unsigned int bits = __byte_perm(low | (unsigned int)high << 8, 0x43, 0x4140);
    return fma_bf16x2(bits & 0xff80ff80u, 0xbf80bf80u, bits & 0xff7fff7fu);
#else
    return __float_as_uint((float)(signed char)low) >> 16
        | __float_as_uint((float)(signed char)high);
#endif
}

template <int bytes>
static __device__ __forceinline__ void copy_async(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes));
#else
    if (bytes == 16)
        *(uint4 *)to = *(const uint4 *)from;
    else if (bytes == 8)
        *(uint2 *)to = *(const uint2 *)from;
    else
        *(unsigned int *)to = *(const unsigned int *)from;
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

static __device__ __forceinline__ void copy_bulk_2d(void *to, const TensorMap &map, int x, int y,
                                                    unsigned long long *landed, int bytes)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(mbarrier) : "memory");
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

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(128)
matmul_weights(const signed char *__restrict__ W, const float *__restrict__ scale,
               unsigned short *__restrict__ y, const __grid_constant__ TensorMap x_map)
{
    __shared__ float T_rf[20][64];
    __shared__ __align__(16) signed char W_shared[64][128];
    __shared__ __align__(1024) unsigned short x_shared[2][24][64];
    prefetch_map(x_map);
    __shared__ unsigned long long landed[1];
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int part = blockIdx.x;
    const int rows = blockIdx.y;
    const int lane = threadIdx.x;
    float T_rf_local[2][6];
    const int j = rows * 64 + lane % 64;
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 3; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                T_rf_local[u][nj * 2 + pair] = 0.0f;
        }
    }
    __align__(16) unsigned short V[2][16][2];
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int rows_at = rows * 64 + each * 16 + lane / 8;
        if (rows_at < 70) {
            copy_async<16>(&W_shared[each * 16 + lane / 8][(lane % 8 ^ lane / 8 % 8) * 16],
                           &W[rows_at * 1024 + part * 128 + lane % 8 * 16]);
        }
    }
    copy_async_commit();  // the copies above are one group
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_async_wait<0>();  // all copies
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    __syncthreads();  // W_shared: written above by other threads, read below
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int j_1 = rows * 64 + lane / 32 * 16 + u * 8 + lane % 32 / 4;
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            if (j_1 < 70) {
                const char2 W_shared_v =
                    *(const char2 *)&W_shared[lane / 32 * 16 + u * 8 + lane % 32 / 4]
                                             [(k / 2 ^ lane % 32 / 4) * 16 + k % 2 * 8
                                              + lane % 4 * 2];
                unsigned int result;
                result = bf16x2_from_i8(W_shared_v.x, W_shared_v.y);
                *(unsigned int *)&V[j_1 / 8 % 2][k][0] = result;
            } else {
                *(unsigned int *)&V[j_1 / 8 % 2][k][0] = 0x00000000u;
            }
        }
    }
    if (lane == 0) {
        for (int ax0_1 = 0; ax0_1 < 2; ++ax0_1)
            copy_bulk_2d(&x_shared[ax0_1][0][0], x_map, part * 128 + ax0_1 * 64, 0,
                         &landed[begun % 1], 3072);
    }
    copy_async_commit();  // the copies above are one group
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_async_wait<0>();  // all copies
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    __syncthreads();  // x_shared: written above by other threads, read below
    #pragma unroll
    for (int ki = 0; ki < 2; ++ki) {
        float *mma_c = &T_rf_local[0][0];
        const unsigned mma_a[16] = {
            *(const unsigned int *)&V[0][ki * 8][0],
            *(const unsigned int *)&V[1][ki * 8][0],
            *(const unsigned int *)&V[0][ki * 8 + 1][0],
            *(const unsigned int *)&V[1][ki * 8 + 1][0],
            *(const unsigned int *)&V[0][ki * 8 + 2][0],
            *(const unsigned int *)&V[1][ki * 8 + 2][0],
            *(const unsigned int *)&V[0][ki * 8 + 3][0],
            *(const unsigned int *)&V[1][ki * 8 + 3][0],
            *(const unsigned int *)&V[0][ki * 8 + 4][0],
            *(const unsigned int *)&V[1][ki * 8 + 4][0],
            *(const unsigned int *)&V[0][ki * 8 + 5][0],
            *(const unsigned int *)&V[1][ki * 8 + 5][0],
            *(const unsigned int *)&V[0][ki * 8 + 6][0],
            *(const unsigned int *)&V[1][ki * 8 + 6][0],
            *(const unsigned int *)&V[0][ki * 8 + 7][0],
            *(const unsigned int *)&V[1][ki * 8 + 7][0],
        };
        const unsigned long long mma_q = 0x4000004000010000ull
            | (unsigned)__cvta_generic_to_shared(&x_shared[ki][0][0]) % 0x40000 >> 4;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 {"
                         "%0, %1, %2, %3, "
                         "%4, %5, %6, %7, "
                         "%8, %9, %10, %11}, "
                         "{%12, %13, %14, %15}, "
                         "%16, 1, 1, 1, 0;"
                         :
                           "+f"(mma_c[0]), "+f"(mma_c[1]),
                           "+f"(mma_c[6]), "+f"(mma_c[7]),
                           "+f"(mma_c[2]), "+f"(mma_c[3]),
                           "+f"(mma_c[8]), "+f"(mma_c[9]),
                           "+f"(mma_c[4]), "+f"(mma_c[5]),
                           "+f"(mma_c[10]), "+f"(mma_c[11])
                         : "r"(mma_a[k * 4]), "r"(mma_a[k * 4 + 1]),
                           "r"(mma_a[k * 4 + 2]), "r"(mma_a[k * 4 + 3]),
                           "l"(mma_q + 2 * k));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above are
                                                                    // one group
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: V is
                                                                    // accessed below
    settle_f32<12>(&T_rf_local[0][0]);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int j_2 = rows * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (j_2 < 70) {
            #pragma unroll
            for (int nj = 0; nj < 3; ++nj) {
                if (nj * 4 + lane % 4 < 10) {
                    for (int pair = 0; pair < 2; ++pair)
                        *in_block(
                            &T_rf[nj * 8 + lane % 4 * 2 + pair]
                                 [lane / 32 * 16 + u * 8 + lane / 4 % 8],
                            part) = T_rf_local[u][nj * 2 + pair];
                }
            }
        }
    }
    cluster_barrier();  // T_rf: written above by other threads, read below
    if (j < 70) {
        #pragma unroll
        for (int each = 0; each < 2; ++each) {
            const int i = part * 4 + each * 2 + lane / 64;
            if (i < 20) {
                float T = 0.0f;
                #pragma unroll
                for (int part_1 = 0; part_1 < 8; ++part_1)
                    T += *in_block(&T_rf[i][lane % 64], part_1);
                y[i * 70 + j] = bf16_from_f32(scale[j] * T);
            }
        }
    }
    cluster_barrier();  // other blocks read the memory of this one above, which ends with it
}
