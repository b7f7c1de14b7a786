/* emit.c - Implements --emit: writes the kernel as text or code to a file or standard output. */
#include "command.h"
#include "output.h"

static tirc_format format_of(int emit)
{
    static const tirc_format formats[] = {
        [EMIT_TIR] = TIRC_TIR,   [EMIT_LOWERED] = TIRC_TIR, [EMIT_CUDA] = TIRC_CUDA,
        [EMIT_CU] = TIRC_CU,     [EMIT_PTX] = TIRC_PTX,     [EMIT_CUBIN] = TIRC_CUBIN,
        [EMIT_JSON] = TIRC_JSON,
    };
    return formats[emit];
}

static tirc_emit_options emit_options(const Options *o)
{
    tirc_emit_options options = {.arch = o->arch};
    if (o->annotate)
        options.annotate = o->annotate == ANNOTATE_LINES ? TIRC_DIRECTIVES : TIRC_COMMENTS;
    return options;
}

void command_prepare(const Command *c)
{
    tirc_emit_options options = emit_options(c->options);
    if (c->options->emit)
        tirc_prepare(c->t, format_of(c->options->emit), &options);
}

tirc_status command_emit(const Command *c)
{
    const Options *o = c->options;
    const void *data;
    size_t length;
    tirc_emit_options options = emit_options(o);
    double start = seconds_now();
    Progress *progress = progress_begin("emitting");
    tirc_status status = tirc_emit(c->t, o->emit == EMIT_TIR ? c->scheduled : c->lowered,
                                   format_of(o->emit), &options, &data, &length);
    progress_end(progress);
    if (status)
        return status;
    if (o->time_passes)
        fprintf(stderr, "%10.3f ms  emit\n", (seconds_now() - start) * 1e3);
    return output_write(o->output, data, length);
}
