// transpose: 1 launch
//   in: f32[1, 7], read
//   out: f32[7, 1], written
// transpose<<<1, 128>>>(in, out);

extern "C" __global__ void __launch_bounds__(128)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    const int thread = threadIdx.x;
    __align__(16) float out_local[4];
    __align__(16) float in_local[4];
    if (thread < 1) {
        *(float4 *)&in_local[0] = *(const float4 *)&in[thread * 4];
    } else {
        #pragma unroll
        for (int ax1 = 0; ax1 < 4; ++ax1) {
            if (thread * 4 + ax1 < 7)
                in_local[ax1] = in[thread * 4 + ax1];
        }
    }
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
        const int c = thread * 4 + lane;
        if (c < 7)
            out_local[lane] = in_local[lane];
    }
    if (thread < 1) {
        *(float4 *)&out[thread * 4] =
            make_float4(out_local[0], out_local[1], out_local[2], out_local[3]);
    } else {
        #pragma unroll
        for (int ax0_1 = 0; ax0_1 < 4; ++ax0_1) {
            if (thread * 4 + ax0_1 < 7)
                out[thread * 4 + ax0_1] = out_local[ax0_1];
        }
    }
}
