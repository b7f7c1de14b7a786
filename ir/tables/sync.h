/* sync.h - Lists what threads of a launch wait for (part of ir.h). */
#ifndef TIRC_IR_TABLES_SYNC_H
#define TIRC_IR_TABLES_SYNC_H

#include <stdbool.h>

/* The kinds of synchronization. */
typedef enum {
    SYNC_THREADS,   /* the other threads of its block: __syncthreads */
    SYNC_WARPGROUP, /* those of its warpgroup, in shared memory: 128 threads with consecutive
                       numbers, of which the block has whole ones */
    SYNC_WARP,      /* those of its warp, likewise */
    SYNC_CLUSTER,   /* all threads of the blocks of its cluster */
    SYNC_COMMIT,    /* its asynchronous stores, or instructions, since the last commit become one
                     group */
    SYNC_WAIT,      /* its groups, but for the `pending` latest, are done; pending <= MAX_PENDING */
    /* In the parts of ST_ROLES. The groups are those of bulk copies that the producer commits. */
    SYNC_ACQUIRE, /* the producer: with the group that begins here, at most `pending` are not
                     released */
    SYNC_RECEIVE, /* a consumer: the next group has landed */
    SYNC_RELEASE, /* a consumer has read the groups that it has received, but for the `pending`
                     latest: others may take their places */
    SYNC_RELEASE_CLUSTER, /* the same, to the producers of all blocks of its cluster */
} SyncKind;
enum { MAX_PENDING = 31, MAX_TURN = 65536 };
/* Threads meet: a barrier. */
static inline bool sync_meets(SyncKind kind)
{
    return kind <= SYNC_CLUSTER;
}
/* Only threads of a part of the block meet. */
static inline bool sync_is_part(SyncKind kind)
{
    return kind == SYNC_WARPGROUP || kind == SYNC_WARP;
}
/* Which of the block's threads meet, as text has it; NULL: all. */
static inline const char *sync_word(SyncKind kind)
{
    return kind == SYNC_WARPGROUP ? "warpgroup" : kind == SYNC_WARP ? "warp" : NULL;
}
static inline bool sync_releases(SyncKind kind)
{
    return kind == SYNC_RELEASE || kind == SYNC_RELEASE_CLUSTER;
}
/* It says of how many groups: it has a `pending`. */
static inline bool sync_counts(SyncKind kind)
{
    return kind == SYNC_WAIT || kind == SYNC_ACQUIRE || sync_releases(kind);
}

#endif
