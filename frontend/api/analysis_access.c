/* analysis_access.c - Turns counters of instructions into rows about accesses of the program.
 *
 * Instructions that come from one place of the text and touch one buffer alike (the copies of an
 * unrolled or peeled loop) are one row. */
#include "frontend/api/analysis.h"

typedef VEC(AccessCounter *) CounterList;

/* ---- merging instructions ------------------------------------------------------------------ */

static Span span_of(const Analyst *a, const AccessCounter *at)
{
    return a->module->kernels[at->kernel].code->spans[at->inst];
}

static bool is_same_access(const Analyst *a, const AccessCounter *x, const AccessCounter *y)
{
    Span s = span_of(a, x), t = span_of(a, y);
    return x->kernel == y->kernel && x->op == y->op && x->bytes == y->bytes &&
           x->buffer->name == y->buffer->name && s.source == t.source && s.begin == t.begin;
}

static void add(AccessCounter *into, const AccessCounter *from)
{
    if (from->worst_cost > into->worst_cost) {
        into->worst = from->worst;
        into->worst_cost = from->worst_cost;
    }
    access_cost_add(&into->cost, &from->cost);
}

static void collect_kernel(const Analyst *a, int kernel, CounterList *rows)
{
    for (int i = 0; i < a->module->kernels[kernel].code->n_code; i++) {
        const AccessCounter *at = counters_at(a->census.counters, kernel, i);
        int row = rows->n;
        for (int r = 0; r < rows->n; r++)
            if (is_same_access(a, rows->items[r], at))
                row = r;
        if (at->cost.requests == 0)
            continue;
        if (row < rows->n) {
            add(rows->items[row], at);
            continue;
        }
        AccessCounter *copy = ARENA_NEW(a->c->arena, AccessCounter);
        *copy = *at;
        VEC_PUSH(a->c->arena, rows, copy);
    }
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* What is said about a row, which looks at all rows of its kernel about the same buffer. */
static const char *verdict(const Analyst *a, const CounterList *rows, int which)
{
    VEC(const AccessCounter *) group = {0};
    int self = 0;
    for (int i = 0; i < rows->n; i++) {
        const AccessCounter *row = rows->items[i], *me = rows->items[which];
        if (row->kernel != me->kernel || row->buffer->name != me->buffer->name)
            continue;
        if (i == which)
            self = group.n;
        VEC_PUSH(a->c->arena, &group, row);
    }
    AccessGroup accesses = {group.items, group.n};
    return verdict_of(a->c, &accesses, self);
}

static tirc_access row_of(const Analyst *a, const CounterList *rows, int which)
{
    const AccessCounter *at = rows->items[which];
    const AccessCost *cost = &at->cost;
    const VmFunction *code = a->module->kernels[at->kernel].code;
    bool constant = at->buffer->constant, shared = at->buffer->space == VM_SHARED,
         global = !constant && !shared;
    double requests = (double)cost->requests;
    tirc_access row = {
        .kernel = a->module->kernels[at->kernel].name,
        .buffer = at->buffer->name,
        .type = type_info(at->buffer->type)->name,
        .scope = constant ? "constant"
                 : shared ? "shared"
                          : "global",
        .op = access_op_name(at->op),
        .bytes = at->bytes,
        .origin = api_origin(a->t, a->kernel, (Origin){span_of(a, at), code->steps[at->inst]}),
        .requests = census_scale(&a->census, at->kernel, cost->requests),
        .lanes = census_scale(&a->census, at->kernel, cost->lanes),
        .sectors_per_request = (double)cost->sectors / requests,
        .wavefronts_per_request = (double)cost->wavefronts / requests,
        .ideal = (double)(constant ? cost->requests
                          : shared ? cost->wavefronts_ideal
                                   : cost->sectors_ideal) /
                 requests,
        .passes_per_request = (double)cost->passes / requests,
        .verdict = verdict(a, rows, which),
        .active = at->worst.lanes.active,
        .worst_sectors = global ? memory_sectors(&at->worst.lanes) : 0,
        .worst_wavefronts = shared ? memory_wavefronts(&at->worst.lanes) : 0,
        .worst_block = at->worst.block,
        .worst_warp = at->worst.warp,
    };
    int64_t *addresses = ARENA_ARRAY(a->c->arena, int64_t, WARP_LANES);
    for (int lane = 0; lane < WARP_LANES; lane++)
        addresses[lane] = row.active >> lane & 1 ? at->worst.lanes.address[lane] : 0;
    row.addresses = addresses;
    return row;
}

void analysis_accesses(Analyst *a)
{
    CounterList rows = {0};
    for (int k = 0; k < a->module->n_kernels; k++) {
        CounterList of_kernel = {0};
        collect_kernel(a, k, &of_kernel);
        VEC_APPEND(a->c->arena, &rows, of_kernel.items, of_kernel.n);
    }
    for (int i = 0; i < rows.n; i++)
        VEC_PUSH(a->c->arena, &a->out->accesses, row_of(a, &rows, i));
}
