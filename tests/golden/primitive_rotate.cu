// scaled: 1 launch
//   x: f32[16, 128], read
//   f: f32[16], read
//   y: f32[16, 128], written
// scaled<<<16, 8>>>(x, f, y);

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

extern "C" __global__ void __launch_bounds__(8)
scaled(const float *__restrict__ x, const float *__restrict__ f, float *__restrict__ y)
{
    __shared__ float x_shared[64];
    const int i = blockIdx.x;
    const int ax1_1 = threadIdx.x;
    float x_shared_local[16];
    for (int jo_first = 0; jo_first < 3; ++jo_first) {
        for (int ax1_0 = 0; ax1_0 < 2; ++ax1_0)
            copy_async<4>(&x_shared[jo_first * 16 + ax1_0 * 8 + ax1_1],
                          &x[(long long)(i * 128 + ax1_1)
                             + ((long long)jo_first * 16 + (long long)ax1_0 * 8)]);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // x_shared: written above by other threads, read below
    for (int ax1 = 0; ax1 < 8; ++ax1)
        x_shared_local[ax1] = x_shared[ax1];
    for (int jo_0 = 0; jo_0 < 4; ++jo_0) {
        #pragma unroll
        for (int jo_1 = 0; jo_1 < 2; ++jo_1) {
            if (jo_0 * 2 + jo_1 < 5) {
                for (int ax1_0 = 0; ax1_0 < 2; ++ax1_0)
                    copy_async<4>(&x_shared[(jo_0 * 2 + jo_1 + 3) % 4 * 16 + ax1_0 * 8 + ax1_1],
                                  &x[(long long)(i * 128 + ax1_1)
                                     + ((long long)jo_0 * 32 + (long long)ax1_0 * 8)
                                     + (jo_1 * 16 + 48)]);
            }
            copy_async_commit();  // the copies above are one group
            for (int ji = 0; ji < 2; ++ji) {
                if (ji < 1) {
                    for (int ax1 = 0; ax1 < 8; ++ax1)
                        x_shared_local[ji * 8 + ax1 + 8] =
                            x_shared[jo_0 % 2 * 32 + jo_1 * 16 + ji * 8 + ax1 + 8];
                }
                y[i * 128 + jo_0 * 32 + jo_1 * 16 + ji * 8 + ax1_1] =
                    x_shared_local[ji * 8 + ax1_1] * f[i];
            }
            if (jo_0 * 2 + jo_1 < 7) {
                for (int ax1 = 0; ax1 < 8; ++ax1)
                    x_shared_local[ax1] = x_shared[(jo_0 * 2 + jo_1 + 1) % 4 * 16 + ax1];
            }
            copy_async_wait<1>();  // all copies but those of the last group
            __syncthreads();  // x_shared: read above, overwritten in the next iteration of jo_1 by
                              // other threads
        }
    }
}
