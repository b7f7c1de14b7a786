/* lines.c - Converts places in a text. */
#include "lines.h"

#include <string.h>

Lines *lines_new(const char *text, gsize length)
{
    Lines *lines = g_new0(Lines, 1);
    lines->text = text;
    lines->length = length;
    lines->begins = g_array_new(FALSE, FALSE, sizeof(gsize));
    for (gsize at = 0;;) {
        g_array_append_val(lines->begins, at);
        const char *end = memchr(text + at, '\n', length - at);
        if (!end)
            return lines;
        at = (gsize)(end - text) + 1;
    }
}

void lines_free(Lines *lines)
{
    g_array_free(lines->begins, TRUE);
    g_free(lines);
}

/* The begin of line `line`, from 0; the end of the text past the last. */
static gsize begin_of(const Lines *lines, gsize line)
{
    return line < lines->begins->len ? g_array_index(lines->begins, gsize, line) : lines->length;
}

static gsize end_of(const Lines *lines, gsize line)
{
    gsize end = begin_of(lines, line + 1);
    if (line + 1 < lines->begins->len)
        end--;
    return end;
}

/* The bytes of the character that begins with `byte`, and its UTF-16 units. */
static gsize bytes_of(unsigned char byte)
{
    return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
}

/* UTF-16 units of `length` bytes of UTF-8. */
static gint64 lines_units(const char *text, gsize length)
{
    gint64 units = 0;
    for (gsize i = 0; i < length; i += bytes_of((unsigned char)text[i]))
        units += (unsigned char)text[i] >= 0xf0 ? 2 : 1;
    return units;
}

gsize lines_offset(const Lines *lines, GVariant *position)
{
    gint64 line = MAX(lsp_number(position, "line", 0), 0);
    gint64 units = lsp_number(position, "character", 0);
    gsize at = begin_of(lines, (gsize)line), end = end_of(lines, (gsize)line);
    while (at < end && units > 0) {
        units -= (unsigned char)lines->text[at] >= 0xf0 ? 2 : 1;
        at += bytes_of((unsigned char)lines->text[at]);
    }
    return MIN(at, end);
}

void lines_place(const Lines *lines, gsize offset, int *line, int *column)
{
    guint low = 0, high = lines->begins->len;
    while (low + 1 < high) {
        guint middle = (low + high) / 2;
        if (begin_of(lines, middle) <= offset)
            low = middle;
        else
            high = middle;
    }
    *line = (int)low + 1;
    *column = (int)(offset - begin_of(lines, low)) + 1;
}

GVariant *lines_position(const Lines *lines, int line, int column)
{
    gsize at = line < 1 ? 0 : (gsize)line - 1;
    gsize begin = begin_of(lines, at), bytes = column < 1 ? 0 : (gsize)column - 1;
    bytes = MIN(bytes, end_of(lines, at) - begin);
    return lsp_object("line", lsp_int((gint64)at), "character",
                      lsp_int(lines_units(lines->text + begin, bytes)), NULL);
}

GVariant *lines_range(const Lines *lines, const tirc_place *place)
{
    return lsp_object("start", lines_position(lines, place->line, place->column), "end",
                      lines_position(lines, place->end_line, place->end_column), NULL);
}
