// literals_folded: 1 launch
//   x: f32[1000, 64], read
//   h: f16[1000], read
//   s: f32[1000], written
//   z: f32[1000], written
//   w: f16[1000], written
// literals_folded<<<8, 128>>>(x, h, s, z, w);

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

extern "C" __global__ void __launch_bounds__(128)
literals_folded(const float *__restrict__ x, const unsigned short *__restrict__ h,
                float *__restrict__ s, float *__restrict__ z, unsigned short *__restrict__ w)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    const int i = b * 128 + t;
    if (i < 1000) {
        float s_largest_ = __int_as_float(0xff800000);
        float s_sum_ = 0.0f;
        for (int j = 0; j < 64; ++j) {
            const float b_largest = x[i * 64 + j];
            const float m = fmaxf(s_largest_, b_largest);
            const float left = s_sum_ > 0.0f ? s_sum_ * expf(s_largest_ - m) : 0.0f;
            const float right = expf(b_largest - m);
            s_largest_ = m;
            s_sum_ = left + right;
        }
        s[i] = s_largest_ + logf(s_sum_);
        z[i] = x[i * 64] - 0.5f * x[i * 64 + 1] + 64.0f / x[i * 64 + 2]
            - (x[i * 64 + 3] + x[i * 64 + 4]);
        w[i] =
            f16_from_f32(f16_to_f32(h[i])
                         - f16_to_f32(f16_from_f32(f16_to_f32(h[i]) * f16_to_f32(h[i]))));
    }
}
