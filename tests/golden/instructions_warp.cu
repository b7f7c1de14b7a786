// product: 1 launch
//   A: bf16[128, 256], read
//   B: bf16[256, 128], read
//   C: bf16[128, 128], written
// product<<<1, dim3(32, 4), 52736>>>(A, B, C);

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

extern "C" __global__ void __launch_bounds__(128)
product(const unsigned short *__restrict__ A, const unsigned short *__restrict__ B,
        unsigned short *__restrict__ C)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    unsigned short (*A_shared)[104] = (unsigned short (*)[104])shared_memory;
    unsigned short (*B_shared)[136] = (unsigned short (*)[136])(shared_memory + 26624);
    const int warp = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float T[8][16];
    for (int ko_first = 0; ko_first < 2; ++ko_first) {
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            const int i = each * 32 + warp * 8 + lane / 4;
            copy_async<16>(&A_shared[i][ko_first * 32 + lane % 4 * 8],
                           &A[(long long)(warp * 2048 + lane / 4 * 256 + lane % 4 * 8)
                              + (long long)ko_first * 32 + each * 8192]);
        }
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            copy_async<16>(
                &B_shared[ko_first * 32 + each * 8 + warp * 2 + lane / 16][lane % 16 * 8],
                &B[(long long)(warp * 256 + lane * 8) + (long long)ko_first * 4096 + each * 1024]);
        }
    }
    copy_async_commit();  // the copies above are one group
    for (int mi = 0; mi < 8; ++mi) {
        for (int nj = 0; nj < 8; ++nj) {
            for (int u = 0; u < 2; ++u)
                T[mi][nj * 2 + u] = 0.0f;
        }
    }
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 8; ++ko) {
        if (ko < 6) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int i = each * 32 + warp * 8 + lane / 4;
                copy_async<16>(&A_shared[i][(ko + 2) % 3 * 32 + lane % 4 * 8],
                               &A[(long long)(warp * 2048 + lane / 4 * 256 + lane % 4 * 8)
                                  + (long long)ko * 32 + (each * 8192 + 64)]);
            }
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                copy_async<16>(
                    &B_shared[(ko + 2) % 3 * 32 + each * 8 + warp * 2 + lane / 16][lane % 16 * 8],
                    &B[(long long)(warp * 256 + lane * 8) + (long long)ko * 4096
                       + (each * 1024 + 8192)]);
            }
        }
        copy_async_commit();  // the copies above are one group
        #pragma unroll
        for (int ki = 0; ki < 2; ++ki) {
            const int ko_at = ko % 3 * 32 + ki * 16;
            {
                unsigned mma_a[4][4], mma_b[8][2];
                float(*mma_c)[8][2] = (float(*)[8][2])&T[0][0];
                const int mma_l = threadIdx.x;
                const int mma_i = 2 * 1664;
                const int mma_j = 32;
                const unsigned mma_p = __cvta_generic_to_shared(
                    &A_shared[warp / 2 * 64][ko_at] + mma_l % 16 * 104 + mma_l / 16 * 8);
                const unsigned mma_q = __cvta_generic_to_shared(
                    &B_shared[ko_at][warp % 2 * 64] + mma_l % 16 * 136 + mma_l / 16 * 8);
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
        }
        copy_async_wait<1>();  // all copies but those of the last group
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads; A_shared, B_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    #pragma unroll
    for (int mo = 0; mo < 8; ++mo) {
        #pragma unroll
        for (int no = 0; no < 8; ++no) {
            *(unsigned int *)&C[(long long)(warp / 2 * 8192 + lane / 4 * 128 + warp % 2 * 64
                                            + lane % 4 * 2) + (mo * 1024 + no * 8)] =
                bf16x2_from_f32(T[mo][no * 2], T[mo][no * 2 + 1]);
        }
    }
}
