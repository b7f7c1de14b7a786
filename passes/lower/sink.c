/* sink.c - Moves the declarations of local variables into the branch that alone names them.
 *
 *   temp sum: f32 in local;            if i < N {
 *   if i < N {                             temp sum: f32 in local;
 *       sum = 0;               =>          sum = 0;
 *       ...                                ...
 *
 * A variable is a local buffer of one element. Loops keep theirs in front of them, since an
 * iteration may read what the one before it wrote. */
#include "passes/lower/pass.h"

static bool is_variable(const Stmt *s)
{
    if (s->kind != ST_TEMP || s->u.temp->scope != SCOPE_LOCAL)
        return false;
    for (int i = 0; i < s->u.temp->rank; i++)
        if (!expr_is(s->u.temp->shape[i], 1))
            return false;
    return true;
}

/* The index of the only item behind `at` that names the buffer; 0: there are several, or none. */
static int only_user(Context *c, Stmt *const *items, int n, int at)
{
    int user = 0;
    for (int i = at + 1; i < n; i++) {
        if (!items[i] || !cursor_meets(cursor_stmt(c, items[i]), items[at]->u.temp))
            continue;
        if (user)
            return 0;
        user = i;
    }
    return user;
}

/* `s` with the temp in front of the branch that alone names it; NULL: there is none. */
static Stmt *in_branch(Context *c, Stmt *s, Stmt *temp)
{
    const Buffer *b = temp->u.temp;
    if (s->kind != ST_IF || cursor_meets(cursor_expr(c, s->u.cond.cond), b))
        return NULL;
    Stmt *then = s->u.cond.then, *otherwise = s->u.cond.otherwise;
    bool in_then = cursor_meets(cursor_stmt(c, then), b);
    if (in_then && otherwise && cursor_meets(cursor_stmt(c, otherwise), b))
        return NULL;
    if (in_then)
        then = stmt_then(c, temp, then);
    else
        otherwise = stmt_then(c, temp, otherwise);
    return stmt_stamp(stmt_if(c, s->u.cond.cond, then, otherwise, s->span), s);
}

static Stmt *sink(void *user, Stmt *s);

/* Inner sequences come after the outer one, so that a variable can sink further. */
static Stmt *sink_in_seq(Context *c, Stmt *s)
{
    int n = s->u.seq.n, kept = 0;
    bool changed = false;
    Stmt **items = ARENA_COPY(c->arena, Stmt *, s->u.seq.items, n, 1);
    for (int i = n - 1; i >= 0; i--) { /* the last one first: they keep their order */
        int at = is_variable(items[i]) ? only_user(c, items, n, i) : 0;
        Stmt *to = at ? in_branch(c, items[at], items[i]) : NULL;
        if (to) {
            items[at] = to;
            items[i] = NULL;
        }
    }
    for (int i = 0; i < n; i++) {
        Stmt *item = items[i] ? sink(c, items[i]) : NULL;
        changed |= item != s->u.seq.items[i];
        if (item)
            items[kept++] = item;
    }
    return changed ? stmt_seq(c, items, kept, s->span) : s;
}

static Stmt *sink(void *user, Stmt *s)
{
    return s->kind == ST_SEQ ? sink_in_seq(user, s) : stmt_map_children(user, s, sink, user);
}

Stmt *sink_variables(Context *c, Stmt *body)
{
    return sink(c, body);
}
