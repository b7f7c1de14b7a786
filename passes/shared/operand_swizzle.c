/* operand_swizzle.c - Proves that a buffer has the swizzle that an operand in it declares.
 *
 * Chunk x of the operand's row y lies at x ^ (y / every % count), and the buffer counts its rows
 * from its own first one. The two agree if the operand begins in a row and at a chunk of number 0
 * in the pattern, and its other axes keep to whole patterns. */
#include "passes/shared/operand_swizzle.h"

#include <inttypes.h>

typedef struct {
    Context *c;
    const Operand *operand;
    const OperandPlace *at;
    int axis, by; /* of the buffer, or -1 */
} Placed;

static int64_t step_of(const Placed *p, int d, int x)
{
    return p->at->step[d * p->operand->buffer->rank + x];
}

/* The axis of the buffer along which the operand's axis `x` goes in steps of 1; -1: none alone. */
static int own_axis(const Placed *p, int x)
{
    int axis = -1;
    for (int d = 0; d < p->at->buffer->rank; d++) {
        if (step_of(p, d, x) == 0)
            continue;
        if (step_of(p, d, x) != 1 || axis >= 0)
            return -1;
        axis = d;
    }
    return axis;
}

/* The buffer has the operand's swizzle along the same two axes, and no other one. */
static bool has_swizzle(const Placed *p)
{
    const Buffer *buffer = p->at->buffer;
    Swizzle wanted = p->operand->swizzle;
    wanted.by = p->by;
    for (int d = 0; d < buffer->rank; d++)
        if (buffer_is_swizzled(buffer, d) != (d == p->axis))
            return false;
    return p->axis >= 0 && swizzle_equal(&buffer->layout[p->axis].swizzle, &wanted);
}

/* The operand's other axes go along the two by whole patterns. */
static bool keeps_patterns(const Placed *p, int64_t chunks, int64_t rows)
{
    bool whole = true;
    for (int x = 0; x < p->operand->buffer->rank; x++)
        if (x != p->operand->swizzled && x != p->operand->swizzle.by)
            whole =
                whole && step_of(p, p->axis, x) % chunks == 0 && step_of(p, p->by, x) % rows == 0;
    return whole;
}

/* Runs of the operand are parts of chunks of the swizzled last axis: they begin at multiples of
 * their length. That chunks are long enough, strides have shown. */
static const char *runs_mismatch(const Placed *p, Facts *facts)
{
    const Buffer *buffer = p->at->buffer;
    int last = buffer->rank - 1;
    int64_t run = p->operand->align / type_bytes(buffer->type);
    bool whole = prove_divisible(facts, p->at->base[last], run);
    for (int x = 0; x < p->operand->buffer->rank; x++)
        whole = whole && (p->operand->strides[x] == 1 || step_of(p, last, x) % run == 0);
    if (whole || !buffer_is_swizzled(buffer, last))
        return NULL;
    return arena_printf(p->c->arena,
                        "operand '%s' begins at '%s' of the swizzled axis of '%s', which is not "
                        "known to be a multiple of %" PRId64 ", or its rows do not",
                        p->operand->buffer->name, expr_text(p->c, p->at->base[last]), buffer->name,
                        run);
}

const char *swizzle_mismatch(Context *c, Facts *facts, const Operand *operand,
                             const OperandPlace *at)
{
    Placed p = {.c = c, .operand = operand, .at = at};
    const Swizzle *wanted = &operand->swizzle;
    if (!wanted->chunk)
        return operand->in_runs ? runs_mismatch(&p, facts) : NULL;
    p.axis = own_axis(&p, operand->swizzled);
    p.by = own_axis(&p, wanted->by);
    if (!has_swizzle(&p))
        return arena_printf(c->arena,
                            "operand '%s' has the layout swizzle(%d, %d, %" PRId64 ", %" PRId64
                            ", %" PRId64 "), but '%s' does not; give it this layout with swizzle",
                            operand->buffer->name, operand->swizzled, wanted->by, wanted->chunk,
                            wanted->count, wanted->every, at->buffer->name);
    int64_t chunks = wanted->chunk * wanted->count, rows = wanted->every * wanted->count;
    if (!keeps_patterns(&p, chunks, rows))
        return arena_printf(c->arena,
                            "neighbours along some axis of operand '%s' are no whole pattern of "
                            "chunks apart in '%s'",
                            operand->buffer->name, at->buffer->name);
    if (prove_divisible(facts, at->base[p.axis], chunks) &&
        prove_divisible(facts, at->base[p.by], rows))
        return NULL;
    return arena_printf(c->arena,
                        "operand '%s' begins at ['%s', '%s'] of the swizzled axes of '%s', which "
                        "is not known to be where the pattern of its chunks begins",
                        operand->buffer->name, expr_text(c, at->base[p.by]),
                        expr_text(c, at->base[p.axis]), at->buffer->name);
}
