/* report.h - Declares the results of --run, --verify, --bench and --analyze, and their printers for
 * text and JSON. */
#ifndef TIRC_COMMAND_REPORT_H
#define TIRC_COMMAND_REPORT_H

#include "analyze.h"

enum { SHOWN = 4 }; /* elements of an output that --run shows */

typedef struct {
    const char *name, *type;
    int rank;
    const int64_t *dims;
    uint64_t checksum; /* FNV-1a of its bytes */
    tirc_summary summary;
    double first[SHOWN];
    int n_first;
} OutputReport;

typedef struct {
    const char *kernel, *schedule;
    tirc_device_info device;
    const tirc_kernel *lowered;
    const tirc_program *program;
    const int64_t *sizes; /* of this run: the symbolic ones */
    bool ran, verified, measured;
    double run_ms; /* of one run with its copies */
    OutputReport *outputs;
    size_t n_outputs;
    tirc_verification verification;
    bool bounded; /* `memory` is known */
    tirc_memory memory;
    tirc_measurement measurement;
    AnalysisReport analyzed;
    char *versus_text;        /* the list, which the names are parts of */
    const char **versus;      /* [n_versus] what it was measured beside ... */
    tirc_measurement *beside; /* ... and how long that took */
    size_t n_versus;
    const tirc_device *faults; /* the device that has them; NULL: there are none */
} Report;

/* versus.c: measures the program in turn with what --versus names. */
tirc_status versus_measure(const Command *c, Report *r, tirc_device *device, tirc_program *program);
void versus_free(Report *r);

void report_print(const Command *c, const Report *r);
/* The object of --json; a new reference. */
json_t *report_object(const Command *c, const Report *r);
/* To -o or standard output. */
tirc_status report_json(const Command *c, const Report *r);

#endif
