/* What passes/analysis/dependence.h says of small programs: which loops may run in which manner,
 * which rewrites keep order, which instances clash. Programs are built by hand: a Nest is a stack
 * of loops, and a block gets one iterator for each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "passes/analysis/dependence.h"

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

static Nest nest_new(Context *c)
{
    return (Nest){.c = c};
}

static Expr *num(Context *c, int64_t value)
{
    return expr_index(c, value);
}

static Expr *op(Context *c, ExprKind kind, Expr *a, Expr *b)
{
    return expr_binary(c, kind, a, b, span_none());
}

static Expr *add(Context *c, Expr *a, int64_t b)
{
    return op(c, EX_ADD, a, num(c, b));
}

static Expr *var(Context *c, Var *v)
{
    return expr_var(c, v, span_none());
}

/* Enters a loop; returns its variable as an expression. */
static Expr *enter_range(Nest *n, const char *name, Expr *lo, Expr *hi, int64_t step)
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

static Expr *enter(Nest *n, const char *name, int64_t extent)
{
    return enter_range(n, name, num(n->c, 0), num(n->c, extent), 1);
}

static Expr *enter_bound(Nest *n, const char *name, int64_t extent, Axis axis)
{
    Expr *e = enter(n, name, extent);
    n->kind[n->n - 1] = LOOP_BIND;
    n->axis[n->n - 1] = axis;
    return e;
}

/* A symbolic size. */
static Expr *size(Nest *n, const char *name)
{
    Var *v = var_new(n->c, ctx_name(n->c, name), DT_INDEX, VAR_SIZE, span_none());
    n->sizes[n->n_sizes++] = (Size){.name = v->name, .symbolic = true, .var = v};
    return var(n->c, v);
}

/* Wraps `s` in the innermost loop and leaves it. */
static Stmt *leave(Nest *n, Stmt *s)
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

static Stmt *leave_all(Nest *n, Stmt *s)
{
    while (n->n > 0)
        s = leave(n, s);
    return s;
}

static Buffer *buffer(Context *c, const char *name, int rank, int64_t extent)
{
    Expr *shape[3];
    for (int i = 0; i < rank; i++)
        shape[i] = num(c, extent);
    return buffer_new(c, ctx_name(c, name), DT_F32, shape, rank, SCOPE_GLOBAL, ROLE_INOUT,
                      span_none());
}

static Buffer *scoped(Buffer *b, Scope scope)
{
    b->scope = scope;
    return b;
}

static Expr *load(Context *c, Buffer *b, Expr *i, Expr *j)
{
    Expr *index[2] = {i, j};
    return expr_load(c, b, index, span_none());
}

static Stmt *store(Context *c, Buffer *b, Expr *i, Expr *j, StoreOp how, Expr *value)
{
    Expr *index[2] = {i, j};
    return stmt_store(c, b, index, how, value, false, span_none());
}

static Expr *zero(Context *c)
{
    return expr_cast(c, DT_F32, num(c, 0), span_none());
}

/* A block with one iterator v_i = binding[i]; `from[i]` stands for it in the body. */
static BlockStmt block_of(Nest *n, const char *name, Var *const *from, Expr *const *binding,
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
static Stmt *plain_init(Nest *n, const char *name, Stmt *init, Stmt *body, bool atomic)
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

static Stmt *plain(Nest *n, const char *name, Stmt *body)
{
    return plain_init(n, name, NULL, body, false);
}

static Kernel kernel_of(Nest *n, Stmt *body)
{
    return (Kernel){
        .name = ctx_name(n->c, "k"), .sizes = n->sizes, .n_sizes = n->n_sizes, .body = body};
}

static bool legal(Nest *n, Stmt *body, int loop, LoopKind kind, Axis axis, Conflict *why)
{
    Kernel k = kernel_of(n, body);
    return dependence_loop_kind_legal(n->c, &k, n->id[loop], kind, axis, why);
}

static bool parallel(Nest *n, Stmt *body, int loop, Conflict *why)
{
    return legal(n, body, loop, LOOP_PARALLEL, AXIS_NONE, why);
}

static int setup(void **state)
{
    *state = ctx_new(0);
    return *state == NULL;
}

/* isl says on standard error when objects are left: it must stay silent. */
static int teardown(void **state)
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

/* ---- programs -------------------------------------------------------------------------------- */

static Stmt *matmul(Nest *n, int64_t extent)
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

/* for i in 0..extent: x[write(i)] = x[read(i)], one buffer. */
static Stmt *shift(Nest *n, Expr *write, Expr *read)
{
    Context *c = n->c;
    Buffer *x = buffer(c, "x", 1, 64);
    return leave_all(n, plain(n, "x", store(c, x, write, NULL, STORE_SET, load(c, x, read, NULL))));
}

static void test_matmul(void **state)
{
    Nest n = nest_new(*state);
    Stmt *body = matmul(&n, 64);
    Conflict why;
    assert_true(parallel(&n, body, 0, &why));
    assert_true(parallel(&n, body, 1, &why));
    assert_false(parallel(&n, body, 2, &why));
    assert_string_equal(why.first_at, "i = 0, j = 0, k = 0");
    assert_string_equal(why.second_at, "i = 0, j = 0, k = 1");
    assert_string_equal(why.element, "C[0, 0]");
    assert_true(legal(&n, body, 0, LOOP_BIND, AXIS_BLOCK_Y, &why));
    assert_true(legal(&n, body, 1, LOOP_BIND, AXIS_THREAD_X, &why));
    assert_false(legal(&n, body, 2, LOOP_BIND, AXIS_THREAD_X, &why));
    assert_false(legal(&n, body, 2, LOOP_BIND, AXIS_BLOCK_X, &why));
    assert_false(legal(&n, body, 2, LOOP_VECTORIZE, AXIS_NONE, &why));
    assert_true(legal(&n, body, 2, LOOP_UNROLL, AXIS_NONE, &why));
    bool reduction;
    Kernel k = kernel_of(&n, body);
    assert_true(dependence_loop_carries_none(n.c, &k, n.id[2], &reduction, &why));
    assert_true(reduction);
    assert_true(dependence_loop_carries_none(n.c, &k, n.id[0], &reduction, &why));
    assert_false(reduction);
}

static void test_adjacent_difference(void **state)
{
    Nest n = nest_new(*state);
    Context *c = n.c;
    Buffer *x = buffer(c, "x", 1, 100), *y = buffer(c, "y", 1, 100);
    Expr *i = enter(&n, "i", 100);
    Expr *value = expr_select(c, op(c, EX_GT, i, num(c, 0)),
                              op(c, EX_SUB, load(c, x, i, NULL), load(c, x, add(c, i, -1), NULL)),
                              load(c, x, i, NULL), span_none());
    Stmt *body = leave_all(&n, plain(&n, "y", store(c, y, i, NULL, STORE_SET, value)));
    Conflict why;
    assert_true(parallel(&n, body, 0, &why));
}

static void test_in_place_shift(void **state)
{
    Nest n = nest_new(*state);
    Expr *i = enter_range(&n, "i", num(n.c, 1), num(n.c, 64), 1);
    Stmt *body = shift(&n, i, add(n.c, i, -1));
    Conflict why;
    assert_false(parallel(&n, body, 0, &why));
    assert_string_equal(why.first_at, "i = 1");
    assert_string_equal(why.second_at, "i = 2");
    assert_string_equal(why.element, "x[1]");
    assert_string_equal(why.kind, "write then read");
    assert_false(legal(&n, body, 0, LOOP_BIND, AXIS_THREAD_X, &why));
}

static void test_downward(void **state)
{
    Nest n = nest_new(*state);
    Expr *i = enter_range(&n, "i", num(n.c, 62), num(n.c, 0), -1);
    Stmt *body = shift(&n, i, add(n.c, i, 1));
    Conflict why;
    assert_false(parallel(&n, body, 0, &why));
    assert_string_equal(why.kind, "write then read");
}

static void test_subscripts(void **state)
{
    Conflict why;
    Nest n = nest_new(*state);
    Context *c = n.c;
    Expr *i = enter(&n, "i", 16), *twice = op(c, EX_MUL, i, num(c, 2));
    assert_true(parallel(&n, shift(&n, twice, add(c, twice, 1)), 0, &why));
    i = enter(&n, "i", 16);
    assert_false(parallel(&n, shift(&n, op(c, EX_MUL, i, i), i), 0, &why));
    assert_non_null(strstr(why.reason, "not affine"));
    i = enter(&n, "i", 16);
    Expr *half = op(c, EX_DIV, i, num(c, 2));
    assert_false(parallel(&n, shift(&n, half, add(c, half, 40)), 0, &why));
    assert_string_equal(why.first_at, "i = 0");
    assert_string_equal(why.second_at, "i = 1");
    i = enter(&n, "i", 16);
    Expr *wrapped = op(c, EX_MOD, i, num(c, 16));
    assert_true(parallel(&n, shift(&n, wrapped, add(c, i, 16)), 0, &why));
    i = enter(&n, "i", 16);
    /* (i - 8) / 2 truncates: -1, 0, 1 all give 0 */
    half = op(c, EX_DIV, add(c, i, -8), num(c, 2));
    Expr *guard = expr_select(c, op(c, EX_LT, i, num(c, 8)), num(c, 20), num(c, 0), span_none());
    assert_false(parallel(&n, shift(&n, add(c, half, 8), add(c, guard, 30)), 0, &why));
}

static void test_truncation(void **state)
{
    Nest n = nest_new(*state);
    Context *c = n.c;
    Conflict why;
    /* -7 / 8 is 0 and 7 / 8 is 0: i = -7 .. 8 step 15 collide only because division truncates */
    Expr *i = enter_range(&n, "i", num(c, -7), num(c, 9), 14);
    Expr *eighth = op(c, EX_DIV, i, num(c, 8));
    assert_false(parallel(&n, shift(&n, add(c, eighth, 8), num(c, 40)), 0, &why));
    i = enter_range(&n, "i", num(c, -8), num(c, 9), 15);
    eighth = op(c, EX_DIV, i, num(c, 8));
    assert_true(parallel(&n, shift(&n, add(c, eighth, 8), num(c, 40)), 0, &why));
}

static void test_symbolic(void **state)
{
    Nest n = nest_new(*state);
    Context *c = n.c;
    Conflict why;
    Expr *N = size(&n, "N");
    Expr *i = enter_range(&n, "i", num(c, 0), N, 1);
    assert_true(parallel(&n, shift(&n, i, op(c, EX_ADD, i, N)), 0, &why));
    i = enter_range(&n, "i", num(c, 0), N, 1);
    assert_false(parallel(&n, shift(&n, i, op(c, EX_SUB, add(c, N, -1), i)), 0, &why));
    assert_string_equal(why.first_at, "N = 2, i = 0");
    assert_string_equal(why.second_at, "N = 2, i = 1");
}

/* for f in N * M: x[f / M, f % M] = y: fused by a symbolic extent. */
static void test_symbolic_fuse(void **state)
{
    Nest n = nest_new(*state);
    Context *c = n.c;
    Conflict why;
    Expr *N = size(&n, "N"), *M = size(&n, "M");
    Buffer *x = buffer(c, "x", 2, 64);
    Expr *f = enter_range(&n, "f", num(c, 0), op(c, EX_MUL, N, M), 1);
    Expr *q = op(c, EX_DIV, f, M), *r = op(c, EX_MOD, f, M);
    Stmt *s = store(c, x, q, r, STORE_SET, zero(c));
    assert_true(parallel(&n, leave_all(&n, plain(&n, "x", s)), 0, &why));
    f = enter_range(&n, "f", num(c, 0), op(c, EX_MUL, N, M), 1);
    s = store(c, x, op(c, EX_DIV, f, M), num(c, 0), STORE_SET, zero(c));
    assert_false(parallel(&n, leave_all(&n, plain(&n, "x", s)), 0, &why));
    assert_string_equal(why.second_at, "N = 2, M = 2, f = 1");
    /* split by a symbolic factor: i = o * M + r */
    Expr *o = enter_range(&n, "o", num(c, 0), num(c, 4), 1);
    r = enter_range(&n, "r", num(c, 0), M, 1);
    s = store(c, x, op(c, EX_ADD, op(c, EX_MUL, o, M), r), num(c, 0), STORE_SET, zero(c));
    Stmt *body = leave_all(&n, plain(&n, "x", s));
    assert_true(parallel(&n, body, 0, &why));
    assert_true(parallel(&n, body, 1, &why));
}

static Stmt *wavefront(Nest *n, int64_t di, int64_t dj)
{
    Context *c = n->c;
    Buffer *x = buffer(c, "x", 2, 64);
    Expr *i = enter_range(n, "i", num(c, 1), num(c, 63), 1);
    Expr *j = enter_range(n, "j", num(c, 1), num(c, 63), 1);
    Stmt *s = store(c, x, i, j, STORE_SET, load(c, x, add(c, i, -di), add(c, j, -dj)));
    return plain(n, "x", s);
}

static void swap_loops(Nest *n)
{
    Nest old = *n;
    for (int i = 0; i < 2; i++) {
        int k = 1 - i;
        n->loops[i] = old.loops[k], n->lo[i] = old.lo[k], n->hi[i] = old.hi[k];
        n->id[i] = old.id[k], n->step[i] = old.step[k];
    }
}

static bool reorder_kept(Context *c, int64_t di, int64_t dj, Conflict *why)
{
    Nest n = nest_new(c), swapped;
    Stmt *inner = wavefront(&n, di, dj);
    swapped = n;
    swap_loops(&swapped);
    Stmt *before = leave_all(&n, inner), *after = leave_all(&swapped, inner);
    Kernel k = kernel_of(&n, before);
    bool reassociates;
    bool kept = dependence_order_kept(c, &k, before, after, &reassociates, why);
    assert_false(reassociates);
    bool back = dependence_order_kept(c, &k, before, before, &reassociates, why);
    assert_true(back);
    if (!kept)
        dependence_order_kept(c, &k, before, after, &reassociates, why);
    return kept;
}

static void test_wavefront(void **state)
{
    Context *c = *state;
    Conflict why;
    for (int loop = 0; loop < 2; loop++) {
        Nest n = nest_new(c);
        Buffer *x = buffer(c, "x", 2, 64);
        Expr *i = enter_range(&n, "i", num(c, 1), num(c, 64), 1);
        Expr *j = enter_range(&n, "j", num(c, 1), num(c, 64), 1);
        Expr *sum = op(c, EX_ADD, load(c, x, add(c, i, -1), j), load(c, x, i, add(c, j, -1)));
        Stmt *body = leave_all(&n, plain(&n, "x", store(c, x, i, j, STORE_SET, sum)));
        assert_false(parallel(&n, body, loop, &why));
    }
    assert_true(reorder_kept(c, 1, 1, &why));
    assert_true(reorder_kept(c, 0, 1, &why));
    assert_false(reorder_kept(c, 1, -1, &why));
    assert_string_equal(why.first_at, "i = 1, j = 2");
    assert_string_equal(why.second_at, "i = 2, j = 1");
}

static void test_reduction_reorder(void **state)
{
    Context *c = *state;
    Conflict why;
    bool reassociates;
    /* matmul with k downwards: only the order of the updates changes */
    Nest n = nest_new(c);
    Stmt *before = matmul(&n, 16);
    Stmt *loop_k = before->u.loop.body->u.loop.body;
    ForStmt down = loop_k->u.loop;
    down.lo = num(c, 15), down.hi = num(c, 0), down.step = -1;
    Stmt *after = stmt_replace(c, before, loop_k, stmt_for(c, &down, span_none()));
    Kernel k = kernel_of(&n, before);
    assert_true(dependence_order_kept(c, &k, before, after, &reassociates, &why));
    assert_true(reassociates);
    assert_true(dependence_instances_kept(c, &k, before, after, 0, &why));
    down.lo = num(c, 14);
    after = stmt_replace(c, before, loop_k, stmt_for(c, &down, span_none()));
    assert_false(dependence_instances_kept(c, &k, before, after, 0, &why));
    assert_string_equal(why.first_at, "i = 0, j = 0, k = 15");
    assert_true(dependence_order_kept(c, &k, before, before, &reassociates, &why));
    assert_false(reassociates);
}

static void test_triangular(void **state)
{
    Context *c = *state;
    Conflict why;
    Nest n = nest_new(c);
    Buffer *x = buffer(c, "x", 2, 32);
    Expr *i = enter(&n, "i", 32), *j = enter_range(&n, "j", add(c, i, 1), num(c, 32), 1);
    /* x[i, j] = x[j, i], j > i: the two triangles never meet */
    Stmt *body = leave_all(&n, plain(&n, "x", store(c, x, i, j, STORE_SET, load(c, x, j, i))));
    assert_true(parallel(&n, body, 0, &why));
    n = nest_new(c);
    i = enter(&n, "i", 32), j = enter(&n, "j", 32);
    body = leave_all(&n, plain(&n, "x", store(c, x, i, j, STORE_SET, load(c, x, j, i))));
    assert_false(parallel(&n, body, 0, &why));
    assert_string_equal(why.first_at, "i = 0, j = 1");
    assert_string_equal(why.second_at, "i = 1, j = 0");
}

static void test_jacobi(void **state)
{
    Context *c = *state;
    Conflict why;
    Nest n = nest_new(c);
    Buffer *x = buffer(c, "x", 1, 64), *y = buffer(c, "y", 1, 64);
    enter(&n, "t", 10);
    Expr *i = enter_range(&n, "i", num(c, 1), num(c, 63), 1);
    uint32_t first_id = n.id[1];
    Expr *sum = op(c, EX_ADD, load(c, x, add(c, i, -1), NULL), load(c, x, add(c, i, 1), NULL));
    Stmt *first = leave(&n, plain(&n, "y", store(c, y, i, NULL, STORE_SET, sum)));
    i = enter_range(&n, "i", num(c, 1), num(c, 63), 1);
    Stmt *items[2] = {
        first, leave(&n, plain(&n, "x", store(c, x, i, NULL, STORE_SET, load(c, y, i, NULL))))};
    Stmt *body = leave_all(&n, stmt_seq(c, items, 2, span_none()));
    assert_false(parallel(&n, body, 0, &why));
    assert_true(parallel(&n, body, 1, &why));
    n.id[1] = first_id;
    assert_true(parallel(&n, body, 1, &why));
    assert_true(legal(&n, body, 1, LOOP_BIND, AXIS_BLOCK_X, &why));
}

static void test_histogram(void **state)
{
    Context *c = *state;
    Conflict why;
    for (int atomic = 0; atomic < 2; atomic++) {
        Nest n = nest_new(c);
        Buffer *hist = buffer(c, "hist", 1, 256);
        Expr *shape[1] = {num(c, 1000)};
        Buffer *color = buffer_new(c, ctx_name(c, "color"), DT_U8, shape, 1, SCOPE_GLOBAL, ROLE_IN,
                                   span_none());
        Expr *i = enter(&n, "i", 1000);
        Expr *bin = expr_cast(c, DT_INDEX, load(c, color, i, NULL), span_none());
        Stmt *s = store(c, hist, bin, NULL, STORE_ADD, zero(c));
        Stmt *body = leave_all(&n, plain_init(&n, "hist", NULL, s, atomic));
        assert_int_equal(parallel(&n, body, 0, &why), atomic);
        assert_int_equal(legal(&n, body, 0, LOOP_BIND, AXIS_THREAD_X, &why), atomic);
        assert_int_equal(legal(&n, body, 0, LOOP_BIND, AXIS_BLOCK_X, &why), atomic);
        assert_false(legal(&n, body, 0, LOOP_VECTORIZE, AXIS_NONE, &why));
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

/* by, ty (bound) > ko { copy: S[ty' ] = A ; C[by, ty] += S[ty + shift] }, S in `scope`. */
typedef struct {
    Stmt *body, *copy, *use, *ko;
    uint32_t ty;
} Tiled;

static Tiled tiled_copy(Nest *n, Scope scope, Axis copy_axis, bool other_tile, int64_t shift_by)
{
    Context *c = n->c;
    Buffer *S = scoped(buffer(c, "S", 2, 64), scope), *A = buffer(c, "A", 2, 64);
    Buffer *C = buffer(c, "C", 1, 64);
    Expr *by = enter_bound(n, "by", 4, AXIS_BLOCK_X);
    Expr *ty = enter(n, "ty", 16);
    Expr *ko = enter(n, "ko", 8);
    Tiled t = {.ty = n->id[1]};
    Expr *y = enter_bound(n, "y", 16, copy_axis);
    Var *from[2] = {n->loops[3], n->loops[2]};
    Expr *binding[2] = {op(c, EX_ADD, op(c, EX_MUL, by, num(c, 16)), y), ko};
    Expr *hi[2] = {num(c, 64), num(c, 8)};
    BlockStmt copy = block_of(n, "S", from, binding, hi, 2, NULL,
                              store(c, S, y, ko, STORE_SET, load(c, A, y, ko)));
    t.copy = stmt_block(c, &copy, span_none());
    Stmt *copies = leave(n, t.copy);
    Expr *row = op(c, EX_ADD, op(c, EX_MUL, by, num(c, 16)), ty);
    Var *row_var = var_new(c, ctx_name(c, "i"), DT_INDEX, VAR_LOOP, span_none());
    Var *use_from[2] = {row_var, n->loops[2]};
    Expr *use_binding[2] = {row, ko};
    Expr *i = var(c, row_var), *read = add(c, i, shift_by);
    if (other_tile)
        read = op(c, EX_SUB, num(c, 63), i);
    BlockStmt use = block_of(n, "C", use_from, use_binding, hi, 2, NULL,
                             store(c, C, i, NULL, STORE_ADD, load(c, S, read, ko)));
    t.use = stmt_block(c, &use, span_none());
    Stmt *items[2] = {copies, t.use};
    t.ko = leave(n, stmt_seq(c, items, 2, span_none()));
    t.body = leave_all(n, t.ko);
    return t;
}

static void test_shared_tile(void **state)
{
    Context *c = *state;
    Conflict why;
    Nest n = nest_new(c);
    Tiled t = tiled_copy(&n, SCOPE_SHARED, AXIS_THREAD_Y, false, 0);
    assert_true(legal(&n, t.body, 1, LOOP_BIND, AXIS_THREAD_Y, &why));
    n = nest_new(c);
    t = tiled_copy(&n, SCOPE_SHARED, AXIS_THREAD_Y, true, 0);
    assert_false(legal(&n, t.body, 1, LOOP_BIND, AXIS_THREAD_Y, &why));
    assert_non_null(strstr(why.reason, "each block of the grid has its own"));
    n = nest_new(c);
    t = tiled_copy(&n, SCOPE_LOCAL, AXIS_THREAD_Y, false, 0);
    assert_true(legal(&n, t.body, 1, LOOP_BIND, AXIS_THREAD_Y, &why));
    n = nest_new(c);
    t = tiled_copy(&n, SCOPE_LOCAL, AXIS_THREAD_X, false, 0);
    assert_false(legal(&n, t.body, 1, LOOP_BIND, AXIS_THREAD_Y, &why));
    assert_non_null(strstr(why.reason, "each thread has its own"));
}

static Stmt *bound_tree(Context *c, Tiled t)
{
    ForStmt loop = t.body->u.loop.body->u.loop;
    loop.kind = LOOP_BIND;
    loop.axis = AXIS_THREAD_Y;
    return stmt_replace(c, t.body, t.body->u.loop.body, stmt_for(c, &loop, span_none()));
}

static void keep_first(void *user, const Hazard *hazard)
{
    Hazard *first = user;
    if (!first->buffer)
        *first = *hazard;
}

static bool hazard_between(Threads *t, Stmt *before, Stmt *after, const Stmt *carrier, Hazard *hazard)
{
    *hazard = (Hazard){0};
    threads_hazards(t, &before, 1, &after, 1, carrier, keep_first, hazard);
    return hazard->buffer != NULL;
}

static void test_hazards(void **state)
{
    Context *c = *state;
    Hazard hazard;
    Conflict why;
    for (int64_t by = 0; by < 2; by++) {
        Nest n = nest_new(c);
        Tiled t = tiled_copy(&n, SCOPE_SHARED, AXIS_THREAD_Y, false, by);
        Kernel k = kernel_of(&n, bound_tree(c, t));
        Threads *threads = threads_model(c, &k, k.body);
        /* with shift 0 every thread reads only what it wrote */
        assert_int_equal(hazard_between(threads, t.copy, t.use, NULL, &hazard), by == 1);
        if (by == 1)
            assert_string_equal(hazard.kind, "write then read");
        /* S[i, ko] is another column in the next iteration */
        assert_false(hazard_between(threads, t.use, t.copy, t.ko, &hazard));
        assert_false(threads_grid_conflict(threads, &why));
    }
}

/* Two loops over i in one launch: x by thread i, then y[i] = x[i + 1]. */
static void test_serial_between_threads(void **state)
{
    Context *c = *state;
    Conflict why;
    Nest n = nest_new(c);
    Buffer *x = buffer(c, "x", 1, 64), *y = buffer(c, "y", 1, 64);
    Expr *i = enter(&n, "i", 32);
    enter(&n, "k", 4);
    /* x[i] = x[i + 1] over k: thread i reads what thread i + 1 wrote in an earlier k */
    Stmt *s = store(c, x, i, NULL, STORE_SET, load(c, x, add(c, i, 1), NULL));
    Stmt *body = leave_all(&n, plain(&n, "x", s));
    assert_false(legal(&n, body, 0, LOOP_BIND, AXIS_THREAD_X, &why));
    /* a gap between statements is enough: y = f(x) for all, in one iteration of the thread loop */
    n = nest_new(c);
    enter(&n, "t", 4);
    i = enter(&n, "i", 32);
    Stmt *first =
        leave(&n, plain(&n, "y", store(c, y, i, NULL, STORE_SET, load(c, x, add(c, i, 1), NULL))));
    i = enter_bound(&n, "i", 32, AXIS_THREAD_X);
    Stmt *items[2] = {
        first, leave(&n, plain(&n, "x", store(c, x, i, NULL, STORE_SET, load(c, y, i, NULL))))};
    body = leave_all(&n, stmt_seq(c, items, 2, span_none()));
    n.id[1] = first->u.loop.id;
    assert_true(legal(&n, body, 1, LOOP_BIND, AXIS_THREAD_X, &why));
}

/* The tiled matrix product: by, bx, ty, tx > ko { A_shared, B_shared; ki > C }, extent 1024, tile
 * 32. With `wrap` the tiles are as small as they need be. */
typedef struct {
    Stmt *body, *ko, *copy_a, *copy_b, *update;
} Product;

static Expr *tile(Context *c, Expr *outer, Expr *inner)
{
    return op(c, EX_ADD, op(c, EX_MUL, outer, num(c, 32)), inner);
}

static Expr *physical(Context *c, Expr *e, bool wrap)
{
    return wrap ? op(c, EX_MOD, e, num(c, 32)) : e;
}

static Stmt *copy_tile(Nest *n, Buffer *from, Buffer *to, Expr *row, Expr *column, bool row_is_y,
                       bool wrap)
{
    Context *c = n->c;
    Expr *y = enter_bound(n, "y", 32, AXIS_THREAD_Y), *x = enter_bound(n, "x", 32, AXIS_THREAD_X);
    Var *v[2];
    for (int i = 0; i < 2; i++)
        v[i] = var_new(c, ctx_name(c, i ? "a1" : "a0"), DT_INDEX, VAR_LOOP, span_none());
    Expr *binding[2] = {tile(c, row, row_is_y ? y : x), tile(c, column, row_is_y ? x : y)};
    Expr *hi[2] = {num(c, 1000), num(c, 1000)}, *i = var(c, v[0]), *j = var(c, v[1]);
    Stmt *s =
        store(c, to, physical(c, i, wrap), physical(c, j, wrap), STORE_SET, load(c, from, i, j));
    BlockStmt b = block_of(n, to->name, v, binding, hi, 2, NULL, s);
    return stmt_block(c, &b, span_none());
}

static Product tiled_product(Nest *n, bool wrap)
{
    Context *c = n->c;
    Buffer *A = buffer(c, "A", 2, 1000), *B = buffer(c, "B", 2, 1000), *C = buffer(c, "C", 2, 1000);
    Buffer *A_shared = scoped(buffer(c, "A_shared", 2, 1000), SCOPE_SHARED);
    Buffer *B_shared = scoped(buffer(c, "B_shared", 2, 1000), SCOPE_SHARED);
    Expr *by = enter_bound(n, "by", 32, AXIS_BLOCK_Y), *bx = enter_bound(n, "bx", 32, AXIS_BLOCK_X);
    Expr *ty = enter_bound(n, "ty", 32, AXIS_THREAD_Y);
    Expr *tx = enter_bound(n, "tx", 32, AXIS_THREAD_X), *ko = enter(n, "ko", 32);
    Product t = {.copy_a = copy_tile(n, A, A_shared, by, ko, true, wrap)};
    Stmt *items[3];
    items[0] = leave(n, leave(n, t.copy_a));
    t.copy_b = copy_tile(n, B, B_shared, ko, bx, true, wrap);
    items[1] = leave(n, leave(n, t.copy_b));
    Var *v[3];
    for (int i = 0; i < 3; i++)
        v[i] = var_new(c,
                       ctx_name(c, i == 0   ? "i"
                                   : i == 1 ? "j"
                                            : "k"),
                       DT_INDEX, VAR_LOOP, span_none());
    Expr *i = var(c, v[0]), *j = var(c, v[1]), *k = var(c, v[2]);
    Expr *binding[3] = {tile(c, by, ty), tile(c, bx, tx), tile(c, ko, enter(n, "ki", 32))};
    Expr *hi[3] = {num(c, 1000), num(c, 1000), num(c, 1000)};
    Expr *a = load(c, A_shared, physical(c, i, wrap), physical(c, k, wrap));
    Expr *b = load(c, B_shared, physical(c, k, wrap), physical(c, j, wrap));
    BlockStmt block = block_of(n, "C", v, binding, hi, 3, store(c, C, i, j, STORE_SET, zero(c)),
                               store(c, C, i, j, STORE_ADD, op(c, EX_MUL, a, b)));
    ((BlockIter *)block.iters)[2].kind = ITER_REDUCE;
    t.update = stmt_block(c, &block, span_none());
    items[2] = leave(n, t.update);
    t.ko = leave(n, stmt_seq(c, items, 3, span_none()));
    t.body = leave_all(n, t.ko);
    return t;
}

static void test_tiled_matmul(void **state)
{
    Context *c = *state;
    Conflict why;
    for (int wrap = 0; wrap < 2; wrap++) {
        Nest n = nest_new(c);
        Product t = tiled_product(&n, wrap);
        static const Axis axes[4] = {AXIS_BLOCK_Y, AXIS_BLOCK_X, AXIS_THREAD_Y, AXIS_THREAD_X};
        for (int i = 0; i < 4 && !wrap; i++)
            assert_true(legal(&n, t.body, i, LOOP_BIND, axes[i], &why));
        assert_false(legal(&n, t.body, 4, LOOP_BIND, AXIS_THREAD_Z, &why));
        Kernel k = kernel_of(&n, t.body);
        Threads *threads = threads_model(c, &k, t.body);
        Hazard hazard;
        assert_true(hazard_between(threads, t.copy_a, t.update, NULL, &hazard));
        assert_string_equal(hazard.buffer->name, "A_shared");
        assert_true(hazard_between(threads, t.copy_b, t.update, NULL, &hazard));
        assert_false(hazard_between(threads, t.copy_a, t.copy_b, NULL, &hazard));
        assert_false(hazard_between(threads, t.copy_b, t.copy_a, t.ko, &hazard));
        assert_int_equal(hazard_between(threads, t.update, t.copy_a, t.ko, &hazard), wrap);
        assert_int_equal(hazard_between(threads, t.update, t.copy_b, t.ko, &hazard), wrap);
        assert_false(threads_grid_conflict(threads, &why));
    }
}

/* Loops that do not tell instances apart, and two loops on one axis. */
static void test_placement(void **state)
{
    Context *c = *state;
    Conflict why;
    for (int extent = 1; extent < 9; extent += 7) {
        for (int update = 0; update < 2; update++) {
            Nest n = nest_new(c);
            Buffer *x = buffer(c, "x", 1, 8);
            enter(&n, "t", extent);
            Expr *i = enter(&n, "i", 8), *hi[1] = {num(c, 8)};
            Var *from[1] = {n.loops[1]};
            BlockStmt b = block_of(&n, "x", from, &i, hi, 1, NULL,
                                   store(c, x, i, NULL, update ? STORE_ADD : STORE_SET, zero(c)));
            Stmt *body = leave_all(&n, stmt_block(c, &b, span_none()));
            assert_int_equal(legal(&n, body, 0, LOOP_BIND, AXIS_THREAD_X, &why),
                             !update || extent == 1);
            if (update && extent > 1)
                assert_non_null(strstr(why.reason, "it would run once"));
        }
    }
    Nest n = nest_new(c);
    Buffer *x = buffer(c, "x", 2, 8);
    Expr *i = enter_bound(&n, "i", 8, AXIS_THREAD_X), *j = enter(&n, "j", 8);
    Stmt *body = leave_all(&n, plain(&n, "x", store(c, x, i, j, STORE_SET, zero(c))));
    assert_false(legal(&n, body, 1, LOOP_BIND, AXIS_THREAD_X, &why));
    assert_non_null(strstr(why.reason, "one and the same coordinate"));
    assert_true(legal(&n, body, 1, LOOP_BIND, AXIS_THREAD_Y, &why));
}

/* ---- rewrites -------------------------------------------------------------------------------- */

/* A block with other bindings for its iterators. */
static Stmt *rebind(Context *c, Stmt *block, Expr *const *binding)
{
    BlockStmt b = block->u.block;
    BlockIter *iters = arena_alloc(c->arena, sizeof(BlockIter) * (size_t)b.n_iters);
    for (int i = 0; i < b.n_iters; i++) {
        iters[i] = b.iters[i];
        iters[i].binding = binding[i];
    }
    b.iters = iters;
    return stmt_block(c, &b, span_none());
}

static Stmt *with_domain(Context *c, Stmt *block, Expr *const *hi)
{
    BlockStmt b = block->u.block;
    BlockIter *iters = arena_alloc(c->arena, sizeof(BlockIter) * (size_t)b.n_iters);
    for (int i = 0; i < b.n_iters; i++) {
        iters[i] = b.iters[i];
        iters[i].lo = num(c, 0);
        iters[i].hi = hi[i];
    }
    b.iters = iters;
    return stmt_block(c, &b, span_none());
}

/* x[i, j] = x[i, j - 1] over 0..N, 0..M fused into one loop, forwards and backwards. */
static void test_symbolic_rewrites(void **state)
{
    Context *c = *state;
    Conflict why;
    bool reassociates;
    Nest n = nest_new(c);
    Expr *size_n = size(&n, "N"), *size_m = size(&n, "M"), *hi[2] = {size_n, size_m};
    Buffer *x = buffer(c, "x", 2, 64);
    Expr *i = enter_range(&n, "i", num(c, 0), size_n, 1);
    Expr *j = enter_range(&n, "j", num(c, 0), size_m, 1);
    Stmt *s = store(c, x, i, j, STORE_SET, load(c, x, i, add(c, j, -1)));
    Stmt *block = with_domain(c, plain(&n, "x", s), hi), *before = leave_all(&n, block);
    Kernel k = kernel_of(&n, before);

    Expr *f = enter_range(&n, "f", num(c, 0), op(c, EX_MUL, size_n, size_m), 1);
    Expr *fused[2] = {op(c, EX_DIV, f, size_m), op(c, EX_MOD, f, size_m)};
    Stmt *after = leave_all(&n, rebind(c, block, fused));
    assert_true(dependence_order_kept(c, &k, before, after, &reassociates, &why));
    f = enter_range(&n, "f", op(c, EX_SUB, op(c, EX_MUL, size_n, size_m), num(c, 1)), num(c, 0),
                    -1);
    Expr *reversed[2] = {op(c, EX_DIV, f, size_m), op(c, EX_MOD, f, size_m)};
    after = leave_all(&n, rebind(c, block, reversed));
    assert_false(dependence_order_kept(c, &k, before, after, &reassociates, &why));
    assert_string_equal(why.kind, "write then read");

    /* split by 32 with a guard, by the domain */
    Expr *outer = enter_range(&n, "o", num(c, 0), op(c, EX_DIV, add(c, size_m, 31), num(c, 32)), 1);
    i = enter_range(&n, "i", num(c, 0), size_n, 1);
    Expr *inner = enter(&n, "r", 32);
    Expr *split[2] = {i, tile(c, outer, inner)};
    after = leave_all(&n, rebind(c, block, split));
    assert_true(dependence_order_kept(c, &k, before, after, &reassociates, &why));
    assert_true(dependence_instances_kept(c, &k, before, after, 0, &why));
    k.body = after;
    assert_false(parallel(&n, after, 0, &why));
    assert_true(parallel(&n, after, 1, &why));
    assert_false(parallel(&n, after, 2, &why));
    assert_true(legal(&n, after, 1, LOOP_BIND, AXIS_BLOCK_X, &why));
    k.body = before;
    /* one tile short */
    outer = enter_range(&n, "o", num(c, 0), op(c, EX_DIV, size_m, num(c, 32)), 1);
    i = enter_range(&n, "i", num(c, 0), size_n, 1);
    Expr *shorter[2] = {i, tile(c, outer, enter(&n, "r", 32))};
    after = leave_all(&n, rebind(c, block, shorter));
    assert_false(dependence_instances_kept(c, &k, before, after, 0, &why));
    assert_string_equal(why.reason, "this instance would no longer run");
    /* every element twice */
    i = enter_range(&n, "i", num(c, 0), size_n, 1);
    j = enter_range(&n, "j", num(c, 0), size_m, 1);
    enter(&n, "again", 2);
    Expr *same[2] = {i, j};
    after = leave_all(&n, rebind(c, block, same));
    assert_false(dependence_instances_kept(c, &k, before, after, 0, &why));
    assert_string_equal(why.reason, "this instance would run more than once");
}

/* The init of a reduction runs before the outermost reduction loop: a k loop moved out of i and j
 * keeps that, and a reader of C inside k sees unfinished sums. */
static void test_init_order(void **state)
{
    Context *c = *state;
    Conflict why;
    bool reassociates;
    Nest n = nest_new(c);
    Stmt *before = matmul(&n, 16), *loop_j = before->u.loop.body, *loop_k = loop_j->u.loop.body;
    Stmt *block = loop_k->u.loop.body;
    Kernel k = kernel_of(&n, before);
    ForStmt i = before->u.loop, j = loop_j->u.loop, reduce = loop_k->u.loop;
    j.body = block;
    i.body = stmt_for(c, &j, span_none());
    reduce.body = stmt_for(c, &i, span_none());
    Stmt *after = stmt_for(c, &reduce, span_none());
    assert_true(dependence_order_kept(c, &k, before, after, &reassociates, &why));
    assert_false(reassociates);
    assert_true(dependence_instances_kept(c, &k, before, after, 0, &why));

    /* D[i, j] = C[i, j] after the k loop, and inside it */
    n = nest_new(c);
    Buffer *C = (Buffer *)block->u.block.body->u.store.buffer, *D = buffer(c, "D", 2, 16);
    j = loop_j->u.loop;
    Expr *vi = var(c, before->u.loop.var), *vj = var(c, j.var);
    Var *from[2] = {before->u.loop.var, j.var};
    Expr *binding[2] = {vi, vj}, *hi[2] = {num(c, 16), num(c, 16)};
    BlockStmt reader = block_of(&n, "D", from, binding, hi, 2, NULL,
                                store(c, D, vi, vj, STORE_SET, load(c, C, vi, vj)));
    Stmt *read = stmt_block(c, &reader, span_none()), *after_k[2] = {loop_k, read};
    Stmt *in_k[2] = {block, read};
    j.body = stmt_seq(c, after_k, 2, span_none());
    Stmt *good = stmt_replace(c, before, loop_j, stmt_for(c, &j, span_none()));
    reduce = loop_k->u.loop;
    reduce.body = stmt_seq(c, in_k, 2, span_none());
    j.body = stmt_for(c, &reduce, span_none());
    Stmt *bad = stmt_replace(c, before, loop_j, stmt_for(c, &j, span_none()));
    k.body = good;
    assert_false(dependence_order_kept(c, &k, good, bad, &reassociates, &why));
    assert_string_equal(why.first->name, "C");
    assert_string_equal(why.second->name, "D");
    assert_false(dependence_instances_kept(c, &k, good, bad, 0, &why));
}

/* ---- against enumeration --------------------------------------------------------------------- */

typedef struct {
    uint32_t state;
} Random;

static int64_t random_in(Random *r, int64_t lo, int64_t hi)
{
    r->state = r->state * 1664525u + 1013904223u;
    return lo + (int64_t)((r->state >> 8) % (uint32_t)(hi - lo + 1));
}

/* A subscript: a i + b j + c, then perhaps / d, % d, min or a choice. */
typedef struct {
    int64_t a, b, c, d;
    int how;
} Subscript;

static Subscript random_subscript(Random *r)
{
    return (Subscript){random_in(r, -2, 3), random_in(r, -2, 3), random_in(r, -4, 4),
                       random_in(r, 2, 5), (int)random_in(r, 0, 6)};
}

static int64_t subscript_value(Subscript s, int64_t i, int64_t j)
{
    int64_t e = s.a * i + s.b * j + s.c;
    switch (s.how) {
    case 0:
        return e / s.d;
    case 1:
        return e % s.d;
    case 2:
        return e < i ? e : i;
    case 3:
        return i < s.d ? e : j;
    default:
        return e;
    }
}

static Expr *subscript_expr(Context *c, Subscript s, Expr *i, Expr *j)
{
    Expr *e =
        add(c, op(c, EX_ADD, op(c, EX_MUL, num(c, s.a), i), op(c, EX_MUL, j, num(c, s.b))), s.c);
    switch (s.how) {
    case 0:
        return op(c, EX_DIV, e, num(c, s.d));
    case 1:
        return op(c, EX_MOD, e, num(c, s.d));
    case 2:
        return op(c, EX_MIN, e, i);
    case 3:
        return expr_select(c, op(c, EX_LT, i, num(c, s.d)), e, j, span_none());
    default:
        return e;
    }
}

enum { SIDE = 5 };

/* x[write] = x[read] for i in 0..SIDE, j in (triangular ? i : 0)..SIDE by `step`. */
typedef struct {
    Subscript write, read;
    bool triangular;
    int64_t step;
} Sample;

/* Calls `see` on all pairs of iterations that touch one element, one of them writing; true if one
 * says so. */
static bool any_pair(Sample s, bool (*see)(int64_t i, int64_t j, int64_t k, int64_t l))
{
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = s.triangular ? i : 0; j < SIDE; j += s.step)
            for (int64_t k = 0; k < SIDE; k++)
                for (int64_t l = s.triangular ? k : 0; l < SIDE; l += s.step) {
                    int64_t w = subscript_value(s.write, i, j);
                    if ((w == subscript_value(s.write, k, l) ||
                         w == subscript_value(s.read, k, l)) &&
                        see(i, j, k, l))
                        return true;
                }
    return false;
}

static bool outer_carries(int64_t i, int64_t j, int64_t k, int64_t l)
{
    (void)j, (void)l;
    return i != k;
}

static bool inner_carries(int64_t i, int64_t j, int64_t k, int64_t l)
{
    return i == k && j != l;
}

/* The order of two iterations when the loops change places. */
static bool swap_breaks(int64_t i, int64_t j, int64_t k, int64_t l)
{
    return (i < k && j > l) || (i > k && j < l);
}

/* The order of two iterations when i is a thread and j a serial loop of it. */
static bool threads_break(int64_t i, int64_t j, int64_t k, int64_t l)
{
    return (i < k && j >= l) || (i > k && j <= l);
}

static void test_enumeration(void **state)
{
    Context *c = *state;
    Conflict why;
    Random r = {12345};
    for (int n_samples = 0; n_samples < 400; n_samples++) {
        Sample s = {random_subscript(&r), random_subscript(&r), random_in(&r, 0, 2) == 0,
                    random_in(&r, 1, 2)};
        Nest n = nest_new(c);
        Buffer *x = buffer(c, "x", 1, 100);
        Expr *i = enter(&n, "i", SIDE);
        Expr *j = enter_range(&n, "j", s.triangular ? i : num(c, 0), num(c, SIDE), s.step);
        Stmt *block = plain(&n, "x",
                            store(c, x, subscript_expr(c, s.write, i, j), NULL, STORE_SET,
                                  load(c, x, subscript_expr(c, s.read, i, j), NULL)));
        Nest swapped = n;
        swap_loops(&swapped);
        Stmt *body = leave_all(&n, block);
        assert_int_equal(parallel(&n, body, 0, &why), !any_pair(s, outer_carries));
        assert_int_equal(parallel(&n, body, 1, &why), !any_pair(s, inner_carries));
        assert_int_equal(legal(&n, body, 0, LOOP_BIND, AXIS_BLOCK_X, &why),
                         !any_pair(s, outer_carries));
        assert_int_equal(legal(&n, body, 0, LOOP_BIND, AXIS_THREAD_X, &why),
                         !any_pair(s, threads_break));
        if (s.triangular)
            continue;
        bool reassociates;
        Kernel k = kernel_of(&n, body);
        Stmt *after = leave_all(&swapped, block);
        assert_int_equal(dependence_order_kept(c, &k, body, after, &reassociates, &why),
                         !any_pair(s, swap_breaks));
        assert_true(dependence_instances_kept(c, &k, body, after, 0, &why));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matmul, setup, teardown),
        cmocka_unit_test_setup_teardown(test_adjacent_difference, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place_shift, setup, teardown),
        cmocka_unit_test_setup_teardown(test_downward, setup, teardown),
        cmocka_unit_test_setup_teardown(test_subscripts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_truncation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_symbolic, setup, teardown),
        cmocka_unit_test_setup_teardown(test_symbolic_fuse, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wavefront, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reduction_reorder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_triangular, setup, teardown),
        cmocka_unit_test_setup_teardown(test_jacobi, setup, teardown),
        cmocka_unit_test_setup_teardown(test_histogram, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shared_tile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hazards, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tiled_matmul, setup, teardown),
        cmocka_unit_test_setup_teardown(test_enumeration, setup, teardown),
        cmocka_unit_test_setup_teardown(test_symbolic_rewrites, setup, teardown),
        cmocka_unit_test_setup_teardown(test_init_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_placement, setup, teardown),
        cmocka_unit_test_setup_teardown(test_serial_between_threads, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
