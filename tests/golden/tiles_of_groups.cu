// parts: 1 launch
//   x: f32[100], read
//   first: i32[4], read
//   y: f32[100], written
//   t: f32[3, 100], temporary, allocated by the caller
// parts<<<4, 32>>>(x, first, y, t);

extern "C" __global__ void __launch_bounds__(32)
parts(const float *__restrict__ x, const int *__restrict__ first, float *__restrict__ y,
      float *__restrict__ t)
{
    const int tile = blockIdx.x;
    const int i = threadIdx.x;
    const int i_1 = tile * 32 + i;
    for (int e = 0; e < 3; ++e) {
        const int first_begin = first[e];
        const int first_end = first[e + 1];
        if (first_begin <= tile * 32 + 31 && first_begin < first_end && tile * 32 < first_end) {
            if (i_1 < 100)
                t[e * 100 + i_1] = x[i_1] * (float)(e + 1);
            if (first_begin <= i_1 && i_1 < first_end)
                y[i_1] = t[e * 100 + i_1];
        }
    }
}
