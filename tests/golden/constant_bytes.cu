// bytes: 6 launches
//   a: i8
//   x: i8[64], written
//   y: i8[64], written
//   u: u8[64], written
//   v: i16[64], written
//   w: i8[64], written
//   b: bool[64], written
// bytes<<<1, 32>>>(x, a);
// bytes_1<<<1, 16>>>(y);
// bytes_2<<<1, 32>>>(u);
// bytes_3<<<1, 32>>>(v);
// bytes_4<<<1, 8>>>(w);
// bytes_5<<<1, 32>>>(b);

static __device__ __forceinline__ unsigned short pack_two_bytes(unsigned char a, unsigned char b)
{
    return (unsigned short)(a | b << 8);
}

static __device__ __forceinline__ unsigned int pack_bytes(unsigned char a, unsigned char b,
                                                          unsigned char c, unsigned char d)
{
    return a | (unsigned int)b << 8 | (unsigned int)c << 16 | (unsigned int)d << 24;
}

extern "C" __global__ void __launch_bounds__(32)
bytes(signed char *__restrict__ x, const signed char a)
{
    const int t = threadIdx.x;
    *(char2 *)&x[t * 2] = make_char2(a, a);
}

extern "C" __global__ void __launch_bounds__(16)
bytes_1(signed char *__restrict__ y)
{
    const int t = threadIdx.x;
    *(char4 *)&y[t * 4] = make_char4(3, 3, 3, 3);
}

extern "C" __global__ void __launch_bounds__(32)
bytes_2(unsigned char *__restrict__ u)
{
    const int t = threadIdx.x;
    *(uchar2 *)&u[t * 2] = make_uchar2(3, 3);
}

extern "C" __global__ void __launch_bounds__(32)
bytes_3(short *__restrict__ v)
{
    const int t = threadIdx.x;
    *(short2 *)&v[t * 2] = make_short2(3, 3);
}

extern "C" __global__ void __launch_bounds__(8)
bytes_4(signed char *__restrict__ w)
{
    const int t = threadIdx.x;
    *(uint2 *)&w[t * 8] = make_uint2(pack_bytes(3, 3, 3, 3), pack_bytes(3, 3, 3, 3));
}

extern "C" __global__ void __launch_bounds__(32)
bytes_5(bool *__restrict__ b)
{
    const int t = threadIdx.x;
    *(unsigned short *)&b[t * 2] = pack_two_bytes(true, true);
}
