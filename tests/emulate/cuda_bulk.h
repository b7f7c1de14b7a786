/* cuda_bulk.h - PTX of mbarriers and bulk copies. */
#ifndef TIRC_TESTS_EMULATE_CUDA_BULK_H
#define TIRC_TESTS_EMULATE_CUDA_BULK_H

static inline void ptx_mbarrier_init_shared_cta_b64(unsigned mbarrier, int arrivals)
{
    emulator::mbarrier_init(mbarrier, arrivals);
}
static inline void ptx_fence_mbarrier_init_release_cluster()
{
}
static inline void ptx_mbarrier_arrive_shared_cta_b64(unsigned mbarrier)
{
    emulator::mbarrier_arrive(mbarrier);
}
static inline void ptx_mbarrier_expect_tx_relaxed_cta_shared_cta_b64(unsigned mbarrier, int bytes)
{
    emulator::mbarrier_expect(mbarrier, bytes);
}
static inline void ptx_mbarrier_try_wait_parity_shared_cta_b64(unsigned &complete,
                                                               unsigned mbarrier, unsigned parity)
{
    complete = emulator::mbarrier_test(__LINE__, mbarrier, parity);
}

static inline void ptx_prefetch_tensormap(const void *)
{
}

static inline void ptx_setmaxnreg_dec_sync_aligned_u32(int)
{
}
static inline void ptx_setmaxnreg_inc_sync_aligned_u32(int)
{
}

/* Of some threads of the block. */
#define ptx_bar_sync(number, threads) emulator::part_barrier(__LINE__, threads)

/* h: what the name of a copy with a cache hint ends in. */
#define BULK(n, h)                                                                                 \
    template <class... Coordinates>                                                                \
    static inline void                                                                             \
        ptx_cp_async_bulk_tensor_##n##d_shared_cluster_global_tile_mbarrier_complete_tx_bytes##h(  \
            unsigned to, const void *map, Coordinates... rest)                                     \
    {                                                                                              \
        static_assert(sizeof...(rest) == n + 1 + (sizeof #h > 1),                                  \
                      "coordinates, an mbarrier, and a policy with a hint");                       \
        const long long all[] = {(long long)rest...};                                              \
        int at[n];                                                                                 \
        for (int i = 0; i < n; i++)                                                                \
            at[i] = (int)all[i];                                                                   \
        emulator::copy_bulk(to, map, at, n, (unsigned)all[n]);                                     \
    }
BULK(1, )
BULK(1, _L2_cache_hint)
BULK(2, )
BULK(2, _L2_cache_hint)
BULK(3, )
BULK(3, _L2_cache_hint)
BULK(4, )
BULK(4, _L2_cache_hint)
BULK(5, )
BULK(5, _L2_cache_hint)
#undef BULK

#define BULK(n)                                                                                    \
    template <class... Coordinates>                                                                \
    static inline void ptx_cp_async_bulk_tensor_##n##d_global_shared_cta_tile_bulk_group(          \
        const void *map, Coordinates... rest)                                                      \
    {                                                                                              \
        static_assert(sizeof...(rest) == n + 1, "coordinates and a place in shared memory");       \
        const int at[] = {(int)rest...};                                                           \
        emulator::store_bulk(map, at, n, (unsigned)at[n]);                                         \
    }
BULK(1)
BULK(2)
BULK(3)
BULK(4)
BULK(5)
#undef BULK

static inline void ptx_cp_async_bulk_commit_group()
{
    emulator::store_commit();
}
static inline void ptx_cp_async_bulk_wait_group_read(int pending)
{
    emulator::store_wait(pending);
}

#endif
