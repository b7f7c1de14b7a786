/* roles.h - Decides whether a loop can give its bulk copies to a producer. */
#ifndef TIRC_PASSES_SHARED_ROLES_H
#define TIRC_PASSES_SHARED_ROLES_H

#include "ir/ir.h"

/* The loop at the end of `path`, which starts at a launch's outermost bound loop: why its bulk
 * copies cannot have a thread for themselves; NULL: they can. All that crosses between them and the
 * rest of the launch is what they copy, within an iteration. */
const char *roles_obstacle(Context *c, const StmtPath *path);
/* The loop at the end of `path`, likewise, around one whose copies have a thread of their own: why
 * its iterations cannot be turns of consumers; NULL: they can, each with `*groups` groups of
 * copies, if they meet in no memory. */
const char *turns_obstacle(Context *c, const StmtPath *path, int64_t *groups);

#endif
