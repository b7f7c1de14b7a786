// products: 1 launch
//   A: u8[20, 64], read
//   B: u8[33, 64], read
//   D: u32[20, 33], written
// products<<<20, 8>>>(A, B, D);

extern "C" __global__ void __launch_bounds__(8)
products(const unsigned char *__restrict__ A, const unsigned char *__restrict__ B,
         unsigned int *__restrict__ D)
{
    __shared__ __align__(16) unsigned char A_shared[64];
    const int i = blockIdx.x;
    const int threads = threadIdx.x;
    for (int jo = 0; jo < 5; ++jo) {
        const int j = jo * 8 + threads;
        for (int lane_0 = 0; lane_0 < 8; ++lane_0) {
            const int v1 = lane_0 * 8 + threads;
            A_shared[v1] = A[i * 64 + v1];
        }
        __syncthreads();  // A_shared: written above by other threads, read below
        if (j < 33) {
            unsigned int D_acc = 0u;
            for (int ko = 0; ko < 16; ++ko) {
                unsigned int sum = __dp4a(*(const unsigned int *)&A_shared[ko * 4],
                                          *(const unsigned int *)&B[j * 64 + ko * 4], D_acc);
                D_acc = sum;
            }
            D[i * 33 + j] = D_acc;
        }
        __syncthreads();  // A_shared: read above, overwritten in the next iteration of jo by other
                          // threads
    }
}
