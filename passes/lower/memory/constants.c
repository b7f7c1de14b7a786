/* constants.c - buffers in constant memory: what they are copies of, and how they are read.
 *
 *   temp c: f32[8] in constant;                  temp c: f32[8] in constant of(coef);
 *   for i in 8                          =>       for j in 1024 bind blockIdx.x
 *       c[i] = coef[i];                              y[j] = c[0] * x[j] + ...
 *   for j in 1024 bind blockIdx.x
 *       y[j] = c[0] * x[j] + ...
 *
 * A launch cannot write constant memory. What the program writes to such a buffer goes to a buffer
 * in global memory, and the constant one is a copy of it, which the host makes before each launch
 * that reads it. Where the program does nothing but copy an input, the constant buffer is a copy of
 * that input, and the loop is gone.
 *
 * Constant memory gives one element a cycle to all lanes of a warp: a read in which lanes ask for
 * different elements is served one after the other. check_constants warns of those, with the
 * lanes. */
#include "passes/lower/pass.h"

enum { WARP = 32 };

static Span buffer_span(const Buffer *b)
{
    return b->origin.source ? b->origin : b->span;
}

/* ---- which temps, and who uses them ---------------------------------------------------------- */

typedef struct {
    Context *c;
    const Kernel *kernel;
    Stmt *body;
    Names names;
    const Buffer *b; /* the one at work */
    bool failed;
} Constants;

typedef struct {
    const Buffer *b;
    const Stmt *write; /* the last store */
    const Expr *read;  /* the last load */
    int writes;
} Use;

static bool use_stmt(Visitor *v, Stmt *s)
{
    Use *u = v->user;
    if (s->kind == ST_STORE && s->u.store.buffer->id == u->b->id) {
        u->write = s;
        u->writes++;
    }
    return true;
}

static bool use_expr(Visitor *v, Expr *e)
{
    Use *u = v->user;
    if (e->kind == EX_LOAD && e->u.load.buffer->id == u->b->id)
        u->read = e;
    return true;
}

static Use uses_of(Stmt *s, const Buffer *b)
{
    Use u = {.b = b};
    Visitor v = {.user = &u, .expr = use_expr, .stmt = use_stmt};
    visit_stmt(&v, s);
    return u;
}

/* No launch both writes and reads it. */
static Stmt *check_root(LaunchWalk *w, Stmt *s)
{
    const Buffer *b = w->user;
    Use u = uses_of(s, b);
    if (!u.write || !u.read)
        return s;
    diag_error(w->c, E0804, buffer_span(b),
               "'%s' is in constant memory, which does not change while a launch runs, but one "
               "launch would write and read it; let the loops that write it be a launch of their "
               "own, or choose global or shared memory",
               b->name);
    diag_note(w->c, u.write->span, "it is written here");
    diag_note(w->c, u.read->span, "and read here");
    return NULL;
}

static bool require_literal_size(Constants *k, const Buffer *b)
{
    int64_t elements, *strides = ARENA_ARRAY(k->c->arena, int64_t, b->rank + 1);
    if (buffer_strides(b, strides, &elements))
        return true;
    diag_error(k->c, E0803, buffer_span(b),
               "'%s' is in constant memory, whose sizes must be constants, but its shape is not; "
               "give the sizes values with -D, or keep the buffer in global memory",
               b->name);
    return false;
}

/* ---- what it is a copy of -------------------------------------------------------------------- */

typedef struct {
    const Buffer *b;
    const BlockStmt *block; /* the one that writes it, if it is alone */
    const Buffer *from;     /* the input that it copies whole, or NULL */
} Filled;

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
        const BlockIter *iter = NULL;
        int64_t lo;
        for (int i = 0; i < block->n_iters && at->kind == EX_VAR; i++)
            if (block->iters[i].var == at->u.var)
                iter = &block->iters[i];
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

static bool find_source(Visitor *v, Stmt *s)
{
    Filled *source = v->user;
    if (s->kind != ST_BLOCK)
        return true;
    if (!uses_of(s, source->b).write)
        return false;
    const Stmt *store = stmt_single_store(s->u.block.body);
    source->block = &s->u.block;
    if (store && copies_whole(&s->u.block, store))
        source->from = store->u.store.value->u.load.buffer;
    return false;
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
    if (e->kind != EX_LOAD || e->u.load.buffer->id != a->old->id)
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

static void take_apart(Constants *k, const Buffer *b)
{
    Context *c = k->c;
    Filled source = {.b = b};
    Apart a = {.old = b, .copy = buffer_copy(c, b)};
    Visitor v = {.user = &source, .stmt = find_source};
    visit_stmt(&v, k->body);
    if (source.from && uses_of(k->body, b).writes == 1) {
        Without without = {c, source.block->id};
        Stmt *rest = without_block(&without, k->body);
        k->body = rest ? rest : stmt_empty(c, k->body->span);
        a.copy->copy_of = source.from;
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

static bool find_temp(Visitor *v, Stmt *s)
{
    Constants *k = v->user;
    if (s->kind == ST_TEMP && s->u.temp->scope == SCOPE_CONSTANT && !s->u.temp->copy_of)
        k->b = s->u.temp;
    return !k->b && s->kind != ST_BLOCK;
}

static void place_next(Constants *k)
{
    LaunchWalk w = {.c = k->c,
                    .kernel = k->kernel,
                    .facts = facts_of_kernel(k->c, k->kernel),
                    .user = (void *)k->b,
                    .root = check_root};
    k->failed = !require_literal_size(k, k->b) || !launch_roots_map(&w, k->body);
    if (!k->failed)
        take_apart(k, k->b);
}

Kernel *pass_place_constants(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Constants k = {
        .c = c, .kernel = kernel, .body = kernel->body, .names = names_of_kernel(c, kernel)};
    Visitor v = {.user = &k, .stmt = find_temp};
    for (visit_stmt(&v, k.body); k.b && !k.failed; visit_stmt(&v, k.body)) {
        place_next(&k);
        k.b = NULL;
    }
    return k.failed ? NULL : kernel_with_body(c, kernel, k.body);
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

static bool find_thread(Visitor *v, Expr *e)
{
    bool *found = v->user;
    *found |= e->kind == EX_AXIS && axis_is_thread(e->u.axis);
    return !*found;
}

static bool uses_thread(Expr *e)
{
    bool found = false;
    Visitor v = {.user = &found, .expr = find_thread};
    visit_expr(&v, e);
    return found;
}

static Expr *in_axes(const Lanes *l, Expr *e)
{
    return expr_subst(l->c, e, l->values.items, l->values.n);
}

/* What lane `lane` of the block sees: its threadIdx are literals. */
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

static bool same_element(Expr *const *a, Expr *const *b, int rank)
{
    for (int i = 0; i < rank; i++)
        if (!expr_equal(a[i], b[i]))
            return false;
    return true;
}

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
            known = same_element(seen[i], now, b->rank);
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

static const char *element_text(const Lanes *l, const Buffer *b, Expr *const *index)
{
    StrBuf text = strbuf_new(l->c->arena);
    strbuf_add(&text, b->name);
    for (int i = 0; i < b->rank; i++) {
        strbuf_add(&text, i ? ", " : "[");
        print_expr(index[i], &text);
    }
    strbuf_add(&text, b->rank ? "]" : "");
    return text.text;
}

static void check_read(const Lanes *l, const Expr *load)
{
    const Buffer *b = load->u.load.buffer;
    Expr **index = ARENA_ARRAY(l->c->arena, Expr *, b->rank + 1);
    int64_t threads = l->launch->block[0] * l->launch->block[1] * l->launch->block[2];
    bool differs = false;
    for (int i = 0; i < b->rank; i++) {
        index[i] = in_axes(l, load->u.load.index[i]);
        differs |= uses_thread(index[i]);
    }
    for (int64_t warp = 0; differs && warp * WARP < threads; warp++) {
        Asked asked = asked_by_warp(l, b, index, warp, threads);
        if (asked.n <= 1)
            continue;
        diag_warning(l->c, E0805, load->span,
                     "lanes of a warp ask for %d different elements of '%s': lane 0 for %s and "
                     "lane %d for %s; constant memory serves one at a time, so this read takes %d "
                     "times as long as one that is the same for all: keep the buffer in global or "
                     "shared memory, or let the subscript not depend on threadIdx",
                     asked.n, b->name, element_text(l, b, asked.first), asked.lane,
                     element_text(l, b, asked.other), asked.n);
        return;
    }
}

static bool check_expr(Visitor *v, Expr *e)
{
    if (e->kind == EX_LOAD && e->u.load.buffer->scope == SCOPE_CONSTANT)
        check_read(v->user, e);
    return true;
}

/* A loop that starts at another value in each thread: its variable is that plus what all threads
 * have in common. */
static void enter_loop(Lanes *l, const ForStmt *loop)
{
    Expr *lo = in_axes(l, loop->lo);
    if (!uses_thread(lo))
        return;
    Expr *here = expr_binary(l->c, EX_ADD, lo, expr_var(l->c, loop->var, span_none()), span_none());
    VEC_PUSH(l->c->arena, &l->values, ((Subst){loop->var, here}));
}

static bool check_stmt(Visitor *v, Stmt *s)
{
    Lanes *l = v->user;
    if (s->kind == ST_FOR)
        enter_loop(l, &s->u.loop);
    if (s->kind == ST_LET)
        VEC_PUSH(l->c->arena, &l->values, ((Subst){s->u.let.var, in_axes(l, s->u.let.value)}));
    return true;
}

static bool check_launch(Visitor *v, Stmt *s)
{
    if (s->kind != ST_LAUNCH)
        return true;
    Lanes *outer = v->user;
    Lanes l = {.c = outer->c, .launch = &s->u.launch, .facts = facts_new(outer->c)};
    Visitor inner = {.user = &l, .expr = check_expr, .stmt = check_stmt};
    visit_stmt(&inner, s->u.launch.body);
    return false;
}

typedef struct {
    Context *c;
    int64_t bytes;
    const Buffer *last;
} Total;

static bool add_bytes(Visitor *v, Stmt *s)
{
    Total *t = v->user;
    if (s->kind != ST_TEMP || s->u.temp->scope != SCOPE_CONSTANT)
        return true;
    int64_t bytes, *strides = ARENA_ARRAY(t->c->arena, int64_t, s->u.temp->rank + 1);
    if (!buffer_strides(s->u.temp, strides, &bytes) ||
        !checked_mul(bytes, type_bytes(s->u.temp->type), &bytes) ||
        !checked_add(bytes, t->bytes, &t->bytes))
        t->bytes = INT64_MAX / 2;
    t->last = s->u.temp;
    return true;
}

bool check_constants(Context *c, const Kernel *lowered, const Limits *limits)
{
    Total total = {.c = c};
    Visitor sum = {.user = &total, .stmt = add_bytes};
    visit_stmt(&sum, lowered->body);
    if (!total.last)
        return true;
    if (total.bytes > limits->max_constant) {
        diag_error(c, E0803, buffer_span(total.last),
                   "buffers in constant memory take %lld bytes, '%s' among them, and there are "
                   "%lld; keep the larger ones in global or shared memory",
                   (long long)total.bytes, total.last->name, (long long)limits->max_constant);
        return false;
    }
    Lanes all = {.c = c};
    Visitor v = {.user = &all, .stmt = check_launch};
    visit_stmt(&v, lowered->body);
    return true;
}
