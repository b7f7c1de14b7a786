/* slice.c - Restricts a reference to some of its elements.
 *
 *   for i in M, j in N {                 for i in M if (C_need_0[i] != 0)
 *       C[i, j] = 0;                         for j in N if (C_need_1[j] != 0) {
 *       for k in K              =>               C[i, j] = 0;
 *           C[i, j] += ...;                      for k in K C[i, j] += ...;
 *   }                                        }
 *
 * The wanted elements are the product of one set of indices per axis. A nest can skip other
 * elements if all its stores go to one buffer, with a separate loop as each subscript, and it reads
 * that buffer nowhere else. Stores to a temp that an iteration declares do not count: no other
 * iteration sees them. Wanted sets propagate from a nest to the buffers that it reads: the
 * same indices along an axis that it subscripts with a guarded loop, all indices along other axes.
 * The propagation runs first, from the last nest backwards, and the sets only grow, so every
 * element that a wanted one depends on is computed. */
#include "ir/implied.h"
#include "passes/lower/reference/reference.h"

/* ---- which loops are axes ------------------------------------------------------------------ */

static const Guard *guard_of(const RefBuilder *b, const Var *var)
{
    for (int i = b->guards.n - 1; i >= 0; i--)
        if (b->guards.items[i].var == var)
            return &b->guards.items[i];
    return NULL;
}

/* Is every subscript the loop of its axis? */
static bool has_axis_loops(const RefBuilder *b, const Twin *t, Expr *const *index)
{
    for (int i = 0; i < t->from->rank; i++) {
        const Guard *g = index[i]->kind == EX_VAR ? guard_of(b, index[i]->u.var) : NULL;
        if (!g || g->twin != t || g->axis != i)
            return false;
    }
    return true;
}

/* A store below `s` to what outlives it. */
static bool stores_outside(Context *c, const Stmt *store, const Stmt *s)
{
    return store->kind == ST_STORE && !stmt_declares(c, s, store->u.store.buffer);
}

/* The buffer that every store of the item goes to; NULL where there are several, or it may be
 * unsure. */
static Twin *target_of(RefBuilder *b, const Stmt *item)
{
    Twin *target = NULL;
    for (Cursor at = cursor_stmts(b->c, item); cursor_next(&at);)
        if (stores_outside(b->c, at.stmt, item)) {
            Twin *t = ref_twin(b, at.stmt->u.store.buffer);
            if (t->unsure || (target && target != t))
                return NULL;
            target = t;
        }
    return target;
}

static int subscript_that_is(const Stmt *store, const Var *var)
{
    for (int i = 0; i < store->u.store.buffer->rank; i++) {
        const Expr *at = store->u.store.index[i];
        if (expr_is_var(at, var))
            return i;
    }
    return -1;
}

/* The axis of the target that the loop runs along in every store below it; -1 if there is none. */
static int axis_of_loop(Context *c, const Twin *target, const ForStmt *loop)
{
    int axis = -1;
    for (Cursor at = cursor_stmts(c, loop->body); cursor_next(&at);)
        if (stores_outside(c, at.stmt, loop->body)) {
            bool to_target = at.stmt->u.store.buffer->id == target->from->id;
            int here = to_target ? subscript_that_is(at.stmt, loop->var) : -1;
            if (here < 0 || (axis >= 0 && here != axis))
                return -1;
            axis = here;
        }
    return axis;
}

/* All accesses of the target in the item, whose stores go to nothing else that outlives it. */
static bool all_by_axis_loops(RefBuilder *b, const Twin *target, const Stmt *item)
{
    for (Cursor at = cursor_stmt(b->c, item); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        const Expr *e = at.expr;
        if (s && stores_outside(b->c, s, item) && !has_axis_loops(b, target, s->u.store.index))
            return false;
        if (e && expr_is_load(e, target->from) && !has_axis_loops(b, target, e->u.load.index))
            return false;
    }
    return true;
}

/* The guards of an item's loops, or none. */
static void find_guards(RefBuilder *b, const Stmt *item)
{
    int first = b->guards.n;
    Twin *target = target_of(b, item);
    for (Cursor at = cursor_stmts(b->c, item); target && cursor_next(&at);) {
        int axis = at.stmt->kind == ST_FOR ? axis_of_loop(b->c, target, &at.stmt->u.loop) : -1;
        if (axis >= 0)
            VEC_PUSH(b->c->arena, &b->guards, ((Guard){at.stmt->u.loop.var, target, axis}));
    }
    if (target && !all_by_axis_loops(b, target, item))
        b->guards.n = first;
}

/* ---- marking ------------------------------------------------------------------------------- */

void ref_make_needs(RefBuilder *b)
{
    for (int i = 0; i < b->twins.n; i++) {
        Twin *t = &b->twins.items[i];
        if (t->from->role == ROLE_IN)
            continue;
        t->need = ARENA_ARRAY(b->c->arena, Buffer *, t->from->rank + 1);
        for (int k = 0; k < t->from->rank; k++)
            t->need[k] = ref_part(b, &(PartOf){t->from, PART_NEED, k});
    }
}

static Expr *is_wanted(RefBuilder *b, Buffer *need, Expr *at)
{
    return expr_binary(b->c, EX_NE, expr_load(b->c, need, &at, span_none()),
                       expr_int(b->c, DT_U8, 0, span_none()), span_none());
}

typedef struct {
    Buffer *need;
    Expr *extent;
    Buffer *wanted;
    int value;
} NeedMark;

/* need[v] = value for all v < extent where `wanted`, if there is one, is wanted at v. */
static void mark(RefBuilder *b, StmtList *out, const NeedMark *m)
{
    Context *c = b->c;
    Var *var = var_new(c, names_fresh(&b->names, "q"), DT_INDEX, VAR_LOOP, span_none());
    Expr *at = expr_var(c, var, span_none());
    Stmt *body = stmt_set(c, (BufferElement){m->need, &at},
                          expr_int(c, DT_U8, m->value, span_none()), span_none());
    if (m->wanted)
        body = stmt_if(c, is_wanted(b, m->wanted, at), body, NULL, span_none());
    ForStmt loop = {.var = var,
                    .lo = expr_index(c, 0),
                    .hi = m->extent,
                    .step = 1,
                    .kind = LOOP_SERIAL,
                    .axis = AXIS_NONE,
                    .id = ctx_new_id(c),
                    .body = body};
    VEC_PUSH(c->arena, out, stmt_for(c, &loop, span_none()));
}

typedef struct {
    RefBuilder *b;
    StmtList *out;
} Marking;

static void mark_axis(Marking *m, Twin *t, int axis, const Expr *at)
{
    RefBuilder *b = m->b;
    const Guard *g = at->kind == EX_VAR ? guard_of(b, at->u.var) : NULL;
    Expr *extent = t->from->shape[axis];
    unsigned bit = 1u << (axis & 31);
    if ((t->all_needed & bit) || (g && g->twin == t && g->axis == axis))
        return;
    if (!g) {
        t->all_needed |= bit;
        mark(b, m->out, &(NeedMark){.need = t->need[axis], .extent = extent, .value = 1});
        return;
    }
    Expr *other = g->twin->from->shape[g->axis];
    if (!expr_equal(other, extent))
        extent = index_min(b->c, other, extent);
    mark(
        b, m->out,
        &(NeedMark){
            .need = t->need[axis], .extent = extent, .wanted = g->twin->need[g->axis], .value = 1});
}

void ref_mark_needs(RefBuilder *b, Stmt *const *items, int n, StmtList *out)
{
    for (int i = 0; i < b->twins.n; i++)
        for (int k = 0; b->twins.items[i].need && k < b->twins.items[i].from->rank; k++)
            if (b->twins.items[i].from->role == ROLE_TEMP)
                mark(b, out,
                     &(NeedMark){.need = b->twins.items[i].need[k],
                                 .extent = b->twins.items[i].from->shape[k]});
    for (int i = n - 1; i >= 0; i--) {
        find_guards(b, items[i]);
        Marking m = {b, out};
        for (Cursor at = cursor_stmt(b->c, items[i]); cursor_next(&at);) {
            if (!at.expr || at.expr->kind != EX_LOAD)
                continue;
            Twin *t = ref_twin(b, at.expr->u.load.buffer);
            for (int axis = 0; t->need && axis < t->from->rank; axis++)
                mark_axis(&m, t, axis, at.expr->u.load.index[axis]);
        }
    }
}

/* ---- guarding ------------------------------------------------------------------------------ */

/* Does the loop run over 0..extent, as it stands there? */
static bool is_whole_axis(const ForStmt *loop, const Expr *extent)
{
    int64_t lo;
    return expr_is_const(loop->lo, &lo) && lo >= 0 && loop->step > 0 &&
           expr_equal(loop->hi, extent);
}

/* A loop may go beyond the axis where a condition in it keeps the stores inside. */
static Stmt *inside_axis(Context *c, Expr *at, Expr *extent, Stmt *body)
{
    Span none = span_none();
    Expr *inside = expr_binary(c, EX_AND, expr_binary(c, EX_GE, at, expr_index(c, 0), none),
                               expr_binary(c, EX_LT, at, extent, none), none);
    return stmt_if(c, inside, body, NULL, body->span);
}

static Stmt *guard_loop(Rewriter *r, Stmt *s)
{
    RefBuilder *b = r->user;
    const Guard *g = s->kind == ST_FOR ? guard_of(b, s->u.loop.var) : NULL;
    if (!g)
        return s;
    ForStmt loop = s->u.loop;
    Expr *at = expr_var(b->c, loop.var, loop.var->span);
    Expr *extent = g->twin->from->shape[g->axis];
    loop.body = stmt_if(b->c, is_wanted(b, g->twin->need[g->axis], at), loop.body, NULL, s->span);
    if (!is_whole_axis(&loop, extent))
        loop.body = inside_axis(b->c, at, extent, loop.body);
    return stmt_for(b->c, &loop, s->span);
}

Stmt *ref_slice(RefBuilder *b, Stmt *item)
{
    return rewrite_stmt(&(Rewriter){.ctx = b->c, .user = b, .stmt = guard_loop}, item);
}

/* ---- how much work ------------------------------------------------------------------------- */

enum { UNKNOWN_ITERATIONS = 64 };

typedef struct {
    Context *c;
    VarValues env;
    int64_t wanted;
} Work;

static double work_of(Work *w, const Stmt *s);

static double work_of_loop(Work *w, const ForStmt *loop)
{
    int64_t lo = 0, hi = UNKNOWN_ITERATIONS;
    if (loop->kind == LOOP_BREAKS || !expr_eval(loop->lo, w->env.items, w->env.n, &lo) ||
        !expr_eval(loop->hi, w->env.items, w->env.n, &hi)) {
        lo = 0;
        hi = UNKNOWN_ITERATIONS;
    }
    double extent = ((double)hi - (double)lo) / (double)loop->step;
    if (extent < 1)
        return 1;
    VarValue middle = {loop->var, lo + (hi - lo) / 2};
    VEC_PUSH(w->c->arena, &w->env, middle);
    double body = work_of(w, loop->body), runs = extent;
    w->env.n--;
    if (loop_if_needed(loop) && runs > (double)w->wanted)
        runs = (double)w->wanted;
    return runs * body + 0.1 * extent;
}

static double work_of(Work *w, const Stmt *s)
{
    double sum = 0;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            sum += work_of(w, s->u.seq.items[i]);
        return sum;
    case ST_FOR: return work_of_loop(w, &s->u.loop);
    case ST_IF:
        return work_of(w, s->u.cond.then) +
               (s->u.cond.otherwise ? work_of(w, s->u.cond.otherwise) : 0);
    case ST_BLOCK: return work_of(w, s->u.block.body);
    case ST_STORE: return 1;
    default: return 0.2;
    }
}

double reference_work(Context *c, const Kernel *reference, const int64_t *sizes, int64_t wanted)
{
    Work w = {.c = c, .wanted = wanted, .env = size_values(c, reference, sizes)};
    return work_of(&w, reference->body);
}
