/* wide.h - is a vectorized loop one access of several elements? (internal to passes/lower) */
#ifndef TIRC_PASSES_LOWER_ACCESS_WIDE_H
#define TIRC_PASSES_LOWER_ACCESS_WIDE_H

#include "passes/lower/lanes.h"

typedef struct {
    Context *c;
    Facts *facts;
    SubstList lets;
    VEC(const Stmt *) around; /* the loops that one thread runs, outermost first */
    const Stmt *loop;         /* asked about */
    int64_t lanes;
    const char *why; /* why the loop cannot be wide, once known */
    const char *remedy;
} WideCheck;

/* Sets `why` and `remedy` where the loop is not one store whose accesses are contiguous along it,
 * and aligned, or the same for all lanes; else `why` is NULL. */
void wide_check(WideCheck *w, Stmt *loop);

/* An operand of `e` that is only evaluated under a condition has a wide load, of the loop that was
 * asked about last. */
bool wide_is_lazy(const WideCheck *w, const Expr *e);

#endif
