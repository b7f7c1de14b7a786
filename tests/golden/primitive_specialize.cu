// rows: 3 launches
//   x: f32[M, N], read
//   y: f32[M], written
//   32-bit indices: M, N and M * N are at most 2147483647
// if N > 1023:
//     if N % 4 == 0:
//   sum: f32[M], temporary, allocated by the caller
//         rows<<<M, 1>>>(x, y, sum, N);
//     else:
//   sum_3: f32[M], temporary, allocated by the caller
//         rows_1<<<M, 1>>>(x, y, sum_3, N);
// else:
//   sum_1: f32[M], temporary, allocated by the caller
//     rows_2<<<M, 1>>>(x, y, sum_1, N);

extern "C" __global__ void __launch_bounds__(1)
rows(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ sum, const int N)
{
    const int i_m = blockIdx.x;
    float sum_acc = 0.0f;
    for (int j_0 = 0; j_0 < N / 4; ++j_0) {
        #pragma unroll
        for (int j_1 = 0; j_1 < 4; ++j_1)
            sum_acc += x[i_m * N + j_0 * 4 + j_1];
    }
    sum[i_m] = sum_acc;
    y[i_m] = sum[i_m] * 0.5f;
}

extern "C" __global__ void __launch_bounds__(1)
rows_1(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ sum_3, const int N)
{
    const int odd = blockIdx.x;
    float sum_3_acc = 0.0f;
    for (int j = 0; j < N; ++j)
        sum_3_acc += x[odd * N + j];
    sum_3[odd] = sum_3_acc;
    y[odd] = sum_3[odd] * 0.5f;
}

extern "C" __global__ void __launch_bounds__(1)
rows_2(const float *__restrict__ x, float *__restrict__ y, float *__restrict__ sum_1, const int N)
{
    const int short_m = blockIdx.x;
    float sum_1_acc = 0.0f;
    for (int j = 0; j < N; ++j)
        sum_1_acc += x[short_m * N + j];
    sum_1[short_m] = sum_1_acc;
    y[short_m] = sum_1[short_m] * 0.5f;
}
