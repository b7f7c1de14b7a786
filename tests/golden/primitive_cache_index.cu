// staged: 1 launch
//   x: f32[20, 24], read
//   y: f32[20, 24], written
// staged<<<1, 20>>>(x, y);

extern "C" __global__ void __launch_bounds__(20)
staged(const float *__restrict__ x, float *__restrict__ y)
{
    const int i = threadIdx.x;
    int y_index[24];
    int y_index_1[24];
    for (int ax0 = 0; ax0 < 24; ++ax0)
        y_index_1[ax0] = ax0 % 5;
    for (int ax0_1 = 0; ax0_1 < 24; ++ax0_1)
        y_index[ax0_1] = ax0_1 / 3 * 3;
    for (int j = 0; j < 24; ++j)
        y[i * 24 + j] = x[i * 24 + y_index[j]] + x[i * 24 + y_index_1[j]];
}
