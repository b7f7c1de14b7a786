// floats_of_lengths: 1 launch
//   q: f32[3, 70, 64], read
//   k: f32[3, 70, 64], read
//   v: f32[3, 70, 64], read
//   length: i32[3], read
//   y: f32[3, 70, 64], written
// floats_of_lengths<<<dim3(2, 3), dim3(32, 4), 75008>>>(q, k, v, length, y);

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
    float *t = (float *)shared_memory;
    float (*q_shared)[68] = (float (*)[68])(shared_memory + 256);
    float (*m_rf)[9] = (float (*)[9])(shared_memory + 17664);
    float *m = (float *)(shared_memory + 19968);
    float (*k_shared)[68] = (float (*)[68])(shared_memory + 20224);
    float (*v_shared)[64] = (float (*)[64])(shared_memory + 37632);
    float *m_scale = (float *)(shared_memory + 54016);
    float (*p_3_shared)[16][72] = (float (*)[16][72])(shared_memory + 54272);
    float (*t_rf_shared)[9] = (float (*)[9])(shared_memory + 72704);
    const int b_m_m = blockIdx.y;
    const int rows = 1 - (int)blockIdx.x;
    const int warp = threadIdx.y;
    const int far_ly_near_fused = threadIdx.x;
    __align__(16) float y_global[4][8];
    float t_rf[4];
    const int lane = far_ly_near_fused / 8 * 2 + far_ly_near_fused % 2;
    for (int ti = 0; ti < 4; ++ti)
        m_rf[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti][lane] = __int_as_float(0xff800000);
    for (int ti = 0; ti < 4; ++ti)
        t_rf[ti] = 0.0f;
    #pragma unroll
    for (int ti = 0; ti < 4; ++ti) {
        const int i = rows * 64 + warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti;
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
        const int i = rows * 64 + each % 4 * 16 + warp * 4 + far_ly_near_fused / 8;
        const int d = each / 4 * 8 + far_ly_near_fused % 8;
        copy_async_or_zero<4>(&q_shared[d][each % 4 * 16 + warp * 4 + far_ly_near_fused / 8],
                              &q[(b_m_m * 70 + i) * 64 + d], i < 70);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // m_rf: written above by other threads, read below
    const int length_end = length[b_m_m];
    for (int tile = 0; tile < (length_end + 63) / 64; ++tile) {
        float p[4][8];
        __align__(16) float p_3[4][8];
        float m_before;
        #pragma unroll
        for (int each = 0; each < 32; ++each) {
            const int j = tile * 64 + each % 4 * 16 + warp * 4 + far_ly_near_fused / 8;
            const int d = each / 4 * 8 + far_ly_near_fused % 8;
            copy_async_or_zero<4>(&k_shared[d][each % 4 * 16 + warp * 4 + far_ly_near_fused / 8],
                                  &k[(long long)(b_m_m * 4480 + warp * 256
                                                 + far_ly_near_fused / 8 * 64
                                                 + far_ly_near_fused % 8) + (long long)tile * 4096
                                     + (each % 4 * 1024 + each / 4 * 8)],
                                  j < 70);
        }
        #pragma unroll
        for (int each = 0; each < 8; ++each) {
            const int j = tile * 64 + each * 8 + warp * 2 + far_ly_near_fused / 16;
            if (j < 70) {
                copy_async<16>(
                    &v_shared[each * 8 + warp * 2 + far_ly_near_fused / 16]
                             [far_ly_near_fused % 16 * 4],
                    &v[(long long)(b_m_m * 4480 + warp * 128 + far_ly_near_fused * 4)
                       + (long long)tile * 4096 + each * 512]);
            }
        }
        copy_async_commit();  // the copies above are one group
        if (warp * 32 + far_ly_near_fused < 64) {
            m_before = __int_as_float(0xff800000);
            #pragma unroll
            for (int lane_1 = 0; lane_1 < 8; ++lane_1)
                m_before = fmaxf(m_before, m_rf[warp * 32 + far_ly_near_fused][lane_1]);
        }
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
                    *(const float4 *)&q_shared[d][warp * 16 + far_ly_near_fused / 2 % 4 * 4];
                #pragma unroll
                for (int run2 = 0; run2 < 2; ++run2) {
                    *(float4 *)&k_shared_local[run2 * 4] =
                        *(const float4 *)&k_shared[d]
                                                  [run2 * 32 + far_ly_near_fused / 8 * 8
                                                   + far_ly_near_fused % 2 * 4];
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
        const int tile_at = tile * 16 + far_ly_near_fused / 8 * 2 + far_ly_near_fused % 2;
        if (tile_at < 9) {
            #pragma unroll
            for (int ti = 0; ti < 4; ++ti) {
                #pragma unroll
                for (int j_1 = 0; j_1 < 2; ++j_1) {
                    for (int j_3 = 0; j_3 < 4; ++j_3)
                        m_rf[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti][lane] =
                            fmaxf(m_rf[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti][lane],
                                  tile * 64 + j_1 * 32 + lane * 4 + j_3 < length[b_m_m]
                                      ? p[ti][j_1 * 4 + j_3] * 0.125f : __int_as_float(0xff800000));
                }
            }
        } else {
            if (tile_at < 18) {
                #pragma unroll
                for (int ti = 0; ti < 4; ++ti) {
                    #pragma unroll
                    for (int j_1 = 0; j_1 < 2; ++j_1) {
                        for (int j_3 = 0; j_3 < 4; ++j_3) {
                            if (tile * 64 + j_1 * 32 + far_ly_near_fused / 8 * 8
                                    + far_ly_near_fused % 2 * 4 + j_3 < 70)
                                m_rf[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti][lane] =
                                    fmaxf(
                                        m_rf[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti][lane],
                                        tile * 64 + j_1 * 32 + lane * 4 + j_3 < length[b_m_m]
                                            ? p[ti][j_1 * 4 + j_3] * 0.125f
                                            : __int_as_float(0xff800000));
                        }
                    }
                }
            }
        }
        __syncthreads();  // m_rf: written above by other threads, read below
        if (warp * 32 + far_ly_near_fused < 64) {
            float m_acc = __int_as_float(0xff800000);
            #pragma unroll
            for (int lane_2 = 0; lane_2 < 8; ++lane_2)
                m_acc = fmaxf(m_acc, m_rf[warp * 32 + far_ly_near_fused][lane_2]);
            m[warp * 32 + far_ly_near_fused] = m_acc;
            m_scale[warp * 32 + far_ly_near_fused] = m_before == __int_as_float(0xff800000)
                ? 1.0f : expf(m_before - m[warp * 32 + far_ly_near_fused]);
        }
        __syncthreads();  // m: written above by other threads, read below
        if (tile_at < 9) {
            #pragma unroll
            for (int ti = 0; ti < 4; ++ti) {
                float m_local_1 = m[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti];
                #pragma unroll
                for (int nj = 0; nj < 2; ++nj) {
                    for (int tj = 0; tj < 4; ++tj) {
                        const int j = tile * 64 + nj * 32 + far_ly_near_fused / 8 * 8
                            + far_ly_near_fused % 2 * 4 + tj;
                        p_3[ti][nj * 4 + tj] = j < length[b_m_m]
                            ? expf(p[ti][nj * 4 + tj] * 0.125f - fmaxf(m_local_1, -3.4028235e38f))
                            : 0.0f;
                    }
                }
            }
        } else {
            #pragma unroll
            for (int ti = 0; ti < 4; ++ti) {
                float m_local = m[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti];
                #pragma unroll
                for (int nj = 0; nj < 2; ++nj) {
                    for (int tj = 0; tj < 4; ++tj) {
                        const int j = tile * 64 + nj * 32 + far_ly_near_fused / 8 * 8
                            + far_ly_near_fused % 2 * 4 + tj;
                        p_3[ti][nj * 4 + tj] = j < 70
                            ? (j < length[b_m_m]
                               ? expf(p[ti][nj * 4 + tj] * 0.125f - fmaxf(m_local, -3.4028235e38f))
                               : 0.0f) : 0.0f;
                    }
                }
            }
        }
        for (int ti = 0; ti < 4; ++ti)
            t_rf[ti] = t_rf[ti] * m_scale[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti];
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
            const int i = rows * 64 + warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti;
            float m_scale_local = m_scale[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti];
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
                *(float4 *)&p_3_shared[ti][warp * 4 + far_ly_near_fused / 2 % 4]
                                      [nj * 32 + far_ly_near_fused / 8 * 8
                                       + far_ly_near_fused % 2 * 4] = make_float4(p_3[ti][nj * 4],
                                           p_3[ti][nj * 4 + 1], p_3[ti][nj * 4 + 2],
                                           p_3[ti][nj * 4 + 3]);
            }
        }
        __syncthreads();  // p_3_shared: written above by other threads, read below
        if (tile < 1 && tile * 64 + 63 < length_end
            && rows * 16 + warp * 4 + far_ly_near_fused / 2 % 4 < 17) {
            for (int four = 0; four < 16; ++four) {
                __align__(16) float p_3_shared_local_1[4][4];
                #pragma unroll
                for (int ax1 = 0; ax1 < 4; ++ax1) {
                    *(float4 *)&p_3_shared_local_1[ax1][0] =
                        *(const float4 *)&p_3_shared[ax1][warp * 4 + far_ly_near_fused / 2 % 4]
                                                    [four * 4];
                }
                #pragma unroll
                for (int key = 0; key < 4; ++key) {
                    __align__(16) float v_shared_local_1[8];
                    #pragma unroll
                    for (int run2 = 0; run2 < 2; ++run2) {
                        *(float4 *)&v_shared_local_1[run2 * 4] =
                            *(const float4 *)&v_shared[four * 4 + key]
                                                      [run2 * 32 + far_ly_near_fused / 8 * 8
                                                       + far_ly_near_fused % 2 * 4];
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
                        *(const float4 *)&p_3_shared[ax1][warp * 4 + far_ly_near_fused / 2 % 4]
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
                                                          [run2 * 32 + far_ly_near_fused / 8 * 8
                                                           + far_ly_near_fused % 2 * 4];
                        }
                    }
                    if (j < length_end) {
                        #pragma unroll
                        for (int mi_ti_fused = 0; mi_ti_fused < 4; ++mi_ti_fused) {
                            const int i =
                                rows * 64 + warp * 16 + far_ly_near_fused / 2 % 4 * 4 + mi_ti_fused;
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
    for (int ti = 0; ti < 4; ++ti)
        t_rf_shared[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti][lane] = t_rf[ti];
    __syncthreads();  // t_rf_shared: written above by other threads, read below
    if (warp * 32 + far_ly_near_fused < 64) {
        float t_acc = 0.0f;
        #pragma unroll
        for (int lane_3 = 0; lane_3 < 8; ++lane_3)
            t_acc += t_rf_shared[warp * 32 + far_ly_near_fused][lane_3];
        t[warp * 32 + far_ly_near_fused] = t_acc;
    }
    #pragma unroll
    for (int ti = 0; ti < 4; ++ti) {
        const int i = rows * 64 + warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti;
        if (i < 70) {
            #pragma unroll
            for (int nj = 0; nj < 2; ++nj) {
                *(float4 *)&y[(b_m_m * 70 + i) * 64 + nj * 32 + far_ly_near_fused / 8 * 8
                              + far_ly_near_fused % 2 * 4] = make_float4(y_global[ti][nj * 4],
                                  y_global[ti][nj * 4 + 1], y_global[ti][nj * 4 + 2],
                                  y_global[ti][nj * 4 + 3]);
            }
        }
    }
    __syncthreads();  // t: written above by other threads, read below
    #pragma unroll
    for (int ti = 0; ti < 4; ++ti) {
        const int i = rows * 64 + warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti;
        if (i < 70) {
            #pragma unroll
            for (int nj = 0; nj < 2; ++nj) {
                const float4 y_v =
                    *(const float4 *)&y[(b_m_m * 70 + i) * 64 + nj * 32 + far_ly_near_fused / 8 * 8
                                        + far_ly_near_fused % 2 * 4];
                float4 result;
                result.x = y_v.x / fmaxf(t[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti], 1e-30f);
                result.y = y_v.y / fmaxf(t[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti], 1e-30f);
                result.z = y_v.z / fmaxf(t[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti], 1e-30f);
                result.w = y_v.w / fmaxf(t[warp * 16 + far_ly_near_fused / 2 % 4 * 4 + ti], 1e-30f);
                *(float4 *)&y[(b_m_m * 70 + i) * 64 + nj * 32 + far_ly_near_fused / 8 * 8
                              + far_ly_near_fused % 2 * 4] = result;
            }
        }
    }
}
