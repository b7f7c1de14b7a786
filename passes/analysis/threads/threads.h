/* threads.h - Models a launch and pairs of accesses by its threads, for the questions about
 * threads in launch.h (thread_bind.c, thread_hazards.c, thread_meet.c, own_copy.c, leave_alone.c,
 * fold.c). */
#ifndef TIRC_PASSES_ANALYSIS_THREADS_THREADS_H
#define TIRC_PASSES_ANALYSIS_THREADS_THREADS_H

#include "passes/analysis/dependence/model.h"
#include "passes/analysis/threads/launch.h"

typedef struct {
    int loop[AXIS_COUNT];   /* the unit's loop that gives the coordinate, -1: none */
    bool every[AXIS_COUNT]; /* with no loop: any coordinate, else 0 */
    bool *used;             /* [n_loops] a bound loop that the unit depends on */
    /* [n_loops] a bound loop in which the unit is invariant: it runs once for all iterations */
    bool *rerun;
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
    bool *changed;                   /* [units] by a step (thread_change.c); NULL: all */
    VEC(const Buffer *) used_anew;   /* what changed units access */
};

typedef struct {
    Instance at;
    Affine axis[AXIS_COUNT];
} ThreadInstance;

static inline const Unit *thread_unit(const Threads *t, int i)
{
    return t->model->units.items[i];
}

/* The unit runs on coordinate 0 of the axis. */
bool thread_on_zero(const Threads *t, int unit, Axis axis);
/* Any coordinate that the launch has on an axis. */
Affine thread_any_coordinate(Threads *t, Poly *p, Axis axis);
/* An instance and the thread it runs on. */
ThreadInstance thread_instance(Threads *t, Poly *p, int unit);
/* Rows: the instance is no rerun. */
void thread_be_first_run(Threads *t, Poly *p, int unit, const ThreadInstance *at);
/* One that is no rerun. */
ThreadInstance thread_first_run(Threads *t, Poly *p, int unit);
/* One in the same iteration of its first n loops as `other` (instance_within). */
ThreadInstance thread_instance_within(Threads *t, Poly *p, int unit, const ThreadInstance *other,
                                      int n);

/* The first unit of a block of the launch. */
int thread_unit_of(const Threads *t, const Stmt *block);

/* ---- what a step has changed (thread_change.c) ----------------------------------------------- */

/* Marks what the step has changed; without it, all is taken for changed. */
void threads_mark_changes(Threads *t, LaunchChange change);
bool threads_unit_changed(const Threads *t, int unit);
/* So is a unit in loop `at` of the unit. */
bool threads_loop_changed(const Threads *t, int unit, int at);
/* So is a unit that accesses the buffer. */
bool threads_use_changed(const Threads *t, const Buffer *buffer);

/* ---- two accesses (thread_pairs.c) ----------------------------------------------------------- */

/* A question about a launch: its sizes and what holds of them. */
Poly *threads_question(Threads *t);

/* Goes through the pairs of accesses by threads that may clash: of one buffer that they share, one
 * of them writing, and not both atomic updates by one operator. What is asked of a pair goes before
 * the next one, or with meeting_end; where neither comes, it stays. */
typedef struct {
    Threads *t;
    Poly *p;
    Pairs pair;
    PolyPart part;
    bool entered; /* with rows, so that at_a and at_b are there */
    ThreadInstance at_a, at_b;
    const Bounds *distance; /* of b from a, where meeting_measure was asked */
} Meeting;
/* Meetings of all units; of two units. Each starts before the first meeting. */
Meeting meetings_all(Threads *t, Poly *p);
Meeting meetings_of(Threads *t, Poly *p, int a, int b);
bool meeting_next(Meeting *m);
void meeting_end(Meeting *m);

/* One of the two meetings of a pair, in which either access comes first; where the accesses are one
 * and the same, there is but one. */
bool meeting_is_first(const Meeting *m);
/* The other one, under the rows and with the distance of this one; it has no next one. */
Meeting meeting_reversed(const Meeting *m);

/* The two accesses, once they are entered. */
AccessPair meeting_pair(const Meeting *m);
/* Rows: the two touch one element, each in a run that counts. Fills in at_a and at_b. */
void meeting_enter(Meeting *m);
/* The distance of the two where they touch one element, without rows (accesses_distance). False
 * where they never do. */
bool meeting_measure(Meeting *m);
/* Enters the rows, where they are not there yet, and measures the distance by them, which may be
 * narrower. False where the two never touch one element. */
bool meeting_solve(Meeting *m);
/* Threads that differ on an axis from this one on can pass a barrier together between the two:
 * those of a block, or, for memory of a cluster, those of its blocks. */
Axis meeting_first_axis(const Meeting *m);
/* The coordinates on which threads access the two, where a warp runs one together: any of its
 * threads accesses what one of them needs. */
void meeting_coordinates(const Meeting *m, Affine a[AXIS_COUNT], Affine b[AXIS_COUNT]);
/* Rows: they differ on one of these axes. */
void meeting_apart(Meeting *m);
/* The two run on equal coordinates of n axes, wherever they touch one element. */
bool meeting_stays(const Meeting *m, Axis first, int n);
/* Rows, after those: they run in one block of the grid, with memory of a warp in one warp, with
 * that of a cluster in one cluster. */
void meeting_in_block(Meeting *m);
/* Rows: the two, measured, touch one element on different threads of one block. False where they
 * never do. */
bool meeting_of_threads(Meeting *m);
/* The number of the carrier among the shared loops; without a carrier, how many they are. */
int meeting_level(const Meeting *m, const ForStmt *carrier);
/* Rows: the second runs later, in one iteration of the shared loops that have an order or, with a
 * carrier, in a later one of it. False if the text has them the other way round. */
bool meeting_is_later(Meeting *m, const ForStmt *carrier);
/* False where it does not, by the distance alone. */
bool meeting_may_be_later(const Meeting *m, const ForStmt *carrier);
/* Describes the hazard between the two accesses. */
Hazard meeting_hazard(const Meeting *m);

/* Each unit takes its coordinate on an axis from one loop. Where it runs once for all iterations
 * of a bound loop, running it in each of them would do the same. */
bool threads_run_alike(Threads *t, Poly *p, Conflict *why);

/* All that a unit reads there was written before, by whichever thread, in the same iteration of its
 * first n_fixed loops. False may be wrong, true is not. */
bool threads_read_renewed(Threads *t, Poly *p, int unit, const Access *read, int n_fixed);

/* What is read from local or shared memory was written by the same thread or block, and by no
 * other in between. A buffer that nothing in the launch writes is not its business. */
bool threads_copies_own(Threads *t, Poly *p, Conflict *why);

/* All writes of an element of the buffer write the same value: there is one plain store, of values
 * that the launch does not change, with each iterator of its block as a subscript. */
bool threads_write_alike(const Threads *t, const Buffer *buffer);

#endif
