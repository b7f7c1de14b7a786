/* compact.c - Implements compact: gives a temporary the extents that blocks use.
 *
 *   temp t: f32[T];                            temp t: f32[N];
 *   for j in N  t[j] = exp(x[j]);       =>     for j in N  t[j] = exp(x[j]);
 *   for j in N  y[j] = t[j] / s;               for j in N  y[j] = t[j] / s;
 *
 * A program may declare what is enough for all sizes. Steps that pad or copy a temporary take all
 * of its elements.
 *
 * Legal: the buffer is a temporary in global memory, that no instruction takes as an operand. The
 * end of its subscripts along an axis is made of sizes, and not behind the extent.
 * Invariant: every access finds the element that it found before. */
#include "passes/schedule/flow.h"

static bool check_buffer(Schedule *s, const Buffer *buffer, Span span)
{
    REQUIRE(s, E0932, span, buffer->role == ROLE_TEMP && buffer->scope == SCOPE_GLOBAL,
            "'%s' is %s, not a temporary in global memory", buffer->name,
            buffer->role == ROLE_TEMP ? arena_printf(s->ctx->arena,
                                                     "in %s memory, which lowering "
                                                     "gives the extents in use",
                                                     scope_name(buffer->scope))
                                      : "a parameter, whose extents belong to the caller");
    BlockList blocks = flow_blocks(s, s->kernel->body, buffer, ACCESS_ANY);
    for (int i = 0; i < blocks.n; i++)
        REQUIRE_AT(s, E0932, span, !blocks.items[i]->u.block.instruction, blocks.items[i],
                   "block '%s' is an instruction, whose operands have extents of their own",
                   blocks.items[i]->u.block.name);
    return true;
}

/* The extent that is in use along the axis, if it is known to be less; else NULL. */
static Expr *used_extent(Schedule *s, const Buffer *buffer, int axis)
{
    Facts *facts = facts_of_kernel(s->ctx, s->kernel);
    Expr *extent = buffer->shape[axis], *end = flow_end_of_accesses(s, buffer, axis, ACCESS_ANY);
    end = end ? simplify(facts, end) : NULL;
    bool less = end && expr_of_sizes(end) && prove_compare(facts, end, EX_LE, extent) &&
                !prove_compare(facts, end, EX_GE, extent);
    return less && prove_at_least(facts, end, 0) ? end : NULL;
}

bool prim_compact(Schedule *s, const PrimCall *call, Value *result)
{
    (void)result;
    Buffer *old = sched_buffer(s, call->compact.buffer.u.id), *now = old;
    if (!check_buffer(s, old, call->span))
        return false;
    for (int axis = 0; axis < old->rank; axis++) {
        Expr *extent = used_extent(s, old, axis);
        if (extent)
            now = buffer_with_extent(s->ctx, now, axis, extent);
    }
    if (now != old)
        sched_replace_body(s, stmt_replace_buffer(s->ctx, s->kernel->body, old, now));
    return true;
}
