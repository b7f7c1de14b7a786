// product: 1 launch
//   A: f32[16, 12], read
//   B: f32[8, 12], read, with B[k, j] at [j, k]
//   C: f32[4, 8, 4], written, with C[i, j] at [i / 4, j, i % 4]
// product<<<16, 8>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(8)
product(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    const int i = blockIdx.x;
    const int j = threadIdx.x;
    float C_acc = 0.0f;
    for (int k = 0; k < 12; ++k)
        C_acc += A[i * 12 + k] * B[j * 12 + k];
    C[(i / 4 * 8 + j) * 4 + i % 4] = C_acc;
}
