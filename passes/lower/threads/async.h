/* async.h - Groups asynchronous copies, for the pass that inserts barriers (internal to
 * passes/lower). */
#ifndef TIRC_PASSES_LOWER_THREADS_ASYNC_H
#define TIRC_PASSES_LOWER_THREADS_ASYNC_H

#include "passes/lower/pass.h"

/* The statement's blocks are asynchronous copies; it has some. */
bool async_only(Context *c, const Stmt *s);
/* The blocks below a statement that were told to copy asynchronously can still do that. False after
 * a diagnostic. */
bool async_copies_can(Context *c, Stmt *root);
/* What closes the group of `copies`. */
Stmt *async_commit(Context *c, const Stmt *copies);
/* How many of the latest groups may go on at the end of an iteration of `counted` (whose body has
 * its commits): what lies between a copy of `flying` and an access of `blocks` in a later iteration
 * of `carrier`, in iterations of `counted` (threads_meet), less one. */
int async_pending(Threads *t, const StmtList *flying, const StmtList *blocks, const Stmt *carrier,
                  const Stmt *counted, const Stmt *body);

#endif
