// repeated_values: 1 launch
//   x: f32[1024], read
//   y: f32[1024], read
//   angle: f32[1024], read
//   u: f32[1024], written
//   v: f32[1024], written
//   w: f32[1024], written
// repeated_values<<<8, 128>>>(x, y, angle, u, v, w);

extern "C" __global__ void __launch_bounds__(128)
repeated_values(const float *__restrict__ x, const float *__restrict__ y,
                const float *__restrict__ angle, float *__restrict__ u, float *__restrict__ v,
                float *__restrict__ w)
{
    const int o = blockIdx.x;
    const int t = threadIdx.x;
    const int i = o * 128 + t;
    const float c = cosf(angle[i]);
    const float s = sinf(angle[i]);
    u[i] = x[i] * c - y[i] * s;
    v[i] = x[i] * s + y[i] * c;
    const float old = u[i];
    w[i] = old * c + old * old;
}
