// stencil: 3 launches
//   x: f32[100], read
//   y: f32[100], written
//   p: f32[102], temporary, allocated by the caller
// stencil<<<1, 1>>>(p);
// stencil_1<<<1, 1>>>(x, p);
// stencil_2<<<1, 1>>>(y, p);

extern "C" __global__ void __launch_bounds__(1)
stencil(float *__restrict__ p)
{
    for (int i = 0; i < 102; ++i)
        p[i] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(1)
stencil_1(const float *__restrict__ x, float *__restrict__ p)
{
    for (int i = 0; i < 102; ++i) {
        if (!(i < 1 || i > 100))
            p[i] = x[i - 1];
    }
}

extern "C" __global__ void __launch_bounds__(1)
stencil_2(float *__restrict__ y, const float *__restrict__ p)
{
    for (int i = 0; i < 100; ++i)
        y[i] = p[i] + p[i + 1] + p[i + 2];
}
