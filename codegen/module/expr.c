/* expr.c - Translates expressions for the virtual machine.
 *
 * Operands that C would not evaluate are masked if their evaluation is observable: an arm of a
 * selection, or the right side of && and ||, that reads memory or divides integers. */
#include "codegen/module/code.h"

static bool is_narrow(DType type)
{
    return type_info(type)->bits < 32 && type != DT_BOOL;
}

static bool may_fault(const Expr *e)
{
    return e->kind == EX_LOAD || ((e->kind == EX_DIV || e->kind == EX_MOD) && type_is_int(e->type));
}

static bool is_index_arithmetic(const Expr *e)
{
    return e->type == DT_INDEX &&
           (expr_is_binary(e->kind) || e->kind == EX_NEG || e->kind == EX_CAST);
}

/* Could evaluating it fault? */
static bool is_risky(const VmCoder *k, const Expr *e)
{
    for (Cursor at = cursor_expr(k->c, e); cursor_next(&at);)
        if (may_fault(at.expr) || (k->fits && is_index_arithmetic(at.expr)))
            return true;
    return false;
}

void coder_fit(VmCoder *k, int reg)
{
    if (k->fits && k->code == &k->body) /* extents in the prologue are not part of the text */
        coder_emit(k, (VmInst){.op = VM_FIT, .type = VM_I64, .a = reg});
}

static void fit(VmCoder *k, const Expr *e, int reg)
{
    if (e->type == DT_INDEX)
        coder_fit(k, reg);
}

/* ---- leaves -------------------------------------------------------------------------------- */

static Value constant(VmCoder *k, VmType type, VmValue value)
{
    return (Value){coder_constant(k, type, value), false};
}

static Value int_literal(VmCoder *k, const Expr *e)
{
    VmType type = vm_type_of(e->type);
    VmValue value = {0};
    if (type == VM_I64 || type == VM_U64)
        value.i64 = e->u.i;
    else if (type == VM_BOOL)
        value.boolean = e->u.i != 0;
    else
        value.u32 = (uint32_t)e->u.i;
    return constant(k, type, value);
}

static Value float_literal(VmCoder *k, const Expr *e)
{
    VmValue value = {0};
    if (e->type == DT_F64)
        value.f64 = e->u.f;
    else
        value.f32 = (float)float_round(e->type, e->u.f);
    return constant(k, vm_type_of(e->type), value);
}

static Value axis(VmCoder *k, Axis a)
{
    int *reg = &k->f->axes.axis[a];
    if (*reg < 0)
        *reg = coder_register(k, VM_I64, axis_is_block(a) ? REGISTER_UNIFORM : REGISTER_OF_LANES);
    return (Value){*reg, false};
}

/* Loads the element, whose subscripts are checked; `how` is `sub` of LOAD. */
static Value load_element(VmCoder *k, const Expr *e, int how)
{
    Buffer *buffer = e->u.load.buffer;
    Value at = coder_element(k, buffer, e->u.load.index);
    int number = coder_buffer(k, buffer);
    bool uniform = coder_uniform(k, at.reg) && k->buffers.items[number].space != VM_LOCAL;
    VmType type = vm_type_of(e->type);
    coder_release(k, at);
    Value d = coder_temporary(k, type, uniform);
    /* An I64 result may take the register of its index: each lane reads its index first. */
    coder_emit(
        k, (VmInst){.op = VM_LOAD, .type = type, .sub = how, .d = d.reg, .a = at.reg, .c = number});
    return d;
}

static Value load_as(VmCoder *k, const Expr *e, int how)
{
    Origin outer = k->at;
    if (e->span.source)
        k->at = (Origin){e->span, e->step};
    int begun = coder_begin_access(k, e->u.load.buffer, e->u.load.axes);
    Value d = load_element(k, e, how);
    coder_end_access(k, begun);
    k->at = outer;
    return d;
}

static Value load(VmCoder *k, const Expr *e)
{
    int wide = k->wide.plan ? vector_find_load(k->wide.plan, e) : -1;
    if (wide >= 0)
        return (Value){k->wide.loaded[wide * k->wide.plan->lanes + k->wide.lane].reg, false};
    for (int i = 0; i < k->subscript_loads.n; i++)
        if (expr_equal(k->subscript_loads.items[i].load, e))
            return (Value){k->subscript_loads.items[i].value.reg, false};
    Value d = load_as(k, e, e->hint == HINT_READ_ONLY ? VM_READ_ONLY : 0);
    if (!k->in_subscripts)
        return d;
    VEC_PUSH(k->c->arena, &k->subscript_loads, ((SubscriptLoad){e, d}));
    return (Value){d.reg, false};
}

/* ---- operators ----------------------------------------------------------------------------- */

static VmOp vm_op_of(ExprKind kind)
{
    switch (kind) {
    case EX_ADD: return VM_ADD;
    case EX_SUB: return VM_SUB;
    case EX_MUL: return VM_MUL;
    case EX_DIV: return VM_DIV;
    case EX_MOD: return VM_MOD;
    case EX_MIN: return VM_MIN;
    case EX_MAX: return VM_MAX;
    case EX_SHL: return VM_SHL;
    case EX_SHR: return VM_SHR;
    case EX_BITAND:
    case EX_AND: return VM_AND;
    case EX_BITOR:
    case EX_OR: return VM_OR;
    case EX_BITXOR: return VM_XOR;
    case EX_LT:
    case EX_GT: return VM_LT;
    case EX_LE:
    case EX_GE: return VM_LE;
    case EX_EQ: return VM_EQ;
    case EX_NE: return VM_NE;
    case EX_NEG: return VM_NEG;
    case EX_NOT:
    case EX_BITNOT: return VM_NOT;
    default: return VM_STOP;
    }
}

/* Brings the f32 or i32 that a register holds back to a narrow type after an operation that may
 * leave it. */
static void round_to(VmCoder *k, VmOp op, DType type, int reg)
{
    bool stays = op == VM_MIN || op == VM_MAX || op == VM_AND || op == VM_OR || op == VM_XOR ||
                 op == VM_SHR || (op == VM_NEG && type_is_float(type));
    if (is_narrow(type) && !stays)
        coder_emit(
            k, (VmInst){.op = VM_ROUND, .type = vm_type_of(type), .sub = type, .d = reg, .a = reg});
}

void coder_combine(VmCoder *k, VmOp op, DType type, CombineRegisters r)
{
    coder_emit(k, (VmInst){.op = op, .type = vm_type_of(type), .d = r.d, .a = r.a, .b = r.b});
    round_to(k, op, type, r.d);
}

static Value unary(VmCoder *k, const Expr *e)
{
    Value a = coder_expr(k, e->u.arg[0]);
    VmOp op = vm_op_of(e->kind);
    coder_release(k, a);
    Value d = coder_temporary(k, vm_type_of(e->type), coder_uniform(k, a.reg));
    coder_combine(k, op, e->type, (CombineRegisters){.d = d.reg, .a = a.reg});
    fit(k, e, d.reg);
    return d;
}

static Value cast_register(VmCoder *k, Value a, VmType to)
{
    VmType from = coder_type(k, a.reg);
    if (from == to)
        return a;
    coder_release(k, a);
    Value d = coder_temporary(k, to, coder_uniform(k, a.reg));
    coder_emit(k, (VmInst){.op = VM_CAST, .type = from, .d = d.reg, .a = a.reg});
    return d;
}

static Value binary(VmCoder *k, const Expr *e)
{
    const Expr *left = e->u.arg[0], *right = e->u.arg[1];
    VmType type = vm_type_of(left->type);
    Value a = coder_expr(k, left), b = cast_register(k, coder_expr(k, right), type);
    bool uniform = coder_uniform(k, a.reg) && coder_uniform(k, b.reg);
    bool swapped = e->kind == EX_GT || e->kind == EX_GE;
    coder_release(k, a);
    coder_release(k, b);
    Value d = coder_temporary(k, vm_type_of(e->type), uniform);
    VmOp op = vm_op_of(e->kind);
    coder_emit(k, (VmInst){.op = op,
                           .type = type,
                           .d = d.reg,
                           .a = swapped ? b.reg : a.reg,
                           .b = swapped ? a.reg : b.reg});
    round_to(k, op, e->type, d.reg);
    fit(k, e, d.reg);
    return d;
}

/* The lanes of a warp exchange what they have; a value that all agree on stays. */
static Value shuffle(VmCoder *k, const Expr *e)
{
    bool any = e->kind == EX_SHUFFLE;
    Value b = any ? coder_expr(k, e->u.arg[1]) : (Value){0};
    Value a = coder_expr(k, e->u.arg[0]);
    VmType type = vm_type_of(e->type);
    bool uniform = false; /* not the register of `a`, which other lanes read */
    Value d = coder_temporary(k, type, uniform);
    coder_emit(k, (VmInst){.op = any ? VM_SHUFFLE_LANE : VM_SHUFFLE,
                           .type = type,
                           .sub = any ? 0 : (int)e->u.arg[1]->u.i,
                           .d = d.reg,
                           .a = a.reg,
                           .b = b.reg});
    coder_release(k, a);
    if (any)
        coder_release(k, b);
    return d;
}

/* ---- lazy operands ------------------------------------------------------------------------- */

/* d = e, evaluated for the lanes in which `cond` holds (where `inverted`: does not). */
static Value guarded(VmCoder *k, int cond, bool inverted, const Expr *e)
{
    Value test = {cond, false};
    if (inverted) {
        test = coder_temporary(k, VM_BOOL, coder_uniform(k, cond));
        coder_emit(k, (VmInst){.op = VM_NOT, .type = VM_BOOL, .d = test.reg, .a = cond});
    }
    int open = coder_emit(k, (VmInst){.op = VM_IF, .type = VM_BOOL, .a = test.reg});
    Value v = coder_expr(k, e);
    coder_patch(k, open, coder_here(k));
    coder_emit(k, (VmInst){.op = VM_END, .type = VM_BOOL, .a = test.reg});
    coder_release(k, test);
    return v;
}

static Value logic(VmCoder *k, const Expr *e)
{
    if (!is_risky(k, e->u.arg[1]))
        return binary(k, e);
    Value a = coder_expr(k, e->u.arg[0]);
    Value b = guarded(k, a.reg, e->kind == EX_OR, e->u.arg[1]);
    bool uniform = coder_uniform(k, a.reg) && coder_uniform(k, b.reg);
    coder_release(k, a);
    coder_release(k, b);
    Value d = coder_temporary(k, VM_BOOL, uniform);
    coder_emit(
        k, (VmInst){.op = vm_op_of(e->kind), .type = VM_BOOL, .d = d.reg, .a = a.reg, .b = b.reg});
    return d;
}

static Value selection(VmCoder *k, const Expr *e)
{
    Value cond = coder_expr(k, e->u.arg[0]), arm[2];
    for (int i = 0; i < 2; i++) {
        const Expr *value = e->u.arg[1 + i];
        arm[i] = is_risky(k, value) ? guarded(k, cond.reg, i == 1, value) : coder_expr(k, value);
    }
    bool uniform =
        coder_uniform(k, cond.reg) && coder_uniform(k, arm[0].reg) && coder_uniform(k, arm[1].reg);
    VmType type = vm_type_of(e->type);
    Value d = coder_temporary(k, type, uniform);
    coder_emit(k, (VmInst){.op = VM_SELECT,
                           .type = type,
                           .d = d.reg,
                           .a = cond.reg,
                           .b = arm[0].reg,
                           .c = arm[1].reg});
    coder_release(k, cond);
    coder_release(k, arm[0]);
    coder_release(k, arm[1]);
    return d;
}

/* ---- conversions and functions ------------------------------------------------------------- */

/* Integers and f64 become narrow floats by way of f64, which holds all but the largest 64-bit
 * integers: one rounding. */
static Value cast(VmCoder *k, const Expr *e)
{
    Value a = coder_expr(k, e->u.arg[0]);
    VmType to = vm_type_of(e->type);
    VmType from = coder_type(k, a.reg);
    if (!is_narrow(e->type)) {
        Value d = cast_register(k, a, to);
        fit(k, e, d.reg);
        return d;
    }
    bool to_float = type_is_float(e->type);
    VmType middle = !to_float || from == VM_F32 ? to : VM_F64;
    Value held = cast_register(k, a, middle);
    coder_release(k, held);
    Value d = coder_temporary(k, middle, coder_uniform(k, held.reg));
    coder_emit(k,
               (VmInst){.op = VM_ROUND, .type = middle, .sub = e->type, .d = d.reg, .a = held.reg});
    return cast_register(k, d, to);
}

static Value bitcast(VmCoder *k, const Expr *e)
{
    const Expr *from = e->u.call.arg[0];
    Value a = coder_expr(k, from);
    coder_release(k, a);
    Value d = coder_temporary(k, vm_type_of(e->type), coder_uniform(k, a.reg));
    coder_emit(k, (VmInst){.op = VM_BITCAST,
                           .type = vm_type_of(from->type),
                           .sub = (uint8_t)(from->type << 4 | e->type),
                           .d = d.reg,
                           .a = a.reg});
    return d;
}

static Value call(VmCoder *k, const Expr *e)
{
    int arity = call_info(e->u.call.call)->arity;
    bool to_odd = e->u.call.call == CALL_FMA && is_narrow(e->type);
    Value arg[3];
    bool uniform = true;
    for (int i = 0; i < arity; i++) {
        arg[i] = coder_expr(k, e->u.call.arg[i]);
        uniform &= coder_uniform(k, arg[i].reg);
    }
    for (int i = 0; i < arity; i++)
        coder_release(k, arg[i]);
    Value d = coder_temporary(k, vm_type_of(e->type), uniform);
    coder_emit(k, (VmInst){.op = VM_CALL,
                           .type = vm_type_of(e->u.call.arg[0]->type),
                           .sub = to_odd ? VM_FMA_TO_ODD : (uint8_t)e->u.call.call,
                           .d = d.reg,
                           .a = arg[0].reg,
                           .b = arg[arity > 1 ? 1 : 0].reg,
                           .c = arg[arity > 2 ? 2 : 0].reg});
    round_to(k, VM_CALL, e->type, d.reg);
    return d;
}

/* Blocks run in order, so what one awaits is there, or never comes. */
static Value await(VmCoder *k, const Expr *e)
{
    Value d = load_as(k, e->u.call.arg[0], VM_AWAITED);
    k->f->ordered = k->f->awaits = true;
    coder_emit(k, (VmInst){.op = VM_AWAIT, .type = VM_U64, .a = d.reg});
    return d;
}

static Value function(VmCoder *k, const Expr *e)
{
    switch (e->u.call.call) {
    case CALL_BITCAST: return bitcast(k, e);
    case CALL_AWAIT: return await(k, e);
    default: return call(k, e);
    }
}

Value coder_expr(VmCoder *k, const Expr *e)
{
    switch (e->kind) {
    case EX_INT: return int_literal(k, e);
    case EX_FLOAT: return float_literal(k, e);
    case EX_VAR: return (Value){coder_variable(k, e->u.var), false};
    case EX_AXIS: return axis(k, e->u.axis);
    case EX_LOAD: return load(k, e);
    case EX_SELECT: return selection(k, e);
    case EX_CAST: return cast(k, e);
    case EX_CALL: return function(k, e);
    case EX_AND:
    case EX_OR: return logic(k, e);
    case EX_SHUFFLE_XOR:
    case EX_SHUFFLE: return shuffle(k, e);
    default: return expr_is_unary(e->kind) ? unary(k, e) : binary(k, e);
    }
}

Value coder_index(VmCoder *k, const Expr *e)
{
    return cast_register(k, coder_expr(k, e), VM_I64);
}
