/* format.h - Declares the formatter: one style for programs and schedules. */
#ifndef TIRC_FRONTEND_SYNTAX_FORMAT_H
#define TIRC_FRONTEND_SYNTAX_FORMAT_H

#include "frontend/syntax/ast.h"

/* Appends the text of a registered source in the one style of the language (docs/cli.md). Tokens
 * and comments stay as they are written and in their order; only blanks, line breaks and blank
 * lines between them change. Formatting the result changes nothing. False, with at least one error
 * in `c`, if the text does not parse. */
bool format_text(Context *c, uint32_t source, StrBuf *out);

#endif
