// matmul: 1 launch
//   A: f32[1024, 1000], read
//   B: f32[1000, 1024], read
//   C: f32[1024, 1024], written
// matmul<<<dim3(32, 32), dim3(32, 32)>>>(A, B, C);

#line 3 "examples/matmul/matmul.tir"
extern "C" __global__ void __launch_bounds__(1024)
#line 3 "examples/matmul/matmul.tir"
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
#line 3 "examples/matmul/matmul.tir"
{
#line 1 "examples/matmul/matmul.tir"
    __shared__ float A_shared[32][32];
#line 1 "examples/matmul/matmul.tir"
    __shared__ float B_shared[32][32];
#line 3 "examples/matmul/matmul.tir"
    const int by = blockIdx.y;
#line 3 "examples/matmul/matmul.tir"
    const int bx = blockIdx.x;
#line 3 "examples/matmul/matmul.tir"
    const int ty = threadIdx.y;
#line 3 "examples/matmul/matmul.tir"
    const int tx = threadIdx.x;
#line 3 "examples/matmul/matmul.tir"
    const int i = by * 32 + ty;
#line 3 "examples/matmul/matmul.tir"
    const int j = bx * 32 + tx;
    float C_acc = 0.0f;
    for (int ko = 0; ko < 32; ++ko) {
        const int k = ko * 32 + tx;
#line 6 "examples/matmul/matmul.tir"
        const int k_1 = ko * 32 + ty;
#line 6 "examples/matmul/matmul.tir"
        if (k < 1000)
#line 6 "examples/matmul/matmul.tir"
            A_shared[ty][tx] = A[i * 1000 + k];
#line 6 "examples/matmul/matmul.tir"
        if (k_1 < 1000)
#line 6 "examples/matmul/matmul.tir"
            B_shared[ty][tx] = B[k_1 * 1024 + j];
#line 6 "examples/matmul/matmul.tir"
        __syncthreads();  // A_shared, B_shared: written above by other threads, read below
#line 5 "examples/matmul/matmul.tir"
        for (int ki = 0; ki < 32; ++ki) {
#line 5 "examples/matmul/matmul.tir"
            const int k_2 = ko * 32 + ki;
            if (k_2 < 1000)
#line 6 "examples/matmul/matmul.tir"
                C_acc += A_shared[ty][ki] * B_shared[ki][tx];
#line 5 "examples/matmul/matmul.tir"
        }
        __syncthreads();  // A_shared, B_shared: read above, overwritten in the next iteration of ko
#line 6 "examples/matmul/matmul.tir"
                          // by other threads
#line 5 "examples/matmul/matmul.tir"
    }
    C[i * 1024 + j] = C_acc;
#line 3 "examples/matmul/matmul.tir"
}
