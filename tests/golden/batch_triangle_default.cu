// triangles: 1 launch
//   x: f32[6, 32, 32], read
//   l: f32[6, 32, 32], written
// triangles<<<6, dim3(32, 32)>>>(x, l);

extern "C" __global__ void __launch_bounds__(1024)
triangles(const float *__restrict__ x, float *__restrict__ l)
{
    __shared__ float a[32][33];
    const int b = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int b_at = (b * 32 + ty) * 32 + tx;
    a[ty][tx] = x[b_at];
    __syncthreads();  // a: written above by other threads, read below
    for (int k = 0; k < 32; ++k) {
        const int i = ty * 32 + k + tx + 1;
        const int j = k + ty + 1;
        const int i_1 = k + ty + tx + 1;
        if (i < 32) {
            float a_acc = a[i][k];
            a_acc = a_acc / a[k][k];
            a[i][k] = a_acc;
        }
        __syncthreads();  // a: written above by other threads, read below
        if (j < 32 && i_1 < 32) {
            for (int i_0 = 0; i_0 < (30 - k - ty) / 32 + 1; ++i_0)
                a[i_1][j] -= a[i_1][k] * a[j][k] * a[k][k];
        }
        __syncthreads();  // a: written above, read in the next iteration of k by other threads
    }
    l[b_at] = tx <= ty ? a[ty][tx] : 0.0f;
}
