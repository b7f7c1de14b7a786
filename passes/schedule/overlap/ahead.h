/* ahead.h - Moves statements to an earlier iteration than their own (internal to passes/schedule).
 *
 * What pipeline and rotate build: the first iterations of these statements before the loop, the
 * others inside it. The loop stands at the end of `path` and `loop` is the same from 0 in steps of
 * 1 (loop_from_zero). */
#ifndef TIRC_PASSES_SCHEDULE_OVERLAP_AHEAD_H
#define TIRC_PASSES_SCHEDULE_OVERLAP_AHEAD_H

#include "passes/schedule/flow.h"

typedef struct {
    Schedule *s;
    Stmt *loop;
    const StmtPath *path;
} AheadLoop;

/* The range of the loop is one of sizes and loops, so that a condition can say which iterations
 * have a later one. False after a refusal (E0464). */
bool ahead_require_range(Schedule *s, const Stmt *loop, Span span);

/* The first temp of the loop's body that the group touches: another one in each iteration, which
 * does not exist before the loop. NULL: it touches none. */
const Buffer *ahead_own_temp(const AheadLoop *a, const Stmt *group);

/* Iterations 0 to n - 1 of `group`, n >= 1, those that the loop has: copies with loops and blocks
 * of their own, called NAME_first, for a place before the loop. */
Stmt *ahead_before(const AheadLoop *a, Stmt *group, int64_t n);

/* `group` of the iteration `by` later, where there is one, for a place in the loop. One condition
 * for all of it. */
Stmt *ahead_inside(const AheadLoop *a, Stmt *group, int64_t by);

/* In a model of the order: `group` of iteration `value`, where `cond` holds. The loop stands around
 * it with this one iteration, which says whose a copy is that each iteration makes anew. */
Stmt *ahead_model(const AheadLoop *a, Stmt *group, Expr *value, Expr *cond);
/* The loop of such a model, without its body: `by` iterations more than the loop has. */
ForStmt ahead_model_loop(const AheadLoop *a, int64_t by);
/* The order of the model keeps what instances of the loop depend on. */
bool ahead_order_kept(const AheadLoop *a, const ForStmt *model, Conflict *why);

#endif
