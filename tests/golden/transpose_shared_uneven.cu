// transpose: 1 launch
//   in: f32[4000, 6001], read
//   out: f32[6001, 4000], written
// transpose<<<dim3(188, 125), dim3(32, 8)>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float in_shared[32][32];
    const int br = blockIdx.y;
    const int bc = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int c = bc * 32 + tx;
    if (c < 6001) {
        for (int each = 0; each < 4; ++each)
            in_shared[each * 8 + ty][tx] = in[(br * 32 + each * 8 + ty) * 6001 + c];
    }
    __syncthreads();  // in_shared: written above by other threads, read below
    for (int each = 0; each < 4; ++each) {
        const int c_1 = bc * 32 + each * 8 + ty;
        if (c_1 < 6001)
            out[c_1 * 4000 + br * 32 + tx] = in_shared[tx][each * 8 + ty];
    }
}
