/* bench.c - Measures how long runs take, alternating between programs.
 *
 * Clocks, temperature and other load change during a measurement, so programs alternate, A B A B
 * ..., and only figures of one call are comparable. A cold sample is one run after the L2 cache was
 * overwritten; overwriting it also keeps the GPU busy while the run is queued, which hides the
 * launch latency. A warm sample is a burst of runs back to back, long enough for the first launch
 * to weigh little, divided by their number. */
#include <stdlib.h>
#include <string.h>

#include "runtime/device.h"

static const double TOTAL_MS = 300;     /* of the samples of each contender, by default */
static const double SIM_TOTAL_MS = 30;  /* on the simulator: more runs say no more of a GPU */
static const double PATIENCE_MS = 5000; /* for MIN_RUNS runs; beyond it FEW_RUNS must do */
static const double BURST_MS = 0.2;
enum { MIN_RUNS = 10, FEW_RUNS = 3, MAX_RUNS = 1000, MAX_BURST = 100, WARMUP_RUNS = 3 };

/* The time of `burst` runs of a contender in a row, for one. */
static bool sample(Device *d, Contender *c, int burst, bool cold, double *ms)
{
    if ((cold && !d->ops->flush_l2(d)) || !d->ops->mark(d, 0))
        return false;
    for (int i = 0; i < burst; i++)
        if (!c->run(c->user))
            return false;
    if (!d->ops->mark(d, 1) || !d->ops->elapsed(d, ms))
        return false;
    *ms /= burst;
    return true;
}

/* How many samples fit: `ms` is the sum of one run of each contender. */
static int choose_runs(const Device *d, double ms, int n_contenders, const BenchOptions *options)
{
    double total = options->total_ms > 0     ? options->total_ms
                   : d->info.capability == 0 ? SIM_TOTAL_MS
                                             : TOTAL_MS;
    if (options->worth_ms > 0 && ms > options->worth_ms)
        return 1;
    if (ms * MIN_RUNS > PATIENCE_MS * n_contenders)
        return FEW_RUNS;
    double fit = ms > 0 ? total * n_contenders / ms : MAX_RUNS;
    return fit < MIN_RUNS ? MIN_RUNS : fit > MAX_RUNS ? MAX_RUNS : (int)fit;
}

static int choose_burst(double ms, bool cold)
{
    double wanted = cold ? 1 : ms > 0 ? BURST_MS / ms + 1 : MAX_BURST;
    return wanted > MAX_BURST ? MAX_BURST : (int)wanted;
}

/* Warms up, and estimates the time of each contender: of its last warm-up run, since the first may
 * load code.  A contender that is slow even then is not run again just to warm up. */
static bool warm_up(Device *d, Contender *c, int n, const BenchOptions *options, double *estimates)
{
    int rounds = options->warmup > 0 ? options->warmup : WARMUP_RUNS;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++) {
            bool slow = round > 0 && estimates[i] > TOTAL_MS && options->warmup <= 0;
            if (!slow && !sample(d, &c[i], 1, options->cold_l2, &estimates[i]))
                return false;
        }
    return true;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median (of an even number: the mean of the middle two), least, and 95th percentile (nearest
 * rank). */
static void summarize(BenchResult *r, double *sorted)
{
    int n = r->runs;
    memcpy(sorted, r->ms, sizeof *sorted * (size_t)n);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    r->median_ms = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    r->min_ms = sorted[0];
    r->p95_ms = sorted[(95 * n + 99) / 100 - 1];
}

bool bench_run(Device *d, Contender *contenders, int n, const BenchOptions *options)
{
    if (n <= 0)
        return true;
    double *estimates = ARENA_ARRAY(d->ctx->arena, double, n), total = 0;
    if (!warm_up(d, contenders, n, options, estimates))
        return false;
    for (int i = 0; i < n; i++)
        total += estimates[i];
    int runs = options->runs > 0 ? options->runs : choose_runs(d, total, n, options);
    for (int i = 0; i < n; i++)
        contenders[i].result = (BenchResult){.runs = runs,
                                             .cold_l2 = options->cold_l2,
                                             .ms = ARENA_ARRAY(d->ctx->arena, double, runs)};
    for (int run = 0; run < runs; run++)
        for (int i = 0; i < n; i++)
            if (!sample(d, &contenders[i], choose_burst(estimates[i], options->cold_l2),
                        options->cold_l2, &contenders[i].result.ms[run]))
                return false;
    double *sorted = ARENA_ARRAY(d->ctx->arena, double, runs);
    for (int i = 0; i < n; i++)
        summarize(&contenders[i].result, sorted);
    return true;
}
