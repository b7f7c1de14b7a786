/* lines.h - Converts places: offsets in bytes, lines and columns of libtirc, which count bytes from
 * 1, and positions of the protocol, which count UTF-16 units from 0. */
#ifndef TIRC_LSP_LINES_H
#define TIRC_LSP_LINES_H

#include "tirc.h"
#include "value.h"

/* A text and where its lines begin. */
typedef struct {
    const char *text;
    gsize length;
    GArray *begins; /* of gsize */
} Lines;

Lines *lines_new(const char *text, gsize length);
void lines_free(Lines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Lines, lines_free)

/* The offset of a position, within the text and in front of the end of its line. */
gsize lines_offset(const Lines *lines, GVariant *position);
/* Line and column of libtirc. */
void lines_place(const Lines *lines, gsize offset, int *line, int *column);
GVariant *lines_position(const Lines *lines, int line, int column);
GVariant *lines_range(const Lines *lines, const tirc_place *place);

#endif
