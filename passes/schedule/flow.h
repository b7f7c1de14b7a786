/* flow.h - Finds the writers and readers of buffers, for primitives that move blocks (internal to
 * passes/schedule). */
#ifndef TIRC_PASSES_SCHEDULE_FLOW_H
#define TIRC_PASSES_SCHEDULE_FLOW_H

#include "passes/schedule/sched.h"
#include "passes/shared/rebuild.h"

/* The blocks that touch `buffer` in `mode`, in program order. */
typedef StmtList BlockList;
BlockList flow_blocks(Schedule *s, Stmt *root, const Buffer *buffer, AccessMode mode);
/* The first of them that is not `of`; NULL: none. */
const Stmt *flow_other_block(Schedule *s, Stmt *root, const Stmt *of, const Buffer *buffer,
                             AccessMode mode);

/* The buffers that a block reads or writes, each once; */
typedef VEC(const Buffer *) BufferSet;
BufferSet flow_buffers(Schedule *s, Stmt *block, AccessMode mode);
/* added to those of `out`. */
void flow_add_buffers(Schedule *s, Stmt *block, AccessMode mode, BufferSet *out);

/* The one buffer that a block writes; NULL if it writes several or none. */
Buffer *flow_written(Schedule *s, Stmt *block);

/* The block is one store of `op =`, beside its init: no control flow of its own. The store has the
 * values of the block's lets written out. NULL otherwise. */
const Stmt *flow_single_store(Context *c, const Stmt *block);
/* Why there is none: "has several stores". */
const char *flow_no_single_store(Context *c, const Stmt *block);

/* `store`, the block's only one of `buffer`, gives each element a value that does not depend on
 * what was there before, there or in other elements. */
bool flow_starts_anew(Context *c, Stmt *block, const Stmt *store, const Buffer *buffer);

/* The value of the store reads another element of its buffer than the one that it writes. */
bool flow_reads_other_element(Context *c, const Stmt *store);

/* Writes out the values of the block's lets if a subscript of `buffer` uses one, so that its
 * subscripts are made of iterators; the path becomes the one to the block as it is now, its
 * result. */
Stmt *flow_write_out_subscripts(Schedule *s, Stmt *block, StmtPath *path, const Buffer *buffer);
/* Writes out the values of the block's lets, if its body is then a single store. */
Stmt *flow_write_out(Schedule *s, Stmt *block, StmtPath *path);

/* Each subscript is another iterator of the block, alone: iters[axis] is the index of that
 * iterator. False otherwise. */
bool flow_pure_index(const BlockStmt *block, const Buffer *buffer, Expr *const *index, int *iters);

/* The block `stmt` alone in loops of its own over all that its iterators may be. */
Stmt *flow_whole_nest(Schedule *s, const Stmt *stmt);
/* The block runs for each value of its iterators' domains: no step of a loop and no condition
 * leaves some out. */
bool flow_runs_whole(Schedule *s, const Stmt *block, Conflict *why);
/* And it runs once for each. */
bool flow_runs_once(Schedule *s, const Stmt *block, Conflict *why);

/* Declares temps in front of item `from` of the sequence that are declared behind it, in front of
 * item `to`: those that `user` accesses, or all (NULL). One whose name means something else in
 * between stays. Returns whether the kernel is another one now. */
bool flow_declare_first(Schedule *s, const Stmt *seq, int from, int to, Stmt *user);
/* The same in front of where the path `place` leaves that of a block, for temps of the block. */
bool flow_declare_for(Schedule *s, const StmtPath *user, const StmtPath *place);

/* How deep the paths agree: the number of common nodes from the root. */
int flow_common(const StmtPath *a, const StmtPath *b);

/* Two items of a sequence, from < to. */
typedef struct {
    const Stmt *seq;
    int from, to;
} SeqRange;

/* A block of a kernel, which may be one that a step has built so far. */
typedef struct {
    const Kernel *kernel;
    Stmt *block;
} BlockIn;

/* A block between item `from` and the end of item `to`, which the kernel has, too, writes what the
 * reader reads there. NULL: none; else the writer, and the buffer. */
const Stmt *flow_overwritten(Schedule *s, SeqRange range, BlockIn reader, const Buffer **buffer);

/* A block whose init, which stands before the outermost loop of its reduction, would stand
 * elsewhere with the nest `now` in the place of `old`; NULL: none. */
const Stmt *flow_moved_init(Schedule *s, Stmt *old, Stmt *now);

/* The nest `old` may become `now`, which runs the same instances of its blocks in the same order,
 * but stands for another nest of loops: where that moves inits, no dependence turns round. False
 * after an error in the name of the primitive at work. */
bool flow_require_inits(Schedule *s, Stmt *old, Stmt *now, Span span);

/* Refuses a buffer that decides which instances of the block there are: only inputs may do that, so
 * no copy can take its place. */
bool flow_require_no_range(Schedule *s, const Stmt *block, const Buffer *buffer, Span span);

/* `body` without the block, and without the loops around it that hold nothing else. */
Stmt *flow_remove(Schedule *s, Stmt *body, const Stmt *block);
/* The same for the end of a path. */
Stmt *flow_remove_end(Schedule *s, Stmt *body, const StmtPath *path);

/* Refuses a buffer whose shape changes with a loop: blocks of a primitive's own that go over it
 * speak of sizes only. */
bool flow_require_fixed_shape(Schedule *s, const Buffer *buffer, ErrorCode code, Span span);
/* `body` with a declaration of `buffer` after the others at its top. */
Stmt *flow_declare(Schedule *s, Stmt *body, Buffer *buffer);
/* The same beside `of`, where that is declared in loops: it is private to their iterations. */
Stmt *flow_declare_beside(Schedule *s, Stmt *body, const Buffer *of, Buffer *buffer);
/* `body` without the declaration of `buffer`. */
Stmt *flow_undeclare(Schedule *s, Stmt *body, const Buffer *buffer);
/* `body` with the declaration of `buffer` moved into the body of the loop. */
Stmt *flow_declare_in(Schedule *s, Stmt *body, const Stmt *loop, Buffer *buffer);

/* "give each thread a copy of 't', with ...": the step that makes a bound loop of the kernel legal
 * whose iterations clash in a temp in global memory; "" if that is not what is wrong. */
const char *flow_scope_remedy(Schedule *s, const Kernel *kernel, const ForStmt *loop,
                              const Conflict *why);

/* The nest without the launches that the kernel has already, about which a step need not ask again;
 * NULL if nothing is left. */
Stmt *flow_changed_launches(Schedule *s, Stmt *nest);

/* In a kernel with this body, the loops around and below `loop` that are bound, vectorized or
 * parallel are still legal. False after an error in the name of the primitive at work. */
bool flow_recheck_kinds(Schedule *s, Stmt *body, uint32_t loop, Span span);

/* The same where the instances below `loop`, which is serial, run on the same threads in another
 * order, in which those that depend on each other keep theirs. */
bool flow_recheck_order(Schedule *s, Stmt *body, uint32_t loop, Span span);

/* The same where `body` differs in one thing: the block runs elsewhere, or it is new and runs in
 * the place of others. */
bool flow_recheck_block(Schedule *s, Stmt *body, uint32_t loop, const BlockStmt *block, Span span);
/* The same for every nest that the kernel does not have already. */
bool flow_recheck_all(Schedule *s, Stmt *body, Span span);
/* The same where `body` differs in one thing, that `moved` has other memory. */
bool flow_recheck_moved(Schedule *s, Stmt *body, const Buffer *moved, Span span);

/* The change in the form of questions about threads: none of the kernel's reductions across
 * threads, which are taken apart there, runs elsewhere by it. Without one where that may be. */
LaunchChange flow_change_apart(Context *c, const Kernel *kernel, LaunchChange change);

/* The kernel with reductions across threads in the form that they run in (lower.h): what questions
 * about threads are asked of. NULL after an error in the name of the primitive at work. */
const Kernel *flow_threads_apart(Schedule *s, const Kernel *kernel, Span span);

/* The threads of the launch around `path` in the kernel with this body, for threads_reads_covered
 * and its like. NULL after an error in the name of the primitive at work. */
Threads *flow_threads(Schedule *s, Stmt *body, const StmtPath *path, Span span);

/* Every element of `buffer` that is read below the outermost loop of the path has been written
 * there before, in the order of one thread. */
bool flow_written_before_read(Schedule *s, const StmtPath *path, const Buffer *buffer);

/* The same in each iteration of the loop at the end of the path, which leads from `body`, that of
 * the kernel to come. */
bool flow_written_in_iteration(Schedule *s, Stmt *body, const StmtPath *path, const Buffer *buffer);

/* The same in the whole kernel, if it has this body: in each iteration of the loops that declare
 * the buffer. */
bool flow_written_before_use(Schedule *s, Stmt *body, const Buffer *buffer);
/* The same of another kernel. */
bool flow_kernel_writes_before_use(Schedule *s, const Kernel *kernel, const Buffer *buffer);
/* The end of the subscripts with which the kernel accesses the buffer along an axis: 0 where it
 * does not, and NULL if it is not known. */
Expr *flow_end_of_accesses(Schedule *s, const Buffer *buffer, int axis, AccessMode mode);

/* A serial loop lo..hi with a fresh variable, around a body to be filled in. */
ForStmt flow_loop(Schedule *s, Name name, Expr *lo, Expr *hi);

#endif
