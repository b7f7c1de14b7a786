/* expr.c - Emits expressions as CUDA C.
 *
 * Floating types of 16 and 8 bits have two forms: the bits they are stored as (cuda_stored) and the
 * f32 that arithmetic uses (cuda_expr). An operation's result is rounded to its own type before it
 * is used again, which gives the same value as an instruction of that type would (f32 has more than
 * 2p + 2 digits for every narrow type; Figueroa 1995). A copy moves bits and converts nothing. */
#include "codegen/cuda/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_narrow(DType type)
{
    return type_is_float(type) && type_info(type)->bits < 32;
}

const char *cuda_storage_type(DType type)
{
    return type_info(type)->cuda;
}

const char *cuda_value_type(DType type)
{
    return is_narrow(type) ? "float" : type_info(type)->cuda;
}

static Helper helper_to_f32(DType type)
{
    switch (type) {
    case DT_F16: return HELPER_F16_TO_F32;
    case DT_BF16: return HELPER_BF16_TO_F32;
    case DT_F8E4M3: return HELPER_F8E4M3_TO_F32;
    default: return HELPER_F8E5M2_TO_F32;
    }
}

static Helper helper_from_f32(DType type)
{
    switch (type) {
    case DT_F16: return HELPER_F16_FROM_F32;
    case DT_BF16: return HELPER_BF16_FROM_F32;
    case DT_F8E4M3: return HELPER_F8E4M3_FROM_F32;
    default: return HELPER_F8E5M2_FROM_F32;
    }
}

static void add(CudaWriter *w, const char *text)
{
    strbuf_add(w->out, text);
}

static void open_if(CudaWriter *w, bool parenthesis)
{
    if (parenthesis)
        add(w, "(");
}

static void close_if(CudaWriter *w, bool parenthesis)
{
    if (parenthesis)
        add(w, ")");
}

/* ---- literals -------------------------------------------------------------------------------- */

static void int_literal(CudaWriter *w, const Expr *e, int precedence)
{
    int64_t v = e->u.i;
    if (e->type == DT_BOOL) {
        add(w, v ? "true" : "false");
        return;
    }
    if (e->is_hex) {
        bool is_unsigned = e->type == DT_U32 || e->type == DT_U64;
        bool is_wide = e->type == DT_I64 || e->type == DT_U64 || (!is_unsigned && v > INT32_MAX);
        strbuf_addf(w->out, "0x%llx%s%s", (unsigned long long)v, is_unsigned ? "u" : "",
                    is_wide ? "ll" : "");
        return;
    }
    if (e->type == DT_U64) {
        strbuf_addf(w->out, "%lluull", (unsigned long long)v);
        return;
    }
    if (e->type == DT_U32) {
        strbuf_addf(w->out, "%lluu", (unsigned long long)(uint32_t)v);
        return;
    }
    bool wide = e->type == DT_I64;
    if (v == INT64_MIN) {
        add(w, "(-9223372036854775807ll - 1)");
        return;
    }
    if (!wide && v == INT32_MIN) {
        add(w, "(-2147483647 - 1)");
        return;
    }
    bool parenthesis = v < 0 && precedence > PRECEDENCE_UNARY;
    open_if(w, parenthesis);
    strbuf_addf(w->out, wide ? "%lldll" : "%lld", (long long)v);
    close_if(w, parenthesis);
}

typedef enum { LITERAL_F32, LITERAL_F64 } FloatType;

/* The shortest decimal that reads back as the same value. */
static void shortest(CudaWriter *w, double value, FloatType type)
{
    char text[40];
    int digits = 0;
    do
        snprintf(text, sizeof text, "%.*g", ++digits, value);
    while (digits < 17 && (type == LITERAL_F64 ? strtod(text, NULL) != value
                                               : strtof(text, NULL) != (float)value));
    strbuf_add_decimal(w->out, value, digits);
}

static void float_literal(CudaWriter *w, double value, FloatType type, int precedence)
{
    if (w->host && !isfinite(value)) {
        strbuf_addf(w->out, "(%s%s%s)", signbit(value) ? "-" : "",
                    type == LITERAL_F64 ? "(double)" : "", isnan(value) ? "NAN" : "INFINITY");
        return;
    }
    if (!isfinite(value)) {
        const char *f32 = isnan(value) ? "7fc00000" : signbit(value) ? "ff800000" : "7f800000";
        const char *f64 = isnan(value) ? "7ff8" : signbit(value) ? "fff0" : "7ff0";
        if (type == LITERAL_F64)
            strbuf_addf(w->out, "__longlong_as_double(0x%s000000000000ll)", f64);
        else
            strbuf_addf(w->out, "__int_as_float(0x%s)", f32);
        return;
    }
    bool parenthesis = signbit(value) && precedence > PRECEDENCE_UNARY;
    open_if(w, parenthesis);
    shortest(w, value, type);
    add(w, type == LITERAL_F64 ? "" : "f");
    close_if(w, parenthesis);
}

/* ---- operators ------------------------------------------------------------------------------- */

static void call_open(CudaWriter *w, const char *function)
{
    add(w, function);
    add(w, "(");
}

static void min_max(CudaWriter *w, const Expr *e)
{
    bool is_min = e->kind == EX_MIN;
    if (w->host && type_is_float(e->type))
        call_open(w, cuda_host_helper(w, is_min ? HOST_MIN : HOST_MAX));
    else if (e->type == DT_F64)
        call_open(w, is_min ? "fmin" : "fmax");
    else if (type_is_float(e->type))
        call_open(w, is_min ? "fminf" : "fmaxf");
    else if (w->host)
        strbuf_addf(w->out, "std::%s<%s>(", is_min ? "min" : "max",
                    e->type == DT_INDEX ? "long long" : cuda_value_type(e->type));
    else
        call_open(w, is_min ? "min" : "max");
    cuda_expr(w, e->u.arg[0], 0);
    add(w, ", ");
    cuda_expr(w, e->u.arg[1], 0);
    add(w, ")");
}

/* Few readers know that && binds more than ||, and sums more than shifts; a comparison of
 * comparisons is rarely meant. */
static int operand_precedence(const OpInfo *of, const Expr *operand, int precedence)
{
    bool silent = operand->kind == EX_CAST && operand->type == DT_I64; /* cuda_right_operand */
    operand = silent ? operand->u.arg[0] : operand;
    OpClass class = op_info(operand->kind)->class;
    bool unclear = (of->class == OP_LOGIC && operand->kind == EX_AND) ||
                   (of->class == OP_SHIFT && class == OP_ARITH) ||
                   (of->class == OP_COMPARE && class == OP_COMPARE);
    bool same = of->precedence == op_info(operand->kind)->precedence;
    return unclear && (!same || class == OP_COMPARE) ? PRECEDENCE_POSTFIX : precedence;
}

/* `a + -b` of floats reads better as `a - b`, which is the same. */
static bool adds_negative(const Expr *e)
{
    return e->kind == EX_ADD && type_is_float(e->type) && e->u.arg[1]->kind == EX_NEG;
}

/* In long long arithmetic an int may stay as it is. */
void cuda_right_operand(CudaWriter *w, const Expr *e, int precedence)
{
    bool small = e->kind == EX_INT && e->u.i >= 0 && e->u.i <= INT32_MAX;
    if (e->type == DT_I64 && small)
        strbuf_addf(w->out, e->is_hex ? "0x%llx" : "%lld", (long long)e->u.i);
    else if (e->type == DT_I64 && e->kind == EX_CAST && e->u.arg[0]->type == DT_INDEX)
        cuda_expr(w, e->u.arg[0], precedence);
    else
        cuda_expr(w, e, precedence);
}

/* Small integers and narrow floats travel as the int or float that they are computed in; a truth
 * value as an int. */
static void shuffle(CudaWriter *w, const Expr *e, int precedence)
{
    bool truth = e->type == DT_BOOL, parenthesis = truth && precedence > op_info(EX_NE)->precedence;
    open_if(w, parenthesis);
    add(w, e->kind == EX_SHUFFLE ? "__shfl_sync" : "__shfl_xor_sync");
    add(w, "(0xffffffff, ");
    add(w, truth ? "(int)" : "");
    cuda_expr(w, e->u.arg[0], truth ? PRECEDENCE_UNARY : 0);
    add(w, ", ");
    cuda_expr(w, e->u.arg[1], 0);
    add(w, truth ? ") != 0" : ")");
    close_if(w, parenthesis);
}

static void binary(CudaWriter *w, const Expr *e, int precedence)
{
    const OpInfo *op = op_info(e->kind);
    if (op->class == OP_LANES) {
        shuffle(w, e, precedence);
        return;
    }
    if (op->precedence == 0) {
        min_max(w, e);
        return;
    }
    /* Few readers know where the bit operators bind. */
    bool unfamiliar = (op->class == OP_BITS || op->class == OP_SHIFT) && precedence > 0;
    bool parenthesis = op->precedence < precedence || unfamiliar;
    open_if(w, parenthesis);
    const Expr *right = adds_negative(e) ? e->u.arg[1]->u.arg[0] : e->u.arg[1];
    cuda_expr(w, e->u.arg[0], operand_precedence(op, e->u.arg[0], op->precedence));
    strbuf_addf(w->out, " %s ", right == e->u.arg[1] ? op->token : "-");
    cuda_right_operand(w, right, operand_precedence(op, right, op->precedence + 1));
    close_if(w, parenthesis);
}

static void unary(CudaWriter *w, const Expr *e, int precedence)
{
    bool parenthesis = precedence > PRECEDENCE_UNARY;
    open_if(w, parenthesis);
    add(w, op_info(e->kind)->token);
    cuda_expr(w, e->u.arg[0], PRECEDENCE_POSTFIX);
    close_if(w, parenthesis);
}

/* The number that a literal integer is as a float: `(float)20` reads better as 20.0f. */
static bool literal_as_float(CudaWriter *w, const Expr *e, int precedence)
{
    const Expr *from = e->u.arg[0];
    bool wide = e->type == DT_F64;
    if (from->kind != EX_INT || from->type == DT_U64 || !(wide || e->type == DT_F32))
        return false;
    double value = wide ? (double)from->u.i : (double)(float)from->u.i;
    float_literal(w, value, wide ? LITERAL_F64 : LITERAL_F32, precedence);
    return true;
}

static void cast(CudaWriter *w, const Expr *e, int precedence)
{
    const Expr *from = e->u.arg[0];
    if (literal_as_float(w, e, precedence) || (e->type == DT_F32 && cuda_byte_as_float(w, from)))
        return;
    const char *to = w->host && e->type == DT_INDEX ? "long long" : cuda_value_type(e->type);
    if (strcmp(to, cuda_value_type(from->type)) == 0 && e->type != DT_BOOL && !w->host) {
        cuda_expr(w, from, precedence);
        return;
    }
    bool rounds = type_is_float(from->type) && type_is_int(e->type),
         small = type_info(e->type)->bits < 32;
    bool parenthesis = precedence > PRECEDENCE_UNARY && (!rounds || small);
    open_if(w, parenthesis);
    if (!rounds || small)
        strbuf_addf(w->out, "(%s)", to);
    if (rounds)
        cuda_from_float(w, from, e->type);
    else
        cuda_expr(w, from, PRECEDENCE_POSTFIX);
    close_if(w, parenthesis);
}

/* `device` in a kernel, `host` in the reference of a complete program. */
static const char *either_helper(CudaWriter *w, Helper device, HostHelper host)
{
    return w->host ? cuda_host_helper(w, host) : cuda_helper(w, device);
}

/* The name of a function for arguments of a type. */
static const char *function_name(CudaWriter *w, CallKind call, DType type)
{
    const CallInfo *info = call_info(call);
    bool is_f64 = type == DT_F64;
    switch (call) {
    case CALL_MINIMUM:
        return either_helper(w, is_f64 ? HELPER_MIN_OR_NAN_F64 : HELPER_MIN_OR_NAN_F32,
                             HOST_MIN_OR_NAN);
    case CALL_MAXIMUM:
        return either_helper(w, is_f64 ? HELPER_MAX_OR_NAN_F64 : HELPER_MAX_OR_NAN_F32,
                             HOST_MAX_OR_NAN);
    case CALL_TF32: return either_helper(w, is_f64 ? HELPER_TF32_F64 : HELPER_TF32, HOST_TF32);
    case CALL_TF32_RZ:
        return either_helper(w, is_f64 ? HELPER_TF32_RZ_F64 : HELPER_TF32_RZ, HOST_TF32_RZ);
    case CALL_FAST_EXP:
    case CALL_FAST_EXP2:
        if (!w->host && !is_f64)
            return cuda_helper(w, call == CALL_FAST_EXP ? HELPER_FAST_EXP : HELPER_FAST_EXP2);
        break;
    case CALL_ISNAN: return w->host ? "std::isnan" : info->f32;
    case CALL_ISINF: return w->host ? "std::isinf" : info->f32;
    case CALL_POPCOUNT:
        if (w->host)
            return cuda_host_helper(w, HOST_POPCOUNT);
        break;
    case CALL_CLZ:
        if (w->host)
            return cuda_host_helper(w, HOST_CLZ);
        break;
    case CALL_DP4A:
        if (w->host)
            return cuda_host_helper(w, HOST_DP4A);
        break;
    default: break;
    }
    return type_info(type)->bits == 64 ? info->f64 : info->f32;
}

/* The intrinsic that takes the bits of `from` for a value of `to`; NULL between integers, where a
 * cast does. */
static const char *bits_function(DType from, DType to)
{
    switch (from) {
    case DT_F32: return to == DT_I32 ? "__float_as_int" : "__float_as_uint";
    case DT_F64: return "__double_as_longlong";
    default: break;
    }
    if (to == DT_F64)
        return "__longlong_as_double";
    return to != DT_F32 ? NULL : from == DT_I32 ? "__int_as_float" : "__uint_as_float";
}

/* The bits of a narrow float or of any integer as a type of the same width that has none of its
 * own: what a buffer would hold. */
static void bits_stored(CudaWriter *w, const Expr *e, int precedence)
{
    const Expr *from = e->u.call.arg[0];
    const char *to = cuda_storage_type(e->type);
    bool cast = strcmp(to, cuda_storage_type(from->type)) != 0;
    bool parenthesis = cast && precedence > PRECEDENCE_UNARY;
    open_if(w, parenthesis);
    if (cast)
        strbuf_addf(w->out, "(%s)", to);
    if (is_narrow(from->type))
        cuda_stored(w, from);
    else
        cuda_expr(w, from, cast ? PRECEDENCE_POSTFIX : precedence);
    close_if(w, parenthesis);
}

static void bitcast(CudaWriter *w, const Expr *e, int precedence)
{
    const Expr *from = e->u.call.arg[0];
    const char *function = bits_function(from->type, e->type);
    if (!function) {
        bits_stored(w, e, precedence);
        return;
    }
    if (w->host) {
        strbuf_addf(w->out, "%s<%s>(", cuda_host_helper(w, HOST_BITS), cuda_value_type(e->type));
        cuda_expr(w, from, 0);
        add(w, ")");
        return;
    }
    bool cast = e->type == DT_U64, parenthesis = cast && precedence > PRECEDENCE_UNARY;
    open_if(w, parenthesis);
    call_open(w, cast ? ctx_namef(w->c, "(unsigned long long)%s", function) : function);
    cuda_expr(w, from, 0);
    add(w, ")");
    close_if(w, parenthesis);
}

/* The host's reference runs in the order of the program: nothing has to be awaited there. */
static void await(CudaWriter *w, const Expr *e)
{
    const Expr *element = e->u.call.arg[0];
    if (!w->host) {
        call_open(w, cuda_helper(w, HELPER_AWAIT));
        add(w, "&");
    }
    cuda_element(w, element->u.load.buffer, element->u.load.index);
    add(w, w->host ? "" : ")");
}

static void call(CudaWriter *w, const Expr *e, int precedence)
{
    const CallInfo *info = call_info(e->u.call.call);
    if (expr_awaits(e)) {
        await(w, e);
        return;
    }
    if (e->u.call.call == CALL_BITCAST) {
        bitcast(w, e, precedence);
        return;
    }
    call_open(w, function_name(w, e->u.call.call, e->u.call.arg[0]->type));
    for (int i = 0; i < info->arity; i++) {
        add(w, i ? ", " : "");
        cuda_expr(w, e->u.call.arg[i], 0);
    }
    add(w, ")");
}

static void select_expr(CudaWriter *w, const Expr *e, int precedence)
{
    bool parenthesis = precedence >= PRECEDENCE_SELECT;
    open_if(w, parenthesis);
    cuda_expr(w, e->u.arg[0], PRECEDENCE_SELECT + 1);
    add(w, " ? ");
    cuda_expr(w, e->u.arg[1], PRECEDENCE_SELECT + 1);
    add(w, " : ");
    cuda_expr(w, e->u.arg[2], PRECEDENCE_SELECT);
    close_if(w, parenthesis);
}

/* ---- elements -------------------------------------------------------------------------------- */

bool cuda_array_dims(Context *c, const Buffer *buffer, ArrayDims *dims)
{
    int rank = buffer->rank;
    int64_t elements, *strides = ARENA_ARRAY(c->arena, int64_t, rank + 1);
    if (!buffer_strides(buffer, strides, &elements))
        TIRC_BUG(c, "the shape of '%s' is not literal where it is declared", buffer->name);
    *dims = (ArrayDims){0, ARENA_ARRAY(c->arena, int, rank + 1),
                        ARENA_ARRAY(c->arena, int64_t, rank + 1)};
    if (rank > 0 && strides[rank - 1] != 1)
        return false;
    for (int i = 0; i < rank; i++) {
        int64_t outer = i ? strides[i - 1] : elements;
        if (strides[i] == 0 || outer % strides[i] != 0)
            return false;
        bool is_last = i + 1 == rank && dims->n == 0;
        if (outer == strides[i] && !is_last)
            continue;
        dims->axis[dims->n] = i;
        dims->extent[dims->n++] = outer / strides[i];
    }
    return true;
}

bool cuda_is_variable(const Buffer *buffer)
{
    int64_t extent;
    for (int i = 0; i < buffer->rank; i++)
        if (!expr_is_const(buffer->shape[i], &extent) || extent != 1)
            return false;
    return buffer->scope == SCOPE_LOCAL;
}

/* Row major over a shape that need not be literal, in Horner's form. */
static void symbolic_subscript(CudaWriter *w, const Buffer *buffer, Expr *const *index)
{
    add(w, "[");
    for (int i = 2; i < buffer->rank; i++)
        add(w, "(");
    for (int i = 0; i < buffer->rank; i++) {
        if (i > 0) {
            add(w, " * ");
            cuda_expr(w, buffer->shape[i], 12);
            add(w, " + ");
        }
        cuda_expr(w, index[i], 11);
        if (i > 0 && i + 1 < buffer->rank)
            add(w, ")");
    }
    add(w, "]");
}

static void flat_subscript(CudaWriter *w, const Buffer *buffer, Expr *const *index)
{
    int64_t elements, *strides = ARENA_ARRAY(w->c->arena, int64_t, buffer->rank + 1);
    if (!buffer_strides(buffer, strides, &elements)) {
        symbolic_subscript(w, buffer, index);
        return;
    }
    add(w, "[");
    for (int i = 0; i < buffer->rank; i++) {
        add(w, i ? " + " : "");
        cuda_expr(w, index[i], strides[i] == 1 ? 10 : 11);
        if (strides[i] != 1)
            strbuf_addf(w->out, " * %lld", (long long)strides[i]);
    }
    add(w, "]");
}

/* C makes an int of small integers, `count[x[i]]`. */
static void subscript(CudaWriter *w, const Expr *index)
{
    bool small = index->kind == EX_CAST && index->type == DT_INDEX &&
                 type_is_int(index->u.arg[0]->type) && type_info(index->u.arg[0]->type)->bits < 32;
    add(w, "[");
    cuda_expr(w, small ? index->u.arg[0] : index, 0);
    add(w, "]");
}

/* `*in_block(&part[i], rank)`: the element in the block of that rank. */
static void cluster_element(CudaWriter *w, const Buffer *buffer, Expr *const *index)
{
    strbuf_addf(w->out, "*%s(&", cuda_helper(w, HELPER_IN_BLOCK));
    cuda_element(w, buffer_of_block(w->c, buffer), index + 1);
    add(w, ", ");
    cuda_expr(w, index[0], 0);
    add(w, ")");
}

void cuda_element(CudaWriter *w, const Buffer *buffer, Expr *const *index)
{
    if (buffer->scope == SCOPE_CLUSTER) {
        cluster_element(w, buffer, index);
        return;
    }
    add(w, cuda_buffer_name(w, buffer));
    if (cuda_is_variable(buffer))
        return;
    ArrayDims dims;
    bool is_global = buffer->scope == SCOPE_GLOBAL;
    if (is_global && buffer->rank == 0)
        add(w, "[0]"); /* behind a pointer */
    else if (is_global && buffer->rank == 1)
        subscript(w, index[0]);
    else if (is_global || !cuda_array_dims(w->c, buffer, &dims))
        flat_subscript(w, buffer, index);
    else
        for (int i = 0; i < dims.n; i++)
            subscript(w, index[dims.axis[i]]);
}

/* The element that `load` reads, as its storage type. */
static void loaded(CudaWriter *w, const Expr *load)
{
    const char *function = cuda_hint_load(w, load->hint);
    if (function)
        strbuf_addf(w->out, "%s(%s&", function,
                    load->type == DT_BOOL ? "(const unsigned char *)" : "");
    cuda_element(w, load->u.load.buffer, load->u.load.index);
    strbuf_add(w->out, function ? ")" : "");
}

/* ---- the two forms --------------------------------------------------------------------------- */

void cuda_unrounded(CudaWriter *w, const Expr *e, int precedence)
{
    switch (e->kind) {
    case EX_CAST:
        if (e->u.arg[0]->type == DT_F64) {
            call_open(w, cuda_helper(w, HELPER_F32_ODD));
            cuda_expr(w, e->u.arg[0], 0);
            add(w, ")");
        } else if (e->type == DT_BF16 && type_is_int(e->u.arg[0]->type) &&
                   !cuda_fits_f32(e->u.arg[0])) {
            call_open(w, cuda_helper(w, HELPER_F32_ODD));
            add(w, "(double)");
            cuda_expr(w, e->u.arg[0], PRECEDENCE_POSTFIX);
            add(w, ")");
        } else if (!cuda_byte_as_float(w, e->u.arg[0])) {
            bool converts = strcmp(cuda_value_type(e->u.arg[0]->type), "float") != 0;
            add(w, converts ? "(float)" : "");
            cuda_expr(w, e->u.arg[0], converts ? PRECEDENCE_POSTFIX : precedence);
        }
        return;
    case EX_CALL: call(w, e, precedence); return;
    case EX_SELECT: select_expr(w, e, precedence); return;
    case EX_NEG: unary(w, e, precedence); return;
    default: binary(w, e, precedence); return;
    }
}

/* Is the f32 that `e` gives a value of the narrow type already? */
static bool is_exact(const Expr *e)
{
    switch (e->kind) {
    case EX_NEG:
    case EX_SELECT:
    case EX_MIN:
    case EX_MAX:
    case EX_SHUFFLE_XOR:
    case EX_SHUFFLE: return true;
    case EX_CAST:
        return e->type != DT_F8E4M3 && e->type != DT_F8E5M2 && type_is_byte(e->u.arg[0]->type);
    case EX_CALL:
        return e->u.call.call == CALL_ABS || e->u.call.call == CALL_FLOOR ||
               e->u.call.call == CALL_CEIL || e->u.call.call == CALL_ROUND ||
               e->u.call.call == CALL_TRUNC || e->u.call.call == CALL_MINIMUM ||
               e->u.call.call == CALL_MAXIMUM;
    default: return false;
    }
}

static void narrow_value(CudaWriter *w, const Expr *e, int precedence)
{
    if (e->kind == EX_FLOAT) {
        float_literal(w, e->u.f, LITERAL_F32, precedence);
    } else if (e->kind == EX_LOAD) {
        call_open(w, cuda_helper(w, helper_to_f32(e->type)));
        loaded(w, e);
        add(w, ")");
    } else if (e->kind == EX_VAR) {
        if (e->u.var->kind == VAR_SCALAR) { /* a parameter is passed as its bits */
            call_open(w, cuda_helper(w, helper_to_f32(e->type)));
            add(w, cuda_name(w, e->u.var->name));
            add(w, ")");
        } else {
            add(w, cuda_name(w, e->u.var->name));
        }
    } else if (is_exact(e)) {
        cuda_unrounded(w, e, precedence);
    } else {
        call_open(w, cuda_helper(w, helper_to_f32(e->type)));
        cuda_stored(w, e);
        add(w, ")");
    }
}

/* An fma of 16-bit floats, which is rounded once. The host's reference has one in double. */
static bool is_narrow_fma(const CudaWriter *w, const Expr *e)
{
    return !w->host && is_narrow(e->type) && e->kind == EX_CALL && e->u.call.call == CALL_FMA;
}

static void stored_fma(CudaWriter *w, const Expr *e)
{
    call_open(w, cuda_helper(w, e->type == DT_F16 ? HELPER_FMA_F16 : HELPER_FMA_BF16));
    for (int i = 0; i < 3; i++) {
        add(w, i ? ", " : "");
        cuda_stored(w, e->u.call.arg[i]);
    }
    add(w, ")");
}

static void plain(CudaWriter *w, const Expr *e, int precedence);

void cuda_stored(CudaWriter *w, const Expr *e)
{
    if (!is_narrow(e->type)) {
        if (!cuda_integer(w, e, 0)) /* the store brings it back to its type */
            plain(w, e, 0);
    } else if (e->kind == EX_LOAD) {
        loaded(w, e);
    } else if (e->kind == EX_VAR && e->u.var->kind == VAR_SCALAR) {
        add(w, cuda_name(w, e->u.var->name));
    } else if (e->kind == EX_CALL && e->u.call.call == CALL_BITCAST) {
        bits_stored(w, e, 0);
    } else if (is_narrow_fma(w, e)) {
        stored_fma(w, e);
    } else if (e->kind == EX_FLOAT || e->kind == EX_VAR) {
        call_open(w, cuda_helper(w, helper_from_f32(e->type)));
        narrow_value(w, e, 0);
        add(w, ")");
    } else {
        call_open(w, cuda_helper(w, helper_from_f32(e->type)));
        cuda_unrounded(w, e, 0);
        add(w, ")");
    }
}

/* With C's own operators. */
static void plain(CudaWriter *w, const Expr *e, int precedence)
{
    switch (e->kind) {
    case EX_INT: int_literal(w, e, precedence); return;
    case EX_FLOAT:
        float_literal(w, e->u.f, e->type == DT_F64 ? LITERAL_F64 : LITERAL_F32, precedence);
        return;
    case EX_VAR: add(w, cuda_name(w, e->u.var->name)); return;
    case EX_AXIS: strbuf_addf(w->out, "(int)%s", axis_name(e->u.axis)); return;
    case EX_LOAD: loaded(w, e); return;
    case EX_SELECT: select_expr(w, e, precedence); return;
    case EX_CAST: cast(w, e, precedence); return;
    case EX_CALL: call(w, e, precedence); return;
    case EX_NEG:
    case EX_NOT:
    case EX_BITNOT: unary(w, e, precedence); return;
    default: binary(w, e, precedence); return;
    }
}

void cuda_expr(CudaWriter *w, const Expr *e, int precedence)
{
    if (is_narrow(e->type)) {
        narrow_value(w, e, precedence);
        return;
    }
    if (cuda_integer(w, e, precedence))
        return;
    if (!cuda_leaves_type(e)) {
        plain(w, e, precedence);
        return;
    }
    bool parenthesis = precedence > PRECEDENCE_UNARY;
    open_if(w, parenthesis);
    strbuf_addf(w->out, "(%s)(", cuda_value_type(e->type));
    plain(w, e, 0);
    add(w, ")");
    close_if(w, parenthesis);
}
