// unread_values: 1 launch
//   x: f32[64, 256], read
//   c: u8[64], read
//   label: i32[256], read
//   at: i32[64], written
//   l: i32[64], written
// unread_values<<<64, 128>>>(x, c, label, at, l);

extern "C" __global__ void __launch_bounds__(128)
unread_values(const float *__restrict__ x, const unsigned char *__restrict__ c,
              const int *__restrict__ label, int *__restrict__ at, int *__restrict__ l)
{
    __shared__ float best_value_warps[4];
    __shared__ int best_index_warps[4];
    __shared__ int best_index;
    const int i = blockIdx.x;
    const int lane = threadIdx.x;
    float best_value_part = __int_as_float(0xff800000);
    int best_index_part = -1;
    for (int each = 0; each < 2; ++each) {
        const int j = each * 128 + lane;
        const float b_value = x[i * 256 + j];
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
    if (lane % 32 == 0) {
        best_value_warps[lane / 32] = best_value_part;
        best_index_warps[lane / 32] = best_index_part;
    }
    __syncthreads();  // best_value_warps: written above by other threads, read below
    best_value_part = lane % 32 < 4 ? best_value_warps[lane % 32] : __int_as_float(0xff800000);
    best_index_part = lane % 32 < 4 ? best_index_warps[lane % 32] : -1;
    const float b_value_5 = __shfl_xor_sync(0xffffffff, best_value_part, 2);
    const int b_index_5 = __shfl_xor_sync(0xffffffff, best_index_part, 2);
    const bool b_wins_5 = b_value_5 > best_value_part
        || (b_value_5 == best_value_part && b_index_5 < best_index_part);
    best_value_part = b_wins_5 ? b_value_5 : best_value_part;
    best_index_part = b_wins_5 ? b_index_5 : best_index_part;
    const float b_value_6 = __shfl_xor_sync(0xffffffff, best_value_part, 1);
    const int b_index_6 = __shfl_xor_sync(0xffffffff, best_index_part, 1);
    const bool b_wins_6 = b_value_6 > best_value_part
        || (b_value_6 == best_value_part && b_index_6 < best_index_part);
    best_value_part = b_wins_6 ? b_value_6 : best_value_part;
    best_index_part = b_wins_6 ? b_index_6 : best_index_part;
    if (lane == 0) {
        best_index = best_index_part;
        at[i] = best_index;
        l[i] = label[c[i]];
    }
}
