// copy: 1 launch
//   x: f32[16, 64], read
//   y: f32[16, 64], written
// copy<<<16, 16>>>(x, y);

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

extern "C" __global__ void __launch_bounds__(16)
copy(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ __align__(16) float x_shared[48];
    const int i = blockIdx.x;
    const int lane = threadIdx.x;
    if (lane < 4) {
        for (int jo_first = 0; jo_first < 2; ++jo_first) {
            copy_async<16>(&x_shared[jo_first * 16 + lane * 4],
                           &x[(long long)(i * 64 + lane * 4) + (long long)jo_first * 16]);
        }
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // x_shared: written above by other threads, read below
    for (int jo = 0; jo < 4; ++jo) {
        if (jo < 2 && lane < 4) {
            copy_async<16>(&x_shared[(jo + 2) % 3 * 16 + lane * 4],
                           &x[(long long)(i * 64 + lane * 4) + (long long)jo * 16 + 32]);
        }
        copy_async_commit();  // the copies above are one group
        y[i * 64 + jo * 16 + lane] = x_shared[jo % 3 * 16 + lane];
        copy_async_wait<1>();  // all copies but those of the last group
        __syncthreads();  // x_shared: written above, read in the next iteration of jo by other
                          // threads; x_shared: read above, overwritten in the next iteration of jo
                          // by other threads
    }
}
