/* fuse.c - Implements fuse and fusable: replaces a nest by one loop, and finds the loops that can
 * be fused.
 *
 *   fuse(i, j)          for i in E0, j in E1  =>   for f in E0 * E1
 *                           S(i, j)                    S(f / E1, f % E1)
 *
 * Legal: each loop stands directly in the one before, is serial, and its range is free of the
 * others.
 * Invariant: every instance of a block runs exactly once, and in the order in which it ran
 * before. */
#include <string.h>

#include "passes/schedule/enter.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"

static bool refuse_nest(Schedule *s, const PrimCall *call, const Stmt *outer, const Stmt *inner)
{
    sched_refuse(s, E0416, call->span,
                 "loop '%s' is not the only statement directly inside loop '%s'", stmt_label(inner),
                 stmt_label(outer));
    sched_note_now(s, outer);
    sched_note_now(s, inner);
    return false;
}

/* Loop i of the nest stands directly in loop i - 1, is serial, and its range is free of the ones
 * outside. */
static bool check_nest(Schedule *s, const PrimCall *call, Stmt **nest, int n)
{
    for (int i = 0; i < n; i++) {
        if (!sched_require_plain(s, nest[i], call->span))
            return false;
        if (i > 0 && nest[i - 1]->u.loop.body != nest[i])
            return refuse_nest(s, call, nest[i - 1], nest[i]);
        for (int outer = 0; outer < i; outer++)
            REQUIRE(s, E0417, call->span, !loop_uses_var(&nest[i]->u.loop, nest[outer]->u.loop.var),
                    "the range of loop '%s' depends on loop '%s', so the nest is not rectangular "
                    "and cannot be fused",
                    stmt_label(nest[i]), stmt_label(nest[outer]));
    }
    return true;
}

/* Two extents that change with loops have a product that is not affine, which no bound may be. */
static bool check_affine_product(Schedule *s, const PrimCall *call, Stmt **nest, int n)
{
    const Stmt *first = NULL;
    for (int i = 0; i < n; i++) {
        if (!expr_loop_var(s->ctx, nest[i]->u.loop.lo) &&
            !expr_loop_var(s->ctx, nest[i]->u.loop.hi))
            continue;
        REQUIRE(s, E0417, call->span, !first,
                "the ranges of loops '%s' and '%s' both depend on outer loops, so the product of "
                "their extents is not an affine loop bound",
                stmt_label(first), stmt_label(nest[i]));
        first = nest[i];
    }
    return true;
}

static bool check_product(Schedule *s, const PrimCall *call, Stmt **nest, int n)
{
    int64_t product = 1, extent;
    for (int i = 0; i < n; i++)
        if (loop_const_extent(&nest[i]->u.loop, &extent) && extent > 0)
            REQUIRE(s, E0415, call->span, checked_mul(product, extent, &product),
                    "the loops together have more than 2^63 iterations, too many for one loop");
    return true;
}

/* i_j_fused, while it can be read. */
static Name fused_name(Schedule *s, const StmtPath *path, Stmt **nest, int n)
{
    StrBuf text = strbuf_new(s->ctx->arena);
    for (int i = 0; i < n; i++)
        strbuf_addf(&text, "%s_", stmt_label(nest[i]));
    strbuf_add(&text, "fused");
    return sched_fresh_loop_name(s, path, text.length <= 24 ? text.text : "fused", 0);
}

/* A loop that the divisor of a quotient or remainder in `e` changes with; NULL if there is none. */
static const Var *changing_divisor(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_DIV || at.expr->kind == EX_MOD) {
            const Var *var = expr_loop_var(c, at.expr->u.arg[1]);
            if (var)
                return var;
        }
    return NULL;
}

/* Where the part of an extent that changes with loops may be 0, iterations that a later split adds
 * would divide by it. If data decide it, the loops count that were entered, too; other products
 * with the sizes of those are no bounds (enter_allows_step). */
static bool require_divisors(Schedule *s, const PrimCall *call, Stmt **nest, const Subst *map,
                             int n)
{
    for (int i = 0; i < n; i++) {
        Expr *value = map[i].value;
        const Var *var =
            changing_divisor(s->ctx, expr_has_load(value) ? enter_in_loops(s, value) : value);
        REQUIRE(s, E0417, call->span, !var,
                "loop '%s' would need quotients by a range that depends on loop '%s' and may be "
                "empty; make the range independent first, with widen",
                stmt_label(nest[i]), var->name);
    }
    return true;
}

static bool is_empty(const Expr *extent)
{
    int64_t n;
    return expr_is_const(extent, &n) && n < 1;
}

/* A reduction over a loop without iterations still has its init for each element, and a fused loop
 * without iterations has none to tell the elements by. */
static bool require_init_kept(Schedule *s, const PrimCall *call, Stmt **nest, Expr *const *extents,
                              int n)
{
    const Stmt *init = block_with_init(s->ctx, nest[n - 1]->u.loop.body), *empty = NULL,
               *other = NULL;
    for (int i = 0; i < n; i++) {
        if (is_empty(extents[i]) && !empty)
            empty = nest[i];
        else if (!expr_is(extents[i], 1))
            other = nest[i];
    }
    REQUIRE(s, E0417, call->span, !init || !empty || !other,
            "loop '%s' is empty, and block '%s' has an init for each iteration of loop '%s', which "
            "the fused loop would skip; use decompose_reduction first",
            stmt_label(empty), init->u.block.name, stmt_label(other));
    return true;
}

/* NULL after a refusal. */
static Stmt *build_fuse(Schedule *s, const PrimCall *call, const StmtPath *path, Stmt **nest, int n)
{
    Context *c = s->ctx;
    Facts *facts = sched_facts(s, path);
    Expr **extents = ARENA_ARRAY(c->arena, Expr *, n);
    Expr *total = expr_index(c, 1);
    for (int i = 0; i < n; i++) {
        extents[i] = simplify(facts, loop_extent(c, &nest[i]->u.loop));
        total = index_mul(c, total, index_at_least(facts, extents[i], 0)); /* (-1) * (-1) is 1 */
    }
    ForStmt fused =
        flow_loop(s, fused_name(s, path, nest, n), expr_index(c, 0), simplify(facts, total));
    facts_range(facts, fused.var, fused.lo, fused.hi);
    for (int i = 0; i < n; i++) /* the fused loop runs, so none of its parts is empty */
        if (extents[i]->kind != EX_INT)
            facts_assume(facts, expr_binary(c, EX_GT, extents[i], expr_index(c, 0), span_none()));
    Subst *map = ARENA_ARRAY(c->arena, Subst, n);
    Expr *rest = expr_var(c, fused.var, span_none());
    if (!require_init_kept(s, call, nest, extents, n))
        return NULL;
    bool single = true; /* then the fused loop keeps the place of the innermost one */
    for (int i = 0; i < n; i++)
        single = single && expr_is(extents[i], 1);
    for (int i = n - 1; i >= 0; i--) {
        const ForStmt *loop = &nest[i]->u.loop;
        /* the fused loop is this one then, and the others count nothing */
        bool empty = is_empty(extents[i]);
        Expr *count = i == 0 || empty ? rest : index_mod(c, rest, extents[i]);
        count = index_mul(c, expr_index(c, loop->step), count);
        map[i] = (Subst){loop->var, simplify(facts, index_add(c, loop->lo, count))};
        if (single && i == n - 1)
            map[i].value = index_add(c, loop->lo, expr_var(c, fused.var, span_none()));
        rest = empty ? expr_index(c, 0) : index_div(c, rest, extents[i]);
    }
    if (!require_divisors(s, call, nest, map, n))
        return NULL;
    Below below = {.s = s, .facts = facts, .map = map, .n_map = n};
    fused.body = below_rewrite(&below, nest[n - 1]->u.loop.body);
    return stmt_for(c, &fused, nest[0]->span);
}

/* Loops, of which `first` is the outermost, as one: `fused`, or NULL where there is only one
 * anyway. */
typedef struct {
    Stmt *first, *fused;
} Fused;

/* False after a refusal. */
static bool fuse_loops(Schedule *s, const PrimCall *call, const Value *loops, int n, Fused *out)
{
    Stmt **nest = ARENA_ARRAY(s->ctx->arena, Stmt *, n);
    StmtPath path = {0};
    for (int i = n - 1; i >= 0; i--)
        nest[i] = sched_node(s, &loops[i], &path);
    if (!loop_require_distinct(s, call, loops, n) || !check_nest(s, call, nest, n) ||
        !check_affine_product(s, call, nest, n) || !check_product(s, call, nest, n))
        return false;
    out->first = nest[0];
    out->fused = n > 1 ? build_fuse(s, call, &path, nest, n) : NULL;
    return n == 1 || (out->fused && flow_require_inits(s, nest[0], out->fused, call->span));
}

bool prim_fuse(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loops = call->fuse.loops.u.list.items;
    Fused nest;
    if (!fuse_loops(s, call, loops, call->fuse.loops.u.list.n, &nest))
        return false;
    *result = loops[0];
    if (!nest.fused)
        return true;
    sched_replace(s, nest.first, nest.fused);
    *result = value_loop(nest.fused);
    return true;
}

/* How many of the loops, from the first one on, fuse takes; at least 1. */
static int count_fusable(Schedule *s, const PrimCall *call, const Value *loops, int n)
{
    DiagMark mark = diag_mark(s->ctx);
    Fused nest;
    int taken = 1;
    while (taken < n && fuse_loops(s, call, loops, taken + 1, &nest))
        taken++;
    diag_forget(s->ctx, mark);
    return taken;
}

bool prim_fusable(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loops = call->fusable.loops.u.list.items;
    int n = call->fusable.loops.u.list.n;
    VEC(Value) parts = {0};
    for (int i = 0, taken; i < n; i += taken) {
        taken = count_fusable(s, call, &loops[i], n - i);
        Value *part = ARENA_ARRAY(s->ctx->arena, Value, taken);
        memcpy(part, &loops[i], sizeof *part * (size_t)taken);
        VEC_PUSH(s->ctx->arena, &parts, value_list(s, part, taken));
    }
    *result = value_list(s, parts.items, parts.n);
    return true;
}
