/* stores.h - Decides what waits for bulk stores, for the pass that inserts barriers (internal to
 * passes/lower). */
#ifndef TIRC_PASSES_LOWER_THREADS_STORES_H
#define TIRC_PASSES_LOWER_THREADS_STORES_H

#include "ir/copies/bulk_copy.h"
#include "passes/lower/pass.h"

/* Checks that nothing else in the launch accesses what bulk stores write, which they write once.
 * False after a diagnostic. */
bool stores_can(Context *c, Stmt *root, Threads *t);
/* The bulk stores among the blocks below `s`. */
StmtList stores_below(Context *c, const Stmt *s);
/* Those of a list of blocks. */
StmtList stores_among(Context *c, const StmtList *blocks);

/* The bulk stores of earlier iterations of a loop. */
typedef struct {
    Context *c;
    const Stmt *loop; /* NULL: there are none */
    StmtList stores;
    bool in_items; /* the body is a sequence: they are waited for in front of its items */
    bool apart;    /* each iteration commits a group of them */
    int left;      /* of their groups, those that no item so far has waited for */
} EarlierStores;
/* Those in front of `body`, if it is the body of the loop, within loops that are bound. */
EarlierStores stores_of_earlier(Context *c, const Stmt *loop, const Stmt *body);
/* Some of them may read what `item` writes, and it is the first to wait for so many: `left` is how
 * many of the latest groups may stay in flight. */
bool stores_await_earlier(Threads *t, EarlierStores *e, const Stmt *item, Hazard *hazard);
/* One of the stores, above `item`, may read what it writes. */
bool stores_meet(Context *c, Threads *t, const StmtList *stores, const Stmt *item, Hazard *hazard);
/* The launch with a wait for those in flight behind all else that its threads do. */
Stmt *stores_end(Context *c, Stmt *root, const StmtList *stores);

#endif
