/* relation.c - see relation.h.
 *
 * Whether a key tells is a question about two points, which poly.h answers, products of sizes
 * included. The formula is isl's: expressions become piecewise affine functions, and the function
 * that it finds becomes expressions again. */
#include "passes/analysis/polyhedral/relation.h"

#include <isl/aff.h>
#include <isl/id.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/symbolic/simplify.h"

typedef struct {
    Context *c;
    isl_ctx *isl;
    const Relation *r;
    VEC(const Var *) sizes; /* the parameters of every space */
} Study;

/* ---- what there is --------------------------------------------------------------------------- */

static int point_index(const Study *s, const Var *var)
{
    for (int i = 0; i < s->r->points->n; i++)
        if (s->r->points->var[i] == var)
            return i;
    return -1;
}

static int size_index(const Study *s, const Var *var)
{
    for (int i = 0; i < s->sizes.n; i++)
        if (s->sizes.items[i] == var)
            return i;
    return -1;
}

static void note_sizes(Study *s, const Expr *e)
{
    for (Cursor at = cursor_expr(s->c, e); cursor_next(&at);)
        if (at.expr->kind == EX_VAR && point_index(s, at.expr->u.var) < 0 &&
            size_index(s, at.expr->u.var) < 0)
            VEC_PUSH(s->c->arena, &s->sizes, at.expr->u.var);
}

static Study study_new(Context *c, const Relation *r)
{
    Study s = {.c = c, .isl = poly_new(c)->isl, .r = r};
    for (int i = 0; i < r->points->n; i++) {
        note_sizes(&s, r->points->lo[i]);
        note_sizes(&s, r->points->hi[i]);
    }
    for (int i = 0; i < r->n_key; i++)
        note_sizes(&s, r->key[i]);
    for (int i = 0; i < r->n_value; i++)
        note_sizes(&s, r->value[i]);
    return s;
}

/* The space of points, with the sizes as parameters. */
static isl_space *points_space(const Study *s)
{
    isl_space *space = isl_space_set_alloc(s->isl, (unsigned)s->sizes.n, (unsigned)s->r->points->n);
    for (int i = 0; i < s->sizes.n; i++)
        space = isl_space_set_dim_id(space, isl_dim_param, (unsigned)i,
                                     isl_id_alloc(s->isl, NULL, (void *)s->sizes.items[i]));
    return space;
}

/* ---- expressions to isl; NULL where there is none -------------------------------------------- */

static isl_pw_aff *to_isl(const Study *s, const Expr *e);

static isl_pw_aff *constant(const Study *s, int64_t i)
{
    isl_local_space *space = isl_local_space_from_space(points_space(s));
    return isl_pw_aff_from_aff(isl_aff_val_on_domain(space, isl_val_int_from_si(s->isl, i)));
}

static isl_pw_aff *variable(const Study *s, const Var *var)
{
    int point = point_index(s, var), size = size_index(s, var);
    isl_local_space *space = isl_local_space_from_space(points_space(s));
    return isl_pw_aff_var_on_domain(space, point >= 0 ? isl_dim_set : isl_dim_param,
                                    (unsigned)(point >= 0 ? point : size));
}

/* a op b; products and quotients by constants only, as isl demands. */
static isl_pw_aff *combine(ExprKind kind, isl_pw_aff *a, isl_pw_aff *b)
{
    bool literal_b = isl_pw_aff_is_cst(b) == isl_bool_true;
    bool literal = literal_b || isl_pw_aff_is_cst(a) == isl_bool_true;
    if (kind == EX_ADD)
        return isl_pw_aff_add(a, b);
    if (kind == EX_SUB)
        return isl_pw_aff_sub(a, b);
    if (kind == EX_MIN)
        return isl_pw_aff_min(a, b);
    if (kind == EX_MAX)
        return isl_pw_aff_max(a, b);
    if (kind == EX_MUL && literal)
        return isl_pw_aff_mul(a, b);
    if (kind == EX_DIV && literal_b)
        return isl_pw_aff_tdiv_q(a, b);
    if (kind == EX_MOD && literal_b)
        return isl_pw_aff_tdiv_r(a, b);
    isl_pw_aff_free(a);
    isl_pw_aff_free(b);
    return NULL;
}

static isl_pw_aff *to_isl(const Study *s, const Expr *e)
{
    int64_t divisor = 1;
    if (e->type != DT_INDEX)
        return NULL;
    if (e->kind == EX_INT)
        return constant(s, e->u.i);
    if (e->kind == EX_VAR)
        return variable(s, e->u.var);
    if (e->kind == EX_NEG)
        return isl_pw_aff_neg(to_isl(s, e->u.arg[0]));
    if (!expr_is_binary(e->kind))
        return NULL;
    if ((e->kind == EX_DIV || e->kind == EX_MOD) &&
        (!expr_is_const(e->u.arg[1], &divisor) || divisor <= 0))
        return NULL;
    isl_pw_aff *a = to_isl(s, e->u.arg[0]), *b = to_isl(s, e->u.arg[1]);
    if (a && b)
        return combine(e->kind, a, b);
    isl_pw_aff_free(a);
    isl_pw_aff_free(b);
    return NULL;
}

/* ---- the relation ---------------------------------------------------------------------------- */

/* All points, under sizes of at least 0. */
static isl_set *all_points(const Study *s)
{
    const PointBox *box = s->r->points;
    isl_set *set = isl_set_universe(points_space(s));
    for (int i = 0; i < s->sizes.n; i++)
        if (s->sizes.items[i]->kind == VAR_SIZE)
            set = isl_set_lower_bound_si(set, isl_dim_param, (unsigned)i, 0);
    for (int i = 0; i < box->n; i++) {
        isl_pw_aff *var = variable(s, box->var[i]);
        set =
            isl_set_intersect(set, isl_pw_aff_ge_set(isl_pw_aff_copy(var), to_isl(s, box->lo[i])));
        set = isl_set_intersect(set, isl_pw_aff_lt_set(var, to_isl(s, box->hi[i])));
    }
    return set;
}

/* { point -> (e[0], ..., e[n - 1]) } */
static isl_map *outputs(const Study *s, Expr *const *e, int n)
{
    isl_map *map = isl_map_from_domain(all_points(s));
    for (int i = 0; i < n; i++)
        map = isl_map_flat_range_product(map, isl_map_from_pw_aff(to_isl(s, e[i])));
    return map;
}

/* { key -> value } */
static isl_map *key_to_value(const Study *s)
{
    isl_map *key = outputs(s, s->r->key, s->r->n_key);
    isl_map *value = outputs(s, s->r->value, s->r->n_value);
    return isl_map_coalesce(isl_map_apply_range(isl_map_reverse(key), value));
}

/* ---- does it tell? --------------------------------------------------------------------------- */

/* Columns of a new point; `env` learns them. */
static Affine *enter_point(Poly *p, const PointBox *box, Env *env)
{
    Affine *at = ARENA_ARRAY(p->ctx->arena, Affine, box->n + 1);
    for (int i = 0; i < box->n; i++) {
        Affine lo = poly_value(p, env, box->lo[i]), hi = poly_value(p, env, box->hi[i]);
        int64_t least, most, ignored;
        affine_range(p, lo, &least, &ignored);
        affine_range(p, hi, &ignored, &most);
        at[i] = poly_column(p, least, most == INT64_MAX ? most : most - 1, false);
        poly_at_most(p, &p->top, lo, at[i], 0);
        poly_at_most(p, &p->top, at[i], hi, -1);
        VEC_PUSH(p->ctx->arena, env, ((Meaning){box->var[i], at[i]}));
    }
    return at;
}

static Affine *values_at(Poly *p, const Env *env, Expr *const *e, int n)
{
    Affine *values = ARENA_ARRAY(p->ctx->arena, Affine, n + 1);
    for (int i = 0; i < n; i++)
        values[i] = poly_value(p, env, e[i]);
    return values;
}

static void print_point(const Relation *r, const Affine *at, const int64_t *point, StrBuf *out)
{
    for (int i = 0; i < r->points->n; i++)
        strbuf_addf(out, "%s%s = %lld", i ? ", " : "", r->points->var[i]->name,
                    (long long)affine_at(at[i], point));
}

/* The smallest two points of a system that has some, in words. */
static const char *describe_clash(Poly *p, const Relation *r, const Affine *a, const Affine *b)
{
    StrBuf text = strbuf_new(p->ctx->arena);
    VEC(Affine) first = {0};
    int64_t *point;
    for (int i = 0; i < p->fixed.n; i++)
        VEC_PUSH(p->ctx->arena, &first, p->fixed.items[i].value);
    for (int i = 0; i < 2 * r->points->n; i++)
        VEC_PUSH(p->ctx->arena, &first, i < r->points->n ? a[i] : b[i - r->points->n]);
    if (poly_solve(p, first.items, first.n, &point) != POLY_SOME)
        return NULL;
    for (int i = 0; i < p->fixed.n; i++)
        strbuf_addf(&text, "%s%s = %lld%s", i ? "" : "with ", p->fixed.items[i].var->name,
                    (long long)affine_at(p->fixed.items[i].value, point),
                    i + 1 < p->fixed.n ? ", " : ": ");
    print_point(r, a, point, &text);
    strbuf_add(&text, r->points->n > 1 ? ", and " : " and ");
    print_point(r, b, point, &text);
    return text.text;
}

Tells relation_tells(Context *c, const Relation *r, const char **clash)
{
    Poly *p = poly_new(c);
    Env env_a = {0}, env_b = {0};
    Affine *a = enter_point(p, r->points, &env_a), *b = enter_point(p, r->points, &env_b);
    Affine *key_a = values_at(p, &env_a, r->key, r->n_key);
    Affine *key_b = values_at(p, &env_b, r->key, r->n_key);
    for (int i = 0; i < r->n_key; i++)
        poly_equal(p, &p->top, key_a[i], key_b[i]);
    poly_differ(p, &p->top, values_at(p, &env_a, r->value, r->n_value),
                values_at(p, &env_b, r->value, r->n_value), r->n_value);
    Answer answer = poly_solve(p, NULL, 0, NULL);
    if (answer == POLY_NONE)
        return TELLS;
    *clash = answer == POLY_SOME && !p->inexact ? describe_clash(p, r, a, b) : NULL;
    return *clash ? TELLS_NOT : TELLS_UNKNOWN;
}

/* ---- isl to expressions; NULL where there is none -------------------------------------------- */

typedef struct {
    const Study *s;
    Var *const *place;
    isl_set *keys; /* that occur */
} Formula;

static Expr *from_isl(const Formula *f, isl_aff *aff);

static bool to_int(isl_val *v, int64_t *out)
{
    bool fits = v && isl_val_is_int(v) == isl_bool_true && isl_val_get_num_si(v) <= INT32_MAX &&
                isl_val_get_num_si(v) >= -INT32_MAX;
    *out = fits ? isl_val_get_num_si(v) : 0;
    isl_val_free(v);
    return fits;
}

/* floor(aff), which is what / computes of a numerator that is never negative. */
static Expr *floor_of(const Formula *f, isl_aff *aff)
{
    int64_t divisor;
    if (!to_int(isl_aff_get_denominator_val(aff), &divisor)) {
        isl_aff_free(aff);
        return NULL;
    }
    aff = isl_aff_scale_val(aff, isl_val_int_from_si(f->s->isl, divisor));
    isl_set *fine = isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(isl_aff_copy(aff)));
    bool never_negative = isl_set_is_subset(f->keys, fine) == isl_bool_true;
    isl_set_free(fine);
    Expr *numerator = never_negative ? from_isl(f, aff) : NULL;
    if (!never_negative)
        isl_aff_free(aff);
    return numerator ? index_div(f->s->c, numerator, expr_index(f->s->c, divisor)) : NULL;
}

/* sum + coefficient * term; `coefficient` is taken. NULL stays NULL. */
static Expr *add_term(const Formula *f, Expr *sum, isl_val *coefficient, Expr *term)
{
    Context *c = f->s->c;
    int64_t factor;
    if (!to_int(coefficient, &factor) || !sum || !term)
        return NULL;
    if (factor < 0)
        return index_sub(c, sum, index_mul(c, term, expr_index(c, -factor)));
    return index_add(c, sum, index_mul(c, term, expr_index(c, factor)));
}

/* What the dimension number `i` of a kind stands for. */
static Expr *dimension(const Formula *f, isl_aff *aff, enum isl_dim_type kind, int i)
{
    if (kind == isl_dim_div)
        return floor_of(f, isl_aff_get_div(aff, i));
    const Var *var = kind == isl_dim_param ? f->s->sizes.items[i] : f->place[i];
    return expr_var(f->s->c, (Var *)var, span_none());
}

/* Takes `aff`, whose coefficients are integers. */
static Expr *from_isl(const Formula *f, isl_aff *aff)
{
    static const enum isl_dim_type kinds[] = {isl_dim_in, isl_dim_param, isl_dim_div};
    Context *c = f->s->c;
    Expr *sum = expr_index(c, 0);
    for (int k = 0; k < 3 && sum; k++) {
        int n = isl_aff_dim(aff, kinds[k]);
        for (int i = 0; i < n && sum; i++) {
            isl_val *factor = isl_aff_get_coefficient_val(aff, kinds[k], i);
            if (isl_val_is_zero(factor) == isl_bool_true)
                isl_val_free(factor);
            else
                sum = add_term(f, sum, factor, dimension(f, aff, kinds[k], i));
        }
    }
    sum = add_term(f, sum, isl_aff_get_constant_val(aff), expr_index(c, 1));
    isl_aff_free(aff);
    return sum;
}

/* An output of the function, which is an integer for every key. */
static Expr *output_of(const Formula *f, isl_aff *aff)
{
    Context *c = f->s->c;
    int64_t divisor;
    if (!to_int(isl_aff_get_denominator_val(aff), &divisor)) {
        isl_aff_free(aff);
        return NULL;
    }
    Expr *e = from_isl(f, isl_aff_scale_val(aff, isl_val_int_from_si(f->s->isl, divisor)));
    return e ? index_div(c, e, expr_index(c, divisor)) : NULL;
}

/* The function as one formula for all its keys; takes the map. */
static isl_multi_aff *one_formula(isl_map *map, const isl_set *keys)
{
    isl_pw_multi_aff *f = isl_pw_multi_aff_from_map(map);
    f = isl_pw_multi_aff_gist(f, isl_set_copy((isl_set *)keys));
    f = isl_pw_multi_aff_coalesce(f);
    if (isl_pw_multi_aff_n_piece(f) == 1 && isl_pw_multi_aff_isa_multi_aff(f) == isl_bool_true)
        return isl_pw_multi_aff_as_multi_aff(f);
    isl_pw_multi_aff_free(f);
    return NULL;
}

/* No key occurs, so that every formula will do. */
static bool solve_nothing(Context *c, const Relation *r, Expr **out)
{
    for (int i = 0; i < r->n_value; i++)
        out[i] = expr_index(c, 0);
    return true;
}

bool relation_solve(Context *c, const Relation *r, Var *const *place, Expr **out)
{
    Study s = study_new(c, r);
    isl_map *map = key_to_value(&s);
    Formula f = {&s, place, isl_map_domain(isl_map_copy(map))};
    bool found = isl_map_is_single_valued(map) == isl_bool_true;
    bool nothing = isl_map_is_empty(map) == isl_bool_true;
    isl_multi_aff *formula = found && !nothing ? one_formula(isl_map_copy(map), f.keys) : NULL;
    found = formula != NULL;
    for (int i = 0; i < r->n_value && found; i++)
        found = (out[i] = output_of(&f, isl_multi_aff_get_aff(formula, i))) != NULL;
    isl_multi_aff_free(formula);
    isl_set_free(f.keys);
    isl_map_free(map);
    return found || (nothing && solve_nothing(c, r, out));
}
