// unclear_operators: 1 launch
//   x: i32[1024], read
//   y: f32[1024], read
//   u: u32[1024], read
//   z: i32[1024], written
//   b: bool[1024], written
//   w: u32[1024], written
// unclear_operators<<<8, 128>>>(x, y, u, z, b, w);

extern "C" __global__ void __launch_bounds__(128)
unclear_operators(const int *__restrict__ x, const float *__restrict__ y,
                  const unsigned int *__restrict__ u, int *__restrict__ z, bool *__restrict__ b,
                  unsigned int *__restrict__ w)
{
    const int o = blockIdx.x;
    const int t = threadIdx.x;
    const int i = o * 128 + t;
    b[i] = (x[i] > 0 && y[i] < 1.0f) || (x[i] < -9 && (y[i] > 2.0f || y[i] < -2.0f) && u[i] > 3u);
    z[i] = (x[i] > 0) == (y[i] > 0.0f)
        ? (int)((long long)i ^ (1ll << (i % 4 + 1))) : (int)((unsigned int)x[i] + 1);
    w[i] = ((u[i] + 1u) << 3u) | (u[i] >> 2u);
}
