// matmul_bias_relu: 2 launches
//   A: f32[33, 64], read
//   B: f32[64, 64], read
//   bias: f32[64], read
//   C: f32[33, 64], written
//   acc_rf_global: f32[2, 48, 64], temporary, allocated by the caller
// matmul_bias_relu<<<dim3(2, 3, 2), 32>>>(A, B, acc_rf_global);
// matmul_bias_relu_1<<<6, 128>>>(bias, C, acc_rf_global);

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

extern "C" __global__ void __launch_bounds__(32)
matmul_bias_relu(const float *__restrict__ A, const float *__restrict__ B,
                 float *__restrict__ acc_rf_global)
{
    __shared__ __align__(16) float A_shared[8][20];
    __shared__ __align__(16) float B_shared[8][32];
    const int place = (int)blockIdx.y * 2 + (int)blockIdx.x;
    const int by = place % 3;
    const int bx = place / 3;
    const int part = blockIdx.z;
    const int lane = threadIdx.x;
    __align__(16) float acc_rf[4][4];
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
        const int i = by * 16 + each * 8 + lane / 4;
        copy_async_or_zero<4>(&A_shared[lane % 4][each * 8 + lane / 4],
                              &A[i * 64 + part * 32 + lane % 4], i < 33);
    }
    copy_async<16>(&B_shared[lane / 8][lane % 8 * 4],
                   &B[(part * 32 + lane / 8) * 64 + bx * 32 + lane % 8 * 4]);
    copy_async_commit();  // the copies above are one group
    #pragma unroll
    for (int row = 0; row < 4; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            acc_rf[row][column] = 0.0f;
    }
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko_0 = 0; ko_0 < 4; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 2; ++again) {
            if (ko_0 * 2 + again < 7) {
                #pragma unroll
                for (int each = 0; each < 2; ++each) {
                    const int i = by * 16 + each * 8 + lane / 4;
                    copy_async_or_zero<4>(
                        &A_shared[(again + 1) % 2 * 4 + lane % 4][each * 8 + lane / 4],
                        &A[(long long)(by * 1024 + lane / 4 * 64 + part * 32 + lane % 4)
                           + (long long)ko_0 * 8 + (each * 512 + again * 4 + 4)],
                        i < 33);
                }
                copy_async<16>(&B_shared[(again + 1) % 2 * 4 + lane / 8][lane % 8 * 4],
                               &B[(long long)(part * 2048 + lane / 8 * 64 + bx * 32 + lane % 8 * 4)
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
                        acc_rf[row_pair * 2][column] +=
                            A_shared_local[row_pair * 2] * B_shared_local[column];
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 4; ++column_turn)
                        acc_rf[row_pair * 2 + 1][3 - column_turn] +=
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
        *(float4 *)&acc_rf_global[(part * 48 + by * 16 + lane / 2 % 4 * 4 + loop) * 64 + bx * 32
                                  + lane / 8 * 8 + lane % 2 * 4] =
            make_float4(acc_rf[loop][0], acc_rf[loop][1], acc_rf[loop][2], acc_rf[loop][3]);
    }
}

extern "C" __global__ void __launch_bounds__(128)
matmul_bias_relu_1(const float *__restrict__ bias, float *__restrict__ C,
                   const float *__restrict__ acc_rf_global)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) float acc[4];
    const int i = b * 8 + t / 16;
    *(float4 *)&acc[0] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    #pragma unroll
    for (int part = 0; part < 2; ++part) {
        const float4 acc_v = *(const float4 *)&acc[0];
        const float4 acc_rf_global_v1 =
            *(const float4 *)&acc_rf_global[part * 3072 + b * 512 + t * 4];
        float4 result;
        result.x = acc_v.x + acc_rf_global_v1.x;
        result.y = acc_v.y + acc_rf_global_v1.y;
        result.z = acc_v.z + acc_rf_global_v1.z;
        result.w = acc_v.w + acc_rf_global_v1.w;
        *(float4 *)&acc[0] = result;
    }
    if (i < 33) {
        const float4 bias_v = *(const float4 *)&bias[t % 16 * 4];
        float4 result;
        result.x = fmaxf(acc[0] + bias_v.x, 0.0f);
        result.y = fmaxf(acc[1] + bias_v.y, 0.0f);
        result.z = fmaxf(acc[2] + bias_v.z, 0.0f);
        result.w = fmaxf(acc[3] + bias_v.w, 0.0f);
        *(float4 *)&C[b * 512 + t * 4] = result;
    }
}
