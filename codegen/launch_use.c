/* launch_use.c - see launch_use.h. */
#include "codegen/launch_use.h"

#include "ir/copies/roles.h"

enum { SHARED_STATIC_LIMIT = 48 * 1024, SHARED_ALIGN = 16, MBARRIER_BYTES = 8 };

typedef VEC(const Var *) ConstVarList;
typedef VEC(uint32_t) BufferIds;

typedef struct {
    Context *c;
    LaunchUse *use;
    ConstVarList inside; /* variables defined in the launch */
} Collector;

static void note_constant(Collector *k, Buffer *b)
{
    for (int i = 0; i < k->use->constants.n; i++)
        if (k->use->constants.items[i]->id == b->id)
            return;
    VEC_PUSH(k->c->arena, &k->use->constants, b);
}

static void note_buffer(Collector *k, Buffer *b)
{
    if (b->scope == SCOPE_CONSTANT)
        note_constant(k, b);
    if (b->scope != SCOPE_GLOBAL)
        return;
    for (int i = 0; i < k->use->buffers.n; i++)
        if (k->use->buffers.items[i]->id == b->id)
            return;
    VEC_PUSH(k->c->arena, &k->use->buffers, b);
}

static void note_value(Collector *k, Var *var)
{
    for (int i = 0; i < k->inside.n; i++)
        if (k->inside.items[i] == var)
            return;
    for (int i = 0; i < k->use->values.n; i++)
        if (k->use->values.items[i] == var)
            return;
    VEC_PUSH(k->c->arena, &k->use->values, var);
}

static void collect_expr(Collector *k, const Expr *e)
{
    if (e->kind == EX_LOAD)
        note_buffer(k, e->u.load.buffer);
    if (e->kind == EX_VAR)
        note_value(k, e->u.var);
}

static void collect_stmt(Collector *k, const Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: VEC_PUSH(k->c->arena, &k->inside, s->u.loop.var); break;
    case ST_LET: VEC_PUSH(k->c->arena, &k->inside, s->u.let.var); break;
    case ST_STORE:
        note_buffer(k, s->u.store.buffer);
        k->use->threads_copy |= s->u.store.op == STORE_ASYNC;
        break;
    case ST_TEMP:
        if (scope_is_shared(s->u.temp->scope))
            VEC_PUSH(k->c->arena, &k->use->shared, buffer_of_block(k->c, s->u.temp));
        break;
    case ST_BREAK: break;
    case ST_BARRIER: k->use->barriers += sync_meets(s->u.barrier.kind); break;
    default: break;
    }
}

/* Sizes and scalars, as they are declared, then the variables of the host in the order of the
 * text. */
static bool value_is_before(const ConstVarList *host, const Var *a, const Var *b)
{
    bool a_host = a->kind == VAR_LOOP || a->kind == VAR_LET;
    bool b_host = b->kind == VAR_LOOP || b->kind == VAR_LET;
    if (!a_host || !b_host)
        return a_host == b_host ? a->id < b->id : b_host;
    int i = 0;
    while (i < host->n && host->items[i] != a && host->items[i] != b)
        i++;
    return a != b && i < host->n && host->items[i] == a;
}

/* Parameters first, in their order, then temps. */
static void sort_arguments(const Kernel *kernel, const ConstVarList *host, LaunchUse *use)
{
    int done = 0;
    for (int p = 0; p < kernel->n_params; p++)
        for (int i = done; i < use->buffers.n; i++)
            if (use->buffers.items[i]->id ==
                (kernel->params[p].buffer ? kernel->params[p].buffer->id : 0)) {
                Buffer *b = use->buffers.items[i];
                for (int j = i; j > done; j--)
                    use->buffers.items[j] = use->buffers.items[j - 1];
                use->buffers.items[done++] = b;
                break;
            }
    Var **values = use->values.items;
    for (int i = 1; i < use->values.n; i++)
        for (int j = i; j > 0 && value_is_before(host, values[j], values[j - 1]); j--) {
            Var *v = values[j];
            values[j] = values[j - 1];
            values[j - 1] = v;
        }
}

static int64_t round_up(int64_t value, int64_t factor)
{
    return (value + factor - 1) / factor * factor;
}

/* What the operands of the instruction need of the arrays that they lie in. */
static void align_operands(LaunchUse *use, const Stmt *s)
{
    const Instruction *of = s->u.instruction.of;
    for (int i = 0; i < of->n_elements; i++) {
        const Operand *operand = &of->operands[of->elements[i].operand];
        const Buffer *buffer = s->u.instruction.elements[i]->u.load.buffer;
        for (int k = 0; k < use->shared.n; k++)
            if (use->shared.items[k]->id == buffer->id &&
                use->shared_align.items[k] < operand->align)
                use->shared_align.items[k] = operand->align;
    }
}

/* ---- the asynchronous proxy ------------------------------------------------------------------ */

static bool has_buffer(const BufferIds *ids, const Buffer *b)
{
    for (int i = 0; i < ids->n; i++)
        if (ids->items[i] == b->id)
            return true;
    return false;
}

static bool is_asynchronous(const Instruction *of)
{
    bool any = of->bulk != BULK_NONE;
    for (int i = 0; i < of->n_operands; i++)
        any |= of->operands[i].proxy == PROXY_ASYNC;
    return any;
}

/* The buffers that instructions access through the proxy, and those of them that they write. */
typedef struct {
    BufferIds accessed, written;
} AsyncBuffers;

static AsyncBuffers find_async(Context *c, const LaunchUse *use)
{
    AsyncBuffers found = {0};
    for (Cursor at = cursor_stmts(c, use->launch->u.launch.body); cursor_next(&at);) {
        if (at.stmt->kind != ST_INSTRUCTION)
            continue;
        const Instruction *of = at.stmt->u.instruction.of;
        for (int i = 0; i < of->n_elements; i++) {
            const Buffer *b = at.stmt->u.instruction.elements[i]->u.load.buffer;
            if (of->operands[of->elements[i].operand].proxy == PROXY_ASYNC || of->bulk)
                VEC_PUSH(c->arena, &found.accessed, b->id);
            if (of->bulk && i == 0)
                VEC_PUSH(c->arena, &found.written, b->id);
        }
    }
    return found;
}

/* Threads write what the proxy accesses, or read what it writes. */
static bool needs_fences(Context *c, const LaunchUse *use, const BufferIds *accessed,
                         const BufferIds *written)
{
    for (Cursor at = cursor_stmt(c, use->launch->u.launch.body); cursor_next(&at);) {
        if (at.stmt && at.stmt->kind == ST_INSTRUCTION &&
            is_asynchronous(at.stmt->u.instruction.of))
            cursor_prune(&at);
        else if (at.stmt && at.stmt->kind == ST_STORE &&
                 has_buffer(accessed, at.stmt->u.store.buffer))
            return true;
        else if (at.expr && at.expr->kind == EX_LOAD && has_buffer(written, at.expr->u.load.buffer))
            return true;
    }
    return false;
}

/* ---- asynchronous instructions --------------------------------------------------------------- */

static void find_in_flight(Context *c, LaunchUse *use)
{
    BufferIds known = {0};
    for (Cursor at = cursor_stmts(c, use->launch->u.launch.body); cursor_next(&at);) {
        const Instruction *of = at.stmt->kind == ST_INSTRUCTION ? at.stmt->u.instruction.of : NULL;
        for (int i = 0; of && of->commit && i < of->n_elements; i++) {
            const Buffer *b = at.stmt->u.instruction.elements[i]->u.load.buffer;
            bool written = of->operands[of->elements[i].operand].buffer->role != ROLE_IN;
            if (!written || has_buffer(&known, b))
                continue;
            VEC_PUSH(c->arena, &known, b->id);
            VEC_PUSH(c->arena, &use->in_flight, b);
        }
    }
}

/* ---- shared memory --------------------------------------------------------------------------- */

static void align_shared(Context *c, LaunchUse *use)
{
    for (int i = 0; i < use->shared.n; i++)
        VEC_PUSH(c->arena, &use->shared_align, SHARED_ALIGN);
    for (Cursor at = cursor_stmts(c, use->launch->u.launch.body); cursor_next(&at);)
        if (at.stmt->kind == ST_INSTRUCTION)
            align_operands(use, at.stmt);
}

int launch_mbarriers(const LaunchUse *use)
{
    return use->roles ? (use->turns + 1) * use->groups : use->groups;
}

static void place_shared(Context *c, LaunchUse *use)
{
    align_shared(c, use);
    for (int i = 0; i < use->shared.n; i++) {
        const Buffer *b = use->shared.items[i];
        int64_t elements, *strides = ARENA_ARRAY(c->arena, int64_t, b->rank + 1);
        if (!buffer_strides(b, strides, &elements))
            TIRC_BUG(c, "shared buffer '%s' has no literal size", b->name);
        int64_t offset = round_up(use->shared_bytes, use->shared_align.items[i]);
        VEC_PUSH(c->arena, &use->shared_offset, offset);
        use->shared_bytes = offset + round_up(elements * type_bytes(b->type), SHARED_ALIGN);
    }
    use->groups_offset = round_up(use->shared_bytes, MBARRIER_BYTES);
    if (use->groups)
        use->shared_bytes = use->groups_offset + launch_mbarriers(use) * MBARRIER_BYTES;
    use->shared_is_dynamic = use->shared_bytes > SHARED_STATIC_LIMIT;
}

int launch_box(const LaunchUse *use, const Stmt *copy)
{
    BulkBox box = bulk_box(copy);
    for (int i = 0; i < use->boxes.n; i++)
        if (bulk_box_equal(&use->boxes.items[i], &box))
            return i;
    return -1;
}

/* The box of a bulk copy, and what its coordinates use: the tensor is no argument of its own. */
static void collect_bulk_copy(Collector *k, const Stmt *copy)
{
    if (launch_box(k->use, copy) < 0)
        VEC_PUSH(k->c->arena, &k->use->boxes, bulk_box(copy));
    for (int i = 0; i < 2; i++) {
        const Expr *element = copy->u.instruction.elements[i];
        for (int d = 0; d < element->u.load.buffer->rank; d++)
            for (Cursor at = cursor_expr(k->c, element->u.load.index[d]); cursor_next(&at);)
                collect_expr(k, at.expr);
    }
}

/* Some bulk copies go to shared memory. */
static bool fetches_boxes(Context *c, const Stmt *launch)
{
    for (Cursor at = cursor_stmts(c, launch->u.launch.body); cursor_next(&at);)
        if (stmt_is_bulk_copy(at.stmt) && !at.stmt->u.instruction.of->stores)
            return true;
    return false;
}

static LaunchUse use_of(Context *c, const Stmt *launch)
{
    LaunchUse use = {.launch = launch};
    Collector k = {.c = c, .use = &use};
    for (Cursor at = cursor_stmt(c, launch->u.launch.body); cursor_next(&at);)
        if (at.stmt && stmt_is_bulk_copy(at.stmt)) {
            collect_bulk_copy(&k, at.stmt);
            cursor_prune(&at);
        } else if (at.stmt) {
            collect_stmt(&k, at.stmt);
        } else {
            collect_expr(&k, at.expr);
        }
    bool fetches = fetches_boxes(c, launch);
    AsyncBuffers async = find_async(c, &use);
    use.threads_copy |= !fetches;
    use.roles = launch_roles(launch);
    use.turns = (int)roles_turns(launch);
    use.groups = fetches ? copy_groups(launch->u.launch.body) : 0;
    use.fences_barriers = needs_fences(c, &use, &async.accessed, &async.written);
    use.fences_releases = needs_fences(c, &use, &async.written, &async.written);
    find_in_flight(c, &use);
    place_shared(c, &use);
    return use;
}

void launch_uses(Context *c, const Kernel *lowered, LaunchUseList *out)
{
    ConstVarList host = {0}; /* variables defined outside launches so far */
    for (Cursor at = cursor_stmts(c, lowered->body); cursor_next(&at);) {
        if (at.stmt->kind == ST_FOR)
            VEC_PUSH(c->arena, &host, at.stmt->u.loop.var);
        if (at.stmt->kind == ST_LET)
            VEC_PUSH(c->arena, &host, at.stmt->u.let.var);
        if (at.stmt->kind != ST_LAUNCH)
            continue;
        LaunchUse use = use_of(c, at.stmt);
        sort_arguments(lowered, &host, &use);
        VEC_PUSH(c->arena, out, use);
        cursor_prune(&at);
    }
}

DType launch_value_type(Context *c, const LaunchUse *use, const Var *value)
{
    if (value->type != DT_INDEX)
        return value->type;
    for (Cursor at = cursor_stmt(c, use->launch->u.launch.body); cursor_next(&at);) {
        const Expr *e = at.expr;
        if (e && e->kind == EX_CAST && e->type == DT_I64 && e->u.arg[0]->kind == EX_VAR)
            cursor_prune(&at);
        else if (e && expr_is_var(e, value))
            return DT_INDEX;
    }
    return DT_I64;
}

bool launch_writes(Context *c, const LaunchUse *use, const Buffer *buffer)
{
    for (Cursor at = cursor_stmts(c, use->launch->u.launch.body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && at.stmt->u.store.buffer->id == buffer->id)
            return true;
    return false;
}

bool launch_exchanges(Context *c, const LaunchUse *use, const Buffer *buffer)
{
    bool reads = false, writes = false;
    for (Cursor at = cursor_stmt(c, use->launch->u.launch.body); cursor_next(&at);) {
        const StoreStmt *store = at.stmt && at.stmt->kind == ST_STORE ? &at.stmt->u.store : NULL;
        if (at.expr && at.expr->kind == EX_LOAD)
            reads |= at.expr->u.load.buffer->id == buffer->id;
        if (store && store->buffer->id == buffer->id) {
            reads |= store_updates(store->op) && !store->atomic;
            writes = true;
        }
    }
    return use->barriers && reads && writes;
}

/* A question about a launch: where may it have elements of `buffer` in registers? */
typedef struct {
    Context *c;
    Stmt *body;
    const Buffer *buffer;
} ReadsOf;

static bool reads_below(Cursor at, const Buffer *buffer)
{
    while (cursor_next(&at)) {
        const StoreStmt *store = at.stmt && at.stmt->kind == ST_STORE ? &at.stmt->u.store : NULL;
        if ((at.expr && expr_is_load(at.expr, buffer)) ||
            (store && store->buffer->id == buffer->id && store_updates(store->op)))
            return true;
    }
    return false;
}

/* An element as it is, or converted. */
static bool is_element(const Expr *e, const Buffer *buffer)
{
    while (e->kind == EX_CAST)
        e = e->u.arg[0];
    return expr_is_load(e, buffer);
}

static bool stmt_sets(const Stmt *s, const Buffer *buffer)
{
    return s->kind == ST_STORE && s->u.store.op == STORE_SET && s->u.store.buffer->id == buffer->id;
}

/* `e` is a let or an element of a local buffer that may hold one of the buffer. */
static bool is_value_of(const ReadsOf *r, const Expr *e)
{
    const Buffer *local = e->kind == EX_LOAD ? e->u.load.buffer : NULL;
    if (e->kind != EX_VAR && (!local || local->scope != SCOPE_LOCAL))
        return false;
    for (Cursor at = cursor_stmts(r->c, r->body); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        bool gives = local ? stmt_sets(s, local) : s->kind == ST_LET && s->u.let.var == e->u.var;
        Expr *value = s->kind == ST_STORE ? s->u.store.value : s->u.let.value;
        if (gives && is_element(value, r->buffer))
            return true;
    }
    return false;
}

static bool has_value(const ReadsOf *r, Expr *e)
{
    for (Cursor at = cursor_expr(r->c, e); cursor_next(&at);)
        if (expr_is_load(at.expr, r->buffer) || is_value_of(r, at.expr))
            return true;
    return false;
}

/* Of the arms of a choice, or the branches of a condition, one reads x, and the other y. */
static bool branches_read(const Cursor *at, const ReadsOf *x, const ReadsOf *y)
{
    if (at->expr && at->expr->kind == EX_SELECT) {
        Expr *const *arm = at->expr->u.arg;
        return (has_value(x, arm[1]) && has_value(y, arm[2])) ||
               (has_value(y, arm[1]) && has_value(x, arm[2]));
    }
    if (!at->stmt || at->stmt->kind != ST_IF || !at->stmt->u.cond.otherwise)
        return false;
    Cursor then = cursor_stmt(x->c, at->stmt->u.cond.then),
           otherwise = cursor_stmt(x->c, at->stmt->u.cond.otherwise);
    return (reads_below(then, x->buffer) && reads_below(otherwise, y->buffer)) ||
           (reads_below(then, y->buffer) && reads_below(otherwise, x->buffer));
}

/* A local element holds one of x, or one of y. */
static bool local_gets_either(const ReadsOf *x, const ReadsOf *y)
{
    for (Cursor at = cursor_stmts(x->c, x->body); cursor_next(&at);) {
        const StoreStmt *store = at.stmt->kind == ST_STORE ? &at.stmt->u.store : NULL;
        if (store && store->buffer->scope == SCOPE_LOCAL && store->op == STORE_SET &&
            is_element(store->value, x->buffer) &&
            is_value_of(y, expr_load(x->c, (Buffer *)store->buffer, store->index, span_none())))
            return true;
    }
    return false;
}

bool launch_reads_either(Context *c, const LaunchUse *use, const Buffer *buffer)
{
    ReadsOf x = {c, use->launch->u.launch.body, buffer};
    if (launch_writes(c, use, buffer))
        return false;
    for (int i = 0; i < use->buffers.n; i++) {
        ReadsOf y = {c, x.body, use->buffers.items[i]};
        if (y.buffer->type != buffer->type || !launch_writes(c, use, y.buffer) ||
            !reads_below(cursor_stmt(c, x.body), y.buffer))
            continue;
        if (local_gets_either(&x, &y))
            return true;
        for (Cursor at = cursor_stmt(c, x.body); cursor_next(&at);)
            if (branches_read(&at, &x, &y))
                return true;
    }
    return false;
}
