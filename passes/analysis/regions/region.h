/* region.h - Computes the part of a buffer that a piece of program accesses, as a box.
 *
 * After TVM's region analysis (arith/int_set): per dimension an interval whose ends are
 * expressions of what is fixed outside. Boxes may be larger than what is touched, never smaller. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_REGION_H
#define TIRC_PASSES_ANALYSIS_REGIONS_REGION_H

#include "passes/analysis/symbolic/simplify.h"

typedef enum { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_ANY = 3 } AccessMode;

typedef struct {
    Expr *min;    /* of variables outside */
    Expr *extent; /* at least 1; a literal where one can be found */
} Interval;

/* One subscripted access. An update reads and writes. */
typedef struct {
    const Buffer *buffer;
    Expr *const *index; /* in the terms of the place: iterators and lets are not replaced */
    bool reads, writes;
    StoreOp op;               /* of a write */
    const Combiner *combiner; /* of an update of a tuple */
    bool atomic;
    bool awaits;            /* a read that waits until another block of the grid has written */
    const Expr *load;       /* the element that is read, or NULL: */
    const Stmt *store;      /* a store; or NULL, of an update of a tuple */
    const BlockStmt *block; /* the block it is in, or NULL */
    EnclosingList path;     /* around it, below the root; of an operand of ?:, && or ||, also the
                             * condition under which it is evaluated, as an if */
    Span span;
} Access;
typedef VEC(Access) AccessList;

/* All accesses below `s` in program order; of `buffer` only, or of every buffer (NULL). Conditions
 * of ifs, bounds of loops and predicates count as reads. */
AccessList access_list(Context *c, const Stmt *s, const Buffer *buffer, AccessMode mode);
/* The same, added to `out`. */
void access_collect(Context *c, const Stmt *s, const Buffer *buffer, AccessMode mode,
                    AccessList *out);
/* Those of the statement itself, which `path` is around: none of the statements below it. */
void access_collect_own(Context *c, const Stmt *s, const EnclosingList *path, AccessList *out);
/* Does number `i` of the accesses of one block read what an earlier store of the same execution of
 * the block has written in any case? That store is under no condition that is not around the read,
 * too, and each loop around it alone goes over a whole axis of the buffer. */
bool access_reads_own(Context *c, const AccessList *block, int i);
/* The reads in an expression, likewise. */
AccessList access_list_expr(Context *c, Expr *e, const Buffer *buffer);
void access_collect_expr(Context *c, Expr *e, const Buffer *buffer, AccessList *out);
/* Is there such an access of `buffer` below `s`? */
bool stmt_accesses(Context *c, const Stmt *s, const Buffer *buffer, AccessMode mode);
/* The blocks with such an access below and including `root`, in program order; */
StmtList blocks_accessing(Context *c, const Stmt *root, const Buffer *buffer, AccessMode mode);
/* the only one, or NULL: there is none, or several. */
Stmt *only_block_accessing(Context *c, const Stmt *root, const Buffer *buffer, AccessMode mode);
/* Is there such an access of the element, as far as numbers in subscripts tell? That of c[i, 1] is
 * none of c[j, 0]. */
bool stmt_may_access(Context *c, const Stmt *s, BufferElement element, AccessMode mode);

/* The loops, blocks, ifs and lets from `root` down to `target` (by pointer, itself not entered)
 * are entered, so that `facts` hold there.  False, and nothing entered, when it is not below
 * `root`. */
bool facts_enter_path(Facts *f, Stmt *root, const Stmt *target);

/* What the block's iterators are bound to. [n_iters] */
Subst *block_bindings(Context *c, const BlockStmt *block);
/* Replaces the iterators of `block` by their bindings in `e`. */
Expr *iters_to_loops(Context *c, const BlockStmt *block, Expr *e);
/* Adds the two conditions that an iterator of the block is in its domain, in terms of loops. */
void iter_add_domain(Context *c, const BlockStmt *block, const BlockIter *iter, ExprList *out);
/* Adds those of all its iterators. */
void block_add_domains(Context *c, const BlockStmt *block, ExprList *out);
/* What decides whether the block runs: in terms of loops, first what the later ones need. */
ExprList block_runs_where(Context *c, const BlockStmt *block);
/* Assumes the domains. */
void block_assume_domains(Facts *f, Context *c, const BlockStmt *block);

/* The iterator of that variable; NULL: it is none of the block's. */
const BlockIter *block_iter(const BlockStmt *block, const Var *var);

/* An iterator is bound to an expression of the variable. */
bool block_uses_var(const BlockStmt *block, const Var *var);
/* A reduce iterator stands in the expression. */
bool block_uses_reduced(const BlockStmt *block, const Expr *e);
/* An iterator of the kind is bound to an expression of the loop's variable. */
bool block_uses_loop(const BlockStmt *block, IterKind kind, const Var *loop);
/* A loop that a reduce iterator is bound to stands in the condition. */
bool reduction_decides(Context *c, const BlockStmt *block, const Expr *cond);

/* Iterations of the loop are parts of one reduction: they differ in how far the block's reduce
 * iterators are into their domains. `reduce i in j + 1..N = j + 1 + io * 4 + ii` is carried by io
 * and ii, and not by the loops that make j. */
bool block_reduces_over(Context *c, const BlockStmt *block, const Var *loop);
/* The statement is a loop of that kind for the block: it carries the reduction, or gives spatial
 * iterators their values. */
bool reduction_uses(Context *c, const BlockStmt *block, IterKind kind, const Stmt *loop);

/* The box of `buffer` that the accesses of `mode` below `s` touch, in terms of variables defined
 * outside `s`. Clipped to the buffer's shape where both are literals; elsewhere it may reach
 * outside, where domains of blocks cut instances off: its extents are literals wherever the
 * inner loops' are. `facts` hold at `s`. False when nothing is accessed. A subscript that reads
 * memory gives the whole dimension. */
bool region_touched(Facts *facts, Stmt *s, const Buffer *buffer, AccessMode mode,
                    Interval *box /* [rank] */);
/* The same, not clipped: iterations that touch different elements have different boxes, also where
 * the buffer is smaller than one of them. */
bool region_reached(Facts *facts, Stmt *s, const Buffer *buffer, AccessMode mode,
                    Interval *box /* [rank] */);

/* Places box.min + stride * 0..extent. */
typedef struct {
    int64_t stride, extent;
} Run;
enum { REGION_RUNS = 2 };
/* Runs in a box, the one with the smallest stride first; a place of each is added. None where the
 * box has no gaps, or none that are known. */
typedef struct {
    Run items[REGION_RUNS];
    int n;
} Runs;

/* The accesses of a buffer in a mode, below a statement. */
typedef struct {
    Stmt *stmt;
    const Buffer *buffer;
    AccessMode mode;
} RunsOf;
/* What the accesses touch of an axis, where that is less than `box`, its box. Runs may hold more
 * than is touched, never less. */
Runs region_runs(Facts *facts, const RunsOf *of, int axis, const Interval *box);

/* The innermost statement of `root` that contains every access of `buffer`: a seq where several
 * of its items do, at most a block, not a statement inside it.  NULL when there is none. */
Stmt *lowest_common_ancestor(Context *c, Stmt *root, const Buffer *buffer);

/* What `e`, simplified, may be where the variables over[n], whose ranges are among the facts, take
 * all their values. False where that has no bounds. */
bool interval_over(Facts *f, Expr *e, const Var *const *over, int n, Interval *out);

/* `box` without places that are certainly outside 0..shape. */
Interval interval_clip(Facts *f, Interval box, Expr *shape);

#endif
