// transpose: 1 launch
//   in: f16[4096, 4096], read
//   out: f16[4096, 4096], written
// transpose<<<dim3(32, 32), 256>>>(in, out);

static __device__ __forceinline__ unsigned int pack_halves(unsigned short a, unsigned short b)
{
    return a | (unsigned int)b << 16;
}

extern "C" __global__ void __launch_bounds__(256)
transpose(const unsigned short *__restrict__ in, unsigned short *__restrict__ out)
{
    __shared__ __align__(16) unsigned short out_shared[128][128];
    const int bc = blockIdx.y;
    const int br = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) unsigned short in_local[8][8];
    #pragma unroll
    for (int ax0 = 0; ax0 < 8; ++ax0) {
        *(uint4 *)&in_local[ax0][0] =
            *(const uint4 *)&in[(br * 128 + t / 16 * 8 + ax0) * 4096 + bc * 128 + t % 16 * 8];
    }
    #pragma unroll
    for (int vc = 0; vc < 8; ++vc) {
        *(uint4 *)&out_shared[t % 16 * 8 + vc][(t / 16 ^ t % 8) * 8] =
            make_uint4(pack_halves(in_local[0][vc], in_local[1][vc]),
                       pack_halves(in_local[2][vc], in_local[3][vc]),
                       pack_halves(in_local[4][vc], in_local[5][vc]),
                       pack_halves(in_local[6][vc], in_local[7][vc]));
    }
    __syncthreads();  // out_shared: written above by other threads, read below
    #pragma unroll
    for (int again = 0; again < 8; ++again) {
        *(uint4 *)&out[(bc * 128 + again * 16 + t / 16) * 4096 + br * 128 + t % 16 * 8] =
            *(const uint4 *)&out_shared[again * 16 + t / 16]
                                       [(t % 16 ^ again % 4 * 2 + t / 128) * 8];
    }
}
