/* tuple.h - Declares combiners and updates of tuples: a part of ir.h (implied.c, node.c). */
#ifndef TIRC_IR_TUPLE_H
#define TIRC_IR_TUPLE_H

#include "ir/ir.h"

/* One component of a combiner: its type, its identity (a literal), and its combined value, an
 * expression of both operands and of the combiner's named values. */
typedef struct {
    Name name;
    DType type;
    Expr *identity;
    Var *a, *b, *self; /* the component of either operand; of a tuple, in the conditions */
    Expr *value;
} CombinerPart;

/* A monoid over tuples, as declared by `reducer NAME(...) { init ...; combine(a, b): ...; }`. Its
 * operands may change places, unless it is declared `ordered`: then they may be grouped otherwise,
 * and no more. */
struct Combiner {
    Name name, a, b; /* its own, and those of the operands */
    const CombinerPart *parts;
    int n;
    bool ordered;
    Expr *const *conditions; /* that all tuples satisfy, of the components' `self` */
    int n_conditions;
    const Subst *lets; /* named values, in order */
    int n_lets;
    /* `choice ? x : y` of whole operands, which the last of the lets names; NULL: another form */
    const Expr *choice;
    bool chooses_b; /* where the choice holds */
    Span span;
};

/* The same name, components, identities and combined values (equal.c). */
bool combiner_equal(const Combiner *a, const Combiner *b);

/* targets = combine(targets, values), all components at once. */
typedef struct {
    const Combiner *combiner;
    const BufferElement *targets; /* [combiner->n] */
    Expr *const *values;          /* [combiner->n] */
} TupleUpdate;

/* The update as a sequence of lets and stores. */
Stmt *tuple_update(Context *c, const TupleUpdate *update, Span span);
/* Reads it back; false where `s` is no such update. */
bool tuple_update_of(Context *c, const Stmt *s, TupleUpdate *out);
/* Stores the identities to the targets. */
Stmt *tuple_identities(Context *c, const Combiner *combiner, const BufferElement *targets,
                       Span span);
#endif
