// product: 2 launches
//   A: f32[60, 30], read
//   x: f32[31], read
//   y: f32[60], written
//   A_rest: f32[60, 30], temporary, allocated by the caller
// product<<<1, 60>>>(A, A_rest);
// product_1<<<1, 60>>>(A, x, y, A_rest);

static __device__ __forceinline__ float to_tf32_rz(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

extern "C" __global__ void __launch_bounds__(60)
product(const float *__restrict__ A, float *__restrict__ A_rest)
{
    const int ax0 = threadIdx.x;
    for (int ax1 = 0; ax1 < 30; ++ax1)
        A_rest[ax0 * 30 + ax1] = A[ax0 * 30 + ax1] - to_tf32_rz(A[ax0 * 30 + ax1]);
}

extern "C" __global__ void __launch_bounds__(60)
product_1(const float *__restrict__ A, const float *__restrict__ x, float *__restrict__ y,
          const float *__restrict__ A_rest)
{
    const int i = threadIdx.x;
    float y_acc = 0.0f;
    for (int k = 0; k < 30; ++k) {
        const float k_tf32_rz = to_tf32_rz(k > 0 ? x[k - 1] : 0.0f);
        const float A_tf32_rz = to_tf32_rz(A[i * 30 + k]);
        y_acc += A_tf32_rz * k_tf32_rz
            + (A_tf32_rz * to_tf32_rz(k > 0 ? x[k - 1] - to_tf32_rz(x[k - 1]) : 0.0f)
               + to_tf32_rz(A_rest[i * 30 + k]) * k_tf32_rz);
    }
    y[i] = y_acc;
}
