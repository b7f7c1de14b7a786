// matmul: 1 launch
//   A: f32[M, K], read
//   B: f32[K, N], read
//   C: f32[M, N], written
//   32-bit indices: M * N + 254, N, M + 254, K, M * K and N * K are at most 2147483647
// matmul<<<(M * N + 255) / 256, 256>>>(A, B, C, M, N, K);

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, const int M, const int N, const int K)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = (block * 256 + thread) / N;
    const int j = (block * 256 + thread) % N;
    if (block * 256 + thread < M * N) {
        float C_acc = 0.0f;
        for (int k = 0; k < K; ++k)
            C_acc += A[i * K + k] * B[k * N + j];
        C[i * N + j] = C_acc;
    }
}
