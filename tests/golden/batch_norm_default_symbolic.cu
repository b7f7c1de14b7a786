// batch_norm: 6 launches
//   x: f32[N, C, H, W], read
//   weight: f32[C], read
//   bias: f32[C], read
//   y: f32[N, C, H, W], written
//   32-bit indices: H, W, N * C * H * W, N * C, (N * C * H * W + N * H * W + C * 16383 + 32703) / 64, N * H * W + 1049531, N * H + 32766 and N + 32766 are at most 2147483647
// if W % 4 == 0:
//   mean: f32[C], temporary, allocated by the caller
//   mean_rf: f32[C, (N * H * W + 16383) / 16384 * 256], temporary, allocated by the caller
//   variance_rf: f32[C, (N * H * W + 16383) / 16384 * 256], temporary, allocated by the caller
//   variance: f32[C], temporary, allocated by the caller
//     batch_norm<<<(N * H * W + 16383) / 16384 * C, 256>>>(x, mean_rf, variance_rf, N, C, H, W);
//     batch_norm_1<<<C, 1024>>>(mean_rf, mean, variance_rf, variance, N, H, W);
//     batch_norm_2<<<(N * H * W + 4095) / 4096 * C, 256>>>(x, weight, bias, y, mean, variance, N, C, H, W);
// else:
//   mean_2: f32[C], temporary, allocated by the caller
//   mean_2_rf: f32[C, (N * H * W + 16383) / 16384 * 256], temporary, allocated by the caller
//   variance_2_rf: f32[C, (N * H * W + 16383) / 16384 * 256], temporary, allocated by the caller
//   variance_2: f32[C], temporary, allocated by the caller
//     batch_norm_3<<<(N * H * W + 16383) / 16384 * C, 256>>>(x, mean_2_rf, variance_2_rf, N, C, H, W);
//     batch_norm_4<<<C, 1024>>>(mean_2_rf, mean_2, variance_2_rf, variance_2, N, H, W);
//     batch_norm_5<<<(N * H * W + 4095) / 4096 * C, 256>>>(x, weight, bias, y, mean_2, variance_2, N, C, H, W);

extern "C" __global__ void __launch_bounds__(256)
batch_norm(const float *__restrict__ x, float *__restrict__ mean_rf,
           float *__restrict__ variance_rf, const int N, const int C, const int H, const int W)
{
    const int chunk_c_fused = blockIdx.x;
    const int thread = threadIdx.x;
    __align__(16) float x_local[64];
    const int c = chunk_c_fused % C;
    const int round_thread_fused = chunk_c_fused / C * 256 + thread;
    const int chunk_c_fused_start = chunk_c_fused / C * 16384;
    const int chunk_c_fused_at = chunk_c_fused_start + thread * 4;
    const int chunk_c_fused_at_1 = chunk_c_fused_at + 15360;
    if (chunk_c_fused_at_1 < N * H * W) {
        #pragma unroll
        for (int each = 0; each < 16; ++each) {
            *(float4 *)&x_local[each * 4] =
                *(const float4 *)&x[(
                                        ((chunk_c_fused_start + each * 1024 + thread * 4) / W / H
                                             * C + c) * H
                                        + (chunk_c_fused_start + each * 1024 + thread * 4) / W % H)
                                        * W + (chunk_c_fused_start + each * 1024 + thread * 4) % W];
        }
    } else {
        if (chunk_c_fused_at < N * H * W) {
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                const int chunk_c_fused_start_at = chunk_c_fused_start + each * 1024 + thread * 4;
                if (chunk_c_fused_start_at < N * H * W) {
                    *(float4 *)&x_local[each * 4] =
                        *(const float4 *)&x[((chunk_c_fused_start_at / W / H * C + c) * H
                                             + chunk_c_fused_start_at / W % H) * W
                                            + chunk_c_fused_start_at % W];
                }
            }
        }
    }
    float mean_rf_acc = 0.0f;
    if (chunk_c_fused_at_1 < N * H * W) {
        #pragma unroll
        for (int part = 0; part < 16; ++part) {
            #pragma unroll
            for (int lane = 0; lane < 4; ++lane)
                mean_rf_acc += x_local[part * 4 + lane];
        }
    } else {
        if (N > 0 && chunk_c_fused_at < N * H * W) {
            #pragma unroll
            for (int part = 0; part < 16; ++part) {
                const int chunk_c_fused_start_at = chunk_c_fused_start + part * 1024 + thread * 4;
                if (chunk_c_fused_start_at / W / H < N && chunk_c_fused_start_at < N * H * W) {
                    #pragma unroll
                    for (int lane = 0; lane < 4; ++lane)
                        mean_rf_acc += x_local[part * 4 + lane];
                }
            }
        }
    }
    const int c_at = c * ((N * H * W + 16383) / 16384 * 256) + round_thread_fused;
    mean_rf[c_at] = mean_rf_acc;
    float variance_rf_acc = 0.0f;
    if (chunk_c_fused_at_1 < N * H * W) {
        #pragma unroll
        for (int part = 0; part < 16; ++part) {
            #pragma unroll
            for (int lane = 0; lane < 4; ++lane) {
                const float x_local_diff = x_local[part * 4 + lane]
                    - mean_rf[c_at]
                        / (float)max(
                            max(min((N * H * W - round_thread_fused % 256 * 4 + 1023) / 1024
                                        - round_thread_fused / 256 * 16,
                                    16),
                                0) * 4,
                            1);
                variance_rf_acc += x_local_diff * x_local_diff;
            }
        }
    } else {
        if (N > 0 && chunk_c_fused_at < N * H * W) {
            #pragma unroll
            for (int part = 0; part < 16; ++part) {
                const int chunk_c_fused_start_at = chunk_c_fused_start + part * 1024 + thread * 4;
                if (chunk_c_fused_start_at / W / H < N && chunk_c_fused_start_at < N * H * W) {
                    #pragma unroll
                    for (int lane = 0; lane < 4; ++lane) {
                        const float x_local_diff = x_local[part * 4 + lane]
                            - mean_rf[c_at]
                                / (float)max(
                                    max(min(
                                            (N * H * W - round_thread_fused / 256 * 16384
                                             - round_thread_fused % 256 * 4 + 1023) / 1024,
                                            16),
                                        0) * 4,
                                    1);
                        variance_rf_acc += x_local_diff * x_local_diff;
                    }
                }
            }
        }
    }
    variance_rf[c_at] = variance_rf_acc;
}

extern "C" __global__ void __launch_bounds__(1024)
batch_norm_1(const float *__restrict__ mean_rf, float *mean, const float *__restrict__ variance_rf,
             float *variance, const int N, const int H, const int W)
{
    __shared__ float variance_warps[32];
    __shared__ float mean_warps[32];
    const int rest = blockIdx.x;
    const int thread = threadIdx.x;
    float mean_part = 0.0f;
    const int N_div = (N * H * W + 16383) / 16384;
    const int N_div_1 = ((N_div + 3) / 4 + 15) / 16;
    for (int round_0 = 0; round_0 < N_div_1; ++round_0) {
        if (round_0 * 16384 + thread + 15360 < N_div * 256) {
            #pragma unroll
            for (int some = 0; some < 16; ++some) {
                const int round_thread_fused = round_0 * 16384 + some * 1024 + thread;
                mean_part += mean_rf[rest * (N_div * 256) + round_thread_fused];
            }
        } else {
            if (round_0 * 16384 + thread < N_div * 256) {
                #pragma unroll
                for (int some = 0; some < 16; ++some) {
                    const int round_thread_fused = round_0 * 16384 + some * 1024 + thread;
                    if (round_thread_fused < N_div * 256)
                        mean_part += mean_rf[rest * (N_div * 256) + round_thread_fused];
                }
            }
        }
    }
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 16);
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 8);
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 4);
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 2);
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 1);
    if (thread % 32 == 0)
        mean_warps[thread / 32] = mean_part;
    __syncthreads();  // mean_warps: written above by other threads, read below
    mean_part = mean_warps[thread % 32];
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 16);
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 8);
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 4);
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 2);
    mean_part += __shfl_xor_sync(0xffffffff, mean_part, 1);
    if (thread == 0) {
        mean[rest] = mean_part;
        mean[rest] = mean[rest] / (float)(N * H * W);
    }
    float variance_part = 0.0f;
    __syncthreads();  // mean: written above by other threads, read below
    for (int round_0 = 0; round_0 < N_div_1; ++round_0) {
        if (round_0 * 16384 + thread + 15360 < N_div * 256) {
            #pragma unroll
            for (int some = 0; some < 16; ++some) {
                const int round_thread_fused = round_0 * 16384 + some * 1024 + thread;
                const int N_start =
                    max(min(
                            (N * H * W - round_thread_fused / 256 * 16384
                             - round_thread_fused % 256 * 4 + 1023) / 1024,
                            16),
                        0) * 4;
                const float mean_rf_diff =
                    mean_rf[rest * (N_div * 256) + round_thread_fused] / (float)max(N_start, 1)
                    - mean[rest];
                variance_part += variance_rf[rest * (N_div * 256) + round_thread_fused]
                    + mean_rf_diff * mean_rf_diff * (float)N_start;
            }
        } else {
            if (round_0 * 16384 + thread < N_div * 256) {
                #pragma unroll
                for (int some = 0; some < 16; ++some) {
                    const int round_thread_fused = round_0 * 16384 + some * 1024 + thread;
                    if (round_thread_fused < N_div * 256) {
                        const int N_start =
                            max(min(
                                    (N * H * W - round_thread_fused / 256 * 16384
                                     - round_thread_fused % 256 * 4 + 1023) / 1024,
                                    16),
                                0) * 4;
                        const float mean_rf_diff =
                            mean_rf[rest * (N_div * 256) + round_thread_fused]
                                / (float)max(N_start, 1) - mean[rest];
                        variance_part += variance_rf[rest * (N_div * 256) + round_thread_fused]
                            + mean_rf_diff * mean_rf_diff * (float)N_start;
                    }
                }
            }
        }
    }
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 16);
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 8);
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 4);
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 2);
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 1);
    if (thread % 32 == 0)
        variance_warps[thread / 32] = variance_part;
    __syncthreads();  // variance_warps: written above by other threads, read below
    variance_part = variance_warps[thread % 32];
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 16);
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 8);
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 4);
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 2);
    variance_part += __shfl_xor_sync(0xffffffff, variance_part, 1);
    if (thread == 0) {
        variance[rest] = variance_part;
        variance[rest] = variance[rest] / (float)(N * H * W);
    }
}

extern "C" __global__ void __launch_bounds__(256)
batch_norm_2(const float *__restrict__ x, const float *__restrict__ weight,
             const float *__restrict__ bias, float *__restrict__ y, const float *__restrict__ mean,
             const float *__restrict__ variance, const int N, const int C, const int H, const int W)
{
    const int round_row_fused = blockIdx.x;
    const int thread = threadIdx.x;
    float x_local_1[16];
    const int c = round_row_fused % C;
    const int round_row_fused_start = round_row_fused / C * 4096;
    const int round_row_fused_at = round_row_fused_start + thread;
    const int round_row_fused_at_1 = round_row_fused_at + 3840;
    if (round_row_fused_at_1 < N * H * W) {
        #pragma unroll
        for (int each = 0; each < 16; ++each) {
            const int n = round_row_fused_start + each * 256 + thread;
            x_local_1[each] = x[((n / W / H * C + c) * H + n / W % H) * W + n % W];
        }
    } else {
        if (round_row_fused_at < N * H * W) {
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                const int n = round_row_fused_start + each * 256 + thread;
                if (n < N * H * W)
                    x_local_1[each] = x[((n / W / H * C + c) * H + n / W % H) * W + n % W];
            }
        }
    }
    if (round_row_fused_at_1 < N * H * W) {
        #pragma unroll
        for (int each = 0; each < 16; ++each) {
            const int n = round_row_fused_start + each * 256 + thread;
            y[((n / W / H * C + c) * H + n / W % H) * W + n % W] =
                (x_local_1[each] - mean[c]) / sqrtf(variance[c] + 1e-5f) * weight[c] + bias[c];
        }
    } else {
        if (round_row_fused_at < N * H * W) {
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                const int n = round_row_fused_start + each * 256 + thread;
                if (n < N * H * W)
                    y[((n / W / H * C + c) * H + n / W % H) * W + n % W] =
                        (x_local_1[each] - mean[c]) / sqrtf(variance[c] + 1e-5f) * weight[c]
                        + bias[c];
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
batch_norm_3(const float *__restrict__ x, float *__restrict__ mean_2_rf,
             float *__restrict__ variance_2_rf, const int N, const int C, const int H, const int W)
{
    const int chunk_loop_fused = blockIdx.x;
    const int thread = threadIdx.x;
    float x_local_2[64];
    const int c = chunk_loop_fused % C;
    const int round_thread_fused = chunk_loop_fused / C * 256 + thread;
    const int chunk_loop_fused_start = chunk_loop_fused / C * 16384;
    const int chunk_loop_fused_at = chunk_loop_fused_start + thread;
    const int chunk_loop_fused_at_1 = chunk_loop_fused_at + 16128;
    if (chunk_loop_fused_at_1 < N * H * W) {
        #pragma unroll
        for (int each = 0; each < 64; ++each) {
            const int v1 = chunk_loop_fused_start + each * 256 + thread;
            x_local_2[each] = x[((v1 / W / H * C + c) * H + v1 / W % H) * W + v1 % W];
        }
    } else {
        if (chunk_loop_fused_at < N * H * W) {
            #pragma unroll
            for (int each = 0; each < 64; ++each) {
                const int v1 = chunk_loop_fused_start + each * 256 + thread;
                if (v1 < N * H * W)
                    x_local_2[each] = x[((v1 / W / H * C + c) * H + v1 / W % H) * W + v1 % W];
            }
        }
    }
    float mean_2_rf_acc = 0.0f;
    if (chunk_loop_fused_at_1 < N * H * W) {
        #pragma unroll
        for (int part = 0; part < 64; ++part)
            mean_2_rf_acc += x_local_2[part];
    } else {
        if (N > 0 && chunk_loop_fused_at < N * H * W) {
            #pragma unroll
            for (int part = 0; part < 64; ++part) {
                if ((chunk_loop_fused_start + part * 256 + thread) / W / H < N
                    && chunk_loop_fused_start + part * 256 + thread < N * H * W)
                    mean_2_rf_acc += x_local_2[part];
            }
        }
    }
    const int c_at = c * ((N * H * W + 16383) / 16384 * 256) + round_thread_fused;
    mean_2_rf[c_at] = mean_2_rf_acc;
    float variance_2_rf_acc = 0.0f;
    if (chunk_loop_fused_at_1 < N * H * W) {
        #pragma unroll
        for (int part = 0; part < 64; ++part) {
            const float x_local_2_diff = x_local_2[part]
                - mean_2_rf[c_at]
                    / (float)max(
                        min((N * H * W - round_thread_fused % 256 + 255) / 256
                                - round_thread_fused / 256 * 64,
                            64),
                        1);
            variance_2_rf_acc += x_local_2_diff * x_local_2_diff;
        }
    } else {
        if (N > 0 && chunk_loop_fused_at < N * H * W) {
            #pragma unroll
            for (int part = 0; part < 64; ++part) {
                if ((chunk_loop_fused_start + part * 256 + thread) / W / H < N
                    && chunk_loop_fused_start + part * 256 + thread < N * H * W) {
                    const float x_local_2_diff = x_local_2[part]
                        - mean_2_rf[c_at]
                            / (float)max(
                                min((N * H * W - round_thread_fused / 256 * 16384
                                     - round_thread_fused % 256 + 255) / 256,
                                    64),
                                1);
                    variance_2_rf_acc += x_local_2_diff * x_local_2_diff;
                }
            }
        }
    }
    variance_2_rf[c_at] = variance_2_rf_acc;
}

extern "C" __global__ void __launch_bounds__(1024)
batch_norm_4(const float *__restrict__ mean_2_rf, float *mean_2,
             const float *__restrict__ variance_2_rf, float *variance_2, const int N, const int H,
             const int W)
{
    __shared__ float variance_2_warps[32];
    __shared__ float mean_2_warps[32];
    const int rest = blockIdx.x;
    const int thread = threadIdx.x;
    float mean_2_part = 0.0f;
    const int N_div = (N * H * W + 16383) / 16384;
    const int N_div_2 = ((N_div + 3) / 4 + 15) / 16;
    for (int round_0 = 0; round_0 < N_div_2; ++round_0) {
        if (round_0 * 16384 + thread + 15360 < N_div * 256) {
            #pragma unroll
            for (int some = 0; some < 16; ++some) {
                const int round_thread_fused = round_0 * 16384 + some * 1024 + thread;
                mean_2_part += mean_2_rf[rest * (N_div * 256) + round_thread_fused];
            }
        } else {
            if (round_0 * 16384 + thread < N_div * 256) {
                #pragma unroll
                for (int some = 0; some < 16; ++some) {
                    const int round_thread_fused = round_0 * 16384 + some * 1024 + thread;
                    if (round_thread_fused < N_div * 256)
                        mean_2_part += mean_2_rf[rest * (N_div * 256) + round_thread_fused];
                }
            }
        }
    }
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 16);
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 8);
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 4);
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 2);
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 1);
    if (thread % 32 == 0)
        mean_2_warps[thread / 32] = mean_2_part;
    __syncthreads();  // mean_2_warps: written above by other threads, read below
    mean_2_part = mean_2_warps[thread % 32];
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 16);
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 8);
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 4);
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 2);
    mean_2_part += __shfl_xor_sync(0xffffffff, mean_2_part, 1);
    if (thread == 0) {
        mean_2[rest] = mean_2_part;
        mean_2[rest] = mean_2[rest] / (float)(N * H * W);
    }
    float variance_2_part = 0.0f;
    __syncthreads();  // mean_2: written above by other threads, read below
    for (int round_0 = 0; round_0 < N_div_2; ++round_0) {
        if (round_0 * 16384 + thread + 15360 < N_div * 256) {
            #pragma unroll
            for (int some = 0; some < 16; ++some) {
                const int round_thread_fused = round_0 * 16384 + some * 1024 + thread;
                const int N_min =
                    min((N * H * W - round_thread_fused / 256 * 16384 - round_thread_fused % 256
                         + 255) / 256,
                        64);
                const float mean_2_rf_diff =
                    mean_2_rf[rest * (N_div * 256) + round_thread_fused] / (float)max(N_min, 1)
                    - mean_2[rest];
                variance_2_part += variance_2_rf[rest * (N_div * 256) + round_thread_fused]
                    + mean_2_rf_diff * mean_2_rf_diff * (float)max(N_min, 0);
            }
        } else {
            if (round_0 * 16384 + thread < N_div * 256) {
                #pragma unroll
                for (int some = 0; some < 16; ++some) {
                    const int round_thread_fused = round_0 * 16384 + some * 1024 + thread;
                    if (round_thread_fused < N_div * 256) {
                        const int N_min =
                            min((N * H * W - round_thread_fused / 256 * 16384
                                 - round_thread_fused % 256 + 255) / 256,
                                64);
                        const float mean_2_rf_diff =
                            mean_2_rf[rest * (N_div * 256) + round_thread_fused]
                                / (float)max(N_min, 1) - mean_2[rest];
                        variance_2_part += variance_2_rf[rest * (N_div * 256) + round_thread_fused]
                            + mean_2_rf_diff * mean_2_rf_diff * (float)max(N_min, 0);
                    }
                }
            }
        }
    }
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 16);
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 8);
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 4);
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 2);
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 1);
    if (thread % 32 == 0)
        variance_2_warps[thread / 32] = variance_2_part;
    __syncthreads();  // variance_2_warps: written above by other threads, read below
    variance_2_part = variance_2_warps[thread % 32];
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 16);
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 8);
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 4);
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 2);
    variance_2_part += __shfl_xor_sync(0xffffffff, variance_2_part, 1);
    if (thread == 0) {
        variance_2[rest] = variance_2_part;
        variance_2[rest] = variance_2[rest] / (float)(N * H * W);
    }
}

extern "C" __global__ void __launch_bounds__(256)
batch_norm_5(const float *__restrict__ x, const float *__restrict__ weight,
             const float *__restrict__ bias, float *__restrict__ y,
             const float *__restrict__ mean_2, const float *__restrict__ variance_2, const int N,
             const int C, const int H, const int W)
{
    const int round_row_fused = blockIdx.x;
    const int thread = threadIdx.x;
    float x_local_3[16];
    const int c = round_row_fused % C;
    const int round_row_fused_start = round_row_fused / C * 4096;
    const int round_row_fused_at = round_row_fused_start + thread;
    const int round_row_fused_at_2 = round_row_fused_at + 3840;
    if (round_row_fused_at_2 < N * H * W) {
        #pragma unroll
        for (int each = 0; each < 16; ++each) {
            const int v1 = round_row_fused_start + each * 256 + thread;
            x_local_3[each] = x[((v1 / W / H * C + c) * H + v1 / W % H) * W + v1 % W];
        }
    } else {
        if (round_row_fused_at < N * H * W) {
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                const int v1 = round_row_fused_start + each * 256 + thread;
                if (v1 < N * H * W)
                    x_local_3[each] = x[((v1 / W / H * C + c) * H + v1 / W % H) * W + v1 % W];
            }
        }
    }
    if (round_row_fused_at_2 < N * H * W) {
        #pragma unroll
        for (int each = 0; each < 16; ++each) {
            const int round_row_fused_start_div = (round_row_fused_start + each * 256 + thread) / W;
            y[((round_row_fused_start_div / H * C + c) * H + round_row_fused_start_div % H) * W
              + (round_row_fused_start + each * 256 + thread) % W] =
                (x_local_3[each] - mean_2[c]) / sqrtf(variance_2[c] + 1e-5f) * weight[c] + bias[c];
        }
    } else {
        if (round_row_fused_at < N * H * W) {
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                if (round_row_fused_start + each * 256 + thread < N * H * W) {
                    const int round_row_fused_start_div =
                        (round_row_fused_start + each * 256 + thread) / W;
                    y[((round_row_fused_start_div / H * C + c) * H + round_row_fused_start_div % H)
                          * W + (round_row_fused_start + each * 256 + thread) % W] =
                        (x_local_3[each] - mean_2[c]) / sqrtf(variance_2[c] + 1e-5f) * weight[c]
                        + bias[c];
                }
            }
        }
    }
}
