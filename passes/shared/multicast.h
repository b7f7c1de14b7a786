/* multicast.h - Decides whether the blocks of a cluster can share a bulk copy, and divides it among
 * them. */
#ifndef TIRC_PASSES_SHARED_MULTICAST_H
#define TIRC_PASSES_SHARED_MULTICAST_H

#include "ir/ir.h"

/* A bulk copy that the blocks of a cluster share (multicast). */
bool block_is_multicast(const BlockStmt *block);

/* The outermost loop of the path over the blocks of a cluster; NULL: there is none. */
const ForStmt *multicast_ranks(const StmtPath *path);

/* The bulk copy at the end of `path`, which holds the loop over the blocks of the cluster: why
 * these cannot share it, in words; NULL: all of them copy the same elements to the same place in
 * the same iterations, and each can copy an equal part. */
const char *multicast_obstacle(Context *c, const StmtPath *path);

/* Such a copy of the block's part alone: the outermost loop of its nest divided by the iterations
 * of `ranks`, the loop over the blocks of the cluster. */
Stmt *multicast_part(Context *c, Stmt *copy, const ForStmt *ranks);
/* The copy of a block that shares it with no other. */
Stmt *multicast_alone(Context *c, Stmt *copy);

#endif
