/* dependence.h - Decides which iterations access which elements, and in which order.
 *
 * The polyhedral model (Feautrier 1992; Bondhugula et al. 2008) on isl: every block has a set of
 * instances (values of its loops under their bounds, ifs, domains and predicate), every access a
 * map from instances to elements, and the tree a lexicographic order. Subscripts that are not
 * affine touch any element of their dimension. A question has the answer "legal", or a pair of
 * iterations that clash.
 *
 * isl works within a budget of operations; when it is spent the answer is "not proved", a
 * refusal. */
#ifndef TIRC_PASSES_ANALYSIS_DEPENDENCE_DEPENDENCE_H
#define TIRC_PASSES_ANALYSIS_DEPENDENCE_DEPENDENCE_H

#include "passes/analysis/regions/region.h"

/* The kind of a hazard: why the later of two accesses of one element has to wait. */
typedef enum {
    HAZARD_RAW, /* a read, for a write */
    HAZARD_WAR, /* a write, for a read */
    HAZARD_WAW, /* a write, for a write */
    HAZARD_KINDS,
} HazardKind;
/* "write then read" and the like. */
const char *hazard_text(HazardKind kind);

/* Two instances that clash, in words and numbers. Strings live in the context's arena. */
typedef struct {
    const BlockStmt *first, *second;
    const Buffer *buffer;
    Span first_span, second_span; /* of the accesses */
    HazardKind kind;
    const char *first_at;  /* "i = 3, k = 0" */
    const char *second_at; /* "i = 4, k = 0" */
    const char *element;   /* "A[4, 0]" */
    const char *reason;    /* one sentence: what would go wrong */
} Conflict;

/* A statement of the kernel (in kernel->body, by pointer), and what takes its place, with the same
 * blocks (by id). */
typedef struct {
    const Kernel *kernel;
    const Stmt *before;
    Stmt *after;
} Rewrite;

/* Every dependence of `before` keeps its order in `after`.
 * Instances are matched by the values of iterators, and of the loops that are around the block in
 * both: such a loop counts the same iterations. Updates by one operator, of one reduction block or
 * of several, may change places with each other, and so may stores of one value to one element.
 * `*reassociates` becomes true where updates that round do, and stays as it is otherwise. Blocks of
 * `before` must run each instance once, or once in each iteration of loops that `after` keeps. */
bool dependence_order_kept(Context *c, Rewrite rewrite, bool *reassociates, Conflict *why);

/* Every instance of the block with id `block` (0: of each block of `before`) runs exactly once in
 * `after`, and no other does. "Not proved" where bounds or bindings are not affine, which products
 * of symbolic sizes are not. */
bool dependence_instances_kept(Context *c, Rewrite rewrite, uint32_t block, Conflict *why);

/* Every instance of the block that runs in `after`, once or more often, runs in `before`. */
bool dependence_instances_within(Context *c, Rewrite rewrite, uint32_t block, Conflict *why);

/* The init of `block` may run as a whole before `loop`, a loop around the block, rather than where
 * the reduction begins: nothing that the loop runs before an init touches an element that the init
 * touches, one of them writing. What else the loop holds counts, and so do the block's own updates
 * and inits of other elements. */
bool dependence_init_may_run_first(Context *c, const Kernel *kernel, Stmt *loop, const Stmt *block,
                                   Conflict *why);

/* Inits that run before `root`, a loop of the kernel, in each iteration of some loops below it. */
typedef struct {
    const Kernel *kernel;
    Stmt *root;
    const Var *const *loops;
    int n_loops;
} InitNest;

/* The inits of blocks `a` and `b` touch a common element, one writing, only in iterations with
 * equal values of the nest's loops. So it makes no difference whether all of one runs first or one
 * iteration at a time. */
bool dependence_inits_meet_within(Context *c, const InitNest *nest, const Stmt *a, const Stmt *b,
                                  Conflict *why);

/* Iterations of the loop `id` may run at the same time (LOOP_PARALLEL) or together as one vector
 * operation (LOOP_VECTORIZE): no dependence between different iterations of it, under equal outer
 * loops. The kernel is looked at as if the loop already had the kind. */
bool dependence_loop_is_parallel(Context *c, const Kernel *kernel, uint32_t loop_id, LoopKind kind,
                                 Conflict *why);

/* The loop carries no dependence except between updates of reductions (which it reports), so its
 * iterations may run on threads. A buffer declared inside is private to each thread if it is in
 * local memory. */
bool dependence_loop_carries_none(Context *c, const Kernel *kernel, uint32_t loop_id,
                                  bool *only_reduction, Conflict *why);

/* Some instance of block `writer` may write an element of `buffer` that some instance of block
 * `reader` reads, in whichever iterations (meet.c). */
bool dependence_may_meet(Context *c, const Kernel *kernel, const Stmt *writer, const Stmt *reader,
                         const Buffer *buffer);

/* No instance of the block is in the domains and conditions, and no init of it runs (runs.c). */
bool dependence_never_runs(Context *c, const Kernel *kernel, const Stmt *block);

/* Loads of a buffer by the block with id `block`. */
typedef struct {
    uint32_t block;
    const Buffer *buffer;
    Expr *const *index; /* those with these subscripts; NULL: all */
} ReadsOf;
/* They find the values that elements have before `root`, a statement of the kernel around the
 * block: nothing in it writes an element before one of them reads it (earlier.c). */
bool dependence_reads_earlier(Context *c, const Kernel *kernel, Stmt *root, const ReadsOf *reads,
                              Conflict *why);

/* A write of `writer`, and then an access of `to`: its loads with these subscripts, or its writes
 * where `index` is NULL. */
typedef struct {
    const Stmt *writer, *to;
    const Buffer *buffer;
    Expr *const *index;
} Reach;
/* An instance of the first may write an element before one of the second accesses it, in the same
 * iteration of the loops that declare the buffer, whatever writes it in between (reach.c). */
bool dependence_may_reach(Context *c, const Kernel *kernel, const Reach *r, Conflict *why);

/* What the block writes in an iteration of the loop around it is read in that iteration or not at
 * all: of temps, whose elements no other iteration of the loop, or of the loops around, reads. */
bool dependence_contained(Context *c, const Kernel *kernel, const ForStmt *loop, const Stmt *block);

#endif
