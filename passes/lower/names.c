/* names.c - Renames values of a lowered kernel so that a name means one thing on every path.
 *
 * Passes name new values after the program: two blocks may both have an iterator `k`, and a value
 * may be named like a loop around it. The outer one keeps the name; the inner one becomes k_1.
 *
 * A copy that a schedule made in shared memory and then moved to registers is no C_shared: it
 * becomes C_local. */
#include "ir/implied.h"
#include "passes/lower/pass.h"

#include <string.h>

typedef struct {
    Context *c;
    Names all;       /* every name of the kernel, so that a new one clashes with none */
    VEC(Name) scope; /* names that mean something here */
} Settle;

static Stmt *settle(void *user, Stmt *s);

/* Enters `name` into the scope; false, with another name, where it is taken. */
static bool enter(Settle *t, Name *name)
{
    bool free = true;
    for (int i = 0; i < t->scope.n && free; i++)
        free = t->scope.items[i] != *name;
    if (!free)
        *name = names_fresh(&t->all, *name);
    VEC_PUSH(t->c->arena, &t->scope, *name);
    return free;
}

static Stmt *settle_for(Settle *t, Stmt *s)
{
    Context *c = t->c;
    ForStmt loop = s->u.loop;
    int scope = t->scope.n;
    Name name = loop.var->name;
    if (!loop_is_while(&loop) && !enter(t, &name)) {
        Var *var = var_new(c, name, loop.var->type, loop.var->kind, loop.var->span);
        Subst to = {loop.var, expr_var(c, var, var->span)};
        loop.body = stmt_subst(c, loop.body, &to, 1);
        loop.var = var;
    }
    loop.body = settle(t, loop.body);
    t->scope.n = scope;
    if (loop.var == s->u.loop.var && loop.body == s->u.loop.body)
        return s;
    return stmt_stamp(stmt_for(c, &loop, s->span), s);
}

static Stmt *rename_let(Settle *t, Stmt *s, Name name, Stmt **items, int n)
{
    Context *c = t->c;
    Var *old = s->u.let.var, *var = var_new(c, name, old->type, old->kind, old->span);
    Subst to = {old, expr_var(c, var, var->span)};
    for (int i = 0; i < n; i++)
        items[i] = stmt_subst(c, items[i], &to, 1);
    return stmt_stamp(stmt_let(c, var, s->u.let.value, s->span), s);
}

static Stmt *rename_temp(Settle *t, Stmt *s, Name name, Stmt **items, int n)
{
    Context *c = t->c;
    Buffer *buffer = buffer_copy(c, s->u.temp);
    buffer->name = name;
    for (int i = 0; i < n; i++)
        items[i] = stmt_replace_buffer(c, items[i], s->u.temp, buffer);
    return stmt_stamp(stmt_temp(c, buffer, s->span), s);
}

/* The name of a temp in the memory where it is now; no other buffer of the kernel has it. */
static Name name_of_temp(Settle *t, const Buffer *b)
{
    static const char shared[] = "_shared";
    size_t length = strlen(b->name), end = sizeof shared - 1;
    bool misleads =
        b->scope == SCOPE_LOCAL && length > end && strcmp(b->name + length - end, shared) == 0;
    if (!misleads)
        return b->name;
    return names_fresh(&t->all, ctx_namef(t->c, "%.*s_local", (int)(length - end), b->name));
}

/* A let or temp names something for the rest of its sequence. */
static Stmt *settle_seq(Settle *t, Stmt *s)
{
    Context *c = t->c;
    int n = s->u.seq.n, scope = t->scope.n;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, n + 1);
    bool changed = false;
    for (int i = 0; i < n; i++)
        items[i] = s->u.seq.items[i];
    for (int i = 0; i < n; i++) {
        Stmt *item = items[i];
        Name before = item->kind == ST_LET    ? item->u.let.var->name
                      : item->kind == ST_TEMP ? item->u.temp->name
                                              : NULL;
        Name name = item->kind == ST_TEMP ? name_of_temp(t, item->u.temp) : before;
        if (!name)
            items[i] = settle(t, item);
        else if (!enter(t, &name) || name != before)
            items[i] = item->kind == ST_LET ? rename_let(t, item, name, items + i + 1, n - i - 1)
                                            : rename_temp(t, item, name, items + i + 1, n - i - 1);
        changed |= items[i] != s->u.seq.items[i];
    }
    t->scope.n = scope;
    return changed ? stmt_seq(c, items, n, s->span) : s;
}

static Stmt *settle(void *user, Stmt *s)
{
    if (s->kind == ST_FOR)
        return settle_for(user, s);
    if (s->kind == ST_SEQ)
        return settle_seq(user, s);
    return stmt_map_children(((Settle *)user)->c, s, settle, user);
}

Kernel *names_settle(Context *c, Kernel *kernel)
{
    Settle t = {.c = c, .all = names_of_kernel(c, kernel)};
    for (int i = 0; i < kernel->n_sizes; i++)
        VEC_PUSH(c->arena, &t.scope, kernel->sizes[i].name);
    for (int i = 0; i < kernel->n_params; i++) {
        const Param *p = &kernel->params[i];
        VEC_PUSH(c->arena, &t.scope, p->buffer ? p->buffer->name : p->scalar->name);
    }
    return kernel_with_body(c, kernel, settle(&t, kernel->body));
}
