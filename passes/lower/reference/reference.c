/* reference.c - Builds the reference program that --verify compares with.
 *
 *   C[i, j] += A[i, k] * B[k, j];     =>      let r = f64(A[i, k]);  let r_1 = f64(B[k, j]);
 *                                             let r_2 = r * r_1;     let r_3 = u * abs(r_2) + eta;
 *                                             C[i, j] += r_2;        C_err[i, j] += r_3;
 *                                             C_abs[i, j] += abs(r_2) + r_3;  C_n[i, j] += 1;
 *
 * Blocks dissolve into their loops: each top-level statement becomes one block without iterators,
 * which may contain any loops, conditions and lets. Exact values have no companions; a first dry
 * run over the statements finds the companions that each buffer needs, until a fixed point. */
#include <math.h>

#include "ir/implied.h"
#include "passes/lower/reference/reference.h"

/* ---- dissolving blocks --------------------------------------------------------------------- */

typedef struct {
    Context *c;
    VEC(const ForStmt *) loops;
    bool composes; /* stores are written out, so that their linear forms show */
} Dissolve;

/* The body in terms of the loops, under the conditions that make an instance exist. */
static Stmt *dissolve_block(Dissolve *d, const Stmt *s)
{
    Context *c = d->c;
    const BlockStmt *block = &s->u.block;
    SubstList map = {0};
    ExprList conds = {0};
    Expr *cond = NULL;
    int plain = block_conditions(c, block, &conds);
    for (int i = 0; i < plain; i++)
        cond = cond_and(c, cond, conds.items[i]);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        Expr *lo = expr_subst(c, iter->lo, map.items, map.n);
        Expr *hi = expr_subst(c, iter->hi, map.items, map.n);
        BlockIter resolved = {iter->var, lo, hi, iter->binding, iter->kind};
        Subst to = {iter->var, iter->binding};
        VEC_PUSH(c->arena, &map, to);
        if (iter_is_loop(&resolved, d->loops.items, d->loops.n))
            continue;
        cond = cond_and(c, cond, expr_binary(c, EX_LE, lo, iter->binding, s->span));
        cond = cond_and(c, cond, expr_binary(c, EX_LT, iter->binding, hi, s->span));
    }
    for (int i = plain; i < conds.n; i++)
        cond = cond_and(c, cond, conds.items[i]);
    const Stmt *plain_store = d->composes ? stmt_written_out(c, block->body) : NULL;
    Stmt *body = stmt_subst(c, plain_store ? (Stmt *)plain_store : block->body, map.items, map.n);
    return cond ? stmt_if(c, cond, body, NULL, s->span) : body;
}

static Stmt *dissolve(void *user, Stmt *s)
{
    Dissolve *d = user;
    if (s->kind == ST_BLOCK)
        return dissolve_block(d, s);
    if (s->kind != ST_FOR)
        return stmt_map_children(d->c, s, dissolve, d);
    VEC_PUSH(d->c->arena, &d->loops, &s->u.loop);
    ForStmt loop = s->u.loop;
    loop.body = dissolve(d, s->u.loop.body);
    loop.kind = LOOP_SERIAL;
    loop.axis = AXIS_NONE;
    loop.annotations.n = 0;
    d->loops.n--;
    return stmt_for(d->c, &loop, s->span);
}

Kernel *sequential_kernel(Context *c, const Kernel *kernel)
{
    LowerOptions options = {.limits = limits_default()};
    const Kernel *sized = temps_sized(c, kernel, TEMPS_ALL);
    return sized ? pass_lower_init(c, sized, &options) : NULL;
}

/* ---- stores -------------------------------------------------------------------------------- */

static void note(RefBuilder *b, bool *flag)
{
    b->changed |= !*flag;
    *flag = true;
}

static void note_if(RefBuilder *b, bool *flag, bool now)
{
    if (now)
        note(b, flag);
}

static void store_set(RefBuilder *b, Twin *t, const RefPlace *at, Ref r)
{
    Expr *err = r.err;
    if (r.unsure)
        err = expr_select(b->c, r.unsure, ref_float(b, INFINITY), ref_float(b, 0), at->span);
    note_if(b, &t->has_err, err != NULL);
    ref_put(b, at, t->value, STORE_SET, r.v);
    ref_put(b, at, t->err, STORE_SET, err ? err : ref_float(b, 0));
    Expr *magnitude = t->abs ? ref_size(b, r) : NULL, *coarse = NULL;
    if (t->bits) { /* nothing can be added exactly to a value without a fixed-point form */
        ref_put(b, at, t->bits, STORE_SET, ref_exact_bits(b, r.v, &coarse));
        magnitude = ref_add(b, magnitude, coarse);
    }
    ref_put(b, at, t->abs, STORE_SET, magnitude);
    ref_put(b, at, t->n, STORE_SET, ref_float(b, 0));
}

static void store_add(RefBuilder *b, Twin *t, const RefPlace *at, Ref r)
{
    note_if(b, &t->has_err, r.err != NULL);
    note_if(b, &t->has_sum, type_is_float(t->from->type));
    if (t->bits)
        ref_put(b, at, t->bits, STORE_OR, ref_exact_bits(b, r.v, &r.err));
    ref_put(b, at, t->value, STORE_ADD, r.v);
    if (r.err)
        ref_put(b, at, t->err, STORE_ADD, r.err);
    ref_put(b, at, t->abs, STORE_ADD, t->abs ? ref_size(b, r) : NULL);
    ref_put(b, at, t->n, STORE_ADD, ref_float(b, 1));
}

static void spoil(RefBuilder *b, Twin *t, Expr *when)
{
    note(b, &t->has_unsure);
    Expr *zero = expr_index(b->c, 0), *one = expr_int(b->c, DT_U8, 1, span_none());
    if (b->dry || !t->unsure)
        return;
    Stmt *set = stmt_set(b->c, (BufferElement){t->unsure, &zero}, one, span_none());
    VEC_PUSH(b->c->arena, b->out, stmt_if(b->c, when, set, NULL, span_none()));
}

/* A store that goes on with the sum of another element: y[j] = y[j - 1] + x[j]. */
typedef struct {
    Expr *const *from; /* the subscripts of that element */
    Expr *term;        /* what is added */
} OtherSum;

static bool continues_sum(RefBuilder *b, const Buffer *buffer, Expr *value, OtherSum *out)
{
    bool minus = value->kind == EX_SUB;
    if (!type_is_float(buffer->type) || (value->kind != EX_ADD && !minus))
        return false;
    bool first = expr_is_load(value->u.arg[0], buffer);
    if (!first && (minus || !expr_is_load(value->u.arg[1], buffer)))
        return false;
    Expr *term = value->u.arg[first];
    if (b->composes && expr_reads(term, buffer)) /* then it may be linear */
        return false;
    out->from = value->u.arg[!first]->u.load.index;
    out->term = minus ? expr_unary(b->c, EX_NEG, term, term->span) : term;
    return true;
}

/* What the element has of a part, and `more`; of no part nothing. */
static Expr *go_on(RefBuilder *b, Buffer *part, Expr *const *from, Expr *more)
{
    return part ? ref_add(b, expr_load(b->c, part, from, span_none()), more) : NULL;
}

/* Chunks of such a sum may be added in another order, as those of X += t may be. */
static void store_sum(RefBuilder *b, Twin *t, const RefPlace *at, const OtherSum *sum)
{
    Expr **from = ARENA_ARRAY(b->c->arena, Expr *, t->from->rank + 1);
    Expr *unsure = ref_index(b, t->from, sum->from, from);
    Ref r = ref_term(b, t->from, sum->term);
    if (unsure)
        spoil(b, t, unsure);
    note_if(b, &t->has_err, r.err != NULL);
    note(b, &t->has_sum);
    Expr *bits = t->bits ? ref_exact_bits(b, r.v, &r.err) : NULL;
    ref_put(b, at, t->value, STORE_SET, go_on(b, t->value, from, r.v));
    ref_put(b, at, t->err, STORE_SET, go_on(b, t->err, from, r.err));
    ref_put(b, at, t->abs, STORE_SET, go_on(b, t->abs, from, t->abs ? ref_size(b, r) : NULL));
    ref_put(b, at, t->n, STORE_SET, go_on(b, t->n, from, ref_float(b, 1)));
    if (bits)
        ref_put(
            b, at, t->bits, STORE_SET,
            expr_binary(b->c, EX_BITOR, expr_load(b->c, t->bits, from, at->span), bits, at->span));
}

static bool continues_linear(RefBuilder *b, const Buffer *buffer, Expr *value, LinearForm *out)
{
    return b->composes && type_is_float(buffer->type) && linear_form(b->c, value, buffer, out);
}

static void store_linear(RefBuilder *b, Twin *t, const RefPlace *at, const LinearForm *form,
                         Expr *value)
{
    Expr **from = ARENA_ARRAY(b->c->arena, Expr *, t->from->rank + 1);
    Expr *unsure = ref_index(b, t->from, form->index, from);
    if (unsure)
        spoil(b, t, unsure);
    note(b, &t->has_err);
    note(b, &t->has_sum);
    ref_store_composed(b, t, at, &(RefFunction){from, form, value});
}

static void ref_branch(RefBuilder *b, Stmt *s);

/* The store goes on with another element, so that its bound does. */
static bool continues(RefBuilder *b, const Buffer *buffer, Expr *value)
{
    OtherSum sum;
    LinearForm form;
    return continues_sum(b, buffer, value, &sum) || continues_linear(b, buffer, value, &form);
}

/* The value as a choice: of (c ? y[j - 1] : 0) + x[j] between y[j - 1] + x[j] and 0 + x[j]. NULL:
 * it is none. */
static Expr *as_choice(RefBuilder *b, Expr *e)
{
    if (e->kind == EX_SELECT || (e->kind != EX_ADD && e->kind != EX_SUB))
        return e->kind == EX_SELECT ? e : NULL;
    int side = e->u.arg[0]->kind == EX_SELECT ? 0 : 1;
    const Expr *choice = e->u.arg[side];
    Expr *both[2], *args[2] = {e->u.arg[0], e->u.arg[1]};
    if (choice->kind != EX_SELECT)
        return NULL;
    for (int i = 0; i < 2; i++) {
        args[side] = choice->u.arg[i + 1];
        both[i] = expr_binary(b->c, e->kind, args[0], args[1], e->span);
    }
    return expr_select(b->c, choice->u.arg[0], both[0], both[1], e->span);
}

/* An arm of a choice, in its place. */
typedef struct {
    const Expr *choice;
    int arm;
} ChosenArm;

static Expr *choose(Rewriter *r, Expr *e)
{
    const ChosenArm *chosen = r->user;
    return e == chosen->choice ? e->u.arg[chosen->arm] : e;
}

/* One arm of the choice reads the element, and the other forgets it. */
static bool may_forget(const Expr *choice, const Buffer *buffer)
{
    Expr *const *arg = choice->u.arg;
    return !expr_reads(arg[0], buffer) && expr_reads(arg[1], buffer) != expr_reads(arg[2], buffer);
}

/* That of a choice anywhere in the value of a recurrence, of which one arm reads the element. */
static Expr *as_choice_of_values(RefBuilder *b, Expr *e, const Buffer *buffer)
{
    Expr *both[2];
    for (Cursor at = cursor_expr(b->c, e); cursor_next(&at);) {
        const Expr *choice = at.expr;
        if (choice->kind != EX_SELECT || !may_forget(choice, buffer))
            continue;
        for (int i = 0; i < 2; i++) {
            ChosenArm chosen = {choice, i + 1};
            Rewriter r = {.ctx = b->c, .user = &chosen, .expr = choose};
            both[i] = rewrite_expr(&r, e);
        }
        return expr_select(b->c, choice->u.arg[0], both[0], both[1], e->span);
    }
    return NULL;
}

/* The store under a condition, of loops and sizes or one that a recurrence forgets under, where it
 * continues a sum in one case: each case as a store of its own. */
static bool ref_cases(RefBuilder *b, const Stmt *s)
{
    const StoreStmt *store = &s->u.store;
    Expr *choice = as_choice(b, store->value);
    if (!choice && b->composes)
        choice = as_choice_of_values(b, store->value, store->buffer);
    bool forgets = choice && b->composes && may_forget(choice, store->buffer);
    if (!choice || (expr_has_load(choice->u.arg[0]) && !forgets) ||
        (!continues(b, store->buffer, choice->u.arg[1]) &&
         !continues(b, store->buffer, choice->u.arg[2])))
        return false;
    Stmt *cases[2];
    for (int i = 0; i < 2; i++)
        cases[i] = stmt_store_like(b->c, s, store->buffer, store->index, choice->u.arg[i + 1]);
    ref_branch(b, stmt_if(b->c, choice->u.arg[0], cases[0], cases[1], s->span));
    return true;
}

/* The value reads several elements of the buffer: it may be linear in one that a temporary has, and
 * is then added up in another order. */
static bool reads_several(RefBuilder *b, const Expr *e, const Buffer *buffer)
{
    const Expr *first = NULL;
    for (Cursor at = cursor_expr(b->c, e); cursor_next(&at);) {
        if (!expr_is_load(at.expr, buffer))
            continue;
        if (first && !exprs_equal(first->u.load.index, at.expr->u.load.index, buffer->rank))
            return true;
        first = at.expr;
    }
    return false;
}

static void ref_store(RefBuilder *b, const Stmt *s)
{
    OtherSum sum;
    if (s->u.store.op == STORE_SET && ref_cases(b, s))
        return;
    Twin *t = ref_twin(b, s->u.store.buffer);
    Expr **index = ARENA_ARRAY(b->c->arena, Expr *, t->from->rank + 1);
    Expr *unsure = ref_index(b, t->from, s->u.store.index, index);
    StoreOp op = s->u.store.op;
    if (op == STORE_SET && continues_sum(b, t->from, s->u.store.value, &sum)) {
        if (unsure)
            spoil(b, t, unsure);
        store_sum(b, t, &(RefPlace){index, s->span}, &sum);
        return;
    }
    LinearForm form;
    Expr *now = b->composes ? stored_value(b->c, s) : NULL;
    if (now && (op == STORE_SET || expr_reads(s->u.store.value, t->from)) &&
        continues_linear(b, t->from, now, &form)) {
        if (unsure)
            spoil(b, t, unsure);
        store_linear(b, t, &(RefPlace){index, s->span}, &form, now);
        return;
    }
    bool adds = op == STORE_ADD, combining = b->combining;
    b->combining |= now && reads_several(b, now, t->from);
    Ref r = adds ? ref_term(b, t->from, s->u.store.value) : ref_expr(b, s->u.store.value);
    b->combining = combining;
    if (unsure)
        spoil(b, t, unsure);
    if (adds) {
        store_add(b, t, &(RefPlace){index, s->span}, r);
        return;
    }
    if (op != STORE_SET) {
        Ref old = ref_element(b, t, index, s->span);
        r = ref_binary(
            b,
            &(RefOperation){
                .kind = store_op_kind(op, t->from->type), .type = t->from->type, .x = old, .y = r},
            s->span);
    }
    store_set(b, t, &(RefPlace){index, s->span}, r);
}

/* ---- control ------------------------------------------------------------------------------- */

static void ref_stmt(RefBuilder *b, Stmt *s);

static Stmt *ref_body(RefBuilder *b, Stmt *s)
{
    StmtList inner = {0}, *outer = b->out;
    b->out = &inner;
    ref_stmt(b, s);
    b->out = outer;
    return stmt_seq(b->c, inner.items, inner.n, s->span);
}

/* Whether `s` runs, or how often, is unsure when `when` holds: nothing that it writes can be
 * checked then. */
static void spoil_below(RefBuilder *b, const Stmt *s, Expr *when)
{
    for (Cursor at = cursor_stmts(b->c, s); when && cursor_next(&at);)
        if (at.stmt->kind == ST_STORE)
            spoil(b, ref_twin(b, at.stmt->u.store.buffer), when);
}

static void ref_loop(RefBuilder *b, Stmt *s)
{
    ForStmt loop = s->u.loop;
    Ref lo = ref_expr(b, loop.lo), hi = ref_expr(b, loop.hi);
    Expr *err = ref_add(b, lo.err, hi.err);
    if (err)
        spoil_below(b, s, expr_binary(b->c, EX_GT, err, ref_float(b, 0), s->span));
    loop.lo = lo.v;
    loop.hi = hi.v;
    Stmt *outer = b->loop;
    b->loop = s;
    loop.body = ref_body(b, loop.body);
    b->loop = outer;
    if (!b->dry)
        VEC_PUSH(b->c->arena, b->out, stmt_for(b->c, &loop, s->span));
}

static void ref_branch(RefBuilder *b, Stmt *s)
{
    Ref cond = ref_expr(b, s->u.cond.cond);
    spoil_below(b, stmt_breaks(s) ? b->loop : s, cond.unsure);
    Stmt *then = ref_body(b, s->u.cond.then);
    Stmt *otherwise = s->u.cond.otherwise ? ref_body(b, s->u.cond.otherwise) : NULL;
    if (!b->dry)
        VEC_PUSH(b->c->arena, b->out, stmt_if(b->c, cond.v, then, otherwise, s->span));
}

/* Does the component combine as `a + b`? */
static bool is_sum(const Combiner *combiner, const CombinerPart *part)
{
    const Expr *e = part->value;
    for (int i = 0; i < combiner->n_lets; i++)
        if (expr_is_var(e, combiner->lets[i].var))
            e = combiner->lets[i].value;
    if (e->kind != EX_ADD || e->u.arg[0]->kind != EX_VAR || e->u.arg[1]->kind != EX_VAR)
        return false;
    const Var *x = e->u.arg[0]->u.var, *y = e->u.arg[1]->u.var;
    return type_is_float(part->type) &&
           ((x == part->a && y == part->b) || (x == part->b && y == part->a));
}

/* An update of a tuple: the values that it combines, and the combiner. The operands of one that is
 * ordered, such as a recurrence, grow and cancel by the grouping. */
static void ref_update(RefBuilder *b, const Stmt *s)
{
    int n = s->u.seq.combiner->n;
    for (int i = 0; i < s->u.seq.n; i++) {
        b->combining = s->u.seq.combiner->ordered && i >= n;
        ref_stmt(b, s->u.seq.items[i]);
    }
    b->combining = false;
}

/* An update of a tuple in `exact` mode. What its combiner rounds depends on the order, since its
 * operands do; a component that is a sum is known where sums are. */
static void ref_combine(RefBuilder *b, const Stmt *s)
{
    const Combiner *combiner = s->u.seq.combiner;
    int n = combiner->n, first = s->u.seq.n - n;
    for (int i = 0; i < n; i++)
        ref_stmt(b, s->u.seq.items[i]);
    b->combining = true;
    for (int i = n; i < s->u.seq.n; i++) {
        Stmt *item = s->u.seq.items[i];
        if (i < first || !is_sum(combiner, &combiner->parts[i - first])) {
            ref_stmt(b, item);
            continue;
        }
        StoreStmt sum = item->u.store;
        sum.op = STORE_ADD;
        sum.value = expr_var(b->c, s->u.seq.items[i - first]->u.let.var, item->span);
        ref_store(b, stmt_store(b->c, &sum, item->span));
    }
    b->combining = false;
}

static void ref_stmt(RefBuilder *b, Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ:
        if (s->u.seq.combiner) {
            (b->exact ? ref_combine : ref_update)(b, s);
            break;
        }
        for (int i = 0; i < s->u.seq.n; i++)
            ref_stmt(b, s->u.seq.items[i]);
        break;
    case ST_FOR: ref_loop(b, s); break;
    case ST_IF: ref_branch(b, s); break;
    case ST_STORE: ref_store(b, s); break;
    case ST_LET: {
        Ref r = ref_expr(b, s->u.let.value);
        Subst to = {s->u.let.var, r.v};
        VEC_PUSH(b->c->arena, &b->lets, to);
        VEC_PUSH(b->c->arena, &b->let_err, r.v->type == DT_BOOL ? r.unsure : r.err);
        break;
    }
    case ST_TEMP:
    case ST_BLOCK:
    case ST_BARRIER:
    case ST_ROLES:
    case ST_LAUNCH:
    case ST_INSTRUCTION: break;
    case ST_BREAK:
        if (!b->dry)
            VEC_PUSH(b->c->arena, b->out, s);
        break;
    }
}

/* ---- buffers ------------------------------------------------------------------------------- */

static void add_twin(RefBuilder *b, const Buffer *from)
{
    bool wide = type_is_float(from->type) && from->role != ROLE_IN;
    Twin t = {.from = from};
    t.value = buffer_new(b->c, &(Buffer){.name = from->name,
                                         .type = wide ? DT_F64 : from->type,
                                         .shape = from->shape,
                                         .rank = from->rank,
                                         .scope = SCOPE_GLOBAL,
                                         .role = from->role,
                                         .span = from->span});
    t.value->part = PART_VALUE;
    t.value->part_of = from;
    VEC_PUSH(b->c->arena, &b->twins, t);
}

static void find_twins(RefBuilder *b, const Kernel *kernel)
{
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].buffer)
            add_twin(b, kernel->params[i].buffer);
    for (Cursor at = cursor_stmts(b->c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP)
            add_twin(b, at.stmt->u.temp);
    b->dry = true;
    do {
        StmtList nowhere = {0};
        b->out = &nowhere;
        b->changed = false;
        b->lets.n = b->let_err.n = 0;
        ref_stmt(b, b->body);
    } while (b->changed);
    b->dry = false;
    b->lets.n = b->let_err.n = 0;
}

static void make_companions(RefBuilder *b, Twin *t)
{
    const Buffer *from = t->from;
    if (t->has_err)
        t->err = ref_part(b, &(PartOf){from, PART_ERROR, 0});
    if (t->has_sum) {
        t->abs = ref_part(b, &(PartOf){from, PART_MAGNITUDE, 0});
        t->n = ref_part(b, &(PartOf){from, PART_TERMS, 0});
    }
    if (t->has_sum && b->exact)
        t->bits = ref_part(b, &(PartOf){from, PART_BITS, 0});
    if (t->has_unsure)
        t->unsure = ref_part(b, &(PartOf){from, PART_UNSURE, 0});
}

/* ---- the kernel ---------------------------------------------------------------------------- */

enum { COMPANIONS = 6 }; /* buffers of a twin, with the value */

typedef VEC(Param) ParamList;

static void add_param(RefBuilder *b, ParamList *params, Buffer *buffer)
{
    Param p = {.buffer = buffer};
    if (buffer)
        VEC_PUSH(b->c->arena, params, p);
}

typedef enum { INPUTS, OUTPUTS } ParamSide;

static void add_params(RefBuilder *b, ParamList *params, const Kernel *kernel, ParamSide side)
{
    for (int i = 0; i < kernel->n_params; i++) {
        const Param *p = &kernel->params[i];
        if ((i >= kernel->n_params - kernel->n_outputs) != (side == OUTPUTS))
            continue;
        if (p->scalar) {
            VEC_PUSH(b->c->arena, params, *p);
            continue;
        }
        Twin *t = ref_twin(b, p->buffer);
        Buffer *all[] = {t->value, t->err, t->abs, t->n, t->bits, t->unsure};
        for (int k = 0; k < COMPANIONS; k++)
            add_param(b, params, all[k]);
    }
    for (int i = 0; side != OUTPUTS && i < b->twins.n; i++)
        for (int k = 0; b->twins.items[i].need && k < b->twins.items[i].from->rank; k++)
            if (b->twins.items[i].from->role != ROLE_TEMP)
                add_param(b, params, b->twins.items[i].need[k]);
}

static void add_temps(RefBuilder *b, StmtList *body)
{
    for (int i = 0; i < b->twins.n; i++) {
        Twin *t = &b->twins.items[i];
        if (t->from->role != ROLE_TEMP)
            continue;
        Buffer *all[] = {t->value, t->err, t->abs, t->n, t->bits, t->unsure};
        for (int k = 0; k < COMPANIONS; k++)
            if (all[k])
                VEC_PUSH(b->c->arena, body, stmt_temp(b->c, all[k], t->from->span));
        for (int k = 0; t->need && k < t->from->rank; k++)
            VEC_PUSH(b->c->arena, body, stmt_temp(b->c, t->need[k], t->from->span));
    }
}

/* One block without iterators around what stands at the top. */
static Stmt *whole_block(RefBuilder *b, const char *name, Stmt *body)
{
    BlockStmt block = {.name = names_fresh(&b->names, name), .id = ctx_new_id(b->c), .body = body};
    return stmt_block(b->c, &block, body->span);
}

/* Nothing is unsure at first. */
static void clear_unsure(RefBuilder *b, StmtList *out)
{
    for (int i = 0; i < b->twins.n; i++) {
        const Twin *t = &b->twins.items[i];
        Expr *zero = expr_index(b->c, 0), *off = expr_int(b->c, DT_U8, 0, span_none());
        if (t->unsure && t->from->role != ROLE_INOUT)
            VEC_PUSH(b->c->arena, out,
                     stmt_set(b->c, (BufferElement){t->unsure, &zero}, off, t->from->span));
    }
}

/* for each element: X_abs = |X|, and X_bits */
static Stmt *start_sum(RefBuilder *b, const Twin *t)
{
    Context *c = b->c;
    int rank = t->from->rank;
    Expr **index = ARENA_ARRAY(c->arena, Expr *, rank + 1), *coarse = NULL;
    for (int i = 0; i < rank; i++) {
        Name name = names_fresh(&b->names, ctx_namef(c, "x%d", i));
        index[i] = expr_var(c, var_new(c, name, DT_INDEX, VAR_LOOP, t->from->span), span_none());
    }
    Expr *value = expr_load(c, t->value, index, t->from->span);
    StmtList inner = {0}, *outer = b->out;
    RefPlace at = {index, t->from->span};
    b->out = &inner;
    if (t->bits)
        ref_put(b, &at, t->bits, STORE_SET, ref_exact_bits(b, value, &coarse));
    ref_put(b, &at, t->abs, STORE_SET,
            ref_add(b, expr_call(c, CALL_ABS, &value, span_none()), coarse));
    b->out = outer;
    Stmt *nest = stmt_seq(c, inner.items, inner.n, t->from->span);
    for (int i = rank - 1; i >= 0; i--) {
        ForStmt loop = {.var = index[i]->u.var,
                        .lo = expr_index(c, 0),
                        .hi = t->from->shape[i],
                        .step = 1,
                        .axis = AXIS_NONE,
                        .body = nest};
        nest = stmt_for(c, &loop, t->from->span);
    }
    return nest;
}

/* A sum that goes on from what the caller put there begins with its magnitude. */
static void start_sums(RefBuilder *b, StmtList *out)
{
    for (int i = 0; i < b->twins.n; i++)
        if (b->twins.items[i].abs && b->twins.items[i].from->role == ROLE_INOUT)
            VEC_PUSH(b->c->arena, out, start_sum(b, &b->twins.items[i]));
}

static Stmt *build_body(RefBuilder *b, bool sampled)
{
    Context *c = b->c;
    StmtList body = {0}, setup = {0};
    bool several = b->body->kind == ST_SEQ;
    Stmt *const *items = several ? b->body->u.seq.items : &b->body;
    int n = several ? b->body->u.seq.n : 1;
    add_temps(b, &body);
    clear_unsure(b, &setup);
    start_sums(b, &setup);
    if (sampled)
        ref_mark_needs(b, items, n, &setup);
    if (setup.n > 0)
        VEC_PUSH(c->arena, &body,
                 whole_block(b, "setup", stmt_seq(c, setup.items, setup.n, span_none())));
    for (int i = 0; i < n; i++) {
        if (items[i]->kind == ST_TEMP)
            continue;
        Stmt *item = ref_body(b, items[i]);
        if (sampled)
            item = ref_slice(b, item);
        VEC_PUSH(c->arena, &body, whole_block(b, "step", item));
    }
    return stmt_seq(c, body.items, body.n, b->body->span);
}

/* An infinite literal, or a question about infinities. */
static bool has_infinity(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmt(c, body); cursor_next(&at);)
        if (at.expr && ((at.expr->kind == EX_FLOAT && !isfinite(at.expr->u.f)) ||
                        (at.expr->kind == EX_CALL && at.expr->type == DT_BOOL)))
            return true;
    return false;
}

typedef struct {
    bool sampled, exact;
} ReferenceKind;

static Expr *without_await(Rewriter *r, Expr *e)
{
    (void)r;
    return expr_awaits(e) ? e->u.call.arg[0] : e;
}

static Kernel *build_reference(Context *c, const Kernel *program, ReferenceKind kind)
{
    Kernel *plain = sequential_kernel(c, program);
    if (!plain)
        return NULL;
    RefBuilder *b = ARENA_NEW(c->arena, RefBuilder);
    Dissolve d = {.c = c, .composes = program->composes};
    b->c = c;
    b->exact = kind.exact;
    b->composes = program->composes;
    b->names = names_of_kernel(c, plain);
    b->body = dissolve(&d, rewrite_stmt(&(Rewriter){.ctx = c, .expr = without_await}, plain->body));
    b->infinities = has_infinity(c, b->body);
    find_twins(b, plain);
    for (int i = 0; i < b->twins.n; i++)
        make_companions(b, &b->twins.items[i]);
    if (kind.sampled)
        ref_make_needs(b);
    Kernel *reference = ARENA_NEW(c->arena, Kernel);
    *reference = *program;
    ParamList params = {0};
    add_params(b, &params, program, INPUTS);
    int inputs = params.n;
    add_params(b, &params, program, OUTPUTS);
    reference->n_facts = reference->n_draws = 0; /* its inputs are those of a run */
    reference->body = build_body(b, kind.sampled);
    reference->params = params.items;
    reference->n_params = params.n;
    reference->n_outputs = params.n - inputs;
    return reference;
}

Kernel *reference_kernel(Context *c, const Kernel *program)
{
    return build_reference(c, program, (ReferenceKind){0});
}

Kernel *reference_kernel_sampled(Context *c, const Kernel *program)
{
    return build_reference(c, program, (ReferenceKind){.sampled = true});
}

Kernel *reference_kernel_exact(Context *c, const Kernel *program)
{
    return build_reference(c, program, (ReferenceKind){.sampled = true, .exact = true});
}
