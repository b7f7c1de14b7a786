/* vectorize.c - which vectorized loops become wide accesses; the others unroll, and a warning says why.
 *
 *   for v in 4 vectorize  C[i, j * 4 + v] = A[i, j * 4 + v];       one 16-byte load and one 16-byte store
 *   for v in 4 vectorize  C[i, j * 4 + v] = A[j * 4 + v, i];       A is strided: unrolls
 *
 * A loop stays vectorized if it is one store, every access is contiguous in the loop's variable or does not use it, and
 * the contiguous ones in memory start at multiples of their width, 2 to 16 bytes. Registers have no
 * addresses: local buffers need no alignment, and a store to memory may take its lanes from any of them. */
#include "passes/lower/pass.h"

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

static Expr *expand_lets(Vectorize *v, Expr *e)
{
    for (int i = v->lets.n - 1; i >= 0; i--)
        e = expr_subst(v->c, e, &v->lets.items[i], 1);
    return e;
}

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
        Expr *at = expr_subst(c, expand_lets(v, index[d]), &first, 1);
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
    Expr *last = simplify(v->facts, expand_lets(v, index[b->rank - 1])), *rest;
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
        Expr *rest, *e = simplify(v->facts, expand_lets(v, index[d]));
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

static bool check_expr(Visitor *visitor, Expr *e)
{
    Vectorize *v = visitor->user;
    if (e->kind == EX_LOAD)
        check_access(v, e->u.load.buffer, e->u.load.index, true);
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
    visit_expr(&visitor, store->u.store.value);
}

/* What is true for all lanes where it is true for the last one, given that it is `v + rest < bound`; NULL for another guard. */
static Expr *guard_of_all(Vectorize *v, const ForStmt *loop, const Expr *guard)
{
    Context *c = v->c;
    int64_t lanes, lo, coefficient;
    Expr *rest;
    if (guard->kind != EX_LT || !loop_const_extent(loop, &lanes) || !expr_is_const(loop->lo, &lo) || lo != 0 ||
        expr_uses_var(guard->u.arg[1], loop->var) ||
        !split_linear(v->facts, guard->u.arg[0], loop->var, &coefficient, &rest) || coefficient < 0)
        return NULL;
    Subst last = {loop->var, expr_index(c, lanes - 1)};
    return expr_binary(c, EX_LT, simplify(v->facts, expr_subst(c, guard->u.arg[0], &last, 1)), guard->u.arg[1],
                       guard->span);
}

/* A guard that may differ between lanes: where the last lane passes it, all do and the access is wide; the edge unrolls.
 *
 *   for v in 4 vectorize  if x + v < n  t[v] = w[v];    =>    if x + 3 < n  for v in 4 vectorize  t[v] = w[v];
 *                                                             else          for v in 4 unroll  if x + v < n  t[v] = w[v]; */
static Stmt *peel_edge(Vectorize *v, Stmt *s)
{
    Context *c = v->c;
    ForStmt whole = s->u.loop, edge = s->u.loop;
    Stmt *guarded = s->u.loop.body;
    if (guarded->kind != ST_IF || guarded->u.cond.otherwise)
        return NULL;
    Expr *all = guard_of_all(v, &whole, guarded->u.cond.cond);
    if (!all)
        return NULL;
    whole.body = guarded->u.cond.then;
    edge.kind = LOOP_UNROLL;
    edge.id = 0;
    Stmt *wide = stmt_stamp(stmt_for(c, &whole, s->span), s);
    v->loop = wide;
    v->why = NULL;
    check_loop(v, wide);
    if (v->why)
        return NULL;
    Stmt *rest = stmt_clone_fresh(c, stmt_stamp(stmt_for(c, &edge, s->span), s));
    return stmt_stamp(stmt_if(c, all, wide, rest, s->span), s);
}

static Stmt *vectorize_loop(Vectorize *v, Stmt *s)
{
    v->loop = s;
    v->why = NULL;
    check_loop(v, s);
    if (!v->why)
        return s;
    Stmt *peeled = peel_edge(v, s);
    if (peeled)
        return peeled;
    v->loop = s;
    v->why = NULL;
    check_loop(v, s);
    diag_warning(v->c, E0511, s->span, "no wide access: %s", v->why);
    diag_note(v->c, s->span, "loop '%s' is unrolled instead; %s", s->u.loop.var->name, v->remedy);
    ForStmt loop = s->u.loop;
    loop.kind = LOOP_UNROLL;
    return stmt_stamp(stmt_for(v->c, &loop, s->span), s);
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
