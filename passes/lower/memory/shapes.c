/* shapes.c - a temp of global memory gets a shape that does not change from one iteration to the
 * next.
 *
 *   for i in N {                          for i in N {
 *       temp s: f32[i + 1];          =>       temp s: f32[N];
 *       ...                                   ...
 *   }                                     }
 *
 * Such a buffer is allocated once, before the program runs, and what is known there are the sizes.
 * Its elements are those that an iteration may use; those that the larger shape adds are never
 * touched. Subscripts are flattened by the new shape, as all accesses speak of the one buffer. */
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Facts *facts;  /* of the loops around */
    bool all;      /* temps in other memory, too */
    bool lowered;  /* several subscripts have become one, by the shape as it was */
    VarList loops; /* around */
    /* of them, those that never run: nothing is known of their values, and nothing is stored */
    int never;
    Stmt *body; /* the kernel's */
    bool failed;
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
    StrBuf text = strbuf_new(s->c->arena);
    print_expr(b->shape[axis], &text);
    diag_error(s->c, E0515, b->span,
               "axis %d of temp '%s' has %s elements, and it is not known how many that are at "
               "most; write a bound "
               "in sizes instead, a temp may be larger than what is used of it",
               axis, b->name, text.text);
    s->failed = true;
}

/* The buffer, as large as it is in any iteration. */
static Buffer *widest(Shapes *s, const Buffer *b)
{
    Context *c = s->c;
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, b->rank);
    for (int axis = 0; axis < b->rank; axis++) {
        bool bounded = b->rank == 1 || !s->lowered;
        shape[axis] = s->never > 0 ? expr_index(c, 1)
                      : bounded    ? largest_over(s->facts, b->shape[axis],
                                                  (const Var *const *)s->loops.items, s->loops.n, NULL)
                                   : NULL;
        if (!shape[axis]) {
            refuse_extent(s, b, axis);
            return NULL;
        }
        /* The facts hold only where the loops run at all. */
        shape[axis] = simplify(facts_new(c), index_max(c, shape[axis], expr_index(c, 0)));
        int64_t extent;
        if (expr_is_const(shape[axis], &extent) && extent == 0)
            shape[axis] = expr_index(c, 1); /* no axis of a text has 0 elements */
    }
    Buffer *wide = buffer_copy(c, b);
    wide->shape = shape;
    return wide;
}

static bool visit_shapes(Visitor *v, Stmt *stmt);

/* The loop's body, knowing its range. */
static void visit_loop(Visitor *v, Stmt *stmt)
{
    Shapes *s = v->user;
    FactsMark mark = facts_mark(s->facts);
    int64_t extent;
    bool never = loop_const_extent(&stmt->u.loop, &extent) && extent <= 0;
    s->never += never;
    facts_enter(s->facts, stmt);
    VEC_PUSH(s->c->arena, &s->loops, stmt->u.loop.var);
    visit_stmt(v, stmt->u.loop.body);
    s->loops.n--;
    s->never -= never;
    facts_reset(s->facts, mark);
}

static bool visit_shapes(Visitor *v, Stmt *stmt)
{
    Shapes *s = v->user;
    if (stmt->kind == ST_FOR)
        visit_loop(v, stmt);
    if (stmt->kind == ST_TEMP && (s->all || scope_outlives_launch(stmt->u.temp->scope)) &&
        speaks_of_loops(s, stmt->u.temp) && !s->failed) {
        Buffer *wide = widest(s, stmt->u.temp);
        if (wide)
            s->body = stmt_replace_buffer(s->c, s->body, stmt->u.temp, wide);
    }
    return stmt->kind == ST_SEQ || stmt->kind == ST_IF;
}

Kernel *temps_sized(Context *c, const Kernel *kernel, bool all)
{
    Shapes s = {.c = c, .facts = facts_of_kernel(c, kernel), .all = all, .body = kernel->body};
    s.lowered = kernel_level(kernel) == LEVEL_LOWERED;
    Visitor v = {.user = &s, .stmt = visit_shapes};
    visit_stmt(&v, kernel->body);
    return s.failed ? NULL : kernel_with_body(c, kernel, s.body);
}
