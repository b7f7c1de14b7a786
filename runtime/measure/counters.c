/* counters.c - see counters.h. */
#include "runtime/measure/counters.h"

#include "runtime/measure/numbers.h"
#include "runtime/measure/unit.h"

#include <stdlib.h>
#include <string.h>

const char *access_op_name(AccessOp op)
{
    static const char *const names[] = {"load", "store", "atomic"};
    return names[op];
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
    NumberSet loaded;  /* the sectors that the present block has loaded */
    UnitAccesses unit; /* under way */
    int64_t requests;
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
    numbers_free(&c->loaded);
    unit_free(&c->unit);
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

/* Bulk copies pass the first-level cache by. */
static bool add_sectors(Counters *c, const AccessEvent *e, int64_t sectors)
{
    KernelCounters *k = &c->kernels[e->kernel];
    if (c->block != e->block || c->kernel != e->kernel)
        numbers_clear(&c->loaded);
    c->block = e->block;
    c->kernel = e->kernel;
    if (e->op != ACCESS_LOAD || c->unit.lanes == 1) {
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
            if (key != last && !numbers_add(&c->loaded, key, &fresh))
                return false;
            k->sectors_beyond_l1 += fresh;
            last = key;
        }
    }
    return true;
}

static bool add_cost(Counters *c, const AccessEvent *e, const AccessCost *cost)
{
    AccessCounter *a = &c->kernels[e->kernel].accesses[e->inst];
    if (a->cost.requests == 0) {
        *a = (AccessCounter){.kernel = e->kernel,
                             .inst = e->inst,
                             .buffer = e->buffer,
                             .op = e->op,
                             .whole = c->unit.lanes > 0,
                             .bytes = e->lanes.bytes,
                             .worst = *e};
    }
    keep_worst(a, e, (int)(cost->sectors + cost->wavefronts + cost->passes));
    access_cost_add(&a->cost, cost);
    return e->buffer->space != VM_GLOBAL || e->buffer->constant || add_sectors(c, e, cost->sectors);
}

bool counters_add(Counters *c, const AccessEvent *e)
{
    if (e->lanes.active == 0)
        return true;
    c->requests++;
    if (c->unit.lanes > 0)
        return unit_add(&c->unit, e);
    return add_cost(c, e, price_again(&c->kernels[e->kernel].priced[e->inst], e));
}

void counters_begin_unit(Counters *c, int lanes)
{
    unit_begin(&c->unit, lanes);
}

bool counters_end_unit(Counters *c)
{
    bool ok = true;
    for (int i = 0; ok && i < c->unit.n; i++) {
        AccessEvent e = c->unit.operands[i].event;
        AccessCost cost = unit_cost(&c->unit.operands[i], &e.lanes);
        ok = add_cost(c, &e, &cost);
    }
    unit_end(&c->unit);
    return ok;
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
    numbers_clear(&c->loaded);
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
    into->requests += from->requests;
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

int64_t counters_requests(const Counters *c)
{
    return c->requests;
}

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
