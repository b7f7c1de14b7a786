/* layout.c - Computes the addresses of a buffer's elements from its layout.
 *
 * Row major; the layout of an axis may lengthen its rows (`pad`), choose its stride (`align`) and
 * exchange chunks of a row (`swizzle`). No other file computes addresses, so the text of a kernel
 * and the simulator cannot disagree.
 *
 * A swizzle maps chunk k of row x to k ^ (x / every % count). Within a row the right side is one
 * number below `count`, a power of two; to xor with it is its own inverse and changes the lowest
 * bits of k only, so it permutes each whole group of `count` chunks. Rows consist of whole groups,
 * hence the map of a row onto itself is a bijection. */
#include "ir/ir.h"

/* The smallest value of the form factor * k + offset that is at least `least`. */
static bool align_stride(const AxisLayout *rule, int64_t least, int64_t *stride)
{
    *stride = least;
    if (rule->align_factor <= 0)
        return true;
    int64_t excess = (least - rule->align_offset) % rule->align_factor;
    if (excess < 0)
        excess += rule->align_factor;
    return excess == 0 || checked_add(least, rule->align_factor - excess, stride);
}

int buffer_row_axis(const Buffer *buffer)
{
    int axis = buffer->rank - 1;
    while (axis > 0 && expr_is(buffer->shape[axis], 1))
        axis--;
    return axis;
}

bool buffer_is_swizzled(const Buffer *buffer, int axis)
{
    return buffer->layout && buffer->layout[axis].swizzle.chunk > 0;
}

/* The extent of an axis with the groups of chunks of its swizzle made whole. */
static bool round_to_groups(const Swizzle *swizzle, int64_t *extent)
{
    int64_t group, excess;
    if (swizzle->chunk == 0)
        return true;
    if (!checked_mul(swizzle->chunk, swizzle->count, &group))
        return false;
    excess = *extent % group;
    return excess == 0 || checked_add(*extent, group - excess, extent);
}

bool buffer_strides(const Buffer *buffer, int64_t *strides, int64_t *elements)
{
    static const AxisLayout plain = {0};
    int64_t next = 1;
    for (int axis = buffer->rank - 1; axis >= 0; axis--) {
        const AxisLayout *layout = buffer->layout ? &buffer->layout[axis] : &plain;
        int64_t extent, row;
        if (!align_stride(layout, next, &strides[axis]) ||
            !expr_is_const(buffer->shape[axis], &extent) || extent < 0 ||
            !round_to_groups(&layout->swizzle, &extent) ||
            !checked_add(extent, layout->pad, &row) || !checked_mul(strides[axis], row, &next))
            return false;
    }
    *elements = next;
    return true;
}

int64_t buffer_offset(const Buffer *buffer, const int64_t *strides, const int64_t *index)
{
    int64_t offset = 0;
    for (int axis = 0; axis < buffer->rank; axis++) {
        int64_t at = index[axis];
        if (buffer_is_swizzled(buffer, axis)) {
            const Swizzle *s = &buffer->layout[axis].swizzle;
            at =
                ((at / s->chunk) ^ (index[s->by] / s->every % s->count)) * s->chunk + at % s->chunk;
        }
        offset += at * strides[axis];
    }
    return offset;
}

const char *swizzle_error(Context *c, const Buffer *buffer, int axis, const Swizzle *s)
{
    if (s->by < 0 || s->by >= buffer->rank || s->by == axis)
        return arena_printf(
            c->arena,
            "axis %d cannot choose where chunks of axis %d lie: it must be another axis of '%s'",
            s->by, axis, buffer->name);
    if (s->chunk < 1 || s->chunk > INT32_MAX)
        return arena_printf(c->arena, "a chunk has at least 1 element, found %lld",
                            (long long)s->chunk);
    if (s->count < 2 || s->count > 1024 || (s->count & (s->count - 1)) != 0)
        return arena_printf(c->arena,
                            "the count of chunks that change places is a power of two from 2 to "
                            "1024, found %lld: xor with another number would leave the row",
                            (long long)s->count);
    if (s->every < 1 || s->every > INT32_MAX)
        return arena_printf(c->arena, "rows change places every 1 row or more, found %lld",
                            (long long)s->every);
    if (buffer->layout && buffer->layout[s->by].swizzle.chunk > 0)
        return arena_printf(
            c->arena, "axis %d has a swizzle itself, so it cannot choose for axis %d", s->by, axis);
    for (int i = 0; buffer->layout && i < buffer->rank; i++)
        if (i != axis && buffer->layout[i].swizzle.chunk > 0 &&
            buffer->layout[i].swizzle.by == axis)
            return arena_printf(
                c->arena,
                "axis %d chooses where chunks of axis %d lie, so it cannot have a swizzle itself",
                axis, i);
    return NULL;
}
