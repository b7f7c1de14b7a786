/* count.c - Counts the arithmetic operations of a program, the numerator of GFLOP/s. */
#include "passes/analysis/regions/count.h"

#include "passes/analysis/symbolic/simplify.h"

enum { WALK_LIMIT = 20000000 };

typedef struct {
    Context *c;
    VEC(VarValue) env;
    bool by_domain; /* blocks count by their domains, and loops around them do not */
    int64_t steps;
} Counter;

static bool evaluate(const Counter *k, const Expr *e, int64_t *value)
{
    return expr_eval(e, k->env.items, k->env.n, value);
}

/* ---- one instance ---------------------------------------------------------------------------- */

static int64_t count_call(CallKind call)
{
    switch (call) {
    case CALL_FMA: return 2;
    case CALL_BITCAST:
    case CALL_TF32:
    case CALL_TF32_RZ: return 0;
    default: return 1;
    }
}

static int64_t count_operation(const Expr *e)
{
    if (!type_is_float(e->type))
        return 0;
    switch (e->kind) {
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_DIV:
    case EX_MIN:
    case EX_MAX:
    case EX_NEG: return 1;
    case EX_CALL: return count_call(e->u.call.call);
    default: return 0;
    }
}

static int64_t count_expr(const Expr *e)
{
    int64_t n = count_operation(e);
    for (int i = 0; i < expr_operands(e); i++)
        n += count_expr(expr_operand(e, i));
    return n;
}

static int64_t count_store(const Stmt *s)
{
    int64_t n = count_expr(s->u.store.value);
    return n + (store_updates(s->u.store.op) && type_is_float(s->u.store.buffer->type));
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool count_stmt(Counter *k, const Stmt *s, int64_t *n);

static bool add_times(int64_t *n, int64_t times, int64_t each)
{
    return checked_mul(times, each, &each) && checked_add(*n, each, n);
}

static int64_t trips(int64_t lo, int64_t hi, int64_t step)
{
    if (step > 0)
        return lo < hi ? (hi - lo - 1) / step + 1 : 0;
    return lo >= hi ? (lo - hi) / -step + 1 : 0;
}

/* Does the count of `s` depend on the variable? Blocks bind it, but a program's blocks exist for
 * every value. */
static bool depends(const Counter *k, const Stmt *s, const Var *var)
{
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            if (depends(k, s->u.seq.items[i], var))
                return true;
        return false;
    case ST_FOR: return loop_uses_var(&s->u.loop, var) || depends(k, s->u.loop.body, var);
    case ST_IF:
        return expr_uses_var(s->u.cond.cond, var) || depends(k, s->u.cond.then, var) ||
               (s->u.cond.otherwise && depends(k, s->u.cond.otherwise, var));
    case ST_BLOCK:
        for (int i = 0; i < s->u.block.n_iters; i++)
            if (expr_uses_var(s->u.block.iters[i].binding, var))
                return depends(k, s->u.block.body, s->u.block.iters[i].var);
        return false;
    default: return false;
    }
}

/* Walks through the values of the variable, or multiplies where the count is the same for each. */
static bool count_iterations(Counter *k, const ForStmt *loop, int64_t *n)
{
    VarValue bound = {.var = loop->var};
    int64_t hi, each = 0;
    int at = k->env.n;
    if (loop->kind == LOOP_BREAKS || !evaluate(k, loop->lo, &bound.value) ||
        !evaluate(k, loop->hi, &hi))
        return false;
    int64_t times = trips(bound.value, hi, loop->step);
    bool walk = depends(k, loop->body, loop->var), ok = true;
    if (times == 0)
        return true;
    VEC_PUSH(k->c->arena, &k->env, bound);
    if (!walk)
        ok = count_stmt(k, loop->body, &each) && add_times(n, times, each);
    for (int64_t i = 0; walk && ok && i < times; i++) {
        k->env.items[at].value = bound.value + i * loop->step;
        ok = ++k->steps < WALK_LIMIT && count_stmt(k, loop->body, n);
    }
    k->env.n = at;
    return ok;
}

static bool count_loop(Counter *k, const ForStmt *loop, int64_t *n)
{
    if (k->by_domain && loop->kind != LOOP_BREAKS)
        return count_stmt(k, loop->body, n);
    return count_iterations(k, loop, n);
}

/* Loops in a block run as they stand. */
static bool count_inside(Counter *k, const Stmt *body, int64_t *n)
{
    bool by_domain = k->by_domain;
    k->by_domain = false;
    bool ok = count_stmt(k, body, n);
    k->by_domain = by_domain;
    return ok;
}

/* The points of the block's domain: a loop for each iterator. */
static bool count_domain(Counter *k, const BlockStmt *b, int64_t *n)
{
    Stmt *nest = b->body;
    for (int i = b->n_iters - 1; i >= 0; i--) {
        ForStmt loop = {.var = b->iters[i].var,
                        .lo = b->iters[i].lo,
                        .hi = b->iters[i].hi,
                        .step = 1,
                        .axis = AXIS_NONE,
                        .body = nest};
        nest = stmt_for(k->c, &loop, nest->span);
    }
    return count_inside(k, nest, n);
}

/* A program's block at the values that the loops have now. */
static bool count_bound_block(Counter *k, const BlockStmt *b, int64_t *n)
{
    int at = k->env.n;
    for (int i = 0; i < b->n_iters; i++) {
        VarValue bound = {b->iters[i].var, 0};
        if (evaluate(k, b->iters[i].binding, &bound.value))
            VEC_PUSH(k->c->arena, &k->env, bound);
    }
    bool ok = count_inside(k, b->body, n);
    k->env.n = at;
    return ok;
}

static bool count_block(Counter *k, const BlockStmt *b, int64_t *n)
{
    return k->by_domain ? count_domain(k, b, n) : count_bound_block(k, b, n);
}

static bool count_if(Counter *k, const Stmt *s, int64_t *n)
{
    int64_t taken = 1;
    bool known = !k->by_domain && evaluate(k, s->u.cond.cond, &taken);
    if ((taken || !known) && !count_stmt(k, s->u.cond.then, n))
        return false;
    bool other = s->u.cond.otherwise && (!known || !taken);
    return !other || count_stmt(k, s->u.cond.otherwise, n);
}

static bool count_stmt(Counter *k, const Stmt *s, int64_t *n)
{
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            if (!count_stmt(k, s->u.seq.items[i], n))
                return false;
        return true;
    case ST_FOR: return count_loop(k, &s->u.loop, n);
    case ST_IF: return count_if(k, s, n);
    case ST_BLOCK: return count_block(k, &s->u.block, n);
    case ST_STORE: return add_times(n, 1, count_store(s));
    case ST_LET: return add_times(n, 1, count_expr(s->u.let.value));
    case ST_TEMP:
    case ST_BARRIER:
    case ST_BREAK: return true;
    case ST_ROLES:
    case ST_LAUNCH:
    case ST_INSTRUCTION: return false;
    }
    return false;
}

bool count_flops(Context *c, const Kernel *program, const int64_t *sizes, int64_t *flops)
{
    Counter k = {.c = c, .by_domain = kernel_level(c, program) == LEVEL_SCHEDULED};
    for (int i = 0; i < program->n_sizes; i++) {
        VarValue size = {program->sizes[i].var, sizes[i]};
        if (program->sizes[i].symbolic)
            VEC_PUSH(c->arena, &k.env, size);
    }
    *flops = 0;
    return kernel_level(c, program) != LEVEL_LOWERED && count_stmt(&k, program->body, flops);
}
