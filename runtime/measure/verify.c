/* verify.c - see verify.h.
 *
 * Each buffer of the reference says what it is of which buffer of the program (BufferPart). */
#include "runtime/measure/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/random.h"
#include "runtime/threads.h"

typedef struct {
    Device *d;
    const Module *m, *reference;
    const Workload *w;
    const VerifyOptions *options;
    VerifyResult *result;
    bool only_count; /* there was no run */
    void **data;     /* of the reference's buffers */
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

/* The buffer of the reference that says this of the program's buffer `name`, or -1. */
static int find_part(const Verify *v, const char *name, BufferPart part, int axis)
{
    for (int i = 0; i < v->reference->n_buffers; i++) {
        const ModuleBuffer *b = &v->reference->buffers[i];
        if (b->part == part && b->part_axis == axis && !strcmp(b->part_of, name))
            return i;
    }
    return -1;
}

/* Its elements; NULL where there is none. */
static const void *part_data(const Verify *v, const char *name, BufferPart part)
{
    int i = find_part(v, name, part, 0);
    return i < 0 ? NULL : v->data[i];
}

/* ---- the reference's data ------------------------------------------------------------------ */

static bool no_memory(Verify *v, const char *name)
{
    diag_error(v->d->ctx, E0600, span_none(), "out of memory for '%s' of the reference", name);
    return false;
}

typedef struct {
    char *to;
    size_t bytes;
} Poisoned;

enum { POISON_PART = 1 << 24 };

static void poison_part(void *user, int64_t part)
{
    const Poisoned *p = user;
    size_t start = (size_t)part * POISON_PART, rest = p->bytes - start;
    memset(p->to + start, 0xff, rest < POISON_PART ? rest : POISON_PART);
}

/* By all processors: fresh memory is slow to touch. */
static void poison(void *to, size_t bytes)
{
    Poisoned p = {to, bytes};
    threads_share((int64_t)((bytes + POISON_PART - 1) / POISON_PART), poison_part, &p);
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
        poison(v->data[at], bytes);
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
        int of = b->part == PART_VALUE ? find_buffer(v->m, b->part_of) : -1;
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

int64_t verify_sample_size(int rank, int64_t samples)
{
    return rank < 1 ? 1 : (int64_t)ceil(pow((double)samples, 1.0 / rank));
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

static void choose_index(Verify *v, Sample *s, int axis, int64_t index)
{
    s->count[axis] = 1;
    s->index[axis] = ARENA_ARRAY(v->d->ctx->arena, int64_t, 1);
    *s->index[axis] = index;
}

static void choose_sample(Verify *v, int buffer, Sample *s)
{
    const ModuleBuffer *b = &v->m->buffers[buffer];
    const int64_t *dims = workload_dims(v->w, buffer);
    const VerifyElement *only = v->options->only;
    if (only && only->buffer != buffer) {
        *s = (Sample){.rank = 1}; /* nothing */
        return;
    }
    *s = (Sample){.rank = b->rank};
    for (int axis = 0; axis < b->rank; axis++) {
        if (only)
            choose_index(v, s, axis, only->index[axis]);
        else
            choose_axis(v, s, axis, dims[axis]);
        int at = find_part(v, b->name, PART_NEED, axis);
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
    const int64_t *bits; /* of an exact reference, of a sum */
    double u, largest;   /* of the output's type: unit roundoff, and the largest number */
    int digits;
    /* of the tree in which terms are added, INFINITY where it is not known */
    double depth;
    double flushed;      /* what one addition may lose where it flushes subnormal numbers */
    double log_elements; /* of all outputs: among so many none is to be beyond its likely bound */
    double size;         /* of the largest element that is expected */
    bool spoiled;
} Comparison;

static bool is_sum(const Comparison *k, int64_t at)
{
    return k->n && k->n[at] > 0;
}

/* Are all partial sums, in whatever order, numbers of the type? All terms are multiples of their
 * lowest bit, 2^-20 for the first. */
static bool sum_is_exact(const Comparison *k, int64_t at)
{
    int64_t lowest = k->bits[at] & -k->bits[at];
    return k->abs[at] <= ldexp((double)lowest, k->digits - 20) && k->abs[at] <= k->largest;
}

/* The relative error of additions: n u in any order, gamma_h = h u / (1 - h u) in a tree of height
 * h. The reference adds its n terms one after the other in f64. */
static double sum_factor(const Comparison *k, int64_t at)
{
    double h = k->depth * k->u, n = k->n[at];
    return h < 1 ? fmin(n * k->u, h / (1 - h) + n * 0x1p-53) : n * k->u;
}

/* What its additions lose if they flush: each loses two operands and its result at most. */
static double flush_bound(const Comparison *k, int64_t at)
{
    return k->flushed * (k->n[at] + 1);
}

/* The error bound of the additions of an element. */
static double sum_bound(const Comparison *k, int64_t at)
{
    if (!is_sum(k, at))
        return 0;
    if (k->bits)
        return sum_is_exact(k, at) ? 0 : INFINITY;
    return sum_factor(k, at) * k->abs[at] + flush_bound(k, at);
}

/* The bound of an element, with room for the rounding of the bound's own computation. */
static double bound_of(const Comparison *k, int64_t at)
{
    double bound = (k->err ? k->err[at] : 0) + sum_bound(k, at);
    return k->spoiled || isnan(bound) ? INFINITY : bound * (1 + 0x1p-20);
}

/* The same if the errors of the additions are as good as independent and of mean 0 (Higham and
 * Mary, A new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 2019, theorem
 * 3.1). */
static double likely_bound_of(const Comparison *k, int64_t at)
{
    double n = k->n[at], u = k->u;
    double lambda = sqrt(2 * (log(2 * n) + k->log_elements - log(VERIFY_UNLIKELY))) / (1 - u);
    double gamma = expm1(lambda * sqrt(n) * u + n * u * u / ((1 - u) * (1 - u)));
    return ((k->err ? k->err[at] : 0) + fmin(gamma, sum_factor(k, at)) * k->abs[at] +
            flush_bound(k, at)) *
           (1 + 0x1p-20);
}

static bool is_poison(const char *bytes, int n)
{
    for (int i = 0; i < n; i++)
        if ((unsigned char)bytes[i] != 0xff)
            return false;
    return true;
}

/* Is it as poisoned as before the run, and the reference is not? An 8-bit NaN may look like
 * that. */
static bool is_never_written(const Comparison *k, const char *got, const char *expected)
{
    int n = type_bytes(k->buffer->type), wide = type_bytes(k->reference_type);
    double value = vm_value_double(k->reference_type, vm_value_load(k->reference_type, expected));
    return is_poison(got, n) && !is_poison(expected, wide) && !(n == 1 && isnan(value));
}

/* Whether `expected`, or a part of its sum, can exceed the range of the type by rounding. Then the
 * program itself overflows, and an infinity or NaN is not the fault of a schedule. */
static bool may_overflow(const Comparison *k, int64_t at, double expected)
{
    DType type = k->buffer->type;
    double reach = fabs(expected);
    if (k->err && k->err[at] < INFINITY)
        reach += k->err[at];
    if (is_sum(k, at) && k->abs[at] < INFINITY)
        reach = fmax(reach, k->abs[at] * (1 + k->n[at] * k->u));
    return type_is_float(type) && !isfinite(type_round(type, reach));
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

static bool is_same(DType type, const VerifyWrong *e, VmValue got, VmValue expected)
{
    if (type_is_float(type))
        return e->got == e->expected || (isnan(e->got) && isnan(e->expected) && !e->never_written);
    return memcmp(&got, &expected, sizeof got) == 0;
}

/* How far the element is from what was expected, in all and of its bound. True: beyond. */
static bool note_error(VerifyResult *r, const VerifyWrong *e)
{
    double error = fabs(e->got - e->expected);
    if (isnan(error))
        error = INFINITY;
    double ratio = e->bound > 0 && error < INFINITY ? error / e->bound : INFINITY;
    if (error > r->max_error) {
        r->max_error = error;
        r->bound = e->bound;
    }
    if (ratio > r->worst_ratio)
        r->worst_ratio = ratio;
    return ratio > 1;
}

typedef enum { UNCHECKED_NO_BOUND, UNCHECKED_OVERFLOWN } Unchecked;

static void note_unchecked(VerifyResult *r, Unchecked why)
{
    r->unchecked++;
    r->overflown += why == UNCHECKED_OVERFLOWN;
}

static void compare_element(VerifyResult *r, const Comparison *k, const Sample *s,
                            const int64_t *index, int64_t at)
{
    DType type = k->buffer->type;
    const char *bytes = k->got + at * type_bytes(type);
    VmValue got = vm_value_load(type, bytes);
    const char *reference = k->expected + at * type_bytes(k->reference_type);
    VmValue expected = vm_value_load(k->reference_type, reference);
    VerifyWrong e = {.got = vm_value_double(type, got),
                     .expected = vm_value_double(k->reference_type, expected),
                     .bound = bound_of(k, at)};
    e.never_written = is_never_written(k, bytes, reference);
    bool overflows = !e.never_written && may_overflow(k, at, e.expected);
    bool unbounded = !(e.bound < INFINITY) && !e.never_written;
    if (unbounded || (overflows && !isfinite(e.got) && !is_same(type, &e, got, expected))) {
        note_unchecked(r, overflows ? UNCHECKED_OVERFLOWN : UNCHECKED_NO_BOUND);
        return;
    }
    r->checked++;
    r->wide += type_is_float(type) && e.bound > VERIFY_WIDE * k->size;
    r->largest_bound = fmax(r->largest_bound, e.bound);
    bool likely = !is_sum(k, at) || k->bits || fabs(e.got - e.expected) <= likely_bound_of(k, at);
    r->summed += is_sum(k, at);
    if (is_sum(k, at))
        r->additions = fmax(r->additions, fmin(k->n[at], k->depth));
    if (is_same(type, &e, got, expected))
        return;
    r->unlikely += !likely;
    if (note_error(r, &e))
        note_wrong(r, k, s, index, e);
}

static void count_element(VerifyResult *r, const Comparison *k, int64_t at)
{
    if (!(bound_of(k, at) < INFINITY)) {
        note_unchecked(r, UNCHECKED_NO_BOUND);
        return;
    }
    const char *expected = k->expected + at * type_bytes(k->reference_type);
    r->checked++;
    r->nonzero +=
        vm_value_double(k->reference_type, vm_value_load(k->reference_type, expected)) != 0;
}

/* An element of a sample, in the order of memory. */
typedef struct {
    const Sample *of;
    const int64_t *dims;
    int64_t at[VERIFY_RANK]; /* of those chosen on each axis */
    int64_t index[VERIFY_RANK];
    int64_t element;
} SamplePlace;

static void find_place(SamplePlace *p)
{
    const Sample *s = p->of;
    p->element = 0;
    for (int axis = 0; axis < s->rank; axis++) {
        p->index[axis] = s->index[axis] ? s->index[axis][p->at[axis]] : p->at[axis];
        p->element = p->element * p->dims[axis] + p->index[axis];
    }
}

/* False where there is none. */
static bool sample_first(SamplePlace *p, const Sample *s, const int64_t *dims)
{
    *p = (SamplePlace){.of = s, .dims = dims};
    for (int axis = 0; axis < s->rank; axis++)
        if (s->count[axis] == 0)
            return false;
    find_place(p);
    return true;
}

static bool sample_next(SamplePlace *p)
{
    int axis = p->of->rank - 1;
    while (axis >= 0 && ++p->at[axis] == p->of->count[axis])
        p->at[axis--] = 0;
    if (axis >= 0)
        find_place(p);
    return axis >= 0;
}

static void compare_all(Verify *v, const Comparison *k, const Sample *s, const int64_t *dims)
{
    SamplePlace p;
    for (bool more = sample_first(&p, s, dims); more; more = sample_next(&p))
        if (v->only_count)
            count_element(v->result, k, p.element);
        else
            compare_element(v->result, k, s, p.index, p.element);
}

static Comparison comparison_of(const Verify *v, const ModuleBuffer *b)
{
    int reference = find_part(v, b->name, PART_VALUE, 0);
    if (reference < 0)
        TIRC_BUG(v->d->ctx, "the reference has no output '%s'", b->name);
    const uint8_t *unsure = part_data(v, b->name, PART_UNSURE);
    return (Comparison){
        .buffer = b,
        .reference_type = v->reference->buffers[reference].type,
        .expected = v->data[reference],
        .err = part_data(v, b->name, PART_ERROR),
        .abs = part_data(v, b->name, PART_MAGNITUDE),
        .n = part_data(v, b->name, PART_TERMS),
        .bits = part_data(v, b->name, PART_BITS),
        .u = ldexp(1, -type_info(b->type)->digits) + 0x1p-53,
        .largest = type_largest(b->type),
        .digits = type_info(b->type)->digits,
        .depth = v->options->depth ? v->options->depth[find_buffer(v->m, b->name)] : INFINITY,
        .flushed = v->options->flushes ? 3 * 0x1p-126 : 0,
        .spoiled = unsure && *unsure,
    };
}

/* The largest finite number that the reference has in the sample. */
static double largest_of(const Comparison *k, const Sample *s, const int64_t *dims)
{
    double largest = 0;
    int step = type_bytes(k->reference_type);
    SamplePlace p;
    for (bool more = sample_first(&p, s, dims); more; more = sample_next(&p)) {
        const char *at = k->expected + p.element * step;
        double value =
            fabs(vm_value_double(k->reference_type, vm_value_load(k->reference_type, at)));
        if (isfinite(value) && value > largest)
            largest = value;
    }
    return largest;
}

static bool compare_buffer(Verify *v, int buffer, const Sample *s)
{
    const ModuleBuffer *b = &v->m->buffers[buffer];
    size_t bytes = (size_t)workload_elements(v->w, buffer) * (size_t)type_bytes(b->type);
    Comparison k = comparison_of(v, b);
    const int64_t *dims = workload_dims(v->w, buffer);
    k.size = largest_of(&k, s, dims);
    k.log_elements = log(1.0 + (double)v->result->total);
    if (v->only_count) {
        compare_all(v, &k, s, dims);
        return true;
    }
    char *got = malloc(bytes + 1);
    if (!got)
        return no_memory(v, b->name);
    bool ok = v->d->ops->read(v->d, got, workload_arguments(v->w)->buffers[buffer], bytes);
    k.got = got;
    if (ok)
        compare_all(v, &k, s, dims);
    free(got);
    return ok;
}

/* ---- what is to blame ---------------------------------------------------------------------- */

static int64_t first_without_bound(const double *err, int64_t n)
{
    int64_t i = 0;
    while (i < n && err[i] < INFINITY)
        i++;
    return i;
}

/* Buffers in the order of their computation, as far as it is known: temps first. */
static const char *blame_at(const Verify *v, int at)
{
    Context *c = v->d->ctx;
    const ModuleBuffer *b = &v->reference->buffers[at];
    if (b->part == PART_UNSURE && *(const uint8_t *)v->data[at])
        return arena_printf(c->arena,
                            "rounding may decide which values '%s' gets: a subscript, a condition "
                            "or a loop bound depends on rounded values",
                            b->part_of);
    if (b->part != PART_ERROR)
        return NULL;
    int64_t element = first_without_bound(v->data[at], v->elements[at]);
    if (element == v->elements[at])
        return NULL;
    return arena_printf(c->arena,
                        "'%s' has elements without an error bound, the first is element %lld",
                        b->part_of, (long long)element);
}

static const char *find_blame(const Verify *v)
{
    const char *found = NULL;
    for (int temps = 1; !found && temps >= 0; temps--)
        for (int i = 0; !found && i < v->reference->n_buffers; i++)
            if ((v->reference->buffers[i].role == BUFFER_TEMP) == temps)
                found = blame_at(v, i);
    return found;
}

static double most_terms(const Verify *v)
{
    double most = 0;
    for (int i = 0; i < v->reference->n_buffers; i++)
        if (v->reference->buffers[i].part == PART_TERMS)
            for (int64_t k = 0; k < v->elements[i]; k++)
                most = fmax(most, ((const double *)v->data[i])[k]);
    return most;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool is_output(const ModuleBuffer *b)
{
    return b->role == BUFFER_OUT || b->role == BUFFER_INOUT;
}

static bool compare_outputs(Verify *v, const Sample *samples)
{
    for (int i = 0; i < v->m->n_buffers; i++)
        if (is_output(&v->m->buffers[i]))
            v->result->total += workload_elements(v->w, i);
    for (int i = 0; i < v->m->n_buffers; i++)
        if (is_output(&v->m->buffers[i]) && !compare_buffer(v, i, &samples[i]))
            return false;
    return true;
}

static bool verify_all(Verify *v)
{
    Sample *samples = ARENA_ARRAY(v->d->ctx->arena, Sample, v->m->n_buffers + 1);
    VerifyResult *r = v->result;
    if (!fill_buffers(v))
        return false;
    for (int i = 0; i < v->m->n_buffers; i++)
        if (is_output(&v->m->buffers[i]))
            choose_sample(v, i, &samples[i]);
    if (!run_reference(v) || !compare_outputs(v, samples))
        return false;
    r->ok = r->wrong == 0 && r->unchecked == r->overflown && (r->checked > 0 || r->total == 0);
    r->most_terms = most_terms(v);
    if (r->unchecked > r->overflown)
        r->blame = find_blame(v);
    return true;
}

static bool verify_with(Verify v)
{
    Arena *arena = v.d->ctx->arena;
    *v.result = (VerifyResult){0};
    for (int i = 0; i < v.m->n_buffers; i++)
        if (is_output(&v.m->buffers[i]) && v.m->buffers[i].rank > VERIFY_RANK) {
            diag_error(v.d->ctx, E0634, span_none(), "'%s' has %d axes; at most %d can be verified",
                       v.m->buffers[i].name, v.m->buffers[i].rank, VERIFY_RANK);
            return false;
        }
    v.data = ARENA_ARRAY(arena, void *, v.reference->n_buffers + 1);
    v.owned = ARENA_ARRAY(arena, bool, v.reference->n_buffers + 1);
    v.elements = ARENA_ARRAY(arena, int64_t, v.reference->n_buffers + 1);
    v.random = random_new(v.options->seed, 0x766572696679);
    bool ok = verify_all(&v);
    for (int i = 0; i < v.reference->n_buffers; i++)
        if (v.owned[i])
            free(v.data[i]);
    return ok;
}

bool verify_run(Device *d, const VerifyRun *run, const VerifyOptions *options, VerifyResult *result)
{
    return verify_with((Verify){.d = d,
                                .m = run->module,
                                .reference = run->reference,
                                .w = run->workload,
                                .options = options,
                                .result = result});
}

bool verify_count(Device *d, const VerifyRun *run, const VerifyOptions *options,
                  VerifyResult *result)
{
    return verify_with((Verify){.d = d,
                                .m = run->module,
                                .reference = run->reference,
                                .w = run->workload,
                                .options = options,
                                .result = result,
                                .only_count = true});
}

static void describe_rest(const VerifyResult *r, StrBuf *out)
{
    if (r->overflown)
        strbuf_addf(out, ", %lld more overflow in the program itself", (long long)r->overflown);
    if (r->unchecked > r->overflown)
        strbuf_addf(out, ", %lld more have no error bound",
                    (long long)(r->unchecked - r->overflown));
    if (r->unchecked > r->overflown && r->blame)
        strbuf_addf(out, " (%s)", r->blame);
}

void verify_describe(const VerifyResult *r, StrBuf *out)
{
    strbuf_addf(out, "%lld of %lld elements checked%s", (long long)r->checked, (long long)r->total,
                r->gentle  ? " on well-conditioned inputs"
                : r->given ? " on the given inputs"
                           : "");
    if (r->wide)
        strbuf_addf(out, ", %lld of them with weak bounds (above 1/%.0f of the largest element)",
                    (long long)r->wide, 1 / VERIFY_WIDE);
    describe_rest(r, out);
    if (r->wrong)
        strbuf_addf(out, ", %lld wrong", (long long)r->wrong);
    else if (r->worst_ratio > 0)
        strbuf_addf(out, "; largest error %.3g, each at most %.2g of its bound", r->max_error,
                    r->worst_ratio);
    else
        strbuf_add(out, ", all exact");
    for (int i = 0; i < r->n_first; i++) {
        const VerifyWrong *w = &r->first[i];
        strbuf_addf(out, "\n  %s[", w->buffer);
        for (int axis = 0; axis < w->rank; axis++)
            strbuf_addf(out, axis ? ", %lld" : "%lld", (long long)w->index[axis]);
        if (w->never_written)
            strbuf_addf(out, "] was never written; expected %.9g", w->expected);
        else if (w->bound == 0)
            strbuf_addf(out, "] = %.9g; expected %.9g exactly", w->got, w->expected);
        else
            strbuf_addf(out, "] = %.9g; expected %.9g within %.3g", w->got, w->expected, w->bound);
    }
}
