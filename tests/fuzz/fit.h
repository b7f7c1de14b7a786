/* fit.h - what suits a primitive: a draw from all loops, blocks and buffers would nearly always be
 * refused by those that need a certain kind. A row says how often a primitive is drawn, and what
 * its arguments have to be for it to have a chance; one draw in eight looks at none of that, so
 * that what does not suit is asked for, too. */
#ifndef TIRC_TESTS_FIT_H
#define TIRC_TESTS_FIT_H

#include "passes/schedule/schedule.h"

typedef enum {
    BLOCK_ANY,
    BLOCK_REDUCTION,    /* has an init */
    BLOCK_SCALED,       /* that, and adds a product or quotient, of which a side stays the same */
    BLOCK_TERMS,        /* adds a sum or a difference of floats */
    BLOCK_AGAIN,        /* updates an element that a block behind it in its loop updates */
    BLOCK_TWIN,         /* that behind it stores to the same buffer in other iterations */
    BLOCK_NEVER,        /* never runs */
    BLOCK_OVERWRITER,   /* writes a temp that another block writes, too */
    BLOCK_RANGED,       /* a domain leaves out iterations of a loop */
    BLOCK_CARRIER,      /* updates what others initialize */
    BLOCK_PARTIAL,      /* has an init, and writes a temp */
    BLOCK_PARTS,        /* that, and the temp has axes */
    BLOCK_MAKER,        /* writes a temp */
    BLOCK_USER,         /* reads a temp */
    BLOCK_STAGER,       /* writes a temp in shared or local memory */
    BLOCK_BOX,          /* copies between the caller's memory and shared memory, in a loop of a
                           literal number */
    BLOCK_BULK,         /* the hardware makes it: a bulk copy */
    BLOCK_BESIDE_USER,  /* that, and one which reads it stands under the same loop */
    BLOCK_WHOLE,        /* alone in one loop for each iterator, without a condition */
    BLOCK_EINSUM,       /* that, and updates what it writes */
    BLOCK_FEWER_DIGITS, /* adds products that may keep fewer digits */
    BLOCK_DIGITS,       /* reads at a subscript that multiplies or divides */
    BLOCK_BORDERED,     /* reads a buffer at a subscript that wraps or is clamped */
    BLOCK_RECURRENCE,   /* computes elements from others of the same buffer */
    /* stores a linear function of the element that it stores to, the same in the innermost loop */
    BLOCK_LINEAR,
    BLOCK_BEFORE_SUM, /* the first of a loop, and keeps a sum that the rest adds to */
    BLOCK_CHOICE,     /* stores a value where a condition holds, and another elsewhere */
    BLOCK_SEVERAL,    /* has several stores */
    BLOCK_PLACED,     /* stores at a running count */
    BLOCK_SCATTERED,  /* alone in a nest, and stores where data say */
    BLOCK_KEYED,      /* updates what others in a loop read, where data say */
    /* stores a value where that is larger or smaller than an element, the same in the innermost
     * loop */
    BLOCK_GUARDED,
    BLOCK_PICKED, /* a condition compares an iterator with an integer */
} BlockFit;

typedef enum {
    LOOP_ANY,       /* around the block */
    LOOP_OF_USER,   /* around one that reads what the block writes */
    LOOP_OF_MAKER,  /* around one that writes what the block reads */
    LOOP_REDUCED,   /* carries its reduction */
    LOOP_INNER,     /* the innermost, and serial */
    LOOP_GRID,      /* bound to blockIdx.y and blockIdx.x, in this order */
    LOOP_SHARED,    /* around other blocks as well */
    LOOP_OF_TEMPS,  /* its body declares temporaries */
    LOOP_OUTERMOST, /* inside of no other */
    LOOP_SIBLINGS,  /* pairs: a loop, and one of another block that stands beside it */
} LoopFit;

typedef enum {
    BUFFER_ANY,
    BUFFER_TEMP,
    BUFFER_HELD,    /* a temp in global memory that only the outermost loop around the block
                       accesses, and does not declare */
    BUFFER_BANKED,  /* a temp in shared memory */
    BUFFER_READ,    /* by the block */
    BUFFER_WRITTEN, /* by the block */
    BUFFER_UPDATED, /* both */
} BufferFit;

typedef struct {
    const char *name;
    int weight; /* how often it is drawn, beside the others */
    BlockFit block;
    LoopFit loop;
    BufferFit buffer;
} Fit;

/* The row of a primitive; those without one are drawn once, with anything. Weight 0: a query. */
Fit fit_of(const Primitive *primitive);
/* What suits, as lists, which may be empty. */
Value fit_blocks(Schedule *s, BlockFit fit);
Value fit_loops(Schedule *s, LoopFit fit, Value block);
Value fit_buffers(Schedule *s, BufferFit fit, Value block);
/* What a query of the table answers, as a list; all loops around a block; all blocks. */
Value query(Schedule *s, const char *name, const Value *args, int n);
Value all_loops(Schedule *s, Value block);
Value all_blocks(Schedule *s);

#endif
