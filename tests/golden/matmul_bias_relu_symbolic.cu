// matmul_bias_relu: 2 launches
//   A: f32[M, K], read
//   B: f32[K, N], read
//   bias: f32[N], read
//   C: f32[M, N], written
//   32-bit indices: N, M + 254, K, M * K, N * K and M * N + 1022 are at most 2147483647
//   acc: f32[M, N], temporary, allocated by the caller
// matmul_bias_relu<<<(M * N + 255) / 256, 256>>>(A, B, acc, M, N, K);
// matmul_bias_relu_1<<<(M * N + 1023) / 1024, 256>>>(bias, C, acc, M, N);

extern "C" __global__ void __launch_bounds__(256)
matmul_bias_relu(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ acc, const int M, const int N, const int K)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = (block * 256 + thread) / N;
    const int j = (block * 256 + thread) % N;
    if (block * 256 + thread < M * N) {
        float acc_acc = 0.0f;
        for (int k = 0; k < K; ++k)
            acc_acc += A[i * K + k] * B[k * N + j];
        acc[i * N + j] = acc_acc;
    }
}

extern "C" __global__ void __launch_bounds__(256)
matmul_bias_relu_1(const float *__restrict__ bias, float *__restrict__ C, const float *__restrict__ acc, const int M, const int N)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int block_at = block * 1024 + each * 256 + thread;
        const int j = block_at % N;
        if (block_at < M * N)
            C[block_at] = fmaxf(acc[block_at] + bias[j], 0.0f);
    }
}
