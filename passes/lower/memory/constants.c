/* constants.c - Lowers buffers in constant memory: finds what they are copies of, and checks their
 * reads.
 *
 *   temp c: f32[8] in constant;                  temp c: f32[8] in constant of(coef);
 *   for i in 8                          =>       for j in 1024 bind blockIdx.x
 *       c[i] = coef[i];                              y[j] = c[0] * x[j] + ...
 *   for j in 1024 bind blockIdx.x
 *       y[j] = c[0] * x[j] + ...
 *
 * A launch cannot write constant memory. Writes of the program to such a buffer go to a buffer in
 * global memory, which the host copies to constant memory before each launch that reads it. If the
 * program only copies an input, the constant buffer becomes a copy of that input, and the loop
 * disappears. A buffer that nothing reads, or nothing writes, needs no copy: it moves to global
 * memory.
 *
 * Constant memory serves one element per cycle to all lanes of a warp, so reads of different
 * elements are serialized. check_constants warns of those, with the lanes. */
#include "passes/lower/pass.h"

enum { WARP = 32 };

/* ---- which temps, and who uses them ---------------------------------------------------------- */

typedef struct {
    Context *c;
    const Kernel *kernel;
    Stmt *body;
    Names names;
} Constants;

typedef struct {
    const Stmt *write; /* the last store */
    const Expr *read;  /* the last load */
    int writes;
} Use;

static Use uses_of(Context *c, const Stmt *s, const Buffer *b)
{
    Use u = {0};
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);)
        if (at.stmt && at.stmt->kind == ST_STORE && at.stmt->u.store.buffer->id == b->id) {
            u.write = at.stmt;
            u.writes++;
        } else if (at.expr && expr_is_load(at.expr, b)) {
            u.read = at.expr;
        }
    return u;
}

/* No launch both writes and reads it. */
static Stmt *check_root(LaunchWalk *w, Stmt *s)
{
    const Buffer *b = w->user;
    Use u = uses_of(w->c, s, b);
    if (!u.write || !u.read)
        return s;
    diag_error(w->c, E0804, buffer_span(b),
               "'%s' is in constant memory, which does not change during a launch, but one launch "
               "would write and read it; give the loops that write it a launch of their own, or "
               "choose global or shared memory",
               b->name);
    diag_note(w->c, u.write->span, "it is written here");
    diag_note(w->c, u.read->span, "it is read here");
    return NULL;
}

static bool require_literal_size(Constants *k, const Buffer *b)
{
    int64_t elements, *strides = ARENA_ARRAY(k->c->arena, int64_t, b->rank + 1);
    if (buffer_strides(b, strides, &elements))
        return true;
    diag_error(k->c, E0803, buffer_span(b),
               "'%s' is in constant memory, which needs constant sizes, but its shape is symbolic; "
               "set the sizes with -D, or keep the buffer in global memory",
               b->name);
    return false;
}

/* ---- what it is a copy of -------------------------------------------------------------------- */

/* The block is  b[i, j] = from[i, j]  over the whole of b. */
static bool copies_whole(const BlockStmt *block, const Stmt *store)
{
    const Buffer *b = store->u.store.buffer;
    const Expr *value = store->u.store.value;
    if (block->predicate || block->init || store->u.store.op != STORE_SET || value->kind != EX_LOAD)
        return false;
    const Buffer *from = value->u.load.buffer;
    if (from->role != ROLE_IN || from->rank != b->rank || from->type != b->type)
        return false;
    for (int axis = 0; axis < b->rank; axis++) {
        const Expr *at = store->u.store.index[axis];
        const BlockIter *iter = at->kind == EX_VAR ? block_iter(block, at->u.var) : NULL;
        int64_t lo;
        for (int before = 0; before < axis; before++)
            if (expr_equal(at, store->u.store.index[before]))
                return false;
        if (!iter || !expr_equal(at, value->u.load.index[axis]) || !expr_is_const(iter->lo, &lo) ||
            lo != 0 || !expr_equal(iter->hi, b->shape[axis]) ||
            !expr_equal(from->shape[axis], b->shape[axis]))
            return false;
    }
    return true;
}

/* The block that copies a whole input to `b`, if nothing else writes `b`; NULL if there is none. */
static const BlockStmt *block_that_copies(Context *c, const Stmt *body, const Buffer *b)
{
    if (uses_of(c, body, b).writes != 1)
        return NULL;
    for (Cursor at = cursor_outer(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK && uses_of(c, at.stmt, b).write) {
            const Stmt *store = stmt_single_store(at.stmt->u.block.body);
            return store && copies_whole(&at.stmt->u.block, store) ? &at.stmt->u.block : NULL;
        }
    return NULL;
}

typedef struct {
    Context *c;
    uint32_t block;
} Without;

/* Without the block, and loops that hold nothing else. */
static Stmt *without_block(void *user, Stmt *s)
{
    Without *w = user;
    if (s->kind == ST_BLOCK)
        return s->u.block.id == w->block ? NULL : s;
    return stmt_map_children(w->c, s, without_block, w);
}

/* ---- apart: the buffer that is written, and its copy ----------------------------------------- */

typedef struct {
    const Buffer *old;
    Buffer *written; /* NULL: nothing writes it any more */
    Buffer *copy;
} Apart;

static Expr *apart_load(Rewriter *r, Expr *e)
{
    Apart *a = r->user;
    if (!expr_is_load(e, a->old))
        return e;
    Expr *load = expr_load(r->ctx, a->copy, e->u.load.index, e->span);
    load->step = e->step;
    return load;
}

static Stmt *apart_stmt(Rewriter *r, Stmt *s)
{
    Apart *a = r->user;
    if (s->kind == ST_STORE && s->u.store.buffer->id == a->old->id)
        return stmt_store_like(r->ctx, s, a->written, s->u.store.index, s->u.store.value);
    if (s->kind != ST_TEMP || s->u.temp->id != a->old->id)
        return s;
    Stmt *copy = stmt_stamp(stmt_temp(r->ctx, a->copy, s->span), s);
    return a->written
               ? stmt_then(r->ctx, stmt_stamp(stmt_temp(r->ctx, a->written, s->span), s), copy)
               : copy;
}

/* Its declaration may stand in a launch, where the host cannot copy it. */
static void keep_global(Constants *k, const Buffer *b)
{
    Buffer *moved = buffer_copy(k->c, b);
    moved->scope = SCOPE_GLOBAL;
    k->body = stmt_replace_buffer(k->c, k->body, b, moved);
}

static void take_apart(Constants *k, const Buffer *b)
{
    Context *c = k->c;
    Apart a = {.old = b, .copy = buffer_copy(c, b)};
    const BlockStmt *block = block_that_copies(c, k->body, b);
    if (block) {
        Without without = {c, block->id};
        Stmt *rest = without_block(&without, k->body);
        k->body = rest ? rest : stmt_empty(c, k->body->span);
        a.copy->copy_of = stmt_single_store(block->body)->u.store.value->u.load.buffer;
    } else {
        a.written = buffer_copy(c, b);
        a.written->id = ctx_new_id(c);
        a.written->scope = SCOPE_GLOBAL;
        a.written->name = names_fresh(&k->names, ctx_namef(c, "%s_source", b->name));
        a.copy->copy_of = a.written;
    }
    Rewriter r = {.ctx = c, .user = &a, .expr = apart_load, .stmt = apart_stmt};
    k->body = rewrite_stmt(&r, k->body);
}

/* The next buffer in constant memory that is not said to be a copy, or NULL. Copies of
 * inputs come first: the loops that fill them go away, which can make one launch of two. */
static const Buffer *next_constant(Context *c, const Stmt *body)
{
    const Buffer *written = NULL;
    for (Cursor at = cursor_outer(c, body); cursor_next(&at);) {
        const Buffer *b = at.stmt->kind == ST_TEMP ? at.stmt->u.temp : NULL;
        if (!b || b->scope != SCOPE_CONSTANT || b->copy_of)
            continue;
        if (block_that_copies(c, body, b))
            return b;
        if (!written)
            written = b;
    }
    return written;
}

static bool place(Constants *k, const Buffer *b)
{
    LaunchWalk w = {.c = k->c,
                    .kernel = k->kernel,
                    .facts = facts_of_kernel(k->c, k->kernel),
                    .user = (void *)b,
                    .root = check_root};
    if (!require_literal_size(k, b) || !launch_roots_map(&w, k->body))
        return false;
    Use u = uses_of(k->c, k->body, b);
    if (u.write && u.read)
        take_apart(k, b);
    else
        keep_global(k, b);
    return true;
}

Kernel *pass_place_constants(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Constants k = {
        .c = c, .kernel = kernel, .body = kernel->body, .names = names_of_kernel(c, kernel)};
    for (const Buffer *b; (b = next_constant(c, k.body)) != NULL;)
        if (!place(&k, b))
            return NULL;
    return kernel_with_body(c, kernel, k.body);
}

/* ---- reads ----------------------------------------------------------------------------------- */

/* The variables that a place of a launch sees, in terms of axes and of loops that all lanes run
 * alike. */
typedef struct {
    Context *c;
    const LaunchStmt *launch;
    SubstList values;
    Facts *facts;
} Lanes;

static bool uses_thread(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_AXIS && axis_is_thread(at.expr->u.axis))
            return true;
    return false;
}

static Expr *in_axes(const Lanes *l, Expr *e)
{
    return expr_subst(l->c, e, l->values.items, l->values.n);
}

/* The expression for lane `lane` of the block, with literal threadIdx. */
static Expr *at_lane(const Lanes *l, Expr *e, int64_t lane)
{
    for (int d = 0; d < 3; d++) {
        int64_t at = lane % l->launch->block[d];
        lane /= l->launch->block[d];
        e = expr_replace_axis(l->c, e, (Axis)(AXIS_THREAD_X + d), expr_index(l->c, at));
    }
    return simplify(l->facts, e);
}

/* The elements that the lanes of a warp ask for. */
typedef struct {
    int n;                 /* different ones */
    Expr **first, **other; /* [rank] the one of lane 0, and one that differs */
    int lane;              /* which asks for the latter */
} Asked;

static Asked asked_by_warp(const Lanes *l, const Buffer *b, Expr *const *index, int64_t warp,
                           int64_t threads)
{
    Asked asked = {0};
    Expr **seen[WARP];
    for (int lane = 0; lane < WARP && warp * WARP + lane < threads; lane++) {
        Expr **now = ARENA_ARRAY(l->c->arena, Expr *, b->rank + 1);
        for (int i = 0; i < b->rank; i++)
            now[i] = at_lane(l, index[i], warp * WARP + lane);
        bool known = false;
        for (int i = 0; i < asked.n && !known; i++)
            known = exprs_equal(seen[i], now, b->rank);
        if (known)
            continue;
        if (asked.n == 1) {
            asked.other = now;
            asked.lane = lane;
        }
        seen[asked.n++] = now;
    }
    asked.first = seen[0];
    return asked;
}

static const char *element_text(Context *c, Buffer *b, Expr *const *index)
{
    return expr_text(c, expr_load(c, b, index, span_none()));
}

static void check_read(const Lanes *l, const Expr *load)
{
    Buffer *b = load->u.load.buffer;
    Expr **index = ARENA_ARRAY(l->c->arena, Expr *, b->rank + 1);
    int64_t threads = l->launch->block[0] * l->launch->block[1] * l->launch->block[2];
    bool differs = false;
    for (int i = 0; i < b->rank; i++) {
        index[i] = in_axes(l, load->u.load.index[i]);
        differs |= uses_thread(l->c, index[i]);
    }
    for (int64_t warp = 0; differs && warp * WARP < threads; warp++) {
        Asked asked = asked_by_warp(l, b, index, warp, threads);
        if (asked.n <= 1)
            continue;
        diag_warning(l->c, E0805, load->span,
                     "lanes of a warp read %d different elements of '%s': lane 0 %s, lane %d %s; "
                     "constant memory serves one element at a time, so this read takes %d times as "
                     "long as a uniform one; keep the buffer in global or shared memory, or make "
                     "the subscript independent of threadIdx",
                     asked.n, b->name, element_text(l->c, b, asked.first), asked.lane,
                     element_text(l->c, b, asked.other), asked.n);
        return;
    }
}

/* A loop that starts at another value in each thread: its variable is that plus what all threads
 * have in common. */
static void enter_loop(Lanes *l, const ForStmt *loop)
{
    Expr *lo = in_axes(l, loop->lo);
    if (!uses_thread(l->c, lo))
        return;
    Expr *here = expr_binary(l->c, EX_ADD, lo, expr_var(l->c, loop->var, span_none()), span_none());
    VEC_PUSH(l->c->arena, &l->values, ((Subst){loop->var, here}));
}

static void check_launch(Context *c, const LaunchStmt *launch)
{
    Lanes l = {.c = c, .launch = launch, .facts = facts_new(c)};
    for (Cursor at = cursor_stmt(c, launch->body); cursor_next(&at);)
        if (at.stmt && at.stmt->kind == ST_FOR)
            enter_loop(&l, &at.stmt->u.loop);
        else if (at.stmt && at.stmt->kind == ST_LET)
            VEC_PUSH(c->arena, &l.values,
                     ((Subst){at.stmt->u.let.var, in_axes(&l, at.stmt->u.let.value)}));
        else if (at.expr && at.expr->kind == EX_LOAD &&
                 at.expr->u.load.buffer->scope == SCOPE_CONSTANT)
            check_read(&l, at.expr);
}

bool check_constants(Context *c, const Kernel *lowered, const Limits *limits)
{
    StmtList temps = stmts_of_kind(c, lowered->body, ST_TEMP);
    int64_t bytes = 0;
    const Buffer *last = NULL;
    for (int i = 0; i < temps.n; i++)
        if (temps.items[i]->u.temp->scope == SCOPE_CONSTANT) {
            last = temps.items[i]->u.temp;
            if (!checked_add(bytes, buffer_bytes(c, last), &bytes))
                bytes = INT64_MAX / 2;
        }
    if (bytes > limits->max_constant) {
        diag_error(c, E0803, buffer_span(last),
                   "buffers in constant memory take %lld bytes, including '%s', but the limit is "
                   "%lld; keep the larger ones in global or shared memory",
                   (long long)bytes, last->name, (long long)limits->max_constant);
        return false;
    }
    StmtList launches = stmts_of_kind(c, lowered->body, ST_LAUNCH);
    for (int i = 0; last && i < launches.n; i++)
        check_launch(c, &launches.items[i]->u.launch);
    return true;
}
