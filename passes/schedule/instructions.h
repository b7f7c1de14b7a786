/* instructions.h - Declares how blocks match instructions, for tensorize and for the check after
 * each step (internal to passes/schedule). */
#ifndef TIRC_PASSES_SCHEDULE_INSTRUCTIONS_H
#define TIRC_PASSES_SCHEDULE_INSTRUCTIONS_H

#include "passes/schedule/sched.h"
#include "passes/shared/unify.h"

/* The key of an annotation that says how the block makes its accesses, which the CUDA text of an
 * instruction says itself; NULL: none. */
const char *sched_access_annotation(const BlockStmt *block);
typedef enum { PLACES_ANY, PLACES_ALIGNED } Places;
/* Matches the body of the block at the end of `path` with u->of; its operands begin where the
 * instruction needs it, if that is asked. False, with the reason in *u. */
bool sched_matches(Schedule *s, Unify *u, const StmtPath *path, Places places);

#endif
