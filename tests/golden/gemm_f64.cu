// matmul_f64: 1 launch
//   A: f64[64, 32], read
//   B: f64[32, 64], read
//   C: f64[64, 64], written
// matmul_f64<<<1, dim3(32, 2)>>>(A, B, C);

template <int bytes>
static __device__ __forceinline__ void copy_async(void *to, const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes));
}

static __device__ __forceinline__ void copy_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int pending>
static __device__ __forceinline__ void copy_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

extern "C" __global__ void __launch_bounds__(64)
matmul_f64(const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C)
{
    __shared__ __align__(16) double A_shared[64][36];
    __shared__ __align__(16) double B_shared[32][68];
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) double C_local[8][8];
    for (int ko_first = 0; ko_first < 2; ++ko_first) {
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            const int i = each * 8 + wy_wx_fused * 4 + lane / 8;
            copy_async<16>(&A_shared[i][ko_first * 16 + lane % 8 * 2],
                           &A[(long long)(wy_wx_fused * 128 + lane / 8 * 32 + lane % 8 * 2)
                              + (long long)ko_first * 16 + each * 256]);
        }
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            const int k = ko_first * 16 + each * 2 + wy_wx_fused;
            copy_async<16>(&B_shared[k][lane * 2],
                           &B[(long long)(wy_wx_fused * 64 + lane * 2) + (long long)ko_first * 1024
                              + each * 128]);
        }
    }
    copy_async_commit();  // the copies above are one group
    for (int mi = 0; mi < 8; ++mi) {
        for (int nj = 0; nj < 4; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[mi][nj * 2 + pair] = 0.0;
        }
    }
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 2; ++ko) {
        copy_async_commit();  // the copies above are one group
        #pragma unroll
        for (int ki = 0; ki < 2; ++ki) {
            double mma_a[4][4], mma_b[4][2];
            double(*mma_c)[4][2] = (double(*)[4][2])&C_local[0][0];
            const int mma_m = threadIdx.x / 4, mma_k = threadIdx.x % 4;
            const auto *mma_p = &A_shared[0][ko * 16 + ki * 8] + mma_m * 36 + mma_k;
            const auto *mma_q = &B_shared[ko * 16 + ki * 8][wy_wx_fused * 32] + mma_k * 68 + mma_m;
            #pragma unroll
            for (int i = 0; i < 16; i++)
                mma_a[i / 4][i % 4] = mma_p[(i / 4 * 2 + i % 2) * 288 + i % 4 / 2 * 4];
            #pragma unroll
            for (int i = 0; i < 8; i++)
                mma_b[i / 2][i % 2] = mma_q[i % 2 * 272 + i / 2 * 8];
            #pragma unroll
            for (int i = 0; i < 4; i++)
            #pragma unroll
                for (int j = 0; j < 4; j++)
                    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+d"(mma_c[2 * i][j][0]), "+d"(mma_c[2 * i][j][1]),
                                   "+d"(mma_c[2 * i + 1][j][0]), "+d"(mma_c[2 * i + 1][j][1])
                                 : "d"(mma_a[i][0]), "d"(mma_a[i][1]), "d"(mma_a[i][2]),
                                   "d"(mma_a[i][3]), "d"(mma_b[j][0]), "d"(mma_b[j][1]));
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
