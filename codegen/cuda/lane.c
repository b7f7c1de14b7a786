/* lane.c - see lane.h.
 *
 * The component of a vector is an expression of the language: `x_v.x` of CUDA's vector types, and
 * of words `bitcast(f16, u16(x_v.x >> 16))`, which expr.c emits as any other. */
#include "codegen/cuda/lane.h"

const char *lane_vector_type(CudaWriter *w, const VectorPlan *plan, DType type)
{
    const char *vector = vector_type(w->c, type, plan->lanes);
    return vector ? vector : vector_word(plan->lanes * type_bytes(type));
}

Name lane_load_name(const Lanes *l, int load)
{
    Context *c = l->w->c;
    const Buffer *b = l->plan->loads.items[load].load->u.load.buffer;
    const char *base = cuda_buffer_name(l->w, b);
    return cuda_names_made(l->w->names, "vector",
                           arena_printf(c->arena, load ? "%s_v%d" : "%s_v", base, load));
}

Name lane_vector(const Lanes *l, const Expr *e)
{
    int load = vector_find_load(l->plan, e);
    if (load >= 0)
        return lane_load_name(l, load);
    for (int i = 0; i < l->parts.n; i++)
        if (expr_equal(l->parts.items[i].e, e))
            return l->parts.items[i].name;
    return NULL;
}

Name lane_word(const Lanes *l, Name vector, int64_t bytes, int word)
{
    return bytes <= 4 ? vector : ctx_namef(l->w->c, "%s.%c", vector, "xyzw"[word]);
}

static Expr *named(const Lanes *l, Name name, DType type)
{
    return expr_var(l->w->c, var_new(l->w->c, name, type, VAR_LET, span_none()), span_none());
}

/* An integer of the width of `type` as that type. */
static Expr *from_bits(Context *c, DType type, Expr *bits)
{
    if (type == DT_BOOL)
        return expr_binary(c, EX_NE, expr_cast(c, DT_U8, bits, bits->span),
                           expr_int(c, DT_U8, 0, bits->span), bits->span);
    if (!type_is_float(type))
        return expr_cast(c, type, bits, bits->span);
    DType narrow = type_of_bits(type_info(type)->bits);
    return expr_bitcast(c, type, expr_cast(c, narrow, bits, bits->span), bits->span);
}

static Expr *component(const Lanes *l, Name vector, DType type)
{
    Context *c = l->w->c;
    if (vector_type(c, type, l->plan->lanes))
        return named(l, ctx_namef(c, "%s.%c", vector, "xyzw"[l->lane]), type);
    int64_t bytes = type_bytes(type), at = l->lane * bytes;
    Expr *word = named(l, lane_word(l, vector, l->plan->lanes * bytes, (int)(at / 4)), DT_U32);
    if (at % 4)
        word =
            expr_binary(c, EX_SHR, word, expr_int(c, DT_U32, at % 4 * 8, word->span), word->span);
    return from_bits(c, type, word);
}

/* The first lane adds 0 to where the others are. */
static Expr *without_zero(Expr *e)
{
    for (int side = 0; e->kind == EX_ADD && e->type == DT_INDEX && side < 2; side++)
        if (expr_is(e->u.arg[side], 0))
            return e->u.arg[1 - side];
    return e;
}

/* The variable becomes the number of the lane. */
static Expr *one_lane(Rewriter *r, Expr *e)
{
    Lanes *l = r->user;
    if (expr_is_var(e, l->plan->var))
        return expr_int(r->ctx, e->type, l->lane, e->span);
    return without_zero(e);
}

/* Of a choice by the number of the lane, the value that it takes; else NULL. */
static Expr *chosen(const Expr *e, const Expr *cond)
{
    int64_t a, b;
    if ((cond->kind != EX_EQ && cond->kind != EX_NE) || !expr_is_const(cond->u.arg[0], &a) ||
        !expr_is_const(cond->u.arg[1], &b))
        return NULL;
    return e->u.arg[(a == b) == (cond->kind == EX_EQ) ? 1 : 2];
}

Expr *lane_value(Lanes *l, Expr *e)
{
    Context *c = l->w->c;
    Name vector = lane_vector(l, e);
    if (vector)
        return component(l, vector, e->type);
    Expr *only = e->kind == EX_SELECT ? chosen(e, lane_value(l, e->u.arg[0])) : NULL;
    if (only)
        return lane_value(l, only);
    Rewriter r = {.ctx = c, .user = l, .expr = one_lane};
    if (e->kind == EX_VAR)
        return one_lane(&r, e);
    Expr *copy_of = arena_alloc(c->arena, sizeof *e);
    *copy_of = *e;
    if (expr_is_unary(e->kind) || e->kind == EX_CAST) {
        copy_of->u.arg[0] = lane_value(l, e->u.arg[0]);
    } else if (expr_is_binary(e->kind) || e->kind == EX_SELECT) {
        for (int i = 0; i < (e->kind == EX_SELECT ? 3 : 2); i++)
            copy_of->u.arg[i] = lane_value(l, e->u.arg[i]);
    } else if (e->kind == EX_CALL) {
        int arity = call_info(e->u.call.call)->arity;
        Expr **args = ARENA_ARRAY(c->arena, Expr *, arity);
        for (int i = 0; i < arity; i++)
            args[i] = lane_value(l, e->u.call.arg[i]);
        copy_of->u.call.arg = args;
    } else {
        return rewrite_expr(&r, e);
    }
    return without_zero(copy_of);
}
