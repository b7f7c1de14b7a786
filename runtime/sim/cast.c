/* cast.c - Implements conversions between machine types, rounding to narrow types, and calls of
 * functions.
 *
 * Floats become integers as CUDA's cvt.rzi does it: towards zero, saturating, NaN to 0. */
#include <string.h>

#include "runtime/sim/internal.h"

/* ---- casts --------------------------------------------------------------------------------- */

/* Bounds are powers of two, exact in both floating types; `above` is the first value that does not
 * fit. */
#define SATURATE(name, T, least, most, below, above)                                               \
    static inline T name(double x)                                                                 \
    {                                                                                              \
        return x != x ? 0 : x <= (below) ? (least) : x >= (above) ? (most) : (T)x;                 \
    }
SATURATE(saturate_i32, int32_t, INT32_MIN, INT32_MAX, -0x1p31, 0x1p31)
SATURATE(saturate_u32, uint32_t, 0, UINT32_MAX, 0.0, 0x1p32)
SATURATE(saturate_i64, int64_t, INT64_MIN, INT64_MAX, -0x1p63, 0x1p63)
SATURATE(saturate_u64, uint64_t, 0, UINT64_MAX, 0.0, 0x1p64)

#define CAST(from, A, to, D, expr)                                                                 \
    static bool cast_##from##_##to(VmState *st, const VmStep *s)                                   \
    {                                                                                              \
        (void)st;                                                                                  \
        D *d = s->d;                                                                               \
        const A *pa = s->a;                                                                        \
        for (int i = 0; i < s->n; i++) {                                                           \
            const A a = pa[s->lanes_a ? i : 0];                                                    \
            d[i] = (D)(expr);                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    static bool cast_##from##_##to##_single(VmState *st, const VmStep *s)                          \
    {                                                                                              \
        (void)st;                                                                                  \
        const A a = *(const A *)s->a;                                                              \
        *(D *)s->d = (D)(expr);                                                                    \
        return true;                                                                               \
    }
#define CASTS_FROM_FLOAT(from, A)                                                                  \
    CAST(from, A, f64, double, a)                                                                  \
    CAST(from, A, f32, float, a)                                                                   \
    CAST(from, A, i64, int64_t, saturate_i64((double)a))                                           \
    CAST(from, A, u64, uint64_t, saturate_u64((double)a))                                          \
    CAST(from, A, i32, int32_t, saturate_i32((double)a))                                           \
    CAST(from, A, u32, uint32_t, saturate_u32((double)a))                                          \
    CAST(from, A, b8, uint8_t, a != 0)
#define CASTS_FROM_INTEGER(from, A)                                                                \
    CAST(from, A, f64, double, a)                                                                  \
    CAST(from, A, f32, float, a)                                                                   \
    CAST(from, A, i64, int64_t, a)                                                                 \
    CAST(from, A, u64, uint64_t, a)                                                                \
    CAST(from, A, i32, int32_t, a)                                                                 \
    CAST(from, A, u32, uint32_t, a)                                                                \
    CAST(from, A, b8, uint8_t, a != 0)
CASTS_FROM_FLOAT(f64, double)
CASTS_FROM_FLOAT(f32, float)
CASTS_FROM_INTEGER(i64, int64_t)
CASTS_FROM_INTEGER(u64, uint64_t)
CASTS_FROM_INTEGER(i32, int32_t)
CASTS_FROM_INTEGER(u32, uint32_t)
CASTS_FROM_INTEGER(b8, uint8_t)

VmApply *vm_cast(VmType from, VmType to, bool single)
{
#define BOTH(from, to)                                                                             \
    {                                                                                              \
        cast_##from##_##to, cast_##from##_##to##_single                                            \
    }
#define ROW(t)                                                                                     \
    {                                                                                              \
        [VM_F64] = BOTH(t, f64), [VM_F32] = BOTH(t, f32), [VM_I64] = BOTH(t, i64),                 \
        [VM_U64] = BOTH(t, u64), [VM_I32] = BOTH(t, i32), [VM_U32] = BOTH(t, u32),                 \
        [VM_BOOL] = BOTH(t, b8)                                                                    \
    }
    static VmApply *const table[VM_TYPES][VM_TYPES][2] = {
        [VM_F64] = ROW(f64),
        [VM_F32] = ROW(f32),
        [VM_I64] = ROW(i64),
        [VM_U64] = ROW(u64),
        [VM_I32] = ROW(i32),
        [VM_U32] = ROW(u32),
        [VM_BOOL] = ROW(b8),
    };
#undef ROW
#undef BOTH
    return table[from][to][single];
}

/* ---- rounding ------------------------------------------------------------------------------ */

static float round_f32(DType type, float x)
{
    switch (type) {
    case DT_F16: return f32_from_f16(f16_from_f32(x));
    case DT_BF16: return f32_from_bf16(bf16_from_f32(x));
    case DT_F8E4M3: return f32_from_f8e4m3(f8e4m3_from_f32(x));
    case DT_F8E5M2: return f32_from_f8e5m2(f8e5m2_from_f32(x));
    default: return x;
    }
}

static int32_t wrap_i32(DType type, int32_t x)
{
    switch (type) {
    case DT_I16: return (int16_t)x;
    case DT_I8: return (int8_t)x;
    case DT_U16: return (uint16_t)x;
    case DT_U8: return (uint8_t)x;
    default: return x;
    }
}

static bool round_lanes(VmState *st, const VmStep *s)
{
    (void)st;
    DType type = (DType)s->inst->sub;
    for (int i = 0; i < s->n; i++) {
        int from = s->lanes_a ? i : 0;
        if (s->inst->type == VM_F32)
            ((float *)s->d)[i] = round_f32(type, ((const float *)s->a)[from]);
        else if (s->inst->type == VM_F64)
            ((double *)s->d)[i] = float_round(type, ((const double *)s->a)[from]);
        else
            ((int32_t *)s->d)[i] = wrap_i32(type, ((const int32_t *)s->a)[from]);
    }
    return true;
}

/* ---- functions ----------------------------------------------------------------------------- */

static DType integer_type(VmType type)
{
    switch (type) {
    case VM_I64: return DT_I64;
    case VM_U64: return DT_U64;
    case VM_U32: return DT_U32;
    default: return DT_I32;
    }
}

static int64_t integer_at(VmType type, const void *lanes, int i)
{
    switch (type) {
    case VM_I64:
    case VM_U64: return ((const int64_t *)lanes)[i];
    case VM_U32: return ((const uint32_t *)lanes)[i];
    default: return ((const int32_t *)lanes)[i];
    }
}

static bool call_integers(VmState *st, const VmStep *s)
{
    (void)st;
    VmType type = (VmType)s->inst->type;
    for (int i = 0; i < s->n; i++) {
        int64_t x[3] = {integer_at(type, s->a, s->lanes_a ? i : 0),
                        integer_at(type, s->b, s->lanes_b ? i : 0),
                        integer_at(type, s->c, s->lanes_c ? i : 0)};
        ((int32_t *)s->d)[i] = (int32_t)function_integer(s->inst->sub, integer_type(type), x);
    }
    return true;
}

#define CALLS(t, T, D)                                                                             \
    static bool call_##t##_to_##D(VmState *st, const VmStep *s)                                    \
    {                                                                                              \
        (void)st;                                                                                  \
        for (int i = 0; i < s->n; i++) {                                                           \
            T x[3] = {((const T *)s->a)[s->lanes_a ? i : 0],                                       \
                      ((const T *)s->b)[s->lanes_b ? i : 0],                                       \
                      ((const T *)s->c)[s->lanes_c ? i : 0]};                                      \
            ((D *)s->d)[i] = (D)function_##t(s->inst->sub, x);                                     \
        }                                                                                          \
        return true;                                                                               \
    }
CALLS(f32, float, float)
CALLS(f64, double, double)
CALLS(f32, float, uint8_t)
CALLS(f64, double, uint8_t)
#undef CALLS

/* The function that references call most. */
#define MAGNITUDES(t, T, magnitude)                                                                \
    VM_LANES static bool magnitude_##t(VmState *st, const VmStep *s)                               \
    {                                                                                              \
        (void)st;                                                                                  \
        T *d = s->d;                                                                               \
        const T *a = s->a;                                                                         \
        for (int i = 0; i < s->n; i++)                                                             \
            d[i] = magnitude(a[s->lanes_a ? i : 0]);                                               \
        return true;                                                                               \
    }
MAGNITUDES(f32, float, fabsf)
MAGNITUDES(f64, double, fabs)
#undef MAGNITUDES

VmApply *vm_call(VmType from, VmType to, int function)
{
    bool truth = to == VM_BOOL;
    if (function == CALL_ABS && from == VM_F32)
        return magnitude_f32;
    if (function == CALL_ABS && from == VM_F64)
        return magnitude_f64;
    if (from == VM_F32)
        return truth ? call_f32_to_uint8_t : call_f32_to_float;
    if (from == VM_F64)
        return truth ? call_f64_to_uint8_t : call_f64_to_double;
    return call_integers;
}

/* Bytes of one value in a register. */
static size_t lane_bytes(DType type)
{
    return type_info(type)->bits == 64 ? 8 : 4;
}

static bool bitcast_lanes(VmState *st, const VmStep *s)
{
    DType from = (DType)(s->inst->sub >> 4), to = (DType)(s->inst->sub & 15);
    size_t in = lane_bytes(from), out = lane_bytes(to);
    (void)st;
    for (int i = 0; i < s->n; i++) {
        VmValue x = {0};
        memcpy(&x, (const char *)s->a + (s->lanes_a ? (size_t)i : 0) * in, in);
        x = function_bitcast(from, to, x);
        memcpy((char *)s->d + (size_t)i * out, &x, out);
    }
    return true;
}

VmApply *vm_convert(VmOp op)
{
    return op == VM_BITCAST ? bitcast_lanes : round_lanes;
}
