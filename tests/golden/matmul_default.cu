// matmul: 2 launches
//   A: f32[1024, 1024], read
//   B: f32[1024, 1024], read
//   C: f32[1024, 1024], written
//   C_shared_rf_global: f32[2, 1024, 1024], temporary, allocated by the caller
// matmul<<<dim3(4, 16, 2), dim3(32, 8)>>>(A, B, C_shared_rf_global);
// matmul_1<<<2048, 128>>>(C, C_shared_rf_global);

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

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B,
       float *__restrict__ C_shared_rf_global)
{
    __shared__ __align__(16) float A_shared[32][68];
    __shared__ __align__(16) float B_shared[32][256];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (int)blockIdx.y % 8 * 4 + (int)blockIdx.x;
    const int by = first + place % 8;
    const int bx = place / 8;
    const int part = blockIdx.z;
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_shared_rf[8][8];
    __align__(16) float A_shared_local[2][8];
    __align__(16) float B_shared_local[2][8];
    for (int ko_first = 0; ko_first < 3; ++ko_first) {
        #pragma unroll
        for (int each = 0; each < 2; ++each)
            copy_async<4>(
                &A_shared[ko_first * 8 + lane % 8][each * 32 + wy_wx_fused * 4 + lane / 8],
                &A[(long long)(by * 65536 + wy_wx_fused * 4096 + lane / 8 * 1024 + part * 512
                               + lane % 8) + (long long)ko_first * 8 + each * 32768]);
        #pragma unroll
        for (int each = 0; each < 2; ++each) {
            copy_async<16>(
                &B_shared[ko_first * 8 + each * 4 + wy_wx_fused / 2]
                         [wy_wx_fused % 2 * 128 + lane * 4],
                &B[(long long)(part * 524288 + wy_wx_fused / 2 * 1024 + bx * 256
                               + wy_wx_fused % 2 * 128 + lane * 4) + (long long)ko_first * 8192
                   + each * 4096]);
        }
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared: written above by other threads, read below
    #pragma unroll
    for (int run1 = 0; run1 < 2; ++run1) {
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
    #pragma unroll
    for (int row = 0; row < 8; ++row) {
        #pragma unroll
        for (int column = 0; column < 8; ++column)
            C_shared_rf[row][column] = 0.0f;
    }
    for (int ko_0 = 0; ko_0 < 16; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 4; ++again) {
            if (ko_0 * 4 + again < 61) {
                #pragma unroll
                for (int each = 0; each < 2; ++each)
                    copy_async<4>(
                        &A_shared[(again + 3) % 4 * 8 + lane % 8]
                                 [each * 32 + wy_wx_fused * 4 + lane / 8],
                        &A[(long long)(by * 65536 + wy_wx_fused * 4096 + lane / 8 * 1024
                                       + part * 512 + lane % 8) + (long long)ko_0 * 32
                           + (each * 32768 + again * 8 + 24)]);
                #pragma unroll
                for (int each = 0; each < 2; ++each) {
                    copy_async<16>(
                        &B_shared[(again + 3) % 4 * 8 + each * 4 + wy_wx_fused / 2]
                                 [wy_wx_fused % 2 * 128 + lane * 4],
                        &B[(long long)(part * 524288 + wy_wx_fused / 2 * 1024 + bx * 256
                                       + wy_wx_fused % 2 * 128 + lane * 4)
                           + (long long)ko_0 * 32768 + (again * 8192 + each * 4096 + 24576)]);
                }
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 8; ++ki) {
                if (ki < 7) {
                    #pragma unroll
                    for (int run1 = 0; run1 < 2; ++run1) {
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
                for (int row_pair = 0; row_pair < 4; ++row_pair) {
                    #pragma unroll
                    for (int column = 0; column < 8; ++column)
                        C_shared_rf[row_pair * 2][column] +=
                            A_shared_local[ki % 2][row_pair * 2] * B_shared_local[ki % 2][column];
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 8; ++column_turn)
                        C_shared_rf[row_pair * 2 + 1][7 - column_turn] +=
                            A_shared_local[ki % 2][row_pair * 2 + 1]
                            * B_shared_local[ki % 2][7 - column_turn];
                }
            }
            if (ko_0 * 4 + again < 63) {
                #pragma unroll
                for (int run1 = 0; run1 < 2; ++run1) {
                    *(float4 *)&A_shared_local[0][run1 * 4] =
                        *(const float4 *)&A_shared[(again + 1) % 4 * 8]
                                                  [run1 * 32 + wy_wx_fused / 4 * 16
                                                   + lane / 2 % 4 * 4];
                }
                #pragma unroll
                for (int run1_1 = 0; run1_1 < 2; ++run1_1) {
                    *(float4 *)&B_shared_local[0][run1_1 * 4] =
                        *(const float4 *)&B_shared[(again + 1) % 4 * 8]
                                                  [run1_1 * 128 + wy_wx_fused % 4 * 32
                                                   + lane / 8 * 8 + lane % 2 * 4];
                }
            }
            copy_async_wait<1>();  // all copies but those of the last group
            __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of
                              // again by other threads; A_shared, B_shared: read above, overwritten
                              // in the next iteration of again by other threads
        }
    }
    #pragma unroll
    for (int loop = 0; loop < 8; ++loop) {
        #pragma unroll
        for (int nj = 0; nj < 2; ++nj) {
            *(float4 *)&C_shared_rf_global[(long long)(part * 1048576 + by * 65536
                                                       + wy_wx_fused / 4 * 16384
                                                       + lane / 2 % 4 * 4096 + bx * 256
                                                       + wy_wx_fused % 4 * 32 + lane / 8 * 8
                                                       + lane % 2 * 4)
                                           + (loop / 4 * 32768 + loop % 4 * 1024 + nj * 128)] =
                make_float4(C_shared_rf[loop][nj * 4], C_shared_rf[loop][nj * 4 + 1],
                            C_shared_rf[loop][nj * 4 + 2], C_shared_rf[loop][nj * 4 + 3]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
matmul_1(float *__restrict__ C, const float *__restrict__ C_shared_rf_global)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) float C_local[4];
    *(float4 *)&C_local[0] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    #pragma unroll
    for (int part = 0; part < 2; ++part) {
        const float4 C_local_v = *(const float4 *)&C_local[0];
        const float4 C_shared_rf_global_v1 =
            *(const float4 *)&C_shared_rf_global[part * 1048576 + b * 512 + t * 4];
        float4 result;
        result.x = C_local_v.x + C_shared_rf_global_v1.x;
        result.y = C_local_v.y + C_shared_rf_global_v1.y;
        result.z = C_local_v.z + C_shared_rf_global_v1.z;
        result.w = C_local_v.w + C_shared_rf_global_v1.w;
        *(float4 *)&C_local[0] = result;
    }
    *(float4 *)&C[b * 512 + t * 4] = make_float4(C_local[0], C_local[1], C_local[2], C_local[3]);
}
