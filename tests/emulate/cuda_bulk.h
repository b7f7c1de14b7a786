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
#define ptx_bar_sync(number, threads) emulator::part_barrier(__LINE__, number, threads)

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

/* Elements of the type that the tensor map names; `given` are those that the operation takes. */
template <class T, class Operation>
static inline bool combined(const char *type, const char *given, void *to, const void *from,
                            Operation f)
{
    T a, b;
    if (strcmp(type, given) != 0)
        return false;
    memcpy(&a, to, sizeof a);
    memcpy(&b, from, sizeof b);
    a = (T)f(a, b);
    memcpy(to, &a, sizeof a);
    return true;
}
template <class Operation>
static inline bool combined_half(const char *type, void *to, const void *from, Operation f)
{
    const NarrowFormat &format = strcmp(type, "f16") == 0 ? f16_format : bf16_format;
    auto bits = [&](unsigned short a, unsigned short b) {
        return narrow_bits(format, f(narrow_value(format, a), narrow_value(format, b)));
    };
    return combined<unsigned short>(type, "f16", to, from, bits) ||
           combined<unsigned short>(type, "bf16", to, from, bits);
}
template <class Operation>
static inline bool combined_integer(const char *type, void *to, const void *from, Operation f)
{
    return combined<int>(type, "i32", to, from, f) ||
           combined<unsigned>(type, "u32", to, from, f) ||
           combined<long long>(type, "i64", to, from, f) ||
           combined<unsigned long long>(type, "u64", to, from, f);
}
static inline void update_refused(bool done, const char *type, const char *operation)
{
    if (!done)
        emulator::fault("an update of %s with %s", type, operation);
}
static inline void bulk_add(const char *type, void *to, const void *from)
{
    auto sum = [](auto a, auto b) { return a + b; };
    bool done = combined<unsigned>(type, "u32", to, from, sum) ||
                combined<unsigned>(type, "i32", to, from, sum) ||
                combined<unsigned long long>(type, "u64", to, from, sum) ||
                combined<float>(type, "f32", to, from, sum) || combined_half(type, to, from, sum);
    update_refused(done, type, "add");
}
/* Numbers before NaN, and -0 before +0. */
static inline double least(double a, double b)
{
    return a == b ? (signbit(a) ? a : b) : fmin(a, b);
}
static inline void bulk_min(const char *type, void *to, const void *from)
{
    bool done = combined_integer(type, to, from, [](auto a, auto b) { return a < b ? a : b; }) ||
                combined_half(type, to, from, least);
    update_refused(done, type, "min");
}
static inline void bulk_max(const char *type, void *to, const void *from)
{
    auto largest = [](double a, double b) { return -least(-a, -b); };
    bool done = combined_integer(type, to, from, [](auto a, auto b) { return a > b ? a : b; }) ||
                combined_half(type, to, from, largest);
    update_refused(done, type, "max");
}
static inline void bulk_and(const char *type, void *to, const void *from)
{
    update_refused(combined_integer(type, to, from, [](auto a, auto b) { return a & b; }), type,
                   "and");
}
static inline void bulk_or(const char *type, void *to, const void *from)
{
    update_refused(combined_integer(type, to, from, [](auto a, auto b) { return a | b; }), type,
                   "or");
}
static inline void bulk_xor(const char *type, void *to, const void *from)
{
    update_refused(combined_integer(type, to, from, [](auto a, auto b) { return a ^ b; }), type,
                   "xor");
}

#define BULK(n, operation)                                                                         \
    template <class... Coordinates>                                                                \
    static inline void                                                                             \
        ptx_cp_reduce_async_bulk_tensor_##n##d_global_shared_cta_##operation##_tile_bulk_group(    \
            const void *map, Coordinates... rest)                                                  \
    {                                                                                              \
        static_assert(sizeof...(rest) == n + 1, "coordinates and a place in shared memory");       \
        const int at[] = {(int)rest...};                                                           \
        emulator::update_bulk(map, at, n, (unsigned)at[n], bulk_##operation);                      \
    }
#define BULK_RANKS(operation)                                                                      \
    BULK(1, operation)                                                                             \
    BULK(2, operation) BULK(3, operation) BULK(4, operation) BULK(5, operation)
BULK_RANKS(add)
BULK_RANKS(min)
BULK_RANKS(max)
BULK_RANKS(and)
BULK_RANKS(or)
BULK_RANKS(xor)
#undef BULK_RANKS
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
