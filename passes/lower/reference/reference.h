/* reference.h - Builds the reference program (internal to passes/lower; docs/verification.md has
 * the formulas). */
#ifndef TIRC_PASSES_LOWER_REFERENCE_REFERENCE_H
#define TIRC_PASSES_LOWER_REFERENCE_REFERENCE_H

#include "passes/lower/pass.h"
#include "passes/shared/linear.h"

/* A buffer of the program and what accompanies it; NULL where it cannot be anything but exact. */
typedef struct {
    const Buffer *from;
    Buffer *value;   /* f64 for floats, else the type of `from` */
    Buffer *err;     /* bound on the error of what was stored */
    Buffer *abs, *n; /* of sums: magnitudes that were added, and how many */
    Buffer *bits;    /* of sums, where exactness is asked for: all terms in fixed point, by `or` */
    /* one element: not zero when control that depends on rounding reached the buffer */
    Buffer *unsure;
    Buffer **need; /* [rank] u8: which indices of an axis are wanted; NULL: all are */
    bool has_err, has_sum, has_unsure; /* found before the buffers are made */
    unsigned all_needed;               /* a bit for each axis that is marked in full */
} Twin;

/* A loop that runs over an axis of all that is stored in it. */
typedef struct {
    const Var *var;
    Twin *twin;
    int axis;
} Guard;

typedef struct {
    Context *c;
    Names names;
    VEC(Twin) twins;
    Stmt *body;    /* of the program without inits and blocks */
    StmtList *out; /* where lets and stores go */
    Stmt *loop;    /* the innermost around the statement at work */
    Expr *path;    /* condition under which a lazy operand is evaluated, or NULL */
    /* errors are 0 or infinite: is the value the same in every order of evaluation? */
    bool exact;
    bool combining;      /* in a reducer's combiner, whose operands depend on the order */
    bool composes;       /* linear recurrences may be computed by composed functions */
    const Twin *known;   /* whose values count as exact for now; NULL: none */
    bool infinities;     /* are there infinite literals? */
    bool dry;            /* only find out what is inexact */
    bool changed;        /* ... and something new was found */
    SubstList lets;      /* variables of the program's lets: their values */
    VEC(Expr *) let_err; /* parallel */
    VEC(Guard) guards;
    int n_lets; /* named so far */
} RefBuilder;

/* A value with its error: |device - v| <= err. */
typedef struct {
    Expr *v;
    Expr *err;    /* F64; NULL: exact */
    Expr *unsure; /* of a BOOL: the device may see the other value; NULL: it cannot */
} Ref;

/* expr.c */
Twin *ref_twin(RefBuilder *b, const Buffer *buffer);
Ref ref_expr(RefBuilder *b, Expr *e);
/* An operation on values in element type `type`. */
typedef struct {
    ExprKind kind;
    DType type;
    Ref x, y;
} RefOperation;

/* A term that is added to an element of `to`, whose products may keep fewer digits. */
Ref ref_term(RefBuilder *b, const Buffer *to, Expr *e);
/* The rest of an operation on already evaluated operands, in element type `type`; for updates. */
Ref ref_binary(RefBuilder *b, const RefOperation *o, Span span);
/* What rounding loses of a value in type `type`: the share of a normal one, and the most of one
 * that is not normal. */
double ref_roundoff(DType type);
double ref_underflow(DType type);
/* The element of a twin's buffer that is its value, with the error that sums have gathered. */
Ref ref_element(RefBuilder *b, const Twin *t, Expr *const *index, Span span);
Expr *ref_float(RefBuilder *b, double value);
Expr *ref_op(RefBuilder *b, ExprKind kind, Expr *x, Expr *y);
Expr *ref_call(RefBuilder *b, CallKind call, Expr *x);
Expr *ref_add(RefBuilder *b, Expr *x, Expr *y); /* either may be NULL */
/* Can rounding change one of the subscripts? NULL: no. */
Expr *ref_index(RefBuilder *b, const Buffer *buffer, Expr *const *index, Expr **out);

/* a named value, so that it is computed once; NULL stays NULL */
Expr *ref_let(RefBuilder *b, Expr *e);

/* exact.c: the same questions where errors are 0 or infinite (b->exact).  `v` is the
 * value of the operation in f64, which becomes the value of the type where the operation rounds it
 * in one way only. */
Ref ref_exact_binary(RefBuilder *b, const RefOperation *o, Expr *v);
Ref ref_exact_call(RefBuilder *b, const Expr *e, Expr *v, const Ref *arg);
Ref ref_exact_narrowed(RefBuilder *b, DType from, DType type, Expr *v, Expr *err);
/* A term of a sum in fixed point, for `bits`; what is no such number adds an infinite error to *err
 * (which may be NULL). */
Expr *ref_exact_bits(RefBuilder *b, Expr *term, Expr **err);
/* The error of a sum in `of` of which `abs` and `bits` are known: 0 where all partial sums are
 * numbers of the type. */
Expr *ref_exact_sum(RefBuilder *b, const Buffer *of, Expr *abs, Expr *n, Expr *bits);

/* Adds no bound to *err where a product that keeps so many digits may differ from that of its
 * factors: one of them has more digits than the parts that such a product is made of. */
void ref_exact_product(RefBuilder *b, int digits, const RefOperation *o, Expr **err);

/* build.c */
/* An element of all that is kept of a buffer, and what a store of it comes from. */
typedef struct {
    Expr *const *index;
    Span span;
} RefPlace;
/* A store to it, of a buffer that may be NULL. */
void ref_put(RefBuilder *b, const RefPlace *at, Buffer *buffer, StoreOp op, Expr *value);
/* |v| + err */
Expr *ref_size(RefBuilder *b, Ref r);
/* A new buffer of the reference that says this of `from`, and of its axis `axis` where it is about
 * one. */
typedef struct {
    const Buffer *from;
    BufferPart part;
    int axis;
} PartOf;
Buffer *ref_part(RefBuilder *b, const PartOf *of);

/* recurrence.c */
/* What a store gives an element: a linear function of the one with these subscripts. */
typedef struct {
    Expr *const *from;
    const LinearForm *form;
    Expr *value;
} RefFunction;
/* The store, with a bound that holds for every grouping of the functions of iterations. */
void ref_store_composed(RefBuilder *b, Twin *t, const RefPlace *at, const RefFunction *function);

/* slice.c: nests run only where an element is wanted; marking what they read goes in
 * front. */
void ref_make_needs(RefBuilder *b);
Stmt *ref_slice(RefBuilder *b, Stmt *item);
/* Statements that find out what is needed; before everything else. */
void ref_mark_needs(RefBuilder *b, Stmt *const *items, int n, StmtList *out);

#endif
