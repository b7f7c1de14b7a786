// transpose: 1 launch
//   in: f32[4000, 6001], read
//   out: f32[6001, 4000], written
// transpose<<<93766, 256>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int r = (block * 256 + thread) / 6001;
    const int c = (block * 256 + thread) % 6001;
    if (block * 256 + thread < 24004000)
        out[c * 4000 + r] = in[r * 6001 + c];
}
