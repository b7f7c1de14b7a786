/* element.c - Converts single elements between text, numbers and the element types, and summarizes
 * arrays of them. */
#include "frontend/api/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/vm.h"

/* ---- reading elements ------------------------------------------------------------------------ */

static double element(DType type, const void *data, size_t index)
{
    return vm_value_double(
        type, vm_value_load(type, (const char *)data + index * (size_t)type_bytes(type)));
}

double tirc_element(const char *type, const void *data, size_t index)
{
    DType found = type_find(type);
    return found >= DT_INDEX ? NAN : element(found, data, index);
}

tirc_summary tirc_summarize(const char *type, const void *data, size_t n)
{
    tirc_summary s = {.least = INFINITY, .largest = -INFINITY};
    DType found = type_find(type);
    double sum = 0;
    for (size_t i = 0; found < DT_INDEX && i < n; i++) {
        double value = element(found, data, i);
        s.nans += isnan(value);
        s.least = value < s.least ? value : s.least;
        s.largest = value > s.largest ? value : s.largest;
        sum += isnan(value) ? 0 : value;
    }
    int64_t numbers = (int64_t)n - s.nans;
    s.mean = numbers > 0 ? sum / (double)numbers : NAN;
    if (numbers == 0)
        s.least = s.largest = NAN;
    return s;
}

/* ---- from text ------------------------------------------------------------------------------- */

typedef struct {
    DType type;
    const char *name, *text; /* of the parameter; its value */
} ElementText;

static bool refuse(tirc *t, const ElementText *e, const char *why)
{
    diag_error(t->ctx, E0711, span_none(), "'%s' has type %s, and %.60s %s", e->name,
               type_info(e->type)->name, *e->text ? e->text : "nothing", why);
    return false;
}

/* The value in the machine type of the element type; of integers, their 64 bits. */
static VmValue machine_value(DType type, double real, uint64_t bits)
{
    switch (vm_type_of(type)) {
    case VM_F64: return (VmValue){.f64 = real};
    case VM_F32: return (VmValue){.f32 = (float)real};
    case VM_I64:
    case VM_U64: return (VmValue){.u64 = bits};
    case VM_I32:
    case VM_U32: return (VmValue){.u32 = (uint32_t)bits};
    case VM_BOOL:
    case VM_TYPES: break;
    }
    return (VmValue){.boolean = (uint8_t)bits};
}

static bool parse_float(tirc *t, const ElementText *e, VmValue *out)
{
    char *end;
    double value = strtod(e->text, &end);
    if (end == e->text || *end)
        return refuse(t, e, "is not a number");
    if (isfinite(value) && !isfinite(type_round(e->type, value)))
        return refuse(t, e, "is larger than its largest value");
    *out = machine_value(e->type, type_round(e->type, value), 0);
    return true;
}

static bool parse_signed(tirc *t, const ElementText *e, VmValue *out)
{
    char *end;
    int shift = 64 - type_info(e->type)->bits;
    errno = 0;
    long long value = strtoll(e->text, &end, 0);
    if (end == e->text || *end)
        return refuse(t, e, "is not an integer");
    if (errno || value > INT64_MAX >> shift || value < INT64_MIN >> shift)
        return refuse(t, e, "does not fit");
    *out = machine_value(e->type, 0, (uint64_t)value);
    return true;
}

static bool parse_unsigned(tirc *t, const ElementText *e, VmValue *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(e->text, &end, 0);
    if (end == e->text || *end)
        return refuse(t, e, "is not an integer");
    if (errno || strchr(e->text, '-') || value > UINT64_MAX >> (64 - type_info(e->type)->bits))
        return refuse(t, e, "does not fit");
    *out = machine_value(e->type, 0, value);
    return true;
}

static bool parse_bool(tirc *t, const ElementText *e, VmValue *out)
{
    bool yes = !strcmp(e->text, "true") || !strcmp(e->text, "1");
    *out = machine_value(e->type, 0, yes);
    return yes || !strcmp(e->text, "false") || !strcmp(e->text, "0") ||
           refuse(t, e, "is neither true nor false");
}

static bool parse_element(tirc *t, const ElementText *e, void *data)
{
    VmValue value = {0};
    bool good = false;
    switch (type_info(e->type)->class) {
    case CLASS_FLOAT: good = parse_float(t, e, &value); break;
    case CLASS_INT: good = parse_signed(t, e, &value); break;
    case CLASS_UINT: good = parse_unsigned(t, e, &value); break;
    case CLASS_BOOL: good = parse_bool(t, e, &value); break;
    case CLASS_INDEX: break;
    }
    if (good)
        vm_value_store(e->type, value, data);
    return good;
}

tirc_status tirc_parse_element(tirc *t, const tirc_parameter *parameter, const char *text,
                               void *data)
{
    const ElementText e = {type_find(parameter->type), parameter->name, text};
    API_GUARDED(t, parse_element(t, &e, data));
}
