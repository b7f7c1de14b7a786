/* linear_scan.c - Implements linear_scan: makes a scan of a linear recurrence.
 *
 *   s = 0;                                s = 0;
 *   for t in T {                          s_scale = 0;
 *       s = a[t] * s + x[t];         =>   for t in T {
 *       h[t] = s;                             s_scale, s linear_f32= (a[t], x[t]);
 *   }                                         h[t] = s; }
 *
 *   reducer linear_f32(scale: f32, value: f32) ordered
 *   {
 *       init (1, 0);
 *       combine(x, y): (y.scale * x.scale, y.scale * x.value + y.value);
 *   }
 *
 * An iteration is the function  s -> scale * s + value.  Functions of this form are closed under
 * composition, which is associative (Blelloch, Prefix sums and their applications, 1990, section
 * 1.4; Kogge and Stone, 1973; as layers of neural networks: Martin and Cundy, Parallelizing linear
 * recurrent neural nets over sequence length, ICLR 2018). So the functions of chunks are results
 * that can be computed apart, and scan_chunks, scan_steps and lookback do the rest.
 *
 * The temporary of the scales starts as 0, since what stands before the loop is a value, whatever
 * came before it: the function  s -> 0 * s + value.  So the buffer keeps its values, and nobody
 * else needs to know of the scales.
 *
 * Where a choice forgets the value, s = c ? a * s + x : x, the scale is 0, and the reducer of
 * floats drops what comes before a scale of 0, which may be infinite:
 *
 *       combine(x, y): (y.scale * x.scale,
 *                       y.scale == 0 ? y.value : y.scale * x.value + y.value);
 *
 * Legal: one block of the loop stores to the buffer, to the same element in each iteration; what it
 * stores is linear in the element and reads no other of the buffer.
 * Invariant: without another step, the loop computes the same, but for roundings, a sum whose terms
 * were in another order, and infinite values times 0 where the loop has choices that forget. */
#include "ir/implied.h"
#include "passes/schedule/combiner.h"
#include "passes/schedule/loops/carry.h"
#include "passes/shared/linear.h"

typedef struct {
    Schedule *s;
    Span span, loop_span, buffer_span; /* of the call and its arguments */
    StmtPath outer;                    /* to the loop */
    Stmt *loop, *block;
    Buffer *buffer;
    const Stmt *store; /* the only one of the block, its values written out */
    LinearForm form;   /* of what it stores */
    Buffer *scales;
} Linear;

/* ---- the block ------------------------------------------------------------------------------- */

static bool find_block(Linear *l)
{
    Schedule *s = l->s;
    Name loop = stmt_label(l->loop), buffer = l->buffer->name;
    REQUIRE(
        s, E0530, l->buffer_span, !stmt_declares(s->ctx, l->loop, l->buffer),
        "'%s' is declared in loop '%s', so no value of it passes from one iteration to the next",
        buffer, loop);
    BlockList writers = flow_blocks(s, l->loop, l->buffer, ACCESS_WRITE);
    REQUIRE(s, E0530, l->buffer_span, writers.n > 0,
            "no block in loop '%s' writes '%s'; name the buffer whose value the loop carries", loop,
            buffer);
    REQUIRE(s, E0530, l->buffer_span, writers.n == 1,
            "blocks '%s' and '%s' both write '%s' in loop '%s', so an iteration is not one linear "
            "function of it",
            stmt_label(writers.items[0]), stmt_label(writers.items[1]), buffer, loop);
    l->block = writers.items[0];
    return true;
}

static bool check_store(Linear *l)
{
    Schedule *s = l->s;
    const BlockStmt *block = &l->block->u.block;
    l->store = flow_single_store(s->ctx, l->block);
    REQUIRE(s, E0530, l->span, l->store != NULL,
            "block '%s' %s, so it does not compute one value in each iteration", block->name,
            flow_no_single_store(s->ctx, l->block));
    REQUIRE(s, E0530, l->span, !block->init,
            "block '%s' has an init, so no value stands before loop '%s'; separate it first: "
            "decompose_reduction(%s, %s)",
            block->name, stmt_label(l->loop), block->name, stmt_label(l->loop));
    REQUIRE(s, E0530, l->span, !block->atomic && !block->instruction,
            "block '%s' is %s, which an update of two values cannot replace", block->name,
            block->atomic ? "atomic" : "an instruction");
    REQUIRE(s, E0530, l->span, !block_in_order(block),
            "the updates of block '%s' keep their order (@in_order), and a scan groups them",
            block->name);
    return true;
}

/* Each iteration of the loop stores to the same element. */
static bool check_element(const Linear *l)
{
    Schedule *s = l->s;
    for (int d = 0; d < l->buffer->rank; d++) {
        Expr *at = iters_to_loops(s->ctx, &l->block->u.block, l->store->u.store.index[d]);
        REQUIRE(s, E0530, l->buffer_span,
                !expr_uses_var(at, l->loop->u.loop.var) && !expr_loads_change(at),
                "loop '%s' stores to different elements of '%s'; if each iteration reads the "
                "element before, carry(%s, %s) keeps it in a temporary",
                stmt_label(l->loop), l->buffer->name, stmt_label(l->loop), l->buffer->name);
    }
    return true;
}

/* The block stands in the loop, with nothing in between that repeats it or leaves it out. */
static bool check_nest(const Linear *l)
{
    Schedule *s = l->s;
    StmtPath inner = stmt_path_to(s->ctx, l->loop, l->block);
    for (int i = 1; i + 1 < inner.n; i++) {
        const Stmt *at = inner.items[i];
        REQUIRE(s, E0530, l->loop_span, at->kind != ST_FOR,
                "loop '%s' around block '%s' is inside loop '%s'; name the innermost loop",
                stmt_label(at), stmt_label(l->block), stmt_label(l->loop));
        REQUIRE(s, E0530, l->loop_span, at->kind != ST_IF,
                "block '%s' is under a condition in loop '%s'; move the condition into the value "
                "that it stores (s = c ? a[t] * s + x[t] : s)",
                stmt_label(l->block), stmt_label(l->loop));
    }
    const BlockStmt *block = &l->block->u.block;
    REQUIRE(s, E0530, l->loop_span, !block->predicate || l->buffer->rank == 0,
            "block '%s' runs only where %s, and it is not known whether '%s' has the element "
            "elsewhere",
            block->name, expr_text(s->ctx, block->predicate), l->buffer->name);
    return true;
}

/* Products of factors of narrower floats round to few digits, and some leave the range soon. */
static bool has_digits(const Buffer *buffer)
{
    return !type_is_float(buffer->type) || type_info(buffer->type)->bits >= 32;
}

static bool check_form(Linear *l)
{
    Schedule *s = l->s;
    Expr *value = stored_value(s->ctx, l->store);
    REQUIRE(s, E0530, l->span,
            l->store->u.store.op == STORE_SET || expr_reads(l->store->u.store.value, l->buffer),
            "block '%s' updates '%s', so the loop is a scan already: scan_chunks(%s)",
            stmt_label(l->block), l->buffer->name, stmt_label(l->loop));
    bool linear = linear_form(s->ctx, value, l->buffer, &l->form) &&
                  exprs_equal(l->form.index, l->store->u.store.index, l->buffer->rank);
    REQUIRE(s, E0530, l->span, linear,
            "what block '%s' stores is not known to be a * %s + b, where a and b do not depend on "
            "'%s'",
            stmt_label(l->block), l->buffer->name, l->buffer->name);
    REQUIRE(s, E0530, l->buffer_span, has_digits(l->buffer),
            "'%s' has elements of type %s, in which products of many factors do not keep the "
            "digits of a value; use f32",
            l->buffer->name, type_info(l->buffer->type)->name);
    return true;
}

static bool check(Linear *l)
{
    return sched_require_serial(l->s, l->loop, l->loop_span) && find_block(l) && check_store(l) &&
           check_element(l) && check_nest(l) && check_form(l);
}

/* ---- the reducer ----------------------------------------------------------------------------- */

static CombinerPart part_named(const Linear *l, const char *name, int identity)
{
    Context *c = l->s->ctx;
    return combiner_part(c, name, expr_number(c, l->buffer->type, identity, l->span));
}

static Expr *times(const Linear *l, Var *a, Var *b)
{
    Context *c = l->s->ctx;
    return expr_binary(c, EX_MUL, expr_var(c, a, l->span), expr_var(c, b, l->span), l->span);
}

/* y.scale * x.value + y.value, or y.value alone where that forgets x. */
static Expr *composed_value(const Linear *l, const CombinerPart parts[2])
{
    Context *c = l->s->ctx;
    Expr *value = expr_var(c, parts[1].b, l->span), *scale = expr_var(c, parts[0].b, l->span);
    Expr *sum = expr_binary(c, EX_ADD, times(l, parts[0].b, parts[1].a), value, l->span);
    if (!l->form.forgets || !type_is_float(l->buffer->type))
        return sum;
    Expr *none = expr_float(c, l->buffer->type, 0, l->span);
    return expr_select(c, expr_binary(c, EX_EQ, scale, none, l->span), value, sum, l->span);
}

/* The composition of linear functions. Recurrences of one type share it. */
static const Combiner *composition(const Linear *l)
{
    Context *c = l->s->ctx;
    const char *type = type_info(l->buffer->type)->name;
    CombinerPart *parts = ARENA_ARRAY(c->arena, CombinerPart, 2);
    parts[0] = part_named(l, "scale", 1);
    parts[1] = part_named(l, "value", 0);
    parts[0].value = times(l, parts[0].b, parts[0].a);
    parts[1].value = composed_value(l, parts);
    Combiner *out = ARENA_NEW(c->arena, Combiner);
    *out = (Combiner){.parts = parts, .n = 2, .ordered = true, .span = l->span};
    return combiner_named(l->s, arena_printf(c->arena, "linear_%s", type), out);
}

/* ---- build ----------------------------------------------------------------------------------- */

static Buffer *new_scales(const Linear *l)
{
    Schedule *s = l->s;
    Name name = sched_fresh_name(s, arena_printf(s->ctx->arena, "%s_scale", l->buffer->name));
    Buffer own = {.name = name,
                  .type = l->buffer->type,
                  .rank = l->buffer->rank,
                  .shape = l->buffer->shape,
                  .layout = l->buffer->layout,
                  .scope = l->buffer->scope,
                  .role = ROLE_TEMP,
                  .span = l->buffer->span,
                  .origin = l->span};
    return buffer_new(s->ctx, &own);
}

/* The iterators that do not depend on the loop. */
static bool outer_iters(const Linear *l, BlockStmt *block)
{
    Schedule *s = l->s;
    BlockIter *iters = block_own_iters(s->ctx, block, 0);
    int n = 0;
    for (int i = 0; i < block->n_iters; i++) {
        if (expr_uses_var(iters[i].binding, l->loop->u.loop.var)) {
            for (int k = i + 1; k < block->n_iters; k++)
                REQUIRE(s, E0530, l->loop_span,
                        !expr_uses_var(iters[k].lo, iters[i].var) &&
                            !expr_uses_var(iters[k].hi, iters[i].var),
                        "the domain of iterator '%s' of block '%s' depends on '%s', which goes "
                        "along loop '%s'",
                        iters[k].var->name, block->name, iters[i].var->name, stmt_label(l->loop));
            continue;
        }
        iters[n] = iters[i];
        iters[n++].kind = ITER_SPATIAL;
    }
    block->n_iters = n;
    return true;
}

/* scales = 0, for the element, before the loop; NULL after a refusal. */
static Stmt *start(const Linear *l)
{
    Context *c = l->s->ctx;
    BlockStmt block = l->block->u.block;
    if (!outer_iters(l, &block))
        return NULL;
    block.predicate = NULL;
    Expr *zero = expr_number(c, l->buffer->type, 0, l->span);
    block.name = sched_fresh_name(l->s, arena_printf(c->arena, "%s_before", l->scales->name));
    block.annotations = (AnnotationList){0};
    block.body = stmt_set(c, (BufferElement){l->scales, l->store->u.store.index}, zero, l->span);
    return stmt_clone_fresh(c, stmt_block(c, &block, l->block->span));
}

static Stmt *update(const Linear *l)
{
    Context *c = l->s->ctx;
    Expr *const *index = l->store->u.store.index;
    BufferElement targets[2] = {{l->scales, index}, {l->buffer, index}};
    Expr *zero = expr_number(c, l->buffer->type, 0, l->span);
    Expr *values[2] = {l->form.scale, l->form.offset ? l->form.offset : zero};
    BlockStmt block = l->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    block.body = tuple_update(c, &(TupleUpdate){composition(l), targets, values}, l->store->span);
    for (int i = 0; i < block.n_iters; i++)
        if (expr_uses_var(iters[i].binding, l->loop->u.loop.var))
            iters[i].kind = block_implied_kind(c, block.body, iters[i].var);
    return stmt_block(c, &block, l->block->span);
}

bool prim_linear_scan(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Linear l = {.s = s,
                .span = call->span,
                .loop_span = call->linear_scan.loop.span,
                .buffer_span = call->linear_scan.buffer.span};
    l.loop = sched_node(s, &call->linear_scan.loop, &l.outer);
    l.buffer = sched_buffer(s, call->linear_scan.buffer.u.id);
    if (!check(&l))
        return false;

    l.scales = new_scales(&l);
    Stmt *first = start(&l), *next = update(&l);
    if (!first)
        return false;
    Stmt *loop = stmt_replace(c, l.loop, l.block, next);
    Stmt *body = stmt_replace(c, s->kernel->body, l.loop, stmt_then(c, first, loop));
    body = flow_declare_beside(s, body, l.buffer, l.scales);
    if (!flow_recheck_kinds(s, body, l.loop->u.loop.id, call->span))
        return false;
    Kernel *kernel = kernel_with_body(c, s->kernel, body);
    kernel->composes = true;
    sched_replace_interface(s, kernel);
    s->reassociates = type_is_float(l.buffer->type);
    *result = value_block(next);
    return true;
}

/* ---- the question ---------------------------------------------------------------------------- */

/* The temporary of carry would get its values by such a store. */
static bool carried_is_linear(const Linear *l, const PrimCall *call)
{
    LinearForm form;
    const Stmt *next = carry_next(l->s, &call->carries_linear.loop, &call->carries_linear.buffer);
    return next && next->u.store.op == STORE_SET && !block_in_order(&l->block->u.block) &&
           !expr_reads(next->u.store.value, l->buffer) &&
           linear_form(l->s->ctx, next->u.store.value, next->u.store.buffer, &form) &&
           has_digits(next->u.store.buffer);
}

bool prim_carries_linear(Schedule *s, const PrimCall *call, Value *result)
{
    Linear l = {.s = s};
    DiagMark mark = diag_mark(s->ctx);
    l.loop = sched_node(s, &call->carries_linear.loop, &l.outer);
    l.buffer = sched_buffer(s, call->carries_linear.buffer.u.id);
    bool is_linear = check(&l);
    diag_forget(s->ctx, mark);
    is_linear = is_linear || (l.block && carried_is_linear(&l, call));
    *result = (Value){.kind = VALUE_BOOL, .span = call->span, .u.i = is_linear};
    return true;
}
