/* What threads/launch.h says of launches: tiles in shared memory, hazards between the
 * threads of a block, and who runs what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nest_build.h"

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
    assert_non_null(strstr(why.reason, "private to each block of the grid"));
    n = nest_new(c);
    t = tiled_copy(&n, SCOPE_LOCAL, AXIS_THREAD_Y, false, 0);
    assert_true(legal(&n, t.body, 1, LOOP_BIND, AXIS_THREAD_Y, &why));
    n = nest_new(c);
    t = tiled_copy(&n, SCOPE_LOCAL, AXIS_THREAD_X, false, 0);
    assert_false(legal(&n, t.body, 1, LOOP_BIND, AXIS_THREAD_Y, &why));
    assert_non_null(strstr(why.reason, "private to each thread"));
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

static bool hazard_between(Threads *t, Stmt *before, Stmt *after, const Stmt *carrier,
                           Hazard *hazard)
{
    *hazard = (Hazard){0};
    StmtList first = {.items = &before, .n = 1}, second = {.items = &after, .n = 1}, none = {0};
    threads_hazards(t, &(BlockPairs){&first, &second, carrier, SYNC_THREADS}, &none, keep_first,
                    hazard);
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
            assert_int_equal(hazard.kind, HAZARD_RAW);
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
                assert_non_null(strstr(why.reason, "it would run only once"));
        }
    }
    Nest n = nest_new(c);
    Buffer *x = buffer(c, "x", 2, 8);
    Expr *i = enter_bound(&n, "i", 8, AXIS_THREAD_X), *j = enter(&n, "j", 8);
    Stmt *body = leave_all(&n, plain(&n, "x", store(c, x, i, j, STORE_SET, zero(c))));
    assert_false(legal(&n, body, 1, LOOP_BIND, AXIS_THREAD_X, &why));
    assert_non_null(strstr(why.reason, "they are the same coordinate"));
    assert_true(legal(&n, body, 1, LOOP_BIND, AXIS_THREAD_Y, &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shared_tile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hazards, setup, teardown),
        cmocka_unit_test_setup_teardown(test_serial_between_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tiled_matmul, setup, teardown),
        cmocka_unit_test_setup_teardown(test_placement, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
