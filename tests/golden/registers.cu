// rows: 2 launches
//   x: f32[16, N], read
//   keep: bool[16, N], read
//   s: f32[N], read and written
//   sum: f32[16], written
//   best: f32[16], written
//   at: i32[16], written
//   up: f32[16, N], written
//   32-bit indices: N * 16 is at most 2147483647
// rows<<<1, 16>>>(x, keep, sum, best, at, up, N);
// rows_1<<<1, 1>>>(s, N);

extern "C" __global__ void __launch_bounds__(16)
rows(const float *__restrict__ x, const bool *__restrict__ keep, float *__restrict__ sum,
     float *__restrict__ best, int *__restrict__ at, float *__restrict__ up, const int N)
{
    const int i = threadIdx.x;
    float sum_acc = 0.0f;
    for (int j = 0; j < N; ++j) {
        if (keep[i * N + j])
            sum_acc += x[i * N + j];
    }
    sum[i] = sum_acc;
    float best_acc = __int_as_float(0xff800000);
    int at_acc = -1;
    for (int j = 0; j < N; ++j) {
        if (x[i * N + j] > best_acc) {
            best_acc = x[i * N + j];
            at_acc = j;
        }
    }
    best[i] = best_acc;
    at[i] = at_acc;
    float up_acc;
    for (int j = 0; j < N; ++j) {
        up_acc = j > 0 ? up_acc + x[i * N + j] : x[i * N + j];
        up[i * N + j] = up_acc;
    }
}

extern "C" __global__ void __launch_bounds__(1)
rows_1(float *__restrict__ s, const int N)
{
    float s_acc;
    if (N > 1)
        s_acc = s[0];
    for (int j = 1; j < N; ++j) {
        s_acc = s[j] + s_acc;
        s[j] = s_acc;
    }
}
