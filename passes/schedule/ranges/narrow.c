/* narrow.c - Implements narrow: leaves out the iterations of a loop that run or change nothing.
 *
 *   for i in 8, k in 8                           for i in 8, k in i + 1
 *       y: block (.., reduce k in i + 1 = k)  =>     y: block (.., reduce k in i + 1 = k)
 *
 * The domains of iterators say which instances there are, and so do conditions on loops. With the
 * values of the loops further in taken at their best, they bound the loop by what stands outside
 * it. That undoes `widen` once tiles have changed which loops are outside.
 *
 *   for i in 8, k in 9                           for i in 8, k in i % 2..9 step 2
 *       y[i] += (i - k) % 2 == 0 ? x[k] : 0  =>      y[i] += (i - k) % 2 == 0 ? x[k] : 0
 *
 * A reduction that adds its identity unless a congruence holds needs one residue class of the loop,
 * which the loops outside determine.
 *
 * An iteration of its own elements runs their init, too: a reduction without an update leaves its
 * first value.
 *
 *   for one in 1                                 for one in min(first[g + 1] - by * 8, .., 1)
 *       t: block (g = g, i in M = by * 8 + i)  =>    t: ..
 *       y: block (g = g, i in first[g]..first[g + 1] = by * 8 + i)
 *
 * A loop of one iteration has none where the block has no instance. Blocks whose results only that
 * iteration reads do not count: nobody needs them where it runs nothing else. Of several others, an
 * iteration stays if it runs one of them.
 *
 *   for io in 4, jo in 8, ii in 16, ji in 8          for io in 4, jo in io * 2 + 2, ..
 *       w: block (i = .., j = jo * 8 + ji)               w: ..
 *           w[i, j] = exp((j <= i ? s[i, j] : -inf) - m[i])
 *
 * With `masked`, terms that a mask makes 0, or -inf for a maximum, are left out too (mask.h): first
 * those of sums, and then the elements of temps that no sum reads any more.
 *
 *   for i in 64                                      for i in 4
 *       u: u[i] = t[i];                                  u: u[i] = t[i];
 *   for i in 4                                =>     for i in 4
 *       y[i] = u[i];                                     y[i] = u[i];
 *
 * With `unread`, so are elements of a temp behind the last one that a block reads.
 *
 * Legal: always, for a loop that starts at 0. With `masked` and `unread`, nobody reads what is not
 * stored.
 * Invariant: every instance that changes an output runs exactly once, in the same order. With
 * `masked`, a result may change where it was NaN, because a term that is left out was: the product
 * of 0 and an infinity, or the weight exp(-inf - -inf) of a row without any other value. */
#include <math.h>

#include "passes/analysis/regions/affine_bounds.h"
#include "passes/analysis/regions/mask.h"
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/ranges/stride.h"

typedef struct {
    Schedule *s;
    const ForStmt *loop;
    Facts *facts; /* in the loop and those between it and the block */
    VEC(const Var *) inner;
    Expr *lo, *hi; /* of the iterations that run the block; lo is at least 0 */
} Narrowing;

static bool runs_once(const Narrowing *n)
{
    return expr_is(n->loop->hi, 1);
}

/* No iteration runs the block where `room`, which is the same in all, is negative: of a loop of one
 * iteration that is the condition under which it runs. */
static void bound_as_whole(Narrowing *n, Expr *room)
{
    Context *c = n->s->ctx;
    Expr *one = expr_index(c, 1);
    if (!runs_once(n) || prove_at_least(n->facts, room, 0))
        return;
    Expr *end = simplify(n->facts, index_add(c, room, one));
    if (expr_is_affine(end))
        n->hi = simplify(n->facts, index_min(c, n->hi, end));
}

static bool divides(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_DIV)
            return true;
    return false;
}

/* sum / size rounded down, or 0 if that is negative. A sum of multiples of the size and a number is
 * divided term by term, although it may be negative: max(i * 128 - 63, 0) / 64 is max(i * 2 - 1,
 * 0). */
static Expr *quotient_from_zero(const Narrowing *n, Expr *sum, int64_t size)
{
    Context *c = n->s->ctx;
    Expr *by = expr_index(c, size);
    int64_t least, greatest;
    sum = simplify(n->facts, sum);
    if (bounds_const(n->facts, sum, &least, &greatest) && least < 0 && least > -INT32_MAX) {
        int64_t less = (size - 1 - least) / size;
        Expr *moved = index_add(c, sum, expr_index(c, less * size));
        Expr *quotient = simplify(n->facts, index_div(c, moved, by));
        if (!divides(c, quotient))
            return index_max(c, index_sub(c, quotient, expr_index(c, less)), expr_index(c, 0));
    }
    return index_div(c, index_at_least(n->facts, sum, 0), by);
}

/* The iterations of the loop where `room`, a number of a point of the block, is not negative at
 * its largest: a * loop + rest >= 0. Where their bound is not affine, all iterations stay. */
static void bound_by_room(Narrowing *n, Expr *room)
{
    Context *c = n->s->ctx;
    bool exact;
    int64_t a;
    Expr *rest, *most = largest_over(n->facts, simplify(n->facts, room), n->inner.items, n->inner.n,
                                     &exact);
    if (!most || !split_linear(n->facts, most, n->loop->var, &a, &rest))
        return;
    if (a == 0) {
        bound_as_whole(n, rest);
        return;
    }
    Expr *size = expr_index(c, a > 0 ? a : -a);
    Expr *sum =
        a > 0 ? index_sub(c, index_sub(c, size, expr_index(c, 1)), rest) : index_add(c, rest, size);
    Expr *end = simplify(n->facts, quotient_from_zero(n, sum, a > 0 ? a : -a));
    if (!expr_is_affine(end))
        return;
    if (a > 0)
        n->lo = simplify(n->facts, index_max(c, n->lo, end));
    else
        n->hi = simplify(n->facts, index_min(c, n->hi, end));
}

/* Each iteration of the loop has elements whose init the block runs, whatever is added to them. */
static bool has_inits(const Narrowing *n, const BlockStmt *block)
{
    return block->init && (runs_once(n) || block_uses_loop(block, ITER_SPATIAL, n->loop->var));
}

/* Data may leave the domain without an element: its bounds alone do not tell. */
static void bound_by_extent(Narrowing *n, Expr *lo, Expr *hi)
{
    Context *c = n->s->ctx;
    if (runs_once(n) && (expr_has_load(lo) || expr_has_load(hi)))
        bound_by_room(n, index_sub(c, index_sub(c, hi, lo), expr_index(c, 1)));
}

static void bound_by_block(Narrowing *n, const BlockStmt *block)
{
    Context *c = n->s->ctx;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        Expr *lo = iters_to_loops(c, block, iter->lo), *hi = iters_to_loops(c, block, iter->hi);
        const Var *var = n->loop->var;
        bool counts = runs_once(n) || expr_uses_var(iter->binding, var) || expr_uses_var(lo, var) ||
                      expr_uses_var(hi, var);
        if (!counts || (iter->kind == ITER_REDUCE && has_inits(n, block)))
            continue;
        bound_by_room(n, index_sub(c, iter->binding, lo));
        bound_by_room(n, index_sub(c, index_sub(c, hi, iter->binding), expr_index(c, 1)));
        bound_by_extent(n, lo, hi);
    }
}

/* `cond` compares indices: an order bounds the loop as a domain does. */
static void bound_by_order(Narrowing *n, const Expr *cond)
{
    Context *c = n->s->ctx;
    bool less = cond->kind == EX_LT || cond->kind == EX_LE;
    Expr *low = less ? cond->u.arg[0] : cond->u.arg[1],
         *high = less ? cond->u.arg[1] : cond->u.arg[0];
    bool strict = cond->kind == EX_LT || cond->kind == EX_GT;
    bound_by_room(n, index_sub(c, index_sub(c, high, low), expr_index(c, strict)));
}

/* Where a condition on loops does not hold, there is no instance, and no init. */
static void bound_by_conditions(Narrowing *n, const BlockStmt *block)
{
    ExprList conds = {0};
    int plain = block_conditions(n->s->ctx, block, &conds);
    for (int i = 0; i < plain; i++) {
        const Expr *cond = conds.items[i];
        if (cond->kind >= EX_LT && cond->kind <= EX_GE && cond->u.arg[0]->type == DT_INDEX &&
            !(has_inits(n, block) && reduction_decides(n->s->ctx, block, cond)))
            bound_by_order(n, cond);
    }
}

/* The temp that nobody else writes, and of which the block sets elements, each by an instance of
 * its own: what it does not store is nowhere stored, and which condition of a mask holds depends on
 * the element alone. NULL otherwise. */
static const Buffer *own_temp(Schedule *s, Stmt *block, int *iters)
{
    Context *c = s->ctx;
    const BlockStmt *b = &block->u.block;
    const Stmt *store = b->init ? NULL : flow_single_store(c, block);
    const Buffer *buffer = store && store->u.store.op == STORE_SET ? store->u.store.buffer : NULL;
    if (!buffer || buffer->role != ROLE_TEMP || buffer->rank != b->n_iters)
        return NULL;
    return flow_pure_index(b, buffer, store->u.store.index, iters) &&
                   !flow_other_block(s, s->kernel->body, block, buffer, ACCESS_WRITE)
               ? buffer
               : NULL;
}

static const Buffer *masked_temp(Schedule *s, Stmt *block)
{
    return own_temp(s, block, ARENA_ARRAY(s->ctx->arena, int, block->u.block.n_iters + 1));
}

/* Adds the numbers that change nothing where a store of that kind takes them in. Of an element that
 * is set they are those that a mask may put there. */
static void add_neutrals(Context *c, const StoreStmt *store, ExprList *out)
{
    DType type = store->buffer->type;
    bool sets = store->op == STORE_SET, floats = type_is_float(type);
    if (floats && (sets || store->op == STORE_MAX))
        VEC_PUSH(c->arena, out, expr_float(c, type, -INFINITY, span_none()));
    if (floats && (sets || store->op == STORE_MIN))
        VEC_PUSH(c->arena, out, expr_float(c, type, INFINITY, span_none()));
    if (out->n == 0 || sets)
        VEC_PUSH(c->arena, out,
                 reducer_neutral(c, sets ? STORE_ADD : store->op, type, span_none()));
}

/* The block takes nothing in where the conditions of a mask do not hold. False if it has none. A
 * loop of one iteration stays where that runs an init. */
static bool bound_by_masks(Narrowing *n, Stmt *block)
{
    Context *c = n->s->ctx;
    const Stmt *store = flow_single_store(c, block);
    ExprList neutrals = {0}, conds = {0};
    bool inits = has_inits(n, &block->u.block);
    if (!store || store->u.store.op == STORE_ASYNC || (inits && !runs_once(n)) ||
        (store->u.store.op == STORE_SET && !masked_temp(n->s, block)))
        return false;
    add_neutrals(c, &store->u.store, &neutrals);
    for (int i = 0; i < neutrals.n; i++)
        mask_conditions(c, n->s->kernel, store->u.store.value, neutrals.items[i], &conds);
    for (int i = 0; i < conds.n && !inits; i++)
        bound_by_order(n, iters_to_loops(c, &block->u.block, conds.items[i]));
    return conds.n > 0;
}

static void enter_inner(Narrowing *n, const Stmt *block)
{
    EnclosingList around = {0};
    facts_enter_path(n->facts, n->loop->body, block);
    stmt_enclosing(n->s->ctx, n->loop->body, block, &around);
    for (int i = 0; i < around.n; i++)
        if (around.items[i].stmt->kind == ST_FOR)
            VEC_PUSH(n->s->ctx->arena, &n->inner, around.items[i].stmt->u.loop.var);
}

static bool uses_inner(const Narrowing *n, const Expr *e)
{
    for (int i = 0; i < n->inner.n; i++)
        if (expr_uses_var(e, n->inner.items[i]))
            return true;
    return false;
}

/* Steps over the iterations in which the block changes nothing. Where there are no others, the loop
 * begins at its end. */
static void take_residue_class(Narrowing *n, const StmtPath *path, const Stmt *block, ForStmt *loop)
{
    Congruence which;
    StmtPath to_block = {0};
    int64_t hi, always;
    state_path(n->s, block->u.block.id, &to_block);
    if (has_inits(n, &block->u.block) || !expr_is(loop->lo, 0) ||
        !stride_of(n->s, &to_block, loop->var, &which))
        return;
    Context *c = n->s->ctx;
    Expr *first, *miss;
    Facts *facts = sched_facts(n->s, path);
    if (!congruence_solve(facts, &which, &first, &miss) || uses_inner(n, first) ||
        uses_inner(n, miss) || !(expr_is_const(loop->hi, &hi) || expr_is_const(miss, &always)))
        return;
    loop->lo = simplify(facts, index_add(c, first, index_mul(c, loop->hi, miss)));
    loop->step = congruence_stride(&which);
}

/* What the block writes are temps that only the loop at the end of the path accesses, and each
 * iteration of it writes what it reads of them: that is written anew in the next one. */
static bool is_written_anew(Schedule *s, const StmtPath *path, Stmt *block)
{
    Context *c = s->ctx;
    Stmt *others = stmt_replace(c, s->kernel->body, path_end(path), NULL);
    AccessList written = access_list(c, block, NULL, ACCESS_WRITE);
    for (int i = 0; i < written.n; i++) {
        const Buffer *buffer = written.items[i].buffer;
        if (buffer->role != ROLE_TEMP || stmt_accesses(c, others, buffer, ACCESS_ANY) ||
            !flow_written_in_iteration(s, s->kernel->body, path, buffer))
            return false;
    }
    return true;
}

/* The blocks in the loop whose results are used outside of its iteration. What the others make only
 * these need. */
static StmtList blocks_that_count(Schedule *s, const StmtPath *path)
{
    const ForStmt *loop = &path_end(path)->u.loop;
    StmtList all = stmts_of_kind(s->ctx, loop->body, ST_BLOCK), found = {0};
    for (int i = 0; i < all.n; i++)
        if (all.n == 1 || !(dependence_contained(s->ctx, s->kernel, loop, all.items[i]) ||
                            is_written_anew(s, path, all.items[i])))
            VEC_PUSH(s->ctx->arena, &found, all.items[i]);
    return found;
}

/* The end of the iterations that run one block or another. */
static Expr *either_end(const Narrowing *n, ExprKind kind, Expr *a, Expr *b)
{
    Context *c = n->s->ctx;
    if (expr_equal(a, b))
        return a;
    return simplify(n->facts, kind == EX_MIN ? index_min(c, a, b) : index_max(c, a, b));
}

/* The end of the loop's iterations that store elements of a temp which some block reads. */
static bool bound_by_readers(Narrowing *n, Stmt *block, Span span)
{
    Schedule *s = n->s;
    const BlockStmt *b = &block->u.block;
    int *iters = ARENA_ARRAY(s->ctx->arena, int, b->n_iters + 1);
    const Buffer *buffer = own_temp(s, block, iters);
    Expr *end = NULL;
    for (int axis = 0; buffer && axis < buffer->rank && !end; axis++)
        if (expr_is_var(b->iters[iters[axis]].binding, n->loop->var))
            end = flow_end_of_accesses(s, buffer, axis, ACCESS_READ);
    REQUIRE_AT(s, E0487, span, end, block,
               "block '%s' does not store elements of a temp, one for each iteration of the loop, "
               "of which it is known where reads of them end",
               b->name);
    n->hi = simplify(n->facts, index_min(s->ctx, n->hi, end));
    return true;
}

typedef enum { LEAVE_EMPTY, LEAVE_MASKED, LEAVE_UNREAD } LeftOut;

static bool find_left_out(Schedule *s, const PrimCall *call, LeftOut *out)
{
    const Value *terms = &call->narrow.left;
    *out = terms->kind == VALUE_NONE           ? LEAVE_EMPTY
           : strcmp(terms->u.s, "masked") == 0 ? LEAVE_MASKED
                                               : LEAVE_UNREAD;
    REQUIRE_WORD(s, E0487, call->span, *out != LEAVE_UNREAD || !strcmp(terms->u.s, "unread"),
                 "what is left out is 'masked' or 'unread', found '%s'", terms->u.s);
    return true;
}

/* What nobody reads need not be stored. */
static bool check_left_out(Schedule *s, const PrimCall *call, Stmt *old, Stmt *narrow)
{
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, old, narrow);
    StmtList blocks = stmts_of_kind(s->ctx, narrow, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const Buffer *buffer = masked_temp(s, blocks.items[i]);
        REQUIRE_AT(
            s, E0487, call->span, !buffer || flow_written_before_use(s, body, buffer),
            blocks.items[i],
            "block '%s' would not store elements of '%s' that are read, or may be; narrow the "
            "loops of its readers first",
            blocks.items[i]->u.block.name, buffer->name);
    }
    return true;
}

bool prim_narrow(Schedule *s, const PrimCall *call, Value *result)
{
    (void)result;
    LeftOut left_out;
    bool has_masks = false;
    StmtPath path = {0};
    Stmt *stmt = sched_node(s, &call->narrow.loop, &path);
    const ForStmt *loop = &stmt->u.loop;
    if (!find_left_out(s, call, &left_out) || !sched_require_plain(s, stmt, call->span))
        return false;
    StmtList blocks = blocks_that_count(s, &path);
    REQUIRE_AT(s, E0487, call->span, loop_counts_from_zero(loop), stmt,
               "loop '%s' must start at 0, with step 1", stmt_label(stmt));
    ForStmt narrow = *loop;
    for (int i = 0; i < blocks.n; i++) {
        Narrowing n = {
            .s = s, .loop = loop, .facts = sched_facts(s, &path), .lo = loop->lo, .hi = loop->hi};
        facts_enter(n.facts, stmt);
        enter_inner(&n, blocks.items[i]);
        bound_by_block(&n, &blocks.items[i]->u.block);
        bound_by_conditions(&n, &blocks.items[i]->u.block);
        has_masks |= left_out == LEAVE_MASKED && bound_by_masks(&n, blocks.items[i]);
        if (left_out == LEAVE_UNREAD && !bound_by_readers(&n, blocks.items[i], call->span))
            return false;
        narrow.lo = i == 0 ? n.lo : either_end(&n, EX_MIN, narrow.lo, n.lo);
        narrow.hi = i == 0 ? n.hi : either_end(&n, EX_MAX, narrow.hi, n.hi);
        if (blocks.n == 1)
            take_residue_class(&n, &path, blocks.items[i], &narrow);
    }
    Stmt *now = stmt_stamp(stmt_for(s->ctx, &narrow, stmt->span), stmt);
    REQUIRE_AT(s, E0487, call->span, left_out != LEAVE_MASKED || has_masks, stmt,
               "no block of loop '%s' is known to have masked terms, which comparisons of indices "
               "make 0 or -inf: j <= i ? x[i, j] : -inf",
               stmt_label(stmt));
    if (left_out != LEAVE_EMPTY && !check_left_out(s, call, stmt, now))
        return false;
    sched_replace(s, stmt, now);
    return true;
}
