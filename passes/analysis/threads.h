/* threads.h - the model of a launch, shared by threads.c (who runs what, order among threads) and
 * own_copy.c (memory that every thread or block has its own copy of). */
#ifndef TIRC_PASSES_ANALYSIS_THREADS_H
#define TIRC_PASSES_ANALYSIS_THREADS_H

#include "passes/analysis/model.h"

typedef struct {
    int loop[AXIS_COUNT];   /* the unit's loop that gives the coordinate, -1: none */
    bool every[AXIS_COUNT]; /* with no loop: any coordinate, else 0 */
    bool *used;             /* [n_loops] a bound loop that tells the unit's instances apart */
    bool *rerun;            /* [n_loops] one that does not, on an axis that distributes it */
} Place;

typedef struct {
    uint32_t block;
    int unit;
} UnitOf;

struct Threads {
    Context *ctx;
    const Kernel *kernel;
    Model *model;
    Place *places;                   /* [units] */
    UnitOf *unit_of;                 /* [units] by block */
    const ForStmt *axis[AXIS_COUNT]; /* a loop bound to the axis, or NULL */
    bool may_be_empty[AXIS_COUNT];   /* it is not known to have an iteration */
};

typedef struct {
    Instance at;
    Affine axis[AXIS_COUNT];
} ThreadInstance;

/* Iterations run one after the other, also among the threads of a block. */
static inline bool loop_has_order(const ForStmt *loop)
{
    return loop->kind == LOOP_SERIAL || loop->kind == LOOP_UNROLL;
}

static inline const Unit *thread_unit(const Threads *t, int i)
{
    return t->model->units.items[i];
}

/* An instance and the thread it runs on; `first_run` leaves out its reruns. */
ThreadInstance thread_instance(Threads *t, Poly *p, int unit, bool first_run);
/* One in the same iteration of its first n loops as `other` (instance_within). */
ThreadInstance thread_instance_within(Threads *t, Poly *p, int unit, const ThreadInstance *other,
                                      int n);

/* dependence_loop_kind_legal for LOOP_BIND. `loop` is in the kernel. */
bool threads_bind_legal(Context *c, const Kernel *kernel, const Stmt *loop, Axis axis,
                        Conflict *why);

/* What is read from local or shared memory was written by the same thread or block, and by no
 * other in between. A buffer that nothing in the launch writes is not its business. */
bool threads_copies_own(Threads *t, Poly *p, Conflict *why);

#endif
