// powers: 1 launch
//   x: f32[8], read
//   d: f64[8], read
//   h: f16[8], read
//   y: f32[8], written
//   z: f64[8], written
//   g: f16[8], written
// powers<<<1, 1>>>(x, d, h, y, z, g);

static __device__ __forceinline__ float f16_to_f32(unsigned short h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ unsigned short f16_from_f32(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ float fast_exp(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
    return y;
}

static __device__ __forceinline__ float fast_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

extern "C" __global__ void __launch_bounds__(1)
powers(const float *__restrict__ x, const double *__restrict__ d,
       const unsigned short *__restrict__ h, float *__restrict__ y, double *__restrict__ z,
       unsigned short *__restrict__ g)
{
    for (int i = 0; i < 8; ++i) {
        y[i] = fast_exp(x[i]) - fast_exp2(x[i]);
        z[i] = exp(d[i]) - exp2(d[i]);
        g[i] =
            f16_from_f32(f16_to_f32(f16_from_f32(fast_exp(f16_to_f32(h[i]))))
                         - f16_to_f32(f16_from_f32(fast_exp2(f16_to_f32(h[i])))));
    }
}
