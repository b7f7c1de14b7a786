/* vectorize.c - which vectorized loops become wide accesses; the others unroll, and a warning says why.
 *
 *   for v in 4 vectorize  C[i, j * 4 + v] = A[i, j * 4 + v];       one 16-byte load and one 16-byte store
 *   for v in 4 vectorize  C[i, j * 4 + v] = A[j * 4 + v, i];       A is strided: unrolls
 *
 * A loop stays vectorized if it is one store, every access is contiguous in the loop's variable or does not use it, and
 * the contiguous ones in memory start at multiples of their width, 2 to 16 bytes. Registers have no
 * addresses: local buffers need no alignment, and a store to memory may take its lanes from any of them. */
#include "passes/lower/lanes.h"

enum { MAX_SPLITS = 3 }; /* conditions that one access is split for, each inside the one before */

typedef struct {
    Context *c;
    Facts *facts;
    SubstList lets;
    VEC(const Stmt *) around; /* the loops that one thread runs, outermost first */
    const Stmt *loop;
    int64_t lanes;
    const char *why; /* why the loop cannot be wide, once known */
    const char *remedy;
} Vectorize;

static void refuse(Vectorize *v, const char *why, const char *remedy)
{
    if (!v->why) {
        v->why = why;
        v->remedy = remedy;
    }
}

/* The distance in elements of neighbours along axis `d`; symbolic extents give an expression. */
static Expr *stride_of(Context *c, const Buffer *b, int d)
{
    int64_t *strides = ARENA_ARRAY(c->arena, int64_t, b->rank + 1), total;
    if (buffer_strides(b, strides, &total))
        return expr_index(c, strides[d]);
    Expr *stride = expr_index(c, 1);
    for (int k = d + 1; k < b->rank; k++)
        stride = index_mul(c, stride, b->shape[k]);
    return stride;
}

/* The offset of the first lane is a multiple of the width. Padded rows count with their padding. */
static bool aligned(Vectorize *v, const Buffer *b, Expr *const *index)
{
    Context *c = v->c;
    const ForStmt *loop = &v->loop->u.loop;
    Subst first = {loop->var, loop->lo};
    Expr *offset = expr_index(c, 0);
    for (int d = 0; d < b->rank; d++) {
        Expr *at = expr_subst(c, lanes_expand(v->c, &v->lets, index[d]), &first, 1);
        offset = index_add(c, offset, index_mul(c, at, stride_of(c, b, d)));
    }
    return prove_divisible(v->facts, simplify(v->facts, offset), v->lanes);
}

static void check_width(Vectorize *v, const Buffer *b)
{
    int64_t bytes = v->lanes * type_bytes(b->type);
    if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16)
        refuse(v,
               arena_printf(v->c->arena,
                            "%lld elements of '%s' are %lld bytes; an access has 2, 4, 8 or 16",
                            (long long)v->lanes, b->name, (long long)bytes),
               "split the loop by a factor that makes one of those widths");
}

/* What to vectorize instead of a loop along which `b` is strided: a loop around it along which it is contiguous. */
static const char *contiguous_remedy(Vectorize *v, const Buffer *b, Expr *const *index)
{
    Expr *last = simplify(v->facts, lanes_expand(v->c, &v->lets, index[b->rank - 1])), *rest;
    for (int i = v->around.n - 1; i >= 0; i--) {
        const ForStmt *loop = &v->around.items[i]->u.loop;
        int64_t coefficient, extent;
        if (expr_uses_var(last, loop->var) && loop_const_extent(loop, &extent) &&
            split_linear(v->facts, last, loop->var, &coefficient, &rest) && coefficient == 1)
            return arena_printf(v->c->arena, "vectorize loop '%s', along which '%s' is contiguous",
                                loop->var->name, b->name);
    }
    return "vectorize the loop of its last axis";
}

/* Where chunks of an axis change places, all lanes must be of one chunk. */
static void check_chunks(Vectorize *v, const Buffer *b)
{
    int last = b->rank - 1;
    if (buffer_is_swizzled(b, last) && b->layout[last].swizzle.chunk % v->lanes != 0)
        refuse(v,
               arena_printf(v->c->arena, "the swizzle of '%s' moves chunks of %lld elements apart", b->name,
                            (long long)b->layout[last].swizzle.chunk),
               arena_printf(v->c->arena, "give it chunks of a multiple of %lld elements", (long long)v->lanes));
}

/* `read`: the access is a load. Registers have no order: a wide store may gather them from anywhere. */
static void check_access(Vectorize *v, const Buffer *b, Expr *const *index, bool read)
{
    Context *c = v->c;
    const Var *var = v->loop->u.loop.var;
    if (read && b->scope == SCOPE_LOCAL && v->loop->u.loop.body->u.store.buffer->scope != SCOPE_LOCAL)
        return;
    for (int d = 0; d < b->rank && !v->why; d++) {
        int64_t coefficient;
        Expr *rest, *e = simplify(v->facts, lanes_expand(v->c, &v->lets, index[d]));
        if (!expr_uses_var(e, var))
            continue;
        if (!split_linear(v->facts, e, var, &coefficient, &rest)) {
            refuse(v,
                   arena_printf(c->arena, "'%s' is not accessed at equal distances along %s",
                                b->name, var->name),
                   "vectorize a loop along which it is contiguous");
        } else if (d != b->rank - 1 || coefficient != 1) {
            StrBuf stride = strbuf_new(c->arena);
            Expr *step = index_mul(c, stride_of(c, b, d), expr_index(c, coefficient));
            print_expr(c, simplify(v->facts, step), &stride);
            refuse(v,
                   arena_printf(c->arena, "'%s' is strided by %s elements along %s", b->name,
                                stride.text, var->name),
                   contiguous_remedy(v, b, index));
        } else {
            check_width(v, b);
            check_chunks(v, b);
            if (b->scope != SCOPE_LOCAL && !v->why && !aligned(v, b, index))
                refuse(
                    v,
                    arena_printf(
                        c->arena,
                        "the first element of '%s' is not known to be at a multiple of %lld",
                        b->name, (long long)v->lanes),
                    "make the last extent a multiple of the width, or pad a shared buffer to one");
        }
    }
}

/* A wide load runs for all lanes or for none: it is no part of what may be left out. */
static bool is_wide(const Vectorize *v, const Expr *load)
{
    bool registers = load->u.load.buffer->scope == SCOPE_LOCAL && v->loop->u.loop.body->u.store.buffer->scope != SCOPE_LOCAL;
    bool uses = false;
    for (int d = 0; d < load->u.load.buffer->rank; d++)
        uses |= expr_uses_var(load->u.load.index[d], v->loop->u.loop.var);
    return uses && !registers;
}

typedef struct {
    const Vectorize *v;
    bool found;
} WideSearch;

static bool find_wide(Visitor *visitor, Expr *e)
{
    WideSearch *search = visitor->user;
    search->found |= e->kind == EX_LOAD && is_wide(search->v, e);
    return !search->found;
}

static bool has_wide(const Vectorize *v, Expr *e)
{
    WideSearch search = {.v = v};
    Visitor visitor = {.user = &search, .expr = find_wide};
    visit_expr(&visitor, e);
    return search.found;
}

/* An operand that is only evaluated under a condition has a wide load. */
static bool is_lazy(const Vectorize *v, const Expr *e)
{
    if (e->kind == EX_SELECT)
        return has_wide(v, e->u.arg[1]) || has_wide(v, e->u.arg[2]);
    return (e->kind == EX_AND || e->kind == EX_OR) && has_wide(v, e->u.arg[1]);
}

static bool check_expr(Visitor *visitor, Expr *e)
{
    Vectorize *v = visitor->user;
    if (e->kind == EX_LOAD)
        check_access(v, e->u.load.buffer, e->u.load.index, true);
    return !v->why;
}

static bool check_lazy(Visitor *visitor, Expr *e)
{
    Vectorize *v = visitor->user;
    if (is_lazy(v, e))
        refuse(v, "a condition in it may hold for some lanes and not for others", "make the extent a multiple of the lanes");
    return !v->why;
}

static bool subscripts_use(const Stmt *store, const Var *var)
{
    for (int d = 0; d < store->u.store.buffer->rank; d++)
        if (expr_uses_var(store->u.store.index[d], var))
            return true;
    return false;
}

static void check_loop(Vectorize *v, Stmt *s)
{
    const ForStmt *loop = &s->u.loop;
    Stmt *store = loop->body;
    if (!loop_const_extent(loop, &v->lanes) || loop->step != 1)
        refuse(v, "the number of lanes is not a constant", "split the loop by a constant");
    else if (store->kind == ST_IF)
        refuse(v, "its guard may be true for some lanes and false for others",
               "make the extent a multiple of the lanes");
    else if (store->kind != ST_STORE)
        refuse(v, "the loop is more than one store", "cache what else is in the loop");
    else if (store->u.store.atomic)
        refuse(v, "an atomic update is not wide", "leave the loop serial");
    else if (!subscripts_use(store, loop->var))
        refuse(v,
               arena_printf(v->c->arena, "all lanes store to one element of '%s'",
                            store->u.store.buffer->name),
               "vectorize a loop along which it is contiguous");
    if (v->why)
        return;
    check_access(v, store->u.store.buffer, store->u.store.index, false);
    Visitor visitor = {.user = v, .expr = check_expr};
    Expr *where;
    const Expr *copied = store->u.store.op == STORE_ASYNC ? expr_copied(store->u.store.value, &where) : NULL;
    bool fills = copied && where && !expr_uses_var(where, loop->var); /* the copy itself has the condition */
    visit_expr(&visitor, store->u.store.value);
    visitor.expr = check_lazy;
    visit_expr(&visitor, fills ? (Expr *)copied : store->u.store.value);
}

static Lanes lanes_of(Vectorize *v, const Stmt *s)
{
    return (Lanes){.c = v->c, .facts = v->facts, .lets = &v->lets, .var = s->u.loop.var, .count = v->lanes};
}

static Stmt *with_value(Vectorize *v, const Stmt *loop, Expr *value)
{
    const Stmt *store = loop->u.loop.body;
    return loop_with_body(v->c, loop, stmt_stamp(stmt_store(v->c, store->u.store.buffer, store->u.store.index, store->u.store.op, value,
                                                    store->u.store.atomic, store->span), store));
}

static Stmt *unrolled(Vectorize *v, const Stmt *s)
{
    ForStmt loop = s->u.loop;
    loop.kind = LOOP_UNROLL;
    return stmt_stamp(stmt_for(v->c, &loop, s->span), s);
}

static Stmt *again(Vectorize *v, Stmt *s)
{
    ForStmt loop = s->u.loop;
    loop.id = 0;
    return stmt_clone_fresh(v->c, stmt_stamp(stmt_for(v->c, &loop, s->span), s));
}

/* Lanes 0, 1, ... of a literal number. */
static bool counts_lanes(Vectorize *v, const Stmt *s)
{
    int64_t lo;
    return loop_const_extent(&s->u.loop, &v->lanes) && v->lanes > 1 && expr_is_const(s->u.loop.lo, &lo) && lo == 0 &&
           s->u.loop.step == 1;
}

/* An asynchronous copy that fills with zeros where all lanes agree to: the condition without the variable. */
static Stmt *settle_fill(Vectorize *v, Stmt *s)
{
    const Stmt *store = s->u.loop.body;
    Expr *where, *value;
    if (store->kind != ST_STORE || store->u.store.op != STORE_ASYNC || !expr_copied(store->u.store.value, &where) || !where ||
        !expr_uses_var(where, s->u.loop.var) || !counts_lanes(v, s))
        return s;
    Lanes l = lanes_of(v, s);
    value = store->u.store.value;
    where = lanes_agree(&l, where);
    return where ? with_value(v, s, expr_select(v->c, where, value->u.arg[1], value->u.arg[2], value->span)) : s;
}

typedef struct {
    const Vectorize *v;
    Expr *found;
} ChoiceSearch;

static bool find_choice(Visitor *visitor, Expr *e)
{
    ChoiceSearch *search = visitor->user;
    if (!search->found && e->kind == EX_SELECT && is_lazy(search->v, e))
        search->found = e;
    return !search->found;
}

typedef struct {
    const Expr *from;
    Expr *to;
} Exchange;

static Expr *exchange(Rewriter *r, Expr *e)
{
    const Exchange *x = r->user;
    return e == x->from ? x->to : e;
}

static Expr *with_arm(Vectorize *v, Expr *value, const Expr *choice, int arm)
{
    Exchange x = {choice, choice->u.arg[arm]};
    Rewriter r = {.ctx = v->c, .user = &x, .expr = exchange};
    return rewrite_expr(&r, value);
}

static Stmt *as_wide(Vectorize *v, Stmt *s, int depth);

/* A guard that may differ between lanes: where all pass it the access is wide; the edge unrolls.
 *
 *   for v in 4 vectorize  if x + v < n  t[v] = w[v];    =>    if x + 3 < n  for v in 4 vectorize  t[v] = w[v];
 *                                                             else          for v in 4 unroll  if x + v < n  t[v] = w[v]; */
static Stmt *peel_edge(Vectorize *v, Stmt *s, int depth)
{
    Lanes l = lanes_of(v, s);
    const Stmt *guarded = s->u.loop.body;
    Expr *all = guarded->u.cond.otherwise ? NULL : lanes_all(&l, guarded->u.cond.cond);
    Stmt *wide = all ? as_wide(v, loop_with_body(v->c, s, guarded->u.cond.then), depth) : NULL;
    return wide ? stmt_stamp(stmt_if(v->c, all, wide, again(v, unrolled(v, s)), s->span), s) : NULL;
}

/* A value that reads memory under a condition: one access for each answer where all lanes agree, and else as an edge.
 *
 *   for v in 4 vectorize  t[v] = x < n ? w[v] : 0;      =>    if x < n  for v in 4 vectorize  t[v] = w[v];
 *                                                             else      for v in 4 vectorize  t[v] = 0; */
static Stmt *split_choice(Vectorize *v, Stmt *s, int depth)
{
    Expr *value = s->u.loop.body->u.store.value;
    ChoiceSearch search = {.v = v};
    Visitor visitor = {.user = &search, .expr = find_choice};
    visit_expr(&visitor, value);
    if (!search.found)
        return NULL;
    Lanes l = lanes_of(v, s);
    Expr *agree = lanes_agree(&l, search.found->u.arg[0]), *all = agree ? agree : lanes_all(&l, search.found->u.arg[0]);
    Stmt *wide = all ? as_wide(v, with_value(v, s, with_arm(v, value, search.found, 1)), depth) : NULL;
    if (!wide)
        return NULL;
    Stmt *rest = again(v, s), *other = NULL;
    if (agree) {
        rest = again(v, with_value(v, s, with_arm(v, value, search.found, 2)));
        other = as_wide(v, rest, depth);
    }
    return stmt_stamp(stmt_if(v->c, all, wide, other ? other : unrolled(v, rest), s->span), s);
}

/* The loop as wide accesses, under conditions where it needs some; NULL, and why, where it is none. Conditions inside conditions are
 * followed a few levels down, as each doubles the text. */
static Stmt *as_wide(Vectorize *v, Stmt *s, int depth)
{
    s = settle_fill(v, s);
    v->loop = s;
    v->why = NULL;
    check_loop(v, s);
    if (!v->why)
        return s;
    const char *why = v->why, *remedy = v->remedy;
    Stmt *body = s->u.loop.body, *split = NULL;
    if (depth < MAX_SPLITS && counts_lanes(v, s) && body->kind == ST_IF)
        split = peel_edge(v, s, depth + 1);
    else if (depth < MAX_SPLITS && counts_lanes(v, s) && body->kind == ST_STORE)
        split = split_choice(v, s, depth + 1);
    v->loop = s;
    v->why = why;
    v->remedy = remedy;
    return split;
}

static Stmt *vectorize_loop(Vectorize *v, Stmt *s)
{
    Stmt *wide = as_wide(v, s, 0);
    if (wide)
        return wide;
    diag_warning(v->c, E0511, s->span, "no wide access: %s", v->why);
    diag_note(v->c, s->span, "loop '%s' is unrolled instead; %s", s->u.loop.var->name, v->remedy);
    return unrolled(v, s);
}

static Stmt *walk(void *user, Stmt *s)
{
    Vectorize *v = user;
    FactsMark mark = facts_mark(v->facts);
    int lets = v->lets.n, around = v->around.n;
    if (s->kind == ST_LET) {
        Subst to = {s->u.let.var, s->u.let.value};
        VEC_PUSH(v->c->arena, &v->lets, to);
        return s;
    }
    if (s->kind == ST_FOR || s->kind == ST_LAUNCH || (s->kind == ST_IF && !s->u.cond.otherwise))
        facts_enter(v->facts, s);
    if (s->kind == ST_FOR)
        VEC_PUSH(v->c->arena, &v->around, s);
    Stmt *done = stmt_map_children(v->c, s, walk, v);
    facts_reset(v->facts, mark);
    v->lets.n = lets;
    v->around.n = around;
    if (done->kind == ST_FOR && done->u.loop.kind == LOOP_VECTORIZE)
        done = vectorize_loop(v, done);
    return done;
}

Kernel *pass_vectorize(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Vectorize v = {.c = c, .facts = facts_new(c)};
    return kernel_with_body(c, kernel, walk(&v, kernel->body));
}
