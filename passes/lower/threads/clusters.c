/* clusters.c - Checks that a launch uses memory of clusters as their blocks can, and places the
 * barrier behind which these part. */
#include "passes/lower/threads/clusters.h"
#include "ir/instruction.h"

static void refuse_foreign(Context *c, const Access *x)
{
    diag_error(c, E0526, x->span,
               "'%s' is in the memory of a cluster, and its first subscript here is not proved to "
               "be the rank of the block that writes",
               x->buffer->name);
    diag_note(c, x->span,
              "bind the loop that the first subscript comes from to cluster.rank, or make the "
              "buffer's first axis that of the blocks with transform_layout");
}

const ForStmt *clusters_loop(Context *c, const Stmt *root)
{
    for (Cursor at = cursor_outer(c, root); cursor_next(&at);)
        if (stmt_is_bound(at.stmt) && at.stmt->u.loop.axis == AXIS_RANK)
            return &at.stmt->u.loop;
    return NULL;
}

/* The blocks of a cluster of the launch. */
static int64_t blocks_of_cluster(Context *c, const Stmt *root)
{
    int64_t extent;
    const ForStmt *loop = clusters_loop(c, root);
    return loop && loop_const_extent(loop, &extent) ? extent : 1;
}

/* Memory of a cluster has a part in each of its blocks, which the first subscript chooses. */
static bool parts_fit(Context *c, const Buffer *b, int64_t blocks)
{
    int64_t parts = 0;
    if (b->rank > 0 && expr_is_const(b->shape[0], &parts) && parts <= blocks)
        return true;
    Span at = buffer_span(b);
    diag_error(c, E0527, at,
               "'%s' is in the memory of a cluster, which has %lld block%s here, but its first "
               "axis has %lld part%s",
               b->name, (long long)blocks, blocks == 1 ? "" : "s", (long long)parts,
               parts == 1 ? "" : "s");
    diag_note(c, at, "bind the loop over the parts to cluster.rank");
    return false;
}

bool clusters_fit(Context *c, Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        AccessList all = access_list(c, blocks.items[i], NULL, ACCESS_ANY);
        for (int k = 0; k < all.n; k++)
            if (all.items[k].buffer->scope == SCOPE_CLUSTER &&
                !parts_fit(c, all.items[k].buffer, blocks_of_cluster(c, root)))
                return false;
    }
    return true;
}

static bool uses_cluster(Context *c, const Stmt *block, AccessMode mode)
{
    AccessList all = access_list(c, block, NULL, mode);
    for (int k = 0; k < all.n; k++)
        if (all.items[k].buffer->scope == SCOPE_CLUSTER)
            return true;
    return false;
}

bool clusters_used(Context *c, const Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++)
        if (uses_cluster(c, blocks.items[i], ACCESS_ANY))
            return true;
    return false;
}

/* An instruction addresses memory of its own block alone. */
static bool instructions_can(Context *c, Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const Stmt *s = blocks.items[i];
        if (!s->u.block.instruction || !uses_cluster(c, s, ACCESS_ANY))
            continue;
        diag_error(c, E0528, s->span,
                   "instruction '%s' of block '%s' accesses memory of a cluster, but instructions "
                   "address that of their own block only; copy the operand with cache_read first",
                   s->u.block.instruction->kernel->name, s->u.block.name);
        return false;
    }
    return true;
}

const Stmt *clusters_reader(Context *c, const StmtList *blocks)
{
    for (int i = 0; i < blocks->n; i++)
        if (uses_cluster(c, blocks->items[i], ACCESS_READ))
            return blocks->items[i];
    return NULL;
}

/* The last item of a sequence that reads memory of a cluster. */
static int last_reader(Context *c, const Stmt *seq)
{
    int i = seq->u.seq.n - 1;
    for (; i > 0; i--) {
        StmtList blocks = stmts_of_kind(c, seq->u.seq.items[i], ST_BLOCK);
        if (clusters_reader(c, &blocks))
            break;
    }
    return i;
}

static bool is_of_blocks(const Stmt *s)
{
    return stmt_is_bound(s) && axis_is_block(s->u.loop.axis);
}

/* The barrier stands behind the last item that reads, within all loops over blocks. */
static Stmt *part_blocks(Context *c, Stmt *s, Stmt *barrier)
{
    StmtList items = {0};
    if (is_of_blocks(s))
        return loop_with_body(c, s, part_blocks(c, s->u.loop.body, barrier));
    int last = s->kind == ST_SEQ ? last_reader(c, s) : 0;
    for (int i = 0; i < stmt_items(s); i++) {
        Stmt *item = stmt_item(s, i);
        bool inside = i == last && is_of_blocks(item);
        VEC_PUSH(c->arena, &items, inside ? part_blocks(c, item, barrier) : item);
        if (i == last && !inside)
            VEC_PUSH(c->arena, &items, barrier);
    }
    return stmt_seq(c, items.items, items.n, s->span);
}

Stmt *clusters_part(Context *c, Stmt *root, Stmt *barrier)
{
    bool threads = stmt_is_bound(root) && !is_of_blocks(root);
    if (threads)
        return loop_with_body(c, root, clusters_part(c, root->u.loop.body, barrier));
    return part_blocks(c, root, barrier);
}

bool clusters_can(Context *c, Stmt *root, Threads *t)
{
    if (!clusters_fit(c, root) || !instructions_can(c, root))
        return false;
    const Access *foreign = threads_foreign_write(t);
    if (foreign)
        refuse_foreign(c, foreign);
    return !foreign;
}
