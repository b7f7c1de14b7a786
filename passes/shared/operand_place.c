/* operand_place.c - Says where the operands of a match lie in memory: whether they are aligned as
 * the instruction needs it, and which elements of buffers its template names. */
#include <inttypes.h>

#include "passes/shared/unify.h"

Expr *buffer_stride(Context *c, const Buffer *b, int d)
{
    int64_t *strides = ARENA_ARRAY(c->arena, int64_t, b->rank + 1), total;
    if (buffer_strides(b, strides, &total))
        return expr_index(c, strides[d]);
    Expr *stride = expr_index(c, 1);
    for (int k = d + 1; k < b->rank; k++)
        stride = index_mul(c, stride, b->shape[k]);
    return stride;
}

Expr *buffer_place(Context *c, const Buffer *b, Expr *const *index)
{
    Expr *offset = expr_index(c, 0);
    for (int d = 0; d < b->rank; d++)
        offset = index_add(c, offset, index_mul(c, index[d], buffer_stride(c, b, d)));
    return offset;
}

bool unify_is_settled(const Unify *u, const Buffer *buffer)
{
    return u->compacted || scope_outlives_launch(buffer->scope);
}

/* ---- alignment ------------------------------------------------------------------------------- */

static bool misplaced(Unify *u, int k, const char *format, ...) TIRC_PRINTF(3, 4);

static bool misplaced(Unify *u, int k, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    u->why = arena_vprintf(u->c->arena, format, args);
    va_end(args);
    u->code = E0845;
    u->at = u->places[k].buffer->span;
    return false;
}

/* How far apart neighbours along axis `x` of the operand lie, in elements. */
static Expr *distance_along(Unify *u, int k, int x)
{
    const OperandPlace *place = &u->places[k];
    int rank = u->of->operands[k].buffer->rank;
    Expr *distance = expr_index(u->c, 0);
    for (int d = 0; d < place->buffer->rank; d++)
        distance = index_add(u->c, distance,
                             index_mul(u->c, expr_index(u->c, place->step[d * rank + x]),
                                       buffer_stride(u->c, place->buffer, d)));
    return simplify(u->facts, distance);
}

/* Each row of the operand begins where the instruction needs it, if the first one does. */
static bool rows_aligned(Unify *u, int k, int64_t elements)
{
    const Operand *operand = &u->of->operands[k];
    for (int x = 0; x < operand->buffer->rank && elements > 1; x++) {
        if (operand->strides[x] != STRIDE_ANY || expr_is(operand->buffer->shape[x], 1))
            continue;
        Expr *distance = distance_along(u, k, x);
        if (!prove_divisible(u->facts, distance, elements))
            return misplaced(
                u, k,
                "each row of operand '%s' begins at a multiple of %" PRId64
                " bytes, but neighbours along axis %d lie '%s' elements apart in '%s'; "
                "pad its rows to multiples of %" PRId64 " elements",
                operand->buffer->name, operand->align, x, expr_text(u->c, distance),
                u->places[k].buffer->name, elements);
    }
    return true;
}

bool unify_aligned(Unify *u, const Subst *map, int n)
{
    for (int k = 0; k < u->of->n_operands; k++) {
        const Operand *operand = &u->of->operands[k];
        const Buffer *buffer = u->places[k].buffer;
        int64_t elements = operand->align / type_bytes(buffer->type);
        if (!unify_is_settled(u, buffer))
            continue;
        Expr *offset = buffer_place(u->c, buffer, u->places[k].base);
        offset = simplify(u->facts, expr_subst(u->c, offset, map, n));
        if (elements > 1 && !prove_divisible(u->facts, offset, elements))
            return misplaced(u, k,
                             "operand '%s' begins at a multiple of %" PRId64
                             " bytes, but element '%s' "
                             "of '%s' is not known to; make the last extent a multiple of %" PRId64
                             ", with a where clause or by padding a copy",
                             operand->buffer->name, operand->align, expr_text(u->c, offset),
                             buffer->name, elements);
        if (!rows_aligned(u, k, elements))
            return false;
    }
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* How far along axis `d` of its buffer an element of an operand lies from the first one. */
static Expr *element_distance(Unify *u, const OperandElement *element, int d)
{
    Context *c = u->c;
    int rank = u->of->operands[element->operand].buffer->rank;
    const int64_t *step = u->places[element->operand].step + d * rank;
    Expr *distance = expr_index(c, 0);
    for (int x = 0; x < rank; x++)
        distance = index_add(c, distance, index_mul(c, expr_index(c, step[x]), element->at[x]));
    if (!u->of->lane)
        return distance;
    Subst lane = {u->of->lane, expr_var(c, (Var *)u->lane, u->lane->span)};
    return expr_subst(c, distance, &lane, 1);
}

Expr **unify_elements(Unify *u)
{
    Expr **elements = ARENA_ARRAY(u->c->arena, Expr *, u->of->n_elements + 1);
    for (int i = 0; i < u->of->n_elements; i++) {
        const OperandElement *element = &u->of->elements[i];
        const OperandPlace *place = &u->places[element->operand];
        Expr **index = ARENA_ARRAY(u->c->arena, Expr *, place->buffer->rank + 1);
        for (int d = 0; d < place->buffer->rank; d++)
            index[d] = simplify(u->facts,
                                index_add(u->c, place->base[d], element_distance(u, element, d)));
        elements[i] = expr_load(u->c, place->buffer, index, span_none());
    }
    return elements;
}
