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
 * compiler can issue together. The condition of the first is that of the guards, and of the
 * conditions of values, at their strictest in the loop. Where only the last iteration needs guards,
 * it follows a loop over the others. Of nested marks, the outermost for which that holds counts,
 * else the innermost. Loops in which threads wait for each other, or exchange values, stay as they
 * are. */
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

/* A comparison as it is where that is hardest to meet. NULL: of another kind, or unknown. */
static Expr *strictest(Unswitch *u, const Expr *cond)
{
    const Var *const *inner = (const Var *const *)u->inner.items;
    bool below = cond->kind == EX_LT || cond->kind == EX_LE;
    if (!below && cond->kind != EX_GT && cond->kind != EX_GE)
        return NULL;
    Expr *most = largest_over(u->facts, cond->u.arg[!below], inner, u->inner.n, NULL);
    Expr *least = least_over(u->facts, cond->u.arg[below], inner, u->inner.n, NULL);
    if (!most || !least)
        return NULL;
    return expr_binary(u->c, cond->kind, below ? most : least, below ? least : most, cond->span);
}

static void add_strict(Unswitch *u, Expr *cond)
{
    for (int i = 0; i < u->strict.n; i++)
        if (expr_equal(u->strict.items[i], cond))
            return;
    VEC_PUSH(u->c->arena, &u->strict, cond);
}

static bool compares_indices(const Expr *cond)
{
    return op_info(cond->kind)->class == OP_COMPARE && cond->u.arg[0]->type == DT_INDEX;
}

static void note_guard(Unswitch *u, Expr *guard)
{
    ExprList all = {0};
    expr_chain(u->c, expr_expand(u->c, guard, &u->names), EX_AND, &all);
    for (int i = 0; i < all.n; i++) {
        Expr *cond = simplify(u->facts, all.items[i]);
        bool known = compares_indices(cond) && !expr_has_load(cond);
        Expr *strict = known && uses_inner(u, cond) ? strictest(u, cond) : cond;
        if (known && strict)
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

/* All iterations but the last without guards, and the last. NULL: the guards are of others, too. */
static Stmt *with_last_apart(Unswitch *u, Stmt *marked, Stmt *loop)
{
    int64_t n;
    if (!loop_const_extent(&loop->u.loop, &n) || n < 2 || !loop_counts_from_zero(&loop->u.loop))
        return NULL;
    Stmt *bare = bare_copy(u, over(u, loop, 0, n - 1));
    bool helps = bare && count_tests(u->c, loop) > 0 && count_tests(u->c, bare) == 0;
    return helps ? stmt_then(u->c, bare, walk_inside(u, over(u, marked, n - 1, n))) : NULL;
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
    bool helps = bare && count_tests(u->c, bare) < count_tests(u->c, loop);
    return helps ? stmt_stamp(stmt_if(u->c, all, bare, loop, loop->span), loop) : loop;
}

static bool has_marks_inside(Context *c, const Stmt *loop)
{
    for (Cursor at = cursor_stmts(c, loop->u.loop.body); cursor_next(&at);)
        if (is_marked(at.stmt))
            return true;
    return false;
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
        return walk_inside(u, s);
    Stmt *apart = with_last_apart(u, s, loop);
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
