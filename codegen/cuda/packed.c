/* packed.c - Puts lanes of 1 and 2 bytes together in words.
 *
 * Two 16-bit floats in a word are a pair. Arithmetic on pairs is packed where the GPU has an
 * instruction for it (ir/packed.h); all else computes lane by lane, and a conversion makes a pair
 * of two results, or of two bytes. A comparison makes a mask, whose bits choose between two pairs:
 *
 *   z[i] = x[i] * a + exp(y[i]);    =>   add_f16x2(mul_f16x2(x_v.x, broadcast_half(a)),
 *                                                  f16x2_from_f32(expf(...), expf(...)))
 *   z[i] = x[i] > 0 ? x[i] : y[i];  =>   select_halves(gt_f16x2(x_v.x, 0u), x_v.x, y_v.x) */
#include "codegen/cuda/lane.h"

#include <math.h>

#include "ir/packed.h"

enum { PAIR = 2 }; /* lanes */

static Helper packed_helper(PackedOp op, DType type)
{
    static const Helper helpers[PACKED_COUNT][2] = {
        [PACKED_ADD] = {HELPER_ADD_F16X2, HELPER_ADD_BF16X2},
        [PACKED_SUB] = {HELPER_SUB_F16X2, HELPER_SUB_BF16X2},
        [PACKED_MUL] = {HELPER_MUL_F16X2, HELPER_MUL_BF16X2},
        [PACKED_MIN] = {HELPER_MIN_F16X2, HELPER_MIN_BF16X2},
        [PACKED_MAX] = {HELPER_MAX_F16X2, HELPER_MAX_BF16X2},
        [PACKED_MINIMUM] = {HELPER_MIN_OR_NAN_F16X2, HELPER_MIN_OR_NAN_BF16X2},
        [PACKED_MAXIMUM] = {HELPER_MAX_OR_NAN_F16X2, HELPER_MAX_OR_NAN_BF16X2},
        [PACKED_NEG] = {HELPER_NEG_F16X2, HELPER_NEG_BF16X2},
        [PACKED_ABS] = {HELPER_ABS_F16X2, HELPER_ABS_BF16X2},
        [PACKED_FMA] = {HELPER_FMA_F16X2, HELPER_FMA_BF16X2},
    };
    return helpers[op][type == DT_BF16];
}

static void open_helper(Lanes *l, Helper helper)
{
    strbuf_addf(l->w->out, "%s(", cuda_helper(l->w, helper));
}

/* The lanes from `first` on, as they are stored: `pack_halves(a, b)`. */
static void stored_lanes(Lanes *l, Expr *e, int first, int n)
{
    for (int i = 0; i < n; i++) {
        strbuf_add(l->w->out, i ? ", " : "");
        l->lane = first + i;
        cuda_stored(l->w, lane_value(l, e));
    }
    strbuf_add(l->w->out, ")");
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* The bits of a literal, which is a value of its type. */
static unsigned literal_bits(DType type, double value)
{
    int fraction = type == DT_F16 ? 10 : 7, bias = type == DT_F16 ? 15 : 127, exponent;
    unsigned sign = signbit(value) ? 0x8000 : 0, infinity = (unsigned)(2 * bias + 1) << fraction;
    if (isnan(value))
        return 0x7fff;
    if (isinf(value))
        return sign | infinity;
    if (value == 0)
        return sign;
    frexp(value, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double digits = ldexp(fabs(value), fraction - exponent);
    return sign | (((unsigned)(exponent + bias - 1) << fraction) + (unsigned)digits);
}

static bool is_converted(const Expr *e)
{
    return e->kind != EX_LOAD && e->kind != EX_VAR &&
           !(e->kind == EX_CALL && e->u.call.call == CALL_BITCAST);
}

/* Of two integers of 8 bits, which are passed as their bits. */
static Helper helper_from_bytes(DType from, DType to)
{
    if (to == DT_F16)
        return from == DT_I8 ? HELPER_F16X2_FROM_I8 : HELPER_F16X2_FROM_U8;
    return from == DT_I8 ? HELPER_BF16X2_FROM_I8 : HELPER_BF16X2_FROM_U8;
}

/* Two lanes that are computed one by one. */
static void apart(Lanes *l, Expr *e, int first)
{
    CudaWriter *w = l->w;
    if (!is_converted(e)) {
        open_helper(l, HELPER_PACK_HALVES);
        stored_lanes(l, e, first, PAIR);
        return;
    }
    if (e->kind == EX_CAST && type_is_byte(e->u.arg[0]->type)) {
        open_helper(l, helper_from_bytes(e->u.arg[0]->type, e->type));
        stored_lanes(l, e->u.arg[0], first, PAIR);
        return;
    }
    open_helper(l, e->type == DT_F16 ? HELPER_F16X2_FROM_F32 : HELPER_BF16X2_FROM_F32);
    for (int i = 0; i < PAIR; i++) {
        strbuf_add(w->out, i ? ", " : "");
        l->lane = first + i;
        cuda_unrounded(w, lane_value(l, e), 0);
    }
    strbuf_add(w->out, ")");
}

/* All its memory is read in any case: the lanes may compute it where its value is not used. */
static bool runs_anyway(const Lanes *l, const Expr *e)
{
    for (Cursor at = cursor_expr(l->w->c, e); cursor_next(&at);) {
        if (at.expr->kind == EX_LOAD && lane_vector(l, at.expr))
            cursor_prune(&at);
        else if (at.expr->kind == EX_LOAD || op_info(at.expr->kind)->class == OP_LANES)
            return false;
    }
    return true;
}

/* A choice of two pairs by the bits of a mask. */
static bool is_choice(const Lanes *l, const Expr *e)
{
    return e->kind == EX_SELECT && packed_type(e->type) && runs_anyway(l, e);
}

static bool has_packed_form(const Lanes *l, const Expr *e)
{
    return (packed_op(e) != PACKED_COUNT || is_choice(l, e)) && expr_uses_var(e, l->plan->var);
}

static void pair(Lanes *l, Expr *e, int first);

/* ---- masks ----------------------------------------------------------------------------------- */

/* All bits of a lane are 1 where a comparison holds. */
typedef struct {
    Helper f16, bf16;
    bool turned; /* a < b is b > a */
} Compare;

/* NULL: `e` does not compare 16-bit floats. */
static const Compare *compare_of(const Expr *e)
{
    static const Compare greater = {HELPER_GT_F16X2, HELPER_GT_BF16X2, false},
                         less = {HELPER_GT_F16X2, HELPER_GT_BF16X2, true},
                         at_least = {HELPER_GE_F16X2, HELPER_GE_BF16X2, false},
                         at_most = {HELPER_GE_F16X2, HELPER_GE_BF16X2, true},
                         equal = {HELPER_EQ_F16X2, HELPER_EQ_BF16X2, false},
                         other = {HELPER_NE_F16X2, HELPER_NE_BF16X2, false};
    if (!expr_is_binary(e->kind) || !packed_type(e->u.arg[0]->type))
        return NULL;
    switch (e->kind) {
    case EX_GT: return &greater;
    case EX_LT: return &less;
    case EX_GE: return &at_least;
    case EX_LE: return &at_most;
    case EX_EQ: return &equal;
    case EX_NE: return &other;
    default: return NULL;
    }
}

static void comparison(Lanes *l, const Compare *by, const Expr *e, int first)
{
    open_helper(l, e->u.arg[0]->type == DT_F16 ? by->f16 : by->bf16);
    pair(l, e->u.arg[by->turned], first);
    strbuf_add(l->w->out, ", ");
    pair(l, e->u.arg[!by->turned], first);
    strbuf_add(l->w->out, ")");
}

/* NaN differs from itself. */
static bool is_nan_test(const Expr *e)
{
    return e->kind == EX_CALL && e->u.call.call == CALL_ISNAN &&
           packed_type(e->u.call.arg[0]->type);
}

/* Two lanes of a condition that are computed one by one. */
static void mask_apart(Lanes *l, Expr *e, int first)
{
    open_helper(l, HELPER_MASK_HALVES);
    for (int i = 0; i < PAIR; i++) {
        strbuf_add(l->w->out, i ? ", " : "");
        l->lane = first + i;
        cuda_expr(l->w, lane_value(l, e), 0);
    }
    strbuf_add(l->w->out, ")");
}

/* The lanes `first` and `first` + 1 of a condition as bits. */
static void mask(Lanes *l, Expr *e, int first)
{
    StrBuf *out = l->w->out;
    const Compare *by = compare_of(e);
    if (by) {
        comparison(l, by, e, first);
    } else if (e->kind == EX_AND || e->kind == EX_OR) {
        strbuf_add(out, "(");
        mask(l, e->u.arg[0], first);
        strbuf_add(out, e->kind == EX_AND ? " & " : " | ");
        mask(l, e->u.arg[1], first);
        strbuf_add(out, ")");
    } else if (is_nan_test(e)) {
        open_helper(l, e->u.call.arg[0]->type == DT_F16 ? HELPER_NE_F16X2 : HELPER_NE_BF16X2);
        pair(l, e->u.call.arg[0], first);
        strbuf_add(out, ", ");
        pair(l, e->u.call.arg[0], first);
        strbuf_add(out, ")");
    } else if (e->kind == EX_NOT) {
        strbuf_add(out, "~");
        mask(l, e->u.arg[0], first);
    } else {
        mask_apart(l, e, first);
    }
}

/* One answer for all lanes chooses as it stands. */
static void choice(Lanes *l, Expr *e, int first)
{
    StrBuf *out = l->w->out;
    bool alike = !expr_uses_var(e->u.arg[0], l->plan->var);
    if (alike) {
        strbuf_add(out, "(");
        cuda_expr(l->w, e->u.arg[0], 0);
    } else {
        open_helper(l, HELPER_SELECT_HALVES);
        mask(l, e->u.arg[0], first);
    }
    strbuf_add(out, alike ? " ? " : ", ");
    pair(l, e->u.arg[1], first);
    strbuf_add(out, alike ? " : " : ", ");
    pair(l, e->u.arg[2], first);
    strbuf_add(out, ")");
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The lanes `first` and `first` + 1 of `e` in one word. */
static void pair(Lanes *l, Expr *e, int first)
{
    CudaWriter *w = l->w;
    Name vector = lane_vector(l, e);
    if (vector) {
        strbuf_add(w->out, lane_word(l, vector, l->plan->lanes * 2, first / PAIR));
    } else if (e->kind == EX_FLOAT) {
        unsigned bits = literal_bits(e->type, e->u.f);
        strbuf_addf(w->out, "0x%04x%04xu", bits, bits);
    } else if (!expr_uses_var(e, l->plan->var)) {
        open_helper(l, HELPER_BROADCAST_HALF);
        cuda_stored(w, e);
        strbuf_add(w->out, ")");
    } else if (is_choice(l, e)) {
        choice(l, e, first);
    } else if (has_packed_form(l, e)) {
        open_helper(l, packed_helper(packed_op(e), e->type));
        for (int i = 0; i < expr_operands(e); i++) {
            strbuf_add(w->out, i ? ", " : "");
            pair(l, expr_operand(e, i), first);
        }
        strbuf_add(w->out, ")");
    } else {
        apart(l, e, first);
    }
}

void packed_word(Lanes *l, int word)
{
    const Buffer *to = l->plan->store->u.store.buffer;
    int bytes = type_bytes(to->type), per_word = 4 / bytes;
    if (packed_type(to->type) && packed_type(l->plan->value->type)) {
        pair(l, l->plan->value, word * PAIR);
        return;
    }
    bool narrow = l->plan->lanes < per_word; /* two bytes */
    open_helper(l, bytes == 2 ? HELPER_PACK_HALVES : narrow ? HELPER_PACK_TWO : HELPER_PACK_BYTES);
    stored_lanes(l, l->plan->value, word * per_word, narrow ? 2 : per_word);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void parts_of(Lanes *l, Expr *e);

/* The operands of packed arithmetic are pairs, too: only what they are made from has parts. */
static void parts_below(Lanes *l, Expr *e)
{
    if (lane_vector(l, e))
        return;
    bool packs = has_packed_form(l, e);
    int n = packs ? expr_operands(e) : packed_certain_operands(e);
    for (int i = 0; i < n; i++)
        (packs ? parts_below : parts_of)(l, expr_operand(e, i));
}

static void declare_part(Lanes *l, Expr *e)
{
    CudaWriter *w = l->w;
    const char *type = vector_word(l->plan->lanes * 2);
    Name name = cuda_names_made(
        w->names, "packed",
        arena_printf(w->c->arena, l->parts.n ? "packed_%d" : "packed", l->parts.n + 1));
    int words = (int)l->plan->lanes / PAIR;
    cuda_indent(w);
    strbuf_addf(w->out, "const %s %s = ", type, name);
    strbuf_add(w->out, words > 1 ? ctx_namef(w->c, "make_%s(", type) : "");
    for (int i = 0; i < words; i++) {
        strbuf_add(w->out, i ? ", " : "");
        pair(l, e, i * PAIR);
    }
    strbuf_add(w->out, words > 1 ? ");\n" : ";\n");
    LanePart part = {e, name};
    VEC_PUSH(w->c->arena, &l->parts, part);
}

/* Declares the largest parts of `e` that have packed arithmetic, the inner ones first. */
static void parts_of(Lanes *l, Expr *e)
{
    parts_below(l, e);
    if (!lane_vector(l, e) && has_packed_form(l, e))
        declare_part(l, e);
}

void packed_parts(Lanes *l)
{
    bool packs = l->plan->packs && packed_type(l->plan->store->u.store.buffer->type);
    if (!vector_word(l->plan->lanes * 2))
        return;
    if (packs)
        parts_below(l, l->plan->value);
    else
        parts_of(l, l->plan->value);
}
