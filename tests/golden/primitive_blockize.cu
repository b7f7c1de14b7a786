// matmul: 1 launch
//   A: f32[20, 17], read
//   B: f32[17, 33], read
//   C: f32[20, 33], written
// matmul<<<3, 5>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(5)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    const int io = blockIdx.x;
    const int jo = threadIdx.x;
    for (int ii = 0; ii < 8; ++ii) {
        for (int ji = 0; ji < 8; ++ji) {
            if (io * 8 + ii < 20 && jo * 8 + ji < 33)
                C[(io * 8 + ii) * 33 + jo * 8 + ji] = 0.0f;
        }
    }
    for (int ko = 0; ko < 5; ++ko) {
        for (int ii = 0; ii < 8; ++ii) {
            for (int ji = 0; ji < 8; ++ji) {
                float C_acc;
                if (io * 8 + ii < 20 && jo * 8 + ji < 33)
                    C_acc = C[(io * 8 + ii) * 33 + jo * 8 + ji];
                for (int ki = 0; ki < 4; ++ki) {
                    if (io * 8 + ii < 20 && jo * 8 + ji < 33 && ko * 4 + ki < 17)
                        C_acc += A[(io * 8 + ii) * 17 + ko * 4 + ki]
                            * B[(ko * 4 + ki) * 33 + jo * 8 + ji];
                }
                if (io * 8 + ii < 20 && jo * 8 + ji < 33)
                    C[(io * 8 + ii) * 33 + jo * 8 + ji] = C_acc;
            }
        }
    }
}
