/* draw.h - random calls of primitives, held so that they can be made again in a kernel that has
 * lost some steps.
 *
 * Handles are numbers of one run; a Step speaks of loops by a block around which they stand and
 * their name, and of blocks and buffers by name. A step whose names are gone cannot be made again,
 * which is how a reducer drops steps. */
#ifndef TIRC_TESTS_DRAW_H
#define TIRC_TESTS_DRAW_H

#include "passes/schedule/schedule.h"
#include "runtime/random.h"

enum { DRAW_NAME = 64, DRAW_ITEMS = 5 };

typedef struct {
    ValueKind kind; /* LOOP, BLOCK, BUFFER, INT, BOOL, WORD, STRING, FILL, MAP (i: its seed) */
    char name[DRAW_NAME], block[DRAW_NAME];
    int64_t i;
} Pick;

typedef struct {
    bool list;
    int n;
    Pick items[DRAW_ITEMS];
} PickArg;

typedef struct {
    const Primitive *primitive;
    int n_args;
    PickArg args[PRIM_MAX_PARAMS];
} Step;

/* A handle by its name; a loop by that and a block that it stands around. (Without a name it is the
 * loop number `i` around the block.) */
Pick pick_handle(Schedule *s, Value handle, Value block);
Pick pick_word(const char *word);
Pick pick_int(int64_t i);

/* A call of `wanted` (NULL: of any primitive) that looks plausible in the kernel as it is: factors
 * are small, loops of one call stand around one block, and most arguments suit the primitive
 * (fit.h). False where the kernel has nothing that step->primitive could be called with. */
bool draw_step(Schedule *s, Random *r, const Primitive *wanted, Step *step);
/* Calls that usually follow an accepted step: bindings of the loops of a split, a place for a copy.
 * How many. */
int draw_sequel(Schedule *s, Random *r, const Step *step, const Value *result,
                Step out[DRAW_ITEMS]);
/* Makes the call. False: a name is gone (*refused = false), or the primitive refused. */
bool draw_call(Schedule *s, const Step *step, Value *result, bool *refused);

#endif
