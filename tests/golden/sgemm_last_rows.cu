// matmul: 1 launch
//   A: f32[1025, 64], read
//   B: f32[64, 256], read
//   C: f32[1025, 256], written
// matmul<<<dim3(2, 9), dim3(32, 8)>>>(A, B, C);

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
    __shared__ __align__(16) float A_shared[16][132];
    __shared__ __align__(16) float B_shared[16][128];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (int)blockIdx.y % 8 * 2 + (int)blockIdx.x;
    const int height = min(9 - first, 8);
    const int by = first + place % height;
    const int bx = min(place / height, 1);
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_local[8][8];
    __align__(16) float A_shared_local[2][8];
    __align__(16) float B_shared_local[2][8];
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int i = by * 128 + each * 32 + wy_wx_fused * 4 + lane / 8;
        copy_async_or_zero<4>(&A_shared[lane % 8][each * 32 + wy_wx_fused * 4 + lane / 8],
                              &A[i * 64 + lane % 8], i < 1025);
    }
    copy_async<16>(&B_shared[wy_wx_fused][lane * 4], &B[wy_wx_fused * 256 + bx * 128 + lane * 4]);
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared: written above by other threads, read below
    #pragma unroll
    for (int run1 = 0; run1 < 2; ++run1) {
        *(float4 *)&A_shared_local[0][run1 * 4] =
            *(const float4 *)&A_shared[0][run1 * 64 + wy_wx_fused / 2 * 16 + lane / 2 % 4 * 4];
    }
    #pragma unroll
    for (int run1_1 = 0; run1_1 < 2; ++run1_1) {
        *(float4 *)&B_shared_local[0][run1_1 * 4] =
            *(const float4 *)&B_shared[0]
                                      [run1_1 * 64 + wy_wx_fused % 2 * 32 + lane / 8 * 8
                                       + lane % 2 * 4];
    }
    #pragma unroll
    for (int row = 0; row < 8; ++row) {
        #pragma unroll
        for (int column = 0; column < 8; ++column)
            C_local[row][column] = 0.0f;
    }
    for (int ko_0 = 0; ko_0 < 4; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 2; ++again) {
            if (ko_0 * 2 + again < 7) {
                #pragma unroll
                for (int each = 0; each < 4; ++each) {
                    const int i = by * 128 + each * 32 + wy_wx_fused * 4 + lane / 8;
                    copy_async_or_zero<4>(
                        &A_shared[(again + 1) % 2 * 8 + lane % 8]
                                 [each * 32 + wy_wx_fused * 4 + lane / 8],
                        &A[(long long)(by * 8192 + wy_wx_fused * 256 + lane / 8 * 64 + lane % 8)
                           + (long long)ko_0 * 16 + (each * 2048 + again * 8 + 8)],
                        i < 1025);
                }
                copy_async<16>(&B_shared[(again + 1) % 2 * 8 + wy_wx_fused][lane * 4],
                               &B[(long long)(wy_wx_fused * 256 + bx * 128 + lane * 4)
                                  + (long long)ko_0 * 4096 + (again * 2048 + 2048)]);
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 8; ++ki) {
                if (ki < 7) {
                    #pragma unroll
                    for (int run1 = 0; run1 < 2; ++run1) {
                        *(float4 *)&A_shared_local[(ki + 1) % 2][run1 * 4] =
                            *(const float4 *)&A_shared[again * 8 + ki + 1]
                                                      [run1 * 64 + wy_wx_fused / 2 * 16
                                                       + lane / 2 % 4 * 4];
                    }
                    #pragma unroll
                    for (int run1_1 = 0; run1_1 < 2; ++run1_1) {
                        *(float4 *)&B_shared_local[(ki + 1) % 2][run1_1 * 4] =
                            *(const float4 *)&B_shared[again * 8 + ki + 1]
                                                      [run1_1 * 64 + wy_wx_fused % 2 * 32
                                                       + lane / 8 * 8 + lane % 2 * 4];
                    }
                }
                #pragma unroll
                for (int row_pair = 0; row_pair < 4; ++row_pair) {
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
            if (ko_0 * 2 + again < 7) {
                #pragma unroll
                for (int run1 = 0; run1 < 2; ++run1) {
                    *(float4 *)&A_shared_local[0][run1 * 4] =
                        *(const float4 *)&A_shared[(again + 1) % 2 * 8]
                                                  [run1 * 64 + wy_wx_fused / 2 * 16
                                                   + lane / 2 % 4 * 4];
                }
                #pragma unroll
                for (int run1_1 = 0; run1_1 < 2; ++run1_1) {
                    *(float4 *)&B_shared_local[0][run1_1 * 4] =
                        *(const float4 *)&B_shared[(again + 1) % 2 * 8]
                                                  [run1_1 * 64 + wy_wx_fused % 2 * 32
                                                   + lane / 8 * 8 + lane % 2 * 4];
                }
            }
        }
    }
    #pragma unroll
    for (int loop = 0; loop < 8; ++loop) {
        const int i = by * 128 + loop / 4 * 64 + wy_wx_fused / 2 * 16 + lane / 2 % 4 * 4 + loop % 4;
        if (i < 1025) {
            #pragma unroll
            for (int nj = 0; nj < 2; ++nj) {
                *(float4 *)&C[(long long)(by * 32768 + wy_wx_fused / 2 * 4096 + lane / 2 % 4 * 1024
                                          + bx * 128 + wy_wx_fused % 2 * 32 + lane / 8 * 8
                                          + lane % 2 * 4)
                              + (loop / 4 * 16384 + loop % 4 * 256 + nj * 64)] =
                    make_float4(C_local[loop][nj * 4], C_local[loop][nj * 4 + 1],
                                C_local[loop][nj * 4 + 2], C_local[loop][nj * 4 + 3]);
            }
        }
    }
}
