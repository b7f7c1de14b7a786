/* writer.c - Writes lines and names, for all parts of the CUDA emitter. */
#include "codegen/cuda/text.h"

void cuda_indent(CudaWriter *w)
{
    for (int i = 0; i < w->indent; i++)
        strbuf_add(w->out, "    ");
}

void cuda_line(CudaWriter *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cuda_indent(w);
    strbuf_vaddf(w->out, format, args);
    strbuf_add(w->out, "\n");
    va_end(args);
}

const char *cuda_name(const CudaWriter *w, Name name)
{
    return cuda_names_value(w->names, name);
}

const char *cuda_buffer_name(const CudaWriter *w, const Buffer *b)
{
    return cuda_names_buffer(w->names, b);
}

/* ---- what nothing reads ---------------------------------------------------------------------- */

void cuda_note_reads(CudaWriter *w, const Stmt *body)
{
    bool *read = ARENA_ARRAY(w->c->arena, bool, w->c->next_id + 1);
    w->n_ids = w->c->next_id;
    w->read = read;
    for (Cursor at = cursor_stmt(w->c, body); cursor_next(&at);) {
        const Expr *e = at.expr;
        uint32_t id = e && e->kind == EX_VAR    ? e->u.var->id
                      : e && e->kind == EX_LOAD ? e->u.load.buffer->id
                                                : w->n_ids;
        if (id < w->n_ids)
            read[id] = true;
    }
}

const char *cuda_unused(const CudaWriter *w, uint32_t id)
{
    return id < w->n_ids && !w->read[id] ? "[[maybe_unused]] " : "";
}
