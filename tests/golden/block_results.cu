// rows: 1 launch
//   x: f32[50, 100], read
//   y: f32[50, 100], written
//   at: i32[50, 100], written
// rows<<<25, dim3(64, 2)>>>(x, y, at);

extern "C" __global__ void __launch_bounds__(128)
rows(const float *__restrict__ x, float *__restrict__ y, int *__restrict__ at)
{
    __shared__ float b_value_warps[2][2];
    __shared__ int b_index_warps[2][2];
    __shared__ float s_warps[2][2];
    const int block = blockIdx.x;
    const int row = threadIdx.y;
    const int lane = threadIdx.x;
    const int i = block * 2 + row;
    float s_part = 0.0f;
    for (int j_0 = 0; j_0 < 2; ++j_0) {
        const int j = j_0 * 64 + lane;
        if (j < 100)
            s_part += x[i * 100 + j];
    }
    s_part += __shfl_xor_sync(0xffffffff, s_part, 16);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 8);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 4);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 2);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 1);
    if (lane % 32 == 0)
        s_warps[row][lane / 32] = s_part;
    float s = 0.0f;
    __syncthreads();  // s_warps: written above by other threads, read below
    #pragma unroll
    for (int warp = 0; warp < 2; ++warp)
        s += s_warps[row][warp];
    float b_value_part = __int_as_float(0xff800000);
    int b_index_part = -1;
    for (int j_0 = 0; j_0 < 2; ++j_0) {
        const int j = j_0 * 64 + lane;
        if (j < 100) {
            const float b_value_1 = x[i * 100 + j];
            const bool b_wins = b_value_1 > b_value_part
                || (b_value_1 == b_value_part && j < b_index_part);
            b_value_part = b_wins ? b_value_1 : b_value_part;
            b_index_part = b_wins ? j : b_index_part;
        }
    }
    const float b_value_2 = __shfl_xor_sync(0xffffffff, b_value_part, 16);
    const int b_index_1 = __shfl_xor_sync(0xffffffff, b_index_part, 16);
    const bool b_wins = b_value_2 > b_value_part
        || (b_value_2 == b_value_part && b_index_1 < b_index_part);
    b_value_part = b_wins ? b_value_2 : b_value_part;
    b_index_part = b_wins ? b_index_1 : b_index_part;
    const float b_value_3 = __shfl_xor_sync(0xffffffff, b_value_part, 8);
    const int b_index_2 = __shfl_xor_sync(0xffffffff, b_index_part, 8);
    const bool b_wins_1 = b_value_3 > b_value_part
        || (b_value_3 == b_value_part && b_index_2 < b_index_part);
    b_value_part = b_wins_1 ? b_value_3 : b_value_part;
    b_index_part = b_wins_1 ? b_index_2 : b_index_part;
    const float b_value_4 = __shfl_xor_sync(0xffffffff, b_value_part, 4);
    const int b_index_3 = __shfl_xor_sync(0xffffffff, b_index_part, 4);
    const bool b_wins_2 = b_value_4 > b_value_part
        || (b_value_4 == b_value_part && b_index_3 < b_index_part);
    b_value_part = b_wins_2 ? b_value_4 : b_value_part;
    b_index_part = b_wins_2 ? b_index_3 : b_index_part;
    const float b_value_5 = __shfl_xor_sync(0xffffffff, b_value_part, 2);
    const int b_index_4 = __shfl_xor_sync(0xffffffff, b_index_part, 2);
    const bool b_wins_3 = b_value_5 > b_value_part
        || (b_value_5 == b_value_part && b_index_4 < b_index_part);
    b_value_part = b_wins_3 ? b_value_5 : b_value_part;
    b_index_part = b_wins_3 ? b_index_4 : b_index_part;
    const float b_value_6 = __shfl_xor_sync(0xffffffff, b_value_part, 1);
    const int b_index_5 = __shfl_xor_sync(0xffffffff, b_index_part, 1);
    const bool b_wins_4 = b_value_6 > b_value_part
        || (b_value_6 == b_value_part && b_index_5 < b_index_part);
    b_value_part = b_wins_4 ? b_value_6 : b_value_part;
    b_index_part = b_wins_4 ? b_index_5 : b_index_part;
    if (lane % 32 == 0) {
        b_value_warps[row][lane / 32] = b_value_part;
        b_index_warps[row][lane / 32] = b_index_part;
    }
    float b_value = __int_as_float(0xff800000);
    int b_index = -1;
    __syncthreads();  // b_value_warps: written above by other threads, read below
    #pragma unroll
    for (int warp_1 = 0; warp_1 < 2; ++warp_1) {
        const float b_value_7 = b_value_warps[row][warp_1];
        const int b_index_6 = b_index_warps[row][warp_1];
        const bool b_wins_5 = b_value_7 > b_value || (b_value_7 == b_value && b_index_6 < b_index);
        b_value = b_wins_5 ? b_value_7 : b_value;
        b_index = b_wins_5 ? b_index_6 : b_index;
    }
    for (int j_0 = 0; j_0 < 2; ++j_0) {
        const int j = j_0 * 64 + lane;
        if (j < 100)
            y[i * 100 + j] = x[i * 100 + j] * s;
    }
    for (int j_0 = 0; j_0 < 2; ++j_0) {
        const int j = j_0 * 64 + lane;
        if (j < 100)
            at[i * 100 + j] = (int)((unsigned int)j - b_index);
    }
}
