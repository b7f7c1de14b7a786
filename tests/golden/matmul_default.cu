// matmul: 1 launch
//   A: f32[1024, 1024], read
//   B: f32[1024, 1024], read
//   C: f32[1024, 1024], written
// matmul<<<dim3(8, 16), dim3(32, 8)>>>(A, B, C);

template <int bytes>
static __device__ __forceinline__ void copy_async(void *to, const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes));
}

static __device__ __forceinline__ void copy_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int pending>
static __device__ __forceinline__ void copy_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

extern "C" __global__ void __launch_bounds__(256)
matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    __shared__ __align__(16) float A_shared[32][68];
    __shared__ __align__(16) float B_shared[32][128];
    const int first = (int)blockIdx.y / 8 * 8;
    const int place = (int)blockIdx.y % 8 * 8 + (int)blockIdx.x;
    const int by = first + place % 8;
    const int bx = place / 8;
    const int wy_wx_fused = threadIdx.y;
    const int lane = threadIdx.x;
    __align__(16) float C_shared[8][4];
    __align__(16) float A_shared_local[2][8];
    __align__(16) float B_shared_local[2][4];
    #pragma unroll
    for (int each = 0; each < 4; ++each)
        copy_async<4>(&A_shared[each / 2 * 8 + lane % 8][each % 2 * 32 + wy_wx_fused * 4 + lane / 8], &A[(by * 64 + each % 2 * 32 + wy_wx_fused * 4 + lane / 8) * 1024 + each / 2 * 8 + lane % 8]);
    #pragma unroll
    for (int each = 0; each < 2; ++each) {
        copy_async<16>(&B_shared[each * 8 + wy_wx_fused][lane * 4], &B[(each * 8 + wy_wx_fused) * 1024 + bx * 128 + lane * 4]);
    }
    copy_async_commit();  // the copies above are one group
    copy_async_wait<0>();  // all copies
    __syncthreads();  // A_shared: written above by other threads, read below
    #pragma unroll
    for (int run1 = 0; run1 < 2; ++run1) {
        *(float4 *)&A_shared_local[0][run1 * 4] = *(const float4 *)&A_shared[0][run1 * 32 + wy_wx_fused / 4 * 16 + lane / 2 % 4 * 4];
    }
    *(float4 *)&B_shared_local[0][0] = *(const float4 *)&B_shared[0][wy_wx_fused % 4 * 32 + lane / 8 * 8 + lane % 2 * 4];
    #pragma unroll
    for (int row = 0; row < 8; ++row) {
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            C_shared[row][column] = 0.0f;
    }
    for (int ko_0 = 0; ko_0 < 16; ++ko_0) {
        #pragma unroll
        for (int again = 0; again < 4; ++again) {
            if (ko_0 * 4 + again < 63) {
                #pragma unroll
                for (int each = 0; each < 4; ++each)
                    copy_async<4>(&A_shared[(again + 1) % 2 * 16 + each / 2 * 8 + lane % 8][each % 2 * 32 + wy_wx_fused * 4 + lane / 8], &A[(long long)(by * 65536 + wy_wx_fused * 4096 + lane / 8 * 1024 + lane % 8) + (long long)ko_0 * 64 + (each % 2 * 32768 + again * 16 + each / 2 * 8 + 16)]);
                #pragma unroll
                for (int each = 0; each < 2; ++each) {
                    copy_async<16>(&B_shared[(again + 1) % 2 * 16 + each * 8 + wy_wx_fused][lane * 4], &B[(long long)(wy_wx_fused * 1024 + bx * 128 + lane * 4) + (long long)ko_0 * 65536 + (again * 16384 + each * 8192 + 16384)]);
                }
            }
            copy_async_commit();  // the copies above are one group
            #pragma unroll
            for (int ki = 0; ki < 16; ++ki) {
                if (ki < 15) {
                    #pragma unroll
                    for (int run1 = 0; run1 < 2; ++run1) {
                        *(float4 *)&A_shared_local[(ki + 1) % 2][run1 * 4] = *(const float4 *)&A_shared[again % 2 * 16 + ki + 1][run1 * 32 + wy_wx_fused / 4 * 16 + lane / 2 % 4 * 4];
                    }
                    *(float4 *)&B_shared_local[(ki + 1) % 2][0] = *(const float4 *)&B_shared[again % 2 * 16 + ki + 1][wy_wx_fused % 4 * 32 + lane / 8 * 8 + lane % 2 * 4];
                }
                #pragma unroll
                for (int row_pair = 0; row_pair < 4; ++row_pair) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        C_shared[row_pair * 2][column] += A_shared_local[ki % 2][row_pair * 2] * B_shared_local[ki % 2][column];
                    #pragma unroll
                    for (int column_turn = 0; column_turn < 4; ++column_turn)
                        C_shared[row_pair * 2 + 1][3 - column_turn] += A_shared_local[ki % 2][row_pair * 2 + 1] * B_shared_local[ki % 2][3 - column_turn];
                }
            }
            copy_async_wait<0>();  // all copies
            __syncthreads();  // A_shared, B_shared: written above by other threads, read below
            if (ko_0 * 4 + again < 63) {
                #pragma unroll
                for (int run1 = 0; run1 < 2; ++run1) {
                    *(float4 *)&A_shared_local[0][run1 * 4] = *(const float4 *)&A_shared[(again + 1) % 2 * 16][run1 * 32 + wy_wx_fused / 4 * 16 + lane / 2 % 4 * 4];
                }
                *(float4 *)&B_shared_local[0][0] = *(const float4 *)&B_shared[(again + 1) % 2 * 16][wy_wx_fused % 4 * 32 + lane / 8 * 8 + lane % 2 * 4];
            }
        }
    }
    #pragma unroll
    for (int loop = 0; loop < 8; ++loop) {
        *(float4 *)&C[(by * 64 + loop / 4 * 32 + wy_wx_fused / 4 * 16 + lane / 2 % 4 * 4 + loop % 4) * 1024 + bx * 128 + wy_wx_fused % 4 * 32 + lane / 8 * 8 + lane % 2 * 4] = make_float4(C_shared[loop][0], C_shared[loop][1], C_shared[loop][2], C_shared[loop][3]);
    }
}
