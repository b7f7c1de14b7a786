// matmul: 1 launch
//   A: f32[1000, 997], read
//   B: f32[997, 999], read
//   C: f32[1000, 999], written
// matmul<<<3903, 256>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = (block * 256 + thread) / 999;
    const int j = (block * 256 + thread) % 999;
    if (block * 256 + thread < 999000) {
        float C_acc = 0.0f;
        for (int k = 0; k < 997; ++k)
            C_acc += A[i * 997 + k] * B[k * 999 + j];
        C[i * 999 + j] = C_acc;
    }
}
