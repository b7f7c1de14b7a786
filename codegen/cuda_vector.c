/* cuda_vector.c - a vectorized loop as accesses of 4, 8 or 16 bytes.
 *
 * The vectorize pass has proved that every access is contiguous in the loop's variable or does not use it, and
 * that the wide ones are aligned. A copy moves whole words; arithmetic works on the components of CUDA's vector
 * types. What has no such type (arithmetic on narrow floats, 16 bytes of u8 with arithmetic) is left to
 * the caller, which unrolls. */
#include "codegen/cuda_text.h"

#include <string.h>

/* CUDA's vector type of `lanes` elements, or NULL. */
static const char *vector_type(Context *c, DType type, int64_t lanes)
{
    static const char *const base[DT_COUNT] = {
        [DT_F64] = "double",  [DT_F32] = "float",    [DT_I64] = "longlong", [DT_U64] = "ulonglong",
        [DT_I32] = "int",     [DT_U32] = "uint",     [DT_I16] = "short",    [DT_U16] = "ushort",
        [DT_I8] = "char",     [DT_U8] = "uchar",
    };
    if (!base[type] || (lanes != 2 && lanes != 4) || lanes * type_bytes(type) > 16)
        return NULL;
    return arena_printf(c->arena, "%s%d", base[type], (int)lanes);
}

/* A type for moving `bytes` bytes at once, or NULL. */
static const char *word_type(int64_t bytes)
{
    switch (bytes) {
    case 2:
        return "unsigned short";
    case 4:
        return "unsigned int";
    case 8:
        return "uint2";
    case 16:
        return "uint4";
    default:
        return NULL;
    }
}

/* `e` with one term `var` taken out of its sum; NULL where var is no plain term. */
static Expr *without_term(Context *c, Expr *e, const Var *var)
{
    if (e->kind == EX_VAR)
        return e->u.var == var ? expr_index(c, 0) : NULL;
    if (e->kind != EX_ADD)
        return NULL;
    for (int side = 0; side < 2; side++) {
        Expr *rest = without_term(c, e->u.arg[side], var), *other = e->u.arg[1 - side];
        int64_t zero;
        if (!rest || expr_uses_var(other, var))
            continue;
        if (expr_is_const(rest, &zero) && zero == 0)
            return other;
        return side ? expr_binary(c, EX_ADD, other, rest, e->span)
                    : expr_binary(c, EX_ADD, rest, other, e->span);
    }
    return NULL;
}

/* The subscripts of the first lane if the access is contiguous in var; NULL otherwise. */
static Expr *const *first_lane(Context *c, const Buffer *buffer, Expr *const *index, const Var *var)
{
    Expr **base = ARENA_ARRAY(c->arena, Expr *, buffer->rank);
    for (int i = 0; i < buffer->rank; i++) {
        base[i] = index[i];
        if (i + 1 < buffer->rank && expr_uses_var(index[i], var))
            return NULL;
    }
    base[buffer->rank - 1] = without_term(c, index[buffer->rank - 1], var);
    return base[buffer->rank - 1] ? base : NULL;
}

static bool subscripts_use(const Buffer *buffer, Expr *const *index, const Var *var)
{
    for (int i = 0; i < buffer->rank; i++)
        if (expr_uses_var(index[i], var))
            return true;
    return false;
}

static void wide_access(CudaWriter *w, const char *type, bool is_const, const Buffer *buffer,
                        Expr *const *index)
{
    strbuf_addf(w->out, "*(%s%s *)&", is_const ? "const " : "", type);
    cuda_element(w, buffer, index);
}

static bool copy(CudaWriter *w, const Stmt *s, const Var *var, int64_t lanes)
{
    const Buffer *to = s->u.store.buffer;
    const Expr *value = s->u.store.value;
    if (s->u.store.op != STORE_SET || value->kind != EX_LOAD || value->type != to->type)
        return false;
    const Buffer *from = value->u.load.buffer;
    Expr *const *to_index = first_lane(w->c, to, s->u.store.index, var);
    Expr *const *from_index = first_lane(w->c, from, value->u.load.index, var);
    const char *type = vector_type(w->c, to->type, lanes);
    if (!type)
        type = word_type(lanes * type_bytes(to->type));
    if (!type || !to_index || !from_index)
        return false;
    cuda_indent(w);
    wide_access(w, type, false, to, to_index);
    strbuf_add(w->out, " = ");
    wide_access(w, type, true, from, from_index);
    strbuf_add(w->out, ";\n");
    return true;
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

typedef struct {
    const Expr *load;
    Name name; /* of the vector it was read into */
} WideLoad;

typedef struct {
    CudaWriter *w;
    const Var *var;
    int64_t lanes;
    int lane;
    bool fails;
    VEC(WideLoad) loads;
} Lanes;

static bool find_loads(Visitor *v, Expr *e)
{
    Lanes *l = v->user;
    if (e->kind != EX_LOAD || !subscripts_use(e->u.load.buffer, e->u.load.index, l->var))
        return true;
    for (int i = 0; i < l->loads.n; i++)
        if (expr_equal(l->loads.items[i].load, e))
            return false;
    const Buffer *b = e->u.load.buffer;
    if (!vector_type(l->w->c, b->type, l->lanes) ||
        !first_lane(l->w->c, b, e->u.load.index, l->var))
        l->fails = true;
    WideLoad load = {e, ctx_namef(l->w->c, "%s_v%s", b->name,
                                  l->loads.n ? arena_printf(l->w->c->arena, "%d", l->loads.n) : "")};
    VEC_PUSH(l->w->c->arena, &l->loads, load);
    return false;
}

/* The expression of one lane: wide loads become components, the variable a literal. */
static Expr *one_lane(Rewriter *r, Expr *e)
{
    Lanes *l = r->user;
    if (e->kind == EX_VAR && e->u.var == l->var)
        return expr_int(r->ctx, e->type, l->lane, e->span);
    return e;
}

static Expr *lane_value(Lanes *l, Expr *e)
{
    Context *c = l->w->c;
    for (int i = 0; i < l->loads.n; i++) {
        if (!expr_equal(l->loads.items[i].load, e))
            continue;
        Name name = ctx_namef(c, "%s.%c", l->loads.items[i].name, "xyzw"[l->lane]);
        return expr_var(c, var_new(c, name, e->type, VAR_LET, e->span), e->span);
    }
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
    return copy_of;
}

static bool arithmetic(CudaWriter *w, const Stmt *s, const Var *var, int64_t lanes)
{
    Context *c = w->c;
    const Buffer *to = s->u.store.buffer;
    const char *type = vector_type(c, to->type, lanes);
    Expr *const *to_index = first_lane(c, to, s->u.store.index, var);
    Lanes l = {.w = w, .var = var, .lanes = lanes};
    Visitor v = {.user = &l, .expr = find_loads};
    Expr *value = cuda_stored_value(c, s);
    visit_expr(&v, value);
    if (!type || !to_index || l.fails)
        return false;
    cuda_line(w, "{");
    w->indent++;
    for (int i = 0; i < l.loads.n; i++) {
        const Expr *load = l.loads.items[i].load;
        const char *from = vector_type(c, load->type, lanes);
        cuda_indent(w);
        strbuf_addf(w->out, "const %s %s = ", from, l.loads.items[i].name);
        wide_access(w, from, true, load->u.load.buffer,
                    first_lane(c, load->u.load.buffer, load->u.load.index, var));
        strbuf_add(w->out, ";\n");
    }
    cuda_line(w, "%s result;", type);
    for (l.lane = 0; l.lane < lanes; l.lane++) {
        cuda_indent(w);
        strbuf_addf(w->out, "result.%c = ", "xyzw"[l.lane]);
        cuda_expr(w, lane_value(&l, value), 0);
        strbuf_add(w->out, ";\n");
    }
    cuda_indent(w);
    wide_access(w, type, false, to, to_index);
    strbuf_add(w->out, " = result;\n");
    w->indent--;
    cuda_line(w, "}");
    return true;
}

bool cuda_vector_loop(CudaWriter *w, const ForStmt *loop)
{
    const Stmt *s = loop->body;
    int64_t lanes, lo;
    if (s->kind == ST_SEQ && s->u.seq.n == 1)
        s = s->u.seq.items[0];
    if (s->kind != ST_STORE || s->u.store.atomic || s->u.store.buffer->rank == 0 ||
        !loop_const_extent(loop, &lanes) || !expr_is_const(loop->lo, &lo) || lo != 0 ||
        loop->step != 1)
        return false;
    return copy(w, s, loop->var, lanes) || arithmetic(w, s, loop->var, lanes);
}

static bool collect_wide(Visitor *v, Expr *e)
{
    BufferList *list = v->user;
    if (e->kind == EX_LOAD)
        VEC_PUSH(list->arena, &list->buffers, e->u.load.buffer);
    return true;
}

static bool collect_wide_loops(Visitor *v, Stmt *s)
{
    BufferList *list = v->user;
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_VECTORIZE) {
        Visitor inner = {.user = list, .expr = collect_wide, .stmt = collect_wide_loops};
        list->depth++;
        visit_stmt(&inner, s->u.loop.body);
        list->depth--;
        return false;
    }
    if (s->kind == ST_STORE && list->depth > 0)
        VEC_PUSH(list->arena, &list->buffers, s->u.store.buffer);
    return true;
}

void cuda_wide_buffers(Context *c, Stmt *s, BufferList *list)
{
    list->arena = c->arena;
    Visitor v = {.user = list, .stmt = collect_wide_loops};
    visit_stmt(&v, s);
}
