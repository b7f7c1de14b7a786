/* written.h - Proves which elements of its outputs a lowered kernel writes, and that it writes each
 * exactly once.
 *
 * Guards are derived in lowering, and an output is right at its edges only where they are. Of the
 * text that comes out is asked, for all values of the sizes at once: do the launches write the
 * elements that the program writes, and no others; and does each of them have one writer? Two
 * threads that write an element in one iteration of the loops and launches around both are two
 * writers; what later iterations write again is the program's own (barriers order it, which
 * threads_proved asks about).
 *
 * The kernel is read as isl sets through Poly, from launches, loops, lets and ifs; blocks, and what
 * earlier proofs said of them, play no part, so that this is a second opinion. It is asked for
 * before subscripts are flattened (the pass `flatten`): products with a symbolic size have no exact
 * sets. */
#ifndef TIRC_PASSES_LOWER_PROOFS_WRITTEN_H
#define TIRC_PASSES_LOWER_PROOFS_WRITTEN_H

#include "ir/ir.h"

typedef enum {
    WRITTEN_ONCE, /* proved */
    WRITTEN_WRONG,
    /* subscripts or guards that depend on data or on products of sizes, or too hard a question */
    WRITTEN_OPEN,
} Written;

typedef struct {
    Written answer;
    const char
        *why; /* of the other answers: "element C[4, 0] at N = 5 is never written"; in the arena */
} WrittenProof;

/* `program` as it is before any step; `lowered` has the same parameters. Outputs and inout
 * parameters are asked about. */
WrittenProof outputs_written_once(Context *c, const Kernel *program, const Kernel *lowered);

#endif
