// transpose: 1 launch
//   in: f32[4096, 4096], read
//   out: f32[4096, 4096], written
// transpose<<<dim3(64, 64), 256>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ __align__(16) float out_shared[64][64];
    const int bc = blockIdx.y;
    const int br = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) float in_local[4][4];
    #pragma unroll
    for (int ax0 = 0; ax0 < 4; ++ax0) {
        *(float4 *)&in_local[ax0][0] = *(const float4 *)&in[(br * 64 + t / 16 * 4 + ax0) * 4096 + bc * 64 + t % 16 * 4];
    }
    #pragma unroll
    for (int vc = 0; vc < 4; ++vc) {
        *(float4 *)&out_shared[t % 16 * 4 + vc][(t / 16 ^ t % 8) * 4] = make_float4(in_local[0][vc], in_local[1][vc], in_local[2][vc], in_local[3][vc]);
    }
    __syncthreads();  // out_shared: written above by other threads, read below
    #pragma unroll
    for (int again = 0; again < 4; ++again) {
        *(float4 *)&out[(bc * 64 + again * 16 + t / 16) * 4096 + br * 64 + t % 16 * 4] = *(const float4 *)&out_shared[again * 16 + t / 16][(t % 16 ^ again % 2 * 4 + t / 64) * 4];
    }
}
