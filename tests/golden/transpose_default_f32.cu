// transpose: 1 launch
//   in: f32[4096, 4096], read
//   out: f32[4096, 4096], written
// transpose<<<16384, dim3(32, 8)>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float in_shared[32][33];
    const int grid = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    #pragma unroll
    for (int each = 0; each < 4; ++each)
        in_shared[each * 8 + ty][tx] =
            in[(grid % 128 * 32 + each * 8 + ty) * 4096 + grid / 128 * 32 + tx];
    __syncthreads();  // in_shared: written above by other threads, read below
    #pragma unroll
    for (int each = 0; each < 4; ++each)
        out[(grid / 128 * 32 + each * 8 + ty) * 4096 + grid % 128 * 32 + tx] =
            in_shared[tx][each * 8 + ty];
}
