/* nest_build.h - programs for questions about dependences, built by hand: a Nest is a stack of
 * loops, and a block gets one iterator for each of them. `state` is the test's Context. */
#ifndef TIRC_TESTS_NEST_BUILD_H
#define TIRC_TESTS_NEST_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "passes/analysis/threads/launch.h"

enum { MAX_LOOPS = 8 };

typedef struct {
    Context *c;
    Var *loops[MAX_LOOPS];
    Expr *lo[MAX_LOOPS], *hi[MAX_LOOPS];
    uint32_t id[MAX_LOOPS];
    int64_t step[MAX_LOOPS];
    LoopKind kind[MAX_LOOPS];
    Axis axis[MAX_LOOPS];
    bool reduce[MAX_LOOPS];
    int n;
    Size sizes[4];
    int n_sizes;
} Nest;

static inline Nest nest_new(Context *c)
{
    return (Nest){.c = c};
}

static inline Expr *num(Context *c, int64_t value)
{
    return expr_index(c, value);
}

static inline Expr *op(Context *c, ExprKind kind, Expr *a, Expr *b)
{
    return expr_binary(c, kind, a, b, span_none());
}

static inline Expr *add(Context *c, Expr *a, int64_t b)
{
    return op(c, EX_ADD, a, num(c, b));
}

static inline Expr *var(Context *c, Var *v)
{
    return expr_var(c, v, span_none());
}

/* Enters a loop; returns its variable as an expression. */
static inline Expr *enter_range(Nest *n, const char *name, Expr *lo, Expr *hi, int64_t step)
{
    int i = n->n++;
    n->loops[i] = var_new(n->c, ctx_name(n->c, name), DT_INDEX, VAR_LOOP, span_none());
    n->lo[i] = lo;
    n->hi[i] = hi;
    n->step[i] = step;
    n->kind[i] = LOOP_SERIAL;
    n->axis[i] = AXIS_NONE;
    n->reduce[i] = false;
    n->id[i] = ctx_new_id(n->c);
    return var(n->c, n->loops[i]);
}

static inline Expr *enter(Nest *n, const char *name, int64_t extent)
{
    return enter_range(n, name, num(n->c, 0), num(n->c, extent), 1);
}

static inline Expr *enter_bound(Nest *n, const char *name, int64_t extent, Axis axis)
{
    Expr *e = enter(n, name, extent);
    n->kind[n->n - 1] = LOOP_BIND;
    n->axis[n->n - 1] = axis;
    return e;
}

/* A symbolic size. */
static inline Expr *size(Nest *n, const char *name)
{
    Var *v = var_new(n->c, ctx_name(n->c, name), DT_INDEX, VAR_SIZE, span_none());
    n->sizes[n->n_sizes++] = (Size){.name = v->name, .symbolic = true, .var = v};
    return var(n->c, v);
}

/* Wraps `s` in the innermost loop and leaves it. */
static inline Stmt *leave(Nest *n, Stmt *s)
{
    int i = --n->n;
    ForStmt loop = {.var = n->loops[i],
                    .lo = n->lo[i],
                    .hi = n->hi[i],
                    .step = n->step[i],
                    .kind = n->kind[i],
                    .axis = n->axis[i],
                    .id = n->id[i],
                    .body = s};
    return stmt_for(n->c, &loop, span_none());
}

static inline Stmt *leave_all(Nest *n, Stmt *s)
{
    while (n->n > 0)
        s = leave(n, s);
    return s;
}

static inline Buffer *buffer(Context *c, const char *name, int rank, int64_t extent)
{
    Expr *shape[3];
    for (int i = 0; i < rank; i++)
        shape[i] = num(c, extent);
    return buffer_new(c, &(Buffer){.name = ctx_name(c, name),
                                   .type = DT_F32,
                                   .shape = shape,
                                   .rank = rank,
                                   .scope = SCOPE_GLOBAL,
                                   .role = ROLE_INOUT,
                                   .span = span_none()});
}

static inline Buffer *scoped(Buffer *b, Scope scope)
{
    b->scope = scope;
    return b;
}

static inline Expr *load(Context *c, Buffer *b, Expr *i, Expr *j)
{
    Expr *index[2] = {i, j};
    return expr_load(c, b, index, span_none());
}

static inline Stmt *store(Context *c, Buffer *b, Expr *i, Expr *j, StoreOp how, Expr *value)
{
    Expr *index[2] = {i, j};
    return stmt_store(c, &(StoreStmt){.buffer = b, .index = index, .op = how, .value = value},
                      span_none());
}

static inline Expr *zero(Context *c)
{
    return expr_cast(c, DT_F32, num(c, 0), span_none());
}

/* A block with one iterator v_i = binding[i]; `from[i]` stands for it in the body. */
static inline BlockStmt block_of(Nest *n, const char *name, Var *const *from, Expr *const *binding,
                                 Expr *const *hi, int n_iters, Stmt *init, Stmt *body)
{
    BlockIter *iters = arena_alloc(n->c->arena, sizeof(BlockIter) * (size_t)(n_iters + 1));
    Subst map[MAX_LOOPS];
    for (int i = 0; i < n_iters; i++) {
        Var *v = var_new(n->c, from[i]->name, DT_INDEX, VAR_ITER, span_none());
        iters[i] = (BlockIter){v, num(n->c, INT32_MIN), hi[i], binding[i], ITER_SPATIAL};
        map[i] = (Subst){from[i], var(n->c, v)};
    }
    BlockStmt b = {
        .name = ctx_name(n->c, name), .id = ctx_new_id(n->c), .iters = iters, .n_iters = n_iters};
    b.body = stmt_subst(n->c, body, map, n_iters);
    b.init = init ? stmt_subst(n->c, init, map, n_iters) : NULL;
    return b;
}

/* A block whose iterators are the loops of the nest. */
static inline Stmt *plain_init(Nest *n, const char *name, Stmt *init, Stmt *body, bool atomic)
{
    Expr *binding[MAX_LOOPS], *hi[MAX_LOOPS];
    for (int i = 0; i < n->n; i++) {
        binding[i] = var(n->c, n->loops[i]);
        hi[i] = num(n->c, INT32_MAX);
    }
    BlockStmt b = block_of(n, name, n->loops, binding, hi, n->n, init, body);
    for (int i = 0; i < n->n; i++)
        if (n->reduce[i])
            ((BlockIter *)b.iters)[i].kind = ITER_REDUCE;
    b.atomic = atomic;
    return stmt_block(n->c, &b, span_none());
}

static inline Stmt *plain(Nest *n, const char *name, Stmt *body)
{
    return plain_init(n, name, NULL, body, false);
}

static inline Kernel kernel_of(Nest *n, Stmt *body)
{
    return (Kernel){
        .name = ctx_name(n->c, "k"), .sizes = n->sizes, .n_sizes = n->n_sizes, .body = body};
}

static inline bool legal(Nest *n, Stmt *body, int loop, LoopKind kind, Axis axis, Conflict *why)
{
    Kernel k = kernel_of(n, body);
    ForStmt as = {.id = n->id[loop], .kind = kind, .axis = axis};
    return threads_loop_kind_legal(n->c, &k, &as, why);
}

static inline bool parallel(Nest *n, Stmt *body, int loop, Conflict *why)
{
    return legal(n, body, loop, LOOP_PARALLEL, AXIS_NONE, why);
}

static inline int setup(void **state)
{
    *state = ctx_new(0);
    return *state == NULL;
}

/* isl says on standard error when objects are left: it must stay silent. */
static inline int teardown(void **state)
{
    FILE *said = tmpfile();
    int saved = dup(STDERR_FILENO);
    if (!said || saved < 0)
        return 1;
    fflush(stderr);
    dup2(fileno(said), STDERR_FILENO);
    ctx_free(*state);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    long length = ftell(said);
    fclose(said);
    return length != 0;
}

static inline Stmt *matmul(Nest *n, int64_t extent)
{
    Context *c = n->c;
    Buffer *A = buffer(c, "A", 2, extent), *B = buffer(c, "B", 2, extent);
    Buffer *C = buffer(c, "C", 2, extent);
    Expr *i = enter(n, "i", extent), *j = enter(n, "j", extent), *k = enter(n, "k", extent);
    n->reduce[2] = true;
    Stmt *update = store(c, C, i, j, STORE_ADD, op(c, EX_MUL, load(c, A, i, k), load(c, B, k, j)));
    Stmt *body = plain_init(n, "C", store(c, C, i, j, STORE_SET, zero(c)), update, false);
    return leave_all(n, body);
}

static inline void swap_loops(Nest *n)
{
    Nest old = *n;
    for (int i = 0; i < 2; i++) {
        int k = 1 - i;
        n->loops[i] = old.loops[k], n->lo[i] = old.lo[k], n->hi[i] = old.hi[k];
        n->id[i] = old.id[k], n->step[i] = old.step[k];
    }
}

static inline Expr *tile(Context *c, Expr *outer, Expr *inner)
{
    return op(c, EX_ADD, op(c, EX_MUL, outer, num(c, 32)), inner);
}

#endif
