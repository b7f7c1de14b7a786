// stencil: 1 launch
//   x: f32[41, 20], read
//   y: f32[37, 20], written
// stencil<<<3, dim3(8, 4)>>>(x, y);

extern "C" __global__ void __launch_bounds__(32)
stencil(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float a[6][8];
    const int bj = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int j = bj * 8 + tx;
    for (int io = 0; io < 10; ++io) {
        const int i = io * 4 + ty;
        if (j < 20) {
            for (int each = 0; each < 2; ++each) {
                const int i_1 = (io + each) * 4 + ty;
                if ((io < 1 || each * 4 + ty > 1) && each * 32 + ty * 8 + tx < 48 && i_1 < 39)
                    a[((io + each) * 4 + ty) % 6][tx] =
                        x[i_1 * 20 + j] + 0.5f * x[(i_1 + 1) * 20 + j] + x[(i_1 + 2) * 20 + j];
            }
        }
        __syncthreads();  // a: written above by other threads, read below
        if (i < 37 && j < 20)
            y[i * 20 + j] = a[(io * 4 + ty) % 6][tx] + 0.5f * a[(io * 4 + ty + 1) % 6][tx]
                + a[(io * 4 + ty + 2) % 6][tx];
        __syncthreads();  // a: read above, overwritten in the next iteration of io by other threads
    }
}
