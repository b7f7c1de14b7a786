/* layout.c - where the elements of a buffer lie.
 *
 * Row major; the layout of an axis may lengthen its rows (`pad`) and choose its stride (`align`). 
 * The one place that knows, so that the text of a kernel and the simulator cannot disagree. */
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

bool buffer_strides(const Buffer *buffer, int64_t *strides, int64_t *elements)
{
    static const AxisLayout plain = {0};
    int64_t next = 1;
    for (int axis = buffer->rank - 1; axis >= 0; axis--) {
        const AxisLayout *layout = buffer->layout ? &buffer->layout[axis] : &plain;
        int64_t extent, row;
        if (!align_stride(layout, next, &strides[axis]) ||
            !expr_is_const(buffer->shape[axis], &extent) || extent < 0 ||
            !checked_add(extent, layout->pad, &row) || !checked_mul(strides[axis], row, &next))
            return false;
    }
    *elements = next;
    return true;
}
