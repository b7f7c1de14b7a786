/* index_map.c - see index_map.h. */
#include "passes/analysis/polyhedral/index_map.h"

#include "passes/analysis/symbolic/affine.h"

void index_map_print(const IndexMap *map, StrBuf *out)
{
    strbuf_addc(out, '[');
    for (int i = 0; i < map->n_from; i++)
        strbuf_addf(out, "%s%s", i ? ", " : "", map->from[i]->name);
    strbuf_add(out, "] -> [");
    print_exprs(map->to, map->n_to, out);
    strbuf_addc(out, ']');
}

Expr **index_map_apply(Context *c, const IndexMap *map, Expr *const *values)
{
    Subst *subst = ARENA_ARRAY(c->arena, Subst, map->n_from + 1);
    for (int i = 0; i < map->n_from; i++)
        subst[i] = (Subst){map->from[i], values[i]};
    return exprs_subst(c, map->to, map->n_to, subst, map->n_from);
}

Expr **exprs_of_vars(Context *c, Var *const *vars, int n)
{
    Expr **values = ARENA_ARRAY(c->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++)
        values[i] = expr_var(c, vars[i], span_none());
    return values;
}

Expr **exprs_zero(Context *c, int n)
{
    Expr **zeros = ARENA_ARRAY(c->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++)
        zeros[i] = expr_index(c, 0);
    return zeros;
}

PointBox block_points(Context *c, const BlockStmt *block)
{
    int n = block->n_iters;
    Var **var = ARENA_ARRAY(c->arena, Var *, n + 1);
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, n + 1), **hi = ARENA_ARRAY(c->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++) {
        var[i] = block->iters[i].var;
        lo[i] = block->iters[i].lo;
        hi[i] = block->iters[i].hi;
    }
    return (PointBox){var, lo, hi, n};
}

/* A box without points gets one, so that its places have bounds. */
void facts_points(Facts *f, const PointBox *box)
{
    int64_t lo, hi;
    for (int i = 0; i < box->n; i++) {
        bool empty = expr_is_const(simplify(f, box->lo[i]), &lo) &&
                     expr_is_const(simplify(f, box->hi[i]), &hi) && hi <= lo;
        facts_range(f, box->var[i], box->lo[i],
                    empty ? index_add(f->c, box->lo[i], expr_index(f->c, 1)) : box->hi[i]);
    }
}

void facts_range_loosely(Facts *f, const Var *var, Expr *lo, Expr *hi)
{
    int64_t first, end;
    if (expr_is_const(lo, &first) && expr_is_const(hi, &end) && end - first == 1)
        hi = expr_index(f->c, end + 1);
    facts_range(f, var, lo, hi);
}

/* a / by, where a is a multiple of it; else NULL. */
static Expr *multiple_of(Facts *f, Expr *a, Expr *by)
{
    Expr *quotient = simplify(f, index_div(f->c, a, by));
    return expr_equal(simplify(f, index_mul(f->c, quotient, by)), a) ? quotient : NULL;
}

/* e + 1; of a quotient by sizes as one quotient: (M * N - 1) / N + 1 is M. */
static Expr *one_more(Facts *f, Expr *e)
{
    Context *c = f->c;
    Expr *one = expr_index(c, 1), *by = e->kind == EX_DIV ? e->u.arg[1] : one;
    Affine end;
    if (by->kind == EX_INT ||
        !affine_of(c, index_add(c, e->u.arg[0], one), PRODUCTS_EXPANDED, &end) ||
        !prove_at_least(f, e->u.arg[0], 0))
        return index_add(c, e, one);
    Expr *number = affine_expr(c, &end, e->span), *exact = multiple_of(f, number, by);
    return exact ? exact : index_div(c, index_sub(c, index_add(c, number, by), one), by);
}

static bool is_of_box(const PointBox *box, const Var *var)
{
    for (int i = 0; i < box->n; i++)
        if (box->var[i] == var)
            return true;
    return false;
}

/* What is known also where the box has no points. */
static Facts facts_without(const Facts *f, const PointBox *box)
{
    int first = f->ranges.n, conditions = f->conditions.n;
    while (first > 0 && is_of_box(box, f->ranges.items[first - 1].var)) {
        first--;
        conditions = f->ranges.items[first].conditions_before;
    }
    return facts_outside(f, (FactsMark){first, conditions});
}

/* The sum of a variable and a number. */
typedef struct {
    Var *var;
    int64_t number;
} Shift;

/* The sum of a variable and a number that an expression is, such as H - 2. */
static bool is_shifted(Context *c, Expr *e, Shift *out)
{
    Affine form;
    bool sum = (e->kind == EX_ADD || e->kind == EX_SUB) && e->type == DT_INDEX &&
               affine_of(c, e, PRODUCTS_KEPT, &form) && form.n == 1 && form.constant != 0 &&
               form.constant != INT64_MIN && form.terms[0].factor == 1 &&
               form.terms[0].atom->kind == EX_VAR;
    if (sum)
        *out = (Shift){form.terms[0].atom->u.var, form.constant};
    return sum;
}

/* The expression with var + number in the place of the variable. */
static Expr *with_sum(Context *c, Expr *e, Var *var, int64_t number)
{
    Expr *sum = index_add(c, expr_var(c, var, span_none()), expr_index(c, number));
    return expr_subst(c, e, &(Subst){var, sum}, 1);
}

/* A product of variables and their sums with numbers that occur in `e`, if it is one; else `e`:
 *
 *   ((N - 1) * (H - 2) + H - 3) * (W - 2) + W - 2   =>   N * (H - 2) * (W - 2) */
static Expr *as_product(Context *c, Expr *e)
{
    enum { SHIFTS = 8 };
    Shift used[SHIFTS];
    int n = 0;
    Affine form, less;
    if (!affine_of(c, e, PRODUCTS_EXPANDED, &form))
        return e;
    for (Cursor at = cursor_expr(c, e); n < SHIFTS && form.n > 1 && cursor_next(&at);) {
        Shift shift;
        if (is_shifted(c, at.expr, &shift) &&
            affine_of(c, with_sum(c, affine_expr(c, &form, e->span), shift.var, -shift.number),
                      PRODUCTS_EXPANDED, &less) &&
            less.n + (less.constant != 0) < form.n + (form.constant != 0)) {
            form = less;
            used[n++] = shift;
        }
    }
    if (form.n != 1 || form.constant != 0)
        return e;
    e = affine_expr(c, &form, e->span);
    while (n-- > 0)
        e = with_sum(c, e, used[n].var, used[n].number);
    return e;
}

/* With products of sums multiplied out, where that is shorter: C * H for (C - 1) * H + H; or as a
 * product. */
static Expr *multiplied_out(Facts *f, Expr *e)
{
    enum { NODES = 64 };
    Affine form;
    if (!affine_of(f->c, e, PRODUCTS_EXPANDED, &form))
        return e;
    Expr *sum = affine_expr(f->c, &form, e->span);
    return expr_nodes(sum, NODES) < expr_nodes(e, NODES) ? sum : simplify(f, as_product(f->c, e));
}

/* The number of elements from 0 to `last`; at least 0 also where the box has no points, unless it
 * is the end of a range that the program itself has. */
static Expr *extent_to(Facts *f, const PointBox *box, Expr *last)
{
    Context *c = f->c;
    Expr *zero = expr_index(c, 0);
    Expr *extent = multiplied_out(f, simplify(f, one_more(f, last)));
    Facts outside = facts_without(f, box);
    bool fine = prove_compare(&outside, extent, EX_GE, zero);
    for (int i = 0; i < box->n && !fine; i++)
        fine = expr_equal(extent, box->hi[i]);
    return fine ? extent : index_max(c, extent, zero);
}

int box_of(Facts *f, const PointBox *box, Expr *const *e, int n, Expr **extent)
{
    bool exact;
    for (int k = 0; k < n; k++) {
        Expr *last = largest_over(f, e[k], (const Var *const *)box->var, box->n, &exact);
        if (!last || expr_has_load(last) || !prove_at_least(f, e[k], 0))
            return k;
        extent[k] = extent_to(f, box, last);
    }
    return -1;
}

bool index_map_back(Facts *f, const PointBox *box, Expr *const *to, int n, Var *const *place,
                    Expr **back)
{
    Context *c = f->c;
    Expr **variables = exprs_of_vars(c, box->var, box->n);
    Relation relation = {box, to, variables, n, box->n};
    facts_points(f, box);
    return digits_solve(c, f, box, to, n, place, back) || relation_solve(c, &relation, place, back);
}

Expr *index_map_taken(Facts *f, const IndexMap *map, const PointBox *box, Expr *const *back,
                      Var *const *place)
{
    Context *c = f->c;
    Expr *taken = NULL, **again = index_map_apply(c, map, back);
    Subst *point = ARENA_ARRAY(c->arena, Subst, box->n + 1);
    int64_t always;
    for (int i = 0; i < box->n; i++) {
        Expr *lo = expr_subst(c, box->lo[i], point, i), *hi = expr_subst(c, box->hi[i], point, i);
        taken = cond_and(c, taken, expr_binary(c, EX_GE, back[i], lo, span_none()));
        taken = cond_and(c, taken, expr_binary(c, EX_LT, back[i], hi, span_none()));
        point[i] = (Subst){box->var[i], back[i]};
    }
    for (int k = 0; k < map->n_to; k++) {
        Expr *at = expr_var(c, place[k], span_none());
        taken = cond_and(c, taken, expr_binary(c, EX_EQ, again[k], at, span_none()));
    }
    taken = taken ? simplify(f, taken) : NULL;
    return taken && expr_is_const(taken, &always) && always ? NULL : taken;
}
