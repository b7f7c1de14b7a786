/* command.h - Declares the state that the parts of the command share: one file, one kernel, one
 * device. */
#ifndef TIRC_COMMAND_COMMAND_H
#define TIRC_COMMAND_COMMAND_H

#include "options.h"
#include "tirc.h"

/* A file of --input. */
typedef struct {
    char *name;  /* of the parameter */
    void *bytes; /* of the file */
    tirc_npy array;
} InputFile;

typedef struct {
    tirc *t;
    const Options *options;
    tirc_file *file;
    tirc_kernel *program, *scheduled, *lowered;
    tirc_device *device;  /* of --device, once it is open */
    const char *schedule; /* its name; NULL: none was applied */
    bool print_found;     /* --print-after named something that was there */
    int dumped;           /* files in --dump-dir so far */
    tirc_status dump_status;
    InputFile *inputs;
    size_t n_inputs;
    tirc_binding binding; /* sizes and types, which follow from the inputs */
} Command;

/* ---- compile.c: from the file to a lowered kernel, showing the steps that are asked for ------ */
/* The file and its kernel. */
tirc_status command_read(Command *c);
tirc_status command_compile(Command *c);

/* ---- emit.c ---------------------------------------------------------------------------------- */
/* Begins what --emit will need and what no program matters to. */
void command_prepare(const Command *c);
tirc_status command_emit(const Command *c);

/* ---- run.c: --run, --verify, --bench --------------------------------------------------------- */
tirc_status command_measure(Command *c);
/* The device of --device. */
tirc_device_kind command_device_kind(const Command *c);
tirc_status command_open_device(Command *c);
/* Values for the symbolic sizes of a kernel, owned by the caller; NULL where there are none. */
tirc_status command_sizes(const Command *c, const tirc_kernel *kernel, int64_t **values);

/* ---- tune.c: tirc tune ----------------------------------------------------------------------- */
tirc_status command_tune(Command *c);

/* ---- data.c: runs on the user's own data, --input, --output, --arg and --range --------------- */
/* Reads the files, and derives sizes from them: c->file, c->inputs and c->binding. */
tirc_status data_read(Command *c);
void data_free(Command *c);

/* Whether the options name parameters of the right kinds. */
tirc_status data_check(const Command *c, const tirc_parameter *parameters, size_t n);
/* Finds the user's data for a parameter: in a file, or in `scalar`, which has room for a value.
 * *data NULL: there are none. */
tirc_status data_find(const Command *c, const tirc_parameter *p, void *scalar, const void **data);
/* Writes an output to the file that the user named for it, if any. */
tirc_status data_write(const Command *c, const tirc_parameter *p, const void *data);

/* ---- info.c: what needs no kernel to be made ------------------------------------------------- */
tirc_status command_list(Command *c);
tirc_status command_help(tirc *t, const char *topic);
tirc_status command_explain(tirc *t, const char *code);
tirc_status command_devices(tirc *t);

/* ---- tools.c: the commands that compile nothing; argv[0] is their name ----------------------- */
/* tirc fmt [--check] [FILE...] */
tirc_status command_format(int argc, char **argv);
/* tirc lsp: becomes the language server, and returns only where there is none. */
tirc_status command_serve(char **argv);

#endif
