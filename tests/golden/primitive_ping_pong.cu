// copy: 1 launch
//   x: f32[64, 256], read
//   y: f32[64, 256], written
//   x_map: cuTensorMapEncodeTiled of x, UINT32, extents {256, 64}, boxes {128, 2}, SWIZZLE_NONE
// copy<<<2, dim3(128, 3)>>>(y, x_map);

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

template <int groups, int warps>
static __device__ __forceinline__ void roles_begin(unsigned long long *landed,
                                                   unsigned long long *released)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        for (int i = 0; i < groups; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         ::"r"((unsigned int)__cvta_generic_to_shared(landed + i))
                         : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                         ::"r"((unsigned int)__cvta_generic_to_shared(released + i)),
                         "n"(warps) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

static __device__ __forceinline__ void mbarrier_arrive(unsigned long long *at)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 ::"r"((unsigned int)__cvta_generic_to_shared(at)) : "memory");
}

static __device__ __forceinline__ void mbarrier_wait(unsigned long long *at,
                                                     unsigned int parity)
{
    unsigned int mbarrier = (unsigned int)__cvta_generic_to_shared(at), complete;
    do
        asm volatile("{ .reg .pred p;"
                     " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(complete) : "r"(mbarrier), "r"(parity) : "memory");
    while (!complete);
}

template <int groups>
static __device__ __forceinline__ void producer_acquire(unsigned long long *released,
                                                        int begun, int most)
{
    int before = begun - most;
    if (before >= 0)
        mbarrier_wait(released + before % groups, before / groups & 1);
}

template <int groups>
static __device__ __forceinline__ void producer_commit(unsigned long long *landed,
                                                       int &begun)
{
    mbarrier_arrive(landed + begun % groups);
    ++begun;
}

template <int groups>
static __device__ __forceinline__ void consumer_receive(unsigned long long *landed,
                                                        int &received)
{
    mbarrier_wait(landed + received % groups, received / groups & 1);
    ++received;
}

template <int groups>
static __device__ __forceinline__ void consumer_release(unsigned long long *released,
                                                        int &freed, int until)
{
    unsigned int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    __syncwarp();
    for (; freed < until; ++freed)
        if (lane == 0)
            mbarrier_arrive(released + freed % groups);
}

static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(384)
copy(float *__restrict__ y, const __grid_constant__ TensorMap x_map)
{
    __shared__ __align__(128) float x_shared[4][128];
    prefetch_map(x_map);
    __shared__ unsigned long long landed[6];
    unsigned long long *released = landed + 4;
    copy_bulk_begin<2>(landed + 2);  // of copies for the other consumers, which take turns
    roles_begin<2, 4>(landed, released);  // two mbarriers for each group of copies under way
    const int jo = blockIdx.x;
    const int warpgroup = threadIdx.y;
    const int j = threadIdx.x;
    if (threadIdx.y >= 2) {  // the producer, in a warpgroup of its own
        if (threadIdx.x == 0) {
            int begun = 0;
            for (int io = 0; io < 8; ++io) {
                for (int ro = 0; ro < 4; ++ro) {
                    producer_acquire<2>(released, begun, 2);  // x_shared: consumers have read the
                                                              // group of 2 iterations of ro before
                    copy_bulk_2d(&x_shared[ro % 2 * 2][0], x_map, jo * 128, io * 8 + ro * 2,
                                 &landed[begun / 4 % 2 * 2 + begun % 2], 1024);
                    producer_commit<2>(landed + begun / 4 % 2 * 2, begun);  // the copies above are
                                                                            // one group
                }
            }
        }
    } else {  // the consumers
        int received = 0, freed = 0;
        for (int io = warpgroup; io < 8; io += 2) {
            for (int ro = 0; ro < 4; ++ro) {
                consumer_receive<2>(landed + threadIdx.y * 2, received);  // x_shared: copied by the
                                                                          // producer, read below
                for (int r = 0; r < 2; ++r)
                    y[(io * 8 + ro * 2 + r) * 256 + jo * 128 + j] = x_shared[ro % 2 * 2 + r][j];
                fence_proxy_async();
                consumer_release<2>(released, freed, received);  // x_shared: read above; the
                                                                 // producer overwrites them
            }
        }
    }
}
