/* build.c - Builds expressions, statements, variables and buffers.
 *
 * Builders compute types and check what they are given: a wrong operand here is a bug of the
 * caller, who has resolved the user's names and types already.  Nothing is simplified, with one
 * exception that keeps text and tree the same thing: a minus directly before a literal makes a
 * negative literal. */
#include "ir/instruction.h"
#include "ir/ir.h"

#include <string.h>

static Expr *new_expr(Context *c, ExprKind kind, DType type, Span span)
{
    Expr *e = ARENA_NEW(c->arena, Expr);
    e->kind = kind;
    e->type = type;
    e->span = span;
    e->step = c->step;
    return e;
}

static Expr *const *copy_exprs(Context *c, Expr *const *items, int n)
{
    Expr **copy = ARENA_ARRAY(c->arena, Expr *, n);
    if (n > 0)
        memcpy(copy, items, (size_t)n * sizeof *items);
    return copy;
}

/* ---- expressions ----------------------------------------------------------------------------- */

Expr *expr_int(Context *c, DType type, int64_t value, Span span)
{
    if (!type_is_int(type) && type != DT_BOOL)
        TIRC_BUG(c, "an integer literal of type %s", type_info(type)->name);
    Expr *e = new_expr(c, EX_INT, type, span);
    e->u.i = value;
    return e;
}

Expr *expr_index(Context *c, int64_t value)
{
    return expr_int(c, DT_INDEX, value, span_none());
}

Expr *expr_bool(Context *c, bool value)
{
    return expr_int(c, DT_BOOL, value, span_none());
}

Expr *expr_true(Context *c)
{
    return expr_int(c, DT_BOOL, 1, span_none());
}

Expr *expr_false(Context *c)
{
    return expr_int(c, DT_BOOL, 0, span_none());
}

Expr *expr_float(Context *c, DType type, double value, Span span)
{
    if (!type_is_float(type))
        TIRC_BUG(c, "a floating literal of type %s", type_info(type)->name);
    Expr *e = new_expr(c, EX_FLOAT, type, span);
    e->u.f = type_round(type, value);
    return e;
}

Expr *expr_number(Context *c, DType type, int value, Span span)
{
    return type_is_float(type) ? expr_float(c, type, value, span) : expr_int(c, type, value, span);
}

Expr *expr_var(Context *c, Var *var, Span span)
{
    Expr *e = new_expr(c, EX_VAR, var->type, span);
    e->u.var = var;
    return e;
}

Expr *expr_axis(Context *c, Axis axis)
{
    if (axis >= AXIS_COUNT)
        TIRC_BUG(c, "an axis expression without an axis");
    Expr *e = new_expr(c, EX_AXIS, DT_INDEX, span_none());
    e->u.axis = axis;
    return e;
}

/* Subscripts are INDEX; the lowered level may widen them to I64. */
static void check_subscripts(Context *c, const Buffer *buffer, Expr *const *index)
{
    for (int i = 0; i < buffer->rank; i++)
        if (index[i]->type != DT_INDEX && index[i]->type != DT_I64)
            TIRC_BUG(c, "subscript %d of '%s' has type %s", i + 1, buffer->name,
                     type_info(index[i]->type)->name);
}

Expr *expr_load(Context *c, Buffer *buffer, Expr *const *index, Span span)
{
    check_subscripts(c, buffer, index);
    Expr *e = new_expr(c, EX_LOAD, buffer->type, span);
    e->u.load.buffer = buffer;
    e->u.load.index = copy_exprs(c, index, buffer->rank);
    return e;
}

Expr *expr_load_like(Context *c, const Expr *like, Buffer *buffer, Expr *const *index)
{
    Expr *e = expr_load(c, buffer, index, like->span);
    e->step = like->step;
    e->hint = like->hint;
    if (buffer == like->u.load.buffer)
        e->u.load.axes = like->u.load.axes;
    return e;
}

static bool unary_accepts(ExprKind kind, DType type)
{
    switch (kind) {
    case EX_NEG: return type != DT_BOOL;
    case EX_NOT: return type == DT_BOOL;
    case EX_BITNOT: return type_is_int(type);
    default: return false;
    }
}

/* The literal -a, or NULL when `a` is no literal or its type has no negative values. */
static Expr *negative_literal(Context *c, const Expr *a, Span span)
{
    if (a->kind == EX_FLOAT)
        return expr_float(c, a->type, -a->u.f, span);
    if (a->kind == EX_INT && type_info(a->type)->class != CLASS_UINT)
        return expr_int(c, a->type, (int64_t)(0 - (uint64_t)a->u.i), span);
    return NULL;
}

Expr *expr_unary(Context *c, ExprKind kind, Expr *a, Span span)
{
    if (!unary_accepts(kind, a->type))
        TIRC_BUG(c, "operator %s of type %s", expr_is_unary(kind) ? op_info(kind)->token : "?",
                 type_info(a->type)->name);
    Expr *literal = kind == EX_NEG ? negative_literal(c, a, span) : NULL;
    if (literal)
        return literal;
    Expr *e = new_expr(c, kind, a->type, span);
    e->u.arg[0] = a;
    return e;
}

bool expr_binary_accepts(ExprKind kind, DType a, DType b)
{
    switch (op_info(kind)->class) {
    case OP_ARITH: return a == b && a != DT_BOOL && (kind != EX_MOD || type_is_int(a));
    case OP_COMPARE: return a == b;
    case OP_LOGIC: return a == DT_BOOL && b == DT_BOOL;
    case OP_BITS: return a == b && (type_is_int(a) || a == DT_BOOL);
    case OP_SHIFT: return type_is_int(a) && type_is_int(b);
    case OP_LANES: return a != DT_INDEX && b == DT_INDEX;
    case OP_LEAF:
    case OP_UNARY: return false;
    }
    return false;
}

Expr *expr_binary(Context *c, ExprKind kind, Expr *a, Expr *b, Span span)
{
    if (!expr_binary_accepts(kind, a->type, b->type))
        TIRC_BUG(c, "operator %s of types %s and %s",
                 expr_is_binary(kind) ? op_info(kind)->token : "?", type_info(a->type)->name,
                 type_info(b->type)->name);
    OpClass class = op_info(kind)->class;
    bool truth = class == OP_COMPARE || class == OP_LOGIC;
    Expr *e = new_expr(c, kind, truth ? DT_BOOL : a->type, span);
    e->u.arg[0] = a;
    e->u.arg[1] = b;
    return e;
}

Expr *expr_select(Context *c, Expr *cond, Expr *a, Expr *b, Span span)
{
    if (cond->type != DT_BOOL || a->type != b->type)
        TIRC_BUG(c, "a choice by %s between %s and %s", type_info(cond->type)->name,
                 type_info(a->type)->name, type_info(b->type)->name);
    Expr *e = new_expr(c, EX_SELECT, a->type, span);
    e->u.arg[0] = cond;
    e->u.arg[1] = a;
    e->u.arg[2] = b;
    return e;
}

Expr *expr_cast(Context *c, DType type, Expr *a, Span span)
{
    Expr *e = new_expr(c, EX_CAST, type, span);
    e->u.arg[0] = a;
    return e;
}

static Expr *new_call(Context *c, CallKind call, Expr *const *args, DType named, Span span)
{
    const CallInfo *info = call_info(call);
    for (int i = 0; i < info->arity; i++)
        if (!call_takes(call, args[i]->type) || args[i]->type != args[0]->type)
            TIRC_BUG(c, "argument %d of '%s' has type %s", i + 1, info->name,
                     type_info(args[i]->type)->name);
    Expr *e = new_expr(c, EX_CALL, call_result(call, args[0]->type, named), span);
    e->u.call.call = call;
    e->u.call.arg = copy_exprs(c, args, info->arity);
    return e;
}

Expr *expr_call(Context *c, CallKind call, Expr *const *args, Span span)
{
    return new_call(c, call, args, DT_COUNT, span);
}

Expr *expr_bitcast(Context *c, DType type, Expr *a, Span span)
{
    return new_call(c, CALL_BITCAST, &a, type, span);
}

Expr *expr_call_like(Context *c, const Expr *like, Expr *const *args)
{
    return new_call(c, like->u.call.call, args, like->type, like->span);
}

/* ---- statements ------------------------------------------------------------------------------ */

static Stmt *new_stmt(Context *c, StmtKind kind, Span span)
{
    Stmt *s = ARENA_NEW(c->arena, Stmt);
    s->kind = kind;
    s->span = span;
    s->step = c->step;
    return s;
}

/* An update of a tuple stays one statement. */
static bool is_flattened(const Stmt *s)
{
    return s->kind == ST_SEQ && !s->u.seq.combiner;
}

static int count_flat(Stmt *const *items, int n)
{
    int flat = 0;
    for (int i = 0; i < n; i++)
        flat += is_flattened(items[i]) ? items[i]->u.seq.n : 1;
    return flat;
}

Stmt *stmt_stamp(Stmt *to, const Stmt *from)
{
    if (to && to != from)
        to->step = from->step;
    return to;
}

Stmt *stmt_seq(Context *c, Stmt *const *items, int n, Span span)
{
    if (n == 1)
        return items[0];
    Stmt **flat = ARENA_ARRAY(c->arena, Stmt *, count_flat(items, n));
    int n_flat = 0;
    for (int i = 0; i < n; i++) {
        if (!is_flattened(items[i]))
            flat[n_flat++] = items[i];
        else
            for (int j = 0; j < items[i]->u.seq.n; j++)
                flat[n_flat++] = items[i]->u.seq.items[j];
    }
    if (n_flat == 1)
        return flat[0];
    Stmt *s = new_stmt(c, ST_SEQ, span);
    s->u.seq.items = flat;
    s->u.seq.n = n_flat;
    return s;
}

Stmt *stmt_seq_like(Context *c, const Stmt *like, Stmt *const *items, int n)
{
    Stmt *s = stmt_seq(c, items, n, like->span);
    if (like->u.seq.combiner && s->kind == ST_SEQ && n == like->u.seq.n)
        s->u.seq.combiner = like->u.seq.combiner;
    return s;
}

static AnnotationList copy_annotations(Context *c, AnnotationList list)
{
    Annotation *copy = ARENA_ARRAY(c->arena, Annotation, list.n);
    if (list.n > 0)
        memcpy(copy, list.items, (size_t)list.n * sizeof *copy);
    return (AnnotationList){copy, list.n};
}

Stmt *stmt_for(Context *c, const ForStmt *loop, Span span)
{
    DType type = loop->var->type;
    if ((type != DT_INDEX && type != DT_I64) || loop->lo->type != type || loop->hi->type != type ||
        loop->step == 0)
        TIRC_BUG(c, "the range of loop '%s' is of another type than it, or its step is 0",
                 loop->var->name);
    if ((loop->kind == LOOP_BIND) != (loop->axis != AXIS_NONE))
        TIRC_BUG(c, "loop '%s' is %s, which does not fit its axis", loop->var->name,
                 loop_kind_name(loop->kind));
    Stmt *s = new_stmt(c, ST_FOR, span);
    s->u.loop = *loop;
    if (s->u.loop.id == 0)
        s->u.loop.id = ctx_new_id(c);
    s->u.loop.annotations = copy_annotations(c, loop->annotations);
    return s;
}

Stmt *stmt_if(Context *c, Expr *cond, Stmt *then, Stmt *otherwise, Span span)
{
    if (cond->type != DT_BOOL)
        TIRC_BUG(c, "a condition of type %s", type_info(cond->type)->name);
    Stmt *s = new_stmt(c, ST_IF, span);
    s->u.cond.cond = cond;
    s->u.cond.then = then;
    s->u.cond.otherwise = otherwise;
    return s;
}

Stmt *stmt_block(Context *c, const BlockStmt *block, Span span)
{
    Stmt *s = new_stmt(c, ST_BLOCK, span);
    BlockIter *iters = ARENA_COPY(c->arena, BlockIter, block->iters, block->n_iters, 0);
    s->u.block = *block;
    s->u.block.iters = iters;
    if (s->u.block.id == 0)
        s->u.block.id = ctx_new_id(c);
    s->u.block.annotations = copy_annotations(c, block->annotations);
    return s;
}

Stmt *stmt_store(Context *c, const StoreStmt *store, Span span)
{
    check_subscripts(c, store->buffer, store->index);
    if (store->value->type != store->buffer->type)
        TIRC_BUG(c, "a value of type %s stored to '%s', which holds %s",
                 type_info(store->value->type)->name, store->buffer->name,
                 type_info(store->buffer->type)->name);
    Stmt *s = new_stmt(c, ST_STORE, span);
    s->u.store = *store;
    s->u.store.index = copy_exprs(c, store->index, store->buffer->rank);
    return s;
}

Stmt *stmt_assign(Context *c, BufferElement to, StoreOp op, Expr *value, Span span)
{
    StoreStmt store = {.buffer = to.buffer, .index = to.index, .op = op, .value = value};
    return stmt_store(c, &store, span);
}

Stmt *stmt_set(Context *c, BufferElement to, Expr *value, Span span)
{
    return stmt_assign(c, to, STORE_SET, value, span);
}

Stmt *stmt_store_like(Context *c, const Stmt *like, Buffer *buffer, Expr *const *index, Expr *value)
{
    Stmt *s = stmt_assign(c, (BufferElement){buffer, index}, like->u.store.op, value, like->span);
    s->u.store.atomic = like->u.store.atomic;
    s->u.store.hint = like->u.store.hint;
    if (buffer == like->u.store.buffer)
        s->u.store.axes = like->u.store.axes;
    return stmt_stamp(s, like);
}

Stmt *stmt_temp(Context *c, Buffer *buffer, Span span)
{
    Stmt *s = new_stmt(c, ST_TEMP, span);
    s->u.temp = buffer;
    return s;
}

Stmt *stmt_let(Context *c, Var *var, Expr *value, Span span)
{
    if (var->type != value->type)
        TIRC_BUG(c, "'%s' has type %s but its value has type %s", var->name,
                 type_info(var->type)->name, type_info(value->type)->name);
    Stmt *s = new_stmt(c, ST_LET, span);
    s->u.let.var = var;
    s->u.let.value = value;
    return s;
}

static Stmt *new_sync(Context *c, SyncKind kind, int pending, const char *why, Span span)
{
    Stmt *s = new_stmt(c, ST_BARRIER, span);
    s->u.barrier.kind = kind;
    s->u.barrier.pending = pending;
    s->u.barrier.why = arena_strdup(c->arena, why);
    return s;
}

Stmt *stmt_break(Context *c, Span span)
{
    return new_stmt(c, ST_BREAK, span);
}

Stmt *stmt_barrier(Context *c, SyncKind kind, const char *why, Span span)
{
    return new_sync(c, kind, 0, why, span);
}

Stmt *stmt_commit(Context *c, const Instruction *of, const char *why, Span span)
{
    Stmt *s = new_sync(c, SYNC_COMMIT, 0, why, span);
    s->u.barrier.of = of;
    return s;
}

Stmt *stmt_wait(Context *c, const Instruction *of, int pending, const char *why, Span span)
{
    Stmt *s = new_sync(c, SYNC_WAIT, pending, why, span);
    s->u.barrier.of = of;
    return s;
}

Stmt *stmt_hand_over(Context *c, SyncKind kind, int pending, const char *why, Span span)
{
    return new_sync(c, kind, pending, why, span);
}

Stmt *stmt_roles(Context *c, Stmt *producer, Stmt *consumers, int turn, Span span)
{
    Stmt *s = new_stmt(c, ST_ROLES, span);
    s->u.roles.producer = producer;
    s->u.roles.consumers = consumers;
    s->u.roles.turn = turn;
    return s;
}

Stmt *stmt_launch(Context *c, const LaunchStmt *launch, Span span)
{
    Stmt *s = new_stmt(c, ST_LAUNCH, span);
    s->u.launch = *launch;
    return s;
}

Stmt *stmt_instruction(Context *c, const Instruction *of, Expr *const *elements, Stmt *body,
                       Span span)
{
    Stmt *s = new_stmt(c, ST_INSTRUCTION, span);
    s->u.instruction.of = of;
    s->u.instruction.elements = copy_exprs(c, elements, of->n_elements);
    s->u.instruction.body = body;
    return s;
}

/* ---- variables, buffers, ids ----------------------------------------------------------------- */

uint32_t ctx_new_id(Context *c)
{
    return c->next_id++;
}

Var *var_new(Context *c, Name name, DType type, VarKind kind, Span span)
{
    Var *var = ARENA_NEW(c->arena, Var);
    *var = (Var){name, type, kind, ctx_new_id(c), span};
    return var;
}

Buffer *buffer_new(Context *c, const Buffer *like)
{
    Buffer *buffer = ARENA_NEW(c->arena, Buffer);
    *buffer = *like;
    buffer->shape = copy_exprs(c, like->shape, like->rank);
    buffer->id = ctx_new_id(c);
    buffer->step = c->step;
    return buffer;
}

int buffer_sum_digits(const Buffer *buffer)
{
    return buffer->digits.sums ? buffer->digits.sums : type_info(buffer->type)->digits;
}

Buffer *buffer_flat_view(Context *c, Buffer *buffer)
{
    if (buffer->rank == 1)
        return buffer;
    Buffer *view = buffer_copy(c, buffer);
    Expr **shape = ARENA_NEW(c->arena, Expr *), *elements = expr_index(c, 1);
    int64_t total = 1, extent;
    bool literal = true;
    for (int i = 0; i < buffer->rank; i++) {
        elements =
            i ? expr_binary(c, EX_MUL, elements, buffer->shape[i], buffer->span) : buffer->shape[i];
        literal = literal && expr_is_const(buffer->shape[i], &extent) &&
                  checked_mul(total, extent, &total);
    }
    shape[0] = literal ? expr_index(c, total) : elements;
    view->rank = 1;
    view->shape = shape;
    view->view_of = buffer;
    return view;
}

Buffer *buffer_copy(Context *c, const Buffer *buffer)
{
    Buffer *copy = ARENA_NEW(c->arena, Buffer);
    *copy = *buffer;
    if (c->step)
        copy->step = c->step;
    return copy;
}

const Buffer *buffer_of_block(Context *c, const Buffer *buffer)
{
    if (buffer->scope != SCOPE_CLUSTER)
        return buffer;
    Buffer *part = ARENA_NEW(c->arena, Buffer);
    *part = *buffer;
    part->scope = SCOPE_SHARED;
    part->rank--;
    part->shape++;
    part->layout = buffer->layout ? buffer->layout + 1 : NULL;
    return part;
}

Buffer *buffer_with_extent(Context *c, const Buffer *buffer, int axis, Expr *extent)
{
    Buffer *copy = buffer_copy(c, buffer);
    Expr **shape = ARENA_COPY(c->arena, Expr *, buffer->shape, buffer->rank, 0);
    shape[axis] = extent;
    copy->shape = shape;
    return copy;
}

AxisLayout buffer_rule(const Buffer *buffer, int axis)
{
    return buffer->layout ? buffer->layout[axis] : (AxisLayout){0};
}

Buffer *buffer_with_rule(Context *c, const Buffer *buffer, int axis, AxisLayout rule)
{
    Buffer *copy = buffer_copy(c, buffer);
    AxisLayout *layout = ARENA_ARRAY(c->arena, AxisLayout, buffer->rank);
    for (int d = 0; d < buffer->rank; d++)
        layout[d] = d == axis ? rule : buffer_rule(buffer, d);
    copy->layout = layout;
    return copy;
}

Expr *stored_value(Context *c, const Stmt *s)
{
    if (!store_updates(s->u.store.op))
        return s->u.store.value;
    ExprKind kind = store_op_kind(s->u.store.op, s->u.store.buffer->type);
    Expr *old = expr_load(c, s->u.store.buffer, s->u.store.index, s->span);
    old->hint = cache_hint_info(s->u.store.hint)->load ? s->u.store.hint : HINT_NONE;
    /* All lanes of a warp exchange values, so `||` and `&&` must not skip an exchange. */
    bool first =
        (kind == EX_OR || kind == EX_AND) && op_info(s->u.store.value->kind)->class == OP_LANES;
    return first ? expr_binary(c, kind, s->u.store.value, old, s->span)
                 : expr_binary(c, kind, old, s->u.store.value, s->span);
}
