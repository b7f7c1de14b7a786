/* api.c - Creates and frees a use of the library, returns its diagnostics, and recovers from fatal
 * errors below. */
#include "frontend/api/internal.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_OF_(x) #x
#define TEXT_OF(x)  TEXT_OF_(x)

const char *tirc_version(void)
{
    return TEXT_OF(TIRC_VERSION_MAJOR) "." TEXT_OF(TIRC_VERSION_MINOR) "." TEXT_OF(
        TIRC_VERSION_PATCH);
}

/* ---- life ------------------------------------------------------------------------------------ */

static const size_t MEMORY_DEFAULT = (size_t)1 << 30;
static const double FULL_WORK = 3e7; /* about a second */

static void texts_out_of_memory(void *user, size_t wanted)
{
    ctx_fatal(user, FATAL_OUT_OF_MEMORY, "out of memory for %zu bytes of messages", wanted);
}

static bool copy_options(tirc *t, const tirc_options *options)
{
    if (!options || !options->cache_dir)
        return true;
    size_t length = strlen(options->cache_dir) + 1;
    t->cache_dir = malloc(length);
    if (t->cache_dir)
        memcpy(t->cache_dir, options->cache_dir, length);
    return t->cache_dir != NULL;
}

tirc *tirc_new(const tirc_options *options)
{
    tirc *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->full_work = FULL_WORK;
    t->samples = VERIFY_SAMPLES;
    t->ctx = ctx_new(options && options->memory_limit ? options->memory_limit : MEMORY_DEFAULT);
    t->texts = t->ctx ? arena_new(0, texts_out_of_memory, t->ctx) : NULL;
    if (t->texts && copy_options(t, options))
        return t;
    tirc_free(t);
    return NULL;
}

static bool close_devices(tirc *t)
{
    for (int i = 0; i < t->devices.n; i++)
        tirc_device_close(t, t->devices.items[i]);
    return true;
}

/* Closing may want to say something, for which there may be no memory. */
static tirc_status release_devices(tirc *t)
{
    API_GUARDED(t, close_devices(t));
}

void tirc_free(tirc *t)
{
    if (!t)
        return;
    t->dead = TIRC_OK;
    nvrtc_warmup_end(t->warmup);
    tunelog_close(t->log);
    if (t->ctx)
        release_devices(t);
    if (t->texts)
        arena_free(t->texts);
    ctx_free(t->ctx);
    free(t->cache_dir);
    free(t->tune_log);
    free(t);
}

/* ---- statuses -------------------------------------------------------------------------------- */

static tirc_status status_of(ErrorCode code)
{
    static const tirc_status statuses[] = {
        [STATUS_REFUSED] = TIRC_REFUSED,
        [STATUS_USAGE] = TIRC_USAGE,
        [STATUS_UNAVAILABLE] = TIRC_UNAVAILABLE,
        [STATUS_WRONG] = TIRC_WRONG,
        [STATUS_BUG] = TIRC_BUG,
    };
    return code < ERROR_COUNT ? statuses[error_info(code)->status] : TIRC_REFUSED;
}

ApiFrame api_enter(const tirc *t)
{
    ApiFrame frame;
    memset(&frame, 0, sizeof frame);
    frame.outer = t->ctx->guard;
    frame.last = t->ctx->last;
    return frame;
}

/* The first error since the call began decides. */
static tirc_status status_since(const tirc *t, const Diag *last)
{
    for (const Diag *d = last ? last->next : t->ctx->first; d; d = d->next)
        if (d->severity == SEVERITY_ERROR)
            return status_of(d->code);
    return TIRC_REFUSED; /* more errors than are kept */
}

static tirc_status report_bug(tirc *t);

tirc_status api_leave(tirc *t, const ApiFrame *frame, bool done)
{
    t->ctx->guard = frame->outer;
    if (t->dead)
        return t->dead;
    tirc_status status = done ? TIRC_OK : status_since(t, frame->last);
    if (status == TIRC_BUG && !t->bug_report)
        report_bug(t);
    return status;
}

/* ---- bugs ------------------------------------------------------------------------------------ */

static bool is_shipped(const Source *source)
{
    return !strncmp(source->path, "library/", 8);
}

/* The texts that were read, in order, under the command line that repeats what was done with
 * them. */
static bool write_bug_report(tirc *t)
{
    const Context *c = t->ctx;
    StrBuf out = strbuf_new(t->texts);
    const char *message = c->fatal ? c->fatal_text : c->last ? c->last->message : "";
    strbuf_addf(&out, "// tirc %s stopped: %.*s\n", tirc_version(), (int)strcspn(message, "\n"),
                message);
    if (t->subject)
        strbuf_addf(&out, "// reproduce with: %s\n", t->subject);
    for (int i = 0; i < c->sources.n; i++) {
        const Source *source = &c->sources.items[i];
        if (is_shipped(source))
            continue;
        strbuf_addf(&out, "\n// ---- %s\n", source->path);
        strbuf_addn(&out, source->text, source->length);
    }
    if (c->bug_state)
        strbuf_addf(&out, "\n/* ---- the program at this point\n%s*/\n", c->bug_state);
    t->bug_report = out.text;
    return true;
}

/* With a guard of its own: there may be no memory for the report. */
static tirc_status report_bug(tirc *t)
{
    API_GUARDED(t, write_bug_report(t));
}

static void add_fatal(tirc *t, ErrorCode code)
{
    Context *c = t->ctx;
    t->fatal = (Diag){.severity = SEVERITY_ERROR, .code = code, .message = c->fatal_text};
    if (c->last)
        c->last->next = &t->fatal;
    else
        c->first = &t->fatal;
    c->last = &t->fatal;
    c->n_errors++;
}

tirc_status api_unwind(tirc *t, const ApiFrame *frame)
{
    Context *c = t->ctx;
    bool bug = c->fatal == FATAL_BUG;
    c->guard = frame->outer;
    if (t->dead)
        return t->dead;
    if (!t->fatal.message)
        add_fatal(t, bug ? E0699 : E0600);
    workload_free(t->workload);
    workload_free(t->other);
    t->workload = t->other = NULL;
    if (bug)
        report_bug(t);
    t->dead = bug ? TIRC_BUG : TIRC_UNAVAILABLE;
    return t->dead;
}

const char *tirc_bug_report(const tirc *t)
{
    return t->bug_report;
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

size_t tirc_diagnostic_count(const tirc *t)
{
    size_t n = 0;
    for (const Diag *d = t->ctx->first; d; d = d->next)
        n++;
    return n;
}

tirc_diagnostic tirc_diagnostic_at(const tirc *t, size_t i)
{
    static const tirc_severity severities[] = {TIRC_ERROR, TIRC_WARNING, TIRC_NOTE};
    const Diag *d = t->ctx->first;
    while (d && i-- > 0)
        d = d->next;
    if (!d)
        return (tirc_diagnostic){.severity = TIRC_NOTE, .message = ""};
    tirc_diagnostic out = {.severity = severities[d->severity], .message = d->message};
    if (d->code < ERROR_COUNT)
        out.code = error_info(d->code)->id;
    const Source *source = source_get(t->ctx, d->span.source);
    if (source && d->span.end <= source->length) {
        out.path = source->path;
        source_position(source, d->span.begin, &out.line, &out.column);
        source_position(source, d->span.end, &out.end_line, &out.end_column);
    }
    out.fix = d->remedy;
    if (d->remedy) {
        source_position(source, d->wrong.begin, &out.fix_line, &out.fix_column);
        out.fix_end = out.fix_column + (int)(d->wrong.end - d->wrong.begin);
    }
    return out;
}

static bool render(tirc *t, bool color, StrBuf *out)
{
    *out = strbuf_new(t->texts);
    diag_render_all(t->ctx, color ? DIAG_COLORED : DIAG_PLAIN, out);
    return true;
}

static tirc_status render_guarded(tirc *t, bool color, StrBuf *out)
{
    API_GUARDED(t, render(t, color, out));
}

const char *tirc_diagnostics(tirc *t, bool color)
{
    tirc_status dead = t->dead;
    t->dead = TIRC_OK; /* messages can be had even then */
    StrBuf out = {0};
    tirc_status status = render_guarded(t, color, &out);
    t->dead = dead;
    return status == TIRC_OK && out.text ? out.text
           : t->ctx->first               ? "error[E0600]: out of memory\n"
                                         : "";
}

void tirc_keep_diagnostics(tirc *t, size_t n)
{
    DiagMark mark = {NULL, 0, 0};
    for (Diag *d = t->ctx->first; d && n > 0; d = d->next, n--) {
        mark.last = d;
        mark.n_errors += d->severity == SEVERITY_ERROR;
        mark.n_warnings += d->severity == SEVERITY_WARNING;
    }
    diag_forget(t->ctx, mark);
}

void tirc_clear_diagnostics(tirc *t)
{
    tirc_keep_diagnostics(t, 0);
}
