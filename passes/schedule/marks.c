/* marks.c - Drops marks that blocks store to distinct elements, after steps that change what the
 * marks are about.
 *
 * A mark says that two instances of a block which differ in its last iterators alone never store
 * to one element (running_count.c, sort_updates.c). Steps keep what a program computes, so a mark
 * stays true while the block keeps its iterators with their domains, and its only store its
 * buffer. It is dropped where a step adds, leaves out or reorders iterators, copies the block, or
 * redirects its store. */
#include "passes/schedule/sched.h"

static bool is_marked(const BlockStmt *block)
{
    return block_distinct(block) > 0;
}

StmtList sched_distinct(Schedule *s)
{
    return s->has_distinct ? blocks_that(s->ctx, s->kernel->body, is_marked) : (StmtList){0};
}

/* The buffer of the block's only store; NULL where it has another number of stores. */
static const Buffer *stored(Context *c, const Stmt *block)
{
    const Buffer *buffer = NULL;
    for (Cursor at = cursor_stmts(c, block); cursor_next(&at);) {
        if (at.stmt->kind != ST_STORE)
            continue;
        if (buffer)
            return NULL;
        buffer = at.stmt->u.store.buffer;
    }
    return buffer;
}

static bool same_iterators(const BlockStmt *a, const BlockStmt *b)
{
    bool same = a->n_iters == b->n_iters;
    for (int i = 0; same && i < a->n_iters; i++)
        same = a->iters[i].var == b->iters[i].var && expr_equal(a->iters[i].lo, b->iters[i].lo) &&
               expr_equal(a->iters[i].hi, b->iters[i].hi);
    return same;
}

static bool keeps_mark(Schedule *s, const StmtList *before, const Stmt *block)
{
    const BlockStmt *now = &block->u.block;
    for (int i = 0; i < before->n; i++) {
        const BlockStmt *old = &before->items[i]->u.block;
        if (old->id != now->id)
            continue;
        const Buffer *a = stored(s->ctx, before->items[i]), *b = stored(s->ctx, block);
        return before->items[i] == block || (same_iterators(old, now) && a && b && a->id == b->id);
    }
    return false;
}

void sched_drop_distinct(Schedule *s, const StmtList *before)
{
    StmtList now = sched_distinct(s);
    for (int i = 0; i < now.n; i++) {
        if (keeps_mark(s, before, now.items[i]))
            continue;
        BlockStmt block = now.items[i]->u.block;
        Name key = ctx_name(s->ctx, annotation_info(ANNOTATION_DISTINCT)->name);
        block.annotations = annotations_without(s->ctx, block.annotations, key);
        sched_replace(s, now.items[i],
                      stmt_stamp(stmt_block(s->ctx, &block, now.items[i]->span), now.items[i]));
    }
}
