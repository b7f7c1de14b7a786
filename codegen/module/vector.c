/* vector.c - Translates a vectorized loop for the virtual machine: one wide load for each buffer
 * that it walks through, the value of each lane, one wide store. */
#include "codegen/module/code.h"

/* Checks the axes of every lane. */
static void check_lanes(VmCoder *k, const VectorPlan *plan, const Buffer *buffer,
                        const AxisAccess *axes)
{
    bool varies = false;
    for (int axis = 0; axes && axis < axes->buffer->rank; axis++)
        varies |= expr_uses_var(axes->index[axis], plan->var);
    for (int i = 0; axes && i < (varies ? plan->lanes : 1); i++) {
        coder_define(k, plan->var, coder_int(k, i));
        coder_forget_element(k); /* subscripts with the variable go elsewhere in each lane */
        coder_end_access(k, coder_begin_access(k, buffer, axes));
        coder_forget_element(k);
    }
}

/* The registers of one wide load. */
static void wide_load(VmCoder *k, const VectorPlan *plan, const WideLoad *wide, Value *into)
{
    const Expr *e = wide->load;
    Origin outer = k->at;
    if (e->span.source)
        k->at = (Origin){e->span, e->step};
    const Buffer *buffer = e->u.load.buffer;
    check_lanes(k, plan, buffer, e->u.load.axes);
    Value at = coder_element(k, buffer, wide->first);
    int number = coder_buffer(k, buffer);
    bool uniform = coder_uniform(k, at.reg) && k->buffers.items[number].space != VM_LOCAL;
    for (int i = 0; i < plan->lanes; i++)
        into[i] = coder_temporary(k, vm_type_of(e->type), uniform);
    int list = coder_list(k, into, (int)plan->lanes);
    int inst = coder_emit(k, (VmInst){.op = VM_LOAD,
                                      .type = vm_type_of(e->type),
                                      .sub = e->hint == HINT_READ_ONLY ? VM_READ_ONLY : 0,
                                      .d = list,
                                      .a = at.reg,
                                      .c = number});
    k->code->insts.items[inst].width = (uint8_t)plan->lanes;
    coder_release(k, at);
    k->at = outer;
}

static void wide_store(VmCoder *k, const VectorPlan *plan, const Value *values)
{
    const Buffer *buffer = plan->store->u.store.buffer;
    check_lanes(k, plan, buffer, plan->store->u.store.axes);
    Value at = coder_element(k, buffer, plan->first);
    int number = coder_buffer(k, buffer), list = coder_list(k, values, (int)plan->lanes);
    bool async = plan->store->u.store.op == STORE_ASYNC;
    int inst = coder_emit(k, (VmInst){.op = VM_STORE,
                                      .type = vm_type_of(buffer->type),
                                      .sub = async,
                                      .a = at.reg,
                                      .b = list,
                                      .c = number});
    k->code->insts.items[inst].width = (uint8_t)plan->lanes;
    coder_release(k, at);
}

static void wide_loads(VmCoder *k, const VectorPlan *plan, Value *loaded)
{
    for (int i = 0; i < plan->loads.n; i++)
        wide_load(k, plan, &plan->loads.items[i], loaded + i * plan->lanes);
}

/* A copy that fills: the wide load for the threads in which the condition holds, then a choice for
 * each lane. */
static void filled_lanes(VmCoder *k, const VectorPlan *plan, Value *loaded, Value *values)
{
    Value cond = coder_expr(k, plan->where), fill = coder_expr(k, plan->value->u.arg[2]);
    int open = coder_emit(k, (VmInst){.op = VM_IF, .type = VM_BOOL, .a = cond.reg});
    wide_loads(k, plan, loaded);
    coder_patch(k, open, coder_here(k));
    coder_emit(k, (VmInst){.op = VM_END, .type = VM_BOOL, .a = cond.reg});
    for (int i = 0; i < plan->lanes; i++) {
        VmType type = coder_type(k, loaded[i].reg);
        values[i] =
            coder_temporary(k, type, coder_uniform(k, cond.reg) && coder_uniform(k, loaded[i].reg));
        coder_emit(k, (VmInst){.op = VM_SELECT,
                               .type = type,
                               .d = values[i].reg,
                               .a = cond.reg,
                               .b = loaded[i].reg,
                               .c = fill.reg});
    }
    coder_release(k, fill);
    coder_release(k, cond);
}

static void computed_lanes(VmCoder *k, const VectorPlan *plan, Value *loaded, Value *values)
{
    WideLane outer = k->wide;
    wide_loads(k, plan, loaded);
    for (int i = 0; i < plan->lanes; i++) {
        k->wide = (WideLane){plan, loaded, i};
        coder_define(k, plan->var, coder_int(k, i));
        coder_forget_element(k); /* subscripts with the variable go elsewhere in each lane */
        values[i] = coder_expr(k, plan->value);
    }
    k->wide = outer;
}

bool coder_vector_loop(VmCoder *k, const ForStmt *loop)
{
    VectorPlan plan;
    if (!vector_plan(k->c, loop, &plan))
        return false;
    int lanes = (int)plan.lanes;
    Value *loaded = ARENA_ARRAY(k->c->arena, Value, plan.loads.n * lanes + 1);
    Value *values = ARENA_ARRAY(k->c->arena, Value, lanes);
    k->at = (Origin){plan.store->span, plan.store->step};
    if (plan.fills)
        filled_lanes(k, &plan, loaded, values);
    else
        computed_lanes(k, &plan, loaded, values);
    wide_store(k, &plan, values);
    coder_forget_element(k);
    for (int i = 0; i < lanes; i++)
        coder_release(k, values[i]);
    for (int i = 0; i < plan.loads.n * lanes; i++)
        coder_release(k, loaded[i]);
    return true;
}
