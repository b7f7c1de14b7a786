/* thread_readers.c - Decides where a reduction across threads leaves its result, from which threads
 * read it.
 *
 * A result in local memory has a copy for each thread. If thread 0 alone reads it, the first lane
 * stores its copy. If the lanes are in one warp, the partial results are memory of the warp, of
 * which each lane takes element 0: this needs neither shared memory nor a barrier. Several warps
 * hand theirs over in shared memory, and each thread combines them: this needs one barrier, where
 * a result that one warp computes for all needs two. Lanes of a group each store their own copy. */
#include "passes/analysis/threads/launch.h"
#include "passes/shared/threads/thread_reduction.h"

/* The outermost bound loop around the reduction, or the reduction's own nest. */
static Stmt *launch_of(const Apart *a)
{
    for (int i = 0; i < a->anchor; i++)
        if (stmt_is_bound(a->path.items[i]))
            return a->path.items[i];
    return a->path.items[a->anchor];
}

/* All reads of the results in local memory below the statement. */
static AccessList local_reads(const Apart *a, const Stmt *s)
{
    AccessList reads = {0};
    for (int k = 0; k < a->r.n; k++)
        if (a->r.parts[k].target.buffer->scope == SCOPE_LOCAL)
            access_collect(a->c, s, a->r.parts[k].target.buffer, ACCESS_READ, &reads);
    return reads;
}

/* No thread but that of coordinate 0 reads results in local memory. */
static bool first_reads(const Apart *a, const Stmt *root)
{
    Context *c = a->c;
    AccessList reads = local_reads(a, root);
    for (int i = 0; i < reads.n; i++) {
        StmtPath path = {0};
        bool every;
        if (!reads.items[i].block)
            return false;
        if (reads.items[i].block == a->block)
            continue;
        stmt_find(c, (Stmt *)root, reads.items[i].block->id, &path);
        if (thread_loop(c, &path, AXIS_THREAD_X, &every) || every)
            return false;
    }
    return true;
}

/* Every loop over threads along x is 0..n, with the n of the lanes. Lowering refuses unequal ones
 * with a better reason (E0505) than the memory of a warp has. */
static bool lanes_are_coordinates(const Apart *a, const Stmt *root)
{
    for (Cursor at = cursor_outer(a->c, root); cursor_next(&at);) {
        int64_t extent;
        const ForStmt *loop = &at.stmt->u.loop;
        if (at.stmt->kind != ST_FOR || loop->kind != LOOP_BIND || loop->axis != AXIS_THREAD_X)
            continue;
        if (!loop_counts_from_zero(loop) || !loop_const_extent(loop, &extent) ||
            extent != a->extent)
            return false;
    }
    return true;
}

bool lanes_fill_warps(int64_t lanes)
{
    bool power = (lanes & (lanes - 1)) == 0;
    return lanes % WARP == 0 || (lanes < WARP && power);
}

bool reduction_whole_warps(const Apart *a)
{
    return a->lanes->u.loop.axis == AXIS_THREAD_X && lanes_fill_warps(a->extent);
}

ResultPlace reduction_result_place(const Apart *a)
{
    if (!reduction_whole_warps(a))
        return RESULT_SHARED;
    const Stmt *root = launch_of(a);
    if (first_reads(a, root))
        return RESULT_FIRST_LANE;
    if (a->groups.of)
        return RESULT_EACH_LANE;
    bool sends = a->extent == WARP || (a->extent < WARP && !a->r.combiner);
    return sends && lanes_are_coordinates(a, root) ? RESULT_WARP : RESULT_SHARED;
}
