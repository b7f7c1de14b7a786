/* unswitch.c - Runs loops without the guards that hold in all of their iterations.
 *
 *   for each in 32 unroll @unswitch          if first + 31 < N
 *       if first + each < N                      for each in 32 unroll
 *           y[first + each] = ...    =>              y[first + each] = ...
 *                                            else if first < N
 *                                                for each in 32 unroll
 *                                                    if first + each < N
 *                                                        y[first + each] = ...
 *
 * Threads at the edge of the data run the second loop, those in front of it the first, whose loads
 * the compiler can issue together, and those behind it none. The condition of the first is that of
 * the guards, and of the conditions of values, at their strictest in the loop. Where only the last
 * iteration needs guards, it follows a loop over the others; so do the last two, where the first
 * one precedes it, as in rows that start anywhere (align). Of nested marks, the outermost for which
 * that holds counts, else the innermost. Loops in which threads wait for each other, or exchange
 * values, stay as they are. Outside of a launch there are no threads, so a loop around launches
 * keeps the guards that differ between them.
 */
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Facts *facts;
    Names *taken;
    VarList inner;   /* the loop's variable and those of loops in it */
    bool launches;   /* the host runs the loop, and launches in it */
    SubstList names; /* of values in the loop */
    ExprList strict; /* conditions outside of the loop that imply guards in it */
} Unswitch;

/* The loop without its mark and those of loops in it. */
static Stmt *unmark(Rewriter *r, Stmt *s)
{
    if (!stmt_is_marked(s, ANNOTATION_UNSWITCH))
        return s;
    ForStmt loop = s->u.loop;
    const Annotation *mark = annotation_find(loop.annotations, ANNOTATION_UNSWITCH);
    loop.annotations = annotations_without(r->ctx, loop.annotations, mark->key);
    return stmt_stamp(stmt_for(r->ctx, &loop, s->span), s);
}

static bool crosses_threads(Context *c, const Stmt *s)
{
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);) {
        bool exchanges =
            at.expr && (at.expr->kind == EX_SHUFFLE || at.expr->kind == EX_SHUFFLE_XOR);
        if (exchanges || (at.stmt && at.stmt->kind == ST_INSTRUCTION))
            return true;
    }
    return stmt_has_barrier(c, s) || stmt_awaits(c, s, NULL);
}

/* ---- the strictest guards -------------------------------------------------------------------- */

/* It is of a launch in the loop, and has no value outside of that. */
static bool uses_axis(const Unswitch *u, const Expr *e)
{
    for (Cursor at = cursor_expr(u->c, e); u->launches && cursor_next(&at);)
        if (at.expr->kind == EX_AXIS)
            return true;
    return false;
}

typedef enum { HARDEST, EASIEST } Meeting;

/* A comparison as it is where that is hardest, or easiest to meet. NULL: of another kind, or
 * unknown. */
static Expr *at_extreme(Unswitch *u, const Expr *cond, Meeting which)
{
    const Var *const *inner = (const Var *const *)u->inner.items;
    bool below = cond->kind == EX_LT || cond->kind == EX_LE;
    if (!below && cond->kind != EX_GT && cond->kind != EX_GE)
        return NULL;
    bool large = below == (which == HARDEST); /* the first operand is taken at its largest */
    Expr *first = large ? largest_over(u->facts, cond->u.arg[0], inner, u->inner.n, NULL)
                        : least_over(u->facts, cond->u.arg[0], inner, u->inner.n, NULL);
    Expr *second = large ? least_over(u->facts, cond->u.arg[1], inner, u->inner.n, NULL)
                         : largest_over(u->facts, cond->u.arg[1], inner, u->inner.n, NULL);
    return first && second ? expr_binary(u->c, cond->kind, first, second, cond->span) : NULL;
}

static void add_strict(Unswitch *u, Expr *cond)
{
    for (int i = 0; i < u->strict.n; i++)
        if (expr_equal(u->strict.items[i], cond))
            return;
    VEC_PUSH(u->c->arena, &u->strict, cond);
}

/* A comparison of indices without the variables of inner loops, as at_extreme has it; NULL: it is
 * another condition, or unknown. */
static Expr *at_meeting(Unswitch *u, Expr *cond, Meeting meeting)
{
    cond = simplify(u->facts, cond);
    if (op_info(cond->kind)->class != OP_COMPARE || cond->u.arg[0]->type != DT_INDEX ||
        expr_has_load(cond) || uses_axis(u, cond))
        return NULL;
    return expr_uses_any(cond, u->inner.items, u->inner.n) ? at_extreme(u, cond, meeting) : cond;
}

static void note_guard(Unswitch *u, Expr *guard)
{
    ExprList all = {0};
    expr_chain(u->c, expr_expand(u->c, guard, &u->names), EX_AND, &all);
    for (int i = 0; i < all.n; i++) {
        Expr *strict = at_meeting(u, all.items[i], HARDEST);
        if (strict)
            add_strict(u, strict);
    }
}

/* Conditions of values, such as those of cells at the edge of a grid. */
static void note_choices(Unswitch *u, const Expr *value)
{
    for (Cursor at = cursor_expr(u->c, value); cursor_next(&at);)
        if (at.expr->kind == EX_SELECT)
            note_guard(u, at.expr->u.arg[0]);
}

static Stmt *note_guards(void *user, Stmt *s)
{
    Unswitch *u = user;
    if (s->kind == ST_LET) {
        Subst value = {s->u.let.var, s->u.let.value};
        VEC_PUSH(u->c->arena, &u->names, value);
        return s;
    }
    if (s->kind == ST_IF && !s->u.cond.otherwise)
        note_guard(u, s->u.cond.cond);
    if (s->kind == ST_STORE)
        note_choices(u, s->u.store.value);
    if (s->kind == ST_FOR)
        VEC_PUSH(u->c->arena, &u->inner, s->u.loop.var);
    u->launches |= s->kind == ST_LAUNCH;
    return stmt_map_inside(u->c, u->facts, s, note_guards, u);
}

/* ---- two loops ------------------------------------------------------------------------------- */

/* A copy of the loop with buffers of its own in the place of those that the loop declares. */
static Stmt *copy_of(Unswitch *u, Stmt *loop)
{
    Stmt *copy = stmt_clone_fresh(u->c, loop);
    StmtList temps = stmts_of_kind(u->c, copy, ST_TEMP);
    for (int i = 0; i < temps.n; i++) {
        Buffer like = *temps.items[i]->u.temp;
        like.name = names_fresh(u->taken, like.name);
        copy = stmt_replace_buffer(u->c, copy, temps.items[i]->u.temp, buffer_new(u->c, &like));
    }
    return copy;
}

/* How many conditions stand in it: guards, and those of values. */
static int count_tests(Context *c, const Stmt *s)
{
    int n = 0;
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);)
        n += (at.stmt && at.stmt->kind == ST_IF) || (at.expr && at.expr->kind == EX_SELECT);
    return n;
}

/* A copy of the loop without the guards that the facts imply. */
static Stmt *bare_copy(Unswitch *u, Stmt *loop)
{
    return simplify_stmt(u->facts, copy_of(u, loop));
}

/* The loop over a part of its range. */
static Stmt *over(Unswitch *u, const Stmt *s, int64_t lo, int64_t hi)
{
    ForStmt loop = s->u.loop;
    loop.lo = expr_index(u->c, lo);
    loop.hi = expr_index(u->c, hi);
    return stmt_stamp(stmt_for(u->c, &loop, s->span), s);
}

static Stmt *walk(void *user, Stmt *s);

/* The loop without its mark, where loops in it are marked. */
static Stmt *walk_inside(Unswitch *u, Stmt *loop)
{
    Rewriter r = {.ctx = u->c};
    return stmt_map_inside(u->c, u->facts, unmark(&r, loop), walk, u);
}

/* Iterations with the guards of the loop. */
static Stmt *guarded(Unswitch *u, Stmt *marked, int64_t lo, int64_t hi)
{
    return walk_inside(u, over(u, marked, lo, hi));
}

/* Iterations of the loop, simplified; NULL: there are none, or guards remain in them. */
static Stmt *free_of_guards(Unswitch *u, const Stmt *loop, int64_t lo, int64_t hi)
{
    Stmt *most = lo < hi ? simplify_stmt(u->facts, over(u, loop, lo, hi)) : NULL;
    return most && count_tests(u->c, most) == 0 ? most : NULL;
}

/* All of `n` iterations without guards but so many of the first and the last ones. NULL: the guards
 * are of others, too. */
static Stmt *with_ends_apart(Unswitch *u, Stmt *marked, Stmt *loop, int64_t n, const int *ends)
{
    int64_t first = ends[0], last = ends[1];
    Stmt *bare = free_of_guards(u, loop, first, n - last);
    if (!bare)
        return NULL;
    bare = copy_of(u, bare);
    if (first > 0)
        bare = stmt_then(u->c, guarded(u, copy_of(u, marked), 0, first), bare);
    return last > 0 ? stmt_then(u->c, bare, guarded(u, marked, n - last, n)) : bare;
}

/* The last iteration apart, or where rows start anywhere in the first one, this one, too. Where an
 * iteration in the middle has guards of its own, there is no need to try. */
static Stmt *with_few_apart(Unswitch *u, Stmt *marked, Stmt *loop)
{
    static const int ends[][2] = {{0, 1}, {1, 1}, {1, 2}};
    int64_t n;
    if (!loop_const_extent(&loop->u.loop, &n) || !loop_counts_from_zero(&loop->u.loop) ||
        count_tests(u->c, loop) == 0 || (n > 3 && !free_of_guards(u, loop, 1, n - 2)))
        return NULL;
    Stmt *apart = NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !apart; i++)
        apart = with_ends_apart(u, marked, loop, n, ends[i]);
    return apart;
}

/* The guard of all that a loop does, in terms of its variables and those of loops in it; NULL where
 * there is no such guard. */
static Expr *guard_of_all(Unswitch *u, Stmt *s)
{
    while (s->kind == ST_FOR || s->kind == ST_SEQ) {
        if (s->kind == ST_FOR) {
            VEC_PUSH(u->c->arena, &u->inner, s->u.loop.var);
            facts_enter(u->facts, s);
            s = s->u.loop.body;
            continue;
        }
        int last = s->u.seq.n - 1;
        for (int i = 0; i < last; i++) {
            const Stmt *let = s->u.seq.items[i];
            if (let->kind != ST_LET)
                return NULL;
            VEC_PUSH(u->c->arena, &u->names, ((Subst){let->u.let.var, let->u.let.value}));
        }
        s = s->u.seq.items[last];
    }
    bool alone = s->kind == ST_IF && !s->u.cond.otherwise;
    return alone ? expr_expand(u->c, s->u.cond.cond, &u->names) : NULL;
}

/* The loop where its guard holds in some iteration: at the easiest for each of its conditions. */
static Stmt *where_any(Unswitch *u, Stmt *loop)
{
    Unswitch inside = {.c = u->c, .facts = u->facts};
    FactsMark mark = facts_mark(u->facts);
    ExprList all = {0}, any = {0};
    Expr *guard = guard_of_all(&inside, loop);
    if (guard)
        expr_chain(u->c, guard, EX_AND, &all);
    for (int i = 0; i < all.n; i++) {
        Expr *cond = at_meeting(&inside, all.items[i], EASIEST);
        if (cond)
            VEC_PUSH(u->c->arena, &any, cond);
    }
    facts_reset(u->facts, mark);
    Expr *cond = cond_join(u->c, &any);
    return cond ? stmt_stamp(stmt_if(u->c, cond, loop, NULL, loop->span), loop) : loop;
}

/* The loop without guards where the strictest ones hold, else as it is, if it does anything. */
static Stmt *with_two_loops(Unswitch *u, Stmt *loop)
{
    Unswitch inside = {.c = u->c, .facts = u->facts, .taken = u->taken};
    note_guards(&inside, loop);
    Expr *all = cond_join(u->c, &inside.strict);
    if (!all)
        return loop;
    FactsMark mark = facts_mark(u->facts);
    facts_assume(u->facts, all);
    Stmt *bare = bare_copy(u, loop);
    facts_reset(u->facts, mark);
    bool helps = bare && count_tests(u->c, bare) < count_tests(u->c, loop);
    return helps ? stmt_stamp(stmt_if(u->c, all, bare, where_any(u, loop), loop->span), loop)
                 : loop;
}

static bool has_marks_inside(Context *c, const Stmt *loop)
{
    for (Cursor at = cursor_stmts(c, loop->u.loop.body); cursor_next(&at);)
        if (stmt_is_marked(at.stmt, ANNOTATION_UNSWITCH))
            return true;
    return false;
}

static Stmt *walk(void *user, Stmt *s)
{
    Unswitch *u = user;
    if (s->kind == ST_LET) /* known to what follows in its sequence */
        facts_enter(u->facts, s);
    if (!stmt_is_marked(s, ANNOTATION_UNSWITCH))
        return stmt_map_inside(u->c, u->facts, s, walk, u);
    Stmt *loop = rewrite_stmt(&(Rewriter){.ctx = u->c, .stmt = unmark}, s);
    if (crosses_threads(u->c, loop))
        return walk_inside(u, s);
    Stmt *apart = with_few_apart(u, s, loop);
    if (apart)
        return apart;
    return has_marks_inside(u->c, s) ? walk_inside(u, s) : with_two_loops(u, loop);
}

Kernel *pass_unswitch(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Names names = names_of_kernel(c, kernel);
    Unswitch u = {.c = c, .facts = facts_of_kernel(c, kernel), .taken = &names};
    return names_settle(c, kernel_with_body(c, kernel, walk(&u, kernel->body)));
}
