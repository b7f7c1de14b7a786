/* measure.c - Implements verification and benchmarks. */
#include "frontend/api/internal.h"

#include <math.h>
#include <string.h>

#include "passes/analysis/regions/count.h"
#include "passes/lower/lower.h"
#include "passes/lower/proofs/written.h"
#include "passes/lower/reference/sum_depth.h"

/* ---- verification ---------------------------------------------------------------------------- */

typedef struct {
    const Module *module;
    VerifyOptions options;
} Reference;

/* For each buffer of the module; only those that are parameters are asked about. */
static double *addition_depths(tirc *t, const tirc_program *program, const int64_t *sizes)
{
    const Kernel *lowered = program->kernel->kernel;
    const Module *m = program->module;
    double *of_param = ARENA_ARRAY(t->ctx->arena, double, lowered->n_params + 1);
    double *depth = ARENA_ARRAY(t->ctx->arena, double, m->n_buffers + 1);
    sum_depths(t->ctx, lowered, sizes, of_param);
    for (int i = 0; i < m->n_buffers; i++)
        for (int k = 0; k < lowered->n_params; k++)
            if (lowered->params[k].buffer &&
                !strcmp(lowered->params[k].buffer->name, m->buffers[i].name))
                depth[i] = of_param[k];
    return depth;
}

/* CUDA's atomicAdd of f32 in global memory flushes subnormal operands and results to 0. */
static bool flushes_sums(tirc *t, const Kernel *lowered)
{
    for (Cursor at = cursor_stmts(t->ctx, lowered->body); cursor_next(&at);) {
        if (at.stmt->kind != ST_STORE)
            continue;
        const Buffer *to = at.stmt->u.store.buffer;
        if (at.stmt->u.store.atomic && at.stmt->u.store.op == STORE_ADD && to->type == DT_F32 &&
            to->scope == SCOPE_GLOBAL)
            return true;
    }
    return false;
}

/* How many indices of each axis a sample has: fewer where they would take too long, as in the
 * product of a matrix of a million columns and a vector. */
static int64_t sample_indices(tirc *t, const Kernel *reference, const int64_t *sizes, int rank)
{
    enum { FEWEST_ELEMENTS = 64, PATIENCE = 4 };
    int64_t n = verify_sample_size(rank, t->samples), half = n / 2;
    while (pow((double)half, rank) >= FEWEST_ELEMENTS &&
           reference_work(t->ctx, reference, sizes, n) > PATIENCE * t->full_work) {
        n = half;
        half /= 2;
    }
    return n;
}

/* The reference of a program for these sizes: for all elements, where that does not take too
 * long. */
static bool make_reference(tirc *t, const tirc_program *program, const int64_t *sizes,
                           uint64_t seed, Reference *out)
{
    Context *c = t->ctx;
    const tirc_kernel *kernel = program->kernel;
    const Kernel *reference = api_reference(t, kernel);
    if (!reference)
        return false;
    int rank = 1;
    for (int i = kernel->kernel->n_params - kernel->kernel->n_outputs; i < kernel->kernel->n_params;
         i++)
        if (kernel->kernel->params[i].buffer && kernel->kernel->params[i].buffer->rank > rank)
            rank = kernel->kernel->params[i].buffer->rank;
    out->options = (VerifyOptions){.wanted = 0,
                                   .seed = seed,
                                   .depth = addition_depths(t, program, sizes),
                                   .flushes = flushes_sums(t, kernel->kernel)};
    if (reference_work(c, reference, sizes, INT64_MAX) > t->full_work) {
        reference = reference_kernel_sampled(c, kernel->program);
        if (!reference)
            return false;
        out->options.wanted = sample_indices(t, reference, sizes, rank);
    }
    int64_t wanted = out->options.wanted > 0 ? out->options.wanted : INT64_MAX;
    reference = sequential_kernel(c, reference);
    out->module = reference
                      ? module_build_in_lanes(c, reference_in_lanes(c, reference, sizes, wanted))
                      : NULL;
    return out->module != NULL;
}

/* A run whose workload is left in t->workload. */
static bool run_once(tirc *t, const tirc_program *program, const int64_t *sizes, uint64_t seed)
{
    Device *d = program->device->device;
    t->workload = api_workload(t, program, sizes, seed);
    return t->workload && api_run(t, program, workload_arguments(t->workload)) && d->ops->sync(d);
}

/* What the schedule has changed of the program: "; compared with the program whose 't' is f16". */
static void describe_types(const Kernel *program, StrBuf *out)
{
    for (int i = 0; i < program->n_retypes; i++)
        strbuf_addf(out, "%s '%s' is %s instead of %s",
                    i ? "," : "; compared with the program where temp",
                    program->retypes[i].from->name, type_info(program->retypes[i].type)->name,
                    type_info(program->retypes[i].from->type)->name);
}

static const char *describe(tirc *t, const tirc_program *program, const VerifyResult *r,
                            const Agreement *whole)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    verify_describe(r, &out);
    describe_types(program->kernel->program, &out);
    if (whole->different)
        strbuf_addf(&out, "\n  %lld of %lld elements differ from those of schedule '%s': %s",
                    (long long)whole->different, (long long)whole->elements, whole->with,
                    whole->first);
    else if (whole->compared)
        strbuf_addf(&out, "; all agree with schedule '%s' within %.3g", whole->with,
                    2 * r->largest_bound);
    return out.text;
}

static int buffer_of(const Module *m, const char *name)
{
    int i = 0;
    while (i < m->n_buffers && strcmp(m->buffers[i].name, name) != 0)
        i++;
    return i;
}

/* Adds notes about the stores that wrote the values that this store read. */
static void note_origins(tirc *t, const tirc_program *program, VmPlace store)
{
    enum { SHOWN = 6 };
    VmPlace places[SHOWN];
    int n = vm_origins(program->module, store, places, SHOWN);
    for (int i = 0; i < n; i++) {
        const VmFunction *f = program->module->kernels[places[i].kernel].code;
        const char *buffer = f->buffers[f->code[places[i].inst].c].name;
        diag_note(t->ctx, f->spans[places[i].inst], "it read '%s', which was written here", buffer);
    }
}

/* Where the first wrong element was written last, if the device knows. */
static void note_writer(tirc *t, const tirc_program *program, const VerifyResult *r)
{
    const Device *d = program->device->device;
    const VerifyWrong *w = &r->first[0];
    int buffer = r->n_first > 0 && d->ops->writer ? buffer_of(program->module, w->buffer)
                                                  : program->module->n_buffers;
    VmFault who;
    VmPlace store;
    if (buffer == program->module->n_buffers)
        return;
    const int64_t *dims = workload_dims(t->workload, buffer);
    VmElement of = {.module = program->module, .buffer = buffer};
    for (int axis = 0; axis < w->rank; axis++)
        of.element = of.element * dims[axis] + w->index[axis];
    if (!d->ops->writer(program->device->device, &of, &who, &store))
        return;
    diag_note(t->ctx, who.span,
              "thread (%lld, %lld, %lld) of block (%lld, %lld, %lld) of kernel '%s' was the last "
              "to write the first of them, here",
              (long long)who.thread[0], (long long)who.thread[1], (long long)who.thread[2],
              (long long)who.block[0], (long long)who.block[1], (long long)who.block[2],
              who.function);
    api_note_step(t, program->kernel, who.step, "that");
    note_origins(t, program, store);
}

static void report_wrong(tirc *t, const tirc_program *program, const VerifyResult *r,
                         const char *method)
{
    diag_error(t->ctx, E0635, span_none(), "the result of '%s' is wrong: %s", program->module->name,
               method);
    note_writer(t, program, r);
}

/* Elements that no run could check: all but those of the run that checked more. */
static void report_unchecked(tirc *t, const tirc_program *program, const VerifyResult *r,
                             const Structure *s)
{
    int64_t wanted = r->checked + r->unchecked;
    int64_t checked = s->result.checked > r->checked ? s->result.checked : r->checked;
    const char *name = program->module->name;
    diag_error(t->ctx, E0636, span_none(),
               checked ? "the result of '%s' can be checked in only %lld of %lld elements: the "
                         "rounding error of the others has no bound%s%s"
                       : "the result of '%s' cannot be checked on random inputs: only %lld of %lld "
                         "elements have a bound on their rounding error%s%s",
               name, (long long)checked, (long long)wanted, r->blame ? ": " : "",
               r->blame ? r->blame : "");
}

/* The run of `program` in t->workload against the reference, and where that is a sample, against
 * another schedule: if all of the sample has bounds, which say how far both may be apart. */
static bool check_run(tirc *t, const tirc_program *program, const Reference *reference,
                      VerifyResult *r, Agreement *whole)
{
    *whole = (Agreement){0};
    if (!verify_run(program->device->device,
                    &(VerifyRun){.module = program->module,
                                 .workload = t->workload,
                                 .reference = reference->module},
                    &reference->options, r))
        return false;
    r->given = program->inputs != NULL;
    if (!r->ok || reference->options.wanted == 0 || r->unchecked > 0)
        return true;
    Peer peer;
    double tolerance = 2 * r->largest_bound;
    return api_find_peer(t, program, tolerance, &peer) &&
           api_agree(t, program, &peer, tolerance, whole);
}

/* If a run on random reals, none of which were given, leaves elements without a bound, as for the
 * factorization of a random matrix, repeats it on well-conditioned inputs, and uses that run if it
 * checks more elements or finds an error. False after a diagnostic. */
static bool check_gently(tirc *t, const tirc_program *program, const int64_t *sizes,
                         const Reference *reference, VerifyResult *r)
{
    VerifyResult gentle;
    Device *d = program->device->device;
    if (r->wrong || r->unchecked == 0 || r->given)
        return true;
    workload_free(t->workload);
    t->workload = workload_new_gentle(d, program->module, sizes, reference->options.seed);
    if (!t->workload || !api_run(t, program, workload_arguments(t->workload)) || !d->ops->sync(d) ||
        !verify_run(d,
                    &(VerifyRun){.module = program->module,
                                 .workload = t->workload,
                                 .reference = reference->module},
                    &reference->options, &gentle))
        return false;
    gentle.gentle = true;
    if (gentle.largest_bound <
        r->largest_bound) /* how far two right runs on the other inputs may be apart */
        gentle.largest_bound = r->largest_bound;
    if (gentle.wrong || gentle.checked > r->checked)
        *r = gentle;
    return true;
}

/* A proof about the text, beside what one run shows. False after a diagnostic where it shows an
 * error. */
static bool prove_written(tirc *t, const tirc_kernel *kernel, tirc_verification *result)
{
    static const char *const answers[] = {"once", "wrong", "open"};
    WrittenProof proof = {WRITTEN_OPEN, "the kernel was read as lowered text"};
    if (kernel->apart)
        proof = outputs_written_once(t->ctx, kernel->program, kernel->apart);
    result->written = answers[proof.answer];
    result->written_why = proof.why;
    if (proof.answer == WRITTEN_WRONG)
        diag_error(t->ctx, E0635, span_none(), "the result of '%s' is wrong: %s",
                   kernel->kernel->name, proof.why);
    return proof.answer != WRITTEN_WRONG;
}

static bool all_wanted(const VerifyResult *r)
{
    return r->unchecked == r->overflown;
}

/* What has been found out about a program. */
typedef struct {
    VerifyResult run;
    Agreement whole;
    Structure structure;
} Findings;

/* Beside a run on random reals that was right. Where that allows no element to differ, it has shown
 * the structure. */
static bool check_structure(tirc *t, const tirc_program *program, const int64_t *sizes,
                            const VerifyOptions *options, Findings *found)
{
    Structure *out = &found->structure;
    *out = (Structure){0};
    if (found->run.largest_bound > 0 || !all_wanted(&found->run))
        return api_check_structure(t, program, sizes, options, out);
    out->result = found->run;
    out->by_bounds = true;
    return true;
}

static tirc_verification summarize_runs(tirc *t, const tirc_program *program, const VerifyResult *r,
                                        const Agreement *whole, const Structure *s)
{
    StrBuf words = strbuf_new(t->ctx->arena);
    api_describe_structure(s, &words);
    int64_t exact = s->result.checked - s->result.wrong;
    bool all = all_wanted(r) || (exact > 0 && s->result.unchecked == 0);
    return (tirc_verification){
        .ok = r->wrong == 0 && s->result.wrong == 0 && !whole->different && all,
        .checked = s->result.checked > r->checked ? s->result.checked : r->checked,
        .total = r->total,
        .wrong = r->wrong           ? r->wrong
                 : whole->different ? whole->different
                                    : s->result.wrong,
        .max_error = r->max_error,
        .bound = r->bound,
        .nearest = r->worst_ratio,
        .method = describe(t, program, r, whole),
        .rounding = r->checked - r->wrong,
        .wide = r->wide,
        .overflown = r->overflown,
        .unbounded = r->unchecked - r->overflown,
        .summed = r->summed,
        .additions = r->additions,
        .unlikely = r->unlikely,
        .exact = exact,
        .structure = words.text,
    };
}

static bool conclude(tirc *t, const tirc_program *program, const Findings *found,
                     tirc_verification *result)
{
    const VerifyResult *r = &found->run;
    const Agreement *whole = &found->whole;
    const Structure *s = &found->structure;
    *result = summarize_runs(t, program, r, whole, s);
    bool right = result->ok;
    if (r->wrong || whole->different) {
        result->structure = NULL;
        report_wrong(t, program, r, result->method);
    } else if (s->result.wrong) {
        StrBuf words = strbuf_new(t->ctx->arena);
        verify_describe(&s->result, &words);
        report_wrong(t, program, &s->result,
                     arena_printf(t->ctx->arena, "on small integers, %s", words.text));
    } else if (!right) {
        report_unchecked(t, program, r, s);
    }
    result->ok &= prove_written(t, program->kernel, result);
    return right && result->ok;
}

static bool verify(tirc *t, tirc_program *program, const int64_t *values, uint64_t seed,
                   tirc_verification *result)
{
    Reference reference;
    Findings found = {0};
    /* the simulator's own words of a fault say more */
    bool is_cuda = program->device->device->info.kind == DEVICE_CUDA;
    t->subject = program->kernel->command;
    *result = (tirc_verification){.method = ""};
    const int64_t *sizes = api_sizes(t, program, values);
    program = sizes ? api_for_sizes(t, program, sizes) : NULL;
    bool ok = program && (!is_cuda || api_stays_inside(t, program->kernel, sizes)) &&
              make_reference(t, program, sizes, seed, &reference) &&
              run_once(t, program, sizes, seed) &&
              check_run(t, program, &reference, &found.run, &found.whole) &&
              (is_cuda || api_stays_inside(t, program->kernel, sizes)) &&
              (found.whole.different || check_gently(t, program, sizes, &reference, &found.run)) &&
              (found.run.wrong || found.whole.different ||
               check_structure(t, program, sizes, &reference.options, &found)) &&
              conclude(t, program, &found, result);
    if (ok) {
        t->verified = program;
        t->apart = 2 * found.run.largest_bound;
    }
    workload_free(t->workload);
    t->workload = NULL;
    return ok;
}

tirc_status tirc_verify(tirc *t, tirc_program *program, const int64_t *sizes, uint64_t seed,
                        tirc_verification *result)
{
    API_GUARDED(t, verify(t, program, sizes, seed, result));
}

/* ---- measurement ----------------------------------------------------------------------------- */

typedef struct {
    Device *device;
    const tirc_program *program; /* whose work it does */
    Workload *workload;
    LibraryPeer *peer; /* NULL: the program itself runs */
    const char *name;
    bool agrees; /* its results are known to be those of the first */
} Runner;

static bool run_again(void *user)
{
    const Runner *r = user;
    return r->peer ? peer_run(r->peer)
                   : r->device->ops->run(r->device, r->program->loaded,
                                         workload_arguments(r->workload));
}

/* Their schedules have changed what they take or what they round to. */
static bool other_program(const Runner *r, const Runner *than)
{
    const Kernel *a = r->program->kernel->program, *b = than->program->kernel->program;
    return r->program != than->program &&
           a->n_relayouts + b->n_relayouts + a->n_retypes + b->n_retypes > 0;
}

/* After a verification of the first: the others have the same results, as far apart as two right
 * ones may be. What only moves as many bytes has others. */
static bool check_agreement(tirc *t, Runner *runners, size_t n)
{
    Device *d = runners[0].device;
    if (t->verified != runners[0].program)
        return true;
    for (size_t i = 0; i < n; i++) {
        Runner *r = &runners[i];
        Agreement found;
        if ((r->peer && !peer_is_comparable(r->peer)) || other_program(r, &runners[0]))
            continue;
        if (!run_again(r) || !d->ops->sync(d) ||
            (i > 0 && !api_compare_outputs(t, r->program,
                                           &(TwoRuns){.one = r->workload,
                                                      .other = runners[0].workload,
                                                      .tolerance = t->apart},
                                           &found)))
            return false;
        r->agrees = i == 0 || found.different == 0;
        if (!r->agrees) {
            diag_error(t->ctx, E0643, span_none(),
                       "%lld of %lld elements computed by '%s' differ from those of '%s', which "
                       "were verified: %s",
                       (long long)found.different, (long long)found.elements, r->name,
                       runners[0].name, found.first);
            return false;
        }
    }
    return true;
}

static tirc_measurement summarize(tirc *t, const Runner *r, const BenchResult *b)
{
    int64_t flops;
    const int64_t *sizes = workload_arguments(r->workload)->sizes;
    tirc_measurement m = {b->median_ms, b->min_ms, b->p95_ms, b->runs, b->cold_l2, 0, 0, r->agrees};
    double seconds = b->median_ms * 1e-3;
    if (seconds > 0) {
        if (count_flops(t->ctx, r->program->kernel->program, sizes, &flops))
            m.gflops = (double)flops / seconds * 1e-9;
        m.gbps = (double)workload_bytes(r->workload) / seconds * 1e-9;
    }
    return m;
}

static bool measure(tirc *t, Runner *runners, size_t n, const BenchOptions *options,
                    tirc_measurement *results)
{
    Device *device = runners[0].device;
    Contender *contenders = ARENA_ARRAY(t->ctx->arena, Contender, n);
    for (size_t i = 0; i < n; i++)
        contenders[i] = (Contender){.name = runners[i].name, .run = run_again, .user = &runners[i]};
    if (!bench_run(device, contenders, (int)n, options) || !device->ops->sync(device))
        return false;
    for (size_t i = 0; i < n; i++)
        results[i] = summarize(t, &runners[i], &contenders[i].result);
    return true;
}

/* A runner for a program, or for a peer that does its work, on the data of the first. */
static bool runner_open(tirc *t, const tirc_program *program, const char *peer,
                        const int64_t *sizes, const Runner *first, Runner *r)
{
    Device *device = program->device->device;
    PeerTask task;
    Workload *workload = r == first ? api_workload(t, program, sizes, 0)
                                    : workload_like(first->workload, program->module);
    const char *name =
        program->kernel->schedule_name ? program->kernel->schedule_name : program->module->name;
    *r = (Runner){device, program, workload, NULL, name, false};
    if (!r->workload || !peer)
        return r->workload != NULL;
    r->name = peer;
    if (api_peer_task(t, program, peer, r->workload, &task))
        r->peer = peer_open(device, &task, r->workload);
    return r->peer != NULL;
}

/* Programs, then peers of the first. */
typedef struct {
    Race race;
    const char *const *peers;
    size_t n_peers;
} Bench;

static bool open_runners(tirc *t, const Bench *b, Runner *runners)
{
    tirc_program *const *programs = b->race.programs;
    size_t n = b->race.n;
    bool ok = true;
    for (size_t i = 0; ok && i < n + b->n_peers; i++) {
        tirc_program *program = programs[i < n ? i : 0];
        ok = program->device->device == programs[0]->device->device;
        if (!ok)
            diag_error(t->ctx, E0704, span_none(),
                       "programs to measure alternately must be on the same device");
        const int64_t *sizes = ok ? api_sizes(t, program, b->race.sizes) : NULL;
        program = sizes ? api_for_sizes(t, program, sizes) : NULL;
        ok = program &&
             runner_open(t, program, i < n ? NULL : b->peers[i - n], sizes, runners, &runners[i]);
    }
    return ok;
}

static bool bench(tirc *t, const Bench *b, tirc_measurement *results)
{
    size_t n = b->race.n + b->n_peers;
    if (b->race.n == 0)
        return true;
    Runner *runners = ARENA_ARRAY(t->ctx->arena, Runner, n);
    bool ok = open_runners(t, b, runners) && check_agreement(t, runners, n) &&
              measure(t, runners, n, &b->race.options, results);
    for (size_t i = 0; i < n; i++) {
        peer_close(runners[i].peer);
        workload_free(runners[i].workload);
    }
    return ok;
}

bool api_race(tirc *t, const Race *race, tirc_measurement *results)
{
    return bench(t, &(Bench){.race = *race}, results);
}

tirc_status tirc_bench(tirc *t, tirc_program *const *programs, size_t n, const int64_t *sizes,
                       tirc_measurement *results)
{
    return tirc_bench_versus(t, programs, n, NULL, 0, sizes, results);
}

tirc_status tirc_bench_versus(tirc *t, tirc_program *const *programs, size_t n,
                              const char *const *peers, size_t n_peers, const int64_t *sizes,
                              tirc_measurement *results)
{
    Bench b = {{programs, n, sizes, {.cold_l2 = true}}, peers, n_peers};
    API_GUARDED(t, bench(t, &b, results));
}
