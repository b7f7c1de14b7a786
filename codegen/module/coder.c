/* coder.c - Builds a function of the virtual machine: registers, constants, instructions. */
#include <string.h>

#include "codegen/module/code.h"

VmCoder *coder_new(Context *c, const Kernel *kernel, const Module *module,
                   const uint32_t *buffer_ids, const char *name)
{
    VmCoder *k = ARENA_NEW(c->arena, VmCoder);
    k->c = c;
    k->kernel = kernel;
    k->module = module;
    k->buffer_ids = buffer_ids;
    k->f = ARENA_NEW(c->arena, VmFunction);
    k->f->name = name;
    for (int i = 0; i < AXIS_COUNT; i++)
        k->f->axes.axis[i] = -1;
    k->code = &k->body;
    coder_int(k, 0); /* register 0, which unused operands name */
    for (int i = 0; i < kernel->n_sizes; i++)
        coder_input(k, kernel->sizes[i].var, VM_I64);
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].scalar)
            coder_input(k, kernel->params[i].scalar, vm_type_of(kernel->params[i].scalar->type));
    return k;
}

/* Prologue and body become one; jumps of the body move along. */
static void join_code(VmCoder *k)
{
    VmFunction *f = k->f;
    int before = k->prologue.insts.n, n = before + k->body.insts.n;
    VmInst *code = ARENA_ARRAY(k->c->arena, VmInst, n);
    Span *spans = ARENA_ARRAY(k->c->arena, Span, n);
    int *steps = ARENA_ARRAY(k->c->arena, int, n);
    for (int i = 0; i < n; i++) {
        const CodeList *from = i < before ? &k->prologue : &k->body;
        int at = i < before ? i : i - before;
        code[i] = from->insts.items[at];
        spans[i] = from->spans.items[at];
        steps[i] = from->steps.items[at];
        if (i >= before)
            code[i].to += before;
    }
    f->code = code;
    f->spans = spans;
    f->steps = steps;
    f->n_code = n;
}

const VmFunction *coder_finish(VmCoder *k)
{
    VmFunction *f = k->f;
    coder_emit(k, (VmInst){.op = VM_STOP, .type = VM_I64});
    join_code(k);
    f->registers = k->registers.items;
    f->n_registers = k->registers.n;
    f->constants = k->constants.items;
    f->n_constants = k->constants.n;
    f->inputs = k->inputs.items;
    f->n_inputs = k->inputs.n;
    f->buffers = k->buffers.items;
    f->n_buffers = k->buffers.n;
    f->lists = k->lists.items;
    f->n_lists = k->lists.n;
    f->units = k->units.items;
    return f;
}

/* ---- registers ----------------------------------------------------------------------------- */

int coder_register(VmCoder *k, VmType type, RegisterShape shape)
{
    VmRegister r = {type, shape == REGISTER_UNIFORM};
    VEC_PUSH(k->c->arena, &k->registers, r);
    return k->registers.n - 1;
}

Value coder_temporary(VmCoder *k, VmType type, bool uniform)
{
    if (k->spare.of[type][uniform].n > 0) {
        int last = --k->spare.of[type][uniform].n;
        return (Value){k->spare.of[type][uniform].items[last], true};
    }
    return (Value){coder_register(k, type, uniform ? REGISTER_UNIFORM : REGISTER_OF_LANES), true};
}

void coder_release(VmCoder *k, Value v)
{
    if (!v.temporary)
        return;
    VmRegister r = k->registers.items[v.reg];
    VEC_PUSH(k->c->arena, &k->spare.of[r.type][r.uniform], v.reg);
}

int coder_constant(VmCoder *k, VmType type, VmValue value)
{
    for (int i = 0; i < k->constants.n; i++) {
        const VmConstant *known = &k->constants.items[i];
        if (coder_type(k, known->reg) == type && known->value.u64 == value.u64)
            return known->reg;
    }
    VmConstant constant = {coder_register(k, type, REGISTER_UNIFORM), value};
    VEC_PUSH(k->c->arena, &k->constants, constant);
    return constant.reg;
}

int coder_int(VmCoder *k, int64_t value)
{
    return coder_constant(k, VM_I64, (VmValue){.i64 = value});
}

void coder_define(VmCoder *k, const Var *var, int reg)
{
    for (int i = k->vars.n - 1; i >= 0; i--)
        if (k->vars.items[i].var == var) {
            k->vars.items[i].reg = reg;
            return;
        }
    VarRegister entry = {var, reg};
    VEC_PUSH(k->c->arena, &k->vars, entry);
}

int coder_variable(VmCoder *k, const Var *var)
{
    for (int i = k->vars.n - 1; i >= 0; i--)
        if (k->vars.items[i].var == var)
            return k->vars.items[i].reg;
    TIRC_BUG(k->c, "variable '%s' is used outside its scope", var->name);
}

SpareRegisters coder_enter_prologue(VmCoder *k)
{
    SpareRegisters spare = k->spare;
    memset(&k->spare, 0, sizeof k->spare);
    k->code = &k->prologue;
    return spare;
}

void coder_leave_prologue(VmCoder *k, SpareRegisters spare)
{
    k->spare = spare;
    k->code = &k->body;
}

int coder_input(VmCoder *k, const Var *var, VmType type)
{
    int reg = coder_register(k, type, REGISTER_UNIFORM);
    VEC_PUSH(k->c->arena, &k->inputs, reg);
    if (var)
        coder_define(k, var, reg);
    return reg;
}

bool coder_uniform(const VmCoder *k, int reg)
{
    return k->registers.items[reg].uniform;
}

VmType coder_type(const VmCoder *k, int reg)
{
    return k->registers.items[reg].type;
}

/* ---- instructions -------------------------------------------------------------------------- */

void coder_forget_element(VmCoder *k)
{
    if (k->last.buffer)
        coder_release(k, k->last.at);
    k->last.buffer = NULL;
}

int coder_emit(VmCoder *k, VmInst inst)
{
    if (inst.op == VM_FOR || inst.op == VM_NEXT || inst.op == VM_IF || inst.op == VM_ELSE ||
        inst.op == VM_END)
        coder_forget_element(k);
    VEC_PUSH(k->c->arena, &k->code->insts, inst);
    VEC_PUSH(k->c->arena, &k->code->spans, k->at.span);
    VEC_PUSH(k->c->arena, &k->code->steps, k->at.step);
    return k->code->insts.n - 1;
}

void coder_patch(VmCoder *k, int inst, int to)
{
    k->code->insts.items[inst].to = to;
}

int coder_list(VmCoder *k, const Value *values, int n)
{
    int first = k->lists.n;
    for (int i = 0; i < n; i++)
        VEC_PUSH(k->c->arena, &k->lists, values[i].reg);
    return first;
}

int coder_here(const VmCoder *k)
{
    return k->code->insts.n;
}
