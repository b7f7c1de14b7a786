/* barriers.c - Inserts barriers where data cross threads, and nowhere else.
 *
 * The walk visits a launch in program order and tracks the blocks that have run since the last
 * barrier. Before each item of a sequence, it pairs these blocks with those that the item can run
 * before any barrier of its own. If two threads can access one element in such a pair, it inserts a
 * barrier before the item. At the end of a serial loop's body it does the same with the loop as
 * carrier. Inserting each barrier as late as its first conflict allows gives the fewest barriers in
 * straight-line code.
 *
 * The values of asynchronous copies are visible only after a wait. A barrier between such a copy
 * and an access that can conflict with it, also by the same thread, has a wait before it (async.c).
 *
 * An instruction that goes on behind its text (async.h) is waited for in the same way: a wait
 * stands in front of a barrier between it and a write to what it reads, and alone in front of an
 * access to the registers that it writes, or a write to those that it reads. Where threads go
 * separate ways, it is waited for at once.
 *
 * A bulk store is waited for in front of what writes where it reads (stores.c).
 *
 * Barriers of clusters order accesses to their memory alone. A walk of its own inserts them first.
 * In the second walk they count as barriers of each block.
 *
 * Where no memory joins two warps or warpgroups, barriers are of these (warps.c).
 *
 * Each barrier says what it orders (reasons.c). */
#include "passes/lower/threads/async.h"
#include "passes/lower/threads/clusters.h"
#include "passes/lower/threads/reasons.h"
#include "passes/lower/threads/stores.h"
#include "passes/lower/threads/turns.h"
#include "passes/lower/threads/warps.h"

/* What a statement leaves without a wait, of one kind. */
typedef struct {
    StmtList blocks;
    bool open; /* some of them may be in no group yet: nothing has committed them */
} Flight;

/* The synchronization summary of a statement: how it interacts with statements before and after. */
typedef struct {
    StmtList first; /* blocks that can run before any barrier inside */
    StmtList last;  /* blocks that can run after the last barrier inside */
    bool barrier;   /* every path through the statement has one */
    Flight flights[FLIGHT_KINDS];
    /* Of copies: each iteration of loop `counted` commits one group. At its end, all but the last
     * `pending` groups are complete. `steady` is `counted`, or the outermost loop of a perfect nest
     * down to it. NULL: nothing is known. */
    const Stmt *steady, *counted;
    int pending;
} SyncSummary;

/* Serial loops around the place, each the whole body of the next one out; innermost first. */
typedef struct Nest {
    const Stmt *loop;
    const struct Nest *outer;
} Nest;

typedef struct {
    Context *c;
    Facts *facts;
    Threads *threads;
    const Nest *nest;
    StmtList passed;          /* loops with a barrier in each iteration */
    VarList divergent;        /* variables whose value differs between the threads of a block */
    const Stmt *divergence;   /* the innermost enclosing statement that differs between threads */
    bool bulk;                /* the launch has bulk copies: all threads count groups alike */
    const Instruction *queue; /* of the groups of instructions; NULL: each is waited for at once */
    SyncKind kind;            /* of the barriers that the walk inserts */
    Roles roles;              /* it is the walk of consumers; no loop: threads have no roles */
    bool failed;
} Barriers;

static Stmt *walk(Barriers *b, Stmt *s, SyncSummary *summary);

/* ---- questions ------------------------------------------------------------------------------- */

/* The hazards between blocks that have run and blocks to come. */
static Reasons find_hazards(Barriers *b, const StmtList *before, const StmtList *after,
                            const Stmt *carrier)
{
    Reasons reasons = reasons_none(b->c);
    threads_hazards(b->threads, &(BlockPairs){before, after, carrier, b->kind}, &b->passed,
                    reasons_add, &reasons);
    return reasons;
}

/* Adds the copies in flight that conflict with accesses below `s`, or, with a carrier, in a later
 * iteration of it. */
static void find_copy_hazards(Barriers *b, const SyncSummary *summary, Stmt *s, const Stmt *carrier,
                              Reasons *reasons)
{
    Hazard hazard;
    const StmtList *in_flight = &summary->flights[FLIGHT_COPIES].blocks;
    StmtList blocks = in_flight->n ? stmts_of_kind(b->c, s, ST_BLOCK) : (StmtList){0};
    bool steady = carrier && summary->steady && summary->steady == carrier->u.loop.body;
    const Stmt *counted = steady ? summary->counted : carrier;
    int64_t distance = steady ? summary->pending : INT32_MAX;
    BlockPairs pairs = {in_flight, &blocks, carrier, SYNC_THREADS};
    if (!threads_meet(b->threads, &pairs, counted, distance, &hazard))
        return;
    if (!reasons->any)
        reasons_add(reasons, &hazard);
    CountedGroups groups = {FLIGHT_COPIES, carrier, s};
    reasons->pending[FLIGHT_COPIES] =
        carrier && !steady ? async_pending(b->threads, &pairs, &groups) : 0;
}

/* Adds the instructions in flight that conflict with accesses below `s`, or, with a carrier, in a
 * later iteration of it: what they read is written, or their registers are touched. */
static void find_instruction_hazards(Barriers *b, const SyncSummary *summary, Stmt *s,
                                     const Stmt *carrier, Reasons *reasons)
{
    Hazard hazard;
    const StmtList *in_flight = &summary->flights[FLIGHT_INSTRUCTIONS].blocks;
    StmtList blocks = in_flight->n ? stmts_of_kind(b->c, s, ST_BLOCK) : (StmtList){0};
    BlockPairs pairs = {in_flight, &blocks, carrier, SYNC_THREADS};
    int *pending = &reasons->pending[FLIGHT_INSTRUCTIONS];
    if (in_flight->n && threads_meet(b->threads, &pairs, carrier, INT32_MAX, &hazard)) {
        if (!reasons->any)
            reasons_add(reasons, &hazard);
        CountedGroups groups = {FLIGHT_INSTRUCTIONS, carrier, s};
        *pending = carrier ? async_pending(b->threads, &pairs, &groups) : 0;
    }
    reasons->registers = async_registers(b->c, in_flight, &blocks);
    if (reasons->registers)
        *pending = 0;
}

/* Adds the writes by any thread, also that of the stores, that `stores` may read before a barrier:
 * the asynchronous proxy sees them behind one only. */
static void find_stored(Barriers *b, const SyncSummary *before, const SyncSummary *after,
                        const Stmt *carrier, Reasons *reasons)
{
    Hazard hazard;
    StmtList stores = stores_among(b->c, &after->first);
    BlockPairs pairs = {&before->last, &stores, carrier, SYNC_THREADS};
    if (stores.n && !reasons->any && threads_meet(b->threads, &pairs, carrier, INT32_MAX, &hazard))
        reasons_add(reasons, &hazard);
}

/* Adds the bulk stores that may still read what `item` writes: those above it in flight, and
 * those of earlier iterations. */
static void find_store_hazards(Barriers *b, const SyncSummary *summary, EarlierStores *earlier,
                               const Stmt *item, Reasons *reasons)
{
    Hazard hazard;
    int *pending = &reasons->pending[FLIGHT_STORES];
    if (summary &&
        stores_meet(b->c, b->threads, &summary->flights[FLIGHT_STORES].blocks, item, &hazard))
        *pending = earlier->left = 0;
    else if (stores_await_earlier(b->threads, earlier, item, &hazard))
        *pending = earlier->left;
    if (*pending >= 0)
        reasons_add(reasons, &hazard);
}

/* The bulk stores of earlier iterations, in front of `body` or its items, if it is that of a serial
 * loop. */
static EarlierStores earlier_stores(Barriers *b, const Stmt *body)
{
    if (!b->nest || b->kind == SYNC_CLUSTER)
        return (EarlierStores){0};
    return stores_of_earlier(b->c, b->nest->loop, body);
}

static bool needs_sync(const Reasons *r)
{
    return r->any || r->pending[FLIGHT_INSTRUCTIONS] >= 0;
}

/* The barrier at the end of `body`, the innermost of the nest, also waits for copies that outer
 * loops carry, so that their groups are counted through the whole nest. */
static void find_nest_hazards(Barriers *b, const SyncSummary *inner, Stmt *body, const Nest *nest,
                              Reasons *reasons)
{
    Hazard hazard;
    const StmtList *in_flight = &inner->flights[FLIGHT_COPIES].blocks;
    int *least = &reasons->pending[FLIGHT_COPIES];
    CountedGroups groups = {FLIGHT_COPIES, nest->loop, body};
    StmtList blocks = in_flight->n ? stmts_of_kind(b->c, body, ST_BLOCK) : (StmtList){0};
    for (const Nest *outer = nest->outer; outer && reasons->any; outer = outer->outer) {
        BlockPairs pairs = {in_flight, &blocks, outer->loop, SYNC_THREADS};
        if (!threads_meet(b->threads, &pairs, nest->loop, INT32_MAX, &hazard))
            continue;
        int pending = async_pending(b->threads, &pairs, &groups);
        if (pending > 0 && (*least < 0 || pending < *least))
            *least = pending;
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Refuses a barrier that only some threads would reach. */
static void refuse_divergent(Barriers *b, const Reasons *r)
{
    const Stmt *s = b->divergence;
    const char *what =
        s->kind == ST_FOR
            ? arena_printf(b->c->arena,
                           "loop '%s', whose number of iterations differs between threads",
                           s->u.loop.var->name)
            : "an 'if' that is true for only some threads";
    diag_error(b->c, E0503, s->span,
               "this needs a barrier inside %s, which not all threads of the %s would reach", what,
               b->kind == SYNC_CLUSTER ? "cluster" : "block");
    diag_note(b->c, r->example.first_span, "'%s' is accessed here (%s) ...",
              r->example.buffer->name, hazard_text(r->example.kind));
    diag_note(b->c, r->example.second_span,
              "... and here by another thread; move both accesses into the %s or both out of it, "
              "or move the condition that differs between threads into the block",
              s->kind == ST_FOR ? "loop" : "if");
    b->failed = true;
}

/* Refuses a copy whose group only some threads would count. */
static void refuse_uncounted(Barriers *b, const Stmt *s)
{
    diag_error(b->c, E0860, s->span,
               "only some threads of the block would reach the end of this group of copies, but "
               "all of them wait for its bulk copies");
    diag_note(b->c, b->divergence->span, "this differs between threads; move it into the block");
    b->failed = true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void append(Context *c, StmtList *to, const StmtList *from)
{
    VEC_APPEND(c->arena, to, from->items, from->n);
}

/* The blocks in flight of two summaries. */
static void append_flights(Context *c, SyncSummary *to, const SyncSummary *from)
{
    for (FlightKind kind = 0; kind < FLIGHT_KINDS; kind++) {
        append(c, &to->flights[kind].blocks, &from->flights[kind].blocks);
        to->flights[kind].open |= from->flights[kind].open;
    }
}

/* Extends the summary of `so far` by `next`. */
static void summary_then(Context *c, SyncSummary *so_far, const SyncSummary *next)
{
    if (!so_far->barrier)
        append(c, &so_far->first, &next->first);
    if (next->barrier)
        so_far->last.n = 0;
    append(c, &so_far->last, &next->last);
    append_flights(c, so_far, next);
    so_far->barrier |= next->barrier;
    so_far->steady = NULL;
}

/* Whether a group ends behind item `i`, which leaves members without one. Where the whole sequence
 * consists of members, it ends further out. */
static bool group_ends(Context *c, const Stmt *seq, int i, FlightKind kind)
{
    Stmt *const *items = seq->u.seq.items;
    if (!async_only(c, items[i], kind))
        return true;
    return !async_only(c, seq, kind) &&
           (i + 1 == seq->u.seq.n || !async_only(c, items[i + 1], kind));
}

/* Commits what the statements so far have left open of the kind. */
static void close_group(Barriers *b, SyncSummary *summary, FlightKind kind, StmtList *out)
{
    const Instruction *of = kind == FLIGHT_INSTRUCTIONS ? b->queue
                            : kind == FLIGHT_STORES     ? bulk_stores(b->c)
                                                        : NULL;
    Stmt *commit = async_commit(b->c, of, out->items[out->n - 1]);
    VEC_PUSH(b->c->arena, out, commit);
    summary->flights[kind].open = false;
}

/* Commits what the body of a loop has left open, of all kinds. */
static Stmt *close_groups(Barriers *b, Stmt *body, SyncSummary *summary)
{
    StmtList out = {0};
    VEC_PUSH(b->c->arena, &out, body);
    for (FlightKind kind = 0; kind < FLIGHT_KINDS; kind++)
        if (summary->flights[kind].open)
            close_group(b, summary, kind, &out);
    return stmt_seq(b->c, out.items, out.n, body->span);
}

/* Adds the waits and the barrier to the statements so far, and commits what they wait for. */
static void synchronize(Barriers *b, SyncSummary *summary, Reasons *r, const Stmt *carrier,
                        StmtList *out)
{
    const Stmt *before = out->n ? out->items[out->n - 1] : NULL;
    for (FlightKind kind = 0; kind < FLIGHT_KINDS; kind++) {
        Flight *flight = &summary->flights[kind];
        if (flight->open && r->pending[kind] >= 0)
            close_group(b, summary, kind, out);
        if (r->pending[kind] == 0)
            flight->blocks.n = 0;
    }
    reasons_append(r, &(SyncPlace){b->kind, b->queue, carrier, before}, out);
    if (r->any)
        summary->last.n = 0;
    summary->barrier |= r->any;
}

/* Commits groups that end behind item `i` of the sequence. */
static bool end_groups(Barriers *b, const Stmt *seq, int i, SyncSummary *summary, StmtList *out)
{
    bool closes = false;
    for (FlightKind kind = 0; kind < FLIGHT_KINDS; kind++)
        if (summary->flights[kind].open && group_ends(b->c, seq, i, kind)) {
            close_group(b, summary, kind, out);
            closes = true;
        }
    return closes;
}

static Stmt *walk_seq(Barriers *b, Stmt *s, SyncSummary *summary)
{
    Context *c = b->c;
    StmtList out = {0};
    bool changed = false;
    EarlierStores earlier = earlier_stores(b, s);
    for (int i = 0; i < s->u.seq.n; i++) {
        Stmt *item = s->u.seq.items[i];
        SyncSummary inner = {0};
        Stmt *done = walk(b, item, &inner);
        Reasons reasons = find_hazards(b, &summary->last, &inner.first, NULL);
        find_copy_hazards(b, summary, item, NULL, &reasons);
        find_instruction_hazards(b, summary, item, NULL, &reasons);
        find_stored(b, summary, &inner, NULL, &reasons);
        find_store_hazards(b, summary, &earlier, item, &reasons);
        if (reasons.any && b->divergence)
            refuse_divergent(b, &reasons);
        if (needs_sync(&reasons))
            synchronize(b, summary, &reasons, NULL, &out);
        summary_then(c, summary, &inner);
        VEC_PUSH(c->arena, &out, done);
        bool closes = end_groups(b, s, i, summary, &out);
        changed |= closes || needs_sync(&reasons) || done != item;
    }
    return changed ? stmt_seq(c, out.items, out.n, s->span) : s;
}

/* Whether only some threads of a block run `s`. */
static bool diverges(const Barriers *b, const Stmt *s)
{
    if (s->kind == ST_IF)
        return expr_uses_any(s->u.cond.cond, b->divergent.items, b->divergent.n);
    return s->u.loop.kind != LOOP_BIND &&
           (expr_uses_any(s->u.loop.lo, b->divergent.items, b->divergent.n) ||
            expr_uses_any(s->u.loop.hi, b->divergent.items, b->divergent.n));
}

static bool runs_at_least_once(Barriers *b, const Stmt *s)
{
    return prove_at_least(b->facts, loop_extent(b->c, &s->u.loop), 1);
}

/* Records the steady state of the copies in flight after loop `s`, whose iterations end with
 * `reasons`. */
static void note_steady_state(SyncSummary *inner, const Stmt *s, const Reasons *reasons)
{
    bool nest = inner->steady && inner->steady == s->u.loop.body;
    int pending = reasons->pending[FLIGHT_COPIES];
    if (pending > 0) {
        inner->counted = s;
        inner->pending = pending;
    }
    inner->steady = pending > 0 || (nest && pending < 0) ? s : NULL;
}

static bool has_roles(const Barriers *b, const Stmt *loop)
{
    return b->roles.loop && b->roles.loop->u.loop.id == loop->u.loop.id;
}

/* Consumers release what they have read, but for what `reasons` says: the last groups of
 * instructions in flight read them. */
static int find_held(Barriers *b, const SyncSummary *inner, Stmt *body, Reasons *reasons)
{
    const StmtList *in_flight = &inner->flights[FLIGHT_INSTRUCTIONS].blocks;
    int *pending = &reasons->pending[FLIGHT_INSTRUCTIONS], held = b->roles.held - 1;
    BlockPairs pairs = {in_flight, &b->roles.copies, b->roles.loop, SYNC_THREADS};
    CountedGroups groups = {FLIGHT_INSTRUCTIONS, b->roles.loop, body};
    if (!in_flight->n || !roles_meet(&b->roles, in_flight, INT32_MAX))
        return 0;
    int most = async_pending(b->roles.threads, &pairs, &groups);
    held = held < most ? held : most;
    *pending = *pending >= 0 && *pending < held ? *pending : held;
    return *pending;
}

/* The body of a serial loop. If it is one statement, stores of earlier iterations are waited for
 * in front of it. */
static Stmt *walk_body(Barriers *b, Stmt *body, SyncSummary *summary)
{
    StmtList out = {0};
    Reasons reasons = reasons_none(b->c);
    Stmt *done = walk(b, body, summary);
    EarlierStores earlier = earlier_stores(b, body);
    if (!earlier.in_items)
        find_store_hazards(b, NULL, &earlier, body, &reasons);
    if (!reasons.any)
        return done;
    reasons_append(&reasons, &(SyncPlace){b->kind, b->queue, NULL, body}, &out);
    VEC_PUSH(b->c->arena, &out, done);
    summary->first.n = 0;
    summary->barrier = true;
    return stmt_seq(b->c, out.items, out.n, body->span);
}

/* Consumers that take turns keep no groups behind the loop: the next ones need all places. */
static Stmt *release_all(Barriers *b, Stmt *loop, SyncSummary *summary)
{
    StmtList out = {0};
    Reasons all = reasons_none(b->c);
    all.pending[FLIGHT_INSTRUCTIONS] = 0;
    VEC_PUSH(b->c->arena, &out, loop);
    synchronize(b, summary, &all, NULL, &out);
    VEC_PUSH(b->c->arena, &out, roles_released(b->c, &b->roles));
    return stmt_seq(b->c, out.items, out.n, loop->span);
}

/* The body of the loop that the nest ends in. */
static Stmt *walk_nest(Barriers *b, const Nest *nest, SyncSummary *inner)
{
    const Nest *around = b->nest;
    FactsMark mark = facts_mark(b->facts);
    facts_enter(b->facts, nest->loop);
    b->nest = nest;
    Stmt *body = walk_body(b, nest->loop->u.loop.body, inner);
    b->nest = around;
    facts_reset(b->facts, mark);
    return body;
}

/* What threads wait for between two iterations. */
static Reasons find_carried(Barriers *b, SyncSummary *inner, Stmt *body, const Nest *nest)
{
    Reasons reasons = find_hazards(b, &inner->last, &inner->first, nest->loop);
    find_copy_hazards(b, inner, body, nest->loop, &reasons);
    find_nest_hazards(b, inner, body, nest, &reasons);
    find_instruction_hazards(b, inner, body, nest->loop, &reasons);
    find_stored(b, inner, inner, nest->loop, &reasons);
    return reasons;
}

/* Threads that do not run the loop together cannot wait in it. */
static void require_together(Barriers *b, const Stmt *s, const Reasons *reasons)
{
    if (!reasons->any || (!b->divergence && s->u.loop.kind != LOOP_VECTORIZE))
        return;
    if (!b->divergence)
        b->divergence = s;
    refuse_divergent(b, reasons);
}

static Stmt *walk_serial(Barriers *b, Stmt *s, SyncSummary *summary)
{
    Context *c = b->c;
    SyncSummary inner = {0};
    const Nest *around = b->nest;
    Nest nest = {s, around && around->loop->u.loop.body == s ? around : NULL};
    bool runs = runs_at_least_once(b, s), roles = has_roles(b, s);
    Stmt *body = walk_nest(b, &nest, &inner);
    bool passes_barrier = inner.barrier;
    if (roles)
        body = close_groups(b, body, &inner);
    if (passes_barrier)
        VEC_PUSH(c->arena, &b->passed, s);
    Reasons reasons = find_carried(b, &inner, body, &nest);
    int held = roles ? find_held(b, &inner, body, &reasons) : 0;
    note_steady_state(&inner, s, &reasons);
    require_together(b, s, &reasons);
    if (needs_sync(&reasons)) {
        StmtList out = {0};
        VEC_PUSH(c->arena, &out, body);
        synchronize(b, &inner, &reasons, s, &out);
        body = stmt_seq(c, out.items, out.n, body->span);
    }
    if (reasons.any && !passes_barrier)
        VEC_PUSH(c->arena, &b->passed, s);
    if (roles)
        body = roles_body(c, &b->roles, body, held);
    inner.barrier &= runs;
    *summary = inner;
    Stmt *done = body == s->u.loop.body ? s : loop_with_body(c, s, body);
    return held > 0 && b->roles.turns ? release_all(b, done, summary) : done;
}

/* Threads that meet at a barrier differ on the axis. */
static bool tells_threads(const Barriers *b, Axis axis)
{
    return axis_is_thread(axis) || (axis == AXIS_RANK && b->kind == SYNC_CLUSTER);
}

static Stmt *walk_for(Barriers *b, Stmt *s, SyncSummary *summary)
{
    const Stmt *outside = b->divergence;
    int divergent = b->divergent.n;
    Stmt *done;
    bool apart = diverges(b, s);
    if (apart)
        b->divergence = s;
    if (apart || (s->u.loop.kind == LOOP_BIND && tells_threads(b, s->u.loop.axis)))
        VEC_PUSH(b->c->arena, &b->divergent, s->u.loop.var);
    if (s->u.loop.kind == LOOP_BIND) {
        FactsMark mark = facts_mark(b->facts);
        facts_enter(b->facts, s);
        Stmt *body = walk(b, s->u.loop.body, summary);
        facts_reset(b->facts, mark);
        done = body == s->u.loop.body ? s : loop_with_body(b->c, s, body);
    } else {
        done = walk_serial(b, s, summary);
    }
    b->divergence = outside;
    b->divergent.n = divergent;
    return done;
}

/* Threads that take different branches run them at the same time: no barrier stands between. */
static Stmt *walk_if(Barriers *b, Stmt *s, SyncSummary *summary)
{
    Context *c = b->c;
    const Stmt *outside = b->divergence;
    if (diverges(b, s))
        b->divergence = s;
    SyncSummary other = {0};
    Stmt *then = walk(b, s->u.cond.then, summary), *otherwise = s->u.cond.otherwise;
    if (otherwise)
        otherwise = walk(b, otherwise, &other);
    if (diverges(b, s)) {
        Reasons reasons = find_hazards(b, &summary->last, &other.first, NULL);
        if (reasons.any)
            refuse_divergent(b, &reasons);
    }
    append(c, &summary->first, &other.first);
    append(c, &summary->last, &other.last);
    append_flights(c, summary, &other);
    summary->barrier &= other.barrier;
    summary->steady = NULL;
    b->divergence = outside;
    if (then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    return stmt_stamp(stmt_if(c, s->u.cond.cond, then, otherwise, s->span), s);
}

static void take_off(Barriers *b, Stmt *block, FlightKind kind, SyncSummary *summary)
{
    summary->flights[kind].open = true;
    VEC_PUSH(b->c->arena, &summary->flights[kind].blocks, block);
}

/* An instruction and the wait for it. */
static Stmt *wait_at_once(Barriers *b, Stmt *block)
{
    const Instruction *of = block->u.block.instruction;
    Stmt *wait = stmt_wait(b->c, of, 0, "all instructions, at once", block->span);
    Stmt *items[] = {block, async_commit(b->c, of, block), stmt_stamp(wait, block)};
    return stmt_seq(b->c, items, 3, block->span);
}

static Stmt *walk_block(Barriers *b, Stmt *s, SyncSummary *summary)
{
    const BlockStmt *block = &s->u.block;
    bool stores = block_stores_bulk(block) && b->kind != SYNC_CLUSTER;
    VEC_PUSH(b->c->arena, &summary->first, s);
    if (!stores) /* what it reads is not overwritten before a wait, and a barrier behind that */
        VEC_PUSH(b->c->arena, &summary->last, s);
    if (b->kind == SYNC_CLUSTER) /* copies and instructions access no memory of clusters */
        return s;
    if (block_is_async(block)) {
        if (b->bulk && b->divergence)
            refuse_uncounted(b, s);
        take_off(b, s, FLIGHT_COPIES, summary);
    }
    if (stores) {
        if (b->divergence)
            refuse_uncounted(b, s);
        take_off(b, s, FLIGHT_STORES, summary);
    }
    if (!instruction_is_async(block->instruction))
        return s;
    if (b->divergence || !b->queue)
        return wait_at_once(b, s);
    take_off(b, s, FLIGHT_INSTRUCTIONS, summary);
    return s;
}

static Stmt *walk(Barriers *b, Stmt *s, SyncSummary *summary)
{
    switch (s->kind) {
    case ST_SEQ: return walk_seq(b, s, summary);
    case ST_FOR: return walk_for(b, s, summary);
    case ST_IF: return walk_if(b, s, summary);
    case ST_BLOCK: return walk_block(b, s, summary);
    case ST_BARRIER: /* of clusters */ summary->barrier = true; return s;
    case ST_STORE:
    case ST_TEMP:
    case ST_LET:
    case ST_LAUNCH:
    case ST_INSTRUCTION:
    case ST_ROLES:
    case ST_BREAK: return s;
    }
    return s;
}

static void refuse_grid(Context *c, const Conflict *why)
{
    diag_error(
        c, E0504, why->first_span,
        "blocks of one launch cannot synchronize, but two of them access %s (%s): at %s and at %s",
        why->element, hazard_text(why->kind), why->first_at, why->second_at);
    diag_note(c, why->second_span,
              "the second access; give it a launch of its own, or do not bind the loop that "
              "separates the two");
}

/* ---- clusters -------------------------------------------------------------------------------- */

/* Inserts the barriers of clusters. The last one keeps the memory of each block until the others
 * have read it. */
static Stmt *barriers_of_clusters(Barriers *b, Stmt *root)
{
    if (!clusters_used(b->c, root))
        return root;
    if (!clusters_can(b->c, root, b->threads))
        return NULL;
    if (!stmt_bound_loop(b->c, root)) /* a cluster of one block */
        return root;
    SyncSummary summary = {0};
    b->kind = SYNC_CLUSTER;
    Stmt *done = walk(b, root, &summary);
    b->passed.n = 0;
    const Stmt *reader = clusters_reader(b->c, &summary.last);
    if (b->failed || !reader)
        return b->failed ? NULL : done;
    Stmt *last = stmt_barrier(b->c, SYNC_CLUSTER,
                              "other blocks read the memory of this one above, which ends with it",
                              reader->span);
    return clusters_part(b->c, done, stmt_stamp(last, reader));
}

/* A model of the launch `root` as `now`. */
static Threads *model_of(LaunchWalk *w, Stmt *root, Stmt *now)
{
    Kernel *around = ARENA_NEW(w->c->arena, Kernel); /* the model refers to it */
    *around = *w->kernel;
    around->body = now == root ? w->nest : stmt_replace(w->c, w->nest, root, now);
    return threads_model(w->c, around, now);
}

/* All that a launch, or its consumers, waits for; NULL after a refusal. */
static Stmt *walk_launch(Barriers *b, Stmt *root)
{
    SyncSummary summary = {0};
    b->bulk = async_has_bulk(b->c, root);
    b->queue = async_queue(b->c, root);
    /* all threads count groups of bulk copies, and meet behind each wait (codegen/cuda/bulk.c) */
    b->kind = b->roles.turns ? SYNC_WARPGROUP : b->bulk ? SYNC_THREADS : warps_meet(b->threads);
    Stmt *done = walk(b, root, &summary);
    if (!b->bulk) /* threads of a block count the groups of bulk copies */
        done = async_drop_commits(b->c, done);
    done = stores_end(b->c, done, &summary.flights[FLIGHT_STORES].blocks);
    return b->failed || !async_groups_can(b->c, root, done) ? NULL : done;
}

/* A launch of one thread waits only for its own asynchronous copies. */
static Stmt *barriers_of_launch(LaunchWalk *w, Stmt *whole)
{
    Stmt *root = roles_share(w->c, whole);
    if (!async_copies_can(w->c, root))
        return NULL;
    if (!stmt_bound_loop(w->c, root) && !async_has_any(w->c, root) && !stores_below(w->c, root).n)
        return clusters_fit(w->c, root) ? root : NULL;
    Barriers b = {.c = w->c, .facts = w->facts};
    b.threads = model_of(w, whole, root);
    Conflict why;
    if (threads_grid_conflict(b.threads, &why)) {
        refuse_grid(w->c, &why);
        return NULL;
    }
    if (!stores_can(w->c, root, b.threads))
        return NULL;
    Stmt *parted = barriers_of_clusters(&b, root);
    if (!parted)
        return NULL;
    if (parted != root)
        b.threads = model_of(w, whole, parted);
    b.kind = SYNC_THREADS;
    if (!roles_find(w->c, parted, b.threads, &b.roles))
        return NULL;
    if (!b.roles.loop)
        return walk_launch(&b, parted);
    Stmt *consumers = roles_consumers_of(w->c, &b.roles, parted);
    b.threads = model_of(w, whole, consumers);
    consumers = walk_launch(&b, consumers);
    return consumers ? roles_join(w->c, &b.roles, parted, consumers) : NULL;
}

Kernel *pass_insert_barriers(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    LaunchWalk w = {.c = c, .kernel = kernel, .root = barriers_of_launch};
    if (!warps_bound(c, kernel->body) || !turns_in_launches(c, kernel->body))
        return NULL;
    Stmt *body = launch_roots_map(&w, kernel->body);
    return body ? kernel_with_body(c, kernel, body) : NULL;
}
