/* search.h - Declares cursors over trees, and what is found with them: a part of ir.h (cursor.c,
 * find.c). */
#ifndef TIRC_IR_SEARCH_H
#define TIRC_IR_SEARCH_H

#include "ir/ir.h"

typedef enum { BRANCH_THEN, BRANCH_ELSE } Branch; /* of an if; all else has one part */

/* What a place is inside of: a loop, a launch, a block, a branch of a condition, or what follows a
 * name in its sequence. */
typedef struct {
    const Stmt *stmt; /* ST_FOR, ST_LAUNCH, ST_BLOCK, ST_IF or ST_LET */
    bool otherwise;   /* the other branch of the if */
} Enclosing;
typedef VEC(Enclosing) EnclosingList;
/* A path of its own; that of a cursor changes with each step. */
EnclosingList enclosing_copy(Context *c, const EnclosingList *path);

/* ---- cursors (cursor.c): a search is a loop with a return in it --------------------------------
 *   for (Cursor at = cursor_stmt(c, root); cursor_next(&at);)
 *       if (at.expr && at.expr->kind == EX_LOAD)
 *           return at.expr;
 * It goes through the root and what is below, outer first, in the order of the text. Expressions
 * of a buffer's shape are not among them. */
enum { CURSOR_FEW = 24 };
typedef struct {
    Stmt *stmt;
    Expr *expr;
    int exprs;    /* how many expressions its children begin with */
    int children; /* how many it has */
    int next;     /* the child that comes next */
    int n_path;   /* how much of the path is around the node and the items before the next child */
} CursorFrame;
typedef struct {
    Stmt *stmt; /* the node: one of the two, the other is NULL */
    Expr *expr;
    EnclosingList path; /* of cursor_with_path: what is around the node, outermost first */
    Context *ctx;       /* for long ways */
    CursorFrame root, few[CURSOR_FEW], *more;
    int depth, capacity;
    bool stmts_only, blocks_closed, keeps_path;
    bool on_leaf; /* nothing is visited below the node, which has no frame */
} Cursor;
Cursor cursor_stmt(Context *c, const Stmt *root);  /* statements and expressions */
Cursor cursor_stmts(Context *c, const Stmt *root); /* statements alone */
Cursor cursor_outer(Context *c, const Stmt *root); /* statements, and none in a block */
Cursor cursor_expr(Context *c, const Expr *root);
/* The cursor, before its first step, with a path: `outer` (NULL: nothing), which is around the
 * root, then what is around the node below the root. The next step overwrites the path. */
Cursor cursor_with_path(Cursor at, const EnclosingList *outer);
/* Moves on to the next node; false after the last. */
bool cursor_next(Cursor *at);
/* Leaves out what is below the node. */
void cursor_prune(Cursor *at);
/* Adds the statements from the root to the node, both included. */
void cursor_way(const Cursor *at, StmtList *way);

/* ---- searching (find.c) ---------------------------------------------------------------------- */

/* Of a path: its loops, and the conditions that hold there (negated in the other branch), outermost
 * first. */
StmtList enclosing_loops(Context *c, const EnclosingList *path);
ExprList enclosing_conds(Context *c, const EnclosingList *path);

/* Those of one kind below and including the root, in program order; none of those in a block. */
StmtList stmts_of_kind(Context *c, const Stmt *root, StmtKind kind);
/* The buffer is a temp that is declared below and including `s`, not in a block. */
bool stmt_declares(Context *c, const Stmt *s, const Buffer *buffer);
/* The same, also in blocks. */
bool stmt_declares_inside(Context *c, const Stmt *s, const Buffer *buffer);
/* The blocks below and including `root` of which that is true, in program order. */
typedef bool BlockTest(const BlockStmt *block);
StmtList blocks_that(Context *c, const Stmt *root, BlockTest *is);
/* The first block below and including `s` that has an init; NULL if there is none. */
Stmt *block_with_init(Context *c, const Stmt *s);
/* It is a loop with the annotation; */
bool stmt_is_marked(const Stmt *s, AnnotationKey key);
/* those below and including `root`, in program order; none of those in a block. */
StmtList loops_marked(Context *c, const Stmt *root, AnnotationKey key);
/* The outermost loop below and including `s` that is bound, the first in the text; none of those
 * inside a block. NULL: there is none. */
Stmt *stmt_bound_loop(Context *c, const Stmt *s);
/* The store that a statement is, alone or in a sequence of one; NULL for all else, and for NULL. */
const Stmt *stmt_single_store(const Stmt *s);
/* How many lets stand in front of the only other statement of a body. */
int stmt_lets(const Stmt *body);
/* That statement; NULL where there are several. */
const Stmt *stmt_behind_values(const Stmt *s);
/* It, if it is an update: a store, or an update of a tuple; else NULL. */
const Stmt *stmt_valued_update(const Stmt *s);
/* The same under conditions without `else`, and lets in front of them. */
const Stmt *stmt_guarded_update(const Stmt *s);
/* The same behind lets: the only store of `let a = x[i]; y[i] = a * a;`. */
const Stmt *stmt_valued_store(const Stmt *s);
/* That store with the values of the lets written out: `y[i] = x[i] * x[i];`. NULL where there is
 * none, or where its text would grow beyond bounds. */
const Stmt *stmt_written_out(Context *c, const Stmt *s);
/* `store` behind the lets of `body`, which has a valued store. */
Stmt *stmt_behind_lets(Context *c, const Stmt *body, Stmt *store);
/* The number of nodes of an expression, or a number above `most`. */
int expr_nodes(const Expr *e, int most);
/* The block inside of a nest of loops and conditions that holds nothing else. */
Stmt *stmt_nest_block(Stmt *nest);

/* Somewhere in it. Shapes of buffers do not count. */
bool expr_uses_var(const Expr *e, const Var *var);
bool stmt_uses_var(Context *c, const Stmt *s, const Var *var);
/* An expression of the statement itself uses it, none of those of statements below; */
bool stmt_head_uses_var(const Stmt *s, const Var *var);
/* an end of a loop's range; of an iterator's domain. */
bool loop_uses_var(const ForStmt *loop, const Var *var);
bool iter_uses_var(const BlockIter *iter, const Var *var);
bool expr_has_load(const Expr *e);
/* Sizes, numbers, and what is computed from them. */
bool expr_of_sizes(const Expr *e);
/* The conditions that a block's predicate joins: those that read no buffer, and behind them those
 * that do. The former hold where its iterators are computed, the latter are asked only where these
 * lie in their domains. The number of the former. */
int block_conditions(Context *c, const BlockStmt *block, ExprList *out);
/* It reads a buffer other than an input, so its value may change while the kernel runs. */
bool expr_loads_change(const Expr *e);
bool expr_reads(const Expr *e, const Buffer *buffer);
/* It is `await` of an element; one of `buffer` (NULL: of any) stands in it. */
bool expr_awaits(const Expr *e);
bool stmt_awaits(Context *c, const Stmt *s, const Buffer *buffer);
/* A loop's variable in `e`; NULL if there is none. */
const Var *expr_loop_var(Context *c, const Expr *e);
/* The load whose bits a copy moves: the stored value, or that of `where ? load : 0`; NULL where the
 * value is neither. `where` comes back NULL where the copy has no condition. */
const Expr *expr_copied(const Expr *value, Expr **where);
/* The same of `where ? load : literal`. */
const Expr *expr_copied_or(const Expr *value, Expr **where);
/* It is the literal 0, and not -0. */
bool expr_is_zero(const Expr *e);

typedef StmtList StmtPath; /* items[0] is the root, the end the node that it leads to */
Stmt *path_end(const StmtPath *path);
/* A variable in `e` of a loop that is not on the path; NULL if there is none. */
const Var *expr_loop_outside(Context *c, const Expr *e, const StmtPath *path);
/* The loop or block with this id, with the path to it unless that is NULL; NULL: there is none. */
Stmt *stmt_find(Context *c, Stmt *root, uint32_t id, StmtPath *path);
/* The path to a statement, by pointer; empty when it is not there. */
StmtPath stmt_path_to(Context *c, Stmt *root, const Stmt *node);
/* Adds what the node is inside of, below `root`; false, and nothing, when it is not there. */
bool stmt_enclosing(Context *c, Stmt *root, const Stmt *node, EnclosingList *around);

#endif
