/* query.c - Implements the queries, which change nothing: loops, blocks, reductions, producers,
 * consumers, parallel bands, elements of buffers.
 *
 * Legal: always, where the arguments are of the right kind.
 * Invariant: the kernel stays as it is. */
#include "ir/target/target.h"
#include "passes/analysis/regions/contraction.h"
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/flow.h"
#include "passes/shared/unify.h"

enum { WIDEST_BYTES = 16 }; /* of an access */

bool prim_loops(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    sched_node(s, &call->loops.block, &path);
    ValueList loops = value_loops(s, &path);
    *result = value_list(s, loops.items, loops.n);
    return true;
}

bool prim_block(Schedule *s, const PrimCall *call, Value *result)
{
    (void)s;
    *result = call->block.name;
    return true;
}

static Value blocks_below(Schedule *s, Stmt *root, bool (*among)(Schedule *s, Stmt *block))
{
    StmtList all = stmts_of_kind(s->ctx, root, ST_BLOCK), found = {0};
    for (int i = 0; i < all.n; i++)
        if (!among || among(s, all.items[i]))
            VEC_PUSH(s->ctx->arena, &found, all.items[i]);
    return value_blocks(s, found);
}

bool prim_blocks(Schedule *s, const PrimCall *call, Value *result)
{
    bool all = call->blocks.loop.kind == VALUE_NONE;
    *result =
        blocks_below(s, all ? s->kernel->body : sched_node(s, &call->blocks.loop, NULL), NULL);
    return true;
}

static bool writes_output(Schedule *s, Stmt *block)
{
    AccessList writes = access_list(s->ctx, block, NULL, ACCESS_WRITE);
    for (int i = 0; i < writes.n; i++)
        if (writes.items[i].buffer->role != ROLE_TEMP)
            return true;
    return false;
}

bool prim_output_blocks(Schedule *s, const PrimCall *call, Value *result)
{
    (void)call;
    *result = blocks_below(s, s->kernel->body, writes_output);
    return true;
}

/* ---- reductions ------------------------------------------------------------------------------ */

bool prim_reduction_loops(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    const BlockStmt *block = &sched_node(s, &call->reduction_loops.block, &path)->u.block;
    ValueList loops = {0};
    for (int i = 0; i < path.n; i++)
        if (path.items[i]->kind == ST_FOR &&
            block_reduces_over(s->ctx, block, path.items[i]->u.loop.var))
            VEC_PUSH(s->ctx->arena, &loops, value_loop(path.items[i]));
    *result = value_list(s, loops.items, loops.n);
    return true;
}

bool prim_reduces(Schedule *s, const PrimCall *call, Value *result)
{
    const BlockStmt *block = &sched_node(s, &call->reduces.block, NULL)->u.block;
    const ForStmt *loop = &sched_node(s, &call->reduces.loop, NULL)->u.loop;
    *result = (Value){.kind = VALUE_BOOL, .u.i = block_reduces_over(s->ctx, block, loop->var)};
    return true;
}

static const char *update_name(const Stmt *update)
{
    if (!update || update->kind == ST_SEQ)
        return update ? update->u.seq.combiner->name : "";
    switch (update->u.store.op) {
    case STORE_SET:
    case STORE_ASYNC: return "";
    case STORE_ADD: return "sum";
    case STORE_MUL: return "product";
    case STORE_MIN: return "min";
    case STORE_MAX: return "max";
    case STORE_AND: return "and";
    case STORE_OR: return "or";
    case STORE_XOR: return "xor";
    }
    return "";
}

bool prim_update(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *block = sched_node(s, &call->update.block, NULL);
    Name name = ctx_name(s->ctx, update_name(stmt_guarded_update(block->u.block.body)));
    *result = (Value){.kind = VALUE_STRING, .u.s = name};
    return true;
}

static const char *start_of(Context *c, const BlockStmt *block)
{
    Reducer r;
    if (!stmt_is_reduction(block) || !*update_name(stmt_guarded_update(block->body)))
        return "";
    if (!block->init)
        return "element";
    if (reducer_of_block(c, block, &r) && r.from_identity)
        return "identity";
    const Stmt *init = stmt_single_store(block->init);
    const Expr *start = init ? init->u.store.value : NULL;
    return start && (start->kind == EX_FLOAT || start->kind == EX_INT) ? "literal" : "value";
}

bool prim_starts_from(Schedule *s, const PrimCall *call, Value *result)
{
    const BlockStmt *block = &sched_node(s, &call->starts_from.block, NULL)->u.block;
    *result = (Value){.kind = VALUE_STRING, .u.s = ctx_name(s->ctx, start_of(s->ctx, block))};
    return true;
}

bool prim_calls(Schedule *s, const PrimCall *call, Value *result)
{
    CallKind function = call_find(call->calls.function.u.s);
    *result = (Value){.kind = VALUE_INT};
    for (Cursor at = cursor_stmt(s->ctx, sched_node(s, &call->calls.block, NULL));
         cursor_next(&at);)
        result->u.i += at.expr && at.expr->kind == EX_CALL && at.expr->u.call.call == function;
    return true;
}

bool prim_target_has(Schedule *s, const PrimCall *call, Value *result)
{
    Target first;
    const Value *name = &call->target_has.architecture;
    REQUIRE_WORD(s, E0401, name->span, target_parse(name->u.s, &first), TARGET_EXPECTED, name->u.s);
    *result = (Value){.kind = VALUE_BOOL, .u.i = target_has(s->ctx->target, first)};
    return true;
}

bool prim_max_shared(Schedule *s, const PrimCall *call, Value *result)
{
    (void)call;
    *result = (Value){.kind = VALUE_INT, .u.i = target_max_shared(s->ctx->target)};
    return true;
}

void schedule_set_lowering(Schedule *s, LowerKernel *lower)
{
    s->lower = lower;
}

bool prim_lowers(Schedule *s, const PrimCall *call, Value *result)
{
    (void)call;
    DiagMark said = diag_mark(s->ctx);
    *result = (Value){.kind = VALUE_BOOL, .u.i = true};
    if (s->lower)
        result->u.i = s->lower(s->ctx, schedule_kernel(s)) != NULL;
    diag_forget(s->ctx, said);
    return true;
}

bool prim_product_digits(Schedule *s, const PrimCall *call, Value *result)
{
    const Buffer *buffer = sched_buffer(s, call->product_digits.buffer.u.id);
    int kept = buffer->digits.products;
    *result = (Value){.kind = VALUE_INT, .u.i = kept ? kept : type_info(buffer->type)->digits};
    return true;
}

bool prim_is_matmul(Schedule *s, const PrimCall *call, Value *result)
{
    Contraction found;
    const char *why;
    Stmt *block = sched_node(s, &call->is_matmul.block, NULL);
    *result = (Value){.kind = VALUE_BOOL,
                      .u.i = contraction_of_block(s->ctx, &block->u.block, &found, &why)};
    return true;
}

/* ---- producers, consumers, readers ----------------------------------------------------------- */

/* An access of `stmt` in the given mode to a buffer that `list` has. */
static bool touches_any(Context *c, Stmt *stmt, AccessMode mode, const AccessList *list)
{
    for (int i = 0; i < list->n; i++)
        if (stmt_accesses(c, stmt, list->items[i].buffer, mode))
            return true;
    return false;
}

/* The blocks that touch, in mode `theirs`, what `call`'s block touches in mode `own`. */
static bool neighbours(Schedule *s, const PrimCall *call, AccessMode own, AccessMode theirs,
                       Value *result)
{
    Stmt *block = sched_node(s, &call->producers.block, NULL);
    AccessList accesses = access_list(s->ctx, block, NULL, own);
    StmtList all = stmts_of_kind(s->ctx, s->kernel->body, ST_BLOCK), found = {0};
    for (int i = 0; i < all.n; i++)
        if (all.items[i] != block && touches_any(s->ctx, all.items[i], theirs, &accesses))
            VEC_PUSH(s->ctx->arena, &found, all.items[i]);
    *result = value_blocks(s, found);
    return true;
}

bool prim_producers(Schedule *s, const PrimCall *call, Value *result)
{
    return neighbours(s, call, ACCESS_READ, ACCESS_WRITE, result);
}

bool prim_consumers(Schedule *s, const PrimCall *call, Value *result)
{
    return neighbours(s, call, ACCESS_WRITE, ACCESS_READ, result);
}

bool prim_readers(Schedule *s, const PrimCall *call, Value *result)
{
    const Buffer *buffer = sched_buffer(s, call->readers.buffer.u.id);
    bool all = call->readers.loop.kind == VALUE_NONE;
    Stmt *in = all ? s->kernel->body : sched_node(s, &call->readers.loop, NULL);
    *result = value_blocks(s, blocks_accessing(s->ctx, in, buffer, ACCESS_READ));
    return true;
}

/* ---- bands ----------------------------------------------------------------------------------- */

/* Data decide how often the loop runs: no launch has that size. */
static bool has_data_range(const ForStmt *loop)
{
    return expr_has_load(loop->lo) || expr_has_load(loop->hi);
}

/* The loop may be fused with others and bound: it goes over elements, and its iterations are
 * independent. */
static bool runs_parallel(Schedule *s, const Stmt *stmt)
{
    const ForStmt *loop = &stmt->u.loop;
    if (loop->kind != LOOP_SERIAL || loop->annotations.n > 0 || has_data_range(loop) ||
        sched_reduced_by(s->ctx, stmt))
        return false;
    bool only_reduction = false;
    Conflict why = {0};
    StmtPath path = {0};
    state_path(s, loop->id, &path);
    const Kernel *kernel = sched_kernel_around(s, s->kernel, &path);
    return dependence_loop_carries_none(s->ctx, kernel, loop->id, &only_reduction, &why) &&
           !only_reduction;
}

/* The range of `loop` speaks of a loop of the band. */
static bool range_uses(Schedule *s, const ForStmt *loop, const ValueList *band)
{
    for (int i = 0; i < band->n; i++) {
        const Stmt *outer = sched_node(s, &band->items[i], NULL);
        if (loop_uses_var(loop, outer->u.loop.var))
            return true;
    }
    return false;
}

static Value band_from(Schedule *s, Stmt *top)
{
    ValueList band = {0};
    VEC_PUSH(s->ctx->arena, &band, value_loop(top));
    for (Stmt *at = top->u.loop.body; at->kind == ST_FOR; at = at->u.loop.body) {
        if (range_uses(s, &at->u.loop, &band) || !runs_parallel(s, at))
            break;
        VEC_PUSH(s->ctx->arena, &band, value_loop(at));
    }
    return value_list(s, band.items, band.n);
}

bool prim_bands(Schedule *s, const PrimCall *call, Value *result)
{
    bool all = call->bands.loop.kind == VALUE_NONE;
    Stmt *in = all ? s->kernel->body : sched_node(s, &call->bands.loop, NULL)->u.loop.body;
    ValueList bands = {0};
    for (Cursor at = cursor_outer(s->ctx, in); cursor_next(&at);) {
        if (at.stmt->kind != ST_FOR)
            continue;
        bool band = !stmt_bound_loop(s->ctx, at.stmt) && runs_parallel(s, at.stmt);
        if (band)
            VEC_PUSH(s->ctx->arena, &bands, band_from(s, at.stmt));
        bool grid_ends = all && has_data_range(&at.stmt->u.loop);
        if (band || at.stmt->u.loop.kind == LOOP_BIND || grid_ends)
            cursor_prune(&at);
    }
    *result = value_list(s, bands.items, bands.n);
    return true;
}

bool prim_most_iterations(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loops = &call->most_iterations.loops;
    int64_t least, most, product = 1;
    for (int i = 0; i < loops->u.list.n; i++) {
        StmtPath path = {0};
        sched_node(s, &loops->u.list.items[i], &path);
        if (!bounds_const(sched_facts(s, &path), sched_extent(s, &path), &least, &most) ||
            !checked_mul(product, most > 0 ? most : 0, &product))
            product = 0;
    }
    *result = value_int(product);
    return true;
}

bool prim_extent(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loops = &call->extent.loops;
    int64_t extent, product = 1;
    for (int i = 0; i < loops->u.list.n; i++) {
        StmtPath path = {0};
        sched_node(s, &loops->u.list.items[i], &path);
        if (!expr_is_const(sched_extent(s, &path), &extent) ||
            !checked_mul(product, extent, &product))
            product = 0;
    }
    *result = value_int(product);
    return true;
}

bool prim_divides(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    sched_node(s, &call->divides.loop, &path);
    Facts *facts = sched_facts(s, &path);
    int64_t by = call->divides.number.u.i;
    bool yes = by >= 1 && prove_divisible(facts, sched_extent(s, &path), by);
    *result = (Value){.kind = VALUE_BOOL, .u.i = yes};
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

bool prim_reads(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *block = sched_node(s, &call->reads.block, NULL);
    AccessList reads = access_list(s->ctx, block, NULL, ACCESS_READ);
    AccessList writes = access_list(s->ctx, block, NULL, ACCESS_WRITE);
    ValueList values = {0};
    for (int i = 0; i < reads.n; i++) {
        const Buffer *b = reads.items[i].buffer;
        bool listed = false;
        for (int k = 0; k < writes.n; k++)
            listed |= writes.items[k].buffer == b;
        for (int k = 0; k < i; k++)
            listed |= reads.items[k].buffer == b;
        if (!listed)
            VEC_PUSH(s->ctx->arena, &values, value_buffer(b));
    }
    *result = value_list(s, values.items, values.n);
    return true;
}

bool prim_writes(Schedule *s, const PrimCall *call, Value *result)
{
    ValueList values = {0};
    BufferSet written = flow_buffers(s, sched_node(s, &call->writes.block, NULL), ACCESS_WRITE);
    for (int i = 0; i < written.n; i++)
        VEC_PUSH(s->ctx->arena, &values, value_buffer(written.items[i]));
    *result = value_list(s, values.items, values.n);
    return true;
}

/* Some access before the k-th has its subscripts. */
static bool is_repeated(const AccessList *list, int k)
{
    const Access *a = &list->items[k];
    for (int i = 0; i < k; i++)
        if (exprs_equal(list->items[i].index, a->index, a->buffer->rank))
            return true;
    return false;
}

bool prim_accesses(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *block = sched_node(s, &call->accesses.block, NULL);
    AccessList all =
        access_list(s->ctx, block, sched_buffer(s, call->accesses.buffer.u.id), ACCESS_ANY);
    int n = 0;
    for (int i = 0; i < all.n; i++)
        n += !is_repeated(&all, i);
    *result = value_int(n);
    return true;
}

/* The expression reads memory, itself or through a value. */
static bool reads_data(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD ||
            (at.expr->kind == EX_VAR && at.expr->u.var->kind == VAR_LET))
            return true;
    return false;
}

bool prim_indirect(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *block = sched_node(s, &call->indirect.block, NULL);
    const Buffer *buffer = sched_buffer(s, call->indirect.buffer.u.id);
    AccessList accesses = access_list(s->ctx, block, buffer, ACCESS_ANY);
    bool yes = false;
    for (int i = 0; i < accesses.n; i++)
        for (int d = 0; d < buffer->rank; d++)
            yes = yes || reads_data(s->ctx, accesses.items[i].index[d]);
    *result = (Value){.kind = VALUE_BOOL, .u.i = yes};
    return true;
}

bool prim_exact(Schedule *s, const PrimCall *call, Value *result)
{
    const BlockStmt *block = &sched_node(s, &call->exact.block, NULL)->u.block;
    bool yes = block->atomic || !stmt_update_rounds(s->ctx, block->body);
    *result = (Value){.kind = VALUE_BOOL, .u.i = yes};
    return true;
}

/* A loop around a block, and the accesses of the block to a buffer. What is computed of them goes
 * with `accesses_end`. */
typedef struct {
    Schedule *s;
    ArenaMark mark;
    Facts *facts;
    const BlockStmt *block;
    const ForStmt *loop;
    const Buffer *buffer;
    AccessList accesses;
} LoopAccesses;

/* With the values of its lets written out, where its text allows: subscripts then say which loops
 * they depend on. */
static Stmt *with_values(Context *c, Stmt *block)
{
    const Stmt *store = stmt_written_out(c, block->u.block.body);
    BlockStmt plain = block->u.block;
    plain.body = (Stmt *)store;
    return store ? stmt_block(c, &plain, block->span) : block;
}

static LoopAccesses accesses_begin(Schedule *s, const PrimCall *call)
{
    StmtPath path = {0};
    ArenaMark mark = arena_mark(s->ctx->arena);
    Stmt *block = with_values(s->ctx, sched_node(s, &call->contiguous.block, &path));
    LoopAccesses a = {.s = s,
                      .mark = mark,
                      .facts = sched_facts(s, &path),
                      .block = &block->u.block,
                      .loop = &sched_node(s, &call->contiguous.loop, NULL)->u.loop,
                      .buffer = sched_buffer(s, call->contiguous.buffer.u.id)};
    a.accesses = access_list(s->ctx, block, a.buffer, ACCESS_ANY);
    const Expr *where = a.block->predicate; /* alike for the iterations of the loop */
    if (where && !expr_uses_var(where, a.loop->var))
        facts_assume(a.facts, a.block->predicate);
    return a;
}

static bool accesses_end(const LoopAccesses *a, Value answer, Value *result)
{
    arena_reset(a->s->ctx->arena, a->mark);
    *result = answer;
    return true;
}

static Expr *subscript_of_loops(const LoopAccesses *a, int access, int axis)
{
    return simplify(a->facts,
                    iters_to_loops(a->s->ctx, a->block, a->accesses.items[access].index[axis]));
}

/* The loop adds one to the last subscript, whose other terms are `rest`, and occurs in no other. */
static bool moves_along_row(const LoopAccesses *a, int access, Expr **rest)
{
    int64_t coefficient = 0;
    const Var *var = a->loop->var;
    for (int d = 0; d < a->buffer->rank; d++) {
        Expr *e = subscript_of_loops(a, access, d);
        bool last = d == buffer_row_axis(a->buffer);
        if (last ? !split_linear(a->facts, e, var, &coefficient, rest) : expr_uses_var(e, var))
            return false;
    }
    return coefficient == 1 && a->loop->step == 1;
}

bool prim_contiguous(Schedule *s, const PrimCall *call, Value *result)
{
    LoopAccesses a = accesses_begin(s, call);
    bool yes = a.accesses.n > 0;
    Expr *rest;
    for (int i = 0; i < a.accesses.n; i++)
        yes = yes && moves_along_row(&a, i, &rest);
    return accesses_end(&a, (Value){.kind = VALUE_BOOL, .u.i = yes}, result);
}

/* Of how many iterations, at most `width`, the accesses from a multiple of it on are one aligned
 * access. In global memory, which gets one subscript for all axes, it may go on in the next row:
 * x[f / M, f % M]. */
static int64_t aligned_width(const LoopAccesses *a, int access, int64_t width)
{
    Context *c = a->s->ctx;
    int64_t coefficient = 0;
    Expr *rest, *at = buffer_place(c, a->buffer, a->accesses.items[access].index);
    if (a->buffer->scope != SCOPE_GLOBAL && !moves_along_row(a, access, &rest))
        return 1;
    at = simplify(a->facts, iters_to_loops(c, a->block, at));
    if (!split_linear(a->facts, at, a->loop->var, &coefficient, &rest) || coefficient != 1 ||
        a->loop->step != 1)
        return 1;
    Expr *first = simplify(a->facts, index_add(c, rest, a->loop->lo));
    while (width > 1 && !prove_divisible(a->facts, first, width))
        width /= 2;
    return width;
}

bool prim_access_width(Schedule *s, const PrimCall *call, Value *result)
{
    LoopAccesses a = accesses_begin(s, call);
    int64_t width = a.accesses.n > 0 ? WIDEST_BYTES / type_bytes(a.buffer->type) : 1;
    for (int i = 0; i < a.accesses.n && width > 1; i++)
        width = aligned_width(&a, i, width);
    return accesses_end(&a, value_int(width), result);
}

/* How many elements lie between those of adjacent iterations; 0: not the same number everywhere. */
static int64_t distance_of(const LoopAccesses *a, int access)
{
    Context *c = a->s->ctx;
    int64_t coefficient = 0;
    Expr *rest, *at = buffer_place(c, a->buffer, a->accesses.items[access].index);
    at = simplify(a->facts, iters_to_loops(c, a->block, at));
    return split_linear(a->facts, at, a->loop->var, &coefficient, &rest)
               ? coefficient * a->loop->step
               : 0;
}

bool prim_distance(Schedule *s, const PrimCall *call, Value *result)
{
    LoopAccesses a = accesses_begin(s, call);
    int64_t distance = a.accesses.n > 0 ? distance_of(&a, 0) : 0;
    for (int i = 1; i < a.accesses.n; i++)
        if (distance_of(&a, i) != distance)
            distance = 0;
    return accesses_end(&a, value_int(distance), result);
}

bool prim_varies(Schedule *s, const PrimCall *call, Value *result)
{
    LoopAccesses a = accesses_begin(s, call);
    bool yes = false;
    for (int i = 0; i < a.accesses.n; i++)
        for (int d = 0; d < a.buffer->rank; d++)
            yes = yes || expr_uses_var(subscript_of_loops(&a, i, d), a.loop->var);
    return accesses_end(&a, (Value){.kind = VALUE_BOOL, .u.i = yes}, result);
}

/* How many adjacent values of the variable, from a multiple of it on, give an expression one value:
 * what divides the variable wherever it stands; 0: it stands nowhere. */
static int64_t values_alike(Context *c, const Expr *e, const Var *var)
{
    int64_t n = 0, divisor;
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        const Expr *x = at.expr;
        if (expr_is_var(x, var))
            return 1;
        if (x->kind == EX_DIV && expr_is_var(x->u.arg[0], var) &&
            expr_is_const(x->u.arg[1], &divisor)) {
            n = gcd64(n, divisor);
            cursor_prune(&at);
        }
    }
    return n;
}

bool prim_repeats(Schedule *s, const PrimCall *call, Value *result)
{
    LoopAccesses a = accesses_begin(s, call);
    int64_t n = 0;
    for (int i = 0; i < a.accesses.n; i++)
        for (int d = 0; d < a.buffer->rank; d++)
            n = gcd64(n, values_alike(s->ctx, subscript_of_loops(&a, i, d), a.loop->var));
    return accesses_end(&a, value_int(n > 0 && !expr_is(a.loop->lo, 0) ? 1 : n), result);
}

/* Two accesses have the same subscripts, as far as these depend on the loop. */
static bool same_along(const LoopAccesses *a, int one, int other)
{
    for (int d = 0; d < a->buffer->rank; d++) {
        Expr *x = subscript_of_loops(a, one, d), *y = subscript_of_loops(a, other, d);
        bool depends = expr_uses_var(x, a->loop->var) || expr_uses_var(y, a->loop->var);
        if (depends && !expr_equal(x, y))
            return false;
    }
    return true;
}

bool prim_accesses_along(Schedule *s, const PrimCall *call, Value *result)
{
    LoopAccesses a = accesses_begin(s, call);
    int n = 0;
    for (int i = 0; i < a.accesses.n; i++) {
        bool repeated = false;
        for (int k = 0; k < i && !repeated; k++)
            repeated = same_along(&a, k, i);
        n += !repeated;
    }
    return accesses_end(&a, value_int(n), result);
}

bool prim_bound_axis(Schedule *s, const PrimCall *call, Value *result)
{
    const ForStmt *loop = &sched_node(s, &call->bound_axis.loop, NULL)->u.loop;
    const char *name = loop->kind == LOOP_BIND ? axis_name(loop->axis) : "";
    *result = (Value){.kind = VALUE_STRING, .u.s = ctx_name(s->ctx, name)};
    return true;
}

bool prim_bytes(Schedule *s, const PrimCall *call, Value *result)
{
    *result = value_int(type_bytes(sched_buffer(s, call->bytes.buffer.u.id)->type));
    return true;
}

bool prim_type(Schedule *s, const PrimCall *call, Value *result)
{
    const Buffer *buffer = sched_buffer(s, call->type.buffer.u.id);
    *result = (Value){.kind = VALUE_STRING, .u.s = ctx_name(s->ctx, type_info(buffer->type)->name)};
    return true;
}

bool prim_scope(Schedule *s, const PrimCall *call, Value *result)
{
    const Buffer *buffer = sched_buffer(s, call->scope.buffer.u.id);
    *result = (Value){.kind = VALUE_STRING, .u.s = ctx_name(s->ctx, scope_name(buffer->scope))};
    return true;
}

bool prim_width(Schedule *s, const PrimCall *call, Value *result)
{
    const Buffer *b = sched_buffer(s, call->width.buffer.u.id);
    Facts *facts = facts_of_kernel(s->ctx, s->kernel);
    int64_t width = 1;
    while (b->rank > 0 && 2 * width * type_bytes(b->type) <= WIDEST_BYTES &&
           prove_divisible(facts, b->shape[b->rank - 1], 2 * width))
        width *= 2;
    *result = value_int(width);
    return true;
}

static Value value_of_sizes(Expr *e)
{
    int64_t known;
    Value value = {.kind = VALUE_SIZES};
    value.u.sizes = e;
    if (expr_is_const(e, &known))
        value = (Value){.kind = e->type == DT_BOOL ? VALUE_BOOL : VALUE_INT, .u.i = known};
    return value;
}

bool prim_shape(Schedule *s, const PrimCall *call, Value *result)
{
    const Buffer *b = sched_buffer(s, call->shape.buffer.u.id);
    Value *extents = ARENA_ARRAY(s->ctx->arena, Value, b->rank);
    for (int i = 0; i < b->rank; i++)
        extents[i] = value_of_sizes(b->shape[i]);
    *result = value_list(s, extents, b->rank);
    return true;
}

bool prim_elements(Schedule *s, const PrimCall *call, Value *result)
{
    const Buffer *b = sched_buffer(s, call->elements.buffer.u.id);
    int64_t extent, product = 1;
    for (int i = 0; i < b->rank; i++)
        if (!expr_is_const(b->shape[i], &extent) || !checked_mul(product, extent, &product))
            product = 0;
    *result = value_int(product);
    return true;
}

bool prim_iterations(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    sched_node(s, &call->iterations.loop, &path);
    Expr *extent = sched_extent(s, &path);
    *result = expr_of_sizes(extent) ? value_of_sizes(extent) : value_int(0);
    return true;
}

bool prim_data_dependent(Schedule *s, const PrimCall *call, Value *result)
{
    const ForStmt *loop = &sched_node(s, &call->data_dependent.loop, NULL)->u.loop;
    bool start = reads_data(s->ctx, loop->lo), end = reads_data(s->ctx, loop->hi);
    const char *what = start && end ? "both" : start ? "start" : end ? "end" : "";
    *result = (Value){.kind = VALUE_STRING, .u.s = ctx_name(s->ctx, what)};
    return true;
}

/* The condition for rows of `buffer` to start at multiples of `bytes`. */
static Expr *rows_aligned(Context *c, const Buffer *buffer, int64_t bytes)
{
    int64_t lanes = bytes / type_bytes(buffer->type);
    if (buffer->rank < 2 || lanes < 2)
        return expr_true(c);
    return expr_binary(c, EX_EQ,
                       index_mod(c, buffer->shape[buffer->rank - 1], expr_index(c, lanes)),
                       expr_index(c, 0), span_none());
}

bool prim_aligned_rows(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Expr *all = NULL;
    for (int i = 0; i < s->kernel->n_params; i++) {
        const Buffer *buffer = s->kernel->params[i].buffer;
        Facts *facts = facts_of_kernel(c, s->kernel);
        Expr *one = buffer ? rows_aligned(c, buffer, call->aligned_rows.bytes.u.i) : expr_true(c);
        if (all)
            facts_assume(facts, all);
        if (!prove(facts, one) && !prove(facts, expr_unary(c, EX_NOT, one, span_none())))
            all = cond_and(c, all, simplify(facts, one));
    }
    *result = value_of_sizes(all ? all : expr_true(c));
    return true;
}

bool prim_known(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *condition = &call->known.condition;
    bool yes = condition->kind == VALUE_BOOL
                   ? condition->u.i
                   : prove(facts_of_kernel(s->ctx, s->kernel), condition->u.sizes);
    *result = (Value){.kind = VALUE_BOOL, .u.i = yes};
    return true;
}
