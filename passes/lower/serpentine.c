/* serpentine.c - loops that run forwards and backwards in turn.
 *
 *   for i in 16 unroll                          for i in 16 unroll
 *       for j in 8 unroll @serpentine    =>         for j_turn in 8 unroll {
 *           S(i, j)                                     let j = i % 2 == 0 ? j_turn : 7 - j_turn;
 *                                                       S(i, j)
 *                                                   }
 *
 * Where the loops are unrolled, the last operand of one row is the first of the next, and stays where it is. The primitive has proved
 * that the inner loop's iterations may run in either order. */
#include <string.h>

#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Names names;
    const ForStmt *outer; /* the innermost loop around, or NULL */
} Serpentine;

static bool is_serpentine(const ForStmt *loop)
{
    for (int i = 0; i < loop->n_annotations; i++)
        if (!strcmp(loop->annotations[i].key, "serpentine"))
            return true;
    return false;
}

static const Annotation *without(Context *c, const ForStmt *loop)
{
    Annotation *kept = ARENA_ARRAY(c->arena, Annotation, loop->n_annotations);
    int n = 0;
    for (int i = 0; i < loop->n_annotations; i++)
        if (strcmp(loop->annotations[i].key, "serpentine"))
            kept[n++] = loop->annotations[i];
    return kept;
}

/* The loop over `turn`, with its old variable as a name in the body. */
static Stmt *turn_loop(Serpentine *p, const Stmt *s, const ForStmt *outer)
{
    Context *c = p->c;
    const ForStmt *old = &s->u.loop;
    ForStmt loop = *old;
    loop.var = var_new(c, names_fresh(&p->names, arena_printf(c->arena, "%s_turn", old->var->name)), DT_INDEX, VAR_LOOP,
                       s->span);
    Expr *turn = expr_var(c, loop.var, s->span), *zero = expr_index(c, 0);
    Expr *even = expr_binary(c, EX_EQ, index_mod(c, expr_var(c, outer->var, s->span), expr_index(c, 2)), zero, s->span);
    Expr *last = index_sub(c, index_add(c, old->lo, old->hi), expr_index(c, 1));
    Var *var = var_new(c, old->var->name, DT_INDEX, VAR_LET, s->span);
    Stmt *let = stmt_let(c, var, expr_select(c, even, turn, index_sub(c, last, turn), s->span), s->span);
    Subst to = {old->var, expr_var(c, var, s->span)};
    loop.body = stmt_then(c, stmt_stamp(let, s), stmt_subst(c, old->body, &to, 1));
    loop.annotations = without(c, old);
    loop.n_annotations--;
    return stmt_stamp(stmt_for(c, &loop, s->span), s);
}

static Stmt *walk(void *user, Stmt *s)
{
    Serpentine *p = user;
    const ForStmt *outer = p->outer;
    if (s->kind == ST_FOR)
        p->outer = &s->u.loop;
    Stmt *done = stmt_map_children(p->c, s, walk, p);
    p->outer = outer;
    if (done->kind != ST_FOR || !is_serpentine(&done->u.loop))
        return done;
    return outer ? turn_loop(p, done, outer) : done;
}

Kernel *pass_serpentine(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Serpentine p = {.c = c, .names = names_of_kernel(c, kernel)};
    return kernel_with_body(c, kernel, walk(&p, kernel->body));
}
