/* sum_depth.c - see sum_depth.h.
 *
 *   y_part[0] = 0.0;                            y_part: 0
 *   for step in 128                                     128: each iteration adds to one element
 *       y_part[0] += x[...];
 *   y_part[0] += shuffle_xor(y_part[0], 16);            129
 *   y[r] = y_part[0];                           y: 129
 *
 * The analysis visits the statements in order, with one number for each buffer: the maximum over
 * all its elements and all threads. Threads see writes of others in the same step only through
 * atomic updates. It does not visit every iteration of a loop: the effect of the body on the
 * numbers is a linear map in the (max, +) algebra, so if the second iteration adds at most d to
 * each number, no later iteration adds more. Iterations that add to different elements of a buffer,
 * such as unrolled accumulators, count once. */
#include "passes/lower/reference/sum_depth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/analysis/symbolic/simplify.h"
#include "passes/lower/pass.h"

enum { MOST_STEPS = 100000 }; /* statements gone through; nests of loops repeat theirs */

typedef struct {
    Context *c;
    Facts *facts;
    VEC(const Buffer *) buffers;
    VEC(const Var *) lets;
    VEC(double) let_depth;
    double *now;    /* [n_buffers] */
    double threads; /* of the launch */
    int steps;
    bool unknown;
} Depths;

/* As it was before its subscripts became one. */
static const Buffer *whole(const Buffer *b)
{
    return b->view_of ? whole(b->view_of) : b;
}

static int number_of(Depths *d, const Buffer *b)
{
    b = whole(b);
    for (int i = 0; i < d->buffers.n; i++)
        if (d->buffers.items[i] == b)
            return i;
    TIRC_BUG(d->c, "'%s' is no buffer of the kernel", b->name);
}

/* ---- values -------------------------------------------------------------------------------- */

static double depth_of(Depths *d, const Expr *e)
{
    double most = 0;
    switch (e->kind) {
    case EX_LOAD: return d->now[number_of(d, e->u.load.buffer)];
    case EX_VAR:
        for (int i = d->lets.n - 1; i >= 0; i--) /* the latest: loops repeat theirs */
            if (d->lets.items[i] == e->u.var)
                return d->let_depth.items[i];
        return 0;
    default:
        for (int i = 0; i < expr_operands(e); i++)
            most = fmax(most, depth_of(d, expr_operand(e, i)));
        bool adds = e->kind == EX_ADD || e->kind == EX_SUB ||
                    (e->kind == EX_CALL && e->u.call.call == CALL_FMA);
        return most + (adds && type_is_float(e->type));
    }
}

static double elements_of(Depths *d, const Buffer *b)
{
    double n = 1;
    int64_t min, max;
    for (int i = 0; i < b->rank; i++)
        n *= bounds_const(d->facts, b->shape[i], &min, &max) ? (double)max : INFINITY;
    return n;
}

static void go_store(Depths *d, const Stmt *s)
{
    const Buffer *b = s->u.store.buffer;
    double *now = &d->now[number_of(d, b)], value = depth_of(d, s->u.store.value);
    if (s->u.store.op == STORE_ADD && type_is_float(b->type))
        *now = fmax(*now, value) + (s->u.store.atomic ? d->threads : 1);
    else if (s->u.store.op == STORE_SET && b->scope == SCOPE_LOCAL && elements_of(d, b) == 1)
        *now = value;
    else
        *now = fmax(*now, value);
}

/* ---- loops --------------------------------------------------------------------------------- */

static void go(Depths *d, const Stmt *s);

/* Its ends are in 64 bits, which proofs do not look into. */
static bool is_wide(const ForStmt *loop)
{
    return loop->lo->type != DT_INDEX || loop->hi->type != DT_INDEX;
}

/* The stores to a buffer in the body of a loop. */
typedef struct {
    Depths *d;
    const Buffer *buffer;
    const Var *var;
    VEC(const Var *) inner;        /* loops of the body */
    int64_t coefficient, min, max; /* subscript = coefficient * var + what lies between + */
    Expr *outer;                   /* what is the same in all iterations, and for all threads */
    int axis, n;
} Family;

/* All but loops around, which stand still: inner loops, lets, threads, data. */
static bool may_change(const void *user, Expr *factor)
{
    const Family *f = user;
    bool still = factor->kind == EX_VAR && factor->u.var->kind == VAR_LOOP;
    for (int i = 0; i < f->inner.n; i++)
        still = still && factor->u.var != f->inner.items[i];
    return !still;
}

/* Adds a store of the buffer; false if its subscript on the axis does not distinguish iterations in
 * the same way as those before. */
static bool join_store(Family *f, const Stmt *s)
{
    int64_t coefficient, min, max;
    Expr *rest, *inner, *outer;
    Facts *facts = f->d->facts;
    Expr *at = f->axis < s->u.store.buffer->rank ? s->u.store.index[f->axis] : NULL;
    if (!at || at->type != DT_INDEX || !split_linear(facts, at, f->var, &coefficient, &rest) ||
        !split_terms(facts, rest, may_change, f, &inner, &outer) ||
        !bounds_const(facts, inner, &min, &max) ||
        (f->n > 0 && (coefficient != f->coefficient || !expr_equal(outer, f->outer))))
        return false;
    f->min = f->n && f->min < min ? f->min : min;
    f->max = f->n && f->max > max ? f->max : max;
    f->coefficient = coefficient;
    f->outer = outer;
    f->n++;
    return true;
}

/* The stores of the body write different elements in different iterations, and the body does not
 * load the buffer. */
static bool is_apart_along(Family *f, const Stmt *body)
{
    f->n = 0;
    for (Cursor at = cursor_stmt(f->d->c, body); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        if (at.expr && at.expr->kind == EX_LOAD && whole(at.expr->u.load.buffer) == f->buffer)
            return false;
        if (s && s->kind == ST_STORE && whole(s->u.store.buffer) == f->buffer && !join_store(f, s))
            return false;
    }
    return f->n > 0 && f->max - f->min < llabs(f->coefficient);
}

/* Does each iteration write elements of the buffer that no other one writes, or reads? */
static bool is_apart(Depths *d, const ForStmt *loop, const Buffer *buffer)
{
    FactsMark mark = facts_mark(d->facts);
    Family f = {.d = d, .buffer = buffer, .var = loop->var};
    for (Cursor at = cursor_stmts(d->c, loop->body); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR) {
            VEC_PUSH(d->c->arena, &f.inner, at.stmt->u.loop.var);
            if (!is_wide(&at.stmt->u.loop))
                facts_enter(d->facts, at.stmt);
        }
    bool apart = false;
    for (f.axis = 0; f.axis < buffer->rank && !apart; f.axis++)
        apart = is_apart_along(&f, loop->body);
    facts_reset(d->facts, mark);
    return apart;
}

static double *copy(Depths *d, const double *from)
{
    double *to = ARENA_ARRAY(d->c->arena, double, d->buffers.n + 1);
    memcpy(to, from, (size_t)d->buffers.n * sizeof *to);
    return to;
}

/* The body once more; nothing gets less. */
static void iterate(Depths *d, const ForStmt *loop)
{
    double *before = copy(d, d->now);
    go(d, loop->body);
    for (int i = 0; i < d->buffers.n; i++)
        d->now[i] = fmax(d->now[i], before[i]);
}

static void go_often(Depths *d, const ForStmt *loop, double extent)
{
    int n = d->buffers.n;
    double *start = copy(d, d->now), most = 0;
    bool *apart = ARENA_ARRAY(d->c->arena, bool, n + 1), any = false;
    bool *written = ARENA_ARRAY(d->c->arena, bool, n + 1);
    for (Cursor at = cursor_stmts(d->c, loop->body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE)
            written[number_of(d, at.stmt->u.store.buffer)] = true;
    iterate(d, loop);
    if (d->unknown)
        return;
    double *once = copy(d, d->now);
    for (int i = 0; i < n; i++)
        any |= apart[i] = once[i] > start[i] && is_apart(d, loop, d->buffers.items[i]);
    iterate(d, loop);
    double *twice = copy(d, d->now);
    for (int i = 0; i < n; i++)
        most = apart[i] ? most : fmax(most, twice[i] - once[i]);
    for (int i = 0; i < n; i++) /* also what has not grown yet: it may read what has */
        d->now[i] = apart[i] || !written[i] ? start[i] : once[i] + (extent - 1) * most;
    double *end = copy(d, d->now);
    if (any)
        iterate(d, loop);
    for (int i = 0; i < n; i++)
        d->now[i] = apart[i] ? d->now[i] : end[i];
}

static void go_loop(Depths *d, const Stmt *s)
{
    int64_t min, max;
    const ForStmt *loop = &s->u.loop;
    if (is_wide(loop) || loop->kind == LOOP_BREAKS ||
        !bounds_const(d->facts, loop_extent(d->c, loop), &min, &max)) {
        d->unknown = true;
        return;
    }
    FactsMark mark = facts_mark(d->facts);
    facts_enter(d->facts, s);
    if (max == 1)
        iterate(d, loop);
    else if (max > 1)
        go_often(d, loop, (double)max);
    facts_reset(d->facts, mark);
}

/* ---- statements ---------------------------------------------------------------------------- */

static void go_branch(Depths *d, const Stmt *s)
{
    double *before = copy(d, d->now);
    go(d, s->u.cond.then);
    double *then = copy(d, d->now);
    memcpy(d->now, before, (size_t)d->buffers.n * sizeof *before);
    if (s->u.cond.otherwise)
        go(d, s->u.cond.otherwise);
    for (int i = 0; i < d->buffers.n; i++)
        d->now[i] = fmax(d->now[i], then[i]);
}

static void go_launch(Depths *d, const Stmt *s)
{
    const LaunchStmt *launch = &s->u.launch;
    int64_t min, max;
    FactsMark mark = facts_mark(d->facts);
    d->threads = 1;
    for (int k = 0; k < 3; k++) {
        bool known = launch->grid[k]->type == DT_INDEX &&
                     bounds_const(d->facts, launch->grid[k], &min, &max);
        d->unknown |= !known;
        d->threads *= known ? (double)max * (double)launch->block[k] : 1;
    }
    if (!d->unknown) {
        facts_enter(d->facts, s);
        go(d, launch->body);
    }
    facts_reset(d->facts, mark);
    d->threads = 1;
}

static void go(Depths *d, const Stmt *s)
{
    if (d->unknown || ++d->steps > MOST_STEPS) {
        d->unknown = true;
        return;
    }
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            go(d, s->u.seq.items[i]);
        break;
    case ST_FOR: go_loop(d, s); break;
    case ST_IF: go_branch(d, s); break;
    case ST_STORE: go_store(d, s); break;
    case ST_LET:
        VEC_PUSH(d->c->arena, &d->let_depth, depth_of(d, s->u.let.value));
        VEC_PUSH(d->c->arena, &d->lets, s->u.let.var);
        break;
    case ST_LAUNCH: go_launch(d, s); break;
    case ST_BLOCK: d->unknown = true; break;
    case ST_INSTRUCTION: go(d, s->u.instruction.body); break;
    case ST_ROLES: go(d, s->u.roles.consumers); break;
    case ST_TEMP:
    case ST_BARRIER:
    case ST_BREAK: break;
    }
}

/* Sizes stay variables, of one value: widened index arithmetic has types of its own. */
static void fix_sizes(Facts *f, Context *c, const Kernel *k, const int64_t *sizes)
{
    for (int i = 0; i < k->n_sizes; i++)
        if (k->sizes[i].symbolic)
            facts_range(f, k->sizes[i].var, expr_index(c, sizes[i]), expr_index(c, sizes[i] + 1));
}

void sum_depths(Context *c, const Kernel *lowered, const int64_t *sizes, double *depth)
{
    Depths d = {.c = c, .facts = facts_new(c), .threads = 1};
    for (int i = 0; i < lowered->n_params; i++)
        if (lowered->params[i].buffer)
            VEC_PUSH(c->arena, &d.buffers, whole(lowered->params[i].buffer));
    for (Cursor at = cursor_stmts(c, lowered->body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP)
            VEC_PUSH(c->arena, &d.buffers, whole(at.stmt->u.temp));
    fix_sizes(d.facts, c, lowered, sizes);
    d.now = ARENA_ARRAY(c->arena, double, d.buffers.n + 1);
    go(&d, lowered->body);
    for (int i = 0, at = 0; i < lowered->n_params; i++)
        depth[i] = lowered->params[i].buffer && !d.unknown ? d.now[at] : INFINITY,
        at += lowered->params[i].buffer != NULL;
}
