// masked_cumsum: 1 launch
//   x: f32[32768, 32768], read
//   mask: bool[32768, 32768], read
//   y: f32[32768, 32768], written
// masked_cumsum<<<32768, 1024>>>(x, mask, y);

template <class T>
static __device__ __forceinline__ T load_evict_last(const T *from)
{
#if __CUDA_ARCH__ >= 800
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return *(const T *)__nv_associate_access_property(from, policy);
#else
    return *from;
#endif
}

extern "C" __global__ void __launch_bounds__(1024, 1)
masked_cumsum(const float *__restrict__ x, const bool *__restrict__ mask, float *__restrict__ y)
{
    __shared__ float sum;
    __shared__ float sum_total_1[256];
    __shared__ float sum_before_1[256];
    const int i = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread == 0)
        sum = 0.0f;
    __align__(16) bool mask_local[32];
    __align__(16) float x_local[32];
    float sum_step_0_1;
    float sum_step_1_1;
    float sum_step_2_1;
    float sum_step_3_1;
    float sum_step_4_1;
    float sum_step_5_1;
    float sum_before_2;
    float sum_step_0[8];
    float sum_step_1[8];
    float sum_step_2[8];
    float sum_step_3[8];
    float sum_step_4[8];
    float sum_step_5[8];
    float sum_inner[8];
    float sum_total[8];
    float sum_before[8];
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        *(unsigned int *)&mask_local[each * 4] =
            load_evict_last((const unsigned int *)&mask[i * 32768 + each * 4096 + thread * 4]);
    }
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        *(float4 *)&x_local[each * 4] =
            load_evict_last((const float4 *)&x[i * 32768 + each * 4096 + thread * 4]);
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        sum_total[round] = 0.0f;
        #pragma unroll
        for (int j_2 = 0; j_2 < 4; ++j_2)
            sum_total[round] += mask_local[round * 4 + j_2] ? x_local[round * 4 + j_2] : 0.0f;
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round)
        sum_step_0[round] = sum_total[round];
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        float sum_step_0_from = __shfl_sync(0xffffffff, sum_step_0[round], thread - 1);
        sum_step_1[round] = (thread % 32 > 0 ? sum_step_0_from : -0.0f) + sum_step_0[round];
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        float sum_step_1_from = __shfl_sync(0xffffffff, sum_step_1[round], thread - 2);
        sum_step_2[round] = (thread % 32 > 1 ? sum_step_1_from : -0.0f) + sum_step_1[round];
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        float sum_step_2_from = __shfl_sync(0xffffffff, sum_step_2[round], thread - 4);
        sum_step_3[round] = (thread % 32 > 3 ? sum_step_2_from : -0.0f) + sum_step_2[round];
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        float sum_step_3_from = __shfl_sync(0xffffffff, sum_step_3[round], thread - 8);
        sum_step_4[round] = (thread % 32 > 7 ? sum_step_3_from : -0.0f) + sum_step_3[round];
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        float sum_step_4_from = __shfl_sync(0xffffffff, sum_step_4[round], thread - 16);
        sum_step_5[round] = (thread % 32 > 15 ? sum_step_4_from : -0.0f) + sum_step_4[round];
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        float sum_step_5_from = __shfl_sync(0xffffffff, sum_step_5[round], thread - 1);
        sum_inner[round] = thread % 32 > 0 ? sum_step_5_from : -0.0f;
    }
    if (thread % 32 == 31) {
        #pragma unroll
        for (int round = 0; round < 8; ++round)
            sum_total_1[round * 32 + thread / 32] = sum_step_5[round];
    }
    __syncthreads();  // sum_total_1: written above by other threads, read below
    if (thread < 32) {
        float sum_total_2 = 0.0f;
        for (int group_1 = 0; group_1 < 8; ++group_1)
            sum_total_2 += sum_total_1[thread * 8 + group_1];
        if (thread < 1)
            sum_step_0_1 = sum + sum_total_2;
        else
            sum_step_0_1 = sum_total_2;
    }
    float sum_step_0_1_from = __shfl_sync(0xffffffff, sum_step_0_1, thread - 1);
    if (thread < 32)
        sum_step_1_1 = (thread > 0 ? sum_step_0_1_from : -0.0f) + sum_step_0_1;
    float sum_step_1_1_from = __shfl_sync(0xffffffff, sum_step_1_1, thread - 2);
    if (thread < 32)
        sum_step_2_1 = (thread > 1 ? sum_step_1_1_from : -0.0f) + sum_step_1_1;
    float sum_step_2_1_from = __shfl_sync(0xffffffff, sum_step_2_1, thread - 4);
    if (thread < 32)
        sum_step_3_1 = (thread > 3 ? sum_step_2_1_from : -0.0f) + sum_step_2_1;
    float sum_step_3_1_from = __shfl_sync(0xffffffff, sum_step_3_1, thread - 8);
    if (thread < 32)
        sum_step_4_1 = (thread > 7 ? sum_step_3_1_from : -0.0f) + sum_step_3_1;
    float sum_step_4_1_from = __shfl_sync(0xffffffff, sum_step_4_1, thread - 16);
    if (thread < 32)
        sum_step_5_1 = (thread > 15 ? sum_step_4_1_from : -0.0f) + sum_step_4_1;
    float sum_step_5_1_from = __shfl_sync(0xffffffff, sum_step_5_1, thread - 1);
    if (thread < 32)
        sum_before_2 = thread > 0 ? sum_step_5_1_from : sum;
    float sum_step_5_1_from_1 = __shfl_sync(0xffffffff, sum_step_5_1, 31);
    if (thread == 0)
        sum = sum_step_5_1_from_1;
    if (thread < 32) {
        float sum_chunk_1 = sum_before_2;
        for (int group_1 = 0; group_1 < 8; ++group_1) {
            const int group = thread * 8 + group_1;
            sum_before_1[group] = sum_chunk_1;
            sum_chunk_1 += sum_total_1[group];
        }
    }
    __syncthreads();  // sum_before_1: written above by other threads, read below
    #pragma unroll
    for (int round = 0; round < 8; ++round)
        sum_before[round] = sum_before_1[round * 32 + thread / 32] + sum_inner[round];
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        __align__(16) float y_local[4];
        float sum_chunk = sum_before[round];
        #pragma unroll
        for (int j_2 = 0; j_2 < 4; ++j_2) {
            sum_chunk += mask_local[round * 4 + j_2] ? x_local[round * 4 + j_2] : 0.0f;
            y_local[j_2] = sum_chunk;
        }
        *(float4 *)&y[i * 32768 + round * 4096 + thread * 4] =
            make_float4(y_local[0], y_local[1], y_local[2], y_local[3]);
    }
}
