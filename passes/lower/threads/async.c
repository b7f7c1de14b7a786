/* async.c - Groups what is asynchronous, copies and instructions, and decides which groups to wait
 * for (see barriers.c).
 *
 *   for ko in n {                                          for ko in n {
 *       if (ko + 3 < n) { copy A(ko + 3); copy B(ko + 3) }      ...
 *       use(ko)                                       =>        commit
 *   }                                                           use(ko)
 *                                                               wait 2; barrier
 *                                                           }
 *
 * Consecutive copies form one group, committed after the outermost statement that contains nothing
 * else, so that every iteration commits as many groups, even if a condition leaves them empty. A
 * wait for copies that have no group yet commits them first. A barrier at the end of such an
 * iteration leaves the latest groups in flight: those of as many iterations as there are between a
 * copy and the first access that can conflict with it.
 *
 * Executions of an instruction with the clauses `commit` and `wait` are counted in the same way:
 * until a wait they may still read their operands, and have not written their registers. */
#include "passes/lower/threads/async.h"

#include <string.h>

#include "ir/copies/bulk_copy.h"
#include "passes/analysis/regions/async_copy.h"

static bool is_of_kind(const BlockStmt *block, FlightKind kind)
{
    return kind == FLIGHT_COPIES   ? block_is_async(block)
           : kind == FLIGHT_STORES ? block_stores_bulk(block)
                                   : instruction_is_async(block->instruction);
}

bool async_only(Context *c, const Stmt *s, FlightKind kind)
{
    bool any = false;
    for (Cursor at = cursor_outer(c, s); cursor_next(&at);) {
        bool member = at.stmt->kind == ST_BLOCK && is_of_kind(&at.stmt->u.block, kind);
        if (!member && (at.stmt->kind == ST_BLOCK || at.stmt->kind == ST_BARRIER))
            return false;
        any |= member;
    }
    return any;
}

Stmt *async_commit(Context *c, const Instruction *of, const Stmt *members)
{
    const char *why = !of          ? "the copies above are one group"
                      : of->stores ? "the stores above are one group"
                                   : "the instructions above are one group";
    return stmt_stamp(stmt_commit(c, of, why, members->span), members);
}

static bool is_commit(const Stmt *s, FlightKind kind)
{
    const Instruction *of = s->kind == ST_BARRIER ? s->u.barrier.of : NULL;
    FlightKind about = !of ? FLIGHT_COPIES : of->stores ? FLIGHT_STORES : FLIGHT_INSTRUCTIONS;
    return s->kind == ST_BARRIER && s->u.barrier.kind == SYNC_COMMIT && about == kind;
}

/* How many groups each run of a statement closes at least; of more, MAX_PENDING + 1. */
static int groups_closed(const Stmt *s, FlightKind kind)
{
    int64_t n = is_commit(s, kind), extent = 0;
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        n += groups_closed(s->u.seq.items[i], kind);
    if (s->kind == ST_FOR && loop_const_extent(&s->u.loop, &extent))
        n = extent * groups_closed(s->u.loop.body, kind);
    return n <= MAX_PENDING ? (int)n : MAX_PENDING + 1;
}

typedef struct {
    Context *c;
    bool waits; /* behind the place: a wait for copies */
} Unwaited;

static bool waits_for_copies(Context *c, Stmt *s)
{
    StmtList found = stmts_of_kind(c, s, ST_BARRIER);
    for (int i = 0; i < found.n; i++)
        if (found.items[i]->u.barrier.kind == SYNC_WAIT && !found.items[i]->u.barrier.of)
            return true;
    return false;
}

/* From the last statement to the first; in a loop, a wait of its next iteration is behind all. */
static Stmt *drop_unwaited(void *user, Stmt *s)
{
    Unwaited *u = user;
    if (s->kind == ST_SEQ) {
        Stmt **items = ARENA_ARRAY(u->c->arena, Stmt *, s->u.seq.n);
        bool changed = false;
        for (int i = s->u.seq.n - 1; i >= 0; i--) {
            items[i] = drop_unwaited(u, s->u.seq.items[i]);
            changed |= items[i] != s->u.seq.items[i];
        }
        return changed ? stmt_seq_like(u->c, s, items, s->u.seq.n) : s;
    }
    bool repeats = s->kind == ST_FOR && s->u.loop.kind != LOOP_BIND;
    if (repeats || s->kind == ST_BARRIER)
        u->waits = u->waits || waits_for_copies(u->c, s);
    if (u->waits && repeats)
        return s;
    if (!u->waits && is_commit(s, FLIGHT_COPIES))
        return stmt_seq(u->c, NULL, 0, s->span);
    return stmt_map_children(u->c, s, drop_unwaited, u);
}

Stmt *async_drop_commits(Context *c, Stmt *launch)
{
    return drop_unwaited(&(Unwaited){.c = c}, launch);
}

int async_apart(Threads *t, const BlockPairs *pairs, const Stmt *counted)
{
    Hazard hazard;
    int pending = 0;
    while (pending < MAX_PENDING && !threads_meet(t, pairs, counted, pending + 1, &hazard))
        pending++;
    return pending;
}

int async_pending(Threads *t, const BlockPairs *pairs, const CountedGroups *groups)
{
    int each = groups_closed(groups->body, groups->kind);
    int apart = each > 0 ? async_apart(t, pairs, groups->counted) : 0;
    return each * apart <= MAX_PENDING ? each * apart : each * (MAX_PENDING / each);
}

/* ---- instructions ---------------------------------------------------------------------------- */

const Instruction *async_queue(Context *c, const Stmt *root)
{
    const Instruction *queue = NULL;
    StmtList blocks = stmts_of_kind(c, (Stmt *)root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const Instruction *of = blocks.items[i]->u.block.instruction;
        if (!instruction_is_async(of))
            continue;
        if (queue && (strcmp(queue->commit, of->commit) != 0 || strcmp(queue->wait, of->wait) != 0))
            return NULL;
        queue = of;
    }
    return queue;
}

/* Some block accesses the buffer in this way, other than by executions of `of`. */
static bool is_touched(Context *c, const Buffer *buffer, AccessMode mode, const Instruction *of,
                       const StmtList *blocks)
{
    for (int i = 0; i < blocks->n; i++)
        if (blocks->items[i]->u.block.instruction != of &&
            stmt_accesses(c, blocks->items[i], buffer, mode))
            return true;
    return false;
}

Name async_registers(Context *c, const StmtList *in_flight, const StmtList *after)
{
    for (int i = 0; i < in_flight->n; i++)
        for (Cursor at = cursor_stmt(c, in_flight->items[i]); cursor_next(&at);) {
            const Buffer *written =
                at.stmt && at.stmt->kind == ST_STORE ? at.stmt->u.store.buffer : NULL;
            const Buffer *read =
                at.expr && at.expr->kind == EX_LOAD ? at.expr->u.load.buffer : NULL;
            const Buffer *held = written ? written : read;
            if (held && held->scope == SCOPE_LOCAL &&
                is_touched(c, held, written ? ACCESS_ANY : ACCESS_WRITE,
                           in_flight->items[i]->u.block.instruction, after))
                return held->name;
        }
    return NULL;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* One thread starts a bulk copy to shared memory: the one whose coordinates are all 0, which also
 * says that a group is complete. Of stores, each thread counts groups of its own. */
static bool bulk_copy_can(Context *c, Stmt *root, const Stmt *block)
{
    StmtPath path = stmt_path_to(c, root, block);
    for (Axis axis = AXIS_THREAD_X; axis <= AXIS_THREAD_Z; axis++) {
        bool every = false;
        const Stmt *loop = thread_loop(c, &path, axis, &every);
        if (!loop)
            continue;
        diag_error(c, E0860, block->span,
                   "one thread starts a bulk copy, but those of loop '%s' on %s share the "
                   "iterations of block '%s'; make the copy in a loop that is not bound to threads",
                   loop->u.loop.var->name, axis_name(axis), block->u.block.name);
        return false;
    }
    return true;
}

/* The buffer that the copy reads and a statement of the launch writes; NULL: there is none. */
static const Buffer *written_source(Context *c, Stmt *root, const Stmt *copy)
{
    StmtList copies = {0};
    for (Cursor at = cursor_stmts(c, copy->u.block.body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE)
            VEC_PUSH(c->arena, &copies, at.stmt);
    for (Cursor at = cursor_stmts(c, root); cursor_next(&at);)
        for (int i = 0; i < copies.n && at.stmt->kind == ST_STORE; i++)
            if (expr_reads(copies.items[i]->u.store.value, at.stmt->u.store.buffer))
                return at.stmt->u.store.buffer;
    return NULL;
}

/* The hardware reads the tensor through the asynchronous proxy, which sees what an earlier launch
 * wrote, and nothing of its own. */
static bool bulk_source_can(Context *c, Stmt *root, const Stmt *block)
{
    const Buffer *from = written_source(c, root, block);
    if (!from)
        return true;
    diag_error(c, E0860, block->span,
               "block '%s' copies from '%s', which the same launch writes; write it in a launch of "
               "its own, before",
               block->u.block.name, from->name);
    return false;
}

bool async_has_any(Context *c, Stmt *root)
{
    return blocks_that(c, root, block_is_async).n > 0;
}

bool async_has_bulk(Context *c, const Stmt *root)
{
    return blocks_that(c, root, block_is_bulk).n > 0;
}

bool async_groups_can(Context *c, const Stmt *root, const Stmt *done)
{
    if (!async_has_bulk(c, root) || copy_groups(done) <= MAX_PENDING)
        return true;
    diag_error(c, E0860, root->span,
               "more than %d groups of copies could be under way here at a time, and each needs an "
               "mbarrier while a bulk copy may be in it; let each iteration use what it has copied",
               MAX_PENDING);
    return false;
}

bool async_copies_can(Context *c, Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        bool bulk = block_is_bulk(block);
        if (bulk && (!bulk_copy_can(c, root, blocks.items[i]) ||
                     !bulk_source_can(c, root, blocks.items[i])))
            return false;
        const char *obstacle =
            block_is_async(block) && !bulk ? async_copy_obstacle(c, block) : NULL;
        if (!obstacle)
            continue;
        diag_error(c, E0440, blocks.items[i]->span, "%s", obstacle);
        diag_note(c, blocks.items[i]->span,
                  "a step after copy_async changed the block; apply copy_async only to blocks that "
                  "still copy at the end");
        return false;
    }
    return true;
}
