/* cu.c - a complete program: the kernels, and a host main that launches them and checks the result.
 *
 * main fills the inputs with random numbers, runs the launches, and compares with the reference
 * (reference_kernel_sampled), which stands in the program as plain C++ in a namespace of its own.
 * Sizes that are symbolic come from the command line. */
#include "codegen/cuda/text.h"
#include "codegen/size_limit.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "codegen/inputs.h"

static const char *const texts[] = {
#define CU_TEXT(name, text) text,
#include "codegen/cuda/cu_text.def"
#undef CU_TEXT
};
enum {
#define CU_TEXT(name, text) TEXT_##name,
#include "codegen/cuda/cu_text.def"
#undef CU_TEXT
};

static bool is_narrow(DType type)
{
    return type_is_float(type) && type_info(type)->bits < 32;
}

/* ---- conversions on the host ----------------------------------------------------------------- */

static const struct {
    const char *name, *include, *text;
} conversions[] = {
    {"f16_to_f32", "cuda_fp16.h",
     "static float f16_to_f32(unsigned short x) { return __half2float(__half(__half_raw{x})); }\n"},
    {"f16_from_f32", "cuda_fp16.h",
     "static unsigned short f16_from_f32(float x) { return __half_raw(__float2half_rn(x)).x; }\n"},
    {"bf16_to_f32", "cuda_bf16.h",
     "static float bf16_to_f32(unsigned short x) { return "
     "__bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{x})); }\n"},
    {"bf16_from_f32", "cuda_bf16.h",
     "static unsigned short bf16_from_f32(float x) { return "
     "__nv_bfloat16_raw(__float2bfloat16_rn(x)).x; }\n"},
    {"f8e4m3_to_f32", "cuda_fp8.h",
     "static float f8e4m3_to_f32(unsigned char x) { __nv_fp8_e4m3 v; v.__x = x; return (float)v; "
     "}\n"},
    {"f8e4m3_from_f32", "cuda_fp8.h",
     "static unsigned char f8e4m3_from_f32(float x) { return __nv_fp8_e4m3(x).__x; }\n"},
    {"f8e5m2_to_f32", "cuda_fp8.h",
     "static float f8e5m2_to_f32(unsigned char x) { __nv_fp8_e5m2 v; v.__x = x; return (float)v; "
     "}\n"},
    {"f8e5m2_from_f32", "cuda_fp8.h",
     "static unsigned char f8e5m2_from_f32(float x) { return __nv_fp8_e5m2(x).__x; }\n"},
};
enum { CONVERSIONS = sizeof conversions / sizeof *conversions };

/* Does the text call the function? Those that it does not call are left out: compilers warn of
 * them. */
static bool calls(const char *text, const char *function)
{
    size_t length = strlen(function);
    for (const char *at = text; (at = strstr(at, function)); at += length)
        if (at[length] == '(' && (at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')))
            return true;
    return false;
}

static void conversion_includes(const char *text, StrBuf *out)
{
    for (int i = 0; i < CONVERSIONS; i++) {
        if (calls(text, conversions[i].name) && !strstr(out->text, conversions[i].include))
            strbuf_addf(out, "#include <%s>\n", conversions[i].include);
    }
}

static void conversion_texts(const char *text, StrBuf *out)
{
    for (int i = 0; i < CONVERSIONS; i++)
        if (calls(text, conversions[i].name))
            strbuf_add(out, conversions[i].text);
}

/* ---- the reference --------------------------------------------------------------------------- */

static void reference_parameters(CudaWriter *w, const Kernel *reference)
{
    bool first = true;
    for (int i = 0; i < reference->n_params; i++) {
        const Param *p = &reference->params[i];
        strbuf_add(w->out, first ? "" : ", ");
        first = false;
        if (p->buffer)
            strbuf_addf(w->out, "%s%s *%s", p->buffer->role == ROLE_IN ? "const " : "",
                        cuda_storage_type(p->buffer->type), cuda_buffer_name(w, p->buffer));
        else
            strbuf_addf(w->out, "%s %s", cuda_storage_type(p->scalar->type),
                        cuda_name(w, p->scalar->name));
    }
    for (int i = 0; i < reference->n_sizes; i++)
        if (reference->sizes[i].symbolic) {
            strbuf_addf(w->out, "%slong long %s", first ? "" : ", ",
                        cuda_name(w, reference->sizes[i].name));
            first = false;
        }
}

static void reference_function(CudaWriter *w, const Kernel *reference)
{
    strbuf_add(w->out, "static void compute(");
    reference_parameters(w, reference);
    strbuf_add(w->out, ")\n{\n");
    cuda_note_reads(w, reference->body);
    w->host = true;
    w->indent = 1;
    cuda_statement(w, reference->body);
    w->indent = 0;
    w->host = false;
    strbuf_add(w->out, "}\n} // namespace expected\n");
}

/* ---- main: names ----------------------------------------------------------------------------- */

/* The host's array of a buffer; what main calls by the buffer's name is the device's. */
static const char *host_name(CudaWriter *w, const Buffer *b)
{
    return cuda_names_made(w->names, "host",
                           arena_printf(w->c->arena, "%s_host", cuda_buffer_name(w, b)));
}

/* The array of a buffer of the reference. */
static const char *want_name(CudaWriter *w, const Buffer *b)
{
    return cuda_names_made(w->names, "want",
                           arena_printf(w->c->arena, "want_%s", cuda_buffer_name(w, b)));
}

static const char *made_name(CudaWriter *w, const char *base)
{
    return cuda_names_made(w->names, "text", base);
}

/* ---- main: data ------------------------------------------------------------------------------ */

static void elements(CudaWriter *w, const Buffer *b)
{
    bool outer = w->host;
    w->host = true;
    if (b->rank == 0)
        strbuf_add(w->out, "1");
    for (int i = 0; i < b->rank; i++) {
        strbuf_add(w->out, i ? " * (size_t)" : "(size_t)");
        cuda_expr(w, b->shape[i], 13);
    }
    w->host = outer;
}

/* `random_integer(lo, hi)`, or with one end random_above and random_below, which take the usual
 * distance (runtime/values.c). */
static void integer_text(CudaWriter *w, const InputValues *v, DType type)
{
    const char *low = type_info(type)->class == CLASS_UINT ? "0" : "-100",
               *high = type == DT_U8 ? "255" : "200";
    const char *function = v->least && !v->greatest   ? "random_above("
                           : v->greatest && !v->least ? "random_below("
                                                      : "random_integer(";
    strbuf_add(w->out, function);
    w->host = true;
    if (v->least)
        cuda_expr(w, v->least, 0);
    if (v->greatest) {
        strbuf_add(w->out, v->least ? ", " : "");
        cuda_expr(w, v->greatest, 0);
    }
    w->host = false;
    if (v->least || v->greatest)
        strbuf_addf(w->out, "%s%s)", v->least && v->greatest ? "" : ", ",
                    v->least && v->greatest ? ""
                    : v->least              ? "100"
                                            : low);
    else
        strbuf_addf(w->out, "%s, %s)", low, type_info(type)->class == CLASS_UINT ? high : "100");
}

/* A double in the range of a floating input. */
static void random_float_text(CudaWriter *w, const InputValues *v)
{
    double lo = v->has_lo && isfinite(v->lo) ? v->lo : -1,
           hi = v->has_hi && isfinite(v->hi) ? v->hi : 1;
    if (!(v->has_lo && isfinite(v->lo)) && hi <= -1)
        lo = hi - 1;
    if (!(v->has_hi && isfinite(v->hi)) && lo >= 1)
        hi = lo + 1;
    if (v->limited)
        strbuf_addf(w->out, "random_between(%.17g, %.17g)", lo, hi);
    else
        strbuf_add(w->out, "random_float()");
}

static void random_value(CudaWriter *w, const InputValues *v, DType type)
{
    const TypeInfo *info = type_info(type);
    if (is_narrow(type)) {
        strbuf_addf(w->out, "expected::%s_from_f32((float)", info->name);
        random_float_text(w, v);
        strbuf_add(w->out, ")");
    } else if (info->class == CLASS_FLOAT) {
        strbuf_addf(w->out, "(%s)", info->cuda);
        random_float_text(w, v);
    } else if (info->class == CLASS_BOOL) {
        strbuf_add(w->out, "(random_bits() & 1) != 0");
    } else {
        strbuf_addf(w->out, "(%s)", info->cuda);
        integer_text(w, v, type);
    }
}

/* Integer scalars without a range are in 0..100. */
static void scalar_text(CudaWriter *w, InputValues *v, DType type)
{
    if (type_is_int(type) && !v->least)
        v->least = v->greatest ? NULL : expr_index(w->c, 0);
    if (type_is_int(type) && v->least && !v->greatest && !v->limited)
        v->greatest = expr_index(w->c, 99);
    random_value(w, v, type);
}

/* The statements that put the elements into an order. */
static void order_text(CudaWriter *w, const InputValues *v, const Buffer *b)
{
    const char *host = host_name(w, b);
    const char *less = is_narrow(b->type)
                           ? arena_printf(w->c->arena,
                                          ", [](auto a, auto b) { return expected::%s_to_f32(a) < "
                                          "expected::%s_to_f32(b); }",
                                          type_info(b->type)->name, type_info(b->type)->name)
                           : "";
    if (v->order == ORDER_COUNT)
        return;
    if (v->order == ORDER_PERMUTATION)
        cuda_line(w, "for (size_t i = 0; i < %s.size(); i++) %s[i] = (%s)i;", host, host,
                  cuda_storage_type(b->type));
    else
        cuda_line(w, "std::sort(%s.begin(), %s.end()%s);", host, host, less);
    if (type_is_int(b->type) && (v->order == ORDER_INCREASING || v->order == ORDER_DISTINCT))
        cuda_line(w, "for (size_t i = 0; i < %s.size(); i++) %s[i] += (%s)i;", host, host,
                  cuda_storage_type(b->type));
    if (v->order == ORDER_PERMUTATION || v->order == ORDER_DISTINCT)
        cuda_line(
            w,
            "for (size_t i = %s.size(); i > 1; i--) std::swap(%s[i - 1], %s[random_bits() %% i]);",
            host, host, host);
}

/* Elements that have to differ are drawn from a range that is shorter by their number, and then
 * spread. */
static InputValues drawn_values(CudaWriter *w, const Kernel *kernel, const Param *p)
{
    InputValues v = input_draw(w->c, kernel, p);
    bool apart = v.order == ORDER_INCREASING || v.order == ORDER_DISTINCT;
    if (apart && v.greatest && p->buffer->rank == 1)
        v.greatest = expr_binary(
            w->c, EX_SUB, v.greatest,
            expr_binary(w->c, EX_SUB, p->buffer->shape[0], expr_index(w->c, 1), span_none()),
            span_none());
    return v;
}

static void parameter_data(CudaWriter *w, const Kernel *kernel, const Param *p)
{
    InputValues values = drawn_values(w, kernel, p);
    if (!p->buffer) {
        cuda_indent(w);
        strbuf_addf(w->out, "const %s %s = ", cuda_storage_type(p->scalar->type),
                    cuda_name(w, p->scalar->name));
        scalar_text(w, &values, p->scalar->type);
        strbuf_add(w->out, ";\n");
        return;
    }
    const Buffer *b = p->buffer;
    const char *name = cuda_buffer_name(w, b), *host = host_name(w, b),
               *type = cuda_storage_type(b->type);
    cuda_indent(w);
    strbuf_addf(w->out, "std::vector<%s> %s(", b->type == DT_BOOL ? "unsigned char" : type, host);
    elements(w, b);
    strbuf_add(w->out, ");\n");
    if (b->role == ROLE_OUT) {
        cuda_line(w, "memset(%s.data(), 0xff, %s.size() * sizeof(%s)); // reads as NaN", host, host,
                  type);
    } else {
        const char *element = made_name(w, "x");
        cuda_line(w, "for (auto &%s : %s)", element, host);
        w->indent++;
        cuda_indent(w);
        strbuf_addf(w->out, "%s = ", element);
        random_value(w, &values, b->type);
        strbuf_add(w->out, ";\n");
        w->indent--;
        order_text(w, &values, b);
    }
    cuda_line(w, "%s *%s;", type, name);
    cuda_line(w, "CHECK(cudaMalloc(&%s, %s.size() * sizeof(%s)));", name, host, type);
    cuda_line(w,
              "CHECK(cudaMemcpy(%s, %s.data(), %s.size() * sizeof(%s), cudaMemcpyHostToDevice));",
              name, host, host, type);
}

static void sizes(CudaWriter *w, const Kernel *kernel)
{
    const char *argc = made_name(w, "argc"), *argv = made_name(w, "argv");
    int n = 0;
    StrBuf usage = strbuf_new(w->c->arena);
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic) {
            strbuf_addf(&usage, " %s", kernel->sizes[i].name);
            n++;
        }
    if (n == 0) {
        cuda_line(w, "(void)%s, (void)%s;", argc, argv);
        return;
    }
    cuda_line(w, "if (%s != %d)", argc, n + 1);
    cuda_line(w, "    return fprintf(stderr, \"usage: %%s%s\\n\", %s[0]), 2;", usage.text, argv);
    for (int i = 0, at = 1; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic)
            cuda_line(w, "const long long %s = atoll(%s[%d]);", cuda_name(w, kernel->sizes[i].name),
                      argv, at++);
}

/* The kernels' indices have 32 bits for these sizes. In double, which nothing makes too large. */
static void limits(CudaWriter *w, const Kernel *kernel)
{
    w->host = true;
    for (int i = 0; i < kernel->n_limits; i++) {
        const SizeLimit *limit = &kernel->limits[i];
        cuda_indent(w);
        strbuf_add(w->out, "if (");
        cuda_expr(w, size_limit_value(w->c, limit), op_info(EX_GE)->precedence);
        strbuf_add(w->out, " >= 2147483648.0)\n");
        cuda_line(w,
                  "    return fprintf(stderr, \"%s is more than 2147483647, which 32-bit indices "
                  "do not reach\\n\"), 2;",
                  size_limit_text(w->c, limit));
    }
    w->host = false;
}

/* Sizes that the program is not for end it. */
static void check_sizes(CudaWriter *w, const Kernel *kernel)
{
    for (int i = 0; i < kernel->n_facts; i++) {
        const Fact *fact = &kernel->facts[i];
        if (fact->kind != FACT_SIZES)
            continue;
        StrBuf text = strbuf_new(w->c->arena);
        print_fact(fact, &text);
        cuda_indent(w);
        strbuf_add(w->out, "if (!(");
        w->host = true;
        cuda_expr(w, fact->cond, 0);
        w->host = false;
        strbuf_add(w->out, "))\n");
        cuda_line(w, "    return fputs(\"%s is for sizes with %s\\n\", stderr), 2;", kernel->name,
                  text.text);
    }
}

/* ---- main: launches -------------------------------------------------------------------------- */

static void fill_constant(CudaWriter *w, const Buffer *b)
{
    const char *symbol = cuda_buffer_name(w, b);
    cuda_line(w, "CHECK(cudaMemcpyToSymbol(%s, %s, sizeof %s, 0, cudaMemcpyDeviceToDevice));",
              symbol, cuda_buffer_name(w, b->copy_of), symbol);
}

static void host_program(CudaWriter *w, const Stmt *s, const LaunchUseList *uses, int *next);

/* What a loop or condition that has been begun holds. */
static void host_body(CudaWriter *w, const Stmt *body, const LaunchUseList *uses, int *next)
{
    strbuf_add(w->out, " {\n");
    w->indent++;
    host_program(w, body, uses, next);
    w->indent--;
    cuda_line(w, "}");
}

static void host_condition(CudaWriter *w, const Stmt *s, const LaunchUseList *uses, int *next)
{
    cuda_indent(w);
    strbuf_add(w->out, "if (");
    cuda_expr(w, s->u.cond.cond, 0);
    strbuf_add(w->out, ")");
    host_body(w, s->u.cond.then, uses, next);
    if (s->u.cond.otherwise) {
        cuda_indent(w);
        strbuf_add(w->out, "else");
        host_body(w, s->u.cond.otherwise, uses, next);
    }
}

static void host_memory(CudaWriter *w, const Buffer *temp)
{
    const char *type = cuda_storage_type(temp->type), *name = cuda_buffer_name(w, temp);
    cuda_line(w, "%s *%s;", type, name);
    cuda_indent(w);
    strbuf_addf(w->out, "CHECK(cudaMalloc(&%s, (", name);
    elements(w, temp);
    strbuf_addf(w->out, ") * sizeof(%s)));\n", type);
}

/* `if (N > 0)`: CUDA refuses a grid without blocks. Nothing where the sizes are literal: lowering
 * leaves empty launches out. */
static bool begin_unless_empty(CudaWriter *w, const LaunchStmt *launch)
{
    bool any = false;
    for (int i = 0; i < 3; i++) {
        int64_t blocks;
        if (expr_is_const(launch->grid[i], &blocks) && blocks > 0)
            continue;
        if (!any)
            cuda_indent(w);
        strbuf_add(w->out, any ? " && " : "if (");
        cuda_expr(w, launch->grid[i], op_info(EX_GT)->precedence);
        strbuf_add(w->out, " > 0");
        any = true;
    }
    strbuf_add(w->out, any ? ") {\n" : "");
    return any;
}

static void host_launch(CudaWriter *w, const LaunchUse *use)
{
    const LaunchStmt *launch = &use->launch->u.launch;
    bool guarded = begin_unless_empty(w, launch);
    w->indent += guarded;
    if (use->shared_is_dynamic)
        cuda_line(
            w,
            "CHECK(cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %lld));",
            cuda_names_launch(w->names, launch->name), (long long)use->shared_bytes);
    for (int i = 0; i < use->constants.n; i++)
        fill_constant(w, use->constants.items[i]);
    cuda_indent(w);
    cuda_launch_call(w, use);
    strbuf_add(w->out, ";\n");
    cuda_line(w, "CHECK(cudaGetLastError());");
    w->indent -= guarded;
    if (guarded)
        cuda_line(w, "}");
}

static void host_program(CudaWriter *w, const Stmt *s, const LaunchUseList *uses, int *next)
{
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            host_program(w, s->u.seq.items[i], uses, next);
        return;
    case ST_FOR:
        cuda_loop_header(w, &s->u.loop);
        host_body(w, s->u.loop.body, uses, next);
        return;
    case ST_IF: host_condition(w, s, uses, next); return;
    case ST_TEMP:
        if (!s->u.temp->copy_of)
            host_memory(w, s->u.temp);
        return;
    case ST_LET: cuda_statement(w, s); return;
    case ST_LAUNCH: host_launch(w, &uses->items[(*next)++]); return;
    case ST_BLOCK:
    case ST_STORE:
    case ST_BARRIER: break;
    }
    TIRC_BUG(w->c, "a statement of a kernel where the host's text is written");
}

/* Global temporaries that stand inside a launch: their memory is the host's matter, too. */
static void launch_temps(CudaWriter *w, const LaunchUseList *uses)
{
    for (int i = 0; i < uses->n; i++) {
        StmtList temps = stmts_of_kind(w->c, uses->items[i].launch->u.launch.body, ST_TEMP);
        for (int k = 0; k < temps.n; k++)
            if (temps.items[k]->u.temp->scope == SCOPE_GLOBAL)
                host_memory(w, temps.items[k]->u.temp);
    }
}

/* ---- main: the check ------------------------------------------------------------------------- */

static const Buffer *find_param(const Kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].buffer && !strcmp(kernel->params[i].buffer->name, name))
            return kernel->params[i].buffer;
    return NULL;
}

/* What the reference says of an output of the program, and of one of its axes where it is about
 * one; NULL: nothing. */
static const Buffer *part_of(const Kernel *reference, const Buffer *b, BufferPart part, int axis)
{
    for (int i = 0; i < reference->n_params; i++) {
        const Buffer *other = reference->params[i].buffer;
        if (other && other->part == part && other->part_axis == axis &&
            !strcmp(other->part_of->name, b->name))
            return other;
    }
    return NULL;
}

/* The program's buffer whose elements a buffer of the reference has, or NULL. */
static const Buffer *value_of(const Kernel *lowered, const Buffer *b)
{
    return b->part == PART_VALUE ? find_param(lowered, b->part_of->name) : NULL;
}

/* An output that is read, too, begins with what the program gets. */
static void start_value(CudaWriter *w, const Buffer *b, const Buffer *same)
{
    const char *want = want_name(w, b), *host = host_name(w, same);
    if (b->type == same->type)
        cuda_line(w, "%s = %s;", want, host);
    else if (is_narrow(same->type))
        cuda_line(w, "for (size_t i = 0; i < %s.size(); i++) %s[i] = expected::%s_to_f32(%s[i]);",
                  want, want, type_info(same->type)->name, host);
    else
        cuda_line(w, "for (size_t i = 0; i < %s.size(); i++) %s[i] = %s[i];", want, want, host);
}

/* The type of an element in a std::vector: one of bool has no array. */
static const char *vector_element(DType type)
{
    return type == DT_BOOL ? "unsigned char" : cuda_storage_type(type);
}

/* The reference's own arrays: inputs are the host's, outputs and what accompanies them are new. */
static void reference_arrays(CudaWriter *w, const Kernel *lowered, const Kernel *reference)
{
    for (int i = 0; i < reference->n_params; i++) {
        const Buffer *b = reference->params[i].buffer;
        if (!b)
            continue;
        const char *want = want_name(w, b);
        const Buffer *same = value_of(lowered, b);
        if (b->role == ROLE_IN && same)
            continue;
        cuda_indent(w);
        strbuf_addf(w->out, "std::vector<%s> %s(", vector_element(b->type), want);
        elements(w, b);
        strbuf_add(w->out, ");\n");
        if (same && same->role == ROLE_OUT) /* what the program does not write is compared, too */
            cuda_line(w, "memset(%s.data(), 0xff, %s.size() * sizeof(%s));", want, want,
                      vector_element(b->type));
        if (b->part == PART_NEED)
            cuda_line(w, "choose(%s);", want);
        if (same && same->role == ROLE_INOUT)
            start_value(w, b, same);
    }
}

static void reference_call(CudaWriter *w, const Kernel *lowered, const Kernel *reference)
{
    bool first = true;
    cuda_indent(w);
    strbuf_add(w->out, "expected::compute(");
    for (int i = 0; i < reference->n_params; i++) {
        const Param *p = &reference->params[i];
        strbuf_add(w->out, first ? "" : ", ");
        first = false;
        const Buffer *input =
            p->buffer && p->buffer->role == ROLE_IN ? value_of(lowered, p->buffer) : NULL;
        if (!p->buffer)
            strbuf_add(w->out, cuda_name(w, p->scalar->name));
        else if (input)
            strbuf_addf(w->out, "%s%s.data()", p->buffer->type == DT_BOOL ? "(const bool *)" : "",
                        host_name(w, input));
        else
            strbuf_addf(w->out, "%s%s.data()", p->buffer->type == DT_BOOL ? "(bool *)" : "",
                        want_name(w, p->buffer));
    }
    for (int i = 0; i < reference->n_sizes; i++)
        if (reference->sizes[i].symbolic) {
            strbuf_addf(w->out, "%s%s", first ? "" : ", ", cuda_name(w, reference->sizes[i].name));
            first = false;
        }
    strbuf_add(w->out, ");\n");
}

/* The bound of element i, as docs/verification.md has it. */
static void bound_text(CudaWriter *w, const Kernel *reference, const Buffer *b)
{
    const Buffer *err = part_of(reference, b, PART_ERROR, 0),
                 *sum = part_of(reference, b, PART_MAGNITUDE, 0);
    if (err)
        cuda_line(w, "double bound = %s[i];", want_name(w, err));
    else
        cuda_line(w, "double bound = 0;");
    if (!sum)
        return;
    cuda_line(w, "bound += %s[i] * (0x1p-%d + 0x1p-53) * %s[i];",
              want_name(w, part_of(reference, b, PART_TERMS, 0)), type_info(b->type)->digits,
              want_name(w, sum));
}

/* Goes on to the next element where this one is not computed by the reference. */
static void check_need(CudaWriter *w, const Kernel *reference, const Buffer *b)
{
    bool any = false;
    for (int axis = b->rank - 1; axis >= 0; axis--) {
        const Buffer *need = part_of(reference, b, PART_NEED, axis);
        if (!need)
            continue;
        if (!any) {
            cuda_line(w, "size_t rest = i;");
            cuda_line(w, "bool needed = true;");
        }
        any = true;
        const char *wanted = want_name(w, need);
        cuda_line(w, "needed &= %s[rest %% %s.size()] != 0;", wanted, wanted);
        cuda_line(w, "rest /= %s.size();", wanted);
    }
    if (any) {
        cuda_line(w, "if (!needed)");
        cuda_line(w, "    continue;");
    }
}

/* What stands in a loop of its own speaks only of arrays of the host, so its names are in nobody's
 * way. */
static void check_output(CudaWriter *w, const Kernel *reference, const Buffer *b)
{
    const char *name = cuda_buffer_name(w, b), *host = host_name(w, b);
    cuda_line(w,
              "CHECK(cudaMemcpy(%s.data(), %s, %s.size() * sizeof(%s), cudaMemcpyDeviceToHost));",
              host, name, host, cuda_storage_type(b->type));
    cuda_line(w, "for (size_t i = 0; i < %s.size(); i++) {", host);
    w->indent++;
    check_need(w, reference, b);
    bound_text(w, reference, b);
    cuda_indent(w);
    strbuf_addf(w->out, "compare(&%s, \"%s\", i, (double)", made_name(w, "check"), b->name);
    if (is_narrow(b->type))
        strbuf_addf(w->out, "expected::%s_to_f32(%s[i])", type_info(b->type)->name, host);
    else
        strbuf_addf(w->out, "%s[i]", host);
    strbuf_addf(w->out, ", (double)%s[i], bound * (1 + 0x1p-20));\n",
                want_name(w, part_of(reference, b, PART_VALUE, 0)));
    w->indent--;
    cuda_line(w, "}");
}

static void host_main(CudaWriter *w, const Kernel *lowered, const Kernel *reference,
                      const LaunchUseList *uses)
{
    int next = 0;
    cuda_note_reads(w, lowered->body);
    const char *check = made_name(w, "check");
    strbuf_addf(w->out,
                "\nint main(int %s, char **%s)\n"
                "{\n",
                made_name(w, "argc"), made_name(w, "argv"));
    w->indent = 1;
    sizes(w, lowered);
    check_sizes(w, lowered);
    limits(w, lowered);
    for (int i = 0; i < lowered->n_params; i++)
        parameter_data(w, lowered, &lowered->params[i]);
    reference_arrays(w, lowered, reference);
    launch_temps(w, uses);
    strbuf_add(w->out, "\n");
    w->host = true;
    host_program(w, lowered->body, uses, &next);
    w->host = false;
    cuda_line(w, "CHECK(cudaDeviceSynchronize());");
    strbuf_add(w->out, "\n");
    reference_call(w, lowered, reference);
    cuda_line(w, "Check %s = {0, 0, 0};", check);
    for (int i = 0; i < lowered->n_params; i++)
        if (lowered->params[i].buffer && lowered->params[i].buffer->role != ROLE_IN)
            check_output(w, reference, lowered->params[i].buffer);
    cuda_line(w,
              "printf(\"%s: %%lld elements checked, %%lld wrong, largest error %%.3g\\n\", "
              "%s.checked, %s.wrong, %s.worst);",
              lowered->name, check, check, check);
    cuda_line(w, "return %s.wrong ? 4 : 0;", check);
    w->indent = 0;
    strbuf_add(w->out, "}\n");
}

/* Behind kernels that speak of the program's lines: the text counts its own again. */
static void own_lines(const Kernel *lowered, StrBuf *out)
{
    int next = 2; /* the line after the directive */
    for (size_t i = 0; i < out->length; i++)
        next += out->text[i] == '\n';
    strbuf_addf(out, "#line %d \"%s.cu\"\n", next, lowered->name);
}

void cu_emit(Context *c, const Kernel *lowered, const Kernel *reference, const char *kernels,
             StrBuf *out)
{
    LaunchUseList uses = {0};
    ir_demand(c, lowered);
    ir_demand(c, reference);
    CudaWriter w = {.c = c,
                    .names = cuda_names_host(cuda_names_new(c, lowered), lowered, reference),
                    .out = out};
    launch_uses(c, lowered, &uses);
    strbuf_addf(out,
                "// %s: a complete program. Build and run it with\n"
                "//   nvcc -O3 -arch=sm_90 %s.cu && ./a.out\n",
                lowered->name, lowered->name);
    StrBuf host = strbuf_new(c->arena);
    w.out = &host;
    reference_function(&w, reference);
    host_main(&w, lowered, reference, &uses);
    strbuf_add(out, texts[TEXT_INCLUDES]);
    conversion_includes(host.text, out);
    strbuf_addf(out, "\n%s\n", kernels);
    if (strstr(kernels, "\n#line "))
        own_lines(lowered, out);
    strbuf_addf(out, "%s%s", texts[TEXT_CHECK], texts[TEXT_HOST]);
    strbuf_add(out, calls(host.text, "choose") ? texts[TEXT_CHOOSE] : "");
    strbuf_add(out, texts[TEXT_RESULT]);
    strbuf_add(out, calls(host.text, "compare") ? texts[TEXT_COMPARE] : "");
    cuda_host_helpers(&w, out);
    strbuf_add(out, "\n// What the kernels must compute, in double precision, with a bound on the "
                    "rounding of each element.\n"
                    "namespace expected {\n");
    conversion_texts(host.text, out);
    strbuf_addn(out, host.text, host.length);
}
