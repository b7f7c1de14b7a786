// softmax: 1 launch
//   x: f32[100, 30], read
//   y: f32[100, 30], written
// softmax<<<2, 128>>>(x, y);

extern "C" __global__ void __launch_bounds__(128)
softmax(const float *__restrict__ x, float *__restrict__ y)
{
    const int tile_m = blockIdx.x;
    const int warp_ly_lx_fused = threadIdx.x;
    float m[2];
    float e[2][8];
    float s[2];
    float m_part[2];
    #pragma unroll
    for (int half = 0; half < 2; ++half)
        m_part[half] = __int_as_float(0xff800000);
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i =
            tile_m * 64 + warp_ly_lx_fused / 32 * 16 + half * 8 + warp_ly_lx_fused / 4 % 8;
        if (i < 100) {
            #pragma unroll
            for (int nj = 0; nj < 4; ++nj) {
                if (nj * 4 + warp_ly_lx_fused % 4 < 15) {
                    #pragma unroll
                    for (int pair = 0; pair < 2; ++pair)
                        m_part[half] = fmaxf(m_part[half],
                                             x[i * 30 + nj * 8 + warp_ly_lx_fused % 4 * 2 + pair]);
                }
            }
        }
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        m_part[half] = fmaxf(m_part[half], __shfl_xor_sync(0xffffffff, m_part[half], 2));
        m_part[half] = fmaxf(m_part[half], __shfl_xor_sync(0xffffffff, m_part[half], 1));
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i =
            tile_m * 64 + warp_ly_lx_fused / 32 * 16 + half * 8 + warp_ly_lx_fused / 4 % 8;
        if (i < 100)
            m[half] = m_part[half];
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i =
            tile_m * 64 + warp_ly_lx_fused / 32 * 16 + half * 8 + warp_ly_lx_fused / 4 % 8;
        if (i < 100) {
            #pragma unroll
            for (int nj = 0; nj < 4; ++nj) {
                if (nj * 4 + warp_ly_lx_fused % 4 < 15) {
                    #pragma unroll
                    for (int pair = 0; pair < 2; ++pair)
                        e[half][nj * 2 + pair] =
                            expf(x[i * 30 + nj * 8 + warp_ly_lx_fused % 4 * 2 + pair] - m[half]);
                }
            }
        }
    }
    float s_part[2];
    #pragma unroll
    for (int half = 0; half < 2; ++half)
        s_part[half] = 0.0f;
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i =
            tile_m * 64 + warp_ly_lx_fused / 32 * 16 + half * 8 + warp_ly_lx_fused / 4 % 8;
        if (i < 100) {
            #pragma unroll
            for (int nj = 0; nj < 4; ++nj) {
                if (nj * 4 + warp_ly_lx_fused % 4 < 15) {
                    #pragma unroll
                    for (int pair = 0; pair < 2; ++pair)
                        s_part[half] += e[half][nj * 2 + pair];
                }
            }
        }
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        s_part[half] += __shfl_xor_sync(0xffffffff, s_part[half], 2);
        s_part[half] += __shfl_xor_sync(0xffffffff, s_part[half], 1);
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i =
            tile_m * 64 + warp_ly_lx_fused / 32 * 16 + half * 8 + warp_ly_lx_fused / 4 % 8;
        if (i < 100)
            s[half] = s_part[half];
    }
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i =
            tile_m * 64 + warp_ly_lx_fused / 32 * 16 + half * 8 + warp_ly_lx_fused / 4 % 8;
        if (i < 100) {
            #pragma unroll
            for (int nj = 0; nj < 4; ++nj) {
                if (nj * 4 + warp_ly_lx_fused % 4 < 15) {
                    #pragma unroll
                    for (int pair = 0; pair < 2; ++pair)
                        y[(long long)(tile_m * 1920 + warp_ly_lx_fused / 32 * 480
                                      + warp_ly_lx_fused / 4 % 8 * 30 + warp_ly_lx_fused % 4 * 2)
                          + (half * 240 + nj * 8 + pair)] = e[half][nj * 2 + pair] / s[half];
                }
            }
        }
    }
}
