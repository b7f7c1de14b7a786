/* cu.c - Emits a complete program: the kernels, and a host main that launches them and verifies the
 * result.
 *
 * A run fills the inputs, launches, and compares with a reference in plain C++, in a namespace of
 * its own. main makes the two runs of --verify: on small integers, for which every order of
 * evaluation is exact, against reference_kernel_exact, and on random reals against
 * reference_kernel. Symbolic sizes come from the command line. */
#include "codegen/cuda/cu.h"
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
    {"f32_round_to_odd", "cmath",
     "static float f32_round_to_odd(double x)\n{\n"
     "    float f = (float)x;\n"
     "    if (std::fabs((double)f) > std::fabs(x))\n"
     "        f = std::nextafter(f, 0.0f);\n"
     "    unsigned bits;\n"
     "    memcpy(&bits, &f, sizeof f);\n"
     "    bits |= (double)f != x && x == x;\n"
     "    memcpy(&f, &bits, sizeof f);\n"
     "    return f;\n}\n"},
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

/* ---- main: data ------------------------------------------------------------------------------ */

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
    if (cu_is_narrow(type)) {
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
    const char *host = cu_host_name(w, b);
    const char *less = cu_is_narrow(b->type)
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
    const char *name = cuda_buffer_name(w, b), *host = cu_host_name(w, b),
               *type = cuda_storage_type(b->type);
    cuda_indent(w);
    strbuf_addf(w->out, "std::vector<%s> %s(", b->type == DT_BOOL ? "unsigned char" : type, host);
    cu_elements(w, b);
    strbuf_add(w->out, ");\n");
    if (b->role == ROLE_OUT) {
        cuda_line(w, "memset(%s.data(), 0xff, %s.size() * sizeof(%s)); // reads as NaN", host, host,
                  type);
    } else {
        const char *element = cu_made_name(w, "x");
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
    cuda_line(w, "allocate(&%s, %s.size() * sizeof(%s));", name, host, type);
    cuda_line(w,
              "CHECK(cudaMemcpy(%s, %s.data(), %s.size() * sizeof(%s), cudaMemcpyHostToDevice));",
              name, host, host, type);
}

static void sizes(CudaWriter *w, const Kernel *kernel)
{
    const char *argc = cu_made_name(w, "argc"), *argv = cu_made_name(w, "argv");
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

/* Emits the body of a loop or condition, after its header. */
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
    strbuf_addf(w->out, "allocate(&%s, (", name);
    cu_elements(w, temp);
    strbuf_addf(w->out, ") * sizeof(%s));\n", type);
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

/* Grids of symbolic sizes may be more than CUDA takes; along x the limits of the sizes check it. */
static void check_grid(CudaWriter *w, const LaunchStmt *launch)
{
    if (launch->grid[1]->kind == EX_INT && launch->grid[2]->kind == EX_INT)
        return;
    cuda_indent(w);
    strbuf_addf(w->out, "check_grid(\"%s\", ", cuda_names_launch(w->names, launch->name));
    cuda_expr(w, launch->grid[1], 0);
    strbuf_add(w->out, ", ");
    cuda_expr(w, launch->grid[2], 0);
    strbuf_add(w->out, ");\n");
}

static void host_launch(CudaWriter *w, const LaunchUse *use)
{
    const LaunchStmt *launch = &use->launch->u.launch;
    bool guarded = begin_unless_empty(w, launch);
    w->indent += guarded;
    check_grid(w, launch);
    if (use->shared_is_dynamic)
        cuda_line(
            w,
            "CHECK(cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %lld));",
            cuda_names_launch(w->names, launch->name), (long long)use->shared_bytes);
    for (int i = 0; i < use->constants.n; i++)
        fill_constant(w, use->constants.items[i]);
    cuda_map_variables(w, use);
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
    case ST_INSTRUCTION:
    case ST_BREAK:
    case ST_ROLES:
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

/* ---- main: runs ------------------------------------------------------------------------------ */

/* `long long N, long long M` or `N, M`: the symbolic sizes. */
static const char *size_list(CudaWriter *w, const Kernel *kernel, const char *type)
{
    StrBuf out = strbuf_new(w->c->arena);
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic)
            strbuf_addf(&out, "%s%s%s", out.length ? ", " : "", type,
                        cuda_name(w, kernel->sizes[i].name));
    return out.text ? out.text : "";
}

/* The comparison with the reference that a run's inputs are for. */
static void comparisons(CudaWriter *w, const CuKernels *k)
{
    CuReference exact = {k->exact, "compute_exactly"}, expected = {k->expected, "compute"};
    if (!k->exact) {
        cu_check(w, k->lowered, &expected);
        return;
    }
    cuda_line(w, "if (inputs.most) {");
    w->indent++;
    cu_check(w, k->lowered, &exact);
    w->indent--;
    cuda_line(w, "} else {");
    w->indent++;
    cu_check(w, k->lowered, &expected);
    w->indent--;
    cuda_line(w, "}");
}

static void run_function(CudaWriter *w, const CuKernels *k, const LaunchUseList *uses)
{
    int next = 0;
    const Kernel *lowered = k->lowered;
    cuda_note_reads(w, lowered->body);
    strbuf_addf(w->out, "\n// Launches once, on inputs of one kind.\nstatic Check %s(%s)\n{\n",
                cu_made_name(w, "run"), size_list(w, lowered, "long long "));
    w->indent = 1;
    for (int i = 0; i < lowered->n_params; i++)
        parameter_data(w, lowered, &lowered->params[i]);
    launch_temps(w, uses);
    strbuf_add(w->out, "\n");
    w->host = true;
    host_program(w, lowered->body, uses, &next);
    w->host = false;
    cuda_line(w, "CHECK(cudaDeviceSynchronize());");
    strbuf_add(w->out, "\n");
    const char *check = cu_made_name(w, "check");
    cuda_line(w, "Check %s = {0, 0, 0, 0};", check);
    comparisons(w, k);
    cuda_line(w, "release();");
    cuda_line(w, "return %s;", check);
    w->indent = 0;
    strbuf_add(w->out, "}\n");
}

static void host_main(CudaWriter *w, const CuKernels *k)
{
    const char *run = cu_made_name(w, "run"), *list = size_list(w, k->lowered, ""),
               *name = k->lowered->name, *exact = cu_made_name(w, "exact");
    strbuf_addf(w->out, "\nint main(int %s, char **%s)\n{\n", cu_made_name(w, "argc"),
                cu_made_name(w, "argv"));
    w->indent = 1;
    sizes(w, k->lowered);
    check_sizes(w, k->lowered);
    limits(w, k->lowered);
    if (k->exact)
        cuda_line(w, "const bool %s = verify_exactly(\"%s\", [&] { return %s(%s); });", exact, name,
                  run, list);
    cuda_line(w, "return verify(\"%s\", %s(%s))%s%s ? 0 : 4;", name, run, list,
              k->exact ? " && " : "", k->exact ? exact : "");
    w->indent = 0;
    strbuf_add(w->out, "}\n");
}

/* After kernels with #line directives: restores the line numbers of the text itself. */
static void own_lines(const Kernel *lowered, StrBuf *out)
{
    int next = 2; /* the line after the directive */
    for (size_t i = 0; i < out->length; i++)
        next += out->text[i] == '\n';
    strbuf_addf(out, "#line %d \"%s.cu\"\n", next, lowered->name);
}

/* The references, and what launches and compares. */
static void host_text(CudaWriter *w, const CuKernels *k)
{
    LaunchUseList uses = {0};
    launch_uses(w->c, k->lowered, &uses);
    cu_reference(w, &(CuReference){k->expected, "compute"});
    if (k->exact)
        cu_reference(w, &(CuReference){k->exact, "compute_exactly"});
    strbuf_add(w->out, "} // namespace expected\n");
    run_function(w, k, &uses);
    host_main(w, k);
}

/* The fixed parts that the text needs, in order. */
static void fixed_texts(const char *host, StrBuf *out)
{
    static const struct {
        int text;
        const char *function; /* that the text is for; NULL: it is always there */
    } parts[] = {
        {TEXT_CHECK, NULL},        {TEXT_HOST, NULL},         {TEXT_TENSOR_MAP, "tensor_map"},
        {TEXT_CHOOSE, "choose"},   {TEXT_GRID, "check_grid"}, {TEXT_RESULT, NULL},
        {TEXT_COMPARE, "compare"}, {TEXT_SUM, "exact_sum"},   {TEXT_EXACT, "verify_exactly"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].function || calls(host, parts[i].function))
            strbuf_add(out, texts[parts[i].text]);
}

void cu_emit(Context *c, const CuKernels *k, const char *kernels, StrBuf *out)
{
    const Kernel *lowered = k->lowered;
    StrBuf host = strbuf_new(c->arena);
    ir_demand(c, lowered);
    ir_demand(c, k->expected);
    CudaWriter w = {.c = c, .names = cuda_names_host(cuda_names_new(c, lowered), k), .out = &host};
    host_text(&w, k);
    strbuf_addf(out,
                "// %s: a complete program. Build and run it with\n"
                "//   nvcc -O3 -gencode=arch=compute_90a,code=sm_90a %s.cu && ./a.out\n",
                lowered->name, lowered->name);
    strbuf_add(out, texts[TEXT_INCLUDES]);
    conversion_includes(host.text, out);
    strbuf_addf(out, "\n%s\n", kernels);
    if (strstr(kernels, "\n#line "))
        own_lines(lowered, out);
    fixed_texts(host.text, out);
    cuda_host_helpers(&w, out);
    strbuf_add(out, "\n// What the kernels must compute, in double precision, with a bound on the "
                    "rounding of each element.\n"
                    "namespace expected {\n");
    conversion_texts(host.text, out);
    strbuf_addn(out, host.text, host.length);
}
