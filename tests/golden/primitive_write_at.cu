// staged: 1 launch
//   x: f32[20, 24], read
//   y: f32[20, 24], written
// staged<<<1, 20>>>(x, y);

extern "C" __global__ void __launch_bounds__(20)
staged(const float *__restrict__ x, float *__restrict__ y)
{
    const int i = threadIdx.x;
    for (int jo = 0; jo < 3; ++jo) {
        float y_local[8];
        for (int ji = 0; ji < 8; ++ji) {
            const int j = jo * 8 + ji;
            y_local[ji] = x[i * 24 + j / 3 * 3] + x[i * 24 + j % 5];
        }
        for (int ax1 = 0; ax1 < 8; ++ax1)
            y[i * 24 + jo * 8 + ax1] = y_local[ax1];
    }
}
