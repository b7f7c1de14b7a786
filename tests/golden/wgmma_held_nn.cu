// product: 1 launch
//   x: bf16[80, 66], read
//   W: i8[70, 80], read
//   y: f32[66, 70], written
// product<<<dim3(2, 2), 128>>>(x, W, y);

static __device__ __forceinline__ unsigned int fma_bf16x2(unsigned int a, unsigned int b,
                                                          unsigned int c)
{
    unsigned int d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

static __device__ __forceinline__ unsigned int bf16x2_from_i8(unsigned char low, unsigned char high)
{
#if __CUDA_ARCH__ >= 800
    unsigned int bits = __byte_perm(low | (unsigned int)high << 8, 0x43, 0x4140);
    return fma_bf16x2(bits & 0xff80ff80u, 0xbf80bf80u, bits & 0xff7fff7fu);
#else
    return __float_as_uint((float)(signed char)low) >> 16
        | __float_as_uint((float)(signed char)high);
#endif
}

template <int bytes>
static __device__ __forceinline__ void copy_async(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes));
#else
    if (bytes == 16)
        *(uint4 *)to = *(const uint4 *)from;
    else if (bytes == 8)
        *(uint2 *)to = *(const uint2 *)from;
    else
        *(unsigned int *)to = *(const unsigned int *)from;
#endif
}

template <int bytes>
static __device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool wanted)
{
#if __CUDA_ARCH__ >= 800
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to), n = wanted ? bytes : 0;
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(n));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from),
                     "n"(bytes), "r"(n));
#else
    if (bytes == 16)
        *(uint4 *)to = wanted ? *(const uint4 *)from : uint4();
    else if (bytes == 8)
        *(uint2 *)to = wanted ? *(const uint2 *)from : uint2();
    else
        *(unsigned int *)to = wanted ? *(const unsigned int *)from : 0;
#endif
}

static __device__ __forceinline__ void copy_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int pending>
static __device__ __forceinline__ void copy_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

template <int n>
static __device__ __forceinline__ void settle_f32(float *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+f"(t[i])::"memory");
}

extern "C" __global__ void __launch_bounds__(128)
product(const unsigned short *__restrict__ x, const signed char *__restrict__ W,
        float *__restrict__ y)
{
    __shared__ __align__(16) signed char W_shared[2][64][64];
    __shared__ __align__(1024) unsigned short x_shared[2][64][64];
    const int rows = blockIdx.y;
    const int columns = blockIdx.x;
    const int lane = threadIdx.x;
    float T[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 8; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                T[u][nj * 2 + pair] = 0.0f;
        }
    }
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
        const int rows_at = rows * 64 + each * 32 + lane / 4;
        if (rows_at < 70) {
            copy_async<16>(&W_shared[0][each * 32 + lane / 4][(lane % 4 ^ lane / 8 % 4) * 16],
                           &W[rows_at * 80 + lane % 4 * 16]);
        }
    }
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int k = each * 4 + lane / 32;
        copy_async_or_zero<4>(&x_shared[0][k][(lane % 32 / 4 ^ k % 8) * 8 + lane % 4 * 2],
                              &x[k * 66 + columns * 64 + lane % 32 * 2],
                              columns * 32 + lane % 32 < 33);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    fence_proxy_async();
    __syncthreads();  // W_shared, x_shared: written above by other threads, read below
    for (int ko = 0; ko < 2; ++ko) {
        __align__(16) unsigned short V[2][8][2];
        if (ko < 1) {
            if (ko * 4 + lane % 4 < 1) {
                #pragma unroll
                for (int each = 0; each < 2; ++each) {
                    if (rows * 64 + each * 32 + lane / 4 < 70) {
                        copy_async<16>(
                            &W_shared[ko + 1][each * 32 + lane / 4]
                                     [(lane % 4 ^ lane / 8 % 4) * 16],
                            &W[(long long)(rows * 5120 + lane / 4 * 80 + lane % 4 * 16)
                               + (long long)ko * 64 + (each * 2560 + 64)]);
                    }
                }
            }
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                const int k = ko * 64 + each * 4 + lane / 32 + 64;
                copy_async_or_zero<4>(
                    &x_shared[1][k - 64]
                             [(lane % 32 / 4 ^ each % 2 * 4 + lane / 32) * 8 + lane % 4 * 2],
                    &x[(long long)(lane / 32 * 66 + columns * 64 + lane % 32 * 2)
                       + (long long)ko * 4224 + (each * 264 + 4224)],
                    k < 80 && columns * 32 + lane % 32 < 33);
            }
        }
        copy_async_commit();  // the copies above are one group
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const int j = rows * 64 + lane / 32 * 16 + u * 8 + lane % 32 / 4;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                if (j < 70 && ko * 32 + k * 4 + lane % 4 < 40) {
                    const char2 W_shared_v =
                        *(const char2 *)&W_shared[ko][lane / 32 * 16 + u * 8 + lane % 32 / 4]
                                                 [(k / 2 ^ lane % 32 / 8) * 16 + k % 2 * 8
                                                  + lane % 4 * 2];
                    unsigned int result;
                    result = bf16x2_from_i8(W_shared_v.x, W_shared_v.y);
                    *(unsigned int *)&V[j / 8 % 2][k][0] = result;
                } else {
                    *(unsigned int *)&V[j / 8 % 2][k][0] = 0x00000000u;
                }
            }
        }
        {
            float *mma_c = &T[0][0];
            const unsigned mma_a[16] = {
                *(const unsigned int *)&V[0][0][0],
                *(const unsigned int *)&V[1][0][0],
                *(const unsigned int *)&V[0][1][0],
                *(const unsigned int *)&V[1][1][0],
                *(const unsigned int *)&V[0][2][0],
                *(const unsigned int *)&V[1][2][0],
                *(const unsigned int *)&V[0][3][0],
                *(const unsigned int *)&V[1][3][0],
                *(const unsigned int *)&V[0][4][0],
                *(const unsigned int *)&V[1][4][0],
                *(const unsigned int *)&V[0][5][0],
                *(const unsigned int *)&V[1][5][0],
                *(const unsigned int *)&V[0][6][0],
                *(const unsigned int *)&V[1][6][0],
                *(const unsigned int *)&V[0][7][0],
                *(const unsigned int *)&V[1][7][0],
            };
            const unsigned long long mma_q = 0x4000004002000000ull
                | (unsigned)__cvta_generic_to_shared(&x_shared[ko][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "{%32, %33, %34, %35}, "
                             "%36, 1, 1, 1, 1;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[16]), "+f"(mma_c[17]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[18]), "+f"(mma_c[19]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[20]), "+f"(mma_c[21]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[22]), "+f"(mma_c[23]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[24]), "+f"(mma_c[25]),
                               "+f"(mma_c[10]), "+f"(mma_c[11]),
                               "+f"(mma_c[26]), "+f"(mma_c[27]),
                               "+f"(mma_c[12]), "+f"(mma_c[13]),
                               "+f"(mma_c[28]), "+f"(mma_c[29]),
                               "+f"(mma_c[14]), "+f"(mma_c[15]),
                               "+f"(mma_c[30]), "+f"(mma_c[31])
                             : "r"(mma_a[k * 4]), "r"(mma_a[k * 4 + 1]),
                               "r"(mma_a[k * 4 + 2]), "r"(mma_a[k * 4 + 3]),
                               "l"(mma_q + 128 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: V is
                                                                        // accessed below
        settle_f32<32>(&T[0][0]);
        copy_async_wait<0>();  // all copies
        fence_proxy_async();
        __syncthreads();  // W_shared, x_shared: written above, read in the next iteration of ko by
                          // other threads
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int j = rows * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (j < 70) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                if (columns * 32 + nj * 4 + lane % 4 < 33) {
                    for (int pair = 0; pair < 2; ++pair)
                        y[(long long)(columns * 4480 + lane % 4 * 140 + rows * 64 + lane / 32 * 16
                                      + lane / 4 % 8) + (long long)pair * 70
                          + (nj * 560 + u * 8)] = T[u][nj * 2 + pair];
                }
            }
        }
    }
}
