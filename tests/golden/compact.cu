// compact: 4 launches
//   x: f32[1048576], read
//   y: f32[1048576], written
//   count: i32[], written
//   count_sums: u64[256], temporary, allocated by the caller
//   count_groups: u64[2], temporary, allocated by the caller
// compact<<<2, 128>>>(count_sums);
// compact_1<<<1, 128>>>(count_groups);
// compact_2<<<256, 128>>>(x, y, count, count_sums, count_groups);
// compact_3<<<2048, 128>>>(y, count);

static __device__ __forceinline__ unsigned long long await_element(
    const unsigned long long *element)
{
    unsigned long long value;
    while ((value = *(const volatile unsigned long long *)element) == 0)
        __nanosleep(100);
    return value;
}

static __device__ __forceinline__ void publish_element(unsigned long long *element,
                                                       unsigned long long value)
{
    *(volatile unsigned long long *)element = value;
}

extern "C" __global__ void __launch_bounds__(128)
compact(unsigned long long *__restrict__ count_sums)
{
    const int some = blockIdx.x;
    const int thread = threadIdx.x;
    count_sums[some * 128 + thread] = 0ull;
}

extern "C" __global__ void __launch_bounds__(128)
compact_1(unsigned long long *__restrict__ count_groups)
{
    const int thread = threadIdx.x;
    if (thread < 2)
        count_groups[thread] = 0ull;
}

extern "C" __global__ void __launch_bounds__(128)
compact_2(const float *__restrict__ x, float *__restrict__ y, int *__restrict__ count,
          unsigned long long *count_sums, unsigned long long *count_groups)
{
    __shared__ int count_before_1[128];
    __shared__ int count_total_1[128];
    __shared__ int count_before_2[1];
    __shared__ int count_total_2[1];
    __shared__ int count_near;
    __shared__ int count_far;
    __shared__ int count_chunk_1;
    __shared__ int count_total_2_warps[4];
    __shared__ int count_near_warps[4];
    __shared__ int count_far_warps[4];
    const int all = blockIdx.x;
    const int thread = threadIdx.x;
    int count_before[8];
    int count_total[8];
    int count_inner[8];
    int count_step_5[8];
    int count_step_4[8];
    int count_step_3[8];
    int count_step_2[8];
    int count_step_1[8];
    int count_step_0[8];
    __align__(16) float x_local[32];
    int count_chunk_1_step_0;
    int count_chunk_1_step_1;
    int count_chunk_1_step_2;
    int count_chunk_1_step_3;
    int count_chunk_1_step_4;
    int count_chunk_1_step_5;
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        *(float4 *)&x_local[each * 4] = *(const float4 *)&x[all * 4096 + each * 512 + thread * 4];
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        count_total[round] = 0;
        #pragma unroll
        for (int i_1 = 0; i_1 < 4; ++i_1) {
            if (x_local[round * 4 + i_1] > 0.0f)
                count_total[round] = (int)((unsigned int)count_total[round] + 1);
        }
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round)
        count_step_0[round] = count_total[round];
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        int count_step_0_from = __shfl_sync(0xffffffff, count_step_0[round], thread - 1);
        count_step_1[round] =
            (int)((unsigned int)(thread % 32 > 0 ? count_step_0_from : 0) + count_step_0[round]);
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        int count_step_1_from = __shfl_sync(0xffffffff, count_step_1[round], thread - 2);
        count_step_2[round] =
            (int)((unsigned int)(thread % 32 > 1 ? count_step_1_from : 0) + count_step_1[round]);
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        int count_step_2_from = __shfl_sync(0xffffffff, count_step_2[round], thread - 4);
        count_step_3[round] =
            (int)((unsigned int)(thread % 32 > 3 ? count_step_2_from : 0) + count_step_2[round]);
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        int count_step_3_from = __shfl_sync(0xffffffff, count_step_3[round], thread - 8);
        count_step_4[round] =
            (int)((unsigned int)(thread % 32 > 7 ? count_step_3_from : 0) + count_step_3[round]);
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        int count_step_4_from = __shfl_sync(0xffffffff, count_step_4[round], thread - 16);
        count_step_5[round] =
            (int)((unsigned int)(thread % 32 > 15 ? count_step_4_from : 0) + count_step_4[round]);
    }
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        int count_step_5_from = __shfl_sync(0xffffffff, count_step_5[round], thread - 1);
        count_inner[round] = thread % 32 > 0 ? count_step_5_from : 0;
    }
    if (thread % 32 == 31) {
        #pragma unroll
        for (int round = 0; round < 8; ++round)
            count_total_1[round * 4 + thread / 32] = count_step_5[round];
    }
    __syncthreads();  // count_total_1: written above by other threads, read below
    int count_total_2_part = 0;
    if (thread < 32)
        count_total_2_part = (int)((unsigned int)count_total_2_part + count_total_1[thread]);
    count_total_2_part =
        (int)((unsigned int)count_total_2_part
              + __shfl_xor_sync(0xffffffff, count_total_2_part, 16));
    count_total_2_part =
        (int)((unsigned int)count_total_2_part
              + __shfl_xor_sync(0xffffffff, count_total_2_part, 8));
    count_total_2_part =
        (int)((unsigned int)count_total_2_part
              + __shfl_xor_sync(0xffffffff, count_total_2_part, 4));
    count_total_2_part =
        (int)((unsigned int)count_total_2_part
              + __shfl_xor_sync(0xffffffff, count_total_2_part, 2));
    count_total_2_part =
        (int)((unsigned int)count_total_2_part
              + __shfl_xor_sync(0xffffffff, count_total_2_part, 1));
    if (thread % 32 == 0)
        count_total_2_warps[thread / 32] = count_total_2_part;
    __syncthreads();  // count_total_2_warps: written above by other threads, read below
    count_total_2_part = thread % 32 < 4 ? count_total_2_warps[thread % 32] : 0;
    count_total_2_part =
        (int)((unsigned int)count_total_2_part
              + __shfl_xor_sync(0xffffffff, count_total_2_part, 2));
    count_total_2_part =
        (int)((unsigned int)count_total_2_part
              + __shfl_xor_sync(0xffffffff, count_total_2_part, 1));
    if (thread == 0)
        count_total_2[0] = count_total_2_part;
    if (thread == 0)
        publish_element(&count_sums[all],
                        ((unsigned long long)((unsigned int)count_total_2[0]) << 32ull) | 1ull);
    int count_near_part = 0;
    if (thread < all % 128)
        count_near_part =
            (int)((unsigned int)count_near_part
                  + (int)(
                      (unsigned int)(await_element(&count_sums[all / 128 * 128 + thread])
                                     >> 32ull)));
    count_near_part =
        (int)((unsigned int)count_near_part + __shfl_xor_sync(0xffffffff, count_near_part, 16));
    count_near_part =
        (int)((unsigned int)count_near_part + __shfl_xor_sync(0xffffffff, count_near_part, 8));
    count_near_part =
        (int)((unsigned int)count_near_part + __shfl_xor_sync(0xffffffff, count_near_part, 4));
    count_near_part =
        (int)((unsigned int)count_near_part + __shfl_xor_sync(0xffffffff, count_near_part, 2));
    count_near_part =
        (int)((unsigned int)count_near_part + __shfl_xor_sync(0xffffffff, count_near_part, 1));
    if (thread % 32 == 0)
        count_near_warps[thread / 32] = count_near_part;
    __syncthreads();  // count_near_warps: written above by other threads, read below
    count_near_part = thread % 32 < 4 ? count_near_warps[thread % 32] : 0;
    count_near_part =
        (int)((unsigned int)count_near_part + __shfl_xor_sync(0xffffffff, count_near_part, 2));
    count_near_part =
        (int)((unsigned int)count_near_part + __shfl_xor_sync(0xffffffff, count_near_part, 1));
    if (thread == 0)
        count_near = count_near_part;
    if (thread == 0 && all % 128 == 127)
        publish_element(&count_groups[all / 128],
                        ((unsigned long long)(
                             (unsigned int)((int)((unsigned int)count_near + count_total_2[0])))
                         << 32ull) | 1ull);
    int count_far_part = 0;
    if (thread < all / 128)
        count_far_part =
            (int)((unsigned int)count_far_part
                  + (int)((unsigned int)(await_element(&count_groups[thread]) >> 32ull)));
    count_far_part =
        (int)((unsigned int)count_far_part + __shfl_xor_sync(0xffffffff, count_far_part, 16));
    count_far_part =
        (int)((unsigned int)count_far_part + __shfl_xor_sync(0xffffffff, count_far_part, 8));
    count_far_part =
        (int)((unsigned int)count_far_part + __shfl_xor_sync(0xffffffff, count_far_part, 4));
    count_far_part =
        (int)((unsigned int)count_far_part + __shfl_xor_sync(0xffffffff, count_far_part, 2));
    count_far_part =
        (int)((unsigned int)count_far_part + __shfl_xor_sync(0xffffffff, count_far_part, 1));
    if (thread % 32 == 0)
        count_far_warps[thread / 32] = count_far_part;
    __syncthreads();  // count_far_warps: written above by other threads, read below
    count_far_part = thread % 32 < 4 ? count_far_warps[thread % 32] : 0;
    count_far_part =
        (int)((unsigned int)count_far_part + __shfl_xor_sync(0xffffffff, count_far_part, 2));
    count_far_part =
        (int)((unsigned int)count_far_part + __shfl_xor_sync(0xffffffff, count_far_part, 1));
    if (thread == 0)
        count_far = count_far_part;
    if (thread == 0)
        count_before_2[0] = 0 + (int)((unsigned int)count_far + count_near);
    if (thread == 0 && all == 255)
        count[0] = (int)((unsigned int)count_before_2[0] + count_total_2[0]);
    if (thread == 0)
        count_chunk_1 = count_before_2[0];
    if (thread < 32) {
        if (thread < 1)
            count_chunk_1_step_0 = (int)((unsigned int)count_chunk_1 + count_total_1[thread]);
        else
            count_chunk_1_step_0 = count_total_1[thread];
    }
    int count_chunk_1_step_0_from = __shfl_sync(0xffffffff, count_chunk_1_step_0, thread - 1);
    if (thread < 32)
        count_chunk_1_step_1 =
            (int)((unsigned int)(thread > 0 ? count_chunk_1_step_0_from : 0)
                  + count_chunk_1_step_0);
    int count_chunk_1_step_1_from = __shfl_sync(0xffffffff, count_chunk_1_step_1, thread - 2);
    if (thread < 32)
        count_chunk_1_step_2 =
            (int)((unsigned int)(thread > 1 ? count_chunk_1_step_1_from : 0)
                  + count_chunk_1_step_1);
    int count_chunk_1_step_2_from = __shfl_sync(0xffffffff, count_chunk_1_step_2, thread - 4);
    if (thread < 32)
        count_chunk_1_step_3 =
            (int)((unsigned int)(thread > 3 ? count_chunk_1_step_2_from : 0)
                  + count_chunk_1_step_2);
    int count_chunk_1_step_3_from = __shfl_sync(0xffffffff, count_chunk_1_step_3, thread - 8);
    if (thread < 32)
        count_chunk_1_step_4 =
            (int)((unsigned int)(thread > 7 ? count_chunk_1_step_3_from : 0)
                  + count_chunk_1_step_3);
    int count_chunk_1_step_4_from = __shfl_sync(0xffffffff, count_chunk_1_step_4, thread - 16);
    if (thread < 32)
        count_chunk_1_step_5 =
            (int)((unsigned int)(thread > 15 ? count_chunk_1_step_4_from : 0)
                  + count_chunk_1_step_4);
    int count_chunk_1_step_5_from = __shfl_sync(0xffffffff, count_chunk_1_step_5, thread - 1);
    if (thread < 32)
        count_before_1[thread] = thread > 0 ? count_chunk_1_step_5_from : count_chunk_1;
    int count_chunk_1_step_5_from_1 = __shfl_sync(0xffffffff, count_chunk_1_step_5, 31);
    if (thread == 0)
        count_chunk_1 = count_chunk_1_step_5_from_1;
    __syncthreads();  // count_before_1: written above by other threads, read below
    #pragma unroll
    for (int round = 0; round < 8; ++round)
        count_before[round] =
            (int)((unsigned int)count_before_1[round * 4 + thread / 32] + count_inner[round]);
    #pragma unroll
    for (int round = 0; round < 8; ++round) {
        int count_chunk = count_before[round];
        #pragma unroll
        for (int i_1 = 0; i_1 < 4; ++i_1) {
            if (x_local[round * 4 + i_1] > 0.0f)
                y[count_chunk] = x_local[round * 4 + i_1];
            if (x_local[round * 4 + i_1] > 0.0f)
                count_chunk = (int)((unsigned int)count_chunk + 1);
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
compact_3(float *__restrict__ y, const int *__restrict__ count)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
        const int block_at = block * 512 + thread * 4 + lane;
        if (block_at >= count[0])
            y[block_at] = 0.0f;
    }
}
