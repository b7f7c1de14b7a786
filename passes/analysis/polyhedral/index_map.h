/* index_map.h - Represents index maps, [i, j] -> [i / 4, j, i % 4], which take the points of one
 * space to another.
 *
 * Schedules write layouts as index maps. relation.h and the simplifier answer how large the image
 * of a box is, whether the map is injective, and what its inverse is. */
#ifndef TIRC_PASSES_ANALYSIS_POLYHEDRAL_INDEX_MAP_H
#define TIRC_PASSES_ANALYSIS_POLYHEDRAL_INDEX_MAP_H

#include "passes/analysis/polyhedral/relation.h"
#include "passes/analysis/symbolic/simplify.h"

typedef struct IndexMap {
    Var *const *from; /* [n_from] the parameters, INDEX */
    int n_from;
    Expr *const *to; /* [n_to] of the parameters and symbolic sizes */
    int n_to;
} IndexMap;

/* "[i, j] -> [i / 4, j, i % 4]" */
void index_map_print(const IndexMap *map, StrBuf *out);

/* out[n_to]: the outputs with values in place of the parameters, not simplified. */
Expr **index_map_apply(Context *c, const IndexMap *map, Expr *const *values);

/* The variables as expressions; n zeros, the ends of a box from 0 on. */
Expr **exprs_of_vars(Context *c, Var *const *vars, int n);
Expr **exprs_zero(Context *c, int n);
/* The domains of the block's iterators. */
PointBox block_points(Context *c, const BlockStmt *block);
/* Facts: each variable of the box is between its ends. */
void facts_points(Facts *f, const PointBox *box);

/* lo <= var < hi. If the variable has only one value, the range is widened, so that simplified
 * expressions keep the variable: a later split of its loop has to find it. */
void facts_range_loosely(Facts *f, const Var *var, Expr *lo, Expr *hi);

/* The smallest extent[n] with 0 <= e[k] < extent[k] at all points of the box. -1, or the first k
 * for which there is none: it may be negative, or has no bound, or data decide it. `f` has
 * facts_points of the box. */
int box_of(Facts *f, const PointBox *box, Expr *const *e, int n, Expr **extent);

/* back[box->n]: the point that comes to a place, as expressions of the variables `place` [n], by
 * the digits of the outputs (digits.c); for places that no point comes to it says nothing. `f` has
 * facts_points of the box. False where the outputs do not have that form. */
bool digits_solve(Context *c, Facts *f, const PointBox *box, Expr *const *to, int n,
                  Var *const *place, Expr **back);
/* The same by either method; adds the points to `f`, which has the facts of the kernel. */
bool index_map_back(Facts *f, const PointBox *box, Expr *const *to, int n, Var *const *place,
                    Expr **back);

/* Some point of the box comes to the place: a condition on the variables `place` [n_to], which `f`
 * has the ranges of. `back` says which point, if any (relation_solve): it lies in the box, and the
 * map brings it there. NULL: that always holds. */
Expr *index_map_taken(Facts *f, const IndexMap *map, const PointBox *box, Expr *const *back,
                      Var *const *place);

#endif
