// gated: 1 launch
//   x: bf16[128, 256], read
//   v: bf16[384, 256], read
//   w: bf16[384, 256], read
//   y: f32[128, 384], written
//   x_map: cuTensorMapEncodeTiled of x, UINT16, extents {256, 128}, boxes {64, 128}, SWIZZLE_128B
//   v_map: cuTensorMapEncodeTiled of v, UINT16, extents {256, 384}, boxes {64, 128}, SWIZZLE_128B
//   w_map: cuTensorMapEncodeTiled of w, UINT16, extents {256, 384}, boxes {64, 128}, SWIZZLE_128B
//   y_map: cuTensorMapEncodeTiled of y, UINT32, extents {384, 128}, boxes {32, 64}, SWIZZLE_128B
// gated<<<2, dim3(128, 3), 229440>>>(x_map, v_map, w_map, y_map);

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

static __device__ __forceinline__ void prefetch_map(const TensorMap &map)
{
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
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

template <int registers>
static __device__ __forceinline__ void leave_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

template <int registers>
static __device__ __forceinline__ void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
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

static __device__ __forceinline__ void warpgroup_meets(int warpgroup)
{
    asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 2) : "memory");
}

static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

template <int n>
static __device__ __forceinline__ void settle_f32(float *t)
{
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+f"(t[i])::"memory");
}

extern "C" __global__ void __launch_bounds__(384)
gated(const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap v_map,
      const __grid_constant__ TensorMap w_map, const __grid_constant__ TensorMap y_map)
{
    extern __shared__ __align__(1024) unsigned char shared_memory[];
    unsigned short (*w_shared)[128][64] = (unsigned short (*)[128][64])shared_memory;
    unsigned short (*v_shared)[128][64] = (unsigned short (*)[128][64])(shared_memory + 65536);
    unsigned short (*x_shared)[128][64] = (unsigned short (*)[128][64])(shared_memory + 131072);
    float (*y_shared)[128][32] = (float (*)[128][32])(shared_memory + 196608);
    prefetch_map(x_map);
    prefetch_map(v_map);
    prefetch_map(w_map);
    prefetch_map(y_map);
    unsigned long long *landed = (unsigned long long *)(shared_memory + 229376);
    unsigned long long *released = landed + 4;
    roles_begin<4, 8>(landed, released);  // two mbarriers for each group of copies under way
    const int at = blockIdx.x;
    const int group = threadIdx.y;
    const int lane = threadIdx.x;
    if (threadIdx.y >= 2) {  // the producer, in a warpgroup of its own
        leave_registers<40>();
        if (threadIdx.x == 0) {
            int begun = 0;
            for (int turn = 0; turn < (4 - at) / 2; ++turn) {
                for (int ko = 0; ko < 4; ++ko) {
                    producer_acquire<4>(released, begun, 4);  // x_shared, v_shared, w_shared:
                                                              // consumers have read the group of 4
                                                              // iterations of ko before
                    copy_bulk_2d(&x_shared[ko][0][0], x_map, ko * 64, 0, &landed[begun % 4], 16384);
                    copy_bulk_2d(&v_shared[ko][0][0], v_map, ko * 64, turn * 256 + at * 128,
                                 &landed[begun % 4], 16384);
                    copy_bulk_2d(&w_shared[ko][0][0], w_map, ko * 64, turn * 256 + at * 128,
                                 &landed[begun % 4], 16384);
                    producer_commit<4>(landed, begun);  // the copies above are one group
                }
            }
        }
    } else {  // the consumers
        take_registers<232>();
        int received = 0, freed = 0;
        for (int turn = 0; turn < (4 - at) / 2; ++turn) {
            __align__(16) float a[2][32];
            __align__(16) float b[2][32];
            for (int u = 0; u < 2; ++u) {
                for (int panel_nj_fused = 0; panel_nj_fused < 16; ++panel_nj_fused) {
                    for (int pair = 0; pair < 2; ++pair)
                        a[u][panel_nj_fused * 2 + pair] = 0.0f;
                }
            }
            for (int u = 0; u < 2; ++u) {
                for (int panel_nj_fused = 0; panel_nj_fused < 16; ++panel_nj_fused) {
                    for (int pair = 0; pair < 2; ++pair)
                        b[u][panel_nj_fused * 2 + pair] = 0.0f;
                }
            }
            for (int ko = 0; ko < 4; ++ko) {
                consumer_receive<4>(landed, received);  // x_shared, v_shared, w_shared: copied by
                                                        // the producer, read below
                {
                    float *mma_c = &a[0][0];
                    const unsigned long long mma_p = 0x4000004000010000ull
                        | (unsigned)__cvta_generic_to_shared(&x_shared[ko][group * 64][0])
                                % 0x40000 >> 4;
                    const unsigned long long mma_q = 0x4000004000010000ull
                        | (unsigned)__cvta_generic_to_shared(&v_shared[ko][0][0]) % 0x40000 >> 4;
                    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                    #pragma unroll
                    for (int k = 0; k < 4; k++)
                        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                                     "%0, %1, %2, %3, "
                                     "%4, %5, %6, %7, "
                                     "%8, %9, %10, %11, "
                                     "%12, %13, %14, %15, "
                                     "%16, %17, %18, %19, "
                                     "%20, %21, %22, %23, "
                                     "%24, %25, %26, %27, "
                                     "%28, %29, %30, %31, "
                                     "%32, %33, %34, %35, "
                                     "%36, %37, %38, %39, "
                                     "%40, %41, %42, %43, "
                                     "%44, %45, %46, %47, "
                                     "%48, %49, %50, %51, "
                                     "%52, %53, %54, %55, "
                                     "%56, %57, %58, %59, "
                                     "%60, %61, %62, %63}, "
                                     "%64, %65, 1, 1, 1, 0, 0;"
                                     :
                                       "+f"(mma_c[0]), "+f"(mma_c[1]),
                                       "+f"(mma_c[32]), "+f"(mma_c[33]),
                                       "+f"(mma_c[2]), "+f"(mma_c[3]),
                                       "+f"(mma_c[34]), "+f"(mma_c[35]),
                                       "+f"(mma_c[4]), "+f"(mma_c[5]),
                                       "+f"(mma_c[36]), "+f"(mma_c[37]),
                                       "+f"(mma_c[6]), "+f"(mma_c[7]),
                                       "+f"(mma_c[38]), "+f"(mma_c[39]),
                                       "+f"(mma_c[8]), "+f"(mma_c[9]),
                                       "+f"(mma_c[40]), "+f"(mma_c[41]),
                                       "+f"(mma_c[10]), "+f"(mma_c[11]),
                                       "+f"(mma_c[42]), "+f"(mma_c[43]),
                                       "+f"(mma_c[12]), "+f"(mma_c[13]),
                                       "+f"(mma_c[44]), "+f"(mma_c[45]),
                                       "+f"(mma_c[14]), "+f"(mma_c[15]),
                                       "+f"(mma_c[46]), "+f"(mma_c[47]),
                                       "+f"(mma_c[16]), "+f"(mma_c[17]),
                                       "+f"(mma_c[48]), "+f"(mma_c[49]),
                                       "+f"(mma_c[18]), "+f"(mma_c[19]),
                                       "+f"(mma_c[50]), "+f"(mma_c[51]),
                                       "+f"(mma_c[20]), "+f"(mma_c[21]),
                                       "+f"(mma_c[52]), "+f"(mma_c[53]),
                                       "+f"(mma_c[22]), "+f"(mma_c[23]),
                                       "+f"(mma_c[54]), "+f"(mma_c[55]),
                                       "+f"(mma_c[24]), "+f"(mma_c[25]),
                                       "+f"(mma_c[56]), "+f"(mma_c[57]),
                                       "+f"(mma_c[26]), "+f"(mma_c[27]),
                                       "+f"(mma_c[58]), "+f"(mma_c[59]),
                                       "+f"(mma_c[28]), "+f"(mma_c[29]),
                                       "+f"(mma_c[60]), "+f"(mma_c[61]),
                                       "+f"(mma_c[30]), "+f"(mma_c[31]),
                                       "+f"(mma_c[62]), "+f"(mma_c[63])
                                     : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
                }
                {
                    float *mma_c = &b[0][0];
                    const unsigned long long mma_p = 0x4000004000010000ull
                        | (unsigned)__cvta_generic_to_shared(&x_shared[ko][group * 64][0])
                                % 0x40000 >> 4;
                    const unsigned long long mma_q = 0x4000004000010000ull
                        | (unsigned)__cvta_generic_to_shared(&w_shared[ko][0][0]) % 0x40000 >> 4;
                    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                    #pragma unroll
                    for (int k = 0; k < 4; k++)
                        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                                     "%0, %1, %2, %3, "
                                     "%4, %5, %6, %7, "
                                     "%8, %9, %10, %11, "
                                     "%12, %13, %14, %15, "
                                     "%16, %17, %18, %19, "
                                     "%20, %21, %22, %23, "
                                     "%24, %25, %26, %27, "
                                     "%28, %29, %30, %31, "
                                     "%32, %33, %34, %35, "
                                     "%36, %37, %38, %39, "
                                     "%40, %41, %42, %43, "
                                     "%44, %45, %46, %47, "
                                     "%48, %49, %50, %51, "
                                     "%52, %53, %54, %55, "
                                     "%56, %57, %58, %59, "
                                     "%60, %61, %62, %63}, "
                                     "%64, %65, 1, 1, 1, 0, 0;"
                                     :
                                       "+f"(mma_c[0]), "+f"(mma_c[1]),
                                       "+f"(mma_c[32]), "+f"(mma_c[33]),
                                       "+f"(mma_c[2]), "+f"(mma_c[3]),
                                       "+f"(mma_c[34]), "+f"(mma_c[35]),
                                       "+f"(mma_c[4]), "+f"(mma_c[5]),
                                       "+f"(mma_c[36]), "+f"(mma_c[37]),
                                       "+f"(mma_c[6]), "+f"(mma_c[7]),
                                       "+f"(mma_c[38]), "+f"(mma_c[39]),
                                       "+f"(mma_c[8]), "+f"(mma_c[9]),
                                       "+f"(mma_c[40]), "+f"(mma_c[41]),
                                       "+f"(mma_c[10]), "+f"(mma_c[11]),
                                       "+f"(mma_c[42]), "+f"(mma_c[43]),
                                       "+f"(mma_c[12]), "+f"(mma_c[13]),
                                       "+f"(mma_c[44]), "+f"(mma_c[45]),
                                       "+f"(mma_c[14]), "+f"(mma_c[15]),
                                       "+f"(mma_c[46]), "+f"(mma_c[47]),
                                       "+f"(mma_c[16]), "+f"(mma_c[17]),
                                       "+f"(mma_c[48]), "+f"(mma_c[49]),
                                       "+f"(mma_c[18]), "+f"(mma_c[19]),
                                       "+f"(mma_c[50]), "+f"(mma_c[51]),
                                       "+f"(mma_c[20]), "+f"(mma_c[21]),
                                       "+f"(mma_c[52]), "+f"(mma_c[53]),
                                       "+f"(mma_c[22]), "+f"(mma_c[23]),
                                       "+f"(mma_c[54]), "+f"(mma_c[55]),
                                       "+f"(mma_c[24]), "+f"(mma_c[25]),
                                       "+f"(mma_c[56]), "+f"(mma_c[57]),
                                       "+f"(mma_c[26]), "+f"(mma_c[27]),
                                       "+f"(mma_c[58]), "+f"(mma_c[59]),
                                       "+f"(mma_c[28]), "+f"(mma_c[29]),
                                       "+f"(mma_c[60]), "+f"(mma_c[61]),
                                       "+f"(mma_c[30]), "+f"(mma_c[31]),
                                       "+f"(mma_c[62]), "+f"(mma_c[63])
                                     : "l"(mma_p + 2 * k), "l"(mma_q + 2 * k));
                }
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // the instructions
                                                                                // above are one
                                                                                // group
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // all instructions
                                                                                // but those of the
                                                                                // last group
                consumer_release<4>(released, freed, received - 1);  // x_shared, v_shared,
                                                                     // w_shared: read above, but
                                                                     // for the last group, which
                                                                     // instructions in flight may
                                                                     // read; the producer
                                                                     // overwrites them
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // all instructions: a
                                                                            // is accessed below
            settle_f32<64>(&a[0][0]);
            settle_f32<64>(&b[0][0]);
            #pragma unroll
            for (int panels = 0; panels < 4; ++panels) {
                store_bulk_wait<1>();  // all stores but those of the last group
                fence_proxy_async();
                warpgroup_meets(threadIdx.y);  // y_shared: read above by other threads of the
                                               // warpgroup, overwritten below
                #pragma unroll
                for (int u = 0; u < 2; ++u) {
                    #pragma unroll
                    for (int nj = 0; nj < 4; ++nj) {
                        *(float2 *)&y_shared[panels % 2]
                                            [group * 64 + lane / 32 * 16 + u * 8 + lane / 4 % 8]
                                            [(nj * 2 + lane % 4 / 2 ^ lane / 4 % 8) * 4
                                             + lane % 2 * 2] =
                            make_float2(fmaxf(a[u][panels * 8 + nj * 2], 0.0f)
                                            - b[u][panels * 8 + nj * 2],
                                        fmaxf(a[u][panels * 8 + nj * 2 + 1], 0.0f)
                                            - b[u][panels * 8 + nj * 2 + 1]);
                    }
                }
                fence_proxy_async();
                warpgroup_meets(threadIdx.y);  // y_shared: written above by other threads of the
                                               // warpgroup, read below
                if (lane == 0)
                    store_bulk_2d(y_map, turn * 256 + at * 128 + panels * 32, group * 64,
                                  &y_shared[panels % 2][group * 64][0]);
                store_bulk_commit();  // the stores above are one group
            }
        }
        store_bulk_wait<0>();  // all stores
    }
}
