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

/* The values of a variable, and what runs for each: a statement, or a block's iterators from `next`
 * on. */
typedef struct {
    const Var *var;
    int64_t lo, hi, step;
    bool walk; /* the count depends on the value */
    const Stmt *body;
    const BlockStmt *block;
    int next;
} Range;

static bool count_domain(Counter *k, const BlockStmt *b, int next, int64_t *n);

static bool count_inside(Counter *k, const Range *r, int64_t *n)
{
    return r->body ? count_stmt(k, r->body, n) : count_domain(k, r->block, r->next, n);
}

static bool count_range(Counter *k, const Range *r, int64_t *n)
{
    int64_t times = trips(r->lo, r->hi, r->step), each = 0;
    VarValue bound = {r->var, r->lo};
    int at = k->env.n;
    if (times == 0)
        return true;
    VEC_PUSH(k->c->arena, &k->env, bound);
    bool ok = true;
    if (!r->walk)
        ok = count_inside(k, r, &each) && add_times(n, times, each);
    for (int64_t i = 0; r->walk && ok && i < times; i++) {
        k->env.items[at].value = r->lo + i * r->step;
        ok = ++k->steps < WALK_LIMIT && count_inside(k, r, n);
    }
    k->env.n = at;
    return ok;
}

static bool count_loop(Counter *k, const ForStmt *loop, int64_t *n)
{
    if (k->by_domain && loop->kind != LOOP_BREAKS)
        return count_stmt(k, loop->body, n);
    Range r = {.var = loop->var, .step = loop->step, .body = loop->body};
    r.walk = depends(k, loop->body, loop->var);
    return loop->kind != LOOP_BREAKS && evaluate(k, loop->lo, &r.lo) &&
           evaluate(k, loop->hi, &r.hi) && count_range(k, &r, n);
}

/* Does anything after iterator `i` depend on it? */
static bool domain_depends(const Counter *k, const BlockStmt *b, int i)
{
    const Var *var = b->iters[i].var;
    for (int j = i + 1; j < b->n_iters; j++)
        if (iter_uses_var(&b->iters[j], var))
            return true;
    return depends(k, b->body, var);
}

/* The body of a block at one point: loops in it run as they stand. */
static bool count_instance(Counter *k, const BlockStmt *b, int64_t *n)
{
    bool by_domain = k->by_domain;
    k->by_domain = false;
    bool ok = count_stmt(k, b->body, n);
    k->by_domain = by_domain;
    return ok;
}

/* The points of the block's iterators from `next` on. */
static bool count_domain(Counter *k, const BlockStmt *b, int next, int64_t *n)
{
    if (next == b->n_iters)
        return count_instance(k, b, n);
    const BlockIter *iter = &b->iters[next];
    Range r = {.var = iter->var, .step = 1, .block = b, .next = next + 1};
    r.walk = domain_depends(k, b, next);
    return evaluate(k, iter->lo, &r.lo) && evaluate(k, iter->hi, &r.hi) && count_range(k, &r, n);
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
    bool ok = count_instance(k, b, n);
    k->env.n = at;
    return ok;
}

static bool count_block(Counter *k, const BlockStmt *b, int64_t *n)
{
    return k->by_domain ? count_domain(k, b, 0, n) : count_bound_block(k, b, n);
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
