/* vector.c - Emits vectorized loops as accesses of 2, 4, 8 or 16 bytes (vector.h decides which
 * loops have them). */
#include "codegen/cuda/lane.h"
#include "ir/instruction.h"

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

static void copy(CudaWriter *w, const VectorPlan *plan)
{
    const Buffer *to = plan->store->u.store.buffer;
    const char *type = lane_vector_type(w, plan, to->type);
    cuda_indent(w);
    wide_begin(w, type, plan);
    wide_load(w, type, &plan->loads.items[0]);
    wide_end(w, plan);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* The parts that a vector is made of: lanes, or words of lanes. */
static int n_components(const VectorPlan *plan)
{
    int64_t bytes = plan->lanes * type_bytes(plan->store->u.store.buffer->type);
    return !plan->packs ? (int)plan->lanes : bytes <= 4 ? 1 : (int)bytes / 4;
}

static void component(Lanes *l, int i)
{
    if (l->plan->packs) {
        packed_word(l, i);
        return;
    }
    l->lane = i;
    cuda_expr(l->w, lane_value(l, l->plan->value), 0);
}

/* Every lane from registers, none of which a wide load fills: `make_float4(a, b, c, d)`, which
 * NVRTC stores at once. */
static void from_registers(CudaWriter *w, const VectorPlan *plan)
{
    const Buffer *to = plan->store->u.store.buffer;
    const char *type = lane_vector_type(w, plan, to->type);
    int n = n_components(plan);
    Lanes l = {.w = w, .plan = plan};
    cuda_indent(w);
    wide_begin(w, type, plan);
    strbuf_add(w->out, n > 1 ? ctx_namef(w->c, "make_%s(", type) : "");
    for (int i = 0; i < n; i++) {
        strbuf_add(w->out, i ? ", " : "");
        component(&l, i);
    }
    strbuf_add(w->out, n > 1 ? ")" : "");
    wide_end(w, plan);
}

static void declare_loads(Lanes *l)
{
    CudaWriter *w = l->w;
    for (int i = 0; i < l->plan->loads.n; i++) {
        const WideLoad *wide = &l->plan->loads.items[i];
        const char *from = lane_vector_type(w, l->plan, wide->load->type);
        cuda_indent(w);
        strbuf_addf(w->out, "const %s %s = ", from, lane_load_name(l, i));
        wide_load(w, from, wide);
        strbuf_add(w->out, ";\n");
    }
}

static void arithmetic_lines(CudaWriter *w, const VectorPlan *plan)
{
    const Buffer *to = plan->store->u.store.buffer;
    const char *type = lane_vector_type(w, plan, to->type);
    const char *result = cuda_names_made(w->names, "text", "result");
    int n = n_components(plan);
    Lanes l = {.w = w, .plan = plan};
    declare_loads(&l);
    packed_parts(&l);
    cuda_line(w, "%s %s;", type, result);
    for (int i = 0; i < n; i++) {
        cuda_indent(w);
        strbuf_addf(w->out, n > 1 ? "%s.%c = " : "%s = ", result, "xyzw"[i]);
        component(&l, i);
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

bool cuda_vector_loop(CudaWriter *w, const ForStmt *loop, bool in_braces)
{
    VectorPlan plan;
    if (!vector_plan(w->c, loop, &plan))
        return false;
    if (cuda_async_store(w, plan.store, &plan))
        return true;
    if (plan.copies)
        copy(w, &plan);
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
