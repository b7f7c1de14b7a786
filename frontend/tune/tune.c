/* tune.c - Implements tirc_tune: searches the choices of a schedule, and logs what it finds.
 *
 *     own choice      applied, lowered, its device opened: what refuses these refuses the call
 *     ranking         all candidates, by the model (space.c)
 *     measuring       the best of them, on a GPU (measure.c)
 *     result          the best that the log has, also of other processes */
#include "frontend/tune/tune.h"

#include <stdlib.h>
#include <string.h>

static const double SECONDS = 10;
static const double MOST_RANKED_BYTES = 256e6; /* the simulator would need seconds to fill more */

/* ---- before ---------------------------------------------------------------------------------- */

static const char *join(Arena *arena, const char *const *items, size_t n)
{
    StrBuf text = strbuf_new(arena);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&text, "%s%s", i ? "\n" : "", items[i]);
    return text.text;
}

/* All settings of a run: the fixed ones, and the values of its tunables. */
static const char *settings_of(tirc *t, const Tuner *n, const tirc_kernel *scheduled)
{
    tirc_knob knob;
    StrBuf text = strbuf_new(t->ctx->arena);
    const tirc_tune_options *o = n->options;
    strbuf_add(&text, n->fixed);
    for (size_t i = 0; tirc_knob_at(t, scheduled, i, &knob); i++) {
        bool fixed = false;
        size_t length = strlen(knob.name);
        for (size_t k = 0; k < o->n_settings; k++)
            fixed |= !strncmp(o->settings[k], knob.name, length) && o->settings[k][length] == '=';
        if (!fixed)
            strbuf_addf(&text, "%s%s=%s", text.length ? "\n" : "", knob.name, knob.value);
    }
    return text.text;
}

/* "M=1000, N=64" */
static const char *sizes_text(tirc *t, const tirc_kernel *program, const int64_t *values)
{
    tirc_size s;
    StrBuf text = strbuf_new(t->ctx->arena);
    for (size_t i = 0; values && tirc_size_at(program, i, &s); i++)
        if (s.symbolic)
            strbuf_addf(&text, "%s%s=%lld", text.length ? ", " : "", s.name, (long long)*values++);
    return text.text;
}

/* Bytes of all parameters; 0 after a diagnostic. */
static double data_bytes(tirc *t, const tirc_kernel *lowered, const int64_t *sizes)
{
    tirc_parameter p;
    double bytes = 1;
    tirc_program program = {.kernel = lowered,
                            .module = module_build(t->ctx, lowered->kernel, NULL)};
    for (size_t i = 0; program.module && i < tirc_parameter_count(&program); i++) {
        if (!tirc_parameter_at(t, &program, sizes, i, &p))
            return 0;
        bytes += (double)p.bytes;
    }
    return program.module ? bytes : 0;
}

/* The device whose times they are, and whether its model ranks the candidates. */
static bool choose_task(tirc *t, const tirc_kernel *lowered, Tuner *n)
{
    const tirc_tune_options *o = n->options;
    const Device *device = n->device->device;
    tirc_analyze_options options = {o->profile, NULL, o->arch, o->seed, 1};
    Estimate e;
    double bytes = data_bytes(t, lowered, o->sizes);
    n->task.measured = device->info.kind == DEVICE_CUDA;
    n->task.device = device->info.name;
    n->is_ranked = !n->task.measured || bytes <= MOST_RANKED_BYTES;
    if (bytes <= 0 || n->task.measured)
        return bytes > 0;
    bool ok = api_estimate(t, lowered, o->sizes, &options, &e);
    n->task.device = e.profile;
    return ok;
}

/* What the caller may have got wrong is refused here, in the caller's own context. */
static bool try_own(tirc *t, const tirc_file *file, const tirc_kernel *program, Tuner *n)
{
    tirc_kernel *scheduled, *lowered;
    tirc_device *device;
    const tirc_tune_options *o = n->options;
    if (tirc_device_open(t, o->device, o->ordinal, o->arch, &device))
        return false;
    n->device = device;
    n->target = t->ctx->target; /* what all candidates are for */
    if (tirc_apply(t, file, program, n->schedule, o->settings, o->n_settings, &scheduled) ||
        tirc_lower(t, scheduled, NULL, &lowered))
        return false;
    n->own = settings_of(t, n, scheduled);
    return choose_task(t, lowered, n);
}

/* The log as it was set, out of the way of the schedule's own choice. */
static bool try_own_without_log(tirc *t, const tirc_file *file, const tirc_kernel *program,
                                Tuner *n)
{
    char *set = t->tune_log, none[] = "";
    t->tune_log = none;
    bool ok = try_own(t, file, program, n);
    t->tune_log = set;
    return ok;
}

/* The path of the log, whose folder is there if it is that of the kernel cache. */
static bool find_log(tirc *t, Tuner *n)
{
    Cache cache;
    n->log_path = tirc_tune_log(t);
    if (n->log_path && !t->tune_log && !getenv("TIRC_TUNE_LOG")) {
        cache_open(&cache, t->cache_dir);
        cache_close(&cache);
    }
    if (!n->log_path)
        diag_error(t->ctx, E0660, span_none(),
                   "there is no log of tuned programs: it is switched off, or there is no folder "
                   "for it; name a file with --tune-log or $TIRC_TUNE_LOG");
    return n->log_path != NULL;
}

static bool prepare(tirc *t, const tirc_file *file, const tirc_kernel *program, Tuner *n)
{
    const tirc_tune_options *o = n->options;
    const Source *source = file ? source_get(t->ctx, file->ast->source) : NULL;
    t->subject = program->command;
    n->schedule = o->schedule ? o->schedule : "default";
    n->fixed = join(t->ctx->arena, o->settings, o->n_settings);
    n->path = source ? source->path : NULL;
    n->source = source ? source->text : NULL;
    n->source_length = source ? source->length : 0;
    n->cache_dir = t->cache_dir;
    n->kernel = program->kernel->name;
    n->text = api_tune_text(t, program);
    n->task.kernel = n->kernel;
    n->task.program = n->text;
    n->task.sizes = sizes_text(t, program, o->sizes);
    return n->text && find_log(t, n) && try_own_without_log(t, file, program, n);
}

static tirc_status prepare_guarded(tirc *t, const tirc_file *file, const tirc_kernel *program,
                                   Tuner *n)
{
    API_GUARDED(t, prepare(t, file, program, n));
}

/* ---- after ----------------------------------------------------------------------------------- */

/* The errors of another context, without their places, which are in its texts. False. */
static bool adopt_errors(tirc *t, const tirc *from)
{
    for (size_t i = 0; i < tirc_diagnostic_count(from); i++) {
        tirc_diagnostic d = tirc_diagnostic_at(from, i);
        if (d.severity == TIRC_ERROR)
            diag_error(t->ctx, error_find(d.code), span_none(), "%s", d.message);
        else if (d.severity == TIRC_NOTE)
            diag_note(t->ctx, span_none(), "%s", d.message);
    }
    return false;
}

static tirc_status adopt_guarded(tirc *t, const tirc *from)
{
    API_GUARDED(t, adopt_errors(t, from));
}

static bool open_log(Tuner *n)
{
    n->log = tunelog_open(n->keeper->ctx, n->log_path, TUNELOG_CREATE);
    return n->log != NULL;
}

static tirc_status open_log_guarded(Tuner *n)
{
    API_GUARDED(n->keeper, open_log(n));
}

static bool find_best(Tuner *n, Figure *best)
{
    return tunelog_best(n->log, &n->task, best);
}

static tirc_status find_best_guarded(Tuner *n, Figure *best)
{
    API_GUARDED(n->keeper, find_best(n, best));
}

static bool conclude(tirc *t, const Tuner *n, const Figure *best, tirc_tuning *result)
{
    Arena *arena = t->ctx->arena;
    const Candidate *own = &n->candidates[0];
    *result = n->counts;
    result->choice = best->schedule ? api_choice_of(t, best).text : NULL;
    result->device = arena_strdup(arena, n->task.device);
    result->arch = arena_strdup(arena, n->device->device->info.arch);
    result->measured = best->schedule ? best->measured : n->task.measured;
    result->ms = best->ms;
    result->own_ms = n->task.measured ? own->ms : own->estimate;
    result->candidates = n->n_candidates;
    result->seconds = tune_clock() - n->begin;
    return true;
}

static tirc_status conclude_guarded(tirc *t, const Tuner *n, const Figure *best,
                                    tirc_tuning *result)
{
    API_GUARDED(t, conclude(t, n, best, result));
}

/* ---- all ------------------------------------------------------------------------------------- */

static tirc_status search(tirc *t, Tuner *n, tirc_tuning *result)
{
    Figure best = {0};
    tirc *from = NULL;
    n->keeper = tirc_new(NULL);
    n->candidates = calloc(MOST_CANDIDATES, sizeof *n->candidates);
    if (!n->keeper || !n->candidates)
        return TIRC_UNAVAILABLE;
    if (open_log_guarded(n) != TIRC_OK)
        return adopt_guarded(t, n->keeper);
    tune_rank(n);
    if (n->task.measured && !n->log_failed && !tune_measure(n, &from)) {
        tirc_status status = from ? adopt_guarded(t, from) : TIRC_UNAVAILABLE;
        tirc_free(from);
        return status;
    }
    if (n->log_failed)
        return adopt_guarded(t, n->keeper);
    (void)find_best_guarded(n, &best); /* there is none if other processes have all candidates */
    return conclude_guarded(t, n, &best, result);
}

static void tuner_free(tirc *t, Tuner *n)
{
    for (size_t i = 0; i < n->n_candidates; i++)
        free(n->candidates[i].settings);
    free(n->candidates);
    tunelog_close(n->log);
    tirc_free(n->keeper);
    tirc_device_close(t, (tirc_device *)n->device);
    pthread_cond_destroy(&n->compiled);
    pthread_mutex_destroy(&n->lock);
}

tirc_status tirc_tune(tirc *t, const tirc_file *file, const tirc_kernel *program,
                      const tirc_tune_options *options, tirc_tuning *result)
{
    static const tirc_tune_options none = {0};
    Tuner n = {.options = options ? options : &none, .begin = tune_clock()};
    n.deadline = n.begin + (n.options->seconds > 0 ? n.options->seconds : SECONDS);
    *result = (tirc_tuning){0};
    pthread_mutex_init(&n.lock, NULL);
    pthread_cond_init(&n.compiled, NULL);
    tirc_status status = prepare_guarded(t, file, program, &n);
    if (!status)
        status = search(t, &n, result);
    tuner_free(t, &n);
    return status;
}
