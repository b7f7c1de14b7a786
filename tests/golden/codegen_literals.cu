// literals: 1 launch
//   x: f32[64], read
//   b: i32[64], read
//   d: f64[64], read
//   y: f32[64], written
//   z: u32[64], written
//   w: f64[64], written
//   v: i64[64], written
// literals<<<1, 256>>>(x, b, d, y, z, w, v);

extern "C" __global__ void __launch_bounds__(256)
literals(const float *__restrict__ x, const int *__restrict__ b, const double *__restrict__ d, float *__restrict__ y, unsigned int *__restrict__ z, double *__restrict__ w, long long *__restrict__ v)
{
    const int thread = threadIdx.x;
    if (thread < 64) {
        y[thread] = x[thread] < 0.0f ? 20.0f : (x[thread] < 100.0f ? 1000000.0f : 0.5f);
        z[thread] = (unsigned int)b[thread] ^ 0xdeadbeefu;
        w[thread] = (double)(d[thread] < 0.1 ? 10000000000.0f : (d[thread] < 1e300 ? 0.25f : 2.0f));
        v[thread] = ((long long)b[thread] & 0xff) + 0x1ffffffffll;
    }
}
