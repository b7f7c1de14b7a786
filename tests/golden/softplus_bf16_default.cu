// softplus: 1 launch
//   x: bf16[1003], read
//   a: bf16
//   y: bf16[1003], written
// softplus<<<1, 128>>>(x, y, a);

static __device__ __forceinline__ float bf16_to_f32(unsigned short h)
{
    return __uint_as_float((unsigned int)h << 16);
}

static __device__ __forceinline__ unsigned short bf16_from_f32(float f)
{
    unsigned short h;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
#else
    unsigned int bits = __float_as_uint(f);
    h = f != f ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
    return h;
}

static __device__ __forceinline__ unsigned int broadcast_half(unsigned short a)
{
    return a | (unsigned int)a << 16;
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

static __device__ __forceinline__ unsigned int mul_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int gt_bf16x2(unsigned int a, unsigned int b)
{
    unsigned int h2;
    asm("set.gt.u32.bf16x2 %0, %1, %2;" : "=r"(h2) : "r"(a), "r"(b));
    return h2;
}

static __device__ __forceinline__ unsigned int select_halves(unsigned int mask, unsigned int a,
                                                             unsigned int b)
{
    return (mask & a) | (~mask & b);
}

extern "C" __global__ void __launch_bounds__(128)
softplus(const unsigned short *__restrict__ x, unsigned short *__restrict__ y,
         const unsigned short a)
{
    const int thread = threadIdx.x;
    if (thread < 125) {
        const uint4 x_v = *(const uint4 *)&x[thread * 8];
        uint4 result;
        result.x = select_halves(gt_bf16x2(x_v.x, 0x41a041a0u), x_v.x,
                                 mul_bf16x2(broadcast_half(a),
                                            bf16x2_from_f32(
                                                log1pf(
                                                    bf16_to_f32(
                                                        bf16_from_f32(
                                                            expf(
                                                                bf16_to_f32(
                                                                    (unsigned short)x_v.x))))),
                                                log1pf(
                                                    bf16_to_f32(
                                                        bf16_from_f32(
                                                            expf(
                                                                bf16_to_f32(
                                                                    (unsigned short)(x_v.x
                                                                        >> 16u)))))))));
        result.y = select_halves(gt_bf16x2(x_v.y, 0x41a041a0u), x_v.y,
                                 mul_bf16x2(broadcast_half(a),
                                            bf16x2_from_f32(
                                                log1pf(
                                                    bf16_to_f32(
                                                        bf16_from_f32(
                                                            expf(
                                                                bf16_to_f32(
                                                                    (unsigned short)x_v.y))))),
                                                log1pf(
                                                    bf16_to_f32(
                                                        bf16_from_f32(
                                                            expf(
                                                                bf16_to_f32(
                                                                    (unsigned short)(x_v.y
                                                                        >> 16u)))))))));
        result.z = select_halves(gt_bf16x2(x_v.z, 0x41a041a0u), x_v.z,
                                 mul_bf16x2(broadcast_half(a),
                                            bf16x2_from_f32(
                                                log1pf(
                                                    bf16_to_f32(
                                                        bf16_from_f32(
                                                            expf(
                                                                bf16_to_f32(
                                                                    (unsigned short)x_v.z))))),
                                                log1pf(
                                                    bf16_to_f32(
                                                        bf16_from_f32(
                                                            expf(
                                                                bf16_to_f32(
                                                                    (unsigned short)(x_v.z
                                                                        >> 16u)))))))));
        result.w = select_halves(gt_bf16x2(x_v.w, 0x41a041a0u), x_v.w,
                                 mul_bf16x2(broadcast_half(a),
                                            bf16x2_from_f32(
                                                log1pf(
                                                    bf16_to_f32(
                                                        bf16_from_f32(
                                                            expf(
                                                                bf16_to_f32(
                                                                    (unsigned short)x_v.w))))),
                                                log1pf(
                                                    bf16_to_f32(
                                                        bf16_from_f32(
                                                            expf(
                                                                bf16_to_f32(
                                                                    (unsigned short)(x_v.w
                                                                        >> 16u)))))))));
        *(uint4 *)&y[thread * 8] = result;
    } else {
        #pragma unroll
        for (int lane = 0; lane < 8; ++lane) {
            if (thread * 8 + lane < 1003)
                y[thread * 8 + lane] = bf16_from_f32(bf16_to_f32(x[thread * 8 + lane]) > 20.0f
                                                     ? bf16_to_f32(x[thread * 8 + lane])
                                                     : bf16_to_f32(
                                                         bf16_from_f32(bf16_to_f32(a)
                                                                       * bf16_to_f32(
                        bf16_from_f32(
                            log1pf(
                                bf16_to_f32(
                                    bf16_from_f32(expf(bf16_to_f32(x[thread * 8 + lane]))))))))));
        }
    }
}
