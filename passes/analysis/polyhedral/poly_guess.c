/* poly_guess.c - Tries one solution of a set of rows: the least values of columns, mended row by
 * row.
 *
 * Questions that have a solution, such as hazards that need a barrier, mostly have one near the
 * least values: two neighbouring threads at the start of all loops. A row that does not hold is
 * mended by changing one of its columns, the newest that can be changed far enough. */
#include "passes/analysis/polyhedral/poly_reduce.h"

/* A mended row may break others, so all are looked at again, a few times. */
enum { LOOKS = 6 };

static int64_t start_of(const Column *column)
{
    return column->min != INT64_MIN ? column->min : column->max != INT64_MAX ? column->max : 0;
}

static bool value_of(Affine form, const int64_t *values, int64_t *sum)
{
    *sum = form.constant;
    for (int i = 0; i < form.n; i++)
        if (!add_product(sum, form.terms[i].factor, values[form.terms[i].column]))
            return false;
    return true;
}

/* Changes a column so that the form, which is `sum` now, becomes 0 or, if that is no whole step, a
 * little more; false where none can be changed so far. */
static bool mend(const Poly *p, const Row *row, int64_t sum, int64_t *values)
{
    for (int i = row->form.n; i-- > 0;) {
        Term term = row->form.terms[i];
        const Column *column = &p->columns.items[term.column];
        int64_t value, factor = term.factor, gap;
        if (factor == INT64_MIN || !checked_mul(sum, factor > 0 ? -1 : 1, &gap))
            continue;
        factor = factor > 0 ? factor : -factor;
        if (row->equal && gap % factor != 0)
            continue;
        int64_t step = (term.factor > 0) ? ceil_div64(gap, factor) : floor_div64(gap, factor);
        if (!checked_add(values[term.column], step, &value) || value < column->min ||
            value > column->max)
            continue;
        values[term.column] = value;
        return true;
    }
    return false;
}

bool poly_guess(const Poly *p, const Row *rows, int n)
{
    ArenaMark mark = arena_mark(p->ctx->arena);
    int64_t *values = ARENA_ARRAY(p->ctx->arena, int64_t, p->columns.n + 1);
    bool holds = false, stuck = false;
    for (int i = 0; i < p->columns.n; i++)
        values[i] = start_of(&p->columns.items[i]);
    for (int look = 0; look < LOOKS && !holds && !stuck; look++) {
        holds = true;
        for (int i = 0; i < n && !stuck; i++) {
            int64_t sum;
            stuck = !value_of(rows[i].form, values, &sum);
            if (stuck || (rows[i].equal ? sum == 0 : sum >= 0))
                continue;
            holds = false;
            stuck = !mend(p, &rows[i], sum, values);
        }
    }
    arena_reset(p->ctx->arena, mark);
    return holds && !stuck;
}
