/* async.h - Groups asynchronous copies and instructions, for the pass that inserts barriers
 * (internal to passes/lower). */
#ifndef TIRC_PASSES_LOWER_THREADS_ASYNC_H
#define TIRC_PASSES_LOWER_THREADS_ASYNC_H

#include "ir/instruction.h"
#include "passes/lower/pass.h"

/* What goes on behind its text, in groups of its own: asynchronous copies to shared memory;
 * instructions with the clauses `commit` and `wait`; bulk stores. */
typedef enum { FLIGHT_COPIES, FLIGHT_INSTRUCTIONS, FLIGHT_STORES, FLIGHT_KINDS } FlightKind;

/* Whether the statement has blocks, and all of them are of the kind. */
bool async_only(Context *c, const Stmt *s, FlightKind kind);
/* Checks that the blocks marked by copy_async are still copies, and that one thread makes those
 * marked by copy_bulk. False after a diagnostic. */
bool async_copies_can(Context *c, Stmt *root);
/* Some block of the launch copies asynchronously. */
bool async_has_any(Context *c, Stmt *root);
/* Some block is a bulk copy. */
bool async_has_bulk(Context *c, const Stmt *root);
/* Checks that `done`, the root with its commits and waits, has no more groups under way at a time
 * than MAX_PENDING where the root has bulk copies. False after a diagnostic. */
bool async_groups_can(Context *c, const Stmt *root, const Stmt *done);
/* The one kind of groups that the instructions of the launch make: one of those instructions. NULL:
 * there is none, or there are several, which nobody counts. */
const Instruction *async_queue(Context *c, const Stmt *root);
/* In registers, a block of `after` touches what instructions of `in_flight` write, or writes what
 * they read: its name. NULL: none does. Executions of one instruction are no hazard: the hardware
 * keeps their order where they add to the same registers. */
Name async_registers(Context *c, const StmtList *in_flight, const StmtList *after);
/* Builds the commit that closes the group of `members`; `of` is NULL for copies, that of
 * bulk_stores for bulk stores. */
Stmt *async_commit(Context *c, const Instruction *of, const Stmt *members);
/* Drops the commits of copies behind which the launch waits for none: no wait counts them. */
Stmt *async_drop_commits(Context *c, Stmt *launch);
/* How many of the latest groups of the kind may stay in flight at the end of an iteration of
 * `counted`, whose body commits them: the distance, in iterations of `counted`, between a member
 * and an access that it is paired with (threads_meet), minus one. */
typedef struct {
    FlightKind kind;
    const Stmt *counted, *body;
} CountedGroups;
int async_pending(Threads *t, const BlockPairs *pairs, const CountedGroups *groups);
/* The same where each iteration of `counted` commits a group. */
int async_apart(Threads *t, const BlockPairs *pairs, const Stmt *counted);

#endif
