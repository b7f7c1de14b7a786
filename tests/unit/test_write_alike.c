/* Which buffers of a launch hold one value for each element, whichever instance wrote it
 * (threads_write_alike): a tile may then be copied again in any order. */
#include "parse_text.h"
#include "passes/analysis/threads/threads.h"

/* Is the temp `t` of a kernel with the `body` written alike? */
static bool alike(const char *body)
{
    Text t;
    text_open(&t);
    Context *c = t.ctx;
    text_parse(&t, arena_printf(c->arena,
                                "kernel k<N = 8>(x: f32[16], inout g: f32[16]) -> y: f32[N] { temp "
                                "t: f32[2, 16] in shared; for i in N bind threadIdx.x { for u in 3 "
                                "{ %s } y[i] = t[0, i]; } }",
                                body));
    const Kernel *k = text_kernel(&t, 0);
    StmtList temps = stmts_of_kind(c, k->body, ST_TEMP), loops = stmts_of_kind(c, k->body, ST_FOR);
    assert_int_equal(temps.n, 1);
    bool all = threads_write_alike(threads_model(c, k, loops.items[0]), temps.items[0]->u.temp);
    text_close(&t);
    return all;
}

static void test_subscripts_tell_the_value(void **state)
{
    (void)state;
    assert_true(alike("for a in 4 block z(v in 4 = a) { t[0, v] = x[v]; }"));
    assert_true(alike("for a in 4 block z(v in 4 = a) { t[v % 2, v] = f32(v); }"));
    assert_false(alike("for a in 4 t[0, u + a] = x[a];"));
    assert_false(alike("for a in 4 t[0, u + a] = f32(u);"));
    assert_false(alike("for a in 16 t[0, a % 8] = x[a];"));
    assert_false(alike("block z(v in 3 = u) { for a in 4 t[0, v + a] = x[v]; }"));
}

/* One plain store, of values that stay. */
static void test_nothing_else_decides_the_value(void **state)
{
    (void)state;
    assert_false(alike("for a in 4 block z(v in 4 = a) { t[0, v] = x[v]; } "
                       "for a in 4 block w(v in 4 = a) { t[1, v] = x[v]; }"));
    assert_false(alike("for a in 4 block z(v in 4 = a) { t[0, v] += x[v]; }"));
    assert_false(alike("for a in 4 block z(v in 4 = a) { t[0, v] = g[v]; } g[i] = x[u];"));
    assert_false(alike("block z(v in 3 = u) { for a in 4 t[v / 2, a] = x[v]; }"));
    assert_false(alike("block z(v in 3 = u) { for a in 4 t[0, v] = x[v + a]; }"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subscripts_tell_the_value),
        cmocka_unit_test(test_nothing_else_decides_the_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
