// scatter_sorted: 22 launches
//   from: i32[2048], read
//   to: i32[2048], read
//   h: f32[4000, 4], read
//   y: f32[4000, 4], written
//   y_count: i32[4001], temporary, allocated by the caller
//   y_first: i32[4001], temporary, allocated by the caller
//   y_sum: i32[], temporary, allocated by the caller
//   y_tally: i32[64, 32], temporary, allocated by the caller
//   y_total: i32[64], temporary, allocated by the caller
//   y_start: i32[64], temporary, allocated by the caller
//   y_next: i32[64, 32], temporary, allocated by the caller
//   y_rank: i32[2048], temporary, allocated by the caller
//   y_order: i32[2048], temporary, allocated by the caller
//   y_order_2: i32[2048], temporary, allocated by the caller
//   y_sum_before: i32[1], temporary, allocated by the caller
//   y_sum_total: i32[1], temporary, allocated by the caller
//   y_sum_before_2: i32[8], temporary, allocated by the caller
//   y_sum_total_2: i32[8], temporary, allocated by the caller
// scatter_sorted<<<16, 256>>>(y);
// scatter_sorted_1<<<4, 256>>>(y_count);
// scatter_sorted_2<<<1, 128>>>(to, y_count);
// scatter_sorted_3<<<1, 1>>>(y_sum);
// scatter_sorted_4<<<1, 256>>>(y_count, y_sum_total);
// scatter_sorted_5<<<1, 256>>>(y_sum, y_sum_total, y_sum_total_2, y_sum_before_2, y_sum_before);
// scatter_sorted_6<<<1, 256>>>(y_sum_before, y_count, y_first);
// scatter_sorted_7<<<2, 256>>>(y_tally);
// scatter_sorted_8<<<8, 256>>>(to, y_tally);
// scatter_sorted_9<<<8, dim3(32, 8)>>>(y_tally, y_total);
// scatter_sorted_10<<<1, 256>>>(y_total, y_start);
// scatter_sorted_11<<<1, 256>>>(y_start, y_tally, y_next);
// scatter_sorted_12<<<1, 64>>>(to, y_next, y_rank);
// scatter_sorted_13<<<8, 256>>>(y_order, y_rank);
// scatter_sorted_14<<<2, 256>>>(y_tally);
// scatter_sorted_15<<<8, 256>>>(to, y_tally, y_order);
// scatter_sorted_16<<<8, dim3(32, 8)>>>(y_tally, y_total);
// scatter_sorted_17<<<1, 256>>>(y_total, y_start);
// scatter_sorted_18<<<1, 256>>>(y_start, y_tally, y_next);
// scatter_sorted_19<<<1, 64>>>(to, y_order, y_next, y_rank);
// scatter_sorted_20<<<8, 256>>>(y_order_2, y_rank, y_order);
// scatter_sorted_21<<<63, 256>>>(from, h, y, y_first, y_order_2);

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted(float *__restrict__ y)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    __align__(16) float y_local[4];
    const int v = block * 256 + thread;
    if (v < 4000) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            y_local[lane] = 0.0f;
        *(float4 *)&y[v * 4] = make_float4(y_local[0], y_local[1], y_local[2], y_local[3]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_1(int *__restrict__ y_count)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    __align__(16) int y_count_local_1[4];
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
        const int r = block * 1024 + thread * 4 + lane;
        if (r < 4001)
            y_count_local_1[lane] = 0;
    }
    if (block * 256 + thread < 1000) {
        *(int4 *)&y_count[block * 1024 + thread * 4] = make_int4(y_count_local_1[0],
                                                                 y_count_local_1[1],
                                                                 y_count_local_1[2],
                                                                 y_count_local_1[3]);
    } else {
        #pragma unroll
        for (int ax0 = 0; ax0 < 4; ++ax0) {
            const int block_at = block * 1024 + thread * 4 + ax0;
            if (block_at < 4001)
                y_count[block_at] = y_count_local_1[ax0];
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
scatter_sorted_2(const int *__restrict__ to, int *__restrict__ y_count)
{
    __shared__ int y_count_private[4001];
    const int element = threadIdx.x;
    for (int ax0_0 = 0; ax0_0 < 32; ++ax0_0) {
        const int v0 = ax0_0 * 128 + element;
        if (v0 < 4001)
            y_count_private[v0] = 0;
    }
    __syncthreads();  // y_count_private: written above by other threads, written again below
    for (int q_1 = 0; q_1 < 4; ++q_1) {
        __align__(16) int to_local_1[4];
        *(int4 *)&to_local_1[0] = *(const int4 *)&to[q_1 * 512 + element * 4];
        #pragma unroll
        for (int each = 0; each < 4; ++each)
            atomicAdd(&y_count_private[to_local_1[each]], 1);
    }
    __syncthreads();  // y_count_private: written above by other threads, read below
    for (int ax0_0 = 0; ax0_0 < 32; ++ax0_0) {
        const int v0 = ax0_0 * 128 + element;
        if (v0 < 4001)
            atomicAdd(&y_count[v0], y_count_private[v0]);
    }
}

extern "C" __global__ void __launch_bounds__(1)
scatter_sorted_3(int *__restrict__ y_sum)
{
    y_sum[0] = 0;
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_4(const int *__restrict__ y_count, int *__restrict__ y_sum_total)
{
    __shared__ int y_sum_total_warps[8];
    const int thread = threadIdx.x;
    int y_sum_total_part = 0;
    for (int each = 0; each < 16; ++each) {
        if (each * 256 + thread < 4001)
            y_sum_total_part = (int)((unsigned int)y_sum_total_part + y_count[each * 256 + thread]);
    }
    y_sum_total_part =
        (int)((unsigned int)y_sum_total_part + __shfl_xor_sync(0xffffffff, y_sum_total_part, 16));
    y_sum_total_part =
        (int)((unsigned int)y_sum_total_part + __shfl_xor_sync(0xffffffff, y_sum_total_part, 8));
    y_sum_total_part =
        (int)((unsigned int)y_sum_total_part + __shfl_xor_sync(0xffffffff, y_sum_total_part, 4));
    y_sum_total_part =
        (int)((unsigned int)y_sum_total_part + __shfl_xor_sync(0xffffffff, y_sum_total_part, 2));
    y_sum_total_part =
        (int)((unsigned int)y_sum_total_part + __shfl_xor_sync(0xffffffff, y_sum_total_part, 1));
    if (thread % 32 == 0)
        y_sum_total_warps[thread / 32] = y_sum_total_part;
    __syncthreads();  // y_sum_total_warps: written above by other threads, read below
    y_sum_total_part = thread % 32 < 8 ? y_sum_total_warps[thread % 32] : 0;
    y_sum_total_part =
        (int)((unsigned int)y_sum_total_part + __shfl_xor_sync(0xffffffff, y_sum_total_part, 4));
    y_sum_total_part =
        (int)((unsigned int)y_sum_total_part + __shfl_xor_sync(0xffffffff, y_sum_total_part, 2));
    y_sum_total_part =
        (int)((unsigned int)y_sum_total_part + __shfl_xor_sync(0xffffffff, y_sum_total_part, 1));
    if (thread == 0)
        y_sum_total[0] = y_sum_total_part;
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_5(int *y_sum, const int *__restrict__ y_sum_total, int *y_sum_total_2,
                 int *y_sum_before_2, int *__restrict__ y_sum_before)
{
    const int part = threadIdx.x;
    int y_sum_acc;
    if (part == 0)
        y_sum_acc = y_sum[0];
    int y_sum_total_1 = 0;
    for (int part_2 = 0; part_2 < 4; ++part_2) {
        if (part * 4 + part_2 < 1)
            y_sum_total_1 = (int)((unsigned int)y_sum_total_1 + y_sum_total[part * 4 + part_2]);
    }
    int y_sum_step_0 = y_sum_total_1;
    int y_sum_step_0_from = __shfl_sync(0xffffffff, y_sum_step_0, part - 1);
    int y_sum_step_1 = (int)((unsigned int)(part % 32 > 0 ? y_sum_step_0_from : 0) + y_sum_step_0);
    int y_sum_step_1_from = __shfl_sync(0xffffffff, y_sum_step_1, part - 2);
    int y_sum_step_2 = (int)((unsigned int)(part % 32 > 1 ? y_sum_step_1_from : 0) + y_sum_step_1);
    int y_sum_step_2_from = __shfl_sync(0xffffffff, y_sum_step_2, part - 4);
    int y_sum_step_3 = (int)((unsigned int)(part % 32 > 3 ? y_sum_step_2_from : 0) + y_sum_step_2);
    int y_sum_step_3_from = __shfl_sync(0xffffffff, y_sum_step_3, part - 8);
    int y_sum_step_4 = (int)((unsigned int)(part % 32 > 7 ? y_sum_step_3_from : 0) + y_sum_step_3);
    int y_sum_step_4_from = __shfl_sync(0xffffffff, y_sum_step_4, part - 16);
    int y_sum_step_5 = (int)((unsigned int)(part % 32 > 15 ? y_sum_step_4_from : 0) + y_sum_step_4);
    int y_sum_step_5_from = __shfl_sync(0xffffffff, y_sum_step_5, part - 1);
    int y_sum_inner = part % 32 > 0 ? y_sum_step_5_from : 0;
    if (part % 32 == 31)
        y_sum_total_2[part / 32] = y_sum_step_5;
    __syncthreads();  // y_sum_total_2: written above by other threads, read below
    if (part == 0) {
        for (int group = 0; group < 8; ++group) {
            y_sum_before_2[group] = y_sum_acc;
            y_sum_acc = (int)((unsigned int)y_sum_acc + y_sum_total_2[group]);
        }
    }
    __syncthreads();  // y_sum_before_2: written above by other threads, read below
    int y_sum_before_1 = (int)((unsigned int)y_sum_before_2[part / 32] + y_sum_inner);
    int y_sum_chunk_1 = y_sum_before_1;
    for (int part_2 = 0; part_2 < 4; ++part_2) {
        const int part_1 = part * 4 + part_2;
        if (part_1 < 1) {
            y_sum_before[part_1] = y_sum_chunk_1;
            y_sum_chunk_1 = (int)((unsigned int)y_sum_chunk_1 + y_sum_total[part_1]);
        }
    }
    if (part == 0)
        y_sum[0] = y_sum_acc;
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_6(const int *__restrict__ y_sum_before, const int *__restrict__ y_count,
                 int *__restrict__ y_first)
{
    __shared__ int y_sum_chunk;
    __shared__ int y_sum_chunk_total_1[32];
    __shared__ int y_sum_chunk_before_1[32];
    const int thread = threadIdx.x;
    if (thread == 0)
        y_sum_chunk = y_sum_before[0];
    __align__(16) int y_count_local[16];
    int y_sum_chunk_step_0_1;
    int y_sum_chunk_step_1_1;
    int y_sum_chunk_step_2_1;
    int y_sum_chunk_step_3_1;
    int y_sum_chunk_step_4_1;
    int y_sum_chunk_step_5_1;
    int y_sum_chunk_step_0[4];
    int y_sum_chunk_step_1[4];
    int y_sum_chunk_step_2[4];
    int y_sum_chunk_step_3[4];
    int y_sum_chunk_step_4[4];
    int y_sum_chunk_step_5[4];
    int y_sum_chunk_inner[4];
    int y_sum_chunk_total[4];
    int y_sum_chunk_before[4];
    #pragma unroll
    for (int each = 0; each < 3; ++each) {
        *(int4 *)&y_count_local[each * 4] = *(const int4 *)&y_count[each * 1024 + thread * 4];
    }
    if (thread < 232) {
        *(int4 *)&y_count_local[12] = *(const int4 *)&y_count[thread * 4 + 3072];
    } else {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            if (thread * 4 + lane < 929)
                y_count_local[lane + 12] = y_count[thread * 4 + lane + 3072];
        }
    }
    #pragma unroll
    for (int round = 0; round < 3; ++round) {
        y_sum_chunk_total[round] = 0;
        #pragma unroll
        for (int inside_2 = 0; inside_2 < 4; ++inside_2)
            y_sum_chunk_total[round] =
                (int)((unsigned int)y_sum_chunk_total[round] + y_count_local[round * 4 + inside_2]);
    }
    y_sum_chunk_total[3] = 0;
    #pragma unroll
    for (int inside_2 = 0; inside_2 < 4; ++inside_2) {
        if (thread * 4 + inside_2 < 929)
            y_sum_chunk_total[3] =
                (int)((unsigned int)y_sum_chunk_total[3] + y_count_local[inside_2 + 12]);
    }
    #pragma unroll
    for (int round = 0; round < 4; ++round)
        y_sum_chunk_step_0[round] = y_sum_chunk_total[round];
    #pragma unroll
    for (int round = 0; round < 4; ++round) {
        int y_sum_chunk_step_0_from =
            __shfl_sync(0xffffffff, y_sum_chunk_step_0[round], thread - 1);
        y_sum_chunk_step_1[round] =
            (int)((unsigned int)(thread % 32 > 0 ? y_sum_chunk_step_0_from : 0)
                  + y_sum_chunk_step_0[round]);
    }
    #pragma unroll
    for (int round = 0; round < 4; ++round) {
        int y_sum_chunk_step_1_from =
            __shfl_sync(0xffffffff, y_sum_chunk_step_1[round], thread - 2);
        y_sum_chunk_step_2[round] =
            (int)((unsigned int)(thread % 32 > 1 ? y_sum_chunk_step_1_from : 0)
                  + y_sum_chunk_step_1[round]);
    }
    #pragma unroll
    for (int round = 0; round < 4; ++round) {
        int y_sum_chunk_step_2_from =
            __shfl_sync(0xffffffff, y_sum_chunk_step_2[round], thread - 4);
        y_sum_chunk_step_3[round] =
            (int)((unsigned int)(thread % 32 > 3 ? y_sum_chunk_step_2_from : 0)
                  + y_sum_chunk_step_2[round]);
    }
    #pragma unroll
    for (int round = 0; round < 4; ++round) {
        int y_sum_chunk_step_3_from =
            __shfl_sync(0xffffffff, y_sum_chunk_step_3[round], thread - 8);
        y_sum_chunk_step_4[round] =
            (int)((unsigned int)(thread % 32 > 7 ? y_sum_chunk_step_3_from : 0)
                  + y_sum_chunk_step_3[round]);
    }
    #pragma unroll
    for (int round = 0; round < 4; ++round) {
        int y_sum_chunk_step_4_from =
            __shfl_sync(0xffffffff, y_sum_chunk_step_4[round], thread - 16);
        y_sum_chunk_step_5[round] =
            (int)((unsigned int)(thread % 32 > 15 ? y_sum_chunk_step_4_from : 0)
                  + y_sum_chunk_step_4[round]);
    }
    #pragma unroll
    for (int round = 0; round < 4; ++round) {
        int y_sum_chunk_step_5_from =
            __shfl_sync(0xffffffff, y_sum_chunk_step_5[round], thread - 1);
        y_sum_chunk_inner[round] = thread % 32 > 0 ? y_sum_chunk_step_5_from : 0;
    }
    if (thread % 32 == 31) {
        #pragma unroll
        for (int round = 0; round < 4; ++round)
            y_sum_chunk_total_1[round * 8 + thread / 32] = y_sum_chunk_step_5[round];
    }
    __syncthreads();  // y_sum_chunk_total_1: written above by other threads, read below
    if (thread < 32) {
        if (thread < 1)
            y_sum_chunk_step_0_1 = (int)((unsigned int)y_sum_chunk + y_sum_chunk_total_1[thread]);
        else
            y_sum_chunk_step_0_1 = y_sum_chunk_total_1[thread];
    }
    int y_sum_chunk_step_0_1_from = __shfl_sync(0xffffffff, y_sum_chunk_step_0_1, thread - 1);
    if (thread < 32)
        y_sum_chunk_step_1_1 =
            (int)((unsigned int)(thread > 0 ? y_sum_chunk_step_0_1_from : 0)
                  + y_sum_chunk_step_0_1);
    int y_sum_chunk_step_1_1_from = __shfl_sync(0xffffffff, y_sum_chunk_step_1_1, thread - 2);
    if (thread < 32)
        y_sum_chunk_step_2_1 =
            (int)((unsigned int)(thread > 1 ? y_sum_chunk_step_1_1_from : 0)
                  + y_sum_chunk_step_1_1);
    int y_sum_chunk_step_2_1_from = __shfl_sync(0xffffffff, y_sum_chunk_step_2_1, thread - 4);
    if (thread < 32)
        y_sum_chunk_step_3_1 =
            (int)((unsigned int)(thread > 3 ? y_sum_chunk_step_2_1_from : 0)
                  + y_sum_chunk_step_2_1);
    int y_sum_chunk_step_3_1_from = __shfl_sync(0xffffffff, y_sum_chunk_step_3_1, thread - 8);
    if (thread < 32)
        y_sum_chunk_step_4_1 =
            (int)((unsigned int)(thread > 7 ? y_sum_chunk_step_3_1_from : 0)
                  + y_sum_chunk_step_3_1);
    int y_sum_chunk_step_4_1_from = __shfl_sync(0xffffffff, y_sum_chunk_step_4_1, thread - 16);
    if (thread < 32)
        y_sum_chunk_step_5_1 =
            (int)((unsigned int)(thread > 15 ? y_sum_chunk_step_4_1_from : 0)
                  + y_sum_chunk_step_4_1);
    int y_sum_chunk_step_5_1_from = __shfl_sync(0xffffffff, y_sum_chunk_step_5_1, thread - 1);
    if (thread < 32)
        y_sum_chunk_before_1[thread] = thread > 0 ? y_sum_chunk_step_5_1_from : y_sum_chunk;
    int y_sum_chunk_step_5_1_from_1 = __shfl_sync(0xffffffff, y_sum_chunk_step_5_1, 31);
    if (thread == 0)
        y_sum_chunk = y_sum_chunk_step_5_1_from_1;
    __syncthreads();  // y_sum_chunk_before_1: written above by other threads, read below
    #pragma unroll
    for (int round = 0; round < 4; ++round)
        y_sum_chunk_before[round] =
            (int)((unsigned int)y_sum_chunk_before_1[round * 8 + thread / 32]
                  + y_sum_chunk_inner[round]);
    #pragma unroll
    for (int round = 0; round < 3; ++round) {
        __align__(16) int y_first_local_1[4];
        int y_sum_chunk_chunk_1 = y_sum_chunk_before[round];
        #pragma unroll
        for (int inside_2 = 0; inside_2 < 4; ++inside_2) {
            y_first_local_1[inside_2] = y_sum_chunk_chunk_1;
            y_sum_chunk_chunk_1 =
                (int)((unsigned int)y_sum_chunk_chunk_1 + y_count_local[round * 4 + inside_2]);
        }
        *(int4 *)&y_first[round * 1024 + thread * 4] = make_int4(y_first_local_1[0],
                                                                 y_first_local_1[1],
                                                                 y_first_local_1[2],
                                                                 y_first_local_1[3]);
    }
    __align__(16) int y_first_local[4];
    int y_sum_chunk_chunk = y_sum_chunk_before[3];
    #pragma unroll
    for (int inside_2 = 0; inside_2 < 4; ++inside_2) {
        const int r = thread * 4 + inside_2 + 3072;
        if (r < 4001) {
            y_first_local[inside_2] = y_sum_chunk_chunk;
            y_sum_chunk_chunk =
                (int)((unsigned int)y_sum_chunk_chunk + y_count_local[inside_2 + 12]);
        }
    }
    if (thread < 232) {
        *(int4 *)&y_first[thread * 4 + 3072] =
            make_int4(y_first_local[0], y_first_local[1], y_first_local[2], y_first_local[3]);
    } else {
        #pragma unroll
        for (int ax0 = 0; ax0 < 4; ++ax0) {
            if (thread * 4 + ax0 < 929)
                y_first[thread * 4 + ax0 + 3072] = y_first_local[ax0];
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_7(int *__restrict__ y_tally)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    __align__(16) int y_tally_local[4];
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane)
        y_tally_local[lane] = 0;
    *(int4 *)&y_tally[block * 1024 + thread * 4] =
        make_int4(y_tally_local[0], y_tally_local[1], y_tally_local[2], y_tally_local[3]);
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_8(const int *__restrict__ to, int *__restrict__ y_tally)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int q = block * 256 + thread;
    atomicAdd(&y_tally[to[q] % 64 * 32 + q / 64], 1);
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_9(const int *__restrict__ y_tally, int *__restrict__ y_total)
{
    const int block = blockIdx.x;
    const int warp = threadIdx.y;
    const int thread = threadIdx.x;
    const int r = block * 8 + warp;
    int y_total_part = 0;
    y_total_part = (int)((unsigned int)y_total_part + y_tally[r * 32 + thread]);
    y_total_part =
        (int)((unsigned int)y_total_part + __shfl_xor_sync(0xffffffff, y_total_part, 16));
    y_total_part = (int)((unsigned int)y_total_part + __shfl_xor_sync(0xffffffff, y_total_part, 8));
    y_total_part = (int)((unsigned int)y_total_part + __shfl_xor_sync(0xffffffff, y_total_part, 4));
    y_total_part = (int)((unsigned int)y_total_part + __shfl_xor_sync(0xffffffff, y_total_part, 2));
    y_total_part = (int)((unsigned int)y_total_part + __shfl_xor_sync(0xffffffff, y_total_part, 1));
    if (thread == 0)
        y_total[r] = y_total_part;
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_10(const int *__restrict__ y_total, int *__restrict__ y_start)
{
    const int thread = threadIdx.x;
    if (thread < 64) {
        int y_start_acc = 0;
        for (int d_1 = 0; d_1 < 64; ++d_1)
            y_start_acc = (int)((unsigned int)y_start_acc + (d_1 < thread ? y_total[d_1] : 0));
        y_start[thread] = y_start_acc;
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_11(const int *__restrict__ y_start, const int *__restrict__ y_tally,
                  int *__restrict__ y_next)
{
    const int thread = threadIdx.x;
    __align__(16) int y_next_local[32];
    __align__(16) int y_tally_local_1[32];
    if (thread < 64) {
        int y_on = y_start[thread];
        #pragma unroll
        for (int some = 0; some < 8; ++some) {
            *(int4 *)&y_tally_local_1[some * 4] = *(const int4 *)&y_tally[thread * 32 + some * 4];
        }
        #pragma unroll
        for (int p = 0; p < 32; ++p) {
            y_next_local[p] = y_on;
            y_on = (int)((unsigned int)y_on + y_tally_local_1[p]);
        }
        #pragma unroll
        for (int some = 0; some < 8; ++some) {
            *(int4 *)&y_next[thread * 32 + some * 4] = make_int4(y_next_local[some * 4],
                                                                 y_next_local[some * 4 + 1],
                                                                 y_next_local[some * 4 + 2],
                                                                 y_next_local[some * 4 + 3]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(64)
scatter_sorted_12(const int *__restrict__ to, int *__restrict__ y_next, int *__restrict__ y_rank)
{
    const int thread = threadIdx.x;
    __align__(16) int to_local[64];
    __align__(16) int y_rank_local[64];
    if (thread < 32) {
        #pragma unroll
        for (int some = 0; some < 16; ++some) {
            *(int4 *)&to_local[some * 4] = *(const int4 *)&to[thread * 64 + some * 4];
        }
        #pragma unroll
        for (int c = 0; c < 64; ++c) {
            y_rank_local[c] = y_next[to_local[c] % 64 * 32 + thread];
            y_next[to_local[c] % 64 * 32 + thread] =
                (int)((unsigned int)y_next[to_local[c] % 64 * 32 + thread] + 1);
        }
        #pragma unroll
        for (int some = 0; some < 16; ++some) {
            *(int4 *)&y_rank[(long long)(thread * 64) + some * 4] =
                make_int4(y_rank_local[some * 4], y_rank_local[some * 4 + 1],
                          y_rank_local[some * 4 + 2], y_rank_local[some * 4 + 3]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_13(int *__restrict__ y_order, const int *__restrict__ y_rank)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int q = block * 256 + thread;
    y_order[y_rank[q]] = q;
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_14(int *__restrict__ y_tally)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    __align__(16) int y_tally_local_2[4];
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane)
        y_tally_local_2[lane] = 0;
    *(int4 *)&y_tally[block * 1024 + thread * 4] =
        make_int4(y_tally_local_2[0], y_tally_local_2[1], y_tally_local_2[2], y_tally_local_2[3]);
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_15(const int *__restrict__ to, int *__restrict__ y_tally,
                  const int *__restrict__ y_order)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int q = block * 256 + thread;
    atomicAdd(&y_tally[to[y_order[q]] / 64 * 32 + q / 64], 1);
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_16(const int *__restrict__ y_tally, int *__restrict__ y_total)
{
    const int block = blockIdx.x;
    const int warp = threadIdx.y;
    const int thread = threadIdx.x;
    const int r = block * 8 + warp;
    int y_total_part_1 = 0;
    y_total_part_1 = (int)((unsigned int)y_total_part_1 + y_tally[r * 32 + thread]);
    y_total_part_1 =
        (int)((unsigned int)y_total_part_1 + __shfl_xor_sync(0xffffffff, y_total_part_1, 16));
    y_total_part_1 =
        (int)((unsigned int)y_total_part_1 + __shfl_xor_sync(0xffffffff, y_total_part_1, 8));
    y_total_part_1 =
        (int)((unsigned int)y_total_part_1 + __shfl_xor_sync(0xffffffff, y_total_part_1, 4));
    y_total_part_1 =
        (int)((unsigned int)y_total_part_1 + __shfl_xor_sync(0xffffffff, y_total_part_1, 2));
    y_total_part_1 =
        (int)((unsigned int)y_total_part_1 + __shfl_xor_sync(0xffffffff, y_total_part_1, 1));
    if (thread == 0)
        y_total[r] = y_total_part_1;
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_17(const int *__restrict__ y_total, int *__restrict__ y_start)
{
    const int thread = threadIdx.x;
    if (thread < 64) {
        int y_start_acc_1 = 0;
        for (int d_1 = 0; d_1 < 64; ++d_1)
            y_start_acc_1 = (int)((unsigned int)y_start_acc_1 + (d_1 < thread ? y_total[d_1] : 0));
        y_start[thread] = y_start_acc_1;
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_18(const int *__restrict__ y_start, const int *__restrict__ y_tally,
                  int *__restrict__ y_next)
{
    const int thread = threadIdx.x;
    __align__(16) int y_next_local_1[32];
    __align__(16) int y_tally_local_3[32];
    if (thread < 64) {
        int y_on_3 = y_start[thread];
        #pragma unroll
        for (int some = 0; some < 8; ++some) {
            *(int4 *)&y_tally_local_3[some * 4] = *(const int4 *)&y_tally[thread * 32 + some * 4];
        }
        #pragma unroll
        for (int p = 0; p < 32; ++p) {
            y_next_local_1[p] = y_on_3;
            y_on_3 = (int)((unsigned int)y_on_3 + y_tally_local_3[p]);
        }
        #pragma unroll
        for (int some = 0; some < 8; ++some) {
            *(int4 *)&y_next[thread * 32 + some * 4] = make_int4(y_next_local_1[some * 4],
                                                                 y_next_local_1[some * 4 + 1],
                                                                 y_next_local_1[some * 4 + 2],
                                                                 y_next_local_1[some * 4 + 3]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(64)
scatter_sorted_19(const int *__restrict__ to, const int *__restrict__ y_order,
                  int *__restrict__ y_next, int *__restrict__ y_rank)
{
    const int thread = threadIdx.x;
    __align__(16) int y_order_local[64];
    __align__(16) int y_rank_local_1[64];
    if (thread < 32) {
        #pragma unroll
        for (int some = 0; some < 16; ++some) {
            *(int4 *)&y_order_local[some * 4] = *(const int4 *)&y_order[thread * 64 + some * 4];
        }
        #pragma unroll
        for (int c = 0; c < 64; ++c) {
            y_rank_local_1[c] = y_next[to[y_order_local[c]] / 64 * 32 + thread];
            y_next[to[y_order_local[c]] / 64 * 32 + thread] =
                (int)((unsigned int)y_next[to[y_order_local[c]] / 64 * 32 + thread] + 1);
        }
        #pragma unroll
        for (int some = 0; some < 16; ++some) {
            *(int4 *)&y_rank[(long long)(thread * 64) + some * 4] =
                make_int4(y_rank_local_1[some * 4], y_rank_local_1[some * 4 + 1],
                          y_rank_local_1[some * 4 + 2], y_rank_local_1[some * 4 + 3]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_20(int *__restrict__ y_order_2, const int *__restrict__ y_rank,
                  const int *__restrict__ y_order)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int q = block * 256 + thread;
    y_order_2[y_rank[q]] = y_order[q];
}

extern "C" __global__ void __launch_bounds__(256)
scatter_sorted_21(const int *__restrict__ from, const float *__restrict__ h, float *__restrict__ y,
                  const int *__restrict__ y_first, const int *__restrict__ y_order_2)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int row = block * 64 + thread / 4;
    const int d = thread % 4;
    if (row < 4000) {
        float y_acc = y[row * 4 + d];
        for (int k = y_first[row]; k < y_first[row + 1]; ++k)
            y_acc += h[from[y_order_2[k]] * 4 + d];
        y[row * 4 + d] = y_acc;
    }
}
