// matmul_f8_nt: 1 launch
//   A: f8e4m3[50, 48], read
//   B: f8e4m3[64, 48], read
//   C: f32[50, 64], written
// matmul_f8_nt<<<1, 32>>>(A, B, C);

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
matmul_f8_nt(const unsigned char *__restrict__ A, const unsigned char *__restrict__ B,
             float *__restrict__ C)
{
    __shared__ __align__(16) unsigned char A_shared[64][144];
    __shared__ __align__(16) unsigned char B_shared[64][144];
    const int lane = threadIdx.x;
    __align__(16) float C_local[8][16];
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int i = each * 4 + lane / 8;
        copy_async_or_zero<16>(&A_shared[i][lane % 8 * 16], &A[i * 48 + lane % 8 * 16 - 80],
                               i < 50 && lane % 8 > 4);
    }
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int j = each * 4 + lane / 8;
        copy_async_or_zero<16>(&B_shared[j][lane % 8 * 16], &B[j * 48 + lane % 8 * 16 - 80],
                               lane % 8 > 4);
    }
    copy_async_commit();  // the copies above are one group
    for (int mi = 0; mi < 8; ++mi) {
        for (int nj = 0; nj < 8; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[mi][nj * 2 + pair] = 0.0f;
        }
    }
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    #pragma unroll
    for (int ki = 0; ki < 4; ++ki) {
        unsigned mma_a[4][4], mma_b[8][2];
        float(*mma_c)[8][2] = (float(*)[8][2])&C_local[0][0];
        const int mma_l = threadIdx.x;
        const int mma_r = mma_l % 8 + mma_l / 16 * 8, mma_s = mma_l / 8 % 2;
        const int mma_i = 1 * 2304;
        const int mma_j = 1 * 2304;
        const unsigned mma_p = __cvta_generic_to_shared(
            &A_shared[0][ki * 32] + mma_l % 16 * 144 + mma_l / 16 * 16);
        const unsigned mma_q = __cvta_generic_to_shared(
            &B_shared[0][ki * 32] + mma_r * 144 + mma_s * 16);
        #pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                         "{%0, %1, %2, %3}, [%4];"
                         : "=r"(mma_a[i][0]), "=r"(mma_a[i][1]),
                           "=r"(mma_a[i][2]), "=r"(mma_a[i][3])
                         : "r"(mma_p + i * mma_i));
        #pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                         "{%0, %1, %2, %3}, [%4];"
                         : "=r"(mma_b[2 * i][0]), "=r"(mma_b[2 * i][1]),
                           "=r"(mma_b[2 * i + 1][0]), "=r"(mma_b[2 * i + 1][1])
                         : "r"(mma_q + i * mma_j));
        #pragma unroll
        for (int i = 0; i < 4; i++)
        #pragma unroll
            for (int j = 0; j < 8; j++)
                asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(mma_c[2 * i][j][0]), "+f"(mma_c[2 * i][j][1]),
                               "+f"(mma_c[2 * i + 1][j][0]), "+f"(mma_c[2 * i + 1][j][1])
                             : "r"(mma_a[i][0]), "r"(mma_a[i][1]), "r"(mma_a[i][2]),
                               "r"(mma_a[i][3]), "r"(mma_b[j][0]), "r"(mma_b[j][1]));
    }
    #pragma unroll
    for (int mi = 0; mi < 8; ++mi) {
        const int i = mi * 8 + lane / 4;
        if (i < 50) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                *(float2 *)&C[(long long)(lane / 4 * 64 + lane % 4 * 2) + (mi * 512 + nj * 8)] =
                    make_float2(C_local[mi][nj * 2], C_local[mi][nj * 2 + 1]);
            }
        }
    }
}
