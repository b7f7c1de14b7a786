// matmul: 1 launch
//   A: f32[M, K], read
//   B: f32[K, N], read
//   C: f32[M, N], written
//   32-bit indices: N + 62, M + 62, M * K, N * K, K + 30 and M * N are at most 2147483647
// matmul<<<dim3((N + 63) / 64, (M + 63) / 64), dim3(16, 16)>>>(A, B, C, M, N, K);

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
       const int M, const int N, const int K)
{
    __shared__ float A_shared[64][32];
    __shared__ float B_shared[32][64];
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    float C_local[4][4];
    float A_local_first[4];
    float B_local_first[4];
    const int j = bx * 64 + ty % 4 * 16 + tx;
    if (tx < K) {
        for (int each = 0; each < 4; ++each) {
            const int i = by * 64 + each * 16 + ty;
            if (i < M)
                A_local_first[each] = A[i * K + tx];
        }
    }
    if (j < N) {
        for (int each = 0; each < 4; ++each) {
            const int k = each * 4 + ty / 4;
            if (k < K)
                B_local_first[each] = B[k * N + j];
        }
    }
    if (tx < K) {
        for (int each = 0; each < 4; ++each) {
            const int i = by * 64 + each * 16 + ty;
            if (i < M)
                A_shared[each * 16 + ty][tx] = A_local_first[each];
        }
    }
    if (j < N) {
        for (int each = 0; each < 4; ++each) {
            const int k = each * 4 + ty / 4;
            if (k < K)
                B_shared[each * 4 + ty / 4][ty % 4 * 16 + tx] = B_local_first[each];
        }
    }
    for (int ti = 0; ti < 4; ++ti) {
        const int i = by * 64 + ty * 4 + ti;
        if (i < M) {
            for (int tj = 0; tj < 4; ++tj) {
                const int j_1 = bx * 64 + tx * 4 + tj;
                if (j_1 < N)
                    C_local[ti][tj] = 0.0f;
            }
        }
    }
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < (K + 15) / 16; ++ko) {
        const int k = ko * 16 + tx + 16;
        float A_local[4];
        float B_local[4];
        if (ko + 1 < (K + 15) / 16) {
            if (k < K) {
                for (int each = 0; each < 4; ++each) {
                    const int i = by * 64 + each * 16 + ty;
                    if (i < M)
                        A_local[each] = A[i * K + k];
                }
            }
            if (j < N) {
                for (int each = 0; each < 4; ++each) {
                    const int k_1 = ko * 16 + each * 4 + ty / 4 + 16;
                    if (k_1 < K)
                        B_local[each] = B[k_1 * N + j];
                }
            }
        }
        for (int ki = 0; ki < 16; ++ki) {
            const int k_2 = ko * 16 + ki;
            if (k_2 < K) {
                for (int ti = 0; ti < 4; ++ti) {
                    const int i = by * 64 + ty * 4 + ti;
                    if (i < M) {
                        for (int tj = 0; tj < 4; ++tj) {
                            const int j_2 = bx * 64 + tx * 4 + tj;
                            if (j_2 < N)
                                C_local[ti][tj] += A_shared[ty * 4 + ti][ko % 2 * 16 + ki]
                                    * B_shared[ko % 2 * 16 + ki][tx * 4 + tj];
                        }
                    }
                }
            }
        }
        if (ko + 1 < (K + 15) / 16) {
            if (k < K) {
                for (int each = 0; each < 4; ++each) {
                    const int i = by * 64 + each * 16 + ty;
                    if (i < M)
                        A_shared[each * 16 + ty][(ko + 1) % 2 * 16 + tx] = A_local[each];
                }
            }
            if (j < N) {
                for (int each = 0; each < 4; ++each) {
                    const int k_3 = ko * 16 + each * 4 + ty / 4 + 16;
                    if (k_3 < K)
                        B_shared[(ko + 1) % 2 * 16 + each * 4 + ty / 4][ty % 4 * 16 + tx] =
                            B_local[each];
                }
            }
        }
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads; A_shared, B_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    for (int ax0 = 0; ax0 < 4; ++ax0) {
        const int i = by * 64 + ty * 4 + ax0;
        if (i < M) {
            for (int ax1 = 0; ax1 < 4; ++ax1) {
                const int j_3 = bx * 64 + tx * 4 + ax1;
                if (j_3 < N)
                    C[i * N + j_3] = C_local[ax0][ax1];
            }
        }
    }
}
