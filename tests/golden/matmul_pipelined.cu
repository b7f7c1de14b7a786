// matmul: 1 launch
//   A: f32[256, 256], read
//   B: f32[256, 256], read
//   C: f32[256, 256], written
// matmul<<<dim3(4, 4), dim3(16, 16)>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
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
    for (int each = 0; each < 4; ++each)
        A_local_first[each] = A[(by * 64 + each * 16 + ty) * 256 + tx];
    for (int each = 0; each < 4; ++each)
        B_local_first[each] = B[(each * 4 + ty / 4) * 256 + j];
    for (int each = 0; each < 4; ++each)
        A_shared[each * 16 + ty][tx] = A_local_first[each];
    for (int each = 0; each < 4; ++each)
        B_shared[each * 4 + ty / 4][ty % 4 * 16 + tx] = B_local_first[each];
    for (int ti = 0; ti < 4; ++ti) {
        for (int tj = 0; tj < 4; ++tj)
            C_local[ti][tj] = 0.0f;
    }
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 16; ++ko) {
        float A_local[4];
        float B_local[4];
        if (ko < 15) {
            for (int each = 0; each < 4; ++each)
                A_local[each] = A[(by * 64 + each * 16 + ty) * 256 + ko * 16 + tx + 16];
            for (int each = 0; each < 4; ++each)
                B_local[each] = B[(ko * 16 + each * 4 + ty / 4 + 16) * 256 + j];
        }
        for (int ki = 0; ki < 16; ++ki) {
            for (int ti = 0; ti < 4; ++ti) {
                for (int tj = 0; tj < 4; ++tj)
                    C_local[ti][tj] += A_shared[ty * 4 + ti][ko % 2 * 16 + ki]
                        * B_shared[ko % 2 * 16 + ki][tx * 4 + tj];
            }
        }
        if (ko < 15) {
            for (int each = 0; each < 4; ++each)
                A_shared[each * 16 + ty][(ko + 1) % 2 * 16 + tx] = A_local[each];
            for (int each = 0; each < 4; ++each)
                B_shared[(ko + 1) % 2 * 16 + each * 4 + ty / 4][ty % 4 * 16 + tx] = B_local[each];
        }
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads; A_shared, B_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    for (int ax0 = 0; ax0 < 4; ++ax0) {
        for (int ax1 = 0; ax1 < 4; ++ax1)
            C[(by * 64 + ty * 4 + ax0) * 256 + bx * 64 + tx * 4 + ax1] = C_local[ax0][ax1];
    }
}
