// sums: 2 launches
//   x: f16[64], read
//   y: f16[64], read
//   u: bf16[64], read
//   v: bf16[64], read
//   z: f16[64], read and written
//   w: bf16[64], read and written
// sums<<<1, 32>>>(x, y, z);
// sums_1<<<1, 32>>>(u, v, w);

extern "C" __global__ void __launch_bounds__(32)
sums(const unsigned short *__restrict__ x, const unsigned short *__restrict__ y,
     unsigned short *__restrict__ z)
{
    const int io = threadIdx.x;
    {
        asm("fma.rn.f16x2 %0, %1, %2, %0;"
            : "+r"(*(unsigned int *)&z[io * 2])
            : "r"(*(const unsigned int *)&x[io * 2]), "r"(*(const unsigned int *)&y[io * 2]));
    }
}

extern "C" __global__ void __launch_bounds__(32)
sums_1(const unsigned short *__restrict__ u, const unsigned short *__restrict__ v,
       unsigned short *__restrict__ w)
{
    const int io = threadIdx.x;
    {
        asm("fma.rn.bf16x2 %0, %1, %2, %0;"
            : "+r"(*(unsigned int *)&w[io * 2])
            : "r"(*(const unsigned int *)&u[io * 2]), "r"(*(const unsigned int *)&v[io * 2]));
    }
}
