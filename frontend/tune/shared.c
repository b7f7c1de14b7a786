/* shared.c - Makes contexts for candidates, tells the progress, and claims and records figures:
 * what the parts of a search share. */
#include "frontend/tune/tune.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double tune_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool tune_is_over(Tuner *n)
{
    pthread_mutex_lock(&n->lock);
    bool over = n->log_failed || tune_clock() > n->deadline;
    pthread_mutex_unlock(&n->lock);
    return over;
}

void tune_report(const Tuner *n, TunePhase phase)
{
    bool measuring = phase == TUNE_MEASURING;
    tirc_tune_progress now = {.measuring = measuring, .candidates = n->n_candidates};
    if (!n->options->progress)
        return;
    for (size_t i = 0; i < n->n_candidates; i++) {
        const Candidate *c = &n->candidates[i];
        double ms = measuring ? c->ms : c->estimate;
        now.done += ms > 0;
        if (ms > 0 && (now.best_ms <= 0 || ms < now.best_ms))
            now.best_ms = ms;
    }
    n->options->progress(n->options->user, &now);
}

bool tune_bench_open(const Tuner *n, Bench *b)
{
    tirc_file *program;
    *b = (Bench){.t = tirc_new(&(tirc_options){.cache_dir = n->cache_dir})};
    if (b->t)
        b->t->ctx->target = n->target;
    return b->t && !tirc_set_tune_log(b->t, "") &&
           (!n->source || !tirc_parse_text(b->t, n->path, n->source, n->source_length, &b->file)) &&
           !tirc_parse_text(b->t, "<program>", n->text, strlen(n->text), &program) &&
           !tirc_resolve(b->t, program, n->kernel, NULL, 0, &b->program);
}

void tune_bench_close(Bench *b)
{
    tirc_free(b->t);
    b->t = NULL;
}

bool tune_apply(const Tuner *n, const Bench *b, const char *settings, tirc_kernel **scheduled)
{
    size_t count = 0;
    char *text = malloc(strlen(settings) + 1);
    const char **items = calloc(strlen(settings) + 1, sizeof *items);
    bool ok = text && items;
    char *rest = ok ? strcpy(text, settings) : NULL;
    for (char *item; ok && (item = strsep(&rest, "\n")) != NULL;)
        if (*item)
            items[count++] = item;
    ok = ok && !tirc_apply(b->t, b->file, b->program, n->schedule, items, count, scheduled);
    free(text);
    free(items);
    return ok;
}

/* ---- the log --------------------------------------------------------------------------------- */

Figure tune_figure(const Tuner *n, const Candidate *c)
{
    tirc_device_info info = tirc_device_describe(n->device);
    const DeviceInfo *device = &n->device->device->info;
    bool measured = n->task.measured;
    return (Figure){.schedule = n->schedule,
                    .settings = c->settings,
                    .code = c->code,
                    .version = tirc_version(),
                    .arch = info.arch,
                    .clock_mhz = measured ? device->clock_khz / 1000 : 0,
                    .memory_mhz = measured ? device->memory_clock_khz / 1000 : 0};
}

static bool claim(Tuner *n, Figure *figure, Claim *answer)
{
    *answer = tunelog_claim(n->log, &n->task, figure);
    return true;
}

static tirc_status claim_guarded(Tuner *n, Figure *figure, Claim *answer)
{
    API_GUARDED(n->keeper, claim(n, figure, answer));
}

Claim tune_claim(Tuner *n, const Candidate *c, Figure *figure)
{
    Claim answer = CLAIM_REFUSED;
    *figure = tune_figure(n, c);
    pthread_mutex_lock(&n->lock);
    claim_guarded(n, figure, &answer);
    n->log_failed |= answer == CLAIM_REFUSED;
    n->counts.known += answer == CLAIM_KNOWN;
    n->counts.elsewhere += answer == CLAIM_OTHER;
    pthread_mutex_unlock(&n->lock);
    return answer;
}

static tirc_status record_guarded(Tuner *n, const Figure *figure)
{
    API_GUARDED(n->keeper, tunelog_record(n->log, &n->task, figure));
}

void tune_record(Tuner *n, const Figure *figure)
{
    pthread_mutex_lock(&n->lock);
    n->log_failed |= record_guarded(n, figure) != TIRC_OK;
    pthread_mutex_unlock(&n->lock);
}

void tune_count(Tuner *n, FigureState state)
{
    pthread_mutex_lock(&n->lock);
    n->counts.done += state == FIGURE_DONE;
    n->counts.wrong += state == FIGURE_WRONG;
    n->counts.failed += state == FIGURE_FAILED;
    pthread_mutex_unlock(&n->lock);
}
