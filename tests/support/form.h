/* form.h - a program in one of its forms (as it is written, scheduled, lowered) on the simulator,
 * and whether two forms compute the same: what test_meaning and the random schedules ask. */
#ifndef TIRC_TESTS_FORM_H
#define TIRC_TESTS_FORM_H

#include "runtime/device.h"
#include "runtime/measure/verify.h"

/* `data` is NULL until it has run, and where it could not. */
typedef struct {
    const Module *module;
    Workload *data;
    VmFault fault;
    /* the schedule rounds a buffer: what that decides, such as a count of pairs that are close, has
     * no bound, and is not compared */
    bool rounds;
} Form;

/* How the threads of a block run: all in step, or between barriers groups of `width` one after the
 * other, from the first or from the last. */
typedef struct {
    int width; /* 0: in step */
    bool reversed;
} Turns;

/* Runs at these sizes, with the inputs of `like`, or with new ones. False with a fault, or with
 * diagnostics in the device's context. */
bool form_run(Device *d, Form *form, const int64_t *sizes, const Form *like, Turns turns);
void form_free(Form *form);

/* What the outputs differ in, both having run: nothing, bit for bit; or nothing that lies outside
 * the bound of verification, where there is a reference. NULL, or a text in the arena of `c`. */
const char *form_difference(Context *c, Device *d, const Form *program, const Form *form,
                            const Module *reference);

#endif
