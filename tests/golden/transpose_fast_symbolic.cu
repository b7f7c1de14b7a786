// transpose: 1 launch
//   in: f32[R, C], read
//   out: f32[C, R], written
//   32-bit indices: C + 126, R + 62 and R * C are at most 2147483647
// transpose<<<dim3((R + 63) / 64, (C + 127) / 128), 256>>>(in, out, R, C);

extern "C" __global__ void __launch_bounds__(256, 2)
transpose(const float *__restrict__ in, float *__restrict__ out, const int R, const int C)
{
    __shared__ __align__(16) float out_shared[128][64];
    const int bc = blockIdx.y;
    const int br = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) float in_local[32];
    const int c = bc * 128 + t % 128;
    const int r = br * 64 + t % 64;
    if (c < C) {
        #pragma unroll
        for (int ax0 = 0; ax0 < 32; ++ax0) {
            const int r_1 = br * 64 + t / 128 * 32 + ax0;
            if (r_1 < R)
                in_local[ax0] = in[r_1 * C + c];
        }
        #pragma unroll
        for (int turn = 0; turn < 8; ++turn) {
            const int br_at = br * 64 + t / 128 * 32 + turn * 4;
            if (br_at + 3 < R) {
                *(float4 *)&out_shared[t % 128][(t / 128 * 8 + turn ^ t % 8) * 4] =
                    make_float4(in_local[turn * 4], in_local[turn * 4 + 1], in_local[turn * 4 + 2],
                                in_local[turn * 4 + 3]);
            } else {
                #pragma unroll
                for (int vr = 0; vr < 4; ++vr) {
                    if (br_at + vr < R)
                        out_shared[t % 128][(t / 128 * 8 + turn ^ t % 8) * 4 + vr] =
                            in_local[turn * 4 + vr];
                }
            }
        }
    }
    __syncthreads();  // out_shared: written above by other threads, read below
    if (r < R) {
        #pragma unroll
        for (int again = 0; again < 32; ++again) {
            const int c_1 = bc * 128 + again * 4 + t / 64;
            if (c_1 < C)
                out[c_1 * R + r] =
                    out_shared[again * 4 + t / 64]
                              [(t % 64 / 4 ^ again % 2 * 4 + t / 64) * 4 + t % 4];
        }
    }
}
