// matmul: 1 launch
//   A: f32[33, 13], read
//   B: f32[13, 30], read
//   C: f32[33, 30], written
// matmul<<<dim3(1, 3), 32>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(32)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    __shared__ __align__(16) float A_shared[8][20];
    __shared__ __align__(16) float B_shared[8][32];
    __shared__ __align__(16) float C_shared[4][4][40];
    const int by = blockIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_shared_local[4][4];
    const int k = lane % 4;
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
        const int i = by * 16 + each * 8 + lane / 4;
        copy_async_or_zero<4>(&A_shared[lane % 4][each * 8 + lane / 4], &A[i * 13 + k - 3],
                              k > 2 && i < 33);
    }
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
        const int k_1 = each * 2 + lane / 16;
        copy_async_or_zero<8>(&B_shared[each * 2 + lane / 16][lane % 16 * 2],
                              &B[(k_1 - 3) * 30 + lane % 16 * 2], k_1 > 2 && lane % 16 < 15);
    }
    copy_async_commit();  // the copies above are one group
    #pragma unroll
    for (int row = 0; row < 4; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            C_shared_local[row][column] = 0.0f;
    }
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko_0 = 0; ko_0 < 2; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 2; ++again) {
            if (ko_0 * 2 + again < 3) {
                #pragma unroll
                for (int each = 0; each < 2; ++each) {
                    const int i = by * 16 + each * 8 + lane / 4;
                    copy_async_or_zero<4>(
                        &A_shared[(again + 1) % 2 * 4 + lane % 4][each * 8 + lane / 4],
                        &A[(long long)(by * 208 + lane / 4 * 13 + lane % 4) + (long long)ko_0 * 8
                           + (each * 104 + again * 4 + 1)],
                        i < 33);
                }
                #pragma unroll
                for (int each = 0; each < 2; ++each) {
                    copy_async_or_zero<8>(
                        &B_shared[(again + 1) % 2 * 4 + each * 2 + lane / 16][lane % 16 * 2],
                        &B[(long long)(lane / 16 * 30 + lane % 16 * 2) + (long long)ko_0 * 240
                           + (again * 120 + each * 60 + 30)],
                        lane % 16 < 15);
                }
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
                        C_shared_local[row_pair * 2][column] +=
                            A_shared_local[row_pair * 2] * B_shared_local[column];
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 4; ++column_turn)
                        C_shared_local[row_pair * 2 + 1][3 - column_turn] +=
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
    for (int ti = 0; ti < 4; ++ti) {
        *(float4 *)&C_shared[ti][lane / 2 % 4][lane / 8 * 8 + lane % 2 * 4] =
            make_float4(C_shared_local[ti][0], C_shared_local[ti][1], C_shared_local[ti][2],
                        C_shared_local[ti][3]);
    }
    __syncthreads();  // C_shared: written above by other threads, read below
    if (lane < 30) {
        #pragma unroll 4
        for (int each = 0; each < 16; ++each) {
            const int i = by * 16 + each;
            if (i < 33)
                C[i * 30 + lane] = C_shared[i % 4][each / 4][lane];
        }
    }
}
