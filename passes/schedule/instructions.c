/* instructions.c - Checks after each step that blocks with an instruction compute what it does.
 *
 * Steps may move such a block and change the buffers of its operands. A step that would make it
 * something else is refused, whichever it is. */
#include "passes/schedule/instructions.h"

#include "passes/analysis/threads/launch.h"

/* ---- the match ------------------------------------------------------------------------------- */

const char *sched_access_annotation(const BlockStmt *block)
{
    for (int i = 0; i < block->annotations.n; i++) {
        AnnotationKey key = annotation_key(block->annotations.items[i].key);
        if (key == ANNOTATION_COPY_ASYNC || key == ANNOTATION_COPY_BULK ||
            key == ANNOTATION_STORE_BULK || key == ANNOTATION_CACHE_HINT)
            return block->annotations.items[i].key;
    }
    return NULL;
}

/* The iterator of the block at the end of `path` that is the thread of a warp; NULL: none. */
static const Var *lane_of(Context *c, const StmtPath *path, int64_t lanes)
{
    bool every;
    int64_t extent = 0;
    const Stmt *loop = thread_loop(c, path, AXIS_THREAD_X, &every);
    bool whole = loop && loop_const_extent(&loop->u.loop, &extent) && extent == lanes &&
                 loop_counts_from_zero(&loop->u.loop);
    return whole ? unify_lane(&path_end(path)->u.block, loop->u.loop.var) : NULL;
}

bool sched_matches(Schedule *s, Unify *u, const StmtPath *path, Places places)
{
    const BlockStmt *block = &path_end(path)->u.block;
    u->c = s->ctx;
    u->facts = sched_facts(s, path);
    facts_enter(u->facts, path_end(path));
    u->lane = u->of->lane ? lane_of(s->ctx, path, u->of->lanes) : NULL;
    if (!unify(u, block->body))
        return false;
    u->facts = sched_facts(s, path);
    return places == PLACES_ANY || unify_aligned(u, block_bindings(s->ctx, block), block->n_iters);
}

/* ---- later steps ----------------------------------------------------------------------------- */

static bool has_instruction(const BlockStmt *block)
{
    return block->instruction != NULL;
}

StmtList sched_instructions(Schedule *s)
{
    return s->has_instructions ? blocks_that(s->ctx, s->kernel->body, has_instruction)
                               : (StmtList){0};
}

/* The block is a call of the program that is not an execution yet: its threads are not bound, or an
 * operand is still to be copied. */
static bool is_open(const Schedule *s, const BlockStmt *block)
{
    for (int i = 0; i < s->open_calls.n; i++)
        if (s->open_calls.items[i] == block->id)
            return true;
    return false;
}

void sched_open_calls(Schedule *s)
{
    const StmtList blocks = sched_instructions(s);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        StmtPath path = {0};
        Unify u = {.of = block->instruction};
        stmt_find(s->ctx, s->kernel->body, block->id, &path);
        if (!sched_matches(s, &u, &path, PLACES_ANY))
            VEC_PUSH(s->ctx->arena, &s->open_calls, block->id);
    }
}

static bool still_matches(Schedule *s, const Stmt *stmt, Span span)
{
    StmtPath path = {0};
    const BlockStmt *block = &stmt->u.block;
    Unify u = {.of = block->instruction};
    const char *key = sched_access_annotation(block);
    if (is_open(s, block))
        return true;
    stmt_find(s->ctx, s->kernel->body, block->id, &path);
    bool good = !block->atomic && !key && sched_matches(s, &u, &path, PLACES_ANY);
    return good || sched_refuse(s, E0849, span,
                                "block '%s' would no longer be what instruction '%s' computes: %s; "
                                "run this step before tensorize",
                                block->name, block->instruction->kernel->name,
                                u.why           ? u.why
                                : block->atomic ? "its updates are atomic"
                                                : "it says how to access memory");
}

bool sched_check_instructions(Schedule *s, const StmtList *before, Span span)
{
    if (!s->has_instructions)
        return true;
    StmtList now = sched_instructions(s);
    for (int i = 0; i < before->n; i++) {
        const BlockStmt *block = &before->items[i]->u.block;
        bool kept = false;
        for (int k = 0; k < now.n; k++)
            kept |= now.items[k]->u.block.id == block->id;
        if (!kept)
            return sched_refuse(s, E0849, span,
                                "block '%s', which is instruction '%s', would become another one; "
                                "run this step before tensorize",
                                block->name, block->instruction->kernel->name);
    }
    for (int k = 0; k < now.n; k++) {
        bool same = false;
        for (int i = 0; i < before->n; i++)
            same |= before->items[i] == now.items[k];
        if (!same && !still_matches(s, now.items[k], span))
            return false;
    }
    return true;
}
