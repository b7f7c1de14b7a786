/* warp_parts.h - Finds which lane of a warp has which elements of its memory, in which register. */
#ifndef TIRC_PASSES_LOWER_MEMORY_WARP_PARTS_H
#define TIRC_PASSES_LOWER_MEMORY_WARP_PARTS_H

#include "passes/lower/pass.h"

/* How the elements of a buffer lie in the registers of the lanes. */
typedef struct {
    const Buffer *from;
    Buffer *to;
    int axis;
    int64_t chunk;
    int64_t lanes; /* of whole warps */
} Parts;

typedef struct WarpMemory WarpMemory;
struct WarpMemory {
    Context *c;
    Facts *facts;
    Names *names;
    StmtPath path; /* from the root of the launch to the statement at work */
    Parts parts;
    Stmt *(*at_block)(WarpMemory *w, Stmt *s);
    const Stmt *refused; /* by own_writes: a write that is not the lane's own */
    bool failed;
};

/* A loop that is bound to threadIdx.x. */
bool warp_is_lane_loop(const Stmt *s);
/* The coordinate on threadIdx.x of what runs the block at the end of the path; NULL: all do, or
 * none that a loop tells. */
Expr *warp_coordinate(const WarpMemory *w);
/* The lane that has element `e` of the axis, and the register that it has there. */
Expr *warp_lane_of(const WarpMemory *w, Expr *e);
Expr *warp_register_of(const WarpMemory *w, Expr *e);
/* The subscripts name an element, which the facts may assume where the access stands. */
void warp_assume_inside(WarpMemory *w, Expr *e);
/* Is lane `self` known to have element `e` of the axis? */
bool warp_is_own(WarpMemory *w, Expr *e, Expr *self);
void warp_refuse(WarpMemory *w, ErrorCode code, Span span, const char *why);

/* Rewrites the blocks of a statement that access the buffer by `at_block`; `w` is the user. */
Stmt *warp_walk(void *user, Stmt *s);
/* Finds the axis and the chunk for which each lane writes its own part; false after a refusal. */
bool warp_find_parts(WarpMemory *w, Stmt *root);

#endif
