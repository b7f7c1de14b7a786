/* size_limit.h - Represents limits on the sizes of a run, as text and as values. */
#ifndef TIRC_CODEGEN_SIZE_LIMIT_H
#define TIRC_CODEGEN_SIZE_LIMIT_H

#include "ir/ir.h"

/* A limit of the sizes as text, "(N + 255) / 256". */
const char *size_limit_text(Context *c, const SizeLimit *limit);
/* Its value in f64, which no size makes too large. */
Expr *size_limit_value(Context *c, const SizeLimit *limit);

#endif
