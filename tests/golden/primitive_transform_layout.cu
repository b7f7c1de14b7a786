// scaled: 3 launches
//   x: f32[10, 18], read
//   y: f32[18, 10], written
//   t: f32[3, 18, 4], temporary, allocated by the caller
// scaled<<<1, 1>>>(t);
// scaled_1<<<1, 10>>>(x, t);
// scaled_2<<<1, 18>>>(y, t);

extern "C" __global__ void __launch_bounds__(1)
scaled(float *__restrict__ t)
{
    for (int ax0 = 0; ax0 < 3; ++ax0) {
        for (int ax1 = 0; ax1 < 18; ++ax1) {
            for (int ax2 = 0; ax2 < 4; ++ax2) {
                if (ax0 * 4 + ax2 > 9)
                    t[(ax0 * 18 + ax1) * 4 + ax2] = 0.0f;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(10)
scaled_1(const float *__restrict__ x, float *__restrict__ t)
{
    const int i = threadIdx.x;
    for (int j = 0; j < 18; ++j)
        t[(i / 4 * 18 + j) * 4 + i % 4] = x[i * 18 + j] + 1.0f;
}

extern "C" __global__ void __launch_bounds__(18)
scaled_2(float *__restrict__ y, const float *__restrict__ t)
{
    const int j = threadIdx.x;
    for (int i = 0; i < 10; ++i)
        y[j * 10 + i] = t[(i / 4 * 18 + j) * 4 + i % 4] * 2.0f;
}
