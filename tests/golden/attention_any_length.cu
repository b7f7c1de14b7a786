// causal_attention: 2 launches
//   q: f16[S, 3, 64], read
//   k: f16[S, 3, 64], read
//   v: bf16[S, 3, 64], read
//   y: bf16[S, 3, 64], written
//   q_map: cuTensorMapEncodeTiled of q, UINT16, extents {64, 3, S}, boxes {64, 1, 128}, SWIZZLE_128B
//   k_map: cuTensorMapEncodeTiled of k, UINT16, extents {64, 3, S}, boxes {64, 1, 64}, SWIZZLE_128B
//   v_map: cuTensorMapEncodeTiled of v, UINT16, extents {64, 3, S}, boxes {64, 1, 64}, SWIZZLE_128B
//   q_map_: cuTensorMapEncodeTiled of q, UINT16, extents {64, 3, S}, boxes {64, 1, 128}, SWIZZLE_128B
//   k_map_: cuTensorMapEncodeTiled of k, UINT16, extents {64, 3, S}, boxes {64, 1, 64}, SWIZZLE_128B
//   v_map_: cuTensorMapEncodeTiled of v, UINT16, extents {64, 3, S}, boxes {64, 1, 64}, SWIZZLE_128B
//   32-bit indices: S * 192 and S + 127 are at most 2147483647
// if S % 128 == 0 && S > 0:
//     causal_attention<<<dim3(S / 128, 3), dim3(128, 2), 49160>>>(y, q_map, k_map, v_map, S);
// else:
//     causal_attention_1<<<dim3((S + 127) / 128, 3), dim3(128, 2), 49160>>>(y, q_map_, k_map_, v_map_, S);

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

static __device__ __forceinline__ void copy_bulk_3d(void *to, const TensorMap &map, int x, int y,
                                                    int z, unsigned long long *landed, int bytes)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(mbarrier) : "memory");
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

extern "C" __global__ void __launch_bounds__(256, 2)
causal_attention(unsigned short *__restrict__ y, const __grid_constant__ TensorMap q_map,
                 const __grid_constant__ TensorMap k_map, const __grid_constant__ TensorMap v_map,
                 const int S)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*q_shared)[64] = (unsigned short (*)[64])shared_memory;
    unsigned short (*k_shared)[64] = (unsigned short (*)[64])(shared_memory + 16384);
    unsigned short (*v_shared)[64][64] = (unsigned short (*)[64][64])(shared_memory + 32768);
    prefetch_map(q_map);
    prefetch_map(k_map);
    prefetch_map(v_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 49152);
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int h_m = blockIdx.y;
    const int rows = S / 128 - (int)blockIdx.x - 1;
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float t[2];
    __align__(16) float o[2][16];
    float m_rf[2];
    float t_rf[2];
    for (int u = 0; u < 2; ++u)
        m_rf[u] = __int_as_float(0xff800000);
    for (int u = 0; u < 2; ++u)
        t_rf[u] = 0.0f;
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        #pragma unroll
        for (int nj = 0; nj < 8; ++nj) {
            *(float2 *)&o[u][nj * 2] = make_float2(0.0f, 0.0f);
        }
    }
    if (lane == 0 && group == 0) {
        copy_bulk_3d(&q_shared[0][0], q_map, 0, h_m, rows * 128, &landed[begun % 1], 16384);
        copy_bulk_3d(&k_shared[0][0], k_map, 0, h_m, 0, &landed[begun % 1], 8192);
        copy_bulk_3d(&v_shared[0][0][0], v_map, 0, h_m, 0, &landed[begun % 1], 8192);
    }
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    __syncthreads();  // k_shared, q_shared, v_shared: written above by other threads, read below
    for (int tile = 0; tile < rows * 2 + 2; ++tile) {
        const int tile_1 = tile + 1;
        float s[2][16];
        float m[2];
        __align__(16) float p[2][16];
        float m_before[2];
        if (tile <= rows * 2 && lane == 0 && group == 0) {
            copy_bulk_3d(&k_shared[(tile + 1) % 2 * 64][0], k_map, 0, h_m, tile_1 * 64,
                         &landed[begun % 1], 8192);
            copy_bulk_3d(&v_shared[(tile + 1) % 2][0][0], v_map, 0, h_m, tile_1 * 64,
                         &landed[begun % 1], 8192);
        }
        copy_bulk_commit<1>(landed, begun);  // the copies above are one group
        float m_before_part[2];
        for (int u = 0; u < 2; ++u)
            m_before_part[u] = __int_as_float(0xff800000);
        for (int u = 0; u < 2; ++u)
            m_before_part[u] = fmaxf(m_before_part[u], m_rf[u]);
        for (int u = 0; u < 2; ++u) {
            m_before_part[u] =
                fmaxf(m_before_part[u], __shfl_xor_sync(0xffffffff, m_before_part[u], 2));
            m_before_part[u] =
                fmaxf(m_before_part[u], __shfl_xor_sync(0xffffffff, m_before_part[u], 1));
        }
        for (int u = 0; u < 2; ++u)
            m_before[u] = m_before_part[u];
        for (int u = 0; u < 2; ++u) {
            for (int panel_nj_fused = 0; panel_nj_fused < 8; ++panel_nj_fused) {
                for (int pair = 0; pair < 2; ++pair)
                    s[u][panel_nj_fused * 2 + pair] = 0.0f;
            }
        }
        {
            float *mma_c = &s[0][0];
            const unsigned long long mma_p = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&q_shared[group * 64][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&k_shared[tile % 2 * 64][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "%32, %33, 1, 1, 1, 0, 0;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[16]), "+f"(mma_c[17]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[18]), "+f"(mma_c[19]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[20]), "+f"(mma_c[21]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[22]), "+f"(mma_c[23]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[24]), "+f"(mma_c[25]),
                               "+f"(mma_c[10]), "+f"(mma_c[11]),
                               "+f"(mma_c[26]), "+f"(mma_c[27]),
                               "+f"(mma_c[12]), "+f"(mma_c[13]),
                               "+f"(mma_c[28]), "+f"(mma_c[29]),
                               "+f"(mma_c[14]), "+f"(mma_c[15]),
                               "+f"(mma_c[30]), "+f"(mma_c[31])
                             : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: s is
                                                                        // accessed below
        settle_f32<32>(&o[0][0]);
        settle_f32<32>(&s[0][0]);
        const int rows_at = rows * 128 + group * 64 + lane / 32 * 16;
        const int rows_at_1 = rows_at + lane / 4 % 8;
        const int tile_at = tile * 64 + lane % 4 * 2 + 56;
        if (tile_at < rows_at_1) {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                #pragma unroll
                for (int j_1 = 0; j_1 < 8; ++j_1) {
                    for (int j_3 = 0; j_3 < 2; ++j_3)
                        m_rf[u] = fmaxf(m_rf[u], s[u][j_1 * 2 + j_3] / sqrtf(64.0f));
                }
            }
        } else {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                #pragma unroll
                for (int j_1 = 0; j_1 < 8; ++j_1) {
                    for (int j_3 = 0; j_3 < 2; ++j_3)
                        m_rf[u] = fmaxf(m_rf[u],
                                        tile * 64 + j_1 * 8 + lane % 4 * 2 + j_3
                                                <= rows_at + u * 8 + lane / 4 % 8
                                            ? s[u][j_1 * 2 + j_3] / sqrtf(64.0f)
                                            : __int_as_float(0xff800000));
                }
            }
        }
        float m_part[2];
        for (int u = 0; u < 2; ++u)
            m_part[u] = __int_as_float(0xff800000);
        for (int u = 0; u < 2; ++u)
            m_part[u] = fmaxf(m_part[u], m_rf[u]);
        for (int u = 0; u < 2; ++u) {
            m_part[u] = fmaxf(m_part[u], __shfl_xor_sync(0xffffffff, m_part[u], 2));
            m_part[u] = fmaxf(m_part[u], __shfl_xor_sync(0xffffffff, m_part[u], 1));
        }
        for (int u = 0; u < 2; ++u)
            m[u] = m_part[u];
        if (tile_at < rows_at_1) {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    for (int pair = 0; pair < 2; ++pair)
                        p[u][nj * 2 + pair] =
                            expf(s[u][nj * 2 + pair] / sqrtf(64.0f) - fmaxf(m[u], -3.4028235e38f));
                }
            }
        } else {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    for (int pair = 0; pair < 2; ++pair)
                        p[u][nj * 2 + pair] =
                            expf(
                                (tile * 64 + nj * 8 + lane % 4 * 2 + pair
                                     <= rows_at + u * 8 + lane / 4 % 8
                                 ? s[u][nj * 2 + pair] / sqrtf(64.0f) : __int_as_float(0xff800000))
                                - fmaxf(m[u], -3.4028235e38f));
                }
            }
        }
        for (int u = 0; u < 2; ++u)
            t_rf[u] = t_rf[u]
                * (m_before[u] == __int_as_float(0xff800000) ? 1.0f : expf(m_before[u] - m[u]));
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            #pragma unroll
            for (int j_1 = 0; j_1 < 8; ++j_1) {
                for (int j_3 = 0; j_3 < 2; ++j_3)
                    t_rf[u] += p[u][j_1 * 2 + j_3];
            }
        }
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            __align__(16) float m_scale_local = m_before[u] == __int_as_float(0xff800000)
                ? 1.0f : expf(m_before[u] - m[u]);
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                const float2 o_v = *(const float2 *)&o[u][nj * 2];
                float2 result;
                result.x = o_v.x * m_scale_local;
                result.y = o_v.y * m_scale_local;
                *(float2 *)&o[u][nj * 2] = result;
            }
        }
        __align__(16) unsigned short p_bf16[2][8][2];
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            #pragma unroll
            for (int k_1 = 0; k_1 < 8; ++k_1) {
                const float2 p_v = *(const float2 *)&p[r][k_1 * 2];
                unsigned int result;
                result = bf16x2_from_f32(p_v.x, p_v.y);
                *(unsigned int *)&p_bf16[r][k_1][0] = result;
            }
        }
        {
            float *mma_c = &o[0][0];
            const unsigned mma_a[16] = {
                *(const unsigned int *)&p_bf16[0][0][0],
                *(const unsigned int *)&p_bf16[1][0][0],
                *(const unsigned int *)&p_bf16[0][1][0],
                *(const unsigned int *)&p_bf16[1][1][0],
                *(const unsigned int *)&p_bf16[0][2][0],
                *(const unsigned int *)&p_bf16[1][2][0],
                *(const unsigned int *)&p_bf16[0][3][0],
                *(const unsigned int *)&p_bf16[1][3][0],
                *(const unsigned int *)&p_bf16[0][4][0],
                *(const unsigned int *)&p_bf16[1][4][0],
                *(const unsigned int *)&p_bf16[0][5][0],
                *(const unsigned int *)&p_bf16[1][5][0],
                *(const unsigned int *)&p_bf16[0][6][0],
                *(const unsigned int *)&p_bf16[1][6][0],
                *(const unsigned int *)&p_bf16[0][7][0],
                *(const unsigned int *)&p_bf16[1][7][0],
            };
            const unsigned long long mma_q = 0x4000004002000000ull
                | (unsigned)__cvta_generic_to_shared(&v_shared[tile % 2][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "{%32, %33, %34, %35}, "
                             "%36, 1, 1, 1, 1;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[16]), "+f"(mma_c[17]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[18]), "+f"(mma_c[19]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[20]), "+f"(mma_c[21]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[22]), "+f"(mma_c[23]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[24]), "+f"(mma_c[25]),
                               "+f"(mma_c[10]), "+f"(mma_c[11]),
                               "+f"(mma_c[26]), "+f"(mma_c[27]),
                               "+f"(mma_c[12]), "+f"(mma_c[13]),
                               "+f"(mma_c[28]), "+f"(mma_c[29]),
                               "+f"(mma_c[14]), "+f"(mma_c[15]),
                               "+f"(mma_c[30]), "+f"(mma_c[31])
                             : "r"(mma_a[k * 4]), "r"(mma_a[k * 4 + 1]),
                               "r"(mma_a[k * 4 + 2]), "r"(mma_a[k * 4 + 3]),
                               "l"(mma_q + 128 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: o is
                                                                        // accessed below
        settle_f32<32>(&o[0][0]);
        settle_f32<32>(&s[0][0]);
        copy_bulk_wait<1>(landed, waited, begun);  // all copies
        __syncthreads();  // k_shared, v_shared: written above, read in the next iteration of tile
                          // by other threads; k_shared, v_shared: read above, overwritten in the
                          // next iteration of tile by other threads
    }
    float t_part[2];
    for (int u = 0; u < 2; ++u)
        t_part[u] = 0.0f;
    for (int u = 0; u < 2; ++u)
        t_part[u] += t_rf[u];
    for (int u = 0; u < 2; ++u) {
        t_part[u] += __shfl_xor_sync(0xffffffff, t_part[u], 2);
        t_part[u] += __shfl_xor_sync(0xffffffff, t_part[u], 1);
    }
    for (int u = 0; u < 2; ++u)
        t[u] = t_part[u];
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        #pragma unroll
        for (int nj = 0; nj < 8; ++nj) {
            *(unsigned int *)&y[(long long)(rows * 24576 + group * 12288 + lane / 32 * 3072
                                            + lane / 4 % 8 * 192 + h_m * 64 + lane % 4 * 2)
                                + (u * 1536 + nj * 8)] =
                bf16x2_from_f32(o[u][nj * 2] / t[u], o[u][nj * 2 + 1] / t[u]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 2)
causal_attention_1(unsigned short *__restrict__ y, const __grid_constant__ TensorMap q_map_,
                   const __grid_constant__ TensorMap k_map_,
                   const __grid_constant__ TensorMap v_map_, const int S)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*q_shared_1)[64] = (unsigned short (*)[64])shared_memory;
    unsigned short (*k_shared_1)[64] = (unsigned short (*)[64])(shared_memory + 16384);
    unsigned short (*v_shared_1)[64][64] = (unsigned short (*)[64][64])(shared_memory + 32768);
    prefetch_map(q_map_);
    prefetch_map(k_map_);
    prefetch_map(v_map_);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 49152);
    int begun = 0, waited = 0;
    copy_bulk_begin<1>(landed);  // an mbarrier for each group of copies under way
    const int h_2_m = blockIdx.y;
    const int rows = (S + 127) / 128 - (int)blockIdx.x - 1;
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float t_1[2];
    __align__(16) float o_1[2][16];
    float m_1_rf[2];
    float t_1_rf[2];
    for (int u = 0; u < 2; ++u)
        m_1_rf[u] = __int_as_float(0xff800000);
    for (int u = 0; u < 2; ++u)
        t_1_rf[u] = 0.0f;
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        #pragma unroll
        for (int nj = 0; nj < 8; ++nj) {
            *(float2 *)&o_1[u][nj * 2] = make_float2(0.0f, 0.0f);
        }
    }
    if (lane == 0 && group == 0)
        copy_bulk_3d(&q_shared_1[0][0], q_map_, 0, h_2_m, rows * 128, &landed[begun % 1], 16384);
    if (lane == 0 && group == 0 && min((S + 63) / 64, rows * 2 + 2) > 0) {
        copy_bulk_3d(&k_shared_1[0][0], k_map_, 0, h_2_m, 0, &landed[begun % 1], 8192);
        copy_bulk_3d(&v_shared_1[0][0][0], v_map_, 0, h_2_m, 0, &landed[begun % 1], 8192);
    }
    copy_bulk_commit<1>(landed, begun);  // the copies above are one group
    copy_bulk_wait<1>(landed, waited, begun);  // all copies
    __syncthreads();  // k_shared_1, q_shared_1, v_shared_1: written above by other threads, read
                      // below
    const int S_min = min((S + 63) / 64, rows * 2 + 2);
    for (int tile = 0; tile < S_min; ++tile) {
        const int tile_2 = tile + 1;
        float s_1[2][16];
        float m_1[2];
        __align__(16) float p_1[2][16];
        float m_1_before[2];
        if (tile + 1 < S_min && lane == 0 && group == 0) {
            copy_bulk_3d(&k_shared_1[(tile + 1) % 2 * 64][0], k_map_, 0, h_2_m, tile_2 * 64,
                         &landed[begun % 1], 8192);
            copy_bulk_3d(&v_shared_1[(tile + 1) % 2][0][0], v_map_, 0, h_2_m, tile_2 * 64,
                         &landed[begun % 1], 8192);
        }
        copy_bulk_commit<1>(landed, begun);  // the copies above are one group
        float m_1_before_part[2];
        for (int u = 0; u < 2; ++u)
            m_1_before_part[u] = __int_as_float(0xff800000);
        for (int u = 0; u < 2; ++u)
            m_1_before_part[u] = fmaxf(m_1_before_part[u], m_1_rf[u]);
        for (int u = 0; u < 2; ++u) {
            m_1_before_part[u] =
                fmaxf(m_1_before_part[u], __shfl_xor_sync(0xffffffff, m_1_before_part[u], 2));
            m_1_before_part[u] =
                fmaxf(m_1_before_part[u], __shfl_xor_sync(0xffffffff, m_1_before_part[u], 1));
        }
        for (int u = 0; u < 2; ++u)
            m_1_before[u] = m_1_before_part[u];
        for (int u = 0; u < 2; ++u) {
            for (int panel_nj_fused = 0; panel_nj_fused < 8; ++panel_nj_fused) {
                for (int pair = 0; pair < 2; ++pair)
                    s_1[u][panel_nj_fused * 2 + pair] = 0.0f;
            }
        }
        {
            float *mma_c = &s_1[0][0];
            const unsigned long long mma_p = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&q_shared_1[group * 64][0]) % 0x40000 >> 4;
            const unsigned long long mma_q = 0x4000004000010000ull
                | (unsigned)__cvta_generic_to_shared(&k_shared_1[tile % 2 * 64][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "%32, %33, 1, 1, 1, 0, 0;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[16]), "+f"(mma_c[17]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[18]), "+f"(mma_c[19]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[20]), "+f"(mma_c[21]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[22]), "+f"(mma_c[23]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[24]), "+f"(mma_c[25]),
                               "+f"(mma_c[10]), "+f"(mma_c[11]),
                               "+f"(mma_c[26]), "+f"(mma_c[27]),
                               "+f"(mma_c[12]), "+f"(mma_c[13]),
                               "+f"(mma_c[28]), "+f"(mma_c[29]),
                               "+f"(mma_c[14]), "+f"(mma_c[15]),
                               "+f"(mma_c[30]), "+f"(mma_c[31])
                             : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: s_1 is
                                                                        // accessed below
        settle_f32<32>(&o_1[0][0]);
        settle_f32<32>(&s_1[0][0]);
        const int tile_at = tile * 64 + lane % 4 * 2;
        const int tile_at_1 = tile_at + 57;
        if (tile_at_1 < S
            && tile_at + 56 < rows * 128 + group * 64 + lane / 32 * 16 + lane / 4 % 8) {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                #pragma unroll
                for (int j_1 = 0; j_1 < 8; ++j_1) {
                    for (int j_3 = 0; j_3 < 2; ++j_3)
                        m_1_rf[u] = fmaxf(m_1_rf[u], s_1[u][j_1 * 2 + j_3] / sqrtf(64.0f));
                }
            }
        } else {
            if (tile_at < S) {
                #pragma unroll
                for (int u = 0; u < 2; ++u) {
                    #pragma unroll
                    for (int j_1 = 0; j_1 < 8; ++j_1) {
                        for (int j_3 = 0; j_3 < 2; ++j_3) {
                            const int tile_at_2 = tile * 64 + j_1 * 8 + lane % 4 * 2 + j_3;
                            if (tile_at_2 < S)
                                m_1_rf[u] = fmaxf(m_1_rf[u],
                                                  tile_at_2
                                                          <= rows * 128 + group * 64
                                                              + lane / 32 * 16 + u * 8
                                                              + lane / 4 % 8
                                                      ? s_1[u][j_1 * 2 + j_3] / sqrtf(64.0f)
                                                      : __int_as_float(0xff800000));
                        }
                    }
                }
            }
        }
        float m_1_part[2];
        for (int u = 0; u < 2; ++u)
            m_1_part[u] = __int_as_float(0xff800000);
        for (int u = 0; u < 2; ++u)
            m_1_part[u] = fmaxf(m_1_part[u], m_1_rf[u]);
        for (int u = 0; u < 2; ++u) {
            m_1_part[u] = fmaxf(m_1_part[u], __shfl_xor_sync(0xffffffff, m_1_part[u], 2));
            m_1_part[u] = fmaxf(m_1_part[u], __shfl_xor_sync(0xffffffff, m_1_part[u], 1));
        }
        for (int u = 0; u < 2; ++u)
            m_1[u] = m_1_part[u];
        if (tile_at_1 < S
            && tile_at + 56 < rows * 128 + group * 64 + lane / 32 * 16 + lane / 4 % 8) {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    for (int pair = 0; pair < 2; ++pair)
                        p_1[u][nj * 2 + pair] =
                            expf(s_1[u][nj * 2 + pair] / sqrtf(64.0f)
                                 - fmaxf(m_1[u], -3.4028235e38f));
                }
            }
        } else {
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                #pragma unroll
                for (int nj = 0; nj < 8; ++nj) {
                    for (int pair = 0; pair < 2; ++pair) {
                        const int j = tile * 64 + nj * 8 + lane % 4 * 2 + pair;
                        p_1[u][nj * 2 + pair] = j < S
                            ? expf(
                                (j <= rows * 128 + group * 64 + lane / 32 * 16 + u * 8
                                         + lane / 4 % 8
                                 ? s_1[u][nj * 2 + pair] / sqrtf(64.0f)
                                 : __int_as_float(0xff800000)) - fmaxf(m_1[u], -3.4028235e38f))
                            : 0.0f;
                    }
                }
            }
        }
        for (int u = 0; u < 2; ++u)
            t_1_rf[u] = t_1_rf[u]
                * (m_1_before[u] == __int_as_float(0xff800000)
                   ? 1.0f : expf(m_1_before[u] - m_1[u]));
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            #pragma unroll
            for (int j_1 = 0; j_1 < 8; ++j_1) {
                for (int j_3 = 0; j_3 < 2; ++j_3)
                    t_1_rf[u] += p_1[u][j_1 * 2 + j_3];
            }
        }
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            __align__(16) float m_1_scale_local = m_1_before[u] == __int_as_float(0xff800000)
                ? 1.0f : expf(m_1_before[u] - m_1[u]);
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                const float2 o_1_v = *(const float2 *)&o_1[u][nj * 2];
                float2 result;
                result.x = o_1_v.x * m_1_scale_local;
                result.y = o_1_v.y * m_1_scale_local;
                *(float2 *)&o_1[u][nj * 2] = result;
            }
        }
        __align__(16) unsigned short p_1_bf16[2][8][2];
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            #pragma unroll
            for (int k_1 = 0; k_1 < 8; ++k_1) {
                const float2 p_1_v = *(const float2 *)&p_1[r][k_1 * 2];
                unsigned int result;
                result = bf16x2_from_f32(p_1_v.x, p_1_v.y);
                *(unsigned int *)&p_1_bf16[r][k_1][0] = result;
            }
        }
        {
            float *mma_c = &o_1[0][0];
            const unsigned mma_a[16] = {
                *(const unsigned int *)&p_1_bf16[0][0][0],
                *(const unsigned int *)&p_1_bf16[1][0][0],
                *(const unsigned int *)&p_1_bf16[0][1][0],
                *(const unsigned int *)&p_1_bf16[1][1][0],
                *(const unsigned int *)&p_1_bf16[0][2][0],
                *(const unsigned int *)&p_1_bf16[1][2][0],
                *(const unsigned int *)&p_1_bf16[0][3][0],
                *(const unsigned int *)&p_1_bf16[1][3][0],
                *(const unsigned int *)&p_1_bf16[0][4][0],
                *(const unsigned int *)&p_1_bf16[1][4][0],
                *(const unsigned int *)&p_1_bf16[0][5][0],
                *(const unsigned int *)&p_1_bf16[1][5][0],
                *(const unsigned int *)&p_1_bf16[0][6][0],
                *(const unsigned int *)&p_1_bf16[1][6][0],
                *(const unsigned int *)&p_1_bf16[0][7][0],
                *(const unsigned int *)&p_1_bf16[1][7][0],
            };
            const unsigned long long mma_q = 0x4000004002000000ull
                | (unsigned)__cvta_generic_to_shared(&v_shared_1[tile % 2][0][0]) % 0x40000 >> 4;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                             "%0, %1, %2, %3, "
                             "%4, %5, %6, %7, "
                             "%8, %9, %10, %11, "
                             "%12, %13, %14, %15, "
                             "%16, %17, %18, %19, "
                             "%20, %21, %22, %23, "
                             "%24, %25, %26, %27, "
                             "%28, %29, %30, %31}, "
                             "{%32, %33, %34, %35}, "
                             "%36, 1, 1, 1, 1;"
                             :
                               "+f"(mma_c[0]), "+f"(mma_c[1]),
                               "+f"(mma_c[16]), "+f"(mma_c[17]),
                               "+f"(mma_c[2]), "+f"(mma_c[3]),
                               "+f"(mma_c[18]), "+f"(mma_c[19]),
                               "+f"(mma_c[4]), "+f"(mma_c[5]),
                               "+f"(mma_c[20]), "+f"(mma_c[21]),
                               "+f"(mma_c[6]), "+f"(mma_c[7]),
                               "+f"(mma_c[22]), "+f"(mma_c[23]),
                               "+f"(mma_c[8]), "+f"(mma_c[9]),
                               "+f"(mma_c[24]), "+f"(mma_c[25]),
                               "+f"(mma_c[10]), "+f"(mma_c[11]),
                               "+f"(mma_c[26]), "+f"(mma_c[27]),
                               "+f"(mma_c[12]), "+f"(mma_c[13]),
                               "+f"(mma_c[28]), "+f"(mma_c[29]),
                               "+f"(mma_c[14]), "+f"(mma_c[15]),
                               "+f"(mma_c[30]), "+f"(mma_c[31])
                             : "r"(mma_a[k * 4]), "r"(mma_a[k * 4 + 1]),
                               "r"(mma_a[k * 4 + 2]), "r"(mma_a[k * 4 + 3]),
                               "l"(mma_q + 128 * k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions above
                                                                        // are one group
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: o_1 is
                                                                        // accessed below
        settle_f32<32>(&o_1[0][0]);
        settle_f32<32>(&s_1[0][0]);
        copy_bulk_wait<1>(landed, waited, begun);  // all copies
        __syncthreads();  // k_shared_1, v_shared_1: written above, read in the next iteration of
                          // tile by other threads; k_shared_1, v_shared_1: read above, overwritten
                          // in the next iteration of tile by other threads
    }
    float t_1_part[2];
    for (int u = 0; u < 2; ++u)
        t_1_part[u] = 0.0f;
    for (int u = 0; u < 2; ++u)
        t_1_part[u] += t_1_rf[u];
    for (int u = 0; u < 2; ++u) {
        t_1_part[u] += __shfl_xor_sync(0xffffffff, t_1_part[u], 2);
        t_1_part[u] += __shfl_xor_sync(0xffffffff, t_1_part[u], 1);
    }
    for (int u = 0; u < 2; ++u)
        t_1[u] = t_1_part[u];
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const int i = rows * 128 + group * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8;
        if (i < S) {
            #pragma unroll
            for (int nj = 0; nj < 8; ++nj) {
                *(unsigned int *)&y[(long long)(rows * 24576 + group * 12288 + lane / 32 * 3072
                                                + lane / 4 % 8 * 192 + h_2_m * 64 + lane % 4 * 2)
                                    + (u * 1536 + nj * 8)] =
                    bf16x2_from_f32(o_1[u][nj * 2] / t_1[u], o_1[u][nj * 2 + 1] / t_1[u]);
            }
        }
    }
}
