// transpose: 1 launch
//   in: f32[4000, 6001], read
//   out: f32[6001, 4000], written
// transpose<<<23500, dim3(32, 8)>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float in_shared[32][33];
    const int grid = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int grid_start = grid / 125 * 32;
    const int c = grid_start + tx;
    if (c < 6001) {
        #pragma unroll
        for (int each = 0; each < 4; ++each)
            in_shared[each * 8 + ty][tx] = in[(grid % 125 * 32 + each * 8 + ty) * 6001 + c];
    }
    __syncthreads();  // in_shared: written above by other threads, read below
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int c_1 = grid_start + each * 8 + ty;
        if (c_1 < 6001)
            out[c_1 * 4000 + grid % 125 * 32 + tx] = in_shared[tx][each * 8 + ty];
    }
}
