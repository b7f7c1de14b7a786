/* format.c - Implements tirc_format_text and tirc_format_file: the one style of programs and
 * schedules. */
#include "frontend/syntax/format.h"
#include "frontend/api/internal.h"
#include "frontend/script/script.h"

#include <stdio.h>
#include <string.h>

static bool format_source(tirc *t, uint32_t source, tirc_text *formatted)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    if (!source)
        return false;
    t->subject = arena_printf(t->ctx->arena, "tirc fmt %s", source_get(t->ctx, source)->path);
    if (!format_text(t->ctx, source, &out))
        return false;
    *formatted = (tirc_text){out.text, out.length};
    return true;
}

static bool format(tirc *t, const char *name, tirc_text text, tirc_text *formatted)
{
    return format_source(t, source_add(t->ctx, name, text.text, text.length), formatted);
}

tirc_status tirc_format_text(tirc *t, const char *name, tirc_text text, tirc_text *formatted)
{
    API_GUARDED(t, format(t, name, text, formatted));
}

static bool format_file(tirc *t, const char *path, tirc_text *text, tirc_text *formatted)
{
    uint32_t source = !strcmp(path, "-") ? script_read_stream(t->ctx, stdin, "<stdin>", span_none())
                                         : script_read_file(t->ctx, path, span_none());
    if (!format_source(t, source, formatted))
        return false;
    *text = (tirc_text){source_get(t->ctx, source)->text, source_get(t->ctx, source)->length};
    return true;
}

tirc_status tirc_format_file(tirc *t, const char *path, tirc_text *text, tirc_text *formatted)
{
    API_GUARDED(t, format_file(t, path, text, formatted));
}
