/* written.h - Proves which elements of its outputs a lowered kernel writes, and that it writes each
 * exactly once.
 *
 * Lowering derives guards, and an output is correct at its edges only if they are. For all values
 * of the sizes at once, two questions are asked about the lowered text: do the launches write
 * exactly the elements that the program writes, and does each element have one writer? Two threads
 * that write an element in the same iteration of the loops and launches around both are two
 * writers. Later iterations may write it again if the program does; barriers order these writes,
 * which threads_proved checks.
 *
 * The proof reads launches, loops, lets and ifs as isl sets through Poly. It uses neither blocks
 * nor earlier proofs, so it is independent of them. It runs before subscripts are linearized (the
 * pass `flatten`), because products with a symbolic size have no exact sets. */
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
