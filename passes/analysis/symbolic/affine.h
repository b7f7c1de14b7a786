/* affine.h - Declares linear forms of expressions and the store of facts (internal to
 * passes/analysis).
 *
 * Forms are over atoms (linear.h) here.  Where a number does not fit, the caller leaves its
 * expression alone. */
#ifndef TIRC_PASSES_ANALYSIS_SYMBOLIC_AFFINE_H
#define TIRC_PASSES_ANALYSIS_SYMBOLIC_AFFINE_H

#include "passes/analysis/symbolic/interval.h"
#include "passes/analysis/symbolic/linear.h"
#include "passes/analysis/symbolic/simplify.h"

/* ---- order.c: expressions in a row ----------------------------------------------------------- */

/* expr_order for factors of a product: sizes come last, `i * N`. */
int factor_order(const Expr *a, const Expr *b);

/* ---- affine.c -------------------------------------------------------------------------------- */

/* Adds factor * atom to the end of a form; a literal goes to the constant. */
bool affine_push(Context *c, Affine *a, int64_t factor, Expr *atom);
/* How products of sums are translated. */
typedef enum {
    PRODUCTS_KEPT,     /* they are atoms: the form that is printed */
    PRODUCTS_EXPANDED, /* they are multiplied out: the form for proofs */
} Products;
/* Adds scale * e to `out`, taking e apart down to its atoms as they stand. */
bool affine_collect(Context *c, Expr *e, int64_t scale, Products products, Affine *out);
/* out = e, normal. */
bool affine_of(Context *c, Expr *e, Products products, Affine *out);
/* Products of sums are multiplied out only as long as they stay small. */
enum { PRODUCT_TERMS = 64 };
/* Adds scale * a * b to `out`. */
bool affine_push_product(Context *c, Affine *out, const Affine *a, const Affine *b, int64_t scale,
                         Products products, Span span);
/* The product of factors, in canonical order (sorts `factors`); NULL for none. */
Expr *product_build(Context *c, ExprList *factors, Span span);
/* What is left of a product without the factors of `divisor`, 1 where nothing is; NULL if one of
 * them is missing. */
Expr *product_divide(Context *c, Expr *atom, Expr *divisor);

/* ---- build_index.c: text of a form ----------------------------------------------------------- */

/* The expression that a person would write for the form. */
Expr *affine_expr(Context *c, const Affine *a, Span span);

/* ---- bits.c: bit operations ------------------------------------------------------------------ */

/* An INDEX bit operation of simplified operands in other arithmetic; NULL where it is not proved
 * that there is one. */
Expr *bits_as_arithmetic(Facts *f, Expr *e);

/* ---- facts.c --------------------------------------------------------------------------------- */

/* Points that are tried to refute a form (evaluate.c). */
enum { POINTS = 32 };
/* Points as bits: those at which a range or condition was looked at, and those where it and all
 * before it hold. */
typedef struct {
    uint32_t known, allowed;
} PointSet;

typedef struct {
    const Var *var;         /* or */
    Axis axis;              /* AXIS_NONE: of another kind; or */
    const Buffer *buffer;   /* an input: each of its elements */
    Expr *lo, *hi;          /* canonical; hi is exclusive */
    bool affine;            /* the two forms below are set */
    Affine low, high;       /* expanded; both inclusive */
    Bounds bounds;          /* literal */
    Expr *value;            /* where only one value is left */
    int conditions_before;  /* how many conditions were known when it was added */
    int64_t stride;         /* its values are lo + k * stride */
    bool low_met, high_met; /* the ends are values that it takes */
    PointSet points;
    int64_t at[POINTS]; /* the value at each point */
} Range;

/* `expr` holds; if `affine`, it says that form >= 0 (expanded). */
typedef struct {
    Expr *expr;
    bool affine;
    bool derived; /* follows from a range, so that it restricts nothing */
    Affine form;
    PointSet points;
} Condition;

struct Facts {
    Context *c;
    VEC(Range) ranges;
    VEC(Condition) conditions;
    int depth;     /* of nested bounds */
    bool assuming; /* a condition is brought into canonical form, to be assumed */
    bool scales;   /* facts_scale */
};

/* Only so many conditions, the newest, take part in a proof. */
enum { FACTS_CONDITIONS_SEEN = 48 };
int facts_first_condition(const Facts *f);
/* The newest range of a variable, an axis or an element of an input, converted to INDEX or not;
 * NULL for other expressions and where nothing is known. */
const Range *facts_find(const Facts *f, const Expr *e);
/* The newest range of what `r` is a range of; NULL for none. */
const Range *facts_before(const Facts *f, const Range *r);
/* The place of the innermost variable in `e` among the ranges; -1 if none of them has one. */
int facts_rank(const Facts *f, const Expr *e);
int facts_rank_var(const Facts *f, const Var *var);
/* `cond`, canonical, is one of the conditions. */
bool facts_know(const Facts *f, const Expr *cond);
/* What the number has in common with a divisor that a condition names, for the factors of a product
 * as well: 8 for 24, e % 32 == 0. */
int64_t facts_common_divisor(const Facts *f, const Expr *e, int64_t number);
/* A condition says that `e` is a multiple of `by` > 0: e % 32 == 0, of 8. */
bool facts_divisible(const Facts *f, const Expr *e, int64_t by);
/* The domains of a block's iterators, and its predicate; */
void facts_enter_block(Facts *f, const BlockStmt *block);
/* for its init, the domains of the spatial ones. */
void facts_enter_init(Facts *f, const BlockStmt *block);

/* The facts as they were at a mark, to be asked and added to while `f` stays as it is. */
Facts facts_outside(const Facts *f, FactsMark mark);

/* A question may fill the arena with scratch: everything since `facts_ask` goes with
 * `facts_answered`. */
typedef struct {
    Facts saved;
    ArenaMark mark;
} Question;
Question facts_ask(const Facts *f);
void facts_answered(Facts *f, const Question *q);

/* ---- bounds.c, prove.c ----------------------------------------------------------------------- */

/* Of an atom: by its structure, and by the conditions that are about it. */
Bounds bounds_of_atom(Facts *f, Expr *atom);
/* Bounds from the literal bounds of atoms alone: fast. */
Bounds bounds_of_affine(Facts *f, const Affine *a);
/* Also by replacing variables by their symbolic ends. */
Bounds bounds_tight(Facts *f, const Affine *a);
Bounds bounds_tight_expr(Facts *f, Expr *e);
/* e >= 0, by its bounds alone. */
bool bounds_nonneg(Facts *f, Expr *e);

/* What a term is eliminated for: a number that the form is at least, or its sign alone. The sign of
 * rest - x / d is that of rest * d + d - 1 - x, and d may be symbolic. */
typedef enum { AIM_BOUND, AIM_SIGN } Aim;

/* What a term scale * factor * atom is at least.  `all`: it is one of `by`, so that all must be
 * looked at; else each of them is a bound. */
typedef struct {
    int term, n;
    bool all;
    int64_t scale;
    const Affine *times; /* in the place of `scale`, if it is not NULL */
    Affine by[3];
} Elimination;
/* The innermost term that can be eliminated by one bound; false: there is none. */
bool eliminate_pick(Facts *f, const Affine *a, Aim aim, Elimination *out);
/* out = scale * (a without its term) + by[k]. */
bool eliminate_apply(Context *c, const Affine *a, const Elimination *how, int k, Affine *out);

/* a >= 0 for all values that the facts allow. */
bool prove_nonneg(Facts *f, const Affine *a);
/* The form has products and negative terms, as that of (N - 1) * (H - 2). */
bool affine_is_expanded_product(const Affine *a);

/* ---- evaluate.c ------------------------------------------------------------------------------ */

/* The value of the form at some point where all facts hold passes the test. */
typedef bool PointTest(void *user, int64_t value);
bool points_find(const Facts *f, const Affine *a, PointTest *test, void *user);
/* The form is negative at a point where all facts hold: nothing proves that a >= 0. */
bool points_refute(const Facts *f, const Affine *a);

/* ---- divmod.c -------------------------------------------------------------------------------- */

/* out += scale * (a / b), or a % b. */
bool affine_push_quotient(Facts *f, Affine *out, const Affine *a, const Affine *b, bool mod,
                          int64_t scale, Span span);
/* Quotients and remainders of one number that belong together: x / 32 * 32 + x % 32 = x. */
void affine_recombine(Facts *f, Affine *a, Span span);

/* ---- congruence.c ---------------------------------------------------------------------------- */

/* out = a form that is congruent to `a` modulo m > 0: without remainders, steps of loops, and names
 * of values, as far as that is known. */
bool affine_congruent(Facts *f, const Affine *a, int64_t m, Affine *out);
/* Every value of the form is a multiple of m, by the numbers of such a form. */
bool affine_is_multiple(Facts *f, const Affine *a, int64_t m);

/* ---- compare.c, simplify.c ------------------------------------------------------------------- */

/* One pass of simplify. */
Expr *simplify_once(Facts *f, Expr *e);
/* out = the canonical form of an INDEX expression. */
bool simplify_affine(Facts *f, Expr *e, Affine *out);
Expr *simplify_bool(Facts *f, Expr *e);
/* Every term is a multiple of `by`, by its factor and by the conditions that are known. */
bool affine_terms_divisible(Facts *f, const Affine *a, int64_t by);
/* The comparison that holds where the other does not. */
ExprKind compare_opposite(ExprKind kind);
/* The opposite of a canonical condition, as a comparison where it is one of INDEX. */
Expr *cond_negate(Context *c, Expr *e);
/* `e` is true, or false, as a literal. */
bool cond_is_true(const Expr *e);
bool cond_is_false(const Expr *e);
/* b if both have the same structure (so that unchanged is the same pointer), else a. */
Expr *expr_settle(Expr *a, Expr *b);

#endif
