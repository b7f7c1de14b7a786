/* implied.h - Says what plain statements stand for.
 *
 * A statement outside of any block stands for a block whose iterators are the enclosing loops,
 * outermost first, each with its loop's name, its loop's range as domain and its loop's variable as
 * binding; one is a reduce iterator if the body is a single update (not `=`), perhaps behind lets,
 * whose subscripts do not use it, of an element that is not private to an iteration of the loop.
 * The resolver makes that block with these functions and the printer leaves out what they would
 * make. */
#ifndef TIRC_IR_IMPLIED_H
#define TIRC_IR_IMPLIED_H

#include "ir/ir.h"

/* A temp, and how many loops are around its declaration: each of their iterations has its own. */
typedef struct {
    const Buffer *buffer;
    int n_loops;
} PrivateTemp;
typedef VEC(PrivateTemp) PrivateTemps;
int loops_around_temp(const Buffer *buffer, const PrivateTemps *temps);
/* How many of the outermost loops around `body`, with these temps in sight, each have in every
 * iteration an element of their own that it updates. */
int block_private_loops(const Stmt *body, const PrivateTemps *temps);
/* The kind of the iterator of loop (or iterator) `var` around `body`, where the loop is none of
 * those: it reduces if the body is one update, alone or behind lets, whose element does not depend
 * on it. */
IterKind block_implied_kind(Context *c, const Stmt *body, const Var *var);
/* A plain `x = x + e` or `x = e + x`, where e does not read x, is the update `x += e`; the same for
 * every operator of updates but `&&=` and `||=`, which would compute e always. Any other store
 * stays. */
Stmt *store_as_update(Context *c, Stmt *store);
/* Whether a value of this kind is written out where a program uses it, so that proofs see it: an
 * index or a condition made of loops and sizes alone. A `let` of any other value belongs to the
 * blocks that use it. */
bool value_is_inline(const Expr *value);
/* The buffer of the first store in `body`, which names its block; NULL if it has none. An update of
 * `best_value` and `best_index`, the components of a reducer, is named `best`. */
Name block_implied_name(Context *c, const Stmt *body);
/* A plain statement in loops. */
typedef struct {
    const ForStmt *const *loops;
    int n_loops;
    int n_spatial; /* the outermost of them, which do not reduce */
    Name name;
    Stmt *init, *body;
    const Instruction *instruction; /* the body is what it computes; NULL: a plain statement */
    Span span;
} ImpliedBlock;

/* The block itself; `init` (may be NULL) and `body` use the loops' variables. A NULL `name` means
 * block_implied_name. */
Stmt *block_implied(Context *c, const ImpliedBlock *of);

/* ---- loops that a `break` may end ---- */

/* The loop  while cond body.  Its variable counts the iterations, and no text shows it. */
Stmt *stmt_while(Context *c, Expr *cond, Stmt *body, Span span);
/* The loop is one of stmt_while. */
bool loop_is_while(const ForStmt *loop);
/* The condition and the body of such a loop. The condition is NULL where it is always true. */
typedef struct {
    const Expr *cond;
    const Stmt *body;
} WhileParts;
WhileParts while_parts(const ForStmt *loop);
/* Of a loop of a reference that runs only for values that are needed: the condition around all of
 * its body, `need[v] != 0`; else NULL. */
const Stmt *loop_if_needed(const ForStmt *loop);
/* A `break` in the statement ends the loop around it. */
bool stmt_breaks(const Stmt *s);

/* The iterator is bound to one of the loops, the innermost last, which goes over its domain. */
bool iter_is_loop(const BlockIter *iter, const ForStmt *const *loops, int n);

#endif
