/* diagnose.c - Turns what libtirc reports into diagnostics and code actions of the protocol. */
#include "diagnose.h"

#include <string.h>

typedef struct {
    const char *uri, *path;
    Analysis *analysis;
    GPtrArray *diagnostics, *actions; /* of GVariant */
    GHashTable *seen;                 /* texts of those so far */
    tirc_place fallback;              /* for errors in other files */
} Work;

static tirc_place place_of(const tirc_diagnostic *d)
{
    return (tirc_place){d->path, d->line, d->column, d->end_line, d->end_column};
}

static gboolean is_here(const Work *w, const tirc_diagnostic *d)
{
    return d->path && !strcmp(d->path, w->path);
}

/* Of an error in another file, the first note about this one says where it comes from. */
static tirc_place own_place(const Work *w, size_t i, size_t end)
{
    for (; i < end; i++) {
        tirc_diagnostic d = tirc_diagnostic_at(w->analysis->t, i);
        if (is_here(w, &d))
            return place_of(&d);
    }
    return w->fallback;
}

static GVariant *related(Work *w, size_t i, size_t end, GString *message)
{
    GPtrArray *items = g_ptr_array_new();
    for (; i < end; i++) {
        tirc_diagnostic d = tirc_diagnostic_at(w->analysis->t, i);
        tirc_place place = place_of(&d);
        GVariant *location = analysis_location(w->analysis, &place);
        if (location)
            g_ptr_array_add(
                items, lsp_object("location", location, "message", lsp_string(d.message), NULL));
        else
            g_string_append_printf(message, "\nnote: %s", d.message);
    }
    return lsp_array(items);
}

static void add_action(Work *w, const tirc_diagnostic *d, GVariant *diagnostic)
{
    tirc_place place = {d->path, d->fix_line, d->fix_column, d->fix_line, d->fix_end};
    if (!d->fix || !is_here(w, d))
        return;
    GPtrArray *edits = g_ptr_array_new(), *about = g_ptr_array_new();
    g_autofree char *title = g_strdup_printf("Change to '%s'", d->fix);
    g_ptr_array_add(edits, lsp_object("range", lines_range(w->analysis->lines, &place), "newText",
                                      lsp_string(d->fix), NULL));
    g_ptr_array_add(about, diagnostic);
    GVariant *changes = lsp_object(w->uri, lsp_array(edits), NULL);
    GVariant *action = lsp_object("title", lsp_string(title), "kind", lsp_string("quickfix"),
                                  "isPreferred", lsp_bool(TRUE), "diagnostics", lsp_array(about),
                                  "edit", lsp_object("changes", changes, NULL), NULL);
    g_ptr_array_add(w->actions, g_variant_ref_sink(action));
}

/* The diagnostics from `i` to `end`: an error or warning with its notes. */
static void add_one(Work *w, size_t i, size_t end)
{
    tirc_diagnostic d = tirc_diagnostic_at(w->analysis->t, i);
    tirc_place place = own_place(w, i, end);
    g_autoptr(GString) message = g_string_new(d.message);
    if (d.path && !is_here(w, &d))
        g_string_append_printf(message, " (in %s, line %d)", d.path, d.line);
    char *key = g_strdup_printf("%d:%d:%s", place.line, place.column, message->str);
    if (!g_hash_table_add(w->seen, key))
        return;
    gsize first = is_here(w, &d) || !d.path ? i + 1 : i;
    GVariant *notes = related(w, first, end, message);
    GVariant *diagnostic =
        lsp_object("range", lines_range(w->analysis->lines, &place), "severity",
                   lsp_int(d.severity == TIRC_ERROR ? 1 : 2), "code",
                   d.code ? lsp_string(d.code) : NULL, "source", lsp_string("tirc"), "message",
                   lsp_string(message->str), "relatedInformation", notes, NULL);
    g_ptr_array_add(w->diagnostics, g_variant_ref_sink(diagnostic));
    add_action(w, &d, diagnostic);
}

/* Adds all diagnostics so far and clears them. */
static void collect(Work *w)
{
    size_t n = tirc_diagnostic_count(w->analysis->t);
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && tirc_diagnostic_at(w->analysis->t, end).severity == TIRC_NOTE)
            end++;
        add_one(w, i, end);
    }
    tirc_clear_diagnostics(w->analysis->t);
}

/* The kernel at its default sizes, of the text itself or of its program. */
static tirc_kernel *resolve(const Work *w, const tirc_file *file, const char *name)
{
    tirc_kernel *kernel = NULL;
    const char *found;
    for (size_t i = 0; file && (found = tirc_file_kernel(file, i)) != NULL; i++)
        if (!strcmp(found, name) &&
            tirc_resolve(w->analysis->t, file, name, NULL, 0, &kernel) == TIRC_OK)
            return kernel;
    return NULL;
}

static void check_kernels(Work *w)
{
    const char *name;
    for (size_t i = 0; (name = tirc_file_kernel(w->analysis->file, i)) != NULL; i++)
        resolve(w, w->analysis->file, name);
    collect(w);
}

static void check_schedule(Work *w, size_t i, const tirc_named *schedule)
{
    Analysis *a = w->analysis;
    const char *name;
    w->fallback = schedule->place;
    for (size_t k = 0; (name = tirc_file_schedule_kernel(a->file, i, k)) != NULL; k++) {
        tirc_kernel *kernel = resolve(w, a->file, name), *scheduled;
        if (!kernel)
            kernel = resolve(w, a->program, name);
        tirc_clear_diagnostics(a->t);
        if (kernel)
            tirc_apply_partly(a->t, a->file, i, kernel, &scheduled);
        collect(w);
    }
}

static void check(Work *w)
{
    tirc_named schedule;
    collect(w);
    if (!w->analysis->parsed)
        return;
    check_kernels(w);
    for (size_t i = 0; tirc_file_schedule(w->analysis->t, w->analysis->file, i, &schedule); i++)
        check_schedule(w, i, &schedule);
}

static GVariant *finish(GPtrArray *items)
{
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE("av"));
    for (guint i = 0; i < items->len; i++)
        g_variant_builder_add(&builder, "v", g_ptr_array_index(items, i));
    g_ptr_array_free(items, TRUE);
    return g_variant_ref_sink(g_variant_builder_end(&builder));
}

Diagnosis *diagnose(const char *uri, const char *path, const char *text, const GPtrArray *overlays)
{
    Work w = {.uri = uri,
              .path = path,
              .analysis = analysis_new(path, text, strlen(text), overlays),
              .diagnostics = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref),
              .actions = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref),
              .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
              .fallback = {path, 1, 1, 1, 1}};
    if (w.analysis->t)
        check(&w);
    Diagnosis *result = g_new(Diagnosis, 1);
    *result = (Diagnosis){finish(w.diagnostics), finish(w.actions)};
    g_hash_table_destroy(w.seen);
    analysis_free(w.analysis);
    return result;
}

void diagnosis_free(Diagnosis *diagnosis)
{
    g_variant_unref(diagnosis->diagnostics);
    g_variant_unref(diagnosis->actions);
    g_free(diagnosis);
}
