/* tune.h - Defines the state of one search for the fastest choices of a schedule.
 *
 * Each candidate is made in a context of its own (Bench), so that threads work side by side and
 * memory is released. The caller's context is used only before and after the search. */
#ifndef TIRC_FRONTEND_TUNE_TUNE_H
#define TIRC_FRONTEND_TUNE_TUNE_H

#include <pthread.h>

#include "frontend/api/internal.h"
#include "runtime/cache.h"

enum { MOST_CANDIDATES = 512 };

/* A point of the space. */
typedef struct {
    char *settings;      /* of all tunables: "tile=[64, 16]\nthreads=256" */
    char code[33];       /* a hash of its CUDA text */
    double estimate, ms; /* of the model, and measured; 0: not yet, or not at all */
    bool ready;          /* compiled ahead, as far as that is possible */
    bool taken;          /* to be measured, or it was */
} Candidate;

typedef struct {
    char **items;
    size_t n;
} TextList;

typedef struct {
    const tirc_tune_options *options;
    const char *schedule;
    const char *fixed;         /* the settings that all candidates have, one on each line */
    const char *own;           /* and all that the schedule has by itself */
    const char *path, *source; /* of the file with the schedules; NULL: none */
    size_t source_length;
    const char *kernel, *text; /* the program */
    const char *cache_dir;
    const tirc_device *device; /* open in the caller's context; only its properties are used */
    Target target;             /* of the schedules */
    TuneTask task;
    bool is_ranked; /* by the model; else candidates are taken as they come */
    const char *log_path;
    double begin, deadline; /* seconds */
    pthread_mutex_t lock;   /* of all below */
    pthread_cond_t compiled;
    bool stop;    /* nothing more is to be compiled ahead */
    TextList now; /* prefixes of settings that are tried now, and next: */
    TextList next;
    Candidate *candidates; /* [MOST_CANDIDATES]; the first is the schedule's own choice */
    size_t n_candidates;
    tirc *keeper; /* whose context the log uses */
    TuneLog *log;
    tirc_tuning counts;
    bool log_failed;
} Tuner;

/* A context with the program and its schedules. */
typedef struct {
    tirc *t;
    tirc_file *file;
    tirc_kernel *program;
} Bench;
/* False if there is no memory; bench_close follows in any case. */
bool tune_bench_open(const Tuner *n, Bench *b);
void tune_bench_close(Bench *b);
/* Applies the schedule with these settings. False after diagnostics in the bench. */
bool tune_apply(const Tuner *n, const Bench *b, const char *settings, tirc_kernel **scheduled);

double tune_clock(void);
/* Is the time over, or does the log not work? */
bool tune_is_over(Tuner *n);
/* Tells the caller how far it is; with the lock. */
typedef enum { TUNE_RANKING, TUNE_MEASURING } TunePhase;
void tune_report(const Tuner *n, TunePhase phase);
/* The figure of a candidate, as far as it is known before it is measured. */
Figure tune_figure(const Tuner *n, const Candidate *c);
/* Claims a candidate in the log and takes its figure if it is known; counts what is not ours. */
Claim tune_claim(Tuner *n, const Candidate *c, Figure *figure);
/* Records the figure of a claimed candidate, and counts it. */
void tune_record(Tuner *n, const Figure *figure);
void tune_count(Tuner *n, FigureState state);

/* space.c: finds the candidates and ranks them by the model, the best first. */
void tune_rank(Tuner *n);
/* measure.c: measures them on the GPU until the time is over. False if the own choice cannot
 * be verified: the diagnostics are then in `from` (NULL: no memory), which the caller frees. */
bool tune_measure(Tuner *n, tirc **from);

#endif
