/* own_writes.c - Decides whether an iteration reads only what it has written itself.
 *
 * It enumerates the first statements of the place that only write the buffer: the values of their
 * loops, whose extents must be literal, give the written elements, relative to the box that the
 * whole place accesses. If these fill the box, no read finds an older value. Elements that are not
 * written because an iterator leaves its domain do not count if the domain is the buffer's shape,
 * because reads stay inside it, too.
 *
 * The answer "no" may be wrong, which only costs memory; "yes" is exact. */
#include "passes/lower/memory/own_writes.h"

enum { MAX_ELEMENTS = 1 << 20, MAX_STEPS = 1 << 21 };

typedef struct {
    Context *c;
    const Buffer *b;
    Facts *facts;
    const Interval *box;
    int64_t *extent; /* of the box */
    bool *written;   /* [product of extents] */
    int64_t missing, steps;
    bool keep_threads;  /* local memory: loops bound to threads are fixed */
    VEC(ForStmt) loops; /* those that run on paper, outermost first */
    ExprList conds;     /* around the place at work */
    bool give_up;
} Paper;

/* One store on paper. */
typedef struct {
    Expr *const *index;
    const ExprList *conds;
    VEC(ForStmt) loops; /* those that the store depends on, outermost first */
    VarValue *env;
} Writing;

static bool write_element(Paper *p, const Writing *w)
{
    int64_t at = 0;
    for (int i = 0; i < w->conds->n; i++) {
        int64_t truth;
        if (!expr_eval(w->conds->items[i], w->env, w->loops.n, &truth))
            return false;
        if (!truth)
            return true;
    }
    for (int d = 0; d < p->b->rank; d++) {
        int64_t i;
        if (!expr_eval(w->index[d], w->env, w->loops.n, &i) || i < 0 || i >= p->extent[d])
            return false;
        at = at * p->extent[d] + i;
    }
    p->missing -= !p->written[at];
    p->written[at] = true;
    return true;
}

static bool run_loops(Paper *p, const Writing *w, int depth)
{
    if (depth == w->loops.n)
        return write_element(p, w);
    const ForStmt *loop = &w->loops.items[depth];
    int64_t lo, hi;
    if (!expr_eval(loop->lo, w->env, depth, &lo) || !expr_eval(loop->hi, w->env, depth, &hi))
        return false;
    w->env[depth].var = loop->var;
    for (int64_t v = lo; loop->step > 0 ? v < hi : v >= hi; v += loop->step) {
        w->env[depth].value = v;
        if (++p->steps > MAX_STEPS || !run_loops(p, w, depth + 1))
            return false;
    }
    return true;
}

/* Does the store depend on the loop, itself or through the bounds of the loops inside it? */
static bool matters(const Paper *p, const Writing *w, int loop)
{
    const Var *var = p->loops.items[loop].var;
    for (int d = 0; d < p->b->rank; d++)
        if (expr_uses_var(w->index[d], var))
            return true;
    for (int i = 0; i < w->conds->n; i++)
        if (expr_uses_var(w->conds->items[i], var))
            return true;
    for (int i = loop + 1; i < p->loops.n; i++)
        if (loop_uses_var(&p->loops.items[i], var))
            return true;
    return false;
}

/* The loop of a subscript that goes through all of the box there, -1 if it does not. */
static int loop_through(const Paper *p, const Writing *w, int d)
{
    for (int i = 0; i < w->loops.n; i++) {
        const ForStmt *loop = &w->loops.items[i];
        if (w->index[d]->kind == EX_VAR && w->index[d]->u.var == loop->var &&
            loop_counts_from_zero(loop) && expr_is(loop->hi, p->extent[d]))
            return i;
    }
    return -1;
}

/* Each subscript is a loop of its own through all of the box, and there are no other loops and
 * conditions: it fills the box. */
static bool fills_box(const Paper *p, const Writing *w)
{
    if (w->conds->n > 0 || w->loops.n != p->b->rank)
        return false;
    for (int d = 0; d < p->b->rank; d++) {
        int loop = loop_through(p, w, d);
        for (int before = 0; before < d; before++)
            if (loop_through(p, w, before) == loop)
                return false;
        if (loop < 0)
            return false;
    }
    return true;
}

static bool run_on_paper(Paper *p, Expr *const *index, const ExprList *conds)
{
    Writing w = {.index = index, .conds = conds};
    for (int i = 0; i < p->loops.n; i++) {
        int64_t extent;
        bool runs = loop_const_extent(&p->loops.items[i], &extent) && extent > 0;
        if (!runs || matters(p, &w, i))
            VEC_PUSH(p->c->arena, &w.loops, p->loops.items[i]);
    }
    if (fills_box(p, &w)) {
        p->missing = 0;
        return true;
    }
    w.env = ARENA_ARRAY(p->c->arena, VarValue, w.loops.n + 1);
    return run_loops(p, &w, 0);
}

/* Is the iterator a whole subscript of `store`, its domain at least the buffer's extent there? */
static bool domain_is_shape(Paper *p, const BlockIter *iter, const Stmt *store)
{
    for (int d = 0; d < p->b->rank; d++) {
        const Expr *e = store->u.store.index[d];
        if (e->kind == EX_VAR && e->u.var == iter->var &&
            prove(p->facts,
                  expr_binary(p->c, EX_LE, iter->lo, expr_index(p->c, 0), iter->lo->span)) &&
            prove(p->facts, expr_binary(p->c, EX_GE, iter->hi, p->b->shape[d], iter->hi->span)))
            return true;
    }
    return false;
}

static void add_condition(Paper *p, ExprList *conds, Expr *cond)
{
    if (!prove(p->facts, cond))
        VEC_PUSH(p->c->arena, conds, simplify(p->facts, cond));
}

static void write_block(Paper *p, const Stmt *s)
{
    Context *c = p->c;
    const BlockStmt *block = &s->u.block;
    const Stmt *store = stmt_written_out(c, block->body);
    if (!store || store->u.store.buffer != p->b ||
        store->u.store.op != STORE_SET) /* conditional or several stores: not counted */
        return;
    ExprList conds = {0}, domains = {0};
    for (int i = 0; i < p->conds.n; i++)
        add_condition(p, &conds, p->conds.items[i]);
    if (block->predicate)
        add_condition(p, &conds, block->predicate);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (domain_is_shape(p, iter, store))
            continue;
        iter_add_domain(c, block, iter, &domains);
    }
    for (int i = 0; i < domains.n; i++)
        add_condition(p, &conds, domains.items[i]);
    Expr **index = ARENA_ARRAY(c->arena, Expr *, p->b->rank + 1);
    for (int d = 0; d < p->b->rank; d++) {
        Expr *at = iters_to_loops(c, block, store->u.store.index[d]);
        index[d] = simplify(p->facts, index_sub(c, at, p->box[d].min));
    }
    if (!run_on_paper(p, index, &conds))
        p->give_up = true;
}

static void write_block_within(Paper *p, const Stmt *s, const EnclosingList *path)
{
    StmtList around = enclosing_loops(p->c, path);
    FactsMark mark = facts_mark(p->facts);
    int loops = p->loops.n;
    for (int i = 0; i < around.n; i++) {
        facts_enter(p->facts, around.items[i]);
        if (!p->keep_threads || around.items[i]->u.loop.kind != LOOP_BIND)
            VEC_PUSH(p->c->arena, &p->loops, around.items[i]->u.loop);
    }
    p->conds = enclosing_conds(p->c, path);
    write_block(p, s);
    p->loops.n = loops;
    facts_reset(p->facts, mark);
}

/* Statements under a condition with two branches are not counted. */
static void write_item(Paper *p, const Stmt *item)
{
    for (Cursor at = cursor_with_path(cursor_outer(p->c, item), NULL); cursor_next(&at);)
        if (at.stmt->kind == ST_IF && at.stmt->u.cond.otherwise)
            cursor_prune(&at);
        else if (at.stmt->kind == ST_BLOCK)
            write_block_within(p, at.stmt, &at.path);
}

static bool prepare(Paper *p, Interval *box)
{
    int64_t size = 1;
    p->box = box;
    p->extent = ARENA_ARRAY(p->c->arena, int64_t, p->b->rank + 1);
    for (int d = 0; d < p->b->rank; d++)
        if (!expr_is_const(simplify(p->facts, box[d].extent), &p->extent[d]) || p->extent[d] < 1 ||
            !checked_mul(size, p->extent[d], &size) || size > MAX_ELEMENTS)
            return false;
    p->written = ARENA_ARRAY(p->c->arena, bool, size);
    p->missing = size;
    return true;
}

bool reads_own_writes(Context *c, Stmt *const *path, int n, int root, const Buffer *b)
{
    Stmt *s = path[n - 1];
    Paper p = {.c = c, .b = b, .facts = facts_new(c), .keep_threads = b->scope == SCOPE_LOCAL};
    for (int i = 0; i + 1 < n; i++)
        if (path[i]->kind == ST_FOR || (path[i]->kind == ST_IF && !path[i]->u.cond.otherwise))
            facts_enter(p.facts, path[i]);
    if (p.keep_threads) {
        axis_facts(p.facts, c, s);
        s = bound_to_axes(c, s, b->scope);
    }
    Stmt *whole = s;
    for (int i = n - 2; i >= root && !p.keep_threads; i--)
        if (path[i]->kind == ST_FOR && path[i]->u.loop.kind == LOOP_BIND &&
            axis_is_thread(path[i]->u.loop.axis)) {
            whole = loop_with_body(c, path[i], whole);
            ForStmt loop = path[i]->u.loop;
            VEC_PUSH(c->arena, &p.loops, loop);
        }
    for (int i = 0, j = p.loops.n - 1; i < j; i++, j--) { /* outermost first */
        ForStmt loop = p.loops.items[i];
        p.loops.items[i] = p.loops.items[j];
        p.loops.items[j] = loop;
    }
    if (!stmt_accesses(c, s, b, ACCESS_READ))
        return true;
    while (s->kind == ST_FOR && s->u.loop.kind == LOOP_BIND) {
        facts_enter(p.facts, s);
        if (!p.keep_threads)
            VEC_PUSH(c->arena, &p.loops, s->u.loop);
        s = s->u.loop.body;
    }
    Interval *box = ARENA_ARRAY(c->arena, Interval, b->rank + 1);
    if (s->kind != ST_SEQ || !region_touched(p.facts, whole, b, ACCESS_ANY, box) ||
        !prepare(&p, box))
        return false;
    for (int i = 0; i < s->u.seq.n && p.missing > 0 && !p.give_up; i++) {
        if (stmt_accesses(c, s->u.seq.items[i], b, ACCESS_READ))
            return false;
        write_item(&p, s->u.seq.items[i]);
    }
    return p.missing == 0 && !p.give_up;
}
