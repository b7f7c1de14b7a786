// transpose: 1 launch
//   in: f16[4096, 4096], read
//   out: f16[4096, 4096], written
// transpose<<<65536, 256>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const unsigned short *__restrict__ in, unsigned short *__restrict__ out)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int r = block / 16;
    const int c = block % 16 * 256 + thread;
    out[c * 4096 + r] = in[r * 4096 + c];
}
