// matmul_bf16: 1 launch
//   A: bf16[136, 128], read
//   B: bf16[128, 200], read
//   C: bf16[136, 200], written
//   A_map: cuTensorMapEncodeTiled of A, UINT16, extents {128, 136}, boxes {64, 128}, SWIZZLE_128B
//   B_map: cuTensorMapEncodeTiled of B, UINT16, extents {200, 128}, boxes {64, 64}, SWIZZLE_128B
// matmul_bf16<<<dim3(2, 2), dim3(128, 2), 98312>>>(C, A_map, B_map);

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

template <int n>
static __device__ __forceinline__ void settle_f32(float *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+f"(t[i])::"memory");
}

static __device__ __forceinline__ unsigned long long policy_evict_first()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

extern "C" __global__ void __launch_bounds__(256)
matmul_bf16(unsigned short *__restrict__ C, const __grid_constant__ TensorMap A_map,
            const __grid_constant__ TensorMap B_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*A_shared)[128][64] = (unsigned short (*)[128][64])shared_memory;
    unsigned short (*B_shared)[3][64][64] = (unsigned short (*)[3][64][64])(shared_memory + 32768);
    unsigned short (*C_shared)[64] = (unsigned short (*)[64])(shared_memory + 81920);
    prefetch_map(A_map);
    prefetch_map(B_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 98304);
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int place = (int)blockIdx.y * 2 + (int)blockIdx.x;
    const int by = place % 2;
    const int bx = place / 2;
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float T[2][48];
    for (int u = 0; u < 2; ++u) {
        for (int panel = 0; panel < 3; ++panel) {
            for (int nj = 0; nj < 8; ++nj) {
                for (int pair = 0; pair < 2; ++pair)
                    T[u][panel * 16 + nj * 2 + pair] = 0.0f;
            }
        }
    }
    if (lane == 0 && group == 0) {
        hinted_bulk_2d(&A_shared[0][0][0], A_map, 0, by * 128, &landed[begun % 1], 16384,
                       policy_evict_first());
        for (int ax1_1 = 0; ax1_1 < 3; ++ax1_1)
            hinted_bulk_2d(&B_shared[0][ax1_1][0][0], B_map, bx * 192 + ax1_1 * 64, 0,
                           &landed[begun % 1], 8192, policy_evict_first());
    }
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    for (int ko = 0; ko < 2; ++ko) {
        const int ko_1 = ko + 1;
        if (ko < 1 && lane == 0 && group == 0) {
            hinted_bulk_2d(&A_shared[ko_1][0][0], A_map, ko_1 * 64, by * 128, &landed[begun % 1],
                           16384, policy_evict_first());
            for (int ax1_1 = 0; ax1_1 < 3; ++ax1_1)
                hinted_bulk_2d(&B_shared[ko_1][ax1_1][0][0], B_map, bx * 192 + ax1_1 * 64,
                               ko_1 * 64, &landed[begun % 1], 8192, policy_evict_first());
        }
        copy_bulk_commit<1>(landed, begun);  // the copies above are one group
        float *mma_c = &T[0][0];
        const unsigned long long mma_p = 0x4000004000010000ull
            | (unsigned)__cvta_generic_to_shared(&A_shared[ko][group * 64][0]) % 0x40000 >> 4;
        const unsigned long long mma_q = 0x4000004002000000ull
            | (unsigned)__cvta_generic_to_shared(&B_shared[ko][0][0][0]) % 0x40000 >> 4;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
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
                         "%92, %93, %94, %95}, "
                         "%96, %97, 1, 1, 1, 0, 1;"
                         :
                           "+f"(mma_c[0]), "+f"(mma_c[1]),
                           "+f"(mma_c[48]), "+f"(mma_c[49]),
                           "+f"(mma_c[2]), "+f"(mma_c[3]),
                           "+f"(mma_c[50]), "+f"(mma_c[51]),
                           "+f"(mma_c[4]), "+f"(mma_c[5]),
                           "+f"(mma_c[52]), "+f"(mma_c[53]),
                           "+f"(mma_c[6]), "+f"(mma_c[7]),
                           "+f"(mma_c[54]), "+f"(mma_c[55]),
                           "+f"(mma_c[8]), "+f"(mma_c[9]),
                           "+f"(mma_c[56]), "+f"(mma_c[57]),
                           "+f"(mma_c[10]), "+f"(mma_c[11]),
                           "+f"(mma_c[58]), "+f"(mma_c[59]),
                           "+f"(mma_c[12]), "+f"(mma_c[13]),
                           "+f"(mma_c[60]), "+f"(mma_c[61]),
                           "+f"(mma_c[14]), "+f"(mma_c[15]),
                           "+f"(mma_c[62]), "+f"(mma_c[63]),
                           "+f"(mma_c[16]), "+f"(mma_c[17]),
                           "+f"(mma_c[64]), "+f"(mma_c[65]),
                           "+f"(mma_c[18]), "+f"(mma_c[19]),
                           "+f"(mma_c[66]), "+f"(mma_c[67]),
                           "+f"(mma_c[20]), "+f"(mma_c[21]),
                           "+f"(mma_c[68]), "+f"(mma_c[69]),
                           "+f"(mma_c[22]), "+f"(mma_c[23]),
                           "+f"(mma_c[70]), "+f"(mma_c[71]),
                           "+f"(mma_c[24]), "+f"(mma_c[25]),
                           "+f"(mma_c[72]), "+f"(mma_c[73]),
                           "+f"(mma_c[26]), "+f"(mma_c[27]),
                           "+f"(mma_c[74]), "+f"(mma_c[75]),
                           "+f"(mma_c[28]), "+f"(mma_c[29]),
                           "+f"(mma_c[76]), "+f"(mma_c[77]),
                           "+f"(mma_c[30]), "+f"(mma_c[31]),
                           "+f"(mma_c[78]), "+f"(mma_c[79]),
                           "+f"(mma_c[32]), "+f"(mma_c[33]),
                           "+f"(mma_c[80]), "+f"(mma_c[81]),
                           "+f"(mma_c[34]), "+f"(mma_c[35]),
                           "+f"(mma_c[82]), "+f"(mma_c[83]),
                           "+f"(mma_c[36]), "+f"(mma_c[37]),
                           "+f"(mma_c[84]), "+f"(mma_c[85]),
                           "+f"(mma_c[38]), "+f"(mma_c[39]),
                           "+f"(mma_c[86]), "+f"(mma_c[87]),
                           "+f"(mma_c[40]), "+f"(mma_c[41]),
                           "+f"(mma_c[88]), "+f"(mma_c[89]),
                           "+f"(mma_c[42]), "+f"(mma_c[43]),
                           "+f"(mma_c[90]), "+f"(mma_c[91]),
                           "+f"(mma_c[44]), "+f"(mma_c[45]),
                           "+f"(mma_c[92]), "+f"(mma_c[93]),
                           "+f"(mma_c[46]), "+f"(mma_c[47]),
                           "+f"(mma_c[94]), "+f"(mma_c[95])
                         : "l"(mma_p + 2 * k), "l"(mma_q + 128 * k));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        copy_bulk_wait<1>(landed, waited, begun);  // all copies
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: T is
                                                                    // accessed below
    settle_f32<96>(&T[0][0]);
    #pragma unroll
    for (int panels = 0; panels < 3; ++panels) {
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const int i = by * 128 + group * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
            if (i < 136) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    if (bx * 96 + panels * 32 + nj * 4 + lane % 4 < 100) {
                        *(unsigned int *)&C_shared[group * 64 + lane / 32 * 16 + u * 8
                                                   + lane / 4 % 8]
                                                  [(nj ^ lane / 4 % 8) * 8 + lane % 4 * 2] =
                            bf16x2_from_f32(T[u][panels * 16 + nj * 2],
                                            T[u][panels * 16 + nj * 2 + 1]);
                    }
                }
            }
        }
        __syncthreads();  // C_shared: written above by other threads, read below
        if (bx * 24 + panels * 8 + lane % 8 < 25) {
            #pragma unroll
            for (int each = 0; each < 4; ++each) {
                const int i = by * 128 + group * 64 + each * 16 + lane / 8;
                if (i < 136) {
                    *(uint4 *)&C[i * 200 + bx * 192 + panels * 64 + lane % 8 * 8] =
                        *(const uint4 *)&C_shared[group * 64 + each * 16 + lane / 8]
                                                 [(lane % 8 ^ lane / 8 % 8) * 8];
                }
            }
        }
        __syncthreads();  // C_shared: read above, overwritten in the next iteration of panels by
                          // other threads
    }
}
