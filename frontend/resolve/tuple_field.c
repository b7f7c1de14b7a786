/* tuple_field.c - Resolves elements of tuples and their components: `best.index`, `w[i].mean`. */
#include "frontend/resolve/internal.h"

Expr **tuple_index(Resolver *r, const AstExpr *place, const Symbol *s)
{
    int rank = s->tuple->buffers[0]->rank, n = place->kind == AE_INDEX ? place->u.index.n : 0;
    Expr **index = ARENA_ARRAY(r->ctx->arena, Expr *, rank + 1);
    if (n != rank) {
        diag_error(r->ctx, E0203, place->span, "'%.60s' has %d subscript%s, but %d %s given",
                   s->name, rank, rank == 1 ? "" : "s", n, n == 1 ? "is" : "are");
        return NULL;
    }
    bool good = true;
    for (int d = 0; d < rank; d++) {
        index[d] = resolve_subscript(r, place->u.index.items[d]);
        good = good && index[d];
    }
    return good ? index : NULL;
}

static int find_part(const Combiner *combiner, Name name)
{
    for (int k = 0; k < combiner->n; k++)
        if (combiner->parts[k].name == name)
            return k;
    return -1;
}

const Symbol *tuple_find(const Resolver *r, const AstExpr *place)
{
    const AstExpr *base = place->kind == AE_INDEX ? place->u.index.base : place;
    const Symbol *s = base->kind == AE_NAME ? names_find(r, base->u.name) : NULL;
    return s && s->kind == SYMBOL_TUPLE ? s : NULL;
}

bool is_tuple_field(const Resolver *r, const AstExpr *e)
{
    return tuple_find(r, e->u.field.base) != NULL;
}

Expr *resolve_tuple_field(Resolver *r, const AstExpr *e)
{
    const AstExpr *place = e->u.field.base;
    const Symbol *s = tuple_find(r, place);
    if (s->broken)
        return NULL;
    const Combiner *combiner = s->tuple->combiner;
    int k = find_part(combiner, e->u.field.name.text);
    if (k < 0) {
        diag_error(r->ctx, E0246, e->u.field.name.span,
                   "reducer '%.60s' has no component '%.60s'; its first one is '%.60s'",
                   combiner->name, e->u.field.name.text, combiner->parts[0].name);
        return NULL;
    }
    if (s->tuple->vars)
        return expr_var(r->ctx, s->tuple->vars[k], e->span);
    Expr **index = tuple_index(r, place, s);
    return index ? expr_load(r->ctx, s->tuple->buffers[k], index, e->span) : NULL;
}

Expr *resolve_single_tuple(Resolver *r, const AstExpr *place)
{
    const Symbol *s = tuple_find(r, place);
    if (s->broken)
        return NULL;
    if (s->tuple->combiner->n > 1) {
        diag_error(r->ctx, E0246, place->span,
                   "'%.60s' is a tuple; name one of its components, as in %.60s.%.60s", s->name,
                   s->name, s->tuple->combiner->parts[0].name);
        return NULL;
    }
    if (s->tuple->vars)
        return expr_var(r->ctx, s->tuple->vars[0], place->span);
    Expr **index = tuple_index(r, place, s);
    return index ? expr_load(r->ctx, s->tuple->buffers[0], index, place->span) : NULL;
}
