/* types.c - Unifies and converts the types of operands, and finds types by name.
 *
 * Typed operands follow C's usual arithmetic conversions (C11 6.3.1.8) with two additions:
 * operations on equal 16-bit floats keep their type, and 8-bit floats compute as f32. Integer
 * literals, sizes and loop variables are exact integers (type INDEX) that take the type of a typed
 * operand; floating literals take the floating type of the other operand. What is not a literal is
 * converted by a cast node, a literal by becoming another one. */
#include <math.h>
#include <string.h>

#include "frontend/resolve/internal.h"

static TypeClass class_of(DType t)
{
    return type_info(t)->class;
}

static bool is_float8(DType t)
{
    return type_is_float(t) && type_info(t)->bits == 8;
}

DType type_promote(DType t)
{
    if (is_float8(t))
        return DT_F32;
    if (class_of(t) == CLASS_BOOL)
        return DT_I32;
    bool small = (class_of(t) == CLASS_INT || class_of(t) == CLASS_UINT) && type_info(t)->bits < 32;
    return small ? DT_I32 : t;
}

static DType common_float_type(DType a, DType b)
{
    if (!type_is_float(b))
        return a;
    if (!type_is_float(a))
        return b;
    if (type_info(a)->bits == type_info(b)->bits)
        return a == b ? a : DT_F32;
    return type_info(a)->bits > type_info(b)->bits ? a : b;
}

DType type_common(DType a, DType b)
{
    if (a == DT_INDEX || b == DT_INDEX)
        return type_promote(a == DT_INDEX ? b : a);
    a = type_promote(a);
    b = type_promote(b);
    if (type_is_float(a) || type_is_float(b))
        return common_float_type(a, b);
    int bits_a = type_info(a)->bits, bits_b = type_info(b)->bits;
    if (bits_a != bits_b)
        return bits_a > bits_b ? a : b;
    return class_of(a) == CLASS_UINT ? a : b;
}

/* Whether a store converts implicitly. */
static bool widens_silently(DType from, DType to)
{
    const TypeInfo *a = type_info(from), *b = type_info(to);
    if (from == to)
        return true;
    switch (a->class) {
    case CLASS_FLOAT: return b->class == CLASS_FLOAT && b->bits > a->bits;
    case CLASS_BOOL: return b->class != CLASS_INDEX;
    case CLASS_INT: return b->class == CLASS_FLOAT || (b->class == CLASS_INT && b->bits > a->bits);
    case CLASS_UINT:
        return b->class == CLASS_FLOAT ||
               ((b->class == CLASS_INT || b->class == CLASS_UINT) && b->bits > a->bits);
    case CLASS_INDEX: return b->class == CLASS_FLOAT || (b->class != CLASS_BOOL && b->bits >= 32);
    }
    return false;
}

/* ---- literals ---- */

static bool integer_fits(DType type, int64_t value, bool huge)
{
    const TypeInfo *info = type_info(type);
    if (info->class == CLASS_UINT)
        return huge ? info->bits == 64
                    : value >= 0 && (info->bits == 64 || value >> info->bits == 0);
    if (huge || info->class == CLASS_BOOL)
        return false;
    int64_t limit = info->bits == 64 ? INT64_MAX : ((int64_t)1 << (info->bits - 1)) - 1;
    return value <= limit && value >= -limit - 1;
}

typedef enum { LITERAL_SIGNED, LITERAL_UNSIGNED } LiteralSign;

static Expr *literal_too_large(Resolver *r, const Expr *e, LiteralSign sign, DType type)
{
    const char *name = type_info(type)->name;
    if (e->kind == EX_FLOAT)
        diag_error(r->ctx, E0210, e->span,
                   "the literal %g does not fit in %s: it would overflow to infinity", e->u.f,
                   name);
    else if (sign == LITERAL_UNSIGNED)
        diag_error(r->ctx, E0210, e->span, "the literal %llu does not fit in %s",
                   (unsigned long long)e->u.i, name);
    else
        diag_error(r->ctx, E0210, e->span, "the literal %lld does not fit in %s%s",
                   (long long)e->u.i, name, type == DT_BOOL ? "; write true or false" : "");
    return NULL;
}

static Expr *convert_integer_literal(Resolver *r, Value v, DType type)
{
    Context *c = r->ctx;
    const Expr *e = v.e;
    if (type_is_float(type)) {
        double value = v.huge ? (double)(uint64_t)e->u.i : (double)e->u.i;
        if (!isfinite(type_round(type, value)))
            return literal_too_large(r, e, v.huge ? LITERAL_UNSIGNED : LITERAL_SIGNED, type);
        return expr_float(c, type, value, e->span);
    }
    if (!integer_fits(type, e->u.i, v.huge))
        return literal_too_large(r, e, v.huge ? LITERAL_UNSIGNED : LITERAL_SIGNED, type);
    if (type == e->type)
        return v.e;
    Expr *typed = expr_int(c, type, e->u.i, e->span);
    typed->is_hex = e->is_hex;
    return typed;
}

/* ---- values ---- */

static bool is_integer_literal(Value v)
{
    return v.literal && v.e->kind == EX_INT;
}

static bool is_float_literal(Value v)
{
    return v.literal && v.e->kind == EX_FLOAT;
}

Expr *value_convert(Resolver *r, Value v, DType type)
{
    if (!v.e)
        return NULL;
    if (is_integer_literal(v))
        return convert_integer_literal(r, v, type);
    if (is_float_literal(v) && type_is_float(type)) {
        if (isfinite(v.e->u.f) && !isfinite(type_round(type, v.e->u.f)))
            return literal_too_large(r, v.e, LITERAL_SIGNED, type);
        return expr_float(r->ctx, type, v.e->u.f, v.e->span);
    }
    Expr *e = value_settle(r, v);
    if (!e || e->type == type)
        return e;
    return expr_cast(r->ctx, type, e, e->span);
}

Expr *value_settle(Resolver *r, Value v)
{
    if (!v.e)
        return NULL;
    if (is_float_literal(v))
        return value_convert(r, v, DT_F32);
    return v.huge ? literal_too_large(r, v.e, LITERAL_UNSIGNED, DT_INDEX) : v.e;
}

/* The values of the choice are written in the program, so none is lost unnoticed. */
static Expr *convert_choice(Resolver *r, Expr *e, DType type)
{
    if (e->kind == EX_INT)
        return convert_integer_literal(r, (Value){.e = e, .literal = true}, type);
    Expr *a = convert_choice(r, e->u.arg[1], type), *b = convert_choice(r, e->u.arg[2], type);
    return a && b ? expr_select(r->ctx, e->u.arg[0], a, b, e->span) : NULL;
}

Expr *value_widen(Resolver *r, Value v, DType type, const char *to)
{
    if (!v.e)
        return NULL;
    if (v.e->type == DT_INDEX && expr_is_integer_choice(v.e))
        return convert_choice(r, v.e, type);
    bool adapts = is_integer_literal(v) || (is_float_literal(v) && type_is_float(type));
    DType from = is_float_literal(v) ? DT_F32 : v.e->type;
    if (adapts || widens_silently(from, type))
        return value_convert(r, v, type);
    const char *name = type_info(type)->name, *have = type_info(from)->name;
    diag_error(r->ctx, E0209, v.e->span,
               "%s has type %s, but this has type %s; tirc does not convert it to %s implicitly "
               "because values could be lost; write %s(...) to convert it",
               to, name, have, name, name);
    return NULL;
}

/* The common type of two values. */
static DType common_type(Value a, Value b, SmallTypes small)
{
    if (is_float_literal(a) && is_float_literal(b))
        return DT_F32;
    if (is_float_literal(a) || is_float_literal(b)) {
        DType other = is_float_literal(a) ? b.e->type : a.e->type;
        return !type_is_float(other)    ? DT_F32
               : small == SMALL_PROMOTE ? type_promote(other)
                                        : other;
    }
    DType ta = a.e->type, tb = b.e->type;
    bool literal = is_integer_literal(a) || is_integer_literal(b);
    if (small != SMALL_PROMOTE && (ta == tb || (literal && (ta == DT_INDEX || tb == DT_INDEX))))
        return ta == DT_INDEX ? tb : ta;
    return type_common(ta, tb);
}

bool values_unify(Resolver *r, Value a, Value b, SmallTypes small, Expr *out[2])
{
    if (!a.e || !b.e)
        return false;
    DType type = common_type(a, b, small);
    out[0] = value_convert(r, a, type);
    out[1] = value_convert(r, b, type);
    return out[0] && out[1];
}

/* ---- names of types ---- */

/* The type that C or CUDA calls by this name. */
static const char *type_in_c(const char *name)
{
    static const char *const names[][2] = {
        {"float", "f32"},    {"double", "f64"},  {"half", "f16"},    {"__half", "f16"},
        {"int", "i32"},      {"char", "i8"},     {"short", "i16"},   {"long", "i64"},
        {"unsigned", "u32"}, {"uint8_t", "u8"},  {"int32_t", "i32"}, {"int64_t", "i64"},
        {"size_t", "u64"},   {"float32", "f32"}, {"float16", "f16"}, {"int32", "i32"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i][0]))
            return names[i][1];
    return NULL;
}

const char *resolve_nearest_type(const char *word)
{
    const char *words[DT_COUNT], *named_in_c = type_in_c(word);
    for (int i = 0; i < DT_INDEX; i++)
        words[i] = type_info((DType)i)->name;
    return named_in_c ? named_in_c : diag_suggest(word, words, DT_INDEX);
}

DType resolve_type(Resolver *r, AstName name)
{
    const Symbol *s = names_find(r, name.text);
    if (s && s->kind == SYMBOL_TYPE)
        return s->type;
    DType type = type_find(name.text);
    if (type < DT_INDEX)
        return type;
    const char *near = resolve_nearest_type(name.text);
    if (near)
        diag_error(r->ctx, E0207, name.span, "unknown type '%.60s'; did you mean '%s'?", name.text,
                   near);
    else
        diag_error(r->ctx, E0207, name.span,
                   "unknown type '%.60s'; the types are f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 "
                   "i8 u64 u32 u16 u8 bool%s",
                   name.text, type == DT_INDEX ? "; index values cannot be stored" : "");
    if (near)
        diag_remedy(r->ctx, name.span, name.text, near);
    return DT_COUNT;
}
