// transpose: 1 launch
//   in: f64[4096, 4096], read
//   out: f64[4096, 4096], written
// transpose<<<dim3(128, 128), 256>>>(in, out);

extern "C" __global__ void __launch_bounds__(256)
transpose(const double *__restrict__ in, double *__restrict__ out)
{
    __shared__ __align__(16) double out_shared[32][32];
    const int bc = blockIdx.y;
    const int br = blockIdx.x;
    const int t = threadIdx.x;
    __align__(16) double in_local[2][2];
    #pragma unroll
    for (int ax0 = 0; ax0 < 2; ++ax0) {
        *(double2 *)&in_local[ax0][0] =
            *(const double2 *)&in[(br * 32 + t / 16 * 2 + ax0) * 4096 + bc * 32 + t % 16 * 2];
    }
    #pragma unroll
    for (int vc = 0; vc < 2; ++vc) {
        *(double2 *)&out_shared[t % 16 * 2 + vc][(t / 16 ^ t % 8) * 2] =
            make_double2(in_local[0][vc], in_local[1][vc]);
    }
    __syncthreads();  // out_shared: written above by other threads, read below
    #pragma unroll
    for (int again = 0; again < 2; ++again) {
        *(double2 *)&out[(bc * 32 + again * 16 + t / 16) * 4096 + br * 32 + t % 16 * 2] =
            *(const double2 *)&out_shared[again * 16 + t / 16][(t % 16 ^ t / 32) * 2];
    }
}
