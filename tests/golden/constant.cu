// polynomial: 2 launches
//   x: f32[1000], read
//   coef: f32[3], read
//   y: f32[1000], written
//   table_source: f32[2, 2], temporary, allocated by the caller
//   table: f32[2, 2], constant: holds what table_source holds when a launch begins
//   coef_constant: f32[3], constant: holds what coef holds when a launch begins
// polynomial<<<1, 1>>>(table_source);
// polynomial_1<<<8, 128>>>(x, y);

__constant__ float coef_constant[3];
__constant__ float table[2][2];

extern "C" __global__ void __launch_bounds__(1)
polynomial(float *__restrict__ table_source)
{
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j)
            table_source[i * 2 + j] = coef_constant[i] * coef_constant[j];
    }
}

extern "C" __global__ void __launch_bounds__(128)
polynomial_1(const float *__restrict__ x, float *__restrict__ y)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    const int i = b * 128 + t;
    if (i < 1000)
        y[i] = coef_constant[0] + x[i] * (coef_constant[1] + x[i] * coef_constant[2]) + table[1][0];
}
