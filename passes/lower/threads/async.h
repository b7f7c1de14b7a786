/* async.h - Groups asynchronous copies, for the pass that inserts barriers (internal to
 * passes/lower). */
#ifndef TIRC_PASSES_LOWER_THREADS_ASYNC_H
#define TIRC_PASSES_LOWER_THREADS_ASYNC_H

#include "passes/lower/pass.h"

/* Whether the statement has blocks, and all of them are asynchronous copies. */
bool async_only(Context *c, const Stmt *s);
/* Checks that the blocks marked by copy_async are still copies, and that one thread makes those
 * marked by copy_bulk. False after a diagnostic. */
bool async_copies_can(Context *c, Stmt *root);
/* Some block is a bulk copy. */
bool async_has_bulk(Context *c, const Stmt *root);
/* Checks that `done`, the root with its commits and waits, has no more groups under way at a time
 * than MAX_PENDING where the root has bulk copies. False after a diagnostic. */
bool async_groups_can(Context *c, const Stmt *root, const Stmt *done);
/* Builds the commit that closes the group of `copies`. */
Stmt *async_commit(Context *c, const Stmt *copies);
/* How many of the latest groups may stay in flight at the end of an iteration of `counted`, whose
 * body commits them: the distance, in iterations of `counted`, between a copy and an access that it
 * is paired with (threads_meet), minus one. */
int async_pending(Threads *t, const BlockPairs *pairs, const Stmt *counted, const Stmt *body);

#endif
