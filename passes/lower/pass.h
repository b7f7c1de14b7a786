/* pass.h - Declares what the lowering passes share (internal to passes/lower).
 *
 * A pass is a function from kernel to kernel: NULL, with diagnostics, when it refuses. Nodes that a
 * pass builds keep the span and the schedule step of the node that they come from. */
#ifndef TIRC_PASSES_LOWER_PASS_H
#define TIRC_PASSES_LOWER_PASS_H

#include "ir/copies/bulk_copy.h"
#include "ir/names.h"
#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/simplify.h"
#include "passes/analysis/threads/launch.h"
#include "passes/lower/lower.h"
#include "passes/shared/rebuild.h"

#define PASS(name, leaves, why)                                                                    \
    Kernel *pass_##name(Context *c, const Kernel *kernel, const LowerOptions *options);
#include "passes/lower/pipeline.def"
#undef PASS

/* `body`, a statement of the block, with what the block asks of the caches said at each access
 * (cache_hints.c). */
Stmt *block_hints_apply(Context *c, const BlockStmt *block, Stmt *body);

bool stmt_has_barrier(Context *c, const Stmt *s); /* somewhere below */
/* The variables of loops and lets below `s`, added to `out`. */
void vars_defined_in(Context *c, const Stmt *s, VarList *out);

/* The values of names in the place of the names, the last name first: values use earlier names. */
Expr *expr_expand(Context *c, Expr *e, const SubstList *names);
/* The axes of an access with variables replaced in their subscripts. NULL stays NULL. */
const AxisAccess *axes_subst(Context *c, const AxisAccess *axes, const Subst *map, int n);
/* `e` with an axis replaced. */
Expr *expr_replace_axis(Context *c, Expr *e, Axis axis, Expr *value);
/* How many values the coordinate has in the launch; 1 for AXIS_RANK, which is part of another. */
Expr *launch_extent(Context *c, const LaunchStmt *launch, Axis axis);
/* The name of the coordinate at the top of the launch; NULL: it has none. */
const Var *launch_coordinate(const LaunchStmt *launch, Axis axis);

/* Where the schedule made a buffer, or else where the program declares it. */
Span buffer_span(const Buffer *b);
/* What its elements take, with its layout; more than any limit where that is unknown. */
int64_t buffer_bytes(Context *c, const Buffer *b);

/* Replaces loops bound inside `s` by their axes where each coordinate has memory of that scope for
 * itself, so that regions are those of one copy of it. Blocks in the result are for measuring
 * regions only, as their bindings no longer use the bound loops. */
Stmt *bound_to_axes(Context *c, Stmt *s, Scope scope);
/* The ranges of the axes that loops below `s` are bound to. */
void axis_facts(Facts *f, Context *c, Stmt *s);

/* Buffers in constant memory fit into it; reads that are not the same for all lanes of a warp get a
 * warning (constants.c). False after E0803. */
bool check_constants(Context *c, const Kernel *lowered, const Limits *limits);

typedef enum { TEMPS_GLOBAL, TEMPS_ALL } TempKinds;

/* Returns the kernel in which the shapes of temps in global memory (all: of all temps) use only
 * sizes: each is as large as any iteration needs (shapes.c). NULL after E0515. */
Kernel *temps_sized(Context *c, const Kernel *kernel, TempKinds which);

/* The bindings of every launch of the kernel, at the scheduled level, are legal (check_threads.c).
 * False after E0514. */
bool threads_proved(Context *c, const Kernel *kernel);

/* Blocks of its grids that await what others store can go on (check_awaits.c). False after
 * E0522. */
bool awaits_proved(Context *c, const Kernel *kernel);

/* ---- launches -------------------------------------------------------------------------------- */

/* A subtree that becomes one launch: an outermost bound loop, or a nest without bound loops. */
bool stmt_is_launch_root(Context *c, const Stmt *s);

/* Applies `root` to each launch root of the body, in order, with the facts of the host's loops and
 * ifs around it. A NULL from `root` stops the walk, and the result is NULL. */
typedef struct LaunchWalk {
    Context *c;
    const Kernel *kernel;
    Facts *facts;
    Stmt *nest; /* the outermost statement around the root that is no sequence */
    void *user;
    bool failed;
    Stmt *(*root)(struct LaunchWalk *w, Stmt *s);
} LaunchWalk;
Stmt *launch_roots_map(LaunchWalk *w, Stmt *s);

/* Warns of blocks that one thread runs while others could share them, and of annotations without
 * effect (waste.c). */
void warn_of_waste(Context *c, const Kernel *kernel);

/* ---- names ----------------------------------------------------------------------------------- */

/* The lowered kernel with loops, lets and temps renamed so that a name means one thing on a path
 * (names.c). */
Kernel *names_settle(Context *c, Kernel *kernel);
/* The lowered body without names that nothing uses; NULL where nothing is left (cleanup.c). */
Stmt *drop_unused_names(Context *c, Stmt *body);
/* With local variables declared in the branch that alone names them (sink.c). */
Stmt *sink_variables(Context *c, Stmt *body);

/* ---- stores and what is around them ---------------------------------------------------------- */

/* Visits the stores of launches that are no part of a bulk copy, in order, with what holds there
 * but for the values of names. */
typedef struct StoreWalk {
    Context *c;
    Facts *facts;
    VEC(const ForStmt *) loops; /* around the store, outermost first */
    StmtList names;             /* the lets around */
    SubstList lets;             /* those of indices that change with one of the loops */
    Stmt *(*store)(struct StoreWalk *w, Stmt *s);
} StoreWalk;
/* The kernel with its stores replaced, and without names that they no longer use. */
Kernel *stores_map(StoreWalk *w, const Kernel *kernel);
/* The loop's variable is a number in each copy of its body. */
bool loop_is_written_out(const ForStmt *loop);

/* ---- the order of a grid's blocks (remap.c) -------------------------------------------------- */

typedef struct {
    Context *ctx;
    Facts *facts;         /* outside the launch */
    const Stmt *loop;     /* with annotations_remap */
    Expr *rows, *columns; /* of the grid: along y and x */
    StmtList lets;        /* made: values that row and column use */
    Expr *row, *column;   /* made: what this block computes, in terms of blockIdx */
} Remap;
/* Fills in what is made. */
void remap_coordinates(Remap *r);

#endif
