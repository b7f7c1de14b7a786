// product: 5 launches
//   A: f32[66, 36], read
//   B: f32[36, 70], read
//   C: f32[66, 70], written
//   U_map: cuTensorMapEncodeTiled of U, UINT32, extents {36, 66}, boxes {32, 64}, SWIZZLE_128B
//   U_rest_map: cuTensorMapEncodeTiled of U_rest, UINT32, extents {64, 128}, boxes {32, 64}, SWIZZLE_128B
//   U: f32[66, 36], temporary, allocated by the caller
//   V: f32[36, 70], temporary, allocated by the caller
//   U_rest: f32[128, 64], temporary, allocated by the caller
//   V_global: f32[64, 128], temporary, allocated by the caller
// product<<<dim3(2, 3), dim3(32, 8)>>>(A, U);
// product_1<<<dim3(3, 2), dim3(32, 8)>>>(B, V);
// product_2<<<dim3(2, 4), dim3(32, 8)>>>(U_rest, U);
// product_3<<<dim3(4, 2), dim3(32, 8)>>>(V_global, V);
// product_4<<<dim3(2, 2), 128, 51208>>>(C, V_global, U_map, U_rest_map);

static __device__ __forceinline__ float to_tf32_rz(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
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

extern "C" __global__ void __launch_bounds__(256)
product(const float *__restrict__ A, float *__restrict__ U)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int k = bx * 32 + tx;
    if (k < 36) {
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            const int i = by * 32 + each * 8 + ty;
            if (i < 66)
                U[i * 36 + k] = A[i * 36 + k] * (float)(k % 2 == 0 ? 2049 : 1);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
product_1(const float *__restrict__ B, float *__restrict__ V)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int j = bx * 32 + tx;
    if (j < 70) {
        #pragma unroll
        for (int each = 0; each < 4; ++each) {
            const int k = by * 32 + each * 8 + ty;
            if (k < 36)
                V[k * 70 + j] = B[k * 70 + j] * (float)(k % 2 == 0 ? 1 : 2049);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
product_2(float *__restrict__ U_rest, const float *__restrict__ U)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int k = bx * 32 + tx;
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int i = by * 32 + each * 8 + ty;
        U_rest[i * 64 + k] = i < 66 && k > 27
            ? U[i * 36 + k - 28] - to_tf32_rz(U[i * 36 + k - 28]) : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(256)
product_3(float *__restrict__ V_global, const float *__restrict__ V)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int j = bx * 32 + tx;
    #pragma unroll
    for (int each = 0; each < 4; ++each) {
        const int k = by * 32 + each * 8 + ty;
        V_global[k * 128 + j] = k > 27 && j < 70 ? V[(k - 28) * 70 + j] : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(128)
product_4(float *__restrict__ C, const float *__restrict__ V_global,
          const __grid_constant__ TensorMap U_map, const __grid_constant__ TensorMap U_rest_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    float (*U_shared)[64][32] = (float (*)[64][32])shared_memory;
    float (*V_global_shared)[72] = (float (*)[72])(shared_memory + 16384);
    float (*U_rest_shared)[64][32] = (float (*)[64][32])(shared_memory + 34816);
    prefetch_map(U_map);
    prefetch_map(U_rest_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 51200);
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int place = (int)blockIdx.y * 2 + (int)blockIdx.x;
    const int by = place % 2;
    const int bx = place / 2;
    const int lane = threadIdx.x;
    float C_local[2][16];
    for (int u = 0; u < 2; ++u) {
        for (int panel_nj_fused = 0; panel_nj_fused < 8; ++panel_nj_fused) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[u][panel_nj_fused * 2 + pair] = 0.0f;
        }
    }
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        const int k = each * 4 + lane / 32;
        copy_async<8>(&V_global_shared[k][lane % 32 * 2],
                      &V_global[k * 128 + bx * 64 + lane % 32 * 2]);
    }
    if (lane == 0) {
        copy_bulk_2d(&U_shared[0][0][0], U_map, -28, by * 64, &landed[begun % 1], 8192);
        copy_bulk_2d(&U_rest_shared[0][0][0], U_rest_map, 0, by * 64, &landed[begun % 1], 8192);
    }
    copy_async_commit();  // the copies above are one group
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_async_wait<0>();  // all copies
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    __syncthreads();  // U_rest_shared, U_shared, V_global_shared: written above by other threads,
                      // read below
    for (int ko = 0; ko < 2; ++ko) {
        const int ko_1 = ko + 1;
        if (ko < 1) {
            #pragma unroll
            for (int each = 0; each < 8; ++each) {
                const int k = ko * 32 + each * 4 + lane / 32 + 32;
                copy_async<8>(&V_global_shared[k][lane % 32 * 2],
                              &V_global[(long long)(lane / 32 * 128 + bx * 64 + lane % 32 * 2)
                                        + (long long)ko * 4096 + (each * 512 + 4096)]);
            }
            if (lane == 0) {
                copy_bulk_2d(&U_shared[ko_1][0][0], U_map, ko_1 * 32 - 28, by * 64,
                             &landed[begun % 1], 8192);
                copy_bulk_2d(&U_rest_shared[ko_1][0][0], U_rest_map, ko_1 * 32, by * 64,
                             &landed[begun % 1], 8192);
            }
        }
        copy_async_commit();  // the copies above are one group
        copy_bulk_commit<1>(landed, begun);  // the copies above are one group
        {
            float *mma_c = &C_local[0][0], mma_d[32];
            unsigned mma_a[2][4][4];
            const int mma_l = threadIdx.x % 32;
            const int mma_i = 72;
            const float *mma_p = &V_global_shared[ko * 32][0] + mma_l % 4 * mma_i
                + threadIdx.x / 32 * 16 + mma_l / 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&U_shared[ko][0][0]) % 0x40000 >> 4;
            const unsigned long long mma_s = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&U_rest_shared[ko][0][0]) % 0x40000 >> 4;
            #pragma unroll
            for (int k = 0; k < 4; k++)
                for (int j = 0; j < 4; j++)
                    mma_a[0][k][j] = __float_as_uint(
                        mma_p[(k * 8 + j / 2 * 4) * mma_i + j % 2 * 8]);
            #pragma unroll
            for (int k = 0; k < 16; k++) {
                const unsigned x = mma_a[0][k / 4][k % 4];
                mma_a[1][k / 4][k % 4] =
                    __float_as_uint(__uint_as_float(x) - __uint_as_float(x & 0xffffe000));
            }
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 12; k++) {
                const unsigned *x = mma_a[k < 4][k % 4];
                asm volatile("{ .reg .pred more; setp.ne.b32 more, %37, 0; "
                             "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "{ %32, %33, %34, %35}, "
                             "%36, more, 1, 1; }"
                             :
                               "+f"(mma_d[0]), "+f"(mma_d[1]),
                               "+f"(mma_d[16]), "+f"(mma_d[17]),
                               "+f"(mma_d[2]), "+f"(mma_d[3]),
                               "+f"(mma_d[18]), "+f"(mma_d[19]),
                               "+f"(mma_d[4]), "+f"(mma_d[5]),
                               "+f"(mma_d[20]), "+f"(mma_d[21]),
                               "+f"(mma_d[6]), "+f"(mma_d[7]),
                               "+f"(mma_d[22]), "+f"(mma_d[23]),
                               "+f"(mma_d[8]), "+f"(mma_d[9]),
                               "+f"(mma_d[24]), "+f"(mma_d[25]),
                               "+f"(mma_d[10]), "+f"(mma_d[11]),
                               "+f"(mma_d[26]), "+f"(mma_d[27]),
                               "+f"(mma_d[12]), "+f"(mma_d[13]),
                               "+f"(mma_d[28]), "+f"(mma_d[29]),
                               "+f"(mma_d[14]), "+f"(mma_d[15]),
                               "+f"(mma_d[30]), "+f"(mma_d[31])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]),
                               "l"((k / 4 == 1 ? mma_s : mma_q) + 2 * (k % 4)), "r"(k));
            }
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            #pragma unroll
            for (int i = 0; i < 32; i++)
                asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(mma_c[i]) : "f"(mma_d[i]));
        }
        copy_async_wait<0>();  // all copies
        copy_bulk_wait<1>(landed, waited, begun);  // all copies
        __syncthreads();  // U_rest_shared, U_shared, V_global_shared: written above, read in the
                          // next iteration of ko by other threads
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int j = bx * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (j < 70) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                if (by * 32 + nj * 4 + lane % 4 < 33) {
                    for (int pair = 0; pair < 2; ++pair)
                        C[(long long)(by * 4480 + lane % 4 * 140 + bx * 64 + lane / 32 * 16
                                      + lane / 4 % 8) + (long long)pair * 70
                          + (nj * 560 + u * 8)] = C_local[u][nj * 2 + pair];
                }
            }
        }
    }
}
