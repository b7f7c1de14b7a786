// cells: 1 launch
//   x: f32[1000, 8], read
//   c: i32[1000], read
//   s: f32[1000], written
//   t: f32[1000], written
//   n: i32[1000], written
// cells<<<8, 128>>>(x, c, s, t, n);

extern "C" __global__ void __launch_bounds__(128)
cells(const float *__restrict__ x, const int *__restrict__ c, float *__restrict__ s,
      float *__restrict__ t, int *__restrict__ n)
{
    const int b = blockIdx.x;
    const int t_1 = threadIdx.x;
    const int i = b * 128 + t_1;
    if (i < 1000) {
        float sum = 0.0f;
        float squares = 0.0f;
        for (int j = 0; j < 8; ++j) {
            sum += x[i * 8 + j];
            squares += x[i * 8 + j] * x[i * 8 + j];
        }
        s[i] = sum;
        int count = c[i];
        while (count > 100)
            count = count / 2;
        if (c[i] > 0) {
            t[i] = squares;
            n[i] = count;
        } else {
            t[i] = sum;
            n[i] = (int)(-(unsigned int)count);
        }
    }
}
