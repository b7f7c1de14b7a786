/* linear.c - Finds the linear form of an expression in an element, as linear recurrences have it.
 *
 *   r + g * v - s * (1 - p) + s / 2      =>      scale:  -(1 - p) + 1 / 2
 *                                                offset: r + g * v
 *
 * The expression is taken apart from its root: sums and differences add up both parts, a factor or
 * divisor that does not read the element multiplies or divides both, and a choice chooses both.
 * Where a choice forgets the element, its factor is 0, but the value does not depend on what stood
 * there before even if that was infinite or no number, which the form says apart. */
#include "passes/shared/linear.h"

/* scale * x + offset; a NULL is 0. */
typedef struct {
    Expr *scale, *offset;
} Parts;

typedef struct {
    Context *c;
    const Buffer *buffer;
    Expr *const *index; /* of the element, once it has been found */
    bool forgets;       /* some choice does not read it */
} Form;

static bool take_apart(Form *f, Expr *e, Parts *out);

/* ---- parts ----------------------------------------------------------------------------------- */

static bool is_number(const Expr *e, int number)
{
    return e->kind == EX_FLOAT ? e->u.f == number : expr_is(e, number);
}

static Expr *number(const Form *f, int value, Span span)
{
    return expr_number(f->c, f->buffer->type, value, span);
}

static Expr *negative(const Form *f, Expr *e)
{
    return !e ? NULL : e->kind == EX_NEG ? e->u.arg[0] : expr_unary(f->c, EX_NEG, e, e->span);
}

/* a + b or a - b, of which either may be NULL. */
static Expr *sum(const Form *f, ExprKind kind, Expr *a, Expr *b)
{
    if (!a || !b)
        return a ? a : kind == EX_SUB ? negative(f, b) : b;
    if (b->kind == EX_NEG)
        return expr_binary(f->c, kind == EX_ADD ? EX_SUB : EX_ADD, a, b->u.arg[0], a->span);
    if (kind == EX_ADD && a->kind == EX_NEG)
        return expr_binary(f->c, EX_SUB, b, a->u.arg[0], a->span);
    return expr_binary(f->c, kind, a, b, a->span);
}

/* part * by or part / by, in the order of the program. */
static Expr *product(const Form *f, const Expr *e, Expr *part, int side)
{
    Expr *args[2] = {e->u.arg[0], e->u.arg[1]};
    if (!part)
        return NULL;
    if (e->kind == EX_MUL && is_number(part, 1))
        return args[!side];
    if (e->kind == EX_MUL && is_number(part, -1))
        return negative(f, args[!side]);
    args[side] = part;
    return expr_binary(f->c, e->kind, args[0], args[1], e->span);
}

/* ---- operations ------------------------------------------------------------------------------ */

static bool take_sum(Form *f, const Expr *e, Parts *out)
{
    Parts a, b;
    if (!take_apart(f, e->u.arg[0], &a) || !take_apart(f, e->u.arg[1], &b))
        return false;
    *out = (Parts){sum(f, e->kind, a.scale, b.scale), sum(f, e->kind, a.offset, b.offset)};
    return true;
}

static bool take_product(Form *f, const Expr *e, Parts *out)
{
    int side = expr_reads(e->u.arg[0], f->buffer) ? 0 : 1;
    Parts p;
    if (expr_reads(e->u.arg[!side], f->buffer) || (e->kind == EX_DIV && side == 1) ||
        !take_apart(f, e->u.arg[side], &p))
        return false;
    *out = (Parts){product(f, e, p.scale, side), product(f, e, p.offset, side)};
    return true;
}

/* fma(a, b, c), which is a * b + c rounded once. */
static bool take_fma(Form *f, const Expr *e, Parts *out)
{
    Expr *const *arg = e->u.call.arg;
    Expr *both = expr_binary(f->c, EX_MUL, arg[0], arg[1], e->span);
    return take_apart(f, expr_binary(f->c, EX_ADD, both, arg[2], e->span), out);
}

static Expr *choice(const Form *f, const Expr *e, Expr *a, Expr *b)
{
    if (!a && !b)
        return NULL;
    return expr_select(f->c, e->u.arg[0], a ? a : number(f, 0, e->span),
                       b ? b : number(f, 0, e->span), e->span);
}

static bool take_choice(Form *f, const Expr *e, Parts *out)
{
    Parts a, b;
    if (expr_reads(e->u.arg[0], f->buffer) || !take_apart(f, e->u.arg[1], &a) ||
        !take_apart(f, e->u.arg[2], &b) || (!a.scale && !b.scale))
        return false;
    f->forgets = f->forgets || !a.scale || !b.scale;
    *out = (Parts){choice(f, e, a.scale, b.scale), choice(f, e, a.offset, b.offset)};
    return true;
}

static bool take_element(Form *f, const Expr *e, Parts *out)
{
    if (!expr_is_load(e, f->buffer))
        return false;
    if (f->index && !exprs_equal(f->index, e->u.load.index, f->buffer->rank))
        return false;
    for (int d = 0; d < f->buffer->rank; d++)
        if (expr_reads(e->u.load.index[d], f->buffer))
            return false;
    f->index = e->u.load.index;
    *out = (Parts){number(f, 1, e->span), NULL};
    return true;
}

static bool take_apart(Form *f, Expr *e, Parts *out)
{
    if (!expr_reads(e, f->buffer)) {
        *out = (Parts){NULL, e};
        return true;
    }
    Parts p;
    switch (e->kind) {
    case EX_ADD:
    case EX_SUB: return take_sum(f, e, out);
    case EX_DIV: return type_is_float(e->type) && take_product(f, e, out);
    case EX_MUL: return take_product(f, e, out);
    case EX_SELECT: return take_choice(f, e, out);
    case EX_LOAD: return take_element(f, e, out);
    case EX_CALL: return e->u.call.call == CALL_FMA && take_fma(f, e, out);
    case EX_NEG:
        if (!take_apart(f, e->u.arg[0], &p))
            return false;
        *out = (Parts){negative(f, p.scale), negative(f, p.offset)};
        return true;
    default: return false;
    }
}

bool linear_form(Context *c, Expr *e, const Buffer *buffer, LinearForm *out)
{
    enum { MOST_NODES = 500 };
    Form f = {.c = c, .buffer = buffer};
    Parts p;
    if (buffer->type == DT_BOOL || expr_nodes(e, MOST_NODES) > MOST_NODES ||
        !take_apart(&f, e, &p) || !p.scale)
        return false;
    *out = (LinearForm){f.index, p.scale, p.offset, f.forgets};
    return true;
}
