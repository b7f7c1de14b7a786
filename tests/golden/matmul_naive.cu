// matmul: 1 launch
//   A: f32[1024, 1024], read
//   B: f32[1024, 1024], read
//   C: f32[1024, 1024], written
// matmul<<<dim3(32, 32), dim3(32, 32)>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(1024)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int i = by * 32 + ty;
    const int j = bx * 32 + tx;
    float C_acc = 0.0f;
    for (int k = 0; k < 1024; ++k)
        C_acc += A[i * 1024 + k] * B[k * 1024 + j];
    C[i * 1024 + j] = C_acc;
}
