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
#include "passes/shared/rebuild.h"

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

/* Which statement of the list the change is about; n for none of them. */
static size_t place_in(Stmt *const *items, int n, const ListChange *change)
{
    uintptr_t from = (uintptr_t)items, at = (uintptr_t)change->at;
    return at >= from && at < from + sizeof *items * (size_t)n ? (at - from) / sizeof *items
                                                               : (size_t)n;
}

/* The sequence with the list that it had, of the statements as they are now. */
static Stmt *seq_before(const Restore *r, Stmt *seq)
{
    const Schedule *s = r->s;
    int n = seq->u.seq.n;
    Stmt **items = NULL;
    for (int i = s->changes.n - 1; i >= r->from && n >= LONG_LIST; i--) {
        size_t at = place_in(seq->u.seq.items, n, &s->changes.items[i]);
        if (at == (size_t)n)
            continue;
        items = items ? items : copy_list(s->ctx, seq->u.seq.items, n);
        items[at] = s->changes.items[i].before;
    }
    if (!items)
        return seq;
    Stmt *copy = ARENA_NEW(s->ctx->arena, Stmt);
    *copy = *seq;
    copy->u.seq.items = items;
    return copy;
}

/* Steps change lists outside of blocks only. */
static Stmt *restore(void *user, Stmt *stmt)
{
    const Restore *r = user;
    if (stmt->kind == ST_SEQ)
        stmt = seq_before(r, stmt);
    return stmt_map_children(r->s->ctx, stmt, restore, user);
}

const Kernel *versions_kernel(const Schedule *s, const Kernel *kernel, int step)
{
    Restore r = {s, s->changes.n};
    while (r.from > 0 && s->changes.items[r.from - 1].step > step)
        r.from--;
    if (r.from == s->changes.n)
        return kernel;
    Stmt *body = restore(&r, kernel->body);
    return body == kernel->body ? kernel : kernel_with_body(s->ctx, kernel, body);
}
