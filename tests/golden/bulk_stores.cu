// double: 1 launch
//   x: f32[16, 128], read
//   y: f32[16, 128], written
//   y_map: cuTensorMapEncodeTiled of y, UINT32, extents {128, 16}, boxes {32, 8}, SWIZZLE_128B
// double_<<<2, dim3(32, 8)>>>(x, y_map);

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

static __device__ __forceinline__ void store_bulk_2d(const TensorMap &map, int x, int y,
                                                     const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(from);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile"
                 ".bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(x), "r"(y), "r"(at) : "memory");
}

static __device__ __forceinline__ void store_bulk_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int pending>
static __device__ __forceinline__ void store_bulk_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(256)
double_(const float *__restrict__ x, const __grid_constant__ TensorMap y_map)
{
    __shared__ __align__(1024) float y_shared[2][8][32];
    const int io = blockIdx.x;
    const int ii = threadIdx.y;
    const int ji = threadIdx.x;
    for (int jo = 0; jo < 4; ++jo) {
        const int j = jo * 32 + ji;
        store_bulk_wait<1>();  // all stores but those of the last group
        fence_proxy_async();
        __syncthreads();  // y_shared: read above by other threads, overwritten below
        y_shared[jo % 2][ii][(j % 32 / 4 ^ ii) * 4 + j % 4] = x[(io * 8 + ii) * 128 + j] * 2.0f;
        fence_proxy_async();
        __syncthreads();  // y_shared: written above by other threads, read below
        if (ji == 0 && ii == 0)
            store_bulk_2d(y_map, jo * 32, io * 8, &y_shared[jo % 2][0][0]);
        store_bulk_commit();  // the stores above are one group
    }
    store_bulk_wait<0>();  // all stores
}
