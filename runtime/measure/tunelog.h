/* tunelog.h - Logs the figures of candidates that a tuner tried, for later runs and for other
 * processes.
 *
 * The log is an SQLite database. Several processes may share it: one of them claims a candidate in
 * a transaction, and the others leave it to that one. A claim lapses if its process is dead, so a
 * run that was killed goes on where it stopped. */
#ifndef TIRC_RUNTIME_MEASURE_TUNELOG_H
#define TIRC_RUNTIME_MEASURE_TUNELOG_H

#include "ir/diag.h"

typedef struct TuneLog TuneLog;

/* What is tuned: figures are comparable within one task. */
typedef struct {
    const char *kernel;  /* its name, for people who read the log */
    const char *program; /* its text, which holds its sizes and types */
    const char *sizes;   /* values of symbolic sizes: "M=1000"; "": none */
    const char *device;  /* "NVIDIA H200"; of tunelog_best: NULL is any */
    bool measured;       /* on the device; else estimated by its model */
} TuneTask;

typedef enum { FIGURE_CLAIMED, FIGURE_DONE, FIGURE_WRONG, FIGURE_FAILED } FigureState;

/* A candidate and its figure. */
typedef struct {
    const char *schedule;
    const char *settings; /* "tile=[64, 16]\nthreads=256": one on each line */
    const char *code;     /* a hash of its code, which identifies it within a task */
    FigureState state;
    double ms, min_ms, p95_ms;
    int runs;
    /* where the figure comes from */
    const char *version, *arch;           /* of tirc: "0.1.0"; "sm_90a" */
    int clock_mhz, memory_mhz;            /* of the device; 0: not known */
    const char *device, *sizes, *written; /* of tunelog_best; when: "2026-01-31T12:00:00.000Z" */
    bool measured;                        /* of tunelog_best */
} Figure;

/* Opens the log at `path`; with `create` to write it, and made if it is not there. NULL after E0660
 * or E0661, and without a diagnostic if it is only to be read and is not there. */
typedef enum { TUNELOG_READ, TUNELOG_CREATE } TuneLogUse;
TuneLog *tunelog_open(Context *ctx, const char *path, TuneLogUse use);
/* log may be NULL. */
void tunelog_close(TuneLog *log);

/* Who measures a candidate. */
typedef enum {
    CLAIM_OURS,    /* this process: tunelog_record follows */
    CLAIM_OTHER,   /* another process is at it */
    CLAIM_KNOWN,   /* nobody: the log has its figure, which is now in `figure` */
    CLAIM_REFUSED, /* the log cannot be written: E0660 */
} Claim;
Claim tunelog_claim(TuneLog *log, const TuneTask *task, Figure *figure);
/* Records the figure of a candidate that was claimed or is known. False after E0660. */
bool tunelog_record(TuneLog *log, const TuneTask *task, const Figure *figure);

/* Finds the figure with the least time of a task; `measured` is ignored: measured ones come first.
 * With any device or sizes (NULL), those that were tuned last. False if there is none, and after
 * E0660. */
bool tunelog_best(TuneLog *log, const TuneTask *task, Figure *best);

#endif
