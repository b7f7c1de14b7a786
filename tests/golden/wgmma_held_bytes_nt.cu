// product: 1 launch
//   x: i8[66, 272], read
//   W: u8[70, 272], read
//   zero: i32[70], read
//   y: i32[66, 70], written
//   x_map: cuTensorMapEncodeTiled of x, UINT8, extents {272, 66}, boxes {128, 64}, SWIZZLE_128B
// product<<<dim3(2, 2), 128>>>(W, zero, y, x_map);

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

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

static __device__ __forceinline__ void prefetch_map(const TensorMap &map)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_begin(unsigned long long *landed)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        for (int i = 0; i < groups; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         ::"r"((unsigned int)__cvta_generic_to_shared(landed + i))
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

static __device__ __forceinline__ void copy_bulk_2d(void *to, const TensorMap &map, int x, int y,
                                                    unsigned long long *landed, int bytes)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(mbarrier) : "memory");
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_commit(unsigned long long *landed, int &begun)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                     ::"r"((unsigned int)__cvta_generic_to_shared(landed + begun % groups))
                     : "memory");
    ++begun;
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_wait(unsigned long long *landed, int &waited,
                                                      int until)
{
    for (; waited < until; ++waited) {
        unsigned int mbarrier =
            (unsigned int)__cvta_generic_to_shared(landed + waited % groups);
        unsigned int parity = waited / groups & 1, complete;
        do
            asm volatile("{ .reg .pred p;"
                         " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                         " selp.u32 %0, 1, 0, p; }"
                         : "=r"(complete) : "r"(mbarrier), "r"(parity) : "memory");
        while (!complete);
    }
}

template <int n>
static __device__ __forceinline__ void settle_i32(int *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+r"(t[i])::"memory");
}

extern "C" __global__ void __launch_bounds__(128)
product(const unsigned char *__restrict__ W, const int *__restrict__ zero, int *__restrict__ y,
        const __grid_constant__ TensorMap x_map)
{
    __shared__ __align__(16) unsigned char W_shared[2][64][128];
    __shared__ __align__(1024) signed char x_shared[2][64][128];
    prefetch_map(x_map);
    __shared__ unsigned long long landed[1];
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int rows = blockIdx.y;
    const int columns = blockIdx.x;
    const int lane = threadIdx.x;
    int T[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int nj = 0; nj < 8; ++nj) {
            for (int pair = 0; pair < 2; ++pair)
                T[u][nj * 2 + pair] = 0;
        }
    }
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int rows_at = rows * 64 + each * 16 + lane / 8;
        if (rows_at < 70) {
            copy_async<16>(&W_shared[0][each * 16 + lane / 8][(lane % 8 ^ lane / 8 % 8) * 16],
                           &W[rows_at * 272 + lane % 8 * 16]);
        }
    }
    if (lane == 0)
        copy_bulk_2d(&x_shared[0][0][0], x_map, 0, columns * 64, &landed[begun % 1], 8192);
    copy_async_commit();  // the copies above are one group
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_async_wait<0>();  // all copies
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    __syncthreads();  // W_shared, x_shared: written above by other threads, read below
    for (int ko = 0; ko < 3; ++ko) {
        const int ko_1 = ko + 1;
        __align__(16) signed char V[2][8][4];
        if (ko < 2) {
            if (ko * 8 + lane % 8 < 9) {
                #pragma unroll
                for (int each = 0; each < 4; ++each) {
                    if (rows * 64 + each * 16 + lane / 8 < 70) {
                        copy_async<16>(
                            &W_shared[(ko + 1) % 2][each * 16 + lane / 8]
                                     [(lane % 8 ^ lane / 8 % 8) * 16],
                            &W[(long long)(rows * 17408 + lane / 8 * 272 + lane % 8 * 16)
                               + (long long)ko * 128 + (each * 4352 + 128)]);
                    }
                }
            }
            if (lane == 0)
                copy_bulk_2d(&x_shared[(ko + 1) % 2][0][0], x_map, ko_1 * 128, columns * 64,
                             &landed[begun % 1], 8192);
        }
        copy_async_commit();  // the copies above are one group
        copy_bulk_commit<1>(landed, begun);  // the copies above are one group
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const int j = rows * 64 + lane / 32 * 16 + u * 8 + lane % 32 / 4;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                if (j < 70 && ko * 32 + k * 4 + lane % 4 < 68) {
                    const uchar4 W_shared_v =
                        *(const uchar4 *)&W_shared[ko % 2][lane / 32 * 16 + u * 8 + lane % 32 / 4]
                                                  [(k ^ lane % 32 / 4) * 16 + lane % 4 * 4];
                    char4 result;
                    result.x = (signed char)((int)((unsigned int)W_shared_v.x - zero[j]));
                    result.y = (signed char)((int)((unsigned int)W_shared_v.y - zero[j]));
                    result.z = (signed char)((int)((unsigned int)W_shared_v.z - zero[j]));
                    result.w = (signed char)((int)((unsigned int)W_shared_v.w - zero[j]));
                    *(char4 *)&V[j / 8 % 2][k][0] = result;
                } else {
                    *(char4 *)&V[j / 8 % 2][k][0] = make_char4(0, 0, 0, 0);
                }
            }
        }
        {
            int *mma_c = &T[0][0];
            const unsigned mma_a[16] = {
                *(const unsigned int *)&V[0][0][0],
                *(const unsigned int *)&V[1][0][0],
                *(const unsigned int *)&V[0][1][0],
                *(const unsigned int *)&V[1][1][0],
                *(const unsigned int *)&V[0][2][0],
                *(const unsigned int *)&V[1][2][0],
                *(const unsigned int *)&V[0][3][0],
                *(const unsigned int *)&V[1][3][0],
                *(const unsigned int *)&V[0][4][0],
                *(const unsigned int *)&V[1][4][0],
                *(const unsigned int *)&V[0][5][0],
                *(const unsigned int *)&V[1][5][0],
                *(const unsigned int *)&V[0][6][0],
                *(const unsigned int *)&V[1][6][0],
                *(const unsigned int *)&V[0][7][0],
                *(const unsigned int *)&V[1][7][0],
            };
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&x_shared[ko % 2][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "{%32, %33, %34, %35}, "
                             "%36, 1;"
                             :
                               "+r"(mma_c[0]), "+r"(mma_c[1]),
                               "+r"(mma_c[16]), "+r"(mma_c[17]),
                               "+r"(mma_c[2]), "+r"(mma_c[3]),
                               "+r"(mma_c[18]), "+r"(mma_c[19]),
                               "+r"(mma_c[4]), "+r"(mma_c[5]),
                               "+r"(mma_c[20]), "+r"(mma_c[21]),
                               "+r"(mma_c[6]), "+r"(mma_c[7]),
                               "+r"(mma_c[22]), "+r"(mma_c[23]),
                               "+r"(mma_c[8]), "+r"(mma_c[9]),
                               "+r"(mma_c[24]), "+r"(mma_c[25]),
                               "+r"(mma_c[10]), "+r"(mma_c[11]),
                               "+r"(mma_c[26]), "+r"(mma_c[27]),
                               "+r"(mma_c[12]), "+r"(mma_c[13]),
                               "+r"(mma_c[28]), "+r"(mma_c[29]),
                               "+r"(mma_c[14]), "+r"(mma_c[15]),
                               "+r"(mma_c[30]), "+r"(mma_c[31])
                             : "r"(mma_a[k * 4]), "r"(mma_a[k * 4 + 1]),
                               "r"(mma_a[k * 4 + 2]), "r"(mma_a[k * 4 + 3]),
                               "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: V is
                                                                        // accessed below
        settle_i32<32>(&T[0][0]);
        copy_async_wait<0>();  // all copies
        copy_bulk_wait<1>(landed, waited, begun);  // all copies
        __syncthreads();  // W_shared, x_shared: written above, read in the next iteration of ko by
                          // other threads; W_shared, x_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int j = rows * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (j < 70) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                if (columns * 32 + nj * 4 + lane % 4 < 33) {
                    for (int pair = 0; pair < 2; ++pair)
                        y[(long long)(columns * 4480 + lane % 4 * 140 + rows * 64 + lane / 32 * 16
                                      + lane / 4 % 8) + (long long)pair * 70
                          + (nj * 560 + u * 8)] = T[u][nj * 2 + pair];
                }
            }
        }
    }
}
