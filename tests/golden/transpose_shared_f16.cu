// transpose: 1 launch
//   in: f16[4096, 4096], read
//   out: f16[4096, 4096], written
// transpose<<<dim3(128, 128), dim3(32, 8)>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const unsigned short *__restrict__ in, unsigned short *__restrict__ out)
{
    __shared__ unsigned short in_shared[32][32];
    const int br = blockIdx.y;
    const int bc = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    for (int each = 0; each < 4; ++each)
        in_shared[each * 8 + ty][tx] = in[(br * 32 + each * 8 + ty) * 4096 + bc * 32 + tx];
    __syncthreads();  // in_shared: written above by other threads, read below
    for (int each = 0; each < 4; ++each)
        out[(bc * 32 + each * 8 + ty) * 4096 + br * 32 + tx] = in_shared[tx][each * 8 + ty];
}
