/* test_region.c - the boxes that pieces of program touch, and simplify through statements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "passes/analysis/regions/region.h"
#include "tests/unit/simplify_text.h"

static Buffer *buffer_2d(World *w, const char *name, const char *rows, const char *columns)
{
    Expr *shape[] = {text_expr(w, rows), text_expr(w, columns)};
    return buffer_new(w->c, &(Buffer){.name = ctx_name(w->c, name),
                                      .type = DT_F32,
                                      .shape = shape,
                                      .rank = 2,
                                      .scope = SCOPE_GLOBAL,
                                      .role = ROLE_IN,
                                      .span = span_none()});
}

/* dst[i, j] = src[a, b], or the same as an update. */
static Stmt *copy_stmt(World *w, Buffer *dst, const char *i, const char *j, Buffer *src,
                       const char *a, const char *b)
{
    Expr *to[] = {text_expr(w, i), text_expr(w, j)}, *from[] = {text_expr(w, a), text_expr(w, b)};
    return stmt_store(w->c,
                      &(StoreStmt){.buffer = dst,
                                   .index = to,
                                   .op = STORE_SET,
                                   .value = expr_load(w->c, src, from, span_none())},
                      span_none());
}

static Stmt *loop_stmt(World *w, const char *name, const char *lo, const char *hi, LoopKind kind,
                       Axis axis, Stmt *body)
{
    ForStmt loop = {.var = world_var(w, name),
                    .lo = text_expr(w, lo),
                    .hi = text_expr(w, hi),
                    .step = 1,
                    .kind = kind,
                    .axis = axis,
                    .id = ctx_new_id(w->c),
                    .body = body};
    return stmt_for(w->c, &loop, span_none());
}

static Stmt *serial(World *w, const char *name, const char *hi, Stmt *body)
{
    return loop_stmt(w, name, "0", hi, LOOP_SERIAL, AXIS_NONE, body);
}

/* A block of iterators vi and vj. */
static Stmt *block_stmt(World *w, const char *bind_i, const char *bind_j, Stmt *body)
{
    BlockIter iters[2] = {
        {world_var(w, "vi"), text_expr(w, "0"), text_expr(w, "1000"), text_expr(w, bind_i),
         ITER_SPATIAL},
        {world_var(w, "vj"), text_expr(w, "0"), text_expr(w, "1000"), text_expr(w, bind_j),
         ITER_SPATIAL},
    };
    BlockStmt block = {.name = ctx_name(w->c, "b"),
                       .id = ctx_new_id(w->c),
                       .iters = iters,
                       .n_iters = 2,
                       .body = body};
    return stmt_block(w->c, &block, span_none());
}

static void expect_box(World *w, Stmt *s, const Buffer *buffer, AccessMode mode, const char *want)
{
    Interval box[2];
    if (!region_touched(w->f, s, buffer, mode, box)) {
        assert_string_equal("none", want);
        return;
    }
    const char *got =
        arena_printf(w->c->arena, "%s : %s, %s : %s", text_of(w, box[0].min),
                     text_of(w, box[0].extent), text_of(w, box[1].min), text_of(w, box[1].extent));
    assert_string_equal(got, want);
}

static void test_tile(void **state)
{
    (void)state;
    World w = world_new();
    Buffer *a = buffer_2d(&w, "A", "1000", "N"), *c = buffer_2d(&w, "C", "1000", "1000");
    world_range(&w, "by", "0", "32");
    world_range(&w, "k", "0", "(N + 31) / 32");
    Stmt *block =
        block_stmt(&w, "by * 32 + ty", "k * 32 + x", copy_stmt(&w, c, "vi", "vj", a, "vi", "vj"));
    Stmt *nest =
        loop_stmt(&w, "ty", "0", "32", LOOP_BIND, AXIS_THREAD_Y, serial(&w, "x", "32", block));
    expect_box(&w, nest, a, ACCESS_READ, "by * 32 : 32, k * 32 : 32");
    expect_box(&w, nest, c, ACCESS_WRITE, "by * 32 : 32, k * 32 : 32");
    expect_box(&w, nest, c, ACCESS_READ, "none");
    expect_box(&w, block, a, ACCESS_READ, "by * 32 + ty : 1, k * 32 + x : 1");
    ctx_free(w.c);
}

static void test_stencil_and_hull(void **state)
{
    (void)state;
    World w = world_new();
    Buffer *a = buffer_2d(&w, "A", "1000", "N"), *c = buffer_2d(&w, "C", "1000", "N");
    world_range(&w, "io", "0", "32");
    Stmt *one = copy_stmt(&w, c, "io * 32 + ii", "j", a, "io * 32 + ii + d", "j");
    Stmt *nest =
        serial(&w, "ii", "32",
               loop_stmt(&w, "d", "-1", "2", LOOP_SERIAL, AXIS_NONE, serial(&w, "j", "N", one)));
    expect_box(&w, nest, a, ACCESS_READ, "io * 32 - 1 : 34, 0 : N");
    Stmt *pair[] = {copy_stmt(&w, c, "io", "io", a, "io * 4 - 1", "io"),
                    copy_stmt(&w, c, "io", "io", a, "io * 4 + 2", "io + 1")};
    expect_box(&w, stmt_seq(w.c, pair, 2, span_none()), a, ACCESS_READ, "io * 4 - 1 : 4, io : 2");
    ctx_free(w.c);
}

static void test_fused(void **state)
{
    (void)state;
    World w = world_new();
    Buffer *a = buffer_2d(&w, "A", "N", "N"), *c = buffer_2d(&w, "C", "32", "32");
    world_range(&w, "b", "0", "N");
    Stmt *copy = copy_stmt(&w, c, "f / 32", "f % 32", a, "b * 32 + f / 32", "f % 32 + 5");
    Stmt *nest = serial(&w, "f", "1024", copy);
    expect_box(&w, nest, a, ACCESS_READ, "b * 32 : 32, 5 : 32");
    expect_box(&w, nest, c, ACCESS_WRITE, "0 : 32, 0 : 32");
    expect_box(&w, serial(&w, "f", "4096", copy), c, ACCESS_WRITE, "0 : 32, 0 : 32");
    Stmt *uneven =
        serial(&w, "t", "30", copy_stmt(&w, c, "0", "0", a, "(b * 30 + t) / 4", "min(t, 9)"));
    expect_box(&w, uneven, a, ACCESS_READ, "b * 15 / 2 : 8, 0 : 10");
    ctx_free(w.c);
}

/* The hull of what two loops touch must hold the first also where the second does not run. */
static void test_loops_that_may_not_run(void **state)
{
    (void)state;
    World w = world_new();
    Buffer *a = buffer_2d(&w, "A", "M", "M"), *c = buffer_2d(&w, "C", "M", "M");
    Stmt *pair[] = {serial(&w, "i", "5", copy_stmt(&w, c, "0", "0", a, "i", "0")),
                    serial(&w, "j", "N - 5", copy_stmt(&w, c, "0", "0", a, "j + 5", "0"))};
    expect_box(&w, stmt_seq(w.c, pair, 2, span_none()), a, ACCESS_READ, "0 : max(N, 5), 0 : 1");
    ctx_free(w.c);
}

static void test_memory_subscripts_touch_all(void **state)
{
    (void)state;
    World w = world_new();
    Buffer *a = buffer_2d(&w, "A", "N", "8"), *c = buffer_2d(&w, "C", "32", "32");
    Expr *at[] = {text_expr(&w, "i"), text_expr(&w, "i")};
    Expr *loaded = expr_cast(w.c, DT_INDEX, expr_load(w.c, c, at, span_none()), span_none());
    Expr *from[] = {loaded, text_expr(&w, "i")}, *to[] = {text_expr(&w, "i"), text_expr(&w, "0")};
    Stmt *s = stmt_store(w.c,
                         &(StoreStmt){.buffer = c,
                                      .index = to,
                                      .op = STORE_ADD,
                                      .value = expr_load(w.c, a, from, span_none())},
                         span_none());
    expect_box(&w, serial(&w, "i", "4", s), a, ACCESS_READ, "0 : N, 0 : 4");
    AccessList list = access_list(w.c, s, NULL, ACCESS_ANY);
    assert_int_equal(list.n, 3);
    assert_ptr_equal(list.items[0].buffer, c);
    assert_ptr_equal(list.items[1].buffer, a);
    assert_true(list.items[2].reads && list.items[2].writes);
    ctx_free(w.c);
}

static void test_places(void **state)
{
    (void)state;
    World w = world_new();
    Buffer *a = buffer_2d(&w, "A", "N", "N"), *c = buffer_2d(&w, "C", "N", "N"),
           *none = buffer_2d(&w, "D", "1", "1");
    Stmt *first = block_stmt(&w, "i", "j", copy_stmt(&w, a, "vi", "vj", c, "vi", "vj"));
    Stmt *second = block_stmt(&w, "i", "j", copy_stmt(&w, c, "vj", "vi", c, "vi", "vj"));
    Stmt *pair[] = {first, second};
    Stmt *seq = stmt_seq(w.c, pair, 2, span_none());
    Stmt *root = serial(&w, "i", "N", loop_stmt(&w, "j", "i", "N", LOOP_SERIAL, AXIS_NONE, seq));
    assert_ptr_equal(lowest_common_ancestor(w.c, root, a), first);
    assert_ptr_equal(lowest_common_ancestor(w.c, root, c), seq);
    assert_null(lowest_common_ancestor(w.c, root, none));
    assert_true(facts_enter_path(w.f, root, second));
    assert_true(prove(w.f, text_expr(&w, "i <= j && j < N")));
    assert_false(facts_enter_path(w.f, root, root->u.loop.body->u.loop.body + 1));
    Expr *e = iters_to_loops(w.c, &second->u.block, text_expr(&w, "vi * 2 + vj"));
    assert_string_equal(text_of(&w, e), "i * 2 + j");
    ctx_free(w.c);
}

static const char *stmt_text(World *w, Stmt *s)
{
    StrBuf out = strbuf_new(w->c->arena);
    print_stmt(w->c, s, 0, &out);
    return out.text;
}

static void test_statements(void **state)
{
    (void)state;
    World w = world_new();
    Buffer *a = buffer_2d(&w, "A", "N", "N"), *c = buffer_2d(&w, "C", "N", "N");
    Stmt *copy = copy_stmt(&w, a, "i * 1 + u", "j", c, "(i * 32 + j) / 32", "i");
    Stmt *guarded = stmt_if(w.c, text_expr(&w, "j < 40"), copy, NULL, span_none());
    Stmt *never = stmt_if(w.c, text_expr(&w, "i >= N"), copy, NULL, span_none());
    Stmt *items[] = {guarded, never, serial(&w, "z", "0", copy)};
    Stmt *nest =
        serial(&w, "i", "N",
               serial(&w, "j", "32", serial(&w, "u", "1", stmt_seq(w.c, items, 3, span_none()))));
    Stmt *out = simplify_stmt(w.f, nest);
    assert_int_equal(out->kind, ST_FOR);
    Stmt *inner = out->u.loop.body->u.loop.body;
    if (inner->kind != ST_STORE)
        fail_msg("%s", stmt_text(&w, out));
    assert_string_equal(text_of(&w, inner->u.store.index[0]), "i");
    assert_string_equal(text_of(&w, inner->u.store.value), "C[i, i]");
    assert_ptr_equal(simplify_stmt(w.f, out), out);
    Stmt *bound = loop_stmt(&w, "t", "0", "1", LOOP_BIND, AXIS_THREAD_X,
                            copy_stmt(&w, a, "t", "0", c, "0", "0"));
    assert_int_equal(simplify_stmt(w.f, bound)->kind, ST_FOR);
    ctx_free(w.c);
}

/* The runs of the columns of A that `nest` reads, as "stride x extent", the smallest stride
 * first. */
static void expect_runs(World *w, Stmt *nest, const Buffer *a, const char *want)
{
    Interval box[2];
    StrBuf got = strbuf_new(w->c->arena);
    assert_true(region_touched(w->f, nest, a, ACCESS_READ, box));
    Runs runs = region_runs(w->f, &(RunsOf){nest, a, ACCESS_READ}, 1, &box[1]);
    for (int i = 0; i < runs.n; i++)
        strbuf_addf(&got, "%s%lldx%lld", i ? " " : "", (long long)runs.items[i].stride,
                    (long long)runs.items[i].extent);
    assert_string_equal(runs.n ? got.text : "", want);
}

/* A nest of x in 8, y in 4 that reads A[0, at], by way of a block. */
static Stmt *nest_that_reads(World *w, const Buffer *a, Buffer *c, const char *at)
{
    Stmt *body = copy_stmt(w, c, "0", "0", (Buffer *)a, "vi", "vj");
    return serial(w, "x", "8", serial(w, "y", "4", block_stmt(w, "0", at, body)));
}

static void test_runs(void **state)
{
    (void)state;
    static const struct {
        const char *at, *runs;
    } cases[] = {
        {"w * 64 + x / 4 * 16 + x % 4", "1x4 16x2"}, /* fused loops count by their digits */
        {"w * 64 + x * 16 + y", "1x4 16x8"},
        {"w * 64 + x * 4 + y", ""}, /* no gap */
        {"w * 64 + x * 3 + y", ""}, /* they overlap */
        {"w * 64 + y", ""},
        {"w * 64 + x * 2", "2x8"},
        {"w * 64 + x * 6 + y * 2", "2x25"},            /* 6 is three places of 2: the run goes on */
        {"w * 64 + 7 - x", ""},                        /* backwards: not looked at */
        {"(w * 8 + x) / 3 * 64", ""},                  /* of outer and inner loops at once */
        {"w * 64 + x / 4 * 100 + x % 4 * 10 + y", ""}, /* three runs */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        World w = world_new();
        Buffer *a = buffer_2d(&w, "A", "1000", "1000"), *c = buffer_2d(&w, "C", "1000", "1000");
        world_range(&w, "w", "0", "4");
        expect_runs(&w, nest_that_reads(&w, a, c, cases[i].at), a, cases[i].runs);
        ctx_free(w.c);
    }
}

static void test_no_runs_of_two_accesses(void **state)
{
    (void)state;
    World w = world_new();
    Buffer *a = buffer_2d(&w, "A", "1000", "1000"), *c = buffer_2d(&w, "C", "1000", "1000");
    Stmt *pair[] = {nest_that_reads(&w, a, c, "x * 16 + y"),
                    nest_that_reads(&w, a, c, "x * 16 + y + 5")};
    expect_runs(&w, stmt_seq(w.c, pair, 2, span_none()), a, "");
    ctx_free(w.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_no_runs_of_two_accesses),
        cmocka_unit_test(test_tile),
        cmocka_unit_test(test_stencil_and_hull),
        cmocka_unit_test(test_fused),
        cmocka_unit_test(test_loops_that_may_not_run),
        cmocka_unit_test(test_memory_subscripts_touch_all),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_statements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
