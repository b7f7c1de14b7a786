/* eval.c - Evaluates expressions of scripts: values, lists, arithmetic, names. Calls are in
 * call.c. */
#include "frontend/script/internal.h"

#include <string.h>

enum {
    RANGE_LIMIT = 1000000, /* values of a list */
    LIST_DEPTH = 64,       /* of lists in lists */
};

const Binding *script_lookup(const Script *s, Name name)
{
    for (const Binding *b = *script_bucket(s, name); b; b = b->hidden)
        if (b->name == name)
            return b;
    return NULL;
}

Value script_number(int64_t i, Span span)
{
    return (Value){.kind = VALUE_INT, .span = span, .u.i = i};
}

static Value value_of_bool(bool b, Span span)
{
    return (Value){.kind = VALUE_BOOL, .span = span, .u.i = b};
}

/* A list costs as much as it holds. Whoever looks at all of it goes through its levels one inside
 * another, and a list that stands in another twice counts twice, so both are bounded. */
static bool make_list(Script *s, const Value *items, int n, Span span, Value *out)
{
    *out = value_of_items(items, n, span);
    if (out->u.list.depth > LIST_DEPTH)
        return script_error(s, E0318, span, "lists are nested %d levels deep; the limit is %d",
                            (int)out->u.list.depth, LIST_DEPTH);
    if (out->u.list.total > RANGE_LIMIT)
        return script_error(s, E0310, span,
                            "the list has more than %d values, including those of nested lists",
                            RANGE_LIMIT);
    return script_spend(s, n, span);
}

bool script_int(Script *s, const Value *value, const char *what, int64_t *out)
{
    *out = value->kind == VALUE_INT ? value->u.i : 0;
    if (value->kind == VALUE_INT)
        return true;
    if (value->kind == VALUE_SIZES)
        return script_no_value(s, value, what);
    if (value->kind == VALUE_WORD)
        return script_error(s, E0302, value->span,
                            "'%s' is neither a variable of this script nor a size of kernel '%s'; "
                            "%s must be an integer",
                            value->u.s, s->kernel->name, what);
    return script_error(s, E0304, value->span, "%s must be an integer, found %s", what,
                        value_kind_name(value->kind));
}

bool script_bool(Script *s, const Value *value, const char *what, bool *out)
{
    *out = value->kind == VALUE_BOOL && value->u.i != 0;
    if (value->kind == VALUE_BOOL)
        return true;
    if (value->kind == VALUE_SIZES)
        return script_no_value(s, value, what);
    return script_error(s, E0304, value->span, "%s must be true or false, found %s", what,
                        value_kind_name(value->kind));
}

static bool eval_name(Script *s, const AstExpr *e, Value *out)
{
    const Binding *b = script_lookup(s, e->u.name);
    if (b) {
        *out = b->value;
        out->span = e->span;
        return true;
    }
    for (int i = 0; i < s->kernel->n_sizes; i++) {
        const Size *size = &s->kernel->sizes[i];
        if (size->name != e->u.name)
            continue;
        *out = size->symbolic ? script_sizes(s, expr_var(s->c, size->var, e->span), e->span)
                              : script_number(size->value, e->span);
        return true;
    }
    *out = (Value){.kind = VALUE_WORD, .span = e->span, .u.s = e->u.name};
    return true;
}

static bool eval_items(Script *s, AstExpr *const *items, int n, Value **out)
{
    *out = ARENA_ARRAY(s->c->arena, Value, n ? n : 1);
    for (int i = 0; i < n; i++)
        if (!script_eval(s, items[i], &(*out)[i]))
            return false;
    return true;
}

bool script_range(Script *s, const AstExpr *e, int64_t *from, int64_t *n)
{
    Value lo, hi;
    int64_t to;
    if (!script_eval(s, e->u.range.lo, &lo) || !script_eval(s, e->u.range.hi, &hi) ||
        !script_int(s, &lo, "the start of a range", from) ||
        !script_int(s, &hi, "the end of a range", &to))
        return false;
    *n = 0;
    if (to > *from && (!checked_sub(to, *from, n) || *n > RANGE_LIMIT))
        return script_error(s, E0310, e->span, "the range has more than %d values", RANGE_LIMIT);
    return script_spend(s, *n, e->span);
}

static bool eval_range(Script *s, const AstExpr *e, Value *out)
{
    int64_t from, n;
    if (!script_range(s, e, &from, &n))
        return false;
    Value *items = ARENA_ARRAY(s->c->arena, Value, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        items[i] = script_number(from + i, e->span);
    *out = value_of_items(items, (int)n, e->span);
    return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* An optional end of a slice, counted from the end when negative and cut to the list. */
static bool slice_end(Script *s, const AstExpr *e, int n, int otherwise, int *out)
{
    Value v;
    int64_t i;
    *out = otherwise;
    if (!e)
        return true;
    if (!script_eval(s, e, &v) || !script_int(s, &v, "the end of a slice", &i))
        return false;
    if (i < 0)
        i = i < -n ? 0 : i + n;
    *out = i > n ? n : (int)i;
    return true;
}

static bool eval_index(Script *s, const AstExpr *e, Value *out)
{
    Value base, position;
    int64_t i;
    int from, to;
    if (!script_eval(s, e->u.index.base, &base))
        return false;
    if (base.kind != VALUE_LIST)
        return script_error(s, E0304, e->u.index.base->span, "only a list has elements, found %s",
                            value_kind_name(base.kind));
    if (e->u.index.n != 1)
        return script_error(s, E0304, e->span, "a list takes one index, found %d", e->u.index.n);
    int n = base.u.list.n;
    const AstExpr *index = e->u.index.items[0];
    if (index->kind == AE_SLICE) {
        if (!slice_end(s, index->u.slice.lo, n, 0, &from) ||
            !slice_end(s, index->u.slice.hi, n, n, &to))
            return false;
        return make_list(s, base.u.list.items + from, to > from ? to - from : 0, e->span, out);
    }
    if (!script_eval(s, index, &position) || !script_int(s, &position, "an index", &i))
        return false;
    if (i < -n || i >= n)
        return script_error(s, E0306, index->span, "index %lld of a list of %d", (long long)i, n);
    *out = base.u.list.items[i < 0 ? i + n : i];
    out->span = e->span;
    return true;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* As many steps as the list has values at most. */
bool script_value_equal(const Value *a, const Value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case VALUE_INT:
    case VALUE_BOOL: return a->u.i == b->u.i;
    case VALUE_FLOAT: return a->u.f == b->u.f;
    case VALUE_STRING:
    case VALUE_WORD: return a->u.s == b->u.s;
    case VALUE_LOOP:
    case VALUE_BLOCK:
    case VALUE_BUFFER: return a->u.id == b->u.id;
    case VALUE_LIST:
        if (a->u.list.n != b->u.list.n || a->u.list.total != b->u.list.total)
            return false;
        for (int i = 0; i < a->u.list.n; i++)
            if (!script_value_equal(&a->u.list.items[i], &b->u.list.items[i]))
                return false;
        return true;
    case VALUE_MAP: return a->u.map == b->u.map;
    case VALUE_SIZES: return expr_equal(a->u.sizes, b->u.sizes);
    case VALUE_FILL:
    case VALUE_NONE: return true;
    }
    return false;
}

static bool arithmetic(Script *s, const AstExpr *e, int64_t a, int64_t b, int64_t *r)
{
    bool fits = true;
    switch (e->u.op.op) {
    case EX_ADD: fits = checked_add(a, b, r); break;
    case EX_SUB: fits = checked_sub(a, b, r); break;
    case EX_MUL: fits = checked_mul(a, b, r); break;
    case EX_DIV:
    case EX_MOD:
        if (b == 0)
            return script_error(s, E0305, e->span, "%lld divided by zero", (long long)a);
        fits = !(a == INT64_MIN && b == -1);
        if (fits)
            *r = e->u.op.op == EX_DIV ? a / b : a % b;
        break;
    case EX_SHL: fits = b >= 0 && b < 63 && checked_mul(a, (int64_t)1 << b, r); break;
    case EX_SHR:
        fits = b >= 0 && b < 64;
        if (fits)
            *r = a >> b;
        break;
    case EX_BITAND: *r = a & b; break;
    case EX_BITOR: *r = a | b; break;
    case EX_BITXOR: *r = a ^ b; break;
    default: fits = false;
    }
    if (!fits)
        return script_error(s, E0305, e->span, "%lld %s %lld does not fit in 64 bits", (long long)a,
                            op_info(e->u.op.op)->token, (long long)b);
    return true;
}

static bool compare(ExprKind op, int64_t a, int64_t b)
{
    switch (op) {
    case EX_LT: return a < b;
    case EX_LE: return a <= b;
    case EX_GT: return a > b;
    default: return a >= b;
    }
}

/* && and ||: the right side is evaluated only where it decides. */
static bool eval_logic(Script *s, const AstExpr *e, Value *out)
{
    Value left, right;
    bool a = false, b;
    if (!script_eval(s, e->u.op.a, &left) ||
        (left.kind != VALUE_SIZES && !script_bool(s, &left, "an operand of a condition", &a)))
        return false;
    if (left.kind != VALUE_SIZES && a == (e->u.op.op == EX_OR)) {
        *out = value_of_bool(a, e->span);
        return true;
    }
    if (!script_eval(s, e->u.op.b, &right))
        return false;
    if (left.kind == VALUE_SIZES || right.kind == VALUE_SIZES)
        return script_sizes_binary(s, e, &left, &right, out);
    if (!script_bool(s, &right, "an operand of a condition", &b))
        return false;
    *out = value_of_bool(b, e->span);
    return true;
}

/* list + list: one after the other. */
static bool concatenate(Script *s, const Value *a, const Value *b, Value *out)
{
    int n = a->u.list.n + b->u.list.n; /* each RANGE_LIMIT at most */
    if (!script_spend(s, n, out->span))
        return false;
    Value *items = ARENA_ARRAY(s->c->arena, Value, n ? n : 1);
    if (a->u.list.n)
        memcpy(items, a->u.list.items, sizeof *items * (size_t)a->u.list.n);
    if (b->u.list.n)
        memcpy(items + a->u.list.n, b->u.list.items, sizeof *items * (size_t)b->u.list.n);
    return make_list(s, items, n, out->span, out);
}

static bool operand_int(Script *s, const Value *value, const char *token, int64_t *out)
{
    const char *what =
        value->kind == VALUE_INT ? "" : arena_printf(s->c->arena, "an operand of '%s'", token);
    return script_int(s, value, what, out);
}

static bool eval_binary(Script *s, const AstExpr *e, Value *out)
{
    OpClass class = op_info(e->u.op.op)->class;
    const char *token = op_info(e->u.op.op)->token;
    Value left, right;
    int64_t a, b, r = 0;
    if (class == OP_LOGIC)
        return eval_logic(s, e, out);
    if (!script_eval(s, e->u.op.a, &left) || !script_eval(s, e->u.op.b, &right))
        return false;
    out->span = e->span;
    if (left.kind == VALUE_SIZES || right.kind == VALUE_SIZES)
        return script_sizes_binary(s, e, &left, &right, out);
    if (e->u.op.op == EX_EQ || e->u.op.op == EX_NE) {
        if (left.kind == VALUE_LIST && !script_spend(s, left.u.list.total, e->span))
            return false;
        *out = value_of_bool(script_value_equal(&left, &right) == (e->u.op.op == EX_EQ), e->span);
        return true;
    }
    if (e->u.op.op == EX_ADD && left.kind == VALUE_LIST && right.kind == VALUE_LIST) {
        return concatenate(s, &left, &right, out);
    }
    if (!operand_int(s, &left, token, &a) || !operand_int(s, &right, token, &b))
        return false;
    if (class == OP_COMPARE) {
        *out = value_of_bool(compare(e->u.op.op, a, b), e->span);
        return true;
    }
    if (!arithmetic(s, e, a, b, &r))
        return false;
    *out = script_number(r, e->span);
    return true;
}

static bool eval_unary(Script *s, const AstExpr *e, Value *out)
{
    Value v;
    int64_t a;
    bool b;
    if (!script_eval(s, e->u.op.a, &v))
        return false;
    if (v.kind == VALUE_SIZES)
        return script_sizes_unary(s, e, &v, out);
    if (e->u.op.op == EX_NOT) {
        if (!script_bool(s, &v, "the operand of '!'", &b))
            return false;
        *out = value_of_bool(!b, e->span);
        return true;
    }
    if (v.kind == VALUE_FLOAT && e->u.op.op == EX_NEG) {
        *out = v;
        out->u.f = -v.u.f;
        return true;
    }
    if (!script_int(s, &v, "the operand of a sign", &a))
        return false;
    if (e->u.op.op == EX_BITNOT) {
        *out = script_number(~a, e->span);
        return true;
    }
    if (a == INT64_MIN)
        return script_error(s, E0305, e->span, "-(%lld) does not fit in 64 bits", (long long)a);
    *out = script_number(-a, e->span);
    return true;
}

static bool eval_select(Script *s, const AstExpr *e, Value *out)
{
    Value v;
    bool b;
    if (!script_eval(s, e->u.select.cond, &v) || !script_bool(s, &v, "the condition of '?:'", &b))
        return false;
    return script_eval(s, b ? e->u.select.a : e->u.select.b, out);
}

/* blockIdx.x: a word with a point. */
static bool eval_field(Script *s, const AstExpr *e, Value *out)
{
    if (e->u.field.base->kind != AE_NAME)
        return script_error(s, E0304, e->span, "only names such as blockIdx.x contain a '.'");
    Name word = ctx_namef(s->c, "%s.%s", e->u.field.base->u.name, e->u.field.name.text);
    *out = (Value){.kind = VALUE_WORD, .span = e->span, .u.s = word};
    return true;
}

static bool eval(Script *s, const AstExpr *e, Value *out)
{
    Value *items;
    switch (e->kind) {
    case AE_INT:
        if (e->u.i > INT64_MAX)
            return script_error(s, E0305, e->span, "the number does not fit in 64 bits");
        *out = script_number((int64_t)e->u.i, e->span);
        return true;
    case AE_FLOAT:
        out->kind = VALUE_FLOAT;
        out->u.f = e->u.f;
        return true;
    case AE_BOOL: *out = value_of_bool(e->u.b, e->span); return true;
    case AE_STRING:
        out->kind = VALUE_STRING;
        out->u.s = interner_get(s->c->names, e->u.string.text, e->u.string.length);
        return true;
    case AE_NAME: return eval_name(s, e, out);
    case AE_FILL: out->kind = VALUE_FILL; return true;
    case AE_TUPLE:
        return script_error(s, E0304, e->span, "scripts have lists, such as [a, b], not tuples");
    case AE_LIST:
        if (!eval_items(s, e->u.list.items, e->u.list.n, &items))
            return false;
        return make_list(s, items, e->u.list.n, e->span, out);
    case AE_RANGE: return eval_range(s, e, out);
    case AE_MAP: return script_map(s, e, out);
    case AE_INDEX: return eval_index(s, e, out);
    case AE_SLICE:
        return script_error(s, E0304, e->span, "a slice is allowed only in the brackets of a list");
    case AE_FIELD: return eval_field(s, e, out);
    case AE_CALL: return script_call(s, e, out);
    case AE_UNARY: return eval_unary(s, e, out);
    case AE_BINARY: return eval_binary(s, e, out);
    case AE_SELECT: return eval_select(s, e, out);
    }
    return false;
}

bool script_eval(Script *s, const AstExpr *e, Value *out)
{
    *out = (Value){.kind = VALUE_NONE, .span = e->span};
    if (!script_spend(s, 1, e->span) || !script_enter(s, e->span))
        return false;
    bool ok = eval(s, e, out);
    s->depth--;
    return ok;
}

void script_value_text(const Value *value, StrBuf *out)
{
    switch (value->kind) {
    case VALUE_INT: strbuf_addf(out, "%lld", (long long)value->u.i); return;
    case VALUE_BOOL: strbuf_add(out, value->u.i ? "true" : "false"); return;
    case VALUE_FLOAT: print_float(DT_F64, value->u.f, out); return;
    case VALUE_STRING: strbuf_addf(out, "\"%s\"", value->u.s); return;
    case VALUE_WORD: strbuf_add(out, value->u.s); return;
    case VALUE_SIZES: print_expr(value->u.sizes, out); return;
    case VALUE_FILL: strbuf_add(out, "_"); return;
    case VALUE_LIST:
        strbuf_add(out, "[");
        for (int i = 0; i < value->u.list.n; i++) {
            strbuf_add(out, i ? ", " : "");
            script_value_text(&value->u.list.items[i], out);
        }
        strbuf_add(out, "]");
        return;
    case VALUE_NONE:
    case VALUE_LOOP:
    case VALUE_BLOCK:
    case VALUE_BUFFER:
    case VALUE_MAP: strbuf_add(out, value_kind_name(value->kind)); return;
    }
}
