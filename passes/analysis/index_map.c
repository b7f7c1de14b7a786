/* index_map.c - see index_map.h. */
#include "passes/analysis/index_map.h"

static void print_list(Context *c, Expr *const *items, int n, StrBuf *out)
{
    strbuf_addc(out, '[');
    for (int i = 0; i < n; i++) {
        strbuf_add(out, i ? ", " : "");
        print_expr(c, items[i], out);
    }
    strbuf_addc(out, ']');
}

void index_map_print(Context *c, const IndexMap *map, StrBuf *out)
{
    Expr **from = ARENA_ARRAY(c->arena, Expr *, map->n_from + 1);
    for (int i = 0; i < map->n_from; i++)
        from[i] = expr_var(c, map->from[i], span_none());
    print_list(c, from, map->n_from, out);
    strbuf_add(out, " -> ");
    print_list(c, map->to, map->n_to, out);
}

Expr **index_map_apply(Context *c, const IndexMap *map, Expr *const *values)
{
    Subst *subst = ARENA_ARRAY(c->arena, Subst, map->n_from + 1);
    Expr **out = ARENA_ARRAY(c->arena, Expr *, map->n_to + 1);
    for (int i = 0; i < map->n_from; i++)
        subst[i] = (Subst){map->from[i], values[i]};
    for (int i = 0; i < map->n_to; i++)
        out[i] = expr_subst(c, map->to[i], subst, map->n_from);
    return out;
}

void facts_points(Facts *f, const PointBox *box)
{
    for (int i = 0; i < box->n; i++)
        facts_range(f, box->var[i], box->lo[i], box->hi[i]);
}

/* The number of elements from 0 to `last`, at least 0 also where the box has no points. */
static Expr *extent_to(Context *c, Facts *f, Expr *last)
{
    Expr *zero = expr_index(c, 0);
    Expr *extent = simplify(f, index_add(c, last, expr_index(c, 1)));
    bool sure = prove(facts_new(c), expr_binary(c, EX_GE, extent, zero, span_none()));
    return sure ? extent : index_max(c, extent, zero);
}

int box_of(Context *c, Facts *f, const PointBox *box, Expr *const *e, int n, Expr **extent)
{
    bool exact;
    for (int k = 0; k < n; k++) {
        Expr *last = bound_over(f, e[k], (const Var *const *)box->var, box->n, true, &exact);
        if (!last || !prove(f, expr_binary(c, EX_GE, e[k], expr_index(c, 0), span_none())))
            return k;
        extent[k] = extent_to(c, f, last);
    }
    return -1;
}
