// product: 1 launch
//   A: f16[128, 128], read
//   B: f16[24, 128], read
//   C: f32[128, 24], written
// product<<<1, dim3(128, 2)>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(256)
product(const unsigned short *__restrict__ A, const unsigned short *__restrict__ B,
        float *__restrict__ C)
{
    __shared__ __align__(1024) unsigned short A_shared[2][128][64];
    __shared__ __align__(1024) unsigned short B_shared[2][24][64];
    const int group = threadIdx.y;
    const int warp_ly_fused_lx_fused = threadIdx.x;
    __align__(16) float C_local[2][6];
    const int j = group * 16 + warp_ly_fused_lx_fused / 8;
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int i = each * 32 + group * 16 + warp_ly_fused_lx_fused / 8;
        copy_async<16>(&A_shared[0][i][(warp_ly_fused_lx_fused % 8 ^ i % 8) * 8],
                       &A[i * 128 + warp_ly_fused_lx_fused % 8 * 8]);
    }
    if (j < 24) {
        copy_async<16>(&B_shared[0][j][(warp_ly_fused_lx_fused % 8 ^ j % 8) * 8],
                       &B[j * 128 + warp_ly_fused_lx_fused % 8 * 8]);
    }
    copy_async_commit();  // the copies above are one group
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 3; ++nj) {
            for (int v = 0; v < 2; ++v)
                C_local[u][nj * 2 + v] = 0.0f;
        }
    }
    copy_async_wait<0>();  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 2; ++ko) {
        if (ko < 1) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int i = each * 32 + group * 16 + warp_ly_fused_lx_fused / 8;
                copy_async<16>(&A_shared[ko + 1][i][(warp_ly_fused_lx_fused % 8 ^ i % 8) * 8],
                               &A[(long long)(group * 2048 + warp_ly_fused_lx_fused / 8 * 128
                                              + warp_ly_fused_lx_fused % 8 * 8)
                                  + (long long)ko * 64 + (each * 4096 + 64)]);
            }
            if (j < 24) {
                copy_async<16>(&B_shared[ko + 1][j][(warp_ly_fused_lx_fused % 8 ^ j % 8) * 8],
                               &B[(long long)(j * 128 + warp_ly_fused_lx_fused % 8 * 8)
                                  + (long long)ko * 64 + 64]);
            }
        }
        copy_async_commit();  // the copies above are one group
        {
            float *mma_c = &C_local[0][0];
            const unsigned long long mma_p = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&A_shared[ko][group * 64][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&B_shared[ko][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11}, "
                             "%12, %13, 1, 1, 1, 0, 0;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[10]), "+f"(mma_c[11])
                             : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        copy_async_wait<0>();  // all copies
        fence_proxy_async();
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: C_shared is
                                                                    // accessed below
    settle_f32<12>(&C_local[0][0]);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        #pragma unroll
        for (int nj = 0; nj < 3; ++nj) {
            *(float2 *)&C[(group * 64 + warp_ly_fused_lx_fused / 32 * 16 + u * 8
                           + warp_ly_fused_lx_fused / 4 % 8) * 24 + nj * 8
                          + warp_ly_fused_lx_fused % 4 * 2] =
                make_float2(C_local[u][nj * 2], C_local[u][nj * 2 + 1]);
        }
    }
}
