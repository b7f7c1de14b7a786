// matmul: 3 launches
//   A: f32[M, K], read
//   B: f32[K, N], read
//   C: f32[M, N], written
//   32-bit indices: M + 127, M * 2 + 126, N * K + N * 30 + 1784, M * N, K + 109, N * K + N * 79 + 62 and N * K + N * 54 + 440 are at most 2147483647
// if K % 4 == 0 && N % 4 == 0 && ((M + 127) / 128 * ((N + 255) / 256) % 132 > 110 || (M + 127) / 128 * ((N + 255) / 256) > 1056):
//     matmul<<<dim3((N + 255) / 256, (M + 127) / 128), dim3(32, 8)>>>(A, B, C, M, N, K);
// else:
//     if (M + 63) / 64 * ((N + 63) / 64) < 133:
//         matmul_1<<<dim3((N + 63) / 64, (M + 31) / 32), dim3(32, 4)>>>(A, B, C, M, N, K);
//     else:
//         matmul_2<<<dim3((N + 63) / 64, (M + 63) / 64), dim3(32, 4)>>>(A, B, C, M, N, K);

template <int bytes>
static __device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool wanted)
{
#if __CUDA_ARCH__ >= 800
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to), n = wanted ? bytes : 0;
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(n));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from),
                     "n"(bytes), "r"(n));
#else
    if (bytes == 16)
        *(uint4 *)to = wanted ? *(const uint4 *)from : uint4();
    else if (bytes == 8)
        *(uint2 *)to = wanted ? *(const uint2 *)from : uint2();
    else
        *(unsigned int *)to = wanted ? *(const unsigned int *)from : 0;
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

extern "C" __global__ void __launch_bounds__(256, 1)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
       const int M, const int N, const int K)
{
    __shared__ __align__(16) float A_shared[16][132];
    __shared__ __align__(16) float B_shared[16][256];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (N + 255) / 256 * ((int)blockIdx.y % 8) + (int)blockIdx.x;
    const int height = min((M + 127) / 128 - first, 8);
    const int by = first + place % height;
    const int bx = min(place / height, (N + 255) / 256 - 1);
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_local[16][8];
    __align__(16) float A_shared_local[2][16];
    __align__(16) float B_shared_local[2][8];
    const int k = lane % 8;
    if (k < (K + 15) / 16 * 16) {
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            const int i = by * 128 + each * 32 + wy_wx_fused * 4 + lane / 8;
            copy_async_or_zero<4>(&A_shared[lane % 8][each * 32 + wy_wx_fused * 4 + lane / 8],
                                  &A[(long long)i * K + k + (K + 15) % 16 - 15],
                                  k + (K + 15) % 16 > 14 && i < M);
        }
    }
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
        const int k_1 = each * 4 + wy_wx_fused / 2;
        if (k_1 < (K + 15) / 16 * 16) {
            copy_async_or_zero<16>(
                &B_shared[each * 4 + wy_wx_fused / 2][wy_wx_fused % 2 * 128 + lane * 4],
                &B[(k_1 + (K + 15) % 16 - 15) * N + bx * 256 + wy_wx_fused % 2 * 128 + lane * 4],
                k_1 + (K + 15) % 16 > 14 && bx * 256 + wy_wx_fused % 2 * 128 + lane * 4 < N);
        }
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared: written above by other threads, read below
    if ((K + 15) / 16 > 0) {
        #pragma unroll
        for (int run1 = 0; run1 < 4; ++run1) {
            *(float4 *)&A_shared_local[0][run1 * 4] =
                *(const float4 *)&A_shared[0][run1 * 32 + wy_wx_fused / 4 * 16 + lane / 2 % 4 * 4];
        }
        #pragma unroll
        for (int run1_1 = 0; run1_1 < 2; ++run1_1) {
            *(float4 *)&B_shared_local[0][run1_1 * 4] =
                *(const float4 *)&B_shared[0]
                                          [run1_1 * 128 + wy_wx_fused % 4 * 32 + lane / 8 * 8
                                           + lane % 2 * 4];
        }
    }
    #pragma unroll
    for (int row = 0; row < 16; ++row) {
        #pragma unroll
        for (int column = 0; column < 8; ++column)
            C_local[row][column] = 0.0f;
    }
    for (int ko_0 = 0; ko_0 < (K + 15) / 16; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 2; ++again) {
            const int k_2 = ko_0 * 16 + again * 8 + lane % 8 + 8;
            if (ko_0 * 2 + again + 1 < (K + 15) / 16 * 2) {
                #pragma unroll
                for (int each = 0; each < 4; ++each) {
                    const int i = by * 128 + each * 32 + wy_wx_fused * 4 + lane / 8;
                    copy_async_or_zero<4>(
                        &A_shared[(again + 1) % 2 * 8 + lane % 8]
                                 [each * 32 + wy_wx_fused * 4 + lane / 8],
                        &A[(long long)i * K + k_2 + (K + 15) % 16 - 15],
                        k_2 + (K + 15) % 16 > 14 && i < M);
                }
                #pragma unroll
                for (int each = 0; each < 2; ++each) {
                    const int k_3 = ko_0 * 16 + again * 8 + each * 4 + wy_wx_fused / 2 + 8;
                    copy_async_or_zero<16>(
                        &B_shared[(again + 1) % 2 * 8 + each * 4 + wy_wx_fused / 2]
                                 [wy_wx_fused % 2 * 128 + lane * 4],
                        &B[(k_3 + (K + 15) % 16 - 15) * N + bx * 256 + wy_wx_fused % 2 * 128
                           + lane * 4],
                        k_3 + (K + 15) % 16 > 14
                            && bx * 256 + wy_wx_fused % 2 * 128 + lane * 4 < N);
                }
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 8; ++ki) {
                if (ki < 7) {
                    #pragma unroll
                    for (int run1 = 0; run1 < 4; ++run1) {
                        *(float4 *)&A_shared_local[(ki + 1) % 2][run1 * 4] =
                            *(const float4 *)&A_shared[again * 8 + ki + 1]
                                                      [run1 * 32 + wy_wx_fused / 4 * 16
                                                       + lane / 2 % 4 * 4];
                    }
                    #pragma unroll
                    for (int run1_1 = 0; run1_1 < 2; ++run1_1) {
                        *(float4 *)&B_shared_local[(ki + 1) % 2][run1_1 * 4] =
                            *(const float4 *)&B_shared[again * 8 + ki + 1]
                                                      [run1_1 * 128 + wy_wx_fused % 4 * 32
                                                       + lane / 8 * 8 + lane % 2 * 4];
                    }
                }
                #pragma unroll
                for (int row_pair = 0; row_pair < 8; ++row_pair) {
                    #pragma unroll
                    for (int column = 0; column < 8; ++column)
                        C_local[row_pair * 2][column] +=
                            A_shared_local[ki % 2][row_pair * 2] * B_shared_local[ki % 2][column];
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 8; ++column_turn)
                        C_local[row_pair * 2 + 1][7 - column_turn] +=
                            A_shared_local[ki % 2][row_pair * 2 + 1]
                            * B_shared_local[ki % 2][7 - column_turn];
                }
            }
            copy_async_wait<0>();  // all copies
            __syncthreads();  // A_shared, B_shared: written above by other threads, read below
            if (ko_0 * 2 + again + 1 < (K + 15) / 16 * 2) {
                #pragma unroll
                for (int run1 = 0; run1 < 4; ++run1) {
                    *(float4 *)&A_shared_local[0][run1 * 4] =
                        *(const float4 *)&A_shared[(again + 1) % 2 * 8]
                                                  [run1 * 32 + wy_wx_fused / 4 * 16
                                                   + lane / 2 % 4 * 4];
                }
                #pragma unroll
                for (int run1_1 = 0; run1_1 < 2; ++run1_1) {
                    *(float4 *)&B_shared_local[0][run1_1 * 4] =
                        *(const float4 *)&B_shared[(again + 1) % 2 * 8]
                                                  [run1_1 * 128 + wy_wx_fused % 4 * 32
                                                   + lane / 8 * 8 + lane % 2 * 4];
                }
            }
        }
    }
    #pragma unroll
    for (int loop = 0; loop < 16; ++loop) {
        const int i = by * 128 + loop / 4 * 32 + wy_wx_fused / 4 * 16 + lane / 2 % 4 * 4 + loop % 4;
        if (i < M) {
            #pragma unroll
            for (int nj = 0; nj < 2; ++nj) {
                if (bx * 256 + nj * 128 + wy_wx_fused % 4 * 32 + lane / 8 * 8 + lane % 2 * 4 < N) {
                    *(float4 *)&C[i * N + bx * 256 + nj * 128 + wy_wx_fused % 4 * 32 + lane / 8 * 8
                                  + lane % 2 * 4] = make_float4(C_local[loop][nj * 4],
                                                                C_local[loop][nj * 4 + 1],
                                                                C_local[loop][nj * 4 + 2],
                                                                C_local[loop][nj * 4 + 3]);
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
matmul_1(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
         const int M, const int N, const int K)
{
    __shared__ __align__(16) float A_shared_1[64][36];
    __shared__ __align__(16) float B_shared_1[64][64];
    __shared__ __align__(16) float C_shared_1[4][8][72];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (N + 63) / 64 * ((int)blockIdx.y % 8) + (int)blockIdx.x;
    const int height = min((M + 31) / 32 - first, 8);
    const int by = first + place % height;
    const int bx = min(place / height, (N + 63) / 64 - 1);
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_shared_1_local[4][4];
    const int j = bx * 64 + wy_wx_fused % 2 * 32 + lane;
    for (int ko_first = 0; ko_first < 3; ++ko_first) {
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            const int i = by * 32 + each % 2 * 16 + wy_wx_fused * 4 + lane / 8;
            const int k = ko_first * 16 + each / 2 * 8 + lane % 8;
            if (k < (K + 31) / 32 * 32)
                copy_async_or_zero<4>(&A_shared_1[k][each % 2 * 16 + wy_wx_fused * 4 + lane / 8],
                                      &A[(long long)i * K + k + (K + 31) % 32 - 31],
                                      k + (K + 31) % 32 > 30 && i < M);
        }
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            const int k = ko_first * 16 + each * 2 + wy_wx_fused / 2;
            if (k < (K + 31) / 32 * 32)
                copy_async_or_zero<4>(&B_shared_1[k][wy_wx_fused % 2 * 32 + lane],
                                      &B[(k + (K + 31) % 32 - 31) * N + j],
                                      k + (K + 31) % 32 > 30 && j < N);
        }
    }
    copy_async_commit();  // the copies above are one group
    #pragma unroll
    for (int row = 0; row < 4; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            C_shared_1_local[row][column] = 0.0f;
    }
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared_1, B_shared_1: written above by other threads, read below
    for (int ko_0 = 0; ko_0 < (K + 31) / 32; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 2; ++again) {
            if (ko_0 * 2 + again + 3 < (K + 31) / 32 * 2) {
                #pragma unroll
                for (int each = 0; each < 4; ++each) {
                    const int i = by * 32 + each % 2 * 16 + wy_wx_fused * 4 + lane / 8;
                    const int k = ko_0 * 32 + again * 16 + each / 2 * 8 + lane % 8 + 48;
                    copy_async_or_zero<4>(
                        &A_shared_1[(ko_0 * 2 + again + 3) % 4 * 16 + each / 2 * 8 + lane % 8]
                                   [each % 2 * 16 + wy_wx_fused * 4 + lane / 8],
                        &A[(long long)i * K + k + (K + 31) % 32 - 31], i < M);
                }
                #pragma unroll
                for (int each = 0; each < 8; ++each) {
                    const int k = ko_0 * 32 + again * 16 + each * 2 + wy_wx_fused / 2 + 48;
                    copy_async_or_zero<4>(
                        &B_shared_1[(ko_0 * 2 + again + 3) % 4 * 16 + each * 2 + wy_wx_fused / 2]
                                   [wy_wx_fused % 2 * 32 + lane],
                        &B[(k + (K + 31) % 32 - 31) * N + j], j < N);
                }
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 16; ++ki) {
                __align__(16) float A_shared_1_local[4];
                __align__(16) float B_shared_1_local[4];
                *(float4 *)&A_shared_1_local[0] =
                    *(const float4 *)&A_shared_1[ko_0 % 2 * 32 + again * 16 + ki]
                                                [wy_wx_fused / 2 * 16 + lane / 2 % 4 * 4];
                *(float4 *)&B_shared_1_local[0] =
                    *(const float4 *)&B_shared_1[ko_0 % 2 * 32 + again * 16 + ki]
                                                [wy_wx_fused % 2 * 32 + lane / 8 * 8
                                                 + lane % 2 * 4];
                #pragma unroll
                for (int row_pair_1 = 0; row_pair_1 < 2; ++row_pair_1) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        C_shared_1_local[row_pair_1 * 2][column] +=
                            A_shared_1_local[row_pair_1 * 2] * B_shared_1_local[column];
                    #pragma unroll
                    for (int column_turn_1 = 0; column_turn_1 < 4; ++column_turn_1)
                        C_shared_1_local[row_pair_1 * 2 + 1][3 - column_turn_1] +=
                            A_shared_1_local[row_pair_1 * 2 + 1]
                            * B_shared_1_local[3 - column_turn_1];
                }
            }
            copy_async_wait<2>();  // all copies but those of the last 2 groups
            __syncthreads();  // A_shared_1, B_shared_1: read above, overwritten in the next
                              // iteration of again by other threads
        }
    }
    #pragma unroll
    for (int ti = 0; ti < 4; ++ti) {
        *(float4 *)&C_shared_1[ti][wy_wx_fused / 2 * 4 + lane / 2 % 4]
                              [wy_wx_fused % 2 * 32 + lane / 8 * 8 + lane % 2 * 4] =
            make_float4(C_shared_1_local[ti][0], C_shared_1_local[ti][1], C_shared_1_local[ti][2],
                        C_shared_1_local[ti][3]);
    }
    __syncthreads();  // C_shared_1: written above by other threads, read below
    if (j < N) {
        #pragma unroll 4
        for (int each = 0; each < 16; ++each) {
            const int i = by * 32 + each * 2 + wy_wx_fused / 2;
            if (i < M)
                C[i * N + j] = C_shared_1[i % 4][each / 2][wy_wx_fused % 2 * 32 + lane];
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
matmul_2(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
         const int M, const int N, const int K)
{
    __shared__ __align__(16) float A_shared_2[32][68];
    __shared__ __align__(16) float B_shared_2[32][64];
    __shared__ __align__(16) float C_shared_2[4][8][72];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (N + 63) / 64 * ((int)blockIdx.y % 8) + (int)blockIdx.x;
    const int height = min((M + 63) / 64 - first, 8);
    const int by = first + place % height;
    const int bx = min(place / height, (N + 63) / 64 - 1);
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_shared_2_local[8][4];
    __align__(16) float A_shared_2_local[2][8];
    __align__(16) float B_shared_2_local[2][4];
    const int j = bx * 64 + wy_wx_fused % 2 * 32 + lane;
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        const int i = by * 64 + each % 4 * 16 + wy_wx_fused * 4 + lane / 8;
        const int k = each / 4 * 8 + lane % 8;
        if (k < (K + 31) / 32 * 32)
            copy_async_or_zero<4>(&A_shared_2[k][each % 4 * 16 + wy_wx_fused * 4 + lane / 8],
                                  &A[(long long)i * K + k + (K + 31) % 32 - 31],
                                  k + (K + 31) % 32 > 30 && i < M);
    }
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        const int k = each * 2 + wy_wx_fused / 2;
        if (k < (K + 31) / 32 * 32)
            copy_async_or_zero<4>(
                &B_shared_2[each * 2 + wy_wx_fused / 2][wy_wx_fused % 2 * 32 + lane],
                &B[(k + (K + 31) % 32 - 31) * N + j], k + (K + 31) % 32 > 30 && j < N);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared_2: written above by other threads, read below
    if ((K + 31) / 32 > 0) {
        #pragma unroll
        for (int run1 = 0; run1 < 2; ++run1) {
            *(float4 *)&A_shared_2_local[0][run1 * 4] =
                *(const float4 *)&A_shared_2[0]
                                            [run1 * 32 + wy_wx_fused / 2 * 16 + lane / 2 % 4 * 4];
        }
        *(float4 *)&B_shared_2_local[0][0] =
            *(const float4 *)&B_shared_2[0][wy_wx_fused % 2 * 32 + lane / 8 * 8 + lane % 2 * 4];
    }
    #pragma unroll
    for (int row = 0; row < 8; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            C_shared_2_local[row][column] = 0.0f;
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
                        &A_shared_2[(again + 1) % 2 * 16 + each / 4 * 8 + lane % 8]
                                   [each % 4 * 16 + wy_wx_fused * 4 + lane / 8],
                        &A[(long long)i * K + k + (K + 31) % 32 - 31],
                        k + (K + 31) % 32 > 30 && i < M);
                }
                #pragma unroll
                for (int each = 0; each < 8; ++each) {
                    const int k = ko_0 * 32 + again * 16 + each * 2 + wy_wx_fused / 2 + 16;
                    copy_async_or_zero<4>(
                        &B_shared_2[(again + 1) % 2 * 16 + each * 2 + wy_wx_fused / 2]
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
                        *(float4 *)&A_shared_2_local[(ki + 1) % 2][run1 * 4] =
                            *(const float4 *)&A_shared_2[again * 16 + ki + 1]
                                                        [run1 * 32 + wy_wx_fused / 2 * 16
                                                         + lane / 2 % 4 * 4];
                    }
                    *(float4 *)&B_shared_2_local[(ki + 1) % 2][0] =
                        *(const float4 *)&B_shared_2[again * 16 + ki + 1]
                                                    [wy_wx_fused % 2 * 32 + lane / 8 * 8
                                                     + lane % 2 * 4];
                }
                #pragma unroll
                for (int row_pair_2 = 0; row_pair_2 < 4; ++row_pair_2) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        C_shared_2_local[row_pair_2 * 2][column] +=
                            A_shared_2_local[ki % 2][row_pair_2 * 2]
                            * B_shared_2_local[ki % 2][column];
                    #pragma unroll
                    for (int column_turn_2 = 0; column_turn_2 < 4; ++column_turn_2)
                        C_shared_2_local[row_pair_2 * 2 + 1][3 - column_turn_2] +=
                            A_shared_2_local[ki % 2][row_pair_2 * 2 + 1]
                            * B_shared_2_local[ki % 2][3 - column_turn_2];
                }
            }
            copy_async_wait<0>();  // all copies
            __syncthreads();  // A_shared_2, B_shared_2: written above by other threads, read below
            if (ko_0 * 2 + again + 1 < (K + 31) / 32 * 2) {
                #pragma unroll
                for (int run1 = 0; run1 < 2; ++run1) {
                    *(float4 *)&A_shared_2_local[0][run1 * 4] =
                        *(const float4 *)&A_shared_2[(again + 1) % 2 * 16]
                                                    [run1 * 32 + wy_wx_fused / 2 * 16
                                                     + lane / 2 % 4 * 4];
                }
                *(float4 *)&B_shared_2_local[0][0] =
                    *(const float4 *)&B_shared_2[(again + 1) % 2 * 16]
                                                [wy_wx_fused % 2 * 32 + lane / 8 * 8
                                                 + lane % 2 * 4];
            }
        }
    }
    #pragma unroll
    for (int rows = 0; rows < 2; ++rows) {
        #pragma unroll
        for (int ti = 0; ti < 4; ++ti) {
            *(float4 *)&C_shared_2[ti][wy_wx_fused / 2 * 4 + lane / 2 % 4]
                                  [wy_wx_fused % 2 * 32 + lane / 8 * 8 + lane % 2 * 4] =
                make_float4(C_shared_2_local[rows * 4 + ti][0], C_shared_2_local[rows * 4 + ti][1],
                            C_shared_2_local[rows * 4 + ti][2], C_shared_2_local[rows * 4 + ti][3]);
        }
        __syncthreads();  // C_shared_2: written above by other threads, read below
        if (j < N) {
            #pragma unroll 4
            for (int each = 0; each < 16; ++each) {
                const int i = by * 64 + rows * 32 + each * 2 + wy_wx_fused / 2;
                if (i < M)
                    C[i * N + j] = C_shared_2[i % 4][each / 2][wy_wx_fused % 2 * 32 + lane];
            }
        }
        __syncthreads();  // C_shared_2: read above, overwritten in the next iteration of rows by
                          // other threads
    }
}
