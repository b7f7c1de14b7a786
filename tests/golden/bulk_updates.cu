// updates: 4 launches
//   x: f16[16, 64], read
//   w: f32[16, 256], read
//   low: f16[64], written
//   y: f32[16, 64], written
//   low_map: cuTensorMapEncodeTiled of low, FLOAT16, extents {64}, boxes {64}, SWIZZLE_NONE
//   y_map: cuTensorMapEncodeTiled of y, FLOAT32, extents {64, 16}, boxes {64, 16}, SWIZZLE_NONE
// updates<<<1, 1>>>(low);
// updates_1<<<16, 1>>>(x, low_map);
// updates_2<<<1, 1>>>(y);
// updates_3<<<4, 1>>>(w, y_map);

static __device__ __forceinline__ unsigned short f16_from_f32(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

static __device__ __forceinline__ void min_bulk_1d(const TensorMap &map, int x, const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(from);
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.tile"
                 ".bulk_group [%0, {%1}], [%2];"
                 ::"l"(&map), "r"(x), "r"(at) : "memory");
}

static __device__ __forceinline__ void add_bulk_2d(const TensorMap &map, int x, int y,
                                                   const void *from)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(from);
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile"
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

extern "C" __global__ void __launch_bounds__(1)
updates(unsigned short *__restrict__ low)
{
    for (int j = 0; j < 64; ++j)
        low[j] = f16_from_f32(__int_as_float(0x7f800000));
}

extern "C" __global__ void __launch_bounds__(1)
updates_1(const unsigned short *__restrict__ x, const __grid_constant__ TensorMap low_map)
{
    __shared__ __align__(128) unsigned short low_rf[64];
    const int i = blockIdx.x;
    for (int ax1 = 0; ax1 < 64; ++ax1)
        low_rf[ax1] = x[i * 64 + ax1];
    fence_proxy_async();
    __syncthreads();  // low_rf: written above by other threads, read below
    min_bulk_1d(low_map, 0, &low_rf[0]);
    store_bulk_commit();  // the stores above are one group
    store_bulk_wait<0>();  // all stores
}

extern "C" __global__ void __launch_bounds__(1)
updates_2(float *__restrict__ y)
{
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 64; ++j)
            y[i * 64 + j] = 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(1)
updates_3(const float *__restrict__ w, const __grid_constant__ TensorMap y_map)
{
    __shared__ __align__(128) float y_rf[16][64];
    const int k = blockIdx.x;
    for (int ax1 = 0; ax1 < 16; ++ax1) {
        for (int ax2 = 0; ax2 < 64; ++ax2)
            y_rf[ax1][ax2] = w[ax1 * 256 + k * 64 + ax2];
    }
    fence_proxy_async();
    __syncthreads();  // y_rf: written above by other threads, read below
    add_bulk_2d(y_map, 0, 0, &y_rf[0][0]);
    store_bulk_commit();  // the stores above are one group
    store_bulk_wait<0>();  // all stores
}
