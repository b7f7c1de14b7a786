/* scan_steps.c - Implements scan_steps: scans the sums of chunks in log2(n) steps over groups of n,
 * each of which all of a group can take at the same time.
 *
 *                              for p in 64  t0[p] = total[p];
 *                              for p in 64  t1[p] = (p % 8 >= 1 ? t0[p - 1] : 0) + t0[p];
 *                              for p in 64  t2[p] = (p % 8 >= 2 ? t1[p - 2] : 0) + t1[p];
 *   for p in 64 {              for p in 64  t3[p] = (p % 8 >= 4 ? t2[p - 4] : 0) + t2[p];
 *       before[p] = s;         for p in 64  inner[p] = p % 8 >= 1 ? t3[p - 1] : 0;
 *       s += total[p];     =>  for p in 64 where p % 8 == 7  sum[p / 8] = t3[p];
 *   }                          for g in 8 { start[g] = s; s += sum[g]; }
 *                              for p in 64  before[p] = start[p / 8] + inner[p];
 *
 * One group needs no scan of sums: it has the value from the first element on.
 *
 *                              for p in 8  t0[p] = p < 1 ? s + total[p] : total[p];
 *                              ...
 *                              for p in 8  before[p] = p >= 1 ? t3[p - 1] : s;
 *                              s = t3[7];
 *
 * After step k, t[p] is the sum of the 2^k elements of its group up to p (Hillis and Steele, 1986).
 * Where threads run p and t is in the memory of their warps, each step is a shuffle. The scan of
 * the groups' sums has the same form again.
 *
 * Legal: the loop is the scan of sums that scan_chunks makes. Where an iteration does not update
 * the value, it has the identity.
 * Invariant: each step combines sums of adjacent elements, the earlier one on the left. So it holds
 * for reducers that are declared ordered. */
#include "passes/analysis/regions/region.h"
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"
#include "passes/schedule/scans/sums.h"

enum { LANES = 32, MOST_LANES = 1024 };

/* Buffers, one for each component of the value. */
typedef Buffer *const *Components;

typedef struct {
    Sums of;
    int64_t lanes;        /* iterations of a group */
    Expr *n, *groups;     /* iterations; groups */
    Name group;           /* what counts them */
    Components inner;     /* what stands before an iteration in its group */
    Components total;     /* the sum of a group */
    Components before;    /* what stands before a group; NULL: there is one group */
    VEC(Components) made; /* all of them, and those of the steps */
} Steps;

/* ---- is it such a scan ----------------------------------------------------------------------- */

static bool choose_lanes(Steps *st, const Value *lanes)
{
    Schedule *s = st->of.s;
    Context *c = s->ctx;
    st->lanes = lanes->kind == VALUE_NONE ? LANES : lanes->u.i;
    REQUIRE(s, E0488, lanes->span, st->lanes >= 2 && st->lanes <= MOST_LANES,
            "a group has from 2 to %d chunks, not %lld", MOST_LANES, (long long)st->lanes);
    st->n = st->of.loop->u.loop.hi;
    st->group = sched_fresh_loop_name(s, &st->of.path, "group", 0);
    st->groups =
        simplify(facts_of_kernel(c, s->kernel), index_ceildiv(c, st->n, expr_index(c, st->lanes)));
    return true;
}

/* Chunks are numbered by the loop. */
static bool check_loop(const Steps *st)
{
    Schedule *s = st->of.s;
    const ForStmt *loop = &st->of.loop->u.loop;
    REQUIRE(s, E0488, st->of.span, loop_counts_from_zero(loop),
            "the values of loop '%s' are not 0, 1, 2, ...", stmt_label(st->of.loop));
    REQUIRE(
        s, E0488, st->of.span, expr_of_sizes(loop->hi),
        "the range of loop '%s' is not one of sizes alone, but each of its iterations has a sum",
        stmt_label(st->of.loop));
    return true;
}

/* One of the two blocks writes a buffer that the expression reads. */
static bool reads_written(const Steps *st, const Expr *e)
{
    Context *c = st->of.s->ctx;
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD &&
            (stmt_accesses(c, st->of.before, at.expr->u.load.buffer, ACCESS_WRITE) ||
             stmt_accesses(c, st->of.update, at.expr->u.load.buffer, ACCESS_WRITE)))
            return true;
    return false;
}

static bool any_reads_written(const Steps *st, Expr *const *e, int n)
{
    for (int i = 0; i < n; i++)
        if (reads_written(st, e[i]))
            return true;
    return false;
}

/* What decides which elements are accessed, and where, does not change in the loop. */
static bool is_fixed(const Steps *st)
{
    Context *c = st->of.s->ctx;
    ExprList where[2] = {block_runs_where(c, &st->of.before->u.block),
                         block_runs_where(c, &st->of.update->u.block)};
    bool changes = false;
    for (int i = 0; i < 2; i++)
        changes |= any_reads_written(st, where[i].items, where[i].n);
    for (int k = 0; k < st->of.n_parts; k++) {
        const SumsPart *part = &st->of.parts[k];
        changes |= reads_written(st, part->total) || sums_part_of(&st->of, part->before) >= 0 ||
                   any_reads_written(st, part->read->u.load.index, part->value->rank) ||
                   any_reads_written(st, part->store, part->before->rank);
    }
    return !changes;
}

static bool check_form(Steps *st)
{
    Schedule *s = st->of.s;
    REQUIRE(
        s, E0488, st->of.span, sums_read(&st->of) && is_fixed(st),
        "loop '%s' is not the scan of the sums of chunks, as in  before[p] = s; s += total[p];, "
        "with one value for each chunk",
        stmt_label(st->of.loop));
    return sums_require_free(&st->of) && sums_require_carried(&st->of, st->of.loop);
}

/* ---- values ---------------------------------------------------------------------------------- */

static Components new_buffers(Steps *st, const char *suffix, Expr *extent)
{
    Buffer **out = ARENA_ARRAY(st->of.s->ctx->arena, Buffer *, st->of.n_parts);
    for (int k = 0; k < st->of.n_parts; k++)
        out[k] = sums_buffer(
            &st->of, k, suffix,
            &(Buffer){.scope = st->of.parts[k].value->scope, .shape = &extent, .rank = 1});
    VEC_PUSH(st->of.s->ctx->arena, &st->made, out);
    return out;
}

/* Their elements at `at`. */
static Expr **load(const Steps *st, Components from, Expr *at)
{
    Expr **out = ARENA_ARRAY(st->of.s->ctx->arena, Expr *, st->of.n_parts);
    for (int k = 0; k < st->of.n_parts; k++)
        out[k] = expr_load(st->of.s->ctx, from[k], &at, st->of.span);
    return out;
}

static Expr **identities(const Steps *st)
{
    Expr **out = ARENA_ARRAY(st->of.s->ctx->arena, Expr *, st->of.n_parts);
    for (int k = 0; k < st->of.n_parts; k++)
        out[k] = sums_identity(&st->of, k);
    return out;
}

/* cond ? a : b, of all components. */
static Expr **choose(const Steps *st, Expr *cond, Expr *const *a, Expr *const *b)
{
    Expr **out = ARENA_ARRAY(st->of.s->ctx->arena, Expr *, st->of.n_parts);
    for (int k = 0; k < st->of.n_parts; k++)
        out[k] = expr_select(st->of.s->ctx, cond, a[k], b[k], st->of.span);
    return out;
}

/* There is one group, so its number and the lane need no division. */
static bool is_single(const Steps *st)
{
    return expr_is(st->groups, 1);
}

/* What stands `far` in front of `at` in its group; `otherwise` where nothing does. */
static Expr **load_in_front(const Steps *st, Components from, Expr *at, int64_t far,
                            Expr *const *otherwise)
{
    Context *c = st->of.s->ctx;
    Expr *d = expr_index(c, far);
    Expr *lane = is_single(st) ? at : index_mod(c, at, expr_index(c, st->lanes));
    return choose(st, expr_binary(c, EX_GE, lane, d, st->of.span),
                  load(st, from, index_sub(c, at, d)), otherwise);
}

/* The conditions of a block in terms of loops, but for those that hold anyway; NULL: none. */
static Expr *runs_where(const Steps *st, const Stmt *block)
{
    Context *c = st->of.s->ctx;
    ExprList conds = block_runs_where(c, &block->u.block), kept = {0};
    Facts *facts = sched_facts(st->of.s, &st->of.path);
    facts_enter(facts, st->of.loop);
    for (int i = 0; i < conds.n; i++)
        if (!prove(facts, conds.items[i]))
            VEC_PUSH(c->arena, &kept, conds.items[i]);
    return cond_join(c, &kept);
}

/* total[p] */
static Expr **load_totals(const Steps *st, const SumsIters *iters)
{
    Expr **out = sums_totals(&st->of, iters);
    Expr *cond = runs_where(st, st->of.update);
    return cond ? choose(st, sums_inside(&st->of, iters, cond), out, identities(st)) : out;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Iterators of the loops around and of the new loop. */
static SumsIters iters_in(const Steps *st, const ForStmt *loop)
{
    int n = st->of.loops.n;
    Var **at = ARENA_ARRAY(st->of.s->ctx->arena, Var *, n);
    for (int i = 0; i + 1 < n; i++)
        at[i] = st->of.loops.items[i]->u.loop.var;
    at[n - 1] = loop->var;
    return sums_iters(&st->of, n, at);
}

/* The iterator of the loop that counts chunks. */
static Expr *last_of(const SumsIters *iters)
{
    return iters->of_loops[iters->n_loops - 1].value;
}

/* to[at] = values, of all components. */
static Stmt *store(const Steps *st, Components to, Expr *at, Expr *const *values)
{
    Context *c = st->of.s->ctx;
    Expr **index = ARENA_ARRAY(c->arena, Expr *, 1);
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, st->of.n_parts);
    index[0] = at;
    for (int k = 0; k < st->of.n_parts; k++)
        items[k] = stmt_set(c, (BufferElement){to[k], index}, values[k], st->of.span);
    return stmt_seq(c, items, st->of.n_parts, st->of.span);
}

/* A loop over the chunks, to be filled in, and iterators in it. */
static ForStmt over_chunks(const Steps *st, SumsIters *iters)
{
    ForStmt loop = loop_alike(st->of.s->ctx, st->of.loop);
    *iters = iters_in(st, &loop);
    return loop;
}

static Stmt *loop_around(const Steps *st, ForStmt loop, Stmt *body)
{
    loop.body = body;
    return stmt_for(st->of.s->ctx, &loop, st->of.span);
}

/* for p in n  to[p] = values; */
static Stmt *step_loop(const Steps *st, ForStmt loop, const SumsIters *iters, Components to,
                       Expr *const *values)
{
    BlockStmt of = {.body = store(st, to, last_of(iters), values)};
    return loop_around(st, loop, sums_block(&st->of, iters, to[0]->name, of));
}

/* The sums; of one group the first one with the value. */
static Stmt *first_step(const Steps *st, Components to)
{
    Context *c = st->of.s->ctx;
    SumsIters iters;
    ForStmt loop = over_chunks(st, &iters);
    Expr **values = load_totals(st, &iters);
    if (is_single(st)) {
        Expr **with = sums_combined(&st->of, sums_values(&st->of, &iters), values);
        Expr *first = expr_binary(c, EX_LT, last_of(&iters), expr_index(c, 1), st->of.span);
        values = choose(st, first, with, values);
    }
    return step_loop(st, loop, &iters, to, values);
}

/* Each sum with what stands `far` in front. */
static Stmt *next_step(const Steps *st, Components to, Components last, int64_t far)
{
    SumsIters iters;
    ForStmt loop = over_chunks(st, &iters);
    Expr *p = last_of(&iters);
    Expr **front = load_in_front(st, last, p, far, identities(st));
    return step_loop(st, loop, &iters, to, sums_combined(&st->of, front, load(st, last, p)));
}

/* What stands in front of each in its group. */
static Stmt *inner_step(const Steps *st, Components last)
{
    SumsIters iters;
    ForStmt loop = over_chunks(st, &iters);
    Expr **front = load_in_front(st, last, last_of(&iters), 1, identities(st));
    return step_loop(st, loop, &iters, st->inner, front);
}

/* The iteration is the last one of its group. */
static Expr *is_last(const Steps *st, Expr *p)
{
    Context *c = st->of.s->ctx;
    Expr *lanes = expr_index(c, st->lanes), *one = expr_index(c, 1);
    Expr *last =
        expr_binary(c, EX_EQ, index_mod(c, p, lanes), index_sub(c, lanes, one), st->of.span);
    if (prove_divisible(facts_of_kernel(c, st->of.s->kernel), st->n, st->lanes))
        return last;
    Expr *end = expr_binary(c, EX_EQ, p, index_sub(c, st->n, one), st->of.span);
    return expr_binary(c, EX_OR, last, end, st->of.span);
}

/* for p in n  where it is the last one of its group: total[p / lanes] = last[p]; */
static Stmt *total_loop(const Steps *st, Components last)
{
    Context *c = st->of.s->ctx;
    SumsIters iters;
    ForStmt loop = over_chunks(st, &iters);
    Expr *p = expr_var(c, loop.var, st->of.span);
    BlockIter group = {.var = var_new(c, st->group, DT_INDEX, VAR_ITER, st->of.span),
                       .lo = expr_index(c, 0),
                       .hi = st->groups,
                       .binding = index_div(c, p, expr_index(c, st->lanes)),
                       .kind = ITER_SPATIAL};
    iters.iters[iters.n++] = group;
    BlockStmt of = {.predicate = is_last(st, p),
                    .body = store(st, st->total, expr_var(c, group.var, st->of.span),
                                  load(st, last, last_of(&iters)))};
    return loop_around(st, loop, sums_block(&st->of, &iters, st->total[0]->name, of));
}

/* The elements of the value. */
static BufferElement *value_elements(const Steps *st, const SumsIters *iters)
{
    BufferElement *out = ARENA_ARRAY(st->of.s->ctx->arena, BufferElement, st->of.n_parts);
    Expr **read = sums_values(&st->of, iters);
    for (int k = 0; k < st->of.n_parts; k++)
        out[k] = (BufferElement){st->of.parts[k].value, read[k]->u.load.index};
    return out;
}

/* The block of the update with another body. */
static Stmt *update_with(const Steps *st, const SumsIters *iters, Stmt *body)
{
    BlockStmt of = st->of.update->u.block;
    of.iters = iters->iters;
    of.n_iters = iters->n;
    of.predicate = NULL;
    of.body = body;
    return stmt_block(st->of.s->ctx, &of, st->of.update->span);
}

/* value op= total[g]; loops that the value's element does not name carry it. */
static Stmt *add_total(const Steps *st, SumsIters *iters)
{
    for (int i = 0; i < iters->n; i++)
        iters->iters[i].kind = ITER_REDUCE;
    for (int k = 0; k < st->of.n_parts; k++)
        for (int i = 0; i < iters->n; i++)
            if (expr_uses_var(st->of.parts[k].read, st->of.loops.items[i]->u.loop.var))
                iters->iters[i].kind = ITER_SPATIAL;
    return update_with(
        st, iters,
        sums_combine_into(&st->of, value_elements(st, iters), load(st, st->total, last_of(iters))));
}

/* value = last[n - 1]; */
static Stmt *set_value(const Steps *st, Components last)
{
    Context *c = st->of.s->ctx;
    SumsIters iters = iters_in(st, &st->of.loop->u.loop);
    iters.n--;
    BufferElement *to = value_elements(st, &iters);
    Expr **values = load(st, last, index_sub(c, st->n, expr_index(c, 1)));
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, st->of.n_parts);
    for (int k = 0; k < st->of.n_parts; k++)
        items[k] = stmt_set(c, to[k], values[k], st->of.span);
    return update_with(st, &iters, stmt_seq(c, items, st->of.n_parts, st->of.span));
}

/* for g in groups { before[g] = s; s op= total[g]; } */
static Stmt *sums_loop(const Steps *st)
{
    Context *c = st->of.s->ctx;
    ForStmt loop = flow_loop(st->of.s, st->group, expr_index(c, 0), st->groups);
    SumsIters iters = iters_in(st, &loop), others = iters_in(st, &loop);
    iters.iters[iters.n - 1].hi = others.iters[others.n - 1].hi = st->groups;
    BlockStmt of = {.body = store(st, st->before, last_of(&iters), sums_values(&st->of, &iters))};
    Stmt *pair[2] = {sums_block(&st->of, &iters, st->before[0]->name, of), add_total(st, &others)};
    return loop_around(st, loop, stmt_seq(c, pair, 2, st->of.span));
}

/* What stands before chunk `p`: before its group and in it; or in the only one. */
static Expr **together(const Steps *st, const SumsIters *iters, Components last)
{
    Context *c = st->of.s->ctx;
    Expr *p = last_of(iters), *group = index_div(c, p, expr_index(c, st->lanes));
    if (is_single(st))
        return load_in_front(st, last, p, 1, sums_values(&st->of, iters));
    return sums_combined(&st->of, load(st, st->before, group), load(st, st->inner, p));
}

/* The loop as it was, which stores that. */
static Stmt *together_loop(const Steps *st, Components last)
{
    Context *c = st->of.s->ctx;
    SumsIters iters = iters_in(st, &st->of.loop->u.loop);
    Stmt *block =
        sums_before(&st->of, &iters, together(st, &iters, last), runs_where(st, st->of.before));
    return loop_with_body(c, st->of.loop, block);
}

/* ---- together -------------------------------------------------------------------------------- */

/* The steps; the buffers of the last one. */
static Components add_steps(Steps *st, StmtList *loops)
{
    Context *c = st->of.s->ctx;
    Components last = NULL;
    int n = 0;
    for (int64_t far = 0; far < st->lanes; far = far == 0 ? 1 : 2 * far) {
        Components to = new_buffers(st, ctx_namef(c, "step_%d", n++), st->n);
        VEC_PUSH(c->arena, loops, far ? next_step(st, to, last, far) : first_step(st, to));
        last = to;
    }
    return last;
}

/* The loops that scan the sums of several groups. */
static void add_groups(Steps *st, Components last, StmtList *loops)
{
    Context *c = st->of.s->ctx;
    st->inner = new_buffers(st, "inner", st->n);
    st->total = new_buffers(st, "total", st->groups);
    st->before = new_buffers(st, "before", st->groups);
    VEC_PUSH(c->arena, loops, inner_step(st, last));
    VEC_PUSH(c->arena, loops, total_loop(st, last));
    VEC_PUSH(c->arena, loops, sums_loop(st));
}

/* All of it. */
static Stmt *new_loops(Steps *st)
{
    Context *c = st->of.s->ctx;
    StmtList loops = {0};
    Components last = add_steps(st, &loops);
    if (!is_single(st))
        add_groups(st, last, &loops);
    VEC_PUSH(c->arena, &loops, together_loop(st, last));
    if (is_single(st))
        VEC_PUSH(c->arena, &loops, set_value(st, last));
    return stmt_seq(c, loops.items, loops.n, st->of.span);
}

/* The body with the new buffers beside those of the value. */
static Stmt *declare(const Steps *st, Stmt *body)
{
    for (int i = st->made.n - 1; i >= 0; i--)
        for (int k = st->of.n_parts - 1; k >= 0; k--)
            body = flow_declare_beside(st->of.s, body, st->of.parts[k].value, st->made.items[i][k]);
    return body;
}

bool prim_scan_steps(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Steps st = {.of = {.s = s, .span = call->scan_steps.before.span, .code = E0488}};
    if (!sums_find(&st.of, &call->scan_steps.before) || !check_loop(&st) || !check_form(&st) ||
        !choose_lanes(&st, &call->scan_steps.lanes))
        return false;

    Stmt *loops = new_loops(&st);
    StmtList blocks = stmts_of_kind(c, loops, ST_BLOCK);
    Stmt *body = declare(&st, stmt_replace(c, s->kernel->body, st.of.loop, loops));
    if (!flow_recheck_kinds(s, body, st.of.loop->u.loop.id, call->span))
        return false;
    s->reassociates = sums_round(&st.of);
    sched_replace_body(s, body);
    *result = value_blocks(s, blocks);
    return true;
}
