// transpose: 1 launch
//   in: f32[1, 7], read
//   out: f32[7, 1], written
// transpose<<<1, dim3(32, 8)>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float in_shared[8];
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int c = ty * 32 + tx;
    if (c < 7)
        in_shared[c] = in[c];
    __syncthreads();  // in_shared: written above by other threads, read below
    if (tx < 1) {
        for (int each = 0; each < 4; ++each) {
            const int c_1 = each * 8 + ty;
            if (c_1 < 7)
                out[c_1 + tx] = in_shared[c_1];
        }
    }
}
