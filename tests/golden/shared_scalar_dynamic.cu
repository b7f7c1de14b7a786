// big: 1 launch
//   x: f32[4, 16384], read
//   y: f32[4], written
// big<<<4, 128, 65552>>>(x, y);

extern "C" __global__ void __launch_bounds__(128)
big(const float *__restrict__ x, float *__restrict__ y)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    float *t = (float *)shared_memory;
    float &s = *(float *)(shared_memory + 65536);
    const int i = blockIdx.x;
    const int j_1 = threadIdx.x;
    for (int j_0 = 0; j_0 < 128; ++j_0) {
        const int j = j_0 * 128 + j_1;
        t[j] = x[i * 16384 + j] * 2.0f;
    }
    __syncthreads();  // t: written above by other threads, read below
    if (j_1 == 0) {
        s = t[0] + t[1];
        y[i] = s + t[16383];
    }
}
