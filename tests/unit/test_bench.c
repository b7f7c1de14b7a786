/* The benchmark against a device whose clock the test winds: who runs when, how often, and what is
 * made of the times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device.h"

enum { LOG_LENGTH = 8192 };

/* Time passes only in contenders. The log has a letter for each event: f flush, [ mark 0, ] mark 1,
 * and the contender's. */
typedef struct {
    Device base;
    double now, marks[2];
    int flush_fails_at, flushes;
    char log[LOG_LENGTH];
    int length;
} Clock;

typedef struct {
    Clock *clock;
    char letter;
    const double *ms; /* of each run, over and over */
    int n_ms, runs, fails_at;
} Work;

static void note(Clock *c, char letter)
{
    if (c->length < LOG_LENGTH - 1)
        c->log[c->length++] = letter;
}

static bool clock_mark(Device *d, int which)
{
    Clock *c = (Clock *)d;
    note(c, "[]"[which]);
    c->marks[which] = c->now;
    return true;
}

static bool clock_elapsed(Device *d, double *ms)
{
    Clock *c = (Clock *)d;
    *ms = c->marks[1] - c->marks[0];
    return true;
}

static bool clock_flush(Device *d)
{
    Clock *c = (Clock *)d;
    note(c, 'f');
    c->now += 100; /* outside the marks */
    return ++c->flushes != c->flush_fails_at;
}

static const DeviceOps CLOCK_OPS = {
    .mark = clock_mark, .elapsed = clock_elapsed, .flush_l2 = clock_flush};

static bool work(void *user)
{
    Work *w = user;
    note(w->clock, w->letter);
    w->clock->now += w->ms[w->runs % w->n_ms];
    return ++w->runs != w->fails_at;
}

static int set_up(void **state)
{
    Clock *c = calloc(1, sizeof *c);
    if (!c || !(c->base.ctx = ctx_new(0)))
        return -1;
    c->base.ops = &CLOCK_OPS;
    c->base.info.capability = 90;
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    Clock *c = *state;
    ctx_free(c->base.ctx);
    free(c);
    return 0;
}

static const double ONE = 1, TENTH = 0.1;

static void cold_contenders_take_turns(void **state)
{
    Clock *c = *state;
    Work a = {c, 'a', &ONE, 1, 0, 0}, b = {c, 'b', &ONE, 1, 0, 0};
    Contender contenders[] = {{.name = "a", .run = work, .user = &a},
                              {.name = "b", .run = work, .user = &b}};
    assert_true(bench_run(&c->base, contenders, 2,
                          &(BenchOptions){.runs = 2, .warmup = 1, .cold_l2 = true}));
    assert_string_equal(c->log, "f[a]f[b]" /* warm-up */ "f[a]f[b]"
                                "f[a]f[b]");
    assert_true(contenders[0].result.cold_l2);
    assert_int_equal(contenders[1].result.runs, 2);
    assert_true(contenders[1].result.median_ms == 1);
}

static void warm_samples_are_bursts(void **state)
{
    Clock *c = *state;
    Work a = {c, 'a', &TENTH, 1, 0, 0};
    Contender contender = {.name = "a", .run = work, .user = &a};
    assert_true(bench_run(&c->base, &contender, 1, &(BenchOptions){.runs = 2, .warmup = 1}));
    assert_string_equal(c->log, "[a]"
                                "[aaa]"
                                "[aaa]"); /* more than 0.2 ms each */
    assert_true(contender.result.median_ms > 0.0999 && contender.result.median_ms < 0.1001);
    assert_false(contender.result.cold_l2);
}

static void figures_are_of_sorted_times(void **state)
{
    Clock *c = *state;
    double ms[21];
    for (int i = 0; i < 21; i++)
        ms[i] = (i * 8) % 21 + 1; /* 1 to 21, shuffled; the warm-up takes the first */
    Work a = {c, 'a', ms, 21, 0, 0};
    Contender contender = {.name = "a", .run = work, .user = &a};
    assert_true(bench_run(&c->base, &contender, 1,
                          &(BenchOptions){.runs = 20, .warmup = 1, .cold_l2 = true}));
    const BenchResult *r = &contender.result; /* of 2 to 21 */
    assert_true(r->median_ms == 11.5);
    assert_true(r->min_ms == 2);
    assert_true(r->p95_ms == 20); /* the 19th of 20 */
    for (int i = 0; i < 20; i++)
        assert_true(r->ms[i] == ms[i + 1]); /* in order */
}

static void one_run_is_all_figures(void **state)
{
    Clock *c = *state;
    Work a = {c, 'a', &ONE, 1, 0, 0};
    Contender contender = {.name = "a", .run = work, .user = &a};
    assert_true(bench_run(&c->base, &contender, 1, &(BenchOptions){.runs = 1, .cold_l2 = true}));
    assert_true(contender.result.median_ms == 1 && contender.result.p95_ms == 1);
    assert_true(bench_run(&c->base, NULL, 0, &(BenchOptions){0}));
}

/* The number of runs that is chosen for a contender of this time. */
static int chosen(Clock *c, double ms)
{
    Work a = {c, 'a', &ms, 1, 0, 0};
    Contender contender = {.name = "a", .run = work, .user = &a};
    assert_true(bench_run(&c->base, &contender, 1, &(BenchOptions){.cold_l2 = true}));
    return contender.result.runs;
}

static void runs_fit_the_time(void **state)
{
    Clock *c = *state;
    assert_int_equal(chosen(c, 0), 1000);
    assert_int_equal(chosen(c, 0.01), 1000);
    assert_int_equal(chosen(c, 3), 100);
    assert_int_equal(chosen(c, 100), 10);
    assert_int_equal(chosen(c, 499), 10);
    assert_int_equal(chosen(c, 2000), 3);
}

/* The times of the simulator say little of a GPU, however many they are. */
static void the_simulator_has_fewer(void **state)
{
    Clock *c = *state;
    c->base.info.capability = 0;
    assert_int_equal(chosen(c, 0), 1000);
    assert_int_equal(chosen(c, 0.25), 120);
    assert_int_equal(chosen(c, 3), 10);
}

/* A slow first run is loading; a contender that stays slow is not warmed up more than needed. */
static void the_estimate_is_of_the_last_warm_up(void **state)
{
    Clock *c = *state;
    double ms[1003] = {50};
    for (int i = 1; i < 1003; i++)
        ms[i] = 3;
    Work a = {c, 'a', ms, 1003, 0, 0};
    Contender contender = {.name = "a", .run = work, .user = &a};
    assert_true(bench_run(&c->base, &contender, 1, &(BenchOptions){.cold_l2 = true}));
    assert_int_equal(contender.result.runs, 100);
    double slow = 4000;
    Work b = {c, 'b', &slow, 1, 0, 0};
    contender.user = &b;
    assert_true(bench_run(&c->base, &contender, 1, &(BenchOptions){.cold_l2 = true}));
    assert_int_equal(b.runs, 1 + 3);
}

static void failures_end_it(void **state)
{
    Clock *c = *state;
    for (int n = 1; n <= 6; n++) {
        Work a = {c, 'a', &ONE, 1, 0, n};
        Contender contender = {.name = "a", .run = work, .user = &a};
        assert_false(bench_run(&c->base, &contender, 1,
                               &(BenchOptions){.runs = 5, .warmup = 1, .cold_l2 = true}));
        assert_int_equal(a.runs, n);
    }
    Work a = {c, 'a', &ONE, 1, 0, 0};
    Contender contender = {.name = "a", .run = work, .user = &a};
    c->flush_fails_at = c->flushes + 3;
    assert_false(bench_run(&c->base, &contender, 1,
                           &(BenchOptions){.runs = 5, .warmup = 1, .cold_l2 = true}));
    assert_int_equal(a.runs, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(cold_contenders_take_turns),
        TEST(warm_samples_are_bursts),
        TEST(figures_are_of_sorted_times),
        TEST(one_run_is_all_figures),
        TEST(runs_fit_the_time),
        TEST(the_simulator_has_fewer),
        TEST(the_estimate_is_of_the_last_warm_up),
        TEST(failures_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
