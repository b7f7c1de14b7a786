/* unit.h - Gathers what an instruction of several threads, or a bulk copy, accesses, and prices it.
 *
 * Its text says what it computes, element by element, and not how. The hardware reads an operand
 * once: of shared memory eight pieces of 16 bytes at a time, the rows of a matrix that ldmatrix or
 * wgmma reads. Pieces are taken in the order in which the text first accesses them: eight lanes or
 * eight iterations have the rows of a matrix. Numbers of 8 bytes are read by single lanes, which
 * find more than eight rows of 16 bytes in different banks: all that 32 pieces need is counted. */
#ifndef TIRC_RUNTIME_MEASURE_UNIT_H
#define TIRC_RUNTIME_MEASURE_UNIT_H

#include "runtime/measure/counters.h"
#include "runtime/measure/numbers.h"

enum { PIECE_BYTES = 16 };

/* What the threads that execute it together access of one buffer, in one place of its text. */
typedef struct {
    AccessEvent event; /* its first request; the warp is their first one */
    int64_t *pieces;   /* [n] addresses, each once, in the order of the first access */
    int n, capacity;
} UnitOperand;

typedef struct {
    int lanes; /* as in VmUnit; 0: none is under way */
    UnitOperand *operands;
    int n, capacity;
    int last; /* the operand of the latest request */
    NumberSet known;
} UnitAccesses;

void unit_begin(UnitAccesses *u, int lanes);
/* A request of its text; false without memory. */
bool unit_add(UnitAccesses *u, const AccessEvent *e);
void unit_end(UnitAccesses *u);
void unit_free(UnitAccesses *u);

/* What an operand costs, as one request, and the costliest of the pieces that are served together
 * as the request of a warp. */
AccessCost unit_cost(const UnitOperand *operand, WarpAccess *worst);

#endif
