/* relation.c - Decides whether one list of integer expressions functionally determines another over
 * the same points, and by which formula.
 *
 * Both questions are systems of poly.h. Functional dependence is a question about two points,
 * products of sizes included. The formula comes from isl: the image of (key, sizes, value) is a map
 * from keys and sizes to values, and isl's piecewise function for it is translated to
 * expressions. */
#include "passes/analysis/polyhedral/relation.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/symbolic/simplify.h"

/* ---- does it tell? --------------------------------------------------------------------------- */

/* Columns of a new point; `env` learns them. */
static Affine *enter_point(Poly *p, const PointBox *box, Env *env)
{
    Affine *at = ARENA_ARRAY(p->ctx->arena, Affine, box->n + 1);
    for (int i = 0; i < box->n; i++) {
        at[i] =
            poly_between(p, env, poly_value(p, env, box->lo[i]), poly_value(p, env, box->hi[i]));
        VEC_PUSH(p->ctx->arena, env, ((Meaning){box->var[i], at[i], false}));
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
    Poly *p;
    Context *c;
    VEC(const Var *) inputs; /* of the map: variables for the keys, then sizes */
    isl_set *keys;           /* the inputs that occur */
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

/* floor(aff). The operator / computes it if the numerator is never negative. */
static Expr *floor_of(const Formula *f, isl_aff *aff)
{
    int64_t divisor;
    if (!to_int(isl_aff_get_denominator_val(aff), &divisor)) {
        isl_aff_free(aff);
        return NULL;
    }
    aff = isl_aff_scale_val(aff, isl_val_int_from_si(f->p->isl, divisor));
    isl_set *fine = isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(isl_aff_copy(aff)));
    bool never_negative = isl_set_is_subset(f->keys, fine) == isl_bool_true;
    isl_set_free(fine);
    Expr *numerator = never_negative ? from_isl(f, aff) : NULL;
    if (!never_negative)
        isl_aff_free(aff);
    return numerator ? index_div(f->c, numerator, expr_index(f->c, divisor)) : NULL;
}

/* sum + coefficient * term; `coefficient` is taken. NULL stays NULL. */
static Expr *add_term(const Formula *f, Expr *sum, isl_val *coefficient, Expr *term)
{
    Context *c = f->c;
    int64_t factor;
    if (!to_int(coefficient, &factor) || !sum || !term)
        return NULL;
    if (factor < 0)
        return index_sub(c, sum, index_mul(c, term, expr_index(c, -factor)));
    return index_add(c, sum, index_mul(c, term, expr_index(c, factor)));
}

/* Takes `aff`, whose coefficients are integers. */
static Expr *from_isl(const Formula *f, isl_aff *aff)
{
    Expr *sum = expr_index(f->c, 0);
    int n = f->inputs.n, n_floors = isl_aff_dim(aff, isl_dim_div);
    for (int i = 0; i < n + n_floors && sum; i++) {
        enum isl_dim_type kind = i < n ? isl_dim_in : isl_dim_div;
        isl_val *factor = isl_aff_get_coefficient_val(aff, kind, i < n ? i : i - n);
        if (isl_val_is_zero(factor) == isl_bool_true)
            isl_val_free(factor);
        else
            sum = add_term(f, sum, factor,
                           i < n ? expr_var(f->c, (Var *)f->inputs.items[i], span_none())
                                 : floor_of(f, isl_aff_get_div(aff, i - n)));
    }
    sum = add_term(f, sum, isl_aff_get_constant_val(aff), expr_index(f->c, 1));
    isl_aff_free(aff);
    return sum;
}

/* An output of the function, which is an integer for every key. */
static Expr *output_of(const Formula *f, isl_aff *aff)
{
    Context *c = f->c;
    int64_t divisor;
    if (!to_int(isl_aff_get_denominator_val(aff), &divisor)) {
        isl_aff_free(aff);
        return NULL;
    }
    Expr *e = from_isl(f, isl_aff_scale_val(aff, isl_val_int_from_si(f->p->isl, divisor)));
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

/* { [key, sizes] -> value }; NULL where the points are not known exactly. Sets f->inputs. */
static isl_map *key_to_value(Formula *f, const Relation *r, Var *const *place)
{
    Poly *p = f->p;
    Env env = {0};
    VEC(Affine) forms = {0};
    bool exact;
    enter_point(p, r->points, &env);
    Affine *key = values_at(p, &env, r->key, r->n_key);
    Affine *value = values_at(p, &env, r->value, r->n_value);
    for (int i = 0; i < r->n_key; i++) {
        VEC_PUSH(f->c->arena, &f->inputs, place[i]);
        VEC_PUSH(f->c->arena, &forms, key[i]);
    }
    for (int i = 0; i < p->fixed.n; i++) {
        VEC_PUSH(f->c->arena, &f->inputs, p->fixed.items[i].var);
        VEC_PUSH(f->c->arena, &forms, p->fixed.items[i].value);
    }
    VEC_APPEND(f->c->arena, &forms, value, r->n_value);
    isl_set *image = poly_image(p, forms.items, forms.n, &exact);
    if (!exact)
        image = isl_set_free(image);
    return isl_map_move_dims(isl_map_from_range(image), isl_dim_in, 0, isl_dim_out, 0,
                             (unsigned)f->inputs.n);
}

bool relation_solve(Context *c, const Relation *r, Var *const *place, Expr **out)
{
    Formula f = {.p = poly_new(c), .c = c};
    arena_begin_lenient(c->arena);
    isl_map *map = isl_map_coalesce(key_to_value(&f, r, place));
    f.keys = isl_map_domain(isl_map_copy(map));
    bool single = isl_map_is_single_valued(map) == isl_bool_true;
    bool nothing = isl_map_is_empty(map) == isl_bool_true; /* any formula will do */
    isl_multi_aff *formula = single && !nothing ? one_formula(isl_map_copy(map), f.keys) : NULL;
    bool found = formula || nothing;
    for (int i = 0; i < r->n_value && found; i++) {
        out[i] = nothing ? expr_index(c, 0) : output_of(&f, isl_multi_aff_get_aff(formula, i));
        found = out[i] != NULL;
    }
    isl_multi_aff_free(formula);
    isl_set_free(f.keys);
    isl_map_free(map);
    arena_end_lenient(c->arena);
    return found;
}
