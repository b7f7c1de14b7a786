/* split.c - Implements split: replaces a loop by a nest that runs the same iterations in the same
 * order.
 *
 *   split(i, [4, _])    for i in E            =>   for i_0 in 4, i_1 in ceil(E / 4)
 *                           S(i)                       S(i_0 * ceil(E / 4) + i_1)
 *   split(i, [_, 4], tail = peel)             =>   for i_0 in E / 4, i_1 in 4
 *                                                      S(i_0 * 4 + i_1)
 *                                                  for i_rest in E / 4 * 4..E
 *                                                      S_1(i_rest)
 *   split(i, [_, 4], tail = pad)              =>   for i_0 in ceil(E / 4), i_1 in 4
 *                                                      S(i_0 * 4 + i_1), which exists beyond E, too
 *
 * Legal: the loop is serial, at most one factor is left open, and the factors cover it.
 * Invariant: every instance of a block runs exactly once, and in the order in which it ran
 * before. */
#include <string.h>

#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"
#include "passes/schedule/loops/partition.h"
#include "passes/schedule/loops/tail.h"

typedef struct {
    const Value *factors;
    int n;
    int fill;        /* the factor that is computed, or -1 */
    int64_t product; /* of the others */
    Expr *extent;    /* of the loop */
    bool exact;      /* all factors together are the extent */
} Split;

/* "[4, _]" */
static const char *factors_text(Schedule *s, const Split *split)
{
    StrBuf text = strbuf_new(s->ctx->arena);
    for (int i = 0; i < split->n; i++) {
        strbuf_add(&text, i ? ", " : "[");
        if (split->factors[i].kind == VALUE_FILL)
            strbuf_addc(&text, '_');
        else
            strbuf_addf(&text, "%lld", (long long)split->factors[i].u.i);
    }
    strbuf_addc(&text, ']');
    return text.text;
}

static bool read_factors(Schedule *s, const PrimCall *call, Split *split)
{
    split->factors = call->split.factors.u.list.items;
    split->n = call->split.factors.u.list.n;
    split->fill = -1;
    split->product = 1;
    for (int i = 0; i < split->n; i++) {
        if (split->factors[i].kind == VALUE_FILL) {
            REQUIRE(s, E0412, call->span, split->fill < 0,
                    "factors %s have several _, but tirc can compute only one; give the others",
                    factors_text(s, split));
            split->fill = i;
            continue;
        }
        bool fits = checked_mul(split->product, split->factors[i].u.i, &split->product);
        REQUIRE(s, E0415, call->span, fits && split->product <= INT32_MAX,
                "the product of factors %s exceeds 2147483647", factors_text(s, split));
    }
    return true;
}

/* The factor that _ stands for multiplies the loops before it; where it changes with a loop, the
 * product is no affine value of loops, which bounds and subscripts must be. */
static bool require_steady_fill(Schedule *s, const PrimCall *call, const Split *split, Name name)
{
    const Var *var = split->fill > 0 ? expr_loop_var(s->ctx, split->extent) : NULL;
    REQUIRE(s, E0414, call->span, !var,
            "the extent of loop '%s' is %s and depends on loop '%s', so the _ factor would, too; "
            "write _ as the first factor",
            name, expr_text(s->ctx, split->extent), var->name);
    return true;
}

/* The factors cover the extent; whether exactly. */
static bool check_cover(Schedule *s, const PrimCall *call, const StmtPath *path, Split *split)
{
    const Stmt *loop = path_end(path);
    Name name = loop->u.loop.var->name;
    int64_t extent;
    bool known = expr_is_const(split->extent, &extent);
    if (split->fill >= 0) {
        split->exact = prove_divisible(sched_facts(s, path), split->extent, split->product);
        REQUIRE(s, E0415, call->span, !known || extent <= INT64_MAX - split->product,
                "loop '%s' has %lld iterations, too many to split", name, (long long)extent);
        return require_steady_fill(s, call, split, name);
    }
    REQUIRE_AT(s, E0413, call->span, !known || split->product >= extent, loop,
               "factors %s cover %lld iterations, but loop '%s' has %lld; write _ for one "
               "factor to let tirc compute it",
               factors_text(s, split), (long long)split->product, name, (long long)extent);
    Expr *enough =
        expr_binary(s->ctx, EX_LE, split->extent, expr_index(s->ctx, split->product), span_none());
    REQUIRE(s, E0414, call->span, known || prove(sched_facts(s, path), enough),
            "loop '%s' has %s iterations, and factors %s may not cover them; write _ for one "
            "factor to let tirc compute it",
            name, expr_text(s->ctx, split->extent), factors_text(s, split));
    split->exact = known && extent == split->product;
    return true;
}

static Expr *split_extent(Context *c, Facts *facts, const Split *split, int i)
{
    int64_t extent;
    if (i != split->fill)
        return expr_index(c, split->factors[i].u.i);
    if (expr_is_const(split->extent, &extent) && extent <= 0)
        return expr_index(c, 0);
    return simplify(facts, index_ceildiv(c, split->extent, expr_index(c, split->product)));
}

/* The new nest. Its loops run over 0 .. product, and the old variable is lo + step * (their
 * number). */
static Stmt *build_split(Schedule *s, const StmtPath *path, const Split *split)
{
    Context *c = s->ctx;
    Stmt *stmt = path_end(path);
    const ForStmt *old = &stmt->u.loop;
    Facts *facts = sched_facts(s, path);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, split->n);
    Expr *count = expr_index(c, 0);
    for (int i = 0; i < split->n; i++) {
        /* i_0, i_1, ... : the number keeps them different from each other */
        const char *base = ctx_namef(c, "%.24s_%d", old->var->name, i);
        Name name = sched_fresh_loop_name(s, path, base, 0);
        loops[i] = flow_loop(s, name, expr_index(c, 0), split_extent(c, facts, split, i));
        facts_range(facts, loops[i].var, loops[i].lo, loops[i].hi);
        count =
            index_add(c, index_mul(c, count, loops[i].hi), expr_var(c, loops[i].var, span_none()));
    }
    Expr *stride = expr_index(c, old->step);
    Subst subst = {old->var, index_add(c, old->lo, index_mul(c, stride, count))};
    Below below = {.s = s, .facts = facts, .map = &subst, .n_map = 1};
    if (!split->exact) {
        below.guard = expr_binary(c, EX_LT, count, split->extent, stmt->span);
        below.end = index_add(c, old->lo, index_mul(c, stride, split->extent));
        below.direction = old->step > 0 ? 1 : -1;
    }
    return stmt_in_loops(c, loops, split->n, below_rewrite(&below, old->body), stmt->span);
}

/* The nest's loops from `top` down. */
static Value nest_value(Schedule *s, const Stmt *top, int n)
{
    Value *loops = ARENA_ARRAY(s->ctx->arena, Value, n);
    for (int i = 0; i < n; i++, top = top->u.loop.body)
        loops[i] = value_loop(top);
    return value_list(s, loops, n);
}

typedef enum { TAIL_GUARD, TAIL_PEEL, TAIL_PAD, TAIL_COUNT } TailKind;

/* What is asked of the iterations that do not fill the last tile. */
static bool read_tail(Schedule *s, const PrimCall *call, TailKind *kind)
{
    static const char *const names[] = {"guard", "peel", "pad"};
    const Value *tail = &call->split.tail;
    *kind = TAIL_GUARD;
    if (tail->kind == VALUE_NONE)
        return true;
    while (*kind < TAIL_COUNT && strcmp(tail->u.s, names[*kind]) != 0)
        ++*kind;
    REQUIRE_WORD(
        s, E0491, call->span, *kind < TAIL_COUNT,
        "unknown tail mode '%s'; tail = guard guards the iterations of a partial last tile, tail = "
        "peel gives them a loop of their own, and tail = pad runs them if they have no effect",
        tail->u.s);
    return true;
}

/* All tiles full, on elements of temps behind the end (tail.h). */
static bool split_padded(Schedule *s, const PrimCall *call, const StmtPath *path,
                         const Split *split, Value *result)
{
    Context *c = s->ctx;
    Stmt *old = path_end(path);
    Facts *facts = sched_facts(s, path);
    Expr *product = expr_index(c, split->product), *end = product;
    if (split->fill >= 0)
        end = simplify(facts, index_mul(c, index_ceildiv(c, split->extent, product), product));
    TailBuffers grown = {0};
    Stmt *padded = tail_padded(s, old, end, call->span, &grown);
    if (!padded)
        return false;
    StmtPath to = {0};
    for (int i = 0; i < path->n; i++)
        VEC_PUSH(c->arena, &to, i + 1 < path->n ? path->items[i] : padded);
    Split exact = *split;
    exact.exact = true;
    exact.extent = end;
    Stmt *nest = build_split(s, &to, &exact);
    const Stmt *moved = flow_moved_init(s, old, nest);
    REQUIRE(s, E0811, call->span, !moved,
            "the init of block '%s' would move out of a loop that runs for some elements only, and "
            "set the others, too; use tail = guard or peel",
            moved->u.block.name);
    *result = nest_value(s, nest, split->n);
    sched_replace_body(s, tail_grow(s, stmt_replace(c, s->kernel->body, old, nest), &grown, end));
    return true;
}

/* The full tiles as a nest without guards, and what is left as a loop behind them. */
static bool split_peeled(Schedule *s, const PrimCall *call, const StmtPath *path,
                         const Split *split, Value *result)
{
    Context *c = s->ctx;
    Stmt *old = path_end(path);
    REQUIRE(
        s, E0490, call->span, split->fill >= 0,
        "factors %s leave no remainder of loop '%s' to peel; write _ for the number of full tiles",
        factors_text(s, split), stmt_label(old));
    Partition p = partition_new(s, path);
    if (!partition_require_inits(s, path, old->u.loop.body, call->span))
        return false;
    ForStmt full = p.path.items[path->n - 1]->u.loop;
    Expr *product = expr_index(c, split->product);
    Expr *tiles = index_div(c, index_at_least(p.facts, split->extent, 0), product);
    Expr *end = simplify(p.facts, index_add(c, full.lo, index_mul(c, tiles, product)));
    const char *name = arena_printf(c->arena, "%.24s_rest", full.var->name);
    Stmt *rest = partition_part(&p, name, end, full.hi, PART_COPIES_BODY);
    full.hi = end;
    Split exact = *split;
    exact.exact = true;
    exact.extent = simplify(p.facts, index_mul(c, tiles, product));
    p.path.items[path->n - 1] = stmt_for(c, &full, old->span);
    Stmt *pair[2] = {build_split(s, &p.path, &exact), rest};
    sched_replace(s, old, stmt_seq(c, pair, 2, old->span));
    Value *loops = ARENA_ARRAY(c->arena, Value, split->n + 1);
    Value nest = nest_value(s, pair[0], split->n);
    for (int i = 0; i < split->n; i++)
        loops[i] = nest.u.list.items[i];
    loops[split->n] = value_loop(rest);
    *result = value_list(s, loops, split->n + 1);
    return true;
}

/* What the guard of a tail keeps from running: threads, where the loops are bound to them. */
static void remark_idle(Schedule *s, const Split *split)
{
    int64_t extent, all = split->product;
    if (!expr_is_const(split->extent, &extent)) {
        s->remark = arena_printf(s->ctx->arena, "a guard leaves up to %lld iterations idle",
                                 (long long)all - 1);
        return;
    }
    if (split->fill >= 0)
        all *= (extent + all - 1) / all;
    double percent = all > 0 ? 100.0 * (double)(all - extent) / (double)all : 0.0;
    s->remark =
        arena_printf(s->ctx->arena, "a guard leaves %lld of %lld iterations idle (%.*g%%)",
                     (long long)(all - extent), (long long)all, percent < 99.5 ? 2 : 3, percent);
}

bool prim_split(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->split.loop, &path);
    Split split = {.extent = sched_extent(s, &path)};
    TailKind tail;
    if (!sched_require_plain(s, loop, call->span) || !read_tail(s, call, &tail) ||
        !read_factors(s, call, &split) || !check_cover(s, call, &path, &split) ||
        !loop_require_depth(s, &path, split.n - 1, call->span))
        return false;
    if (tail == TAIL_PEEL && !split.exact)
        return split_peeled(s, call, &path, &split, result);
    if (tail == TAIL_PAD && !split.exact)
        return split_padded(s, call, &path, &split, result);
    Stmt *nest = build_split(s, &path, &split);
    if (!flow_require_inits(s, loop, nest, call->span))
        return false;
    sched_replace(s, loop, nest);
    if (!split.exact)
        remark_idle(s, &split);
    *result = nest_value(s, nest, split.n);
    return true;
}
