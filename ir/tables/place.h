/* place.h - Defines where things are: the memory of a buffer, and the axes of a launch. */
#ifndef TIRC_IR_TABLES_PLACE_H
#define TIRC_IR_TABLES_PLACE_H

#include <stdbool.h>

/* `constant` is global memory that launches only read, through a cache of its own: it holds what
 * another buffer holds when a launch begins. `warp` is memory that the threads of a warp share: it
 * lies in their registers. `cluster` is memory that the blocks of a
 * cluster share: the first subscript is the rank of the block in whose shared memory an element
 * lies. */
typedef enum {
    SCOPE_GLOBAL,
    SCOPE_SHARED,
    SCOPE_LOCAL,
    SCOPE_CONSTANT,
    SCOPE_WARP,
    SCOPE_CLUSTER,
    SCOPE_COUNT
} Scope;
const char *scope_name(Scope scope);
Scope scope_find(const char *name); /* SCOPE_COUNT if there is none */
/* There is one copy of it, which all launches see. */
static inline bool scope_outlives_launch(Scope scope)
{
    return scope == SCOPE_GLOBAL || scope == SCOPE_CONSTANT;
}
/* It lies in the shared memory of a block, or of the blocks of a cluster. */
static inline bool scope_is_shared(Scope scope)
{
    return scope == SCOPE_SHARED || scope == SCOPE_CLUSTER;
}

/* AXIS_RANK tells the blocks of one cluster: lowered, it is a part of blockIdx.x. */
typedef enum {
    AXIS_BLOCK_X,
    AXIS_BLOCK_Y,
    AXIS_BLOCK_Z,
    AXIS_RANK,
    AXIS_THREAD_X,
    AXIS_THREAD_Y,
    AXIS_THREAD_Z,
    AXIS_COUNT,
    AXIS_NONE = AXIS_COUNT
} Axis;
enum { MAX_CLUSTER = 8 };         /* blocks that every GPU with clusters has room for */
const char *axis_name(Axis axis); /* "blockIdx.x" */
Axis axis_find(const char *name); /* AXIS_NONE if there is none */
static inline bool axis_is_thread(Axis a)
{
    return a >= AXIS_THREAD_X && a <= AXIS_THREAD_Z;
}
static inline bool axis_is_block(Axis a)
{
    return a <= AXIS_RANK;
}
/* Threads that differ on this axis share a buffer of this scope. */
static inline bool scope_shared_along(Scope scope, Axis axis)
{
    return scope_outlives_launch(scope) || (scope == SCOPE_SHARED && axis_is_thread(axis)) ||
           (scope == SCOPE_WARP && axis == AXIS_THREAD_X) ||
           (scope == SCOPE_CLUSTER && (axis == AXIS_RANK || axis_is_thread(axis)));
}

#endif
