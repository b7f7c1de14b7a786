/* work.h - is there more to run than a trial has time for? */
#ifndef TIRC_TESTS_WORK_H
#define TIRC_TESTS_WORK_H

#include "ir/ir.h"

/* Iterations of a trial: tens of seconds in the simulator. */
#define WORK_MOST INT64_C(100000000)

/* About how many iterations the loops of a scheduled kernel have at these sizes: of a loop whose
 * ends depend on others, those in the middle of the others; one where data decides; all of what an
 * `if` decides, unless sizes decide it. INT64_MAX: more than that. */
int64_t work_about(Context *c, const Kernel *kernel, const int64_t *sizes);

#endif
