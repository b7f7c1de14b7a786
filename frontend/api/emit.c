/* emit.c - Implements the calls from a kernel to text and machine code. */
#include "frontend/api/internal.h"

#include <string.h>

#include "passes/lower/lower.h"

const char *api_cuda_text(tirc *t, const tirc_kernel *lowered)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    cuda_emit(t->ctx, lowered->kernel, &out, NULL);
    return out.text;
}

const Kernel *api_reference(tirc *t, const tirc_kernel *kernel)
{
    if (kernel_level(t->ctx, kernel->program) == LEVEL_LOWERED) {
        diag_error(
            t->ctx, E0705, span_none(),
            "'%s' is lowered text, so the original program is not known and there is nothing to "
            "compare with; give the .tir file that it was lowered from with --against",
            kernel->kernel->name);
        return NULL;
    }
    return reference_kernel(t->ctx, kernel->program);
}

/* The text of the kernels, annotated as asked for. */
static StrBuf cuda_text(tirc *t, const tirc_kernel *kernel, tirc_annotation annotate)
{
    StrBuf plain = strbuf_new(t->ctx->arena), out = strbuf_new(t->ctx->arena);
    LineOrigins lines = {0};
    cuda_emit(t->ctx, kernel->kernel, &plain, &lines);
    if (annotate == TIRC_PLAIN)
        return plain;
    api_annotate(t, kernel, &(CudaText){.text = plain.text, .lines = &lines},
                 annotate == TIRC_DIRECTIVES, &out);
    return out;
}

static bool give(const StrBuf *text, const void **data, size_t *length)
{
    *data = text->text;
    *length = text->length;
    return true;
}

/* Companions of outputs say that something may be rounded. */
static const Kernel *exact_reference(Context *c, const Kernel *program, const Kernel *expected)
{
    return expected->n_params > program->n_params ? reference_kernel_exact(c, program) : NULL;
}

static bool emit_cu(tirc *t, const tirc_kernel *kernel, tirc_annotation annotate, StrBuf *out)
{
    const Kernel *expected = api_reference(t, kernel);
    if (!expected)
        return false;
    CuKernels k = {kernel->kernel, expected, exact_reference(t->ctx, kernel->program, expected)};
    cu_emit(t->ctx, &k, cuda_text(t, kernel, annotate).text, out);
    return true;
}

static const char *arch_of(const tirc_emit_options *options)
{
    return options && options->arch ? options->arch : "sm_90a";
}

void tirc_prepare(tirc *t, tirc_format format, const tirc_emit_options *options)
{
    if ((format == TIRC_PTX || format == TIRC_CUBIN) && !t->warmup)
        t->warmup = nvrtc_warmup_begin(arch_of(options));
}

static bool emit_machine_code(tirc *t, const tirc_kernel *kernel, NvrtcKind kind,
                              const tirc_emit_options *options, const void **data, size_t *length)
{
    tirc_annotation annotate = options->annotate == TIRC_DIRECTIVES ? TIRC_DIRECTIVES : TIRC_PLAIN;
    return nvrtc_compile(
        t->ctx,
        &(NvrtcRequest){.source = cuda_text(t, kernel, annotate).text,
                        .name = kernel->kernel->name,
                        .arch = arch_of(options),
                        .kind = kind,
                        .lines = annotate == TIRC_DIRECTIVES ? NVRTC_LINE_INFO : NVRTC_PLAIN},
        data, length);
}

static bool emit(tirc *t, const tirc_kernel *kernel, tirc_format format,
                 const tirc_emit_options *options, const void **data, size_t *length)
{
    static const tirc_emit_options defaults;
    StrBuf out = strbuf_new(t->ctx->arena);
    options = options ? options : &defaults;
    t->subject = kernel->command;
    if (format == TIRC_TIR) {
        print_kernel(t->ctx, kernel->kernel, &out);
        return give(&out, data, length);
    }
    if (!api_require_lowered(t, kernel, "tirc_emit"))
        return false;
    switch (format) {
    case TIRC_TIR:
    case TIRC_CUDA: out = cuda_text(t, kernel, options->annotate); return give(&out, data, length);
    case TIRC_CU: return emit_cu(t, kernel, options->annotate, &out) && give(&out, data, length);
    case TIRC_PTX: return emit_machine_code(t, kernel, NVRTC_PTX, options, data, length);
    case TIRC_CUBIN: return emit_machine_code(t, kernel, NVRTC_CUBIN, options, data, length);
    case TIRC_JSON: return api_emit_json(t, kernel, (const char **)data, length);
    }
    diag_error(t->ctx, E0704, span_none(), "%d is not a format of tirc_emit", (int)format);
    return false;
}

tirc_status tirc_emit(tirc *t, const tirc_kernel *kernel, tirc_format format,
                      const tirc_emit_options *options, const void **data, size_t *length)
{
    API_GUARDED(t, emit(t, kernel, format, options, data, length));
}
