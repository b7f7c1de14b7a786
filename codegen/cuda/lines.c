/* lines.c - Records which statement each line of the text comes from.
 *
 * Writers mark where the text of a statement begins; text after a mark comes from that statement,
 * up to the next mark. Marks are at the start of lines. */
#include <string.h>

#include "codegen/cuda/text.h"
#include "codegen/fold.h"

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

StrBuf cuda_folded(CudaWriter *w, const StrBuf *text)
{
    StrBuf out = strbuf_new(w->c->arena);
    const char *end = text->text + text->length;
    int mark = 0;
    for (const char *line = text->text; line < end;) {
        size_t offset = (size_t)(line - text->text);
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        for (; mark < w->marks.n && w->marks.items[mark].offset <= offset; mark++)
            w->marks.items[mark].offset = out.length;
        fold_line(&out, line, stop);
        strbuf_add(&out, "\n");
        line = stop + 1;
    }
    for (; mark < w->marks.n; mark++) /* of what comes next */
        w->marks.items[mark].offset = out.length;
    return out;
}

/* ---- comments -------------------------------------------------------------------------------- */

/* How many bytes at `text` are one character of UTF-8; 0: none. */
static int character_length(const unsigned char *text)
{
    int length = text[0] < 0x80                      ? 1
                 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                 : (text[0] & 0xf0) == 0xe0          ? 3
                 : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                     : 0;
    for (int i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool no_character =
        (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf4 && text[1] >= 0x90);
    return overlong || no_character ? 0 : length;
}

/* Controls, ends of lines, and what changes the direction in which others are shown: U+0000 to 1F,
 * 7F to 9F, 200E, 200F, 2028 to 202E, 2066 to 2069. */
static bool is_control(const unsigned char *text)
{
    if (text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0))
        return true;
    return text[0] == 0xe2 && ((text[1] == 0x80 && (text[2] == 0x8e || text[2] == 0x8f ||
                                                    (text[2] >= 0xa8 && text[2] <= 0xae))) ||
                               (text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9));
}

const char *cuda_comment(Context *c, const char *text)
{
    StrBuf out = strbuf_new(c->arena);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int length = character_length(at);
        bool unclear = length == 0 || is_control(at) || *at == '?';
        if (unclear) /* two question marks may begin a trigraph */
            strbuf_addc(&out, out.length > 0 && out.text[out.length - 1] == '?' ? '.' : '?');
        else
            strbuf_addn(&out, (const char *)at, (size_t)length);
        at += length ? length : 1;
    }
    bool joins = out.length > 0 && out.text[out.length - 1] == '\\';
    strbuf_add(&out, joins ? "." : "");
    return out.text;
}
