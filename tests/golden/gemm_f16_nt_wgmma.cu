// matmul_f16_nt: 1 launch
//   A: f16[72, 300], read
//   B: f16[68, 300], read
//   C: f32[72, 68], written
// matmul_f16_nt<<<dim3(2, 2), 128>>>(A, B, C);

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
matmul_f16_nt(const unsigned short *__restrict__ A, const unsigned short *__restrict__ B,
              float *__restrict__ C)
{
    __shared__ __align__(1024) unsigned short A_shared[3][64][64];
    __shared__ __align__(1024) unsigned short B_shared[3][64][64];
    const int place = (int)blockIdx.y * 2 + (int)blockIdx.x;
    const int by = place % 2;
    const int bx = place / 2;
    const int lane = threadIdx.x;
    __align__(16) float C_local[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int panel_nj_fused = 0; panel_nj_fused < 8; ++panel_nj_fused) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[u][panel_nj_fused * 2 + pair] = 0.0f;
        }
    }
    for (int ko_first = 0; ko_first < 2; ++ko_first) {
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            const int i = by * 64 + each * 8 + lane / 16;
            copy_async_or_zero<8>(
                &A_shared[ko_first][each * 8 + lane / 16]
                         [(lane % 16 / 2 ^ lane / 16) * 8 + lane % 2 * 4],
                &A[(long long)(by * 19200 + lane / 16 * 300 + lane % 16 * 4)
                   + (long long)ko_first * 64 + (each * 2400 - 20)],
                i < 72 && ko_first * 16 + lane % 16 > 4);
        }
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            const int j = bx * 64 + each * 8 + lane / 16;
            copy_async_or_zero<8>(
                &B_shared[ko_first][each * 8 + lane / 16]
                         [(lane % 16 / 2 ^ lane / 16) * 8 + lane % 2 * 4],
                &B[(long long)(bx * 19200 + lane / 16 * 300 + lane % 16 * 4)
                   + (long long)ko_first * 64 + (each * 2400 - 20)],
                j < 68 && ko_first * 16 + lane % 16 > 4);
        }
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 5; ++ko) {
        if (ko < 3) {
            #pragma unroll
            for (int each = 0; each < 8; ++each) {
                const int i = by * 64 + each * 8 + lane / 16;
                copy_async_or_zero<8>(
                    &A_shared[(ko + 2) % 3][each * 8 + lane / 16]
                             [(lane % 16 / 2 ^ lane / 16) * 8 + lane % 2 * 4],
                    &A[(long long)(by * 19200 + lane / 16 * 300 + lane % 16 * 4)
                       + (long long)ko * 64 + (each * 2400 + 108)],
                    i < 72);
            }
            #pragma unroll
            for (int each = 0; each < 8; ++each) {
                const int j = bx * 64 + each * 8 + lane / 16;
                copy_async_or_zero<8>(
                    &B_shared[(ko + 2) % 3][each * 8 + lane / 16]
                             [(lane % 16 / 2 ^ lane / 16) * 8 + lane % 2 * 4],
                    &B[(long long)(bx * 19200 + lane / 16 * 300 + lane % 16 * 4)
                       + (long long)ko * 64 + (each * 2400 + 108)],
                    j < 68);
            }
        }
        copy_async_commit();  // the copies above are one group
        {
            float *mma_c = &C_local[0][0];
            const unsigned long long mma_p = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&A_shared[ko % 3][0][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&B_shared[ko % 3][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "%32, %33, 1, 1, 1, 0, 0;"
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
                             : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions
        settle_f32<32>(&C_local[0][0]);
        copy_async_wait<1>();  // all copies but those of the last group
        fence_proxy_async();
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads; A_shared, B_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int i = by * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (i < 72) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                if (bx * 32 + nj * 4 + lane % 4 < 34) {
                    *(float2 *)&C[(long long)(by * 4352 + lane / 32 * 1088 + lane / 4 % 8 * 68
                                              + bx * 64 + lane % 4 * 2) + (u * 544 + nj * 8)] =
                        make_float2(C_local[u][nj * 2], C_local[u][nj * 2 + 1]);
                }
            }
        }
    }
}
