/* navigate.c - Finds the declaration and the uses of a name, in all files of its folder, and
 * renames it. */
#include <string.h>

#include "answers.h"

/* A name in a document, and what it stands for. */
typedef struct {
    Document *document;
    Analysis *analysis;
    tirc_name_use use;
    tirc_named named;
} Found;

static gboolean find(const Documents *documents, GVariant *params, Found *out)
{
    g_autoptr(GVariant) position = lsp_member(params, "position");
    out->document = documents_of(documents, params);
    if (!out->document)
        return FALSE;
    out->analysis = document_analysis(documents, out->document);
    int at = analysis_use_at(out->analysis, position);
    return at >= 0 &&
           tirc_name_use_at(out->analysis->t, out->analysis->names, (size_t)at, &out->use) &&
           tirc_named_at(out->analysis->t, out->analysis->names, (size_t)out->use.named,
                         &out->named);
}

GVariant *answer_definition(const Documents *documents, GVariant *params)
{
    Found found;
    if (!find(documents, params, &found))
        return NULL;
    return analysis_location(found.analysis, &found.named.place);
}

/* ---- uses in all files ----------------------------------------------------------------------- */

/* Called with each use; `place` is in the text of `analysis`. */
typedef void EachUse(void *user, Analysis *analysis, const tirc_name_use *use);

static gboolean same_place(const tirc_place *a, const tirc_place *b)
{
    return a->path && b->path && !strcmp(a->path, b->path) && a->line == b->line &&
           a->column == b->column;
}

static void visit(Analysis *a, const tirc_place *declared, EachUse *each, void *user)
{
    tirc_name_use use;
    tirc_named named;
    for (size_t i = 0; a->names && tirc_name_use_at(a->t, a->names, i, &use); i++)
        if (tirc_named_at(a->t, a->names, (size_t)use.named, &named) &&
            same_place(&named.place, declared))
            each(user, a, &use);
}

typedef struct {
    const Found *found;
    const GPtrArray *overlays;
    EachUse *each;
    void *user;
} Search;

static gboolean is_open(const Search *s, const char *path)
{
    for (guint i = 0; i < s->overlays->len; i++)
        if (!strcmp(((const Overlay *)g_ptr_array_index(s->overlays, i))->path, path))
            return TRUE;
    return FALSE;
}

static void search_text(const Search *s, const char *path, const char *text)
{
    if (!strstr(text, s->found->named.name))
        return;
    Analysis *a = analysis_new(path, text, strlen(text), s->overlays);
    visit(a, &s->found->named.place, s->each, s->user);
    analysis_free(a);
}

static void search_folder(const Search *s)
{
    g_autofree char *folder = g_path_get_dirname(s->found->document->path);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autofree char *text = NULL;
        gboolean ours = g_str_has_suffix(name, ".tir") || g_str_has_suffix(name, ".sched");
        if (ours && !is_open(s, path) && g_file_get_contents(path, &text, NULL, NULL))
            search_text(s, path, text);
    }
}

static void search(const Documents *documents, const Found *found, EachUse *each, void *user)
{
    g_autoptr(GPtrArray) overlays = documents_overlays(documents);
    Search s = {found, overlays, each, user};
    visit(found->analysis, &found->named.place, each, user);
    for (guint i = 0; i < overlays->len; i++) {
        const Overlay *overlay = g_ptr_array_index(overlays, i);
        if (strcmp(overlay->path, found->document->path) != 0)
            search_text(&s, overlay->path, overlay->text);
    }
    search_folder(&s);
}

/* ---- references ------------------------------------------------------------------------------ */

typedef struct {
    GPtrArray *items;
    gboolean declarations;
} References;

static void add_reference(void *user, Analysis *a, const tirc_name_use *use)
{
    References *r = user;
    if (use->declares && !r->declarations)
        return;
    g_ptr_array_add(r->items, analysis_location(a, &use->place));
}

GVariant *answer_references(const Documents *documents, GVariant *params)
{
    Found found;
    g_autoptr(GVariant) context = lsp_member(params, "context");
    g_autoptr(GVariant) wanted = lsp_member(context, "includeDeclaration");
    if (!find(documents, params, &found) || !found.named.place.path)
        return NULL;
    References r = {g_ptr_array_new(), !wanted ||
                                           !g_variant_is_of_type(wanted, G_VARIANT_TYPE_BOOLEAN) ||
                                           g_variant_get_boolean(wanted)};
    search(documents, &found, add_reference, &r);
    return lsp_array(r.items);
}

static void add_highlight(void *user, Analysis *a, const tirc_name_use *use)
{
    g_ptr_array_add(user, lsp_object("range", lines_range(a->lines, &use->place), NULL));
}

GVariant *answer_highlights(const Documents *documents, GVariant *params)
{
    Found found;
    if (!find(documents, params, &found) || !found.named.place.path)
        return NULL;
    GPtrArray *items = g_ptr_array_new();
    visit(found.analysis, &found.named.place, add_highlight, items);
    return lsp_array(items);
}

/* ---- renaming -------------------------------------------------------------------------------- */

/* `hist_1` is named after `hist`: the part that is. */
static tirc_place named_part(const Found *found, const tirc_place *place)
{
    tirc_place part = *place;
    part.end_column = part.column + (int)strlen(found->named.name);
    return part;
}

static gboolean can_rename(const Found *found)
{
    return found->named.place.path && !g_str_has_prefix(found->named.place.path, "library/");
}

GVariant *answer_prepare_rename(const Documents *documents, GVariant *params)
{
    Found found;
    if (!find(documents, params, &found) || !can_rename(&found))
        return NULL;
    tirc_place part = named_part(&found, &found.use.place);
    return lsp_object("range", lines_range(found.analysis->lines, &part), "placeholder",
                      lsp_string(found.named.name), NULL);
}

typedef struct {
    const Found *found;
    const char *name;
    GHashTable *edits; /* by URI: GPtrArray of edits */
} Renaming;

static void add_edit(void *user, Analysis *a, const tirc_name_use *use)
{
    Renaming *r = user;
    tirc_place part = named_part(r->found, &use->place);
    g_autoptr(GVariant) location = g_variant_ref_sink(analysis_location(a, &part));
    char *uri = lsp_text(location, "uri");
    GPtrArray *edits = g_hash_table_lookup(r->edits, uri);
    if (!edits) {
        edits = g_ptr_array_new();
        g_hash_table_insert(r->edits, g_strdup(uri), edits);
    }
    g_free(uri);
    g_ptr_array_add(edits, lsp_object("range", lines_range(a->lines, &part), "newText",
                                      lsp_string(r->name), NULL));
}

static gboolean is_name(const char *text)
{
    gsize n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return *text && !text[n] && !g_ascii_isdigit(*text) && strcmp(text, "_") != 0;
}

/* Something else of the same kernel or script, or of the file, has the name. */
static gboolean is_taken(const Found *found, const char *name)
{
    Analysis *a = found->analysis;
    tirc_named other;
    for (size_t i = 0; tirc_named_at(a->t, a->names, i, &other); i++)
        if (!strcmp(other.name, name) &&
            (other.parent == found->named.parent || other.parent < 0 || found->named.parent < 0))
            return TRUE;
    return FALSE;
}

GVariant *answer_rename(const Documents *documents, GVariant *params)
{
    Found found;
    g_autofree char *name = lsp_text(params, "newName");
    if (!name || !is_name(name) || !find(documents, params, &found) || !can_rename(&found) ||
        is_taken(&found, name))
        return NULL;
    Renaming r = {&found, name, g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    GVariantBuilder changes;
    GHashTableIter iter;
    void *uri, *edits;
    search(documents, &found, add_edit, &r);
    g_variant_builder_init(&changes, G_VARIANT_TYPE_VARDICT);
    g_hash_table_iter_init(&iter, r.edits);
    while (g_hash_table_iter_next(&iter, &uri, &edits))
        g_variant_builder_add(&changes, "{sv}", uri, lsp_array(edits));
    g_hash_table_destroy(r.edits);
    return lsp_object("changes", g_variant_builder_end(&changes), NULL);
}
