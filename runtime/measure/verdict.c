/* verdict.c - see verdict.h. */
#include "runtime/measure/verdict.h"

/* ---- global memory ------------------------------------------------------------------------- */

/* How neighbouring active lanes lie to each other. */
typedef struct {
    int lanes, pairs;
    /* the lowest address; the commonest distance of neighbours, and how many pairs have it */
    int64_t first, step;
    int common;
} Pattern;

static Pattern pattern_of(const WarpAccess *a)
{
    Pattern p = {0};
    int64_t steps[WARP_LANES], previous = 0;
    for (int lane = 0; lane < WARP_LANES; lane++) {
        if (!(a->active >> lane & 1))
            continue;
        int64_t at = a->address[lane];
        if (p.lanes++ > 0)
            steps[p.pairs++] = at - previous;
        p.first = p.lanes == 1 || at < p.first ? at : p.first;
        previous = at;
    }
    for (int i = 0; i < p.pairs; i++) {
        int same = 0;
        for (int j = 0; j < p.pairs; j++)
            same += steps[j] == steps[i];
        if (same > p.common) {
            p.common = same;
            p.step = steps[i];
        }
    }
    return p;
}

static const char *global_verdict(Context *c, const AccessCounter *a)
{
    const WarpAccess *worst = &a->worst.lanes;
    Pattern p = pattern_of(worst);
    int sectors = memory_sectors(worst), ideal = memory_sectors_ideal(worst);
    int64_t distance = p.step < 0 ? -p.step : p.step;
    if (a->whole)
        return arena_printf(c->arena, "rows of the box of '%s' begin or end inside of sectors",
                            a->buffer->name);
    const char *cost = arena_printf(c->arena, "%d lanes access %d sectors; %d would suffice",
                                    p.lanes, sectors, ideal);
    if (distance == a->bytes && p.common == p.pairs)
        return arena_printf(c->arena,
                            "%s: the elements are adjacent, but the first is %lld bytes into a "
                            "sector; align it to 32 bytes",
                            cost,
                            (long long)(((p.first % SECTOR_BYTES) + SECTOR_BYTES) % SECTOR_BYTES));
    if (distance != 0 && distance != a->bytes && 2 * p.common > p.pairs)
        return arena_printf(c->arena,
                            "%s: adjacent lanes are %lld bytes apart; let threadIdx.x run along "
                            "the last axis of '%s'",
                            cost, (long long)distance, a->buffer->name);
    return arena_printf(c->arena, "%s: adjacent lanes should access adjacent elements of '%s'",
                        cost, a->buffer->name);
}

/* ---- shared memory ------------------------------------------------------------------------- */

/* The request as it would be if rows were `pad` elements longer. */
static WarpAccess padded(const AccessCounter *a, int pad)
{
    WarpAccess out = a->worst.lanes;
    const VmBuffer *b = a->buffer;
    int64_t size = type_bytes(b->type);
    for (int lane = 0; lane < WARP_LANES; lane++) {
        int64_t row = (out.address[lane] - b->offset) / size / b->row;
        if (out.active >> lane & 1)
            out.address[lane] += row * pad * size;
    }
    return out;
}

static int padded_wavefronts(const AccessCounter *a, int pad)
{
    WarpAccess access = padded(a, pad);
    return memory_wavefronts(&access);
}

/* The least pad of the rows, in elements and beyond the one they have, after which the costliest
 * requests of all accesses together take the fewest wavefronts; 0: no pad helps, or the buffer has
 * no rows.  *wavefronts: of `which` then. */
static int useful_pad(const AccessGroup *accesses, int which, int *wavefronts)
{
    const VmBuffer *b = accesses->items[which]->buffer;
    int64_t size = type_bytes(b->type);
    int best = 0, best_sum = 0, widest = 1;
    *wavefronts = memory_wavefronts(&accesses->items[which]->worst.lanes);
    if (b->row <= 0)
        return 0;
    for (int i = 0; i < accesses->n; i++)
        widest = accesses->items[i]->bytes > widest ? accesses->items[i]->bytes : widest;
    for (int pad = 0; pad * size <= WAVEFRONT_BYTES; pad++) {
        int sum = 0;
        if (pad * size % widest != 0) /* wide accesses stay aligned */
            continue;
        for (int i = 0; i < accesses->n; i++)
            sum += padded_wavefronts(accesses->items[i], pad);
        if (pad == 0 || sum < best_sum) {
            best = pad;
            best_sum = sum;
        }
    }
    *wavefronts = padded_wavefronts(accesses->items[which], best);
    return *wavefronts < memory_wavefronts(&accesses->items[which]->worst.lanes) ? best : 0;
}

static const char *shared_verdict(Context *c, const AccessGroup *accesses, int which)
{
    const AccessCounter *a = accesses->items[which];
    const WarpAccess *worst = &a->worst.lanes;
    BankUse use = memory_bank_use(worst);
    int lanes = memory_group_lanes(worst);
    if (use.words <= 1)
        return arena_printf(
            c->arena,
            "no bank conflicts, but only %d lanes of %d bytes are served at a time; twice as many "
            "if each lane reads the address of lane i ^ 1 (or i ^ 2)",
            lanes, worst->bytes);
    int active = __builtin_popcount(worst->active), wavefronts;
    StrBuf out = strbuf_new(c->arena);
    strbuf_addf(&out, "%d lanes fall into %d bank%s", active < lanes ? active : lanes, use.banks,
                use.banks == 1 ? "" : "s");
    int pad = useful_pad(accesses, which, &wavefronts);
    if (pad == 0) {
        strbuf_add(&out, ", and no padding of the row helps: swizzle it, or let adjacent lanes "
                         "access adjacent elements of the row");
        return out.text;
    }
    strbuf_addf(&out, ": pad the row by %lld", (long long)(a->buffer->pad + pad));
    if (a->buffer->pad)
        strbuf_addf(&out, " instead of %lld", (long long)a->buffer->pad);
    if (wavefronts > memory_wavefronts_ideal(worst))
        strbuf_addf(&out, ", so that %d of %d wavefronts remain", wavefronts,
                    memory_wavefronts(worst));
    return out.text;
}

/* ---- all ----------------------------------------------------------------------------------- */

static const char *collision_verdict(Context *c, const AccessCounter *a)
{
    int passes = memory_collisions(&a->worst.lanes);
    return arena_printf(c->arena,
                        "up to %d lanes of a warp update one element of '%s', one after the other: "
                        "%.1f passes per request",
                        passes, a->buffer->name, (double)a->cost.passes / (double)a->cost.requests);
}

static const char *constant_verdict(Context *c, const AccessCounter *a)
{
    return arena_printf(
        c->arena,
        "%d lanes read %d different words of '%s', and constant memory serves one at a time: read "
        "the same element in all lanes of a warp, or keep it in global or shared memory",
        __builtin_popcount(a->worst.lanes.active), memory_words(&a->worst.lanes), a->buffer->name);
}

const char *verdict_of(Context *c, const AccessGroup *accesses, int which)
{
    const AccessCounter *a = accesses->items[which];
    if (a->cost.requests == 0)
        return NULL;
    if (a->buffer->constant)
        return a->cost.passes > a->cost.requests ? constant_verdict(c, a) : NULL;
    if (a->op == ACCESS_ATOMIC && a->cost.passes > a->cost.requests)
        return collision_verdict(c, a);
    if (a->buffer->space == VM_GLOBAL)
        return a->cost.sectors > a->cost.sectors_ideal ? global_verdict(c, a) : NULL;
    return a->cost.wavefronts > a->cost.wavefronts_ideal ? shared_verdict(c, accesses, which)
                                                         : NULL;
}
