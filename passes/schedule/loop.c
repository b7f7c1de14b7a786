/* loop.c - primitives that reshape nests of loops: split, fuse, reorder, add_unit_loop.
 *
 *   split(i, [4, _])    for i in E            =>   for i_0 in 4, i_1 in ceil(E / 4)
 *                           S(i)                       S(i_0 * ceil(E / 4) + i_1)
 *   split(i, [_, 4], tail = peel)             =>   for i_0 in E / 4, i_1 in 4
 *                                                      S(i_0 * 4 + i_1)
 *                                                  for i_rest in E / 4 * 4..E
 *                                                      S_1(i_rest)
 *   split(i, [_, 4], tail = pad)              =>   for i_0 in ceil(E / 4), i_1 in 4
 *                                                      S(i_0 * 4 + i_1), which exists beyond E, too
 *   fuse(i, j)          for i in E0, j in E1  =>   for f in E0 * E1
 *                           S(i, j)                    S(f / E1, f % E1)
 *   reorder(j, i)       for i in E0, j in E1  =>   for j in E1, i in E0
 *
 * Invariant: every instance of a block runs exactly once, and instances that depend on each other keep
 * their order; split, fuse and add_unit_loop keep the order of all. */
#include <string.h>

#include "passes/schedule/partition.h"
#include "passes/schedule/tail.h"

/* ---- shared conditions ------------------------------------------------------------------------ */

bool sched_require_plain(Schedule *s, const Stmt *stmt, Span span)
{
    const ForStmt *loop = &stmt->u.loop;
    if (!sched_require_serial(s, stmt, span))
        return false;
    REQUIRE(s, E0411, span, loop->n_annotations == 0,
            "loop '%s' has the annotation '%s', which would be lost; unannotate it first, and "
            "annotate the results",
            loop->var->name, loop->annotations[0].key);
    return true;
}

static bool uses_var(const ForStmt *loop, const Var *var)
{
    return expr_uses_var(loop->lo, var) || expr_uses_var(loop->hi, var);
}

/* The most loops on a path below `stmt`, itself included. */
static int loops_below(const Stmt *stmt)
{
    int most = 0;
    if (stmt->kind == ST_FOR)
        return 1 + loops_below(stmt->u.loop.body);
    if (stmt->kind == ST_SEQ)
        for (int i = 0; i < stmt->u.seq.n; i++) {
            int below = loops_below(stmt->u.seq.items[i]);
            most = below > most ? below : most;
        }
    if (stmt->kind == ST_IF) {
        most = loops_below(stmt->u.cond.then);
        int other = stmt->u.cond.otherwise ? loops_below(stmt->u.cond.otherwise) : 0;
        most = other > most ? other : most;
    }
    return most;
}

/* Room for `added` more loops on the paths through the last node of `path`. */
static bool require_depth(Schedule *s, const StmtPath *path, int added, Span span)
{
    const Stmt *node = path->items[path->n - 1];
    int depth = sched_loops_on(s, path, NULL) - (node->kind == ST_FOR) + loops_below(node);
    REQUIRE(s, E0431, span, depth + added <= SCHED_MAX_LOOPS,
            "a block below '%s' would have %d loops around it, and %d are allowed; fuse some first",
            stmt_label(node), depth + added, SCHED_MAX_LOOPS);
    return true;
}

static ForStmt serial_loop(Context *c, Name name, Expr *extent, Span span)
{
    ForStmt loop = {.step = 1, .kind = LOOP_SERIAL, .axis = AXIS_NONE};
    loop.var = var_new(c, name, DT_INDEX, VAR_LOOP, span);
    loop.lo = expr_index(c, 0);
    loop.hi = extent;
    return loop;
}

/* The extent, at least 0: two ranges that are empty must not make a product above 0, and one has no tiles. */
static Expr *extent_from_zero(Schedule *s, Facts *facts, Expr *extent)
{
    Context *c = s->ctx;
    Expr *zero = expr_index(c, 0);
    if (prove(facts, expr_binary(c, EX_GE, extent, zero, span_none())))
        return extent;
    return simplify(facts, index_max(c, extent, zero));
}

/* ---- split ------------------------------------------------------------------------------------ */

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
    split->factors = call->arg[1].u.list.items;
    split->n = call->arg[1].u.list.n;
    split->fill = -1;
    split->product = 1;
    for (int i = 0; i < split->n; i++) {
        if (split->factors[i].kind == VALUE_FILL) {
            REQUIRE(
                s, E0412, call->span, split->fill < 0,
                "factors %s have more than one _, and tirc can compute only one; give the others",
                factors_text(s, split));
            split->fill = i;
            continue;
        }
        bool fits = checked_mul(split->product, split->factors[i].u.i, &split->product);
        REQUIRE(s, E0415, call->span, fits && split->product <= INT32_MAX,
                "the product of factors %s is more than 2147483647 iterations",
                factors_text(s, split));
    }
    return true;
}

static bool search_loop_var(Visitor *v, Expr *e)
{
    const Var **found = v->user;
    if (e->kind == EX_VAR && e->u.var->kind == VAR_LOOP)
        *found = e->u.var;
    return !*found;
}

/* The factor that _ stands for multiplies the loops before it; where it changes with a loop, the product is no affine
 * value of loops, which bounds and subscripts must be. */
static bool require_steady_fill(Schedule *s, const PrimCall *call, const Split *split, Name name)
{
    const Var *var = NULL;
    Visitor v = {.user = &var, .expr = search_loop_var};
    if (split->fill > 0)
        visit_expr(&v, split->extent);
    REQUIRE(s, E0414, call->span, !var,
            "loop '%s' has %s iterations, which change with loop '%s', and so would the factor that _ stands for; "
            "write _ as the first factor",
            name, sched_text(s, split->extent), var->name);
    return true;
}

/* The factors cover the extent; whether exactly. */
static bool check_cover(Schedule *s, const PrimCall *call, const StmtPath *path, Split *split)
{
    const Stmt *loop = path->items[path->n - 1];
    Name name = loop->u.loop.var->name;
    int64_t extent;
    bool known = expr_is_const(split->extent, &extent);
    if (split->fill >= 0) {
        split->exact = prove_divisible(sched_facts(s, path), split->extent, split->product);
        REQUIRE(s, E0415, call->span, !known || extent <= INT64_MAX - split->product,
                "loop '%s' has %lld iterations, too many to split", name, (long long)extent);
        return require_steady_fill(s, call, split, name);
    }
    if (known && split->product < extent) {
        sched_refuse(
            s, E0413, call->span,
            "factors %s cover %lld iterations but loop '%s' has %lld; write _ for one factor "
            "to let tirc compute it",
            factors_text(s, split), (long long)split->product, name, (long long)extent);
        sched_note_at(s, loop, "loop '%s' is now", name);
        return false;
    }
    Expr *enough =
        expr_binary(s->ctx, EX_LE, split->extent, expr_index(s->ctx, split->product), span_none());
    REQUIRE(
        s, E0414, call->span, known || prove(sched_facts(s, path), enough),
        "loop '%s' has %s iterations, so it is not known whether factors %s cover it; write _ for "
        "one factor to let tirc compute it",
        name, sched_text(s, split->extent), factors_text(s, split));
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

/* i_0, i_1, ... : new on the path and different from each other. */
static Name split_name(Schedule *s, const StmtPath *path, int i, const ForStmt *others)
{
    Context *c = s->ctx;
    const char *old = path->items[path->n - 1]->u.loop.var->name;
    Name name = sched_fresh_loop_name(s, path, ctx_namef(c, "%.24s_%d", old, i), 0);
    for (int other = 0; other < i; other++)
        if (others[other].var->name == name) {
            name = sched_fresh_loop_name(s, path, ctx_namef(c, "%.24s_%d_", old, i), 0);
            other = -1;
        }
    return name;
}

/* The new nest. Its loops run over 0 .. product, and the old variable is lo + step * (their number). */
static Stmt *build_split(Schedule *s, const StmtPath *path, const Split *split)
{
    Context *c = s->ctx;
    Stmt *stmt = path->items[path->n - 1];
    const ForStmt *old = &stmt->u.loop;
    Facts *facts = sched_facts(s, path);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, split->n);
    Expr *count = expr_index(c, 0);
    for (int i = 0; i < split->n; i++) {
        Name name = split_name(s, path, i, loops);
        loops[i] = serial_loop(c, name, split_extent(c, facts, split, i), stmt->span);
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
    Stmt *body = below_rewrite(&below, old->body);
    for (int i = split->n - 1; i >= 0; i--) {
        loops[i].body = body;
        body = stmt_for(c, &loops[i], stmt->span);
    }
    return body;
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
    const Value *tail = &call->arg[2];
    *kind = TAIL_GUARD;
    if (tail->kind == VALUE_NONE)
        return true;
    while (*kind < TAIL_COUNT && strcmp(tail->u.s, names[*kind]) != 0)
        ++*kind;
    REQUIRE(s, E0491, call->span, *kind < TAIL_COUNT,
            "there is no tail '%s'; iterations that do not fill the last tile get a guard (tail = guard), a loop of "
            "their own (tail = peel), or room to run in vain (tail = pad)",
            tail->u.s);
    return true;
}

/* All tiles full, on elements of temps behind the end (tail.h). */
static bool split_padded(Schedule *s, const PrimCall *call, const StmtPath *path, const Split *split, Value *result)
{
    Context *c = s->ctx;
    Stmt *old = path->items[path->n - 1];
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
    *result = nest_value(s, nest, split->n);
    sched_replace_body(s, tail_grow(s, stmt_replace(c, s->kernel->body, old, nest), &grown, end));
    return true;
}

/* The full tiles as a nest without guards, and what is left as a loop behind them. */
static bool split_peeled(Schedule *s, const PrimCall *call, const StmtPath *path,
                         const Split *split, Value *result)
{
    Context *c = s->ctx;
    Stmt *old = path->items[path->n - 1];
    REQUIRE(s, E0490, call->span, split->fill >= 0,
            "factors %s leave no room for a rest of loop '%s'; write _ for the factor that says how "
            "many full tiles there are",
            factors_text(s, split), stmt_label(old));
    Partition p = partition_new(s, path);
    if (!partition_require_inits(s, path, old->u.loop.body, call->span))
        return false;
    ForStmt full = p.path.items[path->n - 1]->u.loop;
    Expr *product = expr_index(c, split->product);
    Expr *tiles = index_div(c, extent_from_zero(s, p.facts, split->extent), product);
    Expr *end = simplify(p.facts, index_add(c, full.lo, index_mul(c, tiles, product)));
    const char *name = arena_printf(c->arena, "%.24s_rest", full.var->name);
    Stmt *rest = partition_part(&p, name, end, full.hi, true);
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
        s->remark = arena_printf(s->ctx->arena, "a guard leaves up to %lld iterations idle", (long long)all - 1);
        return;
    }
    if (split->fill >= 0)
        all *= (extent + all - 1) / all;
    s->remark = arena_printf(s->ctx->arena, "a guard leaves %lld of %lld iterations idle (%.2g%%)", (long long)(all - extent),
                             (long long)all, all > 0 ? 100.0 * (double)(all - extent) / (double)all : 0.0);
}

bool prim_split(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_loop(s, &call->arg[0], &path);
    Split split = {.extent = sched_extent(s, &path)};
    TailKind tail;
    if (!sched_require_plain(s, loop, call->span) || !read_tail(s, call, &tail) ||
        !read_factors(s, call, &split) || !check_cover(s, call, &path, &split) ||
        !require_depth(s, &path, split.n - 1, call->span))
        return false;
    if (tail == TAIL_PEEL && !split.exact)
        return split_peeled(s, call, &path, &split, result);
    if (tail == TAIL_PAD && !split.exact)
        return split_padded(s, call, &path, &split, result);
    Stmt *nest = build_split(s, &path, &split);
    sched_replace(s, loop, nest);
    if (!split.exact)
        remark_idle(s, &split);
    *result = nest_value(s, nest, split.n);
    return true;
}

/* ---- fuse ------------------------------------------------------------------------------------- */

static bool require_distinct(Schedule *s, const PrimCall *call, const Value *loops, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            REQUIRE(s, E0418, call->span, loops[i].u.id != loops[j].u.id,
                    "loop '%s' is given twice; name each loop once",
                    state_handle(s, loops[i].u.id)->name);
    return true;
}

static bool refuse_nest(Schedule *s, const PrimCall *call, const Stmt *outer, const Stmt *inner)
{
    sched_refuse(s, E0416, call->span,
                 "loop '%s' has to stand directly inside loop '%s', as its only statement",
                 stmt_label(inner), stmt_label(outer));
    sched_note_at(s, outer, "loop '%s' is now", stmt_label(outer));
    sched_note_at(s, inner, "loop '%s' is now", stmt_label(inner));
    return false;
}

/* Loop i of the nest stands directly in loop i - 1, is serial, and its range is free of the ones outside. */
static bool check_nest(Schedule *s, const PrimCall *call, Stmt **nest, int n)
{
    for (int i = 0; i < n; i++) {
        if (!sched_require_plain(s, nest[i], call->span))
            return false;
        if (i > 0 && nest[i - 1]->u.loop.body != nest[i])
            return refuse_nest(s, call, nest[i - 1], nest[i]);
        for (int outer = 0; outer < i; outer++)
            REQUIRE(s, E0417, call->span, !uses_var(&nest[i]->u.loop, nest[outer]->u.loop.var),
                    "the range of loop '%s' depends on loop '%s', so the nest is no rectangle and "
                    "cannot be one loop",
                    stmt_label(nest[i]), stmt_label(nest[outer]));
    }
    return true;
}

/* Two extents that change with loops have a product that is not affine, which no bound may be. */
static bool check_affine_product(Schedule *s, const PrimCall *call, Stmt **nest, int n)
{
    const Stmt *first = NULL;
    for (int i = 0; i < n; i++) {
        const Var *var = NULL;
        Visitor v = {.user = &var, .expr = search_loop_var};
        visit_expr(&v, nest[i]->u.loop.lo);
        visit_expr(&v, nest[i]->u.loop.hi);
        if (!var)
            continue;
        REQUIRE(s, E0417, call->span, !first,
                "the ranges of loops '%s' and '%s' both change with loops outside, and the product of their extents is "
                "no bound of a loop",
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
                    "the loops have more than 2^63 iterations together, too many for one loop");
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

/* A quotient or remainder by what changes with a loop. */
static bool search_changing_divisor(Visitor *v, Expr *e)
{
    const Var *var = NULL;
    Visitor divisor = {.user = &var, .expr = search_loop_var};
    if (e->kind == EX_DIV || e->kind == EX_MOD)
        visit_expr(&divisor, e->u.arg[1]);
    if (var)
        *(const Var **)v->user = var;
    return var == NULL;
}

/* Where the part of an extent that changes with loops may be 0, iterations that a later split adds would divide by it. */
static bool require_divisors(Schedule *s, const PrimCall *call, Stmt **nest, const Subst *map, int n)
{
    for (int i = 0; i < n; i++) {
        const Var *var = NULL;
        Visitor v = {.user = &var, .expr = search_changing_divisor};
        visit_expr(&v, map[i].value);
        REQUIRE(s, E0417, call->span, !var,
                "loop '%s' would count in quotients by a range that changes with loop '%s' and may be empty; "
                "give it a range of its own first, with widen",
                stmt_label(nest[i]), var->name);
    }
    return true;
}

static bool is_empty(const Expr *extent)
{
    int64_t n;
    return expr_is_const(extent, &n) && n < 1;
}

static bool finds_init(Visitor *v, Stmt *stmt)
{
    const Stmt **found = v->user;
    if (stmt->kind == ST_BLOCK && stmt->u.block.init)
        *found = stmt;
    return !*found && stmt->kind != ST_BLOCK;
}

/* A reduction over a loop without iterations still has its init for each element, and a fused loop without iterations has none to
 * tell the elements by. */
static bool require_init_kept(Schedule *s, const PrimCall *call, Stmt **nest, Expr *const *extents, int n)
{
    const Stmt *init = NULL, *empty = NULL, *other = NULL;
    Visitor v = {.user = &init, .stmt = finds_init};
    visit_stmt(&v, nest[n - 1]->u.loop.body);
    for (int i = 0; i < n; i++) {
        int64_t extent;
        if (is_empty(extents[i]) && !empty)
            empty = nest[i];
        else if (!expr_is_const(extents[i], &extent) || extent != 1)
            other = nest[i];
    }
    REQUIRE(s, E0417, call->span, !init || !empty || !other,
            "loop '%s' runs no iteration, and block '%s' has an init for each iteration of loop '%s', which one loop of both would not "
            "go through; use decompose_reduction first",
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
        total = index_mul(c, total, extent_from_zero(s, facts, extents[i]));
    }
    ForStmt fused =
        serial_loop(c, fused_name(s, path, nest, n), simplify(facts, total), nest[0]->span);
    facts_range(facts, fused.var, fused.lo, fused.hi);
    for (int i = 0; i < n; i++) /* the fused loop runs, so none of its parts is empty */
        if (extents[i]->kind != EX_INT)
            facts_assume(facts, expr_binary(c, EX_GT, extents[i], expr_index(c, 0), span_none()));
    Subst *map = ARENA_ARRAY(c->arena, Subst, n);
    Expr *rest = expr_var(c, fused.var, span_none());
    if (!require_init_kept(s, call, nest, extents, n))
        return NULL;
    for (int i = n - 1; i >= 0; i--) {
        const ForStmt *loop = &nest[i]->u.loop;
        bool empty = is_empty(extents[i]); /* the fused loop is this one then, and the others count nothing */
        Expr *count = i == 0 || empty ? rest : index_mod(c, rest, extents[i]);
        count = index_mul(c, expr_index(c, loop->step), count);
        map[i] = (Subst){loop->var, simplify(facts, index_add(c, loop->lo, count))};
        rest = empty ? expr_index(c, 0) : index_div(c, rest, extents[i]);
    }
    if (!require_divisors(s, call, nest, map, n))
        return NULL;
    Below below = {.s = s, .facts = facts, .map = map, .n_map = n};
    fused.body = below_rewrite(&below, nest[n - 1]->u.loop.body);
    return stmt_for(c, &fused, nest[0]->span);
}

/* The loops are one: `*fused`, or NULL where there is only one anyway. False after a refusal. */
static bool fuse_loops(Schedule *s, const PrimCall *call, const Value *loops, int n, Stmt **first, Stmt **fused)
{
    Stmt **nest = ARENA_ARRAY(s->ctx->arena, Stmt *, n);
    StmtPath path = {0};
    for (int i = n - 1; i >= 0; i--)
        nest[i] = sched_loop(s, &loops[i], &path);
    if (!require_distinct(s, call, loops, n) || !check_nest(s, call, nest, n) ||
        !check_affine_product(s, call, nest, n) || !check_product(s, call, nest, n))
        return false;
    *first = nest[0];
    *fused = n > 1 ? build_fuse(s, call, &path, nest, n) : NULL;
    return n == 1 || *fused;
}

bool prim_fuse(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loops = call->arg[0].u.list.items;
    Stmt *first, *fused;
    if (!fuse_loops(s, call, loops, call->arg[0].u.list.n, &first, &fused))
        return false;
    *result = loops[0];
    if (!fused)
        return true;
    sched_replace(s, first, fused);
    *result = value_loop(fused);
    return true;
}

/* How many of the loops, from the first one on, fuse takes; at least 1. */
static int count_fusable(Schedule *s, const PrimCall *call, const Value *loops, int n)
{
    DiagMark mark = diag_mark(s->ctx);
    Stmt *first, *fused;
    int taken = 1;
    while (taken < n && fuse_loops(s, call, loops, taken + 1, &first, &fused))
        taken++;
    diag_forget(s->ctx, mark);
    return taken;
}

bool prim_fusable(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loops = call->arg[0].u.list.items;
    int n = call->arg[0].u.list.n;
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

/* ---- reorder ---------------------------------------------------------------------------------- */

/* The loops of one path from the outermost to the innermost that are named. */
typedef struct {
    Stmt **loops;
    int n;
    StmtPath path; /* to the innermost */
} Chain;

static int depth_of(const StmtPath *path, uint32_t loop)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR && path->items[i]->u.loop.id == loop)
            return i;
    return -1;
}

/* The deepest of the loops, with its path. */
static Stmt *deepest(Schedule *s, const Value *loops, int n, StmtPath *path)
{
    Stmt *found = NULL;
    for (int i = 0; i < n; i++) {
        StmtPath at = {0};
        Stmt *loop = sched_loop(s, &loops[i], &at);
        if (at.n > path->n) {
            *path = at;
            found = loop;
        }
    }
    return found;
}

static bool find_chain(Schedule *s, const PrimCall *call, const Value *loops, int n, Chain *chain)
{
    Stmt *inner = deepest(s, loops, n, &chain->path);
    int top = chain->path.n - 1;
    for (int i = 0; i < n; i++) {
        int at = depth_of(&chain->path, loops[i].u.id);
        Name name = state_handle(s, loops[i].u.id)->name;
        if (at < 0) {
            sched_refuse(s, E0416, call->span, "loops '%s' and '%s' are not inside one another",
                         name, stmt_label(inner));
            sched_note_at(s, inner, "loop '%s' is now", stmt_label(inner));
            return false;
        }
        top = at < top ? at : top;
    }
    chain->loops = &chain->path.items[top];
    chain->n = chain->path.n - top;
    for (int i = 1; i < chain->n; i++)
        if (chain->loops[i]->kind != ST_FOR) {
            sched_refuse(s, E0416, call->span,
                         "between loops '%s' and '%s' stand other statements than loops",
                         stmt_label(chain->loops[0]), stmt_label(inner));
            sched_note_at(s, chain->loops[i - 1], "loop '%s' is now",
                          stmt_label(chain->loops[i - 1]));
            return false;
        }
    return true;
}

static bool is_named(const Value *loops, int n, const Stmt *loop)
{
    for (int i = 0; i < n; i++)
        if (loops[i].u.id == loop->u.loop.id)
            return true;
    return false;
}

/* The chain in its new order: named loops take the places of named loops. */
static Stmt **new_order(Schedule *s, const Chain *chain, const Value *loops, int n)
{
    Stmt **order = ARENA_ARRAY(s->ctx->arena, Stmt *, chain->n);
    for (int i = 0, next = 0; i < chain->n; i++) {
        order[i] = chain->loops[i];
        if (is_named(loops, n, chain->loops[i]))
            order[i] = chain->path.items[depth_of(&chain->path, loops[next++].u.id)];
    }
    return order;
}

static bool check_ranges(Schedule *s, const PrimCall *call, Stmt **order, int n)
{
    for (int i = 0; i < n; i++)
        for (int inner = i + 1; inner < n; inner++)
            REQUIRE(s, E0417, call->span, !uses_var(&order[i]->u.loop, order[inner]->u.loop.var),
                    "the range of loop '%s' depends on loop '%s', which has to stay outside of it",
                    stmt_label(order[i]), stmt_label(order[inner]));
    return true;
}

static Stmt *build_order(Schedule *s, const Chain *chain, Stmt **order)
{
    Stmt *body = chain->loops[chain->n - 1]->u.loop.body;
    for (int i = chain->n - 1; i >= 0; i--) {
        ForStmt loop = order[i]->u.loop;
        loop.body = body;
        body = stmt_for(s->ctx, &loop, order[i]->span);
        if (order[i]->step) /* what made a loop says more about it than what moved it */
            stmt_stamp(body, order[i]);
    }
    return body;
}

bool prim_reorder(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loops = call->arg[0].u.list.items;
    int n = call->arg[0].u.list.n;
    Chain chain = {0};
    if (!require_distinct(s, call, loops, n) || !find_chain(s, call, loops, n, &chain))
        return false;
    *result = (Value){.kind = VALUE_NONE};
    Stmt **order = new_order(s, &chain, loops, n);
    if (memcmp(order, chain.loops, sizeof *order * (size_t)chain.n) == 0)
        return true;
    if (!check_ranges(s, call, order, chain.n))
        return false;
    Stmt *nest = build_order(s, &chain, order);
    Conflict why = {0};
    StmtPath path = {0};
    state_path(s, chain.loops[0]->u.loop.id, &path);
    const Kernel *kernel = sched_kernel_around(s, s->kernel, &path);
    if (!dependence_order_kept(s->ctx, kernel, chain.loops[0], nest, &s->reassociates, &why)) {
        sched_refuse(s, E0419, call->span,
                     "two iterations that depend on each other would change places");
        sched_note_conflict(s, &why);
        return false;
    }
    sched_replace(s, chain.loops[0], nest);
    return true;
}

/* ---- add_unit_loop ---------------------------------------------------------------------------- */

bool prim_add_unit_loop(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *node = state_path(s, call->arg[0].u.id, &path);
    if (!require_depth(s, &path, 1, call->span))
        return false;
    Name name = sched_fresh_loop_name(s, &path, "u", 0);
    ForStmt unit = serial_loop(s->ctx, name, expr_index(s->ctx, 1), node->span);
    unit.body = node;
    Stmt *loop = stmt_for(s->ctx, &unit, node->span);
    sched_replace(s, node, loop);
    *result = value_loop(loop);
    return true;
}
