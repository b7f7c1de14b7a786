/* index_range.c - Computes the range of index arithmetic in a lowered kernel, as numbers and as
 * sums of products of its sizes. */
#include "passes/lower/index/index_range.h"

#include "passes/analysis/symbolic/affine.h"

typedef struct {
    const Var *var;
    IndexRange is;
} VarRange;

/* A value that a guard bounds. */
typedef struct {
    const Expr *e;
    IndexRange is;
} Guarded;

typedef struct {
    const Expr *e; /* NULL: free */
    unsigned age;
    IndexRange is;
} Remembered;

enum { MEMORY = 256 }; /* a power of two */

struct IndexRanges {
    Context *c;
    IndexRange axes[AXIS_COUNT];
    VEC(VarRange) vars;
    VEC(Guarded) guards;
    VEC(const SizeSum *) buffers; /* how many elements each has, positive */
    Remembered memory[MEMORY];    /* of expressions where we are */
    unsigned age;                 /* of what is remembered */
};

/* ---- numbers --------------------------------------------------------------------------------- */

IndexRange index_range_int(int64_t min, int64_t max)
{
    return (IndexRange){{min, max}, NULL, NULL};
}

static IndexRange anything(void)
{
    return (IndexRange){bounds_none(), NULL, NULL};
}

/* The sum for an end, also where it is a number; NULL where it is not known. */
static const SizeSum *index_range_low(Context *c, IndexRange a)
{
    return a.lo ? a.lo : bounds_has_min(a.number) ? size_sum_int(c, a.number.min) : NULL;
}

static const SizeSum *index_range_high(Context *c, IndexRange a)
{
    return a.hi ? a.hi : bounds_has_max(a.number) ? size_sum_int(c, a.number.max) : NULL;
}

/* At least |a|. */
static const SizeSum *magnitude(Context *c, IndexRange a)
{
    return size_sum_above(c, size_sum_positive(c, index_range_high(c, a)),
                          size_sum_positive(c, size_sum_scale(c, index_range_low(c, a), -1, 1)));
}

static IndexRange between(Context *c, const SizeSum *size)
{
    return (IndexRange){bounds_none(), size_sum_scale(c, size, -1, 1), size};
}

/* ---- operators ------------------------------------------------------------------------------- */

IndexRange index_range_sum(Context *c, IndexRange a, IndexRange b)
{
    IndexRange sum = {bounds_add(a.number, b.number), NULL, NULL};
    if (a.lo || b.lo)
        sum.lo = size_sum_add(c, index_range_low(c, a), index_range_low(c, b));
    if (a.hi || b.hi)
        sum.hi = size_sum_add(c, index_range_high(c, a), index_range_high(c, b));
    return sum;
}

static IndexRange scaled(Context *c, IndexRange a, int64_t k)
{
    return (IndexRange){bounds_scale(a.number, k), size_sum_scale(c, k < 0 ? a.hi : a.lo, k, 1),
                        size_sum_scale(c, k < 0 ? a.lo : a.hi, k, 1)};
}

IndexRange index_range_rest(Context *c, IndexRange sum, IndexRange b)
{
    return index_range_sum(c, sum, scaled(c, b, -1));
}

static IndexRange product(Context *c, IndexRange a, IndexRange b)
{
    if (bounds_are_exact(a.number))
        return scaled(c, b, a.number.min);
    if (bounds_are_exact(b.number))
        return scaled(c, a, b.number.min);
    IndexRange out = {bounds_multiply(a.number, b.number), NULL, NULL};
    if (!a.lo && !a.hi && !b.lo && !b.hi)
        return out;
    if (a.number.min >= 0 && b.number.min >= 0) {
        out.hi = size_sum_mul(c, size_sum_positive(c, index_range_high(c, a)),
                              size_sum_positive(c, index_range_high(c, b)));
        return out;
    }
    IndexRange sides = between(c, size_sum_mul(c, magnitude(c, a), magnitude(c, b)));
    return (IndexRange){out.number, sides.lo, sides.hi};
}

/* At least p / by for p >= 0, by the factors of `by` that are sizes. */
static const SizeSum *divided_by(Context *c, const SizeSum *p, Expr *by)
{
    if (by->kind == EX_MUL)
        return divided_by(c, divided_by(c, p, by->u.arg[0]), by->u.arg[1]);
    bool is_size = by->kind == EX_VAR && by->u.var->kind == VAR_SIZE;
    return is_size ? size_sum_div_size(c, p, by) : p;
}

/* Rounds towards 0, so the size of the quotient is at most that of a. */
static IndexRange quotient(Context *c, IndexRange a, IndexRange b, Expr *by)
{
    IndexRange out = {bounds_divide(a.number, b.number), NULL, NULL};
    if (a.lo || a.hi || b.number.min < 0) {
        int64_t d = bounds_are_exact(b.number) && b.number.min > 0 ? b.number.min : 1;
        const SizeSum *most = a.number.min >= 0 ? size_sum_positive(c, a.hi) : NULL;
        const SizeSum *p = most ? most : magnitude(c, a);
        out.hi = divided_by(c, size_sum_scale(c, p, 1, d), by);
        out.lo = a.number.min >= 0 && b.number.min >= 0 ? NULL : size_sum_scale(c, out.hi, -1, 1);
    }
    return out;
}

static IndexRange remainder_of(Context *c, IndexRange a, IndexRange b)
{
    IndexRange out = {bounds_remainder(a.number, b.number), NULL, NULL};
    if (!bounds_are_finite(b.number) || b.lo || b.hi)
        out.hi = size_sum_sub(c, magnitude(c, b), size_sum_int(c, 1));
    if (a.number.min < 0)
        out.lo = size_sum_scale(c, out.hi, -1, 1);
    if (!out.hi && !bounds_has_max(out.number))
        out.hi = a.hi;
    return out;
}

/* Either of two values. */
static IndexRange either(Context *c, IndexRange a, IndexRange b)
{
    IndexRange out = {bounds_join(a.number, b.number), NULL, NULL};
    if (a.lo || b.lo)
        out.lo = size_sum_below(c, index_range_low(c, a), index_range_low(c, b));
    if (a.hi || b.hi)
        out.hi = size_sum_above(c, index_range_high(c, a), index_range_high(c, b));
    return out;
}

/* About how large a product of sizes is: one that is part of the number of elements of a buffer has
 * as much room as that. */
static double usual_product(const IndexRanges *v, Expr *atom)
{
    const double size = 0x1p20, buffer = 0x1p30;
    ExprList sizes = {0};
    double usual = 1;
    expr_chain(v->c, atom, EX_MUL, &sizes);
    for (int k = 0; k < sizes.n; k++)
        usual *= size;
    for (int k = 0; k < v->buffers.n; k++) {
        const SizeSum *elements = v->buffers.items[k];
        for (int j = 0; j < elements->form.n; j++) {
            Term of = elements->form.terms[j];
            double room = buffer * (double)elements->by / (double)of.factor;
            if (room < usual && product_divide(v->c, of.atom, atom))
                usual = room;
        }
    }
    return usual;
}

double index_ranges_usual(const IndexRanges *v, const SizeSum *p)
{
    ArenaMark mark = arena_mark(v->c->arena);
    double sum = (double)p->form.constant;
    for (int i = 0; i < p->form.n; i++)
        sum += usual_product(v, p->form.terms[i].atom) * (double)p->form.terms[i].factor;
    arena_reset(v->c->arena, mark);
    return sum / (double)p->by;
}

/* The tighter of two upper ends that both hold; */
static const SizeSum *tighter_high(const IndexRanges *v, const SizeSum *a, const SizeSum *b)
{
    if (!a || !b)
        return a ? a : b;
    return index_ranges_usual(v, a) <= index_ranges_usual(v, b) ? a : b;
}

/* of two lower ends. */
static const SizeSum *tighter_low(const IndexRanges *v, const SizeSum *a, const SizeSum *b)
{
    return a && b && tighter_high(v, a, b) == a ? b : a ? a : b;
}

IndexRange index_range_meet(IndexRanges *v, IndexRange a, IndexRange b)
{
    return (IndexRange){bounds_meet(a.number, b.number), tighter_low(v, a.lo, b.lo),
                        tighter_high(v, a.hi, b.hi)};
}

static IndexRange extreme(IndexRanges *v, ExprKind kind, IndexRange a, IndexRange b)
{
    IndexRange out = either(v->c, a, b);
    out.number = bounds_minmax(kind, a.number, b.number);
    if (kind == EX_MIN)
        out.hi = tighter_high(v, a.hi, b.hi);
    else
        out.lo = tighter_low(v, a.lo, b.lo);
    return out;
}

/* Of numbers that are not negative, a ^ b and a | b are at most a + b. */
static IndexRange bits(Context *c, ExprKind kind, IndexRange a, IndexRange b)
{
    IndexRange out = {bounds_bits(kind, a.number, b.number), NULL, NULL};
    if (kind != EX_BITAND && out.number.min == 0)
        out.hi = index_range_sum(c, a, b).hi;
    return out;
}

static IndexRange shifted(Context *c, ExprKind kind, IndexRange a, IndexRange b)
{
    if (b.number.min != b.number.max || b.number.min < 0 || b.number.min > 62)
        return anything();
    if (kind == EX_SHL)
        return scaled(c, a, INT64_C(1) << b.number.min);
    bool open = a.number.min < 0 || !bounds_has_max(a.number);
    return a.number.min < 0
               ? anything()
               : (IndexRange){{0, open ? INT64_MAX : a.number.max >> b.number.min}, NULL, a.hi};
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool is_exact(DType type)
{
    return type == DT_INDEX || type == DT_I64;
}

static IndexRange of_var(IndexRanges *v, const Var *var)
{
    for (int i = v->vars.n - 1; i >= 0; i--)
        if (v->vars.items[i].var == var)
            return v->vars.items[i].is;
    if (var->kind == VAR_SIZE)
        return (IndexRange){{0, INT64_MAX}, NULL, size_sum_of(v->c, var)};
    return (IndexRange){bounds_of_type(var->type), NULL, NULL};
}

static IndexRange of_binary(IndexRanges *v, Expr *e)
{
    Context *c = v->c;
    IndexRange a = index_range_of(v, e->u.arg[0]), b = index_range_of(v, e->u.arg[1]);
    switch (e->kind) {
    case EX_ADD: return index_range_sum(c, a, b);
    case EX_SUB: return index_range_rest(c, a, b);
    case EX_MUL: return product(c, a, b);
    case EX_DIV: return quotient(c, a, b, e->u.arg[1]);
    case EX_MOD: return remainder_of(c, a, b);
    case EX_MIN:
    case EX_MAX: return extreme(v, e->kind, a, b);
    case EX_SHL:
    case EX_SHR: return shifted(c, e->kind, a, b);
    case EX_BITAND:
    case EX_BITOR:
    case EX_BITXOR: return bits(c, e->kind, a, b);
    default: return anything();
    }
}

static IndexRange by_structure(IndexRanges *v, Expr *e)
{
    switch (e->kind) {
    case EX_INT: return (IndexRange){bounds_exactly(e->u.i), NULL, NULL};
    case EX_VAR: return of_var(v, e->u.var);
    case EX_AXIS: return v->axes[e->u.axis];
    case EX_SELECT:
        return either(v->c, index_range_of(v, e->u.arg[1]), index_range_of(v, e->u.arg[2]));
    case EX_CAST:
        return type_is_float(e->u.arg[0]->type) ? anything() : index_range_of(v, e->u.arg[0]);
    case EX_NEG: return scaled(v->c, index_range_of(v, e->u.arg[0]), -1);
    case EX_LOAD:
    case EX_CALL:
    case EX_NOT:
    case EX_BITNOT: return anything();
    default: return of_binary(v, e);
    }
}

static IndexRange with_guards(IndexRanges *v, Expr *e, IndexRange is)
{
    for (int i = 0; i < v->guards.n && e->kind != EX_INT; i++)
        if (expr_equal(v->guards.items[i].e, e))
            is = index_range_meet(v, is, v->guards.items[i].is);
    return is;
}

/* Arithmetic on data wraps around, so all that is known of it is its type. */
static IndexRange compute(IndexRanges *v, Expr *e)
{
    if (!is_exact(e->type))
        return (IndexRange){bounds_of_type(e->type), NULL, NULL};
    return with_guards(v, e, by_structure(v, e));
}

IndexRange index_range_of(IndexRanges *v, Expr *e)
{
    Remembered *slot = &v->memory[((uintptr_t)e >> 4) % MEMORY];
    if (slot->e == e && slot->age == v->age)
        return slot->is;
    IndexRange is = compute(v, e);
    *slot = (Remembered){e, v->age, is};
    return is;
}

/* ---- what holds at a place ------------------------------------------------------------------- */

IndexRangesMark index_ranges_mark(const IndexRanges *v)
{
    return (IndexRangesMark){v->vars.n, v->guards.n};
}

void index_ranges_reset(IndexRanges *v, IndexRangesMark mark)
{
    v->vars.n = mark.vars;
    v->guards.n = mark.guards;
    v->age++;
}

static void define(IndexRanges *v, const Var *var, IndexRange is)
{
    VarRange entry = {var, is};
    VEC_PUSH(v->c->arena, &v->vars, entry);
}

static void enter_loop(IndexRanges *v, const ForStmt *loop)
{
    IndexRange lo = index_range_of(v, loop->lo), hi = index_range_of(v, loop->hi),
               one = index_range_int(1, 1);
    IndexRange low = loop->step > 0 ? lo : hi,
               high = loop->step > 0 ? index_range_rest(v->c, hi, one) : lo;
    define(v, loop->var, (IndexRange){{low.number.min, high.number.max}, low.lo, high.hi});
}

/* Memory may change while the guard holds, so values that are read are not remembered. */
static void bound_guarded(IndexRanges *v, Expr *e, IndexRange is)
{
    Guarded entry = {e, is};
    if (e->kind != EX_INT && is_exact(e->type) && !expr_has_load(e))
        VEC_PUSH(v->c->arena, &v->guards, entry);
}

/* small + slack <= large. */
static void enter_order(IndexRanges *v, Expr *small, Expr *large, int64_t slack)
{
    IndexRange gap = index_range_int(slack, slack);
    IndexRange above = index_range_sum(v->c, index_range_of(v, small), gap);
    IndexRange below = index_range_rest(v->c, index_range_of(v, large), gap);
    bound_guarded(v, small, (IndexRange){{INT64_MIN, below.number.max}, NULL, below.hi});
    bound_guarded(v, large, (IndexRange){{above.number.min, INT64_MAX}, above.lo, NULL});
}

static void enter_condition(IndexRanges *v, Expr *cond)
{
    Expr *a = cond->u.arg[0], *b = cond->u.arg[1];
    switch (cond->kind) {
    case EX_AND:
        enter_condition(v, a);
        enter_condition(v, b);
        return;
    case EX_LT: enter_order(v, a, b, 1); return;
    case EX_LE: enter_order(v, a, b, 0); return;
    case EX_GT: enter_order(v, b, a, 1); return;
    case EX_GE: enter_order(v, b, a, 0); return;
    case EX_EQ:
        enter_order(v, a, b, 0);
        enter_order(v, b, a, 0);
        return;
    default: return;
    }
}

/* A grid has less than 2^31 blocks along an axis, or nothing is launched. */
static void enter_launch(IndexRanges *v, const LaunchStmt *launch)
{
    IndexRange one = index_range_int(1, 1);
    for (int k = 0; k < 3; k++) {
        IndexRange blocks = index_range_rest(v->c, index_range_of(v, launch->grid[k]), one);
        int64_t most = blocks.number.max < INT32_MAX - 1 ? blocks.number.max : INT32_MAX - 1;
        v->axes[AXIS_BLOCK_X + k] = (IndexRange){{0, most}, NULL, blocks.hi};
        v->axes[AXIS_THREAD_X + k] = index_range_int(0, launch->block[k] - 1);
    }
}

void index_ranges_enter(IndexRanges *v, const Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: enter_loop(v, &s->u.loop); break;
    case ST_LET: define(v, s->u.let.var, index_range_of(v, s->u.let.value)); break;
    case ST_IF: enter_condition(v, s->u.cond.cond); break;
    case ST_LAUNCH: enter_launch(v, &s->u.launch); break;
    default: break;
    }
    v->age++;
}

/* ---- buffers --------------------------------------------------------------------------------- */

IndexRange index_range_elements(IndexRanges *v, const Buffer *buffer)
{
    const Buffer *b = buffer_defined(buffer);
    int64_t elements, *strides = ARENA_ARRAY(v->c->arena, int64_t, b->rank + 1);
    if (buffer_strides(b, strides, &elements))
        return index_range_int(0, elements - 1);
    IndexRange n = index_range_int(1, 1);
    for (int d = 0; d < b->rank; d++) {
        IndexRange extent = index_range_of(v, b->shape[d]);
        extent.number = bounds_minmax(EX_MAX, extent.number, bounds_exactly(0));
        n = product(v->c, n, extent);
    }
    n = index_range_rest(v->c, n, index_range_int(1, 1));
    return (IndexRange){{0, n.number.max}, NULL, n.hi};
}

static void note_buffer(IndexRanges *v, const Buffer *b)
{
    IndexRange n = b->scope == SCOPE_GLOBAL ? index_range_elements(v, b) : anything();
    const SizeSum *p = size_sum_positive(v->c, n.hi);
    if (p)
        VEC_PUSH(v->c->arena, &v->buffers, p);
}

/* Extents are at least 0 as they stand in the text, such as H - 2 for H - 3 + 1. */
static void enter_extents(IndexRanges *v, const Kernel *kernel)
{
    ExprList conds = kernel_extents(v->c, kernel);
    for (int i = 0; i < conds.n; i++) {
        Expr *extent = simplify(facts_new(v->c), conds.items[i]->u.arg[0]);
        bound_guarded(v, extent, (IndexRange){{0, INT64_MAX}, NULL, NULL});
    }
}

IndexRanges *index_ranges_new(Context *c, const Kernel *kernel)
{
    IndexRanges *v = ARENA_NEW(c->arena, IndexRanges);
    v->c = c;
    v->age = 1;
    enter_extents(v, kernel);
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].buffer)
            note_buffer(v, kernel->params[i].buffer);
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP)
            note_buffer(v, at.stmt->u.temp);
    return v;
}
