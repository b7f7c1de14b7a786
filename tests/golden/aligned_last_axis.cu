// copy: 1 launch
//   x: f32[64], read
//   y: f32[64], written
// copy<<<4, 1>>>(x, y);

extern "C" __global__ void __launch_bounds__(1)
copy(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float x_shared[64];
    const int o = blockIdx.x;
    for (int ax0 = 0; ax0 < 16; ++ax0)
        x_shared[ax0 * 4] = x[o * 16 + ax0];
    for (int t = 0; t < 16; ++t)
        y[o * 16 + t] = x_shared[t * 4];
}
