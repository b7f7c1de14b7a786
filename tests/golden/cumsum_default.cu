// cumsum_exclusive: 1 launch
//   x: f32[32768, 32768], read
//   y: f32[32768, 32768], written
// cumsum_exclusive<<<32768, 256>>>(x, y);

extern "C" __global__ void __launch_bounds__(256)
cumsum_exclusive(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float sum;
    __shared__ float y_shared[256][17];
    __shared__ float x_shared[256][17];
    __shared__ float sum_total_1[16];
    __shared__ float sum_before_1[16];
    __shared__ float sum_total[256];
    __shared__ float sum_before[256];
    const int i = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread == 0)
        sum = 0.0f;
    for (int tile = 0; tile < 8; ++tile) {
        #pragma unroll
        for (int some = 0; some < 16; ++some) {
            const int v1 = tile * 4096 + some * 256 + thread;
            x_shared[some * 16 + thread / 16][v1 % 16] = x[i * 32768 + v1];
        }
        __syncthreads();  // x_shared: written above by other threads, read below
        float sum_total_acc = 0.0f;
        for (int j_2 = 0; j_2 < 16; ++j_2)
            sum_total_acc += x_shared[thread][j_2];
        sum_total[thread] = sum_total_acc;
        __syncthreads();  // sum_total: written above by other threads, read below
        if (thread < 16) {
            float sum_total_1_acc = 0.0f;
            for (int part_1 = 0; part_1 < 16; ++part_1)
                sum_total_1_acc += sum_total[thread * 16 + part_1];
            sum_total_1[thread] = sum_total_1_acc;
        }
        __syncthreads();  // sum_total_1: written above by other threads, read below
        if (thread == 0) {
            float sum_acc = sum;
            for (int group = 0; group < 16; ++group) {
                sum_before_1[group] = sum_acc;
                sum_acc += sum_total_1[group];
            }
            sum = sum_acc;
        }
        __syncthreads();  // sum_before_1: written above by other threads, read below
        if (thread < 16) {
            float sum_chunk_1 = sum_before_1[thread];
            for (int part_1 = 0; part_1 < 16; ++part_1) {
                const int part = thread * 16 + part_1;
                sum_before[part] = sum_chunk_1;
                sum_chunk_1 += sum_total[part];
            }
        }
        __syncthreads();  // sum_before: written above by other threads, read below
        float sum_chunk = sum_before[thread];
        for (int j_2 = 0; j_2 < 16; ++j_2) {
            const int j = tile * 4096 + thread * 16 + j_2;
            y_shared[thread][j % 16] = sum_chunk;
            sum_chunk += x_shared[thread][j % 16];
        }
        __syncthreads();  // y_shared: written above by other threads, read below
        #pragma unroll
        for (int some = 0; some < 16; ++some) {
            const int j = tile * 4096 + some * 256 + thread;
            y[(long long)(i * 32768 + thread) + (long long)tile * 4096 + some * 256] =
                y_shared[some * 16 + thread / 16][j % 16];
        }
    }
}
