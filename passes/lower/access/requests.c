/* requests.c - Enumerates the requests of all warps of a launch to a buffer, with the subscripts of
 * each lane. */
#include "passes/lower/access/requests.h"

/* The context of an access: loops, outermost first, conditions, values of names. */
typedef struct {
    Context *c;
    const LaunchStmt *launch;
    const Buffer *buffer;
    Var *axis[AXIS_COUNT]; /* stands for blockIdx.x ... threadIdx.z */
    StmtPath loops;
    ExprList conds;
    SubstList lets;
    BufferAccesses *out;
} Walk;

/* Names written out, axes as variables. */
static Expr *expanded(Walk *w, Expr *e)
{
    e = expr_expand(w->c, e, &w->lets);
    for (int a = 0; a < AXIS_COUNT; a++)
        e = expr_replace_axis(w->c, e, (Axis)a, expr_var(w->c, w->axis[a], span_none()));
    return e;
}

/* ---- one access ------------------------------------------------------------------------------ */

enum { DIMENSIONS_MAX = 24 };

/* The values that an access goes through: loops and block coordinates, then the axes of a
 * thread. */
typedef struct {
    Walk *walk;
    BufferAccess *access;
    Expr **index;                     /* [rank] */
    ExprList conds;                   /* that may be known */
    const Stmt *loop[DIMENSIONS_MAX]; /* NULL: a block coordinate */
    int n;
    VarValue env[DIMENSIONS_MAX + AXIS_COUNT];
} Enumeration;

static bool uses(const Enumeration *e, const Var *var)
{
    return exprs_use_var(e->index, e->walk->buffer->rank, var);
}

static void add_dimension(Enumeration *e, const Stmt *loop, const Var *var)
{
    if (e->n == DIMENSIONS_MAX) {
        e->access->known = false;
        return;
    }
    e->loop[e->n] = loop;
    e->env[e->n++] = (VarValue){var, 0};
}

/* Block coordinates, then loops from the outside in. A loop whose range uses another loop needs
 * that loop, too. */
static void find_dimensions(Enumeration *e)
{
    Walk *w = e->walk;
    bool *needed = ARENA_ARRAY(w->c->arena, bool, w->loops.n + 1);
    for (int i = w->loops.n - 1; i >= 0; i--) {
        const ForStmt *loop = &w->loops.items[i]->u.loop;
        needed[i] = uses(e, loop->var);
        for (int k = i + 1; k < w->loops.n; k++)
            needed[i] |= needed[k] && loop_uses_var(&w->loops.items[k]->u.loop, loop->var);
    }
    for (int a = AXIS_BLOCK_X; a <= AXIS_BLOCK_Z; a++)
        if (uses(e, w->axis[a]))
            add_dimension(e, NULL, w->axis[a]);
    for (int i = 0; i < w->loops.n; i++)
        if (needed[i])
            add_dimension(e, w->loops.items[i], w->loops.items[i]->u.loop.var);
}

static bool lane_active(const Enumeration *e, int n_env)
{
    int64_t truth;
    for (int i = 0; i < e->conds.n; i++)
        if (expr_eval(e->conds.items[i], e->env, n_env, &truth) && !truth)
            return false;
    return true;
}

/* The request of the warp whose first thread has this number. */
static void add_request(Enumeration *e, int64_t first)
{
    Walk *w = e->walk;
    int rank = w->buffer->rank, n = e->n;
    const int64_t *block = w->launch->block;
    int64_t *index = ARENA_ARRAY(w->c->arena, int64_t, WARP_LANES * rank + 1);
    Request request = {0, index};
    for (int lane = 0; lane < WARP_LANES && first + lane < block[0] * block[1] * block[2]; lane++) {
        int64_t thread = first + lane;
        e->env[n] = (VarValue){w->axis[AXIS_THREAD_X], thread % block[0]};
        e->env[n + 1] = (VarValue){w->axis[AXIS_THREAD_Y], thread / block[0] % block[1]};
        e->env[n + 2] = (VarValue){w->axis[AXIS_THREAD_Z], thread / block[0] / block[1]};
        if (!lane_active(e, n + 3))
            continue;
        request.active |= 1u << lane;
        for (int d = 0; d < rank; d++)
            if (!expr_eval(e->index[d], e->env, n + 3, &index[lane * rank + d]))
                e->access->known = false;
    }
    if (request.active)
        VEC_PUSH(w->c->arena, &e->access->requests, request);
}

/* All values of the dimensions from `at` on. */
static void enumerate(Enumeration *e, int at)
{
    Walk *w = e->walk;
    if (!e->access->known || e->access->requests.n >= REQUESTS_MAX) {
        e->access->complete = false;
        return;
    }
    if (at == e->n) {
        const int64_t *block = w->launch->block;
        for (int64_t first = 0; first < block[0] * block[1] * block[2]; first += WARP_LANES)
            add_request(e, first);
        return;
    }
    int64_t lo = 0, hi, step = 1;
    bool known;
    if (e->loop[at]) {
        const ForStmt *loop = &e->loop[at]->u.loop;
        step = loop->step;
        known = expr_eval(expanded(w, loop->lo), e->env, at, &lo) &&
                expr_eval(expanded(w, loop->hi), e->env, at, &hi);
    } else {
        int a = AXIS_BLOCK_X;
        while (w->axis[a] != e->env[at].var)
            a++;
        known = expr_is_const(w->launch->grid[a], &hi);
    }
    e->access->known = known;
    for (int64_t v = lo; known && (step > 0 ? v < hi : v >= hi); v += step) {
        e->env[at].value = v;
        enumerate(e, at + 1);
        if (e->access->requests.n >= REQUESTS_MAX)
            break;
    }
}

static void add_access(Walk *w, Expr *const *index, Span span, bool is_store)
{
    BufferAccess access = {
        .span = span, .is_store = is_store, .lanes = 1, .known = true, .complete = true};
    Enumeration e = {.walk = w, .access = &access};
    e.index = ARENA_ARRAY(w->c->arena, Expr *, w->buffer->rank + 1);
    const ForStmt *last = w->loops.n ? &w->loops.items[w->loops.n - 1]->u.loop : NULL;
    for (int d = 0; d < w->buffer->rank; d++) {
        e.index[d] = expanded(w, index[d]);
        if (last && last->kind == LOOP_VECTORIZE && expr_uses_var(e.index[d], last->var)) {
            int64_t lanes = 1;
            Subst first = {last->var, last->lo};
            e.index[d] = expr_subst(w->c, e.index[d], &first, 1);
            loop_const_extent(last, &lanes);
            access.lanes = (int)lanes;
        }
    }
    for (int i = 0; i < w->conds.n; i++)
        VEC_PUSH(w->c->arena, &e.conds, expanded(w, w->conds.items[i]));
    find_dimensions(&e);
    enumerate(&e, 0);
    VEC_PUSH(w->c->arena, w->out, access);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void note_enclosing(Walk *w, const EnclosingList *path)
{
    w->loops = enclosing_loops(w->c, path);
    w->conds = enclosing_conds(w->c, path);
    w->lets.n = 0;
    for (int i = 0; i < path->n; i++)
        if (path->items[i].stmt->kind == ST_LET) {
            Subst to = {path->items[i].stmt->u.let.var, path->items[i].stmt->u.let.value};
            VEC_PUSH(w->c->arena, &w->lets, to);
        }
}

void requests_of(Context *c, const Stmt *launch, const Buffer *buffer, BufferAccesses *out)
{
    Walk w = {.c = c, .launch = &launch->u.launch, .buffer = buffer, .out = out};
    for (int a = 0; a < AXIS_COUNT; a++)
        w.axis[a] = var_new(c, axis_name((Axis)a), DT_INDEX, VAR_LET, span_none());
    for (Cursor at = cursor_with_path(cursor_stmt(c, launch->u.launch.body), NULL);
         cursor_next(&at);) {
        const Stmt *s = at.stmt;
        const Expr *e = at.expr;
        bool store = s && s->kind == ST_STORE && s->u.store.buffer == buffer,
             load = e && e->kind == EX_LOAD && e->u.load.buffer == buffer;
        if (!store && !load)
            continue;
        note_enclosing(&w, &at.path);
        add_access(&w, store ? s->u.store.index : e->u.load.index, store ? s->span : e->span,
                   store);
    }
}

void request_addresses(const Buffer *buffer, const int64_t *strides, const BufferAccess *access,
                       const Request *request, WarpAccess *out)
{
    int bytes = type_bytes(buffer->type);
    *out = (WarpAccess){
        .active = request->active, .bytes = bytes * access->lanes, .writes = access->is_store};
    for (int lane = 0; lane < WARP_LANES; lane++)
        if (request->active & (1u << lane))
            out->address[lane] =
                buffer_offset(buffer, strides, &request->index[lane * buffer->rank]) * bytes;
}
