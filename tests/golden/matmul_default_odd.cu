// matmul: 1 launch
//   A: f32[1000, 997], read
//   B: f32[997, 999], read
//   C: f32[1000, 999], written
// matmul<<<dim3(8, 16), dim3(32, 8)>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    __shared__ __align__(16) float A_shared[32][68];
    __shared__ __align__(16) float B_shared[32][128];
    __shared__ __align__(16) float C_shared[4][8][136];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (int)blockIdx.y % 8 * 8 + (int)blockIdx.x;
    const int by = first + place % 8;
    const int bx = place / 8;
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_shared_local[8][4];
    __align__(16) float A_shared_local[2][8];
    __align__(16) float B_shared_local[2][4];
    const int j = bx * 128 + wy_wx_fused % 4 * 32 + lane;
    #pragma unroll
    for (int each = 0; each < 4; ++each)
        A_shared[each / 2 * 8 + lane % 8][each % 2 * 32 + wy_wx_fused * 4 + lane / 8] = 0.0f;
    #pragma unroll
    for (int each = 0; each < 8; ++each)
        B_shared[each * 2 + wy_wx_fused / 4][wy_wx_fused % 4 * 32 + lane] = 0.0f;
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared: written above by other threads, read below
    #pragma unroll
    for (int run1 = 0; run1 < 2; ++run1) {
        *(float4 *)&A_shared_local[0][run1 * 4] =
            *(const float4 *)&A_shared[0][run1 * 32 + wy_wx_fused / 4 * 16 + lane / 2 % 4 * 4];
    }
    *(float4 *)&B_shared_local[0][0] =
        *(const float4 *)&B_shared[0][wy_wx_fused % 4 * 32 + lane / 8 * 8 + lane % 2 * 4];
    #pragma unroll
    for (int row = 0; row < 8; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            C_shared_local[row][column] = 0.0f;
    }
    for (int ko_0 = 0; ko_0 < 16; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 4; ++again) {
            if (ko_0 * 4 + again < 63) {
                #pragma unroll
                for (int each = 0; each < 4; ++each) {
                    const int i = by * 64 + each % 2 * 32 + wy_wx_fused * 4 + lane / 8;
                    const int k = ko_0 * 64 + again * 16 + each / 2 * 8 + lane % 8 + 16;
                    copy_async_or_zero<4>(
                        &A_shared[(again + 1) % 2 * 16 + each / 2 * 8 + lane % 8]
                                 [each % 2 * 32 + wy_wx_fused * 4 + lane / 8],
                        &A[(long long)(by * 63808 + wy_wx_fused * 3988 + lane / 8 * 997 + lane % 8)
                           + (long long)ko_0 * 64
                           + (each % 2 * 31904 + again * 16 + each / 2 * 8 - 11)],
                        k > 26 && i < 1000);
                }
                #pragma unroll
                for (int each = 0; each < 8; ++each) {
                    const int k = ko_0 * 64 + again * 16 + each * 2 + wy_wx_fused / 4 + 16;
                    copy_async_or_zero<4>(
                        &B_shared[(again + 1) % 2 * 16 + each * 2 + wy_wx_fused / 4]
                                 [wy_wx_fused % 4 * 32 + lane],
                        &B[(long long)(wy_wx_fused / 4 * 999 + j) + (long long)ko_0 * 63936
                           + (again * 15984 + each * 1998 - 10989)],
                        k > 26 && j < 999);
                }
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 16; ++ki) {
                if (ki < 15) {
                    #pragma unroll
                    for (int run1 = 0; run1 < 2; ++run1) {
                        *(float4 *)&A_shared_local[(ki + 1) % 2][run1 * 4] =
                            *(const float4 *)&A_shared[again % 2 * 16 + ki + 1]
                                                      [run1 * 32 + wy_wx_fused / 4 * 16
                                                       + lane / 2 % 4 * 4];
                    }
                    *(float4 *)&B_shared_local[(ki + 1) % 2][0] =
                        *(const float4 *)&B_shared[again % 2 * 16 + ki + 1]
                                                  [wy_wx_fused % 4 * 32 + lane / 8 * 8
                                                   + lane % 2 * 4];
                }
                #pragma unroll
                for (int row_pair = 0; row_pair < 4; ++row_pair) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        C_shared_local[row_pair * 2][column] +=
                            A_shared_local[ki % 2][row_pair * 2] * B_shared_local[ki % 2][column];
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 4; ++column_turn)
                        C_shared_local[row_pair * 2 + 1][3 - column_turn] +=
                            A_shared_local[ki % 2][row_pair * 2 + 1]
                            * B_shared_local[ki % 2][3 - column_turn];
                }
            }
            copy_async_wait<0>();  // all copies
            __syncthreads();  // A_shared, B_shared: written above by other threads, read below
            if (ko_0 * 4 + again < 63) {
                #pragma unroll
                for (int run1 = 0; run1 < 2; ++run1) {
                    *(float4 *)&A_shared_local[0][run1 * 4] =
                        *(const float4 *)&A_shared[(again + 1) % 2 * 16]
                                                  [run1 * 32 + wy_wx_fused / 4 * 16
                                                   + lane / 2 % 4 * 4];
                }
                *(float4 *)&B_shared_local[0][0] =
                    *(const float4 *)&B_shared[(again + 1) % 2 * 16]
                                              [wy_wx_fused % 4 * 32 + lane / 8 * 8 + lane % 2 * 4];
            }
        }
    }
    #pragma unroll
    for (int rows = 0; rows < 2; ++rows) {
        #pragma unroll
        for (int ti = 0; ti < 4; ++ti) {
            *(float4 *)&C_shared[ti][wy_wx_fused / 4 * 4 + lane / 2 % 4]
                                [wy_wx_fused % 4 * 32 + lane / 8 * 8 + lane % 2 * 4] =
                make_float4(C_shared_local[rows * 4 + ti][0], C_shared_local[rows * 4 + ti][1],
                            C_shared_local[rows * 4 + ti][2], C_shared_local[rows * 4 + ti][3]);
        }
        __syncthreads();  // C_shared: written above by other threads, read below
        if (j < 999) {
            #pragma unroll 4
            for (int each = 0; each < 16; ++each) {
                const int i = by * 64 + rows * 32 + each * 2 + wy_wx_fused / 4;
                if (i < 1000)
                    C[i * 999 + j] = C_shared[i % 4][each / 2][wy_wx_fused % 4 * 32 + lane];
            }
        }
        __syncthreads();  // C_shared: read above, overwritten in the next iteration of rows by
                          // other threads
    }
}
