/* enter.h - Shows a schedule the body of a loop as its program (internal to passes/schedule). */
#ifndef TIRC_PASSES_SCHEDULE_ENTER_H
#define TIRC_PASSES_SCHEDULE_ENTER_H

#include "passes/schedule/sched.h"

/* A buffer of the program, and the parameter of the body that stands for it: another role, the same
 * id. */
typedef struct {
    Buffer *from, *to;
} ParamPair;

/* What `enter` has left outside. */
struct Entered {
    const Kernel *whole;  /* around the loop: the program, or the body of another loop */
    const Kernel *inside; /* the body, as it was at first */
    uint32_t loop;
    SubstList sizes; /* the variables of the loop and of those around it, and the size of each */
    VEC(ParamPair) params;
    const Entered *outer; /* of `whole`; NULL: that is the program */
};

/* The program with `body`, which `inside` has become, in the place of the loop's: `whole` around
 * it. */
Kernel *enter_whole(Context *c, const Entered *entered, const Kernel *body);
/* `stmt` as `block`, with other values in its init and body. */
Stmt *enter_rebuilt(Context *c, const Stmt *stmt, BlockStmt block, const SubstList *map);
/* The statement is or has a loop, iterator, temporary, let or block of that name. */
bool enter_defines(const Stmt *stmt, Name name);
/* Sizes as the variables of the loops that were entered. */
SubstList enter_to_loops(Context *c, const Entered *entered);
/* An expression of the body as the program has it: with the variables of all loops that were
 * entered. */
Expr *enter_in_loops(const Schedule *s, Expr *e);

/* Whether the body that a step has made of the one that the schedule sees can stand in the loop;
 * refuses (E0870, E0872) if not. */
bool enter_allows_step(Schedule *s, Span span);
/* The loop, block or buffer is outside of the loop that the schedule has entered. */
bool enter_is_outside(Schedule *s, uint32_t id);
/* The role that a buffer has in the program: in the body of a loop, what is declared outside is a
 * parameter. */
Role enter_program_role(const Schedule *s, const Buffer *buffer);
/* With this body, each element of the buffer has a value where it is read: the caller's, or one
 * that the program has written before, also outside of the loop. */
bool enter_has_values(Schedule *s, Stmt *body, const Buffer *buffer);
/* A block of that name is. */
bool enter_has_block_outside(Schedule *s, Name name);

#endif
