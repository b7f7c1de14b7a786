/* program.c - Implements the calls from text to a lowered kernel: parse, resolve, apply, lower, and
 * the steps between. */
#include "frontend/api/internal.h"

#include <stdio.h>
#include <string.h>

#include "frontend/script/script.h"
#include "frontend/syntax/parse.h"
#include "passes/lower/lower.h"
#include "passes/shared/relayout.h"

/* ---- files ----------------------------------------------------------------------------------- */

tirc_file *api_file_new(tirc *t, const AstFile *ast)
{
    tirc_file *file = ARENA_NEW(t->ctx->arena, tirc_file);
    file->ast = ast;
    return file;
}

static bool parse_source(tirc *t, uint32_t source, tirc_file **file)
{
    const AstFile *ast = source ? parse_text(t->ctx, source) : NULL;
    if (!ast)
        return false;
    script_add_program(t->ctx, ast);
    *file = api_file_new(t, ast);
    return true;
}

static bool parse_path(tirc *t, const char *path, tirc_file **file)
{
    t->subject = arena_printf(t->ctx->arena, "tirc %s", path);
    bool is_stdin = !strcmp(path, "-");
    return parse_source(t,
                        is_stdin ? script_read_stream(t->ctx, stdin, "<stdin>", span_none())
                                 : script_read_file(t->ctx, path, span_none()),
                        file);
}

tirc_status tirc_parse_file(tirc *t, const char *path, tirc_file **file)
{
    API_GUARDED(t, parse_path(t, path, file));
}

static bool parse_named(tirc *t, const char *name, const char *text, size_t length,
                        tirc_file **file)
{
    t->subject = arena_printf(t->ctx->arena, "tirc %s", name);
    return parse_source(t, source_add(t->ctx, name, text, length), file);
}

tirc_status tirc_parse_text(tirc *t, const char *name, const char *text, size_t length,
                            tirc_file **file)
{
    API_GUARDED(t, parse_named(t, name, text, length, file));
}

const char *tirc_file_kernel(const tirc_file *file, size_t i)
{
    return i < (size_t)file->ast->n_kernels ? file->ast->kernels[i]->name.text : NULL;
}

static const AstKernel *find_kernel(const tirc_file *file, const char *name)
{
    for (int i = 0; i < file->ast->n_kernels; i++)
        if (!strcmp(file->ast->kernels[i]->name.text, name))
            return file->ast->kernels[i];
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The text of a span on one line, runs of blanks as one. */
static void add_on_one_line(Context *c, Span span, StrBuf *out)
{
    const Source *source = source_get(c, span.source);
    for (uint32_t i = span.begin; source && i < span.end; i++)
        if (!is_blank(source->text[i]))
            strbuf_addc(out, source->text[i]);
        else if (i > span.begin && !is_blank(source->text[i - 1]))
            strbuf_addc(out, ' ');
}

const char *api_span_text(Context *c, Span span)
{
    StrBuf out = strbuf_new(c->arena);
    add_on_one_line(c, span, &out);
    return out.text;
}

static bool signature(tirc *t, const tirc_file *file, const char *name, const char **text)
{
    const AstKernel *kernel = find_kernel(file, name);
    if (!kernel)
        return false;
    Span head = kernel->name.span;
    head.end = kernel->body->span.begin;
    StrBuf out = strbuf_new(t->ctx->arena);
    add_on_one_line(t->ctx, head, &out);
    while (out.length > 0 && out.text[out.length - 1] == ' ')
        out.text[--out.length] = '\0';
    *text = out.text;
    return true;
}

static tirc_status signature_guarded(tirc *t, const tirc_file *file, const char *name,
                                     const char **text)
{
    API_GUARDED(t, signature(t, file, name, text));
}

const char *tirc_file_signature(tirc *t, const tirc_file *file, const char *kernel)
{
    const char *text = NULL;
    return signature_guarded(t, file, kernel, &text) == TIRC_OK ? text : NULL;
}

/* ---- kernels --------------------------------------------------------------------------------- */

tirc_kernel *api_kernel_new(tirc *t, const Kernel *kernel, const tirc_kernel *from)
{
    tirc_kernel *k = ARENA_NEW(t->ctx->arena, tirc_kernel);
    if (from) {
        *k = *from;
        k->program = relayout_like(t->ctx, from->declared, kernel);
    }
    k->kernel = kernel;
    k->level = kernel_level(t->ctx, kernel);
    return k;
}

static const char *list_kernels(Context *c, const AstFile *ast)
{
    enum { SHOWN = 12 };
    StrBuf out = strbuf_new(c->arena);
    for (int i = 0; i < ast->n_kernels && i < SHOWN; i++)
        strbuf_addf(&out, "%s'%s'", i ? ", " : "", ast->kernels[i]->name.text);
    if (ast->n_kernels > SHOWN)
        strbuf_add(&out, ", ...");
    return out.text;
}

static const AstKernel *refuse_name(Context *c, const AstFile *ast, const char *name)
{
    const char **names = ARENA_ARRAY(c->arena, const char *, ast->n_kernels + 1);
    for (int i = 0; i < ast->n_kernels; i++)
        names[i] = ast->kernels[i]->name.text;
    const char *near = diag_suggest(name, names, ast->n_kernels);
    const char *path = source_get(c, ast->source)->path;
    diag_error(c, E0701, span_none(),
               near ? "'%s' has no kernel '%s'; did you mean '%s'?" : "'%s' has no kernel '%s'",
               path, name, near);
    diag_note(c, span_none(), "its kernels: %s", list_kernels(c, ast));
    return NULL;
}

const AstKernel *api_choose_kernel(tirc *t, const tirc_file *file, const char *name)
{
    Context *c = t->ctx;
    const AstFile *ast = file->ast;
    const char *path = source_get(c, ast->source)->path;
    if (ast->n_kernels == 0) {
        diag_error(c, E0701, span_none(), "'%s' contains no kernel%s", path,
                   ast->n_schedules ? ", only schedules" : "");
        diag_note(c, span_none(),
                  "write a program as 'kernel NAME<SIZES>(INPUTS) -> OUTPUTS { ... }'");
        return NULL;
    }
    if (name) {
        const AstKernel *kernel = find_kernel(file, name);
        return kernel ? kernel : refuse_name(c, ast, name);
    }
    if (ast->n_kernels == 1)
        return ast->kernels[0];
    diag_error(c, E0701, span_none(), "'%s' contains %d kernels; choose one with --kernel: %s",
               path, ast->n_kernels, list_kernels(c, ast));
    return NULL;
}

static bool resolve(tirc *t, const tirc_file *file, const char *name, const char *const *defines,
                    size_t n_defines, tirc_kernel **kernel)
{
    Context *c = t->ctx;
    const AstKernel *ast = api_choose_kernel(t, file, name);
    if (!ast)
        return false;
    StrBuf command = strbuf_new(c->arena);
    strbuf_addf(&command, "tirc %s --kernel %s", source_get(c, file->ast->source)->path,
                ast->name.text);
    SizeOverride *overrides = ARENA_ARRAY(c->arena, SizeOverride, n_defines + 1);
    bool readable = true;
    for (size_t i = 0; i < n_defines; i++) {
        readable &= size_override_parse(c, defines[i], &overrides[i]);
        strbuf_addf(&command, " -D '%s'", defines[i]);
    }
    t->subject = command.text;
    ast = script_program(c, file->ast, ast);
    const Kernel *resolved = readable ? resolve_kernel(c, ast, overrides, (int)n_defines) : NULL;
    LowerOptions options = {.limits = limits_default()};
    if (resolved && kernel_level(c, resolved) == LEVEL_LOWERED)
        resolved = lower_kernel(c, resolved, &options); /* its arithmetic gets its widths */
    if (!resolved)
        return false;
    *kernel = api_kernel_new(t, resolved, NULL);
    (*kernel)->program = (*kernel)->declared = resolved;
    (*kernel)->command = command.text;
    return true;
}

tirc_status tirc_resolve(tirc *t, const tirc_file *file, const char *name,
                         const char *const *defines, size_t n_defines, tirc_kernel **kernel)
{
    API_GUARDED(t, resolve(t, file, name, defines, n_defines, kernel));
}

const char *tirc_kernel_name(const tirc_kernel *kernel)
{
    return kernel->kernel->name;
}

tirc_level tirc_kernel_level(const tirc_kernel *kernel)
{
    switch (kernel->level) {
    case LEVEL_PROGRAM: return TIRC_PROGRAM;
    case LEVEL_SCHEDULED: return TIRC_SCHEDULED;
    case LEVEL_LOWERED: break;
    }
    return TIRC_LOWERED;
}

bool tirc_size_at(const tirc_kernel *kernel, size_t i, tirc_size *size)
{
    if (i >= (size_t)kernel->kernel->n_sizes)
        return false;
    const Size *s = &kernel->kernel->sizes[i];
    *size = (tirc_size){s->name, s->symbolic, s->value};
    return true;
}

/* ---- further conditions ---------------------------------------------------------------------- */

/* The items of a `where` clause, parsed as that of an empty kernel; NULL after a diagnostic. */
static const AstKernel *parse_condition(tirc *t, const char *condition)
{
    const char *text = arena_printf(t->ctx->arena, "kernel condition() where\n%s\n{}\n", condition);
    uint32_t source = source_add(t->ctx, "<condition>", text, strlen(text));
    const AstFile *ast = source ? parse_text(t->ctx, source) : NULL;
    if (!ast)
        return NULL;
    if (ast->n_kernels == 1 && ast->n_schedules + ast->n_procs + ast->n_includes == 0 &&
        ast->kernels[0]->body->u.seq.n == 0)
        return ast->kernels[0];
    diag_error(t->ctx, E0704, span_none(), "'%.60s' is no condition of a `where` clause",
               condition);
    return NULL;
}

static AstKernel *add_facts(Context *c, const AstKernel *kernel, const AstKernel *from)
{
    AstKernel *copy = ARENA_NEW(c->arena, AstKernel);
    AstFact *facts = ARENA_ARRAY(c->arena, AstFact, kernel->n_facts + from->n_facts + 1);
    *copy = *kernel;
    for (int i = 0; i < kernel->n_facts; i++)
        facts[i] = kernel->facts[i];
    for (int i = 0; i < from->n_facts; i++)
        facts[kernel->n_facts + i] = from->facts[i];
    copy->facts = facts;
    copy->n_facts += from->n_facts;
    return copy;
}

static bool require(tirc *t, const tirc_file *file, const char *name, const char *condition,
                    tirc_file **result)
{
    Context *c = t->ctx;
    const AstKernel *kernel = api_choose_kernel(t, file, name);
    const AstKernel *from = kernel ? parse_condition(t, condition) : NULL;
    if (!from)
        return false;
    AstFile *copy = ARENA_NEW(c->arena, AstFile);
    AstKernel **kernels = ARENA_ARRAY(c->arena, AstKernel *, file->ast->n_kernels + 1);
    *copy = *file->ast;
    for (int i = 0; i < copy->n_kernels; i++)
        kernels[i] = copy->kernels[i] == kernel ? add_facts(c, kernel, from) : copy->kernels[i];
    copy->kernels = kernels;
    *result = ARENA_NEW(c->arena, tirc_file);
    (*result)->ast = copy;
    return true;
}

tirc_status tirc_require(tirc *t, const tirc_file *file, const char *kernel, const char *condition,
                         tirc_file **result)
{
    API_GUARDED(t, require(t, file, kernel, condition, result));
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* "[8, 16, 32]", or how the script computes it. */
static const char *tune_text(Context *c, const FoundSchedule *found, const Tune *tune)
{
    Value list;
    if (!script_tune_values(c, found, tune, &list))
        return api_span_text(c, tune->values->span);
    StrBuf out = strbuf_new(c->arena);
    script_value_text(&list, &out);
    return out.text;
}

/* The first value; NULL where it takes a kernel to know it. */
static const char *tune_default(Context *c, const FoundSchedule *found, const Tune *tune)
{
    Value list;
    if (!script_tune_values(c, found, tune, &list) || list.u.list.n == 0)
        return NULL;
    StrBuf out = strbuf_new(c->arena);
    script_value_text(&list.u.list.items[0], &out);
    return out.text;
}

typedef struct {
    const char **names, **defaults, **tune;
    size_t n;
} Parameters;

/* The parameter of that name, or a new one. */
static size_t parameter_slot(Parameters *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->names[i], name))
            return i;
    p->names[p->n] = name;
    return p->n++;
}

static void describe_schedule(Context *c, const FoundSchedule *found, tirc_schedule_info *info)
{
    const AstSchedule *s = found->schedule;
    TuneList tunes = {0};
    script_tunes(c, found, &tunes);
    size_t room = (size_t)s->n_params + (size_t)tunes.n + 1;
    Parameters p = {ARENA_ARRAY(c->arena, const char *, room),
                    ARENA_ARRAY(c->arena, const char *, room),
                    ARENA_ARRAY(c->arena, const char *, room), 0};
    for (int i = 0; i < s->n_params; i++) {
        size_t at = parameter_slot(&p, api_span_text(c, s->params[i].pattern.span));
        p.defaults[at] = s->params[i].value ? api_span_text(c, s->params[i].value->span) : "";
    }
    for (int i = 0; i < tunes.n; i++) {
        size_t before = p.n, at = parameter_slot(&p, tunes.items[i].name);
        if (at == before)
            p.defaults[at] = tune_default(c, found, &tunes.items[i]);
        p.tune[at] = tune_text(c, found, &tunes.items[i]);
    }
    *info = (tirc_schedule_info){s->name.text, found->where, p.n, p.names, p.defaults, p.tune};
}

static bool schedule_at(tirc *t, const tirc_file *file, const char *kernel, size_t i,
                        tirc_schedule_info *info)
{
    FoundScheduleList all = {0};
    script_list(t->ctx, file ? file->ast : NULL, ctx_name(t->ctx, kernel), &all);
    if (i >= (size_t)all.n)
        return false;
    describe_schedule(t->ctx, &all.items[i], info);
    return true;
}

bool tirc_schedule_at(tirc *t, const tirc_file *file, const char *kernel, size_t i,
                      tirc_schedule_info *info)
{
    API_ANSWER(t, schedule_at(t, file, kernel, i, info));
}

/* A schedule and its settings. */
typedef struct {
    const char *name; /* of tirc_apply: NULL is "default" */
    const char *const *settings;
    size_t n;
} Application;

static bool apply_named(tirc *t, const tirc_file *file, const tirc_kernel *kernel,
                        const Application *a, tirc_kernel **scheduled)
{
    Context *c = t->ctx;
    StrBuf command = strbuf_new(c->arena);
    strbuf_addf(&command, "%s --schedule %s", kernel->command, a->name);
    ScriptSetting *parsed = ARENA_ARRAY(c->arena, ScriptSetting, a->n + 1);
    bool readable = true;
    for (size_t i = 0; i < a->n; i++) {
        readable &= script_setting_parse(c, a->settings[i], &parsed[i]);
        strbuf_addf(&command, " --set '%s'", a->settings[i]);
    }
    t->subject = command.text;
    FoundSchedule found;
    if (!readable ||
        !script_find(c, file ? file->ast : NULL, kernel->kernel->name, a->name, &found))
        return false;
    const Schedule *schedule = script_run(c, kernel->kernel, &found, parsed, (int)a->n);
    if (!schedule)
        return false;
    *scheduled = api_kernel_new(t, schedule_kernel(schedule), kernel);
    (*scheduled)->schedule = schedule;
    (*scheduled)->schedule_name = found.schedule->name.text;
    (*scheduled)->command = command.text;
    return true;
}

/* The choice of the log for `tuned`, or for `default`, which does without one if it is refused, as
 * after a change of the rules, or if it changes the layout of a parameter or the type of a temp. */
static bool apply_tuned(tirc *t, const tirc_file *file, const tirc_kernel *kernel,
                        const TunedChoice *choice, tirc_kernel **scheduled)
{
    Application a = {choice->schedule, choice->settings, choice->n_settings};
    if (!apply_named(t, file, kernel, &a, scheduled))
        return false;
    (*scheduled)->tuned = choice->text;
    return true;
}

static bool keeps_program(const Kernel *scheduled)
{
    return scheduled->n_relayouts == 0 && scheduled->n_retypes == 0;
}

static bool apply(tirc *t, const tirc_file *file, const tirc_kernel *kernel, Application a,
                  tirc_kernel **scheduled)
{
    TunedChoice choice;
    DiagMark mark = diag_mark(t->ctx);
    a.name = a.name ? a.name : "default";
    Tuned tuned = a.n == 0 ? api_tuned(t, file, kernel, a.name, &choice) : TUNED_NONE;
    if (tuned == TUNED_REFUSED)
        return false;
    bool wanted = !strcmp(a.name, "tuned");
    if (tuned == TUNED_CHOSEN && apply_tuned(t, file, kernel, &choice, scheduled) &&
        (wanted || keeps_program((*scheduled)->kernel)))
        return true;
    if (tuned == TUNED_CHOSEN && wanted)
        return false;
    if (tuned == TUNED_CHOSEN)
        diag_forget(t->ctx, mark);
    return apply_named(t, file, kernel, &a, scheduled);
}

tirc_status tirc_apply(tirc *t, const tirc_file *file, const tirc_kernel *kernel,
                       const char *schedule, const char *const *settings, size_t n_settings,
                       tirc_kernel **scheduled)
{
    const Application a = {schedule, settings, n_settings};
    API_GUARDED(t, apply(t, file, kernel, a, scheduled));
}

/* ---- steps ----------------------------------------------------------------------------------- */

size_t tirc_step_count(const tirc_kernel *scheduled)
{
    return scheduled->schedule ? (size_t)schedule_steps(scheduled->schedule) : 0;
}

const char *tirc_step_text(const tirc_kernel *scheduled, size_t step)
{
    if (step < 1 || step > tirc_step_count(scheduled))
        return NULL;
    return schedule_step_text(scheduled->schedule, (int)step);
}

static bool step_kernel(tirc *t, const tirc_kernel *scheduled, size_t step, tirc_kernel **out)
{
    *out = api_kernel_new(t, schedule_kernel_after(scheduled->schedule, (int)step), scheduled);
    (*out)->schedule = NULL;
    return true;
}

static tirc_status step_kernel_guarded(tirc *t, const tirc_kernel *scheduled, size_t step,
                                       tirc_kernel **out)
{
    API_GUARDED(t, step_kernel(t, scheduled, step, out));
}

tirc_kernel *tirc_step_kernel(tirc *t, const tirc_kernel *scheduled, size_t step)
{
    tirc_kernel *out = NULL;
    if (!scheduled->schedule || step > tirc_step_count(scheduled))
        return NULL;
    return step_kernel_guarded(t, scheduled, step, &out) == TIRC_OK ? out : NULL;
}

static bool trace(tirc *t, const tirc_kernel *scheduled, const char **text)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    schedule_trace(scheduled->schedule, ctx_name(t->ctx, scheduled->schedule_name), &out);
    *text = out.text;
    return true;
}

static tirc_status trace_guarded(tirc *t, const tirc_kernel *scheduled, const char **text)
{
    API_GUARDED(t, trace(t, scheduled, text));
}

const char *tirc_trace(tirc *t, const tirc_kernel *scheduled)
{
    const char *text = NULL;
    if (!scheduled->schedule)
        return NULL;
    return trace_guarded(t, scheduled, &text) == TIRC_OK ? text : NULL;
}

static const char *value_text(Context *c, const Value *value)
{
    StrBuf out = strbuf_new(c->arena);
    script_value_text(value, &out);
    return out.text;
}

static bool knob_at(tirc *t, const tirc_kernel *scheduled, size_t i, tirc_knob *knob)
{
    int n = 0;
    const Knob *knobs = scheduled->schedule ? schedule_knobs(scheduled->schedule, &n) : NULL;
    if (i >= (size_t)n)
        return false;
    *knob = (tirc_knob){knobs[i].name, value_text(t->ctx, &knobs[i].value),
                        (size_t)knobs[i].choices.u.list.n};
    return true;
}

bool tirc_knob_at(tirc *t, const tirc_kernel *scheduled, size_t i, tirc_knob *knob)
{
    API_ANSWER(t, knob_at(t, scheduled, i, knob));
}

static bool knob_choice(tirc *t, const tirc_kernel *scheduled, size_t i, size_t choice,
                        const char **text)
{
    int n = 0;
    const Knob *knobs = scheduled->schedule ? schedule_knobs(scheduled->schedule, &n) : NULL;
    if (i >= (size_t)n || choice >= (size_t)knobs[i].choices.u.list.n)
        return false;
    *text = value_text(t->ctx, &knobs[i].choices.u.list.items[choice]);
    return true;
}

static tirc_status knob_choice_guarded(tirc *t, const tirc_kernel *scheduled, size_t i,
                                       size_t choice, const char **text)
{
    API_GUARDED(t, knob_choice(t, scheduled, i, choice, text));
}

const char *tirc_knob_choice(tirc *t, const tirc_kernel *scheduled, size_t i, size_t choice)
{
    const char *text = NULL;
    return knob_choice_guarded(t, scheduled, i, choice, &text) == TIRC_OK ? text : NULL;
}

/* ---- lowering -------------------------------------------------------------------------------- */

typedef struct {
    tirc *t;
    const tirc_kernel *from;
    const tirc_lower_options *options;
    const Kernel *apart;
} LowerCall;

static void after_pass(void *user, const char *pass, const Kernel *kernel, bool changed,
                       double seconds)
{
    LowerCall *call = user;
    if (!strcmp(pass, "simplify"))
        call->apart = kernel;
    if (!call->options || !call->options->after_pass)
        return;
    const tirc_kernel *k = api_kernel_new(call->t, kernel, call->from);
    call->options->after_pass(call->options->user, pass, k, changed, seconds);
}

static bool lower(tirc *t, const tirc_kernel *kernel, const tirc_lower_options *options,
                  tirc_kernel **lowered)
{
    LowerCall call = {t, kernel, options, NULL};
    LowerOptions o = {.limits = limits_of(t->ctx->target), .after_pass = after_pass, .user = &call};
    o.index64 = options && options->index64;
    t->subject = kernel->command;
    const Kernel *result = lower_kernel(t->ctx, kernel->kernel, &o);
    if (!result)
        return false;
    *lowered = api_kernel_new(t, result, kernel);
    (*lowered)->apart = call.apart;
    return true;
}

tirc_status tirc_lower(tirc *t, const tirc_kernel *kernel, const tirc_lower_options *options,
                       tirc_kernel **lowered)
{
    API_GUARDED(t, lower(t, kernel, options, lowered));
}
