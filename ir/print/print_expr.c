/* print_expr.c - Prints expressions as text that parses back to the same expression.
 *
 * Parentheses appear only where precedence and associativity require them. The types of literals
 * need care: in text, a literal takes the type of the other operand, so it is printed bare only if
 * that restores its own type, and as `f16(1.5)` otherwise. */
#include "ir/print/print_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PREC_SELECT = 1, PREC_UNARY = 12, PREC_PRIMARY = 13 };

/* ---- literals -------------------------------------------------------------------------------- */

void print_float(DType type, double value, StrBuf *out)
{
    if (isnan(value) || isinf(value)) {
        strbuf_add(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    int digits = 0;
    do
        snprintf(text, sizeof text, "%.*g", ++digits, value);
    while (digits < 17 && type_round(type, strtod(text, NULL)) != value);
    strbuf_add_decimal(out, value, digits);
}

static bool is_literal(const Expr *e)
{
    return e->kind == EX_INT || e->kind == EX_FLOAT;
}

/* The type that literals have where nothing gives them one. */
static bool is_natural(DType type)
{
    return type == DT_INDEX || type == DT_F32 || type == DT_BOOL;
}

static void print_literal(const Expr *e, DType want, StrBuf *out)
{
    bool bare = e->type == DT_BOOL || (want == DT_COUNT ? is_natural(e->type) : e->type == want);
    if (!bare)
        strbuf_addf(out, "%s(", type_info(e->type)->name);
    if (e->kind == EX_FLOAT)
        print_float(e->type, e->u.f, out);
    else if (e->type == DT_BOOL)
        strbuf_add(out, e->u.i ? "true" : "false");
    else if (e->is_hex)
        strbuf_addf(out, "0x%" PRIx64, (uint64_t)e->u.i);
    else if (e->type == DT_U64)
        strbuf_addf(out, "%" PRIu64, (uint64_t)e->u.i);
    else
        strbuf_addf(out, "%" PRId64, e->u.i);
    if (!bare)
        strbuf_addc(out, ')');
}

/* ---- operators ------------------------------------------------------------------------------- */

static int precedence(const Expr *e)
{
    if (e->kind == EX_SELECT)
        return PREC_SELECT;
    if (e->kind == EX_FLOAT)
        return signbit(e->u.f) && !isnan(e->u.f) ? PREC_UNARY : PREC_PRIMARY;
    if (e->kind == EX_INT)
        return e->u.i < 0 && e->type != DT_U64 ? PREC_UNARY : PREC_PRIMARY;
    int own = op_info(e->kind)->precedence;
    return own ? own : PREC_PRIMARY;
}

/* An operand that binds at least as tightly as `least`, in parentheses if it must be. */
static void print_operand(const Expr *e, DType want, int least, StrBuf *out)
{
    bool parentheses = precedence(e) < least;
    if (parentheses)
        strbuf_addc(out, '(');
    print_value(e, want, out);
    if (parentheses)
        strbuf_addc(out, ')');
}

/* The types that bare literals would have as the operands a and b of one operator: each takes the
 * other's, and of two literals the first says its type.  That any other operand has a type of its
 * own in text, even one made of literals only, follows by induction. */
static void common_types(const Expr *a, const Expr *b, DType *want_a, DType *want_b)
{
    bool same = a->type == b->type;
    *want_a = same && !is_literal(b) ? a->type : DT_COUNT;
    *want_b = same ? b->type : DT_COUNT;
}

/* An operand of a shift whose other operand has another type: a bare literal would take that
 * type. */
static void print_shift_operand(const Expr *e, int least, StrBuf *out)
{
    if (is_literal(e))
        print_literal(e, DT_BOOL, out); /* never what it is: so never bare */
    else
        print_operand(e, DT_COUNT, least, out);
}

static void print_binary(const Expr *e, StrBuf *out)
{
    const OpInfo *op = op_info(e->kind);
    const Expr *a = e->u.arg[0], *b = e->u.arg[1];
    DType want_a, want_b;
    common_types(a, b, &want_a, &want_b);
    if (op->precedence == 0) {
        strbuf_addf(out, "%s(", op->token);
        print_value(a, want_a, out);
        strbuf_add(out, ", ");
        print_value(b, want_b, out);
        strbuf_addc(out, ')');
    } else if (a->type != b->type) {
        print_shift_operand(a, op->precedence, out);
        strbuf_addf(out, " %s ", op->token);
        print_shift_operand(b, op->precedence + 1, out);
    } else {
        print_operand(a, want_a, op->precedence, out);
        strbuf_addf(out, " %s ", op->token);
        print_operand(b, want_b, op->precedence + 1, out);
    }
}

static void print_unary(const Expr *e, StrBuf *out)
{
    const Expr *a = e->u.arg[0];
    strbuf_add(out, op_info(e->kind)->token);
    /* "--x" would read as it should, but not to people */
    print_operand(a, DT_COUNT, a->kind == EX_NEG ? PREC_PRIMARY : PREC_UNARY, out);
}

static void print_select(const Expr *e, StrBuf *out)
{
    DType want_a, want_b;
    common_types(e->u.arg[1], e->u.arg[2], &want_a, &want_b);
    print_operand(e->u.arg[0], DT_COUNT, PREC_SELECT + 1, out);
    strbuf_add(out, " ? ");
    print_operand(e->u.arg[1], want_a, PREC_SELECT + 1, out);
    strbuf_add(out, " : ");
    print_operand(e->u.arg[2], want_b, PREC_SELECT, out);
}

/* Its literals have the type of the store, so that none says it. */
static void print_integer_choice(const Expr *e, StrBuf *out)
{
    if (e->kind == EX_INT) {
        print_literal(e, e->type, out);
        return;
    }
    const Expr *a = e->u.arg[1];
    print_operand(e->u.arg[0], DT_COUNT, PREC_SELECT + 1, out);
    strbuf_add(out, a->kind == EX_SELECT ? " ? (" : " ? ");
    print_integer_choice(a, out);
    strbuf_add(out, a->kind == EX_SELECT ? ") : " : " : ");
    print_integer_choice(e->u.arg[2], out);
}

/* A conversion; of a literal it would be the literal's type, so such a literal says its own. */
static void print_cast(const Expr *e, StrBuf *out)
{
    const Expr *a = e->u.arg[0];
    strbuf_addf(out, "%s(", type_info(e->type)->name);
    if (is_literal(a))
        print_literal(a, DT_BOOL, out);
    else
        print_value(a, DT_COUNT, out);
    strbuf_addc(out, ')');
}

static void print_call(const Expr *e, StrBuf *out)
{
    const CallInfo *info = call_info(e->u.call.call);
    bool typed = false;
    for (int i = 0; i < info->arity; i++)
        typed = typed || !is_literal(e->u.call.arg[i]);
    strbuf_addf(out, "%s(", info->name);
    if (info->gives == GIVES_NAMED)
        strbuf_addf(out, "%s, ", type_info(e->type)->name);
    for (int i = 0; i < info->arity; i++) {
        strbuf_add(out, i ? ", " : "");
        print_value(e->u.call.arg[i], typed || i > 0 ? e->u.call.arg[0]->type : DT_COUNT, out);
    }
    strbuf_addc(out, ')');
}

/* ---- all of them ----------------------------------------------------------------------------- */

void print_hint(CacheHint hint, StrBuf *out)
{
    if (hint != HINT_NONE)
        strbuf_addf(out, ".%s", cache_hint_info(hint)->name);
}

void print_value(const Expr *e, DType want, StrBuf *out)
{
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT: print_literal(e, want, out); return;
    case EX_VAR: strbuf_add(out, e->u.var->name); return;
    case EX_AXIS: strbuf_add(out, axis_name(e->u.axis)); return;
    case EX_LOAD:
        strbuf_add(out, e->u.load.buffer->name);
        print_hint(e->hint, out);
        print_indices(e->u.load.index, e->u.load.buffer->rank, out);
        return;
    case EX_SELECT: print_select(e, out); return;
    case EX_CAST: print_cast(e, out); return;
    case EX_CALL: print_call(e, out); return;
    case EX_NEG:
    case EX_NOT:
    case EX_BITNOT: print_unary(e, out); return;
    default: print_binary(e, out);
    }
}

void print_stored(const Expr *e, DType type, StrBuf *out)
{
    if (expr_is_integer_choice(e))
        print_integer_choice(e, out);
    else
        print_value(e, type, out);
}

void print_index(const Expr *e, StrBuf *out)
{
    DType from = e->kind == EX_CAST && e->type == DT_INDEX ? e->u.arg[0]->type : DT_INDEX;
    /* i64 says so: a lowered subscript may also stay i64 */
    bool implicit =
        from != DT_INDEX && from != DT_I64 && type_is_int(from) && !is_literal(e->u.arg[0]);
    print_value(implicit ? e->u.arg[0] : e, implicit ? DT_COUNT : DT_INDEX, out);
}

void print_indices(Expr *const *items, int n, StrBuf *out)
{
    for (int i = 0; i < n; i++) {
        strbuf_add(out, i ? ", " : "[");
        print_index(items[i], out);
    }
    strbuf_add(out, n ? "]" : "");
}

void print_range(const Expr *lo, const Expr *hi, RangeWay way, StrBuf *out)
{
    bool from_zero = lo->kind == EX_INT && lo->u.i == 0;
    if (way == RANGE_DOWN || !from_zero) {
        print_index(lo, out);
        strbuf_add(out, "..");
    }
    print_index(hi, out);
}

void print_expr(const Expr *e, StrBuf *out)
{
    print_value(e, DT_COUNT, out);
}

void print_exprs(Expr *const *items, int n, StrBuf *out)
{
    for (int i = 0; i < n; i++) {
        strbuf_add(out, i ? ", " : "");
        print_expr(items[i], out);
    }
}

const char *expr_text(Context *c, const Expr *e)
{
    StrBuf text = strbuf_new(c->arena);
    print_expr(e, &text);
    return text.text;
}
