// matmul: 1 launch
//   A: f32[1024, 1024], read
//   B: f32[1024, 1024], read
//   C: f32[1024, 1024], written
// matmul<<<4096, 256>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block / 4;
    const int j = block % 4 * 256 + thread;
    float C_acc = 0.0f;
    for (int k = 0; k < 1024; ++k)
        C_acc += A[i * 1024 + k] * B[k * 1024 + j];
    C[i * 1024 + j] = C_acc;
}
