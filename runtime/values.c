/* values.c - Draws and checks the values of inputs: see values.h.
 *
 * A range with one end is given another, about as far away as random data without a range reach;
 * one of floats stays in [-1, 1) if it can. Ordered data are drawn, sorted, and spread where they
 * have to differ. */
#include "runtime/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/threads.h"
#include "runtime/vm.h"

/* ---- ranges ---------------------------------------------------------------------------------- */

typedef struct {
    int64_t lo, hi; /* inclusive */
} IntRange;

static IntRange type_range(DType type)
{
    const TypeInfo *info = type_info(type);
    bool is_signed = info->class == CLASS_INT || info->class == CLASS_INDEX;
    int bits = info->bits - (is_signed ? 1 : 0);
    int64_t most = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    return (IntRange){is_signed ? -most - 1 : 0, most};
}

/* The range of the clause, intersected with the range of the type. */
static IntRange asked_range(DType type, const ModuleValues *v, const int64_t *sizes)
{
    IntRange range = type_range(type);
    int64_t ends[2];
    if (!v || !v->ends || !vm_eval_shape(v->ends, sizes, ends))
        return range;
    if (ends[0] > range.lo)
        range.lo = ends[0];
    if (ends[1] < range.hi)
        range.hi = ends[1];
    return range;
}

/* The part of it to draw from: an end that is that of the type moves to `usual` where it can. */
static IntRange draw_range(DType type, IntRange asked, IntRange usual)
{
    enum { SPAN = 200 };
    IntRange all = type_range(type), range = asked;
    int64_t end;
    if (asked.lo == all.lo)
        range.lo = usual.lo <= asked.hi                ? (usual.lo > all.lo ? usual.lo : all.lo)
                   : checked_sub(asked.hi, SPAN, &end) ? end
                                                       : all.lo;
    if (asked.hi == all.hi)
        range.hi = usual.hi >= range.lo                ? (usual.hi < all.hi ? usual.hi : all.hi)
                   : checked_add(range.lo, SPAN, &end) ? end
                                                       : all.hi;
    if (range.hi < range.lo)
        range.hi = range.lo;
    return range;
}

static IntRange usual_range(DType type)
{
    if (type == DT_U8)
        return (IntRange){0, 255};
    return type_range(type).lo < 0 ? (IntRange){-100, 100} : (IntRange){0, 200};
}

static int64_t draw_integer(Random *r, IntRange range)
{
    uint64_t count = (uint64_t)range.hi - (uint64_t)range.lo + 1;
    return range.lo + (int64_t)random_below(r, count ? count : UINT64_MAX);
}

/* ---- elements -------------------------------------------------------------------------------- */

static void store_integer(DType type, int64_t value, void *at)
{
    VmValue v = {0};
    if (vm_type_of(type) == VM_I64 || vm_type_of(type) == VM_U64)
        v.i64 = value;
    else
        v.i32 = (int32_t)value;
    vm_value_store(type, v, at);
}

static void store_float(DType type, double value, void *at)
{
    VmValue v = {0};
    if (type == DT_F64)
        v.f64 = value;
    else
        v.f32 = (float)value;
    vm_value_store(type, v, at);
}

static double float_at(DType type, const void *at)
{
    return vm_value_double(type, vm_value_load(type, at));
}

static int64_t integer_at(DType type, const void *at)
{
    VmValue v = vm_value_load(type, at);
    switch (vm_type_of(type)) {
    case VM_I64:
    case VM_U64: return v.i64;
    case VM_U32: return (uint32_t)v.i32;
    default: return v.i32;
    }
}

static bool float_fits(double x, const ModuleValues *v)
{
    return !(v->has_lo && !(v->excludes_lo ? x > v->lo : x >= v->lo)) &&
           !(v->has_hi && !(v->excludes_hi ? x < v->hi : x <= v->hi));
}

/* The range to draw floats from: what is asked for, or its part in [-1, 1). */
static void float_range(const ModuleValues *v, double *lo, double *hi)
{
    bool low = v->has_lo && isfinite(v->lo), high = v->has_hi && isfinite(v->hi);
    *lo = low ? v->lo : high && v->hi <= -1 ? v->hi - 1 : -1;
    *hi = high ? v->hi : low && v->lo >= 1 ? v->lo + 1 + fabs(v->lo) * 0x1p-4 : 1;
}

/* An integer of at most the magnitude, 1/2 or 1/4; false where none of those that were tried is in
 * the range. */
static bool draw_few_bits(Random *r, DType type, void *at, const ModuleValues *v,
                          const SmallIntegers *small)
{
    enum { TRIES = 16 };
    int64_t most = small->magnitude > 1 ? small->magnitude : 1;
    for (int i = 0; i < 2 * TRIES; i++) {
        double x = i < TRIES            ? (double)draw_integer(r, (IntRange){-most, most})
                   : random_below(r, 2) ? 0.5
                                        : 0.25;
        store_float(type, x, at);
        if (float_fits(x, v))
            return true;
    }
    return false;
}

/* Ends that rounding reaches although they are excluded are drawn again. */
static void draw_float(Random *r, DType type, void *at, const ModuleValues *v,
                       const SmallIntegers *small)
{
    enum { TRIES = 64 };
    if (small && draw_few_bits(r, type, at, v, small))
        return;
    double lo, hi;
    float_range(v, &lo, &hi);
    for (int i = 0; i < TRIES; i++) {
        double unit = (double)random_below(r, (uint64_t)1 << 53) * 0x1p-53;
        store_float(type, lo == hi ? lo : lo + unit * (hi - lo), at);
        if (float_fits(float_at(type, at), v))
            return;
    }
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int compare_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_floats(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void shuffle(Random *r, int64_t *x, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)random_below(r, (uint64_t)i + 1), swap = x[i];
        x[i] = x[k];
        x[k] = swap;
    }
}

/* n integers in `x`: sorted, and apart from each other where the order wants that; then in any
 * order for the last two. */
static bool order_integers(Random *r, const RandomData *d, IntRange asked, int64_t *x)
{
    Order order = d->values->order;
    IntRange range = draw_range(d->type, asked, usual_range(d->type));
    int64_t n = d->n;
    bool open = asked.hi == type_range(d->type).hi;
    bool apart = order != ORDER_NONDECREASING;
    int64_t room = range.hi - range.lo;
    if (order == ORDER_PERMUTATION)
        range = (IntRange){0, n - 1}, room = n - 1;
    if (apart && room < n - 1) {
        if (!open || !checked_add(range.lo, 2 * n, &range.hi))
            return false;
    }
    IntRange start = {range.lo, apart ? range.hi - (n - 1) : range.hi};
    for (int64_t i = 0; i < n; i++)
        x[i] = draw_integer(r, start);
    qsort(x, (size_t)n, sizeof *x, compare_integers);
    for (int64_t i = 0; apart && i < n; i++)
        x[i] += i;
    if (order == ORDER_DISTINCT || order == ORDER_PERMUTATION)
        shuffle(r, x, n);
    return true;
}

static bool fill_ordered(Random *r, const RandomData *d)
{
    IntRange asked = asked_range(d->type, d->values, d->sizes);
    int bytes = type_bytes(d->type);
    int64_t *x = d->n > 0 ? malloc((size_t)d->n * sizeof *x) : NULL;
    bool fits = x && order_integers(r, d, asked, x);
    for (int64_t i = 0; fits && i < d->n; i++) {
        fits = x[i] >= asked.lo && x[i] <= asked.hi;
        store_integer(d->type, x[i], d->to + i * bytes);
    }
    free(x);
    return fits || d->n == 0;
}

static bool sort_floats(DType type, char *to, int64_t n)
{
    int bytes = type_bytes(type);
    double *x = n > 0 ? malloc((size_t)n * sizeof *x) : NULL;
    for (int64_t i = 0; x && i < n; i++)
        x[i] = float_at(type, to + i * bytes);
    if (x)
        qsort(x, (size_t)n, sizeof *x, compare_floats);
    for (int64_t i = 0; x && i < n; i++)
        store_float(type, x[i], to + i * bytes);
    free(x);
    return x || n == 0;
}

/* ---- filling and checking -------------------------------------------------------------------- */

static void fill_any(Random *r, DType type, void *to, int64_t n, const SmallIntegers *small)
{
    if (small)
        random_fill_small(r, type, to, n, small);
    else
        random_fill(r, type, to, n);
}

static void fill_in_range(Random *r, const RandomData *d)
{
    IntRange range = {0, 0};
    char *at = d->to;
    if (type_is_int(d->type))
        range =
            draw_range(d->type, asked_range(d->type, d->values, d->sizes), usual_range(d->type));
    for (int64_t i = 0; i < d->n; i++, at += type_bytes(d->type))
        if (type_is_int(d->type))
            store_integer(d->type, draw_integer(r, range), at);
        else
            draw_float(r, d->type, at, d->values, d->small);
}

enum { PART = 1 << 18 }; /* elements that one generator draws */

typedef struct {
    const Random *first; /* of the first part; the others' are seeded from it */
    const RandomData *data;
} Filling;

static void fill_part(void *user, int64_t part)
{
    const Filling *f = user;
    RandomData d = *f->data;
    int64_t from = part * PART;
    Random r = part == 0 ? *f->first : random_new(f->first->s[0], (uint64_t)part);
    d.to = (char *)d.to + from * type_bytes(d.type);
    d.n = d.n - from < PART ? d.n - from : PART;
    if (d.values)
        fill_in_range(&r, &d);
    else
        fill_any(&r, d.type, d.to, d.n, d.small);
}

bool values_fill(const Random *r, const RandomData *d)
{
    Random own = *r;
    bool ordered = d->values && d->values->order != ORDER_COUNT;
    if (ordered && type_is_int(d->type))
        return fill_ordered(&own, d);
    threads_share(d->n / PART + (d->n % PART != 0), fill_part, &(Filling){r, d});
    return !ordered || (sort_floats(d->type, d->to, d->n) &&
                        values_first_outside(d->type, d->to, d->n, d->values, d->sizes) < 0);
}

void values_scalar(Random *r, const RandomData *d)
{
    static const IntRange usual = {0, 99};
    RandomData one = *d;
    one.n = 1;
    if (type_is_int(d->type))
        store_integer(
            d->type,
            draw_integer(r, draw_range(d->type, asked_range(d->type, d->values, d->sizes), usual)),
            d->to);
    else
        values_fill(r, &one);
}

static bool ascends(DType type, const char *before, const char *at, bool strictly)
{
    if (type_is_float(type)) {
        double x = float_at(type, before), y = float_at(type, at);
        return strictly ? x < y : x <= y;
    }
    int64_t x = integer_at(type, before), y = integer_at(type, at);
    return strictly ? x < y : x <= y;
}

/* The first of n integers that stands twice, or for a permutation is not in 0..n; -1: none, or not
 * decided for want of memory. */
static int64_t first_repeated(DType type, const char *data, int64_t n, bool permutation)
{
    int bytes = type_bytes(type);
    int64_t *x = n > 0 ? malloc((size_t)n * sizeof *x) : NULL, found = -1, twice = 0;
    bool any = false;
    for (int64_t i = 0; x && i < n; i++) {
        x[i] = integer_at(type, data + i * bytes);
        if (permutation && found < 0 && (x[i] < 0 || x[i] >= n))
            found = i;
    }
    if (x && found < 0)
        qsort(x, (size_t)n, sizeof *x, compare_integers);
    for (int64_t i = 1; x && found < 0 && i < n && !any; i++) {
        any = x[i] == x[i - 1];
        twice = x[i];
    }
    for (int64_t i = 0; any && found < 0 && i < n; i++)
        if (integer_at(type, data + i * bytes) == twice)
            found = i;
    free(x);
    return found;
}

int64_t values_first_outside(DType type, const void *data, int64_t n, const ModuleValues *v,
                             const int64_t *sizes)
{
    const char *at = data;
    int bytes = type_bytes(type);
    IntRange range = {0, 0};
    bool sorted = v->order == ORDER_NONDECREASING || v->order == ORDER_INCREASING;
    if (type_is_int(type))
        range = asked_range(type, v, sizes);
    for (int64_t i = 0; i < n; i++, at += bytes) {
        int64_t x = type_is_int(type) ? integer_at(type, at) : 0;
        bool fits =
            type_is_int(type) ? x >= range.lo && x <= range.hi : float_fits(float_at(type, at), v);
        if (!fits ||
            (sorted && i > 0 && !ascends(type, at - bytes, at, v->order == ORDER_INCREASING)))
            return i;
    }
    return v->order == ORDER_DISTINCT || v->order == ORDER_PERMUTATION
               ? first_repeated(type, data, n, v->order == ORDER_PERMUTATION)
               : -1;
}
