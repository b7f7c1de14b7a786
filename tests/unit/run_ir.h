/* run_ir.h - runs kernels on paper, for tests that compare what a kernel means before and after
 * lowering.
 *
 * Program and scheduled level: loops run in order, bound or not, and blocks where their instances
 * exist.  Lowered level: the threads of a block run each statement together, with a mask, so every
 * statement ends in a barrier; shared and local memory start out poisoned.  All values are kept as
 * doubles, which hold the small integers and f32 values of tests exactly; sums are chosen to be
 * exact, too. */
#ifndef TIRC_TESTS_RUN_IR_H
#define TIRC_TESTS_RUN_IR_H

#include <math.h>
#include <string.h>

#include "ir/ir.h"

enum { RUN_MAX_VARS = 64, RUN_MAX_BUFFERS = 32, RUN_MAX_THREADS = 256 };

typedef struct {
    const Buffer *buffer;
    double *data; /* one copy, or one for each thread of a block */
    int64_t size;
} RunBuffer;

typedef struct {
    const Var *var;
    double value[RUN_MAX_THREADS];
} RunVar;

typedef struct {
    Context *c;
    RunBuffer buffers[RUN_MAX_BUFFERS];
    int n_buffers;
    RunVar vars[RUN_MAX_VARS];
    int n_vars;
    int threads; /* 1 outside of launches */
    int64_t at[AXIS_COUNT], extent[AXIS_COUNT];
    const char *fault; /* what went wrong, or NULL */
    int barriers;      /* executed */
} Run;

static double run_eval(Run *r, const Expr *e, int thread);

static int64_t run_axis(const Run *r, Axis axis, int thread)
{
    if (axis_is_block(axis))
        return r->at[axis];
    int64_t x = r->extent[AXIS_THREAD_X], y = r->extent[AXIS_THREAD_Y];
    return axis == AXIS_THREAD_X   ? thread % x
           : axis == AXIS_THREAD_Y ? thread / x % y
                                   : thread / (x * y);
}

static RunVar *run_find(Run *r, const Var *var)
{
    for (int i = r->n_vars - 1; i >= 0; i--)
        if (r->vars[i].var == var)
            return &r->vars[i];
    return NULL;
}

static RunVar *run_push(Run *r, const Var *var)
{
    if (r->n_vars == RUN_MAX_VARS)
        r->fault = "too many variables";
    else
        r->n_vars++;
    r->vars[r->n_vars - 1].var = var;
    return &r->vars[r->n_vars - 1];
}

static void run_buffer(Run *r, const Buffer *b)
{
    int64_t size = 1;
    for (int d = 0; d < b->rank; d++)
        size *= (int64_t)run_eval(r, b->shape[d], 0);
    int i = 0;
    while (i < r->n_buffers && r->buffers[i].buffer->id != b->id)
        i++;
    if (i == RUN_MAX_BUFFERS) {
        r->fault = "too many buffers";
        return;
    }
    if (i == r->n_buffers)
        r->n_buffers++;
    int64_t copies = b->scope == SCOPE_LOCAL ? r->threads : 1;
    r->buffers[i] = (RunBuffer){b, ARENA_ARRAY(r->c->arena, double, size *copies + 1), size};
    for (int64_t k = 0; k < size * copies; k++)
        r->buffers[i].data[k] = NAN;
}

static double *run_element(Run *r, const Buffer *b, Expr *const *index, int thread)
{
    static double nowhere;
    int64_t at = 0;
    for (int d = 0; d < b->rank; d++) {
        double i = run_eval(r, index[d], thread), extent = run_eval(r, b->shape[d], thread);
        if (!(i >= 0 && i < extent)) {
            r->fault =
                arena_printf(r->c->arena, "%s[... %g ...] with %g elements", b->name, i, extent);
            return &nowhere;
        }
        at = at * (int64_t)extent + (int64_t)i;
    }
    for (int i = 0; i < r->n_buffers; i++)
        if (r->buffers[i].buffer->id == b->id)
            return &r->buffers[i]
                        .data[at + (b->scope == SCOPE_LOCAL ? thread * r->buffers[i].size : 0)];
    r->fault = arena_printf(r->c->arena, "'%s' does not exist", b->name);
    return &nowhere;
}

static double run_binary(const Expr *e, double a, double b)
{
    bool integer = type_is_int(e->u.arg[0]->type);
    switch ((int)e->kind) {
    case EX_MUL: return a * b;
    case EX_DIV: return integer ? trunc(a / b) : a / b;
    case EX_MOD: return fmod(a, b);
    case EX_BITXOR: return (double)((int64_t)a ^ (int64_t)b);
    case EX_ADD: return a + b;
    case EX_SUB: return a - b;
    case EX_LT: return a < b;
    case EX_LE: return a <= b;
    case EX_GT: return a > b;
    case EX_GE: return a >= b;
    case EX_EQ: return a == b;
    case EX_NE: return a != b;
    case EX_MIN: return fmin(a, b);
    case EX_MAX: return fmax(a, b);
    default: return NAN;
    }
}

static double run_eval(Run *r, const Expr *e, int thread)
{
    switch ((int)e->kind) {
    case EX_INT: return (double)e->u.i;
    case EX_FLOAT: return e->u.f;
    case EX_AXIS: return (double)run_axis(r, e->u.axis, thread);
    case EX_LOAD: return *run_element(r, e->u.load.buffer, e->u.load.index, thread);
    case EX_CAST: return run_eval(r, e->u.arg[0], thread);
    case EX_NEG: return -run_eval(r, e->u.arg[0], thread);
    case EX_NOT: return !run_eval(r, e->u.arg[0], thread);
    case EX_SELECT:
        return run_eval(r, e->u.arg[run_eval(r, e->u.arg[0], thread) != 0 ? 1 : 2], thread);
    case EX_AND:
        return run_eval(r, e->u.arg[0], thread) != 0 && run_eval(r, e->u.arg[1], thread) != 0;
    case EX_SHUFFLE_XOR: return run_eval(r, e->u.arg[0], thread ^ (int)e->u.arg[1]->u.i);
    case EX_OR:
        return run_eval(r, e->u.arg[0], thread) != 0 || run_eval(r, e->u.arg[1], thread) != 0;
    case EX_VAR: {
        RunVar *var = run_find(r, e->u.var);
        if (!var)
            r->fault = arena_printf(r->c->arena, "'%s' has no value", e->u.var->name);
        return var ? var->value[thread] : NAN;
    }
    default:
        return run_binary(e, run_eval(r, e->u.arg[0], thread), run_eval(r, e->u.arg[1], thread));
    }
}

static void run_stmt(Run *r, const Stmt *s, const bool *mask);

static void run_store(Run *r, const Stmt *s, const bool *mask)
{
    double value[RUN_MAX_THREADS];
    for (int t = 0; t < r->threads; t++)
        if (mask[t])
            value[t] = run_eval(r, s->u.store.value, t);
    for (int t = 0; t < r->threads && !r->fault; t++) {
        if (!mask[t])
            continue;
        double *to = run_element(r, s->u.store.buffer, s->u.store.index, t);
        switch (s->u.store.op) {
        case STORE_SET:
        case STORE_ASYNC: *to = value[t]; break;
        case STORE_ADD: *to += value[t]; break;
        case STORE_MUL: *to *= value[t]; break;
        case STORE_MIN: *to = fmin(*to, value[t]); break;
        case STORE_MAX: *to = fmax(*to, value[t]); break;
        default: r->fault = "an operator that this test does not know";
        }
    }
}

/* Loops run while any thread has an iteration left. */
static void run_for(Run *r, const Stmt *s, const bool *mask)
{
    const ForStmt *loop = &s->u.loop;
    bool active[RUN_MAX_THREADS];
    double v[RUN_MAX_THREADS], hi[RUN_MAX_THREADS];
    for (int t = 0; t < r->threads; t++) {
        v[t] = mask[t] ? run_eval(r, loop->lo, t) : 0;
        hi[t] = mask[t] ? run_eval(r, loop->hi, t) : 0;
    }
    for (bool any = true; any && !r->fault;) {
        any = false;
        for (int t = 0; t < r->threads; t++) {
            active[t] = mask[t] && (loop->step > 0 ? v[t] < hi[t] : v[t] >= hi[t]);
            any |= active[t];
        }
        if (!any)
            break;
        RunVar *var = run_push(r, loop->var);
        for (int t = 0; t < r->threads; t++)
            var->value[t] = v[t];
        int vars = r->n_vars;
        run_stmt(r, loop->body, active);
        r->n_vars = vars - 1;
        for (int t = 0; t < r->threads; t++)
            v[t] += (double)loop->step;
    }
}

/* One instance; before lowering there is one thread. */
static void run_block(Run *r, const BlockStmt *b, const bool *mask)
{
    int vars = r->n_vars;
    bool exists = !b->predicate || run_eval(r, b->predicate, 0) != 0, first = true;
    double values[16];
    for (int i = 0; i < b->n_iters; i++)
        values[i] = run_eval(r, b->iters[i].binding, 0);
    for (int i = 0; i < b->n_iters; i++) {
        double lo = run_eval(r, b->iters[i].lo, 0), hi = run_eval(r, b->iters[i].hi, 0);
        run_push(r, b->iters[i].var)->value[0] = values[i];
        exists = exists && values[i] >= lo && values[i] < hi;
        first = first && (b->iters[i].kind == ITER_SPATIAL || values[i] == lo);
    }
    if (exists && first && b->init)
        run_stmt(r, b->init, mask);
    if (exists)
        run_stmt(r, b->body, mask);
    r->n_vars = vars;
}

static void run_launch(Run *r, const LaunchStmt *launch)
{
    bool mask[RUN_MAX_THREADS];
    int64_t grid[3];
    int vars = r->n_vars, threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
    if (threads > RUN_MAX_THREADS) {
        r->fault = "too many threads";
        return;
    }
    for (int d = 0; d < 3; d++) {
        grid[d] = (int64_t)run_eval(r, launch->grid[d], 0);
        r->extent[AXIS_THREAD_X + d] = launch->block[d];
    }
    for (int i = 0; i < r->n_vars; i++)
        for (int t = 1; t < threads; t++)
            r->vars[i].value[t] = r->vars[i].value[0];
    for (int t = 0; t < threads; t++)
        mask[t] = true;
    r->threads = threads;
    for (int64_t b = 0; b < grid[0] * grid[1] * grid[2] && !r->fault; b++) {
        r->at[AXIS_BLOCK_X] = b % grid[0];
        r->at[AXIS_BLOCK_Y] = b / grid[0] % grid[1];
        r->at[AXIS_BLOCK_Z] = b / (grid[0] * grid[1]);
        run_stmt(r, launch->body, mask);
        r->n_vars = vars;
    }
    r->threads = 1;
}

static void run_if(Run *r, const Stmt *s, const bool *mask)
{
    bool yes[RUN_MAX_THREADS], no[RUN_MAX_THREADS];
    for (int t = 0; t < r->threads; t++) {
        bool truth = mask[t] && run_eval(r, s->u.cond.cond, t) != 0;
        yes[t] = truth;
        no[t] = mask[t] && !truth;
    }
    run_stmt(r, s->u.cond.then, yes);
    if (s->u.cond.otherwise)
        run_stmt(r, s->u.cond.otherwise, no);
}

static void run_barrier(Run *r, const bool *mask)
{
    r->barriers++;
    for (int t = 0; t < r->threads; t++)
        if (!mask[t])
            r->fault = "a barrier that not all threads reach";
}

static void run_stmt(Run *r, const Stmt *s, const bool *mask)
{
    if (r->fault)
        return;
    int vars = r->n_vars;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            run_stmt(r, s->u.seq.items[i], mask);
        r->n_vars = vars;
        break;
    case ST_FOR: run_for(r, s, mask); break;
    case ST_IF: run_if(r, s, mask); break;
    case ST_BLOCK: run_block(r, &s->u.block, mask); break;
    case ST_STORE: run_store(r, s, mask); break;
    case ST_TEMP: run_buffer(r, s->u.temp); break;
    case ST_LET: {
        double value[RUN_MAX_THREADS];
        for (int t = 0; t < r->threads; t++)
            value[t] = mask[t] ? run_eval(r, s->u.let.value, t) : 0;
        memcpy(run_push(r, s->u.let.var)->value, value, sizeof value);
        break;
    }
    case ST_BARRIER: run_barrier(r, mask); break;
    case ST_INSTRUCTION: run_stmt(r, s->u.instruction.body, mask); break;
    case ST_LAUNCH: run_launch(r, &s->u.launch); break;
    case ST_ROLES: r->fault = "roles, which this test does not know"; break;
    case ST_BREAK: r->fault = "a break, which this test does not know"; break;
    }
}

/* Runs the kernel with all symbolic sizes `size` and small integers as inputs. */
static inline Run *run_kernel(Context *c, const Kernel *k, int64_t size)
{
    Run *r = ARENA_NEW(c->arena, Run);
    bool mask[RUN_MAX_THREADS] = {true};
    *r = (Run){.c = c, .threads = 1};
    for (int i = 0; i < k->n_sizes; i++)
        if (k->sizes[i].symbolic)
            run_push(r, k->sizes[i].var)->value[0] = (double)size;
    for (int i = 0; i < k->n_params; i++) {
        const Buffer *b = k->params[i].buffer;
        if (!b) {
            run_push(r, k->params[i].scalar)->value[0] = 3;
            continue;
        }
        run_buffer(r, b);
        for (int64_t e = 0; e < r->buffers[i].size && b->role != ROLE_OUT; e++)
            r->buffers[i].data[e] = (double)((e * 7 + i * 3) % 11);
    }
    run_stmt(r, k->body, mask);
    return r;
}

#endif
