/* tuned.c - Finds the log of tuned programs, and what it says for a program: the schedule `tuned`,
 * and `default` where a program was tuned. */
#include "frontend/api/internal.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/script/script.h"
#include "runtime/cache.h"

/* ---- the log --------------------------------------------------------------------------------- */

static bool set_tune_log(tirc *t, const char *path)
{
    char *copy = path ? malloc(strlen(path) + 1) : NULL;
    if (path && !copy) {
        diag_error(t->ctx, E0600, span_none(), "out of memory for the path of a log");
        return false;
    }
    if (copy)
        memcpy(copy, path, strlen(path) + 1);
    tunelog_close(t->log);
    t->log = NULL;
    free(t->tune_log);
    t->tune_log = copy;
    return true;
}

tirc_status tirc_set_tune_log(tirc *t, const char *path)
{
    API_GUARDED(t, set_tune_log(t, path));
}

/* The file in the folder of the kernel cache; NULL: there is no such folder. */
static const char *path_in_cache(tirc *t)
{
    char *folder = t->cache_dir ? NULL : cache_default_folder();
    const char *used = t->cache_dir ? t->cache_dir : folder;
    const char *path = used && *used ? arena_printf(t->ctx->arena, "%s/tuned.sqlite", used) : NULL;
    free(folder);
    return path;
}

static bool find_path(tirc *t, const char **path)
{
    const char *given = t->tune_log ? t->tune_log : getenv("TIRC_TUNE_LOG");
    *path = given ? (*given ? given : NULL) : path_in_cache(t);
    return true;
}

static tirc_status find_path_guarded(tirc *t, const char **path)
{
    API_GUARDED(t, find_path(t, path));
}

const char *tirc_tune_log(tirc *t)
{
    const char *path = NULL;
    return find_path_guarded(t, &path) == TIRC_OK ? path : NULL;
}

/* ---- what it says ---------------------------------------------------------------------------- */

const char *api_tune_text(tirc *t, const tirc_kernel *program)
{
    const void *text;
    size_t length;
    return tirc_emit(t, program, TIRC_TIR, NULL, &text, &length) == TIRC_OK ? text : NULL;
}

TunedChoice api_choice_of(tirc *t, const Figure *figure)
{
    Arena *arena = t->ctx->arena;
    VEC(const char *) settings = {0};
    StrBuf text = strbuf_new(arena);
    strbuf_add(&text, figure->schedule);
    for (const char *at = figure->settings; *at; at += strspn(at, "\n")) {
        size_t length = strcspn(at, "\n");
        VEC_PUSH(arena, &settings, arena_strndup(arena, at, length));
        strbuf_addf(&text, "%s%.*s", settings.n > 1 ? ", " : "(", (int)length, at);
        at += length;
    }
    strbuf_add(&text, settings.n > 0 ? ")" : "");
    return (TunedChoice){text.text, figure->schedule, settings.items, (size_t)settings.n};
}

/* The GPU that is open, since its figures count; NULL: none is, and those of any device do. */
static const char *device_of(const tirc *t)
{
    for (int i = 0; i < t->devices.n; i++) {
        const Device *d = t->devices.items[i]->device;
        if (d && d->info.kind == DEVICE_CUDA)
            return d->info.name;
    }
    return NULL;
}

static bool find_figure(tirc *t, const tirc_kernel *kernel, Figure *best)
{
    const char *path, *text;
    if (!find_path(t, &path) || !path)
        return false;
    if (!t->log)
        t->log = tunelog_open(t->ctx, path, TUNELOG_READ);
    text = t->log ? api_tune_text(t, kernel) : NULL;
    TuneTask task = {.kernel = kernel->kernel->name, .program = text, .device = device_of(t)};
    return text && tunelog_best(t->log, &task, best);
}

/* A log that cannot be used is no reason to refuse a program: the last error becomes a warning. */
static void warn_instead(tirc *t, DiagMark mark)
{
    const Diag *error = t->ctx->last;
    if (error == mark.last)
        return;
    ErrorCode code = error->code;
    const char *message = error->message;
    diag_forget(t->ctx, mark);
    diag_warning(t->ctx, code, span_none(), "%s; 'default' is used as if nothing were tuned",
                 message);
}

static void refuse_untuned(tirc *t, const tirc_kernel *kernel)
{
    const char *path = NULL, *device = device_of(t);
    find_path(t, &path);
    if (!path)
        diag_error(t->ctx, E0662, span_none(),
                   "'%s' has no schedule 'tuned': there is no log of tuned programs; name one with "
                   "--tune-log or $TIRC_TUNE_LOG",
                   kernel->kernel->name);
    else
        diag_error(t->ctx, E0662, span_none(),
                   "'%s' has no schedule 'tuned': the log '%s' has no figure for this program with "
                   "these sizes%s%s; run `tirc tune` with the same file and -D first",
                   kernel->kernel->name, path, device ? " on " : "", device ? device : "");
}

Tuned api_tuned(tirc *t, const tirc_file *file, const tirc_kernel *kernel, const char *name,
                TunedChoice *choice)
{
    Figure best;
    bool asked = !strcmp(name, "tuned");
    DiagMark mark = diag_mark(t->ctx);
    if (!asked && strcmp(name, "default") != 0)
        return TUNED_NONE;
    if (asked && script_has(t->ctx, file ? file->ast : NULL, kernel->kernel->name, name))
        return TUNED_NONE;
    if (find_figure(t, kernel, &best)) {
        *choice = api_choice_of(t, &best);
        return TUNED_CHOSEN;
    }
    if (!asked)
        warn_instead(t, mark);
    else if (t->ctx->last == mark.last)
        refuse_untuned(t, kernel);
    return asked ? TUNED_REFUSED : TUNED_NONE;
}

const char *tirc_tuned_choice(const tirc_kernel *scheduled)
{
    return scheduled->tuned;
}
