/* cuda_lines.c - which statement each line of the text comes from.
 *
 * Writers mark where the text of a statement begins; what follows a mark comes from there, up to the next mark.
 * Marks stand at the beginnings of lines. */
#include "codegen/cuda_text.h"

Origin cuda_mark(CudaWriter *w, Span span, int step)
{
    Origin outer = w->origin;
    w->origin = (Origin){span, step};
    LineMark mark = {w->out->length, w->origin};
    if (w->marks.n > 0 && w->marks.items[w->marks.n - 1].offset == mark.offset)
        w->marks.n--;
    VEC_PUSH(w->c->arena, &w->marks, mark);
    return outer;
}

void cuda_lines(CudaWriter *w, const StrBuf *text, LineOrigins *lines)
{
    Origin origin = {span_none(), 0};
    int mark = 0;
    for (size_t i = 0; i < text->length; i++) {
        if (i > 0 && text->text[i - 1] != '\n')
            continue;
        for (; mark < w->marks.n && w->marks.items[mark].offset <= i; mark++)
            origin = w->marks.items[mark].origin;
        VEC_PUSH(w->c->arena, lines, origin);
    }
}
