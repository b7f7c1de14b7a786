/* versions.c - Changes long lists of statements in place, and restores the kernels before each
 * change.
 *
 * A step that replaces one statement rebuilds the nodes above it. Where one of them is a list of
 * thousands, its copies would be most of the memory of a schedule that goes through all of them. So
 * a long list is copied once, and is the schedule's own from there on: a step puts its statement in
 * place and writes down what stood there.
 *
 *     step 1   [a, b, c]     own list [A, b, c]
 *     step 2   [A, b, c]     the same [A, B, c], step 2: b at 1
 *
 * The nodes of older kernels keep the list; who asks for such a kernel gets it with a list of its
 * own, in which what later steps put there is taken back. The kernel that came is never changed. */
#include <string.h>

#include "passes/schedule/sched.h"

enum { LONG_LIST = 64 };

static bool is_own(const Schedule *s, Stmt *const *items)
{
    for (int i = s->lists.n - 1; i >= 0; i--)
        if (s->lists.items[i] == items)
            return true;
    return false;
}

static Stmt **copy_list(Context *c, Stmt *const *items, int n)
{
    Stmt **copy = ARENA_ARRAY(c->arena, Stmt *, n);
    memcpy(copy, items, sizeof *copy * (size_t)n);
    return copy;
}

Stmt *versions_put(Schedule *s, const Stmt *seq, int at, Stmt *item)
{
    Stmt *node = ARENA_NEW(s->ctx->arena, Stmt);
    *node = *seq;
    int n = seq->u.seq.n;
    Stmt **items = (Stmt **)seq->u.seq.items;
    if (n >= LONG_LIST && is_own(s, items)) {
        ListChange change = {&items[at], items[at], s->step};
        VEC_PUSH(s->ctx->arena, &s->changes, change);
    } else {
        items = copy_list(s->ctx, items, n);
        if (n >= LONG_LIST)
            VEC_PUSH(s->ctx->arena, &s->lists, items);
    }
    items[at] = item;
    node->u.seq.items = items;
    return node;
}

void versions_take_back(Schedule *s, int step)
{
    for (; s->changes.n > 0 && s->changes.items[s->changes.n - 1].step > step; s->changes.n--)
        *s->changes.items[s->changes.n - 1].at = s->changes.items[s->changes.n - 1].before;
}

/* ---- older kernels --------------------------------------------------------------------------- */

typedef struct {
    const Schedule *s;
    int from; /* the first change that is taken back */
} Restore;

static Stmt *restore(const Restore *r, Stmt *stmt);

/* Which statement of the list the change is about; n for none of them. */
static size_t place_in(Stmt *const *items, int n, const ListChange *change)
{
    uintptr_t from = (uintptr_t)items, at = (uintptr_t)change->at;
    return at >= from && at < from + sizeof *items * (size_t)n ? (at - from) / sizeof *items
                                                               : (size_t)n;
}

/* The list as it was, each statement as it was; the list itself where nothing was another. */
static Stmt *const *restore_items(const Restore *r, Stmt *const *items, int n)
{
    const Schedule *s = r->s;
    Stmt **copy = NULL;
    for (int i = s->changes.n - 1; i >= r->from && n >= LONG_LIST; i--) {
        size_t at = place_in(items, n, &s->changes.items[i]);
        if (at == (size_t)n)
            continue;
        copy = copy ? copy : copy_list(s->ctx, items, n);
        copy[at] = s->changes.items[i].before;
    }
    for (int i = 0; i < n; i++) {
        Stmt *now = copy ? copy[i] : items[i], *was = restore(r, now);
        if (was == now)
            continue;
        copy = copy ? copy : copy_list(s->ctx, items, n);
        copy[i] = was;
    }
    return copy ? copy : items;
}

static Stmt *restore_seq(const Restore *r, Stmt *stmt)
{
    Stmt *const *items = restore_items(r, stmt->u.seq.items, stmt->u.seq.n);
    if (items == stmt->u.seq.items)
        return stmt;
    Stmt *copy = ARENA_NEW(r->s->ctx->arena, Stmt);
    *copy = *stmt;
    copy->u.seq.items = items;
    return copy;
}

static Stmt *restore_loop(const Restore *r, Stmt *stmt)
{
    Stmt *body = restore(r, stmt->u.loop.body);
    if (body == stmt->u.loop.body)
        return stmt;
    Stmt *copy = ARENA_NEW(r->s->ctx->arena, Stmt);
    *copy = *stmt;
    copy->u.loop.body = body;
    return copy;
}

static Stmt *restore_if(const Restore *r, Stmt *stmt)
{
    Stmt *then = restore(r, stmt->u.cond.then), *otherwise = stmt->u.cond.otherwise;
    otherwise = otherwise ? restore(r, otherwise) : NULL;
    if (then == stmt->u.cond.then && otherwise == stmt->u.cond.otherwise)
        return stmt;
    Stmt *copy = ARENA_NEW(r->s->ctx->arena, Stmt);
    *copy = *stmt;
    copy->u.cond.then = then;
    copy->u.cond.otherwise = otherwise;
    return copy;
}

/* Steps change lists outside of blocks only. */
static Stmt *restore(const Restore *r, Stmt *stmt)
{
    switch (stmt->kind) {
    case ST_SEQ: return restore_seq(r, stmt);
    case ST_FOR: return restore_loop(r, stmt);
    case ST_IF: return restore_if(r, stmt);
    default: return stmt;
    }
}

const Kernel *versions_kernel(const Schedule *s, const Kernel *kernel, int step)
{
    Restore r = {s, s->changes.n};
    while (r.from > 0 && s->changes.items[r.from - 1].step > step)
        r.from--;
    if (r.from == s->changes.n)
        return kernel;
    Stmt *body = restore(&r, kernel->body);
    if (body == kernel->body)
        return kernel;
    Kernel *copy = ARENA_NEW(s->ctx->arena, Kernel);
    *copy = *kernel;
    copy->body = body;
    return copy;
}
