/* cast.c - Implements conversions between machine types, rounding to narrow types, and math
 * functions.
 *
 * Floats become integers as CUDA's cvt.rzi does it: towards zero, saturating, NaN to 0. */
#include <math.h>

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

VmApply *vm_cast(VmType from, VmType to)
{
#define ROW(t)                                                                                     \
    {                                                                                              \
        [VM_F64] = cast_##t##_f64, [VM_F32] = cast_##t##_f32, [VM_I64] = cast_##t##_i64,           \
        [VM_U64] = cast_##t##_u64, [VM_I32] = cast_##t##_i32, [VM_U32] = cast_##t##_u32,           \
        [VM_BOOL] = cast_##t##_b8                                                                  \
    }
    static VmApply *const table[VM_TYPES][VM_TYPES] = {
        [VM_F64] = ROW(f64),
        [VM_F32] = ROW(f32),
        [VM_I64] = ROW(i64),
        [VM_U64] = ROW(u64),
        [VM_I32] = ROW(i32),
        [VM_U32] = ROW(u32),
        [VM_BOOL] = ROW(b8),
    };
#undef ROW
    return table[from][to];
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

typedef enum {
#define CALL(e, name, arity, f32, f64, ulp, meaning) CALL_##e,
#include "ir/tables/call.def"
#undef CALL
} Function;

static double call_f64(Function function, double x, double y, double z)
{
    switch (function) {
    case CALL_EXP: return exp(x);
    case CALL_EXP2: return exp2(x);
    case CALL_LOG: return log(x);
    case CALL_LOG2: return log2(x);
    case CALL_LOG10: return log10(x);
    case CALL_SQRT: return sqrt(x);
    case CALL_RSQRT: return 1 / sqrt(x);
    case CALL_SIN: return sin(x);
    case CALL_COS: return cos(x);
    case CALL_TAN: return tan(x);
    case CALL_TANH: return tanh(x);
    case CALL_ERF: return erf(x);
    case CALL_ABS: return fabs(x);
    case CALL_FLOOR: return floor(x);
    case CALL_CEIL: return ceil(x);
    case CALL_ROUND: return rint(x);
    case CALL_TRUNC: return trunc(x);
    case CALL_POW: return pow(x, y);
    case CALL_FMOD: return fmod(x, y);
    case CALL_FMA: return fma(x, y, z);
    }
    return NAN;
}

/* In f64 and rounded once more, which is right but for rare ties; the two that must be exact are
 * done in f32. */
static float call_f32(Function function, float x, float y, float z)
{
    if (function == CALL_FMA)
        return fmaf(x, y, z);
    if (function == CALL_FMOD)
        return fmodf(x, y);
    return (float)call_f64(function, x, y, z);
}

static bool call_lanes(VmState *st, const VmStep *s)
{
    (void)st;
    Function function = (Function)s->inst->sub;
    for (int i = 0; i < s->n; i++) {
        int a = s->lanes_a ? i : 0, b = s->lanes_b ? i : 0, c = s->lanes_c ? i : 0;
#define CALL_ON(T, f)                                                                              \
    ((T *)s->d)[i] = f(function, ((const T *)s->a)[a], ((const T *)s->b)[b], ((const T *)s->c)[c])
        if (s->inst->type == VM_F32)
            CALL_ON(float, call_f32);
        else
            CALL_ON(double, call_f64);
#undef CALL_ON
    }
    return true;
}

int vm_call_flops(int function)
{
    return function == CALL_FMA ? 2 : 1;
}

VmApply *vm_call(VmOp op)
{
    return op == VM_CALL ? call_lanes : round_lanes;
}
