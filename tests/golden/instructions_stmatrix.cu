// turn: 1 launch
//   x: f16[64, 32], read
//   y: f16[32, 64], written
// turn<<<1, dim3(32, 2)>>>(x, y);

extern "C" __global__ void __launch_bounds__(64)
turn(const unsigned short *__restrict__ x, unsigned short *__restrict__ y)
{
    __shared__ __align__(16) unsigned short x_shared[64][32];
    __shared__ __align__(16) unsigned short y_shared[32][72];
    const int w = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) unsigned short x_shared_local[2][16];
    for (int each = 0; each < 4; ++each) {
        const int i = each * 16 + w * 8 + lane / 4;
        *(uint4 *)&x_shared[i][(lane % 4 ^ i % 4) * 8] =
            *(const uint4 *)&x[each * 512 + w * 256 + lane * 8];
    }
    __syncthreads();  // x_shared: written above by other threads, read below
    #pragma unroll
    for (int q = 0; q < 8; ++q) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {"
                     "%0, "
                     "%1}, [%2];"
                     :
                       "=r"(*(unsigned int *)&x_shared_local[0][q * 2]),
                       "=r"(*(unsigned int *)&x_shared_local[1][q * 2])
                     : "r"((unsigned)__cvta_generic_to_shared(
                           &x_shared[q * 8 + lane % 8][(w * 2 + lane / 8 % 2 ^ lane % 4) * 8]))
                     : "memory");
    }
    #pragma unroll
    for (int q = 0; q < 4; ++q) {
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {"
                     "%1, "
                     "%2, "
                     "%3, "
                     "%4};"
                     :
                     : "r"((unsigned)__cvta_generic_to_shared(
                           &y_shared[w * 16 + lane / 16 * 8 + lane % 8]
                                    [q * 16 + lane / 8 % 2 * 8])),
                       "r"(*(const unsigned int *)&x_shared_local[0][q * 4]),
                       "r"(*(const unsigned int *)&x_shared_local[0][q * 4 + 2]),
                       "r"(*(const unsigned int *)&x_shared_local[1][q * 4]),
                       "r"(*(const unsigned int *)&x_shared_local[1][q * 4 + 2])
                     : "memory");
    }
    __syncthreads();  // y_shared: written above by other threads, read below
    for (int each = 0; each < 4; ++each) {
        const int j = each * 8 + w * 4 + lane / 8;
        *(uint4 *)&y[each * 512 + w * 256 + lane * 8] = *(const uint4 *)&y_shared[j][lane % 8 * 8];
    }
}
