/* joined.c - Finds subscripts that are digits of one number, which joined loops leave:
 *
 *     y[f / 100, o, f % 100 / 10, f % 10]   of y: f32[N, M, 10, 10]      is element f of three axes
 *
 * Equal digits mean equal numbers, and the other way round inside the buffer. So one row, or one
 * distance, answers what quotients and remainders would need several columns for. */
#include "passes/analysis/dependence/model.h"
#include "passes/analysis/symbolic/simplify.h"

static bool has_division(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_DIV || at.expr->kind == EX_MOD)
            return true;
    return false;
}

/* The number that the subscripts of the marked axes are digits of, by the extents of the axes. */
static Expr *join(Context *c, const Access *access, const bool *joined)
{
    const Buffer *b = access->buffer;
    Expr *number = expr_index(c, 0), *stride = expr_index(c, 1);
    for (int d = b->rank - 1; d >= 0; d--) {
        if (!joined[d])
            continue;
        number = index_add(c, number, index_mul(c, access->index[d], stride));
        stride = index_mul(c, stride, b->shape[d]);
    }
    number = simplify(facts_new(c), number);
    return has_division(c, number) ? NULL : number;
}

bool accesses_join(Context *c, const Access *x, const Access *y, Joined *out)
{
    int n = 0, rank = x->buffer->rank;
    out->axes = ARENA_ARRAY(c->arena, bool, rank + 1);
    for (int d = 0; d < rank; d++) {
        out->axes[d] = has_division(c, x->index[d]) || has_division(c, y->index[d]);
        n += out->axes[d];
    }
    if (n < 2)
        return false;
    out->x = join(c, x, out->axes);
    out->y = out->x ? join(c, y, out->axes) : NULL;
    return out->y != NULL;
}
