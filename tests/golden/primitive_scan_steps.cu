// cumsum: 2 launches
//   x: f32[N], read
//   y: f32[N], written
//   32-bit indices: N + 511 is at most 2147483647
//   sum: f32[], temporary, allocated by the caller
//   sum_before_1: f32[4], temporary, allocated by the caller
//   sum_total_1: f32[4], temporary, allocated by the caller
// cumsum<<<1, 1>>>(sum);
// cumsum_1<<<1, 128>>>(x, y, sum, sum_total_1, sum_before_1, N);

extern "C" __global__ void __launch_bounds__(1)
cumsum(float *__restrict__ sum)
{
    sum[0] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(128)
cumsum_1(const float *__restrict__ x, float *__restrict__ y, float *sum, float *sum_total_1,
         float *sum_before_1, const int N)
{
    const int part = threadIdx.x;
    float sum_acc;
    if ((N + 511) / 512 > 0 && part == 0)
        sum_acc = sum[0];
    for (int tile = 0; tile < (N + 511) / 512; ++tile) {
        float sum_total = 0.0f;
        for (int j_2 = 0; j_2 < 4; ++j_2) {
            const int tile_at = tile * 512 + part * 4 + j_2;
            if (tile_at < N)
                sum_total += x[tile_at];
        }
        float sum_step_0 = sum_total;
        float sum_step_0_from = __shfl_sync(0xffffffff, sum_step_0, part - 1);
        float sum_step_1 = (part % 32 > 0 ? sum_step_0_from : -0.0f) + sum_step_0;
        float sum_step_1_from = __shfl_sync(0xffffffff, sum_step_1, part - 2);
        float sum_step_2 = (part % 32 > 1 ? sum_step_1_from : -0.0f) + sum_step_1;
        float sum_step_2_from = __shfl_sync(0xffffffff, sum_step_2, part - 4);
        float sum_step_3 = (part % 32 > 3 ? sum_step_2_from : -0.0f) + sum_step_2;
        float sum_step_3_from = __shfl_sync(0xffffffff, sum_step_3, part - 8);
        float sum_step_4 = (part % 32 > 7 ? sum_step_3_from : -0.0f) + sum_step_3;
        float sum_step_4_from = __shfl_sync(0xffffffff, sum_step_4, part - 16);
        float sum_step_5 = (part % 32 > 15 ? sum_step_4_from : -0.0f) + sum_step_4;
        float sum_step_5_from = __shfl_sync(0xffffffff, sum_step_5, part - 1);
        float sum_inner = part % 32 > 0 ? sum_step_5_from : -0.0f;
        if (part % 32 == 31)
            sum_total_1[part / 32] = sum_step_5;
        __syncthreads();  // sum_total_1: written above by other threads, read below
        if (part == 0) {
            for (int group = 0; group < 4; ++group) {
                sum_before_1[group] = sum_acc;
                sum_acc += sum_total_1[group];
            }
        }
        __syncthreads();  // sum_before_1: written above by other threads, read below
        float sum_before = sum_before_1[part / 32] + sum_inner;
        float sum_chunk = sum_before;
        for (int j_2 = 0; j_2 < 4; ++j_2) {
            const int j = tile * 512 + part * 4 + j_2;
            if (j < N) {
                sum_chunk += x[j];
                y[j] = sum_chunk;
            }
        }
    }
    if ((N + 511) / 512 > 0 && part == 0)
        sum[0] = sum_acc;
}
