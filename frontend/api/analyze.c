/* analyze.c - Implements tirc_analyze: counts memory accesses on the simulator and relates them to
 * a device profile. */
#include "frontend/api/analysis.h"

#include <string.h>

#include "frontend/script/script.h"
#include "passes/analysis/regions/count.h"
#include "runtime/measure/estimate.h"

static const int64_t BUDGET = 4000000; /* requests; a second or two */
static const char *const DEFAULT_PROFILE = "h200", *const DEFAULT_ARCH = "sm_90a";

/* ---- the profile --------------------------------------------------------------------------- */

static bool is_path(const char *name)
{
    return strchr(name, '/') || strchr(name, '.');
}

static bool named_profile(Context *c, const char *name, Profile *out)
{
    const ProfileFile *file = profile_shipped(name);
    if (file) {
        const char *path = arena_printf(c->arena, "profiles/%s", file->name);
        return profile_parse(c, source_add(c, path, file->text, strlen(file->text)), out);
    }
    if (!is_path(name)) {
        diag_error(c, E0650, span_none(),
                   "unknown device profile '%.60s'; tirc ships %s; give a file by its path, as in "
                   "'./%.60s.profile'",
                   name, profile_names(c), name);
        return false;
    }
    uint32_t source = script_read_file(c, name, span_none());
    return source && profile_parse(c, source, out);
}

/* Values that are not attributes of the GPU come from the shipped profile of the same name. */
static bool complete_profile(Context *c, Profile *p)
{
    for (int i = 0; i < profile_file_count; i++) {
        Profile shipped;
        if (!named_profile(
                c,
                arena_strndup(c->arena, profile_files[i].name, strcspn(profile_files[i].name, ".")),
                &shipped))
            return false;
        if (!strcmp(shipped.name, p->name))
            p->l2_gbps = shipped.l2_gbps;
    }
    return true;
}

static bool choose_profile(Analyst *a, const tirc_analyze_options *o)
{
    const Device *d = o->device ? o->device->device : NULL;
    bool is_gpu = d && d->info.kind == DEVICE_CUDA;
    a->arch = o->arch ? o->arch : is_gpu ? d->info.arch : DEFAULT_ARCH;
    if (o->profile || !is_gpu)
        return named_profile(a->c, o->profile ? o->profile : DEFAULT_PROFILE, &a->profile);
    a->profile = profile_of_device(&d->info);
    a->profile.name = arena_strdup(a->c->arena, d->info.name);
    return complete_profile(a->c, &a->profile);
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Sums over all accesses to global memory, for all blocks. */
static void sum_traffic(const Analyst *a, tirc_analysis_summary *s)
{
    for (int k = 0; k < a->module->n_kernels; k++) {
        const VmFunction *code = a->module->kernels[k].code;
        for (int i = 0; i < code->n_code; i++) {
            const AccessCounter *at = counters_at(a->census.counters, k, i);
            int64_t lanes = census_scale(&a->census, k, at->cost.lanes);
            if (at->cost.requests == 0 || at->buffer->space != VM_GLOBAL || at->buffer->constant)
                continue;
            s->bytes_named += lanes * at->bytes;
            s->bytes_sectors += census_scale(&a->census, k, at->cost.sectors) * SECTOR_BYTES;
            *(at->op == ACCESS_LOAD    ? &s->loads
              : at->op == ACCESS_STORE ? &s->stores
                                       : &s->atomics) +=
                lanes * (at->bytes / type_bytes(at->buffer->type));
        }
        s->blocks += a->census.kernels[k].blocks;
        s->counted_blocks += a->census.kernels[k].counted;
    }
}

static int64_t output_elements(const Module *m, const Workload *w)
{
    int64_t elements = 0;
    for (int i = 0; i < m->n_buffers; i++)
        if (m->buffers[i].role == BUFFER_OUT || m->buffers[i].role == BUFFER_INOUT)
            elements += workload_elements(w, i);
    return elements;
}

/* Of what does most of the operations. */
static double peak_gflops(const Profile *p, const Work *w)
{
    double most = w->f64_flops > w->f32_flops ? w->f64_flops : w->f32_flops;
    double peak = w->f64_flops > w->f32_flops ? p->f64_gflops : p->f32_gflops;
    for (int i = 0; i < TENSOR_RATES; i++)
        if (w->tensor_flops[i] > most) {
            most = w->tensor_flops[i];
            peak = roofline_tensor_rate(p, (TensorRate)i) * 1e-9;
        }
    return peak;
}

static void set_intensity(const Analyst *a, const Work *w, tirc_analysis_summary *s)
{
    s->dram_gbps = a->profile.dram_gbps;
    s->peak_gflops = peak_gflops(&a->profile, w);
    if (s->program_flops <= 0 || s->bytes_named == 0)
        return;
    s->bytes_per_flop = (double)s->bytes_named / (double)s->program_flops;
    s->uncached_gflops = s->dram_gbps / s->bytes_per_flop;
}

static void set_limits(Analyst *a, const Work *work)
{
    Roof roofs[ROOFS];
    int binds = roofline_of(&a->profile, work, roofs);
    for (int i = 0; i < ROOFS; i++)
        a->out->limits[i] = (tirc_limit){roofs[i].name, roofs[i].unit, roofs[i].amount,
                                         roofs[i].rate, roofs[i].ms,   i == binds};
}

static void summarize(Analyst *a, const Workload *w, const int64_t *sizes)
{
    tirc_analysis_summary *s = &a->out->summary;
    Work work = {.least_bytes = (double)workload_bytes(w)};
    s->profile = a->profile.name;
    s->bytes_least = workload_bytes(w);
    s->output_elements = output_elements(a->module, w);
    if (!count_flops(a->c, a->kernel->program, sizes, &s->program_flops))
        s->program_flops = -1;
    sum_traffic(a, s);
    for (int k = 0; k < a->module->n_kernels; k++)
        work_add(&work, a->module, &a->census, k);
    s->f32_flops = (int64_t)work.f32_flops;
    s->f64_flops = (int64_t)work.f64_flops;
    s->bytes_beyond_l1 = (int64_t)work.beyond_l1_bytes;
    set_intensity(a, &work, s);
    set_limits(a, &work);
}

/* ---- all ----------------------------------------------------------------------------------- */

/* The sizes of the run; the kernel that runs for them has 64-bit indices where they ask for it. */
static const int64_t *choose_width(Analyst *a, const int64_t *values)
{
    tirc_program program = {.kernel = a->kernel, .module = a->module};
    const int64_t *sizes = api_sizes(a->t, &program, values);
    if (sizes && module_broken_limit(a->module, sizes)) {
        a->kernel = api_with_index64(a->t, a->kernel);
        a->module = module_build(a->c, a->kernel->kernel, NULL);
    }
    return sizes;
}

static bool take_census(Analyst *a, const tirc_analyze_options *o, const int64_t *values)
{
    const int64_t *sizes = choose_width(a, values);
    LoadedModule *loaded = sizes ? a->sim->ops->load(a->sim, a->module) : NULL;
    if (!loaded)
        return false;
    a->t->workload = workload_new(a->sim, a->module, sizes, o->seed);
    bool ok = a->t->workload && census_take(a->sim,
                                            &(CensusRun){.loaded = loaded,
                                                         .module = a->module,
                                                         .args = workload_arguments(a->t->workload),
                                                         .sampled = a->sampled},
                                            o->budget > 0 ? o->budget : BUDGET, &a->census);
    if (ok)
        summarize(a, a->t->workload, sizes);
    workload_free(a->t->workload);
    a->t->workload = NULL;
    return ok;
}

/* Runs a lowered kernel on the simulator and counts its accesses; analysis_end follows
 * in any case. False after a diagnostic. */
static bool analysis_begin(Analyst *a, const int64_t *values, const tirc_analyze_options *options)
{
    if (!choose_profile(a, options))
        return false;
    a->module = module_build(a->c, api_checked_kernel(a->t, a->kernel->kernel), NULL);
    Device *given = options->device ? options->device->device : NULL;
    bool has_sim = given && given->info.kind == DEVICE_SIM;
    if (a->module && !has_sim)
        a->own = device_open_sim(a->c, NULL);
    a->sim = has_sim ? given : a->own;
    return a->module && a->sim && take_census(a, options, values);
}

static void analysis_end(Analyst *a)
{
    census_free(&a->census);
    if (a->own)
        a->own->ops->close(a->own);
}

static bool analyze(tirc *t, const tirc_kernel *lowered, const int64_t *values,
                    const tirc_analyze_options *options, tirc_analysis **analysis)
{
    static const tirc_analyze_options none = {0};
    Context *c = t->ctx;
    Analyst a = {.t = t, .c = c, .kernel = lowered, .out = ARENA_NEW(c->arena, tirc_analysis)};
    t->subject = lowered->command;
    if (!api_require_lowered(t, lowered, "tirc_analyze"))
        return false;
    bool ok = analysis_begin(&a, values, options ? options : &none);
    if (ok) {
        analysis_accesses(&a);
        analysis_barriers(&a);
        analysis_kernels(&a);
        *analysis = a.out;
    }
    analysis_end(&a);
    return ok;
}

tirc_status tirc_analyze(tirc *t, const tirc_kernel *lowered, const int64_t *sizes,
                         const tirc_analyze_options *options, tirc_analysis **analysis)
{
    API_GUARDED(t, analyze(t, lowered, sizes, options, analysis));
}

/* Blocks that are not counted run only where data that they did not write lead to a fault. */
bool api_estimate(tirc *t, const tirc_kernel *lowered, const int64_t *sizes,
                  const tirc_analyze_options *options, Estimate *out)
{
    Context *c = t->ctx;
    Analyst a = {.t = t,
                 .c = c,
                 .kernel = lowered,
                 .sampled = true,
                 .out = ARENA_NEW(c->arena, tirc_analysis)};
    DiagMark mark = diag_mark(c);
    bool ok = analysis_begin(&a, sizes, options);
    if (!ok) {
        diag_forget(c, mark);
        analysis_end(&a);
        a = (Analyst){.t = t, .c = c, .kernel = lowered, .out = ARENA_NEW(c->arena, tirc_analysis)};
        ok = analysis_begin(&a, sizes, options);
    }
    if (ok)
        *out = (Estimate){estimate_ms(&a.profile, a.module, &a.census, a.out->summary.bytes_least),
                          a.profile.name};
    analysis_end(&a);
    return ok;
}

/* ---- reading ------------------------------------------------------------------------------- */

tirc_analysis_summary tirc_analysis_describe(const tirc_analysis *analysis)
{
    return analysis->summary;
}

bool tirc_access_at(const tirc_analysis *analysis, size_t i, tirc_access *access)
{
    if (i >= (size_t)analysis->accesses.n)
        return false;
    *access = analysis->accesses.items[i];
    return true;
}

bool tirc_barrier_at(const tirc_analysis *analysis, size_t i, tirc_barrier *barrier)
{
    if (i >= (size_t)analysis->barriers.n)
        return false;
    *barrier = analysis->barriers.items[i];
    return true;
}

bool tirc_kernel_use_at(const tirc_analysis *analysis, size_t i, tirc_kernel_use *use)
{
    if (i >= (size_t)analysis->kernels.n)
        return false;
    *use = analysis->kernels.items[i];
    return true;
}

bool tirc_limit_at(const tirc_analysis *analysis, size_t i, tirc_limit *limit)
{
    if (i >= ROOFS)
        return false;
    *limit = analysis->limits[i];
    return true;
}
