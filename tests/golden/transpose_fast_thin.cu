// transpose: 1 launch
//   in: f32[1, 7], read
//   out: f32[7, 1], written
// transpose<<<1, 256>>>(in, out);

extern "C" __global__ void __launch_bounds__(256, 2)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float out_shared[7][32];
    const int t = threadIdx.x;
    const int c = t % 128;
    const int r = t % 64;
    if (c < 7) {
        float in_local = in[c];
        #pragma unroll
        for (int turn = 0; turn < 8; ++turn) {
            #pragma unroll
            for (int vr = 0; vr < 4; ++vr) {
                const int t_at = t / 128 * 32 + turn * 4 + vr;
                if (t_at < 1)
                    out_shared[c][(t / 128 * 8 + turn ^ c) * 4 + vr] = in_local;
            }
        }
    }
    __syncthreads();  // out_shared: written above by other threads, read below
    if (r < 1) {
        #pragma unroll
        for (int again = 0; again < 32; ++again) {
            const int c_1 = again * 4 + t / 64;
            if (c_1 < 7)
                out[(long long)(r + t / 64) + again * 4] = out_shared[c_1][c_1 * 4 + r];
        }
    }
}
