// spmv: 1 launch
//   ptr: i32[N + 1], read
//   col: i32[NNZ], read
//   val: f32[NNZ], read
//   x: f32[N], read
//   y: f32[N], written
//   32-bit indices: N + 6 is at most 2147483647
// spmv<<<(N + 7) / 8, dim3(32, 8)>>>(ptr, col, val, x, y, N);

extern "C" __global__ void __launch_bounds__(256)
spmv(const int *__restrict__ ptr, const int *__restrict__ col, const float *__restrict__ val,
     const float *__restrict__ x, float *__restrict__ y, const int N)
{
    const int block = blockIdx.x;
    const int row = threadIdx.y;
    const int lane = threadIdx.x;
    const int i = block * 8 + row;
    float y_part = 0.0f;
    if (i < N) {
        const int ptr_begin = ptr[i];
        const int ptr_end = ptr[i + 1];
        for (int k_0 = 0; k_0 < (int)(((long long)(ptr_end - ptr_begin) + 31) / 32); ++k_0) {
            const long long k = (long long)k_0 * 32 + lane + ptr_begin;
            if (k < ptr_end)
                y_part += val[k] * x[col[k]];
        }
    }
    y_part += __shfl_xor_sync(0xffffffff, y_part, 16);
    y_part += __shfl_xor_sync(0xffffffff, y_part, 8);
    y_part += __shfl_xor_sync(0xffffffff, y_part, 4);
    y_part += __shfl_xor_sync(0xffffffff, y_part, 2);
    y_part += __shfl_xor_sync(0xffffffff, y_part, 1);
    if (lane == 0 && i < N)
        y[i] = y_part;
}
