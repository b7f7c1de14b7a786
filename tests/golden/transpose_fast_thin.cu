// transpose: 1 launch
//   in: f32[1, 7], read
//   out: f32[7, 1], written
// transpose<<<1, 256>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float in_shared[1][8];
    const int lane = threadIdx.x;
    const int r = lane % 32;
    if (lane < 7)
        in_shared[0][lane] = in[lane];
    __syncthreads();  // in_shared: written above by other threads, read below
    if (r < 1) {
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            const int c = each * 8 + lane / 32;
            if (c < 7)
                out[c + r] = in_shared[r][c];
        }
    }
}
