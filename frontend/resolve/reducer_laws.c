/* reducer_laws.c - Tests the laws of a reducer by evaluation: combine(init, x) is x, and the order
 * and grouping of operands make no difference. Of one that is declared `ordered` only their
 * grouping makes none; combine(x, init), which then follows from nothing else, must be x, too.
 *
 * The operands are tuples that satisfy the reducer's `where` clause: edge cases and seeded random
 * numbers, the same in every run. Floats are evaluated in f64, so what remains of rounding is far
 * below the tolerance. Tuples that combine(init, x) changes are not results of any reduction, and
 * are left out if they are the minority: count = 0 with a mean, for example. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "frontend/resolve/internal.h"
#include "runtime/vm.h"

enum { N_TUPLES = 14, N_TRIES = 400 };
static const double tolerance = 1e-9;

/* The value of an expression: `f` of floats, `i` of all else. */
typedef struct {
    double f;
    int64_t i;
} Number;

typedef struct {
    Context *c;
    const Combiner *combiner;
    VEC(const Var *) vars;
    VEC(Number) values;
    uint64_t seed;
    Number *tuples[N_TUPLES];
    int n;
    Number *pairs[N_TUPLES][N_TUPLES]; /* two of the tuples combined */
} Laws;

/* ---- evaluation ---- */

/* The low bits of an integer, as its type reads them. */
static int64_t wrapped(DType type, uint64_t v)
{
    const TypeInfo *info = type_info(type);
    if (type == DT_BOOL)
        return v != 0;
    if (info->bits >= 64)
        return (int64_t)v;
    uint64_t low = v & (((uint64_t)1 << info->bits) - 1);
    bool negative = info->class == CLASS_INT && low >> (info->bits - 1);
    return (int64_t)(negative ? low | ~(uint64_t)0 << info->bits : low);
}

static Number eval(const Laws *laws, const Expr *e);

static double float_binary(ExprKind kind, double x, double y)
{
    switch (kind) {
    case EX_ADD: return x + y;
    case EX_SUB: return x - y;
    case EX_MUL: return x * y;
    case EX_DIV: return x / y;
    case EX_MIN: return fmin(x, y);
    case EX_MAX: return fmax(x, y);
    default: return NAN;
    }
}

/* Of 64 bits; division by zero gives 0, which no law depends on. */
static uint64_t int_binary(ExprKind kind, bool is_signed, int64_t x, int64_t y)
{
    uint64_t u = (uint64_t)x, v = (uint64_t)y;
    bool overflows = x == INT64_MIN && y == -1;
    switch (kind) {
    case EX_ADD: return u + v;
    case EX_SUB: return u - v;
    case EX_MUL: return u * v;
    case EX_DIV: return v == 0 ? 0 : !is_signed ? u / v : overflows ? u : (uint64_t)(x / y);
    case EX_MOD: return v == 0 || overflows ? 0 : is_signed ? (uint64_t)(x % y) : u % v;
    case EX_MIN: return (is_signed ? x < y : u < v) ? u : v;
    case EX_MAX: return (is_signed ? x > y : u > v) ? u : v;
    case EX_BITAND:
    case EX_AND: return u & v;
    case EX_BITOR:
    case EX_OR: return u | v;
    case EX_BITXOR: return u ^ v;
    case EX_SHL: return v > 63 ? 0 : u << v;
    case EX_SHR:
        return v > 63      ? (is_signed && x < 0 ? ~(uint64_t)0 : 0)
               : is_signed ? (uint64_t)(x >> v)
                           : u >> v;
    default: return 0;
    }
}

static bool compare(ExprKind kind, bool less, bool equal, bool greater)
{
    switch (kind) {
    case EX_LT: return less;
    case EX_LE: return less || equal;
    case EX_GT: return greater;
    case EX_GE: return greater || equal;
    case EX_EQ: return equal;
    default: return !equal;
    }
}

static Number binary(const Laws *laws, const Expr *e)
{
    const Expr *left = e->u.arg[0];
    Number x = eval(laws, left), y = eval(laws, e->u.arg[1]);
    bool is_float = type_is_float(left->type);
    bool is_signed = type_info(left->type)->class != CLASS_UINT;
    if (op_info(e->kind)->class == OP_COMPARE) {
        bool less = is_float ? x.f < y.f : is_signed ? x.i < y.i : (uint64_t)x.i < (uint64_t)y.i;
        bool equal = is_float ? x.f == y.f : x.i == y.i;
        bool greater = is_float ? x.f > y.f : !less && !equal;
        return (Number){.i = compare(e->kind, less, equal, greater)};
    }
    if (is_float)
        return (Number){.f = float_binary(e->kind, x.f, y.f)};
    return (Number){.i = wrapped(e->type, int_binary(e->kind, is_signed, x.i, y.i))};
}

static Number cast(const Laws *laws, const Expr *e)
{
    const Expr *from = e->u.arg[0];
    Number x = eval(laws, from);
    bool wide = from->type == DT_U64 && x.i < 0;
    double f = type_is_float(from->type) ? x.f : wide ? (double)(uint64_t)x.i : (double)x.i;
    if (type_is_float(e->type))
        return (Number){.f = f};
    if (!type_is_float(from->type))
        return (Number){.i = wrapped(e->type, (uint64_t)x.i)};
    int64_t i = isnan(f) ? 0 : f >= 0x1p63 ? INT64_MAX : f <= -0x1p63 ? INT64_MIN : (int64_t)f;
    return (Number){.i = wrapped(e->type, (uint64_t)i)};
}

static Number unary(const Laws *laws, const Expr *e)
{
    Number x = eval(laws, e->u.arg[0]);
    if (e->kind == EX_NEG)
        return (Number){.f = -x.f, .i = wrapped(e->type, 0 - (uint64_t)x.i)};
    return (Number){.i = e->kind == EX_NOT ? !x.i : wrapped(e->type, ~(uint64_t)x.i)};
}

static Number bitcast(const Expr *e, Number x)
{
    DType from = e->u.call.arg[0]->type;
    VmValue value = {.i64 = x.i};
    if (from == DT_F64)
        value.f64 = x.f;
    else if (type_is_float(from))
        value.f32 = (float)x.f;
    value = function_bitcast(from, e->type, value);
    if (type_is_float(e->type))
        return (Number){.f = vm_value_double(e->type, value)};
    return (Number){.i = wrapped(e->type, value.u64)};
}

static Number call(const Laws *laws, const Expr *e)
{
    CallKind call = e->u.call.call;
    Number arg[3] = {{0}};
    for (int i = 0; i < call_info(call)->arity; i++)
        arg[i] = eval(laws, e->u.call.arg[i]);
    if (call == CALL_BITCAST)
        return bitcast(e, arg[0]);
    DType type = e->u.call.arg[0]->type;
    if (!type_is_float(type))
        return (Number){
            .i = function_integer(call, type, (const int64_t[]){arg[0].i, arg[1].i, arg[2].i})};
    double f = function_f64(call, (const double[]){arg[0].f, arg[1].f, arg[2].f});
    return e->type == DT_BOOL ? (Number){.i = f != 0} : (Number){.f = f};
}

static Number eval(const Laws *laws, const Expr *e)
{
    switch (e->kind) {
    case EX_INT: return (Number){.i = e->u.i};
    case EX_FLOAT: return (Number){.f = e->u.f};
    case EX_VAR:
        for (int i = laws->vars.n - 1; i >= 0; i--)
            if (laws->vars.items[i] == e->u.var)
                return laws->values.items[i];
        TIRC_BUG(laws->c, "'%s' has no value in a reducer", e->u.var->name);
    case EX_SELECT: return eval(laws, e->u.arg[eval(laws, e->u.arg[0]).i ? 1 : 2]);
    case EX_CAST: return cast(laws, e);
    case EX_CALL: return call(laws, e);
    default: return expr_is_unary(e->kind) ? unary(laws, e) : binary(laws, e);
    }
}

/* ---- tuples ---- */

static void set(Laws *laws, const Var *var, Number value)
{
    VEC_PUSH(laws->c->arena, &laws->vars, var);
    VEC_PUSH(laws->c->arena, &laws->values, value);
}

static Number *combine(Laws *laws, const Number *a, const Number *b)
{
    const Combiner *combiner = laws->combiner;
    Number *out = ARENA_ARRAY(laws->c->arena, Number, combiner->n);
    for (int k = 0; k < combiner->n; k++) {
        set(laws, combiner->parts[k].a, a[k]);
        set(laws, combiner->parts[k].b, b[k]);
    }
    for (int i = 0; i < combiner->n_lets; i++)
        set(laws, combiner->lets[i].var, eval(laws, combiner->lets[i].value));
    for (int k = 0; k < combiner->n; k++)
        out[k] = eval(laws, combiner->parts[k].value);
    laws->vars.n = laws->values.n = 0;
    return out;
}

/* Equal but for rounding in f64, relative to the numbers that went in. */
static bool same_number(DType type, Number x, Number y, double size)
{
    if (!type_is_float(type))
        return x.i == y.i;
    return x.f == y.f || (isnan(x.f) && isnan(y.f)) ||
           fabs(x.f - y.f) <= tolerance * (fabs(x.f) + fabs(y.f) + size);
}

static double size_of(const Laws *laws, const Number *x)
{
    double size = 0;
    for (int k = 0; k < laws->combiner->n; k++)
        if (type_is_float(laws->combiner->parts[k].type) && isfinite(x[k].f))
            size += fabs(x[k].f) + x[k].f * x[k].f;
    return size;
}

static bool same_tuple(const Laws *laws, const Number *x, const Number *y, double size)
{
    for (int k = 0; k < laws->combiner->n; k++)
        if (!same_number(laws->combiner->parts[k].type, x[k], y[k], size))
            return false;
    return true;
}

static bool satisfies_conditions(Laws *laws, const Number *x)
{
    const Combiner *combiner = laws->combiner;
    for (int k = 0; k < combiner->n; k++)
        set(laws, combiner->parts[k].self, x[k]);
    bool good = true;
    for (int i = 0; good && i < combiner->n_conditions; i++)
        good = eval(laws, combiner->conditions[i]).i != 0;
    laws->vars.n = laws->values.n = 0;
    return good;
}

/* A splitmix64 generator. */
static uint64_t next_random(Laws *laws)
{
    uint64_t z = laws->seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Small numbers, which meet and cancel, more often than large ones. */
static Number random_number(Laws *laws, DType type)
{
    static const double floats[] = {0, 1, -1, 2, -2, 0.5, 3, 100};
    static const int64_t ints[] = {0, 1, -1, 2, -2, 3, 7, 100};
    uint64_t bits = next_random(laws), form = bits % 3;
    double unit = ldexp((double)(bits >> 11), -53);
    if (type_is_float(type))
        return (Number){.f = form == 0 ? floats[bits / 3 % 8] : 16 * unit - 8};
    int64_t i = form == 0   ? ints[bits / 3 % 8]
                : form == 1 ? (int64_t)(bits / 3 % 12)
                            : (int64_t)(bits / 3 % 2000001) - 1000000;
    return (Number){.i = wrapped(type, (uint64_t)i)};
}

/* A third of them meet a component of an earlier tuple, or its opposite: ties. */
static Number random_component(Laws *laws, int k)
{
    DType type = laws->combiner->parts[k].type;
    uint64_t bits = next_random(laws);
    if (bits % 3)
        return random_number(laws, type);
    Number known = laws->tuples[bits / 3 % (uint64_t)laws->n][k];
    bool opposite = bits >> 32 & 1;
    int64_t i = (int64_t)(opposite ? 0 - (uint64_t)known.i : (uint64_t)known.i);
    return (Number){opposite ? -known.f : known.f, wrapped(type, (uint64_t)i)};
}

static Number *identity_of(const Laws *laws)
{
    Number *x = ARENA_ARRAY(laws->c->arena, Number, laws->combiner->n);
    for (int k = 0; k < laws->combiner->n; k++)
        x[k] = eval(laws, laws->combiner->parts[k].identity);
    return x;
}

/* ---- refusals ---- */

static const char *tuple_text(const Laws *laws, const Number *x)
{
    StrBuf out = strbuf_new(laws->c->arena);
    for (int k = 0; k < laws->combiner->n; k++) {
        DType type = laws->combiner->parts[k].type;
        strbuf_addf(&out, "%s%s = ", k ? ", " : "(", laws->combiner->parts[k].name);
        if (type_is_float(type))
            strbuf_addf(&out, "%.6g", x[k].f);
        else
            strbuf_addf(&out, "%" PRId64, x[k].i);
    }
    strbuf_addc(&out, ')');
    return out.text;
}

/* Two tuples that a law makes equal, and what they are. */
typedef struct {
    const char *one, *other;
    const Number *x, *y;
} Difference;

static bool refuse(const Laws *laws, const char *law, Difference is)
{
    diag_error(laws->c, E0247, laws->combiner->span,
               "reducer '%.60s' is not %s: %s is %s, but %s is %s", laws->combiner->name, law,
               is.one, tuple_text(laws, is.x), is.other, tuple_text(laws, is.y));
    return false;
}

static void note_operand(const Laws *laws, const char *name, const Number *x)
{
    diag_note(laws->c, laws->combiner->span, "%s = %s", name, tuple_text(laws, x));
}

static bool with_remedy(const Laws *laws)
{
    diag_note(laws->c, laws->combiner->span,
              "if no reduction has such a component, say so: reducer %.60s(...) where %s >= 0",
              laws->combiner->name, laws->combiner->parts[0].name);
    return false;
}

/* ---- laws ---- */

typedef enum { INIT_FIRST, INIT_LAST } InitPlace;

/* combine(init, x) or combine(x, init). */
static Number *with_identity(Laws *laws, const Number *x, InitPlace place)
{
    const Number *identity = identity_of(laws);
    return combine(laws, place == INIT_LAST ? x : identity, place == INIT_LAST ? identity : x);
}

static bool changes(Laws *laws, const Number *x, InitPlace place)
{
    return !same_tuple(laws, with_identity(laws, x, place), x, size_of(laws, x));
}

/* Finds tuples, the identity first; false if the identity changes most of them. */
static bool find_tuples(Laws *laws)
{
    Number *identity = identity_of(laws), *changed = NULL;
    InitPlace place = INIT_FIRST;
    Number *twice = combine(laws, identity, identity);
    if (!same_tuple(laws, twice, identity, 0))
        return refuse(laws, "a monoid",
                      (Difference){"combine(init, init)", "init", twice, identity});
    laws->tuples[laws->n++] = identity;
    int n_changed = 0;
    for (int t = 0; t < N_TRIES && laws->n < N_TUPLES; t++) {
        Number *x = ARENA_ARRAY(laws->c->arena, Number, laws->combiner->n);
        for (int k = 0; k < laws->combiner->n; k++)
            x[k] = random_component(laws, k);
        if (!satisfies_conditions(laws, x))
            continue;
        bool first = changes(laws, x, INIT_FIRST);
        if (!first && !(laws->combiner->ordered && changes(laws, x, INIT_LAST))) {
            laws->tuples[laws->n++] = x;
            continue;
        }
        n_changed++;
        changed = x;
        place = first ? INIT_FIRST : INIT_LAST;
    }
    if (2 * n_changed < laws->n)
        return true;
    refuse(laws, "a monoid",
           (Difference){place == INIT_LAST ? "combine(x, init)" : "combine(init, x)", "x",
                        with_identity(laws, changed, place), changed});
    return with_remedy(laws);
}

/* Combines every two tuples once; a law of three asks for each pair many times. */
static void combine_pairs(Laws *laws)
{
    for (int i = 0; i < laws->n; i++)
        for (int j = 0; j < laws->n; j++)
            laws->pairs[i][j] = combine(laws, laws->tuples[i], laws->tuples[j]);
}

static bool commutes(Laws *laws, int i, int j)
{
    const Number *a = laws->tuples[i], *b = laws->tuples[j];
    const Number *x = laws->pairs[i][j], *y = laws->pairs[j][i];
    if (same_tuple(laws, x, y, size_of(laws, a) + size_of(laws, b)))
        return true;
    refuse(laws, "commutative", (Difference){"combine(a, b)", "combine(b, a)", x, y});
    note_operand(laws, "a", a);
    note_operand(laws, "b", b);
    diag_note(laws->c, laws->combiner->span,
              "if values are to be combined in the order of the loop, say so, and schedules keep "
              "it: reducer %.60s(...) ordered",
              laws->combiner->name);
    return with_remedy(laws);
}

static bool associates(Laws *laws, int i, int j, int k)
{
    const Number *a = laws->tuples[i], *b = laws->tuples[j], *c = laws->tuples[k];
    ArenaMark mark = arena_mark(laws->c->arena);
    const Number *x = combine(laws, laws->pairs[i][j], c), *y = combine(laws, a, laws->pairs[j][k]);
    if (same_tuple(laws, x, y, size_of(laws, a) + size_of(laws, b) + size_of(laws, c))) {
        arena_reset(laws->c->arena, mark);
        return true;
    }
    refuse(laws, "associative",
           (Difference){"combine(combine(a, b), c)", "combine(a, combine(b, c))", x, y});
    note_operand(laws, "a", a);
    note_operand(laws, "b", b);
    note_operand(laws, "c", c);
    return with_remedy(laws);
}

bool reducer_obeys_laws(Context *c, const Combiner *combiner)
{
    Laws laws = {.c = c, .combiner = combiner, .seed = 20};
    if (!find_tuples(&laws))
        return false;
    combine_pairs(&laws);
    for (int i = 0; i < laws.n && !combiner->ordered; i++)
        for (int j = 0; j < i; j++)
            if (!commutes(&laws, i, j))
                return false;
    for (int i = 0; i < laws.n; i++)
        for (int j = 0; j < laws.n; j++)
            for (int k = 0; k < laws.n; k++)
                if (!associates(&laws, i, j, k))
                    return false;
    return true;
}
