/* shapes.c - Gives a temp in global memory a shape that is the same in every iteration.
 *
 *   for i in N {                          for i in N {
 *       temp s: f32[i + 1];          =>       temp s: f32[N];
 *       ...                                   ...
 *   }                                     }
 *
 * Such a buffer is allocated once, before the program runs, when only the sizes are known. An
 * iteration accesses only its own part of the larger shape. Subscripts are linearized by the new
 * shape, because all accesses refer to the same buffer. */
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Facts *facts;  /* of the loops around */
    bool lowered;  /* several subscripts have become one, by the shape as it was */
    VarList loops; /* around */
    /* one of them never runs: nothing is known of its values, and nothing is stored */
    bool never;
    Stmt *body; /* the kernel's */
} Shapes;

static bool speaks_of_loops(const Shapes *s, const Buffer *b)
{
    for (int axis = 0; axis < b->rank; axis++)
        if (expr_uses_any(b->shape[axis], s->loops.items, s->loops.n))
            return true;
    return false;
}

static void refuse_extent(Shapes *s, const Buffer *b, int axis)
{
    diag_error(s->c, E0515, b->span,
               "axis %d of temp '%s' has %s elements, which has no known upper bound; write a "
               "bound in terms of sizes instead: a temp may be larger than the part in use",
               axis, b->name, expr_text(s->c, b->shape[axis]));
}

/* The buffer, as large as it is in any iteration. */
static Buffer *widest(Shapes *s, const Buffer *b)
{
    Context *c = s->c;
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, b->rank);
    for (int axis = 0; axis < b->rank; axis++) {
        bool bounded = b->rank == 1 || !s->lowered;
        const Var *const *loops = (const Var *const *)s->loops.items;
        shape[axis] = s->never  ? expr_index(c, 1)
                      : bounded ? largest_over(s->facts, b->shape[axis], loops, s->loops.n, NULL)
                                : NULL;
        if (!shape[axis]) {
            refuse_extent(s, b, axis);
            return NULL;
        }
        /* The facts hold only where the loops run at all. */
        shape[axis] = simplify(facts_new(c), index_max(c, shape[axis], expr_index(c, 0)));
        shape[axis] = shape_extent(c, shape[axis]);
    }
    Buffer *wide = buffer_copy(c, b);
    wide->shape = shape;
    return wide;
}

/* Gives the temp, if its shape changes with loops around it, the largest of its shapes. False after
 * E0515. */
static bool size_temp(Shapes *s, const Buffer *b, const EnclosingList *path)
{
    StmtList loops = enclosing_loops(s->c, path);
    s->loops.n = 0;
    s->never = false;
    for (int i = 0; i < loops.n; i++) {
        int64_t extent;
        VEC_PUSH(s->c->arena, &s->loops, loops.items[i]->u.loop.var);
        s->never |= loop_const_extent(&loops.items[i]->u.loop, &extent) && extent <= 0;
    }
    if (!speaks_of_loops(s, b))
        return true;
    FactsMark mark = facts_mark(s->facts);
    for (int i = 0; i < loops.n; i++)
        facts_enter(s->facts, loops.items[i]);
    Buffer *wide = widest(s, b);
    facts_reset(s->facts, mark);
    if (wide)
        s->body = stmt_replace_buffer(s->c, s->body, b, wide);
    return wide != NULL;
}

Kernel *temps_sized(Context *c, const Kernel *kernel, TempKinds which)
{
    Shapes s = {.c = c, .facts = facts_of_kernel(c, kernel), .body = kernel->body};
    s.lowered = kernel_level(c, kernel) == LEVEL_LOWERED;
    Cursor at = cursor_with_path(cursor_outer(c, kernel->body), NULL);
    while (cursor_next(&at)) {
        if (at.stmt->kind == ST_LAUNCH)
            cursor_prune(&at);
        if (at.stmt->kind == ST_TEMP &&
            (which == TEMPS_ALL || scope_outlives_launch(at.stmt->u.temp->scope)) &&
            !size_temp(&s, at.stmt->u.temp, &at.path))
            return NULL;
    }
    return kernel_with_body(c, kernel, s.body);
}
