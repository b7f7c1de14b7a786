// columns: 2 launches
//   A: f32[M, 3, 8], read
//   B: f32[8, M], read
//   d: f32[M], written
//   32-bit indices: M * 24 is at most 2147483647
//   t: f32[4, 9], temporary, allocated by the caller
// columns<<<1, 1>>>(t);
// columns_1<<<1, 1>>>(A, B, d, t, M);

extern "C" __global__ void __launch_bounds__(1)
columns(float *__restrict__ t)
{
    for (int i_ = 0; i_ < 4; ++i_) {
        for (int j = 0; j < 9; ++j)
            t[i_ * 9 + j] = (float)(i_ * j);
    }
}

extern "C" __global__ void __launch_bounds__(1)
columns_1(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ d,
          const float *__restrict__ t, const int M)
{
    for (int i_ = 0; i_ < M; ++i_) {
        d[i_] = 0.0f;
        {
            for (int i = 0; i < 3; i++)
                d[i_] += (&t[14])[i * 9] * (&B[M * 4 + i_])[i * (&B[M * 5 + i_] - &B[M * 4 + i_])];
        }
        {
            for (int i = 0; i < 3; i++)
                d[i_] += (&A[i_ * 24 + 5])[i * (&A[(i_ * 3 + 1) * 8 + 5] - &A[i_ * 24 + 5])]
                    * (&t[i_ % 9 + 9])[i * 9];
        }
    }
}
