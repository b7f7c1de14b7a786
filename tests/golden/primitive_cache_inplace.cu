// staged: 1 launch
//   x: f32[20, 24], read
//   u: f32[20, 24], read and written
// staged<<<5, dim3(1, 4)>>>(x, u);

extern "C" __global__ void __launch_bounds__(4)
staged(const float *__restrict__ x, float *__restrict__ u)
{
    __shared__ float u_shared[4][24];
    const int io = blockIdx.x;
    const int ax0 = threadIdx.y;
    const int i = io * 4 + ax0;
    for (int ax1 = 0; ax1 < 24; ++ax1)
        u_shared[ax0][ax1] = u[i * 24 + ax1];
    for (int j = 0; j < 24; ++j)
        u_shared[ax0][j] = u_shared[ax0][j] * 0.5f + x[i * 24 + j];
    for (int ax1 = 0; ax1 < 24; ++ax1)
        u[i * 24 + ax1] = u_shared[ax0][ax1];
}
