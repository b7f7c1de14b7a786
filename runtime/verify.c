/* verify.c - see verify.h.
 *
 * Buffers of the reference are found by name: X is the program's X in the reference's type, and
 * its companions follow it in the parameter list. */
#include "runtime/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/random.h"

typedef struct {
    Device *d;
    const Module *m, *reference;
    const Workload *w;
    const VerifyOptions *options;
    VerifyResult *result;
    void **data;       /* of the reference's buffers */
    bool *owned;
    int64_t *elements;
    Random random;
} Verify;

/* Which indices of each axis of one output are checked. */
typedef struct {
    int rank;
    int64_t count[VERIFY_RANK];
    int64_t *index[VERIFY_RANK]; /* ascending; NULL: all */
} Sample;

/* ---- finding buffers ----------------------------------------------------------------------- */

static int find_buffer(const Module *m, const char *name)
{
    for (int i = 0; i < m->n_buffers; i++)
        if (strcmp(m->buffers[i].name, name) == 0)
            return i;
    return -1;
}

/* Is `text` empty, or what makes a name fresh: _1, _2 ...? */
static bool is_fresh_ending(const char *text)
{
    return *text == '\0' || (*text == '_' && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

/* The companion of the program's buffer `name` that ends in `suffix`, or -1. */
static int find_companion(const Verify *v, const char *name, const char *suffix)
{
    size_t length = strlen(name), more = strlen(suffix);
    for (int i = 0; i < v->reference->n_buffers; i++) {
        const char *other = v->reference->buffers[i].name;
        if (strncmp(other, name, length) == 0 && strncmp(other + length, suffix, more) == 0 &&
            is_fresh_ending(other + length + more) && find_buffer(v->m, other) < 0)
            return i;
    }
    return -1;
}

static const double *companion(const Verify *v, const char *name, const char *suffix)
{
    int i = find_companion(v, name, suffix);
    return i < 0 ? NULL : v->data[i];
}

/* ---- the reference's data ------------------------------------------------------------------ */

static bool no_memory(Verify *v, const char *name)
{
    diag_error(v->d->ctx, E0600, span_none(), "no memory for '%s' of the reference", name);
    return false;
}

/* Values of the program's buffer in the reference: inputs as they were, the rest as poisoned as
 * the device's. */
static bool fill_value(Verify *v, int at, int of)
{
    const ModuleBuffer *b = &v->reference->buffers[at];
    const ModuleBuffer *from = &v->m->buffers[of];
    const char *input = workload_input(v->w, of);
    size_t bytes = (size_t)v->elements[at] * (size_t)type_bytes(b->type);
    if (b->role == BUFFER_IN) {
        v->data[at] = (void *)(uintptr_t)input;
        return true;
    }
    v->owned[at] = true;
    v->data[at] = malloc(bytes + 1);
    if (!v->data[at])
        return no_memory(v, b->name);
    if (!input) {
        memset(v->data[at], 0xff, bytes);
    } else if (b->type == from->type) {
        memcpy(v->data[at], input, bytes);
    } else {
        double *to = v->data[at];
        for (int64_t i = 0; i < v->elements[at]; i++)
            to[i] = vm_value_double(from->type,
                                    vm_value_load(from->type, input + i * type_bytes(from->type)));
    }
    return true;
}

static bool fill_buffers(Verify *v)
{
    const RunArguments *args = workload_arguments(v->w);
    for (int i = 0; i < v->reference->n_buffers; i++) {
        const ModuleBuffer *b = &v->reference->buffers[i];
        int64_t *dims = ARENA_ARRAY(v->d->ctx->arena, int64_t, b->rank + 1);
        int of = find_buffer(v->m, b->name);
        v->elements[i] = vm_eval_shape(b->shape, args->sizes, dims) ? 1 : 0;
        for (int k = 0; k < b->rank; k++)
            v->elements[i] *= dims[k];
        if (of >= 0 && v->m->buffers[of].role != BUFFER_TEMP) {
            if (!fill_value(v, i, of))
                return false;
            continue;
        }
        v->owned[i] = true;
        v->data[i] = calloc((size_t)v->elements[i] + 1, (size_t)type_bytes(b->type));
        if (!v->data[i])
            return no_memory(v, b->name);
    }
    return true;
}

static bool run_reference(Verify *v)
{
    uint64_t *pointers = ARENA_ARRAY(v->d->ctx->arena, uint64_t, v->reference->n_buffers + 1);
    for (int i = 0; i < v->reference->n_buffers; i++)
        pointers[i] = (uint64_t)(uintptr_t)v->data[i];
    RunArguments args = *workload_arguments(v->w);
    args.buffers = pointers;
    VmFault fault;
    if (vm_run_host(v->reference, &args, NULL, NULL, &fault))
        return true;
    diag_error(v->d->ctx, E0634, fault.span, "%s: %s", fault_name(fault.kind), fault.message);
    return false;
}

/* ---- samples ------------------------------------------------------------------------------- */

int64_t verify_sample_size(int rank)
{
    enum { SAMPLES = 1024 };
    return rank < 1 ? 1 : (int64_t)ceil(pow(SAMPLES, 1.0 / rank));
}

static int compare_indices(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The ends and random ones between; fewer where two fall together. */
static void choose_axis(Verify *v, Sample *s, int axis, int64_t extent)
{
    int64_t wanted = v->options->wanted;
    s->count[axis] = extent;
    if (wanted <= 0 || extent <= wanted)
        return;
    int64_t *chosen = ARENA_ARRAY(v->d->ctx->arena, int64_t, wanted + 2);
    chosen[0] = 0;
    chosen[1] = extent - 1;
    for (int64_t i = 2; i < wanted; i++)
        chosen[i] = (int64_t)random_below(&v->random, (uint64_t)extent);
    if (wanted < 2)
        wanted = 2;
    qsort(chosen, (size_t)wanted, sizeof *chosen, compare_indices);
    int64_t n = 0;
    for (int64_t i = 0; i < wanted; i++)
        if (n == 0 || chosen[n - 1] != chosen[i])
            chosen[n++] = chosen[i];
    s->count[axis] = n;
    s->index[axis] = chosen;
}

static void choose_sample(Verify *v, int buffer, Sample *s)
{
    const ModuleBuffer *b = &v->m->buffers[buffer];
    const int64_t *dims = workload_dims(v->w, buffer);
    *s = (Sample){.rank = b->rank};
    for (int axis = 0; axis < b->rank; axis++) {
        choose_axis(v, s, axis, dims[axis]);
        char suffix[32];
        snprintf(suffix, sizeof suffix, "_need_%d", axis);
        int at = find_companion(v, b->name, suffix);
        if (at < 0)
            continue;
        uint8_t *need = v->data[at];
        for (int64_t i = 0; i < s->count[axis]; i++)
            need[s->index[axis] ? s->index[axis][i] : i] = 1;
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

typedef struct {
    const ModuleBuffer *buffer;
    DType reference_type;
    const char *got, *expected;
    const double *err, *abs, *n;
    double u;
    bool spoiled;
} Comparison;

/* The bound of an element, with room for the rounding of the bound's own computation. */
static double bound_of(const Comparison *k, int64_t at)
{
    double bound = k->err ? k->err[at] : 0;
    if (k->n && k->n[at] > 0) {
        double nu = k->n[at] * k->u;
        bound += nu < 1 ? nu / (1 - nu) * k->abs[at] : INFINITY;
    }
    return k->spoiled ? INFINITY : bound * (1 + 0x1p-20);
}

static bool is_poison(const char *bytes, int n)
{
    for (int i = 0; i < n; i++)
        if ((unsigned char)bytes[i] != 0xff)
            return false;
    return true;
}

/* Does what rounding may make of `expected` lie beyond what the type holds? Then the program itself overflows: an infinity,
 * or no number where two meet, is no fault of a schedule. */
static bool may_overflow(DType type, double expected, double bound)
{
    return type_is_float(type) && !isfinite(type_round(type, fabs(expected) + bound));
}

static void note_wrong(VerifyResult *r, const Comparison *k, const Sample *s, const int64_t *index,
                       VerifyWrong wrong)
{
    r->wrong++;
    if (r->n_first == VERIFY_SHOWN)
        return;
    wrong.buffer = k->buffer->name;
    wrong.rank = s->rank;
    memcpy(wrong.index, index, sizeof wrong.index);
    r->first[r->n_first++] = wrong;
}

static void compare_element(VerifyResult *r, const Comparison *k, const Sample *s,
                            const int64_t *index, int64_t at)
{
    DType type = k->buffer->type;
    const char *bytes = k->got + at * type_bytes(type);
    VmValue got = vm_value_load(type, bytes);
    VmValue expected =
        vm_value_load(k->reference_type, k->expected + at * type_bytes(k->reference_type));
    VerifyWrong e = {.got = vm_value_double(type, got),
                     .expected = vm_value_double(k->reference_type, expected),
                     .bound = bound_of(k, at)};
    e.never_written = is_poison(bytes, type_bytes(type));
    bool overflown = !isfinite(e.got) && !e.never_written && may_overflow(type, e.expected, e.bound);
    if (!(e.bound < INFINITY) || overflown) {
        r->unchecked++;
        return;
    }
    r->checked++;
    if (e.bound > r->largest_bound)
        r->largest_bound = e.bound;
    bool same = type_is_float(type) ? e.got == e.expected || (isnan(e.got) && isnan(e.expected))
                                    : memcmp(&got, &expected, sizeof got) == 0;
    if (same)
        return;
    double error = fabs(e.got - e.expected);
    double ratio = e.bound > 0 ? error / e.bound : INFINITY;
    if (isnan(ratio))
        ratio = INFINITY;
    if (ratio > r->worst_ratio) {
        r->worst_ratio = ratio;
        r->max_error = error;
        r->bound = e.bound;
    }
    if (ratio > 1)
        note_wrong(r, k, s, index, e);
}

static void compare_all(Verify *v, const Comparison *k, const Sample *s, const int64_t *dims)
{
    int64_t at[VERIFY_RANK] = {0}, index[VERIFY_RANK] = {0};
    for (int axis = 0; axis < s->rank; axis++)
        if (s->count[axis] == 0)
            return;
    for (;;) {
        int64_t element = 0;
        for (int axis = 0; axis < s->rank; axis++) {
            index[axis] = s->index[axis] ? s->index[axis][at[axis]] : at[axis];
            element = element * dims[axis] + index[axis];
        }
        compare_element(v->result, k, s, index, element);
        int axis = s->rank - 1;
        while (axis >= 0 && ++at[axis] == s->count[axis])
            at[axis--] = 0;
        if (axis < 0)
            return;
    }
}

static bool compare_buffer(Verify *v, int buffer, const Sample *s)
{
    const ModuleBuffer *b = &v->m->buffers[buffer];
    int64_t elements = workload_elements(v->w, buffer);
    size_t bytes = (size_t)elements * (size_t)type_bytes(b->type);
    int reference = find_buffer(v->reference, b->name);
    if (reference < 0)
        TIRC_BUG(v->d->ctx, "the reference has no output '%s'", b->name);
    char *got = malloc(bytes + 1);
    if (!got)
        return no_memory(v, b->name);
    bool ok = v->d->ops->read(v->d, got, workload_arguments(v->w)->buffers[buffer], bytes);
    if (ok) {
        int unsure = find_companion(v, b->name, "_unsure");
        Comparison k = {
            .buffer = b,
            .reference_type = v->reference->buffers[reference].type,
            .got = got,
            .expected = v->data[reference],
            .err = companion(v, b->name, "_err"),
            .abs = companion(v, b->name, "_abs"),
            .n = companion(v, b->name, "_n"),
            .u = ldexp(1, -type_info(b->type)->digits) + 0x1p-53,
            .spoiled = unsure >= 0 && *(const uint8_t *)v->data[unsure],
        };
        v->result->total += elements;
        compare_all(v, &k, s, workload_dims(v->w, buffer));
    }
    free(got);
    return ok;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool is_output(const ModuleBuffer *b)
{
    return b->role == BUFFER_OUT || b->role == BUFFER_INOUT;
}

static bool verify_all(Verify *v)
{
    Sample *samples = ARENA_ARRAY(v->d->ctx->arena, Sample, v->m->n_buffers + 1);
    if (!fill_buffers(v))
        return false;
    for (int i = 0; i < v->m->n_buffers; i++)
        if (is_output(&v->m->buffers[i]))
            choose_sample(v, i, &samples[i]);
    if (!run_reference(v))
        return false;
    for (int i = 0; i < v->m->n_buffers; i++)
        if (is_output(&v->m->buffers[i]) && !compare_buffer(v, i, &samples[i]))
            return false;
    v->result->ok = v->result->wrong == 0 && (v->result->checked > 0 || v->result->total == 0);
    return true;
}

bool verify_run(Device *d, const Module *m, const Workload *w, const Module *reference,
                const VerifyOptions *options, VerifyResult *result)
{
    Arena *arena = d->ctx->arena;
    *result = (VerifyResult){0};
    for (int i = 0; i < m->n_buffers; i++)
        if (is_output(&m->buffers[i]) && m->buffers[i].rank > VERIFY_RANK) {
            diag_error(d->ctx, E0634, span_none(), "'%s' has %d axes; at most %d can be verified",
                       m->buffers[i].name, m->buffers[i].rank, VERIFY_RANK);
            return false;
        }
    Verify v = {.d = d, .m = m, .reference = reference, .w = w, .options = options,
                .result = result};
    v.data = ARENA_ARRAY(arena, void *, reference->n_buffers + 1);
    v.owned = ARENA_ARRAY(arena, bool, reference->n_buffers + 1);
    v.elements = ARENA_ARRAY(arena, int64_t, reference->n_buffers + 1);
    v.random = random_new(options->seed, 0x766572696679);
    bool ok = verify_all(&v);
    for (int i = 0; i < reference->n_buffers; i++)
        if (v.owned[i])
            free(v.data[i]);
    return ok;
}

void verify_describe(const VerifyResult *r, StrBuf *out)
{
    strbuf_addf(out, "%lld of %lld elements checked", (long long)r->checked, (long long)r->total);
    if (r->unchecked)
        strbuf_addf(out, ", %lld more have no error bound", (long long)r->unchecked);
    if (r->wrong)
        strbuf_addf(out, ", %lld wrong", (long long)r->wrong);
    else if (r->worst_ratio > 0)
        strbuf_addf(out, "; largest error %.3g, %.2g of its bound", r->max_error, r->worst_ratio);
    else
        strbuf_add(out, ", all exact");
    for (int i = 0; i < r->n_first; i++) {
        const VerifyWrong *w = &r->first[i];
        strbuf_addf(out, "\n  %s[", w->buffer);
        for (int axis = 0; axis < w->rank; axis++)
            strbuf_addf(out, axis ? ", %lld" : "%lld", (long long)w->index[axis]);
        if (w->never_written)
            strbuf_addf(out, "] was never written; expected %.9g", w->expected);
        else
            strbuf_addf(out, "] = %.9g; expected %.9g within %.3g", w->got, w->expected, w->bound);
    }
}
