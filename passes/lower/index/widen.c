/* widen.c - Decides which index arithmetic needs 64 bits, and which limits on sizes keep the rest
 * in 32 bits.
 *
 *   let j = (block * 256 + t) % 65536    =>   let j = index((i64(block) * 256 + t) % 65536)
 *   y[i] = f32(i * M * M)                =>   y[i] = f32(i64(i) * i64(M) * i64(M))
 *   y[i * N + j] = x[i * N + j]          =>   as it is, for M * N <= 2147483647
 *
 * INDEX is exact in a program and an int in emitted code, so every value of INDEX, on the way to
 * others too, must be one of an int (index_range.h bounds it). A value with a
 * literal bound either fits or does not. One that is bounded by the sizes stays an int where that
 * holds for programs of a usual size, and then the bound is a limit that each launch checks
 * (size_limits.c). All else is computed as i64 from its leaves on, and comes back where it fits
 * again. A size or a variable of the host that a launch only uses as i64 is passed to it as one. */
#include "ir/copies/bulk_copy.h"
#include "passes/lower/index/index_range.h"
#include "passes/lower/index/size_limits.h"
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Facts *facts;
    IndexRanges *values;
    bool index64;     /* sizes have no limits */
    bool inside;      /* a launch */
    bool speculates;  /* addresses are computed where their elements may not exist */
    VarList host;     /* variables of the host that launches may use */
    SubstList wide;   /* variables that became i64 ... */
    SubstList narrow; /* ... and each of them as an INDEX */
    SizeLimits *limits;
} Widen;

/* The range of an expression that is a subscript, or a term of one, from the fact that the access
 * is in bounds. */
typedef struct {
    IndexRange is;
    const Buffer *buffer;
} Room;

/* ---- does it fit? ---------------------------------------------------------------------------- */

static bool is_int(Bounds is)
{
    return is.min >= INT32_MIN && is.max <= INT32_MAX;
}

/* The limit on the sizes for one end of a range: NULL with `known` if the end is a literal that
 * fits; false if it would not fit for common sizes. */
static bool end_fits(Widen *w, bool literal, const SizeSum *end, const SizeSum **limit)
{
    *limit = literal ? NULL : size_sum_positive(w->c, end);
    return literal || (*limit && index_ranges_usual(w->values, *limit) <= INT32_MAX);
}

static bool range_fits(Widen *w, IndexRange is)
{
    const SizeSum *low, *high;
    if (is_int(is.number))
        return true;
    if (w->index64 || !end_fits(w, is.number.max <= INT32_MAX, is.hi, &high) ||
        !end_fits(w, is.number.min >= INT32_MIN, size_sum_scale(w->c, is.lo, -1, 1), &low))
        return false;
    size_limits_add(w->limits, low);
    size_limits_add(w->limits, high);
    return true;
}

/* The value of `e` is that of an int, under the limits noted. */
static bool fits(Widen *w, Expr *e, const Room *room)
{
    int64_t min, max;
    IndexRange is = index_range_of(w->values, e);
    if (room)
        is = index_range_meet(w->values, is, room->is);
    if (is_int(is.number) || (e->type == DT_INDEX && bounds_const(w->facts, e, &min, &max) &&
                              is_int((Bounds){min, max})))
        return true;
    return range_fits(w, is);
}

/* ---- room ------------------------------------------------------------------------------------ */

/* The factor is at least 1 where an element of the buffer is accessed: a number, or an extent of
 * the buffer. */
static bool is_at_least_1(const Buffer *buffer, const Expr *factor)
{
    int64_t number;
    if (expr_is_const(factor, &number))
        return number >= 1;
    if (factor->kind == EX_CAST)
        factor = factor->u.arg[0];
    const Buffer *b = buffer_defined(buffer);
    for (int d = 0; d < b->rank; d++)
        if (expr_equal(b->shape[d], factor))
            return true;
    return false;
}

/* Of a value whose product with a factor of at least 1 has the room: no further from 0. */
static IndexRange factor_room(Context *c, IndexRange is)
{
    const SizeSum *low = size_sum_positive(c, size_sum_scale(c, is.lo, -1, 1));
    return (IndexRange){bounds_join(is.number, bounds_exactly(0)), size_sum_scale(c, low, -1, 1),
                        size_sum_positive(c, is.hi)};
}

/* The room of operand k of `e`, which has `room`; NULL where nothing follows for it. */
static const Room *operand_room(Widen *w, Expr *e, int k, const Room *room, Room *out)
{
    Context *c = w->c;
    if (!room)
        return NULL;
    Expr *sibling = expr_is_binary(e->kind) ? e->u.arg[1 - k] : NULL;
    *out = *room;
    switch (e->kind) {
    case EX_ADD:
        out->is = index_range_rest(c, room->is, index_range_of(w->values, sibling));
        return out;
    case EX_SUB:
        out->is = k == 0 ? index_range_sum(c, room->is, index_range_of(w->values, sibling))
                         : index_range_rest(c, index_range_of(w->values, sibling), room->is);
        return out;
    case EX_MUL:
        out->is = factor_room(c, room->is);
        return is_at_least_1(room->buffer, sibling) ? out : NULL;
    case EX_SELECT: return k == 0 ? NULL : out;
    case EX_CAST: return e->u.arg[0]->type == DT_INDEX || e->u.arg[0]->type == DT_I64 ? out : NULL;
    default: return NULL;
    }
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* Removes a cast from 64 bits that is cast back. */
static Expr *to_i64(Widen *w, Expr *e)
{
    int64_t value;
    if (e->type == DT_I64)
        return e;
    if (e->kind == EX_CAST && e->type == DT_INDEX && e->u.arg[0]->type == DT_I64)
        return e->u.arg[0];
    return expr_is_const(e, &value) ? expr_int(w->c, DT_I64, value, e->span)
                                    : expr_cast(w->c, DT_I64, e, e->span);
}

static Expr *widen(Widen *w, Expr *e, const Room *room);

static Expr *widen_operand(Widen *w, Expr *e, int k, const Room *room)
{
    Room own;
    return widen(w, e->u.arg[k], operand_room(w, e, k, room, &own));
}

/* `wide`, which computes what `e` does, as INDEX where that fits. */
static Expr *narrow(Widen *w, Expr *e, Expr *wide, const Room *room)
{
    return e->type == DT_INDEX && fits(w, e, room) ? expr_cast(w->c, DT_INDEX, wide, e->span)
                                                   : wide;
}

/* In 64 bits if an operand or the result is, and back where the result fits. */
static Expr *widen_binary(Widen *w, Expr *e, const Room *room)
{
    Expr *a = widen_operand(w, e, 0, room), *b = widen_operand(w, e, 1, room);
    bool index = e->u.arg[0]->type == DT_INDEX;
    if (index &&
        (a->type == DT_I64 || b->type == DT_I64 || (e->type == DT_INDEX && !fits(w, e, room)))) {
        Expr *wide = expr_binary(w->c, e->kind, to_i64(w, a), to_i64(w, b), e->span);
        return narrow(w, e, wide, room);
    }
    return a == e->u.arg[0] && b == e->u.arg[1] ? e : expr_binary(w->c, e->kind, a, b, e->span);
}

static Expr *widen_unary(Widen *w, Expr *e)
{
    Expr *a = widen(w, e->u.arg[0], NULL);
    if (e->type == DT_INDEX && (a->type == DT_I64 || !fits(w, e, NULL)))
        return narrow(w, e, expr_unary(w->c, e->kind, to_i64(w, a), e->span), NULL);
    return a == e->u.arg[0] ? e : expr_unary(w->c, e->kind, a, e->span);
}

static Expr *widen_select(Widen *w, Expr *e, const Room *room)
{
    Expr *cond = widen(w, e->u.arg[0], NULL), *a = widen_operand(w, e, 1, room),
         *b = widen_operand(w, e, 2, room);
    if (cond == e->u.arg[0] && a == e->u.arg[1] && b == e->u.arg[2])
        return e;
    if (a->type != b->type) {
        a = to_i64(w, a);
        b = to_i64(w, b);
    }
    return expr_select(w->c, cond, a, b, e->span);
}

static bool is_of_host(const Widen *w, const Var *var)
{
    for (int i = 0; i < w->host.n; i++)
        if (w->host.items[i] == var)
            return true;
    return var->kind == VAR_SIZE;
}

/* A value that is converted to INDEX keeps its type if an int cannot hold it. A size that becomes
 * an i64 may be passed as one. */
static Expr *widen_cast(Widen *w, Expr *e, const Room *room)
{
    const Expr *from = e->u.arg[0];
    if (e->type == DT_I64 && from->kind == EX_VAR && is_of_host(w, from->u.var))
        return e;
    Expr *a = widen_operand(w, e, 0, room);
    if (e->type == DT_INDEX && !fits(w, e, room))
        return to_i64(w, a);
    return a == e->u.arg[0] ? e : a->type == e->type ? a : expr_cast(w->c, e->type, a, e->span);
}

static Expr *widen_var(Widen *w, Expr *e)
{
    for (int i = 0; i < w->wide.n; i++)
        if (w->wide.items[i].var == e->u.var)
            return w->wide.items[i].value;
    bool host = e->type == DT_INDEX && is_of_host(w, e->u.var);
    return host && !fits(w, e, NULL) ? to_i64(w, e) : e;
}

static Expr **widen_arguments(Widen *w, Expr *e)
{
    int n = call_info(e->u.call.call)->arity;
    bool changed = false;
    Expr **done = ARENA_ARRAY(w->c->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++) {
        done[i] = widen(w, e->u.call.arg[i], NULL);
        changed |= done[i] != e->u.call.arg[i];
    }
    return changed ? done : NULL;
}

/* One subscript is below the number of elements, and so is each of several. NULL where none
 * changed. */
static Expr **widen_subscripts(Widen *w, Buffer *b, Expr *const *index)
{
    Room room = {index_range_elements(w->values, b), b};
    bool changed = false;
    Expr **done = ARENA_ARRAY(w->c->arena, Expr *, b->rank + 1);
    for (int i = 0; i < b->rank; i++) {
        done[i] = widen(w, index[i], w->speculates ? NULL : &room);
        changed |= done[i] != index[i];
    }
    return changed ? done : NULL;
}

static Expr *widen_load(Widen *w, Expr *e)
{
    Expr **index = widen_subscripts(w, e->u.load.buffer, e->u.load.index);
    const AxisAccess *axes = axes_subst(w->c, e->u.load.axes, w->narrow.items, w->narrow.n);
    if (!index && axes == e->u.load.axes)
        return e;
    Expr *load = expr_load_like(w->c, e, e->u.load.buffer, index ? index : e->u.load.index);
    load->u.load.axes = axes;
    return load;
}

/* `e` with its index arithmetic widened. An INDEX comes back as INDEX, or as I64 where its value
 * does not fit. */
static Expr *widen(Widen *w, Expr *e, const Room *room)
{
    Expr **all;
    switch (e->kind) {
    case EX_FLOAT:
    case EX_AXIS: return e;
    case EX_INT: return e->type == DT_INDEX && !is_int(bounds_exactly(e->u.i)) ? to_i64(w, e) : e;
    case EX_VAR: return widen_var(w, e);
    case EX_LOAD: return widen_load(w, e);
    case EX_CALL: all = widen_arguments(w, e); return all ? expr_call_like(w->c, e, all) : e;
    case EX_SELECT: return widen_select(w, e, room);
    case EX_CAST: return widen_cast(w, e, room);
    case EX_NEG:
    case EX_NOT:
    case EX_BITNOT: return widen_unary(w, e);
    default: return widen_binary(w, e, room);
    }
}

/* ---- statements of a launch ------------------------------------------------------------------ */

static Stmt *widen_stmt(void *user, Stmt *s);

/* The variable in the given type. */
static Var *define(Widen *w, Var *var, DType type)
{
    if (type == var->type)
        return var;
    Var *wide = var_new(w->c, var->name, type, var->kind, var->span);
    Subst to = {var, expr_var(w->c, wide, var->span)};
    VEC_PUSH(w->c->arena, &w->wide, to);
    to.value = expr_cast(w->c, DT_INDEX, to.value, var->span);
    VEC_PUSH(w->c->arena, &w->narrow, to);
    return wide;
}

static Stmt *widen_let(Widen *w, Stmt *s)
{
    int64_t min, max;
    Expr *value = widen(w, s->u.let.value, NULL);
    if (s->u.let.value->type == DT_INDEX && bounds_const(w->facts, s->u.let.value, &min, &max) &&
        max < INT64_MAX)
        facts_range(w->facts, s->u.let.var, expr_index(w->c, min), expr_index(w->c, max + 1));
    index_ranges_enter(w->values, s);
    if (value == s->u.let.value)
        return s;
    Var *var = define(w, s->u.let.var, value->type);
    return stmt_stamp(stmt_let(w->c, var, value, s->span), s);
}

/* The variable goes one step beyond its last value before the loop ends. */
static bool last_step_fits(Widen *w, const ForStmt *loop)
{
    int64_t beyond = loop->step > 0 ? loop->step - 1 : loop->step;
    IndexRange hi = index_range_of(w->values, loop->hi);
    return range_fits(w, index_range_sum(w->c, hi, index_range_int(beyond, beyond)));
}

static Stmt *widen_loop(Widen *w, Stmt *s)
{
    ForStmt loop = s->u.loop;
    loop.lo = widen(w, loop.lo, NULL);
    loop.hi = widen(w, loop.hi, NULL);
    if (loop.lo->type != loop.hi->type ||
        (loop.var->type == DT_INDEX && !last_step_fits(w, &s->u.loop))) {
        loop.lo = to_i64(w, loop.lo);
        loop.hi = to_i64(w, loop.hi);
    }
    loop.var = define(w, loop.var, loop.lo->type);
    facts_enter(w->facts, s);
    index_ranges_enter(w->values, s);
    loop.body = widen_stmt(w, s->u.loop.body);
    bool same = loop.lo == s->u.loop.lo && loop.hi == s->u.loop.hi && loop.body == s->u.loop.body;
    return same ? s : stmt_stamp(stmt_for(w->c, &loop, s->span), s);
}

static Stmt *widen_store(Widen *w, Stmt *s)
{
    Buffer *b = s->u.store.buffer;
    Expr **index = widen_subscripts(w, b, s->u.store.index);
    /* a copy under a condition takes its address, or zeros */
    w->speculates = s->u.store.op == STORE_ASYNC;
    Expr *value = widen(w, s->u.store.value, NULL);
    w->speculates = false;
    const AxisAccess *axes = axes_subst(w->c, s->u.store.axes, w->narrow.items, w->narrow.n);
    if (!index && value == s->u.store.value && axes == s->u.store.axes)
        return s;
    Stmt *store = stmt_store_like(w->c, s, b, index ? index : s->u.store.index, value);
    store->u.store.axes = axes;
    return store;
}

static Expr *widen_element(void *user, Expr *e)
{
    return widen(user, e, NULL);
}

static Stmt *widen_instruction(Widen *w, Stmt *s)
{
    w->speculates = stmt_is_bulk_copy(s); /* a box may begin outside of the tensor */
    Stmt *done = stmt_map_exprs(w->c, s, widen_element, w);
    w->speculates = false;
    return stmt_map_children(w->c, done, widen_stmt, w);
}

static Stmt *widen_if(Widen *w, Stmt *s)
{
    FactsMark facts = facts_mark(w->facts);
    IndexRangesMark values = index_ranges_mark(w->values);
    Expr *cond = widen(w, s->u.cond.cond, NULL);
    facts_enter(w->facts, s);
    index_ranges_enter(w->values, s);
    Stmt *then = widen_stmt(w, s->u.cond.then), *otherwise = s->u.cond.otherwise;
    facts_reset(w->facts, facts);
    index_ranges_reset(w->values, values);
    if (otherwise)
        otherwise = widen_stmt(w, otherwise);
    if (cond == s->u.cond.cond && then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    return stmt_stamp(stmt_if(w->c, cond, then, otherwise, s->span), s);
}

/* ---- the host -------------------------------------------------------------------------------- */

/* A launch has less than 2^31 blocks along an axis, whatever the width. */
static Stmt *widen_launch(Widen *w, Stmt *s)
{
    for (int k = 0; k < 3; k++) {
        IndexRange grid = index_range_of(w->values, s->u.launch.grid[k]);
        if (grid.number.max > INT32_MAX)
            size_limits_add(w->limits, size_sum_positive(w->c, grid.hi));
    }
    facts_enter(w->facts, s);
    index_ranges_enter(w->values, s);
    w->inside = true;
    Stmt *done = stmt_map_children(w->c, s, widen_stmt, w);
    w->inside = false;
    return done;
}

/* The host computes in 64 bits. */
static Stmt *widen_host(Widen *w, Stmt *s)
{
    if (s->kind == ST_LAUNCH)
        return widen_launch(w, s);
    if (s->kind == ST_FOR || s->kind == ST_LET)
        VEC_PUSH(w->c->arena, &w->host, s->kind == ST_FOR ? s->u.loop.var : s->u.let.var);
    if (s->kind == ST_FOR || s->kind == ST_LET) {
        facts_enter(w->facts, s);
        index_ranges_enter(w->values, s);
    }
    return stmt_map_children(w->c, s, widen_stmt, w);
}

static Stmt *widen_inside(Widen *w, Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: return widen_loop(w, s);
    case ST_IF: return widen_if(w, s);
    case ST_STORE: return widen_store(w, s);
    case ST_INSTRUCTION: return widen_instruction(w, s);
    default: return stmt_map_children(w->c, s, widen_stmt, w);
    }
}

/* A name is known up to the end of its sequence, all else that holds in a statement up to its
 * end. */
static Stmt *widen_stmt(void *user, Stmt *s)
{
    Widen *w = user;
    if (s->kind == ST_LET)
        return w->inside ? widen_let(w, s) : widen_host(w, s);
    FactsMark facts = facts_mark(w->facts);
    IndexRangesMark values = index_ranges_mark(w->values);
    Stmt *done = w->inside ? widen_inside(w, s) : widen_host(w, s);
    facts_reset(w->facts, facts);
    index_ranges_reset(w->values, values);
    return done;
}

/* The kernel with the widths that its arithmetic needs, and the limits for what is an int then. */
static Kernel *with_widths(Context *c, const Kernel *kernel, bool index64)
{
    SizeLimits limits = {.c = c};
    Widen w = {.c = c,
               .facts = facts_of_kernel(c, kernel),
               .values = index_ranges_new(c, kernel),
               .index64 = index64,
               .limits = &limits};
    Kernel *wide = kernel_with_body(c, kernel, widen_stmt(&w, kernel->body));
    size_limits_give(&limits, wide);
    return wide;
}

/* The limits are those of the text as it is in the end: what has become wide asks for none. */
Kernel *pass_widen(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    return with_widths(c, with_widths(c, kernel, options->index64), options->index64);
}
