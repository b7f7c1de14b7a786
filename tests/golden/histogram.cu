// histogram: 2 launches
//   color: u8[1048576], read
//   hist: i32[256], written
// histogram<<<1, 256>>>(hist);
// histogram_1<<<64, 1024>>>(color, hist);

extern "C" __global__ void __launch_bounds__(256)
histogram(int *__restrict__ hist)
{
    const int thread = threadIdx.x;
    __align__(16) int hist_local[4];
    if (thread < 64) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            hist_local[lane] = 0;
        *(int4 *)&hist[thread * 4] =
            make_int4(hist_local[0], hist_local[1], hist_local[2], hist_local[3]);
    }
}

extern "C" __global__ void __launch_bounds__(1024)
histogram_1(const unsigned char *__restrict__ color, int *__restrict__ hist)
{
    __shared__ int hist_private[256];
    const int part = blockIdx.x;
    const int element = threadIdx.x;
    if (element < 256)
        hist_private[element] = 0;
    __syncthreads();  // hist_private: written above by other threads, written again below
    __align__(16) unsigned char color_local[16];
    *(uint4 *)&color_local[0] = *(const uint4 *)&color[part * 16384 + element * 16];
    #pragma unroll
    for (int each = 0; each < 16; ++each)
        atomicAdd(&hist_private[color_local[each]], 1);
    __syncthreads();  // hist_private: written above by other threads, read below
    if (element < 256)
        atomicAdd(&hist[element], hist_private[element]);
}
