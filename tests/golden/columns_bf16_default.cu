// cols: 1 launch
//   x: bf16[128, 4096, 4096], read
//   y: f32[128, 4096], written
// cols<<<2048, dim3(128, 8)>>>(x, y);

static __device__ __forceinline__ float bf16_to_f32(unsigned short h)
{
    return __uint_as_float((unsigned int)h << 16);
}

extern "C" __global__ void __launch_bounds__(1024)
cols(const unsigned short *__restrict__ x, float *__restrict__ y)
{
    __shared__ float y_threads[2][128][9];
    const int block_x = blockIdx.x;
    const int x_1 = threadIdx.x;
    const int part = threadIdx.y;
    float y_part[2];
    const int b = block_x / 16;
    #pragma unroll
    for (int lane = 0; lane < 2; ++lane)
        y_part[lane] = 0.0f;
    #pragma unroll 4
    for (int some = 0; some < 512; ++some) {
        __align__(16) unsigned short x_local[2];
        *(unsigned int *)&x_local[0] =
            *(const unsigned int *)&x[((long long)b * 4096 + some * 8 + part) * 4096
                                      + block_x % 16 * 256 + x_1 * 2];
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            y_part[lane] += bf16_to_f32(x_local[lane]);
    }
    #pragma unroll
    for (int lane = 0; lane < 2; ++lane)
        y_threads[lane][x_1][part] = y_part[lane];
    __syncthreads();  // y_threads: written above by other threads, read below
    if (part < 4) {
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            y_threads[lane][x_1][part] += y_threads[lane][x_1][part + 4];
    }
    __syncthreads();  // y_threads: written above by other threads, read below
    if (part < 2) {
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            y_threads[lane][x_1][part] += y_threads[lane][x_1][part + 2];
    }
    __syncthreads();  // y_threads: written above by other threads, read below
    if (part < 1) {
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            y_threads[lane][x_1][part] += y_threads[lane][x_1][part + 1];
    }
    if (part == 0) {
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            y[block_x * 256 + x_1 * 2 + lane] = y_threads[lane][x_1][0];
    }
}
