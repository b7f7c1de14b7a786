/* cu.c - a complete program: the kernels, and a host main that launches them and checks the result.
 *
 * main fills the inputs with random numbers, runs the launches, and compares with the reference (reference_kernel_sampled),
 * which stands in the program as plain C++ in a namespace of its own. Sizes that are symbolic come from the command line. */
#include "codegen/cuda_text.h"

#include <string.h>

static const char *const texts[] = {
#define CU_TEXT(name, text) text,
#include "codegen/cu_text.def"
#undef CU_TEXT
};
enum {
#define CU_TEXT(name, text) TEXT_##name,
#include "codegen/cu_text.def"
#undef CU_TEXT
};

static bool is_narrow(DType type)
{
    return type_is_float(type) && type_info(type)->bits < 32;
}

/* ---- conversions on the host -------------------------------------------------------------------------- */

static const struct {
    DType type;
    const char *include, *text;
} narrow_types[] = {
    {DT_F16, "cuda_fp16.h",
     "static float f16_to_f32(unsigned short x) { return __half2float(__half(__half_raw{x})); }\n"
     "static unsigned short f16_from_f32(float x) { return __half_raw(__float2half_rn(x)).x; }\n"},
    {DT_BF16, "cuda_bf16.h",
     "static float bf16_to_f32(unsigned short x) { return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{x})); }\n"
     "static unsigned short bf16_from_f32(float x) { return __nv_bfloat16_raw(__float2bfloat16_rn(x)).x; }\n"},
    {DT_F8E4M3, "cuda_fp8.h",
     "static float f8e4m3_to_f32(unsigned char x) { __nv_fp8_e4m3 v; v.__x = x; return (float)v; }\n"
     "static unsigned char f8e4m3_from_f32(float x) { return __nv_fp8_e4m3(x).__x; }\n"},
    {DT_F8E5M2, "cuda_fp8.h",
     "static float f8e5m2_to_f32(unsigned char x) { __nv_fp8_e5m2 v; v.__x = x; return (float)v; }\n"
     "static unsigned char f8e5m2_from_f32(float x) { return __nv_fp8_e5m2(x).__x; }\n"},
};

static bool uses_type(const Kernel *kernel, DType type)
{
    for (int i = 0; i < kernel->n_params; i++)
        if ((kernel->params[i].buffer ? kernel->params[i].buffer->type
                                      : kernel->params[i].scalar->type) == type)
            return true;
    return false;
}

static void narrow_helpers(CudaWriter *w, const Kernel *kernel, bool includes)
{
    for (size_t i = 0; i < sizeof narrow_types / sizeof *narrow_types; i++) {
        if (!uses_type(kernel, narrow_types[i].type))
            continue;
        if (includes)
            strbuf_addf(w->out, "#include <%s>\n", narrow_types[i].include);
        else
            strbuf_add(w->out, narrow_types[i].text);
    }
}

/* ---- the reference ---------------------------------------------------------------------------------- */

static void reference_parameters(CudaWriter *w, const Kernel *reference)
{
    bool first = true;
    for (int i = 0; i < reference->n_params; i++) {
        const Param *p = &reference->params[i];
        strbuf_add(w->out, first ? "" : ", ");
        first = false;
        if (p->buffer)
            strbuf_addf(w->out, "%s%s *%s", p->buffer->role == ROLE_IN ? "const " : "",
                        cuda_storage_type(p->buffer->type), cuda_name(w, p->buffer->name));
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

static void reference_function(CudaWriter *w, const Kernel *lowered, const Kernel *reference)
{
    strbuf_add(w->out, "\n// What the kernels must compute, in double precision, with a bound on the rounding of each "
                       "element.\nnamespace expected {\n");
    narrow_helpers(w, lowered, false);
    strbuf_add(w->out, "static void compute(");
    reference_parameters(w, reference);
    strbuf_add(w->out, ")\n{\n");
    w->host = true;
    w->indent = 1;
    cuda_statement(w, reference->body);
    w->indent = 0;
    w->host = false;
    strbuf_add(w->out, "}\n} // namespace expected\n");
}

/* ---- main: data ------------------------------------------------------------------------------------- */

static void elements(CudaWriter *w, const Buffer *b)
{
    w->host = true;
    if (b->rank == 0)
        strbuf_add(w->out, "1");
    for (int i = 0; i < b->rank; i++) {
        strbuf_add(w->out, i ? " * (size_t)" : "(size_t)");
        cuda_expr(w, b->shape[i], 13);
    }
    w->host = false;
}

static void random_value(CudaWriter *w, DType type)
{
    const TypeInfo *info = type_info(type);
    if (is_narrow(type))
        strbuf_addf(w->out, "expected::%s_from_f32((float)random_float())", info->name);
    else if (info->class == CLASS_FLOAT)
        strbuf_addf(w->out, "(%s)random_float()", info->cuda);
    else if (info->class == CLASS_BOOL)
        strbuf_add(w->out, "(random_bits() & 1) != 0");
    else
        strbuf_addf(w->out, "(%s)(random_bits() %% range)", info->cuda);
}

/* Integers may be subscripts, so they stay below every extent; u8 below 256 where the extents allow. */
static void integer_range(CudaWriter *w, const Kernel *kernel)
{
    cuda_line(w, "unsigned long long range = 200; // of integer inputs, which may be subscripts");
    for (int i = 0; i < kernel->n_params; i++) {
        const Buffer *b = kernel->params[i].buffer;
        for (int axis = 0; b && axis < b->rank; axis++) {
            cuda_indent(w);
            strbuf_add(w->out, "if (");
            cuda_expr(w, b->shape[axis], 9);
            strbuf_add(w->out, " < range)\n");
            w->indent++;
            cuda_indent(w);
            strbuf_add(w->out, "range = ");
            cuda_expr(w, b->shape[axis], 0);
            strbuf_add(w->out, ";\n");
            w->indent--;
        }
    }
}

static bool has_integers(const Kernel *kernel)
{
    for (int i = 0; i < kernel->n_params; i++) {
        const Param *p = &kernel->params[i];
        if (type_is_int(p->buffer ? p->buffer->type : p->scalar->type) &&
            !(p->buffer && p->buffer->role == ROLE_OUT))
            return true;
    }
    return false;
}

static void parameter_data(CudaWriter *w, const Param *p)
{
    if (!p->buffer) {
        cuda_indent(w);
        strbuf_addf(w->out, "const %s %s = ", cuda_storage_type(p->scalar->type),
                    cuda_name(w, p->scalar->name));
        random_value(w, p->scalar->type);
        strbuf_add(w->out, ";\n");
        return;
    }
    const Buffer *b = p->buffer;
    const char *name = cuda_name(w, b->name), *type = cuda_storage_type(b->type);
    cuda_indent(w);
    strbuf_addf(w->out, "std::vector<%s> %s_host(", b->type == DT_BOOL ? "unsigned char" : type, name);
    elements(w, b);
    strbuf_add(w->out, ");\n");
    if (b->role == ROLE_OUT) {
        cuda_line(w, "memset(%s_host.data(), 0xff, %s_host.size() * sizeof(%s)); // reads as NaN", name, name,
                  type);
    } else {
        cuda_line(w, "for (auto &x : %s_host)", name);
        w->indent++;
        cuda_indent(w);
        strbuf_add(w->out, "x = ");
        random_value(w, b->type);
        strbuf_add(w->out, ";\n");
        w->indent--;
    }
    cuda_line(w, "%s *%s;", type, name);
    cuda_line(w, "CHECK(cudaMalloc(&%s, %s_host.size() * sizeof(%s)));", name, name, type);
    cuda_line(w, "CHECK(cudaMemcpy(%s, %s_host.data(), %s_host.size() * sizeof(%s), cudaMemcpyHostToDevice));",
              name, name, name, type);
}

static void sizes(CudaWriter *w, const Kernel *kernel)
{
    int n = 0;
    StrBuf usage = strbuf_new(w->c->arena);
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic) {
            strbuf_addf(&usage, " %s", kernel->sizes[i].name);
            n++;
        }
    if (n == 0) {
        cuda_line(w, "(void)argc, (void)argv;");
        return;
    }
    cuda_line(w, "if (argc != %d)", n + 1);
    cuda_line(w, "    return fprintf(stderr, \"usage: %%s%s\\n\", argv[0]), 2;", usage.text);
    for (int i = 0, at = 1; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic)
            cuda_line(w, "const int %s = atoi(argv[%d]);", cuda_name(w, kernel->sizes[i].name), at++);
}

/* ---- main: launches --------------------------------------------------------------------------------- */

/* The symbol hides behind a variable of the same name. */
static void fill_constant(CudaWriter *w, const Buffer *b)
{
    const char *name = cuda_name(w, b->name);
    cuda_line(w, "CHECK(cudaMemcpyToSymbol(::%s, %s, sizeof ::%s, 0, cudaMemcpyDeviceToDevice));", name,
              cuda_name(w, b->copy_of->name), name);
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
        strbuf_add(w->out, " {\n");
        w->indent++;
        host_program(w, s->u.loop.body, uses, next);
        w->indent--;
        cuda_line(w, "}");
        return;
    case ST_IF:
        cuda_indent(w);
        strbuf_add(w->out, "if (");
        cuda_expr(w, s->u.cond.cond, 0);
        strbuf_add(w->out, ") {\n");
        w->indent++;
        host_program(w, s->u.cond.then, uses, next);
        w->indent--;
        cuda_line(w, "}");
        if (s->u.cond.otherwise) {
            cuda_line(w, "else {");
            w->indent++;
            host_program(w, s->u.cond.otherwise, uses, next);
            w->indent--;
            cuda_line(w, "}");
        }
        return;
    case ST_TEMP:
        if (s->u.temp->copy_of)
            return;
        cuda_line(w, "%s *%s;", cuda_storage_type(s->u.temp->type), cuda_name(w, s->u.temp->name));
        cuda_indent(w);
        strbuf_addf(w->out, "CHECK(cudaMalloc(&%s, (", cuda_name(w, s->u.temp->name));
        elements(w, s->u.temp);
        strbuf_addf(w->out, ") * sizeof(%s)));\n", cuda_storage_type(s->u.temp->type));
        return;
    case ST_LAUNCH: {
        const LaunchUse *use = &uses->items[(*next)++];
        if (use->shared_is_dynamic)
            cuda_line(w, "CHECK(cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %lld));",
                      cuda_name(w, s->u.launch.name), (long long)use->shared_bytes);
        for (int i = 0; i < use->constants.n; i++)
            fill_constant(w, use->constants.items[i]);
        cuda_indent(w);
        cuda_launch_call(w, use);
        strbuf_add(w->out, ";\n");
        cuda_line(w, "CHECK(cudaGetLastError());");
        return;
    }
    default:
        return;
    }
}

/* ---- main: the check ---------------------------------------------------------------------------------- */

static const Buffer *find_param(const Kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].buffer && !strcmp(kernel->params[i].buffer->name, name))
            return kernel->params[i].buffer;
    return NULL;
}

/* The reference's own arrays: inputs are the host's, outputs and what accompanies them are new. */
static void reference_arrays(CudaWriter *w, const Kernel *lowered, const Kernel *reference)
{
    for (int i = 0; i < reference->n_params; i++) {
        const Buffer *b = reference->params[i].buffer;
        if (!b)
            continue;
        const char *name = cuda_name(w, b->name);
        const Buffer *same = find_param(lowered, b->name);
        if (b->role == ROLE_IN && same)
            continue;
        cuda_indent(w);
        strbuf_addf(w->out, "std::vector<%s> want_%s(", cuda_storage_type(b->type), name);
        elements(w, b);
        strbuf_add(w->out, ");\n");
        if (strstr(b->name, "_need_") && !same)
            cuda_line(w, "choose(want_%s);", name);
        if (same && same->role == ROLE_INOUT && b->type == same->type)
            cuda_line(w, "want_%s = %s_host;", name, name);
        else if (same && same->role == ROLE_INOUT)
            cuda_line(w, "for (size_t i = 0; i < want_%s.size(); i++) want_%s[i] = %s%s%s%s_host[i]%s;", name, name,
                      is_narrow(same->type) ? "expected::" : "",
                      is_narrow(same->type) ? type_info(same->type)->name : "",
                      is_narrow(same->type) ? "_to_f32(" : "", name, is_narrow(same->type) ? ")" : "");
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
        const char *name = cuda_name(w, p->buffer ? p->buffer->name : p->scalar->name);
        bool input = p->buffer && p->buffer->role == ROLE_IN && find_param(lowered, p->buffer->name);
        if (!p->buffer)
            strbuf_add(w->out, name);
        else if (input && p->buffer->type == DT_BOOL)
            strbuf_addf(w->out, "(const bool *)%s_host.data()", name);
        else
            strbuf_addf(w->out, "%s%s%s.data()", input ? "" : "want_", name, input ? "_host" : "");
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
    Context *c = w->c;
    bool err = find_param(reference, arena_printf(c->arena, "%s_err", b->name));
    bool sum = find_param(reference, arena_printf(c->arena, "%s_abs", b->name));
    const char *name = cuda_name(w, b->name);
    cuda_line(w, "double bound = %s;", err ? arena_printf(c->arena, "want_%s_err[i]", name) : "0");
    if (!sum)
        return;
    cuda_line(w, "double nu = want_%s_n[i] * (0x1p-%d + 0x1p-53);", name, type_info(b->type)->digits);
    cuda_line(w, "bound += nu < 1 ? nu / (1 - nu) * want_%s_abs[i] : INFINITY;", name);
}

static void check_output(CudaWriter *w, const Kernel *reference, const Buffer *b)
{
    Context *c = w->c;
    const char *name = cuda_name(w, b->name), *type = cuda_storage_type(b->type);
    cuda_line(w, "CHECK(cudaMemcpy(%s_host.data(), %s, %s_host.size() * sizeof(%s), cudaMemcpyDeviceToHost));",
              name, name, name, type);
    cuda_line(w, "for (size_t i = 0; i < %s_host.size(); i++) {", name);
    w->indent++;
    if (b->rank > 0) {
        cuda_line(w, "size_t rest = i;");
        cuda_line(w, "bool needed = true;");
    }
    for (int axis = b->rank - 1; axis >= 0; axis--) {
        if (!find_param(reference, arena_printf(c->arena, "%s_need_%d", b->name, axis)))
            continue;
        cuda_line(w, "needed &= want_%s_need_%d[rest %% want_%s_need_%d.size()] != 0;", name, axis, name, axis);
        cuda_line(w, "rest /= want_%s_need_%d.size();", name, axis);
    }
    if (b->rank > 0) {
        cuda_line(w, "if (!needed)");
        cuda_line(w, "    continue;");
    }
    bound_text(w, reference, b);
    cuda_indent(w);
    strbuf_addf(w->out, "compare(&check, \"%s\", i, (double)", b->name);
    if (is_narrow(b->type))
        strbuf_addf(w->out, "expected::%s_to_f32(%s_host[i])", type_info(b->type)->name, name);
    else
        strbuf_addf(w->out, "%s_host[i]", name);
    strbuf_addf(w->out, ", (double)want_%s[i], bound * (1 + 0x1p-20));\n", name);
    w->indent--;
    cuda_line(w, "}");
}

static void host_main(CudaWriter *w, const Kernel *lowered, const Kernel *reference,
                      const LaunchUseList *uses)
{
    int next = 0;
    strbuf_add(w->out, "\nint main(int argc, char **argv)\n{\n");
    w->indent = 1;
    sizes(w, lowered);
    if (has_integers(lowered))
        integer_range(w, lowered);
    for (int i = 0; i < lowered->n_params; i++)
        parameter_data(w, &lowered->params[i]);
    reference_arrays(w, lowered, reference);
    strbuf_add(w->out, "\n");
    host_program(w, lowered->body, uses, &next);
    cuda_line(w, "CHECK(cudaDeviceSynchronize());");
    strbuf_add(w->out, "\n");
    reference_call(w, lowered, reference);
    cuda_line(w, "Check check = {0, 0, 0};");
    for (int i = 0; i < lowered->n_params; i++)
        if (lowered->params[i].buffer && lowered->params[i].buffer->role != ROLE_IN)
            check_output(w, reference, lowered->params[i].buffer);
    cuda_line(w, "printf(\"%s: %%lld elements checked, %%lld wrong, largest error %%.3g\\n\", check.checked, "
                 "check.wrong, check.worst);",
              lowered->name);
    cuda_line(w, "return check.wrong ? 4 : 0;");
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

void cu_emit(Context *c, const Kernel *lowered, const Kernel *reference, const char *kernels, StrBuf *out)
{
    LaunchUseList uses = {0};
    CudaWriter w = {.c = c, .out = out};
    launch_uses(c, lowered, &uses);
    strbuf_addf(out, "// %s: a complete program. Build and run it with\n//   nvcc -O3 -arch=sm_90 %s.cu && ./a.out\n", lowered->name,
                lowered->name);
    strbuf_add(out, texts[TEXT_INCLUDES]);
    narrow_helpers(&w, lowered, true);
    strbuf_add(out, "\n");
    strbuf_addf(out, "%s\n", kernels);
    if (strstr(kernels, "\n#line "))
        own_lines(lowered, out);
    strbuf_addf(out, "%s%s", texts[TEXT_CHECK], texts[TEXT_HOST]);
    reference_function(&w, lowered, reference);
    host_main(&w, lowered, reference, &uses);
}
