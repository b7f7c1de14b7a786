// adjacent_difference: 1 launch
//   x: f32[1048576], read
//   y: f32[1048576], written
// adjacent_difference<<<1024, 256>>>(x, y);

extern "C" __global__ void __launch_bounds__(256)
adjacent_difference(const float *__restrict__ x, float *__restrict__ y)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int i = block * 1024 + each * 256 + thread;
        y[i] = i > 0 ? x[i] - x[i - 1] : x[i];
    }
}
