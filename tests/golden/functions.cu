// functions: 1 launch
//   x: f32[1000], read
//   h: f16[1000], read
//   n: i32[1000], read
//   y: f32[1000], written
//   z: f16[1000], written
//   m: i32[1000], written
// functions<<<8, 128>>>(x, h, n, y, z, m);

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
functions(const float *__restrict__ x, const unsigned short *__restrict__ h,
          const int *__restrict__ n, float *__restrict__ y, unsigned short *__restrict__ z,
          int *__restrict__ m)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    const int i = b * 128 + t;
    if (i < 1000) {
        const float shifted = 0.5f * x[i] + fmaxf(x[i], 0.0f) + 1.0f;
        y[i] = shifted * shifted;
        z[i] = f16_from_f32(fmaxf(-1.0f, fminf(f16_to_f32(h[i]), 1.0f)));
        m[i] = max(0, min(n[i], i));
    }
}
