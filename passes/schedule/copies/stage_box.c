/* stage_box.c - Computes the size of a staged copy: the part of a buffer that an iteration of a
 * loop accesses, for all threads that share it (stage.h). */
#include "passes/schedule/copies/stage.h"

/* The variables of bound loops on `path` whose iterations share what one of them copies: threads of
 * a block do, unless each has its own copy. A block of the grid cannot wait for another one, so
 * each copies all that it reads, also in global memory. */
static int sharing_vars(const StmtPath *path, Scope scope, const Var **out)
{
    int n = 0;
    for (int i = 0; i < path->n; i++) {
        const Stmt *stmt = path->items[i];
        if (stmt_is_bound(stmt) && axis_is_thread(stmt->u.loop.axis) &&
            scope_shared_along(scope, stmt->u.loop.axis))
            out[n++] = stmt->u.loop.var;
    }
    return n;
}

/* Widens the box over the threads that share the buffer, within the buffer. */
static bool widen(Schedule *s, Facts *facts, const BoxOf *of, Interval *box)
{
    Context *c = s->ctx;
    const Buffer *buffer = of->buffer;
    const Var **vars = ARENA_ARRAY(c->arena, const Var *, of->loop->n + 1);
    int n = sharing_vars(of->loop, of->scope, vars);
    bool exact;
    Expr *one = expr_index(c, 1);
    for (int i = 0; i < buffer->rank && n > 0; i++) {
        Expr *last = simplify(facts, index_sub(c, index_add(c, box[i].min, box[i].extent), one));
        Expr *lo = least_over(facts, box[i].min, vars, n, &exact);
        Expr *hi = largest_over(facts, last, vars, n, &exact);
        if (!lo || !hi)
            return false;
        box[i].min = simplify(facts, lo);
        box[i].extent = simplify(facts, index_add(c, index_sub(c, hi, lo), one));
        box[i] = interval_clip(facts, box[i], buffer->shape[i]);
    }
    return true;
}

bool stage_box(Schedule *s, Facts *facts, const BoxOf *of, Interval *box)
{
    Stmt *body = of->loop->items[of->loop->n - 1]->u.loop.body;
    return region_touched(facts, body, of->buffer, of->mode, box) && widen(s, facts, of, box);
}
