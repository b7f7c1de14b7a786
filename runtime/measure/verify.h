/* verify.h - Verifies the outputs of a run.
 *
 * The reference program (reference_kernel in passes/lower/lower.h, made a module) computes every
 * wanted element in higher precision together with a bound on what rounding may do to it; each
 * output must lie within its own bound, integers exactly. docs/verification.md derives the
 * bounds. */
#ifndef TIRC_RUNTIME_MEASURE_VERIFY_H
#define TIRC_RUNTIME_MEASURE_VERIFY_H

#include "runtime/device.h"

enum { VERIFY_SHOWN = 3, VERIFY_RANK = 16 };

/* Stores of a reference (reference_work) that are worth waiting for, about a few seconds; beyond
 * it, sample. */
#define VERIFY_FULL_WORK 5e7

/* One element of an output. */
typedef struct {
    int buffer; /* of the module */
    int64_t index[VERIFY_RANK];
} VerifyElement;

typedef struct {
    /* Indices of each axis that are checked: the first, the last and random ones between; an
     * element is checked when all its indices are. 0: all, and the reference need not have been
     * made for samples. */
    int64_t wanted;
    uint64_t seed;
    /* [n_buffers of the module]: at most so many additions, one after another, make an element;
     * NULL: not known */
    const double *depth;
    /* atomic additions of f32 in global memory take part, which flush subnormal numbers to 0 */
    bool flushes;
    /* this element, by a reference made for samples; NULL: as `wanted` says */
    const VerifyElement *only;
} VerifyOptions;

typedef struct {
    const char *buffer;
    int rank;
    int64_t index[VERIFY_RANK];
    double got, expected, bound;
    bool never_written; /* it still holds the poison of before the run */
} VerifyWrong;

typedef struct {
    /* nothing is wrong, and each wanted element was checked, or overflows as the program says */
    bool ok;
    bool gentle;   /* its inputs were (workload_new_gentle) */
    bool given;    /* some of its inputs were (workload_new_given) */
    int64_t total; /* elements of all outputs */
    int64_t checked, wrong;
    /* checked elements with weak bounds: above VERIFY_WIDE of the largest element of their
     * buffer */
    int64_t wide;
    /* wanted elements without a bound, or, of an exact reference, that are not exact; and of
     * these: */
    int64_t unchecked;
    int64_t overflown; /* elements that overflow or are NaN in the program itself */
    /* checked elements other than 0: zeros say little about the terms of sums and products */
    int64_t nonzero;
    double max_error; /* the largest of an element checked */
    double bound;     /* ... and the bound of that element */
    /* of an element that comes nearest to its bound: error / bound; 0 where all are exact */
    double worst_ratio;
    double largest_bound; /* of the elements checked */
    /* elements checked that are sums, so that there is a likely bound, and of these: */
    int64_t summed;
    int64_t unlikely;  /* how many are beyond it */
    double most_terms; /* of all sums of the program */
    /* one after another, the most that a bound of the elements checked counts with */
    double additions;
    /* what made elements unchecked, in words; NULL: none is, or it is not known */
    const char *blame;
    VerifyWrong first[VERIFY_SHOWN];
    int n_first;
} VerifyResult;

#define VERIFY_WIDE (1.0 / 16)

/* The probability with which one right element at all is beyond its likely bound
 * (docs/verification.md). */
#define VERIFY_UNLIKELY 1e-6

/* How many indices of each axis give about so many samples in an output with so many axes. */
enum { VERIFY_SAMPLES = 1024 };
int64_t verify_sample_size(int rank, int64_t samples);

/* A run that is checked: of which module, on which data, against which reference. */
typedef struct {
    const Module *module;
    const Workload *workload;
    const Module *reference;
} VerifyRun;

/* Compares the outputs and inouts of the workload after a run with what the reference computes from
 * its inputs. False after a diagnostic when there is no result: no memory, a read that fails, a
 * fault in the program itself. */
bool verify_run(Device *d, const VerifyRun *run, const VerifyOptions *options,
                VerifyResult *result);

/* The same without a run: how many of the wanted elements have a bound, as `checked` and
 * `unchecked`. With an exact reference (reference_kernel_exact) these are the elements that must be
 * equal, bit for bit, on these inputs. */
bool verify_count(Device *d, const VerifyRun *run, const VerifyOptions *options,
                  VerifyResult *result);

/* The result in words: "1024 of 16777216 elements checked ...", and what the first wrong ones
 * are. */
void verify_describe(const VerifyResult *result, StrBuf *out);

#endif
