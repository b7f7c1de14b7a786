// product: 1 launch
//   A: i8[66, 260], read
//   B: i8[70, 260], read
//   C: i32[66, 70], written
// product<<<dim3(2, 2), 128>>>(A, B, C);

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
static __device__ __forceinline__ void settle_i32(int *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+r"(t[i])::"memory");
}

extern "C" __global__ void __launch_bounds__(128)
product(const signed char *__restrict__ A, const signed char *__restrict__ B, int *__restrict__ C)
{
    __shared__ __align__(1024) signed char A_shared[2][64][128];
    __shared__ __align__(1024) signed char B_shared[2][64][128];
    const int place = (int)blockIdx.y * 2 + (int)blockIdx.x;
    const int by = place % 2;
    const int bx = place / 2;
    const int lane = threadIdx.x;
    __align__(16) int C_local[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int panel_nj_fused = 0; panel_nj_fused < 8; ++panel_nj_fused) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[u][panel_nj_fused * 2 + pair] = 0;
        }
    }
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int i = by * 64 + each * 4 + lane / 32;
        copy_async_or_zero<4>(
            &A_shared[0][each * 4 + lane / 32]
                     [(lane % 32 / 4 ^ each % 2 * 4 + lane / 32) * 16 + lane % 4 * 4],
            &A[i * 260 + lane % 32 * 4 - 124], i < 66 && lane % 32 > 30);
    }
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int j = bx * 64 + each * 4 + lane / 32;
        copy_async_or_zero<4>(
            &B_shared[0][each * 4 + lane / 32]
                     [(lane % 32 / 4 ^ each % 2 * 4 + lane / 32) * 16 + lane % 4 * 4],
            &B[j * 260 + lane % 32 * 4 - 124], j < 70 && lane % 32 > 30);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 3; ++ko) {
        if (ko < 2) {
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                const int i = by * 64 + each * 4 + lane / 32;
                copy_async_or_zero<4>(
                    &A_shared[(ko + 1) % 2][each * 4 + lane / 32]
                             [(lane % 32 / 4 ^ each % 2 * 4 + lane / 32) * 16 + lane % 4 * 4],
                    &A[(long long)(by * 16640 + lane / 32 * 260 + lane % 32 * 4)
                       + (long long)ko * 128 + (each * 1040 + 4)],
                    i < 66);
            }
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                const int j = bx * 64 + each * 4 + lane / 32;
                copy_async_or_zero<4>(
                    &B_shared[(ko + 1) % 2][each * 4 + lane / 32]
                             [(lane % 32 / 4 ^ each % 2 * 4 + lane / 32) * 16 + lane % 4 * 4],
                    &B[(long long)(bx * 16640 + lane / 32 * 260 + lane % 32 * 4)
                       + (long long)ko * 128 + (each * 1040 + 4)],
                    j < 70);
            }
        }
        copy_async_commit();  // the copies above are one group
        {
            int *mma_c = &C_local[0][0];
            const unsigned long long mma_p = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&A_shared[ko % 2][0][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&B_shared[ko % 2][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "%32, %33, 1;"
                             :
                               "+r"(mma_c[0]), "+r"(mma_c[1]),
                               "+r"(mma_c[16]), "+r"(mma_c[17]),
                               "+r"(mma_c[2]), "+r"(mma_c[3]),
                               "+r"(mma_c[18]), "+r"(mma_c[19]),
                               "+r"(mma_c[4]), "+r"(mma_c[5]),
                               "+r"(mma_c[20]), "+r"(mma_c[21]),
                               "+r"(mma_c[6]), "+r"(mma_c[7]),
                               "+r"(mma_c[22]), "+r"(mma_c[23]),
                               "+r"(mma_c[8]), "+r"(mma_c[9]),
                               "+r"(mma_c[24]), "+r"(mma_c[25]),
                               "+r"(mma_c[10]), "+r"(mma_c[11]),
                               "+r"(mma_c[26]), "+r"(mma_c[27]),
                               "+r"(mma_c[12]), "+r"(mma_c[13]),
                               "+r"(mma_c[28]), "+r"(mma_c[29]),
                               "+r"(mma_c[14]), "+r"(mma_c[15]),
                               "+r"(mma_c[30]), "+r"(mma_c[31])
                             : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions
        settle_i32<32>(&C_local[0][0]);
        copy_async_wait<0>();  // all copies
        fence_proxy_async();
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads; A_shared, B_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int i = by * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (i < 66) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                if (bx * 32 + nj * 4 + lane % 4 < 35) {
                    *(int2 *)&C[(long long)(by * 4480 + lane / 32 * 1120 + lane / 4 % 8 * 70
                                            + bx * 64 + lane % 4 * 2) + (u * 560 + nj * 8)] =
                        make_int2(C_local[u][nj * 2], C_local[u][nj * 2 + 1]);
                }
            }
        }
    }
}
