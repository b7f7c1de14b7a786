/* space.c - Finds the candidates of a search, and ranks them by the model of the device.
 *
 * A `tune` can depend on the choices of those before it. So the space is a tree: a list of settings
 * is applied, and each choice of the first tunable that is still open gives a longer list. Large
 * spaces are thinned: each tunable keeps evenly spaced choices. */
#include "frontend/tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/threads.h"

enum { RANK_REQUESTS = 20000 };       /* that the simulator counts for a candidate */
static const double RANK_SHARE = 0.3; /* of the time, if there is a GPU to measure on */

/* ---- lists of settings ----------------------------------------------------------------------- */

/* Is NAME set in these settings? */
static bool is_set(const char *settings, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = settings; *at; at += strspn(at, "\n")) {
        if (!strncmp(at, name, length) && at[length] == '=')
            return true;
        at += strcspn(at, "\n");
    }
    return false;
}

/* The settings with one more, which the caller frees; NULL without memory. */
static char *with_setting(const char *settings, const char *name, const char *value)
{
    size_t room = strlen(settings) + strlen(name) + strlen(value) + 3;
    char *text = malloc(room);
    if (text)
        snprintf(text, room, "%s%s%s=%s", settings, *settings ? "\n" : "", name, value);
    return text;
}

static void list_add(TextList *list, char *text)
{
    char **items = text ? realloc(list->items, (list->n + 1) * sizeof *items) : NULL;
    if (!items) {
        free(text);
        return;
    }
    list->items = items;
    list->items[list->n++] = text;
}

static void list_free(TextList *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
    *list = (TextList){0};
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* The first tunable that is not set; false: all are. *space: the number of all choices of those
 * that are not, and *open: how many these are. */
static bool find_open(const Bench *b, const tirc_kernel *scheduled, const char *settings,
                      size_t *first, double *space, int *open)
{
    tirc_knob knob;
    *space = 1;
    *open = 0;
    for (size_t i = 0; tirc_knob_at(b->t, scheduled, i, &knob); i++) {
        if (is_set(settings, knob.name))
            continue;
        if (!(*open)++)
            *first = i;
        *space *= (double)knob.n_choices;
    }
    return *open > 0;
}

static void add_choices(Tuner *n, const Bench *b, const tirc_kernel *scheduled,
                        const char *settings, size_t which, size_t most)
{
    tirc_knob knob;
    tirc_knob_at(b->t, scheduled, which, &knob);
    size_t shown = knob.n_choices < most ? knob.n_choices : most;
    pthread_mutex_lock(&n->lock);
    bool has_value = false;
    for (size_t i = 0; i < shown; i++) {
        const char *choice = tirc_knob_choice(b->t, scheduled, which, i * knob.n_choices / shown);
        has_value |= !strcmp(choice, knob.value);
        list_add(&n->next, with_setting(settings, knob.name, choice));
    }
    if (!has_value) /* of a parameter, which need not be one of the choices */
        list_add(&n->next, with_setting(settings, knob.name, knob.value));
    pthread_mutex_unlock(&n->lock);
}

/* The candidate of this code; a new one if there is none, *fresh. NULL without memory. */
static Candidate *enter_candidate(Tuner *n, const char *settings, const char *code, bool *fresh)
{
    for (size_t i = 0; i < n->n_candidates; i++)
        if (!strcmp(n->candidates[i].code, code)) {
            *fresh = false;
            return &n->candidates[i];
        }
    Candidate *c = n->n_candidates < MOST_CANDIDATES ? &n->candidates[n->n_candidates] : NULL;
    char *copy = c ? malloc(strlen(settings) + 1) : NULL;
    if (!copy)
        return NULL;
    strcpy(copy, settings);
    *c = (Candidate){.settings = copy};
    snprintf(c->code, sizeof c->code, "%s", code);
    n->n_candidates++;
    return c;
}

static tirc_status estimate(tirc *t, const Tuner *n, const tirc_kernel *lowered, Estimate *out)
{
    const tirc_tune_options *o = n->options;
    tirc_analyze_options options = {o->profile, n->task.measured ? n->device : NULL, o->arch,
                                    o->seed, RANK_REQUESTS};
    API_GUARDED(t, api_estimate(t, lowered, o->sizes, &options, out));
}

/* With a claim, if the model has the last word. */
static void rank_candidate(Tuner *n, const Bench *b, const tirc_kernel *lowered, Candidate *c)
{
    Estimate e = {0};
    Figure figure = tune_figure(n, c);
    Claim claim = n->task.measured ? CLAIM_OURS : tune_claim(n, c, &figure);
    if (!n->is_ranked)
        return;
    if (claim == CLAIM_KNOWN)
        e.ms = figure.state == FIGURE_DONE ? figure.ms : 0;
    if (claim == CLAIM_OURS && estimate(b->t, n, lowered, &e) != TIRC_OK)
        e.ms = 0;
    pthread_mutex_lock(&n->lock);
    c->estimate = e.ms;
    pthread_mutex_unlock(&n->lock);
    if (n->task.measured || claim != CLAIM_OURS)
        return;
    figure.state = e.ms > 0 ? FIGURE_DONE : FIGURE_FAILED;
    figure.ms = figure.min_ms = figure.p95_ms = e.ms;
    tune_record(n, &figure);
    tune_count(n, figure.state);
}

static void count_refused(Tuner *n)
{
    pthread_mutex_lock(&n->lock);
    n->counts.refused++;
    pthread_mutex_unlock(&n->lock);
}

static void visit_leaf(Tuner *n, const Bench *b, const tirc_kernel *scheduled, const char *settings)
{
    tirc_kernel *lowered;
    const void *text;
    size_t length;
    if (tirc_lower(b->t, scheduled, NULL, &lowered) ||
        tirc_emit(b->t, lowered, TIRC_CUDA, NULL, &text, &length)) {
        count_refused(n);
        return;
    }
    char code[33];
    bool fresh = true;
    CacheKey key = cache_key((const char *const *)&text, 1);
    snprintf(code, sizeof code, "%016llx%016llx", (unsigned long long)key.high,
             (unsigned long long)key.low);
    pthread_mutex_lock(&n->lock);
    Candidate *c = enter_candidate(n, settings, code, &fresh);
    pthread_mutex_unlock(&n->lock);
    if (c && fresh)
        rank_candidate(n, b, lowered, c);
}

static void visit_with(Tuner *n, const Bench *b, const char *settings)
{
    tirc_kernel *scheduled;
    size_t first;
    double space;
    int open;
    if (!tune_apply(n, b, settings, &scheduled)) {
        count_refused(n);
        return;
    }
    if (!find_open(b, scheduled, settings, &first, &space, &open)) {
        visit_leaf(n, b, scheduled, settings);
        return;
    }
    double most = floor(pow(MOST_CANDIDATES, 1.0 / open) + 1e-9);
    add_choices(n, b, scheduled, settings, first,
                space <= MOST_CANDIDATES ? SIZE_MAX : (size_t)most);
}

static void visit(void *user, int64_t part)
{
    Tuner *n = user;
    Bench b;
    if (tune_is_over(n))
        return;
    if (tune_bench_open(n, &b))
        visit_with(n, &b, n->now.items[part]);
    tune_bench_close(&b);
    pthread_mutex_lock(&n->lock);
    tune_report(n, TUNE_RANKING);
    pthread_mutex_unlock(&n->lock);
}

/* In another order, the same each time: if the time is over, all parts of the space were tried. */
static void shuffle(TextList *list)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = list->n; i > 1; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t k = (size_t)(state % i);
        char *text = list->items[k];
        list->items[k] = list->items[i - 1];
        list->items[i - 1] = text;
    }
}

/* The tree below the settings, which are copied, level by level. */
static void visit_below(Tuner *n, const char *settings)
{
    char *root = malloc(strlen(settings) + 1);
    if (root)
        strcpy(root, settings);
    list_add(&n->now, root);
    while (n->now.n > 0) {
        shuffle(&n->now);
        threads_share((int64_t)n->now.n, visit, n);
        list_free(&n->now);
        n->now = n->next;
        n->next = (TextList){0};
    }
}

/* Candidates without an estimate come last. */
static int best_first(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if ((x->estimate > 0) != (y->estimate > 0))
        return x->estimate > 0 ? -1 : 1;
    if (x->estimate != y->estimate)
        return x->estimate < y->estimate ? -1 : 1;
    return strcmp(x->settings, y->settings);
}

void tune_rank(Tuner *n)
{
    double seconds = n->deadline - n->begin, whole = n->deadline;
    n->deadline = INFINITY; /* of the own choice */
    visit_below(n, n->own);
    n->deadline = n->task.measured ? n->begin + RANK_SHARE * seconds : whole;
    visit_below(n, n->fixed);
    n->deadline = whole;
    if (n->n_candidates > 2)
        qsort(n->candidates + 1, n->n_candidates - 1, sizeof *n->candidates, best_first);
}
