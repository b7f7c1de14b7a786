/* swizzle.c - Lowers swizzles to subscripts.
 *
 *   temp t: f32[64, 64] in shared swizzle(1, 0, 4, 8, 1);   temp t: f32[64, 64] in shared;
 *   ... t[y, x]                                        =>   ... t[y, (x / 4 ^ y % 8) * 4 + x % 4]
 *
 * Chunk k of row y lies at k ^ (y / every % count). A wide access stays within a chunk (vectorize
 * has seen to that), so its first element speaks for all: t[y, x + v] becomes t[y, (x / 4 ^ y % 8)
 * * 4 + x % 4 + v]. Rows get the length that holds whole groups of chunks. After this pass layouts
 * consist of strides only. */
#include "passes/lower/pass.h"

typedef struct {
    const Buffer *from;
    Buffer *to;
} Placed;

typedef struct {
    Context *c;
    Facts *facts;
    const Var *lane; /* of the wide access around, or NULL */
    VEC(Placed) placed;
} Swizzles;

static bool is_swizzled(const Buffer *b)
{
    for (int d = 0; d < b->rank; d++)
        if (buffer_is_swizzled(b, d))
            return true;
    return false;
}

/* The buffer without its swizzles, with room for whole groups of chunks. */
static Buffer *place(Swizzles *z, const Buffer *b)
{
    for (int i = 0; i < z->placed.n; i++)
        if (z->placed.items[i].from == b)
            return z->placed.items[i].to;
    Context *c = z->c;
    Placed placed = {b, buffer_copy(c, b)};
    AxisLayout *layout = ARENA_COPY(c->arena, AxisLayout, b->layout, b->rank, 1);
    Expr **shape = ARENA_COPY(c->arena, Expr *, b->shape, b->rank, 1);
    for (int d = 0; d < b->rank; d++) {
        int64_t group = layout[d].swizzle.chunk * layout[d].swizzle.count, extent;
        if (group > 0 && expr_is_const(shape[d], &extent))
            shape[d] = expr_index(c, (extent + group - 1) / group * group);
        layout[d].swizzle = (Swizzle){0};
    }
    placed.to->layout = layout;
    placed.to->shape = shape;
    VEC_PUSH(c->arena, &z->placed, placed);
    return placed.to;
}

/* The position of element `x` of a row, for the subscript `y` that selects the permutation. */
static Expr *exchange(Swizzles *z, const Swizzle *s, Expr *x, Expr *y)
{
    Context *c = z->c;
    Expr *first = x, *behind = NULL; /* of the first lane; how far from it the others are */
    Expr *key = index_mod(c, index_div(c, y, expr_index(c, s->every)), expr_index(c, s->count));
    key = simplify(z->facts, key);
    if (expr_is(key, 0))
        return x;
    if (z->lane && expr_uses_var(x, z->lane)) {
        Subst zero = {(Var *)z->lane, expr_index(c, 0)};
        first = expr_subst(c, x, &zero, 1);
        behind = simplify(z->facts, index_sub(c, x, first));
    }
    Expr *size = expr_index(c, s->chunk);
    Expr *chunk = simplify(z->facts, index_div(c, first, size));
    chunk = expr_binary(c, EX_BITXOR, chunk, key, x->span);
    Expr *at =
        index_add(c, index_mul(c, chunk, size), simplify(z->facts, index_mod(c, first, size)));
    return behind ? index_add(c, at, behind) : at;
}

static Expr *const *exchanged(Swizzles *z, const Buffer *b, Expr *const *index)
{
    Expr **out = ARENA_ARRAY(z->c->arena, Expr *, b->rank + 1);
    for (int d = 0; d < b->rank; d++) {
        const Swizzle *s = &b->layout[d].swizzle;
        out[d] = s->chunk ? exchange(z, s, index[d], index[s->by]) : index[d];
    }
    return out;
}

static Expr *rewrite_load(Rewriter *r, Expr *e)
{
    Swizzles *z = r->user;
    if (e->kind != EX_LOAD || !is_swizzled(e->u.load.buffer))
        return e;
    return expr_load_like(z->c, e, place(z, e->u.load.buffer),
                          exchanged(z, e->u.load.buffer, e->u.load.index));
}

static Expr *rewrite_element(void *user, Expr *e)
{
    return rewrite_expr(user, e);
}

/* The expressions of one statement, whose child statements are done. */
static Stmt *rewrite_own(Swizzles *z, Stmt *s)
{
    Rewriter r = {.ctx = z->c, .user = z, .expr = rewrite_load};
    if (s->kind == ST_TEMP && is_swizzled(s->u.temp))
        return stmt_stamp(stmt_temp(z->c, place(z, s->u.temp), s->span), s);
    if (s->kind == ST_LET)
        return rewrite_stmt(&r, s);
    if (s->kind == ST_IF) {
        Expr *cond = rewrite_expr(&r, s->u.cond.cond);
        return cond == s->u.cond.cond
                   ? s
                   : stmt_stamp(stmt_if(z->c, cond, s->u.cond.then, s->u.cond.otherwise, s->span),
                                s);
    }
    if (s->kind == ST_INSTRUCTION)
        return stmt_map_exprs(z->c, s, rewrite_element, &r);
    if (s->kind != ST_STORE)
        return s;
    s = rewrite_stmt(&r, s);
    Buffer *b = s->u.store.buffer;
    if (!is_swizzled(b))
        return s;
    return stmt_store_like(z->c, s, place(z, b), exchanged(z, b, s->u.store.index),
                           s->u.store.value);
}

static Stmt *walk(void *user, Stmt *s)
{
    Swizzles *z = user;
    if (s->kind == ST_LET) { /* holds for the rest of the sequence around it */
        s = rewrite_own(z, s);
        facts_enter(z->facts, s);
        return s;
    }
    const Var *lane = z->lane;
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_VECTORIZE)
        z->lane = s->u.loop.var;
    Stmt *done = stmt_map_inside(z->c, z->facts, s, walk, z);
    z->lane = lane;
    return done ? rewrite_own(z, done) : done;
}

static bool has_swizzle(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP && is_swizzled(at.stmt->u.temp))
            return true;
    return false;
}

Kernel *pass_swizzle(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    bool found = has_swizzle(c, kernel->body);
    Swizzles z = {.c = c, .facts = facts_of_kernel(c, kernel)};
    return kernel_with_body(c, kernel, found ? walk(&z, kernel->body) : kernel->body);
}
