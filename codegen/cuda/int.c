/* int.c - Emits integer arithmetic with the meaning of the language where C leaves it undefined.
 *
 *   x[i] * y + z      (int)((unsigned int)x[i] * y + z)
 *   a / b             wrapping_div<int>(a, b)
 *   i32(f)            __float2int_rz(f)
 *   f32(b)            f32_from_u8(b)
 *
 * Data wraps: a sum, difference, product, negation or left shift that may leave the type C computes
 * it in is computed in the unsigned type of that width. One cast does for a chain of them, at its
 * first operand, since C converts the others. Values that cannot overflow stay unchanged, and so
 * does index arithmetic, which is exact. */
#include "codegen/cuda/text.h"

/* The values that an integer can have. */
typedef struct {
    int64_t lo, hi;
} Range;

static bool is_signed(DType type)
{
    return type_info(type)->class == CLASS_INT;
}

static bool is_small(DType type)
{
    return type_info(type)->bits < 32 && (is_signed(type) || type_info(type)->class == CLASS_UINT);
}

/* C computes what has fewer bits in an int. */
static bool computes_signed(DType type)
{
    return is_signed(type) || is_small(type);
}

typedef enum { UNSIGNED, SIGNED } Signedness;

static Range range_of_bits(int bits, Signedness sign)
{
    if (bits == 64)
        return (Range){INT64_MIN, INT64_MAX};
    int64_t values = (int64_t)1 << bits;
    return sign == SIGNED ? (Range){-values / 2, values / 2 - 1} : (Range){0, values - 1};
}

static Range range_of_type(DType type)
{
    return type == DT_BOOL
               ? (Range){0, 1}
               : range_of_bits(type_info(type)->bits,
                               type_info(type)->class != CLASS_UINT ? SIGNED : UNSIGNED);
}

static bool is_within(Range r, Range in)
{
    return in.lo <= r.lo && r.hi <= in.hi;
}

static Range hull(Range a, Range b)
{
    return (Range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static Range range_of(const Expr *e);

static bool product_range(Range a, Range b, Range *out)
{
    int64_t corner[4];
    if (!checked_mul(a.lo, b.lo, &corner[0]) || !checked_mul(a.lo, b.hi, &corner[1]) ||
        !checked_mul(a.hi, b.lo, &corner[2]) || !checked_mul(a.hi, b.hi, &corner[3]))
        return false;
    *out = (Range){corner[0], corner[0]};
    for (int i = 1; i < 4; i++)
        *out = hull(*out, (Range){corner[i], corner[i]});
    return true;
}

/* The exact range of a sum, difference, product, negation or left shift; false if 64 bits do not
 * hold it. */
static bool exact_range(const Expr *e, Range *out)
{
    Range a = range_of(e->u.arg[0]), b = e->kind == EX_NEG ? a : range_of(e->u.arg[1]);
    switch (e->kind) {
    case EX_ADD: return checked_add(a.lo, b.lo, &out->lo) && checked_add(a.hi, b.hi, &out->hi);
    case EX_SUB: return checked_sub(a.lo, b.hi, &out->lo) && checked_sub(a.hi, b.lo, &out->hi);
    case EX_MUL: return product_range(a, b, out);
    case EX_NEG: return checked_sub(0, a.hi, &out->lo) && checked_sub(0, a.lo, &out->hi);
    case EX_SHL:
        return a.lo >= 0 && b.lo >= 0 && b.hi < 32 &&
               product_range(a, (Range){1, (int64_t)1 << b.hi}, out);
    default: return false;
    }
}

static Range range_of(const Expr *e)
{
    Range all = range_of_type(e->type), exact, a;
    switch (e->kind) {
    case EX_INT: return (Range){e->u.i, e->u.i};
    case EX_CAST:
        a = type_is_int(e->u.arg[0]->type) || e->u.arg[0]->type == DT_BOOL ? range_of(e->u.arg[0])
                                                                           : all;
        return e->u.arg[0]->type != DT_U64 && is_within(a, all) ? a : all;
    case EX_SELECT: return hull(range_of(e->u.arg[1]), range_of(e->u.arg[2]));
    case EX_MIN:
    case EX_MAX: return hull(range_of(e->u.arg[0]), range_of(e->u.arg[1]));
    case EX_SHR: a = range_of(e->u.arg[0]); return hull((Range){0, 0}, a);
    case EX_MOD:
        a = range_of(e->u.arg[1]);
        return a.lo > 0 ? (Range){range_of(e->u.arg[0]).lo >= 0 ? 0 : 1 - a.hi, a.hi - 1} : all;
    case EX_BITAND:
        a = range_of(e->u.arg[0]);
        exact = range_of(e->u.arg[1]);
        return exact.lo >= 0 && (a.lo < 0 || exact.hi < a.hi) ? (Range){0, exact.hi}
               : a.lo >= 0                                    ? (Range){0, a.hi}
                                                              : all;
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_NEG:
    case EX_SHL: return exact_range(e, &exact) && is_within(exact, all) ? exact : all;
    default: return all;
    }
}

bool cuda_fits_f32(const Expr *e)
{
    return is_within(range_of(e), (Range){-(1 << 24), 1 << 24});
}

/* The amount of the shift is less than the width. */
static bool is_plain_shift(const Expr *e)
{
    return is_within(range_of(e->u.arg[1]), (Range){0, type_info(e->type)->bits - 1});
}

static bool is_ring(const Expr *e)
{
    return e->kind == EX_ADD || e->kind == EX_SUB || e->kind == EX_MUL || e->kind == EX_NEG ||
           (e->kind == EX_SHL && is_plain_shift(e));
}

/* 64-bit arithmetic on indices, which lowering asks for where 32 bits would not do. */
static bool is_index(const CudaWriter *w, const Expr *e)
{
    if (e->kind == EX_INT || e->kind == EX_AXIS || e->type == DT_INDEX)
        return true;
    if (e->kind == EX_VAR) {
        bool known = e->u.var->kind == VAR_LOOP || e->u.var->kind == VAR_SIZE;
        for (int i = 0; i < w->wide_indices.n; i++)
            known |= w->wide_indices.items[i] == e->u.var;
        return known;
    }
    if (e->kind == EX_LOAD || e->kind == EX_CALL || !type_is_int(e->type))
        return false;
    for (int i = e->kind == EX_SELECT; i < expr_operands(e); i++)
        if (!is_index(w, expr_operand(e, i)))
            return false;
    return true;
}

void cuda_note_let(CudaWriter *w, const Stmt *let)
{
    if (let->u.let.var->type == DT_I64 && is_index(w, let->u.let.value))
        VEC_PUSH(w->c->arena, &w->wide_indices, let->u.let.var);
}

bool cuda_overflows(const CudaWriter *w, const Expr *e)
{
    Range exact;
    if (!computes_signed(e->type) || !is_ring(e) || (e->type == DT_I64 && is_index(w, e)))
        return false;
    return !exact_range(e, &exact) ||
           !is_within(exact, range_of_bits(type_info(e->type)->bits < 64 ? 32 : 64, SIGNED));
}

/* The value before it became an int, which C would make one of again. */
static const Expr *before_promotion(const Expr *e)
{
    const Expr *from = e->kind == EX_CAST ? e->u.arg[0] : e;
    return is_small(from->type) ? from : e;
}

/* `e` modulo 2^bits: an operand of arithmetic in the unsigned type of its width. */
static void modular(CudaWriter *w, const Expr *e, int precedence)
{
    bool wide = type_info(e->type)->bits == 64, parenthesis;
    const OpInfo *op = op_info(e->kind);
    if (e->kind == EX_INT && e->u.i >= 0) {
        strbuf_addf(w->out, wide ? "%lldull" : "%lldu", (long long)e->u.i);
    } else if (!cuda_overflows(w, e)) {
        strbuf_add(w->out, wide ? "(unsigned long long)" : "(unsigned int)");
        cuda_expr(w, before_promotion(e), PRECEDENCE_POSTFIX);
    } else if (e->kind == EX_NEG) {
        parenthesis = precedence > PRECEDENCE_UNARY;
        strbuf_add(w->out, parenthesis ? "(-" : "-");
        modular(w, e->u.arg[0], PRECEDENCE_POSTFIX);
        strbuf_add(w->out, parenthesis ? ")" : "");
    } else {
        const Expr *right = e->u.arg[1];
        bool minus = e->kind == EX_ADD && right->kind == EX_NEG;
        right = minus ? right->u.arg[0] : right;
        bool shifts = e->kind == EX_SHL, unsigned_right = !shifts && cuda_overflows(w, right);
        parenthesis = op->precedence < precedence || (shifts && precedence > 0);
        strbuf_add(w->out, parenthesis ? "(" : "");
        if (unsigned_right && !cuda_overflows(w, e->u.arg[0]))
            cuda_expr(w, e->u.arg[0], op->precedence);
        else
            modular(w, e->u.arg[0], op->precedence);
        strbuf_addf(w->out, " %s ", minus ? "-" : op->token);
        if (unsigned_right)
            modular(w, right, op->precedence + 1);
        else
            cuda_right_operand(w, right, shifts ? PRECEDENCE_POSTFIX : op->precedence + 1);
        strbuf_add(w->out, parenthesis ? ")" : "");
    }
}

/* name<T>(a, b) */
static void call_of_two(CudaWriter *w, Helper helper, HostHelper on_host, const Expr *e)
{
    const char *name = w->host ? cuda_host_helper(w, on_host) : cuda_helper(w, helper);
    strbuf_addf(w->out, "%s<%s>(", name, cuda_value_type(e->type));
    cuda_expr(w, e->u.arg[0], 0);
    strbuf_add(w->out, ", ");
    cuda_expr(w, e->u.arg[1], 0);
    strbuf_add(w->out, ")");
}

/* The least value divided by -1 is itself, and C has no such quotient. */
static bool is_risky_division(const CudaWriter *w, const Expr *e)
{
    Range a = range_of(e->u.arg[0]), b = range_of(e->u.arg[1]);
    return is_signed(e->type) && !is_small(e->type) && a.lo == range_of_type(e->type).lo &&
           b.lo <= -1 && b.hi >= -1 && !(e->type == DT_I64 && is_index(w, e));
}

bool cuda_integer(CudaWriter *w, const Expr *e, int precedence)
{
    if (!type_is_int(e->type) || e->type == DT_INDEX)
        return false;
    if ((e->kind == EX_DIV || e->kind == EX_MOD) && is_risky_division(w, e)) {
        if (e->kind == EX_DIV)
            call_of_two(w, HELPER_DIV, HOST_DIV, e);
        else
            call_of_two(w, HELPER_REM, HOST_REM, e);
        return true;
    }
    if ((e->kind == EX_SHL || e->kind == EX_SHR) && !is_plain_shift(e) && !is_index(w, e)) {
        if (e->kind == EX_SHL)
            call_of_two(w, HELPER_SHIFT_LEFT, HOST_SHIFT_LEFT, e);
        else
            call_of_two(w, HELPER_SHIFT_RIGHT, HOST_SHIFT_RIGHT, e);
        return true;
    }
    if (!cuda_overflows(w, e))
        return false;
    bool parenthesis = precedence > PRECEDENCE_UNARY;
    strbuf_addf(w->out, parenthesis ? "((%s)(" : "(%s)(", cuda_value_type(e->type));
    modular(w, e, 0);
    strbuf_add(w->out, parenthesis ? "))" : ")");
    return true;
}

bool cuda_leaves_type(const Expr *e)
{
    Range exact;
    bool divides = e->kind == EX_DIV && is_signed(e->type);
    return is_small(e->type) &&
           (divides ||
            (is_ring(e) && (!exact_range(e, &exact) || !is_within(exact, range_of_type(e->type)))));
}

/* Of float and double to integers, as the language has it: towards zero, to the nearest that there
 * is, NaN to 0. Small integers are made of an int. */
void cuda_from_float(CudaWriter *w, const Expr *from, DType to)
{
    bool is_f64 = from->type == DT_F64, wide = type_info(to)->bits == 64,
         is_unsigned = to == DT_U32 || to == DT_U64;
    if (w->host)
        strbuf_addf(w->out, "%s<%s>", cuda_host_helper(w, HOST_INTEGER),
                    is_unsigned || wide ? cuda_value_type(to) : "int");
    else if (wide)
        strbuf_add(w->out,
                   cuda_helper(w, is_f64 ? (is_unsigned ? HELPER_F64_TO_U64 : HELPER_F64_TO_I64)
                                         : (is_unsigned ? HELPER_F32_TO_U64 : HELPER_F32_TO_I64)));
    else if (is_f64)
        strbuf_add(w->out, cuda_helper(w, is_unsigned ? HELPER_F64_TO_U32 : HELPER_F64_TO_I32));
    else
        strbuf_add(w->out, is_unsigned ? "__float2uint_rz" : "__float2int_rz");
    strbuf_add(w->out, "(");
    cuda_expr(w, from, 0);
    strbuf_add(w->out, ")");
}

bool cuda_byte_as_float(CudaWriter *w, const Expr *from)
{
    if (w->host || !type_is_byte(from->type))
        return false;
    strbuf_addf(w->out, "%s(",
                cuda_helper(w, from->type == DT_I8 ? HELPER_F32_FROM_I8 : HELPER_F32_FROM_U8));
    cuda_expr(w, from, 0);
    strbuf_add(w->out, ")");
    return true;
}
