// bits: 10 launches
//   x: f32[33], read
//   d: f64[33], read
//   h: f16[33], read
//   g: bf16[33], read
//   e: f8e5m2[33], read
//   u: u32[33], read
//   w: u64[33], read
//   a: i32[33], read
//   s: i16[33], read
//   y: f32[33], written
//   m: f64[33], written
//   n: f16[33], written
//   count: i32[33], written
//   test: i32[33], written
//   k: u64[33], written
//   dot: i32[33], written
//   udot: u32[33], written
//   v: u16[33], written
//   z: bf16[33], written
//   b: u8[33], written
//   low: f32[], written
// bits<<<1, 256>>>(x, y);
// bits_1<<<1, 256>>>(d, w, a, m);
// bits_2<<<1, 256>>>(h, s, n);
// bits_3<<<1, 256>>>(u, w, a, count);
// bits_4<<<1, 256>>>(x, d, h, g, e, test);
// bits_5<<<1, 256>>>(d, w, k);
// bits_6<<<1, 256>>>(x, u, a, dot, udot);
// bits_7<<<1, 256>>>(h, e, s, v, z, b);
// bits_8<<<1, 1>>>(low);
// bits_9<<<1, 1>>>(x, low);

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

static __device__ __forceinline__ float f8e5m2_to_f32(unsigned char b)
{
    return f16_to_f32((unsigned short)(b << 8));
}

static __device__ __forceinline__ float min_or_nan_f32(float a, float b)
{
    return a != a ? a : b != b ? b : fminf(a, b);
}

static __device__ __forceinline__ float max_or_nan_f32(float a, float b)
{
    return a != a ? a : b != b ? b : fmaxf(a, b);
}

static __device__ __forceinline__ double min_or_nan_f64(double a, double b)
{
    return a != a ? a : b != b ? b : fmin(a, b);
}

static __device__ __forceinline__ double max_or_nan_f64(double a, double b)
{
    return a != a ? a : b != b ? b : fmax(a, b);
}

extern "C" __global__ void __launch_bounds__(256)
bits(const float *__restrict__ x, float *__restrict__ y)
{
    const int thread = threadIdx.x;
    if (thread < 33)
        y[thread] = __uint_as_float(__float_as_uint(x[thread]) ^ 0x80000000u);
}

extern "C" __global__ void __launch_bounds__(256)
bits_1(const double *__restrict__ d, const unsigned long long *__restrict__ w, const int *__restrict__ a, double *__restrict__ m)
{
    const int thread = threadIdx.x;
    if (thread < 33)
        m[thread] = min_or_nan_f64(d[thread], max_or_nan_f64(__longlong_as_double(w[thread]), __longlong_as_double((long long)a[thread])));
}

extern "C" __global__ void __launch_bounds__(256)
bits_2(const unsigned short *__restrict__ h, const short *__restrict__ s, unsigned short *__restrict__ n)
{
    const int thread = threadIdx.x;
    if (thread < 33)
        n[thread] = f16_from_f32(max_or_nan_f32(f16_to_f32(h[thread]), min_or_nan_f32(f16_to_f32((unsigned short)s[thread]), 0.5f)));
}

extern "C" __global__ void __launch_bounds__(256)
bits_3(const unsigned int *__restrict__ u, const unsigned long long *__restrict__ w, const int *__restrict__ a, int *__restrict__ count)
{
    const int thread = threadIdx.x;
    if (thread < 33)
        count[thread] = (int)(__popc(u[thread]) + (unsigned int)__clzll(w[thread]) * __clz(a[thread]) - __popcll(w[thread]) + 100u * __popcll((long long)a[thread]) + __clz(u[thread] >> 7u));
}

extern "C" __global__ void __launch_bounds__(256)
bits_4(const float *__restrict__ x, const double *__restrict__ d, const unsigned short *__restrict__ h, const unsigned short *__restrict__ g, const unsigned char *__restrict__ e, int *__restrict__ test)
{
    const int thread = threadIdx.x;
    if (thread < 33)
        test[thread] = (isnan(x[thread]) ? 1 : 0) + (isnan(f16_to_f32(f16_from_f32(f16_to_f32(h[thread]) - f16_to_f32(g[thread])))) ? 4 : 0) + (isinf(x[thread]) ? 2 : 0) + (isinf(d[thread]) || isnan(f8e5m2_to_f32(e[thread])) ? 8 : 0);
}

extern "C" __global__ void __launch_bounds__(256)
bits_5(const double *__restrict__ d, const unsigned long long *__restrict__ w, unsigned long long *__restrict__ k)
{
    const int thread = threadIdx.x;
    if (thread < 33)
        k[thread] = (unsigned long long)__double_as_longlong(d[thread]) + (unsigned long long)((long long)w[thread]);
}

extern "C" __global__ void __launch_bounds__(256)
bits_6(const float *__restrict__ x, const unsigned int *__restrict__ u, const int *__restrict__ a, int *__restrict__ dot, unsigned int *__restrict__ udot)
{
    const int thread = threadIdx.x;
    if (thread < 33) {
        dot[thread] = __dp4a(a[thread], (int)u[thread], -3);
        udot[thread] = __dp4a(u[thread], (unsigned int)a[thread], 7u) + __float_as_uint(x[thread]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
bits_7(const unsigned short *__restrict__ h, const unsigned char *__restrict__ e, const short *__restrict__ s, unsigned short *__restrict__ v, unsigned short *__restrict__ z, unsigned char *__restrict__ b)
{
    const int thread = threadIdx.x;
    if (thread < 33) {
        v[thread] = h[thread];
        z[thread] = (unsigned short)s[thread];
        b[thread] = e[thread];
    }
}

extern "C" __global__ void __launch_bounds__(1)
bits_8(float *__restrict__ low)
{
    low[0] = __int_as_float(0x7f800000);
}

extern "C" __global__ void __launch_bounds__(1)
bits_9(const float *__restrict__ x, float *__restrict__ low)
{
    float low_acc = low[0];
    for (int i = 0; i < 33; ++i)
        low_acc = min_or_nan_f32(low_acc, x[i]);
    low[0] = low_acc;
}
