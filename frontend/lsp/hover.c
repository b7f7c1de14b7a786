/* hover.c - Describes what a name stands for: its declaration, type, domain and regions; of a
 * primitive its manual. */
#include <string.h>

#include "answers.h"

static void add_region(Analysis *a, const tirc_named *named, GString *out)
{
    tirc_named parent;
    gboolean elements = named->kind == TIRC_NAMED_BUFFER || named->kind == TIRC_NAMED_TEMP;
    if (!elements || named->parent < 0 ||
        !tirc_named_at(a->t, a->names, (size_t)named->parent, &parent))
        return;
    tirc_kernel *kernel = analysis_kernel(a, parent.name);
    const char *region = kernel ? tirc_regions(a->t, kernel, named->name) : NULL;
    if (region)
        g_string_append_printf(out, "\n\nregion: %s", region);
}

static void add_domain(const tirc_named *named, GString *out)
{
    const char *what =
        named->kind == TIRC_NAMED_LOOP || named->kind == TIRC_NAMED_ITERATOR    ? "domain"
        : named->kind == TIRC_NAMED_VALUE || named->kind == TIRC_NAMED_VARIABLE ? "value"
                                                                                : "default";
    if (!named->domain)
        return;
    if (strcmp(what, "domain") != 0)
        g_string_append_printf(out, "\n\n%s: `%s`", what, named->domain);
    else if (strstr(named->domain, ".."))
        g_string_append_printf(out, "\n\ndomain: `%s`", named->domain);
    else
        g_string_append_printf(out, "\n\ndomain: `0..%s`", named->domain);
}

static gboolean shows_declaration(tirc_named_kind kind)
{
    return kind == TIRC_NAMED_KERNEL || kind == TIRC_NAMED_REDUCER || kind == TIRC_NAMED_FUNCTION ||
           kind == TIRC_NAMED_INSTRUCTION || kind == TIRC_NAMED_SCHEDULE ||
           kind == TIRC_NAMED_PROC || kind == TIRC_NAMED_BLOCK || kind == TIRC_NAMED_TEMP;
}

/* A description of what a name stands for, in Markdown, to be freed. */
static char *hover_text(Analysis *a, const tirc_named *named)
{
    const char *manual =
        named->kind == TIRC_NAMED_PRIMITIVE ? tirc_explain_primitive(a->t, named->name) : NULL;
    GString *out = g_string_new(NULL);
    if (manual)
        g_string_append_printf(out, "```text\n%s```", manual);
    else if (shows_declaration(named->kind) && named->declaration)
        g_string_append_printf(out, "```tir\n%s\n```\n\n%s", named->declaration,
                               tirc_named_kind_text(named->kind));
    else if (named->type)
        g_string_append_printf(out, "```tir\n%s: %s\n```\n\n%s", named->name, named->type,
                               tirc_named_kind_text(named->kind));
    else
        g_string_append_printf(out, "`%s`: %s", named->name, tirc_named_kind_text(named->kind));
    add_domain(named, out);
    add_region(a, named, out);
    return g_string_free(out, FALSE);
}

GVariant *answer_hover(const Documents *documents, GVariant *params)
{
    Document *document = documents_of(documents, params);
    g_autoptr(GVariant) position = lsp_member(params, "position");
    Analysis *a = document ? document_analysis(documents, document) : NULL;
    int at = a ? analysis_use_at(a, position) : -1;
    tirc_name_use use;
    tirc_named named;
    if (at < 0 || !tirc_name_use_at(a->t, a->names, (size_t)at, &use) ||
        !tirc_named_at(a->t, a->names, (size_t)use.named, &named))
        return NULL;
    g_autofree char *text = hover_text(a, &named);
    GVariant *contents =
        lsp_object("kind", lsp_string("markdown"), "value", lsp_string(text), NULL);
    return lsp_object("contents", contents, "range", lines_range(a->lines, &use.place), NULL);
}
