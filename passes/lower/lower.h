/* lower.h - Lowers a scheduled kernel to launches with a pipeline of passes.
 *
 * The passes are the rows of pipeline.def, in order; each is a function from kernel to kernel that
 * refuses with diagnostics and NULL. The runner times, prints and verifies around each. A kernel
 * that is lowered already only gets the widths of its index arithmetic. */
#ifndef TIRC_PASSES_LOWER_LOWER_H
#define TIRC_PASSES_LOWER_LOWER_H

#include "ir/ir.h"

/* The limits of the target; the defaults are those of sm_90 (CUDA C++ Programming Guide, compute
 * capabilities). */
typedef struct {
    int64_t max_threads_per_block; /* 1024 */
    int64_t max_block[3];          /* 1024, 1024, 64 */
    int64_t max_grid[3];           /* 2^31 - 1, 65535, 65535 */
    int64_t max_shared;            /* 232448 bytes a block */
    int64_t max_constant;          /* 65536 bytes a program */
    int64_t max_registers;         /* 65536 of 32 bits a block */
    int64_t max_resident_blocks;   /* 32 a multiprocessor */
    int64_t max_resident_threads;  /* 2048 a multiprocessor */
    int64_t max_resident_shared;   /* 233472 bytes a multiprocessor */
    int64_t reserved_shared;       /* 1024 bytes of each block */
} Limits;
Limits limits_default(void);
/* The same with the shared memory of other GPUs. */
Limits limits_of(Target target);

typedef struct {
    Limits limits;
    bool index64; /* no limits of symbolic sizes: 64 bits for all that they bound */
    /* Called after each pass, in order; may be NULL. `seconds` is the time of the pass alone,
     * `changed` whether it returned another kernel. */
    void (*after_pass)(void *user, const char *pass, const Kernel *kernel, bool changed,
                       double seconds);
    void *user;
} LowerOptions;

/* NULL with diagnostics where the schedule cannot be lowered. */
Kernel *lower_kernel(Context *c, const Kernel *kernel, const LowerOptions *options);

/* The reference of --verify: the program in which every floating value is an f64, and beside each
 * output and temp X that is not exact by nature more buffers of its shape, from which the error
 * bound of each element follows (docs/verification.md); BufferPart says what each of them is: X_err
 * (f64), where X is a sum X_abs and X_n (f64), and X_unsure (u8[1]) where rounding may decide what
 * is written. Integers stay as they are. No launches: it runs in program order on the host. */
Kernel *reference_kernel(Context *c, const Kernel *program);

/* The same for a sample of the outputs: for each axis k of an output or inout X there is an inout
 * X_need_k (u8, one an index), not zero for the indices that are wanted. Nests that compute X
 * element by element skip the others, and so do nests before them that compute what only those
 * would have read; all else runs in full. */
Kernel *reference_kernel_sampled(Context *c, const Kernel *program);

/* The reference of a sample that asks for exactness: X_err is 0 where every operation and every
 * order of additions gives the same value, which is X, and infinite elsewhere.  A sum X has an
 * X_bits (i64) beside X_abs and X_n: its terms in fixed point (exact.c), from which
 * follows whether it is exact. */
Kernel *reference_kernel_exact(Context *c, const Kernel *program);

/* The kernel with the init of every reduction as a block of its own: what module_build takes of a
 * kernel that is not lowered. NULL with diagnostics as lower_init. */
Kernel *sequential_kernel(Context *c, const Kernel *kernel);

/* A reference in whose body loops are parallel that a machine may run many iterations of at once
 * (module_build_in_lanes), for these sizes, with `wanted` indices of each axis of an output. */
Kernel *reference_in_lanes(Context *c, const Kernel *reference, const int64_t *sizes,
                           int64_t wanted);

/* About how many stores a reference executes for these sizes, with `wanted` indices of each axis of
 * an output (an axis that is shorter counts in full). Inner bounds that depend on outer loops count
 * at their middle. */
double reference_work(Context *c, const Kernel *reference, const int64_t *sizes, int64_t wanted);

#endif
