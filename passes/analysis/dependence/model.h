/* model.h - Models a piece of program as statements, the accesses of each, and their order of
 * execution.
 *
 * A unit is a block's body, or its init. The loops and ifs from the root down to it say which
 * instances there are; the first n_time of its loops and its place in the text say when each runs.
 * An init runs before the outermost loop that a reduce iterator is bound to. The loops outside that
 * one order it; the loops inside that its spatial iterators use are plain dimensions.
 *
 * An instance is a unit under fresh columns of a Poly; accesses of instances give affine
 * subscripts. A question joins instances of two units with rows for "the same element" and
 * "before". */
#ifndef TIRC_PASSES_ANALYSIS_DEPENDENCE_MODEL_H
#define TIRC_PASSES_ANALYSIS_DEPENDENCE_MODEL_H

#include "passes/analysis/dependence/dependence.h"
#include "passes/analysis/polyhedral/poly.h"

typedef struct {
    const Stmt *stmt; /* the ST_BLOCK */
    const BlockStmt *block;
    bool init;
    EnclosingList scopes;  /* from the root down to the block */
    const ForStmt **loops; /* those of scopes */
    int n_loops;
    int n_time;    /* how many of them order the unit */
    int64_t order; /* place in the text: before all units of higher order under the same loops */
    bool *absent;  /* [n_loops] an init has no value of this loop */
    AccessList accesses;
} Unit;

/* An access of a unit, by its buffer and, where that is a literal, its first subscript. */
typedef struct {
    uint32_t buffer;
    bool literal;
    int64_t first;
    int unit;
} AccessRef;
typedef VEC(AccessRef) AccessRefs;

/* A buffer declared below the root: each iteration of the loops around the declaration has its own.
 */
typedef struct {
    const Buffer *buffer;
    StmtList loops; /* from the root down */
} InnerBuffer;

typedef struct {
    Context *ctx;
    const Kernel *kernel;
    const Stmt *root;
    EnclosingList outer; /* loops and ifs of the kernel around the root */
    VEC(Unit *) units;
    VEC(InnerBuffer) inside;
    AccessRefs all, writes; /* accesses, by what they access */
    int *met, stamp;        /* [units] the last list of neighbours that has the unit */
} Model;

static inline const Unit *model_unit(const Model *m, int i)
{
    return m->units.items[i];
}

/* The declaration of a buffer below the root; NULL: there is none. */
const InnerBuffer *model_inner_buffer(const Model *m, const Buffer *buffer);

/* The units below `tree`, which stands in place of `root` in the kernel's body. */
Model *model_new(Context *c, const Kernel *kernel, const Stmt *root, Stmt *tree);

/* ---- which units can meet (neighbours.c) ----------------------------------------------------- */

/* Both are updates by one operator, so that they may change places; none where it is ordered. */
bool accesses_commute(const Access *a, const Access *b);
/* Both store the same value wherever they store to the same element (alike.c). */
bool accesses_store_alike(const Access *a, const Access *b);
/* Fills in m->all, m->writes and m->met, which model_neighbours goes by. */
void model_index_accesses(Model *m);
/* The units with an access that may meet one of unit `unit`, ascending. In the arena. */
typedef VEC(int) UnitList;
UnitList model_neighbours(Model *m, int unit);

/* Goes through the pairs of accesses that may meet: x of unit a, y of unit b. */
typedef struct {
    Model *model;
    int a, b;
    const Access *x, *y;
    int last;             /* value of a */
    UnitList met;         /* values of b */
    int at_b, at_x, at_y; /* the next ones */
} Pairs;
/* Pairs of all units; of unit a with any unit; of two units. Each starts before the first pair. */
Pairs pairs_all(Model *m);
Pairs pairs_with(Model *m, int a);
Pairs pairs_of(Model *m, int a, int b);
/* False behind the last one. */
bool pairs_next(Pairs *at);

/* Goes through the accesses of a buffer. */
typedef struct {
    const Model *model;
    const Buffer *buffer;
    int unit;
    const Access *access;
    int at; /* the next one of the unit */
} BufferAccesses;
BufferAccesses accesses_of(const Model *m, const Buffer *buffer);
bool accesses_next(BufferAccesses *at);

/* ---- instances (instance.c) ------------------------------------------------------------------ */

/* Columns and ranges for the symbolic sizes and the loops outside the root. */
void model_enter(const Model *m, Poly *p);
/* Values under a loop, a branch or a let: its variable in `env`, with columns and rows for what is
 * known of it. A value that reads memory is unknown: what a `where` clause says of its elements
 * must not restrict the sizes of instances that do not use it. */
void model_enter_scope(Poly *p, Env *env, Enclosing scope);
/* The same for a let where the value is used. */
void model_enter_let(Poly *p, Env *env, const Stmt *s);

typedef struct {
    const Unit *unit;
    Affine *loops; /* [n_loops] values of their variables */
    Affine *turns; /* [n_loops] what grows by |step| with each iteration: the value or, where that
                    * falls, its negative */
    int n_loops;
    const Affine *iters; /* [block->n_iters] */
    Env env;
} Instance;

/* For questions about an instance that there is: its domains are not empty, which bounds the sizes
 * from below. Comes before the instance, so that products and quotients of sizes find the
 * bounds. */
void unit_assume_runs(Poly *p, const Unit *unit);
/* A fresh instance: columns for its loops, rows for its domain. */
Instance instance_new(Poly *p, const Unit *unit);
/* An instance in the same iteration of its first n_shared loops as `like`. Values computed from
 * them, such as quotients and products, then share columns. */
Instance instance_within(Poly *p, const Unit *unit, const Instance *like, int n_shared);
/* The instance of the same block, in other loops, that has the iterators of `like`, which rows say.
 * A domain that data decide holds for both or for neither. */
Instance instance_again(Poly *p, const Unit *unit, const Instance *like);
/* The subscripts [rank] of an access, with columns and rows for the loops inside the block. */
const Affine *instance_index(Poly *p, const Instance *at, const Access *access);

/* How many of the loops that order them two units share. */
int units_common(const Unit *a, const Unit *b);

/* What puts one instance before another: an earlier iteration of their shared loop `level`, or,
 * where that is how many they share, the place in the text; in equal iterations of the loops from
 * `from` on and before `level`. */
typedef struct {
    int from, level;
    bool serial;            /* loops without an order among threads are passed over, */
    bool carried;           /* but for `level`: each thread runs it in order, whatever its kind */
    bool ties;              /* one place in the text counts, too */
    bool back;              /* of a pair: its second access before its first */
    const bool *any;        /* [loops before `level`] which iteration does not matter, or NULL */
    const Bounds *distance; /* of b from a, or NULL: not known (instances_distance) */
} Precedence;
/* False where no instance of `a` comes before one of `b`, by the text and `by.distance` alone. */
bool units_may_precede(const Unit *a, const Unit *b, Precedence by);
/* Rows: `a` comes before `b`. False where it does not, whatever the iterations. */
bool instance_precedes(Poly *p, const Instance *a, const Instance *b, Precedence by);
/* The distance vector of two instances: for each shared loop, the range of b's turn minus a's
 * under the rows so far. NULL if the rows have no solution. In the arena. */
const Bounds *instances_distance(Poly *p, const Instance *a, const Instance *b);
/* The distance of a from b. */
const Bounds *distance_reversed(Context *c, const Bounds *distance, int n);
/* The parts of an access that matter for distances without a system (distance.c). */
typedef struct {
    const Unit *unit;
    const Access *access;
    const bool *first; /* [n_loops] it is in the first iteration of the loop; NULL: of none */
} AccessOf;
/* The distance of b from a where both access one element, from bounds of their subscripts: an
 * over-approximation. NULL if they never access the same element. In the arena. */
const Bounds *accesses_distance(Context *c, const AccessOf *a, const AccessOf *b);
/* The turn of the first iteration of the instance's loop `i`. */
Affine instance_first_turn(Poly *p, const Instance *at, int i);

/* Two accesses of one buffer: x of instance a, and y of instance b. */
typedef struct {
    const Instance *a;
    const Access *x;
    const Instance *b;
    const Access *y;
} AccessPair;
/* Rows: both access the same element. */
void pair_collide(Poly *p, AccessPair pair);

/* ---- answers in words (conflict.c) ----------------------------------------------------------- */

/* The hazard of x, which writes or reads, and then y. */
HazardKind accesses_hazard(const Access *x, const Access *y);
/* Solves `p`; a solution is put in words as a conflict of the pair. `reason` is a whole sentence,
 * in the arena. True if there is none. */
bool conflict_none(Poly *p, AccessPair pair, const char *reason, Conflict *why);
/* The same, of the pair in the order `by` at each level from `by.level` on: shared loops, then the
 * text. Keeps `p` as it was. */
bool conflict_none_before(Poly *p, AccessPair pair, Precedence by, const char *reason,
                          Conflict *why);
/* The answer "not proved" about a block or two, without numbers. */
void conflict_unproved(AccessPair pair, const char *reason, Conflict *why);
/* A conflict of a unit with itself, `at` a point. */
Conflict conflict_of_unit(const Unit *u, const char *at, const char *reason);
/* "N = 2, i = 3": sizes, then the iterators of a block at a point. */
const char *instance_text(Poly *p, const Instance *at, const int64_t *point);

#endif
