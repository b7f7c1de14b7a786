/* simplify.h - Collects what is known about integers at a place, and simplifies and proves with it.
 *
 * Facts hold the ranges of variables and the conditions that are true where an expression stands.
 * simplify rewrites an INDEX or boolean expression into one canonical form under them; prove and
 * the bounds answer questions.  All of them are sound: an unknown stays as it is, `false` means
 * "not proved". */
#ifndef TIRC_PASSES_ANALYSIS_SYMBOLIC_SIMPLIFY_H
#define TIRC_PASSES_ANALYSIS_SYMBOLIC_SIMPLIFY_H

#include "ir/ir.h"

typedef struct Facts Facts;

/* No facts but that sizes are at least 0.  Lives in the context's arena. */
Facts *facts_new(Context *c);
/* That the extents of its parameters are at least 0, as in every launch, for those that are neither
 * a number nor a size. */
ExprList kernel_extents(Context *c, const Kernel *kernel);
/* What holds everywhere in a kernel: its `where` clause, and that extents of parameters are at
 * least 0. Ranges of inputs count, since nothing writes them. */
Facts *facts_of_kernel(Context *c, const Kernel *kernel);
/* lo <= var < hi. */
void facts_range(Facts *f, const Var *var, Expr *lo, Expr *hi);
/* The range of `var` has literal ends and is not empty: the loop runs wherever the place before it
 * is reached. */
bool facts_range_is_literal(const Facts *f, const Var *var);
/* 0 <= axis < extent. */
void facts_axis(Facts *f, Axis axis, Expr *extent);
/* `cond` (a BOOL expression) holds. */
void facts_assume(Facts *f, Expr *cond);
/* The same in two steps: the canonical form of the condition, and that it, or its opposite, holds.
 * It is not simplified again, so the cost of nested conditions is linear. */
Expr *facts_canonical(Facts *f, Expr *cond);
void facts_assume_canonical(Facts *f, Expr *cond);
/* From now on proofs multiply conditions by factors of products, too: a guard of a row says of its
 * elements what it says times the length of rows. For proofs alone: of two guards that follow from
 * each other, the simplifier keeps the one that it finds first. */
void facts_scale(Facts *f);
/* What holds inside a loop (its range), a block (domains of its iterators), an if (then), a
 * launch. */
void facts_enter(Facts *f, const Stmt *s);
/* The same, of what a place is inside of. */
void facts_enter_enclosing(Facts *f, Enclosing around);
/* The same, of what the item behind path->items[i] is inside of. */
void facts_enter_item(Facts *f, const StmtPath *path, int i);

/* Facts added since a mark are dropped by facts_reset. */
typedef struct {
    int ranges, conditions;
} FactsMark;
FactsMark facts_mark(const Facts *f);
void facts_reset(Facts *f, FactsMark mark);

/* The canonical form of `e`: sums of products sorted, divisions and remainders resolved where
 * ranges allow, comparisons decided where they can be.  Equal to `e` for every value that the facts
 * allow. Floating-point arithmetic is left as it is, but indices inside it are simplified.  The
 * form is the one a person would write: by * 32 + ty, outer terms first, no subtraction of negative
 * literals. */
Expr *simplify(Facts *f, Expr *e);
/* Every INDEX and BOOL expression of a statement simplified under the facts of its place; loops of
 * one iteration, false ifs and empty loops are resolved (a loop of one iteration becomes its body
 * unless it is bound, vectorized, or annotated). */
Stmt *simplify_stmt(Facts *f, Stmt *s);

/* The init of the block and its body are one store each, of one element in the same words. */
bool block_has_one_element(Context *c, const BlockStmt *block);
/* `body`, which a rewriting made of old's beside `init`, with the subscripts of that where old has
 * one element: the ranges of the reduction's iterators would make words of them that only hold
 * where it is not empty. */
Stmt *block_body_at_init(Context *c, const BlockStmt *old, Stmt *init, Stmt *body);

/* `cond` holds for all values that the facts allow; false says that it is not known. */
bool prove(Facts *f, Expr *cond);
/* a < b, or as `kind` compares them; e >= least; 0 <= e < end. */
bool prove_compare(Facts *f, Expr *a, ExprKind kind, Expr *b);
bool prove_at_least(Facts *f, Expr *e, int64_t least);
bool prove_inside(Facts *f, Expr *e, Expr *end);
/* `e` where it is proved to be at least that, else the larger of both. */
Expr *index_at_least(Facts *f, Expr *e, int64_t least);
/* The subscripts of a load are proved to be inside its buffer. */
bool load_exists(Facts *f, const Expr *load);
/* Literal bounds, both inclusive. False, and nothing set, where a side is unbounded. */
bool bounds_const(Facts *f, Expr *e, int64_t *min, int64_t *max);
/* An expression without the variables in `over` that is at most (largest_over: at least) `e` for
 * all their values, and reached by some of them if `exact` comes back true. NULL if there is
 * none. */
Expr *least_over(Facts *f, Expr *e, const Var *const *over, int n, bool *exact);
Expr *largest_over(Facts *f, Expr *e, const Var *const *over, int n, bool *exact);
/* Both, of an expression that is simplified: the least first. False where one is missing. */
bool range_over(Facts *f, Expr *e, const Var *const *over, int n, Expr *ends[2]);
/* A range without elements of inputs that covers lo..hi, whatever they are. False where no `where`
 * clause bounds one. */
bool range_over_data(Facts *f, Expr *lo, Expr *hi, Expr *ends[2]);
/* e is a multiple of `by` for every value. */
bool prove_divisible(Facts *f, Expr *e, int64_t by);
/* e = coefficient * var + rest, rest free of var; false where e is not of that form. */
bool split_linear(Facts *f, Expr *e, const Var *var, int64_t *coefficient, Expr **rest);
/* e = rest + number, the number as it stands in the sum; false where that does not fit. */
bool split_number(Facts *f, Expr *e, int64_t *number, Expr **rest);

/* e = chosen + rest: the terms whose factor beside their number `chooses`, and the others. The
 * number alone is in `rest`. False where e has no such form. */
bool split_terms(Facts *f, Expr *e, bool (*chooses)(const void *user, Expr *factor),
                 const void *user, Expr **chosen, Expr **rest);

/* factor * x + rest is a multiple of the modulus, for a variable x that `rest` is free of. */
typedef struct {
    int64_t factor, modulus; /* the modulus is 2 to INT32_MAX */
    Expr *rest;
} Congruence;

/* Reads `(..) % m == 0` as a congruence for `var`. False where it is of another form. */
bool congruence_of(Facts *f, const Expr *cond, const Var *var, Congruence *out);
/* The distance between adjacent solutions, at least 1. */
int64_t congruence_stride(const Congruence *g);
/* The least solution that is at least 0, and a number that is 0 where there are solutions, and more
 * elsewhere. False if `rest` is not known to be congruent to a sum of numbers that are at least
 * 0. */
bool congruence_solve(Facts *f, const Congruence *g, Expr **first, Expr **miss);

/* The value of an integer expression of variables with known values, of which later ones hide
 * earlier ones (evaluate.c). False where one is unknown, or a number does not fit. */
typedef struct {
    const Var *var;
    int64_t value;
} VarValue;
typedef VEC(VarValue) VarValues;
/* Those of the symbolic sizes, of which `sizes` has one for each of the kernel's. */
VarValues size_values(Context *c, const Kernel *kernel, const int64_t *sizes);
bool expr_eval(const Expr *e, const VarValue *env, int n, int64_t *value);
/* What an operator gives for two integers; false where that is no number of 64 bits. */
bool integer_binary(ExprKind kind, int64_t a, int64_t b, int64_t *value);

/* Adds the operands of a chain: of (a + b) + c as a chain of EX_ADD a, b and c. */
void expr_chain(Context *c, Expr *e, ExprKind kind, ExprList *out);

/* Simplifying constructors for INDEX arithmetic, without facts: literals fold, zeros and ones
 * vanish. */
Expr *index_add(Context *c, Expr *a, Expr *b);
Expr *index_sub(Context *c, Expr *a, Expr *b);
Expr *index_mul(Context *c, Expr *a, Expr *b);
Expr *index_div(Context *c, Expr *a, Expr *b); /* truncating; for operands known to be >= 0 */
Expr *index_mod(Context *c, Expr *a, Expr *b);
Expr *index_min(Context *c, Expr *a, Expr *b);
Expr *index_max(Context *c, Expr *a, Expr *b);
/* x / (a * b) for e = x / a / b with divisors that are no literals; else `e`. */
Expr *index_join_divisors(Context *c, Expr *e);
/* ceil(a / b) for a >= 0, b > 0. */
Expr *index_ceildiv(Context *c, Expr *a, Expr *b);
/* The number of iterations of a loop, as an expression; 0 or less means none. */
Expr *loop_extent(Context *c, const ForStmt *loop);
/* The extent for an axis of a buffer: no axis of a text has a number of elements below 1. A
 * condition on sizes (specialize) and a loop without iterations can make extents such numbers. */
Expr *shape_extent(Context *c, Expr *extent);
/* a && b, a may be NULL. */
Expr *cond_and(Context *c, Expr *a, Expr *b);

#endif
