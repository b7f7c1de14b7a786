// literals: 1 launch
//   x: f32[64], read
//   b: i32[64], read
//   d: f64[64], read
//   y: f32[64], written
//   z: u32[64], written
//   w: f64[64], written
//   v: i64[64], written
// literals<<<1, 128>>>(x, b, d, y, z, w, v);

extern "C" __global__ void __launch_bounds__(128)
literals(const float *__restrict__ x, const int *__restrict__ b, const double *__restrict__ d,
         float *__restrict__ y, unsigned int *__restrict__ z, double *__restrict__ w,
         long long *__restrict__ v)
{
    const int thread = threadIdx.x;
    __align__(16) float y_local[2];
    __align__(16) unsigned int z_local[2];
    __align__(16) double w_local[2];
    __align__(16) long long v_local[2];
    __align__(16) float x_local[2];
    __align__(16) int b_local[2];
    __align__(16) double d_local[2];
    __align__(16) int b_local_1[2];
    if (thread < 32) {
        *(float2 *)&x_local[0] = *(const float2 *)&x[thread * 2];
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            y_local[lane] = x_local[lane] < 0.0f
                ? 20.0f : (x_local[lane] < 100.0f ? 1000000.0f : 0.5f);
        *(float2 *)&y[thread * 2] = make_float2(y_local[0], y_local[1]);
        *(int2 *)&b_local[0] = *(const int2 *)&b[thread * 2];
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            z_local[lane] = (unsigned int)b_local[lane] ^ 0xdeadbeefu;
        *(uint2 *)&z[thread * 2] = make_uint2(z_local[0], z_local[1]);
        *(double2 *)&d_local[0] = *(const double2 *)&d[thread * 2];
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            w_local[lane] = (double)(d_local[lane] < 0.1
                                     ? 10000000000.0f : (d_local[lane] < 1e300 ? 0.25f : 2.0f));
        *(double2 *)&w[thread * 2] = make_double2(w_local[0], w_local[1]);
        *(int2 *)&b_local_1[0] = *(const int2 *)&b[thread * 2];
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            v_local[lane] = ((long long)b_local_1[lane] & 0xff) + 0x1ffffffffll;
        *(longlong2 *)&v[thread * 2] = make_longlong2(v_local[0], v_local[1]);
    }
}
