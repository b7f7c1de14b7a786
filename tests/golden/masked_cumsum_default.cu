// masked_cumsum: 1 launch
//   x: f32[32768, 32768], read
//   mask: bool[32768, 32768], read
//   y: f32[32768, 32768], written
// masked_cumsum<<<32768, 256>>>(x, mask, y);

extern "C" __global__ void __launch_bounds__(256, 2)
masked_cumsum(const float *__restrict__ x, const bool *__restrict__ mask, float *__restrict__ y)
{
    __shared__ float sum;
    __shared__ float sum_total_2[8];
    __shared__ float sum_before_2[8];
    __shared__ float sum_total_1[8][17];
    __shared__ float sum_before_1[8][17];
    __shared__ float sum_total[128][17];
    __shared__ float sum_before[128][17];
    const int i = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread == 0)
        sum = 0.0f;
    for (int tile = 0; tile < 4; ++tile) {
        __align__(16) bool mask_local[32];
        __align__(16) float x_local[32];
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            *(unsigned int *)&mask_local[each * 4] =
                *(const unsigned int *)&mask[i * 32768 + tile * 8192 + each * 1024 + thread * 4];
        }
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            *(float4 *)&x_local[each * 4] =
                *(const float4 *)&x[i * 32768 + tile * 8192 + each * 1024 + thread * 4];
        }
        #pragma unroll
        for (int round = 0; round < 8; ++round) {
            const int part = round * 256 + thread;
            float sum_total_acc = 0.0f;
            #pragma unroll
            for (int j_2 = 0; j_2 < 4; ++j_2)
                sum_total_acc += mask_local[round * 4 + j_2] ? x_local[round * 4 + j_2] : 0.0f;
            sum_total[part / 16][part % 16] = sum_total_acc;
        }
        __syncthreads();  // sum_total: written above by other threads, read below
        if (thread < 128) {
            float sum_total_1_acc = 0.0f;
            for (int part_1 = 0; part_1 < 16; ++part_1)
                sum_total_1_acc += sum_total[thread][part_1];
            sum_total_1[thread / 16][thread % 16] = sum_total_1_acc;
        }
        __syncthreads();  // sum_total_1: written above by other threads, read below
        if (thread < 8) {
            float sum_total_2_acc = 0.0f;
            for (int group_1 = 0; group_1 < 16; ++group_1)
                sum_total_2_acc += sum_total_1[thread][group_1];
            sum_total_2[thread] = sum_total_2_acc;
        }
        __syncthreads();  // sum_total_2: written above by other threads, read below
        if (thread == 0) {
            float sum_acc = sum;
            for (int group = 0; group < 8; ++group) {
                sum_before_2[group] = sum_acc;
                sum_acc += sum_total_2[group];
            }
            sum = sum_acc;
        }
        __syncthreads();  // sum_before_2: written above by other threads, read below
        if (thread < 8) {
            float sum_chunk_2 = sum_before_2[thread];
            for (int group_1 = 0; group_1 < 16; ++group_1) {
                const int group = thread * 16 + group_1;
                sum_before_1[group / 16][group % 16] = sum_chunk_2;
                sum_chunk_2 += sum_total_1[group / 16][group % 16];
            }
        }
        __syncthreads();  // sum_before_1: written above by other threads, read below
        if (thread < 128) {
            float sum_chunk_1 = sum_before_1[thread / 16][thread % 16];
            for (int part_1 = 0; part_1 < 16; ++part_1) {
                const int part = thread * 16 + part_1;
                sum_before[part / 16][part % 16] = sum_chunk_1;
                sum_chunk_1 += sum_total[part / 16][part % 16];
            }
        }
        __syncthreads();  // sum_before: written above by other threads, read below
        #pragma unroll
        for (int round = 0; round < 8; ++round) {
            const int part = round * 256 + thread;
            __align__(16) float y_local[4];
            float sum_chunk = sum_before[part / 16][part % 16];
            #pragma unroll
            for (int j_2 = 0; j_2 < 4; ++j_2) {
                sum_chunk += mask_local[round * 4 + j_2] ? x_local[round * 4 + j_2] : 0.0f;
                y_local[j_2] = sum_chunk;
            }
            *(float4 *)&y[i * 32768 + tile * 8192 + round * 1024 + thread * 4] =
                make_float4(y_local[0], y_local[1], y_local[2], y_local[3]);
        }
    }
}
