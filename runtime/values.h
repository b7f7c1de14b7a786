/* values.h - the values of inputs: drawn at random from a range, or checked against it. */
#ifndef TIRC_RUNTIME_VALUES_H
#define TIRC_RUNTIME_VALUES_H

#include "runtime/module.h"
#include "runtime/random.h"

/* `n` random elements of a type that satisfy `values` (NULL: any). With `small`, those without a
 * range are small integers, and floats in a range are numbers of few bits, if it has some. False,
 * with any data, where there are not enough different ones, or no memory to order them. */
bool values_fill(Random *r, DType type, void *to, int64_t n, const ModuleValues *values,
                 const int64_t *sizes, const SmallIntegers *small);
/* A random scalar: an integer without a range is in 0..100. */
void values_scalar(Random *r, DType type, void *to, const ModuleValues *values,
                   const int64_t *sizes, const SmallIntegers *small);
/* The number of the first of n elements that does not satisfy `values`, or of which an order is
 * broken; -1: all do. */
int64_t values_first_outside(DType type, const void *data, int64_t n, const ModuleValues *values,
                             const int64_t *sizes);

#endif
