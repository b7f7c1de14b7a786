/* init.c - Moves a reduction's init into a block of its own.
 *
 *   for i in 8, ko in 4, ii in 2, ki in 4         for i in 8, ii in 2
 *       block C(... reduce k = ko * 4 + ki) {  =>     block C_init(...) { C[..] = 0; }
 *           init C[..] = 0;                       for i in 8 { for ko in 4, ii in 2, ki in 4
 *           C[..] += ..; }                            block C(...) { C[..] += ..; }
 *
 * (the part below `i` only: the init stands before the outermost loop that carries a reduction
 * iterator.) Loops inside that one which only spatial iterators use are copied with their kinds; an
 * iterator whose value comes from a loop that it shares with a reduction gets a serial loop over
 * its values there, and conditions on such a loop are rewritten in terms of the iterator.
 * Conditions on loops of the reduction alone are dropped, so that an empty reduction still has its
 * init. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/analysis/regions/inits.h"
#include "passes/analysis/regions/region.h"
#include "passes/shared/rebuild.h"
#include "passes/shared/reductions.h"

/* An init nest that waits for the walk to come back to the statement at `depth` on the path. */
typedef struct {
    int depth;
    Stmt *nest;
} Pending;

typedef struct {
    Context *c;
    const Kernel *kernel;
    Names names;
    StmtPath path;
    VEC(Pending) pending;
    bool failed;
} InitWalk;

/* The init block under construction: loops between the anchor and the block, and what becomes of
 * them. */
typedef struct {
    InitWalk *w;
    const BlockStmt *block;
    int anchor; /* index on the path of the outermost loop that carries a reduction iterator */
    VEC(const Var *) dropped;
    SubstList copies; /* loop variable to its copy; iterator to its new variable */
    StmtList frames;  /* copied loops and ifs, outermost first, bodies not filled in */
    /* conditions on loops that carry the reduction and make spatial iterators as well */
    ExprList shared;
} InitBuild;

static bool is_dropped(const InitBuild *b, const Var *var)
{
    for (int i = 0; i < b->dropped.n; i++)
        if (b->dropped.items[i] == var)
            return true;
    return false;
}

static bool uses_dropped(const InitBuild *b, const Expr *e)
{
    for (int i = 0; i < b->dropped.n; i++)
        if (expr_uses_var(e, b->dropped.items[i]))
            return true;
    return false;
}

static Expr *renamed(const InitBuild *b, Expr *e)
{
    return expr_subst(b->w->c, e, b->copies.items, b->copies.n);
}

/* A loop that no iterator counts in is dropped, but where it runs not at all, neither does the
 * init; unless it stands for the reduction. */
static void keep_emptiness(InitBuild *b, const Stmt *s, int depth)
{
    Context *c = b->w->c;
    const ForStmt *loop = &s->u.loop;
    int64_t extent;
    if (block_uses_var(b->block, loop->var) ||
        reduction_starts_at(c, b->block, &b->w->path, depth) || uses_dropped(b, loop->lo) ||
        uses_dropped(b, loop->hi) || (loop_const_extent(loop, &extent) && extent >= 1))
        return;
    Expr *runs = expr_binary(c, loop->step > 0 ? EX_LT : EX_GE, renamed(b, loop->lo),
                             renamed(b, loop->hi), s->span);
    VEC_PUSH(c->arena, &b->frames,
             stmt_stamp(stmt_if(c, runs, stmt_empty(c, s->span), NULL, s->span), s));
}

static void copy_loop(InitBuild *b, const Stmt *s, int depth)
{
    Context *c = b->w->c;
    const ForStmt *loop = &s->u.loop;
    if (block_reduces_over(c, b->block, loop->var) ||
        !block_uses_loop(b->block, ITER_SPATIAL, loop->var) || uses_dropped(b, loop->lo) ||
        uses_dropped(b, loop->hi)) {
        keep_emptiness(b, s, depth);
        VEC_PUSH(c->arena, &b->dropped, loop->var);
        return;
    }
    ForStmt copy = *loop;
    copy.lo = renamed(b, loop->lo);
    copy.hi = renamed(b, loop->hi);
    copy.var = var_new(c, loop->var->name, loop->var->type, VAR_LOOP, loop->var->span);
    copy.id = ctx_new_id(c);
    copy.annotations = (AnnotationList){0};
    copy.body = stmt_empty(c, s->span);
    Subst to = {loop->var, expr_var(c, copy.var, loop->var->span)};
    VEC_PUSH(c->arena, &b->copies, to);
    VEC_PUSH(c->arena, &b->frames, stmt_stamp(stmt_for(c, &copy, s->span), s));
}

/* Replaces loops of one iteration by their value. (Conditions on a loop of the reduction do not
 * apply to the init.) */
static Expr *without_single(const InitBuild *b, Expr *cond)
{
    Context *c = b->w->c;
    SubstList values = {0};
    for (int i = 0; i < b->w->path.n; i++) {
        const Stmt *s = b->w->path.items[i];
        int64_t extent;
        if (s->kind == ST_FOR && loop_const_extent(&s->u.loop, &extent) && extent == 1 &&
            expr_uses_var(cond, s->u.loop.var) &&
            !block_uses_loop(b->block, ITER_REDUCE, s->u.loop.var))
            VEC_PUSH(c->arena, &values, ((Subst){s->u.loop.var, s->u.loop.lo}));
    }
    return values.n ? simplify(facts_new(c), expr_subst(c, cond, values.items, values.n)) : cond;
}

/* Each iteration of the loop has what the init sets for itself. */
static bool declares_result(const InitBuild *b, const Stmt *loop)
{
    bool all = true;
    for (Cursor at = cursor_stmts(b->w->c, b->block->init); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE)
            all &= stmt_declares_inside(b->w->c, loop, at.stmt->u.store.buffer);
    return all;
}

/* A condition on a dropped loop that does not carry the reduction, together with a loop that stays
 * around the init; or on a loop that stays, gives no iterator values, and declares no result:
 * without it, the init would run again for values of the outer loop that have no instance. */
static bool ties_idle_loop(const InitBuild *b, const Expr *cond)
{
    bool idle = false, outer = false, outer_idle = false;
    for (int i = 0; i < b->w->path.n; i++) {
        const Stmt *s = b->w->path.items[i];
        if (s->kind != ST_FOR || !expr_uses_var(cond, s->u.loop.var))
            continue;
        const Var *var = s->u.loop.var;
        if (i >= b->anchor) {
            idle |= is_dropped(b, var) && !block_uses_loop(b->block, ITER_REDUCE, var);
        } else if (!is_dropped(b, var)) {
            outer = true;
            outer_idle |= !block_uses_loop(b->block, ITER_SPATIAL, var) && !declares_result(b, s);
        }
    }
    return (idle && outer) || outer_idle;
}

/* Speaks of a dropped loop that spatial iterators take values from: some of those values may have
 * no instance. */
static bool is_shared(const InitBuild *b, const Expr *cond)
{
    for (int i = 0; i < b->dropped.n; i++)
        if (expr_uses_var(cond, b->dropped.items[i]) &&
            block_uses_loop(b->block, ITER_SPATIAL, b->dropped.items[i]))
            return true;
    return false;
}

static void refuse_condition(InitBuild *b, const Expr *cond, const char *why)
{
    diag_error(
        b->w->c, E0501, b->block->init->span,
        "the init of block '%s' cannot be placed before the reduction: the condition '%s' %s",
        b->block->name, expr_text(b->w->c, cond), why);
    diag_note(b->w->c, b->block->init->span,
              "use decompose_reduction to place the init before the loops are split or reordered");
    b->w->failed = true;
}

static void refuse_idle_loop(InitBuild *b, const Expr *cond)
{
    refuse_condition(b, cond, "relates a loop outside the reduction to one inside it");
}

static void refuse_shared_loop(InitBuild *b, const Expr *cond)
{
    refuse_condition(
        b, cond,
        "depends on a loop that both carries the reduction and selects the elements to compute");
}

/* Facts at the block, with the loops that are dropped still there. */
static Facts *facts_at_block(InitWalk *w)
{
    Facts *f = facts_of_kernel(w->c, w->kernel);
    for (int i = 0; i + 1 < w->path.n; i++)
        if (w->path.items[i]->kind == ST_FOR)
            facts_enter(f, w->path.items[i]);
    return f;
}

/* `cond` uses a loop of one iteration that no iterator depends on. */
static bool names_idle_single(const InitBuild *b, const Expr *cond)
{
    for (int i = 0; i < b->w->path.n; i++) {
        const Stmt *s = b->w->path.items[i];
        int64_t extent;
        if (s->kind == ST_FOR && expr_uses_var(cond, s->u.loop.var) &&
            loop_const_extent(&s->u.loop, &extent) && extent == 1 &&
            !block_uses_var(b->block, s->u.loop.var))
            return true;
    }
    return false;
}

/* `cond` holds wherever the reduction is not empty: it restricts iterations of the reduction, which
 * can have none for an element. */
static bool leaves_no_update_out(const InitBuild *b, Expr *cond)
{
    Context *c = b->w->c;
    Facts *f = facts_at_block(b->w);
    for (int i = 0; i < b->block->n_iters; i++) {
        const BlockIter *iter = &b->block->iters[i];
        Expr *lo = iters_to_loops(c, b->block, iter->lo),
             *hi = iters_to_loops(c, b->block, iter->hi);
        if (iter->kind == ITER_REDUCE)
            facts_assume(f, expr_binary(c, EX_LT, lo, hi, span_none()));
    }
    return prove(f, cond);
}

/* The conjuncts of `cond` that say nothing about the reduction. */
static Expr *keep_condition(InitBuild *b, Expr *cond)
{
    Context *c = b->w->c;
    ExprList all = {0}, kept = {0};
    cond_split(c, cond, &all);
    for (int i = 0; i < all.n; i++) {
        Expr *plain = without_single(b, all.items[i]);
        bool inside = uses_dropped(b, all.items[i]), dropped = uses_dropped(b, plain);
        if (plain->kind == EX_INT && plain->u.i)
            continue;
        if (!dropped && names_idle_single(b, all.items[i]) && leaves_no_update_out(b, plain))
            continue;
        if (!dropped && inside && reduction_empty_for_some(c, b->block))
            /* it is no longer known whether it restricts elements or the reduction */
            refuse_idle_loop(b, all.items[i]);
        else if (!dropped)
            VEC_PUSH(c->arena, &kept, renamed(b, plain));
        else if (ties_idle_loop(b, plain))
            refuse_idle_loop(b, plain);
        else if (is_shared(b, plain))
            VEC_PUSH(c->arena, &b->shared, plain);
    }
    return cond_join(c, &kept);
}

/* The block is in the branch for the condition. It may be another version of that in the tree, with
 * the same id. */
static bool is_in_then(const InitBuild *b, const Stmt *s)
{
    Stmt *otherwise = s->u.cond.otherwise;
    return !otherwise || !stmt_find(b->w->c, otherwise, b->block->id, NULL);
}

static void copy_frames(InitBuild *b)
{
    Context *c = b->w->c;
    StmtPath *path = &b->w->path;
    for (int i = 0; i < b->anchor;
         i++) /* where a block of loops takes the init over, some of the reduction's stay outside */
        if (path->items[i]->kind == ST_FOR && reduction_starts_at(c, b->block, path, i))
            VEC_PUSH(c->arena, &b->dropped, path->items[i]->u.loop.var);
    for (int i = b->anchor; i < path->n; i++) {
        Stmt *s = path->items[i];
        if (s->kind == ST_FOR) {
            copy_loop(b, s, i);
        } else if (s->kind == ST_IF) {
            Expr *cond = s->u.cond.cond;
            if (!is_in_then(b, s))
                cond = expr_unary(c, EX_NOT, cond, cond->span);
            cond = keep_condition(b, cond);
            if (cond) {
                Stmt *frame = stmt_if(c, cond, stmt_empty(c, s->span), NULL, s->span);
                VEC_PUSH(c->arena, &b->frames, stmt_stamp(frame, s));
            }
        }
    }
}

enum { MAX_VALUES = 1 << 16 };

/* The values of an expression over the iterations of loops. */
typedef struct {
    const Expr *e;
    const ForStmt *const *loops;
    int n;
    VarValue *env;
    bool *taken; /* [size] */
    int64_t size;
    int64_t *steps; /* so far */
} ValueSearch;

/* Marks the values that `e` takes over the loops from `depth` on. */
static bool mark_values(const ValueSearch *s, int depth)
{
    int64_t v, lo, hi;
    if (depth == s->n) {
        if (!expr_eval(s->e, s->env, s->n, &v) || v < 0 || v >= s->size)
            return false;
        s->taken[v] = true;
        return ++*s->steps <= MAX_VALUES;
    }
    const ForStmt *loop = s->loops[depth];
    if (!expr_eval(loop->lo, s->env, depth, &lo) || !expr_eval(loop->hi, s->env, depth, &hi))
        return false;
    s->env[depth].var = loop->var;
    for (v = lo; loop->step > 0 ? v < hi : v >= hi; v += loop->step) {
        s->env[depth].value = v;
        if (!mark_values(s, depth + 1))
            return false;
    }
    return true;
}

/* Every value from lo to hi is reached: v or v / n of one loop takes all; else all iterations are
 * tried. */
static bool takes_every_value(InitBuild *b, Facts *f, Expr *binding, Expr *lo, Expr *hi)
{
    Context *c = b->w->c;
    int64_t size, n, steps = 0;
    Expr *e = simplify(f, index_sub(c, binding, lo));
    const Expr *base = e->kind == EX_DIV && expr_is_const(e->u.arg[1], &n) ? e->u.arg[0] : e;
    if (base->kind == EX_VAR)
        return true;
    Expr *extent = simplify(f, index_add(c, index_sub(c, hi, lo), expr_index(c, 1)));
    VEC(const ForStmt *) loops = {0};
    for (int i = b->anchor; i < b->w->path.n; i++)
        if (b->w->path.items[i]->kind == ST_FOR &&
            expr_uses_var(e, b->w->path.items[i]->u.loop.var))
            VEC_PUSH(c->arena, &loops, &b->w->path.items[i]->u.loop);
    if (!expr_is_const(extent, &size) || size < 1 || size > MAX_VALUES)
        return false;
    bool *taken = ARENA_ARRAY(c->arena, bool, size);
    VarValue *env = ARENA_ARRAY(c->arena, VarValue, loops.n + 1);
    if (!mark_values(&(ValueSearch){.e = e,
                                    .loops = loops.items,
                                    .n = loops.n,
                                    .env = env,
                                    .taken = taken,
                                    .size = size,
                                    .steps = &steps},
                     0))
        return false;
    for (int64_t v = 0; v < size; v++)
        if (!taken[v])
            return false;
    return true;
}

/* A serial loop over the values that an iterator takes inside the anchor. */
static Expr *loop_over_values(InitBuild *b, const BlockIter *iter, Stmt *block)
{
    InitWalk *w = b->w;
    Context *c = w->c;
    bool exact_lo = false, exact_hi = false;
    Facts *f = facts_at_block(w);
    Expr *lo = least_over(f, iter->binding, b->dropped.items, b->dropped.n, &exact_lo);
    Expr *hi = largest_over(f, iter->binding, b->dropped.items, b->dropped.n, &exact_hi);
    if (!lo || !hi || !exact_lo || !exact_hi || !takes_every_value(b, f, iter->binding, lo, hi)) {
        diag_error(c, E0501, block->span,
                   "the init of block '%s' cannot be placed before the reduction: iterator '%s' "
                   "depends on loops that also carry the reduction, and its values within one "
                   "reduction are not a range",
                   b->block->name, iter->var->name);
        diag_note(c, block->span,
                  "use decompose_reduction to place the init before the loops are fused");
        w->failed = true;
        return iter->binding;
    }
    ForStmt loop = {
        .var = var_new(c, names_fresh(&w->names, iter->var->name), DT_INDEX, VAR_LOOP,
                       iter->var->span),
        .lo = renamed(b, lo),
        .hi = renamed(b, index_add(c, hi, expr_index(c, 1))),
        .step = 1,
        .kind = LOOP_SERIAL,
        .axis = AXIS_NONE,
        .id = ctx_new_id(c),
        .body = stmt_empty(c, block->span),
    };
    VEC_PUSH(c->arena, &b->frames, stmt_stamp(stmt_for(c, &loop, block->span), block));
    return expr_var(c, loop.var, loop.var->span);
}

/* Expresses the dropped loops in terms of the iterators bound to them. False if no formula is
 * found. */
static bool solve_dropped(InitBuild *b, SubstList *map)
{
    Context *c = b->w->c;
    const BlockStmt *block = b->block;
    PointBox box = {.n = 0};
    Var **var = ARENA_ARRAY(c->arena, Var *, b->dropped.n + 1),
        **place = ARENA_ARRAY(c->arena, Var *, block->n_iters + 1);
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, b->dropped.n + 1),
         **hi = ARENA_ARRAY(c->arena, Expr *, b->dropped.n + 1);
    Expr **to = ARENA_ARRAY(c->arena, Expr *, block->n_iters + 1),
         **values = ARENA_ARRAY(c->arena, Expr *, b->dropped.n + 1);
    int n = 0;
    for (int i = b->anchor; i < b->w->path.n; i++) {
        const ForStmt *loop = &b->w->path.items[i]->u.loop;
        if (b->w->path.items[i]->kind != ST_FOR || !is_dropped(b, loop->var))
            continue;
        if (loop->step != 1)
            return false;
        var[box.n] = loop->var;
        lo[box.n] = loop->lo;
        hi[box.n++] = loop->hi;
    }
    for (int i = 0; i < block->n_iters; i++)
        if (uses_dropped(b, block->iters[i].binding)) {
            place[n] = block->iters[i].var;
            to[n++] = block->iters[i].binding;
        }
    box.var = var;
    box.lo = lo;
    box.hi = hi;
    if (!digits_solve(c, facts_at_block(b->w), &box, to, n, place, values))
        return false;
    for (int i = 0; i < box.n; i++)
        VEC_PUSH(c->arena, map, ((Subst){var[i], values[i]}));
    return true;
}

/* Conditions on shared loops, rewritten in terms of the iterators; those that still use the
 * reduction's loops do not apply to the init. */
static Expr *shared_conditions(InitBuild *b, const SubstList *rename, const BlockIter *iters,
                               Expr *predicate)
{
    Context *c = b->w->c;
    SubstList map = {0}, bindings = {0};
    bool solved = b->shared.n > 0 && solve_dropped(b, &map);
    Facts *f = facts_at_block(b->w);
    for (int i = 0; i < b->block->n_iters; i++)
        facts_range(f, b->block->iters[i].var, b->block->iters[i].lo, b->block->iters[i].hi);
    for (int i = 0; i < rename->n; i++)
        VEC_PUSH(c->arena, &bindings, ((Subst){rename->items[i].var, iters[i].binding}));
    for (int i = 0; i < b->shared.n; i++) {
        Expr *cond = solved ? simplify(f, expr_subst(c, b->shared.items[i], map.items, map.n))
                            : b->shared.items[i];
        if (uses_dropped(b, cond))
            refuse_shared_loop(b, b->shared.items[i]);
        else if (!block_uses_reduced(b->block, cond))
            predicate =
                cond_and(c, predicate, expr_subst(c, renamed(b, cond), bindings.items, bindings.n));
    }
    return predicate;
}

static Stmt *init_block(InitBuild *b, Stmt *s)
{
    Context *c = b->w->c;
    const BlockStmt *block = b->block;
    VEC(BlockIter) iters = {0};
    SubstList rename = {0};
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *old = &block->iters[i];
        if (old->kind != ITER_SPATIAL)
            continue;
        BlockIter iter = {
            .var = var_new(c, old->var->name, old->var->type, VAR_ITER, old->var->span),
            .lo = expr_subst(c, old->lo, rename.items, rename.n),
            .hi = expr_subst(c, old->hi, rename.items, rename.n),
            .binding = uses_dropped(b, old->binding) ? loop_over_values(b, old, s)
                                                     : renamed(b, old->binding),
            .kind = ITER_SPATIAL,
        };
        Subst to = {old->var, expr_var(c, iter.var, old->var->span)};
        VEC_PUSH(c->arena, &rename, to);
        VEC_PUSH(c->arena, &iters, iter);
    }
    Expr *predicate = block->predicate ? keep_condition(b, block->predicate) : NULL;
    BlockStmt init = {
        .name = names_fresh(&b->w->names, ctx_namef(c, "%s_init", block->name)),
        .id = ctx_new_id(c),
        .iters = iters.items,
        .n_iters = iters.n,
        .predicate = shared_conditions(b, &rename, iters.items, predicate),
        .body = stmt_subst(c, block->init, rename.items, rename.n),
    };
    return stmt_stamp(stmt_block(c, &init, block->init->span), s);
}

static Stmt *close_frames(InitBuild *b, Stmt *inner)
{
    Context *c = b->w->c;
    for (int i = b->frames.n - 1; i >= 0; i--) {
        Stmt *frame = b->frames.items[i];
        inner = frame->kind == ST_FOR
                    ? loop_with_body(c, frame, inner)
                    : stmt_stamp(stmt_if(c, frame->u.cond.cond, inner, NULL, frame->span), frame);
    }
    return inner;
}

/* Takes the init out of the block at the end of the path: its nest, and the block that is left. */
static Stmt *take_init(InitWalk *w, Stmt *s, int anchor, Stmt **nest)
{
    InitBuild b = {.w = w, .block = &s->u.block, .anchor = anchor};
    copy_frames(&b);
    Stmt *init = init_block(&b, s);
    *nest = close_frames(&b, init);
    BlockStmt update = s->u.block;
    update.init = NULL;
    return stmt_stamp(stmt_block(w->c, &update, s->span), s);
}

static Stmt *split_block(InitWalk *w, Stmt *s)
{
    Pending p = {reduction_start(w->c, &w->path), NULL};
    Stmt *update = take_init(w, s, p.depth, &p.nest);
    VEC_PUSH(w->c->arena, &w->pending, p);
    return update;
}

bool reduction_take_init(Context *c, const ReductionPlace *at, Stmt **init_nest, Stmt **update)
{
    InitWalk w = {
        .c = c, .kernel = at->kernel, .path = *at->path, .names = names_of_kernel(c, at->kernel)};
    *update = take_init(&w, path_end(at->path), at->anchor, init_nest);
    return !w.failed;
}

static Stmt *walk(void *user, Stmt *s)
{
    InitWalk *w = user;
    int depth = w->path.n;
    VEC_PUSH(w->c->arena, &w->path, s);
    Stmt *done = s->kind != ST_BLOCK ? stmt_map_children(w->c, s, walk, w)
                 : s->u.block.init   ? split_block(w, s)
                                     : s;
    w->path.n--;
    Stmt *before = NULL;
    int kept = 0;
    for (int i = 0; i < w->pending.n; i++) {
        if (w->pending.items[i].depth == depth)
            before = stmt_then(w->c, before, w->pending.items[i].nest);
        else
            w->pending.items[kept++] = w->pending.items[i];
    }
    w->pending.n = kept;
    return stmt_then(w->c, before, done);
}

Kernel *inits_apart(Context *c, const Kernel *kernel)
{
    InitWalk w = {.c = c, .kernel = kernel, .names = names_of_kernel(c, kernel)};
    Stmt *body = walk(&w, kernel->body);
    return w.failed ? NULL : kernel_with_body(c, kernel, body);
}
