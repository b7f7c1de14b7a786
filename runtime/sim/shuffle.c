/* shuffle.c - Exchanges values between the lanes of one warp.
 *
 * A warp is 32 threads in a row, x fastest, as on the GPU; the last one of a block may be shorter.
 * The emitted code names all 32 lanes, so each lane that the warp has must be here. */
#include "runtime/sim/shadow.h"

#include <string.h>

enum { WARP = 32 };

/* Is each of the warps either here with all its lanes, or not at all? */
static bool warps_whole(VmState *st, const VmStep *s)
{
    for (int first = 0; first < st->lanes && !st->full[st->level]; first += WARP) {
        int end = first + WARP < st->lanes ? first + WARP : st->lanes, here = 0, missing = first;
        for (int lane = first; lane < end; lane++) {
            here += vm_runs(st, lane);
            missing = vm_runs(st, lane) ? missing : lane;
        }
        if (here > 0 && here < end - first)
            return vm_fault(st, s, FAULT_DIVERGENT_SHUFFLE, missing,
                            "%d of the %d threads of a warp do not reach this shuffle",
                            end - first - here, end - first);
    }
    return true;
}

/* The lane whose value lane `i` gets. */
static int source(const VmStep *s, int i)
{
    if (s->inst->op == VM_SHUFFLE)
        return i ^ s->inst->sub;
    int64_t lane = ((const int64_t *)s->b)[s->lanes_b ? i : 0];
    return i / WARP * WARP + (int)((uint64_t)lane % WARP);
}

/* Does every lane that runs have a partner? */
static bool partners_exist(VmState *st, const VmStep *s)
{
    for (int lane = 0; lane < st->lanes; lane++)
        if (source(s, lane) >= st->lanes && vm_runs(st, lane))
            return vm_fault(
                st, s, FAULT_DIVERGENT_SHUFFLE, lane,
                "lane %d reads the value of lane %d, which does not exist in a block of %d threads",
                lane % WARP, source(s, lane) % WARP, st->lanes);
    return true;
}

/* Where the value is a copy of elements, what is known of undefined ones goes with it. */
static void pass_marks(const VmState *st, const VmStep *s)
{
    const VmStep *store = s->into;
    if (!store || !s->carried || !s->carried[0])
        return;
    if (!store->carried[0])
        memset(store->carried, 0, 1 + st->shadow->n_carried);
    store->carried[0] = 1;
    for (int i = 0; i < st->lanes; i++)
        store->carried[1 + s->part * st->lanes + i] = s->carried[1 + source(s, i)];
    s->carried[0] = 0;
}

#define SHUFFLE(t, T)                                                                              \
    static bool shuffle_##t(VmState *st, const VmStep *s)                                          \
    {                                                                                              \
        T *d = s->d;                                                                               \
        const T *a = s->a;                                                                         \
        if (!warps_whole(st, s) || !partners_exist(st, s))                                         \
            return false;                                                                          \
        for (int i = 0; i < s->n; i++) {                                                           \
            int from = source(s, i);                                                               \
            d[i] = a[s->lanes_a && from < st->lanes ? from : 0];                                   \
        }                                                                                          \
        pass_marks(st, s);                                                                         \
        return true;                                                                               \
    }
SHUFFLE(f64, double)
SHUFFLE(f32, float)
SHUFFLE(i64, int64_t)
SHUFFLE(u64, uint64_t)
SHUFFLE(i32, int32_t)
SHUFFLE(u32, uint32_t)
SHUFFLE(bool, uint8_t)

VmApply *vm_shuffle(VmType type)
{
    static VmApply *const table[VM_TYPES] = {
        [VM_F64] = shuffle_f64,   [VM_F32] = shuffle_f32, [VM_I64] = shuffle_i64,
        [VM_U64] = shuffle_u64,   [VM_I32] = shuffle_i32, [VM_U32] = shuffle_u32,
        [VM_BOOL] = shuffle_bool,
    };
    return table[type];
}
