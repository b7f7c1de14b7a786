/* stage.h - Stages a part of a buffer in another buffer: places the copies and builds the blocks
 * that make them (internal to passes/schedule; shared by cache_read, cache_write, reindex and
 * similar primitives). */
#ifndef TIRC_PASSES_SCHEDULE_COPIES_STAGE_H
#define TIRC_PASSES_SCHEDULE_COPIES_STAGE_H

#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/flow.h"

/* ---- where ---- */

/* Items of a statement list (or a lone statement, with index 0): those from `first` to `last` hold
 * the users. */
typedef struct {
    Stmt *parent;
    int first, last;
    const StoreStmt *of; /* accesses of other elements than this one do not matter; NULL: all do */
} StagePlace;

/* The outermost place below place->parent (NULL: in the kernel) where no statement from the first
 * to the last user touches one of the buffers in `mode` but the users themselves (with ACCESS_WRITE
 * not even they). False where only a block's own statement is left. */
bool stage_place(Schedule *s, const BlockList *users, const BufferSet *buffers, AccessMode mode,
                 StagePlace *place);
/* The outermost statement around the block. */
StagePlace stage_outermost(Schedule *s, Stmt *block);
/* The list of `place` with `before` in front of the first user and `after` behind the last one;
 * either may be NULL. */
Stmt *stage_insert(Schedule *s, const StagePlace *place, Stmt *before, Stmt *after);

/* ---- the copies ---- */

/* A temp of the shape and type of `of`, called after it and `suffix`. */
Buffer *stage_buffer(Schedule *s, const Buffer *of, const char *suffix, Scope scope, Span origin);

/* Loops called ax0, ax1 ... around a block with an iterator for each. */
typedef struct {
    Name block;
    int n;
    Var *const *iters;           /* [n] */
    Expr *const *lo, *const *hi; /* [n], of sizes and of iterators before */
    Expr *where;                 /* of the iterators: which instances there are; NULL: all */
    Stmt *body;                  /* of the iterators */
    /* [n] the loops run over this part of the domains; NULL: over all */
    const Interval *box;
} StageNest;
Stmt *stage_nest(Schedule *s, const StageNest *nest, Span span);
/* Iterators over the whole of a buffer, named `names` (NULL: v0, v1, ...), and their values in
 * *index. The caller adds the rest of the nest. */
StageNest stage_over(Schedule *s, const Buffer *buffer, const Name *names, Span span,
                     Expr ***index);

/* The store  to = from. */
Stmt *stage_copy(Schedule *s, BufferElement to, BufferElement from, Span span);

/* The elements of a box, copied by a block of this name. */
typedef struct {
    Name block;
    Buffer *to, *from;
    const Interval *box; /* NULL: all */
    Span span;
} BoxCopy;

/* A nest that makes the copy, element by element. Its iterators are called as those that `user` has
 * for the subscripts of one of the two buffers. */
Stmt *stage_copy_box(Schedule *s, Stmt *user, const BoxCopy *copy);

/* What an iteration of the loop at the end of the path touches of a buffer in `mode`, for a copy in
 * `scope`. */
typedef struct {
    const StmtPath *loop;
    const Buffer *buffer;
    AccessMode mode;
    Scope scope;
} BoxOf;

/* That part, for all threads that would share the copy. `facts` hold in the loop's body. False
 * where there are no bounds. */
bool stage_box(Schedule *s, Facts *facts, const BoxOf *of, Interval *box);
/* A loop, a let or another block's iterator in `e`; NULL if there is none. */
const Var *stage_other_var(Context *c, const BlockStmt *block, const Expr *e);
/* The iterators of a block that expressions use, and those that their ranges depend on. */
PointBox stage_points(Schedule *s, const BlockStmt *block, Expr *const *e, int n);
/* The extents [n] of a space as the shape of a buffer, which has one element at least. */
Expr **stage_shape(Schedule *s, Expr *const *extent, int n);

/* ---- blocks whose results are copied out ---- */

/* The block at the end of the path is the only writer of the element (NULL: of all elements) of the
 * buffer, and has itself written what it reads of it. Refuses (E0444) otherwise. */
bool stage_starts_alone(Schedule *s, const StmtPath *path, const Buffer *buffer,
                        const StoreStmt *element, Span span);

/* What a block begins with whose writes of a buffer are redirected to a copy (start.c). */
typedef struct {
    Stmt *block; /* as it is; with partial results, it begins with the identity of the operator */
    Stmt *init;  /* that it had then, or NULL: it updated what its elements had */
    StoreOp op;  /* which combines partial results; STORE_SET: there are none */
    bool within; /* it begins anew wherever the copy stands: see stage_start_within */
} Start;

/* The writes that are redirected. */
typedef struct {
    const Buffer *buffer;
    bool partial; /* the copy has partial results */
    bool alone;   /* no other block may write the buffer */
    Span span;    /* of a refusal */
} WriteOf;

/* The block at the end of the path begins with values of its own, or can. Refuses (E0444)
 * otherwise. */
bool stage_start(Schedule *s, const StmtPath *path, const WriteOf *of, Start *out);
/* The copy may stand behind the item `first` of the path to the block that stage_start gave.
 * Refuses (E0444) where its reduction goes on afterwards, or has no partial results. */
bool stage_start_within(Schedule *s, const Start *start, const StmtPath *path, int first,
                        Span span);
/* Where results are partial, none of their terms reads an element that one run of the item `first`
 * of the path updates. */
bool stage_has_parts(Schedule *s, const Start *start, const StmtPath *path, int first);
/* The block with its results in `to`. Terms of partial results go on reading elements of `from`. */
Stmt *stage_redirected(Context *c, const Start *start, const Buffer *from, Buffer *to);

/* A copy of the elements that a block writes to `written`, which `to` or `from` is. */
typedef struct {
    Name name; /* of the copying block */
    const Buffer *written;
    Buffer *to, *from;
    ErrorCode refusal;
    Span at;            /* of a refusal */
    const Start *start; /* of partial results, which the copy combines; NULL: a plain copy */
} WrittenCopy;

/* The item of the path to the block that the copy stands behind. */
int stage_place_on(const StmtPath *path, const StagePlace *place);
/* A nest that makes the copy behind `place`, for the block at the end of the path (written.c). NULL
 * after a refusal: which elements are written depends on what the copy cannot know. */
Stmt *stage_copy_written(Schedule *s, const WrittenCopy *copy, const StmtPath *path,
                         const StagePlace *place);

/* The block at the end of the path is the only writer of the elements of its store, and starts each
 * of them itself. It runs for each value of its iterators' domains before the end of
 * `*place`, in which nothing else accesses the buffer. Refuses (E0444) otherwise. */
bool stage_can_write(Schedule *s, const StmtPath *path, const Stmt *store, Span span,
                     StagePlace *place);

#endif
