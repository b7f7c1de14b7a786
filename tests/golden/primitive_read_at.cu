// staged: 1 launch
//   x: f32[20, 24], read
//   y: f32[20, 24], written
// staged<<<20, 8>>>(x, y);

extern "C" __global__ void __launch_bounds__(8)
staged(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float x_shared[24];
    const int i = blockIdx.x;
    const int ji = threadIdx.x;
    for (int jo = 0; jo < 3; ++jo) {
        const int j = jo * 8 + ji;
        if (ji == 0) {
            for (int ax1 = 0; ax1 < 24; ++ax1)
                x_shared[ax1] = x[i * 24 + ax1];
        }
        __syncthreads();  // x_shared: written above by other threads, read below
        y[i * 24 + j] = x_shared[j / 3 * 3] + x_shared[j % 5];
        __syncthreads();  // x_shared: read above, overwritten in the next iteration of jo by other
                          // threads
    }
}
