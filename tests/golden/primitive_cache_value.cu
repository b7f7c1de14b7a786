// softmax: 1 launch
//   x: f32[20, 96], read
//   y: f32[20, 96], written
// softmax<<<20, 32>>>(x, y);

extern "C" __global__ void __launch_bounds__(32)
softmax(const float *__restrict__ x, float *__restrict__ y)
{
    const int i = blockIdx.x;
    const int thread = threadIdx.x;
    float sum_value[3];
    float most_part = __int_as_float(0xff800000);
    #pragma unroll
    for (int each = 0; each < 3; ++each)
        most_part = fmaxf(most_part, x[i * 96 + each * 32 + thread]);
    most_part = fmaxf(most_part, __shfl_xor_sync(0xffffffff, most_part, 16));
    most_part = fmaxf(most_part, __shfl_xor_sync(0xffffffff, most_part, 8));
    most_part = fmaxf(most_part, __shfl_xor_sync(0xffffffff, most_part, 4));
    most_part = fmaxf(most_part, __shfl_xor_sync(0xffffffff, most_part, 2));
    most_part = fmaxf(most_part, __shfl_xor_sync(0xffffffff, most_part, 1));
    float most = most_part;
    #pragma unroll
    for (int each = 0; each < 3; ++each)
        sum_value[each] = expf(x[i * 96 + each * 32 + thread] - most);
    float sum_part = 0.0f;
    #pragma unroll
    for (int each = 0; each < 3; ++each)
        sum_part += sum_value[each];
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 16);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 8);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 4);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 2);
    sum_part += __shfl_xor_sync(0xffffffff, sum_part, 1);
    float sum = sum_part;
    #pragma unroll
    for (int each = 0; each < 3; ++each)
        y[i * 96 + each * 32 + thread] = sum_value[each] / sum;
}
