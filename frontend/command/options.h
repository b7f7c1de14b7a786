/* options.h - Declares the parsed command line. */
#ifndef TIRC_COMMAND_OPTIONS_H
#define TIRC_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tirc.h"

/* In the order of the words of their options in options.c; 0 is none given. */
typedef enum {
    EMIT_NONE,
    EMIT_TIR,
    EMIT_LOWERED,
    EMIT_CUDA,
    EMIT_CU,
    EMIT_PTX,
    EMIT_CUBIN,
    EMIT_JSON
} Emit;
typedef enum { ANNOTATE_NONE, ANNOTATE_COMMENTS, ANNOTATE_LINES } Annotate;
typedef enum { DEVICE_DEFAULT, DEVICE_AUTO, DEVICE_CUDA, DEVICE_SIM } DeviceChoice;
typedef enum { COLOR_DEFAULT, COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } ColorChoice;

/* Words given by an option that may be repeated; room for as many as the command line has. */
typedef struct {
    const char **items;
    size_t n;
} Words;

typedef struct {
    const char *word; /* FILE, or the subject of --help; NULL if there is none */
    const char *kernel, *schedule, *output, *arch, *print_after, *dump_dir, *explain, *profile,
        *versus, *against, *tune_log;
    Words defines, settings, sizes, inputs, outputs, arguments, ranges;
    int emit, annotate, device, color; /* Emit, Annotate, DeviceChoice, ColorChoice */
    int64_t seed, budget, seconds;
    bool tune; /* `tirc tune` */
    bool run, verify, bench, analyze, json, trace, time_passes, index64, list, devices, help,
        version, no_warn, werror;
} Options;

/* Is there something to be done with the kernel beyond its text? */
static inline bool options_measure(const Options *o)
{
    return o->run || o->verify || o->bench || o->analyze;
}

/* False after a line on standard error: the usage is wrong. Texts point into argv. */
bool options_parse(int argc, char **argv, Options *out);
void options_free(Options *options);

/* The options, as a table. */
void options_help(FILE *out);

/* One line on standard error, "tirc: ..."; gives TIRC_USAGE. */
tirc_status usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
