/* launch.h - Declares the questions about threads: can a loop run on them, and what do they share?
 *
 * Which thread runs what (see also docs/schedules.md): a block instance runs on the thread whose
 * coordinate on each axis is the value of the innermost loop around the block bound to that axis.
 * Loops bound to an axis further out, and bound loops that neither the block's bindings nor its
 * predicate use, do not distribute a block that writes shared or global memory: it runs once, on
 * coordinate 0 of the axis where it has none. A block that writes only local memory runs on every
 * thread of the loops around it, and one that writes shared but no global memory in every block of
 * the grid: each has its own copy to fill. */
#ifndef TIRC_PASSES_ANALYSIS_THREADS_LAUNCH_H
#define TIRC_PASSES_ANALYSIS_THREADS_LAUNCH_H

#include "passes/analysis/dependence/dependence.h"

/* The loop with the id of `as` may run with the kind and axis of `as`: PARALLEL, VECTORIZE and BIND
 * to a block axis: no dependence between different iterations of it (under equal outer loops) but
 * through barriers where the kind has them: BIND to a thread axis: a dependence between different
 * threads of a block must be ordered by serial loops or by the order of statements alone, so that a
 * barrier can keep it, and local memory is not shared. The kernel is looked at as if the loop
 * already had the kind and axis. A binding under which a block would run a different number of
 * times is refused too: two loops on one axis that one block depends on; or a bound loop that it
 * does not depend on, where running it once is not what running it in each iteration does
 * (thread_once.c). Shared and local buffers that nothing in the launch writes are left to lowering.
 * */
bool threads_loop_kind_legal(Context *c, const Kernel *kernel, const ForStmt *as, Conflict *why);

/* The one difference of a kernel from another one whose launches are legal, and have the same bound
 * loops: this loop is bound, this buffer has moved to other memory, or this block runs elsewhere or
 * in the place of others; or the same instances run on the same threads in another order, in which
 * those that depend on each other keep theirs. None of these: there are others. */
typedef struct {
    const ForStmt *bound;
    const Buffer *moved;
    const BlockStmt *block;
    bool order;
} LaunchChange;
/* The same for such a kernel: of its launches only what the change may make illegal is asked. */
bool threads_loop_kind_kept(Context *c, const Kernel *kernel, const ForStmt *as,
                            LaunchChange change, Conflict *why);

/* ---- between the threads of a block, for barrier insertion ----------------------------------- */

typedef struct Threads Threads;
/* A model of one launch: `root` is the outermost bound loop (or the whole serial nest) inside
 * `kernel`, with physical subscripts (after compaction) and bound loops still in place. */
Threads *threads_model(Context *c, const Kernel *kernel, Stmt *root);

/* An access `first` of one block and `second` of another (or the same), under the loops that hold
 * both. */
typedef struct {
    const Buffer *buffer;
    HazardKind kind;
    Span first_span, second_span;
} Hazard;

/* Pairs of a block of `before` in an iteration of the loops around both, and a block of `after`
 * later: in the same iteration of all of them (carrier == NULL), or in a later iteration of the
 * serial loop `carrier` with equal loops outside it. Both lists hold ST_BLOCKs of the launch in the
 * order of the text. */
typedef struct {
    const StmtList *before, *after;
    const Stmt *carrier;
    SyncKind by; /* of threads_hazards: what orders the two, SYNC_THREADS or SYNC_CLUSTER */
} BlockPairs;

/* Finds pairs in which two different threads of one block access one element, at least one writing,
 * without a barrier between them; with SYNC_CLUSTER, two of one cluster an element of its memory.
 * Each iteration of the serial loops `passed` passes a barrier. So
 * a path without one can only start in the last iteration of such a loop, end in the first, or join
 * adjacent iterations of the carrier. Only buffers in `shared` and `global` count. `found` is
 * called for one such access of each two blocks that have some, in no particular order. */
typedef void HazardFound(void *user, const Hazard *hazard);
void threads_hazards(Threads *t, const BlockPairs *pairs, const StmtList *passed,
                     HazardFound *found, void *user);

/* In a pair, two threads of one block, or one thread, access one element, at least one writing.
 * With a carrier, the second access is at most `distance` iterations of `counted` later. `counted`
 * is the carrier, or the innermost loop of a perfect nest below it: then iterations of the whole
 * nest are counted, where the extents are literal. These accesses force a wait on an asynchronous
 * store. */
bool threads_meet(Threads *t, const BlockPairs *pairs, const Stmt *counted, int64_t distance,
                  Hazard *hazard);

/* Returns the last of `sizes`, which descend, such that the threads of a block are several parts of
 * so many with consecutive numbers, x first, and no two threads of different parts access one
 * element of shared memory, one writing; nor do any two threads of a block in global memory. So a
 * barrier of a part orders all that one of the block would. 0: none of them is known to be one. */
int64_t threads_parted(Threads *t, const int64_t *sizes, int n);

/* Two different blocks of the grid touch one element of global memory, one writing, not both
 * atomic. */
bool threads_grid_conflict(Threads *t, Conflict *why);

/* A write of an element of a cluster's memory that may lie in another block than the one that runs
 * it: the first subscript is not proved to be its rank. NULL: there is none. */
const Access *threads_foreign_write(Threads *t);

/* Nothing in the launch writes an element that the block with id `block` reads of a buffer for
 * which asked(user, buffer) holds. */
bool threads_leave_alone(Threads *t, uint32_t block,
                         bool (*asked)(void *user, const Buffer *buffer), void *user,
                         Conflict *why);

/* ---- what an allocation in shared or local memory may forget --------------------------------- */

/* Every read of `buffer` finds an element that its owner (the block of the grid for shared memory,
 * the thread for local) has written before, in the same iteration of the first `n_fixed` loops of
 * the model's launch. False may be wrong, true is not. */
bool threads_reads_covered(Threads *t, const Buffer *buffer, int n_fixed);

/* An axis of a buffer whose element x is in place x % fold (see AxisLayout). */
typedef struct {
    const Buffer *buffer;
    int axis;
    int64_t fold;
} FoldedAxis;
/* Every read within an iteration of the first `n_fixed` loops finds the element that it means, if
 * something wrote it in that iteration before. Proved by order: seen from the elements being read
 * or written, nothing that lies `fold` or more ahead is written earlier, either upwards or
 * downwards; so a place is only ever taken over by an element that comes later, and for good. */
bool threads_fold_kept(Threads *t, FoldedAxis folded, int n_fixed, Conflict *why);

/* ---- the thread that runs a block ------------------------------------------------------------ */

/* The loop on `path` (root first, the block last) that gives the block's coordinate on `axis`;
 * NULL where the block runs on coordinate 0, or, if `every` comes back true, on every thread of
 * the axis. */
const Stmt *thread_loop(Context *c, const StmtPath *path, Axis axis, bool *every);
/* A loop that is bound to an axis of threads. */
static inline bool stmt_is_thread_loop(const Stmt *s)
{
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_BIND && axis_is_thread(s->u.loop.axis);
}

#endif
