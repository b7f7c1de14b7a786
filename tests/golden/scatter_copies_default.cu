// scatter_copies: 5 launches
//   at: i32[1500], read
//   x: f32[1500, 12], read
//   w: f32[1500], read
//   y: f32[20, 12], written
//   h: f32[20], written
// scatter_copies<<<1, 256>>>(y, h);
//   y_private: f32[1, 20, 12], temporary, allocated by the caller
// scatter_copies_1<<<2, dim3(8, 32)>>>(at, x, y_private);
// scatter_copies_2<<<1, 256>>>(y, y_private);
//   h_private: f32[1, 20], temporary, allocated by the caller
// scatter_copies_3<<<1, dim3(1, 256)>>>(at, w, h_private);
// scatter_copies_4<<<1, 256>>>(h, h_private);

extern "C" __global__ void __launch_bounds__(256)
scatter_copies(float *__restrict__ y, float *__restrict__ h)
{
    const int thread = threadIdx.x;
    __align__(16) float y_local[12];
    if (thread < 20) {
        h[thread] = 0.0f;
        #pragma unroll
        for (int d = 0; d < 12; ++d)
            y_local[d] = 0.0f;
        #pragma unroll
        for (int some = 0; some < 3; ++some) {
            *(float4 *)&y[thread * 12 + some * 4] = make_float4(y_local[some * 4],
                                                                y_local[some * 4 + 1],
                                                                y_local[some * 4 + 2],
                                                                y_local[some * 4 + 3]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_copies_1(const int *__restrict__ at, const float *__restrict__ x, float *y_private)
{
    __shared__ float y_private_private[20][32][8];
    const int at_1 = blockIdx.x;
    const int thread = threadIdx.y;
    const int x_1 = threadIdx.x;
    const int v1 = at_1 * 8 + x_1;
    if (thread < 20 && v1 < 12)
        y_private[thread * 12 + v1] = -0.0f;
    if (v1 < 12) {
        for (int slice_ax0_1_fused_0 = 0; slice_ax0_1_fused_0 < 20; ++slice_ax0_1_fused_0)
            y_private_private[(slice_ax0_1_fused_0 * 32 + thread) % 20]
                             [(slice_ax0_1_fused_0 * 32 + thread) / 20][x_1] = -0.0f;
    }
    __syncthreads();  // y_private_private: written above by other threads, written again below
    if (v1 < 12) {
        for (int round = 0; round < 5; ++round) {
            #pragma unroll
            for (int some = 0; some < 8; ++some) {
                const int i = round * 256 + some * 32 + thread;
                y_private_private[at[i]][thread][x_1] += x[i * 12 + v1];
            }
        }
        #pragma unroll
        for (int some = 0; some < 8; ++some) {
            const int i = some * 32 + thread + 1280;
            if (i < 1500)
                y_private_private[at[i]][thread][x_1] += x[i * 12 + v1];
        }
    }
    __syncthreads();  // y_private_private: written above by other threads, read below
    if (thread < 20 && v1 < 12) {
        float y_private_acc = y_private[thread * 12 + v1];
        for (int slice = 0; slice < 32; ++slice)
            y_private_acc += y_private_private[thread][slice][x_1];
        y_private[thread * 12 + v1] = y_private_acc;
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_copies_2(float *__restrict__ y, const float *__restrict__ y_private)
{
    const int thread = threadIdx.x;
    if (thread < 240) {
        float y_acc = y[thread];
        y_acc += y_private[thread];
        y[thread] = y_acc;
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_copies_3(const int *__restrict__ at, const float *__restrict__ w, float *h_private)
{
    __shared__ float h_private_private[46][21];
    const int thread = threadIdx.y;
    if (thread < 20)
        h_private[thread] = -0.0f;
    for (int slice_ax0_1_fused_0 = 0; slice_ax0_1_fused_0 < 4; ++slice_ax0_1_fused_0) {
        if (slice_ax0_1_fused_0 * 256 + thread < 920)
            h_private_private[(slice_ax0_1_fused_0 * 256 + thread) / 20]
                             [(slice_ax0_1_fused_0 * 256 + thread) % 20] = -0.0f;
    }
    __syncthreads();  // h_private_private: written above by other threads, written again below
    if (thread < 7) {
        #pragma unroll 4
        for (int round = 0; round < 9; ++round) {
            __align__(16) float w_local_1[4];
            __align__(16) int at_local_1[4];
            *(float4 *)&w_local_1[0] = *(const float4 *)&w[round * 184 + thread * 4];
            *(int4 *)&at_local_1[0] = *(const int4 *)&at[round * 184 + thread * 4];
            #pragma unroll
            for (int some = 0; some < 4; ++some) {
                if (w_local_1[some] > 0.0f)
                    h_private_private[thread][at_local_1[some]] += w_local_1[some];
            }
        }
    } else {
        #pragma unroll 4
        for (int round = 0; round < 9; ++round) {
            if (round * 46 + thread < 375) {
                __align__(16) float w_local[4];
                __align__(16) int at_local[4];
                *(float4 *)&w_local[0] = *(const float4 *)&w[round * 184 + thread * 4];
                *(int4 *)&at_local[0] = *(const int4 *)&at[round * 184 + thread * 4];
                if (thread < 46) {
                    #pragma unroll
                    for (int some = 0; some < 4; ++some) {
                        if (w_local[some] > 0.0f)
                            h_private_private[thread][at_local[some]] += w_local[some];
                    }
                }
            }
        }
    }
    __syncthreads();  // h_private_private: written above by other threads, read below
    if (thread < 20) {
        float h_private_acc = h_private[thread];
        for (int slice = 0; slice < 46; ++slice)
            h_private_acc += h_private_private[slice][thread];
        h_private[thread] = h_private_acc;
    }
}

extern "C" __global__ void __launch_bounds__(256)
scatter_copies_4(float *__restrict__ h, const float *__restrict__ h_private)
{
    const int thread = threadIdx.x;
    if (thread < 20) {
        float h_acc = h[thread];
        h_acc += h_private[thread];
        h[thread] = h_acc;
    }
}
