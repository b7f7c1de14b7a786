/* values.h - Draws the values of inputs at random from a range, or checks them against it. */
#ifndef TIRC_RUNTIME_VALUES_H
#define TIRC_RUNTIME_VALUES_H

#include "runtime/module.h"
#include "runtime/random.h"

/* The destination of random data, and their constraints. */
typedef struct {
    DType type;
    void *to;
    int64_t n;                  /* elements */
    const ModuleValues *values; /* NULL: any */
    const int64_t *sizes;
    /* those without a range are small integers, and floats in a range numbers of few bits, if it
     * has some; NULL: as they come */
    const SmallIntegers *small;
} RandomData;

/* Random elements. Threads share the work; the data are the same with any number of them. Where no
 * order is asked for, fewer elements are the first of more. False, with any data, where there are
 * not enough different ones, or no memory to order them. */
bool values_fill(const Random *r, const RandomData *d);
/* A random scalar (d->n is ignored): an integer without a range is in 0..100. */
void values_scalar(Random *r, const RandomData *d);
/* The number of the first of n elements that does not satisfy `values`, or of which an order is
 * broken; -1: all do. */
int64_t values_first_outside(DType type, const void *data, int64_t n, const ModuleValues *values,
                             const int64_t *sizes);

#endif
