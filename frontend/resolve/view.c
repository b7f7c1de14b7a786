/* view.c - Resolves views, which give elements of a buffer other subscripts.
 *
 *   view S[x, y] = A[i * 16 + x, k + y];
 *   S[2, j] += 1;                           =>    A[i * 16 + 2, k + j] += 1;
 *
 * A view is a name and no memory: each use is written out, and printed programs name the buffer. */
#include "frontend/resolve/internal.h"

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

Expr **view_subscripts(Resolver *r, const Symbol *view, AstExpr *const *items, int n, Span span)
{
    const View *part = view->part;
    if (n != part->n) {
        diag_error(r->ctx, E0252, span, "view '%.60s' has %d subscript%s, but %d %s given",
                   view->name, part->n, part->n == 1 ? "" : "s", n, n == 1 ? "is" : "are");
        diag_note(r->ctx, view->span, "'%.60s' is declared here", view->name);
        return NULL;
    }
    Subst *map = ARENA_ARRAY(r->ctx->arena, Subst, n);
    bool good = true;
    for (int i = 0; i < n; i++) {
        map[i] = (Subst){part->params[i], resolve_subscript(r, items[i])};
        good = good && map[i].value;
    }
    Expr **index = ARENA_ARRAY(r->ctx->arena, Expr *, part->buffer->rank + 1);
    for (int k = 0; k < part->buffer->rank && good; k++)
        index[k] = expr_subst(r->ctx, part->index[k], map, n);
    return good ? index : NULL;
}
