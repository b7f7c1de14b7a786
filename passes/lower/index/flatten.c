/* flatten.c - Linearizes the subscripts of each access to global memory.
 *
 *   A[ko * 32 + ty, j]   =>   A[(ko * 32 + ty) * 1024 + j]         for A: f32[1024, 1024]
 *
 * Row major, in Horner's form, as a person writes it. Quotients and remainders that a fused loop
 * makes are put together again if that removes one from the text:
 *
 *   A[f / 1001, f % 1001]   =>   A[f]                              for A: f32[1003, 1001]
 *   A[f / W / H, i, f / W % H, f % W]
 *                           =>   A[(f / (H * W) * C + i) * H * W + f % (H * W)]
 *
 * They can have names: with `let i = f / 1001`, that is so where i is used for nothing else.
 * Shared and local buffers keep their axes: C has arrays for them. A buffer that has, or in 64-bit
 * mode may have, 2^31 elements or more computes its subscripts in 64 bits from the first term on.
 * The access keeps the subscripts of its axes beside the one (AxisAccess), for the machine that
 * checks them and for the proof that they stay inside (in_bounds.c). */
#include "ir/copies/bulk_copy.h"
#include "passes/lower/pass.h"

typedef struct {
    const Buffer *from;
    Buffer *to;
    bool wide;
} Flat;

typedef struct {
    Context *c;
    const LowerOptions *options;
    Facts *facts;
    VEC(Flat) flats;
    /* integers that have a name, as expressions of loops: later passes drop names that texts no
     * longer use */
    SubstList lets;
    SubstList divided; /* those whose values have divisions, with no more of them written out */
    /* of each variable, by id: its uses, and those in subscripts that can do without divisions */
    int *uses, *avoidable;
    bool counts; /* this walk counts the latter, for the one after it */
} Flatten;

/* May the buffer hold more elements than an int counts? */
static bool needs_64_bits(const Flatten *f, const Expr *elements)
{
    int64_t n;
    return expr_is_const(elements, &n) ? n > INT32_MAX : f->options->index64;
}

static Expr *count_elements(Context *c, const Buffer *b)
{
    Expr *n = expr_index(c, 1);
    for (int d = 0; d < b->rank; d++)
        n = index_mul(c, n, b->shape[d]);
    return n;
}

/* The view of a buffer in global memory with one subscript. */
static Buffer *flat_buffer(Flatten *f, Buffer *b)
{
    for (int i = 0; i < f->flats.n; i++)
        if (f->flats.items[i].from == b)
            return f->flats.items[i].to;
    Flat flat = {b, buffer_flat_view(f->c, b), false};
    flat.wide = needs_64_bits(f, count_elements(f->c, b));
    VEC_PUSH(f->c->arena, &f->flats, flat);
    return flat.to;
}

static bool is_wide(Flatten *f, Buffer *b)
{
    flat_buffer(f, b);
    for (int i = 0; i < f->flats.n; i++)
        if (f->flats.items[i].from == b)
            return f->flats.items[i].wide;
    return false;
}

/* a + b with the terms of b's sum added one by one, so that no parentheses are needed. */
static Expr *add_terms(Context *c, Expr *a, Expr *b)
{
    if (b->kind == EX_ADD)
        return add_terms(c, add_terms(c, a, b->u.arg[0]), b->u.arg[1]);
    if (b->kind == EX_SUB)
        return index_sub(c, add_terms(c, a, b->u.arg[0]), b->u.arg[1]);
    return index_add(c, a, b);
}

static Expr *horner(Context *c, const Buffer *b, Expr *const *index)
{
    Expr *sum = index[0];
    for (int d = 1; d < b->rank; d++) {
        sum = index_mul(c, sum, b->shape[d]);
        sum = expr_is(sum, 0) ? index[d] : add_terms(c, sum, index[d]);
    }
    return sum;
}

/* A subscript that a program computes in 64 bits stays there. */
static Expr *keep_64_bits(Expr *e)
{
    return e->kind == EX_CAST && e->type == DT_INDEX && e->u.arg[0]->type == DT_I64 ? e->u.arg[0]
                                                                                    : e;
}

static Expr *widen(Context *c, Expr *e)
{
    int64_t v;
    e = keep_64_bits(e);
    if (e->type == DT_I64)
        return e;
    return expr_is_const(e, &v) ? expr_int(c, DT_I64, v, e->span)
                                : expr_cast(c, DT_I64, e, e->span);
}

static Expr *add_wide(Context *c, Expr *a, Expr *b)
{
    if (b->kind == EX_ADD || b->kind == EX_SUB)
        return expr_binary(c, b->kind, add_wide(c, a, b->u.arg[0]), widen(c, b->u.arg[1]), b->span);
    return expr_is(b, 0) ? a : expr_binary(c, EX_ADD, a, widen(c, b), b->span);
}

/* The same in 64 bits: every leaf is converted before it is multiplied. */
static Expr *horner_wide(Context *c, const Buffer *b, Expr *const *index)
{
    Expr *sum = widen(c, index[0]);
    for (int d = 1; d < b->rank; d++) {
        if (expr_is(sum, 0)) {
            sum = widen(c, index[d]);
            continue;
        }
        if (!expr_is(b->shape[d], 1))
            sum = expr_binary(c, EX_MUL, sum, widen(c, b->shape[d]), sum->span);
        sum = add_wide(c, sum, index[d]);
    }
    return sum;
}

/* A sum of products in 64 bits. */
static Expr *widen_leaves(Context *c, Expr *e)
{
    if (e->kind != EX_ADD && e->kind != EX_SUB && e->kind != EX_MUL)
        return widen(c, e);
    return expr_binary(c, e->kind, widen_leaves(c, e->u.arg[0]), widen_leaves(c, e->u.arg[1]),
                       e->span);
}

static int divisions_in(Context *c, Expr *e)
{
    int n = 0;
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        n += at.expr->kind == EX_DIV || at.expr->kind == EX_MOD;
    return n;
}

/* The quotient x / a stands in no other place than as x / a / b. */
static bool is_only_divided(Context *c, Expr *at, const Expr *quotient)
{
    int uses = 0, divided = 0;
    for (Cursor in = cursor_expr(c, at); cursor_next(&in);) {
        uses += expr_equal(in.expr, quotient);
        divided +=
            index_join_divisors(c, in.expr) != in.expr && expr_equal(in.expr->u.arg[0], quotient);
    }
    return uses == divided;
}

/* x / a / b  ->  x / (a * b) where one division is enough. */
static Expr *join_divisors(Rewriter *r, Expr *e)
{
    Expr *joined = index_join_divisors(r->ctx, e);
    return joined != e && is_only_divided(r->ctx, r->user, e->u.arg[0]) ? joined : e;
}

static void count_avoidable(Flatten *f, Expr *at)
{
    for (Cursor in = cursor_expr(f->c, at); cursor_next(&in);)
        if (in.expr->kind == EX_VAR)
            f->avoidable[in.expr->u.var->id]++;
}

/* A name with a division is used in `at`, and elsewhere only where it can be avoided as well. */
static bool frees_name(const Flatten *f, Expr *at)
{
    for (int i = 0; i < f->divided.n; i++) {
        const Var *var = f->divided.items[i].var;
        if (expr_uses_var(at, var) && f->uses[var->id] == f->avoidable[var->id])
            return true;
    }
    return false;
}

static Expr *put_together(Flatten *f, Expr *at)
{
    Expr *simple = simplify(f->facts, at);
    return rewrite_expr(&(Rewriter){.ctx = f->c, .user = simple, .expr = join_divisors}, simple);
}

/* The same with names as they are: a name's own remainder can keep others from meeting. */
static Expr *recombined_by_name(Flatten *f, Expr *at)
{
    int shown = divisions_in(f->c, at);
    Expr *simple = shown < 2 || expr_has_load(at) ? at : put_together(f, at);
    return divisions_in(f->c, simple) < shown ? simple : NULL;
}

/* The subscript without quotients and remainders that belong together; NULL where that removes none
 * from the text. */
static Expr *recombined(Flatten *f, Expr *at)
{
    Expr *full = expr_subst(f->c, at, f->divided.items, f->divided.n);
    int divisions = divisions_in(f->c, full);
    if (divisions < 2 || expr_has_load(full))
        return NULL; /* so has `at`, or not more divisions */
    Expr *simple = put_together(f, full), *named = recombined_by_name(f, at);
    int left = divisions_in(f->c, simple), shown = divisions_in(f->c, named ? named : at);
    if (left >= divisions || left > shown)
        return named;
    if (f->counts)
        count_avoidable(f, at);
    return left < shown || frees_name(f, at) ? simple : named;
}

static Expr *subscript(Flatten *f, Buffer *b, Expr *const *index)
{
    Context *c = f->c;
    if (b->rank == 0)
        return expr_index(c, 0);
    Expr *at = horner(c, b, index), *simple = recombined(f, at);
    if (is_wide(f, b))
        return simple ? widen_leaves(c, simple) : keep_64_bits(horner_wide(c, b, index));
    return keep_64_bits(simple ? simple : at);
}

/* NULL where there is one axis anyway. A load stays as it is in the text, so that the machine finds
 * it there again. */
static const AxisAccess *axes_of(Flatten *f, const Buffer *b, Expr *const *index)
{
    if (b->rank < 2)
        return NULL;
    Expr **at = ARENA_ARRAY(f->c->arena, Expr *, b->rank);
    for (int d = 0; d < b->rank; d++)
        at[d] = expr_has_load(index[d]) ? index[d]
                                        : expr_subst(f->c, index[d], f->lets.items, f->lets.n);
    AxisAccess *axes = ARENA_NEW(f->c->arena, AxisAccess);
    *axes = (AxisAccess){b, at};
    return axes;
}

static Expr *flatten_load(Rewriter *r, Expr *e)
{
    Flatten *f = r->user;
    if (e->kind != EX_LOAD || e->u.load.buffer->scope != SCOPE_GLOBAL)
        return e;
    Expr *at = subscript(f, e->u.load.buffer, e->u.load.index);
    Expr *flat = expr_load_like(f->c, e, flat_buffer(f, e->u.load.buffer), &at);
    flat->u.load.axes = axes_of(f, e->u.load.buffer, e->u.load.index);
    return flat;
}

static Expr *flatten_expr(void *user, Expr *e)
{
    Flatten *f = user;
    return rewrite_expr(&(Rewriter){.ctx = f->c, .user = f, .expr = flatten_load}, e);
}

static Stmt *flatten_store(Flatten *f, Stmt *s)
{
    if (s->u.store.buffer->scope != SCOPE_GLOBAL)
        return s;
    Expr *at = subscript(f, s->u.store.buffer, s->u.store.index);
    Stmt *flat = stmt_store_like(f->c, s, flat_buffer(f, s->u.store.buffer), &at, s->u.store.value);
    flat->u.store.axes = axes_of(f, s->u.store.buffer, s->u.store.index);
    return flat;
}

static void keep_let(Flatten *f, Var *var, Expr *value)
{
    Context *c = f->c;
    Expr *short_value = expr_subst(c, value, f->divided.items, f->divided.n);
    if (divisions_in(c, short_value) > 0)
        VEC_PUSH(c->arena, &f->divided, ((Subst){var, short_value}));
    VEC_PUSH(c->arena, &f->lets, ((Subst){var, expr_subst(c, value, f->lets.items, f->lets.n)}));
}

static Stmt *flatten_stmt(void *user, Stmt *s)
{
    Flatten *f = user;
    Context *c = f->c;
    if (stmt_is_bulk_copy(s))
        return s; /* its text has the coordinates of the tensor */
    s = stmt_map_exprs(c, s, flatten_expr, f);
    if (s->kind == ST_STORE)
        return flatten_store(f, s);
    if (s->kind != ST_LET)
        return stmt_map_inside(c, f->facts, s, flatten_stmt, f);
    facts_enter(f->facts, s);
    if (type_is_int(s->u.let.var->type) && !expr_has_load(s->u.let.value))
        keep_let(f, s->u.let.var, s->u.let.value);
    return s;
}

/* One walk counts, the next one decides. */
Kernel *pass_flatten(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    Flatten f = {.c = c,
                 .options = options,
                 .uses = ARENA_ARRAY(c->arena, int, c->next_id),
                 .avoidable = ARENA_ARRAY(c->arena, int, c->next_id),
                 .counts = true};
    for (Cursor at = cursor_stmt(c, kernel->body); cursor_next(&at);)
        if (at.expr && at.expr->kind == EX_VAR)
            f.uses[at.expr->u.var->id]++;
    f.facts = facts_of_kernel(c, kernel);
    flatten_stmt(&f, kernel->body);
    f.counts = false;
    f.lets.n = f.divided.n = 0;
    f.facts = facts_of_kernel(c, kernel);
    Stmt *body = flatten_stmt(&f, kernel->body);
    body = drop_unused_names(c, body);
    return kernel_with_body(c, kernel, body ? body : stmt_empty(c, kernel->span));
}
