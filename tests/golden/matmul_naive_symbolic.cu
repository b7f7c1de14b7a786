// matmul: 1 launch
//   A: f32[M, K], read
//   B: f32[K, N], read
//   C: f32[M, N], written
//   32-bit indices: M + 30, N + 30, K, M * K, N * K and M * N are at most 2147483647
// matmul<<<dim3((N + 31) / 32, (M + 31) / 32), dim3(32, 32)>>>(A, B, C, M, N, K);

extern "C" __global__ void __launch_bounds__(1024)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
       const int M, const int N, const int K)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int i = by * 32 + ty;
    const int j = bx * 32 + tx;
    if (i < M && j < N) {
        float C_acc = 0.0f;
        for (int k = 0; k < K; ++k)
            C_acc += A[i * K + k] * B[k * N + j];
        C[i * N + j] = C_acc;
    }
}
