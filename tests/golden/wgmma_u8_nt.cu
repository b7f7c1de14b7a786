// product: 1 launch
//   A: u8[128, 128], read
//   B: u8[200, 128], read
//   C: i32[128, 200], written
//   A_map: cuTensorMapEncodeTiled of A, UINT8, extents {128, 128}, boxes {128, 128}, SWIZZLE_128B
// product<<<1, dim3(128, 2), 49160>>>(B, C, A_map);

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

static __device__ __forceinline__ void hinted_bulk_2d(void *to, const TensorMap &map, int x, int y,
                                                      unsigned long long *landed, int bytes,
                                                      unsigned long long policy)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(mbarrier), "l"(policy) : "memory");
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

static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

template <int n>
static __device__ __forceinline__ void settle_i32(int *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+r"(t[i])::"memory");
}

static __device__ __forceinline__ unsigned long long policy_evict_first()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

extern "C" __global__ void __launch_bounds__(256)
product(const unsigned char *__restrict__ B, int *__restrict__ C,
        const __grid_constant__ TensorMap A_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned char (*A_shared)[128] = (unsigned char (*)[128])shared_memory;
    unsigned char (*B_shared)[128] = (unsigned char (*)[128])(shared_memory + 16384);
    prefetch_map(A_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 49152);
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) int C_local[2][64];
    for (int u = 0; u < 2; ++u) {
        for (int panel_nj_fused = 0; panel_nj_fused < 32; ++panel_nj_fused) {
            for (int pair = 0; pair < 2; ++pair)
                C_local[u][panel_nj_fused * 2 + pair] = 0;
        }
    }
    if (lane == 0 && group == 0)
        hinted_bulk_2d(&A_shared[0][0], A_map, 0, 0, &landed[begun % 1], 16384,
                       policy_evict_first());
    #pragma unroll
    for (int each = 0; each < 8; ++each) {
        const int j = each * 32 + group * 16 + lane / 8;
        copy_async_or_zero<16>(&B_shared[j][(lane % 8 ^ j % 8) * 16],
                               &B[each * 4096 + group * 2048 + lane * 16], j < 200);
    }
    copy_async_commit();  // the copies above are one group
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_async_wait<0>();  // all copies
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    fence_proxy_async();
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    {
        int *mma_c = &C_local[0][0];
        const unsigned long long mma_p = 0x4000004000010000ull
            | (unsigned)__cvta_generic_to_shared(&A_shared[group * 64][0]) % 0x40000 >> 4;
        const unsigned long long mma_q = 0x4000004000010000ull
            | (unsigned)__cvta_generic_to_shared(&B_shared[0][0]) % 0x40000 >> 4;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.u8.u8 {"
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
                         "%60, %61, %62, %63, "
                         "%64, %65, %66, %67, "
                         "%68, %69, %70, %71, "
                         "%72, %73, %74, %75, "
                         "%76, %77, %78, %79, "
                         "%80, %81, %82, %83, "
                         "%84, %85, %86, %87, "
                         "%88, %89, %90, %91, "
                         "%92, %93, %94, %95, "
                         "%96, %97, %98, %99, "
                         "%100, %101, %102, %103, "
                         "%104, %105, %106, %107, "
                         "%108, %109, %110, %111, "
                         "%112, %113, %114, %115, "
                         "%116, %117, %118, %119, "
                         "%120, %121, %122, %123, "
                         "%124, %125, %126, %127}, "
                         "%128, %129, 1;"
                         :
                           "+r"(mma_c[0]), "+r"(mma_c[1]),
                           "+r"(mma_c[64]), "+r"(mma_c[65]),
                           "+r"(mma_c[2]), "+r"(mma_c[3]),
                           "+r"(mma_c[66]), "+r"(mma_c[67]),
                           "+r"(mma_c[4]), "+r"(mma_c[5]),
                           "+r"(mma_c[68]), "+r"(mma_c[69]),
                           "+r"(mma_c[6]), "+r"(mma_c[7]),
                           "+r"(mma_c[70]), "+r"(mma_c[71]),
                           "+r"(mma_c[8]), "+r"(mma_c[9]),
                           "+r"(mma_c[72]), "+r"(mma_c[73]),
                           "+r"(mma_c[10]), "+r"(mma_c[11]),
                           "+r"(mma_c[74]), "+r"(mma_c[75]),
                           "+r"(mma_c[12]), "+r"(mma_c[13]),
                           "+r"(mma_c[76]), "+r"(mma_c[77]),
                           "+r"(mma_c[14]), "+r"(mma_c[15]),
                           "+r"(mma_c[78]), "+r"(mma_c[79]),
                           "+r"(mma_c[16]), "+r"(mma_c[17]),
                           "+r"(mma_c[80]), "+r"(mma_c[81]),
                           "+r"(mma_c[18]), "+r"(mma_c[19]),
                           "+r"(mma_c[82]), "+r"(mma_c[83]),
                           "+r"(mma_c[20]), "+r"(mma_c[21]),
                           "+r"(mma_c[84]), "+r"(mma_c[85]),
                           "+r"(mma_c[22]), "+r"(mma_c[23]),
                           "+r"(mma_c[86]), "+r"(mma_c[87]),
                           "+r"(mma_c[24]), "+r"(mma_c[25]),
                           "+r"(mma_c[88]), "+r"(mma_c[89]),
                           "+r"(mma_c[26]), "+r"(mma_c[27]),
                           "+r"(mma_c[90]), "+r"(mma_c[91]),
                           "+r"(mma_c[28]), "+r"(mma_c[29]),
                           "+r"(mma_c[92]), "+r"(mma_c[93]),
                           "+r"(mma_c[30]), "+r"(mma_c[31]),
                           "+r"(mma_c[94]), "+r"(mma_c[95]),
                           "+r"(mma_c[32]), "+r"(mma_c[33]),
                           "+r"(mma_c[96]), "+r"(mma_c[97]),
                           "+r"(mma_c[34]), "+r"(mma_c[35]),
                           "+r"(mma_c[98]), "+r"(mma_c[99]),
                           "+r"(mma_c[36]), "+r"(mma_c[37]),
                           "+r"(mma_c[100]), "+r"(mma_c[101]),
                           "+r"(mma_c[38]), "+r"(mma_c[39]),
                           "+r"(mma_c[102]), "+r"(mma_c[103]),
                           "+r"(mma_c[40]), "+r"(mma_c[41]),
                           "+r"(mma_c[104]), "+r"(mma_c[105]),
                           "+r"(mma_c[42]), "+r"(mma_c[43]),
                           "+r"(mma_c[106]), "+r"(mma_c[107]),
                           "+r"(mma_c[44]), "+r"(mma_c[45]),
                           "+r"(mma_c[108]), "+r"(mma_c[109]),
                           "+r"(mma_c[46]), "+r"(mma_c[47]),
                           "+r"(mma_c[110]), "+r"(mma_c[111]),
                           "+r"(mma_c[48]), "+r"(mma_c[49]),
                           "+r"(mma_c[112]), "+r"(mma_c[113]),
                           "+r"(mma_c[50]), "+r"(mma_c[51]),
                           "+r"(mma_c[114]), "+r"(mma_c[115]),
                           "+r"(mma_c[52]), "+r"(mma_c[53]),
                           "+r"(mma_c[116]), "+r"(mma_c[117]),
                           "+r"(mma_c[54]), "+r"(mma_c[55]),
                           "+r"(mma_c[118]), "+r"(mma_c[119]),
                           "+r"(mma_c[56]), "+r"(mma_c[57]),
                           "+r"(mma_c[120]), "+r"(mma_c[121]),
                           "+r"(mma_c[58]), "+r"(mma_c[59]),
                           "+r"(mma_c[122]), "+r"(mma_c[123]),
                           "+r"(mma_c[60]), "+r"(mma_c[61]),
                           "+r"(mma_c[124]), "+r"(mma_c[125]),
                           "+r"(mma_c[62]), "+r"(mma_c[63]),
                           "+r"(mma_c[126]), "+r"(mma_c[127])
                         : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above are
                                                                    // one group
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: C_shared is
                                                                    // accessed below
    settle_i32<128>(&C_local[0][0]);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        #pragma unroll
        for (int panel = 0; panel < 4; ++panel) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                if (panel * 32 + nj * 4 + lane % 4 < 100) {
                    *(int2 *)&C[(long long)(group * 12800 + lane / 32 * 3200 + lane / 4 % 8 * 200
                                            + lane % 4 * 2) + (u * 1600 + panel * 64 + nj * 8)] =
                        make_int2(C_local[u][panel * 16 + nj * 2],
                                  C_local[u][panel * 16 + nj * 2 + 1]);
                }
            }
        }
    }
}
