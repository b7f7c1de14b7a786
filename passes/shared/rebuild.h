/* rebuild.h - small steps of rebuilding: a statement with other children, a loop with another body,
 * conditions taken apart and joined. */
#ifndef TIRC_PASSES_SHARED_REBUILD_H
#define TIRC_PASSES_SHARED_REBUILD_H

#include "ir/names.h"
#include "passes/analysis/symbolic/simplify.h"

typedef VEC(Var *) VarList;

/* stmt_map_children with the facts that hold below `s`: of a loop, a launch, a branch. A name that
 * `fn` enters into them is known until its sequence ends. */
Stmt *stmt_map_inside(Context *c, Facts *f, Stmt *s, Stmt *(*fn)(void *user, Stmt *s), void *user);
/* `loop` with another body. */
Stmt *loop_with_body(Context *c, const Stmt *loop, Stmt *body);
/* A serial loop over the range of `loop`, with a variable of its own and no annotations. */
ForStmt loop_alike(Context *c, const Stmt *loop);
/* `loop`, which has step 1, from its last iteration down to its first. */
Stmt *loop_backwards(Context *c, const Stmt *loop);
/* The block's own copy of its iterators, to be changed, with room for `more`. */
BlockIter *block_own_iters(Context *c, BlockStmt *block, int more);
/* `body` in the loops, the first one outermost; each gets its body. */
Stmt *stmt_in_loops(Context *c, ForStmt *loops, int n, Stmt *body, Span span);
/* s1 then s2; either may be NULL. */
Stmt *stmt_then(Context *c, Stmt *s1, Stmt *s2);
/* The place of an item in a body; -1 where it is none. */
int stmt_place(const Stmt *body, const Stmt *item);
/* `body` with `more` in front of its item `at`; behind all, where that is their number. */
Stmt *stmt_insert(Context *c, const Stmt *body, int at, Stmt *more);
/* The kernel with another body; it shares the rest. */
Kernel *kernel_with_body(Context *c, const Kernel *kernel, Stmt *body);
/* `s` without the lets of blocks that nothing behind them uses. */
Stmt *stmt_without_unused_lets(Context *c, Stmt *s);
Stmt *stmt_empty(Context *c, Span span); /* a sequence of nothing */

/* The conjuncts of `cond`, from left to right, added to `out`; and back (NULL for none). */
void cond_split(Context *c, Expr *cond, ExprList *out);
Expr *cond_join(Context *c, const ExprList *conds);
bool expr_list_has(const ExprList *list, const Expr *e); /* by structure */

/* The expression uses one of the variables; one of the expressions uses the variable. */
bool expr_uses_any(const Expr *e, Var *const *vars, int n);
bool exprs_use_var(Expr *const *e, int n, const Var *var);
/* stmt_subst, also in the shapes of the temporaries that the statement declares. */
Stmt *stmt_subst_shaped(Context *c, Stmt *s, const Subst *map, int n);

/* The first n nodes of `outer`, and behind them `inner`. */
StmtPath path_joined(Context *c, const StmtPath *outer, int n, StmtPath inner);
/* The position of the loop with this id on a path; -1 where it is not there. */
int path_loop(const StmtPath *path, uint32_t id);
/* `e` uses the variable of a loop on the path. */
bool path_binds(const StmtPath *path, const Expr *e);

#endif
