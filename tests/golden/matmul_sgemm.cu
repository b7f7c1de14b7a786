// matmul: 1 launch
//   A: f32[64, 64], read
//   B: f32[64, 64], read
//   C: f32[64, 64], written
// matmul<<<dim3(2, 4), 32>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(32)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    __shared__ __align__(16) float A_shared[8][20];
    __shared__ __align__(16) float B_shared[8][32];
    const int place = (int)blockIdx.y * 2 + (int)blockIdx.x;
    const int by = place % 4;
    const int bx = place / 4;
    const int lane = threadIdx.x;
    __align__(16) float C_local[4][4];
    #pragma unroll
    for (int each = 0; each < 2; ++each)
        copy_async<4>(&A_shared[lane % 4][each * 8 + lane / 4],
                      &A[(by * 16 + each * 8 + lane / 4) * 64 + lane % 4]);
    copy_async<16>(&B_shared[lane / 8][lane % 8 * 4], &B[lane / 8 * 64 + bx * 32 + lane % 8 * 4]);
    copy_async_commit();  // the copies above are one group
    #pragma unroll
    for (int row = 0; row < 4; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            C_local[row][column] = 0.0f;
    }
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko_0 = 0; ko_0 < 8; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 2; ++again) {
            if (ko_0 * 2 + again < 15) {
                #pragma unroll
                for (int each = 0; each < 2; ++each)
                    copy_async<4>(&A_shared[(again + 1) % 2 * 4 + lane % 4][each * 8 + lane / 4],
                                  &A[(long long)(by * 1024 + lane / 4 * 64 + lane % 4)
                                     + (long long)ko_0 * 8 + (each * 512 + again * 4 + 4)]);
                copy_async<16>(&B_shared[(again + 1) % 2 * 4 + lane / 8][lane % 8 * 4],
                               &B[(long long)(lane / 8 * 64 + bx * 32 + lane % 8 * 4)
                                  + (long long)ko_0 * 512 + (again * 256 + 256)]);
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 4; ++ki) {
                __align__(16) float A_shared_local[4];
                __align__(16) float B_shared_local[4];
                *(float4 *)&A_shared_local[0] =
                    *(const float4 *)&A_shared[again * 4 + ki][lane / 2 % 4 * 4];
                *(float4 *)&B_shared_local[0] =
                    *(const float4 *)&B_shared[again * 4 + ki][lane / 8 * 8 + lane % 2 * 4];
                #pragma unroll
                for (int row_pair = 0; row_pair < 2; ++row_pair) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        C_local[row_pair * 2][column] +=
                            A_shared_local[row_pair * 2] * B_shared_local[column];
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 4; ++column_turn)
                        C_local[row_pair * 2 + 1][3 - column_turn] +=
                            A_shared_local[row_pair * 2 + 1] * B_shared_local[3 - column_turn];
                }
            }
            copy_async_wait<0>();  // all copies
            __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of
                              // again by other threads; A_shared, B_shared: read above, overwritten
                              // in the next iteration of again by other threads
        }
    }
    #pragma unroll
    for (int loop = 0; loop < 4; ++loop) {
        *(float4 *)&C[(by * 16 + lane / 2 % 4 * 4 + loop) * 64 + bx * 32 + lane / 8 * 8
                      + lane % 2 * 4] =
            make_float4(C_local[loop][0], C_local[loop][1], C_local[loop][2], C_local[loop][3]);
    }
}
