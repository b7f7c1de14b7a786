/* fold.h - Declares the folding of long lines. */
#ifndef TIRC_CODEGEN_FOLD_H
#define TIRC_CODEGEN_FOLD_H

#include "ir/support.h"

/* Adds the line of C from `line` to `end`, which has no end of line, in several lines if it is
 * long. Directives of the preprocessor stay as they are. */
void fold_line(StrBuf *out, const char *line, const char *end);

#endif
