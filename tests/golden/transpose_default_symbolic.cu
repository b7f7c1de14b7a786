// transpose: 1 launch
//   in: f32[R, C], read
//   out: f32[C, R], written
//   32-bit indices: R + 31, (R * C + (R + C) * 31 + 992) / 32, C and R * C are at most 2147483647
// transpose<<<(R + 31) / 32 * ((C + 31) / 32), dim3(32, 8)>>>(in, out, R, C);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out, const int R, const int C)
{
    __shared__ float in_shared[32][33];
    const int grid = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int grid_start = grid / ((R + 31) / 32) * 32;
    const int c = grid_start + tx;
    const int grid_start_1 = grid % ((R + 31) / 32) * 32;
    const int r = grid_start_1 + tx;
    if (c < C) {
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            const int r_1 = grid_start_1 + each * 8 + ty;
            if (r_1 < R)
                in_shared[each * 8 + ty][tx] = in[r_1 * C + c];
        }
    }
    __syncthreads();  // in_shared: written above by other threads, read below
    if (r < R) {
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            const int c_1 = grid_start + each * 8 + ty;
            if (c_1 < C)
                out[c_1 * R + r] = in_shared[tx][each * 8 + ty];
        }
    }
}
