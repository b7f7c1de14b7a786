// turn: 1 launch
//   x: f16[64, 32], read
//   y: f16[32, 64], written
// turn<<<2, dim3(32, 2)>>>(x, y);

extern "C" __global__ void __launch_bounds__(64)
turn(const unsigned short *__restrict__ x, unsigned short *__restrict__ y)
{
    __shared__ __align__(16) unsigned short x_shared[32][32];
    __shared__ __align__(16) unsigned short y_shared[32][40];
    const int b = blockIdx.x;
    const int w = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) unsigned short x_shared_local[2][8];
    for (int each = 0; each < 2; ++each) {
        *(uint4 *)&x_shared[each * 16 + w * 8 + lane / 4][(lane % 4 ^ lane / 4 % 4) * 8] =
            *(const uint4 *)&x[b * 1024 + each * 512 + w * 256 + lane * 8];
    }
    __syncthreads();  // x_shared: written above by other threads, read below
    #pragma unroll
    for (int q = 0; q < 2; ++q) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {"
                     "%0, "
                     "%1, "
                     "%2, "
                     "%3}, [%4];"
                     :
                       "=r"(*(unsigned int *)&x_shared_local[0][q * 4]),
                       "=r"(*(unsigned int *)&x_shared_local[0][q * 4 + 2]),
                       "=r"(*(unsigned int *)&x_shared_local[1][q * 4]),
                       "=r"(*(unsigned int *)&x_shared_local[1][q * 4 + 2])
                     : "r"((unsigned)__cvta_generic_to_shared(
                           &x_shared[w * 16 + lane / 16 * 8 + lane % 8]
                                    [(q * 2 + lane / 8 % 2 ^ lane % 4) * 8]))
                     : "memory");
    }
    #pragma unroll
    for (int q = 0; q < 4; ++q) {
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {"
                     "%1, "
                     "%2};"
                     :
                     : "r"((unsigned)__cvta_generic_to_shared(
                           &y_shared[q * 8 + lane % 8][w * 16 + lane / 8 % 2 * 8])),
                       "r"(*(const unsigned int *)&x_shared_local[0][q * 2]),
                       "r"(*(const unsigned int *)&x_shared_local[1][q * 2])
                     : "memory");
    }
    __syncthreads();  // y_shared: written above by other threads, read below
    for (int each = 0; each < 2; ++each) {
        const int j = each * 16 + w * 8 + lane / 4;
        *(uint4 *)&y[j * 64 + b * 32 + lane % 4 * 8] = *(const uint4 *)&y_shared[j][lane % 4 * 8];
    }
}
