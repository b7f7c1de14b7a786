/* serpentine.c - Lowers loops that alternate their direction.
 *
 *   for i in 16 unroll                          for i in 16 unroll
 *       for j in 8 unroll @serpentine    =>         for j_turn in 8 unroll {
 *           S(i, j)                                     let j = i % 2 == 0 ? j_turn : 7 - j_turn;
 *                                                       S(i, j)
 *                                                   }
 *
 * If an unrolled outer loop contains nothing else, it takes two iterations at once, without a
 * selection:
 *
 *   for i_pair in 8 unroll {
 *       for j in 8 unroll
 *           S(i_pair * 2, j)
 *       for j_turn in 8 unroll
 *           S(i_pair * 2 + 1, 7 - j_turn)
 *   }
 *
 * In unrolled loops, the last operand of one row is the first of the next, and stays in its
 * register. The primitive has proved that the inner loop's iterations can run in either order;
 * check_serpentine re-checks this after later steps. */
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Names names;
    const ForStmt *outer; /* the innermost loop around, or NULL */
} Serpentine;

static AnnotationList without(Context *c, const ForStmt *loop)
{
    return annotations_without(c, loop->annotations,
                               annotation_find(loop->annotations, ANNOTATION_SERPENTINE)->key);
}

/* The loop over `turn`, with its old variable as a name in the body. */
static Stmt *alternate_loop(Serpentine *p, const Stmt *s, const ForStmt *outer)
{
    Context *c = p->c;
    const ForStmt *old = &s->u.loop;
    ForStmt loop = *old;
    loop.var = var_new(c, names_fresh(&p->names, arena_printf(c->arena, "%s_turn", old->var->name)),
                       DT_INDEX, VAR_LOOP, s->span);
    Expr *turn = expr_var(c, loop.var, s->span), *zero = expr_index(c, 0);
    Expr *even = expr_binary(
        c, EX_EQ, index_mod(c, expr_var(c, outer->var, s->span), expr_index(c, 2)), zero, s->span);
    Expr *last = index_sub(c, index_add(c, old->lo, old->hi), expr_index(c, 1));
    Var *var = var_new(c, old->var->name, DT_INDEX, VAR_LET, s->span);
    Stmt *let =
        stmt_let(c, var, expr_select(c, even, turn, index_sub(c, last, turn), s->span), s->span);
    Subst to = {old->var, expr_var(c, var, s->span)};
    loop.body = stmt_then(c, stmt_stamp(let, s), stmt_subst(c, old->body, &to, 1));
    loop.annotations = without(c, old);
    return stmt_stamp(stmt_for(c, &loop, s->span), s);
}

/* No loop, let or buffer below has a name, so that there may be two of it. */
static bool names_nothing(Context *c, Stmt *s)
{
    VarList names = {0};
    vars_defined_in(c, s, &names);
    return names.n == 0 && stmts_of_kind(c, s, ST_TEMP).n == 0;
}

/* Both loops have their iterations written out, an even number of rows, which may be copied. */
static bool comes_in_pairs(Context *c, const ForStmt *outer)
{
    const Stmt *inner = outer->body;
    int64_t lo, hi;
    if (outer->kind != LOOP_UNROLL || outer->step != 1 || inner->kind != ST_FOR ||
        !loop_is_serpentine(&inner->u.loop) || inner->u.loop.kind != LOOP_UNROLL ||
        inner->u.loop.step != 1)
        return false;
    return names_nothing(c, inner->u.loop.body) && expr_is_const(outer->lo, &lo) &&
           expr_is_const(outer->hi, &hi) && lo == 0 && hi % 2 == 0;
}

typedef enum { FORWARDS, BACKWARDS } Direction;

/* The inner loop in the row `row`, with another variable: forwards, or backwards. */
static Stmt *one_way(Serpentine *p, const Stmt *s, const ForStmt *outer, Expr *row, Direction way)
{
    Context *c = p->c;
    const ForStmt *old = &s->u.loop;
    ForStmt loop = *old;
    Name name = way == BACKWARDS
                    ? names_fresh(&p->names, arena_printf(c->arena, "%s_turn", old->var->name))
                    : old->var->name;
    loop.var = var_new(c, name, DT_INDEX, VAR_LOOP, s->span);
    Expr *at = expr_var(c, loop.var, s->span);
    if (way == BACKWARDS)
        at = index_sub(c, index_sub(c, index_add(c, old->lo, old->hi), expr_index(c, 1)), at);
    Subst to[] = {{outer->var, row}, {old->var, at}};
    loop.body = stmt_subst(c, old->body, to, 2);
    loop.annotations = without(c, old);
    return stmt_stamp(stmt_for(c, &loop, s->span), s);
}

static Stmt *pair_loop(Serpentine *p, const Stmt *s)
{
    Context *c = p->c;
    const ForStmt *old = &s->u.loop;
    ForStmt loop = *old;
    loop.var = var_new(c, names_fresh(&p->names, arena_printf(c->arena, "%s_pair", old->var->name)),
                       DT_INDEX, VAR_LOOP, s->span);
    loop.hi = simplify(facts_new(c), index_div(c, old->hi, expr_index(c, 2)));
    Expr *even = index_mul(c, expr_var(c, loop.var, s->span), expr_index(c, 2));
    Expr *odd = index_add(c, even, expr_index(c, 1));
    loop.body = stmt_then(c, one_way(p, old->body, old, even, FORWARDS),
                          one_way(p, old->body, old, odd, BACKWARDS));
    Stmt *done = stmt_stamp(stmt_for(c, &loop, s->span), s);
    return simplify_stmt(facts_new(c), done);
}

static Stmt *walk(void *user, Stmt *s)
{
    Serpentine *p = user;
    if (s->kind == ST_FOR && comes_in_pairs(p->c, &s->u.loop))
        return pair_loop(p, s);
    const ForStmt *outer = p->outer;
    if (s->kind == ST_FOR)
        p->outer = &s->u.loop;
    Stmt *done = stmt_map_children(p->c, s, walk, p);
    p->outer = outer;
    if (done->kind != ST_FOR || !loop_is_serpentine(&done->u.loop))
        return done;
    return outer ? alternate_loop(p, done, outer) : done;
}

Kernel *pass_serpentine(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Serpentine p = {.c = c, .names = names_of_kernel(c, kernel)};
    return kernel_with_body(c, kernel, walk(&p, kernel->body));
}

/* ---- re-check -------------------------------------------------------------------------------- */

/* The loop writes only local memory, so iterations on different threads cannot conflict. */
static bool writes_own(Context *c, Stmt *s)
{
    AccessList writes = access_list(c, s, NULL, ACCESS_WRITE);
    for (int i = 0; i < writes.n; i++)
        if (writes.items[i].buffer->scope != SCOPE_LOCAL)
            return false;
    return true;
}

/* Reversing the loop preserves the order of dependences, and the thread loops around and below stay
 * legal. */
static bool reversal_is_legal(Context *c, const Kernel *kernel, Stmt *s, Conflict *why)
{
    bool rounds = false;
    Stmt *reversed = loop_backwards(c, s);
    Kernel other = *kernel;
    StmtPath path = {0};
    if (!dependence_order_kept(c, (Rewrite){kernel, s, reversed}, &rounds, why))
        return false;
    if (writes_own(c, s))
        return true;
    other.body = stmt_replace(c, kernel->body, s, reversed);
    stmt_find(c, other.body, s->u.loop.id, &path);
    for (int i = 0; i < path.n; i++) {
        const ForStmt *loop = &path.items[i]->u.loop;
        if (path.items[i]->kind == ST_FOR && loop->kind == LOOP_BIND &&
            !threads_loop_kind_legal(c, &other, loop, why))
            return false;
    }
    return true;
}

/* The loop contains one block, which writes only local memory and reads it only in its own updates,
 * so later steps have added no dependence. */
static bool only_updates_own(Context *c, Stmt *loop)
{
    if (!writes_own(c, loop) || stmts_of_kind(c, loop, ST_BLOCK).n != 1)
        return false;
    AccessList all = access_list(c, loop, NULL, ACCESS_ANY);
    for (int i = 0; i < all.n; i++)
        for (int k = 0; k < all.n && all.items[i].writes; k++)
            if (!all.items[k].writes && all.items[k].buffer->id == all.items[i].buffer->id)
                return false;
    return true;
}

/* False after E0499. */
static bool check_reversal(Context *c, const Kernel *kernel, Stmt *s)
{
    Conflict why;
    if (only_updates_own(c, s) || reversal_is_legal(c, kernel, s, &why))
        return true;
    diag_error(c, E0499, why.first_span,
               "serpentine loop '%s' changes the result after later steps of the schedule: block "
               "'%s' at %s accesses %s ...",
               s->u.loop.var->name, why.first->name, why.first_at, why.element);
    diag_note(c, why.second_span,
              "... and so does block '%s' at %s: %s; remove serpentine, or the step that bound the "
              "loops or moved blocks into them",
              why.second->name, why.second_at, why.reason);
    return false;
}

Kernel *pass_check_serpentine(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    for (Cursor at = cursor_outer(c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR && loop_is_serpentine(&at.stmt->u.loop) &&
            !check_reversal(c, kernel, at.stmt))
            return NULL;
    return kernel_with_body(c, kernel, kernel->body);
}
