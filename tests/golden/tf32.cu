// rounded: 1 launch
//   x: f32[8], read
//   d: f64[8], read
//   h: f16[8], read
//   y: f32[8], written
//   z: f64[8], written
//   g: f16[8], written
// rounded<<<1, 1>>>(x, d, h, y, z, g);

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

static __device__ __forceinline__ float to_tf32(float x)
{
    unsigned int bits;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#else
    bits = __float_as_uint(x);
    if (fabsf(x) <= 3.4028234663852886e38f)
        bits = (bits + 0x1000) & 0xffffe000;
#endif
    return __uint_as_float(bits);
}

static __device__ __forceinline__ double f64_to_tf32(double x)
{
    if (!(fabs(x) < 3.4028236692093846e38))
        return x != x ? x : copysign(__longlong_as_double(0x7ff0000000000000ll), x);
    double step = ldexp(1.0, max(ilogb(x), -126) - 10), near = round(x / step) * step;
    return fabs(near) < 3.4028236692093846e38 ? near : near * 1e308;
}

static __device__ __forceinline__ float to_tf32_rz(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

static __device__ __forceinline__ double f64_to_tf32_rz(double x)
{
    const double most = 3.4011621342146535e38;
    if (!(fabs(x) <= most))
        return x != x || x * 0 != 0 ? x : copysign(most, x);
    double step = ldexp(1.0, max(ilogb(x), -126) - 10);
    return trunc(x / step) * step;
}

extern "C" __global__ void __launch_bounds__(1)
rounded(const float *__restrict__ x, const double *__restrict__ d,
        const unsigned short *__restrict__ h, float *__restrict__ y, double *__restrict__ z,
        unsigned short *__restrict__ g)
{
    for (int i = 0; i < 8; ++i) {
        y[i] = to_tf32(x[i]) - to_tf32_rz(x[i]);
        z[i] = f64_to_tf32(d[i]) - f64_to_tf32_rz(d[i]);
        g[i] =
            f16_from_f32(f16_to_f32(f16_from_f32(to_tf32(f16_to_f32(h[i]))))
                         - f16_to_f32(f16_from_f32(to_tf32_rz(f16_to_f32(h[i])))));
    }
}
