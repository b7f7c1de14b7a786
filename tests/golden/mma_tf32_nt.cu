// product: 1 launch
//   A: f32[64, 32], read
//   B: f32[64, 32], read
//   C: f32[64, 64], written
// product<<<1, 32>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(32)
product(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    __shared__ __align__(16) float A_shared[64][36];
    __shared__ __align__(16) float B_shared[64][36];
    const int lane = threadIdx.x;
    __align__(16) float C_local[8][16];
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int i = each * 4 + lane / 8;
        copy_async<16>(&A_shared[i][lane % 8 * 4], &A[each * 128 + lane * 4]);
    }
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        const int j = each * 4 + lane / 8;
        copy_async<16>(&B_shared[j][lane % 8 * 4], &B[each * 128 + lane * 4]);
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
        const unsigned mma_p = __cvta_generic_to_shared(
            &A_shared[0][ki * 8] + mma_l % 16 * 36 + mma_l / 16 * 4);
        const unsigned mma_q = __cvta_generic_to_shared(
            &B_shared[0][ki * 8] + (mma_l % 8 + mma_l / 16 * 8) * 36 + mma_l / 8 % 2 * 4);
        #pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                         "{%0, %1, %2, %3}, [%4];"
                         : "=r"(mma_a[i][0]), "=r"(mma_a[i][1]),
                           "=r"(mma_a[i][2]), "=r"(mma_a[i][3])
                         : "r"(mma_p + i * 4 * (int)576));
        #pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                         "{%0, %1, %2, %3}, [%4];"
                         : "=r"(mma_b[2 * i][0]), "=r"(mma_b[2 * i][1]),
                           "=r"(mma_b[2 * i + 1][0]), "=r"(mma_b[2 * i + 1][1])
                         : "r"(mma_q + i * 4 * (int)576));
        #pragma unroll
        for (int i = 0; i < 16; i++)
            asm("cvt.rna.tf32.f32 %0, %1;"
                : "=r"(mma_a[i / 4][i % 4])
                : "f"(__uint_as_float(mma_a[i / 4][i % 4])));
        #pragma unroll
        for (int i = 0; i < 16; i++)
            asm("cvt.rna.tf32.f32 %0, %1;"
                : "=r"(mma_b[i / 2][i % 2])
                : "f"(__uint_as_float(mma_b[i / 2][i % 2])));
        #pragma unroll
        for (int i = 0; i < 4; i++)
        #pragma unroll
            for (int j = 0; j < 8; j++)
                asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(mma_c[2 * i][j][0]), "+f"(mma_c[2 * i][j][1]),
                               "+f"(mma_c[2 * i + 1][j][0]), "+f"(mma_c[2 * i + 1][j][1])
                             : "r"(mma_a[i][0]), "r"(mma_a[i][1]), "r"(mma_a[i][2]),
                               "r"(mma_a[i][3]), "r"(mma_b[j][0]), "r"(mma_b[j][1]));
    }
    #pragma unroll
    for (int mi = 0; mi < 8; ++mi) {
        #pragma unroll
        for (int nj = 0; nj < 8; ++nj) {
            *(float2 *)&C[(long long)(lane / 4 * 64 + lane % 4 * 2) + (mi * 512 + nj * 8)] =
                make_float2(C_local[mi][nj * 2], C_local[mi][nj * 2 + 1]);
        }
    }
}
