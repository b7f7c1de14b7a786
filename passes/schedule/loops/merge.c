/* merge.c - Implements merge, fission and shift: combines consecutive loops, distributes a loop,
 * and offsets its iterations.
 *
 *   merge(i, j)       for i in N              =>   for i_m in N {
 *                         t[i] = x[i];                 t[i_m] = x[i_m];
 *                     for j in N                       y[i_m] = t[i_m];
 *                         y[j] = t[j];             }
 *   fission(i, t)     the same from right to left
 *   shift(j, 1)       for j in N: S(j)        =>   for j in 1..N + 1: S(j - 1)
 *
 * Iterations that have the same value come together in a merge; shift before it makes a consumer
 * lag behind its producer. Where the ranges differ the merged loop has the values of all, and
 * blocks exist for their own; with `branch`, all of a part stands in one condition instead. A
 * condition around a loop is tested in each of its iterations then.
 *
 * Legal: ranges and kinds go together, and no dependence turns around.
 * Invariant: every instance runs exactly once, and instances that depend on each other keep their
 * order. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"

/* No dependence turns round. */
static bool require_order(Schedule *s, const PrimCall *call, Rewrite rewrite)
{
    Conflict why = {0};
    REQUIRE_KEPT(s, E0435, call->span,
                 dependence_order_kept(s->ctx, rewrite, &s->reassociates, &why), &why,
                 "the step would swap two dependent iterations");
    return true;
}

/* Loops around `loop` keep their kinds where `old` becomes `now`. */
static bool require_kinds(Schedule *s, const PrimCall *call, const Stmt *old, Stmt *now,
                          uint32_t loop)
{
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, old, now);
    return flow_recheck_order(s, body, loop, call->span);
}

/* ---- merge: what comes together -------------------------------------------------------------- */

typedef struct {
    Schedule *s;
    const PrimCall *call;
    int n, depth;   /* nests, and loops of each that become one */
    StmtPath *path; /* [n] to the innermost of them, in the order of the text */
    int top;        /* the place of the outermost ones on the paths; before it is the seq */
    const Stmt *seq;
    int first; /* the item of the seq where the nests begin */
    Facts *facts;
    Subst **map;    /* [n][depth] loops' variables to merged ones */
    ForStmt *loops; /* [depth] the merged ones */
    ForStmt **own;  /* [n][depth] loops of the nests: variables of the merged ones, own ranges */
} Merge;

static Stmt *nest_loop(const Merge *m, int nest, int level)
{
    return m->path[nest].items[m->top + level];
}

static bool refuse_siblings(Merge *m, const Stmt *a, const Stmt *b, const char *how)
{
    sched_refuse(m->s, E0433, m->call->span, "loops '%s' and '%s' %s", stmt_label(a), stmt_label(b),
                 how);
    sched_note_now(m->s, a);
    sched_note_now(m->s, b);
    return false;
}

/* The statement sequence in which each loop, or a loop that holds nothing else, is another item. */
static bool find_seq(Merge *m)
{
    m->top = flow_common(&m->path[0], &m->path[1]);
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < i; j++) {
            const Stmt *a = path_end(&m->path[j]), *b = path_end(&m->path[i]);
            int common = flow_common(&m->path[j], &m->path[i]);
            if (common == m->path[i].n || common == m->path[j].n)
                return refuse_siblings(m, a, b, "are nested; merge takes adjacent loops");
            if (common != m->top || m->path[i].items[common - 1]->kind != ST_SEQ)
                return refuse_siblings(
                    m, a, b,
                    "are in different places; merge takes loops of one sequence of statements");
        }
    m->seq = m->path[0].items[m->top - 1];
    return true;
}

static void sort_nests(Merge *m)
{
    for (int i = 1; i < m->n; i++)
        for (int j = i; j > 0; j--) {
            StmtPath *a = &m->path[j - 1], *b = &m->path[j];
            if (stmt_place(m->seq, a->items[m->top]) < stmt_place(m->seq, b->items[m->top]))
                break;
            StmtPath swap = *a;
            *a = *b;
            *b = swap;
        }
    m->first = stmt_place(m->seq, nest_loop(m, 0, 0));
}

static bool check_nests(Merge *m)
{
    Schedule *s = m->s;
    m->depth = m->path[0].n - m->top;
    for (int k = 0; k < m->n; k++) {
        const Stmt *loop = path_end(&m->path[k]), *before = path_end(&m->path[k > 0 ? k - 1 : 0]);
        if (m->path[k].n - m->top != m->depth)
            return refuse_siblings(m, before, loop,
                                   "have different numbers of enclosing loops to be merged");
        if (stmt_place(m->seq, nest_loop(m, k, 0)) != m->first + k)
            return refuse_siblings(m, before, loop,
                                   "are separated by other statements; merge takes adjacent loops");
        for (int level = 0; level < m->depth; level++) {
            const Stmt *at = nest_loop(m, k, level);
            REQUIRE(s, E0433, m->call->span, at->kind == ST_FOR,
                    "loop '%s' is not the only statement in its enclosing loops, which would be "
                    "merged, too; merge those first",
                    stmt_label(loop));
            if (!sched_require_plain(s, at, m->call->span))
                return false;
        }
    }
    return true;
}

static void find_paths(Merge *m)
{
    for (int i = 0; i < m->n; i++) {
        m->path[i] = (StmtPath){0};
        sched_node(m->s, &m->call->merge.loops.u.list.items[i], &m->path[i]);
    }
}

/* A condition that holds nothing but the loop, whose range may be computed where it is false. */
static bool may_move_inwards(const Stmt *branch, const Stmt *loop)
{
    return branch->kind == ST_IF && branch->u.cond.then == loop && !branch->u.cond.otherwise &&
           !expr_has_load(loop->u.loop.lo) && !expr_has_load(loop->u.loop.hi);
}

/* Where a nest is one loop in a condition, the loop comes to stand around that. */
static void move_conditions_inwards(Merge *m)
{
    Context *c = m->s->ctx;
    for (int i = 0; i < m->n; i++) {
        const StmtPath *path = &m->path[i];
        int top = flow_common(path, &m->path[i ? 0 : 1]);
        Stmt *branch = path->items[top], *seq = path->items[top > 0 ? top - 1 : 0];
        if (top + 2 != path->n || seq->kind != ST_SEQ || !may_move_inwards(branch, path_end(path)))
            continue;
        ForStmt loop = path_end(path)->u.loop;
        loop.body = stmt_if(c, branch->u.cond.cond, loop.body, NULL, branch->span);
        Stmt *around = stmt_for(c, &loop, path_end(path)->span);
        sched_replace_body(m->s, stmt_replace(c, m->s->kernel->body, branch, around));
        find_paths(m);
    }
}

/* Temps that are declared between the nests are declared in front of them. */
static bool find_sorted(Merge *m)
{
    for (bool moved = true; moved;) {
        if (!find_seq(m))
            return false;
        sort_nests(m);
        int last = stmt_place(m->seq, nest_loop(m, m->n - 1, 0));
        moved = flow_declare_first(m->s, m->seq, m->first, last, NULL);
        if (moved)
            find_paths(m);
    }
    return true;
}

static bool find_nests(Merge *m)
{
    if (!loop_require_distinct(m->s, m->call, m->call->merge.loops.u.list.items, m->n))
        return false;
    find_paths(m);
    move_conditions_inwards(m);
    return find_sorted(m) && check_nests(m);
}

/* ---- merge: ranges --------------------------------------------------------------------------- */

static Name merged_name(Merge *m, int level)
{
    Context *c = m->s->ctx;
    StmtPath path = {0}; /* to a sequence of the nests alone */
    for (int i = 0; i + 1 < m->top; i++)
        VEC_PUSH(c->arena, &path, m->path[0].items[i]);
    VEC_PUSH(c->arena, &path, stmt_seq(c, m->seq->u.seq.items + m->first, m->n, m->call->span));
    Name name = sched_fresh_loop_name(
        m->s, &path, ctx_namef(c, "%.24s_m", stmt_label(nest_loop(m, 0, level))), 0);
    for (int other = 0; other < level; other++)
        if (m->loops[other].var->name == name) {
            name = sched_fresh_loop_name(m->s, &path, ctx_namef(c, "%s_", name), 0);
            other = -1;
        }
    return name;
}

static bool in_branches(const Merge *m)
{
    return m->call->merge.branch.kind == VALUE_BOOL && m->call->merge.branch.u.i;
}

/* A branch around a part compares with the bounds of its loop, and reads no memory. */
static bool check_bounds(const Merge *m, int level)
{
    for (int k = 0; k < m->n && in_branches(m); k++) {
        const ForStmt *own = &m->own[k][level];
        REQUIRE(m->s, E0434, m->call->span, !expr_has_load(own->lo) && !expr_has_load(own->hi),
                "the range of loop '%s' is read from memory, where no branch around all of its "
                "blocks can; merge without 'branch', so that each block has the condition",
                stmt_label(nest_loop(m, k, level)));
    }
    return true;
}

static bool merge_level(Merge *m, int level)
{
    Context *c = m->s->ctx;
    const ForStmt *first = &nest_loop(m, 0, level)->u.loop;
    Expr *least = NULL, *most = NULL;
    bool same = true, unit = true;
    for (int k = 0; k < m->n; k++) {
        const ForStmt *loop = &nest_loop(m, k, level)->u.loop, *one = &m->own[0][level];
        ForStmt *own = &m->own[k][level];
        own->lo = simplify(m->facts, expr_subst(c, loop->lo, m->map[k], level));
        own->hi = simplify(m->facts, expr_subst(c, loop->hi, m->map[k], level));
        least = k ? index_min(c, least, own->lo) : own->lo;
        most = k ? index_max(c, most, own->hi) : own->hi;
        unit &= loop->step == 1;
        same &= loop->step == first->step && expr_equal(own->lo, one->lo) &&
                expr_equal(own->hi, one->hi);
    }
    REQUIRE(m->s, E0434, m->call->span, same || unit,
            "loops '%s' and '%s' have different ranges, and not all steps are 1, so their values "
            "cannot be matched",
            first->var->name, stmt_label(nest_loop(m, 1, level)));
    if (!same && !check_bounds(m, level))
        return false;
    ForStmt *loop = &m->loops[level];
    *loop =
        flow_loop(m->s, merged_name(m, level), simplify(m->facts, least), simplify(m->facts, most));
    loop->step = first->step;
    loop->body = first->body;
    for (int k = 0; k < m->n; k++) {
        m->map[k][level] =
            (Subst){nest_loop(m, k, level)->u.loop.var, expr_var(c, loop->var, span_none())};
        m->own[k][level].var = loop->var;
    }
    if (loop->step ==
        1) /* a nest that has none of the one iteration still says that it counts in this loop */
        facts_range_loosely(m->facts, loop->var, loop->lo, loop->hi);
    else
        facts_enter(m->facts, stmt_for(c, loop, m->call->span));
    return true;
}

/* ---- merge: the body ------------------------------------------------------------------------- */

/* The part where the merged loops have its own values: one condition for all of it. */
static Stmt *in_branch(Merge *m, int k, Stmt *part)
{
    Context *c = m->s->ctx;
    Expr *cond = NULL;
    for (int i = 0; i < m->depth; i++) {
        const ForStmt *own = &m->own[k][i], *loop = &m->loops[i];
        Expr *at = expr_var(c, own->var, span_none());
        if (!prove(m->facts, expr_binary(c, EX_LE, own->lo, loop->lo, span_none())))
            cond = cond_and(c, cond, expr_binary(c, EX_GE, at, own->lo, span_none()));
        if (!prove(m->facts, expr_binary(c, EX_GE, own->hi, loop->hi, span_none())))
            cond = cond_and(c, cond, expr_binary(c, EX_LT, at, own->hi, span_none()));
    }
    return cond ? stmt_if(c, cond, part, NULL, part->span) : part;
}

static Stmt *merged_part(Merge *m, int k)
{
    Below below = {.s = m->s, .facts = m->facts, .map = m->map[k], .n_map = m->depth};
    Stmt *body = below_rewrite(&below, nest_loop(m, k, m->depth - 1)->u.loop.body);
    if (in_branches(m))
        return in_branch(m, k, body);
    for (int i = 0; i < m->depth; i++) {
        m->own[k][i].body = body;
        body = loop_guard_range(m->s, m->facts, &m->own[k][i], m->loops[i].lo, m->loops[i].hi);
    }
    return body;
}

static bool defines(const Stmt *stmt, Name name)
{
    for (int i = 0; stmt->kind == ST_BLOCK && i < stmt->u.block.n_iters; i++)
        if (stmt->u.block.iters[i].var->name == name)
            return true;
    return (stmt->kind == ST_FOR && stmt->u.loop.var->name == name) ||
           (stmt->kind == ST_TEMP && stmt->u.temp->name == name);
}

/* Something else below has the buffer's name. */
static bool name_is_taken(Context *c, const Stmt *body, const Buffer *buffer)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (defines(at.stmt, buffer->name) &&
            !(at.stmt->kind == ST_TEMP && at.stmt->u.temp->id == buffer->id))
            return true;
    return false;
}

/* Temps of the parts come to stand in one sequence: none may have a name that means something else
 * there. */
static Stmt *rename_temps(Merge *m, Stmt *body)
{
    Context *c = m->s->ctx;
    for (int i = 0; body->kind == ST_SEQ && i < body->u.seq.n; i++) {
        if (body->u.seq.items[i]->kind != ST_TEMP)
            continue;
        Buffer *temp = body->u.seq.items[i]->u.temp;
        if (!name_is_taken(c, body, temp))
            continue;
        Buffer *renamed = buffer_copy(c, temp);
        renamed->name = sched_fresh_name(m->s, temp->name);
        body = stmt_replace_buffer(c, body, temp, renamed);
    }
    return body;
}

static Stmt *build_merge(Merge *m)
{
    Context *c = m->s->ctx;
    Span span = nest_loop(m, 0, 0)->span;
    Stmt **parts = ARENA_ARRAY(c->arena, Stmt *, m->n);
    for (int k = 0; k < m->n; k++)
        parts[k] = merged_part(m, k);
    Stmt *nest = rename_temps(m, stmt_seq(c, parts, m->n, span));
    return stmt_in_loops(c, m->loops, m->depth, nest, span);
}

/* The sequence with the nests replaced by one. */
static Stmt *merged_seq(const Merge *m, Stmt *nest)
{
    Context *c = m->s->ctx;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, m->seq->u.seq.n);
    int n = 0;
    for (int i = 0; i < m->seq->u.seq.n; i++) {
        if (i == m->first)
            items[n++] = nest;
        else if (i < m->first || i >= m->first + m->n)
            items[n++] = m->seq->u.seq.items[i];
    }
    return stmt_seq(c, items, n, m->seq->span);
}

/* The nest with the merged variables in the place of its own. */
static Stmt *with_merged_variables(const Merge *m, int k)
{
    Context *c = m->s->ctx;
    Stmt *nest = stmt_subst(c, nest_loop(m, k, m->depth - 1)->u.loop.body, m->map[k], m->depth);
    for (int level = m->depth - 1; level >= 0; level--) {
        ForStmt loop = nest_loop(m, k, level)->u.loop;
        loop.var = m->loops[level].var;
        loop.lo = expr_subst(c, loop.lo, m->map[k], level);
        loop.hi = expr_subst(c, loop.hi, m->map[k], level);
        loop.body = nest;
        nest = stmt_for(c, &loop, m->call->span);
    }
    return nest;
}

/* No dependence turns round if the sequence becomes `merged`. The same variables before and after
 * say which iterations are the same ones, of blocks that run again in each iteration. */
static bool require_merged_order(const Merge *m, Stmt *merged)
{
    Context *c = m->s->ctx;
    Kernel model = *m->s->kernel;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, m->seq->u.seq.n);
    for (int i = 0; i < m->seq->u.seq.n; i++) {
        bool nest = i >= m->first && i < m->first + m->n;
        items[i] = nest ? with_merged_variables(m, i - m->first) : m->seq->u.seq.items[i];
    }
    Stmt *before = stmt_seq(c, items, m->seq->u.seq.n, m->seq->span);
    model.body = stmt_replace(c, model.body, m->seq, before);
    return require_order(m->s, m->call, (Rewrite){&model, before, merged});
}

bool prim_merge(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Merge m = {.s = s, .call = call, .n = call->merge.loops.u.list.n};
    *result = call->merge.loops.u.list.items[0];
    if (m.n == 1)
        return true;
    m.path = ARENA_ARRAY(c->arena, StmtPath, m.n);
    if (!find_nests(&m))
        return false;
    m.loops = ARENA_ARRAY(c->arena, ForStmt, m.depth);
    m.map = ARENA_ARRAY(c->arena, Subst *, m.n);
    m.own = ARENA_ARRAY(c->arena, ForStmt *, m.n);
    for (int k = 0; k < m.n; k++) {
        m.map[k] = ARENA_ARRAY(c->arena, Subst, m.depth);
        m.own[k] = ARENA_ARRAY(c->arena, ForStmt, m.depth);
    }
    StmtPath outermost = m.path[0];
    outermost.n = m.top + 1;
    m.facts = sched_facts(s, &outermost);
    for (int level = 0; level < m.depth; level++)
        if (!merge_level(&m, level))
            return false;
    Stmt *nest = build_merge(&m), *seq = merged_seq(&m, nest);
    if (!require_merged_order(&m, seq) || !require_kinds(s, call, m.seq, seq, nest->u.loop.id))
        return false;
    sched_replace(s, m.seq, seq);
    result->u.id = m.loops[m.depth - 1].id;
    return true;
}

/* ---- fission --------------------------------------------------------------------------------- */

typedef struct {
    Stmt *first, *second; /* the two halves of the loop's body */
} Halves;

static bool touches_any(Context *c, Stmt *const *items, int n, const Buffer *buffer)
{
    for (int i = 0; i < n; i++)
        if (stmt_accesses(c, items[i], buffer, ACCESS_ANY))
            return true;
    return false;
}

/* Cuts the body behind item `last`. A temp goes with the half that uses it. */
static bool cut_body(Schedule *s, const PrimCall *call, const Stmt *body, int last, Halves *halves)
{
    Context *c = s->ctx;
    int n = body->u.seq.n;
    VEC(Stmt *) half[2] = {{0}, {0}};
    Stmt *const *items = body->u.seq.items;
    for (int i = 0; i < n; i++) {
        bool second = i > last;
        if (items[i]->kind == ST_TEMP) {
            const Buffer *temp = items[i]->u.temp;
            second = touches_any(c, items + last + 1, n - last - 1, temp);
            REQUIRE(s, E0437, call->span, !second || !touches_any(c, items, last + 1, temp),
                    "temp '%s' is made anew in each iteration of loop '%s' and used on both sides "
                    "of the cut, where one iteration would find the value of another; first "
                    "expand the loop, which gives each iteration an element of its own",
                    temp->name, state_handle(s, call->fission.loop.u.id)->name);
        }
        VEC_PUSH(c->arena, &half[second], items[i]);
    }
    halves->first = stmt_seq(c, half[0].items, half[0].n, body->span);
    halves->second = stmt_seq(c, half[1].items, half[1].n, body->span);
    return true;
}

/* The sequence that is the loop's body, or that body in conditions; NULL where it is none. */
static const Stmt *cut_seq(const Stmt *loop)
{
    const Stmt *body = loop->u.loop.body;
    while (body->kind == ST_IF && !body->u.cond.otherwise)
        body = body->u.cond.then;
    return body->kind == ST_SEQ ? body : NULL;
}

/* The item of the sequence that holds the node at the end of `path`; -1 where nothing stands
 * behind it. */
static int cut_item(const StmtPath *path, const Stmt *seq)
{
    int at = 0;
    while (at < path->n && path->items[at] != seq)
        at++;
    if (!seq || at + 1 >= path->n)
        return -1;
    int item = stmt_place(seq, path->items[at + 1]);
    return item + 1 < seq->u.seq.n ? item : -1;
}

/* A half of the sequence, in the conditions around that. */
static Stmt *in_conditions(Context *c, const Stmt *body, const Stmt *seq, Stmt *half)
{
    if (body == seq)
        return half;
    Stmt *inner = in_conditions(c, body->u.cond.then, seq, half);
    return stmt_if(c, body->u.cond.cond, inner, NULL, body->span);
}

/* The loop around each half, one after the other. Both have the old variable, which says which of
 * their iterations were one. */
static Stmt *fission_model(Context *c, const Stmt *loop, Halves halves)
{
    ForStmt first = loop->u.loop, second = loop->u.loop;
    first.body = halves.first;
    second.body = halves.second;
    second.id = 0;
    Stmt *pair[2] = {stmt_for(c, &first, loop->span), stmt_for(c, &second, loop->span)};
    return stmt_seq(c, pair, 2, loop->span);
}

/* The loop of the second half, with a variable of its own. */
static Stmt *second_loop(Context *c, const Stmt *loop, Stmt *half)
{
    ForStmt second = loop_alike(c, loop);
    Subst to = {loop->u.loop.var, expr_var(c, second.var, loop->span)};
    second.body = stmt_subst_shaped(c, half, &to, 1);
    return stmt_for(c, &second, loop->span);
}

bool prim_fission(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0}, to = {0};
    Halves halves;
    Stmt *loop = sched_node(s, &call->fission.loop, &path);
    Stmt *node = sched_node(s, &call->fission.after, &to);
    if (!sched_require_plain(s, loop, call->span))
        return false;
    const Stmt *body = loop->u.loop.body, *seq = cut_seq(loop);
    int last = cut_item(&to, seq);
    REQUIRE_AT(
        s, E0436, call->span, last >= 0, loop,
        "'%s' is the last statement in the body of loop '%s', so there is nothing to separate",
        stmt_label(node), stmt_label(loop));
    if (!cut_body(s, call, seq, last, &halves))
        return false;
    halves.first = in_conditions(s->ctx, body, seq, halves.first);
    halves.second = in_conditions(s->ctx, body, seq, halves.second);
    Stmt *model = fission_model(s->ctx, loop, halves);
    if (!require_order(s, call, (Rewrite){s->kernel, loop, model}))
        return false;
    Stmt *first = model->u.seq.items[0], *second = second_loop(s->ctx, loop, halves.second);
    Stmt *both = stmt_seq(s->ctx, (Stmt *[]){first, second}, 2, loop->span);
    if (!require_kinds(s, call, loop, both, first->u.loop.id) ||
        !require_kinds(s, call, loop, both, second->u.loop.id))
        return false;
    sched_replace(s, loop, both);
    *result = value_loop(second);
    return true;
}

/* ---- shift ----------------------------------------------------------------------------------- */

bool prim_shift(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    Stmt *stmt = sched_node(s, &call->shift.loop, &path);
    int64_t amount = call->shift.amount.u.i;
    if (!sched_require_serial(s, stmt, call->span))
        return false;
    REQUIRE(s, E0496, call->span, amount >= -INT32_MAX && amount <= INT32_MAX,
            "the shift is at most 2147483647 iterations, found %lld", (long long)amount);
    (void)result;
    if (amount == 0)
        return true;
    ForStmt loop = stmt->u.loop;
    Facts *facts = sched_facts(s, &path);
    Expr *by = expr_index(c, amount);
    loop.lo = simplify(facts, index_add(c, loop.lo, by));
    loop.hi = simplify(facts, index_add(c, loop.hi, by));
    sched_replace(s, stmt, loop_offset(s, facts, stmt, loop, by));
    return true;
}
