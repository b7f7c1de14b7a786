// matmul_bf16: 1 launch
//   A: bf16[70, 24], read
//   B: bf16[24, 66], read
//   C: bf16[70, 66], written
// matmul_bf16<<<dim3(2, 2), 32>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(32)
matmul_bf16(const unsigned short *__restrict__ A, const unsigned short *__restrict__ B,
            unsigned short *__restrict__ C)
{
    __shared__ __align__(16) unsigned short A_shared[64][72];
    __shared__ __align__(16) unsigned short B_shared[64][72];
    const int place = (int)blockIdx.y * 2 + (int)blockIdx.x;
    const int by = place % 2;
    const int bx = place / 2;
    const int lane = threadIdx.x;
    __align__(16) float T[8][16];
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int i = by * 64 + each * 4 + lane / 8;
        copy_async_or_zero<16>(&A_shared[each * 4 + lane / 8][lane % 8 * 8],
                               &A[i * 24 + lane % 8 * 8 - 40], i < 70 && lane % 8 > 4);
    }
    #pragma unroll
    for (int each = 0; each < 64; ++each) {
        copy_async_or_zero<4>(&B_shared[each][lane * 2], &B[(each - 40) * 66 + bx * 64 + lane * 2],
                              each > 39 && bx * 32 + lane < 33);
    }
    copy_async_commit();  // the copies above are one group
    for (int mi = 0; mi < 8; ++mi) {
        for (int nj = 0; nj < 8; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                T[mi][nj * 2 + pair] = 0.0f;
        }
    }
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    #pragma unroll
    for (int ki = 0; ki < 4; ++ki) {
        unsigned mma_a[4][4], mma_b[8][2];
        float(*mma_c)[8][2] = (float(*)[8][2])&T[0][0];
        const int mma_l = threadIdx.x;
        const int mma_i = 2 * 1152;
        const int mma_j = 32;
        const unsigned mma_p = __cvta_generic_to_shared(
            &A_shared[0][ki * 16] + mma_l % 16 * 72 + mma_l / 16 * 8);
        const unsigned mma_q = __cvta_generic_to_shared(
            &B_shared[ki * 16][0] + mma_l % 16 * 72 + mma_l / 16 * 8);
        #pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                         "{%0, %1, %2, %3}, [%4];"
                         : "=r"(mma_a[i][0]), "=r"(mma_a[i][1]),
                           "=r"(mma_a[i][2]), "=r"(mma_a[i][3])
                         : "r"(mma_p + i * mma_i));
        #pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                         "{%0, %1, %2, %3}, [%4];"
                         : "=r"(mma_b[2 * i][0]), "=r"(mma_b[2 * i][1]),
                           "=r"(mma_b[2 * i + 1][0]), "=r"(mma_b[2 * i + 1][1])
                         : "r"(mma_q + i * mma_j));
        #pragma unroll
        for (int i = 0; i < 4; i++)
        #pragma unroll
            for (int j = 0; j < 8; j++)
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(mma_c[2 * i][j][0]), "+f"(mma_c[2 * i][j][1]),
                               "+f"(mma_c[2 * i + 1][j][0]), "+f"(mma_c[2 * i + 1][j][1])
                             : "r"(mma_a[i][0]), "r"(mma_a[i][1]), "r"(mma_a[i][2]),
                               "r"(mma_a[i][3]), "r"(mma_b[j][0]), "r"(mma_b[j][1]));
    }
    #pragma unroll
    for (int mi = 0; mi < 8; ++mi) {
        const int i = by * 64 + mi * 8 + lane / 4;
        if (i < 70) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                if (bx * 32 + nj * 4 + lane % 4 < 33) {
                    *(unsigned int *)&C[(long long)(by * 4224 + lane / 4 * 66 + bx * 64
                                                    + lane % 4 * 2) + (mi * 528 + nj * 8)] =
                        bf16x2_from_f32(T[mi][nj * 2], T[mi][nj * 2 + 1]);
                }
            }
        }
    }
}
