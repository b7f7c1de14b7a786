/* idle.c - Counts the threads of a launch that do nothing.
 *
 * Counted exactly, and without a walk over all threads: guards are evaluated on intervals, for a
 * box of threads at once. A box in which all are busy, or none is, is done; another one is halved.
 * Guards are half spaces as a rule, so that boxes are cut along their faces only. */
#include "passes/analysis/threads/idle.h"

enum { BOXES = 200000 };

/* All values from lo to hi; truths are 0 and 1. */
typedef struct {
    int64_t lo, hi;
    bool known;
} Range;

typedef struct {
    const Var *var;
    Range range;
} Bound;

typedef struct {
    Context *c;
    const LaunchStmt *launch;
    Range axis[AXIS_COUNT];
    VEC(Bound) env;
    bool exchanges; /* lanes hand values to each other */
    int boxes;      /* left */
} Idle;

static Range range_of(int64_t lo, int64_t hi)
{
    return (Range){lo, hi, true};
}

static Range unknown(void)
{
    return (Range){0, 0, false};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* From the results of the four corners. */
static Range corners(ExprKind kind, Range a, Range b)
{
    int64_t x[2] = {a.lo, a.hi}, y[2] = {b.lo, b.hi}, lo = INT64_MAX, hi = INT64_MIN;
    for (int i = 0; i < 4; i++) {
        int64_t p = x[i & 1], q = y[i >> 1], r = 0;
        bool ok = kind == EX_ADD   ? checked_add(p, q, &r)
                  : kind == EX_SUB ? checked_sub(p, q, &r)
                  : kind == EX_MUL ? checked_mul(p, q, &r)
                                   : q > 0;
        if (!ok)
            return unknown();
        r = kind == EX_DIV ? p / q : r;
        lo = least(lo, r);
        hi = most(hi, r);
    }
    return range_of(lo, hi);
}

static Range remainder_of(Range a, Range b)
{
    if (b.lo != b.hi || b.lo <= 0 || a.lo < 0)
        return unknown();
    if (a.lo / b.lo == a.hi / b.lo)
        return range_of(a.lo % b.lo, a.hi % b.lo);
    return range_of(0, b.lo - 1);
}

/* Whether `yes` holds for all, for none, or for some. */
static Range truth(bool all, bool none)
{
    return range_of(all, !none);
}

static Range binary(ExprKind kind, Range a, Range b)
{
    if (kind == EX_AND || kind == EX_OR) {
        Range x = a.known ? a : range_of(0, 1), y = b.known ? b : range_of(0, 1);
        return kind == EX_AND ? range_of(x.lo & y.lo, x.hi & y.hi)
                              : range_of(x.lo | y.lo, x.hi | y.hi);
    }
    if (!a.known || !b.known)
        return unknown();
    switch (kind) {
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_DIV: return corners(kind, a, b);
    case EX_MOD: return remainder_of(a, b);
    case EX_MIN: return range_of(least(a.lo, b.lo), least(a.hi, b.hi));
    case EX_MAX: return range_of(most(a.lo, b.lo), most(a.hi, b.hi));
    case EX_LT: return truth(a.hi < b.lo, a.lo >= b.hi);
    case EX_LE: return truth(a.hi <= b.lo, a.lo > b.hi);
    case EX_GT: return truth(a.lo > b.hi, a.hi <= b.lo);
    case EX_GE: return truth(a.lo >= b.hi, a.hi < b.lo);
    case EX_EQ:
        return truth(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, a.hi < b.lo || b.hi < a.lo);
    case EX_NE:
        return truth(a.hi < b.lo || b.hi < a.lo, a.lo == a.hi && b.lo == b.hi && a.lo == b.lo);
    default: return unknown();
    }
}

static Range eval(const Idle *k, const Expr *e)
{
    int64_t value;
    if (expr_is_const(e, &value))
        return range_of(value, value);
    if (type_is_float(e->type))
        return unknown();
    if (expr_is_binary(e->kind))
        return binary(e->kind, eval(k, e->u.arg[0]), eval(k, e->u.arg[1]));
    if (e->kind == EX_AXIS)
        return k->axis[e->u.axis];
    if (e->kind == EX_CAST)
        return eval(k, e->u.arg[0]);
    if (e->kind == EX_NOT) {
        Range a = eval(k, e->u.arg[0]);
        return a.known ? range_of(!a.hi, !a.lo) : unknown();
    }
    for (int i = k->env.n - 1; i >= 0 && e->kind == EX_VAR; i--)
        if (k->env.items[i].var == e->u.var)
            return k->env.items[i].range;
    return unknown();
}

static Range works(Idle *k, const Stmt *s);

static Range works_with(Idle *k, const Var *var, Range range, const Stmt *body)
{
    int n = k->env.n;
    VEC_PUSH(k->c->arena, &k->env, ((Bound){var, range}));
    Range r = works(k, body);
    k->env.n = n;
    return r;
}

/* A thread works in a loop if one of its iterations does. */
static Range works_in_loop(Idle *k, const ForStmt *loop)
{
    Range lo = eval(k, loop->lo), hi = eval(k, loop->hi);
    if (!lo.known || !hi.known || loop->step < 0)
        return range_of(0, 1);
    if (hi.hi <= lo.lo)
        return range_of(0, 0);
    Range all = works_with(k, loop->var, range_of(lo.lo, hi.hi - 1), loop->body);
    Range first = works_with(k, loop->var, lo, loop->body);
    return range_of(lo.hi < hi.lo && (all.lo || first.lo), all.hi);
}

/* Whether the threads of the box read memory for the value. */
static Range reads(const Idle *k, const Expr *e)
{
    if (e->kind == EX_LOAD)
        return range_of(e->u.load.buffer->scope != SCOPE_LOCAL,
                        e->u.load.buffer->scope != SCOPE_LOCAL);
    if (e->kind == EX_SELECT) {
        Range cond = eval(k, e->u.arg[0]), yes = reads(k, e->u.arg[1]), no = reads(k, e->u.arg[2]);
        cond = cond.known ? cond : range_of(0, 1);
        return cond.lo ? yes : !cond.hi ? no : range_of(yes.lo & no.lo, yes.hi | no.hi);
    }
    Range r = range_of(0, 0);
    for (int i = 0; i < expr_operands(e); i++) {
        Range one = reads(k, expr_operand(e, i));
        r = range_of(r.lo | one.lo, r.hi | one.hi);
    }
    return r;
}

/* What a thread reads may be for other lanes, if they exchange anything. */
static Range works_in_store(const Idle *k, const Stmt *s)
{
    if (s->u.store.buffer->scope != SCOPE_LOCAL)
        return range_of(1, 1);
    return k->exchanges ? reads(k, s->u.store.value) : range_of(0, 0);
}

/* Whether the threads of the box store something, or read something for others: 0, 1, or some
 * do. */
static Range works(Idle *k, const Stmt *s)
{
    Range r = range_of(0, 0);
    int n = k->env.n;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n && !r.lo; i++) {
            const Stmt *item = s->u.seq.items[i];
            if (item->kind == ST_LET)
                VEC_PUSH(k->c->arena, &k->env,
                         ((Bound){item->u.let.var, eval(k, item->u.let.value)}));
            Range one = works(k, item);
            r = range_of(r.lo | one.lo, r.hi | one.hi);
        }
        k->env.n = n;
        return r;
    case ST_FOR: return works_in_loop(k, &s->u.loop);
    case ST_IF: {
        Range cond = eval(k, s->u.cond.cond);
        cond = cond.known ? cond : range_of(0, 1);
        Range yes = cond.hi ? works(k, s->u.cond.then) : r;
        Range no = !cond.lo && s->u.cond.otherwise ? works(k, s->u.cond.otherwise) : r;
        return range_of(cond.lo ? yes.lo : !cond.hi ? no.lo : yes.lo & no.lo, yes.hi | no.hi);
    }
    case ST_STORE: return works_in_store(k, s);
    default: return r;
    }
}

static int64_t volume(const Idle *k)
{
    int64_t v = 1;
    for (int i = 0; i < AXIS_COUNT; i++)
        v *= k->axis[i].hi - k->axis[i].lo + 1;
    return v;
}

/* The idle threads of the box. */
static int64_t idle_of(Idle *k)
{
    Range r = works(k, k->launch->body);
    int widest = 0;
    if (r.lo || --k->boxes < 0)
        return 0;
    if (!r.hi)
        return volume(k);
    for (int i = 1; i < AXIS_COUNT; i++)
        if (k->axis[i].hi - k->axis[i].lo > k->axis[widest].hi - k->axis[widest].lo)
            widest = i;
    Range all = k->axis[widest];
    if (all.lo == all.hi)
        return 0;
    int64_t middle = all.lo + (all.hi - all.lo) / 2;
    k->axis[widest].hi = middle;
    int64_t idle = idle_of(k);
    k->axis[widest] = range_of(middle + 1, all.hi);
    idle += idle_of(k);
    k->axis[widest] = all;
    return idle;
}

static bool has_exchange(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmt(c, body); cursor_next(&at);)
        if (at.expr && at.expr->kind == EX_SHUFFLE_XOR)
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
        k.axis[AXIS_BLOCK_X + i] = range_of(0, blocks - 1);
        k.axis[AXIS_THREAD_X + i] = range_of(0, launch->block[i] - 1);
    }
    k.exchanges = has_exchange(c, launch->body);
    *idle = idle_of(&k);
    return k.boxes >= 0;
}
