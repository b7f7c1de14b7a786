/* measure.c - Measures the candidates of a search on a GPU, the best by the model first.
 *
 * NVRTC takes longer than the measurement, so other threads compile ahead into the kernel cache.
 * The schedule's own choice is verified; each candidate runs on the same inputs, must have the same
 * result, and is measured alternately with it. At the end the fastest run against each other for
 * longer. */
#include "frontend/tune/tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/threads.h"

enum {
    FINALISTS = 3,
    MOST_AHEAD = 128,   /* candidates that are compiled ahead */
    SESSION_TRIES = 24, /* candidates in one context */
    MOST_FAILURES = 3,  /* in a row, before the device is given up */
};
/* Of the verification: it must not take the time of the search, and whole outputs are compared with
 * those of `default`, too. */
static const double QUICK_WORK = 2e6;
enum { QUICK_SAMPLES = 64 };
static const double TRY_MS = 40;       /* of samples */
static const double WORTH = 3;         /* times the best: slower candidates get one sample */
static const double FINAL_S = 2;       /* at most, for the last runs ... */
static const double FINAL_SHARE = 0.2; /* ... or this part of the time */

/* ---- compiling ahead ------------------------------------------------------------------------- */

static bool compile_ahead(const Tuner *n, const Bench *b, const char *settings)
{
    tirc_kernel *scheduled, *lowered;
    if (!tune_apply(n, b, settings, &scheduled) || tirc_lower(b->t, scheduled, NULL, &lowered))
        return false;
    Module *module = module_build(b->t->ctx, lowered->kernel, api_cuda_text(b->t, lowered));
    DeviceOptions options = {.arch = n->device->device->info.arch, .cache_dir = n->cache_dir};
    return module && cuda_compile_ahead(b->t->ctx, &options, module);
}

static tirc_status compile_ahead_guarded(const Tuner *n, const Bench *b, const char *settings)
{
    API_GUARDED(b->t, compile_ahead(n, b, settings));
}

/* What cannot be compiled here is refused where it is measured. */
static void ahead(void *user, int64_t part)
{
    Tuner *n = user;
    Candidate *c = &n->candidates[part + 1];
    Bench b;
    pthread_mutex_lock(&n->lock);
    bool stop = n->stop || c->taken;
    pthread_mutex_unlock(&n->lock);
    if (!stop) {
        if (tune_bench_open(n, &b))
            (void)compile_ahead_guarded(n, &b, c->settings);
        tune_bench_close(&b);
    }
    pthread_mutex_lock(&n->lock);
    c->ready = true;
    pthread_cond_signal(&n->compiled);
    pthread_mutex_unlock(&n->lock);
}

static void *ahead_of_all(void *user)
{
    Tuner *n = user;
    size_t others = n->n_candidates - 1;
    threads_share((int64_t)(others < MOST_AHEAD ? others : MOST_AHEAD), ahead, n);
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < n->n_candidates; i++)
        n->candidates[i].ready = true;
    pthread_cond_signal(&n->compiled);
    pthread_mutex_unlock(&n->lock);
    return NULL;
}

static struct timespec in_seconds(double seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    seconds = seconds > 0 ? seconds : 0;
    double nanoseconds = (double)at.tv_nsec + (seconds - (double)(time_t)seconds) * 1e9;
    at.tv_sec += (time_t)seconds + (nanoseconds >= 1e9);
    at.tv_nsec = (long)(nanoseconds >= 1e9 ? nanoseconds - 1e9 : nanoseconds);
    return at;
}

/* The first candidate that is compiled and not taken; NULL: the time is over, or all are taken. */
static Candidate *take_next(Tuner *n)
{
    Candidate *found = NULL;
    pthread_mutex_lock(&n->lock);
    bool left = true;
    while (!found && left && !n->log_failed && tune_clock() < n->deadline) {
        left = false;
        for (size_t i = 0; i < n->n_candidates && !found; i++) {
            left |= !n->candidates[i].taken;
            if (!n->candidates[i].taken && n->candidates[i].ready)
                found = &n->candidates[i];
        }
        struct timespec until = in_seconds(n->deadline - tune_clock());
        if (!found && left && pthread_cond_timedwait(&n->compiled, &n->lock, &until) == ETIMEDOUT)
            break;
    }
    if (found)
        found->taken = true;
    pthread_mutex_unlock(&n->lock);
    return found;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* A context with the device, in which the own choice was verified. */
typedef struct {
    Bench bench;
    tirc_device *device;
    tirc_program *own;
    int tries;
} Session;

static tirc_program *load(const Tuner *n, const Session *s, const char *settings)
{
    tirc_kernel *scheduled, *lowered;
    tirc_program *program;
    bool ok = tune_apply(n, &s->bench, settings, &scheduled) &&
              !tirc_lower(s->bench.t, scheduled, NULL, &lowered) &&
              !tirc_compile(s->bench.t, s->device, lowered, &program);
    return ok ? program : NULL;
}

static bool session_open(const Tuner *n, Session *s)
{
    const tirc_tune_options *o = n->options;
    tirc_verification verified;
    *s = (Session){0};
    if (!tune_bench_open(n, &s->bench) ||
        tirc_device_open(s->bench.t, TIRC_DEVICE_CUDA, o->ordinal, o->arch, &s->device))
        return false;
    s->bench.t->full_work = QUICK_WORK;
    s->bench.t->samples = QUICK_SAMPLES;
    s->own = load(n, s, n->candidates[0].settings);
    return s->own && !tirc_verify(s->bench.t, s->own, o->sizes, o->seed, &verified);
}

static void session_close(Session *s)
{
    tune_bench_close(&s->bench);
}

static tirc_status race(tirc *t, const Race *r, tirc_measurement *results)
{
    API_GUARDED(t, api_race(t, r, results));
}

static void set_times(Figure *figure, const tirc_measurement *m)
{
    figure->state = FIGURE_DONE;
    figure->ms = m->median_ms;
    figure->min_ms = m->min_ms;
    figure->p95_ms = m->p95_ms;
    figure->runs = m->runs;
}

static double best_ms(const Tuner *n)
{
    double best = 0;
    for (size_t i = 0; i < n->n_candidates; i++)
        if (n->candidates[i].ms > 0 && (best <= 0 || n->candidates[i].ms < best))
            best = n->candidates[i].ms;
    return best;
}

static bool has_code(const tirc *t, const char *code)
{
    for (size_t i = 0; i < tirc_diagnostic_count(t); i++)
        if (!strcmp(tirc_diagnostic_at(t, i).code, code))
            return true;
    return false;
}

/* Fills the figure of a candidate, alternately with the own choice; the own choice runs alone. */
static void try_candidate(const Tuner *n, Session *s, const Candidate *c, Figure *figure)
{
    tirc *t = s->bench.t;
    bool is_own = c == &n->candidates[0];
    tirc_program *both[] = {s->own, is_own ? s->own : load(n, s, c->settings)};
    tirc_measurement results[2];
    double worth = n->candidates[0].ms + WORTH * best_ms(n);
    Race r = {both,
              is_own ? 1 : 2,
              n->options->sizes,
              {.cold_l2 = true, .total_ms = TRY_MS, .worth_ms = is_own ? 0 : worth}};
    s->tries++;
    figure->state = FIGURE_FAILED;
    if (both[1] && race(t, &r, results) == TIRC_OK)
        set_times(figure, &results[r.n - 1]);
    else if (has_code(t, "E0643"))
        figure->state = FIGURE_WRONG;
    tirc_clear_diagnostics(t);
}

/* A new session where the old one holds too much, or its device does not work any more. */
static bool renew(const Tuner *n, Session *s)
{
    session_close(s);
    return session_open(n, s);
}

static void measure_next(Tuner *n, Session *s, Candidate *c, int *failures)
{
    Figure figure;
    Claim claim = tune_claim(n, c, &figure);
    if (claim == CLAIM_OURS) {
        try_candidate(n, s, c, &figure);
        tune_record(n, &figure);
        tune_count(n, figure.state);
        *failures = figure.state == FIGURE_FAILED ? *failures + 1 : 0;
    }
    bool has_time = (claim == CLAIM_OURS || claim == CLAIM_KNOWN) && figure.state == FIGURE_DONE;
    pthread_mutex_lock(&n->lock);
    c->ms = has_time ? figure.ms : 0;
    tune_report(n, TUNE_MEASURING);
    pthread_mutex_unlock(&n->lock);
}

/* Candidates one after the other. False if the device, which has worked, does not any more. */
static bool measure_all(Tuner *n, Session *s)
{
    int failures = 0;
    for (Candidate *c; (c = take_next(n)) != NULL;) {
        if ((failures > 0 || s->tries >= SESSION_TRIES) && !renew(n, s))
            return false;
        measure_next(n, s, c, &failures);
        if (failures >= MOST_FAILURES)
            return true;
    }
    return true;
}

/* ---- the last runs --------------------------------------------------------------------------- */

/* The fastest candidates other than the own choice. */
static size_t choose_finalists(Tuner *n, Candidate *finalists[FINALISTS])
{
    size_t found = 0;
    for (size_t i = 1; i < n->n_candidates; i++) {
        Candidate *c = &n->candidates[i];
        if (c->ms <= 0)
            continue;
        size_t at = found < FINALISTS ? found++ : FINALISTS;
        if (at == FINALISTS && c->ms >= finalists[FINALISTS - 1]->ms)
            continue;
        for (at = at < FINALISTS ? at : FINALISTS - 1; at > 0 && finalists[at - 1]->ms > c->ms;
             at--)
            finalists[at] = finalists[at - 1];
        finalists[at] = c;
    }
    return found;
}

/* Short measurements favour the lucky: the fastest and the own choice run again, alternately. */
static void run_final(Tuner *n, Session *s)
{
    Candidate *all[FINALISTS + 1] = {&n->candidates[0]};
    tirc_program *programs[FINALISTS + 1] = {s->own};
    tirc_measurement results[FINALISTS + 1];
    size_t count = 1 + choose_finalists(n, all + 1);
    Race r = {programs, count, n->options->sizes, {.cold_l2 = true}};
    bool ok = count > 1;
    for (size_t i = 1; ok && i < count; i++)
        ok = (programs[i] = load(n, s, all[i]->settings)) != NULL;
    if (!ok || race(s->bench.t, &r, results) != TIRC_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        Figure figure = tune_figure(n, all[i]);
        set_times(&figure, &results[i]);
        all[i]->ms = figure.ms;
        tune_record(n, &figure);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static double final_seconds(const Tuner *n)
{
    double share = FINAL_SHARE * (n->deadline - n->begin);
    return share < FINAL_S ? share : FINAL_S;
}

bool tune_measure(Tuner *n, tirc **from)
{
    Session s;
    pthread_t thread;
    n->candidates[0].ready = true;
    bool started = pthread_create(&thread, NULL, ahead_of_all, n) == 0;
    for (size_t i = 0; i < n->n_candidates && !started; i++)
        n->candidates[i].ready = true;
    double whole = n->deadline;
    n->deadline -= final_seconds(n);
    int failures = 0;
    bool ok = session_open(n, &s);
    n->candidates[0].taken = true;
    if (ok)
        measure_next(n, &s, &n->candidates[0], &failures);
    bool worked = ok && measure_all(n, &s);
    pthread_mutex_lock(&n->lock);
    n->stop = true;
    pthread_mutex_unlock(&n->lock);
    if (worked && !n->log_failed)
        run_final(n, &s);
    n->deadline = whole;
    if (started)
        pthread_join(thread, NULL);
    if (!ok) {
        *from = s.bench.t;
        return false;
    }
    session_close(&s);
    return true;
}
