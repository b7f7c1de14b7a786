/* arg_reduce.h - Declares what arg_reduce knows of a block that stores under a condition on what is
 * there (internal to passes/schedule/reductions). */
#ifndef TIRC_PASSES_SCHEDULE_REDUCTIONS_ARG_REDUCE_H
#define TIRC_PASSES_SCHEDULE_REDUCTIONS_ARG_REDUCE_H

#include "ir/tuple.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/reductions/guarded.h"

/* A loop that is searched: the block's iterator that is its variable. */
typedef struct {
    const ForStmt *loop;
    const BlockIter *iter;
    DType type;  /* of the component that holds it */
    Expr *none;  /* the identity, which no iteration has */
    bool upward; /* of two that are equal in all else, the one with the larger index counts */
} Position;

typedef struct {
    Schedule *s;
    Span span, loop_span;
    StmtPath path; /* to the block */
    Stmt *loop, *block;
    Facts *facts; /* that hold in the block */
    GuardedStores g;
    Expr *compare; /* the condition on what is there; NULL: there is none */
    int side;      /* which of its operands reads that: an element, */
    int best;      /* the one of this store, or, where it is -1, the value at the index stored */
    Expr *once;    /* the condition on elements alone, which no store leaves true; or NULL */
    Expr *start;   /* the first iteration stores where this holds, which no other meets; or NULL */
    bool largest, last; /* values win that are larger; of equal ones the last */
    Expr *early, *late; /* the other conditions, in front of it and behind it, or NULL */
    VEC(Position) positions;
    Buffer *value;     /* what the reduction finds, or NULL */
    BufferElement *at; /* [positions.n], or NULL */
} ArgReduce;

/* Reads the call, and fills in the form of its block (arg_form.c). False after a refusal. */
bool arg_form(ArgReduce *a, const PrimCall *call);
/* The store number k of the block. */
static inline const StoreStmt *arg_store(const ArgReduce *a, int k)
{
    return &a->g.stores.items[k]->u.store;
}
/* What is compared with what is there. */
static inline Expr *arg_value(const ArgReduce *a)
{
    return a->compare->u.arg[!a->side];
}
/* The iterator of the block is that of a loop that is searched. */
bool arg_is_position(const ArgReduce *a, const Var *var);
/* `e` in the first iteration of the loops. */
Expr *arg_at_first(const ArgReduce *a, Expr *e);

/* How positions are held and ordered (arg_reducer.c). */
void arg_choose_types(ArgReduce *a);
/* More is stored than the value. */
bool arg_needs_index(const ArgReduce *a);
/* What was found is stored only where the index says that something was. */
static inline bool arg_asks_index(const ArgReduce *a)
{
    return arg_needs_index(a) && (a->last || a->once || a->best < 0);
}
/* What loses to every value. */
Expr *arg_least_value(const ArgReduce *a);
/* The reducer of a value, if there is one, and of its positions. */
const Combiner *arg_reducer(const ArgReduce *a);

#endif
