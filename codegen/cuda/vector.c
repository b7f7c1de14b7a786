/* vector.c - Emits vectorized loops as accesses of 2, 4, 8 or 16 bytes (vector.h decides which
 * loops have them). */
#include "codegen/cuda/text.h"
#include "ir/instruction.h"

#include "codegen/vector.h"

/* `*(const float4 *)&x[i]`, or `__ldcs((const float4 *)&x[i])` where the load has a hint. */
static void wide_load(CudaWriter *w, const char *type, const WideLoad *wide)
{
    const char *function = cuda_hint_load(w, wide->load->hint);
    strbuf_addf(w->out, "%s(const %s *)&", function ? ctx_namef(w->c, "%s(", function) : "*", type);
    cuda_element(w, wide->load->u.load.buffer, wide->first);
    strbuf_add(w->out, function ? ")" : "");
}

/* `*(float4 *)&y[i] = `, or `__stcs((float4 *)&y[i], `; the value and wide_end follow. */
static void wide_begin(CudaWriter *w, const char *type, const VectorPlan *plan)
{
    const char *function = cuda_hint_store(w, plan->store->u.store.hint);
    strbuf_addf(w->out, "%s(%s *)&", function ? ctx_namef(w->c, "%s(", function) : "*", type);
    cuda_element(w, plan->store->u.store.buffer, plan->first);
    strbuf_add(w->out, function ? ", " : " = ");
}

static void wide_end(CudaWriter *w, const VectorPlan *plan)
{
    strbuf_add(w->out, plan->store->u.store.hint != HINT_NONE ? ");\n" : ";\n");
}

/* A type for the whole access. */
static const char *access_type(CudaWriter *w, const VectorPlan *plan, DType type)
{
    const char *vector = vector_type(w->c, type, plan->lanes);
    return vector ? vector : vector_word(plan->lanes * type_bytes(type));
}

static void copy(CudaWriter *w, const VectorPlan *plan)
{
    const Buffer *to = plan->store->u.store.buffer;
    const char *type = access_type(w, plan, to->type);
    cuda_indent(w);
    wide_begin(w, type, plan);
    wide_load(w, type, &plan->loads.items[0]);
    wide_end(w, plan);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

typedef struct {
    CudaWriter *w;
    const VectorPlan *plan;
    int lane;
} Lanes;

/* The name of the variable that holds a wide load. */
static Name vector_name(const Lanes *l, int load)
{
    Context *c = l->w->c;
    const Buffer *b = l->plan->loads.items[load].load->u.load.buffer;
    const char *base = cuda_buffer_name(l->w, b);
    return cuda_names_made(l->w->names, "vector",
                           arena_printf(c->arena, load ? "%s_v%d" : "%s_v", base, load));
}

/* The expression of one lane: wide loads become components, the variable a literal. */
static Expr *one_lane(Rewriter *r, Expr *e)
{
    Lanes *l = r->user;
    if (e->kind == EX_VAR && e->u.var == l->plan->var)
        return expr_int(r->ctx, e->type, l->lane, e->span);
    for (int side = 0; e->kind == EX_ADD && e->type == DT_INDEX && side < 2; side++) {
        int64_t zero;
        if (expr_is_const(e->u.arg[side], &zero) && zero == 0)
            return e->u.arg[1 - side];
    }
    return e;
}

static Expr *lane_value(Lanes *l, Expr *e)
{
    Context *c = l->w->c;
    int load = vector_find_load(l->plan, e);
    if (load >= 0) {
        Name name = ctx_namef(c, "%s.%c", vector_name(l, load), "xyzw"[l->lane]);
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

/* `make_float4(a, b, c, d)`: NVRTC stores it at once. */
static void compose(CudaWriter *w, const VectorPlan *plan, const char *type)
{
    Lanes l = {.w = w, .plan = plan};
    strbuf_addf(w->out, "make_%s(", type);
    for (l.lane = 0; l.lane < plan->lanes; l.lane++) {
        strbuf_add(w->out, l.lane ? ", " : "");
        cuda_expr(w, lane_value(&l, plan->value), 0);
    }
    strbuf_add(w->out, ")");
}

/* Every lane from registers: no load is wide. */
static void from_registers(CudaWriter *w, const VectorPlan *plan)
{
    const Buffer *to = plan->store->u.store.buffer;
    const char *type = access_type(w, plan, to->type);
    cuda_indent(w);
    wide_begin(w, type, plan);
    compose(w, plan, type);
    wide_end(w, plan);
}

static void arithmetic_lines(CudaWriter *w, const VectorPlan *plan)
{
    const Buffer *to = plan->store->u.store.buffer;
    const char *type = access_type(w, plan, to->type);
    Lanes l = {.w = w, .plan = plan};
    for (int i = 0; i < plan->loads.n; i++) {
        const WideLoad *wide = &plan->loads.items[i];
        const char *from = access_type(w, plan, wide->load->type);
        cuda_indent(w);
        strbuf_addf(w->out, "const %s %s = ", from, vector_name(&l, i));
        wide_load(w, from, wide);
        strbuf_add(w->out, ";\n");
    }
    const char *result = cuda_names_made(w->names, "text", "result");
    cuda_line(w, "%s %s;", type, result);
    for (l.lane = 0; l.lane < plan->lanes; l.lane++) {
        cuda_indent(w);
        strbuf_addf(w->out, "%s.%c = ", result, "xyzw"[l.lane]);
        cuda_expr(w, lane_value(&l, plan->value), 0);
        strbuf_add(w->out, ";\n");
    }
    cuda_indent(w);
    wide_begin(w, type, plan);
    strbuf_add(w->out, result);
    wide_end(w, plan);
}

static void arithmetic(CudaWriter *w, const VectorPlan *plan, bool in_braces)
{
    if (in_braces) {
        arithmetic_lines(w, plan);
        return;
    }
    cuda_line(w, "{");
    w->indent++;
    arithmetic_lines(w, plan);
    w->indent--;
    cuda_line(w, "}");
}

/* ---- narrow elements from registers ---------------------------------------------------------- */

/* `per_word` lanes from `first` on as one 32-bit word. */
static void packed_word(Lanes *l, int first, int per_word)
{
    CudaWriter *w = l->w;
    strbuf_addf(w->out, "%s(",
                cuda_helper(w, per_word == 4 ? HELPER_PACK_BYTES : HELPER_PACK_HALVES));
    for (int i = 0; i < per_word; i++) {
        strbuf_add(w->out, i ? ", " : "");
        l->lane = first + i;
        cuda_stored(w, lane_value(l, l->plan->value));
    }
    strbuf_add(w->out, ")");
}

static void packed(CudaWriter *w, const VectorPlan *plan)
{
    const Buffer *to = plan->store->u.store.buffer;
    int bytes = type_bytes(to->type), per_word = 4 / bytes, words = (int)plan->lanes / per_word;
    const char *type = vector_word(plan->lanes * bytes);
    Lanes l = {.w = w, .plan = plan};
    cuda_indent(w);
    wide_begin(w, type, plan);
    if (words > 1)
        strbuf_addf(w->out, "make_%s(", type);
    for (int i = 0; i < words; i++) {
        strbuf_add(w->out, i ? ", " : "");
        packed_word(&l, i * per_word, per_word);
    }
    strbuf_add(w->out, words > 1 ? ")" : "");
    wide_end(w, plan);
}

bool cuda_vector_loop(CudaWriter *w, const ForStmt *loop, bool in_braces)
{
    VectorPlan plan;
    if (!vector_plan(w->c, loop, &plan))
        return false;
    if (cuda_async_store(w, plan.store, &plan))
        return true;
    if (plan.copies)
        copy(w, &plan);
    else if (plan.packs)
        packed(w, &plan);
    else if (plan.loads.n == 0)
        from_registers(w, &plan);
    else
        arithmetic(w, &plan, in_braces);
    return true;
}

static void add_buffers(Context *c, const Stmt *body, BufferList *list)
{
    for (Cursor at = cursor_stmt(c, body); cursor_next(&at);)
        if (at.stmt && at.stmt->kind == ST_STORE)
            VEC_PUSH(c->arena, list, at.stmt->u.store.buffer);
        else if (at.expr && at.expr->kind == EX_LOAD)
            VEC_PUSH(c->arena, list, at.expr->u.load.buffer);
}

static void add_aligned_operands(Context *c, const Stmt *s, BufferList *list)
{
    const Instruction *of = s->u.instruction.of;
    for (int i = 0; i < of->n_elements; i++) {
        const Operand *operand = &of->operands[of->elements[i].operand];
        if (operand->align > type_bytes(operand->buffer->type))
            VEC_PUSH(c->arena, list, s->u.instruction.elements[i]->u.load.buffer);
    }
}

void cuda_wide_buffers(Context *c, const Stmt *s, BufferList *list)
{
    for (Cursor at = cursor_stmts(c, s); cursor_next(&at);) {
        if (at.stmt->kind == ST_INSTRUCTION)
            add_aligned_operands(c, at.stmt, list);
        if (at.stmt->kind == ST_FOR && at.stmt->u.loop.kind == LOOP_VECTORIZE) {
            add_buffers(c, at.stmt->u.loop.body, list);
            cursor_prune(&at);
        }
    }
}
