/* memory.c - Implements loads, stores, atomics and subscript checks.
 *
 * Every access is checked against its buffer before any lane touches memory. Elements of shared and
 * global memory are one array; local memory is interleaved by lane, so that threads that read the
 * same element of their own arrays read adjacent elements. */
#include <string.h>

#include "runtime/sim/internal.h"

static const VmBuffer *buffer_of(const VmState *st, const VmStep *s)
{
    return &st->f->buffers[s->inst->c];
}

/* ---- checks -------------------------------------------------------------------------------- */

static bool out_of_bounds(VmState *st, const VmStep *s, int lane, int64_t element, const char *how)
{
    static const char *const space[] = {"", " in shared memory", " in local memory"};
    const VmBuffer *buffer = buffer_of(st, s);
    if (element >= 0)
        element += s->width - 1; /* the last one of a wide access */
    return vm_fault(st, s, FAULT_OUT_OF_BOUNDS, lane, "%s element %lld of '%s'%s, which has %lld",
                    how, (long long)element, buffer->name, space[buffer->space],
                    (long long)*s->bound);
}

/* Does every lane that runs access elements in [0, bound)? The sign bit of i | (last - i) says that
 * it does not. */
VM_LANES static bool check_bounds(VmState *st, const VmStep *s, const char *how)
{
    const int64_t *index = s->a, last = *s->bound - s->width;
    if (!s->lanes_a)
        return (*index >= 0 && *index <= last) || out_of_bounds(st, s, 0, *index, how);
    uint64_t bad = 0;
    if (st->full[st->level]) {
        for (int i = 0; i < st->lanes; i++)
            bad |= (uint64_t)index[i] | ((uint64_t)last - (uint64_t)index[i]);
    } else {
        const uint8_t *mask = vm_mask(st);
        for (int i = 0; i < st->lanes; i++)
            bad |=
                ((uint64_t)index[i] | ((uint64_t)last - (uint64_t)index[i])) & -(uint64_t)mask[i];
    }
    if (!(bad >> 63))
        return true;
    int lane = 0;
    while (!vm_runs(st, lane) || (index[lane] >= 0 && index[lane] <= last))
        lane++;
    return out_of_bounds(st, s, lane, index[lane], how);
}

/* Buffers start at multiples of the widest access, so it is the element that counts. */
static bool check_alignment(VmState *st, const VmStep *s, const char *how)
{
    const int64_t *index = s->a;
    const VmBuffer *buffer = buffer_of(st, s);
    if (buffer->space == VM_LOCAL)
        return true;
    for (int i = 0; i < (s->lanes_a ? st->lanes : 1); i++)
        if (index[i] % s->width != 0 && vm_runs(st, i))
            return vm_fault(st, s, FAULT_MISALIGNED, i,
                            "%s %d elements of '%s' at once from element %lld on, which is not a "
                            "multiple of %d",
                            how, s->width, buffer->name, (long long)index[i], s->width);
    return true;
}

/* The common start of every access. */
static bool access_begins(VmState *st, const VmStep *s, const char *how)
{
    if (!check_bounds(st, s, how) || (s->width > 1 && !check_alignment(st, s, how)))
        return false;
    if (s->check && !s->check(st, s))
        return false;
    if (st->observer)
        vm_observe_access(st, s);
    return true;
}

/* The same for subscripts in [0, end), which mostly are. */
static bool all_within(const VmState *st, const int64_t *index, int64_t end)
{
    uint64_t bad = 0;
    const uint8_t *mask = vm_mask(st);
    for (int i = 0; i < st->lanes; i++)
        bad |= ((uint64_t)index[i] | ((uint64_t)end - 1 - (uint64_t)index[i])) & -(uint64_t)mask[i];
    return !(bad >> 63);
}

VM_LANES bool vm_fit(VmState *st, const VmStep *s)
{
    const int64_t *index = s->a;
    int n = s->lanes_a ? st->lanes : 1;
    uint64_t bad = 0;
    for (int i = 0; i < n; i++)
        bad |= ((uint64_t)index[i] + (1u << 31)) >> 32;
    for (int i = 0; i < n && bad; i++)
        if (index[i] != (int32_t)index[i] && (n == 1 || vm_runs(st, i)))
            return vm_fault(st, s, FAULT_INDEX_TOO_LARGE, i,
                            "an index is %lld, which an int cannot hold", (long long)index[i]);
    return true;
}

bool vm_spread(VmState *st, const VmStep *s)
{
    int64_t *values = s->d, *next = (int64_t *)(uintptr_t)s->a, end = *(const int64_t *)s->b;
    const uint8_t *needed = s->memory;
    int lane = 0;
    int64_t at = *next;
    if (needed && (at < 0 || end > *s->bound))
        return vm_fault(st, s, FAULT_OUT_OF_BOUNDS, 0, "'%s' has no elements from %lld to %lld",
                        buffer_of(st, s)->name, (long long)at, (long long)end);
    *next = end - 1;
    for (; at < end && lane < st->lanes; at++)
        if (!needed || needed[at]) {
            values[lane++] = at;
            *next = lane == st->lanes ? at : *next;
        }
    while (lane < st->lanes)
        values[lane++] = end;
    return true;
}

bool vm_await(VmState *st, const VmStep *s)
{
    const uint64_t *value = s->a;
    for (int i = 0; i < (s->lanes_a ? st->lanes : 1); i++)
        if (value[i] == 0 && vm_runs(st, i))
            return vm_fault(st, s, FAULT_ENDLESS, i,
                            "awaits an element that no block before it stores, for ever");
    return true;
}

VM_LANES static bool check_subscript(VmState *st, const VmStep *s)
{
    const int64_t *index = s->a, *extent = s->b;
    int n = s->lanes_a || s->lanes_b ? st->lanes : 1;
    if (s->lanes_a && !s->lanes_b && all_within(st, index, *extent))
        return true;
    for (int i = 0; i < n; i++) {
        int64_t at = index[s->lanes_a ? i : 0], end = extent[s->lanes_b ? i : 0];
        if ((at >= 0 && at < end) || (n > 1 && !vm_runs(st, i)))
            continue;
        return vm_fault(st, s, FAULT_OUT_OF_BOUNDS, i,
                        "subscript %d of '%s' is %lld, but the extent of this axis is %lld",
                        s->inst->sub + 1, buffer_of(st, s)->name, (long long)at, (long long)end);
    }
    return true;
}

/* The same of single values. */
static bool check_single_subscript(VmState *st, const VmStep *s)
{
    int64_t at = *(const int64_t *)s->a;
    return (at >= 0 && at < *(const int64_t *)s->b) || check_subscript(st, s);
}

bool vm_fit_single(VmState *st, const VmStep *s)
{
    int64_t index = *(const int64_t *)s->a;
    return index == (int32_t)index || vm_fit(st, s);
}

/* ---- element types ------------------------------------------------------------------------- */

/* ELEMENT(type, S, R, in, out): memory holds S, a register R; in(S) gives R and out(R) gives S. */
#define SAME(x) (x)
#define ELEMENTS(ELEMENT)                                                                          \
    ELEMENT(F64, double, double, SAME, SAME)                                                       \
    ELEMENT(F32, float, float, SAME, SAME)                                                         \
    ELEMENT(F16, uint16_t, float, f32_from_f16, f16_from_f32)                                      \
    ELEMENT(BF16, uint16_t, float, f32_from_bf16, bf16_from_f32)                                   \
    ELEMENT(F8E4M3, uint8_t, float, f32_from_f8e4m3, f8e4m3_from_f32)                              \
    ELEMENT(F8E5M2, uint8_t, float, f32_from_f8e5m2, f8e5m2_from_f32)                              \
    ELEMENT(I64, int64_t, int64_t, SAME, SAME)                                                     \
    ELEMENT(I32, int32_t, int32_t, SAME, SAME)                                                     \
    ELEMENT(I16, int16_t, int32_t, SAME, (int16_t))                                                \
    ELEMENT(I8, int8_t, int32_t, SAME, (int8_t))                                                   \
    ELEMENT(U64, uint64_t, uint64_t, SAME, SAME)                                                   \
    ELEMENT(U32, uint32_t, uint32_t, SAME, SAME)                                                   \
    ELEMENT(U16, uint16_t, int32_t, SAME, (uint16_t))                                              \
    ELEMENT(U8, uint8_t, int32_t, SAME, (uint8_t))                                                 \
    ELEMENT(BOOL, uint8_t, uint8_t, SAME, SAME)                                                    \
    ELEMENT(INDEX, int64_t, int64_t, SAME, SAME)

/* ---- loads and stores ---------------------------------------------------------------------- */

/* The element of lane i: stride * index + i * beside. */
typedef struct {
    int64_t stride, beside;
} Placement;

static Placement placement(const VmState *st, const VmStep *s)
{
    if (buffer_of(st, s)->space == VM_LOCAL)
        return (Placement){st->lanes, 1};
    return (Placement){1, 0};
}

/* Element `plus` of every lane's access, to n values of d. */
#define LOAD(t, S, R, in, out)                                                                     \
    VM_LANES static void fetch_##t(const VmState *st, const VmStep *s, int64_t plus, R *d)         \
    {                                                                                              \
        const Placement p = placement(st, s);                                                      \
        const S *memory = (const S *)s->memory + plus * p.stride;                                  \
        const int64_t *index = s->a;                                                               \
        if (!s->lanes_a && s->n == 1) {                                                            \
            *d = in(memory[*index * p.stride]);                                                    \
        } else if (!s->lanes_a && p.beside == 1) {                                                 \
            const S *from = memory + *index * p.stride;                                            \
            for (int i = 0; i < s->n; i++)                                                         \
                d[i] = in(from[i]);                                                                \
        } else if (!s->lanes_a) {                                                                  \
            const R value = in(memory[*index * p.stride]);                                         \
            for (int i = 0; i < s->n; i++)                                                         \
                d[i] = value;                                                                      \
        } else if (st->full[st->level] && p.beside == 0) {                                         \
            for (int i = 0; i < s->n; i++)                                                         \
                d[i] = in(memory[index[i]]);                                                       \
        } else if (st->full[st->level]) {                                                          \
            for (int i = 0; i < s->n; i++)                                                         \
                d[i] = in(memory[index[i] * p.stride + i * p.beside]);                             \
        } else {                                                                                   \
            const uint8_t *mask = vm_mask(st);                                                     \
            for (int i = 0; i < s->n; i++)                                                         \
                if (mask[i])                                                                       \
                    d[i] = in(memory[index[i] * p.stride + i * p.beside]);                         \
        }                                                                                          \
    }                                                                                              \
    static bool load_##t(VmState *st, const VmStep *s)                                             \
    {                                                                                              \
        bool lanes;                                                                                \
        if (!access_begins(st, s, "reads"))                                                        \
            return false;                                                                          \
        if (s->width == 1)                                                                         \
            fetch_##t(st, s, 0, s->d);                                                             \
        else                                                                                       \
            for (int k = 0; k < s->width; k++)                                                     \
                fetch_##t(st, s, k, vm_part(st, s->inst->d, k, &lanes));                           \
        return true;                                                                               \
    }
#define STORE(t, S, R, in, out)                                                                    \
    VM_LANES static void put_##t(const VmState *st, const VmStep *s, int64_t plus, const R *value, \
                                 bool lanes)                                                       \
    {                                                                                              \
        const Placement p = placement(st, s);                                                      \
        S *memory = (S *)s->memory + plus * p.stride;                                              \
        const int64_t *index = s->a;                                                               \
        if (s->n == 1 && st->lanes > 1) {                                                          \
            memory[*index] = out(*value);                                                          \
            return;                                                                                \
        }                                                                                          \
        if (st->full[st->level] && !s->lanes_a && lanes && p.beside == 1) {                        \
            S *to = memory + *index * p.stride;                                                    \
            for (int i = 0; i < st->lanes; i++)                                                    \
                to[i] = out(value[i]);                                                             \
            return;                                                                                \
        }                                                                                          \
        int n = st->lanes;                                                                         \
        for (int i = vm_next_lane(st, 0, n); i < n; i = vm_next_lane(st, i + 1, n))                \
            memory[index[s->lanes_a ? i : 0] * p.stride + i * p.beside] =                          \
                out(value[lanes ? i : 0]);                                                         \
    }                                                                                              \
    static bool store_##t(VmState *st, const VmStep *s)                                            \
    {                                                                                              \
        bool lanes;                                                                                \
        if (!access_begins(st, s, "writes"))                                                       \
            return false;                                                                          \
        if (s->width == 1) {                                                                       \
            put_##t(st, s, 0, s->b, s->lanes_b);                                                   \
            return !vm_is_async(s->inst) || vm_async_defer(st, s);                                 \
        }                                                                                          \
        for (int k = 0; k < s->width; k++) {                                                       \
            const R *value = vm_part(st, s->inst->b, k, &lanes);                                   \
            put_##t(st, s, k, value, lanes);                                                       \
        }                                                                                          \
        return !vm_is_async(s->inst) || vm_async_defer(st, s);                                     \
    }
ELEMENTS(LOAD)
ELEMENTS(STORE)

/* A load or store of the only lane, which runs wherever a step is reached, with nothing to check or
 * to report but its bounds. */
static inline bool is_plain(const VmState *st, const VmStep *s)
{
    int64_t index = *(const int64_t *)s->a;
    return index >= 0 && index < *s->bound && !s->check && !st->observer;
}

#define SINGLE(t, S, R, in, out)                                                                   \
    static bool load_single_##t(VmState *st, const VmStep *s)                                      \
    {                                                                                              \
        if (!is_plain(st, s))                                                                      \
            return load_##t(st, s);                                                                \
        *(R *)s->d = in(((const S *)s->memory)[*(const int64_t *)s->a]);                           \
        return true;                                                                               \
    }                                                                                              \
    static bool store_single_##t(VmState *st, const VmStep *s)                                     \
    {                                                                                              \
        if (!is_plain(st, s))                                                                      \
            return store_##t(st, s);                                                               \
        ((S *)s->memory)[*(const int64_t *)s->a] = out(*(const R *)s->b);                          \
        return true;                                                                               \
    }
ELEMENTS(SINGLE)

/* ---- atomics ------------------------------------------------------------------------------- */

#define COMBINE_NUMBER(name, R, sum, product, least, largest, bits_and, bits_or, bits_xor)         \
    static R name(int op, R old, R v)                                                              \
    {                                                                                              \
        switch (op) {                                                                              \
        case VM_ADD: return (R)(sum);                                                              \
        case VM_MUL: return (R)(product);                                                          \
        case VM_MIN: return least;                                                                 \
        case VM_MAX: return largest;                                                               \
        case VM_AND: return (R)(bits_and);                                                         \
        case VM_OR: return (R)(bits_or);                                                           \
        case VM_XOR: return (R)(bits_xor);                                                         \
        default: return v;                                                                         \
        }                                                                                          \
    }
#define COMBINE_INTEGER(name, R, U)                                                                \
    COMBINE_NUMBER(name, R, (U)old + (U)v, (U)old * (U)v, v < old ? v : old, v > old ? v : old,    \
                   old & v, old | v, old ^ v)
#define COMBINE_FLOAT(name, R, t)                                                                  \
    COMBINE_NUMBER(name, R, old + v, old * v, vm_least_##t(old, v), vm_largest_##t(old, v), v, v, v)
COMBINE_FLOAT(combine_double, double, f64)
COMBINE_FLOAT(combine_float, float, f32)
COMBINE_INTEGER(combine_int64_t, int64_t, uint64_t)
COMBINE_INTEGER(combine_uint64_t, uint64_t, uint64_t)
COMBINE_INTEGER(combine_int32_t, int32_t, uint32_t)
COMBINE_INTEGER(combine_uint32_t, uint32_t, uint32_t)
COMBINE_INTEGER(combine_uint8_t, uint8_t, uint8_t)

/* The exchange may fail where it need not: it is in a loop. */
enum { WEAK = 1 };

#define ATOMIC(t, S, R, in, out)                                                                   \
    static void update_##t(S *element, int op, R value)                                            \
    {                                                                                              \
        S old, new;                                                                                \
        __atomic_load(element, &old, __ATOMIC_RELAXED);                                            \
        do                                                                                         \
            new = out(combine_##R(op, in(old), value));                                            \
        while (!__atomic_compare_exchange(element, &old, &new, WEAK, __ATOMIC_RELAXED,             \
                                          __ATOMIC_RELAXED));                                      \
    }                                                                                              \
    static bool atomic_##t(VmState *st, const VmStep *s)                                           \
    {                                                                                              \
        if (!access_begins(st, s, "updates"))                                                      \
            return false;                                                                          \
        S *memory = s->memory;                                                                     \
        const int64_t *index = s->a;                                                               \
        const R *value = s->b;                                                                     \
        const Placement p = placement(st, s);                                                      \
        for (int i = 0; i < st->lanes; i++)                                                        \
            if (vm_runs(st, i))                                                                    \
                update_##t(&memory[index[s->lanes_a ? i : 0] * p.stride + i * p.beside],           \
                           s->inst->sub, value[s->lanes_b ? i : 0]);                               \
        return true;                                                                               \
    }
ELEMENTS(ATOMIC)

VmApply *vm_memory(VmOp op, DType type, bool single)
{
#define ROW(t, S, R, in, out)                                                                      \
    [DT_##t] = {{load_##t, store_##t, atomic_##t}, {load_single_##t, store_single_##t, atomic_##t}},
    static VmApply *const table[DT_COUNT][2][3] = { ELEMENTS(ROW) };
#undef ROW
    if (op == VM_CHECK)
        return single ? check_single_subscript : check_subscript;
    return table[type][single][op - VM_LOAD];
}

/* ---- single values ------------------------------------------------------------------------- */

VmType vm_type_of(DType type)
{
    switch (type) {
    case DT_F64: return VM_F64;
    case DT_I64:
    case DT_INDEX: return VM_I64;
    case DT_U64: return VM_U64;
    case DT_U32: return VM_U32;
    case DT_BOOL: return VM_BOOL;
    default: return type_is_float(type) ? VM_F32 : VM_I32;
    }
}

VmValue vm_value_load(DType type, const void *from)
{
    VmValue value = {0};
#define CASE(t, S, R, in, out)                                                                     \
    case DT_##t: {                                                                                 \
        S stored;                                                                                  \
        memcpy(&stored, from, sizeof stored);                                                      \
        R held = in(stored);                                                                       \
        memcpy(&value, &held, sizeof held);                                                        \
        break;                                                                                     \
    }
    switch (type) {
        ELEMENTS(CASE)
    case DT_COUNT: break;
    }
#undef CASE
    return value;
}

void vm_value_store(DType type, VmValue value, void *to)
{
#define CASE(t, S, R, in, out)                                                                     \
    case DT_##t: {                                                                                 \
        R held;                                                                                    \
        memcpy(&held, &value, sizeof held);                                                        \
        S stored = out(held);                                                                      \
        memcpy(to, &stored, sizeof stored);                                                        \
        break;                                                                                     \
    }
    switch (type) {
        ELEMENTS(CASE)
    case DT_COUNT: break;
    }
#undef CASE
}

double vm_value_double(DType type, VmValue value)
{
    switch (vm_type_of(type)) {
    case VM_F64: return value.f64;
    case VM_F32: return value.f32;
    case VM_I64: return (double)value.i64;
    case VM_U64: return (double)value.u64;
    case VM_I32: return value.i32;
    case VM_U32: return value.u32;
    default: return value.boolean;
    }
}
