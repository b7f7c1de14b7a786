/* sweep.h - asks something about each program of some folders, with each of its schedules.
 *
 * A program of tests/programs is scheduled with symbolic sizes where the schedule takes them, and
 * with all sizes at their first value or at their last, in turn (--long: both). An example is
 * scheduled with symbolic sizes and with those of its file.
 *
 *     PROGRAM FOLDER...                     all programs
 *     PROGRAM FOLDER... --short NAME        one of them
 *     PROGRAM ... --long                    both ends of the sizes, and more changes of a text
 *     PROGRAM ... --list                    with more words */
#ifndef TIRC_TESTS_SWEEP_H
#define TIRC_TESTS_SWEEP_H

#include "support/program.h"

typedef struct Sweep Sweep;

/* One question: a program, one of its schedules, and sizes. */
typedef struct {
    Sweep *sweep;
    const Program *program;
    int schedule;
    const char *sizes; /* "?": symbolic; a value for all of them; or "of the file" */
    int failures;
} Question;

/* Asks about use->schedule; errors that unwind are complaints, too. */
typedef void SweepAsk(Question *q, Use *use);

struct Sweep {
    const char *name;
    SweepAsk *ask;
    void (*last)(void **state); /* a test behind all others; its state is the Sweep */
    void *user;
    bool every, list; /* --long, --list */
};

/* Prints what is wrong, and counts it. */
void question_complain(Question *q, const char *why);

/* Programs of tests/programs say which sizes they are tested at; examples have their own. */
bool program_is_example(const Program *p);

/* The exit status. */
int sweep_main(Sweep *sweep, int argc, char **argv);

#endif
