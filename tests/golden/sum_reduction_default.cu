// sum_reduction: 2 launches
//   x: f32[128, 4096, 4095], read
//   y: f32[128, 1, 4095], written
//   y_rf: f32[4, 128, 1, 4095], temporary, allocated by the caller
// sum_reduction<<<dim3(4095, 4), dim3(128, 8)>>>(x, y_rf);
// sum_reduction_1<<<4095, 128>>>(y, y_rf);

extern "C" __global__ void __launch_bounds__(1024)
sum_reduction(const float *__restrict__ x, float *__restrict__ y_rf)
{
    __shared__ float y_rf_threads[128][9];
    const int block_x = blockIdx.x;
    const int x_1 = threadIdx.x;
    const int part = blockIdx.y;
    const int y_1 = threadIdx.y;
    const int b = (block_x * 128 + x_1) / 4095;
    const int j = (block_x * 128 + x_1) % 4095;
    float y_rf_part = 0.0f;
    #pragma unroll 4
    for (int some = 0; some < 128; ++some)
        y_rf_part += x[(b * 4096 + part * 1024 + some * 8 + y_1) * 4095 + j];
    y_rf_threads[x_1][y_1] = y_rf_part;
    __syncthreads();  // y_rf_threads: written above by other threads, read below
    if (y_1 < 4)
        y_rf_threads[x_1][y_1] += y_rf_threads[x_1][y_1 + 4];
    __syncthreads();  // y_rf_threads: written above by other threads, read below
    if (y_1 < 2)
        y_rf_threads[x_1][y_1] += y_rf_threads[x_1][y_1 + 2];
    __syncthreads();  // y_rf_threads: written above by other threads, read below
    if (y_1 < 1)
        y_rf_threads[x_1][y_1] += y_rf_threads[x_1][y_1 + 1];
    if (y_1 == 0)
        y_rf[(part * 128 + b) * 4095 + j] = y_rf_threads[x_1][0];
}

extern "C" __global__ void __launch_bounds__(128)
sum_reduction_1(float *__restrict__ y, const float *__restrict__ y_rf)
{
    const int block_x = blockIdx.x;
    const int x_1 = threadIdx.x;
    float y_acc = 0.0f;
    #pragma unroll
    for (int part = 0; part < 4; ++part)
        y_acc += y_rf[part * 524160 + block_x * 128 + x_1];
    y[block_x * 128 + x_1] = y_acc;
}
