// softmax: 1 launch
//   x: f32[100, 66000], read
//   y: f32[100, 66000], written
// softmax<<<100, 1024>>>(x, y);

extern "C" __global__ void __launch_bounds__(1024)
softmax(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float sum_warps[32];
    __shared__ float largest_warps[32];
    const int i = blockIdx.x;
    const int thread = threadIdx.x;
    float largest_rf[3];
    float sum_rf[3];
    #pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
        __align__(16) float x_local_2[32];
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            *(float4 *)&x_local_2[each * 4] =
                *(const float4 *)&x[i * 66000 + chunk * 32768 + each * 4096 + thread * 4];
        }
        largest_rf[chunk] = __int_as_float(0xff800000);
        #pragma unroll
        for (int part = 0; part < 8; ++part) {
            #pragma unroll
            for (int lane = 0; lane < 4; ++lane)
                largest_rf[chunk] = fmaxf(largest_rf[chunk], x_local_2[part * 4 + lane]);
        }
        sum_rf[chunk] = 0.0f;
        #pragma unroll
        for (int part = 0; part < 8; ++part) {
            #pragma unroll
            for (int lane = 0; lane < 4; ++lane)
                sum_rf[chunk] +=
                    expf(x_local_2[part * 4 + lane] - fmaxf(largest_rf[chunk], -3.4028235e38f));
        }
    }
    __align__(16) float x_local[32];
    if (thread < 116) {
        *(float4 *)&x_local[0] = *(const float4 *)&x[i * 66000 + thread * 4 + 65536];
    }
    largest_rf[2] = __int_as_float(0xff800000);
    if (thread < 116) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            largest_rf[2] = fmaxf(largest_rf[2], x_local[lane]);
    }
    sum_rf[2] = 0.0f;
    if (thread < 116) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            sum_rf[2] += expf(x_local[lane] - fmaxf(largest_rf[2], -3.4028235e38f));
    }
    float largest_part = __int_as_float(0xff800000);
    #pragma unroll
    for (int round = 0; round < 3; ++round)
        largest_part = fmaxf(largest_part, largest_rf[round]);
    largest_part = fmaxf(largest_part, __shfl_xor_sync(0xffffffff, largest_part, 16));
    largest_part = fmaxf(largest_part, __shfl_xor_sync(0xffffffff, largest_part, 8));
    largest_part = fmaxf(largest_part, __shfl_xor_sync(0xffffffff, largest_part, 4));
    largest_part = fmaxf(largest_part, __shfl_xor_sync(0xffffffff, largest_part, 2));
    largest_part = fmaxf(largest_part, __shfl_xor_sync(0xffffffff, largest_part, 1));
    if (thread % 32 == 0)
        largest_warps[thread / 32] = largest_part;
    float largest = __int_as_float(0xff800000);
    __syncthreads();  // largest_warps: written above by other threads, read below
    #pragma unroll
    for (int warp = 0; warp < 32; ++warp)
        largest = fmaxf(largest, largest_warps[warp]);
    float sum_part = 0.0f;
    #pragma unroll
    for (int round = 0; round < 3; ++round)
        sum_part += sum_rf[round] * expf(largest_rf[round] - largest);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 16);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 8);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 4);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 2);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 1);
    if (thread % 32 == 0)
        sum_warps[thread / 32] = sum_part;
    float sum = 0.0f;
    __syncthreads();  // sum_warps: written above by other threads, read below
    #pragma unroll
    for (int warp_1 = 0; warp_1 < 32; ++warp_1)
        sum += sum_warps[warp_1];
    for (int round = 0; round < 3; ++round) {
        __align__(16) float x_local_1[32];
        if (round * 8192 + thread < 9332) {
            #pragma unroll
            for (int each = 0; each < 8; ++each) {
                *(float4 *)&x_local_1[each * 4] =
                    *(const float4 *)&x[i * 66000 + round * 32768 + each * 4096 + thread * 4];
            }
        } else {
            if (round * 8192 + thread < 16500) {
                #pragma unroll
                for (int each = 0; each < 8; ++each) {
                    if (round * 8192 + each * 1024 + thread < 16500) {
                        *(float4 *)&x_local_1[each * 4] =
                            *(const float4 *)&x[i * 66000 + round * 32768 + each * 4096
                                                + thread * 4];
                    }
                }
            }
        }
        if (round * 8192 + thread < 9332) {
            #pragma unroll
            for (int each = 0; each < 8; ++each) {
                __align__(16) float y_local_1[4];
                #pragma unroll
                for (int lane = 0; lane < 4; ++lane)
                    y_local_1[lane] = expf(x_local_1[each * 4 + lane] - largest) / sum;
                *(float4 *)&y[i * 66000 + round * 32768 + each * 4096 + thread * 4] =
                    make_float4(y_local_1[0], y_local_1[1], y_local_1[2], y_local_1[3]);
            }
        } else {
            if (round * 8192 + thread < 16500) {
                #pragma unroll
                for (int each = 0; each < 8; ++each) {
                    if (round * 8192 + each * 1024 + thread < 16500) {
                        __align__(16) float y_local[4];
                        #pragma unroll
                        for (int lane = 0; lane < 4; ++lane)
                            y_local[lane] = expf(x_local_1[each * 4 + lane] - largest) / sum;
                        *(float4 *)&y[i * 66000 + round * 32768 + each * 4096 + thread * 4] =
                            make_float4(y_local[0], y_local[1], y_local[2], y_local[3]);
                    }
                }
            }
        }
    }
}
