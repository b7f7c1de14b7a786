/* clusters.h - Declares what insert_barriers asks about memory of clusters. */
#ifndef TIRC_PASSES_LOWER_THREADS_CLUSTERS_H
#define TIRC_PASSES_LOWER_THREADS_CLUSTERS_H

#include "passes/lower/pass.h"

/* Buffers have no more parts than the clusters of the launch have blocks. False after E0527. */
bool clusters_fit(Context *c, Stmt *root);
/* A loop of the launch over the blocks of a cluster; NULL: there is none. */
const ForStmt *clusters_loop(Context *c, const Stmt *root);
/* Some block of the launch accesses memory of a cluster. */
bool clusters_used(Context *c, const Stmt *root);
/* Buffers fit, blocks write their own part only, and no instruction addresses one. False after
 * E0526 to E0528. */
bool clusters_can(Context *c, Stmt *root, Threads *t);
/* One of the blocks that reads memory of a cluster, or NULL. */
const Stmt *clusters_reader(Context *c, const StmtList *blocks);
/* The launch with the barrier behind the last read, where all threads of the cluster come. */
Stmt *clusters_part(Context *c, Stmt *root, Stmt *barrier);

#endif
