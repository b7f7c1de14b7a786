/* roles.c - Splits a launch into the roles of a producer and consumers.
 *
 *   for ko in n {                           producer {
 *       copy A(ko)                              for ko in n {
 *       use(ko)                                     acquire 4
 *   }                                               copy A(ko)
 *                                                   commit
 *                                 =>            }
 *                                           } consumers {
 *                                               for ko in n {
 *                                                   receive
 *                                                   use(ko)
 *                                                   wait 1; release 1
 *                                               }
 *                                           }
 *
 * The copies of an iteration are one group. Consumers receive the group of an iteration before they
 * use it, and release it when they have: where instructions in flight still read what is copied, so
 * many iterations later as may be in flight. A place of the circular buffers is copied into again
 * some iterations later, as many as the buffers have parts. So many groups the producer may have
 * begun that are not released: the distance, in iterations, between an access and a copy that can
 * conflict with it (threads_meet).
 *
 * Each role goes through the loops by itself, so all conditions and ranges on the way to the copies
 * are the same for all threads (passes/shared/roles.c).
 *
 * Where the blocks of a cluster share a copy, each producer copies its part into the memory of all
 * of them. They are in the same iterations of the same loops (passes/shared/multicast.c), so what
 * holds of a block's own copy holds of those of the others: a place is free when the consumers of
 * all blocks have released it, which they do to all producers. Barriers of the cluster keep all
 * blocks there from the first copy to the last release.
 *
 * Memory of a cluster is accessed behind the loop, when the producer has ended. */
#include "passes/lower/threads/roles.h"

#include "passes/lower/threads/clusters.h"
#include "passes/lower/threads/turns.h"
#include "passes/shared/multicast.h"
#include "passes/shared/roles.h"

/* ---- what there is --------------------------------------------------------------------------- */

static bool refuse(Context *c, const Stmt *at, const char *why)
{
    diag_error(c, E0861, at->span, "the copies of loop '%s' cannot have warps of their own: %s",
               at->u.loop.var->name, why);
    return false;
}

static const char *names_of(Context *c, const StmtList *copies)
{
    VEC(Name) names = {0};
    StrBuf text = strbuf_new(c->arena);
    for (int i = 0; i < copies->n; i++)
        for (Cursor at = cursor_stmts(c, copies->items[i]->u.block.body); cursor_next(&at);) {
            Name name = at.stmt->kind == ST_STORE ? at.stmt->u.store.buffer->name : NULL;
            for (int k = 0; k < names.n; k++)
                if (names.items[k] == name)
                    name = NULL;
            if (!name)
                continue;
            strbuf_addf(&text, "%s%s", names.n ? ", " : "", name);
            VEC_PUSH(c->arena, &names, name);
        }
    return text.text;
}

/* Within an iteration of the loop, or of one in it, what is copied is used behind its copy, and
 * copied once. */
static bool in_order_of(Context *c, Threads *t, const Roles *roles, const Stmt *carrier)
{
    Hazard hazard;
    BlockPairs pairs = {&roles->blocks, &roles->copies, carrier, SYNC_THREADS};
    if (!threads_meet(t, &pairs, carrier, INT32_MAX, &hazard))
        return true;
    refuse(c, roles->loop,
           arena_printf(c->arena, "an iteration copies into '%s' behind another access to it",
                        hazard.buffer->name));
    diag_note(c, hazard.first_span, "the access");
    return false;
}

static bool in_order(Context *c, Threads *t, const Roles *roles)
{
    bool good = in_order_of(c, t, roles, NULL);
    for (Cursor at = cursor_outer(c, roles->loop->u.loop.body); good && cursor_next(&at);)
        if (at.stmt->kind == ST_FOR && at.stmt->u.loop.kind != LOOP_BIND)
            good = in_order_of(c, t, roles, at.stmt);
    return good;
}

bool roles_meet(const Roles *roles, const StmtList *blocks, int64_t distance)
{
    for (int i = 0; i < roles->path.n; i++) {
        const Stmt *carrier = roles->path.items[i];
        BlockPairs pairs = {blocks, &roles->copies, carrier, SYNC_THREADS};
        Hazard hazard;
        if (carrier->kind == ST_FOR && carrier->u.loop.kind != LOOP_BIND &&
            threads_meet(roles->threads, &pairs, roles->loop, distance, &hazard))
            return true;
    }
    return false;
}

/* For so many iterations, no copy takes a place that this one has used. */
static int room_of(const Roles *roles)
{
    int room = 1;
    while (room < MAX_PENDING && !roles_meet(roles, &roles->blocks, room))
        room++;
    return room;
}

/* ---- copies that the blocks of a cluster share ----------------------------------------------- */

static bool refuse_shared(Context *c, const Stmt *copy, const char *why)
{
    diag_error(c, E0862, copy->span,
               "the blocks of a cluster cannot share the copy of block '%s': %s",
               copy->u.block.name, why);
    return false;
}

/* Barriers of the cluster stand inside all loops over blocks, and outside those over threads. */
static const char *order_obstacle(Context *c, const StmtPath *path)
{
    const Stmt *threads = NULL;
    for (int i = 0; i < path->n; i++) {
        const Stmt *at = path->items[i];
        bool of_blocks = stmt_is_bound(at) && axis_is_block(at->u.loop.axis);
        threads = !threads && stmt_is_bound(at) && !of_blocks ? at : threads;
        if (threads && of_blocks)
            return arena_printf(c->arena,
                                "loop '%s', bound to %s, contains loop '%s', bound to %s; reorder "
                                "them, so that loops over blocks are outermost",
                                threads->u.loop.var->name, axis_name(threads->u.loop.axis),
                                at->u.loop.var->name, axis_name(at->u.loop.axis));
    }
    return NULL;
}

/* Why the blocks of the cluster around the loop at the end of `path` do not share the copy. */
static const char *sharing_obstacle(Context *c, Stmt *root, const Stmt *copy, const StmtPath *path)
{
    if (!multicast_ranks(path))
        return arena_printf(c->arena, "no loop around '%s' is bound to cluster.rank",
                            path_end(path)->u.loop.var->name);
    const char *order = order_obstacle(c, path);
    StmtPath way = stmt_path_to(c, root, copy);
    return order ? order : multicast_obstacle(c, &way);
}

/* Finds the loop over the blocks that share copies. False after a refusal. */
static bool find_ranks(Context *c, Stmt *root, Roles *out)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        if (!block_is_multicast(&blocks.items[i]->u.block))
            continue;
        const char *obstacle = sharing_obstacle(c, root, blocks.items[i], &out->path);
        if (obstacle)
            return refuse_shared(c, blocks.items[i], obstacle);
        out->ranks = multicast_ranks(&out->path);
    }
    return true;
}

static Stmt *copy_alone(Rewriter *r, Stmt *s)
{
    return s->kind == ST_BLOCK && block_is_multicast(&s->u.block) ? multicast_alone(r->ctx, s) : s;
}

Stmt *roles_share(Context *c, Stmt *root)
{
    bool producer = loops_marked(c, root, ANNOTATION_SPECIALIZE_WARPS).n > 0;
    int64_t blocks = 1;
    const ForStmt *ranks = clusters_loop(c, root);
    if (producer && (!ranks || !loop_const_extent(ranks, &blocks) || blocks > 1))
        return root;
    return rewrite_stmt(&(Rewriter){.ctx = c, .stmt = copy_alone}, root);
}

/* All times of the loop: it, or the outermost serial loop around it. */
static const Stmt *all_times(const StmtPath *path)
{
    int i = 0;
    while (stmt_is_bound(path->items[i]) || path->items[i]->kind != ST_FOR)
        i++;
    return path->items[i];
}

/* A barrier of the cluster that stands in front of a statement, or in it. */
static const Stmt *barrier_until(Context *c, Stmt *root, const Stmt *until)
{
    for (Cursor at = cursor_outer(c, until); cursor_next(&at);)
        if (at.stmt->kind == ST_BARRIER)
            return at.stmt;
    for (Cursor at = cursor_outer(c, root); cursor_next(&at) && at.stmt != until;)
        if (at.stmt->kind == ST_BARRIER)
            return at.stmt;
    return NULL;
}

/* Consumers meet the barriers of a cluster by themselves: the hardware does not wait for threads
 * that have ended, as the producer has when all copies have been received. Producers that share
 * copies meet barriers of their own. */
static bool barriers_can(Context *c, Stmt *root, const Roles *roles)
{
    if (!clusters_used(c, root))
        return true;
    if (roles->ranks)
        return refuse(c, roles->loop,
                      "blocks of the launch share copies, and access memory of a cluster, whose "
                      "barriers a producer does not meet; leave out multicast");
    const Stmt *early = barrier_until(c, root, all_times(&roles->path));
    if (!early)
        return true;
    refuse(c, roles->loop,
           "blocks of the launch access memory of a cluster before they have all copies, and the "
           "barriers of the cluster would wait for the producer; access it behind the loop, or "
           "set_scope it to global, in a launch of its own");
    diag_note(c, early->span, "%s", early->u.barrier.why);
    return false;
}

bool roles_find(Context *c, Stmt *root, Threads *t, Roles *out)
{
    StmtList marked = loops_marked(c, root, ANNOTATION_SPECIALIZE_WARPS);
    if (marked.n > 1)
        return refuse(c, marked.items[1], "another loop of the launch has them already");
    if (marked.n == 0)
        return turns_find(c, root, out);
    out->loop = marked.items[0];
    out->path = stmt_path_to(c, root, out->loop);
    if (!find_ranks(c, root, out))
        return false;
    const char *obstacle = roles_obstacle(c, &out->path);
    if (obstacle)
        return refuse(c, out->loop, obstacle);
    if (!barriers_can(c, root, out))
        return false;
    out->threads = t;
    out->blocks = stmts_of_kind(c, out->loop, ST_BLOCK);
    out->copies = blocks_that(c, out->loop, block_is_bulk);
    out->held = (int)annotation_int(out->loop->u.loop.annotations, ANNOTATION_SPECIALIZE_WARPS);
    out->names = names_of(c, &out->copies);
    if (!in_order(c, t, out))
        return false;
    out->room = room_of(out);
    out->all = stmts_of_kind(c, root, ST_BLOCK);
    if (!turns_find(c, root, out))
        return false;
    return out->held <= out->room ||
           refuse(c, out->loop,
                  arena_printf(c->arena,
                               "its buffers have room for the copies of %d iteration%s, and "
                               "consumers hold those of %d; where a loop around repeats it, the "
                               "number of its iterations must be a multiple of the stages",
                               out->room, out->room == 1 ? "" : "s", out->held));
}

/* ---- the two parts --------------------------------------------------------------------------- */

typedef struct {
    Context *c;
    const Roles *roles;
} Part;

/* A loop with another body and without the mark of a primitive. */
static Stmt *unmarked(Context *c, const Stmt *marked, AnnotationKey mark, Stmt *body)
{
    ForStmt loop = marked->u.loop;
    loop.annotations =
        annotations_without(c, loop.annotations, ctx_name(c, annotation_info(mark)->name));
    loop.body = body;
    return stmt_stamp(stmt_for(c, &loop, marked->span), marked);
}

static Stmt *without_copies(void *user, Stmt *s)
{
    const Part *p = user;
    if (s->kind == ST_BLOCK)
        return block_is_bulk(&s->u.block) ? NULL : s;
    Stmt *rest = stmt_map_children(p->c, s, without_copies, user);
    if (!rest || s != p->roles->loop)
        return rest;
    return unmarked(p->c, s, ANNOTATION_SPECIALIZE_WARPS, rest->u.loop.body);
}

Stmt *roles_consumers_of(Context *c, const Roles *roles, Stmt *root)
{
    Part part = {c, roles};
    Stmt *rest = without_copies(&part, root);
    return rest ? rest : stmt_empty(c, root->span);
}

static Stmt *hand_over(const Part *p, SyncKind kind, int pending, const char *why)
{
    Stmt *s = stmt_hand_over(p->c, kind, pending,
                             arena_printf(p->c->arena, "%s: %s", p->roles->names, why),
                             p->roles->loop->span);
    return stmt_stamp(s, p->roles->loop);
}

/* What the producer does in an iteration. */
static Stmt *producers_body(const Part *p, Stmt *copies)
{
    Context *c = p->c;
    const char *why =
        arena_printf(c->arena, "consumers %shave read the group of %d iteration%s of %s before",
                     p->roles->ranks ? "of all blocks of the cluster " : "", p->roles->room,
                     p->roles->room == 1 ? "" : "s", p->roles->loop->u.loop.var->name);
    Stmt *items[] = {
        hand_over(p, SYNC_ACQUIRE, p->roles->room, why), copies,
        stmt_stamp(stmt_commit(c, NULL, "the copies above are one group", copies->span), copies)};
    return stmt_seq(c, items, 3, copies->span);
}

static Stmt *part_of_copy(const Part *p, Stmt *copy)
{
    return block_is_multicast(&copy->u.block) ? multicast_part(p->c, copy, p->roles->ranks) : copy;
}

/* The copies, and the loops and conditions on the way to them, none of them a thread's. */
static Stmt *only_copies(void *user, Stmt *s)
{
    const Part *p = user;
    if (s->kind == ST_BLOCK)
        return block_is_bulk(&s->u.block) ? part_of_copy(p, s) : NULL;
    if (s->kind == ST_TEMP || s->kind == ST_BARRIER)
        return NULL;
    Stmt *done = stmt_map_children(p->c, s, only_copies, user);
    if (done && stmt_is_thread_loop(s))
        return done->u.loop.body;
    if (done && s == p->roles->turns)
        return unmarked(p->c, s, ANNOTATION_PING_PONG, done->u.loop.body);
    if (s != p->roles->loop)
        return done;
    return unmarked(p->c, s, ANNOTATION_SPECIALIZE_WARPS, producers_body(p, done->u.loop.body));
}

Stmt *roles_body(Context *c, const Roles *roles, Stmt *body, int pending)
{
    Part p = {c, roles};
    const char *why = pending ? "read above, but for the last group, which instructions in flight "
                                "may read; the producer overwrites them"
                              : "read above; the producer overwrites them";
    if (pending > 1)
        why = arena_printf(c->arena,
                           "read above, but for the last %d groups, which instructions in flight "
                           "may read; the producer overwrites them",
                           pending);
    const char *by = roles->ranks ? "copied by the producers of the cluster, read below"
                                  : "copied by the producer, read below";
    Stmt *items[] = {
        hand_over(&p, SYNC_RECEIVE, 0, by), body,
        hand_over(&p, roles->ranks ? SYNC_RELEASE_CLUSTER : SYNC_RELEASE, pending, why)};
    return stmt_seq(c, items, 3, body->span);
}

Stmt *roles_released(Context *c, const Roles *roles)
{
    Part p = {c, roles};
    return hand_over(&p, SYNC_RELEASE, 0, "read above; the next turn is that of other threads");
}

static Stmt *meeting(const Part *p, const char *why)
{
    Stmt *s = stmt_barrier(p->c, SYNC_CLUSTER, why, p->roles->loop->span);
    return stmt_stamp(s, p->roles->loop);
}

/* Both roles, between barriers of the cluster if its blocks share copies. */
static Stmt *among_blocks(const Part *p, Stmt *roles)
{
    if (!p->roles->ranks)
        return roles;
    const char *names = p->roles->names;
    Stmt *items[] = {meeting(p, arena_printf(p->c->arena,
                                             "%s: blocks of the cluster copy into those of others "
                                             "below",
                                             names)),
                     roles,
                     meeting(p, arena_printf(p->c->arena,
                                             "%s: other blocks release copies to this one above, "
                                             "which ends with it",
                                             names))};
    return stmt_seq(p->c, items, 3, roles->span);
}

Stmt *roles_join(Context *c, const Roles *roles, Stmt *root, Stmt *consumers)
{
    Part p = {c, roles};
    if (stmt_is_bound(root) && axis_is_block(root->u.loop.axis))
        return loop_with_body(c, consumers,
                              roles_join(c, roles, root->u.loop.body, consumers->u.loop.body));
    Stmt *producer = stmt_clone_fresh(c, only_copies(&p, root));
    return among_blocks(&p, stmt_stamp(stmt_roles(c, producer, turns_dealt(c, roles, consumers),
                                                  (int)roles->turn, root->span),
                                       roles->loop));
}
