/* What dependence/dependence.h says of small programs: which loops may run in which manner,
 * and which instances clash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nest_build.h"
#include "passes/analysis/dependence/model.h"

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
    assert_int_equal(why.kind, HAZARD_RAW);
    assert_false(legal(&n, body, 0, LOOP_BIND, AXIS_THREAD_X, &why));
}

static void test_downward(void **state)
{
    Nest n = nest_new(*state);
    Expr *i = enter_range(&n, "i", num(n.c, 62), num(n.c, 0), -1);
    Stmt *body = shift(&n, i, add(n.c, i, 1));
    Conflict why;
    assert_false(parallel(&n, body, 0, &why));
    assert_int_equal(why.kind, HAZARD_RAW);
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

static bool reorder_kept(Context *c, int64_t di, int64_t dj, Conflict *why)
{
    Nest n = nest_new(c), swapped;
    Stmt *inner = wavefront(&n, di, dj);
    swapped = n;
    swap_loops(&swapped);
    Stmt *before = leave_all(&n, inner), *after = leave_all(&swapped, inner);
    Kernel k = kernel_of(&n, before);
    bool reassociates = false;
    bool kept = dependence_order_kept(c, (Rewrite){&k, before, after}, &reassociates, why);
    assert_false(reassociates);
    bool back = dependence_order_kept(c, (Rewrite){&k, before, before}, &reassociates, why);
    assert_true(back);
    if (!kept)
        dependence_order_kept(c, (Rewrite){&k, before, after}, &reassociates, why);
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
    bool reassociates = false;
    /* matmul with k downwards: only the order of the updates changes */
    Nest n = nest_new(c);
    Stmt *before = matmul(&n, 16);
    Stmt *loop_k = before->u.loop.body->u.loop.body;
    ForStmt down = loop_k->u.loop;
    down.lo = num(c, 15), down.hi = num(c, 0), down.step = -1;
    Stmt *after = stmt_replace(c, before, loop_k, stmt_for(c, &down, span_none()));
    Kernel k = kernel_of(&n, before);
    assert_true(dependence_order_kept(c, (Rewrite){&k, before, after}, &reassociates, &why));
    assert_true(reassociates);
    assert_true(dependence_instances_kept(c, (Rewrite){&k, before, after}, 0, &why));
    down.lo = num(c, 14);
    after = stmt_replace(c, before, loop_k, stmt_for(c, &down, span_none()));
    assert_false(dependence_instances_kept(c, (Rewrite){&k, before, after}, 0, &why));
    assert_string_equal(why.first_at, "i = 0, j = 0, k = 15");
    reassociates = false;
    assert_true(dependence_order_kept(c, (Rewrite){&k, before, before}, &reassociates, &why));
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
        Buffer *color = buffer_new(c, &(Buffer){.name = ctx_name(c, "color"),
                                                .type = DT_U8,
                                                .shape = shape,
                                                .rank = 1,
                                                .scope = SCOPE_GLOBAL,
                                                .role = ROLE_IN,
                                                .span = span_none()});
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

/* Of accesses that repeat others the model keeps one: a read of x[i] and an update of y[i]. Plain
 * stores, another operator, and what runs under a condition are no repetitions. */
static void test_repeated_accesses(void **state)
{
    Context *c = *state;
    Nest n = nest_new(c);
    Buffer *x = buffer(c, "x", 1, 8), *y = buffer(c, "y", 1, 8);
    Expr *i = enter(&n, "i", 8), *value = load(c, x, i, NULL);
    Stmt *update = store(c, y, i, NULL, STORE_ADD, value);
    Stmt *items[] = {update,
                     store(c, y, i, NULL, STORE_ADD, value),
                     store(c, y, i, NULL, STORE_MUL, zero(c)),
                     store(c, y, i, NULL, STORE_SET, zero(c)),
                     store(c, y, i, NULL, STORE_SET, zero(c)),
                     stmt_if(c, op(c, EX_GT, i, num(c, 3)), update, NULL, span_none())};
    for (int k = 1; k <= 6; k++) {
        static const int kept[] = {0, 2, 2, 3, 4, 5, 7};
        Nest of = n;
        Stmt *body = leave_all(&of, plain(&of, "y", stmt_seq(c, items, k, span_none())));
        const Kernel kernel = {.name = "k", .body = body};
        const Model *m = model_new(c, &kernel, body, body);
        assert_int_equal(m->units.n, 1);
        assert_int_equal(model_unit(m, 0)->accesses.n, kept[k]);
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
        cmocka_unit_test_setup_teardown(test_repeated_accesses, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
