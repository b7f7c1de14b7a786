// matmul_f64: 1 launch
//   A: f64[64, 32], read
//   B: f64[32, 64], read
//   C: f64[64, 64], written
// matmul_f64<<<1, dim3(32, 2)>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(64)
matmul_f64(const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C)
{
    __shared__ __align__(16) double A_shared[64][36];
    __shared__ __align__(16) double B_shared[32][68];
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) double C_local[8][8];
    double A_shared_warp[8][4];
    double B_shared_warp[4][4];
    for (int mi = 0; mi < 8; ++mi) {
        for (int nj = 0; nj < 4; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[mi][nj * 2 + pair] = 0.0;
        }
    }
    for (int ko_first = 0; ko_first < 2; ++ko_first) {
        for (int part = 0; part < 2; ++part) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int i = part * 32 + each * 8 + wy_wx_fused * 4 + lane / 8;
                copy_async<16>(&A_shared[i][ko_first * 16 + lane % 8 * 2],
                               &A[(long long)(wy_wx_fused * 128 + lane / 8 * 32 + lane % 8 * 2)
                                  + ((long long)ko_first * 16 + (long long)part * 1024)
                                  + each * 256]);
            }
        }
        for (int part = 0; part < 2; ++part) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int k = ko_first * 16 + part * 8 + each * 2 + wy_wx_fused;
                copy_async<16>(&B_shared[k][lane * 2],
                               &B[(long long)(wy_wx_fused * 64 + lane * 2)
                                  + ((long long)ko_first * 1024 + (long long)part * 512)
                                  + each * 128]);
            }
        }
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared: written above by other threads, read below
    #pragma unroll
    for (int group = 0; group < 8; ++group) {
        const int i = group * 8 + lane / 4;
        #pragma unroll
        for (int half = 0; half < 2; ++half)
            A_shared_warp[i / 8][half] = A_shared[i][half * 4 + lane % 4];
    }
    #pragma unroll
    for (int group = 0; group < 4; ++group) {
        #pragma unroll
        for (int half = 0; half < 2; ++half)
            B_shared_warp[group][half] =
                B_shared[half * 4 + lane % 4][wy_wx_fused * 32 + group * 8 + lane / 4];
    }
    for (int ko = 0; ko < 2; ++ko) {
        #pragma unroll
        for (int part_m_m = 0; part_m_m < 2; ++part_m_m) {
            if (part_m_m < 1) {
                #pragma unroll
                for (int group = 0; group < 8; ++group) {
                    const int i = group * 8 + lane / 4;
                    #pragma unroll
                    for (int half = 0; half < 2; ++half)
                        A_shared_warp[i / 8][part_m_m * 2 + half + 2] =
                            A_shared[i][ko * 16 + part_m_m * 8 + half * 4 + lane % 4 + 8];
                }
                #pragma unroll
                for (int group = 0; group < 4; ++group) {
                    #pragma unroll
                    for (int half = 0; half < 2; ++half)
                        B_shared_warp[group][part_m_m * 2 + half + 2] =
                            B_shared[ko * 16 + part_m_m * 8 + half * 4 + lane % 4 + 8]
                                    [wy_wx_fused * 32 + group * 8 + lane / 4];
                }
            }
            {
                double(*mma_c)[4][2] = (double(*)[4][2])&C_local[0][0];
                const double mma_a[16] = {
                    A_shared_warp[0][part_m_m * 2],
                    A_shared_warp[1][part_m_m * 2],
                    A_shared_warp[0][part_m_m * 2 + 1],
                    A_shared_warp[1][part_m_m * 2 + 1],
                    A_shared_warp[2][part_m_m * 2],
                    A_shared_warp[3][part_m_m * 2],
                    A_shared_warp[2][part_m_m * 2 + 1],
                    A_shared_warp[3][part_m_m * 2 + 1],
                    A_shared_warp[4][part_m_m * 2],
                    A_shared_warp[5][part_m_m * 2],
                    A_shared_warp[4][part_m_m * 2 + 1],
                    A_shared_warp[5][part_m_m * 2 + 1],
                    A_shared_warp[6][part_m_m * 2],
                    A_shared_warp[7][part_m_m * 2],
                    A_shared_warp[6][part_m_m * 2 + 1],
                    A_shared_warp[7][part_m_m * 2 + 1],
                };
                const double mma_b[8] = {
                    B_shared_warp[0][part_m_m * 2],
                    B_shared_warp[0][part_m_m * 2 + 1],
                    B_shared_warp[1][part_m_m * 2],
                    B_shared_warp[1][part_m_m * 2 + 1],
                    B_shared_warp[2][part_m_m * 2],
                    B_shared_warp[2][part_m_m * 2 + 1],
                    B_shared_warp[3][part_m_m * 2],
                    B_shared_warp[3][part_m_m * 2 + 1],
                };
                #pragma unroll
                for (int i = 0; i < 4; i++)
                #pragma unroll
                    for (int j = 0; j < 4; j++)
                        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                     : "+d"(mma_c[2 * i][j][0]), "+d"(mma_c[2 * i][j][1]),
                                       "+d"(mma_c[2 * i + 1][j][0]), "+d"(mma_c[2 * i + 1][j][1])
                                     : "d"(mma_a[4 * i]), "d"(mma_a[4 * i + 1]),
                                       "d"(mma_a[4 * i + 2]), "d"(mma_a[4 * i + 3]),
                                       "d"(mma_b[2 * j]), "d"(mma_b[2 * j + 1]));
            }
        }
        if (ko < 1) {
            #pragma unroll
            for (int group = 0; group < 8; ++group) {
                const int i = group * 8 + lane / 4;
                #pragma unroll
                for (int half = 0; half < 2; ++half)
                    A_shared_warp[i / 8][half] = A_shared[i][ko * 16 + half * 4 + lane % 4 + 16];
            }
            #pragma unroll
            for (int group = 0; group < 4; ++group) {
                #pragma unroll
                for (int half = 0; half < 2; ++half)
                    B_shared_warp[group][half] =
                        B_shared[ko * 16 + half * 4 + lane % 4 + 16]
                                [wy_wx_fused * 32 + group * 8 + lane / 4];
            }
        }
    }
    #pragma unroll
    for (int mi = 0; mi < 8; ++mi) {
        #pragma unroll
        for (int nj = 0; nj < 4; ++nj) {
            *(double2 *)&C[(long long)(lane / 4 * 64 + wy_wx_fused * 32 + lane % 4 * 2)
                           + (mi * 512 + nj * 8)] =
                make_double2(C_local[mi][nj * 2], C_local[mi][nj * 2 + 1]);
        }
    }
}
