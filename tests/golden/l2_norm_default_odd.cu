// l2_norm: 1 launch
//   x: f32[100, 1001], read
//   y: f32[100, 1001], written
// l2_norm<<<25, dim3(32, 4)>>>(x, y);

extern "C" __global__ void __launch_bounds__(128)
l2_norm(const float *__restrict__ x, float *__restrict__ y)
{
    const int block = blockIdx.x;
    const int warp = threadIdx.y;
    const int thread = threadIdx.x;
    float x_local[32];
    const int i = block * 4 + warp;
    #pragma unroll
    for (int each = 0; each < 31; ++each) {
        const int j = each * 32 + thread;
        x_local[each] = x[i * 1001 + j];
    }
    const int j = thread + 992;
    if (j < 1001)
        x_local[31] = x[i * 1001 + j];
    float squares_part = 0.0f;
    #pragma unroll
    for (int each = 0; each < 31; ++each)
        squares_part += x_local[each] * x_local[each];
    if (j < 1001)
        squares_part += x_local[31] * x_local[31];
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 16);
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 8);
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 4);
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 2);
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 1);
    float squares = squares_part;
    #pragma unroll
    for (int each = 0; each < 31; ++each) {
        float y_local_1 = x_local[each] / sqrtf(squares);
        y[(long long)(i * 1001 + thread) + each * 32] = y_local_1;
    }
    if (j < 1001) {
        float y_local = x_local[31] / sqrtf(squares);
        y[i * 1001 + j] = y_local;
    }
}
