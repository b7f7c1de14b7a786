// matmul_bias_relu: 1 launch
//   A: f32[M, K], read
//   B: f32[K, N], read
//   bias: f32[N], read
//   C: f32[M, N], written
//   32-bit indices: M + 63, M * 2 + 62, K + 77, N * K + N * 54 + 440 and M * N are at most 2147483647
// matmul_bias_relu<<<dim3((N + 63) / 64, (M + 63) / 64), dim3(32, 4)>>>(A, B, bias, C, M, N, K);

template <int bytes>
static __device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool wanted)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to), n = wanted ? bytes : 0;
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(n));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from),
                     "n"(bytes), "r"(n));
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

extern "C" __global__ void __launch_bounds__(128)
matmul_bias_relu(const float *__restrict__ A, const float *__restrict__ B,
                 const float *__restrict__ bias, float *__restrict__ C, const int M, const int N,
                 const int K)
{
    __shared__ __align__(16) float A_shared[32][68];
    __shared__ __align__(16) float B_shared[32][64];
    __shared__ __align__(16) float acc[4][8][72];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (N + 63) / 64 * ((int)blockIdx.y % 8) + (int)blockIdx.x;
    const int height = min((M + 63) / 64 - first, 8);
    const int by = first + place % height;
    const int bx = min(place / height, (N + 63) / 64 - 1);
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float acc_local[8][4];
    __align__(16) float A_shared_local[2][8];
    __align__(16) float B_shared_local[2][4];
    const int j = bx * 64 + wy_wx_fused % 2 * 32 + lane;
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        const int i = by * 64 + each % 4 * 16 + wy_wx_fused * 4 + lane / 8;
        const int k = each / 4 * 8 + lane % 8;
        if (k < (K + 31) / 32 * 32)
            copy_async_or_zero<4>(&A_shared[k][each % 4 * 16 + wy_wx_fused * 4 + lane / 8],
                                  &A[(long long)i * K + k + (K + 31) % 32 - 31],
                                  k + (K + 31) % 32 > 30 && i < M);
    }
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        const int k = each * 2 + wy_wx_fused / 2;
        if (k < (K + 31) / 32 * 32)
            copy_async_or_zero<4>(
                &B_shared[each * 2 + wy_wx_fused / 2][wy_wx_fused % 2 * 32 + lane],
                &B[(k + (K + 31) % 32 - 31) * N + j], k + (K + 31) % 32 > 30 && j < N);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared: written above by other threads, read below
    if ((K + 31) / 32 > 0) {
        #pragma unroll
        for (int run1 = 0; run1 < 2; ++run1) {
            *(float4 *)&A_shared_local[0][run1 * 4] =
                *(const float4 *)&A_shared[0][run1 * 32 + wy_wx_fused / 2 * 16 + lane / 2 % 4 * 4];
        }
        *(float4 *)&B_shared_local[0][0] =
            *(const float4 *)&B_shared[0][wy_wx_fused % 2 * 32 + lane / 8 * 8 + lane % 2 * 4];
    }
    #pragma unroll
    for (int row = 0; row < 8; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            acc_local[row][column] = 0.0f;
    }
    for (int ko_0 = 0; ko_0 < (K + 31) / 32; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 2; ++again) {
            if (ko_0 * 2 + again + 1 < (K + 31) / 32 * 2) {
                #pragma unroll
                for (int each = 0; each < 8; ++each) {
                    const int i = by * 64 + each % 4 * 16 + wy_wx_fused * 4 + lane / 8;
                    const int k = ko_0 * 32 + again * 16 + each / 4 * 8 + lane % 8 + 16;
                    copy_async_or_zero<4>(
                        &A_shared[(again + 1) % 2 * 16 + each / 4 * 8 + lane % 8]
                                 [each % 4 * 16 + wy_wx_fused * 4 + lane / 8],
                        &A[(long long)i * K + k + (K + 31) % 32 - 31],
                        k + (K + 31) % 32 > 30 && i < M);
                }
                #pragma unroll
                for (int each = 0; each < 8; ++each) {
                    const int k = ko_0 * 32 + again * 16 + each * 2 + wy_wx_fused / 2 + 16;
                    copy_async_or_zero<4>(
                        &B_shared[(again + 1) % 2 * 16 + each * 2 + wy_wx_fused / 2]
                                 [wy_wx_fused % 2 * 32 + lane],
                        &B[(k + (K + 31) % 32 - 31) * N + j], k + (K + 31) % 32 > 30 && j < N);
                }
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 16; ++ki) {
                if (ki < 15) {
                    #pragma unroll
                    for (int run1 = 0; run1 < 2; ++run1) {
                        *(float4 *)&A_shared_local[(ki + 1) % 2][run1 * 4] =
                            *(const float4 *)&A_shared[again * 16 + ki + 1]
                                                      [run1 * 32 + wy_wx_fused / 2 * 16
                                                       + lane / 2 % 4 * 4];
                    }
                    *(float4 *)&B_shared_local[(ki + 1) % 2][0] =
                        *(const float4 *)&B_shared[again * 16 + ki + 1]
                                                  [wy_wx_fused % 2 * 32 + lane / 8 * 8
                                                   + lane % 2 * 4];
                }
                #pragma unroll
                for (int row_pair = 0; row_pair < 4; ++row_pair) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        acc_local[row_pair * 2][column] +=
                            A_shared_local[ki % 2][row_pair * 2] * B_shared_local[ki % 2][column];
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 4; ++column_turn)
                        acc_local[row_pair * 2 + 1][3 - column_turn] +=
                            A_shared_local[ki % 2][row_pair * 2 + 1]
                            * B_shared_local[ki % 2][3 - column_turn];
                }
            }
            copy_async_wait<0>();  // all copies
            __syncthreads();  // A_shared, B_shared: written above by other threads, read below
            if (ko_0 * 2 + again + 1 < (K + 31) / 32 * 2) {
                #pragma unroll
                for (int run1 = 0; run1 < 2; ++run1) {
                    *(float4 *)&A_shared_local[0][run1 * 4] =
                        *(const float4 *)&A_shared[(again + 1) % 2 * 16]
                                                  [run1 * 32 + wy_wx_fused / 2 * 16
                                                   + lane / 2 % 4 * 4];
                }
                *(float4 *)&B_shared_local[0][0] =
                    *(const float4 *)&B_shared[(again + 1) % 2 * 16]
                                              [wy_wx_fused % 2 * 32 + lane / 8 * 8 + lane % 2 * 4];
            }
        }
    }
    #pragma unroll
    for (int rows = 0; rows < 2; ++rows) {
        #pragma unroll
        for (int ti = 0; ti < 4; ++ti) {
            *(float4 *)&acc[ti][wy_wx_fused / 2 * 4 + lane / 2 % 4]
                           [wy_wx_fused % 2 * 32 + lane / 8 * 8 + lane % 2 * 4] =
                make_float4(acc_local[rows * 4 + ti][0], acc_local[rows * 4 + ti][1],
                            acc_local[rows * 4 + ti][2], acc_local[rows * 4 + ti][3]);
        }
        __syncthreads();  // acc: written above by other threads, read below
        if (j < N) {
            #pragma unroll 4
            for (int each = 0; each < 16; ++each) {
                const int i = by * 64 + rows * 32 + each * 2 + wy_wx_fused / 2;
                if (i < M)
                    C[i * N + j] =
                        fmaxf(acc[i % 4][each / 2][wy_wx_fused % 2 * 32 + lane] + bias[j], 0.0f);
            }
        }
        __syncthreads();  // acc: read above, overwritten in the next iteration of rows by other
                          // threads
    }
}
