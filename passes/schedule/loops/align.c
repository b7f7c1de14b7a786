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
 * Legal: the loop is serial, and the first element of its iterations is known for each row.
 * Invariant: every instance runs exactly once, in the same order. Iterations that a row has too
 * many run nothing. */
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"
#include "passes/schedule/sched.h"

/* Where the access is at, row major, in terms of loops, with `var` as 0; NULL unless var adds one
 * for each iteration and is in no subscript but the last. */
static Expr *row_start(Schedule *s, Facts *facts, const Access *a, const BlockStmt *block,
                       const Var *var)
{
    Context *c = s->ctx;
    Expr *at = expr_index(c, 0), *rest;
    for (int d = 0; d < a->buffer->rank; d++) {
        int64_t step;
        bool linear = split_linear(facts, iters_to_loops(c, block, a->index[d]), var, &step, &rest);
        if (!linear || step != (d + 1 == a->buffer->rank))
            return NULL;
        at = index_add(c, index_mul(c, at, a->buffer->shape[d]), rest);
    }
    return simplify(facts, at);
}

/* How far the row's first element lies behind a multiple of n; NULL after a refusal. */
static Expr *row_offset(Schedule *s, const PrimCall *call, const ForStmt *loop, int64_t n)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    Stmt *block = sched_block(s, &call->align.block, &path);
    const Buffer *buffer = sched_buffer(s, call->align.buffer.u.id);
    AccessList accesses = {0};
    access_collect(c, block, buffer, ACCESS_ANY, &accesses);
    Facts *facts = sched_facts(s, &path);
    Expr *offset = NULL;
    for (int i = 0; i < accesses.n; i++) {
        Expr *start = row_start(s, facts, &accesses.items[i], &block->u.block, loop->var);
        Expr *at =
            start && prove(facts, expr_binary(c, EX_GE, start, expr_index(c, 0), span_none()))
                ? simplify(facts, index_mod(c, start, expr_index(c, n)))
                : NULL;
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

/* The loop goes on for n - 1 more iterations, of which each row leaves some out on either side. */
static Stmt *build_align(Schedule *s, const StmtPath *path, Expr *offset, int64_t n)
{
    Context *c = s->ctx;
    const Stmt *old = path->items[path->n - 1];
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

bool prim_align(Schedule *s, const PrimCall *call, Value *result)
{
    (void)result;
    StmtPath path = {0}, to_block = {0};
    Stmt *stmt = sched_loop(s, &call->align.loop, &path);
    int64_t n = call->align.count.u.i;
    if (!sched_require_plain(s, stmt, call->span))
        return false;
    sched_block(s, &call->align.block, &to_block);
    REQUIRE(s, E0416, call->span, path.n < to_block.n && to_block.items[path.n - 1] == stmt,
            "loop '%s' does not enclose block '%s'", stmt_label(stmt),
            stmt_label(to_block.items[to_block.n - 1]));
    StmtList blocks = stmts_of_kind(s->ctx, stmt, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        REQUIRE(s, E0489, call->span,
                !block->init || !block_uses_loop(block, ITER_REDUCE, stmt->u.loop.var),
                "loop '%s' carries a reduction, whose init would no longer be in the loops around "
                "it; use decompose_reduction first",
                stmt_label(stmt));
    }
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
    sched_replace(s, stmt, build_align(s, &path, offset, n));
    return true;
}
