// turn: 1 launch
//   in: f32[101, 40], read
//   out: f32[40, 101], written
// turn<<<40, 32>>>(in, out);

extern "C" __global__ void __launch_bounds__(32)
turn(const float *__restrict__ in, float *__restrict__ out)
{
    const int c = blockIdx.x;
    const int lane = threadIdx.x;
    for (int run = 0; run < 4; ++run) {
        const int r = run * 32 + lane - c * 101 % 8;
        if (r >= 0 && r < 101)
            out[c * 101 + r] = in[r * 40 + c];
    }
}
