// product: 2 launches
//   x: bf16[20, 64], read
//   q: u8[96, 32], read
//   s: bf16[96, 4], read
//   y: f32[20, 96], written
//   y_factor: bf16[96, 64], temporary, allocated by the caller
// product<<<96, 64>>>(q, s, y_factor);
// product_1<<<20, 96>>>(x, y, y_factor);

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

extern "C" __global__ void __launch_bounds__(64)
product(const unsigned char *__restrict__ q, const unsigned short *__restrict__ s,
        unsigned short *__restrict__ y_factor)
{
    const int i = blockIdx.x;
    const int j = threadIdx.x;
    y_factor[i * 64 + j] =
        bf16_from_f32(
            (__uint_as_float(
                 (unsigned int)((j % 2 == 0
                                 ? ((int)q[i * 32 + j / 2] & 15) : ((int)q[i * 32 + j / 2] >> 4))
                                - 8) + 8u | 1258291200u) - 8388616.0f)
            * bf16_to_f32(s[i * 4 + j / 16]));
}

extern "C" __global__ void __launch_bounds__(96)
product_1(const unsigned short *__restrict__ x, float *__restrict__ y,
          const unsigned short *__restrict__ y_factor)
{
    const int i = blockIdx.x;
    const int j = threadIdx.x;
    float y_acc = 0.0f;
    for (int k = 0; k < 64; ++k)
        y_acc += bf16_to_f32(x[i * 64 + k]) * bf16_to_f32(y_factor[j * 64 + k]);
    y[i * 96 + j] = y_acc;
}
