// transpose: 1 launch
//   in: f32[4096, 4096], read
//   out: f32[4096, 4096], written
// transpose<<<dim3(64, 64), 512>>>(in, out);

extern "C" __global__ void __launch_bounds__(512)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ __align__(16) float out_shared[64][64];
    const int bc = blockIdx.y;
    const int br = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) float in_local[2][4];
    #pragma unroll
    for (int ax0 = 0; ax0 < 2; ++ax0) {
        *(float4 *)&in_local[ax0][0] =
            *(const float4 *)&in[(br * 64 + t / 32 * 4 + t / 8 % 2 * 2 + ax0) * 4096 + bc * 64
                                 + t / 16 % 2 * 32 + t % 8 * 4];
    }
    #pragma unroll
    for (int vc = 0; vc < 4; ++vc) {
        *(float2 *)&out_shared[t / 16 % 2 * 32 + t % 8 * 4 + vc]
                              [(t / 32 ^ t % 8) * 4 + t / 8 % 2 * 2] =
            make_float2(in_local[0][vc], in_local[1][vc]);
    }
    __syncthreads();  // out_shared: written above by other threads, read below
    #pragma unroll
    for (int again = 0; again < 2; ++again) {
        *(float4 *)&out[(bc * 64 + again * 32 + t / 16) * 4096 + br * 64 + t % 16 * 4] =
            *(const float4 *)&out_shared[again * 32 + t / 16][(t % 16 ^ t / 64) * 4];
    }
}
