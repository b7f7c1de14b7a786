/* fit.c - see fit.h. */
#include "fuzz/fit.h"

#include <string.h>

#include "passes/analysis/dependence/running_count.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/reductions/guarded.h"
#include "passes/shared/linear.h"

static const Fit fits[] = {
    {"split", 6, BLOCK_ANY, LOOP_ANY, BUFFER_ANY},
    {"fuse", 3, BLOCK_ANY, LOOP_ANY, BUFFER_ANY},
    {"reorder", 6, BLOCK_ANY, LOOP_ANY, BUFFER_ANY},
    {"bind", 8, BLOCK_ANY, LOOP_ANY, BUFFER_ANY},
    {"vectorize", 2, BLOCK_ANY, LOOP_INNER, BUFFER_ANY},
    {"merge", 1, BLOCK_ANY, LOOP_SIBLINGS, BUFFER_ANY},
    {"specialize", 2, BLOCK_ANY, LOOP_OUTERMOST, BUFFER_ANY},
    {"remap", 1, BLOCK_ANY, LOOP_GRID, BUFFER_ANY},
    {"expand", 1, BLOCK_USER, LOOP_OF_TEMPS, BUFFER_ANY},
    {"store_at", 1, BLOCK_ANY, LOOP_SHARED, BUFFER_HELD},
    {"fission", 1, BLOCK_ANY, LOOP_SHARED, BUFFER_ANY},
    {"interchange", 2, BLOCK_ANY, LOOP_ANY, BUFFER_ANY},
    {"atomic", 1, BLOCK_REDUCTION, LOOP_ANY, BUFFER_ANY},
    {"cache_read", 5, BLOCK_ANY, LOOP_ANY, BUFFER_READ},
    {"cache_hint", 1, BLOCK_ANY, LOOP_ANY, BUFFER_READ},
    {"cache_write", 4, BLOCK_ANY, LOOP_ANY, BUFFER_WRITTEN},
    {"reindex", 1, BLOCK_ANY, LOOP_ANY, BUFFER_READ},
    {"reindex_cache_read", 2, BLOCK_ANY, LOOP_ANY, BUFFER_READ},
    {"reindex_cache_write", 1, BLOCK_ANY, LOOP_ANY, BUFFER_WRITTEN},
    {"cache_inplace", 1, BLOCK_ANY, LOOP_ANY, BUFFER_UPDATED},
    {"read_at", 2, BLOCK_ANY, LOOP_ANY, BUFFER_READ},
    {"write_at", 2, BLOCK_ANY, LOOP_ANY, BUFFER_WRITTEN},
    {"set_scope", 3, BLOCK_ANY, LOOP_ANY, BUFFER_TEMP},
    {"cache_halo", 2, BLOCK_BORDERED, LOOP_ANY, BUFFER_READ},
    {"cache_index", 1, BLOCK_DIGITS, LOOP_ANY, BUFFER_ANY},
    {"storage_align", 1, BLOCK_ANY, LOOP_ANY, BUFFER_BANKED},
    {"pad", 1, BLOCK_ANY, LOOP_ANY, BUFFER_BANKED},
    {"swizzle", 1, BLOCK_ANY, LOOP_ANY, BUFFER_BANKED},
    {"transform_layout", 3, BLOCK_ANY, LOOP_ANY, BUFFER_ANY},
    {"unsafe_set_dtype", 1, BLOCK_ANY, LOOP_ANY, BUFFER_TEMP},
    {"transform_block_layout", 1, BLOCK_WHOLE, LOOP_ANY, BUFFER_ANY},
    {"rolling_buffer", 1, BLOCK_BESIDE_USER, LOOP_ANY, BUFFER_ANY},
    {"compute_at", 6, BLOCK_MAKER, LOOP_OF_USER, BUFFER_ANY},
    {"reverse_compute_at", 5, BLOCK_USER, LOOP_OF_MAKER, BUFFER_ANY},
    {"compute_inline", 2, BLOCK_MAKER, LOOP_ANY, BUFFER_ANY},
    {"reverse_compute_inline", 1, BLOCK_USER, LOOP_ANY, BUFFER_ANY},
    {"decompose_reduction", 3, BLOCK_REDUCTION, LOOP_ANY, BUFFER_ANY},
    {"rfactor", 1, BLOCK_REDUCTION, LOOP_REDUCED, BUFFER_ANY},
    {"recenter", 1, BLOCK_PARTS, LOOP_ANY, BUFFER_ANY},
    {"rolling_update", 1, BLOCK_PARTS, LOOP_ANY, BUFFER_ANY},
    {"factor_out", 1, BLOCK_SCALED, LOOP_ANY, BUFFER_ANY},
    {"split_terms", 1, BLOCK_TERMS, LOOP_ANY, BUFFER_ANY},
    {"join_updates", 1, BLOCK_AGAIN, LOOP_ANY, BUFFER_ANY},
    {"cache_factor", 1, BLOCK_EINSUM, LOOP_ANY, BUFFER_ANY},
    {"rename", 1, BLOCK_OVERWRITER, LOOP_ANY, BUFFER_ANY},
    {"compact", 1, BLOCK_ANY, LOOP_ANY, BUFFER_TEMP},
    {"mask", 1, BLOCK_RANGED, LOOP_ANY, BUFFER_ANY},
    {"privatize", 1, BLOCK_CARRIER, LOOP_REDUCED, BUFFER_ANY},
    {"carry", 2, BLOCK_RECURRENCE, LOOP_INNER, BUFFER_UPDATED},
    {"separate", 2, BLOCK_SEVERAL, LOOP_ANY, BUFFER_ANY},
    {"normalize", 2, BLOCK_ANY, LOOP_ANY, BUFFER_ANY},
    {"unite", 1, BLOCK_TWIN, LOOP_ANY, BUFFER_ANY},
    {"remove_empty", 1, BLOCK_NEVER, LOOP_INNER, BUFFER_ANY},
    {"pick", 2, BLOCK_PICKED, LOOP_INNER, BUFFER_ANY},
    {"distinct", 2, BLOCK_PLACED, LOOP_ANY, BUFFER_ANY},
    {"sort_updates", 2, BLOCK_SCATTERED, LOOP_INNER, BUFFER_ANY},
    {"scan_updates", 2, BLOCK_KEYED, LOOP_ANY, BUFFER_ANY},
    {"linear_scan", 2, BLOCK_LINEAR, LOOP_INNER, BUFFER_UPDATED},
    {"arg_reduce", 2, BLOCK_GUARDED, LOOP_INNER, BUFFER_ANY},
    {"scan_chunks", 2, BLOCK_CARRIER, LOOP_REDUCED, BUFFER_ANY},
    {"scan_steps", 2, BLOCK_BEFORE_SUM, LOOP_ANY, BUFFER_ANY},
    {"lookback", 2, BLOCK_BEFORE_SUM, LOOP_ANY, BUFFER_ANY},
    {"publish", 1, BLOCK_ANY, LOOP_ANY, BUFFER_TEMP},
    {"rotate", 1, BLOCK_ANY, LOOP_SHARED, BUFFER_ANY},
    {"pipeline", 1, BLOCK_STAGER, LOOP_SHARED, BUFFER_ANY},
    {"copy_async", 1, BLOCK_STAGER, LOOP_ANY, BUFFER_ANY},
    {"copy_bulk", 2, BLOCK_BOX, LOOP_INNER, BUFFER_ANY},
    {"multicast", 1, BLOCK_BULK, LOOP_ANY, BUFFER_ANY},
    {"specialize_warps", 2, BLOCK_BULK, LOOP_SHARED, BUFFER_ANY},
    {"ping_pong", 2, BLOCK_BULK, LOOP_SHARED, BUFFER_ANY},
    {"fuse_reduction_epilogue", 1, BLOCK_PARTIAL, LOOP_ANY, BUFFER_ANY},
    {"decompose_padding", 1, BLOCK_CHOICE, LOOP_ANY, BUFFER_ANY},
    {"tensorize", 3, BLOCK_ANY, LOOP_INNER, BUFFER_ANY},
    {"pad_einsum", 1, BLOCK_EINSUM, LOOP_ANY, BUFFER_ANY},
    {"split_product", 1, BLOCK_FEWER_DIGITS, LOOP_ANY, BUFFER_ANY},
};

Fit fit_of(const Primitive *primitive)
{
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++)
        if (strcmp(fits[i].name, primitive->name) == 0)
            return fits[i];
    return (Fit){primitive->name, !primitive->is_query, BLOCK_ANY, LOOP_ANY, BUFFER_ANY};
}

/* ---- queries --------------------------------------------------------------------------------- */

Value query(Schedule *s, const char *name, const Value *args, int n)
{
    Value result = {.kind = VALUE_NONE};
    if (!schedule_call(s, primitive_find(name),
                       &(GivenArgs){.args = args, .n = n, .span = span_none()}, &result))
        result = (Value){.kind = VALUE_LIST};
    return result;
}

Value all_blocks(Schedule *s)
{
    return query(s, "blocks", NULL, 0);
}

Value all_loops(Schedule *s, Value block)
{
    return query(s, "loops", &block, 1);
}

typedef VEC(Value) Values;

static Value as_list(Schedule *s, const Values *values)
{
    return value_list(s, values->items, values->n);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool touches_temp(Schedule *s, Stmt *block, AccessMode mode, bool on_chip)
{
    BufferSet set = flow_buffers(s, block, mode);
    for (int i = 0; i < set.n; i++)
        if (set.items[i]->role == ROLE_TEMP &&
            (!on_chip || !scope_outlives_launch(set.items[i]->scope)))
            return true;
    return false;
}

static bool writes_temp_with_axes(Schedule *s, Stmt *block)
{
    const Buffer *written = flow_written(s, block);
    return written && written->role == ROLE_TEMP && written->rank > 0;
}

static bool is_whole(const Stmt *block, const StmtPath *path)
{
    const BlockStmt *b = &block->u.block;
    int n = b->n_iters;
    for (int i = 0; i < n; i++) {
        const Stmt *loop = path->n > n ? path->items[path->n - 1 - n + i] : NULL;
        const Expr *binding = b->iters[i].binding;
        if (!loop || loop->kind != ST_FOR || binding->kind != EX_VAR ||
            binding->u.var != loop->u.loop.var)
            return false;
    }
    return !b->predicate;
}

static bool is_digits(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD)
            cursor_prune(&at);
        else if (at.expr->kind == EX_MUL || at.expr->kind == EX_DIV || at.expr->kind == EX_MOD)
            return true;
    return false;
}

static bool has_digits(Schedule *s, Stmt *block)
{
    Context *c = schedule_context(s);
    AccessList reads = access_list(c, block, NULL, ACCESS_READ);
    for (int i = 0; i < reads.n; i++)
        for (int axis = 0; axis < reads.items[i].buffer->rank; axis++)
            if (is_digits(c, reads.items[i].index[axis]))
                return true;
    return false;
}

/* A subscript wraps or is clamped. */
static bool has_borders(Schedule *s, Stmt *block)
{
    Context *c = schedule_context(s);
    AccessList reads = access_list(c, block, NULL, ACCESS_READ);
    for (int i = 0; i < reads.n; i++)
        for (int d = 0; d < reads.items[i].buffer->rank; d++) {
            ExprKind kind = reads.items[i].index[d]->kind;
            if (kind == EX_MOD || kind == EX_MIN || kind == EX_MAX)
                return true;
        }
    return false;
}

/* A loop is around the block and one that reads what it writes. */
static bool stands_beside_user(Schedule *s, Value block)
{
    Value users = query(s, "consumers", &block, 1), own = all_loops(s, block);
    for (int i = 0; i < users.u.list.n && own.u.list.n > 0; i++) {
        Value loops = all_loops(s, users.u.list.items[i]);
        if (loops.u.list.n > 0 && loops.u.list.items[0].u.id == own.u.list.items[0].u.id)
            return true;
    }
    return false;
}

/* The block copies an input to shared memory, or an output from there. */
static bool copies_box(const Stmt *store, const StmtPath *path)
{
    const Stmt *loop = path->n > 1 ? path->items[path->n - 2] : NULL;
    int64_t extent;
    if (!loop || loop->kind != ST_FOR || !loop_const_extent(&loop->u.loop, &extent))
        return false;
    const Expr *value = store->u.store.value;
    if (store->u.store.op != STORE_SET || value->kind != EX_LOAD)
        return false;
    const Buffer *to = store->u.store.buffer, *from = value->u.load.buffer;
    return (to->scope == SCOPE_SHARED && from->role == ROLE_IN) ||
           (from->scope == SCOPE_SHARED && to->role == ROLE_OUT);
}

/* The first block of its loop, which keeps a sum that the rest of the loop adds to. */
static bool keeps_sum(const Stmt *store, const Stmt *block, const StmtPath *path)
{
    const Expr *value = store->u.store.value;
    const Stmt *around = path->n > 2 ? path->items[path->n - 2] : NULL;
    return around && around->kind == ST_SEQ && around->u.seq.items[0] == block &&
           path->items[path->n - 3]->kind == ST_FOR && value->kind == EX_LOAD &&
           value->u.load.buffer->rank == 0;
}

/* No iterator of the reduction is in one of the operands. */
static bool is_scaled(const Stmt *block, const Stmt *store)
{
    const Expr *value = store->u.store.value;
    bool found = false;
    if (value->kind != EX_MUL && value->kind != EX_DIV)
        return false;
    for (int side = 0; side < 2; side++) {
        bool same = true;
        for (int i = 0; i < block->u.block.n_iters; i++)
            same = same && !(block->u.block.iters[i].kind == ITER_REDUCE &&
                             expr_uses_var(value->u.arg[side], block->u.block.iters[i].var));
        found = found || same;
    }
    return found;
}

static int count_stores(Schedule *s, const Stmt *block)
{
    int n = 0;
    if (block->u.block.init || block->u.block.instruction || block->u.block.annotations.n)
        return 0;
    for (Cursor at = cursor_stmts(schedule_context(s), block); cursor_next(&at);)
        n += at.stmt->kind == ST_STORE;
    return n;
}

static bool stores_at_count(Schedule *s, const Stmt *block)
{
    const char *why;
    Context *c = schedule_context(s);
    return !block_distinct(&block->u.block) &&
           running_count_distinct(c, schedule_kernel(s), block, &why) > 0;
}

/* Data choose where the only statement of a nest of loops stores. */
static bool is_scattered(const Stmt *block, const Stmt *store, const StmtPath *path)
{
    int first = path->n - 1;
    while (first > 0 && path->items[first - 1]->kind == ST_FOR)
        first--;
    for (int i = 0; i < first; i++)
        if (path->items[i]->kind == ST_FOR)
            return false;
    const Stmt *loop = path->n > 1 ? path->items[path->n - 2] : NULL;
    if (!loop || loop->kind != ST_FOR || !loop_counts_from_zero(&loop->u.loop) ||
        block->u.block.init || block->u.block.atomic)
        return false;
    for (int i = 0; i < store->u.store.buffer->rank; i++)
        if (expr_has_load(store->u.store.index[i]))
            return true;
    return false;
}

/* The block updates elements that data choose, in a loop from 0 in which another one reads them. */
static bool is_keyed(Schedule *s, const Stmt *block, const StmtPath *path)
{
    const Stmt *update = stmt_guarded_update(block->u.block.body);
    bool chosen = false;
    if (!update || update->kind != ST_STORE || block->u.block.init || block->u.block.atomic)
        return false;
    const Buffer *to = update->u.store.buffer;
    for (int i = 0; i < to->rank; i++)
        chosen |= expr_has_load(update->u.store.index[i]);
    for (int i = 0; i < path->n && chosen; i++)
        if (path->items[i]->kind == ST_FOR && loop_counts_from_zero(&path->items[i]->u.loop) &&
            flow_other_block(s, path->items[i], block, to, ACCESS_READ))
            return true;
    return false;
}

/* The innermost loop leads through iterators that no subscript of the store has. */
static bool stays_in_innermost(const Stmt *store, const StmtPath *path)
{
    const BlockStmt *block = &path_end(path)->u.block;
    const Stmt *loop = NULL;
    for (int i = 0; i < path->n; i++)
        loop = path->items[i]->kind == ST_FOR ? path->items[i] : loop;
    for (int i = 0; loop && i < block->n_iters; i++)
        if (expr_uses_var(block->iters[i].binding, loop->u.loop.var) &&
            exprs_use_var(store->u.store.index, store->u.store.buffer->rank, block->iters[i].var))
            return false;
    return loop != NULL;
}

/* The condition compares what the store writes with what is there. */
static bool compares(const Expr *cond, const StoreStmt *store)
{
    if (op_info(cond->kind)->class != OP_COMPARE || cond->kind == EX_EQ || cond->kind == EX_NE)
        return false;
    for (int side = 0; side < 2; side++)
        if (expr_is_load(cond->u.arg[side], store->buffer) &&
            expr_equal(cond->u.arg[!side], store->value))
            return true;
    return false;
}

static bool is_guarded(Context *c, const StmtPath *path)
{
    GuardedStores g;
    const BlockStmt *block = &path_end(path)->u.block;
    if (block->init || block->annotations.n || block->predicate ||
        !guarded_stores(c, block->body, &g) || !stays_in_innermost(g.stores.items[0], path))
        return false;
    for (int i = 0; i < g.conds.n; i++)
        for (int k = 0; k < g.stores.n; k++)
            if (compares(g.conds.items[i], &g.stores.items[k]->u.store))
                return true;
    return false;
}

/* `e` is the iterator that the innermost loop gives its values, as a number of any type. */
static bool is_innermost(const BlockStmt *block, const Expr *e, const StmtPath *path)
{
    const Stmt *loop = path->n > 1 ? path->items[path->n - 2] : NULL;
    e = e->kind == EX_CAST ? e->u.arg[0] : e;
    for (int i = 0; loop && loop->kind == ST_FOR && i < block->n_iters; i++)
        if (expr_is_var(e, block->iters[i].var) &&
            expr_is_var(block->iters[i].binding, loop->u.loop.var))
            return true;
    return false;
}

static bool is_picked(const StmtPath *path)
{
    const BlockStmt *block = &path_end(path)->u.block;
    const Stmt *s = block->body;
    if (block->init || s->kind != ST_IF || s->u.cond.otherwise)
        return false;
    const Expr *cond = s->u.cond.cond;
    while (cond->kind == EX_AND)
        cond = cond->u.arg[0];
    return cond->kind == EX_EQ &&
           (is_innermost(block, cond->u.arg[0], path) || is_innermost(block, cond->u.arg[1], path));
}

static bool is_linear(Context *c, const Stmt *store, const StmtPath *path)
{
    LinearForm form;
    const BlockStmt *block = &path_end(path)->u.block;
    Expr *value = stored_value(c, store);
    return store->u.store.op == STORE_SET && !block->init && !block->atomic &&
           expr_reads(value, store->u.store.buffer) && stays_in_innermost(store, path) &&
           linear_form(c, value, store->u.store.buffer, &form);
}

static bool adds_terms(const Stmt *store)
{
    const StoreStmt *s = &store->u.store;
    return s->op == STORE_ADD && type_is_float(s->buffer->type) &&
           (s->value->kind == EX_ADD || s->value->kind == EX_SUB);
}

/* A block behind the one with this store in its sequence updates the same buffer. */
static bool is_updated_again(Schedule *s, const Stmt *store, const StmtPath *path)
{
    const Stmt *seq = path->n > 1 ? path->items[path->n - 2] : NULL;
    bool behind = false, again = false;
    for (int i = 0; seq && seq->kind == ST_SEQ && i < seq->u.seq.n; i++) {
        const Stmt *item = seq->u.seq.items[i];
        const Stmt *other =
            item->kind == ST_BLOCK ? flow_single_store(schedule_context(s), item) : NULL;
        again |= behind && other && other->u.store.buffer->id == store->u.store.buffer->id &&
                 other->u.store.op == store->u.store.op;
        behind |= item == path_end(path);
    }
    return again && store_updates(store->u.store.op);
}

static bool domains_differ(Context *c, const BlockStmt *a, const BlockStmt *b)
{
    bool differ = a->n_iters != b->n_iters || a->predicate || b->predicate;
    for (int i = 0; i < a->n_iters && !differ; i++)
        differ = strcmp(expr_text(c, a->iters[i].lo), expr_text(c, b->iters[i].lo)) != 0 ||
                 strcmp(expr_text(c, a->iters[i].hi), expr_text(c, b->iters[i].hi)) != 0;
    return differ;
}

/* The block behind the one with this store updates the same buffer, in other iterations. */
static bool has_twin(Schedule *s, const Stmt *store, const StmtPath *path)
{
    Context *c = schedule_context(s);
    const Stmt *seq = path->n > 1 ? path->items[path->n - 2] : NULL;
    const Stmt *block = path_end(path), *next = NULL;
    for (int i = 0; seq && seq->kind == ST_SEQ && i + 1 < seq->u.seq.n; i++)
        next = seq->u.seq.items[i] == block ? seq->u.seq.items[i + 1] : next;
    const Stmt *other = next && next->kind == ST_BLOCK ? flow_single_store(c, next) : NULL;
    return other && other->u.store.buffer->id == store->u.store.buffer->id &&
           other->u.store.op == store->u.store.op &&
           domains_differ(c, &block->u.block, &next->u.block);
}

/* The last of several blocks that write a temp. */
static bool overwrites(Schedule *s, const Stmt *block, const Stmt *store)
{
    const Buffer *buffer = store->u.store.buffer;
    BlockList writers = flow_blocks(s, schedule_kernel(s)->body, buffer, ACCESS_WRITE);
    return buffer->role == ROLE_TEMP && writers.n > 1 && writers.items[writers.n - 1] == block;
}

/* An iterator of a reduction, or of what sets a temp, is a loop with another range than that. */
static bool is_ranged(const BlockStmt *block, const Stmt *store, const StmtPath *path)
{
    bool sets = store->u.store.op == STORE_SET && store->u.store.buffer->role == ROLE_TEMP;
    for (int i = 0; i < path->n && (sets || block->init); i++)
        for (int k = 0; path->items[i]->kind == ST_FOR && k < block->n_iters; k++)
            if (block->iters[k].kind == (sets ? ITER_SPATIAL : ITER_REDUCE) &&
                expr_is_var(block->iters[k].binding, path->items[i]->u.loop.var) &&
                expr_of_sizes(path->items[i]->u.loop.hi) &&
                !expr_equal(block->iters[k].hi, path->items[i]->u.loop.hi))
                return true;
    return false;
}

static bool block_suits(Schedule *s, BlockFit fit, Value handle)
{
    StmtPath path = {0};
    Stmt *block = sched_node(s, &handle, &path);
    const Stmt *store = flow_single_store(schedule_context(s), block);
    switch (fit) {
    case BLOCK_REDUCTION: return block->u.block.init != NULL;
    case BLOCK_CARRIER: return stmt_is_reduction(&block->u.block) && !block->u.block.init;
    case BLOCK_PARTIAL: return block->u.block.init && touches_temp(s, block, ACCESS_WRITE, false);
    case BLOCK_PARTS: return block->u.block.init && writes_temp_with_axes(s, block);
    case BLOCK_MAKER: return touches_temp(s, block, ACCESS_WRITE, false);
    case BLOCK_USER: return touches_temp(s, block, ACCESS_READ, false);
    case BLOCK_STAGER: return touches_temp(s, block, ACCESS_WRITE, true);
    case BLOCK_BOX: return store && copies_box(store, &path);
    case BLOCK_BULK: return annotation_find(block->u.block.annotations, ANNOTATION_COPY_BULK);
    case BLOCK_BESIDE_USER:
        return touches_temp(s, block, ACCESS_WRITE, true) && stands_beside_user(s, handle);
    case BLOCK_WHOLE: return is_whole(block, &path);
    case BLOCK_FEWER_DIGITS:
        return store && store->u.store.buffer->digits.products && store->u.store.op == STORE_ADD &&
               store->u.store.value->kind == EX_MUL;
    case BLOCK_SCALED: return block->u.block.init && store && is_scaled(block, store);
    case BLOCK_TERMS: return store && adds_terms(store);
    case BLOCK_OVERWRITER: return store && overwrites(s, block, store);
    case BLOCK_RANGED: return store && is_ranged(&block->u.block, store, &path);
    case BLOCK_AGAIN: return store && is_updated_again(s, store, &path);
    case BLOCK_TWIN: return store && has_twin(s, store, &path);
    case BLOCK_NEVER: return dependence_never_runs(schedule_context(s), s->kernel, block);
    case BLOCK_EINSUM: return store && store->u.store.op != STORE_SET && is_whole(block, &path);
    case BLOCK_DIGITS: return has_digits(s, block);
    case BLOCK_BORDERED: return has_borders(s, block);
    case BLOCK_RECURRENCE: return store && flow_reads_other_element(schedule_context(s), store);
    case BLOCK_LINEAR: return store && is_linear(schedule_context(s), store, &path);
    case BLOCK_BEFORE_SUM: return store && keeps_sum(store, block, &path);
    case BLOCK_SEVERAL: return count_stores(s, block) > 1;
    case BLOCK_SCATTERED: return store && is_scattered(block, store, &path);
    case BLOCK_KEYED: return is_keyed(s, block, &path);
    case BLOCK_PLACED: return stores_at_count(s, block);
    case BLOCK_GUARDED: return is_guarded(schedule_context(s), &path);
    case BLOCK_PICKED: return is_picked(&path);
    case BLOCK_CHOICE: return store && store->u.store.value->kind == EX_SELECT;
    default: return true;
    }
}

Value fit_blocks(Schedule *s, BlockFit fit)
{
    Value all = all_blocks(s);
    Values out = {0};
    for (int i = 0; i < all.u.list.n; i++)
        if (block_suits(s, fit, all.u.list.items[i]))
            VEC_PUSH(schedule_context(s)->arena, &out, all.u.list.items[i]);
    return as_list(s, &out);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static void add_loops(Schedule *s, Value block, Values *out)
{
    Value loops = all_loops(s, block);
    for (int i = 0; i < loops.u.list.n; i++)
        VEC_PUSH(schedule_context(s)->arena, out, loops.u.list.items[i]);
}

static void add_related(Schedule *s, const char *relation, Value block, Values *out)
{
    Value blocks = query(s, relation, &block, 1);
    for (int i = 0; i < blocks.u.list.n; i++)
        add_loops(s, blocks.u.list.items[i], out);
}

static void add_grid(Schedule *s, Value block, Values *out)
{
    StmtPath path = {0};
    sched_node(s, &block, &path);
    for (int i = 0; i < path.n; i++) {
        const Stmt *loop = path.items[i];
        if (loop->kind == ST_FOR && loop->u.loop.kind == LOOP_BIND &&
            loop->u.loop.axis == (out->n ? AXIS_BLOCK_X : AXIS_BLOCK_Y))
            VEC_PUSH(schedule_context(s)->arena, out, value_loop(loop));
    }
}

static void add_reduced(Schedule *s, Value handle, Values *out)
{
    StmtPath path = {0};
    const BlockStmt *block = &sched_node(s, &handle, &path)->u.block;
    for (int i = 0; i < path.n; i++)
        for (int k = 0; k < block->n_iters && path.items[i]->kind == ST_FOR; k++)
            if (block->iters[k].kind == ITER_REDUCE &&
                expr_uses_var(block->iters[k].binding, path.items[i]->u.loop.var)) {
                VEC_PUSH(schedule_context(s)->arena, out, value_loop(path.items[i]));
                break;
            }
}

/* Loops that the block has in common with others, or where it parts from them: that and the
 * other's. */
static void add_common(Schedule *s, LoopFit fit, Value block, Values *out)
{
    Arena *arena = schedule_context(s)->arena;
    Value blocks = all_blocks(s), own = all_loops(s, block);
    int most = 0;
    for (int i = 0; i < blocks.u.list.n; i++) {
        Value other = blocks.u.list.items[i], loops = all_loops(s, other);
        int n = own.u.list.n < loops.u.list.n ? own.u.list.n : loops.u.list.n, same = 0;
        if (other.u.id == block.u.id)
            continue;
        while (same < n && own.u.list.items[same].u.id == loops.u.list.items[same].u.id)
            same++;
        most = same > most ? same : most;
        if (fit == LOOP_SIBLINGS && same < n) {
            VEC_PUSH(arena, out, own.u.list.items[same]);
            VEC_PUSH(arena, out, loops.u.list.items[same]);
        }
    }
    for (int i = 0; fit == LOOP_SHARED && i < most; i++)
        VEC_PUSH(arena, out, own.u.list.items[i]);
}

/* The innermost one, if it is serial. */
static void keep_inner(Schedule *s, Values *loops)
{
    if (loops->n == 0)
        return;
    Value inner = loops->items[loops->n - 1];
    loops->n = 0;
    if (sched_node(s, &inner, NULL)->u.loop.kind == LOOP_SERIAL)
        loops->items[loops->n++] = inner;
}

/* Those that declare temporaries. */
static void keep_declaring(Schedule *s, Values *loops)
{
    int n = 0;
    for (int i = 0; i < loops->n; i++) {
        const Stmt *body = sched_node(s, &loops->items[i], NULL)->u.loop.body;
        bool declares = false;
        for (int k = 0; body->kind == ST_SEQ && k < body->u.seq.n; k++)
            declares |= body->u.seq.items[k]->kind == ST_TEMP;
        if (declares)
            loops->items[n++] = loops->items[i];
    }
    loops->n = n;
}

Value fit_loops(Schedule *s, LoopFit fit, Value block)
{
    Values out = {0};
    switch (fit) {
    case LOOP_OF_USER: add_related(s, "consumers", block, &out); break;
    case LOOP_OF_MAKER: add_related(s, "producers", block, &out); break;
    case LOOP_GRID: add_grid(s, block, &out); break;
    case LOOP_REDUCED: add_reduced(s, block, &out); break;
    case LOOP_SHARED:
    case LOOP_SIBLINGS: add_common(s, fit, block, &out); break;
    default: add_loops(s, block, &out); break;
    }
    if (fit == LOOP_OUTERMOST && out.n > 1)
        out.n = 1;
    if (fit == LOOP_INNER)
        keep_inner(s, &out);
    if (fit == LOOP_OF_TEMPS)
        keep_declaring(s, &out);
    return as_list(s, &out);
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* A temp that only the outermost loop around the block accesses, and does not declare. */
static bool is_held(Schedule *s, const Buffer *temp, const Stmt *block)
{
    Context *c = schedule_context(s);
    StmtPath path = {0};
    if (temp->role != ROLE_TEMP || temp->scope != SCOPE_GLOBAL)
        return false;
    state_path(s, block->u.block.id, &path);
    for (int i = 0; i < path.n; i++)
        if (path.items[i]->kind == ST_FOR) {
            int n = access_list(c, path.items[i], temp, ACCESS_ANY).n;
            return n > 0 && !stmt_declares(c, path.items[i], temp) &&
                   n == access_list(c, s->kernel->body, temp, ACCESS_ANY).n;
        }
    return false;
}

static bool buffer_suits(Schedule *s, BufferFit fit, const Buffer *buffer, Stmt *block)
{
    Context *c = schedule_context(s);
    switch (fit) {
    case BUFFER_TEMP: return buffer->role == ROLE_TEMP;
    case BUFFER_HELD: return is_held(s, buffer, block);
    case BUFFER_BANKED: return buffer->role == ROLE_TEMP && buffer->scope == SCOPE_SHARED;
    case BUFFER_READ: return stmt_accesses(c, block, buffer, ACCESS_READ);
    case BUFFER_WRITTEN: return stmt_accesses(c, block, buffer, ACCESS_WRITE);
    case BUFFER_UPDATED:
        return stmt_accesses(c, block, buffer, ACCESS_WRITE) &&
               stmt_accesses(c, block, buffer, ACCESS_READ);
    default: return true;
    }
}

Value fit_buffers(Schedule *s, BufferFit fit, Value block)
{
    Stmt *stmt = sched_node(s, &block, NULL);
    Values out = {0};
    for (int i = 0; i < s->handles.n; i++) {
        const Handle *h = &s->handles.items[i];
        Value value = {.kind = VALUE_BUFFER};
        value.u.id = s->first_id + (uint32_t)i;
        if (h->kind == HANDLE_BUFFER && h->alive && buffer_suits(s, fit, h->buffer, stmt))
            VEC_PUSH(schedule_context(s)->arena, &out, value);
    }
    return as_list(s, &out);
}
