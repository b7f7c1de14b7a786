// floats_of_lengths: 1 launch
//   q: f32[3, 70, 64], read
//   k: f32[3, 70, 64], read
//   v: f32[3, 70, 64], read
//   length: i32[3], read
//   y: f32[3, 70, 64], written
// floats_of_lengths<<<dim3(2, 3), dim3(32, 4), 68608>>>(q, k, v, length, y);

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

extern "C" __global__ void __launch_bounds__(128, 3)
floats_of_lengths(const float *__restrict__ q, const float *__restrict__ k,
                  const float *__restrict__ v, const int *__restrict__ length, float *y)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    float (*q_shared)[68] = (float (*)[68])shared_memory;
    float (*k_shared)[68] = (float (*)[68])(shared_memory + 17408);
    float (*v_shared)[64] = (float (*)[64])(shared_memory + 34816);
    float (*p_3_shared)[68] = (float (*)[68])(shared_memory + 51200);
    const int b_m_m = blockIdx.y;
    const int rows = 1 - (int)blockIdx.x;
    const int warp = threadIdx.y;
    const int ly_lane_fused = threadIdx.x;
    __align__(16) float t[4];
    __align__(16) float y_global[4][8];
    float m_rf[4];
    float t_rf[4];
    for (int ti = 0; ti < 4; ++ti)
        m_rf[ti] = __int_as_float(0xff800000);
    for (int ti = 0; ti < 4; ++ti)
        t_rf[ti] = 0.0f;
    #pragma unroll
    for (int ti = 0; ti < 4; ++ti) {
        const int i = rows * 64 + warp * 16 + ly_lane_fused / 8 * 4 + ti;
        if (i < 70) {
            #pragma unroll
            for (int nj = 0; nj < 2; ++nj) {
                for (int tj = 0; tj < 4; ++tj)
                    y_global[ti][nj * 4 + tj] = 0.0f;
            }
        }
    }
    #pragma unroll
    for (int each = 0; each < 32; ++each) {
        const int i = rows * 64 + each % 4 * 16 + warp * 4 + ly_lane_fused / 8;
        const int d = each / 4 * 8 + ly_lane_fused % 8;
        copy_async_or_zero<4>(&q_shared[d][each % 4 * 16 + warp * 4 + ly_lane_fused / 8],
                              &q[(b_m_m * 70 + i) * 64 + d], i < 70);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // q_shared: written above by other threads, read below
    const int length_end = length[b_m_m];
    for (int tile = 0; tile < (length_end + 63) / 64; ++tile) {
        float p[4][8];
        __align__(16) float p_3[4][8];
        float m[4];
        float m_before[4];
        #pragma unroll
        for (int each = 0; each < 32; ++each) {
            const int j = tile * 64 + each % 4 * 16 + warp * 4 + ly_lane_fused / 8;
            const int d = each / 4 * 8 + ly_lane_fused % 8;
            copy_async_or_zero<4>(&k_shared[d][each % 4 * 16 + warp * 4 + ly_lane_fused / 8],
                                  &k[(long long)(b_m_m * 4480 + warp * 256 + ly_lane_fused / 8 * 64
                                                 + ly_lane_fused % 8) + (long long)tile * 4096
                                     + (each % 4 * 1024 + each / 4 * 8)],
                                  j < 70);
        }
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            const int j = tile * 64 + each * 8 + warp * 2 + ly_lane_fused / 16;
            if (j < 70) {
                copy_async<16>(
                    &v_shared[each * 8 + warp * 2 + ly_lane_fused / 16][ly_lane_fused % 16 * 4],
                    &v[(long long)(b_m_m * 4480 + warp * 128 + ly_lane_fused * 4)
                       + (long long)tile * 4096 + each * 512]);
            }
        }
        copy_async_commit();  // the copies above are one group
        float m_before_part[4];
        for (int ti = 0; ti < 4; ++ti)
            m_before_part[ti] = __int_as_float(0xff800000);
        for (int ti = 0; ti < 4; ++ti)
            m_before_part[ti] = fmaxf(m_before_part[ti], m_rf[ti]);
        for (int ti = 0; ti < 4; ++ti) {
            m_before_part[ti] =
                fmaxf(m_before_part[ti], __shfl_xor_sync(0xffffffff, m_before_part[ti], 4));
            m_before_part[ti] =
                fmaxf(m_before_part[ti], __shfl_xor_sync(0xffffffff, m_before_part[ti], 2));
            m_before_part[ti] =
                fmaxf(m_before_part[ti], __shfl_xor_sync(0xffffffff, m_before_part[ti], 1));
        }
        for (int ti = 0; ti < 4; ++ti)
            m_before[ti] = m_before_part[ti];
        copy_async_wait<0>();  // all copies
        __syncthreads();  // k_shared: written above by other threads, read below
        #pragma unroll
        for (int mi_ti_fused = 0; mi_ti_fused < 4; ++mi_ti_fused) {
            #pragma unroll
            for (int column = 0; column < 8; ++column)
                p[mi_ti_fused][column] = 0.0f;
        }
        for (int ko = 0; ko < 8; ++ko) {
            #pragma unroll
            for (int ki = 0; ki < 8; ++ki) {
                const int d = ko * 8 + ki;
                __align__(16) float q_shared_local[4];
                __align__(16) float k_shared_local[8];
                *(float4 *)&q_shared_local[0] =
                    *(const float4 *)&q_shared[d][warp * 16 + ly_lane_fused / 8 * 4];
                #pragma unroll
                for (int run2 = 0; run2 < 2; ++run2) {
                    *(float4 *)&k_shared_local[run2 * 4] =
                        *(const float4 *)&k_shared[d][run2 * 32 + ly_lane_fused % 8 * 4];
                }
                #pragma unroll
                for (int mi_ti_fused = 0; mi_ti_fused < 4; ++mi_ti_fused) {
                    #pragma unroll
                    for (int column = 0; column < 8; ++column)
                        p[mi_ti_fused][column] +=
                            q_shared_local[mi_ti_fused] * k_shared_local[column];
                }
            }
        }
        if (tile * 16 + ly_lane_fused % 8 < 9) {
            #pragma unroll
            for (int ti = 0; ti < 4; ++ti) {
                #pragma unroll
                for (int j_1 = 0; j_1 < 2; ++j_1) {
                    for (int j_3 = 0; j_3 < 4; ++j_3)
                        m_rf[ti] = fmaxf(m_rf[ti],
                                         tile * 64 + j_1 * 32 + ly_lane_fused % 8 * 4 + j_3
                                                 < length[b_m_m]
                                             ? p[ti][j_1 * 4 + j_3] * 0.125f
                                             : __int_as_float(0xff800000));
                }
            }
        } else {
            if (tile * 16 + ly_lane_fused % 8 < 18) {
                #pragma unroll
                for (int ti = 0; ti < 4; ++ti) {
                    #pragma unroll
                    for (int j_1 = 0; j_1 < 2; ++j_1) {
                        for (int j_3 = 0; j_3 < 4; ++j_3) {
                            const int tile_at = tile * 64 + j_1 * 32 + ly_lane_fused % 8 * 4 + j_3;
                            if (tile_at < 70)
                                m_rf[ti] = fmaxf(m_rf[ti],
                                                 tile_at < length[b_m_m]
                                                     ? p[ti][j_1 * 4 + j_3] * 0.125f
                                                     : __int_as_float(0xff800000));
                        }
                    }
                }
            }
        }
        float m_part[4];
        for (int ti = 0; ti < 4; ++ti)
            m_part[ti] = __int_as_float(0xff800000);
        for (int ti = 0; ti < 4; ++ti)
            m_part[ti] = fmaxf(m_part[ti], m_rf[ti]);
        for (int ti = 0; ti < 4; ++ti) {
            m_part[ti] = fmaxf(m_part[ti], __shfl_xor_sync(0xffffffff, m_part[ti], 4));
            m_part[ti] = fmaxf(m_part[ti], __shfl_xor_sync(0xffffffff, m_part[ti], 2));
            m_part[ti] = fmaxf(m_part[ti], __shfl_xor_sync(0xffffffff, m_part[ti], 1));
        }
        for (int ti = 0; ti < 4; ++ti)
            m[ti] = m_part[ti];
        if (tile * 16 + ly_lane_fused % 8 < 9) {
            #pragma unroll
            for (int ti = 0; ti < 4; ++ti) {
                #pragma unroll
                for (int nj = 0; nj < 2; ++nj) {
                    for (int tj = 0; tj < 4; ++tj) {
                        const int j = tile * 64 + nj * 32 + ly_lane_fused % 8 * 4 + tj;
                        p_3[ti][nj * 4 + tj] = j < length[b_m_m]
                            ? expf(p[ti][nj * 4 + tj] * 0.125f - fmaxf(m[ti], -3.4028235e38f))
                            : 0.0f;
                    }
                }
            }
        } else {
            #pragma unroll
            for (int ti = 0; ti < 4; ++ti) {
                #pragma unroll
                for (int nj = 0; nj < 2; ++nj) {
                    for (int tj = 0; tj < 4; ++tj) {
                        const int j = tile * 64 + nj * 32 + ly_lane_fused % 8 * 4 + tj;
                        p_3[ti][nj * 4 + tj] = j < 70
                            ? (j < length[b_m_m]
                               ? expf(p[ti][nj * 4 + tj] * 0.125f - fmaxf(m[ti], -3.4028235e38f))
                               : 0.0f) : 0.0f;
                    }
                }
            }
        }
        for (int ti = 0; ti < 4; ++ti)
            t_rf[ti] = t_rf[ti]
                * (m_before[ti] == __int_as_float(0xff800000) ? 1.0f : expf(m_before[ti] - m[ti]));
        #pragma unroll
        for (int ti = 0; ti < 4; ++ti) {
            #pragma unroll
            for (int j_1 = 0; j_1 < 2; ++j_1) {
                for (int j_3 = 0; j_3 < 4; ++j_3)
                    t_rf[ti] += p_3[ti][j_1 * 4 + j_3];
            }
        }
        #pragma unroll
        for (int ti = 0; ti < 4; ++ti) {
            const int i = rows * 64 + warp * 16 + ly_lane_fused / 8 * 4 + ti;
            float m_scale_local = m_before[ti] == __int_as_float(0xff800000)
                ? 1.0f : expf(m_before[ti] - m[ti]);
            if (i < 70) {
                #pragma unroll
                for (int nj = 0; nj < 2; ++nj) {
                    for (int tj = 0; tj < 4; ++tj)
                        y_global[ti][nj * 4 + tj] = y_global[ti][nj * 4 + tj] * m_scale_local;
                }
            }
        }
        #pragma unroll
        for (int ti = 0; ti < 4; ++ti) {
            #pragma unroll
            for (int nj = 0; nj < 2; ++nj) {
                *(float4 *)&p_3_shared[warp * 16 + ly_lane_fused / 8 * 4 + ti]
                                      [nj * 32 + ly_lane_fused % 8 * 4] =
                    make_float4(p_3[ti][nj * 4], p_3[ti][nj * 4 + 1], p_3[ti][nj * 4 + 2],
                                p_3[ti][nj * 4 + 3]);
            }
        }
        __syncthreads();  // p_3_shared: written above by other threads, read below
        if (tile < 1 && tile * 64 + 63 < length_end
            && rows * 16 + warp * 4 + ly_lane_fused / 8 < 17) {
            for (int four = 0; four < 16; ++four) {
                __align__(16) float p_3_shared_local_1[4][4];
                #pragma unroll
                for (int ax1 = 0; ax1 < 4; ++ax1) {
                    *(float4 *)&p_3_shared_local_1[ax1][0] =
                        *(const float4 *)&p_3_shared[warp * 16 + ly_lane_fused / 8 * 4 + ax1]
                                                    [four * 4];
                }
                #pragma unroll
                for (int key = 0; key < 4; ++key) {
                    __align__(16) float v_shared_local_1[8];
                    #pragma unroll
                    for (int run2 = 0; run2 < 2; ++run2) {
                        *(float4 *)&v_shared_local_1[run2 * 4] =
                            *(const float4 *)&v_shared[four * 4 + key]
                                                      [run2 * 32 + ly_lane_fused % 8 * 4];
                    }
                    #pragma unroll
                    for (int mi_ti_fused = 0; mi_ti_fused < 4; ++mi_ti_fused) {
                        #pragma unroll
                        for (int column = 0; column < 8; ++column)
                            y_global[mi_ti_fused][column] +=
                                p_3_shared_local_1[mi_ti_fused][key] * v_shared_local_1[column];
                    }
                }
            }
        } else {
            for (int four = 0; four < 16; ++four) {
                __align__(16) float p_3_shared_local[4][4];
                #pragma unroll
                for (int ax1 = 0; ax1 < 4; ++ax1) {
                    *(float4 *)&p_3_shared_local[ax1][0] =
                        *(const float4 *)&p_3_shared[warp * 16 + ly_lane_fused / 8 * 4 + ax1]
                                                    [four * 4];
                }
                #pragma unroll
                for (int key = 0; key < 4; ++key) {
                    const int j = tile * 64 + four * 4 + key;
                    __align__(16) float v_shared_local[8];
                    if (j < 70) {
                        #pragma unroll
                        for (int run2 = 0; run2 < 2; ++run2) {
                            *(float4 *)&v_shared_local[run2 * 4] =
                                *(const float4 *)&v_shared[four * 4 + key]
                                                          [run2 * 32 + ly_lane_fused % 8 * 4];
                        }
                    }
                    if (j < length_end) {
                        #pragma unroll
                        for (int mi_ti_fused = 0; mi_ti_fused < 4; ++mi_ti_fused) {
                            const int i =
                                rows * 64 + warp * 16 + ly_lane_fused / 8 * 4 + mi_ti_fused;
                            if (i < 70) {
                                #pragma unroll
                                for (int column = 0; column < 8; ++column)
                                    y_global[mi_ti_fused][column] +=
                                        p_3_shared_local[mi_ti_fused][key] * v_shared_local[column];
                            }
                        }
                    }
                }
            }
        }
        __syncthreads();  // v_shared: read above, overwritten in the next iteration of tile by
                          // other threads
    }
    float t_part[4];
    for (int ti = 0; ti < 4; ++ti)
        t_part[ti] = 0.0f;
    for (int ti = 0; ti < 4; ++ti)
        t_part[ti] += t_rf[ti];
    for (int ti = 0; ti < 4; ++ti) {
        t_part[ti] += __shfl_xor_sync(0xffffffff, t_part[ti], 4);
        t_part[ti] += __shfl_xor_sync(0xffffffff, t_part[ti], 2);
        t_part[ti] += __shfl_xor_sync(0xffffffff, t_part[ti], 1);
    }
    for (int ti = 0; ti < 4; ++ti)
        t[ti] = t_part[ti];
    #pragma unroll
    for (int ti = 0; ti < 4; ++ti) {
        const int i = rows * 64 + warp * 16 + ly_lane_fused / 8 * 4 + ti;
        if (i < 70) {
            #pragma unroll
            for (int nj = 0; nj < 2; ++nj) {
                *(float4 *)&y[(b_m_m * 70 + i) * 64 + nj * 32 + ly_lane_fused % 8 * 4] =
                    make_float4(y_global[ti][nj * 4], y_global[ti][nj * 4 + 1],
                                y_global[ti][nj * 4 + 2], y_global[ti][nj * 4 + 3]);
            }
        }
    }
    #pragma unroll
    for (int ti = 0; ti < 4; ++ti) {
        const int i = rows * 64 + warp * 16 + ly_lane_fused / 8 * 4 + ti;
        if (i < 70) {
            #pragma unroll
            for (int nj = 0; nj < 2; ++nj) {
                const float4 y_v =
                    *(const float4 *)&y[(b_m_m * 70 + i) * 64 + nj * 32 + ly_lane_fused % 8 * 4];
                float4 result;
                result.x = y_v.x / fmaxf(t[ti], 1e-30f);
                result.y = y_v.y / fmaxf(t[ti], 1e-30f);
                result.z = y_v.z / fmaxf(t[ti], 1e-30f);
                result.w = y_v.w / fmaxf(t[ti], 1e-30f);
                *(float4 *)&y[(b_m_m * 70 + i) * 64 + nj * 32 + ly_lane_fused % 8 * 4] = result;
            }
        }
    }
}
