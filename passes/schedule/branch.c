/* branch.c - Runs a step on one branch of a condition on sizes as if the program had no other.
 *
 *   if N % 4 == 0 {          where N % 4 == 0          if N % 4 == 0 {
 *       y(i)            =>   y(i)            step =>       y'(i)
 *   } else                                             } else
 *       y_1(j)                                             y_1(j)
 *
 * A run takes one branch, which the sizes choose before anything runs. So the step sees the branch
 * among the statements around the condition, which becomes a fact about sizes. Afterwards the
 * branch gets what the step has made: all but the statements around, which must be the same as
 * before. A step that has changed them, or a parameter, runs on the whole program instead.
 *
 * Invariant: for sizes that take the other branch, the program is the one from before. */
#include "passes/schedule/sched.h"
#include "passes/shared/rebuild.h"

/* A condition, and its place among the statements around it. */
typedef struct {
    const Stmt *cond; /* ST_IF */
    bool otherwise;   /* the branch in question */
    const Stmt *seq;  /* around it; NULL: none */
    int at;           /* its place there */
} Fork;

typedef struct {
    VEC(Fork) forks;     /* outermost first */
    StmtList outer;      /* the statements around, in order ... */
    int before;          /* ... of which so many come before the branch */
    const Kernel *whole; /* with all branches */
    const Entered *entered;
    Kernel view;
} View;

static const Stmt *branch_of(const Fork *fork)
{
    return fork->otherwise ? fork->cond->u.cond.otherwise : fork->cond->u.cond.then;
}

/* ---- which branch ---------------------------------------------------------------------------- */

/* The conditions on sizes that begin a path, with nothing but sequences between them. */
static void forks_of(Schedule *s, const StmtPath *path, View *v)
{
    const Stmt *seq = NULL;
    for (int i = 0; i + 1 < path->n; i++) {
        const Stmt *at = path->items[i];
        if (at->kind == ST_SEQ) {
            seq = at;
            continue;
        }
        if (at->kind != ST_IF || !expr_of_sizes(at->u.cond.cond))
            return;
        Fork fork = {at, path->items[i + 1] == at->u.cond.otherwise, seq,
                     seq ? stmt_place(seq, at) : 0};
        VEC_PUSH(s->ctx->arena, &v->forks, fork);
        seq = NULL;
    }
}

static bool is_parameter(const Kernel *kernel, uint32_t id)
{
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].buffer && kernel->params[i].buffer->id == id)
            return true;
    return false;
}

/* The path to what a value names; false where it is no part of the body, as a parameter. */
static bool path_of(Schedule *s, const Value *value, StmtPath *path)
{
    if (value->kind == VALUE_LOOP || value->kind == VALUE_BLOCK)
        return state_path(s, value->u.id, path) != NULL;
    if (value->kind != VALUE_BUFFER || is_parameter(s->kernel, value->u.id))
        return false;
    for (Cursor at = cursor_outer(s->ctx, s->kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP && at.stmt->u.temp->id == value->u.id) {
            cursor_way(&at, path);
            return true;
        }
    return false;
}

/* What all values have in common; `any` says that one came before. */
static void narrow_to(Schedule *s, const Value *value, View *v, bool *any)
{
    if (value->kind == VALUE_LIST)
        for (int i = 0; i < value->u.list.n; i++)
            narrow_to(s, &value->u.list.items[i], v, any);
    StmtPath path = {0};
    View other = {0};
    if (!path_of(s, value, &path))
        return;
    forks_of(s, &path, *any ? &other : v);
    int common = 0;
    while (*any && common < v->forks.n && common < other.forks.n &&
           v->forks.items[common].cond == other.forks.items[common].cond &&
           v->forks.items[common].otherwise == other.forks.items[common].otherwise)
        common++;
    v->forks.n = *any ? common : v->forks.n;
    *any = true;
}

typedef VEC(Fact) FactList;

/* ---- the branch alone ------------------------------------------------------------------------ */

/* What holds in the branch. That one of several conditions does not is no fact: it would cost each
 * proof a case for each of them. */
static void add_fact(Context *c, const Fork *fork, FactList *facts)
{
    Expr *cond = fork->cond->u.cond.cond;
    if (fork->otherwise && cond->kind == EX_AND)
        return;
    Fact fact = {.kind = FACT_SIZES,
                 .span = cond->span,
                 .cond = fork->otherwise ? expr_unary(c, EX_NOT, cond, cond->span) : cond};
    VEC_PUSH(c->arena, facts, fact);
}

typedef enum { BEFORE_BRANCH, BEHIND_BRANCH } Side;

static void add_outer(Context *c, View *v, Side side)
{
    bool behind = side == BEHIND_BRANCH;
    for (int k = 0; k < v->forks.n; k++) {
        const Fork *fork = &v->forks.items[behind ? v->forks.n - 1 - k : k];
        int n = fork->seq ? fork->seq->u.seq.n : 0;
        for (int i = behind ? fork->at + 1 : 0; i < (behind ? n : fork->at); i++)
            VEC_PUSH(c->arena, &v->outer, fork->seq->u.seq.items[i]);
    }
    v->before = behind ? v->before : v->outer.n;
}

static Stmt *view_body(Context *c, View *v)
{
    add_outer(c, v, BEFORE_BRANCH);
    add_outer(c, v, BEHIND_BRANCH);
    StmtList items = {0};
    for (int i = 0; i < v->outer.n + 1; i++)
        VEC_PUSH(c->arena, &items,
                 i == v->before ? (Stmt *)branch_of(&v->forks.items[v->forks.n - 1])
                                : v->outer.items[i - (i > v->before)]);
    return stmt_seq(c, items.items, items.n, v->whole->body->span);
}

static void show_branch(Schedule *s, View *v)
{
    Context *c = s->ctx;
    FactList facts = {0};
    VEC_APPEND(c->arena, &facts, v->whole->facts, v->whole->n_facts);
    for (int i = 0; i < v->forks.n; i++) {
        const Fork *fork = &v->forks.items[i];
        add_fact(c, fork, &facts);
        Stmt *hidden = fork->otherwise ? fork->cond->u.cond.then : fork->cond->u.cond.otherwise;
        if (hidden)
            VEC_PUSH(c->arena, &s->hidden, hidden);
    }
    v->view = *v->whole;
    v->view.facts = facts.items;
    v->view.n_facts = facts.n;
    v->view.body = view_body(c, v);
    s->kernel = &v->view;
}

/* ---- the whole program ----------------------------------------------------------------------- */

/* What the body has beside the statements around; false where one of them is gone, or something but
 * a temporary has come among them. */
static bool new_branch(Context *c, const View *v, const Stmt *body, StmtList *branch)
{
    int outer = 0;
    for (int i = 0; i < stmt_items(body); i++) {
        Stmt *item = stmt_item(body, i);
        if (outer < v->outer.n && item == v->outer.items[outer])
            outer++;
        else if (outer == v->before || (outer < v->before && item->kind == ST_TEMP))
            VEC_PUSH(c->arena, branch, item);
        else
            return false;
    }
    return outer == v->outer.n;
}

/* The statement around a fork with another branch with another one. */
static Stmt *with_branch(Context *c, const Fork *fork, Stmt *branch)
{
    const Stmt *cond = fork->cond;
    Stmt *made = stmt_if(c, cond->u.cond.cond, fork->otherwise ? cond->u.cond.then : branch,
                         fork->otherwise ? branch : cond->u.cond.otherwise, cond->span);
    made = stmt_stamp(made, cond);
    if (!fork->seq)
        return made;
    int n = fork->seq->u.seq.n;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, n);
    for (int i = 0; i < n; i++)
        items[i] = i == fork->at ? made : fork->seq->u.seq.items[i];
    return stmt_seq(c, items, n, fork->seq->span);
}

/* Puts what the step has made of the branch into the whole program; false where it has changed more
 * than that. */
static bool show_whole(Schedule *s, const View *v)
{
    Context *c = s->ctx;
    const Kernel *now = s->kernel;
    StmtList branch = {0};
    if (now->params != v->whole->params || !new_branch(c, v, now->body, &branch))
        return false;
    Stmt *body = stmt_seq(c, branch.items, branch.n, now->body->span);
    for (int k = v->forks.n - 1; k >= 0; k--)
        body = with_branch(c, &v->forks.items[k], body);
    Kernel *whole = kernel_with_body(c, now, body);
    whole->facts = v->whole->facts;
    whole->n_facts = v->whole->n_facts;
    s->kernel = whole;
    return true;
}

static bool run_on_branch(Schedule *s, const PrimCall *call, Value *result, View *v)
{
    show_branch(s, v);
    const Kernel *view = s->kernel;
    bool done = call->primitive->run(s, call, result);
    bool same = s->kernel == view, fits = same || (done && show_whole(s, v));
    s->hidden.n = 0;
    if (same || !fits)
        s->kernel = v->whole;
    if (fits)
        return done;
    s->entered = v->entered;
    versions_take_back(s, s->steps.n);
    state_rebuild(s);
    return done && call->primitive->run(s, call, result);
}

bool branch_run(Schedule *s, const PrimCall *call, Value *result)
{
    View v = {.whole = s->kernel, .entered = s->entered};
    bool any = false;
    for (int i = 0; s->has_branches && i < call->primitive->n_params; i++)
        narrow_to(s, &call->arg[i], &v, &any);
    return v.forks.n > 0 ? run_on_branch(s, call, result, &v)
                         : call->primitive->run(s, call, result);
}
