/* declare.c - Declares temps earlier in their sequence of statements (flow.h).
 *
 *   for i in N          temp t: f32[N];
 *       z[i] = x[i];    for i in N
 *   temp t: f32[N];         z[i] = x[i];
 *
 * What stands in front of a declaration in its sequence does not access the temp, and each run of
 * the sequence makes it anew, so the earlier place means the same. Nothing in between may have its
 * name. */
#include "passes/schedule/flow.h"

static bool has_name(const Stmt *stmt, Name name)
{
    switch (stmt->kind) {
    case ST_FOR: return stmt->u.loop.var->name == name;
    case ST_LET: return stmt->u.let.var->name == name;
    case ST_TEMP: return stmt->u.temp->name == name;
    case ST_BLOCK:
        for (int i = 0; i < stmt->u.block.n_iters; i++)
            if (stmt->u.block.iters[i].var->name == name)
                return true;
        return stmt->u.block.name == name;
    default: return false;
    }
}

static bool name_is_free(Context *c, Stmt *const *items, int n, Name name)
{
    for (int i = 0; i < n; i++)
        for (Cursor at = cursor_stmts(c, items[i]); cursor_next(&at);)
            if (has_name(at.stmt, name))
                return false;
    return true;
}

/* Item `at` is a declaration that may stand in front of item `from`. */
static bool may_come_first(Context *c, const Stmt *seq, int from, int at)
{
    const Stmt *item = seq->u.seq.items[at];
    return item->kind == ST_TEMP &&
           name_is_free(c, seq->u.seq.items + from, at - from, item->u.temp->name);
}

bool flow_declare_first(Schedule *s, const Stmt *seq, int from, int to, Stmt *user)
{
    Context *c = s->ctx;
    VEC(Stmt *) items = {0}, others = {0};
    for (int i = 0; i < from; i++)
        VEC_PUSH(c->arena, &items, seq->u.seq.items[i]);
    for (int i = from; i < seq->u.seq.n; i++) {
        Stmt *item = seq->u.seq.items[i];
        bool first = i < to && may_come_first(c, seq, from, i) &&
                     (!user || stmt_accesses(c, user, item->u.temp, ACCESS_ANY));
        if (first)
            VEC_PUSH(c->arena, &items, item);
        else
            VEC_PUSH(c->arena, &others, item);
    }
    if (items.n == from)
        return false;
    for (int i = 0; i < others.n; i++)
        VEC_PUSH(c->arena, &items, others.items[i]);
    Stmt *now = stmt_seq(c, items.items, items.n, seq->span);
    sched_replace_body(s, stmt_replace(c, s->kernel->body, seq, now));
    return true;
}

bool flow_declare_for(Schedule *s, const StmtPath *user, const StmtPath *place)
{
    int n = flow_common(user, place);
    const Stmt *seq = user->items[n - 1];
    if (n == user->n || n == place->n || seq->kind != ST_SEQ)
        return false;
    int to = stmt_place(seq, user->items[n]), from = stmt_place(seq, place->items[n]);
    return from < to && flow_declare_first(s, seq, from, to, path_end(user));
}
