/* roles.h - Splits a launch into the roles of a producer and consumers, for the pass that inserts
 * barriers (internal to passes/lower). */
#ifndef TIRC_PASSES_LOWER_THREADS_ROLES_H
#define TIRC_PASSES_LOWER_THREADS_ROLES_H

#include "passes/lower/pass.h"

/* The loop of a launch that specialize_warps has marked, and what follows for it. */
typedef struct {
    const Stmt *loop;     /* NULL: none, and nothing below */
    Threads *threads;     /* of the launch as it was */
    StmtPath path;        /* in it, to the loop */
    StmtList copies;      /* the producer's blocks */
    StmtList blocks;      /* of the loop; these, then all others */
    const ForStmt *ranks; /* over the blocks that share copies; NULL: each makes its own */
    int room;             /* groups of copies that may be under way, or in use, at a time */
    int held;             /* of them, those that consumers hold, the one in use among them */
    const char *names;    /* of what is copied */
    StmtList all;         /* blocks of the launch */
    const Stmt *turns; /* the loop in whose iterations warpgroups take turns (turns.h), or NULL */
    int warpgroups;    /* so many; */
    Axis turns_axis;   /* this axis will tell them; */
    int64_t turn;      /* a turn has so many groups of copies */
} Roles;

/* The launch with copies that the blocks of a cluster share only where a producer makes them, for
 * several blocks: else each has its own. */
Stmt *roles_share(Context *c, Stmt *root);
/* False after a refusal. */
bool roles_find(Context *c, Stmt *root, Threads *t, Roles *out);
/* One of the blocks uses a place in an iteration that a copy takes at most `distance` iterations of
 * the loop later, be it in a later iteration of a loop around. */
bool roles_meet(const Roles *roles, const StmtList *blocks, int64_t distance);
/* The launch without the copies: what the consumers do. */
Stmt *roles_consumers_of(Context *c, const Roles *roles, Stmt *root);
/* The loop's body, of consumers, between `receive` and `release`. `pending` of the groups are kept:
 * instructions in flight read them. */
Stmt *roles_body(Context *c, const Roles *roles, Stmt *body, int pending);
/* What consumers that take turns do behind the loop, where groups were kept. */
Stmt *roles_released(Context *c, const Roles *roles);
/* The launch with both roles: `root` as it was, `consumers` with all that they wait for. */
Stmt *roles_join(Context *c, const Roles *roles, Stmt *root, Stmt *consumers);

#endif
