/* remap.c - Computes the coordinates of a grid whose blocks visit the tiles in another order.
 *
 *   @remap_diagonal(1)  row    = blockIdx.y
 *                       column = (blockIdx.x + blockIdx.y) % columns
 *   @remap_reversed(1)  row    = blockIdx.y
 *                       column = columns - 1 - blockIdx.x
 *   @remap_grouped(8)   first  = blockIdx.y / 8 * 8                     first row of the group
 *                       place  = blockIdx.y % 8 * columns + blockIdx.x  of the block in its group
 *                       height = min(rows - first, 8)                   rows of the group
 *                       row    = first + place % height
 *                       column = place / height
 *
 * All are bijections of the grid whatever its size: the last group may be lower than the others,
 * and has as many places as tiles. Where the analysis cannot follow that, a min says that the
 * coordinates are in the grid: once a block, so that no guard has to in its loops. The grouped
 * order is that of Triton's matrix multiplication (Tillet et al., MAPL 2019, and its tutorials). */
#include "passes/lower/pass.h"

static Expr *named(Remap *r, const char *name, Expr *value)
{
    Context *c = r->ctx;
    int64_t literal;
    if (expr_is_const(value, &literal))
        return value;
    Var *var = var_new(c, ctx_name(c, name), DT_INDEX, VAR_LET, r->loop->span);
    VEC_PUSH(c->arena, &r->lets, stmt_stamp(stmt_let(c, var, value, r->loop->span), r->loop));
    return expr_var(c, var, span_none());
}

static void grouped(Remap *r, int64_t size)
{
    Context *c = r->ctx;
    Expr *x = expr_axis(c, AXIS_BLOCK_X), *y = expr_axis(c, AXIS_BLOCK_Y);
    Expr *group = expr_index(c, size), *first, *place, *height = group;
    int64_t rows;
    if (expr_is_const(r->rows, &rows) && rows <= size) {
        first = expr_index(c, 0);
        place = index_add(c, index_mul(c, y, r->columns), x);
        height = r->rows;
    } else {
        first = named(r, "first", index_mul(c, index_div(c, y, group), group));
        place = index_add(c, index_mul(c, index_mod(c, y, group), r->columns), x);
    }
    place = named(r, "place", place);
    if (height == group && !prove_divisible(r->facts, r->rows, size))
        height = named(r, "height", index_min(c, index_sub(c, r->rows, first), group));
    r->row = index_add(c, first, index_mod(c, place, height));
    r->column = index_div(c, place, height);
}

/* Is the coordinate in the grid? Its range has to say so, and not the values of the names in it:
 * loops ask for the range of what is named here, and not where it comes from. */
static bool is_within(Remap *r, Expr *coordinate, Expr *extent)
{
    int64_t number, least, greatest;
    if (!expr_is_const(extent, &number))
        return prove_compare(r->facts, coordinate, EX_LT, extent);
    for (int i = 0; i < r->lets.n; i++)
        facts_enter(r->facts, r->lets.items[i]);
    return bounds_const(r->facts, coordinate, &least, &greatest) && greatest < number;
}

/* Known to be in the grid for every block of it: as it is, or with its greatest value written
 * down. */
static Expr *within(Remap *r, Expr *coordinate, Expr *extent)
{
    Context *c = r->ctx;
    FactsMark mark = facts_mark(r->facts);
    facts_axis(r->facts, AXIS_BLOCK_X, r->columns);
    facts_axis(r->facts, AXIS_BLOCK_Y, r->rows);
    bool known = is_within(r, coordinate, extent);
    facts_reset(r->facts, mark);
    return known ? coordinate : index_min(c, coordinate, index_sub(c, extent, expr_index(c, 1)));
}

void remap_coordinates(Remap *r)
{
    Context *c = r->ctx;
    AnnotationList order = r->loop->u.loop.annotations;
    int64_t rows = annotation_int(order, ANNOTATION_REMAP_GROUPED);
    r->row = expr_axis(c, AXIS_BLOCK_Y);
    if (rows > 0)
        grouped(r, rows);
    else if (annotation_int(order, ANNOTATION_REMAP_REVERSED))
        r->column =
            index_sub(c, index_sub(c, r->columns, expr_index(c, 1)), expr_axis(c, AXIS_BLOCK_X));
    else
        r->column = index_mod(c, index_add(c, expr_axis(c, AXIS_BLOCK_X), r->row), r->columns);
    r->row = within(r, r->row, r->rows);
    r->column = within(r, r->column, r->columns);
}
