/* script.h - Finds a schedule script by name and runs it on a kernel.
 *
 * A script always ends: its loops run over lists that exist before they start, and a proc cannot
 * call itself, directly or through others. */
#ifndef TIRC_FRONTEND_SCRIPT_SCRIPT_H
#define TIRC_FRONTEND_SCRIPT_SCRIPT_H

#include <stdio.h>

#include "frontend/syntax/ast.h"
#include "passes/schedule/schedule.h"

/* ---- finding --------------------------------------------------------------------------------- */

/* A schedule with the file that it stands in, whose procs and includes it sees. */
typedef struct {
    const AstSchedule *schedule;
    const AstFile *file;
    const char *where; /* the file's path, or "library/NAME.sched" for one that ships with tirc */
} FoundSchedule;

/* The schedule `name` for kernel `kernel`: in `file` (the kernel's; may be NULL), then in
 * NAME.sched beside it, then in the library that ships with tirc. A name that ends in ".sched" is a
 * file: its only schedule for this kernel; "path.sched:NAME" is one of several. False after a
 * diagnostic: no such schedule (with the ones that there are), or it is for another kernel. */
bool script_find(Context *c, const AstFile *file, Name kernel, const char *name,
                 FoundSchedule *out);

/* Is there a schedule of this name for the kernel, not counting paths? Also true after diagnostics,
 * if a file that may have it does not parse. */
bool script_has(Context *c, const AstFile *file, Name kernel, const char *name);

/* Every schedule that fits the kernel, in the order of the search, for --list. */
typedef VEC(FoundSchedule) FoundScheduleList;
void script_list(Context *c, const AstFile *file, Name kernel, FoundScheduleList *out);

/* Reads and registers a file, or a stream that diagnostics call `path`. 0 after a diagnostic, which
 * a file of more than 64 MiB gets too. */
uint32_t script_read_stream(Context *c, FILE *f, const char *path, Span from);
uint32_t script_read_file(Context *c, const char *path, Span from);

/* The text of a file as an editor has it, which is then not read from its path. NULL after errors
 * in it. */
const AstFile *script_provide(Context *c, const char *path, const char *text, size_t length);
/* A file that kernels come from: schedules for them see its instructions. */
void script_add_program(Context *c, const AstFile *file);
/* The kernel of the file with the instructions that it calls, also those that stand elsewhere: in
 * files that its file includes, and in the library. */
const AstKernel *script_program(Context *c, const AstFile *file, const AstKernel *kernel);
/* The files whose procs a file sees, each once: itself, those it includes, the library. */
typedef VEC(const AstFile *) ScriptFileList;
void script_files_seen(Context *c, const AstFile *file, ScriptFileList *out);

/* ---- running --------------------------------------------------------------------------------- */

/* --set NAME=VALUE: an integer, true, false, a word, or a list of them: [4, 8]. */
typedef struct {
    Name name;
    Value value;
} ScriptSetting;
bool script_setting_parse(Context *c, const char *text, ScriptSetting *out);

/* Runs the schedule; NULL after diagnostics. The result holds the scheduled kernel, its steps and
 * trace. */
Schedule *script_run(Context *c, const Kernel *kernel, const FoundSchedule *found,
                     const ScriptSetting *settings, int n_settings);

/* A run that may be refused on its way. */
typedef struct {
    const FoundSchedule *found;
    const ScriptSetting *settings;
    int n_settings;
    Schedule *schedule; /* the result: all steps that ran */
    const Span *sites;  /* of each of them, from 0: the statement of the schedule, not of a proc */
} ScriptRun;
/* Runs the schedule as far as it goes; false after diagnostics. */
bool script_run_partly(Context *c, const Kernel *kernel, ScriptRun *run);

/* One `tune` as it stands in the text. */
typedef struct {
    Name name;
    const AstExpr *values;
} Tune;
typedef VEC(Tune) TuneList;
/* Those of a schedule, in the order of the text. */
void script_tunes(Context *c, const FoundSchedule *found, TuneList *out);
/* The list of a tune that takes no kernel to know; false for others, as the tiles of a loop. */
bool script_tune_values(Context *c, const FoundSchedule *found, const Tune *tune, Value *list);

/* A value as the script would write it: [_, 32], true, "text". */
void script_value_text(const Value *value, StrBuf *out);

#endif
