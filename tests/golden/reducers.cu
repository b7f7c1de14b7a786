// row_argmax: 1 launch
//   x: f32[M, 4096], read
//   at: i32[M], written
//   32-bit indices: M * 4096 is at most 2147483647
// row_argmax<<<M, 32>>>(x, at);

extern "C" __global__ void __launch_bounds__(32)
row_argmax(const float *__restrict__ x, int *__restrict__ at)
{
    __shared__ int best_index;
    const int i = blockIdx.x;
    const int t = threadIdx.x;
    float best_value_part = __int_as_float(0xff800000);
    int best_index_part = -1;
    for (int step = 0; step < 128; ++step) {
        const int j = step * 32 + t;
        const float b_value = x[i * 4096 + j];
        const bool b_wins = b_value > best_value_part
            || (b_value == best_value_part && j < best_index_part);
        best_value_part = b_wins ? b_value : best_value_part;
        best_index_part = b_wins ? j : best_index_part;
    }
    const float b_value = __shfl_xor_sync(0xffffffff, best_value_part, 16);
    const int b_index = __shfl_xor_sync(0xffffffff, best_index_part, 16);
    const bool b_wins = b_value > best_value_part
        || (b_value == best_value_part && b_index < best_index_part);
    best_value_part = b_wins ? b_value : best_value_part;
    best_index_part = b_wins ? b_index : best_index_part;
    const float b_value_1 = __shfl_xor_sync(0xffffffff, best_value_part, 8);
    const int b_index_1 = __shfl_xor_sync(0xffffffff, best_index_part, 8);
    const bool b_wins_1 = b_value_1 > best_value_part
        || (b_value_1 == best_value_part && b_index_1 < best_index_part);
    best_value_part = b_wins_1 ? b_value_1 : best_value_part;
    best_index_part = b_wins_1 ? b_index_1 : best_index_part;
    const float b_value_2 = __shfl_xor_sync(0xffffffff, best_value_part, 4);
    const int b_index_2 = __shfl_xor_sync(0xffffffff, best_index_part, 4);
    const bool b_wins_2 = b_value_2 > best_value_part
        || (b_value_2 == best_value_part && b_index_2 < best_index_part);
    best_value_part = b_wins_2 ? b_value_2 : best_value_part;
    best_index_part = b_wins_2 ? b_index_2 : best_index_part;
    const float b_value_3 = __shfl_xor_sync(0xffffffff, best_value_part, 2);
    const int b_index_3 = __shfl_xor_sync(0xffffffff, best_index_part, 2);
    const bool b_wins_3 = b_value_3 > best_value_part
        || (b_value_3 == best_value_part && b_index_3 < best_index_part);
    best_value_part = b_wins_3 ? b_value_3 : best_value_part;
    best_index_part = b_wins_3 ? b_index_3 : best_index_part;
    const float b_value_4 = __shfl_xor_sync(0xffffffff, best_value_part, 1);
    const int b_index_4 = __shfl_xor_sync(0xffffffff, best_index_part, 1);
    const bool b_wins_4 = b_value_4 > best_value_part
        || (b_value_4 == best_value_part && b_index_4 < best_index_part);
    best_value_part = b_wins_4 ? b_value_4 : best_value_part;
    best_index_part = b_wins_4 ? b_index_4 : best_index_part;
    if (t == 0) {
        best_index = best_index_part;
        at[i] = best_index;
    }
}
