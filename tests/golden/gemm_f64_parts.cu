// matmul_f64: 2 launches
//   A: f64[20, 128], read
//   B: f64[128, 71], read
//   C: f64[20, 71], written
//   C_rf: f64[2, 20, 71], temporary, allocated by the caller
// matmul_f64<<<dim3(2, 1, 2), dim3(32, 2), 52736>>>(A, B, C_rf);
// matmul_f64_1<<<12, 128>>>(C, C_rf);

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

extern "C" __global__ void __launch_bounds__(64)
matmul_f64(const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C_rf)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    double (*A_shared)[52] = (double (*)[52])shared_memory;
    double (*B_shared)[68] = (double (*)[68])(shared_memory + 26624);
    const int part = blockIdx.z;
    const int bx = blockIdx.x;
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    double C_rf_local[8][8];
    double A_shared_warp[8][4];
    double B_shared_warp[4][4];
    const int j = bx * 64 + wy_wx_fused * 32 + lane;
    for (int mi = 0; mi < 8; ++mi) {
        for (int nj = 0; nj < 4; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                C_rf_local[mi][nj * 2 + pair] = 0.0;
        }
    }
    for (int ko_first = 0; ko_first < 2; ++ko_first) {
        for (int part_1 = 0; part_1 < 2; ++part_1) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int i = part_1 * 32 + each * 8 + wy_wx_fused * 4 + lane / 8;
                copy_async_or_zero<16>(&A_shared[i][(part * 4 + ko_first) % 3 * 16 + lane % 8 * 2],
                                       &A[(long long)(wy_wx_fused * 512 + lane / 8 * 128
                                                      + part * 64 + lane % 8 * 2)
                                          + ((long long)ko_first * 16 + (long long)part_1 * 4096)
                                          + each * 1024],
                                       i < 20);
            }
        }
        for (int part_1 = 0; part_1 < 2; ++part_1) {
            #pragma unroll
            for (int each = 0; each < 8; ++each)
                copy_async_or_zero<8>(
                    &B_shared[(part * 4 + ko_first) % 3 * 16 + part_1 * 8 + each]
                             [wy_wx_fused * 32 + lane],
                    &B[(long long)(part * 4544 + j)
                       + ((long long)ko_first * 1136 + (long long)part_1 * 568) + each * 71],
                    j < 71);
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
            A_shared_warp[i / 8][half] = A_shared[i][part * 4 % 3 * 16 + half * 4 + lane % 4];
    }
    #pragma unroll
    for (int group = 0; group < 4; ++group) {
        #pragma unroll
        for (int half = 0; half < 2; ++half)
            B_shared_warp[group][half] =
                B_shared[part * 4 % 3 * 16 + half * 4 + lane % 4]
                        [wy_wx_fused * 32 + group * 8 + lane / 4];
    }
    for (int ko_0 = 0; ko_0 < 2; ++ko_0) {
        #pragma unroll
        for (int part_1_m_m = 0; part_1_m_m < 2; ++part_1_m_m) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int i = part_1_m_m * 32 + each * 8 + wy_wx_fused * 4 + lane / 8;
                copy_async_or_zero<16>(&A_shared[i][(part * 4 + ko_0 + 2) % 3 * 16 + lane % 8 * 2],
                                       &A[(long long)(wy_wx_fused * 512 + lane / 8 * 128
                                                      + part * 64 + lane % 8 * 2)
                                          + (long long)ko_0 * 16
                                          + (part_1_m_m * 4096 + each * 1024 + 32)],
                                       i < 20);
            }
            #pragma unroll
            for (int each = 0; each < 8; ++each)
                copy_async_or_zero<8>(
                    &B_shared[(part * 4 + ko_0 + 2) % 3 * 16 + part_1_m_m * 8 + each]
                             [wy_wx_fused * 32 + lane],
                    &B[(long long)(part * 4544 + j) + (long long)ko_0 * 1136
                       + (part_1_m_m * 568 + each * 71 + 2272)],
                    j < 71);
            copy_async_commit();  // the copies above are one group
            if (part_1_m_m < 1) {
                #pragma unroll
                for (int group = 0; group < 8; ++group) {
                    const int i = group * 8 + lane / 4;
                    #pragma unroll
                    for (int half = 0; half < 2; ++half)
                        A_shared_warp[i / 8][part_1_m_m * 2 + half + 2] =
                            A_shared[i]
                                    [(part * 4 + ko_0) % 3 * 16 + part_1_m_m * 8 + half * 4
                                     + lane % 4 + 8];
                }
                #pragma unroll
                for (int group = 0; group < 4; ++group) {
                    #pragma unroll
                    for (int half = 0; half < 2; ++half)
                        B_shared_warp[group][part_1_m_m * 2 + half + 2] =
                            B_shared[(part * 4 + ko_0) % 3 * 16 + part_1_m_m * 8 + half * 4
                                     + lane % 4 + 8][wy_wx_fused * 32 + group * 8 + lane / 4];
                }
            }
            {
                double(*mma_c)[4][2] = (double(*)[4][2])&C_rf_local[0][0];
                const double mma_a[16] = {
                    A_shared_warp[0][part_1_m_m * 2],
                    A_shared_warp[1][part_1_m_m * 2],
                    A_shared_warp[0][part_1_m_m * 2 + 1],
                    A_shared_warp[1][part_1_m_m * 2 + 1],
                    A_shared_warp[2][part_1_m_m * 2],
                    A_shared_warp[3][part_1_m_m * 2],
                    A_shared_warp[2][part_1_m_m * 2 + 1],
                    A_shared_warp[3][part_1_m_m * 2 + 1],
                    A_shared_warp[4][part_1_m_m * 2],
                    A_shared_warp[5][part_1_m_m * 2],
                    A_shared_warp[4][part_1_m_m * 2 + 1],
                    A_shared_warp[5][part_1_m_m * 2 + 1],
                    A_shared_warp[6][part_1_m_m * 2],
                    A_shared_warp[7][part_1_m_m * 2],
                    A_shared_warp[6][part_1_m_m * 2 + 1],
                    A_shared_warp[7][part_1_m_m * 2 + 1],
                };
                const double mma_b[8] = {
                    B_shared_warp[0][part_1_m_m * 2],
                    B_shared_warp[0][part_1_m_m * 2 + 1],
                    B_shared_warp[1][part_1_m_m * 2],
                    B_shared_warp[1][part_1_m_m * 2 + 1],
                    B_shared_warp[2][part_1_m_m * 2],
                    B_shared_warp[2][part_1_m_m * 2 + 1],
                    B_shared_warp[3][part_1_m_m * 2],
                    B_shared_warp[3][part_1_m_m * 2 + 1],
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
        #pragma unroll
        for (int group = 0; group < 8; ++group) {
            const int i = group * 8 + lane / 4;
            #pragma unroll
            for (int half = 0; half < 2; ++half)
                A_shared_warp[i / 8][half] =
                    A_shared[i][(part * 4 + ko_0 + 1) % 3 * 16 + half * 4 + lane % 4];
        }
        #pragma unroll
        for (int group = 0; group < 4; ++group) {
            #pragma unroll
            for (int half = 0; half < 2; ++half)
                B_shared_warp[group][half] =
                    B_shared[(part * 4 + ko_0 + 1) % 3 * 16 + half * 4 + lane % 4]
                            [wy_wx_fused * 32 + group * 8 + lane / 4];
        }
        copy_async_wait<0>();  // all copies
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko_0
                          // by other threads; A_shared, B_shared: read above, overwritten in the
                          // next iteration of ko_0 by other threads
    }
    for (int ko_1 = 2; ko_1 < 4; ++ko_1) {
        #pragma unroll
        for (int part_1_m_m = 0; part_1_m_m < 2; ++part_1_m_m) {
            if (part_1_m_m < 1) {
                #pragma unroll
                for (int group = 0; group < 8; ++group) {
                    const int i = group * 8 + lane / 4;
                    #pragma unroll
                    for (int half = 0; half < 2; ++half)
                        A_shared_warp[i / 8][part_1_m_m * 2 + half + 2] =
                            A_shared[i]
                                    [(part * 4 + ko_1) % 3 * 16 + part_1_m_m * 8 + half * 4
                                     + lane % 4 + 8];
                }
                #pragma unroll
                for (int group = 0; group < 4; ++group) {
                    #pragma unroll
                    for (int half = 0; half < 2; ++half)
                        B_shared_warp[group][part_1_m_m * 2 + half + 2] =
                            B_shared[(part * 4 + ko_1) % 3 * 16 + part_1_m_m * 8 + half * 4
                                     + lane % 4 + 8][wy_wx_fused * 32 + group * 8 + lane / 4];
                }
            }
            {
                double(*mma_c)[4][2] = (double(*)[4][2])&C_rf_local[0][0];
                const double mma_a[16] = {
                    A_shared_warp[0][part_1_m_m * 2],
                    A_shared_warp[1][part_1_m_m * 2],
                    A_shared_warp[0][part_1_m_m * 2 + 1],
                    A_shared_warp[1][part_1_m_m * 2 + 1],
                    A_shared_warp[2][part_1_m_m * 2],
                    A_shared_warp[3][part_1_m_m * 2],
                    A_shared_warp[2][part_1_m_m * 2 + 1],
                    A_shared_warp[3][part_1_m_m * 2 + 1],
                    A_shared_warp[4][part_1_m_m * 2],
                    A_shared_warp[5][part_1_m_m * 2],
                    A_shared_warp[4][part_1_m_m * 2 + 1],
                    A_shared_warp[5][part_1_m_m * 2 + 1],
                    A_shared_warp[6][part_1_m_m * 2],
                    A_shared_warp[7][part_1_m_m * 2],
                    A_shared_warp[6][part_1_m_m * 2 + 1],
                    A_shared_warp[7][part_1_m_m * 2 + 1],
                };
                const double mma_b[8] = {
                    B_shared_warp[0][part_1_m_m * 2],
                    B_shared_warp[0][part_1_m_m * 2 + 1],
                    B_shared_warp[1][part_1_m_m * 2],
                    B_shared_warp[1][part_1_m_m * 2 + 1],
                    B_shared_warp[2][part_1_m_m * 2],
                    B_shared_warp[2][part_1_m_m * 2 + 1],
                    B_shared_warp[3][part_1_m_m * 2],
                    B_shared_warp[3][part_1_m_m * 2 + 1],
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
        if (ko_1 < 3) {
            #pragma unroll
            for (int group = 0; group < 8; ++group) {
                const int i = group * 8 + lane / 4;
                #pragma unroll
                for (int half = 0; half < 2; ++half)
                    A_shared_warp[i / 8][half] =
                        A_shared[i][(part * 4 + ko_1 + 1) % 3 * 16 + half * 4 + lane % 4];
            }
            #pragma unroll
            for (int group = 0; group < 4; ++group) {
                #pragma unroll
                for (int half = 0; half < 2; ++half)
                    B_shared_warp[group][half] =
                        B_shared[(part * 4 + ko_1 + 1) % 3 * 16 + half * 4 + lane % 4]
                                [wy_wx_fused * 32 + group * 8 + lane / 4];
            }
        }
    }
    #pragma unroll
    for (int mi = 0; mi < 8; ++mi) {
        const int i = mi * 8 + lane / 4;
        if (i < 20) {
            #pragma unroll
            for (int nj = 0; nj < 4; ++nj) {
                #pragma unroll
                for (int pair = 0; pair < 2; ++pair) {
                    const int j_1 = bx * 64 + wy_wx_fused * 32 + nj * 8 + lane % 4 * 2 + pair;
                    if (j_1 < 71)
                        C_rf[(long long)(part * 1420 + lane / 4 * 71 + bx * 64 + wy_wx_fused * 32
                                         + lane % 4 * 2) + (mi * 568 + nj * 8 + pair)] =
                            C_rf_local[mi][nj * 2 + pair];
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
matmul_f64_1(double *__restrict__ C, const double *__restrict__ C_rf)
{
    const int b = blockIdx.x;
    const int t = threadIdx.x;
    double C_local;
    const int i = (b * 128 + t) / 71;
    if (i < 20) {
        C_local = 0.0;
        #pragma unroll
        for (int part = 0; part < 2; ++part)
            C_local += C_rf[part * 1420 + b * 128 + t];
    }
    if (b * 128 + t < 1420)
        C[b * 128 + t] = C_local;
}
