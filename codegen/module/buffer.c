/* buffer.c - Computes addresses of buffer elements for the virtual machine.
 *
 * Literal strides come from buffer_strides, as in the text for the GPU; a buffer of symbolic shape
 * is row major over extents that the prologue computes. Each subscript of an access with several,
 * or with a pad, is checked against its own extent, because a wrong one may still point into the
 * buffer. */
#include "codegen/module/code.h"

enum { SHARED_ALIGN = 16 };

/* Extents and strides of a buffer met for the first time; code for them goes where sizes are
 * known. Outside launches every buffer is dense: a layout says how one lies in a launch's
 * memory. */
static CodedBuffer code_shape(VmCoder *k, const Buffer *buffer, int64_t *elements)
{
    CodedBuffer coded = {.buffer = buffer};
    coded.extents = ARENA_ARRAY(k->c->arena, int, buffer->rank + 1);
    coded.strides = ARENA_ARRAY(k->c->arena, int64_t, buffer->rank + 1);
    *elements = -1;
    Buffer placed = *buffer;
    if (!k->inside)
        placed.layout = NULL;
    if (!buffer_strides(&placed, coded.strides, elements))
        coded.strides = NULL;
    SpareRegisters spare = coder_enter_prologue(k);
    for (int i = 0; i < buffer->rank; i++) {
        Value extent = coder_index(k, buffer->shape[i]);
        coded.extents[i] = extent.reg; /* kept: never given back */
    }
    coder_leave_prologue(k, spare);
    return coded;
}

/* The register with the number of elements of a global buffer. */
static int code_elements(VmCoder *k, const CodedBuffer *coded, int64_t elements)
{
    if (coded->strides)
        return coder_int(k, elements);
    SpareRegisters spare = coder_enter_prologue(k);
    int product = coder_int(k, 1);
    for (int i = 0; i < coded->buffer->rank; i++) {
        int next = coder_register(k, VM_I64, REGISTER_UNIFORM);
        coder_emit(
            k, (VmInst){
                   .op = VM_MUL, .type = VM_I64, .d = next, .a = product, .b = coded->extents[i]});
        product = next;
    }
    coder_leave_prologue(k, spare);
    return product;
}

/* Reads of constant memory go to the buffer that it is a copy of. */
static int argument_of(VmCoder *k, const Buffer *buffer)
{
    buffer = buffer->copy_of ? buffer->copy_of : buffer;
    for (int i = 0; i < k->module->n_buffers; i++)
        if (k->buffer_ids[i] == buffer->id)
            return i;
    TIRC_BUG(k->c, "buffer '%s' is used outside its scope", buffer->name);
}

static int add_buffer(VmCoder *k, const Buffer *buffer, VmBuffer b, const CodedBuffer *coded)
{
    b.name = buffer->name;
    b.type = buffer->type;
    if (coded->strides && buffer->rank > 1) {
        int64_t extent;
        b.row = coded->strides[buffer->rank - 2];
        b.pad = expr_is_const(buffer->shape[buffer->rank - 1], &extent) ? b.row - extent : 0;
    }
    VEC_PUSH(k->c->arena, &k->buffers, b);
    VEC_PUSH(k->c->arena, &k->coded, *coded);
    return k->buffers.n - 1;
}

int coder_buffer(VmCoder *k, const Buffer *buffer)
{
    for (int i = 0; i < k->coded.n; i++)
        if (k->coded.items[i].buffer == buffer)
            return i;
    /* In shared and local memory a rewrite may have left another node for the same buffer. */
    for (int i = 0; i < k->coded.n; i++)
        if (k->coded.items[i].buffer->id == buffer->id && k->buffers.items[i].space != VM_GLOBAL) {
            int64_t elements;
            CodedBuffer again = code_shape(k, buffer, &elements);
            return add_buffer(k, buffer, k->buffers.items[i], &again);
        }
    int64_t elements;
    CodedBuffer coded = code_shape(k, buffer, &elements);
    VmBuffer b = {.space = VM_GLOBAL,
                  .argument = argument_of(k, buffer),
                  .constant = buffer->scope == SCOPE_CONSTANT};
    b.elements = code_elements(k, &coded, elements);
    return add_buffer(k, buffer, b, &coded);
}

static int64_t round_up(int64_t bytes)
{
    return (bytes + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
}

/* Each block of the cluster has a part, at one place of its shared memory. */
static void place_in_cluster(VmCoder *k, const Buffer *buffer, int64_t elements,
                             const CodedBuffer *coded)
{
    VmFunction *f = k->f;
    int64_t part = coded->strides[0], size = type_bytes(buffer->type);
    VmBuffer b = {.space = VM_SHARED,
                  .capacity = elements,
                  .offset = f->shared_bytes,
                  .part = part,
                  .cluster_offset = f->cluster_bytes};
    f->shared_bytes += round_up(part * size);
    f->cluster_bytes += round_up(elements * size);
    add_buffer(k, buffer, b, coded);
}

void coder_place_temp(VmCoder *k, const Buffer *buffer)
{
    int64_t elements;
    CodedBuffer coded = code_shape(k, buffer, &elements);
    if (!coded.strides)
        TIRC_BUG(k->c, "'%s' in %s memory has no literal size", buffer->name,
                 scope_name(buffer->scope));
    if (buffer->scope == SCOPE_CLUSTER) {
        place_in_cluster(k, buffer, elements, &coded);
        return;
    }
    bool shared = buffer->scope == SCOPE_SHARED;
    int64_t *used = shared ? &k->f->shared_bytes : &k->f->local_bytes;
    VmBuffer b = {.space = shared ? VM_SHARED : VM_LOCAL, .capacity = elements, .offset = *used};
    *used += round_up(elements * type_bytes(buffer->type));
    int number = add_buffer(k, buffer, b, &coded);
    if (k->loops.n > 0)
        coder_emit(k, (VmInst){.op = VM_FORGET, .type = VM_I64, .c = number});
}

void coder_place_own(VmCoder *k, const Buffer *buffer)
{
    for (int i = 0; i < k->coded.n; i++)
        if (k->coded.items[i].buffer->id == buffer->id)
            return;
    int64_t elements;
    CodedBuffer coded = code_shape(k, buffer, &elements);
    VmBuffer b = {.space = VM_LOCAL, .capacity = elements, .offset = k->f->local_bytes};
    k->f->local_bytes += round_up(elements * type_bytes(buffer->type));
    add_buffer(k, buffer, b, &coded);
}

/* a * stride + b; gives both back. */
static Value step_offset(VmCoder *k, Value a, int stride, Value b)
{
    bool uniform = coder_uniform(k, a.reg) && coder_uniform(k, stride);
    Value product = a;
    if (stride != coder_int(k, 1)) {
        product = coder_temporary(k, VM_I64, uniform);
        coder_emit(
            k, (VmInst){.op = VM_MUL, .type = VM_I64, .d = product.reg, .a = a.reg, .b = stride});
        coder_release(k, a);
    }
    if (b.reg < 0)
        return product;
    Value sum =
        coder_temporary(k, VM_I64, coder_uniform(k, product.reg) && coder_uniform(k, b.reg));
    coder_emit(k,
               (VmInst){.op = VM_ADD, .type = VM_I64, .d = sum.reg, .a = product.reg, .b = b.reg});
    coder_release(k, product);
    coder_release(k, b);
    return sum;
}

/* Is the register a coordinate of threads, of which a block has no more than the extent? */
static bool is_coordinate(const VmCoder *k, int reg, const Expr *extent)
{
    int64_t end;
    bool inside = false;
    for (int axis = 0; k->inside && axis < 3; axis++)
        inside |= reg == k->f->axes.axis[AXIS_THREAD_X + axis] && expr_is_const(extent, &end) &&
                  k->inside->block[axis] <= end;
    return inside;
}

/* Is the subscript, in `reg`, a loop or a coordinate over nothing but indices of the axis? Then it
 * needs no check. */
static bool stays_inside(const VmCoder *k, const Expr *at, int reg, const Expr *extent)
{
    int64_t lo, hi, end;
    for (int i = k->loops.n - 1; at->kind == EX_VAR && i >= 0; i--) {
        const ForStmt *l = k->loops.items[i];
        if (l->var != at->u.var)
            continue;
        return l->step > 0 && expr_is_const(l->lo, &lo) && lo >= 0 &&
               (expr_equal(l->hi, extent) ||
                (expr_is_const(l->hi, &hi) && expr_is_const(extent, &end) && hi <= end));
    }
    return is_coordinate(k, reg, extent);
}

/* Does the access go to the same place of a buffer of the same shape as the one before? */
static bool is_last_element(const VmCoder *k, const Buffer *buffer, Expr *const *index)
{
    const Buffer *last = k->last.buffer;
    if (!last || last->rank != buffer->rank || last->layout || buffer->layout)
        return false;
    for (int i = 0; i < buffer->rank; i++)
        if (index[i] != k->last.index[i] || !expr_equal(buffer->shape[i], last->shape[i]))
            return false;
    return true;
}

/* Keeps the place for the accesses that follow, unless memory decides where it is. */
static Value remember(VmCoder *k, const Buffer *buffer, Expr *const *index, Value at)
{
    coder_forget_element(k);
    for (int i = 0; i < buffer->rank; i++)
        if (expr_has_load(index[i]))
            return at;
    k->last = (LastElement){buffer, index, at};
    return (Value){at.reg, false};
}

Value coder_element(VmCoder *k, const Buffer *buffer, Expr *const *index)
{
    int number = coder_buffer(k, buffer);
    CodedBuffer coded = k->coded.items[number];
    if (buffer->rank == 0)
        return (Value){coder_int(k, 0), false};
    if (is_last_element(k, buffer, index))
        return (Value){k->last.at.reg, false};
    Value offset = {-1, false};
    for (int i = 0; i < buffer->rank; i++) {
        Value at = coder_index(k, index[i]);
        if ((buffer->rank > 1 || buffer->layout) &&
            !stays_inside(k, index[i], at.reg, buffer->shape[i]))
            coder_emit(k, (VmInst){.op = VM_CHECK,
                                   .type = VM_I64,
                                   .sub = i,
                                   .a = at.reg,
                                   .b = coded.extents[i],
                                   .c = number});
        if (coded.strides) {
            offset = step_offset(k, at, coder_int(k, coded.strides[i]), offset);
        } else if (i == 0) {
            offset = at;
        } else {
            offset = step_offset(k, offset, coded.extents[i], at);
        }
    }
    return remember(k, buffer, index, offset);
}

/* ---- subscripts that became one ------------------------------------------------------------- */

static void check_axis(VmCoder *k, int number, const AxisAccess *axes, int axis)
{
    SpareRegisters spare = coder_enter_prologue(k);
    Value extent = coder_index(k, axes->buffer->shape[axis]);
    coder_leave_prologue(k, spare);
    Value at = coder_index(k, axes->index[axis]);
    coder_emit(k, (VmInst){.op = VM_CHECK,
                           .type = VM_I64,
                           .sub = axis,
                           .a = at.reg,
                           .b = extent.reg,
                           .c = number});
    coder_release(k, at);
}

int coder_begin_access(VmCoder *k, const Buffer *buffer, const AxisAccess *axes)
{
    int begun = k->subscript_loads.n;
    if (!axes)
        return begun;
    bool outer = k->in_subscripts, fits = k->fits;
    int number = coder_buffer(k, buffer);
    k->in_subscripts = true;
    k->fits = false; /* the text does not compute them */
    for (int axis = 0; axis < axes->buffer->rank; axis++)
        check_axis(k, number, axes, axis);
    k->in_subscripts = outer;
    k->fits = fits;
    return begun;
}

void coder_end_access(VmCoder *k, int begun)
{
    while (k->subscript_loads.n > begun)
        coder_release(k, k->subscript_loads.items[--k->subscript_loads.n].value);
}
