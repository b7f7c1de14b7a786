// reads_either: 4 launches
//   x: i32[64], read
//   w: i32[64], read
//   u: f32[64], read
//   b: i32[64], read and written
//   y: i32[64], written
//   z: f32[64], written
// reads_either<<<1, 1>>>(x, w, u, b, y, z);
// reads_either_1<<<1, 1>>>(x, b, y);
// reads_either_2<<<1, 1>>>(x, b, y);
// reads_either_3<<<1, 1>>>(x, w, b, y);

extern "C" __global__ void __launch_bounds__(1)
reads_either(const int *__restrict__ x, const int *w, const float *__restrict__ u,
             int *__restrict__ b, int *__restrict__ y, float *__restrict__ z)
{
    for (int i = 0; i < 64; ++i) {
        b[i] = (int)(-(unsigned int)b[i]);
        y[i] = x[i] > 0 ? (int)((unsigned int)w[63 - i] * 2) : (int)((unsigned int)b[i] * 2);
        z[i] = y[i] > 0 ? u[i] : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(1)
reads_either_1(const int *x, int *__restrict__ b, int *__restrict__ y)
{
    for (int i = 0; i < 64; ++i) {
        b[i] = (int)((unsigned int)b[i] + 1);
        if (y[i] > 0)
            y[i] = x[i];
        else
            y[i] = b[i];
    }
}

extern "C" __global__ void __launch_bounds__(1)
reads_either_2(const int *x, int *__restrict__ b, int *__restrict__ y)
{
    for (int i = 0; i < 64; ++i) {
        b[i] = (int)((unsigned int)b[i] * 3);
        const int v = b[i];
        y[i] = i > 3 ? x[i] : (int)((unsigned int)v + 1);
    }
}

extern "C" __global__ void __launch_bounds__(1)
reads_either_3(const int *__restrict__ x, const int *__restrict__ w, int *__restrict__ b,
               int *__restrict__ y)
{
    for (int i = 0; i < 64; ++i) {
        b[i] = (int)((unsigned int)b[i] - x[i]);
        y[i] = x[i] > 3 ? w[i] : 0;
    }
}
