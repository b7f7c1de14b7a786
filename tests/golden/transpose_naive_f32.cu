// transpose: 1 launch
//   in: f32[4096, 4096], read
//   out: f32[4096, 4096], written
// transpose<<<dim3(128, 128), dim3(32, 32)>>>(in, out);

extern "C" __global__ void __launch_bounds__(1024)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int r = by * 32 + ty;
    const int c = bx * 32 + tx;
    out[c * 4096 + r] = in[r * 4096 + c];
}
