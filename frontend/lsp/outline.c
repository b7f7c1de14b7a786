/* outline.c - Lists the declarations of a document, and the kinds of its names. */
#include <string.h>

#include "answers.h"

/* ---- symbols --------------------------------------------------------------------------------- */

/* SymbolKind of the protocol. */
static int symbol_kind(tirc_named_kind kind)
{
    static const int kinds[] = {
        [TIRC_NAMED_KERNEL] = 12,   [TIRC_NAMED_SIZE] = 14,      [TIRC_NAMED_TYPE] = 26,
        [TIRC_NAMED_BUFFER] = 18,   [TIRC_NAMED_SCALAR] = 13,    [TIRC_NAMED_TEMP] = 18,
        [TIRC_NAMED_VALUE] = 13,    [TIRC_NAMED_LOOP] = 13,      [TIRC_NAMED_ITERATOR] = 13,
        [TIRC_NAMED_BLOCK] = 3,     [TIRC_NAMED_REDUCER] = 25,   [TIRC_NAMED_FUNCTION] = 12,
        [TIRC_NAMED_SCHEDULE] = 6,  [TIRC_NAMED_PROC] = 6,       [TIRC_NAMED_PARAMETER] = 13,
        [TIRC_NAMED_VARIABLE] = 13, [TIRC_NAMED_PRIMITIVE] = 12, [TIRC_NAMED_INSTRUCTION] = 12,
    };
    return kinds[kind];
}

static gboolean is_own(const Document *document, const tirc_named *named)
{
    return named->place.path && !strcmp(named->place.path, document->path);
}

/* All that has a name, each described once: tirc_named. */
static GArray *all_named(const Analysis *a)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(tirc_named));
    tirc_named named;
    for (size_t i = 0; a->names && tirc_named_at(a->t, a->names, i, &named); i++)
        g_array_append_val(all, named);
    return all;
}

static GVariant *symbols_in(const Document *document, const Analysis *a, const GArray *all,
                            int parent)
{
    GPtrArray *items = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        const tirc_named *named = &g_array_index(all, tirc_named, i);
        if (named->parent != parent || !is_own(document, named))
            continue;
        GVariant *children = parent < 0 ? symbols_in(document, a, all, (int)i) : NULL;
        const char *detail = named->type ? named->type : tirc_named_kind_text(named->kind);
        g_ptr_array_add(
            items, lsp_object("name", lsp_string(named->name), "detail", lsp_string(detail), "kind",
                              lsp_int(symbol_kind(named->kind)), "range",
                              lines_range(a->lines, &named->whole), "selectionRange",
                              lines_range(a->lines, &named->place), "children", children, NULL));
    }
    return lsp_array(items);
}

GVariant *answer_symbols(const Documents *documents, GVariant *params)
{
    Document *document = documents_of(documents, params);
    if (!document)
        return NULL;
    const Analysis *a = document_analysis(documents, document);
    GArray *all = all_named(a);
    GVariant *symbols = symbols_in(document, a, all, -1);
    g_array_free(all, TRUE);
    return symbols;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

enum { TOKEN_FUNCTION, TOKEN_TYPE, TOKEN_PARAMETER, TOKEN_VARIABLE, TOKEN_CLASS, TOKEN_MACRO };
static const char *const token_types[] = {"function", "type",  "parameter",
                                          "variable", "class", "macro"};

GVariant *outline_token_types(void)
{
    GPtrArray *items = g_ptr_array_new();
    for (gsize i = 0; i < G_N_ELEMENTS(token_types); i++)
        g_ptr_array_add(items, lsp_string(token_types[i]));
    return lsp_array(items);
}

static int token_type(tirc_named_kind kind)
{
    switch (kind) {
    case TIRC_NAMED_KERNEL:
    case TIRC_NAMED_FUNCTION:
    case TIRC_NAMED_SCHEDULE:
    case TIRC_NAMED_INSTRUCTION:
    case TIRC_NAMED_PROC: return TOKEN_FUNCTION;
    case TIRC_NAMED_TYPE:
    case TIRC_NAMED_REDUCER: return TOKEN_TYPE;
    case TIRC_NAMED_SIZE:
    case TIRC_NAMED_BUFFER:
    case TIRC_NAMED_SCALAR:
    case TIRC_NAMED_PARAMETER: return TOKEN_PARAMETER;
    case TIRC_NAMED_BLOCK: return TOKEN_CLASS;
    case TIRC_NAMED_PRIMITIVE: return TOKEN_MACRO;
    default: return TOKEN_VARIABLE;
    }
}

static int compare_uses(const void *a, const void *b)
{
    const tirc_place *x = &((const tirc_name_use *)a)->place;
    const tirc_place *y = &((const tirc_name_use *)b)->place;
    return x->line != y->line ? x->line - y->line : x->column - y->column;
}

static GArray *sorted_uses(const Analysis *a)
{
    GArray *uses = g_array_new(FALSE, FALSE, sizeof(tirc_name_use));
    tirc_name_use use;
    for (size_t i = 0; a->names && tirc_name_use_at(a->t, a->names, i, &use); i++)
        g_array_append_val(uses, use);
    g_array_sort(uses, compare_uses);
    return uses;
}

/* Each token is five numbers, relative to the one in front of it. */
GVariant *answer_tokens(const Documents *documents, GVariant *params)
{
    Document *document = documents_of(documents, params);
    if (!document)
        return NULL;
    Analysis *a = document_analysis(documents, document);
    GArray *uses = sorted_uses(a), *all = all_named(a);
    GPtrArray *data = g_ptr_array_new();
    gint64 last_line = 0, last_column = 0;
    for (guint i = 0; i < uses->len; i++) {
        const tirc_name_use *use = &g_array_index(uses, tirc_name_use, i);
        const tirc_named *named = &g_array_index(all, tirc_named, use->named);
        g_autoptr(GVariant) at =
            g_variant_ref_sink(lines_position(a->lines, use->place.line, use->place.column));
        gint64 line = lsp_number(at, "line", 0), column = lsp_number(at, "character", 0);
        gint64 numbers[] = {line - last_line, line == last_line ? column - last_column : column,
                            use->place.end_column - use->place.column, token_type(named->kind), 0};
        for (gsize k = 0; k < G_N_ELEMENTS(numbers); k++)
            g_ptr_array_add(data, lsp_int(numbers[k]));
        last_line = line;
        last_column = column;
    }
    g_array_free(uses, TRUE);
    g_array_free(all, TRUE);
    return lsp_object("data", lsp_array(data), NULL);
}
