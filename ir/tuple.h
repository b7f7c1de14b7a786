/* tuple.h - Declares updates of tuples: a part of ir.h (implied.c, node.c). */
#ifndef TIRC_IR_TUPLE_H
#define TIRC_IR_TUPLE_H

#include "ir/ir.h"

/* The element of a buffer. */
typedef struct {
    Buffer *buffer;
    Expr *const *index;
} TupleElement;

/* targets = combine(targets, values), all components at once. */
typedef struct {
    const Combiner *combiner;
    const TupleElement *targets; /* [combiner->n] */
    Expr *const *values;         /* [combiner->n] */
} TupleUpdate;

/* The update as a sequence of lets and stores. */
Stmt *tuple_update(Context *c, const TupleUpdate *update, Span span);
/* Reads it back; false where `s` is no such update. */
bool tuple_update_of(Context *c, const Stmt *s, TupleUpdate *out);
/* Stores the identities to the targets. */
Stmt *tuple_identities(Context *c, const Combiner *combiner, const TupleElement *targets,
                       Span span);
/* The same components, identities and combined values. */
bool combiner_equal(const Combiner *a, const Combiner *b);

#endif
