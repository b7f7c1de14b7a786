/* set_dtype.c - Implements unsafe_set_dtype: keeps the elements of a temp in a narrower type.
 *
 *   unsafe_set_dtype(t, f16):     t[i] = x[i]; y[i] = t[i]  =>  t[i] = f16(x[i]); y[i] = f32(t[i])
 *
 * This is the one primitive that changes what a program computes: its temp rounds more. The kernel
 * records the type, and what compares it with its program gives the temp of the program the same
 * type. So the step takes a temp of the program, and a type that has fewer values: copies that
 * earlier steps have made of it, in the type that it had, round less than that program does.
 *
 * Legal: the buffer is a temp of floats that the program declares, no component of tuples; the type
 * is a floating type of fewer bits.
 * Invariant: every load gives what the last store has stored, rounded to the type. */
#include "passes/schedule/flow.h"
#include "passes/schedule/sched.h"
#include "passes/shared/retype.h"

static const Buffer *program_temp(const Schedule *s, const Buffer *buffer)
{
    for (Cursor at = cursor_stmts(s->ctx, s->first->body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP && at.stmt->u.temp->id == buffer->id)
            return at.stmt->u.temp;
    return NULL;
}

static bool is_component(const Schedule *s, const Buffer *buffer)
{
    for (Cursor at = cursor_stmts(s->ctx, s->kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_SEQ && at.stmt->u.seq.combiner &&
            stmt_accesses(s->ctx, at.stmt, buffer, ACCESS_WRITE))
            return true;
    return false;
}

static bool check_buffer(Schedule *s, const Buffer *buffer, Span span)
{
    REQUIRE(
        s, E0930, span, buffer->role == ROLE_TEMP,
        "'%s' is a parameter, whose type belongs to the caller; declare it with another type in "
        "the program",
        buffer->name);
    REQUIRE(s, E0930, span, program_temp(s, buffer),
            "'%s' was made by a step, so there is no program with another type of it to compare "
            "with; change the type of the buffer that it holds a part of",
            buffer->name);
    REQUIRE(s, E0930, span, !is_component(s, buffer),
            "'%s' is a component of tuples that a reducer combines, which has the reducer's type",
            buffer->name);
    return true;
}

static bool check_type(Schedule *s, const Buffer *buffer, const Value *given)
{
    DType to = type_find(given->u.s);
    REQUIRE(s, E0930, given->span, to != DT_COUNT && type_is_float(to),
            "'%s' is no floating type; take f32, f16, bf16, f8e4m3 or f8e5m2", given->u.s);
    REQUIRE(s, E0930, given->span,
            type_is_float(buffer->type) && type_info(to)->bits < type_info(buffer->type)->bits,
            "'%s' has type %s, and %s is not narrower; declare a wider type in the program",
            buffer->name, type_info(buffer->type)->name, given->u.s);
    return true;
}

bool prim_unsafe_set_dtype(Schedule *s, const PrimCall *call, Value *result)
{
    Buffer *buffer = sched_buffer(s, call->unsafe_set_dtype.buffer.u.id);
    const Value *type = &call->unsafe_set_dtype.type;
    if (!check_buffer(s, buffer, call->unsafe_set_dtype.buffer.span) ||
        !check_type(s, buffer, type))
        return false;
    Retype retype = {program_temp(s, buffer), type_find(type->u.s)};
    const Kernel *kernel = retype_temp(s->ctx, s->kernel, &retype);
    if (!flow_recheck_all(s, kernel->body, call->span))
        return false;
    sched_replace_interface(s, kernel);
    s->remark = arena_printf(s->ctx->arena, "rounds the %s of '%s' to %s: the results differ",
                             type_info(retype.from->type)->name, buffer->name, type->u.s);
    (void)result;
    return true;
}
