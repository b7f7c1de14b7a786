/* ir_build.h - short names to write trees by hand in the tests of ir/.  `state` is the test's
 * Context. */
#ifndef TIRC_TESTS_IR_BUILD_H
#define TIRC_TESTS_IR_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/implied.h"

#define NOWHERE    span_none()
#define EXPRS(...) ((Expr *const[]){__VA_ARGS__})
#define SEQ(c, ...)                                                                                \
    stmt_seq((c), (Stmt *const[]){__VA_ARGS__},                                                    \
             (int)(sizeof((Stmt *[]){__VA_ARGS__}) / sizeof(Stmt *)), NOWHERE)

static inline Var *loop_var(Context *c, const char *name)
{
    return var_new(c, ctx_name(c, name), DT_INDEX, VAR_LOOP, NOWHERE);
}

static inline Expr *use(Context *c, Var *var)
{
    return expr_var(c, var, NOWHERE);
}

static inline Stmt *loop_to(Context *c, Var *var, Expr *hi, Stmt *body)
{
    ForStmt loop = {
        .var = var, .lo = expr_index(c, 0), .hi = hi, .step = 1, .axis = AXIS_NONE, .body = body};
    return stmt_for(c, &loop, NOWHERE);
}

static inline Buffer *buffer2(Context *c, const char *name, DType type, Role role, Expr *rows,
                              Expr *columns)
{
    return buffer_new(c, &(Buffer){.name = ctx_name(c, name),
                                   .type = type,
                                   .shape = EXPRS(rows, columns),
                                   .rank = 2,
                                   .scope = SCOPE_GLOBAL,
                                   .role = role,
                                   .span = NOWHERE});
}

static inline Buffer *buffer1(Context *c, const char *name, DType type, Role role, Expr *n)
{
    return buffer_new(c, &(Buffer){.name = ctx_name(c, name),
                                   .type = type,
                                   .shape = EXPRS(n),
                                   .rank = 1,
                                   .scope = SCOPE_GLOBAL,
                                   .role = role,
                                   .span = NOWHERE});
}

/* A kernel of buffers; the last is its output. */
static inline Kernel kernel_of(Context *c, const char *name, Buffer *const *buffers, int n,
                               Stmt *body)
{
    Param *params = ARENA_ARRAY(c->arena, Param, n);
    for (int i = 0; i < n; i++)
        params[i].buffer = buffers[i];
    return (Kernel){
        .name = ctx_name(c, name), .params = params, .n_params = n, .n_outputs = 1, .body = body};
}

static inline const char *text_of(Context *c, const Kernel *kernel)
{
    StrBuf out = strbuf_new(c->arena);
    print_kernel(c, kernel, &out);
    return out.text;
}

static inline const char *text_of_expr(Context *c, const Expr *e)
{
    StrBuf out = strbuf_new(c->arena);
    print_expr(e, &out);
    return out.text;
}

/* C = A * B of M x N x K, with a symbolic N, as a program says it. */
typedef struct {
    Kernel kernel;
    Buffer *a, *b, *c;
    Var *n, *i, *j, *k;
    Stmt *block; /* the reduction */
} Matmul;

static inline Matmul matmul(Context *c)
{
    Matmul m = {.n = var_new(c, ctx_name(c, "N"), DT_INDEX, VAR_SIZE, NOWHERE)};
    m.i = loop_var(c, "i"), m.j = loop_var(c, "j"), m.k = loop_var(c, "k");
    Expr *rows = expr_index(c, 64), *inner = expr_index(c, 32), *columns = use(c, m.n);
    m.a = buffer2(c, "A", DT_F32, ROLE_IN, rows, inner);
    m.b = buffer2(c, "B", DT_F32, ROLE_IN, inner, columns);
    m.c = buffer2(c, "C", DT_F32, ROLE_OUT, rows, columns);
    Expr *const *at = EXPRS(use(c, m.i), use(c, m.j));
    Expr *product =
        expr_binary(c, EX_MUL, expr_load(c, m.a, EXPRS(use(c, m.i), use(c, m.k)), NOWHERE),
                    expr_load(c, m.b, EXPRS(use(c, m.k), use(c, m.j)), NOWHERE), NOWHERE);
    Stmt *init = stmt_store(c,
                            &(StoreStmt){.buffer = m.c,
                                         .index = at,
                                         .op = STORE_SET,
                                         .value = expr_float(c, DT_F32, 0, NOWHERE)},
                            NOWHERE);
    Stmt *update = stmt_store(
        c, &(StoreStmt){.buffer = m.c, .index = at, .op = STORE_ADD, .value = product}, NOWHERE);
    /* loops for block_implied; their bodies do not matter */
    Stmt *shell = stmt_seq(c, NULL, 0, NOWHERE);
    const ForStmt *loops[] = {&loop_to(c, m.i, rows, shell)->u.loop,
                              &loop_to(c, m.j, columns, shell)->u.loop,
                              &loop_to(c, m.k, inner, shell)->u.loop};
    m.block = block_implied(
        c, &(ImpliedBlock){
               .loops = loops, .n_loops = 3, .init = init, .body = update, .span = NOWHERE});
    Stmt *nest = loop_to(c, m.i, rows, loop_to(c, m.j, columns, loop_to(c, m.k, inner, m.block)));
    m.kernel = kernel_of(c, "matmul", (Buffer *const[]){m.a, m.b, m.c}, 3, nest);
    Size *sizes = ARENA_ARRAY(c->arena, Size, 2);
    sizes[0] = (Size){.name = ctx_name(c, "M"), .value = 64};
    sizes[1] = (Size){.name = m.n->name, .symbolic = true, .var = m.n};
    m.kernel.sizes = sizes;
    m.kernel.n_sizes = 2;
    return m;
}

static inline int new_context(void **state)
{
    *state = ctx_new(0);
    return 0;
}

static inline int free_context(void **state)
{
    ctx_free(*state);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, new_context, free_context)

#endif
