/* stmt.c - Translates statements for the virtual machine.
 *
 * Loops of every kind run sequentially. Inside a launch the threads are lanes, so there are no
 * bound loops; outside, a bound loop is a plain loop. This gives programs a meaning at every
 * level. */
#include "codegen/module/code.h"
#include "ir/implied.h"

/* ---- stores -------------------------------------------------------------------------------- */

static VmOp combine_op(StoreOp op)
{
    switch (op) {
    case STORE_SET:
    case STORE_ASYNC: return VM_MOVE;
    case STORE_ADD: return VM_ADD;
    case STORE_MUL: return VM_MUL;
    case STORE_MIN: return VM_MIN;
    case STORE_MAX: return VM_MAX;
    case STORE_AND: return VM_AND;
    case STORE_OR: return VM_OR;
    case STORE_XOR: return VM_XOR;
    }
    return VM_STOP;
}

/* old op value, in a temporary; gives both operands back. */
static Value combined(VmCoder *k, const StoreStmt *s, int number, Value at, Value value)
{
    VmType type = vm_type_of(s->buffer->type);
    bool local = k->buffers.items[number].space == VM_LOCAL;
    Value old = coder_temporary(k, type, coder_uniform(k, at.reg) && !local);
    coder_emit(k, (VmInst){.op = VM_LOAD, .type = type, .d = old.reg, .a = at.reg, .c = number});
    bool uniform = coder_uniform(k, old.reg) && coder_uniform(k, value.reg);
    coder_release(k, old);
    coder_release(k, value);
    Value new = coder_temporary(k, type, uniform);
    coder_combine(k, combine_op(s->op), s->buffer->type,
                  (CombineRegisters){.d = new.reg, .a = old.reg, .b = value.reg});
    return new;
}

/* `sub` of STORE. */
static int way_of(const VmCoder *k, const StoreStmt *s)
{
    bool awaited = k->inside && s->buffer->type == DT_U64 && s->buffer->scope == SCOPE_GLOBAL &&
                   stmt_awaits(k->c, k->inside->body, s->buffer);
    return s->op != STORE_ASYNC ? (awaited ? VM_PUBLISHED : 0)
           : k->multicast       ? VM_MULTICAST
                                : VM_ASYNC;
}

static void store(VmCoder *k, const Stmt *s)
{
    const Buffer *buffer = s->u.store.buffer;
    VmType type = vm_type_of(buffer->type);
    Value value = coder_expr(k, s->u.store.value);
    int begun = coder_begin_access(k, buffer, s->u.store.axes);
    Value at = coder_element(k, buffer, s->u.store.index);
    coder_end_access(k, begun);
    int number = coder_buffer(k, buffer);
    if (s->u.store.atomic) {
        coder_emit(k, (VmInst){.op = VM_ATOMIC,
                               .type = type,
                               .sub = combine_op(s->u.store.op),
                               .a = at.reg,
                               .b = value.reg,
                               .c = number});
        if (type_is_float(buffer->type) && k->buffers.items[number].space == VM_GLOBAL)
            k->f->ordered = true;
    } else {
        if (store_updates(s->u.store.op))
            value = combined(k, &s->u.store, number, at, value);
        coder_emit(k, (VmInst){.op = VM_STORE,
                               .type = type,
                               .sub = (uint8_t)way_of(k, &s->u.store),
                               .a = at.reg,
                               .b = value.reg,
                               .c = number});
    }
    coder_release(k, at);
    coder_release(k, value);
}

/* ---- control ------------------------------------------------------------------------------- */

/* Conditions that are open, and registers to be given back behind them. */
typedef struct {
    VEC(int) open;
    VEC(Value) held;
} GuardScope;

static void guard(VmCoder *k, GuardScope *scope, Value cond)
{
    VEC_PUSH(k->c->arena, &scope->open,
             coder_emit(k, (VmInst){.op = VM_IF, .type = VM_BOOL, .a = cond.reg}));
    VEC_PUSH(k->c->arena, &scope->held, cond);
}

static void close_guards(VmCoder *k, GuardScope *scope)
{
    while (scope->open.n > 0) {
        int open = scope->open.items[--scope->open.n];
        int cond = k->code->insts.items[open].a;
        coder_patch(k, open, coder_here(k));
        coder_emit(k, (VmInst){.op = VM_END, .type = VM_BOOL, .a = cond});
    }
    for (int i = 0; i < scope->held.n; i++)
        coder_release(k, scope->held.items[i]);
}

/* lo <= hi, or lo < hi. */
static void guard_order(VmCoder *k, GuardScope *scope, VmOp op, int lo, int hi)
{
    Value cond = coder_temporary(k, VM_BOOL, coder_uniform(k, lo) && coder_uniform(k, hi));
    coder_emit(k, (VmInst){.op = op, .type = VM_I64, .d = cond.reg, .a = lo, .b = hi});
    guard(k, scope, cond);
}

/* Outside of launches, a loop has no iterations where its bounds would be read outside of their
 * buffers: a split of a loop around it adds such iterations, which have no instances. */
static void guard_loads(VmCoder *k, GuardScope *scope, const Expr *bound)
{
    for (Cursor at = cursor_expr(k->c, bound); !k->inside && cursor_next(&at);) {
        const Buffer *buffer = at.expr->kind == EX_LOAD ? at.expr->u.load.buffer : NULL;
        for (int i = 0; buffer && i < buffer->rank; i++) {
            Value index = coder_index(k, at.expr->u.load.index[i]);
            Value extent = coder_index(k, buffer->shape[i]);
            guard_order(k, scope, VM_LE, coder_int(k, 0), index.reg);
            guard_order(k, scope, VM_LT, index.reg, extent.reg);
            coder_release(k, index);
            coder_release(k, extent);
        }
    }
}

static void loop(VmCoder *k, const ForStmt *l)
{
    if (k->inside && coder_vector_loop(k, l))
        return;
    if (k->in_lanes && l->kind == LOOP_PARALLEL) {
        LaneLoop lanes = coder_enter_lanes(k, l);
        coder_stmt(k, lanes.body);
        coder_leave_lanes(k, &lanes);
        return;
    }
    GuardScope scope = {0};
    guard_loads(k, &scope, l->lo);
    guard_loads(k, &scope, l->hi);
    Value lo = coder_index(k, l->lo);
    Value hi =
        loop_is_while(l) ? (Value){.reg = coder_int(k, VM_WHILE_LIMIT)} : coder_index(k, l->hi);
    bool breaks = l->kind == LOOP_BREAKS;
    bool uniform = !breaks && coder_uniform(k, lo.reg) && coder_uniform(k, hi.reg);
    Value var = coder_temporary(k, VM_I64, uniform);
    coder_define(k, l->var, var.reg);
    int sub = (l->step < 0 ? VM_LOOP_DOWN : 0) | (breaks ? VM_LOOP_BREAKS : 0) |
              (loop_is_while(l) ? VM_LOOP_WHILE : 0);
    int open = coder_emit(
        k,
        (VmInst){.op = VM_FOR, .type = VM_I64, .sub = sub, .d = var.reg, .a = lo.reg, .b = hi.reg});
    coder_release(k, lo);
    VEC_PUSH(k->c->arena, &k->loops, l);
    int outer = k->opened;
    k->opened = open;
    coder_stmt(k, l->body);
    k->opened = outer;
    k->loops.n--;
    /* also the step that ends the loop is one of an int */
    if (k->fits && l->var->type == DT_INDEX) {
        Value next = coder_temporary(k, VM_I64, uniform);
        coder_emit(k, (VmInst){.op = VM_ADD,
                               .type = VM_I64,
                               .d = next.reg,
                               .a = var.reg,
                               .b = coder_int(k, l->step)});
        coder_fit(k, next.reg);
        coder_release(k, next);
    }
    int close = coder_emit(k, (VmInst){.op = VM_NEXT,
                                       .type = VM_I64,
                                       .sub = sub,
                                       .d = var.reg,
                                       .a = coder_int(k, l->step),
                                       .b = hi.reg});
    coder_patch(k, open, close);
    coder_patch(k, close, open);
    coder_release(k, hi);
    coder_release(k, var);
    close_guards(k, &scope);
}

static void branch(VmCoder *k, const Stmt *s)
{
    Value cond = coder_expr(k, s->u.cond.cond);
    int open = coder_emit(k, (VmInst){.op = VM_IF, .type = VM_BOOL, .a = cond.reg});
    coder_stmt(k, s->u.cond.then);
    if (s->u.cond.otherwise) {
        coder_patch(k, open, coder_here(k));
        open = coder_emit(k, (VmInst){.op = VM_ELSE, .type = VM_BOOL, .a = cond.reg});
        coder_stmt(k, s->u.cond.otherwise);
    }
    coder_patch(k, open, coder_here(k));
    coder_emit(k, (VmInst){.op = VM_END, .type = VM_BOOL, .a = cond.reg});
    coder_release(k, cond);
}

/* Ends the innermost loop for the lanes that are active. */
static void leave_loop(VmCoder *k)
{
    int levels = 0;
    for (int i = k->opened + 1; i < coder_here(k); i++) {
        const VmInst *inst = &k->code->insts.items[i];
        if (!coder_uniform(k, inst->a))
            levels += inst->op == VM_IF ? 1 : inst->op == VM_END ? -1 : 0;
    }
    coder_emit(k, (VmInst){.op = VM_BREAK, .type = VM_BOOL, .sub = (uint8_t)levels});
}

/* What follows a `break` is for the lanes that are still in the loop. */
static void guard_rest(VmCoder *k, GuardScope *scope)
{
    bool uniform = false;
    Value all = coder_temporary(k, VM_BOOL, uniform);
    coder_emit(
        k,
        (VmInst){
            .op = VM_EQ, .type = VM_I64, .d = all.reg, .a = coder_int(k, 0), .b = coder_int(k, 0)});
    guard(k, scope, all);
}

/* A statement may name values until the end of the seq; their registers are given back there. */
static void sequence(VmCoder *k, const Stmt *s)
{
    VEC(Value) lets = {0};
    GuardScope rest = {0};
    for (int i = 0; i < s->u.seq.n; i++) {
        const Stmt *item = s->u.seq.items[i];
        if (item->kind != ST_LET) {
            coder_stmt(k, item);
            if (i + 1 < s->u.seq.n && stmt_breaks(item))
                guard_rest(k, &rest);
            continue;
        }
        k->at = (Origin){item->span, item->step};
        Value v = coder_expr(k, item->u.let.value);
        coder_define(k, item->u.let.var, v.reg);
        VEC_PUSH(k->c->arena, &lets, v);
    }
    close_guards(k, &rest);
    for (int i = 0; i < lets.n; i++)
        coder_release(k, lets.items[i]);
}

/* ---- blocks, outside launches -------------------------------------------------------------- */

static void guard_domain(VmCoder *k, GuardScope *b, const BlockIter *iter, int reg)
{
    for (int side = 0; side < 2; side++) {
        Value bound = coder_index(k, side ? iter->hi : iter->lo);
        guard_order(k, b, side ? VM_LT : VM_LE, side ? reg : bound.reg, side ? bound.reg : reg);
        coder_release(k, bound);
    }
}

static void block(VmCoder *k, const BlockStmt *block_stmt)
{
    if (block_stmt->init)
        TIRC_BUG(k->c, "block '%s' still has its init", block_stmt->name);
    GuardScope b = {0};
    ExprList conds = {0};
    int plain = block_conditions(k->c, block_stmt, &conds);
    for (int i = 0; i < plain; i++)
        guard(k, &b, coder_expr(k, conds.items[i]));
    for (int i = 0; i < block_stmt->n_iters; i++) {
        const BlockIter *iter = &block_stmt->iters[i];
        Value v = coder_index(k, iter->binding);
        coder_define(k, iter->var, v.reg);
        VEC_PUSH(k->c->arena, &b.held, v);
        if (!iter_is_loop(iter, k->loops.items, k->loops.n))
            guard_domain(k, &b, iter, v.reg);
    }
    for (int i = plain; i < conds.n; i++)
        guard(k, &b, coder_expr(k, conds.items[i]));
    coder_stmt(k, block_stmt->body);
    close_guards(k, &b);
}

/* ---- launches ------------------------------------------------------------------------------ */

/* The grid, then the values of the host part that the kernel uses, in the order of its
 * arguments. */
static void launch(VmCoder *k, const LaunchStmt *l)
{
    const LaunchUse *use = &k->launches[k->n_launches];
    VEC(int) list = {0};
    for (int i = 0; i < 3; i++)
        VEC_PUSH(k->c->arena, &list, coder_index(k, l->grid[i]).reg);
    for (int i = 0; i < use->values.n; i++) {
        const Var *var = use->values.items[i];
        if (var->kind != VAR_SIZE && var->kind != VAR_SCALAR)
            VEC_PUSH(k->c->arena, &list, coder_variable(k, var));
    }
    int first = k->lists.n;
    VEC_APPEND(k->c->arena, &k->lists, list.items, list.n);
    coder_emit(
        k,
        (VmInst){.op = VM_LAUNCH, .type = VM_I64, .d = k->n_launches++, .a = first, .b = list.n});
}

static VmOp sync_op(SyncKind kind)
{
    static const VmOp ops[] = {
        [SYNC_THREADS] = VM_BARRIER, [SYNC_WARPGROUP] = VM_BARRIER,
        [SYNC_WARP] = VM_BARRIER,    [SYNC_CLUSTER] = VM_BARRIER,
        [SYNC_COMMIT] = VM_COMMIT,   [SYNC_WAIT] = VM_WAIT,
        [SYNC_ACQUIRE] = VM_ACQUIRE, [SYNC_RECEIVE] = VM_RECEIVE,
        [SYNC_RELEASE] = VM_RELEASE, [SYNC_RELEASE_CLUSTER] = VM_RELEASE_CLUSTER,
    };
    return ops[kind];
}

static uint8_t sync_sub(const Stmt *s)
{
    switch (s->u.barrier.kind) {
    case SYNC_CLUSTER: return VM_OF_CLUSTER;
    case SYNC_WARPGROUP: return VM_OF_WARPGROUP;
    case SYNC_WARP: return VM_OF_WARP;
    default: return (uint8_t)s->u.barrier.pending;
    }
}

/* The producer's part, at whose end it stops, then the consumers'. */
static void roles(VmCoder *k, const Stmt *s)
{
    int split = coder_emit(k, (VmInst){.op = VM_ROLES, .type = VM_BOOL});
    coder_forget_element(k);
    coder_stmt(k, s->u.roles.producer);
    coder_emit(k, (VmInst){.op = VM_STOP, .type = VM_I64});
    coder_patch(k, split, coder_here(k));
    coder_forget_element(k);
    coder_stmt(k, s->u.roles.consumers);
}

static void flight(VmCoder *k, const Instruction *of, int what)
{
    coder_emit(k, (VmInst){.op = VM_FLIGHT,
                           .type = VM_BOOL,
                           .sub = (uint8_t)(what + (of->stores ? VM_OF_STORES : 0))});
}

static void instruction(VmCoder *k, const Stmt *s)
{
    const Instruction *of = s->u.instruction.of;
    bool goes_on = instruction_is_async(of), whole = of->bulk || of->lanes > 1;
    if (whole)
        coder_begin_unit(k, of);
    if (goes_on)
        flight(k, of, VM_FLIGHT_BEGIN);
    k->multicast = of->multicast;
    k->f->shares |= k->multicast;
    coder_stmt(k, s->u.instruction.body);
    k->multicast = false;
    if (goes_on)
        flight(k, of, VM_FLIGHT_END);
    if (whole)
        coder_end_unit(k);
}

void coder_stmt(VmCoder *k, const Stmt *s)
{
    Origin outer = k->at;
    k->at = (Origin){s->span, s->step};
    switch (s->kind) {
    case ST_SEQ: sequence(k, s); break;
    case ST_FOR: loop(k, &s->u.loop); break;
    case ST_IF: branch(k, s); break;
    case ST_BLOCK: block(k, &s->u.block); break;
    case ST_STORE: store(k, s); break;
    case ST_TEMP:
        if (!scope_outlives_launch(s->u.temp->scope) && k->inside)
            coder_place_temp(k, s->u.temp);
        break;
    case ST_LET: coder_define(k, s->u.let.var, coder_expr(k, s->u.let.value).reg); break;
    case ST_BARRIER:
        if (s->u.barrier.of) {
            flight(k, s->u.barrier.of,
                   s->u.barrier.kind == SYNC_COMMIT ? VM_FLIGHT_COMMIT
                                                    : VM_FLIGHT_WAIT + s->u.barrier.pending);
            break;
        }
        coder_emit(k,
                   (VmInst){.op = sync_op(s->u.barrier.kind), .type = VM_BOOL, .sub = sync_sub(s)});
        break;
    case ST_BREAK: leave_loop(k); break;
    case ST_ROLES: roles(k, s); break;
    case ST_LAUNCH: launch(k, &s->u.launch); break;
    case ST_INSTRUCTION: instruction(k, s); break;
    }
    k->at = outer;
}
