/* place.h - moving a block into other loops (internal to passes/schedule; what compute_at and
 * reverse_compute_at share). */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_PLACE_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_PLACE_H

#include "passes/schedule/flow.h"

/* ---- may it move ---- */

/* The sequence in which the block at the end of one path and the loop at the end of the other are
 * different items, and which. Refuses where there is none (E0467, E0468), and where a temp (E0465)
 * or the name of a loop (E0466) would come between. */
bool place_sequence(Schedule *s, const PrimCall *call, const StmtPath *block, const StmtPath *loop,
                    const Stmt **seq, int *block_item, int *loop_item);
/* The block leaves nothing behind when it leaves items `from` on of its path: no condition, no kind
 * or step of a loop. Refuses (E0451) otherwise. */
bool place_own_loops_plain(Schedule *s, const PrimCall *call, const StmtPath *path, int from);

/* ---- the move ---- */

/* A part of a buffer: a box, and runs inside of it for the axes that have gaps. */
typedef struct {
    Interval *box;
    Run *runs;   /* [rank * REGION_RUNS] */
    int *n_runs; /* [rank]; 0, or without the array: all of the box */
} Part;

/* The block in new loops: over the part for the iterators that index it (axis_of[i] is the axis,
 * -1: none), over their domains for the others. `target` leads to the loop that it comes under, and
 * the facts hold there. */
Stmt *place_nest(Schedule *s, Facts *facts, const StmtPath *target, const Stmt *block,
                 const int *axis_of, const Part *part);
/* The kernel's body with the block taken out of its old loops, and the nest under the loop: before
 * the first item that reads the buffer, or after the last that writes it. */
Stmt *place_before_readers(Schedule *s, const Stmt *block, const Stmt *loop, const Buffer *buffer,
                           Stmt *nest);
Stmt *place_after_writers(Schedule *s, const Stmt *block, const Stmt *loop, const Buffer *buffer,
                          Stmt *nest);
/* The last check of a move, that the loops around keep their kinds, and the move. */
bool place_finish(Schedule *s, const PrimCall *call, const Stmt *loop, Stmt *body);

#endif
