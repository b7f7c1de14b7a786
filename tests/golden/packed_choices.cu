// choices: 6 launches
//   x: f16[1024], read
//   y: f16[1024], read
//   u: bf16[1024], read
//   f: f32[1024], read
//   m: bool[1024], read
//   a: f16
//   k: i32
//   relu: f16[1024], written
//   band: f16[1024], written
//   tests: bf16[1024], written
//   masked: f16[1024], written
//   alike: bf16[1024], written
//   wide: f32[1024], written
// choices<<<1, 128>>>(x, y, relu, a);
// choices_1<<<1, 128>>>(x, y, band, a);
// choices_2<<<1, 128>>>(u, tests);
// choices_3<<<1, 256>>>(x, f, m, masked);
// choices_4<<<1, 128>>>(u, alike, k);
// choices_5<<<1, 256>>>(x, y, f, wide);

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

static __device__ __forceinline__ unsigned int bf16x2_from_f32(float low, float high)
{
    unsigned int h2;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h2) : "f"(high), "f"(low));
#else
    unsigned int l = __float_as_uint(low), h = __float_as_uint(high);
    l = low != low ? 0x7fff0000 : l + 0x7fff + (l >> 16 & 1);
    h = high != high ? 0x7fff0000 : h + 0x7fff + (h >> 16 & 1);
    h2 = l >> 16 | (h & 0xffff0000);
#endif
    return h2;
}

static __device__ __forceinline__ unsigned int add_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int mul_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int mul_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int neg_bf16x2(unsigned int a)
{
    unsigned int h2;
    asm("neg.bf16x2 %0, %1;" : "=r"(h2) : "r"(a));
    return h2;
}

static __device__ __forceinline__ unsigned int gt_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("set.gt.u32.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int ge_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int eq_f16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("set.eq.u32.f16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int ne_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("set.neu.u32.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int mask_halves(bool a, bool b)
{
    return (a ? 0x0000ffffu : 0u) | (b ? 0xffff0000u : 0u);
}

static __device__ __forceinline__ unsigned int select_halves(unsigned int mask, unsigned int a,
                                                             unsigned int b)
{
    return (mask & a) | (~mask & b);
}

extern "C" __global__ void __launch_bounds__(128)
choices(const unsigned short *__restrict__ x, const unsigned short *__restrict__ y,
        unsigned short *__restrict__ relu, const unsigned short a)
{
    const int t = threadIdx.x;
    {
        const uint4 x_v = *(const uint4 *)&x[t * 8];
        const uint4 y_v1 = *(const uint4 *)&y[t * 8];
        uint4 result;
        result.x = select_halves(gt_f16x2(x_v.x, 0x00000000u), x_v.x,
                                 mul_f16x2(y_v1.x, broadcast_half(a)));
        result.y = select_halves(gt_f16x2(x_v.y, 0x00000000u), x_v.y,
                                 mul_f16x2(y_v1.y, broadcast_half(a)));
        result.z = select_halves(gt_f16x2(x_v.z, 0x00000000u), x_v.z,
                                 mul_f16x2(y_v1.z, broadcast_half(a)));
        result.w = select_halves(gt_f16x2(x_v.w, 0x00000000u), x_v.w,
                                 mul_f16x2(y_v1.w, broadcast_half(a)));
        *(uint4 *)&relu[t * 8] = result;
    }
}

extern "C" __global__ void __launch_bounds__(128)
choices_1(const unsigned short *__restrict__ x, const unsigned short *__restrict__ y,
          unsigned short *__restrict__ band, const unsigned short a)
{
    const int t = threadIdx.x;
    {
        const uint4 x_v = *(const uint4 *)&x[t * 8];
        const uint4 y_v1 = *(const uint4 *)&y[t * 8];
        uint4 result;
        result.x =
            select_halves(
                ((ge_f16x2(x_v.x, y_v1.x) & ~gt_f16x2(0x44004400u, x_v.x))
                 | eq_f16x2(x_v.x, broadcast_half(a))),
                add_f16x2(x_v.x, 0x3c003c00u), 0x00000000u);
        result.y =
            select_halves(
                ((ge_f16x2(x_v.y, y_v1.y) & ~gt_f16x2(0x44004400u, x_v.y))
                 | eq_f16x2(x_v.y, broadcast_half(a))),
                add_f16x2(x_v.y, 0x3c003c00u), 0x00000000u);
        result.z =
            select_halves(
                ((ge_f16x2(x_v.z, y_v1.z) & ~gt_f16x2(0x44004400u, x_v.z))
                 | eq_f16x2(x_v.z, broadcast_half(a))),
                add_f16x2(x_v.z, 0x3c003c00u), 0x00000000u);
        result.w =
            select_halves(
                ((ge_f16x2(x_v.w, y_v1.w) & ~gt_f16x2(0x44004400u, x_v.w))
                 | eq_f16x2(x_v.w, broadcast_half(a))),
                add_f16x2(x_v.w, 0x3c003c00u), 0x00000000u);
        *(uint4 *)&band[t * 8] = result;
    }
}

extern "C" __global__ void __launch_bounds__(128)
choices_2(const unsigned short *__restrict__ u, unsigned short *__restrict__ tests)
{
    const int t = threadIdx.x;
    {
        const uint4 u_v = *(const uint4 *)&u[t * 8];
        uint4 result;
        result.x = select_halves(ne_bf16x2(u_v.x, u_v.x), 0x00000000u,
                                 select_halves(ne_bf16x2(u_v.x, 0x3f803f80u), neg_bf16x2(u_v.x),
                                               bf16x2_from_f32(
                                                   expf(bf16_to_f32((unsigned short)u_v.x)),
                                                   expf(
                                                       bf16_to_f32(
                                                           (unsigned short)(u_v.x >> 16u))))));
        result.y = select_halves(ne_bf16x2(u_v.y, u_v.y), 0x00000000u,
                                 select_halves(ne_bf16x2(u_v.y, 0x3f803f80u), neg_bf16x2(u_v.y),
                                               bf16x2_from_f32(
                                                   expf(bf16_to_f32((unsigned short)u_v.y)),
                                                   expf(
                                                       bf16_to_f32(
                                                           (unsigned short)(u_v.y >> 16u))))));
        result.z = select_halves(ne_bf16x2(u_v.z, u_v.z), 0x00000000u,
                                 select_halves(ne_bf16x2(u_v.z, 0x3f803f80u), neg_bf16x2(u_v.z),
                                               bf16x2_from_f32(
                                                   expf(bf16_to_f32((unsigned short)u_v.z)),
                                                   expf(
                                                       bf16_to_f32(
                                                           (unsigned short)(u_v.z >> 16u))))));
        result.w = select_halves(ne_bf16x2(u_v.w, u_v.w), 0x00000000u,
                                 select_halves(ne_bf16x2(u_v.w, 0x3f803f80u), neg_bf16x2(u_v.w),
                                               bf16x2_from_f32(
                                                   expf(bf16_to_f32((unsigned short)u_v.w)),
                                                   expf(
                                                       bf16_to_f32(
                                                           (unsigned short)(u_v.w >> 16u))))));
        *(uint4 *)&tests[t * 8] = result;
    }
}

extern "C" __global__ void __launch_bounds__(256)
choices_3(const unsigned short *__restrict__ x, const float *__restrict__ f,
          const bool *__restrict__ m, unsigned short *__restrict__ masked)
{
    const int t = threadIdx.x;
    {
        const unsigned int m_v = *(const unsigned int *)&m[t * 4];
        const uint2 x_v1 = *(const uint2 *)&x[t * 4];
        const float4 f_v2 = *(const float4 *)&f[t * 4];
        uint2 result;
        result.x =
            select_halves(mask_halves((unsigned char)m_v != 0, (unsigned char)(m_v >> 8u) != 0),
                          x_v1.x, f16x2_from_f32(f_v2.x, f_v2.y));
        result.y =
            select_halves(mask_halves((unsigned char)(m_v >> 16u) != 0,
                                      (unsigned char)(m_v >> 24u) != 0),
                          x_v1.y, f16x2_from_f32(f_v2.z, f_v2.w));
        *(uint2 *)&masked[t * 4] = result;
    }
}

extern "C" __global__ void __launch_bounds__(128)
choices_4(const unsigned short *__restrict__ u, unsigned short *__restrict__ alike, const int k)
{
    const int t = threadIdx.x;
    if (k > 3) {
        const uint4 u_v = *(const uint4 *)&u[t * 8];
        uint4 result;
        result.x = mul_bf16x2(u_v.x, 0x40004000u);
        result.y = mul_bf16x2(u_v.y, 0x40004000u);
        result.z = mul_bf16x2(u_v.z, 0x40004000u);
        result.w = mul_bf16x2(u_v.w, 0x40004000u);
        *(uint4 *)&alike[t * 8] = result;
    } else {
        *(uint4 *)&alike[t * 8] = *(const uint4 *)&u[t * 8];
    }
}

extern "C" __global__ void __launch_bounds__(256)
choices_5(const unsigned short *__restrict__ x, const unsigned short *__restrict__ y,
          const float *__restrict__ f, float *__restrict__ wide)
{
    const int t = threadIdx.x;
    {
        const uint2 x_v = *(const uint2 *)&x[t * 4];
        const uint2 y_v1 = *(const uint2 *)&y[t * 4];
        const float4 f_v2 = *(const float4 *)&f[t * 4];
        const uint2 packed = make_uint2(select_halves(ge_f16x2(y_v1.x, x_v.x), x_v.x, y_v1.x),
                                        select_halves(ge_f16x2(y_v1.y, x_v.y), x_v.y, y_v1.y));
        float4 result;
        result.x = f16_to_f32((unsigned short)packed.x) * f_v2.x;
        result.y = f16_to_f32((unsigned short)(packed.x >> 16u)) * f_v2.y;
        result.z = f16_to_f32((unsigned short)packed.y) * f_v2.z;
        result.w = f16_to_f32((unsigned short)(packed.y >> 16u)) * f_v2.w;
        *(float4 *)&wide[t * 4] = result;
    }
}
