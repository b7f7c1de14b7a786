/* count.h - Counts the arithmetic operations of a program: the numerator of GFLOP/s. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_COUNT_H
#define TIRC_PASSES_ANALYSIS_REGIONS_COUNT_H

#include "ir/ir.h"

/* The floating-point operations that `program` performs, as it is written: one for each + - * / min
 * max negation, call, and updating store on a floating type, two for fma. Conversions, comparisons,
 * selections and initial values are none; both arms of a `?:`, and of a condition that reads
 * memory, count.
 *
 * `sizes` has a value for each of the kernel's sizes. A program is counted exactly, by walking its
 * loops (those that nothing below depends on are multiplied, not walked). In a kernel that
 * schedules have touched each block counts once for each point of its domain, so that recomputation
 * is no work. False where the number cannot be had: a lowered kernel, bounds read from memory, more
 * than 2^63 operations, or too long a walk. */
bool count_flops(Context *c, const Kernel *program, const int64_t *sizes, int64_t *flops);

#endif
