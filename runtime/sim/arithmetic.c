/* arithmetic.c - Implements operators on registers: one loop over the lanes for each operator, type
 * and shape of operands, and a function without one for single values.
 *
 * Integers wrap around: signed arithmetic is done in the unsigned type of the same width. Inactive
 * lanes are computed too, since their values are not used; only divisors of active lanes must not
 * be zero. */
#include <math.h>

#include "runtime/sim/internal.h"

/* A binary operator as a loop, in one of the three shapes that occur. */
#define LOOP2(R, T, expr)                                                                          \
    R *d = s->d;                                                                                   \
    const T *pa = s->a, *pb = s->b;                                                                \
    if (!s->lanes_b) {                                                                             \
        const T b = *pb;                                                                           \
        for (int i = 0; i < s->n; i++) {                                                           \
            const T a = pa[s->lanes_a ? i : 0];                                                    \
            d[i] = (R)(expr);                                                                      \
        }                                                                                          \
    } else if (!s->lanes_a) {                                                                      \
        const T a = *pa;                                                                           \
        for (int i = 0; i < s->n; i++) {                                                           \
            const T b = pb[i];                                                                     \
            d[i] = (R)(expr);                                                                      \
        }                                                                                          \
    } else {                                                                                       \
        for (int i = 0; i < s->n; i++) {                                                           \
            const T a = pa[i], b = pb[i];                                                          \
            d[i] = (R)(expr);                                                                      \
        }                                                                                          \
    }

/* The same of single values. */
#define SINGLE2(R, T, expr)                                                                        \
    const T a = *(const T *)s->a, b = *(const T *)s->b;                                            \
    *(R *)s->d = (R)(expr);

#define BINARY(name, R, T, expr)                                                                   \
    VM_LANES static bool name(VmState *st, const VmStep *s)                                        \
    {                                                                                              \
        (void)st;                                                                                  \
        LOOP2(R, T, expr)                                                                          \
        return true;                                                                               \
    }                                                                                              \
    static bool name##_single(VmState *st, const VmStep *s)                                        \
    {                                                                                              \
        (void)st;                                                                                  \
        SINGLE2(R, T, expr)                                                                        \
        return true;                                                                               \
    }
#define UNARY(name, R, T, expr)                                                                    \
    VM_LANES static bool name(VmState *st, const VmStep *s)                                        \
    {                                                                                              \
        (void)st;                                                                                  \
        R *d = s->d;                                                                               \
        const T *pa = s->a;                                                                        \
        for (int i = 0; i < s->n; i++) {                                                           \
            const T a = pa[s->lanes_a ? i : 0];                                                    \
            d[i] = (R)(expr);                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    static bool name##_single(VmState *st, const VmStep *s)                                        \
    {                                                                                              \
        (void)st;                                                                                  \
        const T a = *(const T *)s->a;                                                              \
        *(R *)s->d = (R)(expr);                                                                    \
        return true;                                                                               \
    }

/* ---- division ------------------------------------------------------------------------------ */

/* Is the divisor of every lane that runs other than zero? */
#define DIVISOR(T)                                                                                 \
    {                                                                                              \
        const T *divisor = s->b;                                                                   \
        for (int i = 0; i < s->n && (s->lanes_b || *divisor == 0); i++)                            \
            if (divisor[s->lanes_b ? i : 0] == 0 && vm_runs(st, i))                                \
                return vm_fault(st, s, FAULT_DIVIDE_BY_ZERO, i, "integer division by zero");       \
    }
#define DIVISION(name, T, expr, shortcut)                                                          \
    static bool name(VmState *st, const VmStep *s)                                                 \
    {                                                                                              \
        DIVISOR(T)                                                                                 \
        shortcut LOOP2(T, T, expr)                                                                 \
        return true;                                                                               \
    }                                                                                              \
    static bool name##_single(VmState *st, const VmStep *s)                                        \
    {                                                                                              \
        if (*(const T *)s->b == 0)                                                                 \
            return vm_fault(st, s, FAULT_DIVIDE_BY_ZERO, 0, "integer division by zero");           \
        SINGLE2(T, T, expr)                                                                        \
        return true;                                                                               \
    }
/* Most divisors of subscripts are the same power of two in all lanes: `expr` is what becomes of the
 * magnitude u of a lane, which gets its sign back since division truncates. */
#define BY_POWER_OF_TWO(name, T, U, expr)                                                          \
    VM_LANES static void name(const VmStep *s, U b)                                                \
    {                                                                                              \
        T *d = s->d;                                                                               \
        const T *pa = s->a;                                                                        \
        for (int i = 0; i < s->n; i++) {                                                           \
            const U sign = pa[i] < 0 ? ~(U)0 : 0;                                                  \
            const U u = ((U)pa[i] ^ sign) - sign;                                                  \
            d[i] = (T)(((expr) ^ sign) - sign);                                                    \
        }                                                                                          \
    }
#define SHORTCUT(name, T, U)                                                                       \
    const T all = *(const T *)s->b;                                                                \
    if (s->lanes_a && !s->lanes_b && all > 0 && (all & (all - 1)) == 0) {                          \
        name(s, (U)all);                                                                           \
        return true;                                                                               \
    }
#define SIGNED_DIVISION(t, T, U)                                                                   \
    BY_POWER_OF_TWO(shift_##t, T, U, u >> __builtin_ctzll(b))                                      \
    BY_POWER_OF_TWO(mask_##t, T, U, u &(b - 1))                                                    \
    DIVISION(div_##t, T, b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b, SHORTCUT(shift_##t, T, U))  \
    DIVISION(mod_##t, T, b == 0 || b == -1 ? 0 : a % b, SHORTCUT(mask_##t, T, U))
#define UNSIGNED_DIVISION(t, T)                                                                    \
    DIVISION(div_##t, T, b == 0 ? 0 : a / b, )                                                     \
    DIVISION(mod_##t, T, b == 0 ? 0 : a % b, )
SIGNED_DIVISION(i32, int32_t, uint32_t)
SIGNED_DIVISION(i64, int64_t, uint64_t)
UNSIGNED_DIVISION(u32, uint32_t)
UNSIGNED_DIVISION(u64, uint64_t)

/* ---- the rest ------------------------------------------------------------------------------ */

#define COMPARISONS(t, T)                                                                          \
    BINARY(lt_##t, uint8_t, T, a < b)                                                              \
    BINARY(le_##t, uint8_t, T, a <= b)                                                             \
    BINARY(eq_##t, uint8_t, T, a == b)                                                             \
    BINARY(ne_##t, uint8_t, T, a != b)
#define SELECTION(t, T)                                                                            \
    UNARY(move_##t, T, T, a)                                                                       \
    VM_LANES static bool select_##t(VmState *st, const VmStep *s)                                  \
    {                                                                                              \
        (void)st;                                                                                  \
        T *d = s->d;                                                                               \
        const uint8_t *pa = s->a;                                                                  \
        const T *pb = s->b, *pc = s->c;                                                            \
        for (int i = 0; i < s->n; i++) {                                                           \
            const T yes = pb[s->lanes_b ? i : 0], no = pc[s->lanes_c ? i : 0];                     \
            d[i] = pa[s->lanes_a ? i : 0] ? yes : no;                                              \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    static bool select_##t##_single(VmState *st, const VmStep *s)                                  \
    {                                                                                              \
        (void)st;                                                                                  \
        *(T *)s->d = *(const uint8_t *)s->a ? *(const T *)s->b : *(const T *)s->c;                 \
        return true;                                                                               \
    }
/* U is the unsigned type in which T wraps around. */
#define INTEGER(t, T, U, bits)                                                                     \
    BINARY(add_##t, T, T, (U)a + (U)b)                                                             \
    BINARY(sub_##t, T, T, (U)a - (U)b)                                                             \
    BINARY(mul_##t, T, T, (U)a *(U)b)                                                              \
    BINARY(min_##t, T, T, a < b ? a : b)                                                           \
    BINARY(max_##t, T, T, a > b ? a : b)                                                           \
    BINARY(and_##t, T, T, a &b)                                                                    \
    BINARY(or_##t, T, T, a | b)                                                                    \
    BINARY(xor_##t, T, T, a ^ b)                                                                   \
    BINARY(shl_##t, T, T, (U)b < bits ? (U)a << ((U)b & (bits - 1)) : 0)                           \
    BINARY(shr_##t, T, T, (U)b < bits ? a >> ((U)b & (bits - 1)) : a >> (bits - 1) >> 1)           \
    UNARY(neg_##t, T, T, 0 - (U)a)                                                                 \
    UNARY(not_##t, T, T, ~(U)a)                                                                    \
    COMPARISONS(t, T)                                                                              \
    SELECTION(t, T)
#define FLOATING(t, T, f_mod, f_min, f_max)                                                        \
    BINARY(add_##t, T, T, a + b)                                                                   \
    BINARY(sub_##t, T, T, a - b)                                                                   \
    BINARY(mul_##t, T, T, a *b)                                                                    \
    BINARY(div_##t, T, T, a / b)                                                                   \
    BINARY(mod_##t, T, T, f_mod(a, b))                                                             \
    BINARY(min_##t, T, T, f_min(a, b))                                                             \
    BINARY(max_##t, T, T, f_max(a, b))                                                             \
    UNARY(neg_##t, T, T, -a)                                                                       \
    COMPARISONS(t, T)                                                                              \
    SELECTION(t, T)

INTEGER(i64, int64_t, uint64_t, 64)
INTEGER(u64, uint64_t, uint64_t, 64)
INTEGER(i32, int32_t, uint32_t, 32)
INTEGER(u32, uint32_t, uint32_t, 32)
FLOATING(f64, double, fmod, vm_least_f64, vm_largest_f64)
FLOATING(f32, float, fmodf, vm_least_f32, vm_largest_f32)

BINARY(and_bool, uint8_t, uint8_t, a &b)
BINARY(or_bool, uint8_t, uint8_t, a | b)
BINARY(xor_bool, uint8_t, uint8_t, a ^ b)
UNARY(not_bool, uint8_t, uint8_t, !a)
COMPARISONS(bool, uint8_t)
SELECTION(bool, uint8_t)

/* Of many values, of a single one. */
#define BOTH(name)                                                                                 \
    {                                                                                              \
        name, name##_single                                                                        \
    }
#define EVERY_TYPE(t)                                                                              \
    [VM_LT] = BOTH(lt_##t), [VM_LE] = BOTH(le_##t), [VM_EQ] = BOTH(eq_##t),                        \
    [VM_NE] = BOTH(ne_##t), [VM_MOVE] = BOTH(move_##t), [VM_SELECT] = BOTH(select_##t)
#define NUMBERS(t)                                                                                 \
    EVERY_TYPE(t), [VM_ADD] = BOTH(add_##t), [VM_SUB] = BOTH(sub_##t), [VM_MUL] = BOTH(mul_##t),   \
                   [VM_DIV] = BOTH(div_##t), [VM_MOD] = BOTH(mod_##t), [VM_MIN] = BOTH(min_##t),   \
                   [VM_MAX] = BOTH(max_##t), [VM_NEG] = BOTH(neg_##t)
#define INTEGERS(t)                                                                                \
    NUMBERS(t)                                                                                     \
    , [VM_AND] = BOTH(and_##t), [VM_OR] = BOTH(or_##t), [VM_XOR] = BOTH(xor_##t),                  \
      [VM_NOT] = BOTH(not_##t), [VM_SHL] = BOTH(shl_##t), [VM_SHR] = BOTH(shr_##t)

VmApply *vm_arithmetic(VmOp op, VmType type, bool single)
{
    static VmApply *const table[VM_TYPES][VM_OPS][2] = {
        [VM_F64] = {NUMBERS(f64)},
        [VM_F32] = {NUMBERS(f32)},
        [VM_I64] = {INTEGERS(i64)},
        [VM_U64] = {INTEGERS(u64)},
        [VM_I32] = {INTEGERS(i32)},
        [VM_U32] = {INTEGERS(u32)},
        [VM_BOOL] = {EVERY_TYPE(bool), [VM_AND] = BOTH(and_bool), [VM_OR] = BOTH(or_bool),
                     [VM_XOR] = BOTH(xor_bool), [VM_NOT] = BOTH(not_bool)},
    };
    return table[type][op][single];
}
