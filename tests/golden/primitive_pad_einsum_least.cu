// least: 1 launch
//   A: f32[20, 17], read
//   B: f32[17, 32], read
//   C: f32[20, 32], written
// least<<<20, 32>>>(A, B, C);

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

template <int bytes, typename T>
static __device__ __forceinline__ void copy_async_or(void *to, const void *from, bool wanted,
                                                     T value)
{
    struct alignas(bytes) Values {
        T each[bytes / sizeof(T)];
    } values;
#pragma unroll
    for (int i = 0; i < bytes / (int)sizeof(T); i++)
        values.each[i] = value;
    if (wanted)
        copy_async<bytes>(to, from);
    else
        *(Values *)to = values;
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

extern "C" __global__ void __launch_bounds__(32)
least(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    __shared__ float A_shared[8];
    __shared__ __align__(16) float B_shared[8][32];
    const int i = blockIdx.x;
    const int j = threadIdx.x;
    const int k = j / 8;
    if (j == 0) {
        for (int ax1 = 0; ax1 < 4; ++ax1)
            copy_async_or_zero<4>(&A_shared[ax1], &A[(long long)(i * 17) + ax1 + -3ll], ax1 > 2);
    }
    copy_async_or<16>(&B_shared[j / 8][j % 8 * 4], &B[j * 4 - 96], k > 2,
                      (float)(__int_as_float(0x7f800000)));
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared, B_shared: written above by other threads, read below
    float C_acc = __int_as_float(0x7f800000);
    for (int ko = 0; ko < 5; ++ko) {
        if (ko < 4) {
            if (j == 0) {
                for (int ax1 = 0; ax1 < 4; ++ax1)
                    copy_async<4>(&A_shared[(ko + 1) % 2 * 4 + ax1],
                                  &A[(long long)(i * 17) + ((long long)ko * 4 + ax1) + 1]);
            }
            copy_async<16>(&B_shared[(ko + 1) % 2 * 4 + j / 8][j % 8 * 4],
                           &B[(long long)(j * 4) + (long long)ko * 128 + 32]);
        }
        copy_async_commit();  // the copies above are one group
        for (int ki = 0; ki < 4; ++ki)
            C_acc = fminf(C_acc, A_shared[ko % 2 * 4 + ki] + B_shared[ko % 2 * 4 + ki][j]);
        copy_async_wait<0>();  // all copies
        __syncthreads();  // A_shared, B_shared: written above, read in the next iteration of ko by
                          // other threads; A_shared, B_shared: read above, overwritten in the next
                          // iteration of ko by other threads
    }
    C[i * 32 + j] = C_acc;
}
