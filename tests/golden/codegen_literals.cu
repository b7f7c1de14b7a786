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
        y[thread] = x[thread] < 1e-5f ? 20.0f : (x[thread] < 3.4e38f ? 1e15f : 0.1f);
        z[thread] = (unsigned int)b[thread] ^ 0xdeadbeefu;
        w[thread] = (double)(d[thread] < 1e300 ? 0.1f : 0.0001f);
        v[thread] = ((long long)b[thread] & 0xff) + 0x1ffffffffll;
    }
}
