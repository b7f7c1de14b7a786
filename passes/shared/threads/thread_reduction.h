/* thread_reduction.h - Declares the state of one reduction across the threads of a block (internal
 * to passes/shared; see thread_reduction.c). */
#ifndef TIRC_PASSES_SHARED_THREAD_REDUCTION_H
#define TIRC_PASSES_SHARED_THREAD_REDUCTION_H

#include "passes/analysis/regions/reducer.h"
#include "passes/analysis/regions/region.h"
#include "passes/shared/rebuild.h"
#include "passes/shared/reductions.h"

enum { WARP = 32 };

typedef VEC(const ForStmt *) LoopList;

/* Where the result is before it is stored. */
typedef enum {
    RESULT_SHARED,     /* in a->red: in element 0, or in one for each of several warps */
    RESULT_FIRST_LANE, /* in a->part of lane 0, which stores it */
    RESULT_EACH_LANE,  /* in a->part of each lane of a group, which stores its own copy */
    RESULT_WARP        /* in element 0 of a->part, which is memory of a warp */
} ResultPlace;

/* The lanes of a loop reduce in groups of `width` (thread_groups.c). */
typedef struct {
    const Var *of;   /* the loop of all lanes; NULL: they all reduce together */
    Name name, lane; /* of the loops that stand for it: over groups, and a->lanes */
    int64_t extent, width;
} LaneGroups;

/* One reduction that is taken apart. */
typedef struct {
    Context *c;
    const Kernel *kernel;
    Names names;
    StmtPath path; /* from the body to the block */
    const BlockStmt *block;
    Reducer r;
    const Stmt *lanes; /* the loop that is bound to threads */
    int64_t extent;    /* its iterations */
    LaneGroups groups;
    int anchor; /* on the path: the outermost loop that carries the reduction */
    LoopList
        /* loops with separate partial results: thread loops outside the anchor, spatial loops
         * inside */
        dims;
    int outside; /* how many of them are outside */
    ResultPlace result;
    int64_t warps; /* how many of them share a->red */
    /* one for each component: */
    Buffer *const *part; /* of each thread: in registers, or in memory of the warp */
    Buffer *const *red;  /* what threads hand over at present, in shared memory; NULL: nothing */
    VEC(Buffer *) temps; /* all of both, and those before */
    const char *why;     /* the reason of a refusal */
} Apart;

/* ---- may it be taken apart (thread_reduction_check.c) ---------------------------------------- */

/* The loops of threads that the block at the end of the path reduces over, of more than one
 * iteration; the first of them in `*first`. A loop that spatial iterators use, too, only says where
 * the reduction of its element begins, unless groups of its lanes reduce. */
int reduced_lanes(Context *c, const StmtPath *path, const Stmt **first);
/* Fills in a->r, a->extent and a->dims; false with the reason in a->why. */
bool reduction_check(Apart *a);

/* ---- groups of lanes (thread_groups.c) ------------------------------------------------------- */

/* So many lanes next to each other have the same spatial iterators in a thread loop that those use,
 * too, and the reduction uses the place of a lane among them only. 0 where there are no such
 * groups, of a power of two of lanes in a warp. */
int64_t reduction_group(Context *c, const BlockStmt *block, const Stmt *lanes);
/* a->lanes becomes two loops, of groups and of the lanes of a group; */
void reduction_split_groups(Apart *a, int64_t width);
/* what is made of them becomes one again. */
Kernel *reduction_join_groups(const Apart *a, Kernel *kernel);

/* ---- where the result is left (thread_readers.c) --------------------------------------------- */

/* The place that costs least of those from which all readers can read the result. */
ResultPlace reduction_result_place(const Apart *a);
/* The lanes are whole warps along x, or a power of two of lanes within one. */
bool reduction_whole_warps(const Apart *a);
bool lanes_fill_warps(int64_t lanes);

/* ---- blocks of partial results (thread_partials.c) ------------------------------------------- */

/* The bindings of the iterators of a block of partial results. */
typedef struct {
    Expr **dims; /* [a->dims.n], from 0 */
    Expr *lane;
} Place;

/* A block under construction. */
typedef struct {
    BlockIter *iters; /* dims, then the lane */
    Expr **index;     /* [dims + 1] the iterators */
    Expr *lane;
} Frame;

/* The bindings of a block that replaces the block of the reduction. */
Place partials_place(Apart *a);
/* The number of the lane among all that have partial results; how many these are. */
Expr *partials_lane(Apart *a, const Place *place);
int64_t partials_lanes(const Apart *a);
/* Iterators for a block there. */
Frame partials_open(Apart *a, const Place *place);
/* The number of the iteration that `var` is in. */
Expr *partials_iteration(Context *c, const ForStmt *loop, Var *var);
/* A copy of a loop without its iterations' contents. */
ForStmt partials_loop(Apart *a, const ForStmt *loop);
/* Element `last` of those that the buffers of partial results have at the place of a block. */
typedef struct {
    Buffer *const *buffers;
    const Frame *frame;
    Expr *last;
} PartialElement;
Expr *const *partials_load(Apart *a, PartialElement element);
/* The element is combined with the values. */
Stmt *partials_update(Apart *a, PartialElement element, Expr *const *values);
/* Buffers with `last` elements for each iteration of a->dims, which are of a->temps from now on. */
Buffer *const *partials_buffers(Apart *a, const char *suffix, int64_t last, Scope scope);

/* Initializes the partial result of each thread, a->part, with the identity. */
Stmt *partials_start(Apart *a);
/* From a->part of each thread to one result, in a->result. */
Stmt *partials_combine(Apart *a);

#endif
