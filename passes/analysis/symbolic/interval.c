/* interval.c - Computes with literal bounds of integers (interval arithmetic). */
#include "passes/analysis/symbolic/interval.h"

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The numbers nearest to an end that leave it true, and do not look like a missing one. */
static int64_t lower_end(__int128 v)
{
    return v <= INT64_MIN ? INT64_MIN : v >= INT64_MAX ? INT64_MAX - 1 : (int64_t)v;
}

static int64_t upper_end(__int128 v)
{
    return v >= INT64_MAX ? INT64_MAX : v <= INT64_MIN ? INT64_MIN + 1 : (int64_t)v;
}

Bounds bounds_of_type(DType type)
{
    const TypeInfo *info = type_info(type);
    if (info->class == CLASS_BOOL)
        return (Bounds){0, 1};
    if (info->class == CLASS_UINT && info->bits < 64)
        return (Bounds){0, ((int64_t)1 << info->bits) - 1};
    if (info->class == CLASS_INT && info->bits < 64)
        return (Bounds){-((int64_t)1 << (info->bits - 1)), ((int64_t)1 << (info->bits - 1)) - 1};
    return bounds_none();
}

bool type_holds(DType type, int64_t value)
{
    Bounds all = bounds_of_type(type);
    return value >= all.min && value <= all.max && (type != DT_U64 || value >= 0);
}

Bounds bounds_join(Bounds a, Bounds b)
{
    return (Bounds){lesser(a.min, b.min), greater(a.max, b.max)};
}

Bounds bounds_meet(Bounds a, Bounds b)
{
    return (Bounds){greater(a.min, b.min), lesser(a.max, b.max)};
}

Bounds bounds_add(Bounds a, Bounds b)
{
    bool low = bounds_has_min(a) && bounds_has_min(b),
         high = bounds_has_max(a) && bounds_has_max(b);
    return (Bounds){low ? lower_end((__int128)a.min + b.min) : INT64_MIN,
                    high ? upper_end((__int128)a.max + b.max) : INT64_MAX};
}

Bounds bounds_scale(Bounds a, int64_t k)
{
    if (k == 0)
        return (Bounds){0, 0};
    bool low = k < 0 ? bounds_has_max(a) : bounds_has_min(a);
    bool high = k < 0 ? bounds_has_min(a) : bounds_has_max(a);
    return (Bounds){low ? lower_end((__int128)k * (k < 0 ? a.max : a.min)) : INT64_MIN,
                    high ? upper_end((__int128)k * (k < 0 ? a.min : a.max)) : INT64_MAX};
}

/* sum + k * end, which is no end of int64_t, as nearly all are not. */
static bool plain_end(int64_t sum, int64_t k, int64_t end, int64_t *out)
{
    int64_t part;
    return checked_mul(k, end, &part) && part != INT64_MIN && part != INT64_MAX &&
           checked_add(sum, part, out) && *out != INT64_MIN && *out != INT64_MAX;
}

Bounds bounds_add_scaled(Bounds sum, Bounds a, int64_t k)
{
    if (k == 0)
        return sum;
    Bounds turned = k < 0 ? (Bounds){a.max, a.min} : a, out = bounds_none();
    bool low = bounds_has_min(sum) && (k < 0 ? bounds_has_max(a) : bounds_has_min(a));
    bool high = bounds_has_max(sum) && (k < 0 ? bounds_has_min(a) : bounds_has_max(a));
    if ((!low || plain_end(sum.min, k, turned.min, &out.min)) &&
        (!high || plain_end(sum.max, k, turned.max, &out.max)))
        return out;
    return bounds_add(sum, bounds_scale(a, k));
}

Bounds bounds_multiply(Bounds a, Bounds b)
{
    if (bounds_are_exact(a))
        return bounds_scale(b, a.min);
    if (bounds_are_exact(b))
        return bounds_scale(a, b.min);
    if (bounds_are_finite(a) && bounds_are_finite(b))
        return bounds_join(bounds_scale(b, a.min), bounds_scale(b, a.max));
    if (a.min < 0 || b.min < 0)
        return bounds_none();
    return (Bounds){lower_end((__int128)a.min * b.min), INT64_MAX};
}

Bounds bounds_divide(Bounds a, Bounds b)
{
    if (b.min < 0)
        return bounds_none();
    if (!bounds_are_exact(b) || b.min == 0)
        return (Bounds){lesser(a.min, 0), greater(a.max, 0)};
    return (Bounds){bounds_has_min(a) ? a.min / b.min : INT64_MIN,
                    bounds_has_max(a) ? a.max / b.min : INT64_MAX};
}

/* It has the sign of a, and is no larger. */
Bounds bounds_remainder(Bounds a, Bounds b)
{
    if (bounds_are_exact(b) && b.min > 0 && bounds_are_finite(a) && a.min / b.min == a.max / b.min)
        return (Bounds){a.min % b.min, a.max % b.min};
    int64_t below = bounds_are_finite(b) ? greater(b.max, -b.min) - 1 : INT64_MAX;
    if (below < 0)
        return bounds_none();
    Bounds rest = bounds_meet(a, below == INT64_MAX ? bounds_none() : (Bounds){-below, below});
    return (Bounds){lesser(rest.min, 0), greater(rest.max, 0)};
}

Bounds bounds_minmax(ExprKind kind, Bounds a, Bounds b)
{
    return kind == EX_MIN ? (Bounds){lesser(a.min, b.min), lesser(a.max, b.max)}
                          : (Bounds){greater(a.min, b.min), greater(a.max, b.max)};
}

Bounds bounds_bits(ExprKind kind, Bounds a, Bounds b)
{
    if (kind == EX_BITAND && (a.min >= 0 || b.min >= 0))
        return (Bounds){0, a.min < 0 || (b.min >= 0 && b.max < a.max) ? b.max : a.max};
    if (a.min < 0 || b.min < 0)
        return bounds_none();
    int64_t mask = 0; /* no bit is set above the highest of both */
    while (mask < (a.max | b.max))
        mask = mask * 2 + 1;
    return (Bounds){0, lesser(mask, bounds_add(a, b).max)};
}
