/* unify.h - Matches a statement with what an instruction computes.
 *
 * The two match if the statement is the body of the instruction with other names: the same stores
 * of the same operations on values of the same types, up to the order of commutative operands and
 * of loops, in loops of the same numbers of iterations. Each operand is then a part of one buffer:
 * element [x, y] of the operand is the element base + x * step[0] + y * step[1] of the buffer, for
 * which the steps must give the strides that the instruction asks for. */
#ifndef TIRC_PASSES_SHARED_UNIFY_H
#define TIRC_PASSES_SHARED_UNIFY_H

#include "ir/instruction.h"
#include "passes/analysis/symbolic/simplify.h"

/* Where an operand lies. */
typedef struct {
    Buffer *buffer;
    Expr *const *base;   /* [buffer->rank] the subscripts of its first element */
    const int64_t *step; /* [buffer->rank * rank] along axis d for axis x: step[d * rank + x] */
} OperandPlace;

typedef struct {
    Context *c;
    Facts *facts; /* that hold where the statement is */
    const Instruction *of;
    /* Lowering shrinks buffers in shared and local memory to what is in use. Before it has, strides
     * and alignment that depend on their extents are not asked about. */
    bool compacted;
    const Var *lane; /* threadIdx.x in the statement, for an instruction of a warp; NULL: none */
    /* the result */
    const OperandPlace *places; /* [of->n_operands] */
    bool reassociates;          /* floating-point terms are added in an order that is not stated */
    /* or why there is none */
    ErrorCode code;
    const char *why;
    Span at; /* of the program */
} Unify;

/* An access of an operand, and what goes along one of its axes alone. */
typedef struct {
    Expr *const *index;
    int rank, axis;
    const Var *lane; /* of the instruction; NULL: one thread runs it */
    int64_t lanes;
    /* the result: `apart` iterations of the loop, or lanes, are `factor` elements apart */
    const Var *var;
    int64_t apart, factor;
} AxisStep;

/* False if no loop and no lanes go along the axis alone. */
bool operand_axis_step(Context *c, Facts *facts, AxisStep *of);
/* By how much the expression grows where the variable goes from 0 to `apart`; false if that is no
 * literal number. Of a loop, it is the same in all iterations. */
bool operand_axis_moves(Context *c, Facts *facts, Expr *e, const Var *var, int64_t apart,
                        int64_t *by);

/* The iterator of the block whose value is `coordinate`, threadIdx.x; NULL if there is none, or
 * others differ between the threads of a warp, too. */
const Var *unify_lane(const BlockStmt *block, const Var *coordinate);

/* The extents of the buffer are those that it has in the end. */
bool unify_is_settled(const Unify *u, const Buffer *buffer);

/* False, with the reason, where they do not match. */
bool unify(Unify *u, Stmt *body);
/* The operands of a match begin where the instruction needs it; `map` replaces variables of the
 * bases, for which the facts hold. False, with the reason, where that is not known. */
bool unify_aligned(Unify *u, const Subst *map, int n);
/* The elements that the template names: loads, [of->n_elements]. */
Expr **unify_elements(Unify *u);

/* The distance in elements of neighbours along axis `d`; symbolic extents give an expression. */
Expr *buffer_stride(Context *c, const Buffer *buffer, int d);
/* The place of an element in memory, in elements. Padded rows count with their padding. */
Expr *buffer_place(Context *c, const Buffer *buffer, Expr *const *index);

#endif
