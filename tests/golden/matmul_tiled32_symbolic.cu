// matmul: 1 launch
//   A: f32[M, K], read
//   B: f32[K, N], read
//   C: f32[M, N], written
//   32-bit indices: M + 30, N + 30, K + 31, M * K, N * K and M * N are at most 2147483647
// matmul<<<dim3((N + 31) / 32, (M + 31) / 32), dim3(32, 32)>>>(A, B, C, M, N, K);

extern "C" __global__ void __launch_bounds__(1024)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
       const int M, const int N, const int K)
{
    __shared__ float A_shared[32][32];
    __shared__ float B_shared[32][32];
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int i = by * 32 + ty;
    const int j = bx * 32 + tx;
    float C_acc = 0.0f;
    for (int ko = 0; ko < (K + 31) / 32; ++ko) {
        const int k = ko * 32 + tx;
        const int k_1 = ko * 32 + ty;
        if (i < M && k < K)
            A_shared[ty][tx] = A[i * K + k];
        if (k_1 < K && j < N)
            B_shared[ty][tx] = B[k_1 * N + j];
        __syncthreads();  // A_shared, B_shared: written above by other threads, read below
        if (i < M && j < N) {
            for (int ki = 0; ki < 32; ++ki) {
                const int k_2 = ko * 32 + ki;
                if (k_2 < K)
                    C_acc += A_shared[ty][ki] * B_shared[ki][tx];
            }
        }
        __syncthreads();  // A_shared, B_shared: read above, overwritten in the next iteration of ko
                          // by other threads
    }
    if (i < M && j < N)
        C[i * N + j] = C_acc;
}
