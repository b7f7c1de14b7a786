// sum_reduction: 1 launch
//   x: f32[128, 4096, 4095], read
//   y: f32[128, 1, 4095], written
// sum_reduction<<<4095, dim3(128, 8)>>>(x, y);

extern "C" __global__ void __launch_bounds__(1024)
sum_reduction(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float y_threads[128][9];
    const int block = blockIdx.x;
    const int column = threadIdx.x;
    const int part = threadIdx.y;
    const int b = (block * 128 + column) / 4095;
    const int j = (block * 128 + column) % 4095;
    float y_part = 0.0f;
    #pragma unroll 4
    for (int some = 0; some < 512; ++some)
        y_part += x[(b * 4096 + some * 8 + part) * 4095 + j];
    y_threads[column][part] = y_part;
    __syncthreads();  // y_threads: written above by other threads, read below
    if (part < 4)
        y_threads[column][part] += y_threads[column][part + 4];
    __syncthreads();  // y_threads: written above by other threads, read below
    if (part < 2)
        y_threads[column][part] += y_threads[column][part + 2];
    __syncthreads();  // y_threads: written above by other threads, read below
    if (part < 1)
        y_threads[column][part] += y_threads[column][part + 1];
    if (part == 0)
        y[b * 4095 + j] = y_threads[column][0];
}
