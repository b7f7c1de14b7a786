/* idle.c - Counts the threads of a launch that do nothing.
 *
 * The count is exact, without a walk over all threads: guards are evaluated on intervals, for a box
 * of threads at once. A box with both busy and idle threads is halved. Guards mostly are half
 * spaces, so only boxes at their faces are cut. */
#include "passes/analysis/threads/idle.h"

#include "passes/analysis/symbolic/interval.h"

enum { BOXES = 200000 };

typedef struct {
    const Var *var;
    Bounds range;
} VarRange;

typedef struct {
    Context *c;
    const LaunchStmt *launch;
    Bounds axis[AXIS_COUNT];
    VEC(VarRange) env;
    bool exchanges; /* lanes hand values to each other */
    int boxes;      /* left */
} Idle;

/* Truths are 0 and 1: true for all values, for none, or for some. */
static Bounds truth(bool all, bool none)
{
    return (Bounds){all, !none};
}

static Bounds truth_of(Bounds b)
{
    return bounds_meet(b, (Bounds){0, 1});
}

static Bounds binary(ExprKind kind, Bounds a, Bounds b)
{
    bool equal = bounds_are_exact(a) && a.min == b.min && a.max == b.max;
    bool apart = a.max < b.min || b.max < a.min;
    switch (kind) {
    case EX_AND: return bounds_minmax(EX_MIN, truth_of(a), truth_of(b));
    case EX_OR: return bounds_minmax(EX_MAX, truth_of(a), truth_of(b));
    case EX_ADD: return bounds_add(a, b);
    case EX_SUB: return bounds_add(a, bounds_scale(b, -1));
    case EX_MUL: return bounds_multiply(a, b);
    case EX_DIV: return bounds_divide(a, b);
    case EX_MOD: return bounds_remainder(a, b);
    case EX_MIN:
    case EX_MAX: return bounds_minmax(kind, a, b);
    case EX_LT: return truth(a.max < b.min, a.min >= b.max);
    case EX_LE: return truth(a.max <= b.min, a.min > b.max);
    case EX_GT: return truth(a.min > b.max, a.max <= b.min);
    case EX_GE: return truth(a.min >= b.max, a.max < b.min);
    case EX_EQ: return truth(equal, apart);
    case EX_NE: return truth(apart, equal);
    default: return bounds_none();
    }
}

static Bounds eval(const Idle *k, const Expr *e)
{
    int64_t value;
    if (expr_is_const(e, &value))
        return bounds_exactly(value);
    if (type_is_float(e->type))
        return bounds_none();
    if (expr_is_binary(e->kind))
        return binary(e->kind, eval(k, e->u.arg[0]), eval(k, e->u.arg[1]));
    if (e->kind == EX_AXIS)
        return k->axis[e->u.axis];
    if (e->kind == EX_CAST)
        return eval(k, e->u.arg[0]);
    if (e->kind == EX_NOT) {
        Bounds a = truth_of(eval(k, e->u.arg[0]));
        return (Bounds){!a.max, !a.min};
    }
    for (int i = k->env.n - 1; i >= 0 && e->kind == EX_VAR; i--)
        if (k->env.items[i].var == e->u.var)
            return k->env.items[i].range;
    return bounds_none();
}

static Bounds works(Idle *k, const Stmt *s);

static Bounds works_with(Idle *k, const Var *var, Bounds range, const Stmt *body)
{
    int n = k->env.n;
    VEC_PUSH(k->c->arena, &k->env, ((VarRange){var, range}));
    Bounds r = works(k, body);
    k->env.n = n;
    return r;
}

/* A thread works in a loop if one of its iterations does. */
static Bounds works_in_loop(Idle *k, const ForStmt *loop)
{
    Bounds lo = eval(k, loop->lo), hi = eval(k, loop->hi);
    if (!bounds_has_min(lo) || !bounds_has_max(hi) || loop->step < 0)
        return (Bounds){0, 1};
    if (hi.max <= lo.min)
        return (Bounds){0, 0};
    Bounds all = works_with(k, loop->var, (Bounds){lo.min, hi.max - 1}, loop->body);
    Bounds first = works_with(k, loop->var, lo, loop->body);
    bool runs = lo.max < hi.min && loop->kind != LOOP_BREAKS;
    return (Bounds){runs && (all.min || first.min), all.max};
}

/* Whether the threads of the box read memory for the value. */
static Bounds reads(const Idle *k, const Expr *e)
{
    if (e->kind == EX_LOAD)
        return (Bounds){e->u.load.buffer->scope != SCOPE_LOCAL,
                        e->u.load.buffer->scope != SCOPE_LOCAL};
    if (e->kind == EX_SELECT) {
        Bounds cond = truth_of(eval(k, e->u.arg[0])), yes = reads(k, e->u.arg[1]),
               no = reads(k, e->u.arg[2]);
        return cond.min ? yes : !cond.max ? no : (Bounds){yes.min & no.min, yes.max | no.max};
    }
    Bounds r = (Bounds){0, 0};
    for (int i = 0; i < expr_operands(e); i++) {
        Bounds one = reads(k, expr_operand(e, i));
        r = (Bounds){r.min | one.min, r.max | one.max};
    }
    return r;
}

/* What a thread reads may be for other lanes, if they exchange anything. */
static Bounds works_in_store(const Idle *k, const Stmt *s)
{
    if (s->u.store.buffer->scope != SCOPE_LOCAL)
        return (Bounds){1, 1};
    return k->exchanges ? reads(k, s->u.store.value) : (Bounds){0, 0};
}

/* Whether the threads of the box store something, or read something for others: 0, 1, or some
 * do. */
static Bounds works(Idle *k, const Stmt *s)
{
    Bounds r = (Bounds){0, 0};
    int n = k->env.n;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n && !r.min; i++) {
            const Stmt *item = s->u.seq.items[i];
            if (item->kind == ST_LET)
                VEC_PUSH(k->c->arena, &k->env,
                         ((VarRange){item->u.let.var, eval(k, item->u.let.value)}));
            Bounds one = works(k, item);
            r = (Bounds){r.min | one.min, r.max | one.max};
        }
        k->env.n = n;
        return r;
    case ST_FOR: return works_in_loop(k, &s->u.loop);
    case ST_IF: {
        Bounds cond = truth_of(eval(k, s->u.cond.cond));
        Bounds yes = cond.max ? works(k, s->u.cond.then) : r;
        Bounds no = !cond.min && s->u.cond.otherwise ? works(k, s->u.cond.otherwise) : r;
        return (Bounds){cond.min    ? yes.min
                        : !cond.max ? no.min
                                    : yes.min & no.min,
                        yes.max | no.max};
    }
    case ST_STORE: return works_in_store(k, s);
    case ST_INSTRUCTION: return works(k, s->u.instruction.body);
    case ST_ROLES: return works(k, s->u.roles.consumers);
    default: return r;
    }
}

static int64_t volume(const Idle *k)
{
    int64_t v = 1;
    for (int i = 0; i < AXIS_COUNT; i++)
        v *= k->axis[i].max - k->axis[i].min + 1;
    return v;
}

/* The idle threads of the box. */
static int64_t idle_of(Idle *k)
{
    Bounds r = works(k, k->launch->body);
    int widest = 0;
    if (r.min || --k->boxes < 0)
        return 0;
    if (!r.max)
        return volume(k);
    for (int i = 1; i < AXIS_COUNT; i++)
        if (k->axis[i].max - k->axis[i].min > k->axis[widest].max - k->axis[widest].min)
            widest = i;
    Bounds all = k->axis[widest];
    if (all.min == all.max)
        return 0;
    int64_t middle = all.min + (all.max - all.min) / 2;
    k->axis[widest].max = middle;
    int64_t idle = idle_of(k);
    k->axis[widest] = (Bounds){middle + 1, all.max};
    idle += idle_of(k);
    k->axis[widest] = all;
    return idle;
}

static bool has_exchange(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmt(c, body); cursor_next(&at);)
        if (at.expr && op_info(at.expr->kind)->class == OP_LANES)
            return true;
    return false;
}

bool count_idle(Context *c, const LaunchStmt *launch, int64_t *threads, int64_t *idle)
{
    Idle k = {.c = c, .launch = launch, .boxes = BOXES};
    *threads = 1;
    for (int i = 0; i < 3; i++) {
        int64_t blocks;
        if (!expr_is_const(launch->grid[i], &blocks) || blocks < 1 ||
            !checked_mul(*threads, blocks, threads) ||
            !checked_mul(*threads, launch->block[i], threads))
            return false;
        k.axis[AXIS_BLOCK_X + i] = (Bounds){0, blocks - 1};
        k.axis[AXIS_THREAD_X + i] = (Bounds){0, launch->block[i] - 1};
    }
    k.exchanges = has_exchange(c, launch->body);
    *idle = idle_of(&k);
    return k.boxes >= 0;
}
