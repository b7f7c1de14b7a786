// halves: 9 launches
//   x: f16[1024], read
//   y: f16[1024], read
//   u: bf16[1024], read
//   v: bf16[1024], read
//   f: f32[1024], read
//   q: i8[1024], read
//   c: f8e4m3[1024], read
//   a: f16
//   k: bf16[1], read
//   direct: f16[1024], written
//   limits: bf16[1024], written
//   mixed: f16[1024], written
//   wide: f32[1024], written
//   bytes: i8[1024], written
//   narrow: f8e4m3[1024], written
//   above: bool[1024], written
//   whole: i16[1024], written
//   edges: f16[1024], written
// halves<<<1, 128>>>(x, y, direct, a);
// halves_1<<<1, 128>>>(u, v, k, limits);
// halves_2<<<1, 256>>>(x, y, f, mixed);
// halves_3<<<1, 256>>>(x, y, u, v, f, wide);
// halves_4<<<1, 128>>>(q, bytes);
// halves_5<<<1, 128>>>(x, c, narrow);
// halves_6<<<1, 512>>>(x, y, above);
// halves_7<<<1, 128>>>(x, whole);
// halves_8<<<1, 128>>>(x, edges);

static __device__ __forceinline__ float f16_to_f32(unsigned short h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ float bf16_to_f32(unsigned short h)
{
    return __uint_as_float((unsigned int)h << 16);
}

static __device__ __forceinline__ float f8e4m3_to_f32(unsigned char b)
{
    unsigned int h2;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h2) : "h"((unsigned short)b));
    return f16_to_f32((unsigned short)h2);
}

static __device__ __forceinline__ unsigned char f8e4m3_from_f32(float f)
{
    unsigned short b2;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(b2) : "f"(0.0f), "f"(f));
    return (unsigned char)b2;
}

static __device__ __forceinline__ unsigned int pack_halves(unsigned short a, unsigned short b)
{
    return a | (unsigned int)b << 16;
}

static __device__ __forceinline__ unsigned int broadcast_half(unsigned short a)
{
    return a | (unsigned int)a << 16;
}

static __device__ __forceinline__ unsigned int f16x2_from_f32(float low, float high)
{
    unsigned int h2;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h2) : "f"(high), "f"(low));
#else
    unsigned short l, h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(l) : "f"(low));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(high));
    h2 = l | (unsigned int)h << 16;
#endif
    return h2;
}

static __device__ __forceinline__ unsigned int add_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int add_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int sub_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int mul_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int min_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("min.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int max_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("max.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int max_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int min_or_nan_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int min_or_nan_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int max_or_nan_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int neg_f16x2(unsigned int a)
{
    unsigned int h2;
    asm("neg.f16x2 %0, %1;" : "=r"(h2) : "r"(a));
    return h2;
}

static __device__ __forceinline__ unsigned int abs_f16x2(unsigned int a)
{
    unsigned int h2;
    asm("abs.f16x2 %0, %1;" : "=r"(h2) : "r"(a));
    return h2;
}

static __device__ __forceinline__ unsigned short pack_two_bytes(unsigned char a, unsigned char b)
{
    return (unsigned short)(a | b << 8);
}

static __device__ __forceinline__ unsigned int pack_bytes(unsigned char a, unsigned char b,
                                                          unsigned char c, unsigned char d)
{
    return a | (unsigned int)b << 8 | (unsigned int)c << 16 | (unsigned int)d << 24;
}

extern "C" __global__ void __launch_bounds__(128)
halves(const unsigned short *__restrict__ x, const unsigned short *__restrict__ y,
       unsigned short *__restrict__ direct, const unsigned short a)
{
    const int t = threadIdx.x;
    {
        const uint4 x_v = *(const uint4 *)&x[t * 8];
        const uint4 y_v1 = *(const uint4 *)&y[t * 8];
        uint4 result;
        result.x =
            add_f16x2(sub_f16x2(mul_f16x2(x_v.x, broadcast_half(a)),
                                mul_f16x2(abs_f16x2(y_v1.x), 0x38003800u)),
                      neg_f16x2(x_v.x));
        result.y =
            add_f16x2(sub_f16x2(mul_f16x2(x_v.y, broadcast_half(a)),
                                mul_f16x2(abs_f16x2(y_v1.y), 0x38003800u)),
                      neg_f16x2(x_v.y));
        result.z =
            add_f16x2(sub_f16x2(mul_f16x2(x_v.z, broadcast_half(a)),
                                mul_f16x2(abs_f16x2(y_v1.z), 0x38003800u)),
                      neg_f16x2(x_v.z));
        result.w =
            add_f16x2(sub_f16x2(mul_f16x2(x_v.w, broadcast_half(a)),
                                mul_f16x2(abs_f16x2(y_v1.w), 0x38003800u)),
                      neg_f16x2(x_v.w));
        *(uint4 *)&direct[t * 8] = result;
    }
}

extern "C" __global__ void __launch_bounds__(128)
halves_1(const unsigned short *__restrict__ u, const unsigned short *__restrict__ v,
         const unsigned short *__restrict__ k, unsigned short *__restrict__ limits)
{
    const int t = threadIdx.x;
    {
        const uint4 u_v = *(const uint4 *)&u[t * 8];
        const uint4 v_v1 = *(const uint4 *)&v[t * 8];
        uint4 result;
        result.x = max_or_nan_bf16x2(min_bf16x2(u_v.x, v_v1.x),
                                     min_or_nan_bf16x2(max_bf16x2(u_v.x, 0xbfa0bfa0u),
                                                       broadcast_half(k[0])));
        result.y = max_or_nan_bf16x2(min_bf16x2(u_v.y, v_v1.y),
                                     min_or_nan_bf16x2(max_bf16x2(u_v.y, 0xbfa0bfa0u),
                                                       broadcast_half(k[0])));
        result.z = max_or_nan_bf16x2(min_bf16x2(u_v.z, v_v1.z),
                                     min_or_nan_bf16x2(max_bf16x2(u_v.z, 0xbfa0bfa0u),
                                                       broadcast_half(k[0])));
        result.w = max_or_nan_bf16x2(min_bf16x2(u_v.w, v_v1.w),
                                     min_or_nan_bf16x2(max_bf16x2(u_v.w, 0xbfa0bfa0u),
                                                       broadcast_half(k[0])));
        *(uint4 *)&limits[t * 8] = result;
    }
}

extern "C" __global__ void __launch_bounds__(256)
halves_2(const unsigned short *__restrict__ x, const unsigned short *__restrict__ y,
         const float *__restrict__ f, unsigned short *__restrict__ mixed)
{
    const int t = threadIdx.x;
    {
        const uint2 x_v = *(const uint2 *)&x[t * 4];
        const uint2 y_v1 = *(const uint2 *)&y[t * 4];
        const float4 f_v2 = *(const float4 *)&f[t * 4];
        const uint2 packed = make_uint2(add_f16x2(x_v.x, y_v1.x), add_f16x2(x_v.y, y_v1.y));
        const uint2 packed_2 = make_uint2(add_f16x2(0x3c003c00u, abs_f16x2(y_v1.x)),
                                          add_f16x2(0x3c003c00u, abs_f16x2(y_v1.y)));
        uint2 result;
        result.x =
            add_f16x2(
                f16x2_from_f32(f16_to_f32((unsigned short)packed.x)
                                   / f16_to_f32((unsigned short)packed_2.x),
                               f16_to_f32((unsigned short)(packed.x >> 16u))
                                   / f16_to_f32((unsigned short)(packed_2.x >> 16u))),
                f16x2_from_f32(f_v2.x * 0.25f, f_v2.y * 0.25f));
        result.y =
            add_f16x2(
                f16x2_from_f32(f16_to_f32((unsigned short)packed.y)
                                   / f16_to_f32((unsigned short)packed_2.y),
                               f16_to_f32((unsigned short)(packed.y >> 16u))
                                   / f16_to_f32((unsigned short)(packed_2.y >> 16u))),
                f16x2_from_f32(f_v2.z * 0.25f, f_v2.w * 0.25f));
        *(uint2 *)&mixed[t * 4] = result;
    }
}

extern "C" __global__ void __launch_bounds__(256)
halves_3(const unsigned short *__restrict__ x, const unsigned short *__restrict__ y,
         const unsigned short *__restrict__ u, const unsigned short *__restrict__ v,
         const float *__restrict__ f, float *__restrict__ wide)
{
    const int t = threadIdx.x;
    {
        const uint2 x_v = *(const uint2 *)&x[t * 4];
        const uint2 y_v1 = *(const uint2 *)&y[t * 4];
        const uint2 u_v2 = *(const uint2 *)&u[t * 4];
        const uint2 v_v3 = *(const uint2 *)&v[t * 4];
        const float4 f_v4 = *(const float4 *)&f[t * 4];
        const uint2 packed = make_uint2(mul_f16x2(x_v.x, y_v1.x), mul_f16x2(x_v.y, y_v1.y));
        const uint2 packed_2 = make_uint2(add_bf16x2(u_v2.x, v_v3.x), add_bf16x2(u_v2.y, v_v3.y));
        float4 result;
        result.x =
            f16_to_f32((unsigned short)packed.x) + bf16_to_f32((unsigned short)packed_2.x) * f_v4.x;
        result.y = f16_to_f32((unsigned short)(packed.x >> 16u))
            + bf16_to_f32((unsigned short)(packed_2.x >> 16u)) * f_v4.y;
        result.z =
            f16_to_f32((unsigned short)packed.y) + bf16_to_f32((unsigned short)packed_2.y) * f_v4.z;
        result.w = f16_to_f32((unsigned short)(packed.y >> 16u))
            + bf16_to_f32((unsigned short)(packed_2.y >> 16u)) * f_v4.w;
        *(float4 *)&wide[t * 4] = result;
    }
}

extern "C" __global__ void __launch_bounds__(128)
halves_4(const signed char *__restrict__ q, signed char *__restrict__ bytes)
{
    const int t = threadIdx.x;
    {
        const uint2 q_v = *(const uint2 *)&q[t * 8];
        uint2 result;
        result.x =
            pack_bytes((signed char)((int)((unsigned int)((int)((signed char)q_v.x) / 2) + 3)),
                       (signed char)(
                           (int)((unsigned int)((int)((signed char)(q_v.x >> 8u)) / 2) + 3)),
                       (signed char)(
                           (int)((unsigned int)((int)((signed char)(q_v.x >> 16u)) / 2) + 3)),
                       (signed char)(
                           (int)((unsigned int)((int)((signed char)(q_v.x >> 24u)) / 2) + 3)));
        result.y =
            pack_bytes((signed char)((int)((unsigned int)((int)((signed char)q_v.y) / 2) + 3)),
                       (signed char)(
                           (int)((unsigned int)((int)((signed char)(q_v.y >> 8u)) / 2) + 3)),
                       (signed char)(
                           (int)((unsigned int)((int)((signed char)(q_v.y >> 16u)) / 2) + 3)),
                       (signed char)(
                           (int)((unsigned int)((int)((signed char)(q_v.y >> 24u)) / 2) + 3)));
        *(uint2 *)&bytes[t * 8] = result;
    }
}

extern "C" __global__ void __launch_bounds__(128)
halves_5(const unsigned short *__restrict__ x, const unsigned char *__restrict__ c,
         unsigned char *__restrict__ narrow)
{
    const int t = threadIdx.x;
    {
        const uint2 c_v = *(const uint2 *)&c[t * 8];
        const uint4 x_v1 = *(const uint4 *)&x[t * 8];
        uint2 result;
        result.x =
            pack_bytes(
                f8e4m3_from_f32(f8e4m3_to_f32((unsigned char)c_v.x) * 2.0f
                                + f16_to_f32((unsigned short)x_v1.x)),
                f8e4m3_from_f32(f8e4m3_to_f32((unsigned char)(c_v.x >> 8u)) * 2.0f
                                + f16_to_f32((unsigned short)(x_v1.x >> 16u))),
                f8e4m3_from_f32(f8e4m3_to_f32((unsigned char)(c_v.x >> 16u)) * 2.0f
                                + f16_to_f32((unsigned short)x_v1.y)),
                f8e4m3_from_f32(f8e4m3_to_f32((unsigned char)(c_v.x >> 24u)) * 2.0f
                                + f16_to_f32((unsigned short)(x_v1.y >> 16u))));
        result.y =
            pack_bytes(
                f8e4m3_from_f32(f8e4m3_to_f32((unsigned char)c_v.y) * 2.0f
                                + f16_to_f32((unsigned short)x_v1.z)),
                f8e4m3_from_f32(f8e4m3_to_f32((unsigned char)(c_v.y >> 8u)) * 2.0f
                                + f16_to_f32((unsigned short)(x_v1.z >> 16u))),
                f8e4m3_from_f32(f8e4m3_to_f32((unsigned char)(c_v.y >> 16u)) * 2.0f
                                + f16_to_f32((unsigned short)x_v1.w)),
                f8e4m3_from_f32(f8e4m3_to_f32((unsigned char)(c_v.y >> 24u)) * 2.0f
                                + f16_to_f32((unsigned short)(x_v1.w >> 16u))));
        *(uint2 *)&narrow[t * 8] = result;
    }
}

extern "C" __global__ void __launch_bounds__(512)
halves_6(const unsigned short *__restrict__ x, const unsigned short *__restrict__ y,
         bool *__restrict__ above)
{
    const int t = threadIdx.x;
    {
        const unsigned int x_v = *(const unsigned int *)&x[t * 2];
        const unsigned int y_v1 = *(const unsigned int *)&y[t * 2];
        unsigned short result;
        result = pack_two_bytes(f16_to_f32((unsigned short)x_v) > f16_to_f32((unsigned short)y_v1),
                                f16_to_f32((unsigned short)(x_v >> 16u))
                                    > f16_to_f32((unsigned short)(y_v1 >> 16u)));
        *(unsigned short *)&above[t * 2] = result;
    }
}

extern "C" __global__ void __launch_bounds__(128)
halves_7(const unsigned short *__restrict__ x, short *__restrict__ whole)
{
    const int t = threadIdx.x;
    {
        const uint4 x_v = *(const uint4 *)&x[t * 8];
        uint4 result;
        result.x =
            pack_halves(
                (short)((int)((short)__float2int_rz(f16_to_f32((unsigned short)x_v.x))) - 3),
                (short)((int)((short)__float2int_rz(f16_to_f32((unsigned short)(x_v.x >> 16u))))
                        - 3));
        result.y =
            pack_halves(
                (short)((int)((short)__float2int_rz(f16_to_f32((unsigned short)x_v.y))) - 3),
                (short)((int)((short)__float2int_rz(f16_to_f32((unsigned short)(x_v.y >> 16u))))
                        - 3));
        result.z =
            pack_halves(
                (short)((int)((short)__float2int_rz(f16_to_f32((unsigned short)x_v.z))) - 3),
                (short)((int)((short)__float2int_rz(f16_to_f32((unsigned short)(x_v.z >> 16u))))
                        - 3));
        result.w =
            pack_halves(
                (short)((int)((short)__float2int_rz(f16_to_f32((unsigned short)x_v.w))) - 3),
                (short)((int)((short)__float2int_rz(f16_to_f32((unsigned short)(x_v.w >> 16u))))
                        - 3));
        *(uint4 *)&whole[t * 8] = result;
    }
}

extern "C" __global__ void __launch_bounds__(128)
halves_8(const unsigned short *__restrict__ x, unsigned short *__restrict__ edges)
{
    const int t = threadIdx.x;
    {
        const uint4 x_v = *(const uint4 *)&x[t * 8];
        uint4 result;
        result.x =
            min_or_nan_f16x2(mul_f16x2(max_f16x2(add_f16x2(x_v.x, 0x00020002u), 0xfc00fc00u),
                                       0x80008000u),
                             0x7fff7fffu);
        result.y =
            min_or_nan_f16x2(mul_f16x2(max_f16x2(add_f16x2(x_v.y, 0x00020002u), 0xfc00fc00u),
                                       0x80008000u),
                             0x7fff7fffu);
        result.z =
            min_or_nan_f16x2(mul_f16x2(max_f16x2(add_f16x2(x_v.z, 0x00020002u), 0xfc00fc00u),
                                       0x80008000u),
                             0x7fff7fffu);
        result.w =
            min_or_nan_f16x2(mul_f16x2(max_f16x2(add_f16x2(x_v.w, 0x00020002u), 0xfc00fc00u),
                                       0x80008000u),
                             0x7fff7fffu);
        *(uint4 *)&edges[t * 8] = result;
    }
}
