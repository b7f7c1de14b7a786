/* build.c - Builds small pieces of a reference: numbers, sums, named values, buffers. */
#include <math.h>

#include "passes/lower/reference/reference.h"

Expr *ref_float(RefBuilder *b, double value)
{
    return expr_float(b->c, DT_F64, value, span_none());
}

Expr *ref_op(RefBuilder *b, ExprKind kind, Expr *x, Expr *y)
{
    return expr_binary(b->c, kind, x, y, span_none());
}

Expr *ref_call(RefBuilder *b, CallKind call, Expr *x)
{
    return expr_call(b->c, call, &x, span_none());
}

/* NULL stands for zero. */
Expr *ref_add(RefBuilder *b, Expr *x, Expr *y)
{
    return !x ? y : !y ? x : expr_binary(b->c, EX_ADD, x, y, span_none());
}

Expr *ref_let(RefBuilder *b, Expr *e)
{
    if (!e || e->kind == EX_VAR || e->kind == EX_INT || e->kind == EX_FLOAT || b->dry)
        return e;
    Name name = names_fresh(&b->names, ctx_namef(b->c, "r%d", b->n_lets++));
    Var *var = var_new(b->c, name, e->type, VAR_LET, e->span);
    VEC_PUSH(b->c->arena, b->out, stmt_let(b->c, var, e, e->span));
    return expr_var(b->c, var, e->span);
}

void ref_put(RefBuilder *b, const RefPlace *at, Buffer *buffer, StoreOp op, Expr *value)
{
    StoreStmt store = {.buffer = buffer, .index = at->index, .op = op, .value = value};
    if (buffer && !b->dry)
        VEC_PUSH(b->c->arena, b->out, stmt_store(b->c, &store, at->span));
}

Expr *ref_size(RefBuilder *b, Ref r)
{
    if (r.v->kind == EX_FLOAT)
        return ref_add(b, ref_float(b, fabs(r.v->u.f)), r.err);
    return ref_add(b, expr_call(b->c, CALL_ABS, &r.v, span_none()), r.err);
}

Buffer *ref_part(RefBuilder *b, const PartOf *of)
{
    static const char *const suffixes[] = {
        [PART_ERROR] = "err", [PART_MAGNITUDE] = "abs", [PART_TERMS] = "n",
        [PART_BITS] = "bits", [PART_UNSURE] = "unsure", [PART_NEED] = "need",
    };
    static const DType types[] = {
        [PART_ERROR] = DT_F64, [PART_MAGNITUDE] = DT_F64, [PART_TERMS] = DT_F64,
        [PART_BITS] = DT_I64,  [PART_UNSURE] = DT_U8,     [PART_NEED] = DT_U8,
    };
    const Buffer *from = of->from;
    const char *name = ctx_namef(b->c, "%s_%s", from->name, suffixes[of->part]);
    bool need = of->part == PART_NEED;
    if (need)
        name = ctx_namef(b->c, "%s_%d", name, of->axis);
    Expr *one = expr_index(b->c, 1);
    bool whole = !need && of->part != PART_UNSURE;
    Expr *const *shape = whole ? from->shape : need ? &from->shape[of->axis] : &one;
    Role role = need && from->role != ROLE_TEMP ? ROLE_INOUT : from->role;
    Buffer *made = buffer_new(b->c, &(Buffer){.name = names_fresh(&b->names, name),
                                              .type = types[of->part],
                                              .shape = shape,
                                              .rank = whole ? from->rank : 1,
                                              .scope = SCOPE_GLOBAL,
                                              .role = role,
                                              .span = from->span});
    made->part = of->part;
    made->part_of = from;
    made->part_axis = of->axis;
    return made;
}
