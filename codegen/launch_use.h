/* launch_use.h - Collects what each launch of a lowered kernel uses: arguments, shared memory,
 * barriers. */
#ifndef TIRC_CODEGEN_LAUNCH_USE_H
#define TIRC_CODEGEN_LAUNCH_USE_H

#include "ir/copies/bulk_copy.h"

/* The declarations and uses of a launch, for the module's tables and for the limits of a launch. */
typedef struct {
    const Stmt *launch;
    /* used in global memory, in the order of the kernel's parameters, then temps */
    VEC(Buffer *) buffers;
    /* scalars, sizes and host loop variables used, in the order of first definition */
    VEC(Var *) values;
    VEC(Buffer *) constants;    /* read in constant memory */
    VEC(const Buffer *) shared; /* declared in it */
    int64_t shared_bytes;
    bool shared_is_dynamic; /* more than 48 KB: one extern array, carved up at `shared_offset` */
    VEC(int64_t) shared_offset;
    VEC(int64_t) shared_align; /* of each, in bytes */
    /* some instruction reads or writes shared memory through the asynchronous proxy that threads
     * access as well, behind a barrier or, if the producer of roles copies it, a release */
    bool fences_barriers, fences_releases;
    VEC(BulkBox) boxes; /* of bulk copies, each once */
    bool threads_copy;  /* some copies into shared memory are not bulk copies, or none are */
    int groups;         /* of copies under way at a time, each with an mbarrier; 0: none bulk */
    const Stmt *roles;  /* with them, each group has another one for its release; NULL: none */
    int turns;          /* consumers that take turns have mbarriers of copies of their own; or 1 */
    int64_t groups_offset;         /* in dynamic shared memory, where their mbarriers lie */
    VEC(const Buffer *) in_flight; /* in registers: what asynchronous instructions write */
    int barriers;
} LaunchUse;
typedef VEC(LaunchUse) LaunchUseList;
/* All launches of the kernel, in program order. */
void launch_uses(Context *c, const Kernel *lowered, LaunchUseList *out);
/* Does the launch write this buffer? */
bool launch_writes(Context *c, const LaunchUse *use, const Buffer *buffer);
/* May threads of a block pass values on to each other through it? They read and write it, and meet
 * at a barrier. Its pointer must not be `restrict`, which says that nobody else writes there: a
 * compiler then moves loads of it across the barrier. */
bool launch_exchanges(Context *c, const LaunchUse *use, const Buffer *buffer);
/* A branch reads the buffer, which the launch only reads, and the other branch elements of the same
 * type that the launch writes. nvcc and NVRTC (13.0) make one load of both then, and mark it as one
 * of memory that does not change (ld.global.nc) if the buffer is const __restrict__. */
bool launch_reads_either(Context *c, const LaunchUse *use, const Buffer *buffer);
/* The number of the copy's box among those of the launch. */
int launch_box(const LaunchUse *use, const Stmt *copy);
/* How many mbarriers groups of copies have. */
int launch_mbarriers(const LaunchUse *use);
/* The type that a value is passed as: its own, but i64 for an index that the launch only uses as
 * i64. */
DType launch_value_type(Context *c, const LaunchUse *use, const Var *value);

#endif
