/* implied.c - Derives what statements stand for: a plain one for a block, an update of a tuple for
 * a sequence of stores.
 *
 *     for i in M, j in N, k in K          block C(i in M = i, j in N = j, reduce k in K = k) {
 *         C[i, j] += A[i, k] * B[k, j];       C[i, j] += A[i, k] * B[k, j];
 *                                         }
 *
 *     while x[0] > 0 { ... }          for while in 0..2147483647
 *                                =>       if x[0] > 0 { ... } else break;
 *
 * The parser makes the block on the right of the statement on the left, and the printer omits what
 * the parser would restore. Both use this file, so they cannot disagree. */
#include "ir/implied.h"

#include <string.h>

void loop_domain(Context *c, const ForStmt *loop, Expr **lo, Expr **hi)
{
    if (loop->step > 0) {
        *lo = loop->lo;
        *hi = loop->hi;
        return;
    }
    int64_t first;
    const Expr *last = loop->lo;
    *lo = loop->hi;
    if (expr_is_const(last, &first) && first < INT64_MAX)
        *hi = expr_int(c, DT_INDEX, first + 1, last->span);
    else if (last->kind == EX_SUB && expr_is_const(last->u.arg[1], &first) && first == 1)
        *hi = last->u.arg[0];
    else
        *hi = expr_binary(c, EX_ADD, loop->lo, expr_index(c, 1), last->span);
}

static bool is_of_loops(const Expr *e)
{
    bool index = e->kind == EX_VAR && (e->u.var->kind == VAR_SIZE || e->u.var->kind == VAR_LOOP ||
                                       e->u.var->kind == VAR_ITER);
    if (!index && (e->kind == EX_VAR || e->kind == EX_LOAD || e->kind == EX_CALL ||
                   (e->type != DT_INDEX && e->type != DT_BOOL)))
        return false;
    int n = expr_operands(e);
    for (int k = 0; k < n; k++)
        if (!is_of_loops(expr_operand(e, k)))
            return false;
    return true;
}

bool value_is_inline(const Expr *value)
{
    enum { MOST_NODES = 200 };
    return expr_nodes(value, MOST_NODES) <= MOST_NODES && is_of_loops(value);
}

static bool subscripts_use(const Stmt *s, const Var *var)
{
    for (int i = 0; s->kind == ST_STORE && i < s->u.store.buffer->rank; i++)
        if (expr_uses_var(s->u.store.index[i], var))
            return true;
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        if (subscripts_use(s->u.seq.items[i], var))
            return true;
    return false;
}

/* The subscripts of the update in `body` use the variable, or a value that depends on it. */
static bool element_uses(Context *c, const Stmt *update, const Stmt *body, const Var *var)
{
    VEC(const Var *) depending = {0};
    VEC_PUSH(c->arena, &depending, var);
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at) && at.stmt != update;) {
        bool depends = false;
        for (int k = 0; at.stmt->kind == ST_LET && k < depending.n; k++)
            depends = depends || expr_uses_var(at.stmt->u.let.value, depending.items[k]);
        if (depends)
            VEC_PUSH(c->arena, &depending, at.stmt->u.let.var);
    }
    for (int k = 0; k < depending.n; k++)
        if (subscripts_use(update, depending.items[k]))
            return true;
    return false;
}

int loops_around_temp(const Buffer *buffer, const PrivateTemps *temps)
{
    int n = 0;
    for (int i = 0; i < temps->n; i++)
        if (temps->items[i].buffer->id == buffer->id)
            n = temps->items[i].n_loops;
    return n;
}

/* How many loops are around the declaration of what an update writes: of one of its buffers. */
static int loops_around_target(const Stmt *update, const PrivateTemps *temps)
{
    int most = update->kind == ST_STORE ? loops_around_temp(update->u.store.buffer, temps) : 0;
    for (int i = 0; update->kind == ST_SEQ && i < update->u.seq.n; i++) {
        int n = loops_around_target(update->u.seq.items[i], temps);
        most = n > most ? n : most;
    }
    return most;
}

/* The body of an instruction, which may be loops and conditions, only updates elements, and none of
 * them depends on the variable. */
static bool only_reduces(Context *c, const Stmt *body, const Var *var)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE &&
            (!store_updates(at.stmt->u.store.op) || subscripts_use(at.stmt, var)))
            return false;
    return true;
}

int block_private_loops(const Stmt *body, const PrivateTemps *temps)
{
    const Stmt *update = stmt_guarded_update(body);
    return update ? loops_around_target(update, temps) : 0;
}

IterKind block_implied_kind(Context *c, const Stmt *body, const Var *var)
{
    const Stmt *update = stmt_guarded_update(body);
    return update && !element_uses(c, update, body, var) ? ITER_REDUCE : ITER_SPATIAL;
}

/* `e`, a load of the element that `store` sets. */
static bool is_target(const Stmt *store, const Expr *e)
{
    const Buffer *buffer = store->u.store.buffer;
    return e->kind == EX_LOAD && e->u.load.buffer == buffer &&
           exprs_equal(e->u.load.index, store->u.store.index, buffer->rank);
}

/* The operator of `x = x op e` and `x = e op x`; STORE_SET where the value has another form. */
static StoreOp op_of_value(const Stmt *store, Expr **operand)
{
    const Expr *value = store->u.store.value;
    DType type = store->u.store.buffer->type;
    if (type == DT_BOOL || expr_arity(value->kind) != 2)
        return STORE_SET;
    bool minus = value->kind == EX_SUB, first = is_target(store, value->u.arg[0]);
    if (!first && (minus || !is_target(store, value->u.arg[1])))
        return STORE_SET;
    *operand = value->u.arg[first];
    for (int op = STORE_SET; op <= STORE_XOR; op++)
        if (store_op_kind((StoreOp)op, type) == (minus ? EX_ADD : value->kind))
            return (StoreOp)op;
    return STORE_SET;
}

Stmt *store_as_update(Context *c, Stmt *store)
{
    Expr *operand = NULL;
    StoreStmt update = store->u.store;
    if (update.op != STORE_SET)
        return store;
    update.op = op_of_value(store, &operand);
    if (update.op == STORE_SET || expr_reads(operand, update.buffer))
        return store;
    update.value =
        update.value->kind == EX_SUB ? expr_unary(c, EX_NEG, operand, operand->span) : operand;
    return stmt_stamp(stmt_store(c, &update, store->span), store);
}

/* What stands before `_PART` in the names of all targets; NULL where that is not one name. */
static Name tuple_name(Context *c, const Stmt *s)
{
    TupleUpdate update;
    Name name = NULL;
    if (!tuple_update_of(c, s, &update))
        return NULL;
    for (int k = 0; k < update.combiner->n; k++) {
        Name target = update.targets[k].buffer->name, part = update.combiner->parts[k].name;
        size_t whole = strlen(target), tail = strlen(part) + 1;
        if (whole <= tail || target[whole - tail] != '_' ||
            strcmp(target + whole - tail + 1, part) != 0)
            return NULL;
        Name base = ctx_namef(c, "%.*s", (int)(whole - tail), target);
        if (name && base != name)
            return NULL;
        name = base;
    }
    return name;
}

static Name first_name(Context *c, const Stmt *seq)
{
    for (int i = 0; i < seq->u.seq.n; i++) {
        Name name = block_implied_name(c, seq->u.seq.items[i]);
        if (name)
            return name;
    }
    return NULL;
}

Name block_implied_name(Context *c, const Stmt *body)
{
    Name name = NULL;
    switch (body->kind) {
    case ST_STORE: return body->u.store.buffer->name;
    case ST_FOR: return block_implied_name(c, body->u.loop.body);
    case ST_IF:
        name = block_implied_name(c, body->u.cond.then);
        return name || !body->u.cond.otherwise ? name
                                               : block_implied_name(c, body->u.cond.otherwise);
    case ST_SEQ: name = tuple_name(c, body); return name ? name : first_name(c, body);
    case ST_BLOCK:
    case ST_TEMP:
    case ST_LET:
    case ST_BARRIER:
    case ST_BREAK:
    case ST_ROLES:
    case ST_LAUNCH:
    case ST_INSTRUCTION: return NULL;
    }
    return NULL;
}

static IterKind implied_kind(Context *c, const ImpliedBlock *of, const Var *loop)
{
    if (of->instruction)
        return only_reduces(c, of->body, loop) ? ITER_REDUCE : ITER_SPATIAL;
    return block_implied_kind(c, of->body, loop);
}

/* The iterators of the block's loops, and in map[n_loops] what replaces the loops' variables in
 * it. */
static BlockIter *implied_iters(Context *c, const ImpliedBlock *of, Subst *map)
{
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, of->n_loops);
    for (int i = 0; i < of->n_loops; i++) {
        Var *loop = of->loops[i]->var;
        Expr *lo, *hi;
        loop_domain(c, of->loops[i], &lo, &hi);
        iters[i].var = var_new(c, loop->name, DT_INDEX, VAR_ITER, loop->span);
        iters[i].lo = expr_subst(c, lo, map, i);
        iters[i].hi = expr_subst(c, hi, map, i);
        iters[i].binding = expr_var(c, loop, loop->span);
        iters[i].kind = i < of->n_spatial ? ITER_SPATIAL : implied_kind(c, of, loop);
        map[i] = (Subst){loop, expr_var(c, iters[i].var, loop->span)};
    }
    return iters;
}

Stmt *block_implied(Context *c, const ImpliedBlock *of)
{
    Subst *map = ARENA_ARRAY(c->arena, Subst, of->n_loops);
    BlockIter *iters = implied_iters(c, of, map);
    BlockStmt block = {
        .name = of->name ? of->name : block_implied_name(c, of->body),
        .iters = iters,
        .n_iters = of->n_loops,
        .init = of->init ? stmt_subst(c, of->init, map, of->n_loops) : NULL,
        .body = stmt_subst(c, of->body, map, of->n_loops),
        .instruction = of->instruction,
    };
    return stmt_block(c, &block, of->span);
}

/* ---- updates of tuples -----------------------------------------------------------------------
 *
 *   best_value[i], best_index[i] argmax= (x[i, j], j);
 *
 * is the sequence, marked with its combiner,
 *
 *   let b_value = x[i, j];
 *   let b_index = i32(j);
 *   let b_wins = b_value > best_value[i] || b_value == best_value[i] && b_index < best_index[i];
 *   best_value[i] = b_wins ? b_value : best_value[i];
 *   best_index[i] = b_wins ? b_index : best_index[i];
 *
 * so all that looks at loads, stores and lets understands it, and only what asks for reductions
 * needs to know the mark. The first lets are the values, the last stores the targets; a component
 * that later ones still read as it was is computed into a let before the first store. Lowering
 * drops the mark. */

typedef struct {
    Context *c;
    const TupleUpdate *update;
    Span span;
    SubstList map; /* operands and named values of the combiner: what they are here */
    StmtList items;
} UpdateBuilder;

static Expr *named(UpdateBuilder *b, Name name, Expr *value)
{
    Var *var = var_new(b->c, name, value->type, VAR_LET, b->span);
    VEC_PUSH(b->c->arena, &b->items, stmt_let(b->c, var, value, b->span));
    return expr_var(b->c, var, b->span);
}

static void map(UpdateBuilder *b, Var *var, Expr *value)
{
    VEC_PUSH(b->c->arena, &b->map, ((Subst){var, value}));
}

static Expr *mapped(UpdateBuilder *b, Expr *e)
{
    return expr_subst(b->c, e, b->map.items, b->map.n);
}

/* A component after part `k` reads it as it was before the update. */
static bool is_read_later(const Combiner *combiner, int k)
{
    for (int i = k + 1; i < combiner->n; i++)
        if (expr_uses_var(combiner->parts[i].value, combiner->parts[k].a))
            return true;
    return false;
}

static void name_operands(UpdateBuilder *b)
{
    const Combiner *combiner = b->update->combiner;
    for (int k = 0; k < combiner->n; k++) {
        const CombinerPart *part = &combiner->parts[k];
        const BufferElement *target = &b->update->targets[k];
        Name name = ctx_namef(b->c, "%s_%s", combiner->b, part->name);
        map(b, part->b, named(b, name, b->update->values[k]));
        map(b, part->a, expr_load(b->c, target->buffer, target->index, b->span));
    }
    for (int i = 0; i < combiner->n_lets; i++) {
        Var *var = combiner->lets[i].var;
        map(b, var, named(b, var->name, mapped(b, combiner->lets[i].value)));
    }
}

static void store_parts(UpdateBuilder *b)
{
    const Combiner *combiner = b->update->combiner;
    Expr **values = ARENA_ARRAY(b->c->arena, Expr *, combiner->n);
    for (int k = 0; k < combiner->n; k++)
        values[k] = mapped(b, combiner->parts[k].value);
    bool late = false; /* what follows the first value with a name is computed there, too */
    for (int k = 0; k < combiner->n; k++) {
        late |= is_read_later(combiner, k);
        if (late)
            values[k] = named(b, ctx_namef(b->c, "next_%s", combiner->parts[k].name), values[k]);
    }
    for (int k = 0; k < combiner->n; k++)
        VEC_PUSH(b->c->arena, &b->items, stmt_set(b->c, b->update->targets[k], values[k], b->span));
}

Stmt *tuple_update(Context *c, const TupleUpdate *update, Span span)
{
    UpdateBuilder b = {.c = c, .update = update, .span = span};
    name_operands(&b);
    store_parts(&b);
    Stmt *s = stmt_seq(c, b.items.items, b.items.n, span);
    s->u.seq.combiner = update->combiner;
    return s;
}

Stmt *tuple_identities(Context *c, const Combiner *combiner, const BufferElement *targets,
                       Span span)
{
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, combiner->n);
    for (int k = 0; k < combiner->n; k++)
        items[k] = stmt_set(c, targets[k], combiner->parts[k].identity, span);
    return stmt_seq(c, items, combiner->n, span);
}

/* ---- loops that a `break` may end ---- */

Stmt *stmt_while(Context *c, Expr *cond, Stmt *body, Span span)
{
    ForStmt loop = {.var = var_new(c, "while", DT_INDEX, VAR_LOOP, span),
                    .lo = expr_index(c, 0),
                    .hi = expr_index(c, INT32_MAX),
                    .step = 1,
                    .kind = LOOP_BREAKS,
                    .axis = AXIS_NONE,
                    .body = body};
    if (cond->kind != EX_INT || !cond->u.i)
        loop.body = stmt_if(c, cond, body, stmt_break(c, span), span);
    return stmt_for(c, &loop, span);
}

bool loop_is_while(const ForStmt *loop)
{
    return loop->kind == LOOP_BREAKS && strcmp(loop->var->name, "while") == 0;
}

WhileParts while_parts(const ForStmt *loop)
{
    const Stmt *s = loop->body;
    bool test = s->kind == ST_IF && s->u.cond.otherwise && s->u.cond.otherwise->kind == ST_BREAK;
    return test ? (WhileParts){s->u.cond.cond, s->u.cond.then} : (WhileParts){NULL, s};
}

const Stmt *loop_if_needed(const ForStmt *loop)
{
    const Stmt *s = loop->body;
    if (s->kind != ST_IF || s->u.cond.otherwise || s->u.cond.cond->kind != EX_NE ||
        !expr_is(s->u.cond.cond->u.arg[1], 0))
        return NULL;
    const Expr *load = s->u.cond.cond->u.arg[0];
    if (load->kind != EX_LOAD || load->u.load.buffer->part != PART_NEED)
        return NULL;
    const Expr *at = load->u.load.index[0];
    return expr_is_var(at, loop->var) ? s : NULL;
}

bool stmt_breaks(const Stmt *s)
{
    if (s->kind == ST_IF)
        return stmt_breaks(s->u.cond.then) ||
               (s->u.cond.otherwise && stmt_breaks(s->u.cond.otherwise));
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        if (stmt_breaks(s->u.seq.items[i]))
            return true;
    return s->kind == ST_BREAK;
}

bool iter_is_loop(const BlockIter *iter, const ForStmt *const *loops, int n)
{
    for (int i = n - 1; i >= 0; i--)
        if (expr_is_var(iter->binding, loops[i]->var))
            return loops[i]->step > 0 && expr_equal(loops[i]->lo, iter->lo) &&
                   expr_equal(loops[i]->hi, iter->hi);
    return false;
}
