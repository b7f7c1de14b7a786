/* vector.h - Plans the wide accesses of a vectorized loop, for both the CUDA text and the virtual
 * machine. */
#ifndef TIRC_CODEGEN_VECTOR_H
#define TIRC_CODEGEN_VECTOR_H

#include "ir/ir.h"

/* A load that all lanes of the loop make as one access. */
typedef struct {
    const Expr *load;
    Expr *const *first; /* the subscripts of its first lane */
} WideLoad;

/* A loop that is one store, which becomes one access, as do all loads that use its variable. */
typedef struct VectorPlan {
    const Var *var;
    int64_t lanes;
    const Stmt *store;
    Expr *const *first; /* the subscripts that the store has in the first lane */
    Expr *value;        /* of one lane, in terms of `var` */
    bool copies;        /* the value is a load of the same type: bits move */
    /* elements of 1 or 2 bytes that CUDA has no vector type for, which are put together in words of
     * 4 bytes */
    bool packs;
    /* an asynchronous copy where `where` holds, for all lanes; a literal elsewhere */
    bool fills;
    Expr *where;
    VEC(WideLoad) loads;
} VectorPlan;

/* False where the loop has no such form or CUDA no type for it: its iterations run one after the
 * other. */
bool vector_plan(Context *c, const ForStmt *loop, VectorPlan *plan);
/* CUDA's vector type of `lanes` elements, or NULL. */
const char *vector_type(Context *c, DType type, int64_t lanes);
/* A type for moving `bytes` bytes at once, or NULL. */
const char *vector_word(int64_t bytes);
/* The wide load that `e` is, by number; -1: none. */
int vector_find_load(const VectorPlan *plan, const Expr *e);

#endif
