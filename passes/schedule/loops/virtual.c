/* virtual.c - Binds a loop to virtual threads: each thread runs its iterations interleaved.
 *
 *   bind(v, vthread.x)    for v in 2          =>   for k in 8 {
 *                             for k in 8 {             for v in 2 unroll
 *                                 S(v, k);                 S(v, k);
 *                                 T(v, k);             for v in 2 unroll
 *                             }                            T(v, k);
 *                                                  }
 *
 * The loop comes inside all loops and conditions below it that do not speak of it, around each
 * statement of a sequence. So the virtual threads of a thread share its loops and its barriers, and
 * their operations stand side by side.
 *
 * Legal: no iteration depends on another.
 * Invariant: every instance of a block runs exactly once, and instances of one iteration keep their
 * order. */
#include "passes/schedule/loops/loop.h"

typedef struct {
    Context *c;
    const Stmt *loop;
    bool placed; /* the loop itself has its place; what follows are copies */
} Interleaving;

/* The loop, or a copy of it, around `body`. */
static Stmt *with_loop(Interleaving *v, Stmt *body)
{
    ForStmt loop = v->loop->u.loop;
    loop.kind = LOOP_UNROLL;
    loop.body = body;
    if (v->placed) {
        loop.id = ctx_new_id(v->c);
        loop.var = var_new(v->c, loop.var->name, DT_INDEX, VAR_LOOP, loop.var->span);
        Subst own = {v->loop->u.loop.var, expr_var(v->c, loop.var, span_none())};
        loop.body = stmt_subst_shaped(v->c, body, &own, 1);
    }
    v->placed = true;
    return stmt_for(v->c, &loop, v->loop->span);
}

static bool has_temp(const Stmt *seq)
{
    for (int i = 0; i < seq->u.seq.n; i++)
        if (seq->u.seq.items[i]->kind == ST_TEMP)
            return true;
    return false;
}

/* All virtual threads run the statement alike: the loop may come inside. A temporary is made anew
 * in each iteration, and a vector has one block as its body. */
static bool is_common(const Stmt *s, const Var *var)
{
    switch (s->kind) {
    case ST_FOR:
        return s->u.loop.kind != LOOP_VECTORIZE && s->u.loop.kind != LOOP_BREAKS &&
               !expr_uses_var(s->u.loop.lo, var) && !expr_uses_var(s->u.loop.hi, var);
    case ST_IF: return !expr_uses_var(s->u.cond.cond, var);
    case ST_SEQ: return !has_temp(s);
    default: return false;
    }
}

static Stmt *interleave(void *user, Stmt *s)
{
    Interleaving *v = user;
    if (!is_common(s, v->loop->u.loop.var))
        return with_loop(v, s);
    return stmt_map_children(v->c, s, interleave, v);
}

Stmt *loop_interleaved(Schedule *s, const Stmt *loop)
{
    Interleaving v = {.c = s->ctx, .loop = loop};
    return interleave(&v, loop->u.loop.body);
}
