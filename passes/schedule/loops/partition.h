/* partition.h - Builds consecutive parts of one loop (internal to passes/schedule).
 *
 * One part keeps the blocks, loops and temps of the loop; the others run copies of them, with ids
 * of their own and names C_1, C_2, ... . Parts are made by loop_partition, and by split for the
 * rest that does not fill a tile. Copies of independent iterations may have temps of their own,
 * too, which are declared outside. */
#ifndef TIRC_PASSES_SCHEDULE_LOOPS_PARTITION_H
#define TIRC_PASSES_SCHEDULE_LOOPS_PARTITION_H

#include "passes/schedule/flow.h"

typedef struct {
    Schedule *s;
    StmtPath path;     /* to the loop; its last node runs in steps of 1 */
    Facts *facts;      /* what holds at the loop */
    VEC(Name) given;   /* names that copies have taken in this step */
    BufferSet apart;   /* temps outside the loop of which each copy gets its own */
    VEC(Buffer *) own; /* those that copies have got, */
    BufferSet own_of;  /* and which they stand for */
} Partition;

/* Looks at the loop at the end of `path`, which is plain. A loop with another step is taken from 0
 * in steps of 1. */
Partition partition_new(Schedule *s, const StmtPath *path);

/* Refuses (E0439) to let `part` of the body of the loop at the end of `path` run at two places, for
 * some iterations each: the init of a reduction in it would run in the middle of that. */
bool partition_require_inits(Schedule *s, const StmtPath *path, Stmt *part, Span span);

typedef enum { PART_SHARES_BODY, PART_COPIES_BODY } PartBody;

/* The loop for lo..hi of the old variable, called `base` or something like it. With `copy` its body
 * is a copy. */
Stmt *partition_part(Partition *p, const char *base, Expr *lo, Expr *hi, PartBody body_is);

/* A copy of statements whose blocks and temps have names of their own. */
Stmt *partition_copy(Partition *p, Stmt *body);
/* Gives a loop of a copy a name that nothing else has. */
void partition_rename(Partition *p, Stmt *loop);

#endif
