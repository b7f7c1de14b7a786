// rms_norm: 1 launch
//   x: f32[2, 64, 16, 32], read
//   y: f32[2, 64, 16, 32], written
// rms_norm<<<4, 256>>>(x, y);

extern "C" __global__ void __launch_bounds__(256)
rms_norm(const float *__restrict__ x, float *__restrict__ y)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    float x_local[64];
    const int n = block / 2;
    const int i = block % 2 * 8 + thread / 32;
    const int j = thread % 32;
    #pragma unroll
    for (int ax1 = 0; ax1 < 64; ++ax1)
        x_local[ax1] = x[((n * 64 + ax1) * 16 + i) * 32 + j];
    float squares = 0.0f;
    #pragma unroll
    for (int c = 0; c < 64; ++c)
        squares += x_local[c] * x_local[c];
    #pragma unroll
    for (int c = 0; c < 64; ++c)
        y[(long long)(n * 32768 + i * 32 + j) + c * 512] =
            x_local[c] / sqrtf(squares / 64.0f + 1e-5f);
}
