/* layout.c - Implements storage_align, pad and swizzle: sets where the elements of a buffer lie.
 *
 * None changes a value: buffer_strides reads the layout when the kernel's arrays are declared, and
 * `flatten` writes swizzles into subscripts. What a schedule leaves to tirc (`auto`) is chosen in
 * lowering, when the accesses of each warp are final: later steps of the schedule may still change
 * them.
 *
 * Legal: the buffer is a temp, of which each axis exists.
 * Invariant: no value changes, only where it lies. */
#include "passes/schedule/flow.h"

/* The axis that the argument means, a negative one counted from the last. */
static bool find_axis(Schedule *s, const Value *v, const Buffer *buffer, int otherwise, int *axis)
{
    int64_t i = v->kind == VALUE_NONE ? otherwise : v->u.i;
    REQUIRE(s, E0446, v->span, i >= -buffer->rank && i < buffer->rank,
            "'%s' has %d ax%s, 0 to %d; axis %lld is out of range", buffer->name, buffer->rank,
            buffer->rank == 1 ? "is" : "es", buffer->rank - 1, (long long)i);
    *axis = (int)(i < 0 ? i + buffer->rank : i);
    return true;
}

static bool is_temp(Schedule *s, const Value *v, const Buffer *buffer)
{
    REQUIRE(
        s, E0447, v->span, buffer->role == ROLE_TEMP,
        "'%s' is a parameter, whose row-major layout belongs to the caller. Only temps can have "
        "another layout; create one with cache_read(block, %s, shared)",
        buffer->name, buffer->name);
    return true;
}

static bool may_lay_out(Schedule *s, const Value *v, const Buffer *buffer)
{
    if (!is_temp(s, v, buffer))
        return false;
    REQUIRE(s, E0447, v->span, !scope_outlives_launch(buffer->scope),
            "'%s' is in global memory, which has no banks; use set_scope(%s, shared) first",
            buffer->name, buffer->name);
    return true;
}

/* The buffer with one rule of its layout changed. */
static void lay_out(Schedule *s, Buffer *buffer, int axis, AxisLayout rule)
{
    Buffer *changed = buffer_with_rule(s->ctx, buffer, axis, rule);
    sched_replace_body(s, stmt_replace_buffer(s->ctx, s->kernel->body, buffer, changed));
}

/* Banks belong to shared memory. */
static bool may_choose(Schedule *s, const Value *v, const Buffer *buffer)
{
    REQUIRE(s, E0447, v->span, buffer->scope == SCOPE_SHARED,
            "'%s' is in %s memory; only shared memory has banks", buffer->name,
            scope_name(buffer->scope));
    return true;
}

/* A temp in global memory has no layout but its shape: the axis behind gets as many elements as lie
 * between neighbours along this one. */
static bool lengthen_rows(Schedule *s, const Value *v, Buffer *buffer, int axis, AxisLayout rule)
{
    Context *c = s->ctx;
    int64_t *strides = ARENA_ARRAY(c->arena, int64_t, buffer->rank), elements;
    bool known = buffer_strides(buffer_with_rule(c, buffer, axis, rule), strides, &elements);
    bool whole = known && axis + 1 < buffer->rank && strides[axis] % strides[axis + 1] == 0;
    REQUIRE(s, E0447, v->span, whole,
            "'%s' is in global memory, where the rows of an axis can get longer, by whole elements "
            "and if extents are literals, but axis %d cannot have this stride; use set_scope(%s, "
            "shared) first",
            buffer->name, axis, buffer->name);
    Expr *row = expr_index(c, strides[axis] / strides[axis + 1]);
    Buffer *longer = buffer_with_extent(c, buffer, axis + 1, row);
    longer->layout = NULL;
    sched_replace_body(s, stmt_replace_buffer(c, s->kernel->body, buffer, longer));
    return true;
}

bool prim_storage_align(Schedule *s, const PrimCall *call, Value *result)
{
    Buffer *buffer = sched_buffer(s, call->storage_align.buffer.u.id);
    int64_t factor = call->storage_align.factor.u.i, offset = call->storage_align.offset.u.i;
    int axis;
    bool global = buffer->scope == SCOPE_GLOBAL;
    if (!(global ? is_temp(s, &call->storage_align.buffer, buffer)
                 : may_lay_out(s, &call->storage_align.buffer, buffer)) ||
        !find_axis(s, &call->storage_align.axis, buffer, 0, &axis))
        return false;
    REQUIRE(s, E0448, call->storage_align.factor.span, factor >= 1 && factor <= INT32_MAX,
            "the factor must be at least 1, found %lld", (long long)factor);
    REQUIRE(s, E0448, call->storage_align.offset.span, offset >= 0 && offset < factor,
            "the offset is a remainder modulo %lld, from 0 to %lld; found %lld", (long long)factor,
            (long long)factor - 1, (long long)offset);
    AxisLayout rule = buffer_rule(buffer, axis);
    rule.align_factor = factor;
    rule.align_offset = offset;
    (void)result;
    if (global)
        return lengthen_rows(s, &call->storage_align.buffer, buffer, axis, rule);
    lay_out(s, buffer, axis, rule);
    return true;
}

bool prim_pad(Schedule *s, const PrimCall *call, Value *result)
{
    Buffer *buffer = sched_buffer(s, call->pad.buffer.u.id);
    bool chosen = call->pad.amount.kind == VALUE_WORD;
    int64_t amount = chosen ? 0 : call->pad.amount.u.i;
    int axis;
    if (!may_lay_out(s, &call->pad.buffer, buffer) ||
        (chosen && !may_choose(s, &call->pad.buffer, buffer)) ||
        !find_axis(s, &call->pad.axis, buffer, buffer->rank - 1, &axis))
        return false;
    REQUIRE(s, E0448, call->pad.amount.span, amount >= 0 && amount <= INT32_MAX,
            "the padding of a row is nonnegative; found %lld", (long long)amount);
    AxisLayout rule = buffer_rule(buffer, axis);
    rule.pad = amount;
    rule.choose_pad = chosen;
    lay_out(s, buffer, axis, rule);
    (void)result;
    return true;
}

bool prim_swizzle(Schedule *s, const PrimCall *call, Value *result)
{
    Buffer *buffer = sched_buffer(s, call->swizzle.buffer.u.id);
    bool chosen = call->swizzle.chunk.kind == VALUE_WORD;
    int axis, by;
    if (!may_lay_out(s, &call->swizzle.buffer, buffer) ||
        !may_choose(s, &call->swizzle.buffer, buffer))
        return false;
    REQUIRE(s, E0446, call->swizzle.buffer.span, buffer->rank >= 2,
            "'%s' has %d ax%s, but a swizzle needs two: one for the chunks and one for the rows",
            buffer->name, buffer->rank, buffer->rank == 1 ? "is" : "es");
    REQUIRE(s, E0448, call->swizzle.chunk.span, chosen || call->swizzle.count.kind != VALUE_NONE,
            "a swizzle with chunks of %lld elements needs a count of chunks to permute; write "
            "swizzle(%s, auto) to let tirc choose",
            (long long)call->swizzle.chunk.u.i, buffer->name);
    if (!find_axis(s, &call->swizzle.axis, buffer, buffer->rank - 1, &axis) ||
        !find_axis(s, &call->swizzle.by, buffer, axis > 0 ? axis - 1 : 1, &by))
        return false;
    AxisLayout rule = buffer_rule(buffer, axis);
    const Value *every = &call->swizzle.every;
    rule.choose_swizzle = chosen;
    rule.swizzle = chosen ? (Swizzle){0}
                          : (Swizzle){.chunk = call->swizzle.chunk.u.i,
                                      .count = call->swizzle.count.u.i,
                                      .every = every->kind == VALUE_NONE ? 1 : every->u.i,
                                      .by = by};
    const char *wrong = chosen ? NULL : swizzle_error(s->ctx, buffer, axis, &rule.swizzle);
    REQUIRE(s, E0448, call->swizzle.chunk.span, !wrong, "%s", wrong);
    lay_out(s, buffer, axis, rule);
    (void)result;
    return true;
}
