// dots: 2 launches
//   A: i8[64, 32], read
//   x: i8[32], read
//   F: f32[64, 32], read
//   f: f32[32], read
//   y: i32[64], written
//   g: f32[64], written
// dots<<<1, 64>>>(A, x, y);
// dots_1<<<8, 32>>>(F, f, g);

extern "C" __global__ void __launch_bounds__(64)
dots(const signed char *__restrict__ A, const signed char *__restrict__ x, int *__restrict__ y)
{
    const int i = threadIdx.x;
    int y_acc = 0;
    #pragma unroll
    for (int j = 0; j < 8; ++j)
        y_acc = __dp4a(*(const int *)&A[i * 32 + j * 4], *(const int *)&x[j * 4], y_acc);
    y[i] = y_acc;
}

extern "C" __global__ void __launch_bounds__(32)
dots_1(const float *__restrict__ F, const float *__restrict__ f, float *__restrict__ g)
{
    __shared__ float tile[8][32];
    __shared__ float row[32];
    const int w = blockIdx.x;
    const int k = threadIdx.x;
    for (int i = 0; i < 8; ++i)
        tile[i][k] = F[(w * 8 + i) * 32 + k];
    row[k] = f[k];
    __syncthreads();  // row, tile: written above by other threads, read below
    float sum[2];
    for (int i = 0; i < 2; ++i)
        sum[i] = 0.0f;
    {
        for (int k = 0; k < 32; ++k)
            sum[0] += (&tile[0][0])[(0 + threadIdx.x / 8) * 32 + k] * (&row[0])[k];
        for (int k = 0; k < 32; ++k)
            sum[1] += (&tile[0][0])[(4 + threadIdx.x / 8) * 32 + k] * (&row[0])[k];
    }
    if (k % 8 == 0) {
        for (int i = 0; i < 2; ++i)
            g[w * 8 + i * 4 + k / 8] = sum[i];
    }
}
