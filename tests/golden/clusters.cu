// normalize: 1 launch
//   x: f32[64, 32768], read
//   y: f32[64, 32768], written
// normalize<<<512, 256>>>(x, y);

template <class T>
static __device__ __forceinline__ T *in_block(T *place, int rank)
{
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(place), "r"(rank));
    return there;
}

static __device__ __forceinline__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(256)
normalize(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float most_rf;
    __shared__ float most_rf_warps[8];
    const int ax1_0 = (int)blockIdx.x % 8;
    const int thread = threadIdx.x;
    float x_local[16];
    for (int ax1_1_0 = 0; ax1_1_0 < 16; ++ax1_1_0)
        x_local[ax1_1_0] = x[(int)blockIdx.x * 4096 + ax1_1_0 * 256 + thread];
    float most_rf_part = __int_as_float(0xff800000);
    for (int j_1_0 = 0; j_1_0 < 16; ++j_1_0)
        most_rf_part = fmaxf(most_rf_part, x_local[j_1_0]);
    most_rf_part = fmaxf(most_rf_part, __shfl_xor_sync(0xffffffff, most_rf_part, 16));
    most_rf_part = fmaxf(most_rf_part, __shfl_xor_sync(0xffffffff, most_rf_part, 8));
    most_rf_part = fmaxf(most_rf_part, __shfl_xor_sync(0xffffffff, most_rf_part, 4));
    most_rf_part = fmaxf(most_rf_part, __shfl_xor_sync(0xffffffff, most_rf_part, 2));
    most_rf_part = fmaxf(most_rf_part, __shfl_xor_sync(0xffffffff, most_rf_part, 1));
    if (thread % 32 == 0)
        most_rf_warps[thread / 32] = most_rf_part;
    __syncthreads();  // most_rf_warps: written above by other threads, read below
    most_rf_part = thread % 32 < 8 ? most_rf_warps[thread % 32] : __int_as_float(0xff800000);
    most_rf_part = fmaxf(most_rf_part, __shfl_xor_sync(0xffffffff, most_rf_part, 4));
    most_rf_part = fmaxf(most_rf_part, __shfl_xor_sync(0xffffffff, most_rf_part, 2));
    most_rf_part = fmaxf(most_rf_part, __shfl_xor_sync(0xffffffff, most_rf_part, 1));
    if (thread == 0)
        *in_block(&most_rf, ax1_0) = most_rf_part;
    float most = __int_as_float(0xff800000);
    cluster_barrier();  // most_rf: written above by other threads, read below
    for (int part = 0; part < 8; ++part)
        most = fmaxf(most, *in_block(&most_rf, part));
    cluster_barrier();  // other blocks read the memory of this one above, which ends with it
    for (int j_1_0 = 0; j_1_0 < 16; ++j_1_0)
        y[(int)blockIdx.x * 4096 + j_1_0 * 256 + thread] = x_local[j_1_0] / most;
}
