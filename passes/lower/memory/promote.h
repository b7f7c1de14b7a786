/* promote.h - Describes an element that can live in a register for a whole loop (internal to
 * passes/lower; see promote.c). */
#ifndef TIRC_PASSES_LOWER_MEMORY_PROMOTE_H
#define TIRC_PASSES_LOWER_MEMORY_PROMOTE_H

#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Names names;
    const LaunchStmt *launch;
    Facts *facts;
    SubstList lets; /* values of the names around, in terms of axes and loops */
} Promote;

/* The common properties of all accesses of one buffer in a loop. */
typedef struct {
    Promote *p;
    Buffer *buffer;
    Expr *const *index; /* of the first access */
    VarList inside;     /* variables defined in the loop */
    ExprList guards;    /* invariant conditions around every access */
    ExprList varying;   /* other conditions and the bounds on the way to an access */
    SubstList lets;     /* values of the names in the loop */
    bool seen, read, written;
    bool any_start; /* a value that reads buffers is one to start with */
    bool chosen;    /* a store that does not run in every iteration */
    Span update;    /* the last statement that writes it */
    CacheHint hint; /* of that one */
} Scan;

/* ---- the accesses (promote_scan.c) ----------------------------------------------------------- */

/* Finds the common properties of the accesses of scan->buffer in the loop. False if they have
 * different elements, different conditions, or atomic updates, or if nothing is gained. */
bool promote_scan(Scan *scan, Stmt *loop);
/* The expression has one value throughout the loop. */
bool promote_is_invariant(const Scan *scan, const Expr *e);
/* `e` with the values of names written out, those in the loop and those around it. */
Expr *promote_expanded(const Scan *scan, Expr *e);

/* ---- whose it is (promote_owner.c) ----------------------------------------------------------- */

/* The threads that share the element all run the updates or none does. */
bool promote_is_uniform(Scan *scan);
/* Whether moving the load before the loop (if any) and the store after it across the loop's
 * barriers preserves the values that are read. */
bool promote_passes_barriers(Scan *scan, Stmt *loop);

/* ---- what it holds when the loop begins (promote_start.c) ------------------------------------ */

/* A register for an element of the buffer. */
Buffer *promote_register(Promote *p, const Buffer *buffer, Span at);
Stmt *promote_guarded(Context *c, const ExprList *guards, Stmt *s);

/* How the first statement of a loop that accesses the element uses it. */
typedef enum {
    FIRST_READS,    /* needs its value */
    FIRST_MAY_READ, /* needs it where conditions allow it and the loop runs, */
    FIRST_MAY_SET,  /* or sets it there */
    /* sets it wherever the guards of the updates hold: what it was before does not matter */
    FIRST_SETS,
} First;
First promote_first_access(Scan *scan, Stmt *loop);
/* Is there a value for the register to start with that the program itself would read? An element
 * that may not have one before the loop must not be loaded. */
bool promote_can_start(Scan *scan, Stmt *loop, const StmtList *before);
/* Takes the start value of the element out of the statements before the loop; NULL if they do not
 * say it. */
Expr *promote_take_start(Scan *scan, StmtList *before);
/* A thread that runs no update does not access the element, which may belong to another thread or
 * be undefined: unless its start value comes from an earlier store, the element is neither loaded
 * nor stored. Adds that to the guards. */
void promote_guard_loops(Scan *scan, Stmt *loop);

/* ---- from one iteration to the next (promote_carried.c) ------------------------- */

/* Keeps what the loop stores to `buffer` in a register for its next iteration, if that reads it;
 * statements to run before the loop go to `before`. */
Stmt *promote_carried(Promote *p, Stmt *loop, Buffer *buffer, StmtList *before);

#endif
