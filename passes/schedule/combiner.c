/* combiner.c - Makes reducers for steps: their components, and names that no other has; and writes
 * updates out. */
#include "passes/schedule/combiner.h"
#include "passes/schedule/enter.h"

CombinerPart combiner_part(Context *c, const char *name, Expr *identity)
{
    static const char *const of[3] = {"x.", "y.", ""};
    DType type = identity->type;
    Var *vars[3];
    for (int i = 0; i < 3; i++)
        vars[i] = var_new(c, ctx_namef(c, "%s%s", of[i], name), type, VAR_LET, identity->span);
    return (CombinerPart){.name = ctx_name(c, name),
                          .type = type,
                          .identity = identity,
                          .a = vars[0],
                          .b = vars[1],
                          .self = vars[2]};
}

/* The reducer of that name that a statement uses; NULL: there is none. */
static const Combiner *reducer_in(Context *c, const Stmt *body, Name name)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_SEQ && at.stmt->u.seq.combiner &&
            at.stmt->u.seq.combiner->name == name)
            return at.stmt->u.seq.combiner;
    return NULL;
}

/* The reducer of that name in the program, also where the step does not see it. */
static const Combiner *find_reducer(const Schedule *s, Name name)
{
    const Combiner *found = reducer_in(s->ctx, s->kernel->body, name);
    for (int i = 0; i < s->hidden.n && !found; i++)
        found = reducer_in(s->ctx, s->hidden.items[i], name);
    for (const Entered *e = s->entered; e && !found; e = e->outer)
        found = reducer_in(s->ctx, e->whole->body, name);
    return found;
}

const Combiner *combiner_named(const Schedule *s, const char *base, Combiner *made)
{
    Context *c = s->ctx;
    made->a = ctx_name(c, "x");
    made->b = ctx_name(c, "y");
    for (int i = 0;; i++) {
        made->name = ctx_namef(c, i ? "%s_%d" : "%s", base, i);
        const Combiner *other = find_reducer(s, made->name);
        if (!other || combiner_equal(other, made))
            return other ? other : made;
    }
}

Expr *combiner_update(Context *c, StoreOp op, Expr *a, Expr *b)
{
    DType type = a->type;
    ExprKind kind = store_op_kind(op, type);
    bool small = type_is_int(type) && type != DT_INDEX && type_info(type)->bits < 32 &&
                 op != STORE_MIN && op != STORE_MAX;
    if (!small)
        return expr_binary(c, kind, a, b, b->span);
    Expr *wide = expr_binary(c, kind, expr_cast(c, DT_I32, a, a->span),
                             expr_cast(c, DT_I32, b, b->span), b->span);
    return expr_cast(c, type, wide, b->span);
}
