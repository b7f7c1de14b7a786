// spread: 1 launch
//   x: f32[M, N], read
//   y: f32[M, N], written
//   32-bit indices: M, N + 127 and M * N are at most 2147483647
// spread<<<M, 128>>>(x, y, N);

extern "C" __global__ void __launch_bounds__(128)
spread(const float *__restrict__ x, float *__restrict__ y, const int N)
{
    __shared__ float s_warps[4];
    __shared__ float m_warps[4];
    __shared__ float m;
    __shared__ float s;
    const int i = blockIdx.x;
    const int thread = threadIdx.x;
    float m_part = __int_as_float(0xff800000);
    for (int step = 0; step < (N + 127) / 128; ++step) {
        const int j = step * 128 + thread;
        if (j < N)
            m_part = fmaxf(m_part, x[i * N + j]);
    }
    m_part = fmaxf(m_part, __shfl_xor_sync(0xffffffff, m_part, 16));
    m_part = fmaxf(m_part, __shfl_xor_sync(0xffffffff, m_part, 8));
    m_part = fmaxf(m_part, __shfl_xor_sync(0xffffffff, m_part, 4));
    m_part = fmaxf(m_part, __shfl_xor_sync(0xffffffff, m_part, 2));
    m_part = fmaxf(m_part, __shfl_xor_sync(0xffffffff, m_part, 1));
    if (thread % 32 == 0)
        m_warps[thread / 32] = m_part;
    __syncthreads();  // m_warps: written above by other threads, read below
    m_part = thread % 32 < 4 ? m_warps[thread % 32] : __int_as_float(0xff800000);
    m_part = fmaxf(m_part, __shfl_xor_sync(0xffffffff, m_part, 2));
    m_part = fmaxf(m_part, __shfl_xor_sync(0xffffffff, m_part, 1));
    if (thread == 0)
        m = m_part;
    float s_part = 0.0f;
    __syncthreads();  // m: written above by other threads, read below
    for (int step = 0; step < (N + 127) / 128; ++step) {
        const int j = step * 128 + thread;
        if (j < N)
            s_part += x[i * N + j] - m;
    }
    s_part += __shfl_xor_sync(0xffffffff, s_part, 16);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 8);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 4);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 2);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 1);
    if (thread % 32 == 0)
        s_warps[thread / 32] = s_part;
    __syncthreads();  // s_warps: written above by other threads, read below
    s_part = thread % 32 < 4 ? s_warps[thread % 32] : 0.0f;
    s_part += __shfl_xor_sync(0xffffffff, s_part, 2);
    s_part += __shfl_xor_sync(0xffffffff, s_part, 1);
    if (thread == 0)
        s = s_part;
    __syncthreads();  // s: written above by other threads, read below
    for (int step = 0; step < (N + 127) / 128; ++step) {
        const int j = step * 128 + thread;
        if (j < N)
            y[i * N + j] = x[i * N + j] - m + s;
    }
}
