// sums: 1 launch
//   x: f32[64, 64], read
//   y: f32[64], written
// sums<<<4, 8>>>(x, y);

extern "C" __global__ void __launch_bounds__(8)
sums(const float *__restrict__ x, float *__restrict__ y)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    #pragma unroll 1
    for (int row = 0; row < 2; ++row) {
        const int i = b * 16 + t * 2 + row;
        float y_acc = 0.0f;
        #pragma unroll 4
        for (int j = 0; j < 64; ++j)
            y_acc += x[j * 64 + i];
        y[i] = y_acc;
    }
}
