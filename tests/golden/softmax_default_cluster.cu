// softmax: 1 launch
//   x: f32[100, 65536], read
//   y: f32[100, 65536], written
// softmax<<<400, 256>>>(x, y);

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

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(256)
softmax(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float largest_rf;
    __shared__ float sum_rf;
    __shared__ float largest_rf_warps[8];
    __shared__ float sum_rf_warps[8];
    const int part = (int)blockIdx.x % 4;
    const int thread = threadIdx.x;
    __align__(16) float x_local[64];
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        *(float4 *)&x_local[each * 4] =
            *(const float4 *)&x[(int)blockIdx.x * 16384 + each * 1024 + thread * 4];
    }
    float largest_rf_part = __int_as_float(0xff800000);
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            largest_rf_part = fmaxf(largest_rf_part, x_local[each * 4 + lane]);
    }
    largest_rf_part = fmaxf(largest_rf_part, __shfl_xor_sync(0xffffffff, largest_rf_part, 16));
    largest_rf_part = fmaxf(largest_rf_part, __shfl_xor_sync(0xffffffff, largest_rf_part, 8));
    largest_rf_part = fmaxf(largest_rf_part, __shfl_xor_sync(0xffffffff, largest_rf_part, 4));
    largest_rf_part = fmaxf(largest_rf_part, __shfl_xor_sync(0xffffffff, largest_rf_part, 2));
    largest_rf_part = fmaxf(largest_rf_part, __shfl_xor_sync(0xffffffff, largest_rf_part, 1));
    if (thread % 32 == 0)
        largest_rf_warps[thread / 32] = largest_rf_part;
    __syncthreads();  // largest_rf_warps: written above by other threads, read below
    largest_rf_part = thread % 32 < 8 ? largest_rf_warps[thread % 32] : __int_as_float(0xff800000);
    largest_rf_part = fmaxf(largest_rf_part, __shfl_xor_sync(0xffffffff, largest_rf_part, 4));
    largest_rf_part = fmaxf(largest_rf_part, __shfl_xor_sync(0xffffffff, largest_rf_part, 2));
    largest_rf_part = fmaxf(largest_rf_part, __shfl_xor_sync(0xffffffff, largest_rf_part, 1));
    if (thread == 0)
        *in_block(&largest_rf, part) = largest_rf_part;
    float largest = __int_as_float(0xff800000);
    cluster_barrier();  // largest_rf: written above by other threads, read below
    for (int part_1 = 0; part_1 < 4; ++part_1)
        largest = fmaxf(largest, *in_block(&largest_rf, part_1));
    float sum_rf_part = 0.0f;
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            sum_rf_part += expf(x_local[each * 4 + lane] - largest);
    }
    sum_rf_part += __shfl_xor_sync(0xffffffff, sum_rf_part, 16);
    sum_rf_part += __shfl_xor_sync(0xffffffff, sum_rf_part, 8);
    sum_rf_part += __shfl_xor_sync(0xffffffff, sum_rf_part, 4);
    sum_rf_part += __shfl_xor_sync(0xffffffff, sum_rf_part, 2);
    sum_rf_part += __shfl_xor_sync(0xffffffff, sum_rf_part, 1);
    if (thread % 32 == 0)
        sum_rf_warps[thread / 32] = sum_rf_part;
    __syncthreads();  // sum_rf_warps: written above by other threads, read below
    sum_rf_part = thread % 32 < 8 ? sum_rf_warps[thread % 32] : 0.0f;
    sum_rf_part += __shfl_xor_sync(0xffffffff, sum_rf_part, 4);
    sum_rf_part += __shfl_xor_sync(0xffffffff, sum_rf_part, 2);
    sum_rf_part += __shfl_xor_sync(0xffffffff, sum_rf_part, 1);
    if (thread == 0)
        *in_block(&sum_rf, part) = sum_rf_part;
    float sum = 0.0f;
    cluster_barrier();  // sum_rf: written above by other threads, read below
    for (int part_2 = 0; part_2 < 4; ++part_2)
        sum += *in_block(&sum_rf, part_2);
    cluster_barrier();  // other blocks read the memory of this one above, which ends with it
    #pragma unroll
    for (int each = 0; each < 16; ++each) {
        __align__(16) float y_local[4];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            y_local[lane] = expf(x_local[each * 4 + lane] - largest) / sum;
        *(float4 *)&y[(long long)((int)blockIdx.x * 16384 + thread * 4) + each * 1024] =
            make_float4(y_local[0], y_local[1], y_local[2], y_local[3]);
    }
}
