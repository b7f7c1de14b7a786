/* cuda.c - Emits the kernels of a lowered program: a comment that shows how to launch each, its
 * signature, its body. */
#include "codegen/cuda/text.h"
#include "codegen/size_limit.h"
#include "ir/copies/roles.h"

#include <string.h>

/* ---- how to launch it ------------------------------------------------------------------------ */

/* `A: f32[M, K]` */
static void buffer_comment(CudaWriter *w, const Buffer *b)
{
    strbuf_addf(w->out, "//   %s: %s[", cuda_buffer_name(w, b), type_info(b->type)->name);
    for (int i = 0; i < b->rank; i++) {
        strbuf_add(w->out, i ? ", " : "");
        cuda_expr(w, b->shape[i], 0);
    }
    strbuf_add(w->out, "]");
}

/* `, with A[i, j] at [j, i]`: as the schedule has laid it out. */
static void layout_comment(CudaWriter *w, const Relayout *of)
{
    strbuf_addf(w->out, ", with %s[", of->from->name);
    for (int i = 0; i < of->from->rank; i++)
        strbuf_addf(w->out, "%s%s", i ? ", " : "", of->at[i]->name);
    strbuf_add(w->out, "] at [");
    print_exprs(of->place, of->to->rank, w->out);
    strbuf_add(w->out, "]");
}

static void parameter_comment(CudaWriter *w, const Kernel *kernel, const Param *p)
{
    static const char *const roles[] = {"read", "written", "read and written", "temporary"};
    if (!p->buffer) {
        strbuf_addf(w->out, "//   %s: %s\n", cuda_name(w, p->scalar->name),
                    type_info(p->scalar->type)->name);
        return;
    }
    buffer_comment(w, p->buffer);
    strbuf_addf(w->out, ", %s", roles[p->buffer->role]);
    for (int i = 0; i < kernel->n_relayouts; i++)
        if (kernel->relayouts[i].from->id == p->buffer->id)
            layout_comment(w, &kernel->relayouts[i]);
    strbuf_add(w->out, "\n");
}

static void dims_text(CudaWriter *w, Expr *const *grid)
{
    int n = 3;
    int64_t one;
    while (n > 1 && expr_is_const(grid[n - 1], &one) && one == 1)
        n--;
    if (n == 1) {
        cuda_expr(w, grid[0], 0);
        return;
    }
    strbuf_add(w->out, "dim3(");
    for (int i = 0; i < n; i++) {
        strbuf_add(w->out, i ? ", " : "");
        cuda_expr(w, grid[i], 0);
    }
    strbuf_add(w->out, ")");
}

void cuda_launch_call(CudaWriter *w, const LaunchUse *use)
{
    const LaunchStmt *l = &use->launch->u.launch;
    int64_t threads[3];
    Expr *block[3];
    launch_block(use->launch, threads);
    for (int i = 0; i < 3; i++)
        block[i] = expr_index(w->c, threads[i]);
    strbuf_addf(w->out, "%s<<<", cuda_names_launch(w->names, l->name));
    dims_text(w, l->grid);
    strbuf_add(w->out, ", ");
    dims_text(w, block);
    if (use->shared_is_dynamic)
        strbuf_addf(w->out, ", %lld", (long long)use->shared_bytes);
    strbuf_add(w->out, ">>>(");
    for (int i = 0; i < use->buffers.n; i++)
        strbuf_addf(w->out, "%s%s", i ? ", " : "", cuda_buffer_name(w, use->buffers.items[i]));
    for (int i = 0; i < use->boxes.n; i++)
        strbuf_addf(w->out, "%s%s", i || use->buffers.n ? ", " : "", cuda_map_name(w, use, i));
    for (int i = 0; i < use->values.n; i++)
        strbuf_addf(w->out, "%s%s", i || use->buffers.n || use->boxes.n ? ", " : "",
                    cuda_name(w, use->values.items[i]->name));
    strbuf_add(w->out, ")");
}

/* A temp between launches: memory that the caller provides. */
static void temp_comment(CudaWriter *w, const Buffer *temp)
{
    buffer_comment(w, temp);
    if (temp->copy_of)
        strbuf_addf(w->out, ", constant: holds what %s holds when a launch begins\n",
                    cuda_buffer_name(w, temp->copy_of));
    else
        strbuf_add(w->out, ", temporary, allocated by the caller\n");
}

static void host_comment(CudaWriter *w, const Stmt *s, const LaunchUseList *uses, int *next);

/* The rest of the line that a loop or condition begins, and what it holds. */
static void nested_comment(CudaWriter *w, const Stmt *body, const LaunchUseList *uses, int *next)
{
    strbuf_add(w->out, ":\n");
    w->indent++;
    host_comment(w, body, uses, next);
    w->indent--;
}

static void begin_comment(CudaWriter *w)
{
    strbuf_add(w->out, "//");
    cuda_indent(w);
    strbuf_add(w->out, " ");
}

/* The host's part of the program, as a comment. */
static void host_comment(CudaWriter *w, const Stmt *s, const LaunchUseList *uses, int *next)
{
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            host_comment(w, s->u.seq.items[i], uses, next);
        return;
    case ST_FOR:
        begin_comment(w);
        strbuf_addf(w->out, "for %s in ", cuda_name(w, s->u.loop.var->name));
        cuda_expr(w, s->u.loop.lo, 0);
        strbuf_add(w->out, "..");
        cuda_expr(w, s->u.loop.hi, 0);
        if (s->u.loop.step != 1)
            strbuf_addf(w->out, " step %lld", (long long)s->u.loop.step);
        nested_comment(w, s->u.loop.body, uses, next);
        return;
    case ST_IF:
        begin_comment(w);
        strbuf_add(w->out, "if ");
        cuda_expr(w, s->u.cond.cond, 0);
        nested_comment(w, s->u.cond.then, uses, next);
        if (!s->u.cond.otherwise)
            return;
        begin_comment(w);
        strbuf_add(w->out, "else");
        nested_comment(w, s->u.cond.otherwise, uses, next);
        return;
    case ST_LET:
        begin_comment(w);
        strbuf_addf(w->out, "let %s = ", cuda_name(w, s->u.let.var->name));
        cuda_expr(w, s->u.let.value, 0);
        strbuf_add(w->out, "\n");
        return;
    case ST_TEMP: temp_comment(w, s->u.temp); return;
    case ST_LAUNCH:
        begin_comment(w);
        cuda_launch_call(w, &uses->items[(*next)++]);
        strbuf_add(w->out, ";\n");
        return;
    default: return;
    }
}

/* The limits that a caller must respect, because indices are ints: "M * N, N + 30 and K are at most
 * 2147483647". */
static void limits_comment(CudaWriter *w, const Kernel *kernel)
{
    int n = kernel->n_limits;
    for (int i = 0; i < n; i++)
        strbuf_addf(w->out, "%s%s",
                    i == 0      ? "//   32-bit indices: "
                    : i + 1 < n ? ", "
                                : " and ",
                    size_limit_text(w->c, &kernel->limits[i]));
    if (n)
        strbuf_addf(w->out, " %s at most %d\n", n == 1 ? "is" : "are", INT32_MAX);
}

static void header_comment(CudaWriter *w, const Kernel *kernel, const LaunchUseList *uses)
{
    strbuf_addf(w->out, "// %s: %d launch%s\n", kernel->name, uses->n, uses->n == 1 ? "" : "es");
    for (int i = 0; i < kernel->n_params; i++)
        parameter_comment(w, kernel, &kernel->params[i]);
    for (int i = 0; i < uses->n; i++)
        cuda_map_comments(w, &uses->items[i]);
    limits_comment(w, kernel);
    int next = 0;
    host_comment(w, kernel->body, uses, &next);
}

/* ---- one kernel ------------------------------------------------------------------------------ */

/* Nothing else reads or writes the elements, for all that the compiler does with it. */
static bool is_restricted(CudaWriter *w, const LaunchUse *use, const Buffer *b)
{
    return !launch_exchanges(w->c, use, b) && !launch_reads_either(w->c, use, b);
}

static void signature(CudaWriter *w, const LaunchUse *use)
{
    const LaunchStmt *l = &use->launch->u.launch;
    int64_t threads[3];
    launch_block(use->launch, threads);
    strbuf_add(w->out, "extern \"C\" __global__ void ");
    if (l->cluster)
        strbuf_addf(w->out, "__cluster_dims__(%lld, 1, 1) ", (long long)l->cluster);
    strbuf_addf(w->out, "__launch_bounds__(%lld",
                (long long)(threads[0] * threads[1] * threads[2]));
    if (l->min_blocks)
        strbuf_addf(w->out, ", %lld", (long long)l->min_blocks);
    strbuf_addf(w->out, ")\n%s(", cuda_names_launch(w->names, l->name));
    for (int i = 0; i < use->buffers.n; i++) {
        const Buffer *b = use->buffers.items[i];
        strbuf_addf(w->out, "%s%s%s *%s%s", i ? ", " : "",
                    launch_writes(w->c, use, b) ? "" : "const ", cuda_storage_type(b->type),
                    is_restricted(w, use, b) ? "__restrict__ " : "", cuda_buffer_name(w, b));
    }
    for (int i = 0; i < use->boxes.n; i++)
        strbuf_addf(w->out, "%sconst __grid_constant__ %s %s", i || use->buffers.n ? ", " : "",
                    cuda_helper(w, HELPER_TENSOR_MAP), cuda_map_name(w, use, i));
    for (int i = 0; i < use->values.n; i++) {
        const Var *v = use->values.items[i];
        strbuf_addf(w->out, "%sconst %s %s", i || use->buffers.n || use->boxes.n ? ", " : "",
                    cuda_storage_type(launch_value_type(w->c, use, v)), cuda_name(w, v->name));
    }
    strbuf_add(w->out, ")\n{\n");
}

static void dynamic_declaration(CudaWriter *w, const Buffer *b, int64_t offset)
{
    ArrayDims dims;
    const char *type = cuda_storage_type(b->type), *name = cuda_buffer_name(w, b);
    StrBuf rows = strbuf_new(w->c->arena);
    if (cuda_array_dims(w->c, b, &dims))
        for (int i = 1; i < dims.n; i++)
            strbuf_addf(&rows, "[%lld]", (long long)dims.extent[i]);
    const char *memory = cuda_names_made(w->names, "text", "shared_memory");
    const char *at =
        offset ? arena_printf(w->c->arena, "(%s + %lld)", memory, (long long)offset) : memory;
    if (b->rank == 0)
        cuda_line(w, "%s%s &%s = *(%s *)%s;", cuda_unused(w, b->id), type, name, type, at);
    else if (rows.length)
        cuda_line(w, "%s%s (*%s)%s = (%s (*)%s)%s;", cuda_unused(w, b->id), type, name, rows.text,
                  type, rows.text, at);
    else
        cuda_line(w, "%s%s *%s = (%s *)%s;", cuda_unused(w, b->id), type, name, type, at);
}

static void shared_declarations(CudaWriter *w, const LaunchUse *use)
{
    int64_t align = 0;
    for (int i = 0; i < use->shared.n; i++)
        align = use->shared_align.items[i] > align ? use->shared_align.items[i] : align;
    if (use->shared_is_dynamic)
        cuda_line(w, "extern __shared__ __align__(%lld) unsigned char %s[];", (long long)align,
                  cuda_names_made(w->names, "text", "shared_memory"));
    for (int i = 0; i < use->shared.n; i++) {
        const Buffer *b = use->shared.items[i];
        cuda_mark(w, b->span, b->step);
        if (use->shared_is_dynamic)
            dynamic_declaration(w, b, use->shared_offset.items[i]);
        else
            cuda_array_declaration(w, b);
    }
    cuda_bulk_declarations(w, use);
    if (use->roles)
        cuda_roles_declarations(w, use);
}

/* size > 0, of a size that the launch uses */
static bool is_some(const LaunchUse *use, const Expr *cond)
{
    if (cond->kind != EX_GT || expr_operand(cond, 0)->kind != EX_VAR ||
        !expr_is(expr_operand(cond, 1), 0))
        return false;
    for (int i = 0; i < use->values.n; i++)
        if (use->values.items[i] == expr_operand(cond, 0)->u.var)
            return true;
    return false;
}

static void leave_without(CudaWriter *w, const LaunchUse *use, const Expr *cond)
{
    if (cond->kind == EX_AND) {
        leave_without(w, use, expr_operand(cond, 0));
        leave_without(w, use, expr_operand(cond, 1));
    } else if (is_some(use, cond)) {
        cuda_line(w, "if (%s <= 0)", cuda_name(w, expr_operand(cond, 0)->u.var->name));
        cuda_line(w, "    return;  // the host launches it for no such size");
    }
}

/* A launch with roles leaves where a size is 0 for which the host does not launch it. ptxas else
 * sees a way around a loop of that many iterations, on which no instruction of a warpgroup writes
 * its sums, and makes each of these wait for the one before (C7515). */
static void leave_without_work(CudaWriter *w, const Kernel *kernel, const LaunchUse *use)
{
    EnclosingList around = {0};
    if (!use->roles || !stmt_enclosing(w->c, kernel->body, use->launch, &around))
        return;
    ExprList conds = enclosing_conds(w->c, &around);
    for (int i = 0; i < conds.n; i++)
        leave_without(w, use, conds.items[i]);
}

/* One __global__ function. */
static void kernel_text(CudaWriter *w, const Kernel *kernel, const LaunchUse *use)
{
    const Stmt *launch = use->launch;
    Stmt *body = launch->u.launch.body;
    w->wide = (BufferList){0};
    w->use = use;
    cuda_wide_buffers(w->c, body, &w->wide);
    Origin outer = cuda_mark(w, launch->span, launch->step);
    signature(w, use);
    w->indent = 1;
    leave_without_work(w, kernel, use);
    shared_declarations(w, use);
    cuda_statement(w, body);
    w->indent = 0;
    w->use = NULL;
    cuda_mark(w, launch->span, launch->step);
    strbuf_add(w->out, "}\n");
    cuda_mark(w, outer.span, outer.step);
}

/* Declares the constant buffers that the launches read, each once. */
static void constant_declarations(CudaWriter *w, const LaunchUseList *uses)
{
    VEC(const Buffer *) seen = {0};
    w->wide = (BufferList){0};
    for (int i = 0; i < uses->n; i++)
        cuda_wide_buffers(w->c, uses->items[i].launch->u.launch.body, &w->wide);
    for (int i = 0; i < uses->n; i++)
        for (int j = 0; j < uses->items[i].constants.n; j++) {
            const Buffer *b = uses->items[i].constants.items[j];
            bool known = false;
            for (int k = 0; k < seen.n; k++)
                known |= seen.items[k]->id == b->id;
            if (known)
                continue;
            strbuf_add(w->out, seen.n ? "" : "\n");
            VEC_PUSH(w->c->arena, &seen, b);
            cuda_array_declaration(w, b);
        }
}

/* The lines of `text`, none of which comes from a statement. */
static void plain_lines(Context *c, const char *text, LineOrigins *lines)
{
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        VEC_PUSH(c->arena, lines, ((Origin){span_none(), 0}));
}

void cuda_emit(Context *c, const Kernel *lowered, StrBuf *out, LineOrigins *lines)
{
    size_t start = out->length;
    LaunchUseList uses = {0};
    ir_demand(c, lowered);
    launch_uses(c, lowered, &uses);
    StrBuf kernels = strbuf_new(c->arena);
    CudaWriter w = {.c = c, .names = cuda_names_new(c, lowered), .out = out};
    cuda_note_reads(&w, lowered->body);
    header_comment(&w, lowered, &uses);
    w.out = &kernels;
    for (int i = 0; i < uses.n; i++) {
        strbuf_add(&kernels, "\n");
        kernel_text(&w, lowered, &uses.items[i]);
    }
    if (uses.n == 0)
        strbuf_add(&kernels, "// Nothing to launch: the program is empty.\n");
    kernels = cuda_folded(&w, &kernels);
    StrBuf needed = strbuf_new(c->arena);
    cuda_helpers(&w, &needed);
    if (needed.length)
        strbuf_addf(out, "\n%.*s", (int)needed.length - 1, needed.text);
    w.out = out;
    constant_declarations(&w, &uses);
    if (lines) {
        plain_lines(c, out->text + start, lines);
        cuda_lines(&w, &kernels, lines);
    }
    strbuf_addn(out, kernels.text, kernels.length);
}
