// matmul: 1 launch
//   A: f32[1000, 997], read
//   B: f32[997, 999], read
//   C: f32[1000, 999], written
// matmul<<<dim3(32, 32), dim3(32, 32)>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(1024)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
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
    for (int ko = 0; ko < 32; ++ko) {
        const int k = ko * 32 + tx;
        const int k_1 = ko * 32 + ty;
        if (i < 1000 && k < 997)
            A_shared[ty][tx] = A[i * 997 + k];
        if (k_1 < 997 && j < 999)
            B_shared[ty][tx] = B[k_1 * 999 + j];
        __syncthreads();  // A_shared, B_shared: written above by other threads, read below
        if (i < 1000 && j < 999) {
            for (int ki = 0; ki < 32; ++ki) {
                const int k_2 = ko * 32 + ki;
                if (k_2 < 997)
                    C_acc += A_shared[ty][ki] * B_shared[ki][tx];
            }
        }
        __syncthreads();  // A_shared, B_shared: read above, overwritten in the next iteration of ko
                          // by other threads
    }
    if (i < 1000 && j < 999)
        C[i * 999 + j] = C_acc;
}
