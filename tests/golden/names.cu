// exp: 3 launches
//   x: f32[N], read
//   max_1: f32
//   old: f32[4], read
//   y: f32[4], written
//   and_: f32[N], written
//   32-bit indices: N + 30 is at most 2147483647
// exp_<<<(N + 7) / 8, 8>>>(x, and_, N, max_1);
// exp_1<<<1, 1>>>(old, y);
// for result in 0..(N + 31) / 32:
//     exp_2<<<1, 32>>>(old, y, and_, N, result);

template <class Combine>
static __device__ __forceinline__ void atomic_update_f32(float *p, Combine combine)
{
    unsigned int *bits = (unsigned int *)p, old = *bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen, __float_as_uint(combine(__uint_as_float(seen))));
    } while (old != seen);
}

extern "C" __global__ void __launch_bounds__(8)
exp_(const float *__restrict__ x, float *__restrict__ and_, const int N, const float max_1)
{
    const int outer = blockIdx.x;
    const int max_ = threadIdx.x;
    const int i = outer * 8 + max_;
    if (i < N)
        and_[i] = x[i] > max_1 ? max_1 : x[i];
}

extern "C" __global__ void __launch_bounds__(1)
exp_1(const float *__restrict__ old, float *__restrict__ y)
{
    for (int i = 0; i < 4; ++i)
        y[i] = old[i];
}

extern "C" __global__ void __launch_bounds__(32)
exp_2(const float *__restrict__ old, float *__restrict__ y, const float *__restrict__ and_,
      const int N, const int result)
{
    const int inner = threadIdx.x;
    const int i = result * 32 + inner;
    if (i < N)
        atomic_update_f32(&y[i % 4],
                          [=](float old_) { return (float)(old_ * (and_[i] + old[i % 4])); });
}
