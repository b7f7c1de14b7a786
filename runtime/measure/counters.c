/* counters.c - see counters.h. */
#include "runtime/measure/counters.h"

#include <stdlib.h>
#include <string.h>

const char *access_op_name(AccessOp op)
{
    static const char *const names[] = {"load", "store", "atomic"};
    return names[op];
}

/* ---- the sectors that a block has loaded --------------------------------------------------- */

/* A hash set with linear probing.  An entry belongs to the present block if its stamp is that
 * block's. */
typedef struct {
    uint64_t *keys;
    uint32_t *stamps, stamp;
    size_t capacity, used; /* capacity is a power of two, or 0 */
} SectorSet;

enum { SECTOR_SET_FIRST = 1024 };

static size_t slot_of(const SectorSet *s, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (s->capacity - 1);
    while (s->stamps[at] == s->stamp && s->keys[at] != key)
        at = (at + 1) & (s->capacity - 1);
    return at;
}

static bool sector_set_grow(SectorSet *s)
{
    SectorSet larger = {.stamp = 1, .capacity = s->capacity ? 2 * s->capacity : SECTOR_SET_FIRST};
    larger.keys = malloc(larger.capacity * sizeof *larger.keys);
    larger.stamps = calloc(larger.capacity, sizeof *larger.stamps);
    if (!larger.keys || !larger.stamps) {
        free(larger.keys);
        free(larger.stamps);
        return false;
    }
    for (size_t i = 0; i < s->capacity; i++)
        if (s->stamps[i] == s->stamp) {
            size_t at = slot_of(&larger, s->keys[i]);
            larger.keys[at] = s->keys[i];
            larger.stamps[at] = larger.stamp;
        }
    larger.used = s->used;
    free(s->keys);
    free(s->stamps);
    *s = larger;
    return true;
}

/* Sets *fresh to whether the key was not there. */
static bool sector_set_add(SectorSet *s, uint64_t key, bool *fresh)
{
    if (2 * s->used >= s->capacity && !sector_set_grow(s))
        return false;
    size_t at = slot_of(s, key);
    *fresh = s->stamps[at] != s->stamp;
    s->keys[at] = key;
    s->stamps[at] = s->stamp;
    s->used += *fresh;
    return true;
}

static void sector_set_clear(SectorSet *s)
{
    s->used = 0;
    if (++s->stamp == 0 && s->stamps) {
        memset(s->stamps, 0, s->capacity * sizeof *s->stamps);
        s->stamp = 1;
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

/* The request before, by distances from its first lane, whose place in its line matters, too:
 * requests that differ by whole lines cost the same, and mostly the next one does. */
typedef struct {
    uint32_t active;
    int64_t offset, distance[WARP_LANES];
    AccessCost cost; /* requests is 0: there was none */
} PricedAccess;

typedef struct {
    AccessCounter *accesses;    /* [n_code] */
    PricedAccess *priced;       /* [n_code] */
    ExecutionCount *executions; /* [n_code] */
    int64_t sectors_beyond_l1;
    int n_code;
} KernelCounters;

struct Counters {
    int n_kernels;
    KernelCounters *kernels;
    SectorSet loaded; /* by the present block */
    int kernel;
    int64_t block;
};

Counters *counters_new(const Module *m)
{
    Counters *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    counters_begin_launch(c);
    c->kernels = calloc((size_t)m->n_kernels + 1, sizeof *c->kernels);
    bool ok = c->kernels != NULL;
    for (int i = 0; ok && i < m->n_kernels; i++) {
        KernelCounters *k = &c->kernels[c->n_kernels++];
        k->n_code = m->kernels[i].code->n_code;
        k->accesses = calloc((size_t)k->n_code + 1, sizeof *k->accesses);
        k->executions = calloc((size_t)k->n_code + 1, sizeof *k->executions);
        k->priced = calloc((size_t)k->n_code + 1, sizeof *k->priced);
        ok = k->accesses && k->executions && k->priced;
    }
    if (ok)
        return c;
    counters_free(c);
    return NULL;
}

void counters_free(Counters *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n_kernels; i++) {
        free(c->kernels[i].accesses);
        free(c->kernels[i].executions);
        free(c->kernels[i].priced);
    }
    free(c->kernels);
    free(c->loaded.keys);
    free(c->loaded.stamps);
    free(c);
}

/* ---- counting ------------------------------------------------------------------------------ */

static AccessCost price(const AccessEvent *e)
{
    AccessCost cost = {.requests = 1, .lanes = __builtin_popcount(e->lanes.active)};
    if (e->buffer->constant) {
        cost.passes = memory_words(&e->lanes);
    } else if (e->buffer->space == VM_GLOBAL) {
        cost.sectors = memory_sectors(&e->lanes);
        cost.sectors_ideal = memory_sectors_ideal(&e->lanes);
        cost.lines = memory_lines(&e->lanes);
    } else {
        cost.wavefronts = memory_wavefronts(&e->lanes);
        cost.wavefronts_ideal = memory_wavefronts_ideal(&e->lanes);
    }
    if (e->op == ACCESS_ATOMIC)
        cost.passes = memory_collisions(&e->lanes);
    return cost;
}

static const AccessCost *price_again(PricedAccess *priced, const AccessEvent *e)
{
    PricedAccess now = {.active = e->lanes.active};
    int64_t first = e->lanes.address[__builtin_ctz(e->lanes.active)];
    now.offset = first & (LINE_BYTES - 1);
    for (int lane = 0; lane < WARP_LANES; lane++)
        now.distance[lane] =
            (e->lanes.address[lane] - first) & -(int64_t)(e->lanes.active >> lane & 1);
    if (priced->cost.requests == 0 || now.active != priced->active ||
        now.offset != priced->offset ||
        memcmp(now.distance, priced->distance, sizeof now.distance) != 0) {
        now.cost = price(e);
        *priced = now;
    }
    return &priced->cost;
}

void access_cost_add(AccessCost *sum, const AccessCost *cost)
{
    sum->requests += cost->requests;
    sum->lanes += cost->lanes;
    sum->sectors += cost->sectors;
    sum->sectors_ideal += cost->sectors_ideal;
    sum->wavefronts += cost->wavefronts;
    sum->wavefronts_ideal += cost->wavefronts_ideal;
    sum->lines += cost->lines;
    sum->passes += cost->passes;
}

static bool is_before(const AccessEvent *a, const AccessEvent *b)
{
    return a->block < b->block || (a->block == b->block && a->warp < b->warp);
}

/* Requests of one warp come in order, so the first of them with a cost is kept. */
static void keep_worst(AccessCounter *into, const AccessEvent *e, int cost)
{
    if (cost < into->worst_cost || (cost == into->worst_cost && !is_before(e, &into->worst)))
        return;
    into->worst = *e;
    into->worst_cost = cost;
}

static bool add_sectors(Counters *c, const AccessEvent *e, int sectors)
{
    KernelCounters *k = &c->kernels[e->kernel];
    if (c->block != e->block || c->kernel != e->kernel)
        sector_set_clear(&c->loaded);
    c->block = e->block;
    c->kernel = e->kernel;
    if (e->op != ACCESS_LOAD) {
        k->sectors_beyond_l1 += sectors;
        return true;
    }
    uint64_t space = (uint64_t)e->buffer->argument << 48, last = UINT64_MAX;
    for (int lane = 0; lane < WARP_LANES; lane++) {
        if (!(e->lanes.active >> lane & 1))
            continue;
        for (int64_t at = e->lanes.address[lane]; at < e->lanes.address[lane] + e->lanes.bytes;
             at += SECTOR_BYTES) {
            uint64_t key = space | ((uint64_t)at / SECTOR_BYTES & (((uint64_t)1 << 48) - 1));
            bool fresh = false;
            if (key != last && !sector_set_add(&c->loaded, key, &fresh))
                return false;
            k->sectors_beyond_l1 += fresh;
            last = key;
        }
    }
    return true;
}

bool counters_add(Counters *c, const AccessEvent *e)
{
    if (e->lanes.active == 0)
        return true;
    AccessCounter *a = &c->kernels[e->kernel].accesses[e->inst];
    const AccessCost *cost = price_again(&c->kernels[e->kernel].priced[e->inst], e);
    if (a->cost.requests == 0) {
        *a = (AccessCounter){.kernel = e->kernel,
                             .inst = e->inst,
                             .buffer = e->buffer,
                             .op = e->op,
                             .bytes = e->lanes.bytes,
                             .worst = *e};
    }
    keep_worst(a, e, (int)(cost->sectors + cost->wavefronts + cost->passes));
    access_cost_add(&a->cost, cost);
    return e->buffer->space != VM_GLOBAL || e->buffer->constant ||
           add_sectors(c, e, (int)cost->sectors);
}

void counters_add_execution(Counters *c, int kernel, int inst, int lanes)
{
    ExecutionCount *count = &c->kernels[kernel].executions[inst];
    count->times++;
    count->lanes += lanes;
}

void counters_begin_launch(Counters *c)
{
    c->kernel = -1;
    sector_set_clear(&c->loaded);
}

static void merge_access(AccessCounter *into, const AccessCounter *from)
{
    if (from->cost.requests == 0)
        return;
    if (into->cost.requests == 0) {
        *into = *from;
        return;
    }
    keep_worst(into, &from->worst, from->worst_cost);
    access_cost_add(&into->cost, &from->cost);
}

void counters_merge(Counters *into, const Counters *from)
{
    for (int i = 0; i < into->n_kernels; i++) {
        KernelCounters *to = &into->kernels[i];
        const KernelCounters *k = &from->kernels[i];
        to->sectors_beyond_l1 += k->sectors_beyond_l1;
        for (int inst = 0; inst < to->n_code; inst++) {
            merge_access(&to->accesses[inst], &k->accesses[inst]);
            to->executions[inst].times += k->executions[inst].times;
            to->executions[inst].lanes += k->executions[inst].lanes;
        }
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

const AccessCounter *counters_at(const Counters *c, int kernel, int inst)
{
    return &c->kernels[kernel].accesses[inst];
}

ExecutionCount counters_executions(const Counters *c, int kernel, int inst)
{
    return c->kernels[kernel].executions[inst];
}

int64_t counters_beyond_l1(const Counters *c, int kernel)
{
    return c->kernels[kernel].sectors_beyond_l1 * SECTOR_BYTES;
}
