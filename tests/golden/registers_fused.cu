// masked: 2 launches
//   x: f32[16, N, 64], read
//   keep: bool[16, 64], read
//   all: bool[64], read
//   sum: f32[16, N], written
//   total: f32[16, N], written
//   32-bit indices: N * 16 + 15 and N * 1024 are at most 2147483647
// masked<<<(N + 1) / 2, 32>>>(x, keep, sum, N);
// masked_1<<<(N + 1) / 2, 32>>>(x, all, total, N);

extern "C" __global__ void __launch_bounds__(32)
masked(const float *__restrict__ x, const bool *__restrict__ keep, float *__restrict__ sum,
       const int N)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    const int i = (b * 32 + t) / N;
    if (b * 32 + t < N * 16) {
        float sum_acc = 0.0f;
        for (int k = 0; k < 64; ++k) {
            if (keep[i * 64 + k])
                sum_acc += x[b * 2048 + t * 64 + k];
        }
        sum[b * 32 + t] = sum_acc;
    }
}

extern "C" __global__ void __launch_bounds__(32)
masked_1(const float *__restrict__ x, const bool *__restrict__ all, float *__restrict__ total,
         const int N)
{
    __shared__ bool all_shared[32];
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    float total_acc = 0.0f;
    for (int ko = 0; ko < 2; ++ko) {
        all_shared[t] = all[ko * 32 + t];
        __syncthreads();  // all_shared: written above by other threads, read below
        if (b * 32 + t < N * 16) {
            for (int ki = 0; ki < 32; ++ki) {
                if (all_shared[ki])
                    total_acc += x[b * 2048 + t * 64 + ko * 32 + ki];
            }
        }
        __syncthreads();  // all_shared: read above, overwritten in the next iteration of ko by
                          // other threads
    }
    if (b * 32 + t < N * 16)
        total[b * 32 + t] = total_acc;
}
