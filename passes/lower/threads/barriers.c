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
 * Each barrier says what it orders. */
#include "passes/lower/threads/async.h"

#include <stdlib.h>
#include <string.h>

/* The synchronization summary of a statement: how it interacts with statements before and after. */
typedef struct {
    StmtList first;     /* blocks that can run before any barrier inside */
    StmtList last;      /* blocks that can run after the last barrier inside */
    bool barrier;       /* every path through the statement has one */
    StmtList in_flight; /* asynchronous copies without a wait */
    bool open;          /* some of them may be in no group yet: nothing has committed them */
    /* Each iteration of loop `counted` commits one group. At its end, all but the last `pending`
     * groups are complete. `steady` is `counted`, or the outermost loop of a perfect nest down to
     * it. NULL: nothing is known. */
    const Stmt *steady, *counted;
    int pending;
} SyncSummary;

/* Why a barrier is needed: buffers by kind of hazard. */
typedef struct {
    Context *c;
    VEC(Name) buffers[HAZARD_KINDS];
    Hazard example;
    bool any;
    int pending; /* groups of copies that may stay in flight; -1: no wait */
} Reasons;

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
    StmtList passed;        /* loops with a barrier in each iteration */
    VarList divergent;      /* variables whose value differs between the threads of a block */
    const Stmt *divergence; /* the innermost enclosing statement that differs between threads */
    bool bulk;              /* the launch has bulk copies: all threads count groups alike */
    bool failed;
} Barriers;

static Stmt *walk(Barriers *b, Stmt *s, SyncSummary *summary);

/* ---- questions ------------------------------------------------------------------------------- */

static int by_name(const void *x, const void *y)
{
    return strcmp(*(const Name *)x, *(const Name *)y);
}

static void add_reason(void *user, const Hazard *h)
{
    Reasons *r = user;
    if (!r->any)
        r->example = *h;
    r->any = true;
    for (int i = 0; i < r->buffers[h->kind].n; i++)
        if (r->buffers[h->kind].items[i] == h->buffer->name)
            return;
    VEC_PUSH(r->c->arena, &r->buffers[h->kind], h->buffer->name);
}

/* The hazards between blocks that have run and blocks to come. */
static Reasons find_hazards(Barriers *b, const StmtList *before, const StmtList *after,
                            const Stmt *carrier)
{
    Reasons reasons = {.c = b->c, .pending = -1};
    threads_hazards(b->threads, &(BlockPairs){before, after, carrier}, &b->passed, add_reason,
                    &reasons);
    return reasons;
}

/* Adds the copies in flight that conflict with accesses below `s`, or, with a carrier, in a later
 * iteration of it. */
static void find_copy_hazards(Barriers *b, const SyncSummary *summary, Stmt *s, const Stmt *carrier,
                              Reasons *reasons)
{
    Hazard hazard;
    const StmtList *in_flight = &summary->in_flight;
    StmtList blocks = in_flight->n ? stmts_of_kind(b->c, s, ST_BLOCK) : (StmtList){0};
    bool steady = carrier && summary->steady && summary->steady == carrier->u.loop.body;
    const Stmt *counted = steady ? summary->counted : carrier;
    int64_t distance = steady ? summary->pending : INT32_MAX;
    BlockPairs pairs = {in_flight, &blocks, carrier};
    if (!threads_meet(b->threads, &pairs, counted, distance, &hazard))
        return;
    if (!reasons->any)
        add_reason(reasons, &hazard);
    reasons->pending = carrier && !steady ? async_pending(b->threads, &pairs, carrier, s) : 0;
}

/* The barrier at the end of `body`, the innermost of the nest, also waits for copies that outer
 * loops carry, so that their groups are counted through the whole nest. */
static void find_nest_hazards(Barriers *b, const SyncSummary *inner, Stmt *body, const Nest *nest,
                              Reasons *reasons)
{
    Hazard hazard;
    const StmtList *in_flight = &inner->in_flight;
    StmtList blocks = in_flight->n ? stmts_of_kind(b->c, body, ST_BLOCK) : (StmtList){0};
    for (const Nest *outer = nest->outer; outer && reasons->any; outer = outer->outer) {
        BlockPairs pairs = {in_flight, &blocks, outer->loop};
        if (!threads_meet(b->threads, &pairs, nest->loop, INT32_MAX, &hazard))
            continue;
        int pending = async_pending(b->threads, &pairs, nest->loop, body);
        if (pending > 0 && (reasons->pending < 0 || pending < reasons->pending))
            reasons->pending = pending;
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

static void reason_words(StrBuf *out, HazardKind kind, const Stmt *carrier)
{
    static const char *const straight[HAZARD_KINDS] = {
        [HAZARD_RAW] = "written above by other threads, read below",
        [HAZARD_WAR] = "read above by other threads, overwritten below",
        [HAZARD_WAW] = "written above by other threads, written again below",
    };
    static const char *const carried[HAZARD_KINDS] = {
        [HAZARD_RAW] = "written above, read in the next iteration of %s by other threads",
        [HAZARD_WAR] = "read above, overwritten in the next iteration of %s by other threads",
        [HAZARD_WAW] = "written above, written again in the next iteration of %s by other threads",
    };
    if (!carrier) {
        strbuf_add(out, straight[kind]);
        return;
    }
    const char *mark = strstr(carried[kind], "%s");
    strbuf_addn(out, carried[kind], (size_t)(mark - carried[kind]));
    strbuf_add(out, carrier->u.loop.var->name);
    strbuf_add(out, mark + 2);
}

/* It comes from the access that has to wait, and from the step that made the buffer. */
static Stmt *make_barrier(Barriers *b, Reasons *r, const Stmt *carrier)
{
    StrBuf text = strbuf_new(b->c->arena);
    for (HazardKind kind = 0; kind < HAZARD_KINDS; kind++) {
        int n = r->buffers[kind].n;
        if (n == 0)
            continue;
        if (text.length)
            strbuf_add(&text, "; ");
        qsort(r->buffers[kind].items, (size_t)n, sizeof(Name), by_name);
        for (int i = 0; i < n; i++)
            strbuf_addf(&text, "%s%s", i ? ", " : "", r->buffers[kind].items[i]);
        strbuf_add(&text, ": ");
        reason_words(&text, kind, carrier);
    }
    Stmt *barrier = stmt_barrier(b->c, text.text, r->example.second_span);
    barrier->step = r->example.buffer->step;
    if (r->pending < 0)
        return barrier;
    const char *words =
        r->pending == 0 ? "all copies"
        : r->pending == 1
            ? "all copies but those of the last group"
            : arena_printf(b->c->arena, "all copies but those of the last %d groups", r->pending);
    Stmt *wait = stmt_wait(b->c, r->pending, words, r->example.second_span);
    wait->step = r->example.buffer->step;
    return stmt_then(b->c, wait, barrier);
}

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
               "this needs a barrier inside %s, which not all threads of the block would reach",
               what);
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
    for (int i = 0; i < from->n; i++)
        VEC_PUSH(c->arena, to, from->items[i]);
}

/* Extends the summary of `so far` by `next`. */
static void summary_then(Context *c, SyncSummary *so_far, const SyncSummary *next)
{
    if (!so_far->barrier)
        append(c, &so_far->first, &next->first);
    if (next->barrier)
        so_far->last.n = 0;
    append(c, &so_far->last, &next->last);
    append(c, &so_far->in_flight, &next->in_flight);
    so_far->barrier |= next->barrier;
    so_far->open |= next->open;
    so_far->steady = NULL;
}

/* Whether a group ends behind item `i`, which leaves copies without one: `copies` says that the
 * whole sequence makes copies, so that it ends further out. */
static bool group_ends(Context *c, const Stmt *seq, int i, bool copies)
{
    Stmt *const *items = seq->u.seq.items;
    if (!async_only(c, items[i]))
        return true;
    return !copies && (i + 1 == seq->u.seq.n || !async_only(c, items[i + 1]));
}

/* Commits the copies of the statements so far. */
static void close_group(Context *c, SyncSummary *summary, StmtList *out)
{
    Stmt *commit = async_commit(c, out->items[out->n - 1]);
    VEC_PUSH(c->arena, out, commit);
    summary->open = false;
}

static Stmt *walk_seq(Barriers *b, Stmt *s, SyncSummary *summary)
{
    Context *c = b->c;
    StmtList out = {0};
    bool changed = false, copies = async_only(b->c, s); /* then the group ends further out */
    for (int i = 0; i < s->u.seq.n; i++) {
        Stmt *item = s->u.seq.items[i];
        SyncSummary inner = {0};
        Stmt *done = walk(b, item, &inner);
        Reasons reasons = find_hazards(b, &summary->last, &inner.first, NULL);
        find_copy_hazards(b, summary, item, NULL, &reasons);
        if (reasons.any && b->divergence)
            refuse_divergent(b, &reasons);
        if (reasons.pending == 0)
            summary->in_flight.n = 0;
        if (reasons.any) {
            if (summary->open && reasons.pending >= 0)
                close_group(c, summary, &out);
            VEC_PUSH(c->arena, &out, make_barrier(b, &reasons, NULL));
            summary->last.n = 0;
            summary->barrier = true;
        }
        summary_then(c, summary, &inner);
        VEC_PUSH(c->arena, &out, done);
        bool closes = summary->open && group_ends(c, s, i, copies);
        if (closes)
            close_group(c, summary, &out);
        changed |= closes || reasons.any || done != item;
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
    Expr *some =
        expr_binary(b->c, EX_GT, loop_extent(b->c, &s->u.loop), expr_index(b->c, 0), s->span);
    return prove(b->facts, some);
}

/* Records the steady state of the copies in flight after loop `s`, whose iterations end with
 * `reasons`. */
static void note_steady_state(SyncSummary *inner, const Stmt *s, const Reasons *reasons)
{
    bool nest = inner->steady && inner->steady == s->u.loop.body;
    if (reasons->pending > 0) {
        inner->counted = s;
        inner->pending = reasons->pending;
    }
    inner->steady = reasons->pending > 0 || (nest && reasons->pending < 0) ? s : NULL;
}

static Stmt *walk_serial(Barriers *b, Stmt *s, SyncSummary *summary)
{
    Context *c = b->c;
    SyncSummary inner = {0};
    bool runs = runs_at_least_once(b, s);
    const Nest *around = b->nest;
    Nest nest = {s, around && around->loop->u.loop.body == s ? around : NULL};
    FactsMark mark = facts_mark(b->facts);
    facts_enter(b->facts, s);
    b->nest = &nest;
    Stmt *body = walk(b, s->u.loop.body, &inner);
    b->nest = around;
    facts_reset(b->facts, mark);
    if (inner.barrier)
        VEC_PUSH(c->arena, &b->passed, s);
    Reasons reasons = find_hazards(b, &inner.last, &inner.first, s);
    find_copy_hazards(b, &inner, body, s, &reasons);
    find_nest_hazards(b, &inner, body, &nest, &reasons);
    if (reasons.pending == 0)
        inner.in_flight.n = 0;
    note_steady_state(&inner, s, &reasons);
    if (reasons.any && (b->divergence || s->u.loop.kind == LOOP_VECTORIZE)) {
        if (!b->divergence)
            b->divergence = s;
        refuse_divergent(b, &reasons);
    }
    if (reasons.any) {
        if (inner.open && reasons.pending >= 0)
            body = stmt_then(c, body, async_commit(c, body));
        inner.open &= reasons.pending < 0;
        body = stmt_then(c, body, make_barrier(b, &reasons, s));
        inner.last.n = 0;
        if (!inner.barrier)
            VEC_PUSH(c->arena, &b->passed, s);
        inner.barrier = true;
    }
    inner.barrier &= runs;
    *summary = inner;
    return body == s->u.loop.body ? s : loop_with_body(c, s, body);
}

static Stmt *walk_for(Barriers *b, Stmt *s, SyncSummary *summary)
{
    const Stmt *outside = b->divergence;
    int divergent = b->divergent.n;
    Stmt *done;
    bool apart = diverges(b, s);
    if (apart)
        b->divergence = s;
    if (apart || (s->u.loop.kind == LOOP_BIND && axis_is_thread(s->u.loop.axis)))
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
    append(c, &summary->first, &other.first);
    append(c, &summary->last, &other.last);
    append(c, &summary->in_flight, &other.in_flight);
    summary->open |= other.open;
    summary->barrier &= other.barrier;
    summary->steady = NULL;
    b->divergence = outside;
    if (then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    return stmt_stamp(stmt_if(c, s->u.cond.cond, then, otherwise, s->span), s);
}

static Stmt *walk(Barriers *b, Stmt *s, SyncSummary *summary)
{
    switch (s->kind) {
    case ST_SEQ: return walk_seq(b, s, summary);
    case ST_FOR: return walk_for(b, s, summary);
    case ST_IF: return walk_if(b, s, summary);
    case ST_BLOCK:
        VEC_PUSH(b->c->arena, &summary->first, s);
        VEC_PUSH(b->c->arena, &summary->last, s);
        summary->open = block_is_async(&s->u.block);
        if (summary->open && b->bulk && b->divergence)
            refuse_uncounted(b, s);
        if (summary->open)
            VEC_PUSH(b->c->arena, &summary->in_flight, s);
        return s;
    case ST_STORE:
    case ST_TEMP:
    case ST_LET:
    case ST_BARRIER:
    case ST_LAUNCH:
    case ST_INSTRUCTION:
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

static bool has_async(Context *c, Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++)
        if (block_is_async(&blocks.items[i]->u.block))
            return true;
    return false;
}

/* A launch of one thread waits only for its own asynchronous copies. */
static Stmt *barriers_of_launch(LaunchWalk *w, Stmt *root)
{
    if (!async_copies_can(w->c, root))
        return NULL;
    if (!stmt_bound_loop(w->c, root) && !has_async(w->c, root))
        return root;
    Barriers b = {.c = w->c, .facts = w->facts};
    Kernel around = *w->kernel;
    around.body = w->nest;
    b.threads = threads_model(w->c, &around, root);
    Conflict why;
    if (threads_grid_conflict(b.threads, &why)) {
        refuse_grid(w->c, &why);
        return NULL;
    }
    SyncSummary summary = {0};
    b.bulk = async_has_bulk(w->c, root);
    Stmt *done = walk(&b, root, &summary);
    return b.failed || !async_groups_can(w->c, root, done) ? NULL : done;
}

Kernel *pass_insert_barriers(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    LaunchWalk w = {.c = c, .kernel = kernel, .root = barriers_of_launch};
    Stmt *body = launch_roots_map(&w, kernel->body);
    return body ? kernel_with_body(c, kernel, body) : NULL;
}
