// least_sums: 1 launch
//   x: f32[1000, 700], read
//   y: f32[700, 1500], read
//   d: f32[1000, 1500], written
// least_sums<<<dim3(24, 11), dim3(32, 4)>>>(x, y, d);

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

extern "C" __global__ void __launch_bounds__(128)
least_sums(const float *__restrict__ x, const float *__restrict__ y, float *__restrict__ d)
{
    __shared__ __align__(16) float x_shared[16][100];
    __shared__ __align__(16) float y_shared[16][64];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (int)blockIdx.y % 8 * 24 + (int)blockIdx.x;
    const int height = min(11 - first, 8);
    const int by = first + place % height;
    const int bx = min(place / height, 23);
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float d_local[12][4];
    __align__(16) float x_shared_local[2][12];
    __align__(16) float y_shared_local[2][4];
    const int k = lane % 8;
    const int k_1 = wy_wx_fused * 2 + lane / 16;
    #pragma unroll
    for (int each = 0; each < 6; ++each) {
        const int i = by * 96 + each * 16 + wy_wx_fused * 4 + lane / 8;
        copy_async_or_zero<4>(&x_shared[lane % 8][each * 16 + wy_wx_fused * 4 + lane / 8],
                              &x[i * 700 + k - 4], k > 3 && i < 1000);
    }
    copy_async_or<16>(&y_shared[wy_wx_fused * 2 + lane / 16][lane % 16 * 4],
                      &y[(k_1 - 4) * 1500 + bx * 64 + lane % 16 * 4],
                      k_1 > 3 && bx * 16 + lane % 16 < 375, (float)(__int_as_float(0x7f800000)));
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // x_shared: written above by other threads, read below
    #pragma unroll
    for (int run1 = 0; run1 < 3; ++run1) {
        *(float4 *)&x_shared_local[0][run1 * 4] =
            *(const float4 *)&x_shared[0][run1 * 32 + wy_wx_fused / 2 * 16 + lane / 2 % 4 * 4];
    }
    *(float4 *)&y_shared_local[0][0] =
        *(const float4 *)&y_shared[0][wy_wx_fused % 2 * 32 + lane / 8 * 8 + lane % 2 * 4];
    #pragma unroll
    for (int row = 0; row < 12; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            d_local[row][column] = __int_as_float(0x7f800000);
    }
    for (int ko_0 = 0; ko_0 < 22; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 4; ++again) {
            if (ko_0 * 4 + again < 87) {
                #pragma unroll
                for (int each = 0; each < 6; ++each) {
                    const int i = by * 96 + each * 16 + wy_wx_fused * 4 + lane / 8;
                    copy_async_or_zero<4>(
                        &x_shared[(again + 1) % 2 * 8 + lane % 8]
                                 [each * 16 + wy_wx_fused * 4 + lane / 8],
                        &x[(long long)(by * 67200 + wy_wx_fused * 2800 + lane / 8 * 700 + lane % 8)
                           + (long long)ko_0 * 32 + (each * 11200 + again * 8 + 4)],
                        i < 1000);
                }
                copy_async_or<16>(
                    &y_shared[(again + 1) % 2 * 8 + wy_wx_fused * 2 + lane / 16][lane % 16 * 4],
                    &y[(long long)(wy_wx_fused * 3000 + lane / 16 * 1500 + bx * 64 + lane % 16 * 4)
                       + (long long)ko_0 * 48000 + (again * 12000 + 6000)],
                    bx * 16 + lane % 16 < 375, (float)(__int_as_float(0x7f800000)));
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 8; ++ki) {
                if (ki < 7) {
                    #pragma unroll
                    for (int run1 = 0; run1 < 3; ++run1) {
                        *(float4 *)&x_shared_local[(ki + 1) % 2][run1 * 4] =
                            *(const float4 *)&x_shared[again % 2 * 8 + ki + 1]
                                                      [run1 * 32 + wy_wx_fused / 2 * 16
                                                       + lane / 2 % 4 * 4];
                    }
                    *(float4 *)&y_shared_local[(ki + 1) % 2][0] =
                        *(const float4 *)&y_shared[again % 2 * 8 + ki + 1]
                                                  [wy_wx_fused % 2 * 32 + lane / 8 * 8
                                                   + lane % 2 * 4];
                }
                #pragma unroll
                for (int row_pair = 0; row_pair < 6; ++row_pair) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        d_local[row_pair * 2][column] = fminf(d_local[row_pair * 2][column],
                                                              x_shared_local[ki % 2][row_pair * 2]
                                                                  + y_shared_local[ki % 2][column]);
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 4; ++column_turn)
                        d_local[row_pair * 2 + 1][3 - column_turn] =
                            fminf(d_local[row_pair * 2 + 1][3 - column_turn],
                                  x_shared_local[ki % 2][row_pair * 2 + 1]
                                      + y_shared_local[ki % 2][3 - column_turn]);
                }
            }
            copy_async_wait<0>();  // all copies
            __syncthreads();  // x_shared, y_shared: written above by other threads, read below
            if (ko_0 * 4 + again < 87) {
                #pragma unroll
                for (int run1 = 0; run1 < 3; ++run1) {
                    *(float4 *)&x_shared_local[0][run1 * 4] =
                        *(const float4 *)&x_shared[(again + 1) % 2 * 8]
                                                  [run1 * 32 + wy_wx_fused / 2 * 16
                                                   + lane / 2 % 4 * 4];
                }
                *(float4 *)&y_shared_local[0][0] =
                    *(const float4 *)&y_shared[(again + 1) % 2 * 8]
                                              [wy_wx_fused % 2 * 32 + lane / 8 * 8 + lane % 2 * 4];
            }
        }
    }
    if (bx * 16 + wy_wx_fused % 2 * 8 + lane / 8 * 2 + lane % 2 < 375) {
        #pragma unroll
        for (int loop = 0; loop < 12; ++loop) {
            const int i =
                by * 96 + loop / 4 * 32 + wy_wx_fused / 2 * 16 + lane / 2 % 4 * 4 + loop % 4;
            if (i < 1000) {
                *(float4 *)&d[i * 1500 + bx * 64 + wy_wx_fused % 2 * 32 + lane / 8 * 8
                              + lane % 2 * 4] = make_float4(d_local[loop][0], d_local[loop][1],
                                                            d_local[loop][2], d_local[loop][3]);
            }
        }
    }
}
