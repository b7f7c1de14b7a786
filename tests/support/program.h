/* program.h - the programs of tests/programs: a kernel and its schedules in one file, or several
 * kernels.
 *
 * Comments at the top of a file say how it is tested:
 *     // sizes: 1 7 33              values that each size takes; where the first is 1, symbolic
 *                                   ones are 0 as well
 *     // types: T = f32 f16         values that a type parameter takes
 *     // reorders: tiled            schedules that add floats in another order: results within
 *                                   their error bound, the others bit for bit
 *     // literal: vec               schedules that need sizes that are constants
 *     // library: sgemm             schedules that ship with tirc, besides `default` and `naive`
 * Each file is tested with its own schedules and with these. */
#ifndef TIRC_TESTS_PROGRAM_H
#define TIRC_TESTS_PROGRAM_H

#include "frontend/script/script.h"
#include "frontend/syntax/parse.h"

enum { PROGRAM_LIST = 32 };

typedef struct {
    char path[512], name[64];
    char *text;
    size_t length;
    int kernel; /* its number in the file */
    int n_sizes, n_values, n_types, n_schedules, n_own;
    char sizes[8][32];            /* names of the size parameters that are numbers */
    int64_t values[PROGRAM_LIST]; /* what each of them takes */
    char type[32], types[8][8];   /* the type parameter ("" for none) and what it takes */
    /* `default` and `naive`, the `n_own` of the file, then others that ship with tirc */
    char schedules[PROGRAM_LIST][32];
    bool reorders[PROGRAM_LIST], literal[PROGRAM_LIST]; /* of each schedule */
} Program;

/* Reads every *.tir of a folder, in the order of their names, into a malloc'ed array; the number of
 * them. Ends the test when one cannot be read. */
int programs_read(const char *folder, Program **out);
void programs_free(Program *programs, int n);
/* Whether a schedule, by its number, ships with tirc: the file has none of that name. */
bool program_ships(const Program *program, int schedule);

/* One use of a program: a context of its own, with the kernel at each level. */
typedef struct {
    Context *c;
    jmp_buf guard;
    AstFile *file;
    Kernel *kernel;
    Schedule *schedule;
} Use;

/* Resolves with overrides ("N=3", "N=?", "T=f16") and runs a schedule ("" for none of them). False,
 * with the diagnostics in use->c, when it is refused; the caller frees use->c. */
bool program_use(const Program *program, const char *schedule, const char *const *overrides,
                 int n_overrides, Use *use);
/* The diagnostics, and what tirc found to be wrong with itself. */
const char *use_messages(const Use *use);

#endif
