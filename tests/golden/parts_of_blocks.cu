// parts_of_blocks: 2 launches
//   x: f32[16, 128], read
//   h: f32[4, 64, 64], read
//   y: f32[16, 128], written
//   z: f32[4, 64, 64], written
// parts_of_blocks<<<8, dim3(32, 8)>>>(x, y);
// parts_of_blocks_1<<<1, 1>>>(h, z);

static __device__ __forceinline__ void warpgroup_meets(int warpgroup)
{
    asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 2) : "memory");
}

extern "C" __global__ void __launch_bounds__(256)
parts_of_blocks(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float x_shared[2][128];
    const int by = blockIdx.x;
    const int ty = threadIdx.y;
    const int lane = threadIdx.x;
    const int v1 = ty % 4 * 32 + lane;
    const int by_at = by * 256 + ty * 32 + lane;
    x_shared[ty / 4][v1] = x[by_at];
    warpgroup_meets((threadIdx.x + 32 * threadIdx.y) / 128);  // x_shared: written above by other
                                                              // threads of the warpgroup, read
                                                              // below
    y[by_at] = x_shared[ty / 4][127 - v1] + 1.0f;
}

extern "C" __global__ void __launch_bounds__(1)
parts_of_blocks_1(const float *__restrict__ h, float *__restrict__ z)
{
    for (int m = 0; m < 4; ++m) {
        for (int i = 0; i < 64; ++i) {
            for (int j = 0; j < 64; ++j)
                z[(m * 64 + i) * 64 + j] = h[(m * 64 + j) * 64 + i] * 2.0f;
        }
    }
}
