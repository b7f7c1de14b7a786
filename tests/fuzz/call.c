/* call.c - makes the call that a step describes (draw.h): names become handles of this run, and
 * numbers become index maps. */
#include <string.h>

#include "fuzz/draw.h"
#include "fuzz/fit.h"
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/sched.h"

/* ---- handles --------------------------------------------------------------------------------- */

static bool resolve_handle(Schedule *s, const Pick *pick, Value *value)
{
    Context *c = schedule_context(s);
    Name name = ctx_name(c, pick->name);
    *value = (Value){.kind = pick->kind};
    if (pick->kind == VALUE_BLOCK)
        return (value->u.id = state_find_block(s, name)) != 0;
    if (pick->kind == VALUE_BUFFER)
        return (value->u.id = state_find_buffer(s, name)) != 0;
    Value block = {.kind = VALUE_BLOCK};
    block.u.id = state_find_block(s, ctx_name(c, pick->block));
    if (!block.u.id)
        return false;
    Value loops = all_loops(s, block);
    if (!*pick->name && pick->i < loops.u.list.n) {
        *value = loops.u.list.items[pick->i];
        return true;
    }
    for (int i = 0; i < loops.u.list.n; i++)
        if (state_handle(s, loops.u.list.items[i].u.id)->name == name) {
            *value = loops.u.list.items[i];
            return true;
        }
    return false;
}

/* ---- index maps ------------------------------------------------------------------------------ */

/* Their inputs are those of the call's first argument, so they are made when it is. */

static int map_inputs(Schedule *s, const Value *first)
{
    if (first->kind == VALUE_BUFFER)
        return sched_buffer(s, first->u.id)->rank;
    return first->kind == VALUE_BLOCK ? sched_node(s, first, NULL)->u.block.n_iters : 1;
}

typedef VEC(Expr *) Outputs;

static void insert_output(Context *c, Random *r, Outputs *out, Expr *e)
{
    VEC_PUSH(c->arena, out, e);
    int at = (int)random_below(r, (uint64_t)out->n);
    out->items[out->n - 1] = out->items[at];
    out->items[at] = e;
}

/* Inputs in any order; some are split, shifted, joined with the one before, or forgotten. */
static const IndexMap *draw_map(Context *c, int n, uint64_t seed)
{
    Random r = random_new(seed, 0);
    IndexMap *map = ARENA_NEW(c->arena, IndexMap);
    Var **from = ARENA_ARRAY(c->arena, Var *, n + 1);
    Outputs out = {0};
    for (int i = 0; i < n; i++) {
        from[i] = var_new(c, ctx_namef(c, "i%d", i), DT_INDEX, VAR_ITER, span_none());
        Expr *e = expr_var(c, from[i], span_none());
        Expr *number = expr_index(c, 2 + (int64_t)random_below(&r, 5));
        uint64_t how = random_below(&r, 12);
        if (how < 3)
            insert_output(c, &r, &out, index_mod(c, e, number));
        if (how == 4 && out.n > 0)
            out.items[0] = index_add(c, index_mul(c, out.items[0], number), e);
        else if (how < 4)
            insert_output(c, &r, &out, index_div(c, e, number));
        else if (how > 5)
            insert_output(c, &r, &out, how == 6 ? index_add(c, e, number) : e);
    }
    *map = (IndexMap){from, n, out.items, out.n};
    return map;
}

/* ---- conditions on sizes --------------------------------------------------------------------- */

/* Of a symbolic size, if there is one. */
static Value draw_condition(Context *c, const Kernel *kernel, uint64_t seed)
{
    Random r = random_new(seed, 0);
    VEC(Var *) sizes = {0};
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic)
            VEC_PUSH(c->arena, &sizes, kernel->sizes[i].var);
    if (sizes.n == 0)
        return (Value){.kind = VALUE_BOOL, .u.i = (int64_t)random_below(&r, 2)};
    Expr *size = expr_var(c, sizes.items[random_below(&r, (uint64_t)sizes.n)], span_none());
    Expr *number = expr_index(c, (int64_t)1 << (1 + random_below(&r, 4)));
    Value value = {.kind = VALUE_SIZES};
    value.u.sizes = random_below(&r, 2) ? expr_binary(c, EX_GE, size, number, span_none())
                                        : expr_binary(c, EX_EQ, index_mod(c, size, number),
                                                      expr_index(c, 0), span_none());
    return value;
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool resolve(Schedule *s, const Pick *pick, const Value *first, Value *value)
{
    *value = (Value){.kind = pick->kind};
    switch (pick->kind) {
    case VALUE_LOOP:
    case VALUE_BLOCK:
    case VALUE_BUFFER: return resolve_handle(s, pick, value);
    case VALUE_WORD:
    case VALUE_STRING: value->u.s = ctx_name(schedule_context(s), pick->name); return true;
    case VALUE_MAP:
        value->u.map = draw_map(schedule_context(s), map_inputs(s, first), (uint64_t)pick->i);
        return true;
    case VALUE_SIZES:
        *value = draw_condition(schedule_context(s), schedule_kernel(s), (uint64_t)pick->i);
        return true;
    default: value->u.i = pick->i; return true;
    }
}

bool draw_call(Schedule *s, const Step *step, Value *result, bool *refused)
{
    Value args[PRIM_MAX_PARAMS];
    Name names[PRIM_MAX_PARAMS] = {0};
    const PrimParam *params = step->primitive->params;
    int n = 0;
    *refused = false;
    for (int i = 0; i < step->n_args; i++) {
        const PickArg *arg = &step->args[i];
        if (!arg->list && arg->items[0].kind == VALUE_NONE) /* left out */
            continue;
        Value items[DRAW_ITEMS];
        for (int k = 0; k < arg->n; k++)
            if (!resolve(s, &arg->items[k], &args[0], &items[k]))
                return false;
        args[n] = arg->list ? value_list(s, items, arg->n) : items[0];
        if (n < i || (i > 0 && params[i - 1].variadic)) /* which takes all that have no name */
            names[n] = ctx_name(schedule_context(s), params[i].name);
        n++;
    }
    *refused = true;
    return schedule_call(s, step->primitive,
                         &(GivenArgs){.args = args, .names = names, .n = n, .span = span_none()},
                         result);
}
