// product: 1 launch
//   A: f16[130, 72], read
//   B: f16[128, 130], read
//   C: f32[72, 128], written
// product<<<1, dim3(128, 2), 65536>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(256)
product(const unsigned short *__restrict__ A, const unsigned short *__restrict__ B,
        float *__restrict__ C)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*A_shared)[2][64][64] = (unsigned short (*)[2][64][64])shared_memory;
    unsigned short (*B_shared)[128][64] = (unsigned short (*)[128][64])(shared_memory + 32768);
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_local[2][32];
    for (int u = 0; u < 2; ++u) {
        for (int panel_nj_fused = 0; panel_nj_fused < 16; ++panel_nj_fused) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[u][panel_nj_fused * 2 + pair] = 0.0f;
        }
    }
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int k = each * 16 + group * 8 + lane / 16;
        copy_async_or_zero<16>(&A_shared[0][lane % 16 / 8][k][(lane % 8 ^ k % 8) * 8],
                               &A[(k - 62) * 72 + lane % 16 * 8], k > 61 && lane % 16 < 9);
    }
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int j = each * 8 + group * 4 + lane / 32;
        copy_async_or_zero<4>(&B_shared[0][j][(lane % 32 / 4 ^ j % 8) * 8 + lane % 4 * 2],
                              &B[j * 130 + lane % 32 * 2 - 62], lane % 32 > 30);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 3; ++ko) {
        if (ko < 2) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                copy_async_or_zero<16>(
                    &A_shared[(ko + 1) % 2][lane % 16 / 8][each * 16 + group * 8 + lane / 16]
                             [(lane % 8 ^ lane / 16) * 8],
                    &A[(long long)(group * 576 + lane / 16 * 72 + lane % 16 * 8)
                       + (long long)ko * 4608 + (each * 1152 + 144)],
                    lane % 16 < 9);
            }
            #pragma unroll
            for (int each = 0; each < 16; ++each) {
                const int j = each * 8 + group * 4 + lane / 32;
                copy_async<4>(
                    &B_shared[(ko + 1) % 2][j][(lane % 32 / 4 ^ j % 8) * 8 + lane % 4 * 2],
                    &B[(long long)(group * 520 + lane / 32 * 130 + lane % 32 * 2)
                       + (long long)ko * 64 + (each * 1040 + 2)]);
            }
        }
        copy_async_commit();  // the copies above are one group
        {
            float *mma_c = &C_local[0][0];
            const unsigned long long mma_p = 0x4000004002000000ull
                | (unsigned)__cvta_generic_to_shared(&A_shared[ko % 2][group][0][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&B_shared[ko % 2][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31, "
                             "%32, %33, %34, %35, "
                             "%36, %37, %38, %39, "
                             "%40, %41, %42, %43, "
                             "%44, %45, %46, %47, "
                             "%48, %49, %50, %51, "
                             "%52, %53, %54, %55, "
                             "%56, %57, %58, %59, "
                             "%60, %61, %62, %63}, "
                             "%64, %65, 1, 1, 1, 1, 0;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[32]), "+f"(mma_c[33]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[34]), "+f"(mma_c[35]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[36]), "+f"(mma_c[37]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[38]), "+f"(mma_c[39]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[40]), "+f"(mma_c[41]),
                               "+f"(mma_c[10]), "+f"(mma_c[11]),
                               "+f"(mma_c[42]), "+f"(mma_c[43]),
                               "+f"(mma_c[12]), "+f"(mma_c[13]),
                               "+f"(mma_c[44]), "+f"(mma_c[45]),
                               "+f"(mma_c[14]), "+f"(mma_c[15]),
                               "+f"(mma_c[46]), "+f"(mma_c[47]),
                               "+f"(mma_c[16]), "+f"(mma_c[17]),
                               "+f"(mma_c[48]), "+f"(mma_c[49]),
                               "+f"(mma_c[18]), "+f"(mma_c[19]),
                               "+f"(mma_c[50]), "+f"(mma_c[51]),
                               "+f"(mma_c[20]), "+f"(mma_c[21]),
                               "+f"(mma_c[52]), "+f"(mma_c[53]),
                               "+f"(mma_c[22]), "+f"(mma_c[23]),
                               "+f"(mma_c[54]), "+f"(mma_c[55]),
                               "+f"(mma_c[24]), "+f"(mma_c[25]),
                               "+f"(mma_c[56]), "+f"(mma_c[57]),
                               "+f"(mma_c[26]), "+f"(mma_c[27]),
                               "+f"(mma_c[58]), "+f"(mma_c[59]),
                               "+f"(mma_c[28]), "+f"(mma_c[29]),
                               "+f"(mma_c[60]), "+f"(mma_c[61]),
                               "+f"(mma_c[30]), "+f"(mma_c[31]),
                               "+f"(mma_c[62]), "+f"(mma_c[63])
                             : "l"(mma_p + 128 * k), "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions
        settle_f32<64>(&C_local[0][0]);
        copy_async_wait<0>();  // all copies
        fence_proxy_async();
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads; A_shared, B_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int i = group * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (i < 72) {
            #pragma unroll
            for (int panel = 0; panel < 2; ++panel) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    *(float2 *)&C[(long long)(group * 8192 + lane / 32 * 2048 + lane / 4 % 8 * 128
                                              + lane % 4 * 2) + (u * 1024 + panel * 64 + nj * 8)] =
                        make_float2(C_local[u][panel * 16 + nj * 2],
                                    C_local[u][panel * 16 + nj * 2 + 1]);
                }
            }
        }
    }
}
