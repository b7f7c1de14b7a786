/* linear.h - Declares the linear form of an expression in an element: scale * element + offset. */
#ifndef TIRC_PASSES_SHARED_LINEAR_H
#define TIRC_PASSES_SHARED_LINEAR_H

#include "ir/ir.h"

/* e = scale * x + offset, where neither part reads the buffer of the element x. */
typedef struct {
    Expr *const *index; /* of x */
    Expr *scale;
    Expr *offset; /* NULL: 0 */
    bool forgets; /* a choice does not read x: scale is 0 there, whatever number x is or is not */
} LinearForm;

/* Finds that form of a value of the buffer's type; sums and products round otherwise than in `e`.
 * False: the expression has another form. */
bool linear_form(Context *c, Expr *e, const Buffer *buffer, LinearForm *out);

#endif
