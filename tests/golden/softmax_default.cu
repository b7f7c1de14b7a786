// softmax: 1 launch
//   x: f32[100, 4096], read
//   y: f32[100, 4096], written
// softmax<<<100, 256>>>(x, y);

extern "C" __global__ void __launch_bounds__(256)
softmax(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float sum_warps[8];
    __shared__ float largest_warps[8];
    const int i = blockIdx.x;
    const int thread = threadIdx.x;
    __align__(16) float x_local[16];
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        *(float4 *)&x_local[each * 4] = *(const float4 *)&x[i * 4096 + each * 1024 + thread * 4];
    }
    float largest_part = __int_as_float(0xff800000);
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            largest_part = fmaxf(largest_part, x_local[each * 4 + lane]);
    }
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
    for (int warp = 0; warp < 8; ++warp)
        largest = fmaxf(largest, largest_warps[warp]);
    float sum_part = 0.0f;
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            sum_part += expf(x_local[each * 4 + lane] - largest);
    }
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
    for (int warp_1 = 0; warp_1 < 8; ++warp_1)
        sum += sum_warps[warp_1];
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        __align__(16) float y_local[4];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            y_local[lane] = expf(x_local[each * 4 + lane] - largest) / sum;
        *(float4 *)&y[i * 4096 + each * 1024 + thread * 4] =
            make_float4(y_local[0], y_local[1], y_local[2], y_local[3]);
    }
}
