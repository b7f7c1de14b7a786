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

static __device__ __forceinline__ unsigned int pack_halves(unsigned short a, unsigned short b)
{
    return a | (unsigned int)b << 16;
}

extern "C" __global__ void __launch_bounds__(256)
bits(const float *__restrict__ x, float *__restrict__ y)
{
    const int thread = threadIdx.x;
    if (thread < 8) {
        const float4 x_v = *(const float4 *)&x[thread * 4];
        float4 result;
        result.x = __uint_as_float(__float_as_uint(x_v.x) ^ 0x80000000u);
        result.y = __uint_as_float(__float_as_uint(x_v.y) ^ 0x80000000u);
        result.z = __uint_as_float(__float_as_uint(x_v.z) ^ 0x80000000u);
        result.w = __uint_as_float(__float_as_uint(x_v.w) ^ 0x80000000u);
        *(float4 *)&y[thread * 4] = result;
    }
    else {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            if (thread * 4 + lane < 33)
                y[thread * 4 + lane] = __uint_as_float(__float_as_uint(x[thread * 4 + lane]) ^ 0x80000000u);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
bits_1(const double *__restrict__ d, const unsigned long long *__restrict__ w, const int *__restrict__ a, double *__restrict__ m)
{
    const int thread = threadIdx.x;
    if (thread < 16) {
        const double2 d_v = *(const double2 *)&d[thread * 2];
        const ulonglong2 w_v1 = *(const ulonglong2 *)&w[thread * 2];
        const int2 a_v2 = *(const int2 *)&a[thread * 2];
        double2 result;
        result.x = min_or_nan_f64(d_v.x, max_or_nan_f64(__longlong_as_double(w_v1.x), __longlong_as_double((long long)a_v2.x)));
        result.y = min_or_nan_f64(d_v.y, max_or_nan_f64(__longlong_as_double(w_v1.y), __longlong_as_double((long long)a_v2.y)));
        *(double2 *)&m[thread * 2] = result;
    }
    else {
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane) {
            if (thread * 2 + lane < 33)
                m[thread * 2 + lane] = min_or_nan_f64(d[thread * 2 + lane], max_or_nan_f64(__longlong_as_double(w[thread * 2 + lane]), __longlong_as_double((long long)a[thread * 2 + lane])));
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
bits_2(const unsigned short *__restrict__ h, const short *__restrict__ s, unsigned short *__restrict__ n)
{
    const int thread = threadIdx.x;
    __align__(16) unsigned short n_local[8];
    __align__(16) unsigned short h_local[8];
    __align__(16) short s_local[8];
    if (thread < 4) {
        *(uint4 *)&h_local[0] = *(const uint4 *)&h[thread * 8];
    }
    else {
        #pragma unroll
        for (int ax0 = 0; ax0 < 8; ++ax0) {
            if (thread * 8 + ax0 < 33)
                h_local[ax0] = h[thread * 8 + ax0];
        }
    }
    if (thread < 4) {
        *(uint4 *)&s_local[0] = *(const uint4 *)&s[thread * 8];
    }
    else {
        #pragma unroll
        for (int ax0_1 = 0; ax0_1 < 8; ++ax0_1) {
            if (thread * 8 + ax0_1 < 33)
                s_local[ax0_1] = s[thread * 8 + ax0_1];
        }
    }
    #pragma unroll
    for (int lane = 0; lane < 8; ++lane) {
        const int i = thread * 8 + lane;
        if (i < 33)
            n_local[lane] = f16_from_f32(max_or_nan_f32(f16_to_f32(h_local[lane]), min_or_nan_f32(f16_to_f32((unsigned short)s_local[lane]), 0.5f)));
    }
    if (thread < 4) {
        *(uint4 *)&n[thread * 8] = make_uint4(pack_halves(n_local[0], n_local[1]), pack_halves(n_local[2], n_local[3]), pack_halves(n_local[4], n_local[5]), pack_halves(n_local[6], n_local[7]));
    }
    else {
        #pragma unroll
        for (int ax0_2 = 0; ax0_2 < 8; ++ax0_2) {
            if (thread * 8 + ax0_2 < 33)
                n[thread * 8 + ax0_2] = n_local[ax0_2];
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
bits_3(const unsigned int *__restrict__ u, const unsigned long long *__restrict__ w, const int *__restrict__ a, int *__restrict__ count)
{
    const int thread = threadIdx.x;
    if (thread < 16) {
        const uint2 u_v = *(const uint2 *)&u[thread * 2];
        const ulonglong2 w_v1 = *(const ulonglong2 *)&w[thread * 2];
        const int2 a_v2 = *(const int2 *)&a[thread * 2];
        int2 result;
        result.x = (int)(__popc(u_v.x) + (unsigned int)__clzll(w_v1.x) * __clz(a_v2.x) - __popcll(w_v1.x) + 100u * __popcll((long long)a_v2.x) + __clz(u_v.x >> 7u));
        result.y = (int)(__popc(u_v.y) + (unsigned int)__clzll(w_v1.y) * __clz(a_v2.y) - __popcll(w_v1.y) + 100u * __popcll((long long)a_v2.y) + __clz(u_v.y >> 7u));
        *(int2 *)&count[thread * 2] = result;
    }
    else {
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane) {
            if (thread * 2 + lane < 33)
                count[thread * 2 + lane] = (int)(__popc(u[thread * 2 + lane]) + (unsigned int)__clzll(w[thread * 2 + lane]) * __clz(a[thread * 2 + lane]) - __popcll(w[thread * 2 + lane]) + 100u * __popcll((long long)a[thread * 2 + lane]) + __clz(u[thread * 2 + lane] >> 7u));
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
bits_4(const float *__restrict__ x, const double *__restrict__ d, const unsigned short *__restrict__ h, const unsigned short *__restrict__ g, const unsigned char *__restrict__ e, int *__restrict__ test)
{
    const int thread = threadIdx.x;
    __align__(16) int test_local[2];
    __align__(16) float x_local[2];
    __align__(16) unsigned short h_local_1[2];
    __align__(16) unsigned short g_local[2];
    __align__(16) double d_local[2];
    __align__(16) unsigned char e_local[2];
    if (thread < 16) {
        *(float2 *)&x_local[0] = *(const float2 *)&x[thread * 2];
    }
    else {
        #pragma unroll
        for (int ax0 = 0; ax0 < 2; ++ax0) {
            if (thread * 2 + ax0 < 33)
                x_local[ax0] = x[thread * 2 + ax0];
        }
    }
    if (thread < 16) {
        *(unsigned int *)&h_local_1[0] = *(const unsigned int *)&h[thread * 2];
    }
    else {
        #pragma unroll
        for (int ax0_1 = 0; ax0_1 < 2; ++ax0_1) {
            if (thread * 2 + ax0_1 < 33)
                h_local_1[ax0_1] = h[thread * 2 + ax0_1];
        }
    }
    if (thread < 16) {
        *(unsigned int *)&g_local[0] = *(const unsigned int *)&g[thread * 2];
    }
    else {
        #pragma unroll
        for (int ax0_2 = 0; ax0_2 < 2; ++ax0_2) {
            if (thread * 2 + ax0_2 < 33)
                g_local[ax0_2] = g[thread * 2 + ax0_2];
        }
    }
    if (thread < 16) {
        *(double2 *)&d_local[0] = *(const double2 *)&d[thread * 2];
    }
    else {
        #pragma unroll
        for (int ax0_3 = 0; ax0_3 < 2; ++ax0_3) {
            if (thread * 2 + ax0_3 < 33)
                d_local[ax0_3] = d[thread * 2 + ax0_3];
        }
    }
    if (thread < 16) {
        *(unsigned short *)&e_local[0] = *(const unsigned short *)&e[thread * 2];
    }
    else {
        #pragma unroll
        for (int ax0_4 = 0; ax0_4 < 2; ++ax0_4) {
            if (thread * 2 + ax0_4 < 33)
                e_local[ax0_4] = e[thread * 2 + ax0_4];
        }
    }
    #pragma unroll
    for (int lane = 0; lane < 2; ++lane) {
        const int i = thread * 2 + lane;
        if (i < 33)
            test_local[lane] = (isnan(x_local[lane]) ? 1 : 0) + (isnan(f16_to_f32(f16_from_f32(f16_to_f32(h_local_1[lane]) - f16_to_f32(g_local[lane])))) ? 4 : 0) + (isinf(x_local[lane]) ? 2 : 0) + (isinf(d_local[lane]) || isnan(f8e5m2_to_f32(e_local[lane])) ? 8 : 0);
    }
    if (thread < 16) {
        *(int2 *)&test[thread * 2] = make_int2(test_local[0], test_local[1]);
    }
    else {
        #pragma unroll
        for (int ax0_5 = 0; ax0_5 < 2; ++ax0_5) {
            if (thread * 2 + ax0_5 < 33)
                test[thread * 2 + ax0_5] = test_local[ax0_5];
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
bits_5(const double *__restrict__ d, const unsigned long long *__restrict__ w, unsigned long long *__restrict__ k)
{
    const int thread = threadIdx.x;
    if (thread < 16) {
        const double2 d_v = *(const double2 *)&d[thread * 2];
        const ulonglong2 w_v1 = *(const ulonglong2 *)&w[thread * 2];
        ulonglong2 result;
        result.x = (unsigned long long)__double_as_longlong(d_v.x) + (unsigned long long)((long long)w_v1.x);
        result.y = (unsigned long long)__double_as_longlong(d_v.y) + (unsigned long long)((long long)w_v1.y);
        *(ulonglong2 *)&k[thread * 2] = result;
    }
    else {
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane) {
            if (thread * 2 + lane < 33)
                k[thread * 2 + lane] = (unsigned long long)__double_as_longlong(d[thread * 2 + lane]) + (unsigned long long)((long long)w[thread * 2 + lane]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
bits_6(const float *__restrict__ x, const unsigned int *__restrict__ u, const int *__restrict__ a, int *__restrict__ dot, unsigned int *__restrict__ udot)
{
    const int thread = threadIdx.x;
    if (thread < 8) {
        const int4 a_v = *(const int4 *)&a[thread * 4];
        const uint4 u_v1 = *(const uint4 *)&u[thread * 4];
        int4 result;
        result.x = __dp4a(a_v.x, (int)u_v1.x, -3);
        result.y = __dp4a(a_v.y, (int)u_v1.y, -3);
        result.z = __dp4a(a_v.z, (int)u_v1.z, -3);
        result.w = __dp4a(a_v.w, (int)u_v1.w, -3);
        *(int4 *)&dot[thread * 4] = result;
    }
    else {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            if (thread * 4 + lane < 33)
                dot[thread * 4 + lane] = __dp4a(a[thread * 4 + lane], (int)u[thread * 4 + lane], -3);
        }
    }
    if (thread < 8) {
        const uint4 u_v = *(const uint4 *)&u[thread * 4];
        const int4 a_v1 = *(const int4 *)&a[thread * 4];
        const float4 x_v2 = *(const float4 *)&x[thread * 4];
        uint4 result;
        result.x = __dp4a(u_v.x, (unsigned int)a_v1.x, 7u) + __float_as_uint(x_v2.x);
        result.y = __dp4a(u_v.y, (unsigned int)a_v1.y, 7u) + __float_as_uint(x_v2.y);
        result.z = __dp4a(u_v.z, (unsigned int)a_v1.z, 7u) + __float_as_uint(x_v2.z);
        result.w = __dp4a(u_v.w, (unsigned int)a_v1.w, 7u) + __float_as_uint(x_v2.w);
        *(uint4 *)&udot[thread * 4] = result;
    }
    else {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            if (thread * 4 + lane < 33)
                udot[thread * 4 + lane] = __dp4a(u[thread * 4 + lane], (unsigned int)a[thread * 4 + lane], 7u) + __float_as_uint(x[thread * 4 + lane]);
        }
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
