/* view.c - Resolves views, which give elements of a buffer other subscripts.
 *
 *   view S[x, y] = A[i * 16 + x, k + y];
 *   S[2, j] += 1;                           =>    A[i * 16 + 2, k + j] += 1;
 *
 * A view is a name and no memory: each use is written out, and printed programs name the buffer. */
#include "frontend/resolve/internal.h"
#include "passes/analysis/symbolic/simplify.h"

/* The names of the subscripts, in scope until the caller cuts them. */
static Var *const *declare_params(Resolver *r, const AstStmt *s)
{
    int n = s->u.view.n;
    Var **params = ARENA_ARRAY(r->ctx->arena, Var *, n);
    for (int i = 0; i < n; i++) {
        AstName name = s->u.view.params[i];
        params[i] = var_new(r->ctx, name.text, DT_INDEX, VAR_ITER, name.span);
        names_add(
            r,
            (Symbol){.name = name.text, .kind = SYMBOL_VAR, .span = name.span, .var = params[i]});
    }
    return params;
}

static const View *resolve_part(Resolver *r, const AstStmt *s)
{
    View *view = ARENA_NEW(r->ctx->arena, View);
    int outside = r->symbols.n, errors = r->ctx->n_errors;
    view->n = s->u.view.n;
    view->params = declare_params(r, s);
    Expr *element = resolve_value(r, s->u.view.place).e;
    names_cut(r, outside);
    if (!element || r->ctx->n_errors > errors)
        return NULL;
    if (element->kind != EX_LOAD) {
        diag_error(
            r->ctx, E0252, s->u.view.place->span,
            "view '%.60s' stands for elements of a buffer, and this is none; declare a value "
            "with 'let'",
            s->u.view.name.text);
        return NULL;
    }
    view->buffer = element->u.load.buffer;
    view->index = element->u.load.index;
    return view;
}

/* Lowered text has no views. */
static bool may_stand(Resolver *r, const AstStmt *s)
{
    if (r->mode == MODE_PROGRAM || r->mode == MODE_BLOCK)
        return true;
    diag_error(r->ctx, E0252, s->span,
               "'%.60s' is a view in a lowered kernel, whose text names the buffers; write the "
               "subscripts of the buffer",
               s->u.view.name.text);
    return false;
}

Stmt *resolve_view(Resolver *r, const AstStmt *s)
{
    AstName name = s->u.view.name;
    const View *part = may_stand(r, s) ? resolve_part(r, s) : NULL;
    names_add(r, (Symbol){.name = name.text,
                          .kind = SYMBOL_VIEW,
                          .span = name.span,
                          .part = part,
                          .broken = !part});
    return part ? stmt_seq(r->ctx, NULL, 0, s->span) : NULL;
}

/* Sums and products with the literals that the subscripts of a view have become. */
static Expr *fold_literals(Rewriter *w, Expr *e)
{
    int64_t x, y;
    bool sum = e->kind == EX_ADD || e->kind == EX_SUB;
    if (e->type != DT_INDEX || !(sum || e->kind == EX_MUL))
        return e;
    Expr *a = e->u.arg[0], *b = e->u.arg[1];
    bool one = expr_is_const(a, &x), other = expr_is_const(b, &y);
    if (e->kind == EX_MUL)
        return one && other ? index_mul(w->ctx, a, b) : e;
    if (e->kind == EX_ADD)
        return one || other ? index_add(w->ctx, a, b) : e;
    return other ? index_sub(w->ctx, a, b) : e;
}

Expr **view_element(Context *c, const View *part, Expr *const *at)
{
    Subst *map = ARENA_ARRAY(c->arena, Subst, part->n + 1);
    Expr **index = ARENA_ARRAY(c->arena, Expr *, part->buffer->rank + 1);
    Rewriter fold = {.ctx = c, .expr = fold_literals};
    for (int i = 0; i < part->n; i++)
        map[i] = (Subst){part->params[i], at[i]};
    for (int k = 0; k < part->buffer->rank; k++)
        index[k] = rewrite_expr(&fold, expr_subst(c, part->index[k], map, part->n));
    return index;
}

Expr **view_subscripts(Resolver *r, const Symbol *view, AstExpr *const *items, int n, Span span)
{
    const View *part = view->part;
    if (n != part->n) {
        diag_error(r->ctx, E0252, span, "view '%.60s' has %d subscript%s, but %d %s given",
                   view->name, part->n, part->n == 1 ? "" : "s", n, n == 1 ? "is" : "are");
        diag_note(r->ctx, view->span, "'%.60s' is declared here", view->name);
        return NULL;
    }
    Expr **at = ARENA_ARRAY(r->ctx->arena, Expr *, n);
    bool good = true;
    for (int i = 0; i < n; i++) {
        at[i] = resolve_subscript(r, items[i]);
        good = good && at[i];
    }
    return good ? view_element(r->ctx, part, at) : NULL;
}
