// matmul: 1 launch
//   A: f32[64, 33], read
//   B: f32[33, 60], read
//   C: f32[64, 60], written
// matmul<<<1, dim3(16, 16)>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    __shared__ float A_shared[64][32];
    __shared__ float B_shared[32][60];
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    float C_local[4][4];
    float A_local_first[4];
    float B_local_first[14][60];
    for (int each = 0; each < 4; ++each)
        A_local_first[each] = A[(each * 16 + ty) * 33 + tx];
    for (int each = 0; each < 4; ++each) {
        const int each_at = each * 256 + ty * 16 + tx;
        const int j = each_at % 60;
        if (each_at < 960)
            B_local_first[each_at / 60 - (ty * 16 + tx) / 60][j] = B[each_at];
    }
    for (int each = 0; each < 4; ++each)
        A_shared[each * 16 + ty][tx] = A_local_first[each];
    for (int each = 0; each < 4; ++each) {
        const int each_at = each * 256 + ty * 16 + tx;
        const int j = each_at % 60;
        if (each_at < 960)
            B_shared[each_at / 60][j] = B_local_first[each_at / 60 - (ty * 16 + tx) / 60][j];
    }
    if (tx < 15) {
        for (int ti = 0; ti < 4; ++ti) {
            for (int tj = 0; tj < 4; ++tj)
                C_local[ti][tj] = 0.0f;
        }
    }
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 3; ++ko) {
        const int k = ko * 16 + tx + 16;
        float A_local[4];
        float B_local[14][60];
        if (ko < 2) {
            if (k < 33) {
                for (int each = 0; each < 4; ++each)
                    A_local[each] = A[(each * 16 + ty) * 33 + k];
            }
            for (int each = 0; each < 4; ++each) {
                const int each_at = each * 256 + ty * 16 + tx;
                const int each_div = each_at / 60;
                const int k_1 = ko * 16 + each_div + 16;
                const int j = each_at % 60;
                if (each_at < 960 && k_1 < 33)
                    B_local[each_div - (ty * 16 + tx) / 60][j] = B[k_1 * 60 + j];
            }
        }
        if (tx < 15) {
            for (int ki = 0; ki < 16; ++ki) {
                const int k_2 = ko * 16 + ki;
                if (k_2 < 33) {
                    for (int ti = 0; ti < 4; ++ti) {
                        for (int tj = 0; tj < 4; ++tj)
                            C_local[ti][tj] += A_shared[ty * 4 + ti][ko % 2 * 16 + ki]
                                * B_shared[ko % 2 * 16 + ki][tx * 4 + tj];
                    }
                }
            }
        }
        if (ko < 2) {
            if (k < 33) {
                for (int each = 0; each < 4; ++each)
                    A_shared[each * 16 + ty][(ko + 1) % 2 * 16 + tx] = A_local[each];
            }
            for (int each = 0; each < 4; ++each) {
                const int each_at = each * 256 + ty * 16 + tx;
                const int each_div = each_at / 60;
                const int k_3 = ko * 16 + each_div + 16;
                const int j = each_at % 60;
                if (each_at < 960 && k_3 < 33)
                    B_shared[k_3 % 32][j] = B_local[each_div - (ty * 16 + tx) / 60][j];
            }
        }
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads; A_shared, B_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    if (tx < 15) {
        for (int ax0 = 0; ax0 < 4; ++ax0) {
            for (int ax1 = 0; ax1 < 4; ++ax1)
                C[(ty * 4 + ax0) * 60 + tx * 4 + ax1] = C_local[ax0][ax1];
        }
    }
}
