// transpose: 1 launch
//   in: f32[6001, 4000], read
//   out: f32[4000, 6001], written
// transpose<<<dim3(188, 63), 256>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float in_shared[39][65];
    const int bc = blockIdx.y;
    const int br = blockIdx.x;
    const int lane = threadIdx.x;
    const int c = bc * 64 + lane % 64;
    const int r = br * 32 + lane % 32 - lane / 32 * 6001 % 8;
    if (c < 4000) {
        #pragma unroll
        for (int each = 0; each < 10; ++each) {
            const int r_1 = br * 32 + each * 4 + lane / 64 - 7;
            if (each * 256 + lane < 2496 && r_1 >= 0 && r_1 < 6001)
                in_shared[each * 4 + lane / 64][lane % 64] = in[r_1 * 4000 + c];
        }
    }
    __syncthreads();  // in_shared: written above by other threads, read below
    if (r >= 0 && r < 6001) {
        #pragma unroll
        for (int ec = 0; ec < 8; ++ec) {
            const int c_1 = bc * 64 + ec * 8 + lane / 32;
            if (c_1 < 4000) {
                float in_shared_local =
                    in_shared[lane % 32 - lane / 32 * 6001 % 8 + 7][ec * 8 + lane / 32];
                out[c_1 * 6001 + r] = in_shared_local;
            }
        }
    }
}
