// sums: 3 launches
//   A: f32[100, 8], read
//   y: f32[100], written
//   t: f32[128], temporary, allocated by the caller
// sums<<<4, 32>>>(t);
// sums_1<<<1, 1>>>(A, t);
// sums_2<<<1, 1>>>(y, t);

extern "C" __global__ void __launch_bounds__(32)
sums(float *__restrict__ t)
{
    const int jo = blockIdx.x;
    const int ji = threadIdx.x;
    t[jo * 32 + ji] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(1)
sums_1(const float *__restrict__ A, float *__restrict__ t)
{
    for (int i = 0; i < 100; ++i) {
        float t_acc = t[i];
        for (int k = 0; k < 8; ++k)
            t_acc += A[i * 8 + k];
        t[i] = t_acc;
    }
}

extern "C" __global__ void __launch_bounds__(1)
sums_2(float *__restrict__ y, const float *__restrict__ t)
{
    for (int i = 0; i < 100; ++i)
        y[i] = t[i] * 2.0f;
}
