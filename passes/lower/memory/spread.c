/* spread.c - Finds which elements along an axis of a register array are in use.
 *
 *   t[row / 4 * 32 + row % 4], row in 16        =>        t[row]
 *
 * A thread's registers are often groups that lie evenly over the box that holds them: its rows of a
 * tile are 4 of every 32. The kernel is the same either way, since compilers drop array elements
 * that nothing touches, but only after they have looked at each of them: NVRTC's optimizer took
 * twice as long for the products of `sgemm`. The simulator keeps whole arrays.
 *
 * The numbers that occur in the subscripts are the periods that are tried. Under a period, all
 * subscripts have to leave a remainder below some width, proved from the ranges of the loops; then
 * quotient and remainder make a subscript without the gaps. */
#include "passes/lower/memory/spread.h"

static void suggest_period(SpreadSearch *s, int64_t period)
{
    bool known = period < 2 || s->n == SPREAD_CHOICES;
    for (int i = 0; i < s->n; i++)
        known = known || s->choices[i].period == period;
    if (!known)
        s->choices[s->n++] = (Spread){period, 1};
}

typedef struct {
    SpreadSearch *search;
    int64_t last;
} Numbers;

static Expr *suggest_number(Rewriter *rewriter, Expr *e)
{
    Numbers *numbers = rewriter->user;
    int64_t value;
    if (expr_is_const(e, &value) && value > 0 && value <= numbers->last) {
        suggest_period(numbers->search, value);
        numbers->search->common = gcd64(numbers->search->common, value);
    }
    return e;
}

void spread_suggest(Context *c, SpreadSearch *s, Expr *offset, int64_t last)
{
    Numbers numbers = {s, last};
    rewrite_expr(&(Rewriter){.ctx = c, .user = &numbers, .expr = suggest_number}, offset);
}

void spread_close(SpreadSearch *s)
{
    if (s->n == SPREAD_CHOICES)
        s->n--;
    suggest_period(s, s->common);
}

void spread_measure(Context *c, Facts *f, SpreadSearch *s, Expr *offset)
{
    for (int i = 0; i < s->n; i++) {
        Spread *choice = &s->choices[i];
        int64_t min, max;
        if (choice->width == choice->period)
            continue;
        Expr *rest = simplify(f, index_mod(c, offset, expr_index(c, choice->period)));
        if (!bounds_const(f, rest, &min, &max) || min < 0 || max >= choice->period)
            max = choice->period - 1;
        choice->width = max >= choice->width ? max + 1 : choice->width;
    }
}

Spread spread_choose(const SpreadSearch *s, int64_t last)
{
    Spread best = {1, 1};
    for (int i = 0; i < s->n; i++)
        if (spread_extent(s->choices[i], last) < spread_extent(best, last))
            best = s->choices[i];
    return best;
}

int64_t spread_extent(Spread s, int64_t last)
{
    int64_t rest = last % s.period;
    return last / s.period * s.width + (rest < s.width ? rest + 1 : s.width);
}

Expr *spread_pack(Context *c, Facts *f, Spread s, Expr *offset)
{
    Expr *period = expr_index(c, s.period);
    Expr *group = index_mul(c, index_div(c, offset, period), expr_index(c, s.width));
    return simplify(f, index_add(c, group, index_mod(c, offset, period)));
}
