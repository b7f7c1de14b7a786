/* draws.c - Derives the ranges of random inputs from their uses in the program.
 *
 *   y[b] = x[b, label[b] + 1]                0 <= label + 1 < the extent of axis 1 of x
 *   y[i] = x[N - 1 - id[i]]                  0 <= N - 1 - id < N
 *   for j in ptr[i]..ptr[i + 1] s += x[j]    ptr[i] <= j < ptr[i + 1]; ptr is nondecreasing
 *   y[i] = log(x[i]) / (s + eps)             x, s and eps are positive
 *
 * A subscript is taken apart into coefficient * input + rest. Each of its two ends, 0 and the
 * extent, bounds the input, by the smallest or the largest rest. Where it has no such form, the
 * input itself is drawn from the range of the axis. Values pass through `let`s, and through temps
 * that one store gives their values. */
#include "passes/analysis/regions/draws.h"

#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/simplify.h"

/* Positive floating values are in [1/16, 1): away from 0, since they divide. */
static const double LEAST_POSITIVE = 0x1p-4, END_OF_POSITIVE = 1;

typedef struct {
    Context *c;
    const Kernel *program;
    EnclosingList around;  /* the place */
    Facts *facts;          /* that hold there, but for conditions, */
    FactsMark everywhere;  /* and in the whole program */
    VEC(const Var *) vars; /* that have a value here and are no sizes */
    VEC(Fact) found;
    const Param *wanted; /* the input at hand */
    End end;             /* of the axis at hand */
    bool elsewhere;      /* the expression at hand is that of another block */
} Draws;

/* ---- what a name stands for ------------------------------------------------------------------ */

static DType type_of(const Param *p)
{
    return p->buffer ? p->buffer->type : p->scalar->type;
}

static bool is_wanted(const Draws *d, const Expr *e)
{
    if (e->kind == EX_LOAD)
        return d->wanted->buffer && buffer_defined(e->u.load.buffer)->id == d->wanted->buffer->id;
    return e->kind == EX_VAR && d->wanted->scalar == e->u.var;
}

static const Expr *without_casts(const Expr *e)
{
    while (e->kind == EX_CAST && type_is_int(e->type) && type_is_int(e->u.arg[0]->type))
        e = e->u.arg[0];
    return e;
}

/* The loop or let around the place that gives the variable its value; NULL: neither. */
static const Stmt *definition_of(const Draws *d, const Expr *e)
{
    for (int i = d->around.n - 1; e->kind == EX_VAR && i >= 0; i--) {
        const Stmt *s = d->around.items[i].stmt;
        if ((s->kind == ST_FOR && s->u.loop.var == e->u.var) ||
            (s->kind == ST_LET && s->u.let.var == e->u.var))
            return s;
    }
    return NULL;
}

/* The value of an iterator whose range data decide, in terms of the loops around its block; NULL:
 * it is none. */
static const Expr *iterator_value(const Draws *d, const Expr *e)
{
    for (int i = d->around.n - 1; e->kind == EX_VAR && i >= 0; i--) {
        const Stmt *s = d->around.items[i].stmt;
        const BlockIter *iter = s->kind == ST_BLOCK ? block_iter(&s->u.block, e->u.var) : NULL;
        if (iter && (expr_has_load(iter->lo) || expr_has_load(iter->hi)))
            return iter->binding;
    }
    return NULL;
}

static bool bounds_read_data(const ForStmt *loop)
{
    return !expr_of_sizes(loop->lo) || !expr_of_sizes(loop->hi);
}

/* The value stored to all elements of a temp, in terms of the block that stores it; NULL if
 * there are several stores or updates. */
static const Expr *temp_value(const Draws *d, const Expr *e)
{
    if (e->kind != EX_LOAD || buffer_defined(e->u.load.buffer)->role != ROLE_TEMP)
        return NULL;
    const Buffer *temp = buffer_defined(e->u.load.buffer);
    const Expr *value = NULL;
    for (Cursor at = cursor_stmts(d->c, d->program->body); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        if (s->kind != ST_STORE || buffer_defined(s->u.store.buffer)->id != temp->id)
            continue;
        if (value || store_updates(s->u.store.op))
            return NULL;
        value = s->u.store.value;
    }
    return value;
}

/* ---- coefficient * input + rest -------------------------------------------------------------- */

typedef struct {
    int64_t coefficient;
    Expr *rest;
    bool uses; /* the input is in it at all */
    bool open; /* there is more to it */
    int depth, steps;
} Form;

/* What is beyond counts as unknown: temps that use others twice would take exponential time. */
enum { DEEPEST = 32, MOST_STEPS = 500 };

static void take_apart(Draws *d, const Expr *e, int64_t scale, Form *out);

static void take_other(Draws *d, const Expr *e, int64_t scale, Form *out)
{
    if (d->elsewhere && !expr_of_sizes(e))
        out->open = true;
    if (out->open || expr_has_load(e)) {
        out->open = true;
        return;
    }
    Expr *value = e->type == DT_INDEX ? (Expr *)e : expr_cast(d->c, DT_INDEX, (Expr *)e, e->span);
    out->rest = index_add(d->c, out->rest, index_mul(d->c, value, expr_index(d->c, scale)));
}

static void take_elsewhere(Draws *d, const Expr *e, int64_t scale, Form *out)
{
    bool outside = d->elsewhere;
    d->elsewhere = true;
    take_apart(d, e, scale, out);
    d->elsewhere = outside;
}

/* A variable of a loop whose bounds read data, by the end that decides: its first value, or its
 * last. */
static void take_loop(Draws *d, const ForStmt *loop, int64_t scale, Form *out)
{
    bool last = (scale > 0) == (d->end == END_LARGEST);
    bool from_end = last == (loop->step > 0);
    take_apart(d, from_end ? loop->hi : loop->lo, scale, out);
    if (from_end && loop->step > 0)
        out->rest = index_sub(d->c, out->rest, expr_index(d->c, scale));
}

static bool literal_factor(const Expr *e, int64_t scale, const Expr **other, int64_t *product)
{
    int64_t k;
    for (int i = 0; i < 2; i++) {
        *other = e->u.arg[1 - i];
        if (expr_is_const(without_casts(e->u.arg[i]), &k) && k != 0 &&
            checked_mul(k, scale, product))
            return true;
    }
    return false;
}

static bool mentions(const Draws *d, const Expr *e)
{
    e = without_casts(e);
    if (is_wanted(d, e))
        return true;
    if (e->kind == EX_LOAD)
        return false;
    for (int i = 0; i < expr_operands(e); i++)
        if (mentions(d, expr_operand(e, i)))
            return true;
    return false;
}

static void take_operands(Draws *d, const Expr *e, int64_t scale, Form *out)
{
    const Expr *other;
    int64_t product;
    if (e->kind == EX_ADD || e->kind == EX_SUB) {
        take_apart(d, e->u.arg[0], scale, out);
        take_apart(d, e->u.arg[1], e->kind == EX_ADD ? scale : -scale, out);
    } else if (e->kind == EX_NEG) {
        take_apart(d, e->u.arg[0], -scale, out);
    } else if (e->kind == EX_MUL && literal_factor(e, scale, &other, &product)) {
        take_apart(d, other, product, out);
    } else if (mentions(d, e)) {
        out->uses = out->open = true;
    } else {
        take_other(d, e, scale, out);
    }
}

/* Adds scale * e to the form. Integers of machine types count as if they did not wrap. */
static void take_apart(Draws *d, const Expr *e, int64_t scale, Form *out)
{
    e = without_casts(e);
    if (out->depth >= DEEPEST || ++out->steps > MOST_STEPS) {
        out->open = true;
        return;
    }
    out->depth++;
    const Stmt *definition = definition_of(d, e);
    const Expr *stored = definition ? NULL : temp_value(d, e), *iterator = iterator_value(d, e);
    if (is_wanted(d, e)) {
        out->uses = true;
        out->open |= !checked_add(out->coefficient, scale, &out->coefficient);
    } else if (definition && definition->kind == ST_LET) {
        take_apart(d, definition->u.let.value, scale, out);
    } else if (iterator) {
        take_apart(d, iterator, scale, out);
    } else if (stored) {
        take_elsewhere(d, stored, scale, out);
    } else if (definition && bounds_read_data(&definition->u.loop)) {
        take_loop(d, &definition->u.loop, scale, out);
    } else {
        take_operands(d, e, scale, out);
    }
    out->depth--;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static Expr *end_of(const Fact *f, End end)
{
    return end == END_LARGEST ? f->hi : f->lo;
}

/* The fact gives the input this end. */
static bool gives(const Draws *d, const Fact *f, End end)
{
    return f->kind == FACT_VALUES && f->subject.buffer == d->wanted->buffer &&
           f->subject.scalar == d->wanted->scalar && end_of(f, end);
}

/* The clause does. */
static bool is_given(const Draws *d, End end)
{
    for (int i = 0; i < d->program->n_facts; i++)
        if (gives(d, &d->program->facts[i], end))
            return true;
    return false;
}

/* input >= value, or input < value. */
static void found_end(Draws *d, End end, Expr *value)
{
    bool upper = end == END_LARGEST;
    Fact fact = {
        .kind = FACT_VALUES, .span = value->span, .subject = *d->wanted, .excludes_hi = upper};
    *(upper ? &fact.hi : &fact.lo) = simplify(facts_of_kernel(d->c, d->program), value);
    if (is_given(d, end))
        return;
    for (int i = 0; i < d->found.n; i++)
        if (gives(d, &d->found.items[i], end) &&
            expr_equal(end_of(&d->found.items[i], end), end_of(&fact, end)))
            return;
    VEC_PUSH(d->c->arena, &d->found, fact);
}

/* The smallest or largest rest as an expression of sizes; NULL where there is none. */
static Expr *end_of_rest(Draws *d, const Form *form)
{
    bool exact, upper = d->end == END_LARGEST;
    Expr *rest = upper ? largest_over(d->facts, form->rest, d->vars.items, d->vars.n, &exact)
                       : least_over(d->facts, form->rest, d->vars.items, d->vars.n, &exact);
    int64_t min, max;
    if (rest && expr_of_sizes(rest))
        return rest;
    return bounds_const(d->facts, form->rest, &min, &max) ? expr_index(d->c, upper ? max : min)
                                                          : NULL;
}

/* ceil(e / k), k > 0. */
static Expr *quotient_up(Draws *d, Expr *e, int64_t k)
{
    Context *c = d->c;
    Expr *zero = expr_index(c, 0), *by = expr_index(c, k);
    if (prove_compare(d->facts, e, EX_LE, zero))
        return index_div(c, e, by);
    return index_div(c, index_add(c, e, expr_index(c, k - 1)), by);
}

/* coefficient * input + rest >= 0, or < extent: with  room = -rest  and  room = extent - 1 -
 * rest. */
static void bound_input(Draws *d, const Form *form, Expr *rest, Expr *extent)
{
    Context *c = d->c;
    Expr *one = expr_index(c, 1);
    bool upper = d->end == END_LARGEST;
    int64_t k = form->coefficient;
    Expr *room = upper ? index_sub(c, index_sub(c, extent, one), rest)
                       : index_sub(c, expr_index(c, 0), rest);
    if (k == INT64_MIN)
        return;
    if ((k > 0) == upper) { /* |k| * input <= a */
        Expr *a = upper ? room : rest;
        found_end(d, END_LARGEST,
                  index_add(c, index_div(c, a, expr_index(c, k > 0 ? k : -k)), one));
    } else { /* |k| * input >= a */
        Expr *a = upper ? index_sub(c, index_add(c, rest, one), extent) : room;
        found_end(d, END_LEAST, quotient_up(d, a, k > 0 ? k : -k));
    }
}

static void visit_subscript(Draws *d, Expr *subscript, Expr *extent)
{
    if (!expr_of_sizes(extent))
        return;
    for (End end = 0; end < ENDS; end++) {
        d->end = end;
        Form form = {.rest = expr_index(d->c, 0)};
        take_apart(d, subscript, 1, &form);
        if (!form.uses)
            continue;
        Expr *rest = form.open || form.coefficient == 0 ? NULL : end_of_rest(d, &form);
        if (rest)
            bound_input(d, &form, rest, extent);
        else
            found_end(d, end, end == END_LARGEST ? extent : expr_index(d->c, 0));
    }
}

/* ---- the inputs ------------------------------------------------------------------------------ */

static int input_count(const Draws *d)
{
    return d->program->n_params - d->program->n_outputs;
}

static const Param *find_input(const Draws *d, const Expr *e)
{
    for (int i = 0; i < input_count(d); i++) {
        const Param *p = &d->program->params[i];
        if ((e->kind == EX_LOAD && p->buffer &&
             p->buffer->id == buffer_defined(e->u.load.buffer)->id) ||
            (e->kind == EX_VAR && p->scalar == e->u.var))
            return p;
    }
    return NULL;
}

/* Facts and variables of the place. What holds under a condition only does not count. */
static void enter_place(Draws *d)
{
    Arena *arena = d->c->arena;
    facts_reset(d->facts, d->everywhere);
    d->vars.n = 0;
    for (int i = 0; i < d->around.n; i++) {
        const Stmt *s = d->around.items[i].stmt;
        for (int k = 0; s->kind == ST_BLOCK && k < s->u.block.n_iters; k++)
            VEC_PUSH(arena, &d->vars, s->u.block.iters[k].var);
        if (s->kind == ST_FOR || s->kind == ST_LET)
            VEC_PUSH(arena, &d->vars, s->kind == ST_FOR ? s->u.loop.var : s->u.let.var);
        if (s->kind != ST_IF)
            facts_enter(d->facts, s);
    }
}

static void visit_access(Draws *d, const Buffer *buffer, Expr *const *index)
{
    bool entered = false;
    for (int i = 0; i < input_count(d); i++) {
        d->wanted = &d->program->params[i];
        if (!type_is_int(type_of(d->wanted)))
            continue;
        if (!entered)
            enter_place(d);
        entered = true;
        for (int axis = 0; axis < buffer->rank; axis++)
            visit_subscript(d, index[axis], buffer->shape[axis]);
    }
}

/* ---- what must be positive ------------------------------------------------------------------- */

static bool is_found(const Draws *d, const Param *p)
{
    for (int i = 0; i < d->found.n; i++)
        if (d->found.items[i].subject.buffer == p->buffer &&
            d->found.items[i].subject.scalar == p->scalar)
            return true;
    return false;
}

static void found_positive(Draws *d, const Param *p)
{
    DType type = type_of(p);
    d->wanted = p;
    if (type_is_int(type)) {
        found_end(d, END_LEAST, expr_index(d->c, 1));
    } else if (type_is_float(type) && !is_given(d, END_LEAST) && !is_given(d, END_LARGEST) &&
               !is_found(d, p)) {
        Fact fact = {.kind = FACT_VALUES,
                     .subject = *p,
                     .excludes_hi = true,
                     .lo = expr_float(d->c, type, LEAST_POSITIVE, span_none()),
                     .hi = expr_float(d->c, type, END_OF_POSITIVE, span_none())};
        VEC_PUSH(d->c->arena, &d->found, fact);
    }
}

/* Makes an expression positive by the inputs in it, where it is a sum, a product or a quotient. A
 * square is so anyway. */
static void make_positive(Draws *d, const Expr *e)
{
    const Param *input = find_input(d, e);
    if (input) {
        found_positive(d, input);
        return;
    }
    switch (e->kind) {
    case EX_CAST: make_positive(d, e->u.arg[0]); return;
    case EX_MUL:
    case EX_DIV:
        if (expr_equal(e->u.arg[0], e->u.arg[1]))
            return;
        /* fallthrough */
    case EX_ADD:
    case EX_MIN:
    case EX_MAX:
        make_positive(d, e->u.arg[0]);
        make_positive(d, e->u.arg[1]);
        return;
    default: return;
    }
}

static bool needs_positive(CallKind call)
{
    switch (call) {
    case CALL_LOG:
    case CALL_LOG2:
    case CALL_LOG10:
    case CALL_LOG1P:
    case CALL_SQRT:
    case CALL_RSQRT:
    case CALL_POW: return true;
    default: return false;
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Bounds of one loop from one list: ptr[i]..ptr[i + 1]. */
static void visit_bounds(Draws *d, const ForStmt *loop)
{
    const Expr *lo = without_casts(loop->lo), *hi = without_casts(loop->hi);
    const Param *input = lo->kind == EX_LOAD && hi->kind == EX_LOAD ? find_input(d, lo) : NULL;
    if (!input || input != find_input(d, hi) || input->buffer->rank != 1)
        return;
    for (int i = 0; i < d->program->n_facts; i++)
        if (d->program->facts[i].kind == FACT_ORDER &&
            d->program->facts[i].subject.buffer == input->buffer)
            return;
    Fact fact = {.kind = FACT_ORDER, .subject = *input, .order = ORDER_NONDECREASING};
    VEC_PUSH(d->c->arena, &d->found, fact);
}

static void visit_expr(Draws *d, const Expr *e)
{
    if (e->kind == EX_LOAD)
        visit_access(d, e->u.load.buffer, e->u.load.index);
    else if (e->kind == EX_CALL && needs_positive(e->u.call.call))
        make_positive(d, e->u.call.arg[0]);
    else if (e->kind == EX_DIV || e->kind == EX_MOD)
        make_positive(d, e->u.arg[1]);
}

const Fact *input_draws(Context *c, const Kernel *program, int *n)
{
    Draws d = {.c = c, .program = program, .facts = facts_of_kernel(c, program)};
    d.everywhere = facts_mark(d.facts);
    for (Cursor at = cursor_with_path(cursor_stmt(c, program->body), NULL); cursor_next(&at);) {
        d.around = at.path;
        if (at.expr)
            visit_expr(&d, at.expr);
        else if (at.stmt->kind == ST_STORE)
            visit_access(&d, at.stmt->u.store.buffer, at.stmt->u.store.index);
        else if (at.stmt->kind == ST_FOR)
            visit_bounds(&d, &at.stmt->u.loop);
    }
    *n = d.found.n;
    return d.found.items;
}
