// outer: 1 launch
//   a: f32[8], read
//   b: f32[8], read
//   y: f32[8, 8], written
// outer<<<1, 1>>>(a, b, y);

extern "C" __global__ void __launch_bounds__(1)
outer(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y)
{
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        #pragma unroll
        for (int j_turn = 0; j_turn < 8; ++j_turn) {
            const int j = i % 2 == 0 ? j_turn : 7 - j_turn;
            y[i * 8 + j] = a[i] * b[j];
        }
    }
}
