/* access.c - Collects the subscripted reads and writes of a piece of program and their positions.
 *
 * Program order: what a statement reads comes before what it writes, the inner of nested subscripts
 * first. */
#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/affine.h"

typedef struct {
    Context *c;
    const Buffer *buffer; /* NULL: every one */
    AccessMode mode;
    const BlockStmt *block; /* of the statement at work */
    AccessList *out;
} Collector;

static void add_access(Collector *k, Access access)
{
    bool wanted =
        (access.reads && k->mode & ACCESS_READ) || (access.writes && k->mode & ACCESS_WRITE);
    access.block = k->block;
    if (wanted && (!k->buffer || access.buffer->id == k->buffer->id))
        VEC_PUSH(k->c->arena, k->out, access);
}

static void collect_expr(Collector *k, Expr *e, const EnclosingList *path);

/* An operand that is only evaluated where `cond` holds (or does not), as under an if. */
static void collect_under(Collector *k, Expr *cond, bool holds, Expr *e, const EnclosingList *path)
{
    Context *c = k->c;
    const Stmt *branch = stmt_if(c, cond, stmt_seq(c, NULL, 0, cond->span), NULL, cond->span);
    EnclosingList inner = enclosing_copy(c, path);
    VEC_PUSH(c->arena, &inner, ((Enclosing){branch, !holds}));
    collect_expr(k, e, &inner);
}

typedef enum { LOADS_NOW, AWAITS } LoadWay;

static void add_load(Collector *k, const Expr *load, LoadWay way, const EnclosingList *path)
{
    add_access(k, (Access){.buffer = load->u.load.buffer,
                           .index = load->u.load.index,
                           .reads = true,
                           .awaits = way == AWAITS,
                           .load = load,
                           .path = *path,
                           .span = load->span});
}

static void collect_await(Collector *k, const Expr *e, const EnclosingList *path)
{
    const Expr *element = e->u.call.arg[0];
    for (int i = 0; i < expr_operands(element); i++)
        collect_expr(k, expr_operand(element, i), path);
    add_load(k, element, AWAITS, path);
}

static void collect_expr(Collector *k, Expr *e, const EnclosingList *path)
{
    if (!expr_has_load(e))
        return;
    if (expr_awaits(e)) {
        collect_await(k, e, path);
        return;
    }
    bool lazy = e->kind == EX_SELECT || e->kind == EX_AND || e->kind == EX_OR;
    for (int i = 0; i < expr_operands(e); i++) {
        if (lazy && i > 0 && expr_has_load(e->u.arg[i]))
            collect_under(k, e->u.arg[0], i == 1 && e->kind != EX_OR, e->u.arg[i], path);
        else
            collect_expr(k, expr_operand(e, i), path);
    }
    if (e->kind == EX_LOAD)
        add_load(k, e, LOADS_NOW, path);
}

static void collect_store(Collector *k, const Stmt *s, const EnclosingList *path)
{
    add_access(k, (Access){.buffer = s->u.store.buffer,
                           .index = s->u.store.index,
                           .reads = store_updates(s->u.store.op),
                           .writes = true,
                           .op = s->u.store.op,
                           .atomic = s->u.store.atomic || (k->block && k->block->atomic),
                           .store = s,
                           .path = *path,
                           .span = s->span});
}

static const BlockStmt *innermost_block(const EnclosingList *path)
{
    for (int i = path->n; i-- > 0;)
        if (path->items[i].stmt->kind == ST_BLOCK)
            return &path->items[i].stmt->u.block;
    return NULL;
}

/* An update of a tuple reads its values, and updates each target. */
static void collect_update(Collector *k, const Stmt *s, const EnclosingList *around)
{
    TupleUpdate update;
    if (!tuple_update_of(k->c, s, &update))
        TIRC_BUG(k->c, "an update with reducer '%s' is not of its form", s->u.seq.combiner->name);
    EnclosingList path = enclosing_copy(k->c, around);
    k->block = innermost_block(&path);
    for (int i = 0; i < update.combiner->n; i++)
        collect_expr(k, update.values[i], &path);
    for (int i = 0; i < update.combiner->n; i++) {
        const BufferElement *target = &update.targets[i];
        for (int d = 0; d < target->buffer->rank; d++)
            collect_expr(k, target->index[d], &path);
        add_access(k, (Access){.buffer = target->buffer,
                               .index = target->index,
                               .reads = true,
                               .writes = true,
                               .op = STORE_SET,
                               .combiner = update.combiner,
                               .path = path,
                               .span = s->span});
    }
}

/* The accesses of the statement itself, without the statements below it. */
static void collect_own(Collector *k, const Stmt *s, const EnclosingList *around)
{
    bool accesses = s->kind == ST_STORE;
    for (int i = 0; i < stmt_operands(s) && !accesses; i++)
        accesses = expr_has_load(stmt_operand(s, i));
    if (!accesses)
        return;
    EnclosingList path = enclosing_copy(k->c, around);
    k->block = s->kind == ST_BLOCK ? &s->u.block : innermost_block(&path);
    for (int i = 0; i < stmt_operands(s); i++)
        collect_expr(k, stmt_operand(s, i), &path);
    if (s->kind == ST_STORE)
        collect_store(k, s, &path);
}

void access_collect(Context *c, const Stmt *s, const Buffer *buffer, AccessMode mode,
                    AccessList *out)
{
    Collector k = {c, buffer, mode, NULL, out};
    Cursor at = cursor_with_path(cursor_stmts(c, s), NULL);
    while (cursor_next(&at)) {
        bool update = at.stmt->kind == ST_SEQ && at.stmt->u.seq.combiner;
        if (update) {
            collect_update(&k, at.stmt, &at.path);
            cursor_prune(&at);
        } else {
            collect_own(&k, at.stmt, &at.path);
        }
    }
}

AccessList access_list(Context *c, const Stmt *s, const Buffer *buffer, AccessMode mode)
{
    AccessList all = {0};
    access_collect(c, s, buffer, mode, &all);
    return all;
}

void access_collect_own(Context *c, const Stmt *s, const EnclosingList *path, AccessList *out)
{
    Collector k = {c, NULL, ACCESS_ANY, NULL, out};
    collect_own(&k, s, path);
}

void access_collect_expr(Context *c, Expr *e, const Buffer *buffer, AccessList *out)
{
    Collector k = {c, buffer, ACCESS_READ, NULL, out};
    collect_expr(&k, e, &(EnclosingList){0});
}

AccessList access_list_expr(Context *c, Expr *e, const Buffer *buffer)
{
    AccessList reads = {0};
    access_collect_expr(c, e, buffer, &reads);
    return reads;
}

static int common_path(const EnclosingList *a, const EnclosingList *b)
{
    int n = 0;
    while (n < a->n && n < b->n && a->items[n].stmt == b->items[n].stmt &&
           a->items[n].otherwise == b->items[n].otherwise)
        n++;
    return n;
}

/* The loop goes over all of axis `d` of the buffer, of which it is the subscript. */
static bool fills_axis(const Stmt *loop, const Access *write, int d)
{
    const ForStmt *f = &loop->u.loop;
    return expr_is_var(write->index[d], f->var) && f->kind != LOOP_BREAKS &&
           loop_counts_from_zero(f) && expr_equal(f->hi, write->buffer->shape[d]);
}

/* The axis that the loop fills, if it is the subscript of no other one; -1: none. */
static int filled_axis(const Stmt *loop, const Access *write)
{
    int axis = -1;
    for (int d = 0; d < write->buffer->rank; d++) {
        if (!expr_uses_var(write->index[d], loop->u.loop.var))
            continue;
        if (axis >= 0 || !fills_axis(loop, write, d))
            return -1;
        axis = d;
    }
    return axis;
}

/* The axes that the loops around the write, and not around the read, fill: each loop one of them.
 * False where something else is around the write alone. */
static bool find_filled(const Access *write, const Access *read, bool *filled)
{
    for (int i = common_path(&write->path, &read->path); i < write->path.n; i++) {
        const Stmt *around = write->path.items[i].stmt;
        int axis = around->kind == ST_FOR ? filled_axis(around, write) : -1;
        if (axis < 0 && around->kind != ST_SEQ)
            return false;
        if (axis >= 0)
            filled[axis] = true;
    }
    return true;
}

/* The write comes first in any case, and has then written all elements that the read may be of. */
static bool writes_before(Context *c, const Access *write, const Access *read)
{
    int rank = read->buffer->rank;
    bool *filled = ARENA_ARRAY(c->arena, bool, rank + 1);
    if (!find_filled(write, read, filled))
        return false;
    for (int d = 0; d < rank; d++)
        if (!filled[d] &&
            (expr_has_load(read->index[d]) || !expr_equal(write->index[d], read->index[d])))
            return false;
    return true;
}

bool access_reads_own(Context *c, const AccessList *block, int i)
{
    const Access *read = &block->items[i];
    for (int k = 0; k < i; k++) {
        const Access *x = &block->items[k];
        if (x->writes && x->buffer == read->buffer && writes_before(c, x, read))
            return true;
    }
    return false;
}

/* In its expressions. */
static bool head_reads(const Stmt *s, const Buffer *buffer)
{
    for (int i = 0, n = stmt_operands(s); i < n; i++)
        if (expr_reads(stmt_operand(s, i), buffer))
            return true;
    return false;
}

bool stmt_accesses(Context *c, const Stmt *s, const Buffer *buffer, AccessMode mode)
{
    for (Cursor at = cursor_stmts(c, s); cursor_next(&at);) {
        const Stmt *store = at.stmt->kind == ST_STORE ? at.stmt : NULL;
        if (store && store->u.store.buffer->id == buffer->id &&
            ((mode & ACCESS_WRITE) || store->u.store.op != STORE_SET))
            return true;
        if ((mode & ACCESS_READ) && head_reads(at.stmt, buffer))
            return true;
    }
    return false;
}

StmtList blocks_accessing(Context *c, const Stmt *root, const Buffer *buffer, AccessMode mode)
{
    StmtList all = stmts_of_kind(c, root, ST_BLOCK), found = {0};
    for (int i = 0; i < all.n; i++)
        if (stmt_accesses(c, all.items[i], buffer, mode))
            VEC_PUSH(c->arena, &found, all.items[i]);
    return found;
}

Stmt *only_block_accessing(Context *c, const Stmt *root, const Buffer *buffer, AccessMode mode)
{
    StmtList found = blocks_accessing(c, root, buffer, mode);
    return found.n == 1 ? found.items[0] : NULL;
}

/* The subscripts have other numbers on an axis. */
static bool are_apart(Expr *const *a, Expr *const *b, int rank)
{
    int64_t one, other;
    for (int axis = 0; axis < rank; axis++)
        if (expr_is_const(a[axis], &one) && expr_is_const(b[axis], &other) && one != other)
            return true;
    return false;
}

bool stmt_may_access(Context *c, const Stmt *s, BufferElement element, AccessMode mode)
{
    AccessList all = access_list(c, s, element.buffer, mode);
    for (int i = 0; i < all.n; i++)
        if (!are_apart(all.items[i].index, element.index, element.buffer->rank))
            return true;
    return false;
}

Subst *block_bindings(Context *c, const BlockStmt *block)
{
    Subst *map = ARENA_ARRAY(c->arena, Subst, block->n_iters + 1);
    for (int k = 0; k < block->n_iters; k++)
        map[k] = (Subst){block->iters[k].var, block->iters[k].binding};
    return map;
}

Expr *iters_to_loops(Context *c, const BlockStmt *block, Expr *e)
{
    return expr_subst(c, e, block_bindings(c, block), block->n_iters);
}

void iter_add_domain(Context *c, const BlockStmt *block, const BlockIter *iter, ExprList *out)
{
    Expr *at = iter->binding, *lo = iters_to_loops(c, block, iter->lo),
         *hi = iters_to_loops(c, block, iter->hi);
    VEC_PUSH(c->arena, out, expr_binary(c, EX_GE, at, lo, at->span));
    VEC_PUSH(c->arena, out, expr_binary(c, EX_LT, at, hi, at->span));
}

void block_add_domains(Context *c, const BlockStmt *block, ExprList *out)
{
    for (int i = 0; i < block->n_iters; i++)
        iter_add_domain(c, block, &block->iters[i], out);
}

ExprList block_runs_where(Context *c, const BlockStmt *block)
{
    ExprList given = {0}, all = {0};
    int plain = block_conditions(c, block, &given);
    VEC_APPEND(c->arena, &all, given.items, plain);
    block_add_domains(c, block, &all);
    for (int i = plain; i < given.n; i++)
        VEC_PUSH(c->arena, &all, given.items[i]);
    return all;
}

void block_assume_domains(Facts *f, Context *c, const BlockStmt *block)
{
    ExprList domains = {0};
    block_add_domains(c, block, &domains);
    for (int i = 0; i < domains.n; i++)
        facts_assume(f, domains.items[i]);
}

static bool uses_only(const Expr *e, const Expr *known)
{
    if (e->kind == EX_VAR)
        return expr_uses_var(known, e->u.var);
    bool ok = true;
    for (int k = 0; k < expr_operands(e); k++)
        ok = ok && uses_only(expr_operand(e, k), known);
    return ok;
}

/* The offset of a reduce iterator in its domain, if that uses the same loops as its value; else
 * the value, which differs from the offset by a constant of the reduction. */
static Expr *reduce_position(Context *c, const BlockStmt *block, const BlockIter *iter)
{
    int64_t lo;
    if (expr_is_const(iter->lo, &lo))
        return iter->binding;
    Expr *start = iters_to_loops(c, block, iter->lo);
    Expr *position = simplify(facts_new(c), index_sub(c, iter->binding, start));
    return uses_only(position, iter->binding) ? position : iter->binding;
}

const BlockIter *block_iter(const BlockStmt *block, const Var *var)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].var == var)
            return &block->iters[i];
    return NULL;
}

bool block_uses_var(const BlockStmt *block, const Var *var)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_uses_var(block->iters[i].binding, var))
            return true;
    return false;
}

bool block_uses_loop(const BlockStmt *block, IterKind kind, const Var *loop)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == kind && expr_uses_var(block->iters[i].binding, loop))
            return true;
    return false;
}

bool reduction_decides(Context *c, const BlockStmt *block, const Expr *cond)
{
    for (Cursor at = cursor_expr(c, cond); cursor_next(&at);)
        if (at.expr->kind == EX_VAR && block_uses_loop(block, ITER_REDUCE, at.expr->u.var))
            return true;
    return false;
}

bool block_reduces_over(Context *c, const BlockStmt *block, const Var *loop)
{
    for (int k = 0; k < block->n_iters; k++) {
        const BlockIter *iter = &block->iters[k];
        if (iter->kind == ITER_REDUCE && expr_uses_var(iter->binding, loop) &&
            expr_uses_var(reduce_position(c, block, iter), loop))
            return true;
    }
    return false;
}

bool block_uses_reduced(const BlockStmt *block, const Expr *e)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == ITER_REDUCE && expr_uses_var(e, block->iters[i].var))
            return true;
    return false;
}

bool reduction_uses(Context *c, const BlockStmt *block, IterKind kind, const Stmt *loop)
{
    if (loop->kind != ST_FOR)
        return false;
    return kind == ITER_REDUCE ? block_reduces_over(c, block, loop->u.loop.var)
                               : block_uses_loop(block, kind, loop->u.loop.var);
}

/* ---- places ---------------------------------------------------------------------------------- */

bool facts_enter_path(Facts *f, Stmt *root, const Stmt *target)
{
    EnclosingList around = {0};
    if (!stmt_enclosing(f->c, root, target, &around))
        return false;
    for (int i = 0; i < around.n; i++)
        facts_enter_enclosing(f, around.items[i]);
    return true;
}

/* s itself reads or writes the buffer, apart from the statements below it; a block is one. */
static bool accesses_itself(Context *c, const Stmt *s, const Buffer *buffer)
{
    if (s->kind == ST_BLOCK || s->kind == ST_STORE)
        return stmt_accesses(c, s, buffer, ACCESS_ANY);
    return head_reads(s, buffer);
}

/* A block is not looked into: nothing can be placed inside it. */
Stmt *lowest_common_ancestor(Context *c, Stmt *root, const Buffer *buffer)
{
    StmtList common = {0};
    for (Cursor at = cursor_outer(c, root); cursor_next(&at);) {
        StmtList way = {0};
        int shared = 0;
        if (!accesses_itself(c, at.stmt, buffer))
            continue;
        cursor_way(&at, &way);
        while (shared < common.n && shared < way.n && common.items[shared] == way.items[shared])
            shared++;
        way.n = common.n > 0 ? shared : way.n;
        common = way;
    }
    return common.n > 0 ? common.items[common.n - 1] : NULL;
}
