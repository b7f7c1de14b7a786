/* place.h - Moves a block into other loops, for compute_at and reverse_compute_at (internal to
 * passes/schedule).
 *
 * The two are one move seen from two sides. A buffer ties the block to the loop: the loop reads
 * what the block makes (compute_at), or makes what the block reads (reverse_compute_at). */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_PLACE_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_PLACE_H

#include "passes/schedule/blocks/tie.h"

/* A part of a buffer: a box, and runs inside of it for the axes that have gaps. */
typedef struct {
    Interval *box;
    Runs *runs; /* [rank]; none, or without the array: all of the box */
    /* [n_iters] the block's iterations, where each has several elements (tie.tiles) */
    Interval *tiles;
} Part;

struct MoveSide;

/* A move under way. */
typedef struct {
    Schedule *s;
    const PrimCall *call;
    const struct MoveSide *side;
    Span at_block, at_loop; /* of the arguments */
    StmtPath path, target;  /* to the block, to the loop that it comes under */
    Stmt *block, *loop;
    const Stmt *seq; /* both stand in different items of it: */
    int block_item, loop_item;
    const Buffer *buffer; /* what ties them */
    Tie tie;              /* of the block to its elements */
    Facts *facts;         /* that hold in an iteration of the loop */
    Part part;            /* of the buffer: what such an iteration touches */
    int item;             /* of the loop's body: the nest comes before it */
    Stmt *body;           /* made: the kernel's */
} Move;

/* One of the two sides. Each function refuses, and then gives false. */
typedef struct MoveSide {
    AccessMode loop_does; /* what the loop does with the buffer: ACCESS_READ or ACCESS_WRITE */
    /* Check: the block by itself may run in pieces. */
    bool (*can_move)(const Move *m);
    /* Check: finds m->buffer and ties the block to it. */
    bool (*find_tie)(Move *m);
    /* Check: finds m->part; false without a diagnostic where there are no bounds. */
    bool (*find_part)(Move *m);
    /* Check of m->body, which is built: everything runs as before, or m->body is built anew so that
     * it does. */
    bool (*keeps_meaning)(Move *m);
} MoveSide;

/* The runs, axis by axis, of what m->loop accesses of m->buffer in m->part.box. */
Runs *place_runs(const Move *m, AccessMode mode);
/* The move, from its first check to the new body. */
bool place_block(Schedule *s, const PrimCall *call, const MoveSide *side);

/* The loops and ifs, from the first that is not around both, that the block leaves. */
int place_common(const Move *m);
/* The innermost of the loops that say the value of iterator i, as an index on m->path, where no
 * element decides it and these loops are around both places: its value stays. -1 otherwise. */
int place_kept_by(const Move *m, int i);
/* m->body: the block in new loops over m->part, before the first item of the loop that reads the
 * buffer or after the last that writes it; only where `cond` holds, unless that is NULL. */
void place_build(Move *m, Expr *cond);

#endif
