/* serpentine.c - Implements serpentine: alternates the direction of a loop, so that each row first
 * uses what the previous row used last.
 *
 * The step marks the inner loop; lowering gives its body the turned variable
 * (passes/lower/index/serpentine.c), when the analyses that work on affine subscripts have done
 * theirs.
 *
 * Legal: iterations of the inner loop may run in the opposite order.
 * Invariant: every instance runs exactly once, and instances that depend on each other keep their
 * order. */
#include "passes/schedule/flow.h"

/* The subscript changes with the loop, by way of the block's iterators. */
static bool moves(const Access *a, const Expr *subscript, const Var *loop)
{
    for (int i = 0; a->block && i < a->block->n_iters; i++)
        if (expr_uses_var(a->block->iters[i].binding, loop) &&
            expr_uses_var(subscript, a->block->iters[i].var))
            return true;
    return false;
}

/* A buffer with a circular axis that the loop walks along: lowering depends on the order there. */
static const Buffer *circle_along(Schedule *s, Stmt *inner)
{
    AccessList accesses = access_list(s->ctx, inner, NULL, ACCESS_ANY);
    for (int i = 0; i < accesses.n; i++) {
        const Access *a = &accesses.items[i];
        for (int d = 0; a->buffer->layout && d < a->buffer->rank; d++)
            if (a->buffer->layout[d].fold > 0 && moves(a, a->index[d], inner->u.loop.var))
                return a->buffer;
    }
    return NULL;
}

static bool require_inside(Schedule *s, const Stmt *outer, const Stmt *inner, Span span)
{
    REQUIRE(s, E0499, span, outer->u.loop.body == inner,
            "loop '%s' is not the only statement of loop '%s'; serpentine takes a perfect nest, "
            "the outer loop first",
            stmt_label(inner), stmt_label(outer));
    REQUIRE(s, E0499, span,
            outer->u.loop.kind != LOOP_BIND && inner->u.loop.kind != LOOP_BIND &&
                inner->u.loop.kind != LOOP_VECTORIZE && inner->u.loop.step == 1,
            "loop '%s' or loop '%s' is bound or vectorized, or its step is not 1, so its order "
            "cannot alternate",
            stmt_label(outer), stmt_label(inner));
    REQUIRE(s, E0499, span, !loop_is_serpentine(&inner->u.loop),
            "loop '%s' is already a serpentine loop; remove this step", stmt_label(inner));
    return true;
}

bool prim_serpentine(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *inner = sched_node(s, &call->serpentine.inner, &path),
         *outer = sched_node(s, &call->serpentine.outer, NULL);
    const Buffer *circle;
    Conflict why = {0};
    if (!require_inside(s, outer, inner, call->span))
        return false;
    circle = circle_along(s, inner);
    REQUIRE(s, E0499, call->span, !circle,
            "loop '%s' walks along a circular axis of '%s', whose order must not change",
            stmt_label(inner), circle->name);
    const Kernel *kernel = sched_kernel_around(s, s->kernel, &path);
    REQUIRE_KEPT(
        s, E0499, call->span,
        dependence_order_kept(s->ctx, (Rewrite){kernel, inner, loop_backwards(s->ctx, inner)},
                              &s->reassociates, &why),
        &why, "serpentine would swap two dependent iterations of loop '%s'", stmt_label(inner));
    ForStmt loop = inner->u.loop;
    loop.annotations = annotations_mark(s->ctx, loop.annotations, ANNOTATION_SERPENTINE);
    sched_replace(s, inner, stmt_for(s->ctx, &loop, inner->span));
    *result = (Value){.kind = VALUE_NONE};
    return true;
}
