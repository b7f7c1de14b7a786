/* document.c - Keeps open documents, and applies edits to their texts. */
#include "document.h"

#include <string.h>

static void document_free(void *data)
{
    Document *document = data;
    if (document->good && document->good != document->now)
        analysis_free(document->good);
    if (document->now)
        analysis_free(document->now);
    g_string_free(document->text, TRUE);
    g_free(document->uri);
    g_free(document->path);
    g_free(document);
}

Documents *documents_new(void)
{
    Documents *documents = g_new0(Documents, 1);
    documents->by_uri = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, document_free);
    return documents;
}

void documents_free(Documents *documents)
{
    g_hash_table_destroy(documents->by_uri);
    g_free(documents);
}

/* What is known of other documents may be about this one. */
static void forget(Document *document)
{
    if (document->now && document->now != document->good)
        analysis_free(document->now);
    document->now = NULL;
}

static void forget_all(Documents *documents)
{
    GHashTableIter iter;
    void *document;
    g_hash_table_iter_init(&iter, documents->by_uri);
    while (g_hash_table_iter_next(&iter, NULL, &document))
        forget(document);
}

void documents_open(Documents *documents, const char *uri, const char *text, gint64 version)
{
    Document *document = g_new0(Document, 1);
    document->uri = g_strdup(uri);
    document->path = g_filename_from_uri(uri, NULL, NULL);
    if (!document->path)
        document->path = g_strdup(uri);
    document->text = g_string_new(text);
    document->version = version;
    g_hash_table_replace(documents->by_uri, document->uri, document);
    forget_all(documents);
}

void documents_close(Documents *documents, const char *uri)
{
    g_hash_table_remove(documents->by_uri, uri);
    forget_all(documents);
}

Document *documents_find(const Documents *documents, const char *uri)
{
    return uri ? g_hash_table_lookup(documents->by_uri, uri) : NULL;
}

Document *documents_of(const Documents *documents, GVariant *params)
{
    g_autoptr(GVariant) text_document = lsp_member(params, "textDocument");
    g_autofree char *uri = lsp_text(text_document, "uri");
    return documents_find(documents, uri);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static void apply_change(Document *document, GVariant *change)
{
    g_autofree char *text = lsp_text(change, "text");
    g_autoptr(GVariant) range = lsp_member(change, "range");
    if (!text)
        return;
    if (!range) {
        g_string_assign(document->text, text);
        return;
    }
    g_autoptr(Lines) lines = lines_new(document->text->str, document->text->len);
    g_autoptr(GVariant) start = lsp_member(range, "start");
    g_autoptr(GVariant) end = lsp_member(range, "end");
    gsize begin = lines_offset(lines, start), stop = MAX(lines_offset(lines, end), begin);
    g_string_erase(document->text, (gssize)begin, (gssize)(stop - begin));
    g_string_insert(document->text, (gssize)begin, text);
}

void document_change(Document *document, GVariant *changes, gint64 version)
{
    GVariant *change;
    for (gsize i = 0; (change = lsp_item(changes, i)) != NULL; i++) {
        apply_change(document, change);
        g_variant_unref(change);
    }
    document->version = version;
    forget(document);
}

/* ---- analyses -------------------------------------------------------------------------------- */

static void overlay_free(void *data)
{
    Overlay *overlay = data;
    g_free(overlay->path);
    g_free(overlay->text);
    g_free(overlay);
}

GPtrArray *documents_overlays(const Documents *documents)
{
    GPtrArray *overlays = g_ptr_array_new_with_free_func(overlay_free);
    GHashTableIter iter;
    void *value;
    g_hash_table_iter_init(&iter, documents->by_uri);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Document *document = value;
        Overlay *overlay = g_new(Overlay, 1);
        *overlay = (Overlay){g_strdup(document->path), g_strdup(document->text->str)};
        g_ptr_array_add(overlays, overlay);
    }
    return overlays;
}

static gboolean has_names(const Analysis *analysis)
{
    tirc_named named;
    return analysis->names && tirc_named_at(analysis->t, analysis->names, 0, &named);
}

static void keep_as_good(Document *document)
{
    if (document->good)
        analysis_free(document->good);
    document->good = document->now;
}

Analysis *document_analysis(const Documents *documents, Document *document)
{
    if (!document->now) {
        g_autoptr(GPtrArray) overlays = documents_overlays(documents);
        document->now =
            analysis_new(document->path, document->text->str, document->text->len, overlays);
        if (has_names(document->now))
            keep_as_good(document);
    }
    return document->now;
}

Analysis *document_names(const Documents *documents, Document *document)
{
    Analysis *now = document_analysis(documents, document);
    return has_names(now) || !document->good ? now : document->good;
}
