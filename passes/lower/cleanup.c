/* cleanup.c - simplification of the whole kernel, as one pass.
 *
 * Names that nothing uses any more go with it. */
#include "passes/lower/pass.h"

static Stmt *drop_unused(void *user, Stmt *s);

/* From the last item to the first, so that a name that only a dropped one used goes, too. */
static Stmt *drop_in_seq(Context *c, Stmt *s)
{
    int n = s->u.seq.n, kept = n;
    bool changed = false;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, n + 1);
    for (int i = n - 1; i >= 0; i--) {
        Stmt *item = drop_unused(c, s->u.seq.items[i]);
        bool used = item && item->kind != ST_LET;
        for (int k = kept; item && k < n && !used; k++)
            used = stmt_uses_var(items[k], item->u.let.var);
        if (used)
            items[--kept] = item;
        changed |= !used || item != s->u.seq.items[i];
    }
    if (!changed)
        return s;
    return kept < n ? stmt_seq(c, items + kept, n - kept, s->span) : NULL;
}

static Stmt *drop_unused(void *user, Stmt *s)
{
    return s->kind == ST_SEQ ? drop_in_seq(user, s) : stmt_map_children(user, s, drop_unused, user);
}

Kernel *pass_simplify(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Stmt *body = simplify_stmt(facts_new(c), kernel->body);
    if (body)
        body = drop_unused(c, body);
    return names_settle(c, kernel_with_body(c, kernel, body ? body : stmt_empty(c, kernel->span)));
}
