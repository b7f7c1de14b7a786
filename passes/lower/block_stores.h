/* block_stores.h - Rewrites the stores in the body of a block as they run in a launch (internal to
 * passes/lower). */
#ifndef TIRC_PASSES_LOWER_BLOCK_STORES_H
#define TIRC_PASSES_LOWER_BLOCK_STORES_H

#include "passes/lower/pass.h"

/* The statement with lets and stores in place of updates of tuples. */
Stmt *updates_dissolved(Context *c, Stmt *s);
/* The statement with asynchronous stores in place of those that set an element. */
Stmt *stores_made_async(Context *c, Stmt *s);
/* The statement with atomic updates of what threads share. */
Stmt *stores_made_atomic(Context *c, Stmt *s);

#endif
