/* analysis.c - Asks libtirc about one text: its names, its kernels, and the program that its
 * schedules are for, which may stand in another file of its folder. */
#include <string.h>

#include "document.h"

enum { MEMORY = 256 << 20 };

/* A text that places refer to. */
typedef struct {
    char *path;
    Lines *lines;
} Foreign;

static void foreign_free(void *data)
{
    Foreign *foreign = data;
    lines_free(foreign->lines);
    g_free(foreign->path);
    g_free(foreign);
}

/* ---- programs -------------------------------------------------------------------------------- */

static gboolean has_kernel(const tirc_file *file, const char *name)
{
    const char *kernel;
    for (size_t i = 0; (kernel = tirc_file_kernel(file, i)) != NULL; i++)
        if (!strcmp(kernel, name))
            return TRUE;
    return FALSE;
}

/* A kernel that a schedule is for and that the file does not have; NULL: none. */
static const char *missing_kernel(const tirc_file *file, tirc *t)
{
    tirc_named schedule;
    const char *kernel;
    for (size_t i = 0; tirc_file_schedule(t, file, i, &schedule); i++)
        for (size_t k = 0; (kernel = tirc_file_schedule_kernel(file, i, k)) != NULL; k++)
            if (strcmp(kernel, "any") != 0 && !has_kernel(file, kernel))
                return kernel;
    return NULL;
}

static char *read_text(const char *path, const GPtrArray *overlays)
{
    char *text = NULL;
    for (guint i = 0; i < overlays->len; i++) {
        const Overlay *overlay = g_ptr_array_index(overlays, i);
        if (!strcmp(overlay->path, path))
            return g_strdup(overlay->text);
    }
    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* The file at `path`, if it has the kernel. */
static tirc_file *open_program(Analysis *a, const char *path, const char *kernel,
                               const GPtrArray *overlays)
{
    g_autofree char *text = read_text(path, overlays);
    tirc_file *file = NULL;
    if (!text || !strstr(text, kernel))
        return NULL;
    tirc_open_text(a->t, path, (tirc_text){text, strlen(text)}, &file);
    return file && has_kernel(file, kernel) ? file : NULL;
}

static void find_program(Analysis *a, const char *path, const GPtrArray *overlays)
{
    const char *kernel = missing_kernel(a->file, a->t), *name;
    if (!kernel)
        return;
    g_autofree char *folder = g_path_get_dirname(path);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    while (dir && !a->program && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *beside = g_build_filename(folder, name, NULL);
        if (g_str_has_suffix(name, ".tir"))
            a->program = open_program(a, beside, kernel, overlays);
    }
    for (guint i = 0; !a->program && i < overlays->len; i++) {
        const Overlay *overlay = g_ptr_array_index(overlays, i);
        if (strcmp(overlay->path, path) != 0)
            a->program = open_program(a, overlay->path, kernel, overlays);
    }
}

/* ---- one text -------------------------------------------------------------------------------- */

static void provide(Analysis *a, const char *path, const GPtrArray *overlays)
{
    for (guint i = 0; i < overlays->len; i++) {
        const Overlay *overlay = g_ptr_array_index(overlays, i);
        if (strcmp(overlay->path, path) != 0 && g_str_has_suffix(overlay->path, ".sched"))
            tirc_provide_text(a->t, overlay->path,
                              (tirc_text){overlay->text, strlen(overlay->text)});
    }
}

Analysis *analysis_new(const char *path, const char *text, gsize length, const GPtrArray *overlays)
{
    Analysis *a = g_new0(Analysis, 1);
    a->text = g_strndup(text, length);
    a->lines = lines_new(a->text, strlen(a->text));
    a->kernels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    a->foreign = g_ptr_array_new_with_free_func(foreign_free);
    a->t = tirc_new(&(tirc_options){.memory_limit = MEMORY, .cache_dir = ""});
    if (!a->t)
        return a;
    provide(a, path, overlays);
    tirc_clear_diagnostics(a->t);
    a->parsed =
        tirc_open_text(a->t, path, (tirc_text){a->text, a->lines->length}, &a->file) == TIRC_OK;
    if (!a->file)
        return a;
    /* The errors of the text stay; those of others are not its own. */
    size_t own = tirc_diagnostic_count(a->t);
    find_program(a, path, overlays);
    if (tirc_find_names(a->t, a->file, a->program, &a->names) != TIRC_OK)
        a->names = NULL;
    tirc_keep_diagnostics(a->t, own);
    return a;
}

void analysis_free(Analysis *a)
{
    g_hash_table_destroy(a->kernels);
    g_ptr_array_free(a->foreign, TRUE);
    tirc_free(a->t);
    lines_free(a->lines);
    g_free(a->text);
    g_free(a);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static tirc_kernel *resolve(Analysis *a, const tirc_file *file, const char *name)
{
    g_autoptr(GPtrArray) sizes = g_ptr_array_new_with_free_func(g_free);
    tirc_kernel *kernel = NULL;
    tirc_named named, parent;
    size_t own = tirc_diagnostic_count(a->t);
    for (size_t i = 0; a->names && tirc_named_at(a->t, a->names, i, &named); i++)
        if (named.kind == TIRC_NAMED_SIZE && named.parent >= 0 &&
            tirc_named_at(a->t, a->names, (size_t)named.parent, &parent) &&
            !strcmp(parent.name, name))
            g_ptr_array_add(sizes, g_strdup_printf("%s=?", named.name));
    if (tirc_resolve(a->t, file, name, (const char *const *)sizes->pdata, sizes->len, &kernel) &&
        tirc_resolve(a->t, file, name, NULL, 0, &kernel))
        kernel = NULL;
    tirc_keep_diagnostics(a->t, own);
    return kernel;
}

tirc_kernel *analysis_kernel(Analysis *a, const char *name)
{
    if (!a->file)
        return NULL;
    if (!g_hash_table_contains(a->kernels, name)) {
        const tirc_file *file = has_kernel(a->file, name) ? a->file : a->program;
        gboolean found = file && has_kernel(file, name);
        g_hash_table_insert(a->kernels, g_strdup(name), found ? resolve(a, file, name) : NULL);
    }
    return g_hash_table_lookup(a->kernels, name);
}

/* ---- places ---------------------------------------------------------------------------------- */

static const Lines *lines_of(Analysis *a, const char *path)
{
    for (guint i = 0; i < a->foreign->len; i++) {
        const Foreign *foreign = g_ptr_array_index(a->foreign, i);
        if (!strcmp(foreign->path, path))
            return foreign->lines;
    }
    const char *text = tirc_source_text(a->t, path);
    if (!text)
        return NULL;
    Foreign *foreign = g_new(Foreign, 1);
    *foreign = (Foreign){g_strdup(path), lines_new(text, strlen(text))};
    g_ptr_array_add(a->foreign, foreign);
    return foreign->lines;
}

/* A file with the text of a shipped one, for editors, which open files; its path. */
static char *shipped_file(const Analysis *a, const char *path)
{
    g_autofree char *folder =
        g_build_filename(g_get_user_cache_dir(), "tirc", "library", tirc_version(), NULL);
    char *file = g_build_filename(folder, path + strlen("library/"), NULL);
    if (!g_file_test(file, G_FILE_TEST_EXISTS)) {
        g_mkdir_with_parents(folder, 0755);
        g_file_set_contents(file, tirc_source_text(a->t, path), -1, NULL);
    }
    return file;
}

static char *uri_of(const Analysis *a, const char *path)
{
    g_autofree char *shipped = g_str_has_prefix(path, "library/") ? shipped_file(a, path) : NULL;
    char *uri = g_filename_to_uri(shipped ? shipped : path, NULL, NULL);
    return uri ? uri : g_strdup(path);
}

GVariant *analysis_location(Analysis *a, const tirc_place *place)
{
    const Lines *lines = place->path ? lines_of(a, place->path) : NULL;
    if (!lines)
        return NULL;
    g_autofree char *uri = uri_of(a, place->path);
    return lsp_object("uri", lsp_string(uri), "range", lines_range(lines, place), NULL);
}

int analysis_use_at(const Analysis *a, GVariant *position)
{
    int line, column;
    if (!a->names)
        return -1;
    lines_place(a->lines, lines_offset(a->lines, position), &line, &column);
    return tirc_name_use_find(a->names, line, column);
}
