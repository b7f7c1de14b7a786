/* poly.h - Represents systems of affine constraints over integers, and decides whether they have a
 * solution.
 *
 * A question about iterations is put as a Poly: columns (sizes, loop variables of each instance,
 * helpers), rows (affine forms that are >= 0 or == 0), and choices between sets of rows.
 * Expressions of the program are translated with helper columns: q = e / 4 is a column with 0 <= e
 * - 4 q <= 3, min(a, b) a column and a choice. A value that is not affine becomes a column without
 * rows, and sets `inexact`. So the system over-approximates the program.
 *
 * Products of a variable and a symbolic size are columns too. Where a solution would depend on
 * them, numbers such as q N + r are split into digits of symbolic width (poly_products.c). Loops
 * that were split or fused by symbolic extents need this.
 *
 * isl decides each case, unless the same one was decided before. A system lives in the context's
 * arena, which the caller marks and resets; solving it leaves nothing there but the answer. */
#ifndef TIRC_PASSES_ANALYSIS_POLYHEDRAL_POLY_H
#define TIRC_PASSES_ANALYSIS_POLYHEDRAL_POLY_H

#include "passes/analysis/symbolic/interval.h"
#include "passes/analysis/symbolic/linear.h"

struct isl_set;

/* Properties of a column that need no solving; INT64_MIN and INT64_MAX are no bounds. */
typedef struct {
    int64_t min, max;
    bool fixed; /* the same in all instances: sizes, scalars, and what is computed from them */
    bool lost;  /* rows that have it stand for some that are not known */
} Column;

/* A column whose lower bound was raised, and what it was. */
typedef struct {
    int column;
    int64_t min;
} Raised;

typedef struct {
    Affine form;
    bool equal;  /* form == 0, else form >= 0 */
    bool digits; /* an equality that takes a number apart: 4 q + r - x, with one factor of -1 */
} Row;

typedef VEC(Row) RowList;

typedef struct Conj Conj;
typedef struct {
    Conj *const *alternatives; /* at least one holds */
    int n;
} Choice;
struct Conj {
    RowList rows;
    VEC(Choice) choices;
};

typedef struct {
    Affine dividend, divisor;
    int column;
    int remainder; /* its column, where the divisor is one of few numbers */
    int number;    /* x of x == 4 q + r, a column that forms do without from then on; or -1 */
    Affine digits; /* 4 q + r - x */
} Quotient;

/* The smaller (EX_MIN) or larger one of two values. */
typedef struct {
    ExprKind kind;
    Affine a, b, value; /* a column */
} Extreme;

typedef struct {
    Affine factor, size; /* size has only fixed columns and is at least 0 */
    int column;
} Product;

/* x * x for a form x, and factor * x * x + linear * x: columns. */
typedef struct {
    Affine at;
    Bounds range; /* of x */
    int column;
} Square;
typedef struct {
    int64_t factor, linear;
    int square; /* its place in the list */
    int column;
} Quadratic;

/* An element of an input, as a load reads it. */
typedef struct {
    const Buffer *buffer;
    const Affine *at; /* its subscripts */
    Affine value;     /* a column */
} Element;

typedef struct {
    const Var *var;
    Affine value;
    bool unknown; /* it depends on data: using it makes the system inexact */
} Meaning;
/* Values of variables; later entries hide earlier ones. */
typedef VEC(Meaning) Env;

/* State that all questions of a context share; the first question makes it. */
struct PolySolver {
    struct isl_ctx *isl;
    struct PolyMemo *memo;
    int64_t work_left; /* of the budget of the present question, beside isl's own */
};

typedef struct {
    Context *ctx;
    struct isl_ctx *isl;
    struct PolyMemo *memo; /* questions that the context has asked before */
    const Kernel *kernel;  /* whose `where` clause holds, or NULL */
    bool has_order;        /* it states an order of an input */
    VEC(Column) columns;
    VEC(Raised) raised; /* by poly_raise, to be undone by poly_reset */
    Conj top;
    VEC(Quotient) quotients;
    VEC(Extreme) extremes;
    VEC(Product) products;
    VEC(Square) squares;
    VEC(Quadratic) quadratics;
    VEC(Element) elements; /* of inputs (poly_order.c) */
    int n_given;           /* of these, the first ones, whose values the question takes as given */
    Env fixed;             /* sizes and scalars met so far, loops outside the root */
    bool inexact;          /* a constraint was dropped, a value is unknown or a product of sizes */
    bool lost;             /* the first two of these */
} Poly;

/* An empty system. Makes the context's isl_ctx if it has none and starts a new budget of
 * operations. */
Poly *poly_new(Context *c);

/* Everything added since a mark is dropped by poly_reset. */
typedef struct {
    int columns, rows, choices, quotients, extremes, products, squares, quadratics, elements, fixed,
        raised;
    bool inexact, lost;
} PolyMark;
PolyMark poly_mark(const Poly *p);
void poly_reset(Poly *p, PolyMark mark);
/* A part of a question: poly_end drops everything that was added to the system and the arena
 * since poly_begin. */
typedef struct {
    Poly before;
    ArenaMark arena;
} PolyPart;
PolyPart poly_begin(const Poly *p);
void poly_end(Poly *p, const PolyPart *part);
/* The same, but `inexact` and `lost` stay set: the work was on the system itself. */
void poly_end_work(Poly *p, const PolyPart *part);
/* From here on the column is at least `min`. */
void poly_raise(Poly *p, int column, int64_t min);
/* From here on a form of sizes is at least 1: 2 N - 1 says N >= 1. */
void poly_raise_positive(Poly *p, Affine size);

/* ---- affine forms ---------------------------------------------------------------------------- */

/* A new column between two ends, both inclusive. Fixed: the same in all instances; free: not. */
Affine poly_column(Poly *p, int64_t min, int64_t max, bool fixed);
Affine poly_fixed_column(Poly *p, int64_t min, int64_t max);
Affine poly_free_column(Poly *p, int64_t min, int64_t max);
/* factor * column. */
Affine poly_term(Poly *p, int64_t factor, int column);
/* A value x with lo <= x < hi: a column, fixed where `env` is the system's, or `lo`, where it is
 * the only value. */
Affine poly_between(Poly *p, const Env *env, Affine lo, Affine hi);
/* An unknown value; makes the system inexact. */
Affine poly_unknown(Poly *p);
/* a + factor * b; unknown where a number does not fit. */
Affine poly_add(Poly *p, Affine a, Affine b, int64_t factor);
bool affine_is_fixed(const Poly *p, Affine a);
/* Bounds from those of the columns. */
Bounds affine_range(const Poly *p, Affine a);

/* Adds a row to `into`: form >= 0, */
void poly_not_negative(Poly *p, Conj *into, Affine form);
/* form == 0, */
void poly_zero(Poly *p, Conj *into, Affine form);
/* a <= b + offset, */
void poly_at_most(Poly *p, Conj *into, Affine a, Affine b, int64_t offset);
/* a == b. */
void poly_equal(Poly *p, Conj *into, Affine a, Affine b);
/* Adds a choice of n new, empty alternatives, for the caller to fill. */
Conj **poly_choice(Poly *p, Conj *into, int n);
/* At least one of a[k] != b[k]. */
void poly_differ(Poly *p, Conj *into, const Affine *a, const Affine *b, int n);

/* ---- expressions (poly_expr.c) --------------------------------------------------------------- */

/* A column for a size or scalar that `p->fixed` does not have yet. */
Affine poly_size(Poly *p, const Var *var);
/* Columns for what a run is given, in one order: symbolic sizes, then integer scalars. Returns how
 * many there are, at most `most`. */
int poly_given(Poly *p, const Kernel *kernel, Affine *given, int most);
/* What the kernel assumes of its sizes, of integer scalars and, wherever they are read from now on,
 * of the elements of integer inputs (poly_where.c). */
void poly_assume_where(Poly *p, const Kernel *kernel);
/* What the `where` clause says of the range of a value of the buffer. */
void poly_assume_values(Poly *p, const Buffer *buffer, Affine value);
/* The value of a load of integers under `env`: unknown, but in the range that the `where` clause
 * gives it, that of an element with equal subscripts, and in the order of others (poly_order.c). */
Affine poly_element(Poly *p, const Env *env, const Expr *load);
/* The value of an integer expression under `env`. */
Affine poly_value(Poly *p, const Env *env, const Expr *e);
typedef enum { HOLDS_NOT, HOLDS } Truth;
/* `cond` holds, or does not hold; what is not affine is dropped. */
void poly_assume(Poly *p, Conj *into, const Env *env, const Expr *cond, Truth truth);
/* The same of a condition on sizes around all that is asked about. What is not affine in it, or
 * needs cases, is left out: an answer for more sizes holds for these, too (poly_where.c). */
void poly_assume_around(Poly *p, const Expr *cond, Truth truth);
const Affine *env_find(const Env *env, const Var *var);
/* What follows for the sizes where `e`, an extent of sizes, is at least 1: (max(N - 2, 0) * M +
 * 255) / 256 says N >= 3. */
void poly_assume_positive(Poly *p, const Expr *e);
/* What q < hi says of the dividend where q is a quotient e / N by a size: e < hi N. The rows of the
 * quotient and q < hi imply it, but only by a product. */
void poly_quotient_below(Poly *p, Affine q, Affine hi);
/* e / d for d > 0, truncating. A column that is divided gets digits: x == 4 q + r. */
Affine poly_quotient(Poly *p, Affine e, int64_t d);
/* The same, rounded down; false where the terms that d does not divide have no least value. */
bool poly_floor(Poly *p, Affine e, int64_t d, Affine *q);
/* a * b where both are multiples of one form, but for numbers (poly_squares.c); false of others. */
bool poly_multiply_alike(Poly *p, Affine a, Affine b, Affine *product);
/* The form with digits in the place of the columns that have them. */
Affine poly_digits(Poly *p, Affine e);

/* ---- solving (poly_solve.c) ------------------------------------------------------------------ */

typedef enum {
    POLY_NONE,  /* no solution */
    POLY_SOME,  /* a solution, given where it was asked for */
    POLY_SPENT, /* not decided within the budget, or none can be shown */
} Answer;

/* `point`, if given, receives the value of every column; the columns of `first` (in order) are as
 * small as they can be. */
Answer poly_solve(Poly *p, const Affine *first, int n_first, int64_t **point);
int64_t affine_at(Affine a, const int64_t *point);
/* Adds "name = value", behind a comma where it is not the first. */
void point_print(StrBuf *out, const char *name, int64_t value);
/* Bounds n forms over the solutions of the rows of `p`, by elimination and bounds; choices are
 * ignored. False if the rows have no solution. */
bool poly_ranges(Poly *p, const Affine *forms, int n, Bounds *ranges);

/* Finds witnesses: for each solution of `p`, values of the columns from `from` on that satisfy
 * rows[0..n), the only rows that use them (poly_extend.c). Returns how many rows were not
 * proved, and puts them into `left` [most]: witnesses exist wherever these hold. Rows that follow
 * from others are left out. Returns -1 if no values were found, more rows are left, or one of them
 * never holds. `p` grows by columns with one value for each solution. Incomplete: no answer means
 * that there are no witnesses. */
int poly_extend(Poly *p, const Row *rows, int n, int from, Row *left, int most);

/* The values that forms[0..n) take over all solutions, as a set of n dimensions; NULL when the
 * budget is spent. *exact: it holds no other values, which constraints that were dropped would have
 * ruled out, or products of sizes (poly_products.c). The caller frees it. */
struct isl_set *poly_image(Poly *p, const Affine *forms, int n, bool *exact);
/* A point of the set with small coordinates; false if it is empty; *spent when not decided. */
bool poly_set_point(struct isl_set *set, int64_t *point, int n, bool *spent);

#endif
