/* thread_reduction_check.c - Decides whether a reduction can be distributed across the threads of a
 * block. See thread_reduction.h. */
#include "passes/shared/threads/thread_reduction.h"

#include "passes/analysis/dependence/partial.h"
#include "passes/analysis/polyhedral/relation.h"
#include "passes/analysis/threads/launch.h"

enum { MAX_LANES = 1024 };

static bool refuse(Apart *a, const char *format, ...) TIRC_PRINTF(2, 3);

/* Always false. */
static bool refuse(Apart *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    a->why = arena_vprintf(a->c->arena, format, args);
    va_end(args);
    return false;
}

int reduced_lanes(Context *c, const StmtPath *path, const Stmt **first)
{
    int n = 0;
    int64_t extent;
    const BlockStmt *block = &path_end(path)->u.block;
    for (int i = 0; i + 1 < path->n; i++) {
        const Stmt *s = path->items[i];
        if (!stmt_is_thread_loop(s) || !reduction_uses(c, block, ITER_REDUCE, s) ||
            (loop_const_extent(&s->u.loop, &extent) && extent <= 1) ||
            (reduction_uses(c, block, ITER_SPATIAL, s) && !reduction_group(c, block, s)))
            continue;
        if (n++ == 0)
            *first = s;
    }
    return n;
}

static bool check_lanes(Apart *a)
{
    const Stmt *second = NULL;
    for (int i = 0; i + 1 < a->path.n && !second; i++)
        if (a->path.items[i] != a->lanes && stmt_is_thread_loop(a->path.items[i]) &&
            reduction_uses(a->c, a->block, ITER_REDUCE, a->path.items[i]))
            second = a->path.items[i];
    const ForStmt *loop = &a->lanes->u.loop;
    if (second)
        return refuse(a,
                      "block '%s' would reduce over two thread loops, '%s' and '%s'; fuse them, "
                      "and bind the fused loop",
                      a->block->name, loop->var->name, second->u.loop.var->name);
    if (!loop_const_extent(loop, &a->extent) || a->extent > MAX_LANES)
        return refuse(a,
                      "loop '%s' must have a literal number of iterations, at most %d, to reduce "
                      "across threads",
                      loop->var->name, MAX_LANES);
    return true;
}

/* Each thread combines consecutive values, and threads come in the order of their values. */
static bool check_order(Apart *a)
{
    const Stmt *anchor = a->path.items[a->anchor];
    if (reducer_is_ordered(&a->r) && anchor != a->lanes)
        return refuse(a,
                      "reducer '%s' is ordered, so each thread has to combine consecutive values, "
                      "but loop '%s' of the reduction is around loop '%s', so that its threads "
                      "take turns; bind the outer one of the two, as in  let [lane, each] = "
                      "split(%s, [32, _]);  bind(lane, threadIdx.x);",
                      a->r.combiner->name, anchor->u.loop.var->name, a->lanes->u.loop.var->name,
                      anchor->u.loop.var->name);
    return true;
}

/* Checks a loop inside the anchor, which may be an axis of the partial results. */
static bool check_inner(Apart *a, const Stmt *s)
{
    int64_t extent;
    const ForStmt *loop = &s->u.loop;
    bool reduces = reduction_uses(a->c, a->block, ITER_REDUCE, s),
         spatial = reduction_uses(a->c, a->block, ITER_SPATIAL, s);
    if (loop->kind == LOOP_BIND && axis_is_block(loop->axis))
        return refuse(a,
                      "loop '%s' is bound to blocks inside the reduction, but the threads that "
                      "reduce must be in one block; bind a loop outside the reduction instead",
                      loop->var->name);
    if (reduces && spatial)
        return refuse(a,
                      "loop '%s' carries the reduction and also selects elements of '%s'; split it "
                      "into one loop for each",
                      loop->var->name, a->r.parts[0].target.buffer->name);
    if (!spatial)
        return true;
    if (!loop_const_extent(loop, &extent))
        return refuse(a,
                      "loop '%s' is inside the reduction, so each thread keeps one result per "
                      "iteration, and the number of iterations must be a literal; split it, and "
                      "reorder the outer part outside",
                      loop->var->name);
    VEC_PUSH(a->c->arena, &a->dims, loop);
    return true;
}

static bool check_loops(Apart *a)
{
    int64_t extent;
    for (int i = 0; i < a->anchor; i++)
        if (stmt_is_thread_loop(a->path.items[i]) &&
            reduction_uses(a->c, a->block, ITER_SPATIAL, a->path.items[i]) &&
            loop_const_extent(&a->path.items[i]->u.loop, &extent))
            VEC_PUSH(a->c->arena, &a->dims, &a->path.items[i]->u.loop);
    a->outside = a->dims.n;
    for (int i = a->anchor; i + 1 < a->path.n; i++)
        if (a->path.items[i]->kind == ST_FOR && !check_inner(a, a->path.items[i]))
            return false;
    return true;
}

/* Iterations of the loop alone come to different elements: an iterator goes along with it. */
static bool parts_elements(Apart *a, const ForStmt *loop)
{
    Facts *f = facts_new(a->c);
    for (int i = 0; i < a->block->n_iters; i++) {
        int64_t factor;
        Expr *rest;
        if (a->block->iters[i].kind == ITER_SPATIAL &&
            split_linear(f, a->block->iters[i].binding, loop->var, &factor, &rest) && factor != 0)
            return true;
    }
    return false;
}

/* Iterations of the loops inside the anchor that come to one element would each keep a part of it,
 * and store that as the result: there are none where the elements tell the iterations. */
static bool check_parts(Apart *a)
{
    Context *c = a->c;
    VarList vars = {0};
    ExprList lo = {0}, hi = {0}, known = {0}, asked = {0};
    int n = a->dims.n - a->outside;
    if (n == 0 || (n == 1 && parts_elements(a, a->dims.items[a->outside])))
        return true;
    for (int i = 0; i + 1 < a->path.n; i++) {
        const Stmt *s = a->path.items[i];
        if (!reduction_uses(c, a->block, ITER_SPATIAL, s))
            continue;
        Expr *from, *to, *var = expr_var(c, s->u.loop.var, s->span);
        loop_domain(c, &s->u.loop, &from, &to);
        VEC_PUSH(c->arena, &vars, s->u.loop.var);
        VEC_PUSH(c->arena, &lo, from);
        VEC_PUSH(c->arena, &hi, to);
        if (i < a->anchor)
            VEC_PUSH(c->arena, &known, var);
        else
            VEC_PUSH(c->arena, &asked, var);
    }
    for (int i = 0; i < a->block->n_iters; i++)
        if (a->block->iters[i].kind == ITER_SPATIAL)
            VEC_PUSH(c->arena, &known, a->block->iters[i].binding);
    PointBox box = {vars.items, lo.items, hi.items, vars.n};
    Relation elements = {&box, known.items, asked.items, known.n, asked.n};
    const char *clash = NULL;
    if (relation_tells(c, &elements, &clash) == TELLS)
        return true;
    return refuse(
        a,
        "iterations of loop '%s' and those inside of it come to one element of '%s' %s%s, "
        "and a thread would keep a part of its result for each of them; bind a loop of "
        "the reduction inside of them",
        a->dims.items[a->outside]->var->name, a->r.parts[0].target.buffer->name,
        clash ? "at " : "(not known to differ)", clash ? clash : "");
}

/* Every thread comes to the place: nothing around it runs for some threads and not for others. */
static bool check_convergent(Apart *a)
{
    VarList threads = {0};
    for (int i = 0; i < a->anchor; i++) {
        const Stmt *s = a->path.items[i];
        bool apart = s->kind == ST_IF    ? expr_uses_any(s->u.cond.cond, threads.items, threads.n)
                     : s->kind == ST_FOR ? expr_uses_any(s->u.loop.lo, threads.items, threads.n) ||
                                               expr_uses_any(s->u.loop.hi, threads.items, threads.n)
                                         : false;
        if (apart)
            return refuse(a,
                          "the threads of the reduction synchronize, but %s '%s' around it differs "
                          "between threads",
                          s->kind == ST_IF ? "the condition of" : "loop",
                          s->kind == ST_IF ? a->block->name : s->u.loop.var->name);
        if (stmt_is_thread_loop(s))
            VEC_PUSH(a->c->arena, &threads, s->u.loop.var);
    }
    return true;
}

/* Nobody else sees the result while it is partial, and what it starts from is still there at the
 * end. */
static bool check_part_alone(Apart *a, const ReducerPart *part)
{
    Stmt *anchor = a->path.items[a->anchor];
    const Buffer *buffer = part->target.buffer;
    AccessList touched = access_list(a->c, anchor, buffer, ACCESS_ANY);
    for (int i = 0; i < touched.n; i++) {
        const BlockStmt *other = touched.items[i].block;
        if (other != a->block)
            return refuse(a,
                          "'%s' is also accessed by block '%s' inside the reduction, where no "
                          "thread has the full result",
                          buffer->name, other ? other->name : "");
    }
    AccessList start = access_list_expr(a->c, part->start, NULL);
    for (int i = 0; i < start.n; i++) {
        touched.n = 0;
        access_collect(a->c, anchor, start.items[i].buffer, ACCESS_WRITE, &touched);
        if (touched.n > 0)
            return refuse(a,
                          "the init reads '%s', which the reduction writes; a cross-thread "
                          "reduction adds the init at its end",
                          start.items[i].buffer->name);
    }
    return true;
}

static bool check_alone(Apart *a)
{
    for (int k = 0; k < a->r.n; k++)
        if (!check_part_alone(a, &a->r.parts[k]))
            return false;
    return true;
}

/* Results are stored where the init would stand. */
static bool check_place(Apart *a)
{
    Stmt *nest, *rest;
    DiagMark mark = diag_mark(a->c);
    if (reduction_take_init(
            a->c, &(ReductionPlace){.kernel = a->kernel, .path = &a->path, .anchor = a->anchor},
            &nest, &rest))
        return true;
    const Diag *why = mark.last ? mark.last->next : a->c->first;
    refuse(a, "%s", why->message);
    diag_forget(a->c, mark);
    return false;
}

bool reduction_check(Apart *a)
{
    const char *why;
    if (!partial_results_of(a->c, (RunOf){a->kernel, &a->path, a->anchor}, &a->r, &why))
        return refuse(a, "block '%s' cannot be reduced across threads: %s", a->block->name, why);
    return check_lanes(a) && check_order(a) && check_loops(a) && check_parts(a) &&
           check_convergent(a) && check_alone(a) && check_place(a);
}
