/* roles.h - Says which threads of a launch have which role.
 *
 * The consumers are the launch's block. The producer is the first thread of what stands behind
 * them: the last axis of the block with more than one thread, or x, goes on by a warpgroup. So
 * consumers keep their coordinates. */
#ifndef TIRC_IR_COPIES_ROLES_H
#define TIRC_IR_COPIES_ROLES_H

#include "ir/ir.h"

enum { ROLE_WARP = 32, ROLE_WARPGROUP = 128 };

/* The ST_ROLES of a launch, an item of its body; NULL: its threads have no roles. */
const Stmt *roles_in(const Stmt *body);
const Stmt *launch_roles(const Stmt *launch);
/* How many consumers a launch with roles has. */
int64_t roles_consumers(const LaunchStmt *launch);
/* The axis that goes on. */
Axis roles_axis(const LaunchStmt *launch);
/* Their last axis counts warpgroups. */
bool roles_are_warpgroups(const LaunchStmt *launch);
/* How many of them take turns; 1: all consumers are together. */
int64_t roles_turns(const Stmt *launch);
/* A warpgroup fits behind the consumers: these fill warps, and the axis can go on by as much. */
bool roles_fit(const LaunchStmt *launch);
/* The block with which the launch starts, the producer's warpgroup included. */
void launch_block(const Stmt *launch, int64_t block[3]);

#endif
