/* exact_index.h - index arithmetic of a lowered kernel as exact integers, for proofs about it.
 *
 * The text computes some subscripts as i64 and casts them back (widen.c), and refers to its thread
 * by axes. Here everything is an INDEX over variables. That is the same value wherever 64 bits hold
 * it. */
#ifndef TIRC_PASSES_LOWER_INDEX_EXACT_INDEX_H
#define TIRC_PASSES_LOWER_INDEX_EXACT_INDEX_H

#include "ir/ir.h"

/* `axes` are the variables that stand for the axes of the launch around, [AXIS_COUNT]; outside of
 * launches none is used. */
Expr *const *exact_index_exprs(Context *c, Expr *const *e, int n, Var *const *axes);
/* Adds the axes of the launch to the path, as loops over new variables, which come back in
 * `axes`. */
void exact_index_axes(Context *c, const Stmt *launch, Var **axes, EnclosingList *path);
/* The bounds, conditions and values of what is around a place. */
EnclosingList exact_index_scopes(Context *c, const EnclosingList *path, Var *const *axes);
/* The same scopes with variables replaced. */
EnclosingList scopes_subst(Context *c, const EnclosingList *scopes, const Subst *map, int n);

#endif
