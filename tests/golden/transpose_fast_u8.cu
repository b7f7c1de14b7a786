// transpose: 1 launch
//   in: u8[4096, 4096], read
//   out: u8[4096, 4096], written
// transpose<<<dim3(16, 16), 256, 65536>>>(in, out);

static __device__ __forceinline__ unsigned int pack_bytes(unsigned char a, unsigned char b,
                                                          unsigned char c, unsigned char d)
{
    return a | (unsigned int)b << 8 | (unsigned int)c << 16 | (unsigned int)d << 24;
}

extern "C" __global__ void __launch_bounds__(256)
transpose(const unsigned char *__restrict__ in, unsigned char *__restrict__ out)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    unsigned char (*out_shared)[256] = (unsigned char (*)[256])shared_memory;
    const int bc = blockIdx.y;
    const int br = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) unsigned char in_local[16][16];
    #pragma unroll
    for (int ax0 = 0; ax0 < 16; ++ax0) {
        *(uint4 *)&in_local[ax0][0] =
            *(const uint4 *)&in[(br * 256 + t / 16 * 16 + ax0) * 4096 + bc * 256 + t % 16 * 16];
    }
    #pragma unroll
    for (int vc = 0; vc < 16; ++vc) {
        *(uint4 *)&out_shared[t % 16 * 16 + vc][(t / 16 ^ t % 8) * 16] =
            make_uint4(pack_bytes(in_local[0][vc], in_local[1][vc], in_local[2][vc],
                                  in_local[3][vc]),
                       pack_bytes(in_local[4][vc], in_local[5][vc], in_local[6][vc],
                                  in_local[7][vc]),
                       pack_bytes(in_local[8][vc], in_local[9][vc], in_local[10][vc],
                                  in_local[11][vc]),
                       pack_bytes(in_local[12][vc], in_local[13][vc], in_local[14][vc],
                                  in_local[15][vc]));
    }
    __syncthreads();  // out_shared: written above by other threads, read below
    #pragma unroll
    for (int again = 0; again < 16; ++again) {
        *(uint4 *)&out[(long long)(bc * 1048576 + t / 16 * 4096 + br * 256 + t % 16 * 16)
                       + again * 65536] =
            *(const uint4 *)&out_shared[again * 16 + t / 16][(t % 16 ^ again % 8) * 16];
    }
}
