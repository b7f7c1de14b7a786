// transpose: 1 launch
//   in: f32[4000, 6001], read
//   out: f32[6001, 4000], written
// transpose<<<dim3(63, 47), 256>>>(in, out);

extern "C" __global__ void __launch_bounds__(256, 2)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ __align__(16) float out_shared[128][64];
    const int bc = blockIdx.y;
    const int br = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) float in_local[32];
    const int c = bc * 128 + t % 128;
    if (br * 2 + t / 128 < 125 && c < 6001) {
        #pragma unroll
        for (int ax0 = 0; ax0 < 32; ++ax0)
            in_local[ax0] = in[(br * 64 + t / 128 * 32 + ax0) * 6001 + c];
        #pragma unroll
        for (int turn = 0; turn < 8; ++turn) {
            *(float4 *)&out_shared[t % 128][(t / 128 * 8 + turn ^ t % 8) * 4] =
                make_float4(in_local[turn * 4], in_local[turn * 4 + 1], in_local[turn * 4 + 2],
                            in_local[turn * 4 + 3]);
        }
    }
    __syncthreads();  // out_shared: written above by other threads, read below
    if (br * 16 + t % 16 < 1000) {
        #pragma unroll
        for (int again = 0; again < 8; ++again) {
            const int c_1 = bc * 128 + again * 16 + t / 16;
            if (c_1 < 6001) {
                *(float4 *)&out[c_1 * 4000 + br * 64 + t % 16 * 4] =
                    *(const float4 *)&out_shared[again * 16 + t / 16][(t % 16 ^ t / 16 % 8) * 4];
            }
        }
    }
}
