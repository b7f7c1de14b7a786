// matmul_weights: 2 launches
//   x: bf16[20, 1024], read
//   W: i8[70, 1024], read
//   scale: f32[70], read
//   y: bf16[20, 70], written
//   T_rf: f32[2, 20, 70], temporary, allocated by the caller
// matmul_weights<<<dim3(1, 2, 2), 128>>>(x, W, T_rf);
// matmul_weights_1<<<6, 128>>>(scale, y, T_rf);

static __device__ __forceinline__ float bf16_to_f32(unsigned short h)
{
    return __uint_as_float((unsigned int)h << 16);
}

static __device__ __forceinline__ unsigned short bf16_from_f32(float f)
{
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ unsigned int bf16x2_from_f32(float low, float high)
{
    unsigned int h2;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h2) : "f"(high), "f"(low));
    return h2;
}

template <int bytes>
static __device__ __forceinline__ void copy_async(void *to, const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes));
}

static __device__ __forceinline__ void copy_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int pending>
static __device__ __forceinline__ void copy_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
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

extern "C" __global__ void __launch_bounds__(128)
matmul_weights(const unsigned short *__restrict__ x, const signed char *__restrict__ W,
               float *__restrict__ T_rf)
{
    __shared__ __align__(16) signed char W_shared[2][64][128];
    __shared__ __align__(1024) unsigned short x_shared[4][24][64];
    const int part = blockIdx.z;
    const int rows = blockIdx.y;
    const int lane = threadIdx.x;
    float T_rf_local[2][6];
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 3; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                T_rf_local[u][nj * 2 + pair] = 0.0f;
        }
    }
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int rows_at = rows * 64 + each * 16 + lane / 8;
        if (rows_at < 70) {
            copy_async<16>(&W_shared[0][each * 16 + lane / 8][(lane % 8 ^ lane / 8 % 8) * 16],
                           &W[rows_at * 1024 + part * 512 + lane % 8 * 16]);
        }
    }
    copy_async_commit();  // the copies above are one group
    if (lane == 0) {
        for (int ax1 = 0; ax1 < 24; ++ax1) {
            for (int ax0_1 = 0; ax0_1 < 2; ++ax0_1) {
                for (int ax2 = 0; ax2 < 64; ++ax2) {
                    const int v1 = part * 512 + ax0_1 * 64 + ax2;
                    x_shared[ax0_1][ax1][(v1 % 64 / 8 ^ ax1 % 8) * 8 + v1 % 8] =
                        bf16_from_f32(ax1 < 20 ? bf16_to_f32(x[ax1 * 1024 + v1]) : 0.0f);
                }
            }
        }
    }
    copy_async_wait<0>();  // all copies
    fence_proxy_async();
    __syncthreads();  // W_shared, x_shared: written above by other threads, read below
    for (int ko = 0; ko < 4; ++ko) {
        __align__(16) unsigned short V[2][16][2];
        if (ko < 3) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                if (rows * 64 + each * 16 + lane / 8 < 70) {
                    copy_async<16>(
                        &W_shared[(ko + 1) % 2][each * 16 + lane / 8]
                                 [(lane % 8 ^ lane / 8 % 8) * 16],
                        &W[(long long)(rows * 65536 + lane / 8 * 1024 + part * 512 + lane % 8 * 16)
                           + (long long)ko * 128 + (each * 16384 + 128)]);
                }
            }
            copy_async_commit();  // the copies above are one group
            if (lane == 0) {
                for (int ax1 = 0; ax1 < 24; ++ax1) {
                    for (int ax0_1 = 0; ax0_1 < 2; ++ax0_1) {
                        for (int ax2 = 0; ax2 < 64; ++ax2) {
                            const int v1 = part * 512 + ko * 128 + ax0_1 * 64 + ax2 + 128;
                            x_shared[(ko + 1) % 2 * 2 + ax0_1][ax1]
                                    [(v1 % 64 / 8 ^ ax1 % 8) * 8 + v1 % 8] =
                                bf16_from_f32(ax1 < 20 ? bf16_to_f32(x[ax1 * 1024 + v1]) : 0.0f);
                        }
                    }
                }
            }
        }
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const int j = rows * 64 + lane / 32 * 16 + u * 8 + lane % 32 / 4;
            #pragma unroll
            for (int k = 0; k < 16; ++k) {
                if (j < 70) {
                    const char2 W_shared_v =
                        *(const char2 *)&W_shared[ko % 2][lane / 32 * 16 + u * 8 + lane % 32 / 4]
                                                 [(k / 2 ^ lane % 32 / 4) * 16 + k % 2 * 8
                                                  + lane % 4 * 2];
                    unsigned int result;
                    result = bf16x2_from_f32((float)W_shared_v.x, (float)W_shared_v.y);
                    *(unsigned int *)&V[j / 8 % 2][k][0] = result;
                } else {
                    *(unsigned int *)&V[j / 8 % 2][k][0] = 0x00000000u;
                }
            }
        }
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
                | (unsigned)__cvta_generic_to_shared(&x_shared[ko % 2 * 2 + ki][0][0]) % 0x40000
                    >> 4;
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
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: V is
                                                                        // accessed below
        settle_f32<12>(&T_rf_local[0][0]);
        copy_async_wait<0>();  // all copies
        fence_proxy_async();
        __syncthreads();  // W_shared, x_shared: written above, read in the next iteration of ko by
                          // other threads; W_shared, x_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int j = rows * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (j < 70) {
            #pragma unroll
            for (int nj = 0; nj < 3; ++nj) {
                if (nj * 4 + lane % 4 < 10) {
                    for (int pair = 0; pair < 2; ++pair)
                        T_rf[(part * 20 + nj * 8 + lane % 4 * 2 + pair) * 70 + j] =
                            T_rf_local[u][nj * 2 + pair];
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
matmul_weights_1(const float *__restrict__ scale, unsigned short *__restrict__ y,
                 const float *__restrict__ T_rf)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) float T[2];
    const int i = (b * 128 + t) / 35;
    if (i < 20) {
        *(float2 *)&T[0] = make_float2(0.0f, 0.0f);
        #pragma unroll
        for (int part = 0; part < 2; ++part) {
            const float2 T_v = *(const float2 *)&T[0];
            const float2 T_rf_v1 = *(const float2 *)&T_rf[part * 1400 + b * 256 + t * 2];
            float2 result;
            result.x = T_v.x + T_rf_v1.x;
            result.y = T_v.y + T_rf_v1.y;
            *(float2 *)&T[0] = result;
        }
    }
    if (b * 128 + t < 700) {
        const float2 scale_v = *(const float2 *)&scale[(b * 128 + t) % 35 * 2];
        unsigned int result;
        result = bf16x2_from_f32(scale_v.x * T[0], scale_v.y * T[1]);
        *(unsigned int *)&y[b * 256 + t * 2] = result;
    }
}
