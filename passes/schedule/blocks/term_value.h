/* term_value.h - Evaluates a term where some of its elements are known (internal to
 * passes/schedule/blocks). */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_TERM_VALUE_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_TERM_VALUE_H

#include "ir/ir.h"

/* The literal that an element is, for `term_value`; NULL where it may have any value. */
typedef Expr *(*ElementValue)(const void *user, const Expr *load);

/* The literal that the expression is, whatever its other elements, its variables and the rounding
 * are; NULL if that is not known. */
Expr *term_value(Context *c, const Expr *e, ElementValue element, const void *user);

#endif
