/* rewrite.h - Declares how trees are rewritten: a part of ir.h (rewrite.c). */
#ifndef TIRC_IR_REWRITE_H
#define TIRC_IR_REWRITE_H

#include "ir/ir.h"

/* Bottom-up rewriting: children first, then the callback on the rebuilt node, whose result replaces
 * it.  A node with unchanged children is passed as it is, so an identity rewrite returns the same
 * pointer.  A NULL from `stmt` removes the statement (an empty seq takes its place where one must
 * stand). */
typedef struct Rewriter {
    Context *ctx;
    void *user;
    Expr *(*expr)(struct Rewriter *r, Expr *e); /* may be NULL */
    Stmt *(*stmt)(struct Rewriter *r, Stmt *s); /* may be NULL */
} Rewriter;
Expr *rewrite_expr(Rewriter *r, Expr *e);
Stmt *rewrite_stmt(Rewriter *r, Stmt *s);
/* One step of a rewrite that goes down by itself: `s` with every direct child statement replaced by
 * fn(user, child); itself when none changed. A NULL takes the child out, and with it a loop, if or
 * sequence that it leaves empty (then the result is NULL). The init and body of blocks are not
 * children: a block is returned as it is. */
Stmt *stmt_map_children(Context *c, Stmt *s, Stmt *(*fn)(void *user, Stmt *s), void *user);

/* The same for the expressions that are direct children of an expression, and of a statement. */
Expr *expr_map_children(Context *c, Expr *e, Expr *(*fn)(void *user, Expr *e), void *user);
Stmt *stmt_map_exprs(Context *c, Stmt *s, Expr *(*fn)(void *user, Expr *e), void *user);

/* Replaces variables and buffers; the simplest rewrites. */
Expr *expr_subst(Context *c, Expr *e, const Subst *map, int n);
Stmt *stmt_subst(Context *c, Stmt *s, const Subst *map, int n);
Stmt *stmt_replace_buffer(Context *c, Stmt *s, const Buffer *from, Buffer *to);
/* Replaces variables in n_items expressions; the array is new. */
Expr **exprs_subst(Context *c, Expr *const *items, int n_items, const Subst *map, int n);
/* Replaces them in the shape of a copy of the buffer, which has the same id. */
Buffer *buffer_subst(Context *c, const Buffer *buffer, const Subst *map, int n);
/* A copy whose loops, blocks, iterators and lets are new variables with new ids, in the order of
 * the text. A temp whose shape uses them becomes another buffer with the same id. */
Stmt *stmt_clone_fresh(Context *c, Stmt *s);
/* root with the node `from` (by pointer, once) replaced by `to`; NULL `to` removes it. */
Stmt *stmt_replace(Context *c, Stmt *root, const Stmt *from, Stmt *to);

#endif
