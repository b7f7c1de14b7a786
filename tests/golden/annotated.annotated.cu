// matmul: 1 launch
//   A: f32[1024, 1000], read
//   B: f32[1000, 1024], read
//   C: f32[1024, 1024], written
// matmul<<<dim3(32, 32), dim3(32, 32)>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(1024)             // matmul.tir:3, matmul.sched:9: bind(by, blockIdx.y)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)  // matmul.tir:3, matmul.sched:9: bind(by, blockIdx.y)
{
    __shared__ float A_shared[32][32];                         // matmul.tir:1, matmul.sched:14: cache_read(C, A, shared)
    __shared__ float B_shared[32][32];                         // matmul.tir:1, matmul.sched:14: cache_read(C, B, shared)
    const int by = blockIdx.y;                                 // matmul.tir:3, matmul.sched:9: bind(by, blockIdx.y)
    const int bx = blockIdx.x;                                 // matmul.tir:3, matmul.sched:10: bind(bx, blockIdx.x)
    const int ty = threadIdx.y;                                // matmul.tir:3, matmul.sched:11: bind(ty, threadIdx.y)
    const int tx = threadIdx.x;                                // matmul.tir:3, matmul.sched:12: bind(tx, threadIdx.x)
    const int i = by * 32 + ty;                                // matmul.tir:3, matmul.sched:5: split(i, [_, 32])
    const int j = bx * 32 + tx;                                // matmul.tir:3, matmul.sched:6: split(j, [_, 32])
    float C_acc = 0.0f;                                        // matmul.tir:4, matmul.sched:7: split(k, [_, 32])
    for (int ko = 0; ko < 32; ++ko) {                          // matmul.tir:5, matmul.sched:7: split(k, [_, 32])
        const int k = ko * 32 + tx;                            // matmul.tir:6, common.sched:7: split(ax0_ax1_fused, [_, 32, 32])
        const int k_1 = ko * 32 + ty;                          // matmul.tir:6, common.sched:7: split(ax0_ax1_fused, [_, 32, 32])
        if (k < 1000)                                          // matmul.tir:6, common.sched:7: split(ax0_ax1_fused, [_, 32, 32])
            A_shared[ty][tx] = A[i * 1000 + k];                // matmul.tir:6, matmul.sched:14: cache_read(C, A, shared)
        if (k_1 < 1000)                                        // matmul.tir:6, common.sched:7: split(ax0_ax1_fused, [_, 32, 32])
            B_shared[ty][tx] = B[k_1 * 1024 + j];              // matmul.tir:6, matmul.sched:14: cache_read(C, B, shared)
        __syncthreads();  // A_shared, B_shared: written above by other threads, read below  // matmul.tir:6, matmul.sched:14: cache_read(C, A, shared)
        for (int ki = 0; ki < 32; ++ki) {                      // matmul.tir:5, matmul.sched:7: split(k, [_, 32])
            const int k_2 = ko * 32 + ki;                      // matmul.tir:5, matmul.sched:7: split(k, [_, 32])
            if (k_2 < 1000)                                    // matmul.tir:6, matmul.sched:7: split(k, [_, 32])
                C_acc += A_shared[ty][ki] * B_shared[ki][tx];  // matmul.tir:6
        }
        __syncthreads();  // A_shared, B_shared: read above, overwritten in the next iteration of ko  // matmul.tir:6, matmul.sched:14: cache_read(C, A, shared)
                          // by other threads                  // matmul.tir:6, matmul.sched:14: cache_read(C, A, shared)
    }
    C[i * 1024 + j] = C_acc;                                   // matmul.tir:6, matmul.sched:7: split(k, [_, 32])
}
