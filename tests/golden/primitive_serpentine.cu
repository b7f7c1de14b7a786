// outer: 1 launch
//   a: f32[8], read
//   b: f32[8], read
//   y: f32[8, 8], written
// outer<<<1, 1>>>(a, b, y);

extern "C" __global__ void __launch_bounds__(1)
outer(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y)
{
    #pragma unroll
    for (int i_pair = 0; i_pair < 4; ++i_pair) {
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            y[i_pair * 16 + j] = a[i_pair * 2] * b[j];
        #pragma unroll
        for (int j_turn = 0; j_turn < 8; ++j_turn)
            y[i_pair * 16 - j_turn + 15] = a[i_pair * 2 + 1] * b[7 - j_turn];
    }
}
