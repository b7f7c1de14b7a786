/* carry.c - Implements carry: keeps the element that the next iteration of a loop reads in a
 * temporary.
 *
 *   for j in 1..N                          temp y_carry: f32;
 *       y[j] = y[j - 1] + x[j];            y_carry = y[0];
 *                                   =>     for j in 1..N {
 *                                              y_carry += x[j];
 *                                              y[j] = y_carry; }
 *
 * Compilers call this scalar replacement across iterations (Callahan, Carr and Kennedy, 1990). Here
 * it makes a scan of a recurrence, which scan_chunks can compute in parallel: dependences between
 * elements become a reduction. The temporary has the type of the buffer, so each value is rounded
 * as before.
 *
 * The first iteration need not read an element: then the temporary starts with what it computes.
 *
 *   for j in N                             y_carry = x[0];
 *       y[j] = j == 0 ? x[0]        =>     for j in N {
 *              : y[j - 1] + x[j];              if (j >= 1) y_carry += x[j];
 *                                              y[j] = y_carry; }
 *
 * Data may decide whether an iteration reads the element, y[j] = same[j] ? y[j - 1] + x[j] : x[j].
 * The first iteration is then computed in front of the loop, too, as its element need not exist.
 *
 * Legal: in the loop one block writes the buffer, an element of its own in each iteration, and
 * reads the element of the iteration before, the first iteration perhaps not. If an iteration
 * writes its element, so has the one before. What a first iteration that may read none computes can
 * be computed before the loop.
 * Invariant: before each iteration that runs the block, the temporary has the value of the element
 * that the block would read; before a first one that reads none, the value that it computes. */
#include "passes/schedule/loops/carry.h"
#include "ir/implied.h"
#include "passes/analysis/regions/private.h"
#include "passes/schedule/loops/carry_choice.h"
#include "passes/schedule/loops/loop.h"

typedef struct {
    Schedule *s;
    Span span, loop_span, buffer_span; /* of the call and its arguments */
    StmtPath outer, path;              /* to the loop; to the block */
    Stmt *given;                       /* the loop of the kernel */
    Stmt *loop, *block;                /* two blocks for one element are one */
    const Buffer *buffer;
    const Stmt *store; /* the only one of the block, its values written out */
    Facts *facts;      /* that hold where the block runs */
    Expr *value;       /* that it stores, without choices that these facts decide */
    Expr *first;       /* that the first iteration stores where it reads no element; or NULL */
    Expr **stored;     /* its subscripts in terms of loops */
    Expr *const *read; /* those of the element of the iteration before, in terms of iterators */
    Buffer *temp;
} Carry;

/* ---- the block ------------------------------------------------------------------------------- */

/* The path to the block, which is in the loop. */
static StmtPath path_in_loop(const Carry *k)
{
    Context *c = k->s->ctx;
    return path_joined(c, &k->outer, k->outer.n - 1, stmt_path_to(c, k->loop, k->block));
}

static bool find_block(Carry *k)
{
    Schedule *s = k->s;
    Name loop = stmt_label(k->loop);
    BlockList writers = flow_blocks(s, k->loop, k->buffer, ACCESS_WRITE);
    REQUIRE(s, E0483, k->buffer_span, writers.n > 0,
            "no block in loop '%s' writes '%s'; name the buffer that the loop computes", loop,
            k->buffer->name);
    REQUIRE(s, E0483, k->buffer_span, writers.n == 1,
            "blocks '%s' and '%s' both write '%s' in loop '%s', so it is not known which of them "
            "has written the element that the next iteration reads; separate them with "
            "loop_partition or fission",
            stmt_label(writers.items[0]), stmt_label(writers.items[1]), k->buffer->name, loop);
    k->block = writers.items[0];
    k->path = path_in_loop(k);
    return true;
}

/* The loop is the innermost one around the block. */
static bool check_nest(const Carry *k)
{
    Schedule *s = k->s;
    for (int i = k->outer.n; i + 1 < k->path.n; i++) {
        const Stmt *at = k->path.items[i];
        REQUIRE(s, E0483, k->loop_span, at->kind != ST_FOR,
                "loop '%s' around block '%s' is inside loop '%s', so an iteration of that writes "
                "several elements; move loop '%s' inside it first, with reorder or fission",
                stmt_label(at), stmt_label(k->block), stmt_label(k->loop), stmt_label(k->loop));
    }
    return true;
}

static bool check_store(Carry *k)
{
    Schedule *s = k->s;
    const BlockStmt *block = &k->block->u.block;
    k->store = flow_single_store(s->ctx, k->block);
    REQUIRE(s, E0483, k->span, k->store && !block->init,
            "block '%s' %s, so it does not compute one element in each iteration", block->name,
            k->store ? "has an init" : flow_no_single_store(s->ctx, k->block));
    REQUIRE(s, E0483, k->span, !block->atomic && !block->instruction,
            "block '%s' is %s, which a temporary cannot replace", block->name,
            block->atomic ? "atomic" : "an instruction");
    return true;
}

/* ---- the element ----------------------------------------------------------------------------- */

/* `e`, an expression of loops, so many iterations later. */
static Expr *later(const Carry *k, Expr *e, int iterations)
{
    Context *c = k->s->ctx;
    const ForStmt *loop = &k->loop->u.loop;
    Expr *at =
        index_add(c, expr_var(c, loop->var, e->span), expr_index(c, loop->step * iterations));
    return expr_subst(c, e, &(Subst){loop->var, at}, 1);
}

/* `e`, an expression of loops, in the first iteration. */
static Expr *at_first(const Carry *k, Expr *e)
{
    const ForStmt *loop = &k->loop->u.loop;
    return expr_subst(k->s->ctx, e, &(Subst){loop->var, loop->lo}, 1);
}

/* "y[i, j - 1]": the element that the iteration before stores to. */
static const char *element_before(const Carry *k)
{
    Context *c = k->s->ctx;
    StrBuf text = strbuf_new(c->arena);
    strbuf_addf(&text, "%s[", k->buffer->name);
    for (int d = 0; d < k->buffer->rank; d++)
        strbuf_addf(&text, "%s%s", d ? ", " : "",
                    expr_text(k->s->ctx, simplify(facts_new(c), later(k, k->stored[d], -1))));
    strbuf_add(&text, "]");
    return text.text;
}

/* No two iterations of the loop store to one element. */
static bool check_moves(Carry *k)
{
    Schedule *s = k->s;
    const StoreStmt *store = &k->store->u.store;
    bool moves = false, fixed = true;
    k->stored = ARENA_ARRAY(s->ctx->arena, Expr *, k->buffer->rank + 1);
    for (int d = 0; d < k->buffer->rank; d++) {
        int64_t coefficient;
        Expr *rest;
        k->stored[d] = iters_to_loops(s->ctx, &k->block->u.block, store->index[d]);
        moves |= split_linear(k->facts, k->stored[d], k->loop->u.loop.var, &coefficient, &rest) &&
                 coefficient != 0;
        fixed &= !expr_loads_change(k->stored[d]);
    }
    REQUIRE(s, E0483, k->buffer_span, fixed,
            "a subscript of '%s' in block '%s' reads a buffer that the kernel writes, so it is not "
            "known which element the iteration before has written",
            k->buffer->name, stmt_label(k->block));
    REQUIRE(s, E0483, k->loop_span, moves,
            "iterations of loop '%s' are not known to write different elements of '%s': no "
            "subscript of it is a multiple of '%s' plus a value that the loop does not change",
            stmt_label(k->loop), k->buffer->name, k->loop->u.loop.var->name);
    return true;
}

/* The subscripts are those of the element that the iteration before stores to. */
static bool is_before(const Carry *k, Expr *const *index)
{
    Context *c = k->s->ctx;
    for (int d = 0; d < k->buffer->rank; d++) {
        Expr *at = iters_to_loops(c, &k->block->u.block, index[d]);
        if (expr_loads_change(at) ||
            !prove_compare(k->facts, at, EX_EQ, later(k, k->stored[d], -1)))
            return false;
    }
    return true;
}

/* `c ? a : b` as `a` or `b`, where the iterations of the loop decide it: of j > 0 ? y[j - 1] : 0
 * the loop without its first iteration needs the one. */
static Expr *decide(Rewriter *r, Expr *e)
{
    const Carry *k = r->user;
    if (e->kind != EX_SELECT)
        return e;
    Expr *cond = iters_to_loops(r->ctx, &k->block->u.block, e->u.arg[0]);
    if (prove(k->facts, cond))
        return e->u.arg[1];
    return prove(k->facts, expr_unary(r->ctx, EX_NOT, cond, e->span)) ? e->u.arg[2] : e;
}

static Expr *decided_value(Carry *k)
{
    Rewriter r = {.ctx = k->s->ctx, .user = k, .expr = decide};
    return rewrite_expr(&r, stored_value(k->s->ctx, k->store));
}

/* Whether data may decide if an iteration reads the element before. */
typedef enum { READ_ALWAYS, READ_OR_NOT } WhenRead;

/* The subscripts of the element in the value that iterations store; NULL: it is not read so. */
static Expr *const *read_in_value(Carry *k, WhenRead when)
{
    k->value = decided_value(k);
    AccessList reads = access_list_expr(k->s->ctx, k->value, k->buffer);
    for (int i = 0; i < reads.n; i++)
        if ((when == READ_OR_NOT || reads.items[i].path.n == 0) &&
            is_before(k, reads.items[i].index))
            return reads.items[i].index;
    return NULL;
}

/* The iteration is not the first one. */
static Expr *is_later(const Carry *k)
{
    Context *c = k->s->ctx;
    const ForStmt *loop = &k->loop->u.loop;
    Expr *before = later(k, expr_var(c, loop->var, span_none()), -1);
    return expr_binary(c, loop->step > 0 ? EX_GE : EX_LE, before, loop->lo, span_none());
}

/* The value of the first iteration, without choices that this decides. */
static Expr *value_of_first(Carry *k)
{
    Context *c = k->s->ctx;
    const ForStmt *loop = &k->loop->u.loop;
    FactsMark mark = facts_mark(k->facts);
    Expr *at = expr_var(c, loop->var, span_none());
    facts_assume(k->facts, expr_binary(c, EX_EQ, at, loop->lo, span_none()));
    Expr *first = decided_value(k);
    facts_reset(k->facts, mark);
    return first;
}

/* No other block of the loop computes what the first iteration needs for its value. */
static bool check_first(const Carry *k)
{
    Schedule *s = k->s;
    for (Cursor at = cursor_expr(s->ctx, k->first); cursor_next(&at);) {
        if (at.expr->kind != EX_LOAD || at.expr->u.load.buffer->id == k->buffer->id)
            continue;
        const Buffer *read = at.expr->u.load.buffer;
        BlockList writers = flow_blocks(s, k->loop, read, ACCESS_WRITE);
        REQUIRE(s, E0483, k->loop_span, writers.n == 0 && !stmt_declares(s->ctx, k->loop, read),
                "the first iteration of loop '%s' reads no element of '%s' but '%s', which the "
                "loop computes, so its value is not known before the loop; loop_partition it away",
                stmt_label(k->loop), k->buffer->name, read->name);
    }
    return true;
}

/* Each iteration reads the element; or later ones do, perhaps under a condition, and the value of
 * the first is computed as the program does. */
static bool find_read(Carry *k)
{
    Schedule *s = k->s;
    k->read = read_in_value(k, READ_ALWAYS);
    if (k->read)
        return true;
    k->first = value_of_first(k);
    facts_assume(k->facts, is_later(k));
    k->read = read_in_value(k, READ_OR_NOT);
    REQUIRE(s, E0483, k->buffer_span, k->read != NULL,
            "block '%s' does not read %s, the element that the iteration before has written, in "
            "iterations of loop '%s' behind the first",
            stmt_label(k->block), element_before(k), stmt_label(k->loop));
    return check_first(k);
}

/* ---- which iterations run the block ---------------------------------------------------------- */

/* The conditions in the loop under which an iteration runs the block, but for its domains. */
static ExprList conditions(const Carry *k)
{
    Context *c = k->s->ctx;
    EnclosingList around = {0};
    stmt_enclosing(c, k->loop, k->block, &around);
    ExprList whole = enclosing_conds(c, &around), conds = {0};
    block_conditions(c, &k->block->u.block, &whole);
    for (int i = 0; i < whole.n; i++)
        cond_split(c, whole.items[i], &conds);
    return conds;
}

/* Where the condition holds in an iteration, it does in the one before: of a comparison, the sides
 * are no closer there to what it forbids. */
static bool held_before(const Carry *k, Expr *cond)
{
    Context *c = k->s->ctx;
    if (prove(k->facts, later(k, cond, -1)))
        return true;
    bool less = cond->kind == EX_LT || cond->kind == EX_LE;
    if ((!less && cond->kind != EX_GT && cond->kind != EX_GE) || cond->u.arg[0]->type != DT_INDEX)
        return false;
    Expr *room = index_sub(c, cond->u.arg[less], cond->u.arg[!less]);
    return prove_compare(k->facts, later(k, room, -1), EX_GE, room);
}

/* Where an iteration runs the block, the one before it does, too. (Conditions around blocks read
 * nothing that the kernel writes.) */
static bool check_runs(Carry *k)
{
    Schedule *s = k->s;
    ExprList conds = conditions(k);
    block_add_domains(k->s->ctx, &k->block->u.block, &conds);
    FactsMark mark = facts_mark(k->facts);
    facts_assume(k->facts, is_later(k));
    for (int i = 0; i < conds.n; i++)
        REQUIRE(s, E0484, k->loop_span, held_before(k, conds.items[i]),
                "block '%s' runs only where %s; it is not proved that the iteration of loop '%s' "
                "before such a one runs it, too, so the element may have an older value",
                stmt_label(k->block), expr_text(s->ctx, conds.items[i]), stmt_label(k->loop));
    facts_reset(k->facts, mark);
    return true;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* A scalar that each iteration of the loops around has for itself. */
static Buffer *carried_temp(const Carry *k)
{
    Schedule *s = k->s;
    Name name = sched_fresh_name(s, arena_printf(s->ctx->arena, "%s_carry", k->buffer->name));
    Buffer *temp = buffer_new(s->ctx, &(Buffer){.name = name,
                                                .type = k->buffer->type,
                                                .scope = SCOPE_GLOBAL,
                                                .role = ROLE_TEMP,
                                                .span = k->buffer->span,
                                                .origin = k->span});
    for (int i = 0; i + 1 < k->outer.n; i++) {
        const Stmt *at = k->outer.items[i];
        if (stmt_is_bound(at))
            temp->scope = private_scope(temp, at->u.loop.axis);
    }
    return temp;
}

/* A block like that of the loop with a body that sets the temporary, and a name of its own. */
static Stmt *block_of_temp(const Carry *k, const BlockStmt *own)
{
    BlockStmt block = *own;
    block.n_iters = k->block->u.block.n_iters;
    return stmt_clone_fresh(k->s->ctx, stmt_block(k->s->ctx, &block, k->block->span));
}

static Stmt *set_temp(const Carry *k, Expr *value)
{
    return stmt_set(k->s->ctx, (BufferElement){k->temp, NULL}, value, k->store->span);
}

/* Under which the first iteration exists and runs the block, beside the domains of its iterators;
 * NULL: always. */
static Expr *first_runs(const Carry *k)
{
    Context *c = k->s->ctx;
    const ForStmt *loop = &k->loop->u.loop;
    Facts *facts = sched_facts(k->s, &k->outer);
    ExprList conds = conditions(k), domains = {0};
    Expr *cond = NULL;
    VEC_PUSH(c->arena, &conds,
             expr_binary(c, loop->step > 0 ? EX_LT : EX_GE, loop->lo, loop->hi, k->loop->span));
    block_add_domains(k->s->ctx, &k->block->u.block, &domains);
    for (int i = 0; i < domains.n; i++)
        facts_assume(facts, at_first(k, domains.items[i]));
    for (int i = 0; i < conds.n; i++) {
        Expr *first = at_first(k, conds.items[i]);
        if (!prove(facts, first))
            cond = cond_and(c, cond, simplify(facts, first));
    }
    return cond;
}

/* temp = y[the element that the first iteration reads], or the value that it computes. */
static Stmt *first_value(const Carry *k)
{
    Context *c = k->s->ctx;
    BlockStmt block = k->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    for (int i = 0; i < block.n_iters; i++) {
        iters[i].binding = at_first(k, iters[i].binding);
        iters[i].kind = ITER_SPATIAL;
    }
    Expr *value = k->first ? k->first : expr_load(c, (Buffer *)k->buffer, k->read, k->store->span);
    Name name = sched_fresh_name(k->s, arena_printf(c->arena, "%s_before", k->buffer->name));
    return block_of_temp(k, &(BlockStmt){.name = name,
                                         .iters = iters,
                                         .predicate = first_runs(k),
                                         .body = set_temp(k, value)});
}

static Expr *use_temp(Rewriter *r, Expr *e)
{
    const Carry *k = r->user;
    if (!expr_is_load(e, k->buffer) || !is_before(k, e->u.load.index))
        return e;
    return expr_load(r->ctx, k->temp, NULL, e->span);
}

/* temp = f(temp), or the update that this is. */
static Stmt *set_next(const Carry *k)
{
    Context *c = k->s->ctx;
    Rewriter r = {.ctx = c, .user = (void *)k, .expr = use_temp};
    return store_as_update(c, set_temp(k, rewrite_expr(&r, k->value)));
}

static Stmt *next_value(const Carry *k)
{
    Context *c = k->s->ctx;
    Stmt *body = set_next(k);
    BlockStmt block = k->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    for (int i = 0; i < block.n_iters; i++)
        iters[i].kind = expr_uses_var(iters[i].binding, k->loop->u.loop.var)
                            ? block_implied_kind(c, body, iters[i].var)
                            : ITER_SPATIAL;
    return block_of_temp(
        k, &(BlockStmt){.name = k->temp->name,
                        .iters = iters,
                        .predicate =
                            k->first ? cond_and(c, block.predicate, is_later(k)) : block.predicate,
                        .body = body,
                        .annotations = block.annotations});
}

/* y[j] = temp, in the block that computed the element. */
static Stmt *store_value(const Carry *k)
{
    Context *c = k->s->ctx;
    BlockStmt block = k->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    for (int i = 0; i < block.n_iters; i++)
        iters[i].kind = ITER_SPATIAL;
    StoreStmt store = k->store->u.store;
    store.op = STORE_SET;
    store.value = expr_load(c, k->temp, NULL, k->store->span);
    block.body = stmt_store(c, &store, k->store->span);
    return stmt_block(c, &block, k->block->span);
}

/* The kernel's body with the statements in place of the loop, and the temp: private to the
 * iterations of a loop around them. */
static Stmt *body_with(const Carry *k, Stmt *first, Stmt *loop)
{
    Schedule *s = k->s;
    bool in_loop = false;
    for (int i = 0; i + 1 < k->outer.n; i++)
        in_loop |= k->outer.items[i]->kind == ST_FOR;
    Stmt *items[] = {stmt_temp(s->ctx, k->temp, k->temp->span), first, loop};
    Stmt *now = in_loop ? stmt_seq(s->ctx, items, 3, loop->span)
                        : stmt_seq(s->ctx, items + 1, 2, loop->span);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, k->given, now);
    return in_loop ? body : flow_declare(s, body, k->temp);
}

static bool check(Carry *k)
{
    if (!sched_require_serial(k->s, k->given, k->loop_span))
        return false;
    k->loop = loop_with_choice(k->s, &k->outer);
    if (!find_block(k) || !check_nest(k) || !check_store(k))
        return false;
    k->facts = sched_facts(k->s, &k->path);
    facts_enter(k->facts, k->block);
    return check_moves(k) && find_read(k) && check_runs(k);
}

Stmt *carry_next(Schedule *s, const Value *loop, const Value *buffer)
{
    Carry k = {.s = s};
    DiagMark mark = diag_mark(s->ctx);
    k.given = sched_node(s, loop, &k.outer);
    k.buffer = sched_buffer(s, buffer->u.id);
    bool carries = check(&k);
    diag_forget(s->ctx, mark);
    if (!carries)
        return NULL;
    k.temp = carried_temp(&k);
    return set_next(&k);
}

bool prim_carries_update(Schedule *s, const PrimCall *call, Value *result)
{
    const Stmt *next = carry_next(s, &call->carries_update.loop, &call->carries_update.buffer);
    *result = (Value){
        .kind = VALUE_BOOL, .span = call->span, .u.i = next && next->u.store.op != STORE_SET};
    return true;
}

bool prim_carry(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Carry k = {.s = s,
               .span = call->span,
               .loop_span = call->carry.loop.span,
               .buffer_span = call->carry.buffer.span};
    k.given = sched_node(s, &call->carry.loop, &k.outer);
    k.buffer = sched_buffer(s, call->carry.buffer.u.id);
    if (!check(&k))
        return false;

    k.temp = carried_temp(&k);
    Stmt *first = first_value(&k), *next = next_value(&k);
    Stmt *loop = stmt_replace(c, k.loop, k.block, stmt_then(c, next, store_value(&k)));
    Stmt *body = body_with(&k, first, loop);
    if (!flow_recheck_kinds(s, body, k.loop->u.loop.id, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_block(next);
    return true;
}
