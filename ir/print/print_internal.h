/* print_internal.h - Declares functions that print.c, print_expr.c and print_kernel.c share. */
#ifndef TIRC_IR_PRINT_INTERNAL_H
#define TIRC_IR_PRINT_INTERNAL_H

#include "ir/instruction.h"

/* An expression where a bare literal would be read as of type `want`; DT_COUNT where nothing gives
 * it a type, so that it would be read as `index` or f32. */
void print_value(const Expr *e, DType want, StrBuf *out);
/* An expression that is stored to elements of type `type`, which it has. */
void print_stored(const Expr *e, DType type, StrBuf *out);
/* An expression where a conversion to `index` goes without saying: a subscript or a loop's
 * bound. */
void print_index(const Expr *e, StrBuf *out);
/* [a, b, c] of subscripts or a shape; nothing for rank 0. */
/* `.streaming` behind the name of a buffer; nothing for HINT_NONE. */
void print_hint(CacheHint hint, StrBuf *out);
void print_indices(Expr *const *items, int n, StrBuf *out);
typedef enum { RANGE_UP, RANGE_DOWN } RangeWay;

/* lo..hi, or hi alone where lo is 0. */
void print_range(const Expr *lo, const Expr *hi, RangeWay way, StrBuf *out);

enum { PRINT_INDENT = 4 };
/* x: f32[N, 4] */
void print_type(const Buffer *buffer, StrBuf *out);
void print_digits(const Buffer *buffer, StrBuf *out); /*  sum_digits(14) product_digits(19) */
/* A header, broken into lines that are continued two levels further in. */
void print_wrapped(const char *text, int indent, StrBuf *out);
/* The body of a kernel in braces, behind the end of the line. */
void print_kernel_body(Context *c, const Kernel *kernel, StrBuf *out);

#endif
