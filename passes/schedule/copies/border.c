/* border.c - Reads the border of an axis from subscripts that choose it (border.h).
 *
 *   i > 0 ? i - 1 : 0                =>   max(0, i - 1)
 *   i < 0 ? 0 : i < N ? i : N - 1    =>   max(0, min(N - 1, i))
 *   i == 0 ? N - 1 : i - 1           =>   (i + N - 1) % N
 *
 * One operand is the coordinate, the other what stands for it beyond an end. It is a bound that
 * coordinates do not pass where they are chosen, and pass, or reach, where the bound is; or the
 * coordinate plus or minus the extent. Both are proved under the condition of their operand.
 * Invariant: the value is the same wherever the facts hold. */
#include "passes/schedule/copies/border.h"

#include "passes/shared/rebuild.h"

/* A choice between a coordinate and what stands for it. */
typedef struct {
    Context *c;
    Facts *f;
    Expr *where, *other_where; /* conditions of the two */
    Expr *at, *other;
    Expr *extent;
} Choice;

static bool holds_where(const Choice *ch, Expr *where, Expr *a, ExprKind kind, Expr *b)
{
    FactsMark mark = facts_mark(ch->f);
    facts_assume(ch->f, where);
    bool holds = prove_compare(ch->f, a, kind, b);
    facts_reset(ch->f, mark);
    return holds;
}

static bool is_inside_where(const Choice *ch, Expr *where, Expr *e)
{
    return holds_where(ch, where, e, EX_GE, expr_index(ch->c, 0)) &&
           holds_where(ch, where, e, EX_LT, ch->extent);
}

/* The other operand is the larger one, or the smaller one, exactly where it is chosen. */
static bool is_bound(const Choice *ch, ExprKind at_is)
{
    ExprKind at_is_not = at_is == EX_GE ? EX_LE : EX_GE;
    return expr_of_sizes(ch->other) && holds_where(ch, ch->where, ch->at, at_is, ch->other) &&
           holds_where(ch, ch->other_where, ch->at, at_is_not, ch->other);
}

static bool is_other(const Choice *ch, Expr *moved)
{
    return holds_where(ch, ch->other_where, ch->other, EX_LE, moved) &&
           holds_where(ch, ch->other_where, ch->other, EX_GE, moved);
}

/* Both operands are inside, and an extent apart where the other is chosen. */
static bool is_wrap(const Choice *ch)
{
    return is_inside_where(ch, ch->where, ch->at) &&
           is_inside_where(ch, ch->other_where, ch->other) &&
           (is_other(ch, index_add(ch->c, ch->at, ch->extent)) ||
            is_other(ch, index_sub(ch->c, ch->at, ch->extent)));
}

/* NULL: the choice is none of these. */
static Expr *as_border(const Choice *ch)
{
    Context *c = ch->c;
    Expr *above = simplify(ch->f, index_add(c, ch->at, ch->extent));
    if (is_bound(ch, EX_GE))
        return index_max(c, ch->other, ch->at);
    if (is_bound(ch, EX_LE))
        return index_min(c, ch->other, ch->at);
    return prove_at_least(ch->f, above, 0) && is_wrap(ch) ? index_mod(c, above, ch->extent) : NULL;
}

/* That two differ, as an order where the facts leave only one. */
static Expr *differ(Context *c, Facts *f, Expr *a, Expr *b)
{
    ExprKind kind = prove_compare(f, a, EX_GE, b)   ? EX_GT
                    : prove_compare(f, a, EX_LE, b) ? EX_LT
                                                    : EX_NE;
    return expr_binary(c, kind, a, b, a->span);
}

typedef enum { FAILS, HOLDS } Outcome;

/* Where the condition does not hold, or where it does, in terms that proofs can use. */
static Expr *decided(Context *c, Facts *f, Expr *cond, Outcome outcome)
{
    bool compares = cond->kind == EX_EQ || cond->kind == EX_NE;
    if (!compares || cond->u.arg[0]->type != DT_INDEX)
        return outcome == HOLDS ? cond : expr_unary(c, EX_NOT, cond, cond->span);
    Expr *a = cond->u.arg[0], *b = cond->u.arg[1];
    bool equal = (cond->kind == EX_EQ) == (outcome == HOLDS);
    return equal ? expr_binary(c, EX_EQ, a, b, cond->span) : differ(c, f, a, b);
}

static Expr *of_choice(Context *c, Facts *f, Expr *e, Expr *extent)
{
    Expr *cond = decided(c, f, e->u.arg[0], HOLDS), *not = decided(c, f, e->u.arg[0], FAILS);
    for (int k = 2; k > 0; k--) {
        Expr *at = border_of_choices(c, f, e->u.arg[k], extent);
        Choice ch = {c, f, k == 1 ? cond : not, k == 1 ? not : cond, at, e->u.arg[3 - k], extent};
        Expr *border = as_border(&ch);
        if (border)
            return border;
    }
    return e;
}

Expr *border_of_choices(Context *c, Facts *f, Expr *e, Expr *extent)
{
    if (e->type != DT_INDEX || expr_has_load(e))
        return e;
    if (e->kind == EX_SELECT)
        return of_choice(c, f, e, extent);
    if (e->kind != EX_MIN && e->kind != EX_MAX)
        return e;
    Expr *a = border_of_choices(c, f, e->u.arg[0], extent),
         *b = border_of_choices(c, f, e->u.arg[1], extent);
    return a == e->u.arg[0] && b == e->u.arg[1] ? e : expr_binary(c, e->kind, a, b, e->span);
}
