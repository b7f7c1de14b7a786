/* packed.h - Tells which operations on 16-bit floats the GPU has for two elements in a register.
 *
 * A packed operation gives the bits that the scalar one gives. The scalar one computes in f32 and
 * rounds. f32 has 24 digits, at least 2 p + 2 for the p = 11 of f16 and the 8 of bf16, so sums,
 * differences and products are those of one rounding (Figueroa 1995), as add.rn.f16x2 and its like
 * compute them. Products below the normal range are exact in f32, or round to 0 both ways. fma
 * is rounded once by definition; the others (min, max, abs, negation) choose or change a sign. */
#ifndef TIRC_IR_PACKED_H
#define TIRC_IR_PACKED_H

#include "ir/ir.h"

typedef enum {
    PACKED_ADD,
    PACKED_SUB,
    PACKED_MUL,
    PACKED_MIN,
    PACKED_MAX,
    PACKED_MINIMUM,
    PACKED_MAXIMUM,
    PACKED_NEG,
    PACKED_ABS,
    PACKED_FMA,
    PACKED_COUNT
} PackedOp;

/* The packed operation that computes `e` for two lanes; PACKED_COUNT: none does. */
PackedOp packed_op(const Expr *e);
/* `e` is a packed operation, or a choice between 16-bit floats, made for two lanes by a mask. */
bool packed_or_chosen(const Expr *e);
/* f16 and bf16, two of which fill a register. */
bool packed_type(DType type);
/* `e` computes a 16-bit float by an operation without a packed form. Moves, choices and conversions
 * compute nothing. */
bool packed_is_missing(const Expr *e);
/* The number of operands that are evaluated whenever `e` is: of a selection, `&&` and `||` the
 * first one. */
int packed_certain_operands(const Expr *e);
/* `e` reads the element of the load whenever it is evaluated. */
bool expr_reads_certainly(const Expr *e, const Expr *load);

#endif
