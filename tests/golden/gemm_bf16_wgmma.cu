// matmul_bf16: 1 launch
//   A: bf16[70, 136], read
//   B: bf16[136, 131], read
//   C: bf16[70, 131], written
// matmul_bf16<<<2, dim3(128, 2), 107264>>>(A, B, C);

static __device__ __forceinline__ float bf16_to_f32(unsigned short h)
{
    return __uint_as_float((unsigned int)h << 16);
}

static __device__ __forceinline__ unsigned short bf16_from_f32(float f)
{
    unsigned short h;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
#else
    unsigned int bits = __float_as_uint(f);
    h = f != f ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
    return h;
}

static __device__ __forceinline__ unsigned int bf16x2_from_f32(float low, float high)
{
    unsigned int h2;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h2) : "f"(high), "f"(low));
#else
    unsigned int l = __float_as_uint(low), h = __float_as_uint(high);
    l = low != low ? 0x7fff0000 : l + 0x7fff + (l >> 16 & 1);
    h = high != high ? 0x7fff0000 : h + 0x7fff + (h >> 16 & 1);
    h2 = l >> 16 | (h & 0xffff0000);
#endif
    return h2;
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
matmul_bf16(const unsigned short *__restrict__ A, const unsigned short *__restrict__ B,
            unsigned short *__restrict__ C)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*A_shared)[128][64] = (unsigned short (*)[128][64])shared_memory;
    unsigned short (*B_shared)[2][64][64] = (unsigned short (*)[2][64][64])(shared_memory + 49152);
    unsigned short (*C_shared)[64] = (unsigned short (*)[64])(shared_memory + 98304);
    const int bx = blockIdx.x;
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float T[2][32];
    const int j = bx * 128 + lane;
    for (int u = 0; u < 2; ++u) {
        for (int panel = 0; panel < 2; ++panel) {
            for (int nj = 0; nj < 8; ++nj) {
                for (int pair = 0; pair < 2; ++pair)
                    T[u][panel * 16 + nj * 2 + pair] = 0.0f;
            }
        }
    }
    for (int ko_first = 0; ko_first < 2; ++ko_first) {
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            const int i = each * 32 + group * 16 + lane / 8;
            copy_async_or_zero<16>(&A_shared[ko_first][i][(lane % 8 ^ i % 8) * 8],
                                   &A[(long long)(group * 2176 + lane / 8 * 136 + lane % 8 * 8)
                                      + (long long)ko_first * 64 + (each * 4352 - 56)],
                                   i < 70 && ko_first * 8 + lane % 8 > 6);
        }
        copy_async_commit();  // the copies above are one group
        #pragma unroll
        for (int each = 0; each < 32; ++each) {
            const int k = ko_first * 64 + each * 2 + group;
            B_shared[k / 64][lane / 64][k % 64][(j % 64 / 8 ^ k % 8) * 8 + j % 8] =
                bf16_from_f32(k > 55 && j < 131 ? bf16_to_f32(B[(k - 56) * 131 + j]) : 0.0f);
        }
    }
    copy_async_wait<0>();  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 3; ++ko) {
        if (ko < 1) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int i = each * 32 + group * 16 + lane / 8;
                copy_async_or_zero<16>(&A_shared[ko + 2][i][(lane % 8 ^ i % 8) * 8],
                                       &A[(long long)(group * 2176 + lane / 8 * 136 + lane % 8 * 8)
                                          + (long long)ko * 64 + (each * 4352 + 72)],
                                       i < 70);
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int each = 0; each < 32; ++each) {
                const int k = ko * 64 + each * 2 + group + 128;
                B_shared[2][lane / 64][k - 128][(j % 64 / 8 ^ k % 8) * 8 + j % 8] =
                    bf16_from_f32(j < 131 ? bf16_to_f32(B[(k - 56) * 131 + j]) : 0.0f);
            }
        }
        {
            float *mma_c = &T[0][0];
            const unsigned long long mma_p = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&A_shared[ko][group * 64][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004002000000ull
                | (unsigned)__cvta_generic_to_shared(&B_shared[ko][0][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
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
                             "%64, %65, 1, 1, 1, 0, 1;"
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
                             : "l"(mma_p + 2 * k), "l"(mma_q + 128 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        copy_async_wait<0>();  // all copies
        fence_proxy_async();
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: T is
                                                                    // accessed below
    settle_f32<64>(&T[0][0]);
    #pragma unroll
    for (int panels = 0; panels < 2; ++panels) {
        const int j_1 = bx * 128 + panels * 64 + lane % 64;
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const int i = group * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
            if (i < 70) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    if (bx * 64 + panels * 32 + nj * 4 + lane % 4 < 65) {
                        *(unsigned int *)&C_shared[i][(nj ^ i % 8) * 8 + lane % 4 * 2] =
                            bf16x2_from_f32(T[u][panels * 16 + nj * 2],
                                            T[u][panels * 16 + nj * 2 + 1]);
                    } else {
                        #pragma unroll
                        for (int pair = 0; pair < 2; ++pair) {
                            if (bx * 128 + panels * 64 + nj * 8 + lane % 4 * 2 + pair < 131)
                                C_shared[i][(nj ^ i % 8) * 8 + lane % 4 * 2 + pair] =
                                    bf16_from_f32(T[u][panels * 16 + nj * 2 + pair]);
                        }
                    }
                }
            }
        }
        fence_proxy_async();
        __syncthreads();  // C_shared: written above by other threads, read below
        if (j_1 < 131) {
            #pragma unroll
            for (int each = 0; each < 32; ++each) {
                const int i = group * 64 + each * 2 + lane / 64;
                if (i < 70)
                    C[(long long)(group * 8384 + lane / 64 * 131 + bx * 128 + lane % 64)
                      + (each * 262 + panels * 64)] =
                        C_shared[i][(lane % 64 / 8 ^ i % 8) * 8 + lane % 8];
            }
        }
        fence_proxy_async();
        __syncthreads();  // C_shared: read above, overwritten in the next iteration of panels by
                          // other threads
    }
}
