/* hint.c - Emits accesses with a cache hint: CUDA's intrinsics where they exist, PTX elsewhere.
 *
 *   y[i] = x.streaming[i];                y[i] = __ldcs(&x[i]);
 *   y.evict_first[i] = x[i];              store_evict_first(&y[i], x[i]);
 *   copy_bulk(t[0], x.evict_first[8]);    hinted_bulk_1d(&t[0], x_map, .., policy_evict_first());
 *
 * All take every type of 1, 2, 4, 8 and 16 bytes (PTX ISA, ld, ld.global.nc, st, createpolicy). */
#include "codegen/cuda/text.h"

static const struct {
    const char *load, *store; /* intrinsics; NULL: the helpers, where there are such accesses */
    Helper load_helper, store_helper;
    Helper policy; /* of bulk copies, which only heed those for the L2 cache */
} functions[HINT_COUNT] = {
    [HINT_READ_ONLY] = {.load = "__ldg"},
    [HINT_STREAMING] = {.load = "__ldcs", .store = "__stcs"},
    [HINT_L2_ONLY] = {.load = "__ldcg", .store = "__stcg"},
    [HINT_WRITE_THROUGH] = {.store = "__stwt"},
    [HINT_NO_ALLOCATE] = {.load_helper = HELPER_LOAD_NO_ALLOCATE,
                          .store_helper = HELPER_STORE_NO_ALLOCATE},
    [HINT_EVICT_FIRST] = {.load_helper = HELPER_LOAD_EVICT_FIRST,
                          .store_helper = HELPER_STORE_EVICT_FIRST,
                          .policy = HELPER_POLICY_EVICT_FIRST},
    [HINT_EVICT_LAST] = {.load_helper = HELPER_LOAD_EVICT_LAST,
                         .store_helper = HELPER_STORE_EVICT_LAST,
                         .policy = HELPER_POLICY_EVICT_LAST},
};

const char *cuda_hint_load(CudaWriter *w, CacheHint hint)
{
    if (hint == HINT_NONE)
        return NULL;
    return functions[hint].load ? functions[hint].load
                                : cuda_helper(w, functions[hint].load_helper);
}

const char *cuda_hint_store(CudaWriter *w, CacheHint hint)
{
    if (hint == HINT_NONE)
        return NULL;
    return functions[hint].store ? functions[hint].store
                                 : cuda_helper(w, functions[hint].store_helper);
}

const char *cuda_hint_policy(CudaWriter *w, CacheHint hint)
{
    bool some = hint == HINT_EVICT_FIRST || hint == HINT_EVICT_LAST;
    return some ? cuda_helper(w, functions[hint].policy) : NULL;
}
