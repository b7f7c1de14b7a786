// triangle: 1 launch
//   A: f32[100, 100], read
//   x: f32[100], read
//   y: f32[100], written
// triangle<<<4, 32>>>(A, x, y);

extern "C" __global__ void __launch_bounds__(32)
triangle(const float *__restrict__ A, const float *__restrict__ x, float *__restrict__ y)
{
    const int io = blockIdx.x;
    const int ii = threadIdx.x;
    const int i = io * 32 + ii;
    if (i < 100) {
        float y_acc = 0.0f;
        for (int ko = 0; ko < min(io * 4 + 4, 13); ++ko) {
            for (int ki = 0; ki < 8; ++ki) {
                const int k = ko * 8 + ki;
                if (k <= i)
                    y_acc += A[i * 100 + k] * x[k];
            }
        }
        y[i] = y_acc;
    }
}
