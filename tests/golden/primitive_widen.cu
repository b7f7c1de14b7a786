// lower: 2 launches
//   x: f32[100, 100], read
//   y: f32[100, 100], written
// lower<<<dim3(4, 13), dim3(32, 8)>>>(y);
// lower_1<<<dim3(4, 13), dim3(32, 8)>>>(x, y);

extern "C" __global__ void __launch_bounds__(256)
lower(float *__restrict__ y)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int i = by * 8 + ty;
    const int j = bx * 32 + tx;
    if (i < 100 && j < 100)
        y[i * 100 + j] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(256)
lower_1(const float *__restrict__ x, float *__restrict__ y)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int i = by * 8 + ty;
    const int j = bx * 32 + tx;
    if (i < 100 && j <= i)
        y[i * 100 + j] = x[i * 100 + j];
}
