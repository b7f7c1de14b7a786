/* expr.c - Resolves expressions: the meaning of names, and the types of operators.
 *
 * Each kind of tree has one function, which gives a Value whose node has its final type unless it
 * is a bare literal.  No conversion is left implicit in the result: what C would convert silently
 * is a cast node. */
#include <string.h>

#include "frontend/resolve/internal.h"

static Value value_of(Expr *e)
{
    return (Value){.e = e};
}

static const Value no_value = {0};

/* ---- names ---- */

static Value refuse_type_name(Resolver *r, Name name, Span span)
{
    diag_error(r->ctx, E0218, span, "'%s' is a type, not a value; write a conversion as %s(x)",
               name, name);
    return no_value;
}

static Value resolve_name(Resolver *r, const AstExpr *e)
{
    Name name = e->u.name;
    Span span = e->span;
    const Symbol *s = names_find(r, name);
    if (!s && type_find(name) != DT_COUNT)
        return refuse_type_name(r, name, span);
    if (!s) {
        names_unknown(r, (AstName){name, span}, "value");
        return no_value;
    }
    if (s->broken)
        return no_value;
    switch (s->kind) {
    case SYMBOL_SIZE:
        if (s->var)
            return value_of(expr_var(r->ctx, s->var, span));
        return (Value){.e = expr_int(r->ctx, DT_INDEX, s->value, span), .literal = true};
    case SYMBOL_VAR: {
        Value value;
        return value_named(r, s->var, &value) ? value : value_of(expr_var(r->ctx, s->var, span));
    }
    case SYMBOL_TYPE: return refuse_type_name(r, name, span);
    case SYMBOL_TUPLE: return value_of(resolve_single_tuple(r, e));
    case SYMBOL_VIEW:
        diag_error(r->ctx, E0218, span,
                   "'%.60s' is a view; write one of its elements with %d subscript%s", name,
                   s->part->n, s->part->n == 1 ? "" : "s");
        return no_value;
    case SYMBOL_BUFFER: break;
    }
    if (s->buffer->rank == 0)
        return value_of(expr_load(r->ctx, s->buffer, NULL, span));
    diag_error(
        r->ctx, E0218, span,
        "'%.60s' is a buffer; write one of its elements with %d subscript%s, as in %.60s[%s]", name,
        s->buffer->rank, s->buffer->rank == 1 ? "" : "s", name,
        s->buffer->rank == 1 ? "i" : "i, ...");
    return no_value;
}

static Value resolve_field(Resolver *r, const AstExpr *e)
{
    const AstExpr *base = e->u.field.base;
    if (is_tuple_field(r, e))
        return value_of(resolve_tuple_field(r, e));
    if (base->kind == AE_NAME) {
        const char *name = ctx_namef(r->ctx, "%s.%s", base->u.name, e->u.field.name.text);
        Axis axis = axis_find(name);
        if (axis != AXIS_NONE && axis != AXIS_RANK && r->mode == MODE_LAUNCH) {
            Expr *out = expr_axis(r->ctx, axis);
            out->span = e->span;
            return value_of(out);
        }
        if (axis != AXIS_NONE && r->mode != MODE_LAUNCH) {
            diag_error(r->ctx, E0222, e->span,
                       "'%s' has a value only inside a launch; a schedule binds a loop to it with "
                       "bind(loop, %s)",
                       name, name);
            return no_value;
        }
    }
    diag_error(r->ctx, E0223, e->span,
               "unexpected '.%.60s'; only components of reducers and blockIdx.x, .y, .z and "
               "threadIdx.x, .y, .z contain a '.'",
               e->u.field.name.text);
    return no_value;
}

/* ---- loads ---- */

/* Launches access global memory with one subscript: the name then refers to the flat view. */
static Buffer *as_written(Resolver *r, Buffer *buffer, int n)
{
    if (n != 1 || buffer->rank == 1 || r->mode != MODE_LAUNCH || buffer->scope != SCOPE_GLOBAL)
        return buffer;
    for (int i = 0; i < r->symbols.n; i++) {
        Symbol *s = &r->symbols.items[i];
        if (s->kind == SYMBOL_BUFFER && s->buffer == buffer)
            return s->view ? s->view : (s->view = buffer_flat_view(r->ctx, buffer));
    }
    return buffer;
}

Expr **resolve_subscripts(Resolver *r, Buffer **accessed, AstExpr *const *items, int n, Span span)
{
    Buffer *buffer = *accessed = as_written(r, *accessed, n);
    if (n != buffer->rank) {
        diag_error(r->ctx, E0203, span, "'%.60s' has %d %s, but %d subscript%s given", buffer->name,
                   buffer->rank, buffer->rank == 1 ? "axis" : "axes", n, n == 1 ? " is" : "s are");
        diag_note(r->ctx, buffer->span, "'%.60s' is declared here", buffer->name);
        return NULL;
    }
    Expr **index = ARENA_ARRAY(r->ctx->arena, Expr *, n + 1);
    bool good = true;
    for (int i = 0; i < n; i++) {
        index[i] = resolve_subscript(r, items[i]);
        good = good && index[i];
    }
    return good ? index : NULL;
}

bool resolve_hint(Resolver *r, AstName name, const Buffer *buffer, HintedAccess access,
                  CacheHint *hint)
{
    *hint = cache_hint_find(name.text);
    if (*hint == HINT_COUNT) {
        diag_error(r->ctx, E0223, name.span,
                   "unknown cache hint '%.60s'; `tirc --help cache_hint` lists the hints",
                   name.text);
        return false;
    }
    if (r->mode != MODE_LAUNCH || buffer->scope != SCOPE_GLOBAL) {
        diag_error(r->ctx, E0222, name.span,
                   "only accesses to global memory inside a launch can have cache hints, and "
                   "'%.60s' is %s; a schedule adds them with cache_hint(block, buffer, %s)",
                   buffer->name,
                   buffer->scope != SCOPE_GLOBAL ? scope_name(buffer->scope) : "accessed elsewhere",
                   name.text);
        return false;
    }
    const CacheHintInfo *info = cache_hint_info(*hint);
    if (!(access == HINTED_STORE ? info->store : info->load))
        diag_error(r->ctx, E0223, name.span, "'%s' is a hint for %s", info->name,
                   access == HINTED_STORE ? "loads" : "stores");
    return access == HINTED_STORE ? info->store : info->load;
}

static Value resolve_load(Resolver *r, const AstExpr *e)
{
    const AstExpr *base = e->u.index.base, *field = NULL;
    if (base->kind == AE_FIELD && base->u.field.base->kind == AE_NAME) {
        field = base;
        base = field->u.field.base;
    }
    if (base->kind != AE_NAME) {
        diag_error(r->ctx, E0220, e->span,
                   "only a buffer has subscripts; write all subscripts of an access in one pair of "
                   "brackets, as in A[i, j]");
        return no_value;
    }
    const Symbol *s = names_find(r, base->u.name);
    if (!s) {
        names_unknown(r, (AstName){base->u.name, base->span}, "buffer");
        return no_value;
    }
    if (s->broken)
        return no_value;
    if (s->kind == SYMBOL_TUPLE && !field)
        return value_of(resolve_single_tuple(r, e));
    if (s->kind == SYMBOL_VIEW && !field) {
        Expr **index = view_subscripts(r, s, e->u.index.items, e->u.index.n, e->span);
        return index ? value_of(expr_load(r->ctx, s->part->buffer, index, e->span)) : no_value;
    }
    if (s->kind != SYMBOL_BUFFER) {
        diag_error(r->ctx, E0218, base->span,
                   "'%.60s' is %s and has no subscripts; only buffers do", s->name,
                   symbol_describe(s));
        return no_value;
    }
    Buffer *buffer = s->buffer;
    CacheHint hint = HINT_NONE;
    Expr **index = resolve_subscripts(r, &buffer, e->u.index.items, e->u.index.n, e->span);
    if (!index || (field && !resolve_hint(r, field->u.field.name, buffer, HINTED_LOAD, &hint)))
        return no_value;
    Expr *load = expr_load(r->ctx, buffer, index, e->span);
    load->hint = hint;
    return value_of(load);
}

/* ---- operators ---- */

/* In the user's words: what an operand is. */
static const char *type_of(Value v)
{
    if (v.literal)
        return v.e->kind == EX_FLOAT ? "a floating literal" : "an integer literal";
    return type_info(v.e->type)->name;
}

static Value refuse_unary(Resolver *r, const AstExpr *e, const char *needs, Value a)
{
    diag_error(r->ctx, E0208, e->span, "'%s' needs %s, but its operand is %s",
               op_info(e->u.op.op)->token, needs, type_of(a));
    return no_value;
}

static Value negate_literal(Resolver *r, Value a, Span span)
{
    if (a.huge && (uint64_t)a.e->u.i == (uint64_t)1 << 63)
        return (Value){.e = expr_int(r->ctx, DT_INDEX, INT64_MIN, span), .literal = true};
    if (a.huge) {
        value_settle(r, a);
        return no_value;
    }
    return (Value){.e = expr_unary(r->ctx, EX_NEG, a.e, span), .literal = true};
}

static Value resolve_unary(Resolver *r, const AstExpr *e)
{
    Value a = resolve_value(r, e->u.op.a);
    ExprKind op = e->u.op.op;
    if (!a.e)
        return no_value;
    if (op == EX_NOT) {
        if (a.literal || a.e->type != DT_BOOL)
            return refuse_unary(r, e, "a condition", a);
        return value_of(expr_unary(r->ctx, op, a.e, e->span));
    }
    if (op == EX_NEG && a.literal)
        return negate_literal(r, a, e->span);
    if (op == EX_BITNOT && (a.e->kind == EX_FLOAT ? a.literal : !type_is_int(a.e->type)))
        return refuse_unary(r, e, "an integer", a);
    Expr *arg = value_convert(r, a, type_promote(a.e->type));
    return arg ? value_of(expr_unary(r->ctx, op, arg, e->span)) : no_value;
}

static Value refuse_binary(Resolver *r, const AstExpr *e, const char *needs, Value a, Value b)
{
    diag_error(r->ctx, E0208, e->span, "'%s' needs %s, but its operands are %s and %s",
               op_info(e->u.op.op)->token, needs, type_of(a), type_of(b));
    return no_value;
}

/* Literals take the type of the other side; everything else keeps its own. */
static Value resolve_shift(Resolver *r, const AstExpr *e, Value a, Value b)
{
    if (a.literal && a.e->kind == EX_INT && !b.literal)
        a = value_of(value_convert(r, a, type_promote(b.e->type)));
    else if (b.literal && b.e->kind == EX_INT && !a.literal)
        b = value_of(value_convert(r, b, type_promote(a.e->type)));
    if (!a.e || !b.e)
        return no_value;
    if (!type_is_int(a.e->type) || !type_is_int(b.e->type))
        return refuse_binary(r, e, "integers", a, b);
    Expr *left = value_convert(r, a, type_promote(a.e->type));
    Expr *right = value_convert(r, b, type_promote(b.e->type));
    return left && right ? value_of(expr_binary(r->ctx, e->u.op.op, left, right, e->span))
                         : no_value;
}

static bool is_truth(Value v)
{
    return !v.literal && v.e->type == DT_BOOL;
}

static Value resolve_logic(Resolver *r, const AstExpr *e, Value a, Value b)
{
    if (!is_truth(a) || !is_truth(b))
        return refuse_binary(r, e, "conditions such as x != 0", a, b);
    return value_of(expr_binary(r->ctx, e->u.op.op, a.e, b.e, e->span));
}

/* A size by name that is the constant 1, as an index. */
static bool is_size_one(const AstExpr *ast, const Expr *e)
{
    return ast->kind == AE_NAME && e->type == DT_INDEX && expr_is(e, 1);
}

/* The other operand of a product or quotient by a size of 1, such as a stride: as it stands it
 * would hide which extents are equal. NULL: it is another operation. */
static Expr *without_one(const AstExpr *e, Expr *a, Expr *b)
{
    ExprKind op = e->u.op.op;
    if ((op == EX_MUL || op == EX_DIV) && is_size_one(e->u.op.b, b))
        return a;
    return op == EX_MUL && is_size_one(e->u.op.a, a) ? b : NULL;
}

static Value resolve_binary(Resolver *r, const AstExpr *e)
{
    ExprKind op = e->u.op.op;
    OpClass class = op_info(op)->class;
    Value a = resolve_value(r, e->u.op.a), b = resolve_value(r, e->u.op.b);
    if (!a.e || !b.e)
        return no_value;
    if (class == OP_LOGIC)
        return resolve_logic(r, e, a, b);
    if (class == OP_SHIFT)
        return resolve_shift(r, e, a, b);
    Expr *both[2];
    bool truths = is_truth(a) && is_truth(b);
    bool same_small = class == OP_COMPARE || (class == OP_BITS && truths);
    if (!values_unify(r, a, b, !same_small ? SMALL_PROMOTE : SMALL_STAY, both))
        return no_value;
    if (!expr_binary_accepts(op, both[0]->type, both[1]->type))
        return refuse_binary(r, e, op == EX_MOD || class == OP_BITS ? "integers" : "numbers", a, b);
    Expr *out = without_one(e, both[0], both[1]);
    if (out)
        return value_of(out);
    out = expr_binary(r->ctx, op, both[0], both[1], e->span);
    if ((op != EX_DIV && op != EX_MOD) || expr_division_levels(out) <= EXPR_MAX_DIVISIONS)
        return value_of(out);
    diag_error(r->ctx, E0239, e->span,
               "quotients and remainders in this index are nested more than %d levels deep; store "
               "a part in a buffer",
               EXPR_MAX_DIVISIONS);
    return no_value;
}

/* ---- conditions and choices ---- */

Expr *resolve_condition(Resolver *r, const AstExpr *e, const char *what)
{
    Value v = resolve_value(r, e);
    if (!v.e || is_truth(v))
        return v.e;
    diag_error(r->ctx, E0217, e->span,
               "%s is %s, but a condition must be a bool; write a comparison, as in x != 0", what,
               type_of(v));
    return NULL;
}

static Value choose(Resolver *r, const AstExpr *cond, const AstExpr *a, const AstExpr *b, Span span)
{
    Expr *test = resolve_condition(r, cond, "the condition of a selection");
    Value va = resolve_value(r, a), vb = resolve_value(r, b);
    Expr *both[2];
    if (!values_unify(r, va, vb, SMALL_STAY, both) || !test)
        return no_value;
    return value_of(expr_select(r->ctx, test, both[0], both[1], span));
}

/* ---- calls ---- */

static bool check_arguments(Resolver *r, const AstExpr *e, int n)
{
    for (int i = 0; i < e->u.call.n; i++)
        if (e->u.call.args[i].name.text) {
            diag_error(r->ctx, E0216, e->u.call.args[i].name.span,
                       "functions take their arguments by position, not by name");
            return false;
        }
    if (e->u.call.n == n)
        return true;
    diag_error(r->ctx, E0216, e->span, "'%s' takes %d argument%s, but %d %s given",
               e->u.call.callee.text, n, n == 1 ? "" : "s", e->u.call.n,
               e->u.call.n == 1 ? "is" : "are");
    return false;
}

static Value resolve_conversion(Resolver *r, const AstExpr *e, DType type)
{
    if (!check_arguments(r, e, 1))
        return no_value;
    return value_of(value_convert(r, resolve_value(r, e->u.call.args[0].value), type));
}

static Value resolve_min_max(Resolver *r, const AstExpr *e, ExprKind op)
{
    if (!check_arguments(r, e, 2))
        return no_value;
    Value a = resolve_value(r, e->u.call.args[0].value);
    Value b = resolve_value(r, e->u.call.args[1].value);
    Expr *both[2];
    if (!values_unify(r, a, b, SMALL_STAY, both))
        return no_value;
    if (both[0]->type == DT_BOOL) {
        diag_error(r->ctx, E0208, e->span,
                   "'%s' needs numbers; combine conditions with '&&' and '||'",
                   e->u.call.callee.text);
        return no_value;
    }
    return value_of(expr_binary(r->ctx, op, both[0], both[1], e->span));
}

/* The lane of a shuffle: any, or one at a literal distance. NULL after an error. */
static Expr *resolve_lane(Resolver *r, const AstExpr *e, ExprKind kind)
{
    int64_t lanes;
    if (kind == EX_SHUFFLE)
        return resolve_index(r, e, "a lane");
    Value v = resolve_value(r, e);
    if (!v.e || (v.literal && expr_is_const(v.e, &lanes) && lanes >= 1 && lanes <= 31))
        return v.e;
    diag_error(r->ctx, E0222, e->span,
               "'shuffle_xor' reads a value of another lane, at a literal distance of 1 to 31");
    return NULL;
}

/* Values of other lanes are there in launches only. */
static Value resolve_shuffle(Resolver *r, const AstExpr *e, ExprKind kind)
{
    if (!check_arguments(r, e, 2))
        return no_value;
    Value a = resolve_value(r, e->u.call.args[0].value);
    if (a.e && a.literal && a.e->kind == EX_FLOAT)
        a = value_of(value_convert(r, a, DT_F32));
    if (!a.e)
        return no_value;
    if (r->mode == MODE_LAUNCH && a.e->type != DT_INDEX) {
        Expr *lane = resolve_lane(r, e->u.call.args[1].value, kind);
        return lane ? value_of(expr_binary(r->ctx, kind, a.e, lane, e->span)) : no_value;
    }
    diag_error(r->ctx, E0222, e->span,
               "'%s' is allowed only in the launches of a lowered kernel; it reads a value of "
               "another lane%s",
               op_info(kind)->token,
               kind == EX_SHUFFLE ? "" : ", at a literal distance of 1 to 31");
    return no_value;
}

/* abs of an integer has no function: a < 0 ? -a : a. */
static Value integer_abs(Resolver *r, Value v, Span span)
{
    Context *c = r->ctx;
    Expr *a = value_convert(r, v, type_promote(v.e->type));
    if (!a)
        return no_value;
    Expr *below = expr_binary(c, EX_LT, a, expr_int(c, a->type, 0, span), span);
    return value_of(expr_select(c, below, expr_unary(c, EX_NEG, a, span), a, span));
}

/* The type of a call that takes integers: all its arguments but literals have it. DT_COUNT after an
 * error. */
static DType integer_call_type(Resolver *r, const AstExpr *e, CallKind call, const Value *args)
{
    DType type = DT_COUNT;
    bool is_word = call_info(call)->takes == OF_WORD;
    const char *name = e->u.call.callee.text;
    for (int i = 0; i < e->u.call.n; i++) {
        DType t = args[i].e->type;
        if (args[i].literal && args[i].e->kind == EX_INT && e->u.call.n > 1)
            continue;
        if (args[i].literal || !call_takes(call, t)) {
            diag_error(r->ctx, E0208, args[i].e->span,
                       "'%s' needs %s, but this is %s; choose the type with a conversion, as in "
                       "%s(u32(x)%s)",
                       name, is_word ? "i32 or u32" : "an integer of 32 or 64 bits",
                       type_of(args[i]), name, e->u.call.n > 1 ? ", ..." : "");
            return DT_COUNT;
        }
        if (type != DT_COUNT && t != type) {
            diag_error(r->ctx, E0208, e->span,
                       "'%s' needs arguments of one type, but these are %s and %s", name,
                       type_info(type)->name, type_info(t)->name);
            return DT_COUNT;
        }
        type = t;
    }
    return type == DT_COUNT ? DT_I32 : type;
}

/* The floating type that the arguments of a call meet in; DT_COUNT after an error. */
static DType call_type(Resolver *r, const AstExpr *e, const Value *args)
{
    DType type = DT_COUNT;
    for (int i = 0; i < e->u.call.n; i++) {
        DType t = args[i].e->type;
        if (args[i].literal || t == DT_INDEX)
            continue;
        if (!type_is_float(t)) {
            diag_error(r->ctx, E0208, args[i].e->span,
                       "'%s' needs a floating-point argument, but this is %s; choose the precision "
                       "with a conversion, as in %s(f32(x))",
                       e->u.call.callee.text, type_of(args[i]), e->u.call.callee.text);
            return DT_COUNT;
        }
        type = type == DT_COUNT ? type_promote(t) : type_common(type, t);
    }
    return type == DT_COUNT ? DT_F32 : type;
}

/* bitcast(T, x). A bare integer has the width of T. */
static Value resolve_bitcast(Resolver *r, const AstExpr *e)
{
    if (!check_arguments(r, e, 2))
        return no_value;
    const AstExpr *name = e->u.call.args[0].value;
    if (name->kind != AE_NAME) {
        diag_error(r->ctx, E0216, name->span,
                   "the first argument of 'bitcast' is a type, as in bitcast(u32, x)");
        return no_value;
    }
    DType to = resolve_type(r, (AstName){name->u.name, name->span});
    Value v = resolve_value(r, e->u.call.args[1].value);
    if (!v.e || to == DT_COUNT)
        return no_value;
    bool bare = v.literal && v.e->kind == EX_INT;
    Expr *arg = bare ? value_convert(r, v, type_of_bits(type_info(to)->bits)) : value_settle(r, v);
    if (!arg)
        return no_value;
    if (call_takes(CALL_BITCAST, arg->type) && call_takes(CALL_BITCAST, to) &&
        type_info(arg->type)->bits == type_info(to)->bits)
        return value_of(expr_bitcast(r->ctx, to, arg, e->span));
    diag_error(r->ctx, E0208, e->span,
               "'bitcast' keeps the width, and takes and gives floats and integers, but this is "
               "%s as %s; write %s(x) to convert the value",
               type_of(v), type_info(to)->name, type_info(to)->name);
    return no_value;
}

/* await(t[i]): what stands in memory, and no value that is computed. */
static Value resolve_await(Resolver *r, const AstExpr *e)
{
    if (!check_arguments(r, e, 1))
        return no_value;
    Value v = resolve_value(r, e->u.call.args[0].value);
    if (!v.e)
        return no_value;
    if (v.e->kind == EX_LOAD && v.e->type == DT_U64 && v.e->u.load.buffer->role == ROLE_TEMP)
        return value_of(expr_call(r->ctx, CALL_AWAIT, &v.e, e->span));
    diag_error(r->ctx, E0208, e->span,
               "'await' takes an element of a temp of u64, as in await(t[i]), but this is %s",
               type_of(v));
    return no_value;
}

static Value resolve_function(Resolver *r, const AstExpr *e, CallKind call)
{
    enum { MOST = 3 };
    int n = call_info(call)->arity;
    Value values[MOST];
    Expr *args[MOST];
    if (call == CALL_BITCAST)
        return resolve_bitcast(r, e);
    if (call == CALL_AWAIT)
        return resolve_await(r, e);
    if (!check_arguments(r, e, n))
        return no_value;
    bool good = true;
    for (int i = 0; i < n; i++) {
        values[i] = resolve_value(r, e->u.call.args[i].value);
        good = good && values[i].e;
    }
    if (!good)
        return no_value;
    if (call == CALL_ABS && type_is_int(values[0].e->type) && !values[0].literal)
        return integer_abs(r, values[0], e->span);
    DType type = call_info(call)->takes == OF_FLOAT ? call_type(r, e, values)
                                                    : integer_call_type(r, e, call, values);
    for (int i = 0; i < n && type != DT_COUNT; i++) {
        args[i] = value_convert(r, values[i], type);
        good = good && args[i];
    }
    return good && type != DT_COUNT ? value_of(expr_call(r->ctx, call, args, e->span)) : no_value;
}

/* ---- functions of the file ---- */

Expr *resolve_as(Resolver *r, const AstExpr *e, AstName type, const char *what)
{
    Value v = resolve_value(r, e);
    if (!type.text)
        return value_settle(r, v);
    DType to = resolve_type(r, type);
    return to == DT_COUNT ? NULL : value_widen(r, v, to, what);
}

static bool is_short(Resolver *r, const AstFunction *f, const Expr *value)
{
    bool is = !value || expr_nodes(value, FUNCTION_NODES) <= FUNCTION_NODES;
    if (!is)
        function_too_large(r, f, value->span);
    return is;
}

/* The body of a function, with its values written out; NULL after an error. */
static Expr *resolve_function_body(Resolver *r, const AstFunction *f)
{
    Context *c = r->ctx;
    Subst *map = ARENA_ARRAY(c->arena, Subst, f->n_lets + 1);
    bool good = true;
    for (int i = 0; i < f->n_lets; i++) {
        const AstPattern *name = &f->lets[i]->u.let.pattern;
        Expr *value = resolve_as(r, f->lets[i]->u.let.value, f->lets[i]->u.let.type,
                                 ctx_namef(c, "'%.60s'", name->name));
        Symbol symbol = {
            .name = name->name, .kind = SYMBOL_VAR, .span = name->span, .broken = !value};
        symbol.var = var_new(c, name->name, value ? value->type : DT_F32, VAR_SCALAR, name->span);
        names_add(r, symbol);
        map[i] = (Subst){symbol.var, value && good ? expr_subst(c, value, map, i) : NULL};
        good = value && good && is_short(r, f, map[i].value);
    }
    Expr *value =
        resolve_as(r, f->value, f->result, ctx_namef(c, "the result of '%.60s'", f->name.text));
    Expr *out = value && good ? expr_subst(c, value, map, f->n_lets) : NULL;
    return is_short(r, f, out) ? out : NULL;
}

void resolve_functions(Resolver *r)
{
    const AstFunctionList *list = r->functions->list;
    Resolver body;
    for (int i = 0; list && i < list->n; i++) {
        FunctionCase *of =
            list->items[i]->n_types == 0 ? function_open(r, list->items[i], NULL, &body) : NULL;
        if (!of || !of->open)
            continue;
        of->value = resolve_function_body(&body, list->items[i]);
        of->open = false;
    }
}

static Value resolve_apply(Resolver *r, const AstExpr *e, const AstFunction *f)
{
    Value *args = ARENA_ARRAY(r->ctx->arena, Value, f->n_params + 1);
    Resolver body;
    bool good = check_arguments(r, e, f->n_params);
    for (int i = 0; good && i < f->n_params; i++) {
        args[i] = resolve_value(r, e->u.call.args[i].value);
        good = args[i].e != NULL;
    }
    FunctionCase *of = good ? function_case(r, e, f, args, &body) : NULL;
    if (of && of->open) {
        of->value = resolve_function_body(&body, f);
        of->open = false;
    }
    return of && of->value ? value_of(function_write_out(r, e, of, args)) : no_value;
}

static Value refuse_function(Resolver *r, AstName callee)
{
    const char *words[CALL_COUNT + 3] = {"min", "max", "select"};
    for (int i = 0; i < CALL_COUNT; i++)
        words[i + 3] = call_info((CallKind)i)->name;
    const char *near = diag_suggest(callee.text, words, CALL_COUNT + 3);
    const Symbol *s = names_find(r, callee.text);
    if (s && s->kind == SYMBOL_BUFFER)
        diag_error(
            r->ctx, E0215, callee.span,
            "'%.60s' is a buffer, not a function; write its elements with brackets, as in %.60s[i]",
            callee.text, callee.text);
    else if (!strcmp(callee.text, "range"))
        diag_error(r->ctx, E0215, callee.span,
                   "unknown function 'range'; write a range as 'i in N' or 'i in 0..N'");
    else if (near) {
        diag_error(r->ctx, E0215, callee.span, "unknown function '%.60s'; did you mean '%s'?",
                   callee.text, near);
        diag_remedy(r->ctx, callee.span, callee.text, near);
    } else
        diag_error(r->ctx, E0215, callee.span,
                   "unknown function '%.60s'; docs/language.md lists all functions", callee.text);
    return no_value;
}

static Value resolve_call(Resolver *r, const AstExpr *e)
{
    AstName callee = e->u.call.callee;
    const Symbol *s = names_find(r, callee.text);
    if (s && s->kind == SYMBOL_TYPE) /* DT_COUNT: its default was refused */
        return s->type == DT_COUNT ? no_value : resolve_conversion(r, e, s->type);
    if (type_find(callee.text) != DT_COUNT)
        return resolve_conversion(r, e, type_find(callee.text));
    if (strcmp(callee.text, "min") == 0 || strcmp(callee.text, "max") == 0)
        return resolve_min_max(r, e, callee.text[1] == 'i' ? EX_MIN : EX_MAX);
    for (ExprKind kind = 0; kind < EX_COUNT; kind++)
        if (op_info(kind)->class == OP_LANES && !strcmp(callee.text, op_info(kind)->token))
            return resolve_shuffle(r, e, kind);
    if (strcmp(callee.text, "select") == 0) {
        const AstArg *a = e->u.call.args;
        return check_arguments(r, e, 3) ? choose(r, a[0].value, a[1].value, a[2].value, e->span)
                                        : no_value;
    }
    const AstFunction *own = function_find(r, callee.text);
    if (own)
        return resolve_apply(r, e, own);
    CallKind call = call_find(callee.text);
    return call != CALL_COUNT ? resolve_function(r, e, call) : refuse_function(r, callee);
}

/* ---- all of them ---- */

static Value refuse_script_value(Resolver *r, const AstExpr *e, const char *what)
{
    diag_error(r->ctx, E0220, e->span,
               "%s is a value of schedule scripts; a program computes with numbers and conditions",
               what);
    return no_value;
}

static bool is_written_in_hex(Context *c, const AstExpr *e)
{
    const char *text = source_get(c, e->span.source)->text + e->span.begin;
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static Value integer_literal(Resolver *r, const AstExpr *e)
{
    Expr *literal = expr_int(r->ctx, DT_INDEX, (int64_t)e->u.i, e->span);
    literal->is_hex = is_written_in_hex(r->ctx, e);
    return (Value){literal, true, e->u.i > INT64_MAX};
}

static Value refuse_tuple(Resolver *r, const AstExpr *e)
{
    diag_error(r->ctx, E0246, e->span,
               "a tuple stands only in a reducer, and in an update with one, as in x NAME= (a, b)");
    return no_value;
}

Value resolve_value(Resolver *r, const AstExpr *e)
{
    Context *c = r->ctx;
    switch (e->kind) {
    case AE_INT: return integer_literal(r, e);
    case AE_FLOAT: return (Value){.e = expr_float(c, DT_F64, e->u.f, e->span), .literal = true};
    case AE_BOOL: return value_of(expr_int(c, DT_BOOL, e->u.b, e->span));
    case AE_NAME: return resolve_name(r, e);
    case AE_FIELD: return resolve_field(r, e);
    case AE_INDEX: return resolve_load(r, e);
    case AE_CALL: return resolve_call(r, e);
    case AE_UNARY: return resolve_unary(r, e);
    case AE_BINARY: return resolve_binary(r, e);
    case AE_SELECT: return choose(r, e->u.select.cond, e->u.select.a, e->u.select.b, e->span);
    case AE_STRING: return refuse_script_value(r, e, "a string");
    case AE_FILL: return refuse_script_value(r, e, "'_'");
    case AE_TUPLE: return refuse_tuple(r, e);
    case AE_LIST: return refuse_script_value(r, e, "a list");
    case AE_RANGE: return refuse_script_value(r, e, "a range");
    case AE_MAP: return refuse_script_value(r, e, "an index map");
    case AE_SLICE: return refuse_script_value(r, e, "a slice");
    }
    return no_value;
}
