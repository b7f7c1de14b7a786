/* retype.c - Rewrites the accesses of a buffer that gets another type (retype.h).
 *
 * Conversions to the wider type are exact, so one that follows the conversion back is left out. */
#include "passes/shared/retype.h"

#include "passes/shared/rebuild.h"

typedef struct {
    const Buffer *from; /* as it is in this kernel */
    Buffer *to;
} Rewrite;

/* A value of the wider type as one of `type`. */
static Expr *narrowed(Context *c, DType type, Expr *e)
{
    bool exact = e->kind == EX_FLOAT && type_round(type, e->u.f) == e->u.f;
    if (exact)
        return expr_float(c, type, e->u.f, e->span);
    bool back = e->kind == EX_CAST && e->u.arg[0]->type == type;
    return back ? e->u.arg[0] : expr_cast(c, type, e, e->span);
}

static Expr *rewrite_load(Rewriter *rewriter, Expr *e)
{
    const Rewrite *r = rewriter->user;
    if (e->kind != EX_LOAD || e->u.load.buffer != r->from)
        return e;
    Expr *load = expr_load_like(rewriter->ctx, e, r->to, e->u.load.index);
    return expr_cast(rewriter->ctx, r->from->type, load, e->span);
}

static Stmt *rewrite_access(Rewriter *rewriter, Stmt *s)
{
    const Rewrite *r = rewriter->user;
    if (s->kind == ST_TEMP && s->u.temp == r->from)
        return stmt_temp(rewriter->ctx, r->to, s->span);
    if (s->kind != ST_STORE || s->u.store.buffer != r->from)
        return s;
    Expr *value = narrowed(rewriter->ctx, r->to->type, s->u.store.value);
    return stmt_store_like(rewriter->ctx, s, r->to, s->u.store.index, value);
}

static const Buffer *find_temp(Context *c, const Kernel *kernel, uint32_t id)
{
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP && at.stmt->u.temp->id == id)
            return at.stmt->u.temp;
    return NULL;
}

static void record(Context *c, Kernel *kernel, const Retype *of)
{
    int n = kernel->n_retypes, at = 0;
    Retype *all = ARENA_COPY(c->arena, Retype, kernel->retypes, n, 1);
    while (at < n && all[at].from->id != of->from->id)
        at++;
    all[at] = (Retype){at < n ? all[at].from : of->from, of->type};
    kernel->retypes = all;
    kernel->n_retypes = at < n ? n : n + 1;
}

const Kernel *retype_temp(Context *c, const Kernel *kernel, const Retype *of)
{
    Rewrite r = {.from = find_temp(c, kernel, of->from->id)};
    if (!r.from)
        return kernel;
    r.to = buffer_copy(c, r.from);
    r.to->type = of->type;
    if (r.to->digits.sums >= type_info(of->type)->digits)
        r.to->digits.sums = 0;
    if (r.to->digits.products >= type_info(of->type)->digits)
        r.to->digits.products = 0;
    Rewriter rewriter = {.ctx = c, .user = &r, .expr = rewrite_load, .stmt = rewrite_access};
    Kernel *out = kernel_with_body(c, kernel, rewrite_stmt(&rewriter, kernel->body));
    record(c, out, of);
    return out;
}
