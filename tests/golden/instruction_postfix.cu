// postfix: 1 launch
//   A: i32[2, 2], read
//   B: i32[5], read
//   C: i32[4], read and written
// postfix<<<1, 1>>>(A, B, C);

extern "C" __global__ void __launch_bounds__(1)
postfix(const int *__restrict__ A, const int *__restrict__ B, int *__restrict__ C)
{
    {
        (&C[2])[0] += ((*(const int2 *)&A[0]).x + (*(const int2 *)&A[0]).y)
            * (*&B[1] + (&B[1])[1] + *(&B[1] + 2));
        (&C[2])[1] += ((&A[0])[2] + (&A[0])
            [3]) * ((&B[1])[0] + B[2] + (&B[1]) [2]);
    }
}
