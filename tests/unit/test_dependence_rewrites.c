/* Which rewrites keep the order of what depends on each other: loops split and fused by symbolic
 * sizes, inits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nest_build.h"

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
    bool reassociates = false;
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
    assert_true(dependence_order_kept(c, (Rewrite){&k, before, after}, &reassociates, &why));
    f = enter_range(&n, "f", op(c, EX_SUB, op(c, EX_MUL, size_n, size_m), num(c, 1)), num(c, 0),
                    -1);
    Expr *reversed[2] = {op(c, EX_DIV, f, size_m), op(c, EX_MOD, f, size_m)};
    after = leave_all(&n, rebind(c, block, reversed));
    assert_false(dependence_order_kept(c, (Rewrite){&k, before, after}, &reassociates, &why));
    assert_int_equal(why.kind, HAZARD_RAW);

    /* split by 32 with a guard, by the domain */
    Expr *outer = enter_range(&n, "o", num(c, 0), op(c, EX_DIV, add(c, size_m, 31), num(c, 32)), 1);
    i = enter_range(&n, "i", num(c, 0), size_n, 1);
    Expr *inner = enter(&n, "r", 32);
    Expr *split[2] = {i, tile(c, outer, inner)};
    after = leave_all(&n, rebind(c, block, split));
    assert_true(dependence_order_kept(c, (Rewrite){&k, before, after}, &reassociates, &why));
    assert_true(dependence_instances_kept(c, (Rewrite){&k, before, after}, 0, &why));
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
    assert_false(dependence_instances_kept(c, (Rewrite){&k, before, after}, 0, &why));
    assert_string_equal(why.reason, "this instance would no longer run");
    /* every element twice */
    i = enter_range(&n, "i", num(c, 0), size_n, 1);
    j = enter_range(&n, "j", num(c, 0), size_m, 1);
    enter(&n, "again", 2);
    Expr *same[2] = {i, j};
    after = leave_all(&n, rebind(c, block, same));
    assert_false(dependence_instances_kept(c, (Rewrite){&k, before, after}, 0, &why));
    assert_string_equal(why.reason, "this instance would run more than once");
}

/* The init of a reduction runs before the outermost reduction loop: a k loop moved out of i and j
 * keeps that, and a reader of C inside k sees unfinished sums. */
static void test_init_order(void **state)
{
    Context *c = *state;
    Conflict why;
    bool reassociates = false;
    Nest n = nest_new(c);
    Stmt *before = matmul(&n, 16), *loop_j = before->u.loop.body, *loop_k = loop_j->u.loop.body;
    Stmt *block = loop_k->u.loop.body;
    Kernel k = kernel_of(&n, before);
    ForStmt i = before->u.loop, j = loop_j->u.loop, reduce = loop_k->u.loop;
    j.body = block;
    i.body = stmt_for(c, &j, span_none());
    reduce.body = stmt_for(c, &i, span_none());
    Stmt *after = stmt_for(c, &reduce, span_none());
    assert_true(dependence_order_kept(c, (Rewrite){&k, before, after}, &reassociates, &why));
    assert_false(reassociates);
    assert_true(dependence_instances_kept(c, (Rewrite){&k, before, after}, 0, &why));

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
    assert_false(dependence_order_kept(c, (Rewrite){&k, good, bad}, &reassociates, &why));
    assert_string_equal(why.first->name, "C");
    assert_string_equal(why.second->name, "D");
    assert_false(dependence_instances_kept(c, (Rewrite){&k, good, bad}, 0, &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_symbolic_rewrites, setup, teardown),
        cmocka_unit_test_setup_teardown(test_init_order, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
