/* align.c - Implements align: starts iterations at aligned addresses.
 *
 *   align(r, out, out, 8):
 *
 *   for c in 10, r in 37             for c in 10, r in 44
 *       out[c, r] = in[r, c];   =>       r' = r - c * 37 % 8, where 0 <= r' < 37
 *                                        out[c, r'] = in[r', c];
 *
 * Rows that are no multiple of a sector begin anywhere in one. Threads that share a row out among
 * themselves from its first element on would straddle sectors with every access; shifted, row by
 * row, by what the row's first element lies behind a multiple of n, a run of n iterations from a
 * multiple of n on touches n elements from a multiple of n on. The range is the same for all rows,
 * so that the loop can be split, exchanged and bound like any other.
 *
 * The iterators of a reduction do not depend on the loops of its elements, and joined axes have no
 * guard for each: there, one iterator counts from where the row starts.
 *
 *   reduce i in H = v / W, j in W = v % W   =>   reduce i in o..H * W + o = v',  o = c * H * W % 8
 *
 * Legal: the loop is serial, and the first element of its iterations is known for each row.
 * Invariant: every instance runs exactly once, in the same order. Iterations that a row has too
 * many run nothing. */
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"
#include "passes/schedule/sched.h"
#include "passes/shared/unify.h"

/* Where the access is in memory, in elements, with `var` as 0; NULL unless var adds one for each
 * iteration. */
static Expr *row_start(Schedule *s, Facts *facts, const Access *a, const BlockStmt *block,
                       const Var *var)
{
    Context *c = s->ctx;
    int64_t step;
    Expr *rest, *at = iters_to_loops(c, block, buffer_place(c, a->buffer, a->index));
    bool linear = split_linear(facts, simplify(facts, at), var, &step, &rest);
    return linear && step == 1 ? simplify(facts, rest) : NULL;
}

/* How far an element of a row lies behind a multiple of n; NULL where its place may be negative. */
static Expr *offset_of(Context *c, Facts *facts, Expr *place, int64_t n)
{
    Expr *zero = expr_index(c, 0);
    if (!place || !prove_at_least(facts, place, 0))
        return NULL;
    return prove_divisible(facts, place, n)
               ? zero
               : simplify(facts, index_mod(c, place, expr_index(c, n)));
}

/* How far the row's first element lies behind a multiple of n; NULL after a refusal. */
static Expr *row_offset(Schedule *s, const PrimCall *call, const ForStmt *loop, int64_t n)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    Stmt *block = sched_node(s, &call->align.block, &path);
    const Buffer *buffer = sched_buffer(s, call->align.buffer.u.id);
    AccessList accesses = access_list(c, block, buffer, ACCESS_ANY);
    Facts *facts = sched_facts(s, &path);
    Expr *offset = NULL;
    for (int i = 0; i < accesses.n; i++) {
        Expr *start = row_start(s, facts, &accesses.items[i], &block->u.block, loop->var);
        Expr *at = offset_of(c, facts, start, n);
        bool same = at && (!offset || expr_equal(offset, at));
        offset = same ? at : NULL;
        if (!same)
            break;
    }
    if (!offset)
        sched_refuse(s, E0489, call->span,
                     "block '%s' does not access consecutive elements of rows of '%s' along loop "
                     "'%s' with one offset modulo %lld in all its accesses",
                     block->u.block.name, buffer->name, loop->var->name, (long long)n);
    return offset;
}

/* ---- iterators ------------------------------------------------------------------------------- */

/* The iterators of a block that the loop decides alone, so that one can take their place:
 *
 *   i in H = v / W, j in W = v % W    =>    v in o..H * W + o = v + o
 *
 * It counts from where the row starts, o, in terms of the other iterators: the domain is one range,
 * and bindings of a reduction do not depend on the loops of its elements. */
typedef struct {
    Schedule *s;
    const Stmt *block;
    const ForStmt *loop;
    Facts *facts;     /* in the loop */
    SubstList values; /* the iterators, to their values in terms of the loop */
    IterKind kind;
    Expr *offset; /* o */
} Count;

static bool in_loop(const Count *n, const BlockIter *iter)
{
    return expr_uses_var(iter->binding, n->loop->var);
}

static SubstList values_at(const Count *n, Expr *at)
{
    Subst to = {n->loop->var, at};
    SubstList values = {0};
    for (int i = 0; i < n->values.n; i++) {
        Subst value = n->values.items[i];
        value.value = expr_subst(n->s->ctx, value.value, &to, 1);
        VEC_PUSH(n->s->ctx->arena, &values, value);
    }
    return values;
}

/* Every iteration of the loop is in the iterator's domain, and decides its value alone. */
static bool decides(const Count *n, const BlockIter *iter, Expr *value)
{
    Context *c = n->s->ctx;
    Subst zero = {n->loop->var, expr_index(c, 0)};
    Expr *at_zero = expr_subst(c, value, &zero, 1);
    Expr *lo = iters_to_loops(c, &n->block->u.block, iter->lo),
         *hi = iters_to_loops(c, &n->block->u.block, iter->hi);
    int64_t first;
    return iter->kind == n->kind && expr_of_sizes(at_zero) &&
           expr_is_const(simplify(n->facts, at_zero), &first) &&
           prove_compare(n->facts, iter->binding, EX_GE, lo) &&
           prove_compare(n->facts, iter->binding, EX_LT, hi);
}

/* The domain of another iterator counts from `iter`. */
static bool bounds_others(const BlockStmt *block, const BlockIter *iter)
{
    for (int i = 0; i < block->n_iters; i++)
        if (iter_uses_var(&block->iters[i], iter->var))
            return true;
    return false;
}

/* Fills in the iterators. False where the loop does not decide them alone. */
static bool find_values(Count *n)
{
    const BlockStmt *block = &n->block->u.block;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        Subst value = {iter->var, simplify(n->facts, iter->binding)};
        if (!in_loop(n, iter))
            continue;
        if (n->values.n == 0)
            n->kind = iter->kind;
        if (bounds_others(block, iter) || !decides(n, iter, value.value))
            return false;
        VEC_PUSH(n->s->ctx->arena, &n->values, value);
    }
    return n->values.n > (n->kind == ITER_SPATIAL);
}

/* Fills in the offset. False where it depends on iterators of other reduction loops. */
static bool find_offset(Count *n, const PrimCall *call)
{
    Context *c = n->s->ctx;
    const BlockStmt *block = &n->block->u.block;
    const Buffer *buffer = sched_buffer(n->s, call->align.buffer.u.id);
    AccessList accesses = access_list(c, n->block, buffer, ACCESS_ANY);
    SubstList first = values_at(n, expr_index(c, 0));
    Expr *at =
        expr_subst(c, buffer_place(c, buffer, accesses.items[0].index), first.items, first.n);
    for (int i = 0; i < block->n_iters; i++)
        facts_range(n->facts, block->iters[i].var, block->iters[i].lo, block->iters[i].hi);
    n->offset = simplify(n->facts, index_mod(c, at, expr_index(c, call->align.count.u.i)));
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == ITER_REDUCE && expr_uses_var(n->offset, block->iters[i].var))
            return false;
    return true;
}

/* The block with one iterator in place of those of the loop. */
static Stmt *with_one_iterator(const Count *n)
{
    Context *c = n->s->ctx;
    BlockStmt block = n->block->u.block;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, block.n_iters + 1);
    const Var *name = n->values.items[0].var;
    Var *v = var_new(c, name->name, DT_INDEX, VAR_ITER, name->span);
    int n_iters = 0;
    for (int i = 0; i < block.n_iters; i++)
        if (!in_loop(n, &block.iters[i]))
            iters[n_iters++] = block.iters[i];
    Expr *here = expr_var(c, n->loop->var, span_none()),
         *offset = iters_to_loops(c, &n->block->u.block, n->offset);
    iters[n_iters++] = (BlockIter){.var = v,
                                   .lo = index_add(c, n->loop->lo, n->offset),
                                   .hi = index_add(c, n->loop->hi, n->offset),
                                   .binding = index_add(c, here, offset),
                                   .kind = n->kind};
    SubstList values = values_at(n, index_sub(c, expr_var(c, v, span_none()), n->offset));
    block.iters = iters;
    block.n_iters = n_iters;
    block.body = stmt_subst(c, block.body, values.items, values.n);
    block.init = block.init ? stmt_subst(c, block.init, values.items, values.n) : NULL;
    return stmt_stamp(stmt_block(c, &block, n->block->span), n->block);
}

/* The loop, with a block whose iterators in it are one, and the offset as that has it; as it is
 * where they cannot be. */
static Stmt *count_from_offset(Schedule *s, const StmtPath *path, const Stmt *block,
                               const PrimCall *call, Expr **offset)
{
    Stmt *stmt = path_end(path);
    Count n = {.s = s, .block = block, .loop = &stmt->u.loop, .facts = sched_facts(s, path)};
    bool alone = stmts_of_kind(s->ctx, stmt, ST_BLOCK).n == 1;
    facts_enter(n.facts, stmt);
    if (!(alone || block_uses_loop(&block->u.block, ITER_REDUCE, n.loop->var)) ||
        block->u.block.instruction || !expr_of_sizes(stmt->u.loop.hi) || !find_values(&n) ||
        !find_offset(&n, call))
        return stmt;
    *offset = iters_to_loops(s->ctx, &block->u.block, n.offset);
    return stmt_replace(s->ctx, stmt, block, with_one_iterator(&n));
}

/* ---- the step -------------------------------------------------------------------------------- */

/* The loop goes on for n - 1 more iterations, of which each row leaves some out on either side. */
static Stmt *build_align(Schedule *s, const StmtPath *path, const Stmt *old, Expr *offset,
                         int64_t n)
{
    Context *c = s->ctx;
    ForStmt loop = old->u.loop;
    Expr *more = expr_index(c, n - 1), *lo = index_sub(c, loop.lo, more),
         *hi = index_add(c, loop.hi, more);
    Facts *around = sched_facts(s, path), *inside = sched_facts(s, path);
    loop.lo = lo;
    loop.hi = hi;
    facts_enter(around, stmt_for(c, &loop, old->span));
    loop.body = loop_guard_range(s, around, &old->u.loop, lo, hi);
    loop.lo = old->u.loop.lo;
    loop.hi = simplify(inside, hi);
    return loop_offset(s, inside, old, loop, offset);
}

/* The iterator that counts has the values of the loop itself. */
static Stmt *with_plain_binding(Schedule *s, Stmt *loop, uint32_t id)
{
    Context *c = s->ctx;
    StmtList all = stmts_of_kind(c, loop, ST_BLOCK);
    const Stmt *stmt = all.items[0];
    for (int i = 1; i < all.n && stmt->u.block.id != id; i++)
        stmt = all.items[i];
    BlockStmt block = stmt->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    iters[block.n_iters - 1].binding = expr_var(c, loop->u.loop.var, span_none());
    return stmt_replace(c, loop, stmt, stmt_stamp(stmt_block(c, &block, stmt->span), stmt));
}

/* No block but the one that counts carries a reduction with an init. */
static bool check_inits(Schedule *s, const Stmt *loop, const Stmt *counts, Span span)
{
    StmtList blocks = stmts_of_kind(s->ctx, loop, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++)
        REQUIRE(s, E0489, span,
                blocks.items[i] == counts || !blocks.items[i]->u.block.init ||
                    !block_uses_loop(&blocks.items[i]->u.block, ITER_REDUCE, loop->u.loop.var),
                "loop '%s' carries a reduction, whose init would no longer be in the loops around "
                "it; use decompose_reduction first",
                stmt_label(loop));
    return true;
}

bool prim_align(Schedule *s, const PrimCall *call, Value *result)
{
    (void)result;
    StmtPath path = {0}, to_block = {0};
    Stmt *stmt = sched_node(s, &call->align.loop, &path);
    int64_t n = call->align.count.u.i;
    if (!sched_require_plain(s, stmt, call->span))
        return false;
    sched_node(s, &call->align.block, &to_block);
    REQUIRE(s, E0416, call->span, path.n < to_block.n && to_block.items[path.n - 1] == stmt,
            "loop '%s' does not enclose block '%s'", stmt_label(stmt),
            stmt_label(to_block.items[to_block.n - 1]));
    REQUIRE(s, E0489, call->span, n >= 1 && n <= 65536,
            "the alignment is 1 to 65536 elements, found %lld", (long long)n);
    const ForStmt *loop = &loop_from_zero(s, &path)->u.loop;
    REQUIRE(s, E0489, call->span, loop == &stmt->u.loop,
            "loop '%s' does not start at 0 with step 1", stmt_label(stmt));
    int64_t extent;
    if (loop_const_extent(loop, &extent) && extent <= 1) /* one element is a run wherever it is */
        return true;
    Expr *offset = row_offset(s, call, loop, n);
    if (!offset || expr_is(offset, 0))
        return offset != NULL;
    StmtPath inner = {.items = to_block.items + path.n, .n = to_block.n - path.n};
    REQUIRE(s, E0489, call->span, !path_binds(&inner, offset),
            "the start of a row of '%s' depends on loops inside '%s'; reorder it inwards",
            sched_buffer(s, call->align.buffer.u.id)->name, stmt_label(stmt));
    const Stmt *block = to_block.items[to_block.n - 1],
               *from = count_from_offset(s, &path, block, call, &offset);
    if (!check_inits(s, stmt, from == stmt ? NULL : block, call->span))
        return false;
    Stmt *done = build_align(s, &path, from, offset, n);
    sched_replace(s, stmt, from == stmt ? done : with_plain_binding(s, done, block->u.block.id));
    return true;
}
