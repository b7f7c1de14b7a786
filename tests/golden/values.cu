// values: 1 launch
//   table: f32[1000, 64], read
//   id: i32[100], read
//   w: f32[64], read
//   y: f32[100, 64], written
//   s: f32[100], written
//   n: i32[100], written
// values<<<100, 32>>>(table, id, w, y, s, n);

extern "C" __global__ void __launch_bounds__(32)
values(const float *__restrict__ table, const int *__restrict__ id, const float *__restrict__ w,
       float *__restrict__ y, float *__restrict__ s, int *__restrict__ n)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    for (int o = 0; o < 2; ++o) {
        const int d = o * 32 + t;
        const int row = id[b];
        const float v = table[row * 64 + 63 - d];
        y[b * 64 + d] = v * v - v;
    }
    float s_part = -0.0f;
    for (int o = 0; o < 2; ++o) {
        const int d = o * 32 + t;
        const int row = id[b];
        const float v = table[row * 64 + d];
        const float weighted = v * w[d];
        s_part += weighted * weighted;
    }
    s_part += __shfl_xor_sync(0xffffffff, s_part, 16);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 8);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 4);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 2);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 1);
    if (t == 0) {
        s[b] = (float)id[b] * 0.5f + s_part;
        const int row = id[b];
        if (row > 0) {
            const int before = id[99 - b];
            n[b] = (int)((unsigned int)row - before);
        } else
            n[b] = row;
    }
}
