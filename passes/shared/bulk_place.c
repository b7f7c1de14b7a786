/* bulk_place.c - Proves that a bulk copy puts each element where the program has it, or finds it
 * there.
 *
 * The hardware writes and reads the box row by row, without gaps. In the modes with a swizzle, rows
 * have a span of 32, 64 or 128 bytes, and chunk x of 16 bytes in row y lies at x ^ (y / every %
 * count), where a row of the pattern has 128 bytes: every = 128 / span, count = span / 16. Rows
 * count from an address that is a multiple of 8 of them. */
#include "passes/shared/bulk_place.h"

#include <inttypes.h>

typedef struct {
    Context *c;
    Facts *f;
    const BulkForm *form;
    const Buffer *in; /* shared memory */
    int64_t *strides; /* [in->rank] in elements */
    int64_t bytes;    /* of an element */
} Place;

static Expr *const *index_of(const Place *p)
{
    return p->form->shared.index;
}

/* How far apart neighbours along loop `i` lie in shared memory, in elements; 0: not known. */
static int64_t stride_of(const Place *p, int i)
{
    int64_t sum = 0, factor;
    Expr *rest;
    for (int d = 0; d < p->in->rank; d++) {
        if (!expr_uses_var(index_of(p)[d], p->form->loops[i]->var))
            continue;
        if (!split_linear(p->f, index_of(p)[d], p->form->loops[i]->var, &factor, &rest))
            return 0;
        sum += factor * p->strides[d];
    }
    return sum;
}

static bool is_dense(const Place *p)
{
    int64_t elements = 1;
    for (int i = p->form->n - 1; i >= 0; i--) {
        if (stride_of(p, i) != elements)
            return false;
        elements *= p->form->extent[i];
    }
    return true;
}

/* Subscript `d` where the box begins. */
static Expr *begin_of(const Place *p, int d)
{
    Subst *zero = ARENA_ARRAY(p->c->arena, Subst, p->form->n + 1);
    for (int i = 0; i < p->form->n; i++)
        zero[i] = (Subst){p->form->loops[i]->var, expr_index(p->c, 0)};
    return expr_subst(p->c, index_of(p)[d], zero, p->form->n);
}

/* The box begins at a multiple of `align` bytes from where the buffer does. */
static bool begins_at(const Place *p, int64_t align)
{
    Expr *sum = expr_index(p->c, 0);
    for (int d = 0; d < p->in->rank; d++)
        sum =
            index_add(p->c, sum, index_mul(p->c, begin_of(p, d), expr_index(p->c, p->strides[d])));
    return prove_divisible(p->f, sum, align / p->bytes);
}

/* The axis of the buffer that alone has loop `i`, in steps of 1; -1: there is none. */
static int axis_of(const Place *p, int i)
{
    int axis = -1;
    for (int d = 0; d < p->in->rank; d++)
        if (expr_uses_var(index_of(p)[d], p->form->loops[i]->var)) {
            if (axis >= 0)
                return -1;
            axis = d;
        }
    return axis;
}

/* The mode whose pattern the buffer has along `axis`, and whose rows are those of the box. */
static BulkMode mode_of(const Place *p, int axis)
{
    const Swizzle *has = &p->in->layout[axis].swizzle;
    int last = p->form->n - 1;
    int64_t row = p->form->extent[last] * p->bytes;
    for (BulkMode mode = BULK_SWIZZLE_32; mode < BULK_MODES; mode++) {
        int64_t span = bulk_span(mode);
        if (row == span && has->chunk * p->bytes == BULK_CHUNK_BYTES &&
            has->count == span / BULK_CHUNK_BYTES &&
            has->every == bulk_span(BULK_SWIZZLE_128) / span)
            return mode;
    }
    return BULK_NONE;
}

/* The rows of the box are those that the pattern counts: from a multiple of it on, and so in each
 * part of the box. Several loops may go along the counted axis, each over the rows of the next. */
static bool rows_are_counted(const Place *p, const Swizzle *swizzle)
{
    int i = p->form->n - 2;
    int64_t rows = 1;
    while (i >= 0 && axis_of(p, i) == swizzle->by &&
           stride_of(p, i) == p->strides[swizzle->by] * rows)
        rows *= p->form->extent[i--];
    return (i < 0 || rows % BULK_PATTERN_ROWS == 0) &&
           prove_divisible(p->f, begin_of(p, swizzle->by), BULK_PATTERN_ROWS);
}

/* BULK_NONE: the hardware has no such layout. */
static BulkMode find_mode(const Place *p)
{
    int last = p->form->n - 1, axis = axis_of(p, last), swizzled = -1;
    for (int d = 0; d < p->in->rank; d++) {
        const AxisLayout *layout = p->in->layout ? &p->in->layout[d] : NULL;
        if (layout && (layout->choose_pad || layout->choose_swizzle))
            return BULK_NONE;
        if (buffer_is_swizzled(p->in, d))
            swizzled = swizzled < 0 && d == axis ? d : p->in->rank;
    }
    if (swizzled < 0)
        return BULK_PLAIN;
    BulkMode mode = swizzled == axis ? mode_of(p, axis) : BULK_NONE;
    bool kept = mode && stride_of(p, last) == p->strides[axis] &&
                prove_divisible(p->f, begin_of(p, axis), p->form->extent[last]) &&
                rows_are_counted(p, &p->in->layout[axis].swizzle);
    return kept ? mode : BULK_NONE;
}

static const char *place_obstacle(const Place *p, BulkMode mode)
{
    Context *c = p->c;
    const char *in = p->in->name, *does = p->form->stores ? "reads" : "writes";
    if (!is_dense(p))
        return arena_printf(c->arena,
                            "%s a box of '%s' that has gaps, or not row by row; the hardware "
                            "%s it without gaps",
                            does, in, does);
    if (p->form->extent[p->form->n - 1] * p->bytes % BULK_CHUNK_BYTES != 0)
        return arena_printf(c->arena,
                            "copies rows of %" PRId64 " bytes, which is no multiple of %d",
                            p->form->extent[p->form->n - 1] * p->bytes, BULK_CHUNK_BYTES);
    if (mode == BULK_NONE)
        return arena_printf(c->arena,
                            "%s '%s', whose layout the hardware cannot make; it makes rows "
                            "without a swizzle, or rows of 128, 64 or 32 bytes with chunks of 16 "
                            "bytes that swizzle(buffer, 16 / bytes, 8) or its like exchanges",
                            does, in);
    if (!begins_at(p, bulk_alignment(mode)))
        return arena_printf(c->arena,
                            "%s a box that is not known to begin at a multiple of %" PRId64
                            " bytes in '%s'",
                            does, bulk_alignment(mode), in);
    return NULL;
}

BulkMode bulk_place(Context *c, Facts *f, const BulkForm *form, const char **why)
{
    int64_t elements;
    const Buffer *in = form->shared.buffer;
    Place p = {.c = c,
               .f = f,
               .form = form,
               .in = in,
               .strides = ARENA_ARRAY(c->arena, int64_t, in->rank + 1),
               .bytes = type_bytes(in->type)};
    if (!buffer_strides(in, p.strides, &elements)) {
        *why = "accesses a buffer that has no literal extents";
        return BULK_NONE;
    }
    BulkMode mode = find_mode(&p);
    *why = place_obstacle(&p, mode);
    return *why ? BULK_NONE : mode;
}
