/* unswitch.c - Runs loops without the guards that hold in all of their iterations.
 *
 *   for each in 32 unroll @unswitch          if first + 31 < N
 *       if first + each < N                      for each in 32 unroll
 *           y[first + each] = ...    =>              y[first + each] = ...
 *                                            else
 *                                                for each in 32 unroll
 *                                                    if first + each < N
 *                                                        y[first + each] = ...
 *
 * Threads at the edge of the data run the second loop, all others the first, whose loads the
 * compiler can issue together. The condition of the first is that of the guards at their strictest
 * in the loop. Where only the last iteration needs guards, it follows a loop over the others. Loops
 * in which threads wait for each other, or exchange values, stay as they are. */
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Facts *facts;
    Names *taken;
    VarList inner;   /* the loop's variable and those of loops in it */
    SubstList names; /* of values in the loop */
    ExprList strict; /* conditions outside of the loop that imply guards in it */
} Unswitch;

static bool is_marked(const Stmt *s)
{
    return s->kind == ST_FOR && annotation_find(s->u.loop.annotations, ANNOTATION_UNSWITCH);
}

/* The loop without its mark and those of loops in it. */
static Stmt *unmark(Rewriter *r, Stmt *s)
{
    if (!is_marked(s))
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

static bool uses_inner(const Unswitch *u, const Expr *e)
{
    for (int i = 0; i < u->inner.n; i++)
        if (expr_uses_var(e, u->inner.items[i]))
            return true;
    return false;
}

/* `a < b` or `a <= b` as it is where that is hardest to meet. NULL: of another form, or unknown. */
static Expr *strictest(Unswitch *u, const Expr *cond)
{
    if (cond->kind != EX_LT && cond->kind != EX_LE)
        return NULL;
    const Var *const *inner = (const Var *const *)u->inner.items;
    Expr *a = largest_over(u->facts, cond->u.arg[0], inner, u->inner.n, NULL);
    Expr *b = least_over(u->facts, cond->u.arg[1], inner, u->inner.n, NULL);
    return a && b ? expr_binary(u->c, cond->kind, a, b, cond->span) : NULL;
}

static void add_strict(Unswitch *u, Expr *cond)
{
    for (int i = 0; i < u->strict.n; i++)
        if (expr_equal(u->strict.items[i], cond))
            return;
    VEC_PUSH(u->c->arena, &u->strict, cond);
}

static void note_guard(Unswitch *u, Expr *guard)
{
    ExprList all = {0};
    expr_chain(u->c, expr_expand(u->c, guard, &u->names), EX_AND, &all);
    for (int i = 0; i < all.n; i++) {
        Expr *cond = simplify(u->facts, all.items[i]);
        Expr *strict = uses_inner(u, cond) ? strictest(u, cond) : cond;
        if (strict && !expr_has_load(strict))
            add_strict(u, strict);
    }
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
    if (s->kind == ST_FOR)
        VEC_PUSH(u->c->arena, &u->inner, s->u.loop.var);
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

static int count_ifs(Context *c, const Stmt *s)
{
    return stmts_of_kind(c, s, ST_IF).n;
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

/* All iterations but the last without guards, and the last. NULL: the guards are of others, too. */
static Stmt *with_last_apart(Unswitch *u, Stmt *loop)
{
    int64_t n;
    if (!loop_const_extent(&loop->u.loop, &n) || n < 2 || !loop_counts_from_zero(&loop->u.loop))
        return NULL;
    Stmt *bare = bare_copy(u, over(u, loop, 0, n - 1));
    bool helps = bare && count_ifs(u->c, loop) > 0 && count_ifs(u->c, bare) == 0;
    return helps ? stmt_then(u->c, bare, over(u, loop, n - 1, n)) : NULL;
}

/* The loop without guards where the strictest ones hold, else as it is. */
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
    bool helps = bare && count_ifs(u->c, bare) < count_ifs(u->c, loop);
    return helps ? stmt_stamp(stmt_if(u->c, all, bare, loop, loop->span), loop) : loop;
}

static Stmt *walk(void *user, Stmt *s)
{
    Unswitch *u = user;
    if (s->kind == ST_LET) /* known to what follows in its sequence */
        facts_enter(u->facts, s);
    if (!is_marked(s))
        return stmt_map_inside(u->c, u->facts, s, walk, u);
    Rewriter unmarking = {.ctx = u->c, .stmt = unmark};
    Stmt *loop = rewrite_stmt(&unmarking, s);
    if (crosses_threads(u->c, loop))
        return loop;
    Stmt *apart = with_last_apart(u, loop);
    return apart ? apart : with_two_loops(u, loop);
}

Kernel *pass_unswitch(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Names names = names_of_kernel(c, kernel);
    Unswitch u = {.c = c, .facts = facts_of_kernel(c, kernel), .taken = &names};
    return names_settle(c, kernel_with_body(c, kernel, walk(&u, kernel->body)));
}
