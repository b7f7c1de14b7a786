/* evaluate.c - Evaluates integer expressions of variables with known values, and refutes forms by
 * points at which all facts hold.
 *
 * Most questions whose answer is no have a counterexample among a few points, and the search for a
 * proof would look at all conditions before it gave up. Each range has a value at each point: ends
 * and values between them, of outer ranges first. A condition allows the points at which it is
 * true. Where a value is not known, as of what memory holds, no point is left. */
#include "passes/analysis/symbolic/affine.h"

static bool divide(ExprKind kind, int64_t a, int64_t b, int64_t *value)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *value = kind == EX_DIV ? a / b : a % b;
    return true;
}

bool integer_binary(ExprKind kind, int64_t a, int64_t b, int64_t *value)
{
    switch (kind) {
    case EX_ADD: return checked_add(a, b, value);
    case EX_SUB: return checked_sub(a, b, value);
    case EX_MUL: return checked_mul(a, b, value);
    case EX_DIV:
    case EX_MOD: return divide(kind, a, b, value);
    case EX_SHL: return b >= 0 && b < 63 && checked_mul(a, INT64_C(1) << b, value);
    case EX_SHR: *value = b < 63 ? a >> (b & 63) : -(a < 0); return b >= 0;
    case EX_BITAND: *value = a & b; return true;
    case EX_BITOR: *value = a | b; return true;
    case EX_BITXOR: *value = a ^ b; return true;
    case EX_MIN: *value = a < b ? a : b; return true;
    case EX_MAX: *value = a > b ? a : b; return true;
    case EX_EQ: *value = a == b; return true;
    case EX_NE: *value = a != b; return true;
    case EX_LT: *value = a < b; return true;
    case EX_LE: *value = a <= b; return true;
    case EX_GT: *value = a > b; return true;
    case EX_GE: *value = a >= b; return true;
    case EX_AND: *value = a && b; return true;
    case EX_OR: *value = a || b; return true;
    default: return false;
    }
}

/* The value of a variable, an axis or a load; false where it is not known. */
typedef bool LeafValue(const void *user, const Expr *leaf, int64_t *value);

static bool eval(const Expr *e, LeafValue *leaf, const void *user, int64_t *value)
{
    Expr *const *arg = e->u.arg;
    int64_t a, b;
    if (type_is_float(e->type))
        return false;
    if (expr_is_binary(e->kind))
        return eval(arg[0], leaf, user, &a) && eval(arg[1], leaf, user, &b) &&
               integer_binary(e->kind, a, b, value);
    switch (e->kind) {
    case EX_INT: *value = e->u.i; return true;
    case EX_VAR:
    case EX_AXIS:
    case EX_LOAD: return leaf(user, e, value);
    case EX_NEG: return eval(arg[0], leaf, user, &a) && checked_sub(0, a, value);
    case EX_NOT: *value = 0; return eval(arg[0], leaf, user, &a) && (*value = !a, true);
    case EX_SELECT: return eval(arg[0], leaf, user, &a) && eval(arg[a ? 1 : 2], leaf, user, value);
    case EX_CAST: return eval(arg[0], leaf, user, value) && type_holds(e->type, *value);
    default: return false;
    }
}

typedef struct {
    const VarValue *env;
    int n;
} Values;

static bool lookup(const void *user, const Expr *leaf, int64_t *value)
{
    const Values *values = user;
    int n = values->n;
    while (n > 0 && (leaf->kind != EX_VAR || values->env[n - 1].var != leaf->u.var))
        n--;
    if (n > 0)
        *value = values->env[n - 1].value;
    return n > 0;
}

VarValues size_values(Context *c, const Kernel *kernel, const int64_t *sizes)
{
    VarValues out = {0};
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].var)
            VEC_PUSH(c->arena, &out, ((VarValue){kernel->sizes[i].var, sizes[i]}));
    return out;
}

bool expr_eval(const Expr *e, const VarValue *env, int n, int64_t *value)
{
    return eval(e, lookup, &(Values){env, n}, value);
}

/* ---- points ---------------------------------------------------------------------------------- */

enum { ENOUGH_POINTS = 2 };

typedef struct {
    const Facts *f;
    int point;
} At;

/* Sizes are at least 1, and have no range. */
static int64_t size_at(int point)
{
    static const int64_t sizes[] = {1, 64, 3, 1024, 100, 4096, 17, 2};
    return sizes[point % 8];
}

static bool leaf_value(const void *user, const Expr *leaf, int64_t *value)
{
    const At *at = user;
    const Range *r = leaf->kind == EX_LOAD ? NULL : facts_find(at->f, leaf);
    bool size = !r && leaf->kind == EX_VAR && leaf->u.var->kind == VAR_SIZE;
    *value = r ? r->at[at->point] : size_at(at->point);
    return r || size;
}

static bool value_at(const At *at, const Expr *e, int64_t *value)
{
    return eval(e, leaf_value, at, value);
}

static bool form_at(const At *at, const Affine *a, int64_t *sum)
{
    *sum = a->constant;
    for (int t = 0; t < a->n; t++) {
        int64_t value, product;
        if (!value_at(at, a->terms[t].atom, &value) ||
            !checked_mul(a->terms[t].factor, value, &product) || !checked_add(*sum, product, sum))
            return false;
    }
    return true;
}

/* Which of n > 0 values range number k has: the first, the last, or any. */
static int64_t choose(int k, int point, int64_t n)
{
    uint64_t any = (uint64_t)(k * POINTS + point + 1) * 0x9E3779B97F4A7C15u;
    any ^= any >> 32;
    bool first = point == 0 || (point > 1 && any % 4 == 0);
    bool last = point == 1 || (point > 1 && any % 4 == 1);
    return first ? 0 : last ? n - 1 : (int64_t)((any >> 8) % (uint64_t)n);
}

/* The value of range number k at a point; false where it has none. */
static bool range_at(const Facts *f, int k, int point, int64_t *value)
{
    Range *r = &f->ranges.items[k];
    Facts outer = *f;
    outer.ranges.n = k;
    int64_t lo, hi, extent;
    At at = {&outer, point};
    if (!value_at(&at, r->lo, &lo) || !value_at(&at, r->hi, &hi) || hi <= lo ||
        !checked_sub(hi, lo, &extent) || (r->stride != 1 && !r->low_met))
        return false;
    const Range *before = facts_before(&outer, r);
    if (before)
        *value = before->at[point];
    else
        *value = lo + choose(k, point, (extent - 1) / r->stride + 1) * r->stride;
    return lo <= *value && *value < hi && (*value - lo) % r->stride == 0;
}

static bool condition_holds(const Facts *f, const Condition *known, int point)
{
    int64_t value;
    At at = {f, point};
    return known->affine ? form_at(&at, &known->form, &value) && value >= 0
                         : value_at(&at, known->expr, &value) && value;
}

/* Those of the points asked about that all ranges allow. */
static uint32_t points_of_ranges(const Facts *f, uint32_t asked)
{
    int known = f->ranges.n;
    while (known > 0 && !(f->ranges.items[known - 1].points.known & asked))
        known--;
    uint32_t allowed = known ? f->ranges.items[known - 1].points.allowed & asked : asked;
    for (int k = known; k < f->ranges.n; k++) {
        Range *r = &f->ranges.items[k];
        for (int point = 0; point < POINTS && !r->buffer; point++)
            if (allowed >> point & 1 && !range_at(f, k, point, &r->at[point]))
                allowed &= ~((uint32_t)1 << point);
        r->points.known |= asked;
        r->points.allowed |= allowed;
    }
    return allowed;
}

/* Those of the points asked about that all conditions allow. */
static uint32_t points_of_conditions(const Facts *f, uint32_t asked)
{
    int known = f->conditions.n;
    while (known > 0 && !(f->conditions.items[known - 1].points.known & asked))
        known--;
    uint32_t allowed = known ? f->conditions.items[known - 1].points.allowed & asked : asked;
    for (int k = known; k < f->conditions.n; k++) {
        Condition *condition = &f->conditions.items[k];
        for (int point = 0; point < POINTS; point++)
            if (allowed >> point & 1 && !condition_holds(f, condition, point))
                allowed &= ~((uint32_t)1 << point);
        condition->points.known |= asked;
        condition->points.allowed |= allowed;
    }
    return allowed;
}

/* More points are looked at only where the facts allow few of the first ones. */
bool points_find(const Facts *f, const Affine *a, PointTest *test, void *user)
{
    int seen = 0;
    for (uint32_t asked = 0xff; asked && seen < ENOUGH_POINTS; asked <<= 8) {
        uint32_t allowed = points_of_ranges(f, asked);
        allowed &= points_of_conditions(f, asked);
        seen += __builtin_popcount(allowed);
        while (allowed) {
            int64_t value;
            At at = {f, 31 - __builtin_clz(allowed)};
            allowed &= ~((uint32_t)1 << at.point);
            if (form_at(&at, a, &value) && test(user, value))
                return true;
        }
    }
    return false;
}

static bool is_negative(void *user, int64_t value)
{
    (void)user;
    return value < 0;
}

bool points_refute(const Facts *f, const Affine *a)
{
    return points_find(f, a, is_negative, NULL);
}
