// copy: 1 launch
//   x: f32[16, 128], read
//   y: f32[16, 128], written
//   x_map: cuTensorMapEncodeTiled of x, UINT32, extents {128, 16}, boxes {32, 8}, SWIZZLE_128B
// copy<<<2, dim3(32, 8)>>>(y, x_map);

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

static __device__ __forceinline__ void prefetch_map(const TensorMap &map)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_begin(unsigned long long *landed)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        for (int i = 0; i < groups; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         ::"r"((unsigned int)__cvta_generic_to_shared(landed + i))
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

static __device__ __forceinline__ void copy_bulk_2d(void *to, const TensorMap &map, int x, int y,
                                                    unsigned long long *landed, int bytes)
{
    unsigned int at = (unsigned int)__cvta_generic_to_shared(to),
                 mbarrier = (unsigned int)__cvta_generic_to_shared(landed);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 ::"r"(mbarrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(at), "l"(&map), "r"(x), "r"(y), "r"(mbarrier) : "memory");
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_commit(unsigned long long *landed, int &begun)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                     ::"r"((unsigned int)__cvta_generic_to_shared(landed + begun % groups))
                     : "memory");
    ++begun;
}

template <int groups>
static __device__ __forceinline__ void copy_bulk_wait(unsigned long long *landed, int &waited,
                                                      int until)
{
    for (; waited < until; ++waited) {
        unsigned int mbarrier =
            (unsigned int)__cvta_generic_to_shared(landed + waited % groups);
        unsigned int parity = waited / groups & 1, complete;
        do
            asm volatile("{ .reg .pred p;"
                         " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                         " selp.u32 %0, 1, 0, p; }"
                         : "=r"(complete) : "r"(mbarrier), "r"(parity) : "memory");
        while (!complete);
    }
}

static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(256)
copy(float *__restrict__ y, const __grid_constant__ TensorMap x_map)
{
    __shared__ __align__(1024) float x_shared[3][8][32];
    prefetch_map(x_map);
    __shared__ unsigned long long landed[2];
    int begun = 0, waited = 0;
    copy_bulk_begin<2>(landed);  // an mbarrier for each group of copies under way
    const int io = blockIdx.x;
    const int ii = threadIdx.y;
    const int ji = threadIdx.x;
    if (ji == 0 && ii == 0) {
        for (int jo_first = 0; jo_first < 2; ++jo_first)
            copy_bulk_2d(&x_shared[jo_first][0][0], x_map, jo_first * 32, io * 8,
                         &landed[begun % 2], 1024);
    }
    copy_bulk_commit<2>(landed, begun);  // the copies above are one group
    copy_bulk_wait<2>(landed, waited, begun);  // all copies
    fence_proxy_async();
    __syncthreads();  // x_shared: written above by other threads, read below
    for (int jo = 0; jo < 4; ++jo) {
        const int jo_1 = jo + 2;
        const int j = jo * 32 + ji;
        if (jo < 2 && ji == 0 && ii == 0)
            copy_bulk_2d(&x_shared[(jo + 2) % 3][0][0], x_map, jo_1 * 32, io * 8,
                         &landed[begun % 2], 1024);
        copy_bulk_commit<2>(landed, begun);  // the copies above are one group
        y[(io * 8 + ii) * 128 + j] = x_shared[jo % 3][ii][(j % 32 / 4 ^ ii) * 4 + j % 4];
        copy_bulk_wait<2>(landed, waited, begun - 1);  // all copies but those of the last group
        fence_proxy_async();
        __syncthreads();  // x_shared: written above, read in the next iteration of jo by other
                          // threads; x_shared: read above, overwritten in the next iteration of jo
                          // by other threads
    }
}
