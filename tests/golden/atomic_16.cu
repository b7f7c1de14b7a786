// halves: 5 launches
//   x: f16[64], read
//   z: bf16[64], read
//   n: i16[64], read
//   sum: f16[4], written
//   most: f16[4], written
//   total: bf16[4], written
//   bits: i16[4], written
// halves<<<1, 1>>>(sum, most, total, bits);
// halves_1<<<1, 64>>>(x, sum);
// halves_2<<<1, 64>>>(x, most);
// halves_3<<<1, 64>>>(z, total);
// halves_4<<<1, 64>>>(n, bits);

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

template <class T, class Combine>
static __device__ __forceinline__ void atomic_update_16(T *p, Combine combine)
{
    unsigned short *bits = (unsigned short *)p, old = *bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen, (unsigned short)combine((T)seen));
    } while (old != seen);
}

static __device__ __forceinline__ void atomic_add_f16(unsigned short *p, unsigned short h)
{
    asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(p), "h"(h) : "memory");
}

static __device__ __forceinline__ void atomic_add_bf16(unsigned short *p, unsigned short h)
{
    asm volatile("red.add.noftz.bf16 [%0], %1;" ::"l"(p), "h"(h) : "memory");
}

extern "C" __global__ void __launch_bounds__(1)
halves(unsigned short *__restrict__ sum, unsigned short *__restrict__ most,
       unsigned short *__restrict__ total, short *__restrict__ bits)
{
    for (int i = 0; i < 4; ++i) {
        sum[i] = f16_from_f32(0.0f);
        most[i] = f16_from_f32(__int_as_float(0xff800000));
        total[i] = bf16_from_f32(0.0f);
        bits[i] = 0;
    }
}

extern "C" __global__ void __launch_bounds__(64)
halves_1(const unsigned short *__restrict__ x, unsigned short *__restrict__ sum)
{
    const int i = threadIdx.x;
    atomic_add_f16(&sum[i % 4], f16_from_f32(f16_to_f32(x[i]) * 2.0f));
}

extern "C" __global__ void __launch_bounds__(64)
halves_2(const unsigned short *__restrict__ x, unsigned short *__restrict__ most)
{
    const int i = threadIdx.x;
    atomic_update_16(&most[i % 4],
                     [=](unsigned short old) { return (unsigned short)(
                                                  f16_from_f32(fmaxf(f16_to_f32(old),
                                                                     f16_to_f32(x[i])))); });
}

extern "C" __global__ void __launch_bounds__(64)
halves_3(const unsigned short *__restrict__ z, unsigned short *__restrict__ total)
{
    const int i = threadIdx.x;
    atomic_add_bf16(&total[i % 4], z[i]);
}

extern "C" __global__ void __launch_bounds__(64)
halves_4(const short *__restrict__ n, short *__restrict__ bits)
{
    const int i = threadIdx.x;
    atomic_update_16(&bits[i % 4], [=](short old) { return (short)(old | n[i]); });
}
