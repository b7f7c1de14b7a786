/* complete.c - Lists the names that may stand at a position. */
#include <string.h>

#include "answers.h"

/* Kinds of CompletionItem. */
enum {
    KIND_FUNCTION = 3,
    KIND_VARIABLE = 6,
    KIND_MODULE = 9,
    KIND_VALUE = 12,
    KIND_KEYWORD = 14,
    KIND_TYPE = 25,
    KIND_CONSTANT = 21
};

typedef struct {
    Analysis *analysis;
    int line;   /* of the position, from 1 */
    int around; /* number of the kernel, schedule or proc around it; -1: none */
    gboolean script;
    GPtrArray *items;
    GHashTable *seen;
} Completion;

static const char *const script_words[] = {"let",   "for",    "if",     "else", "try",
                                           "tune",  "assert", "return", "in",   "true",
                                           "false", "auto",   NULL};
static const char *const script_values[] = {
    "blockIdx.x",  "blockIdx.y", "blockIdx.z",   "threadIdx.x", "threadIdx.y",
    "threadIdx.z", "shared",     "local",        "global",      "constant",
    "warp",        "cluster",    "cluster.rank", NULL};
static const char *const script_functions[] = {"len", "ceildiv", "min", "max", NULL};
static const char *const program_words[] = {"for",  "while", "break",  "if", "else", "let", "temp",
                                            "init", "block", "reduce", "in", "step", NULL};
static const char *const program_functions[] = {"min", "max", "exp",    "log",   "sqrt", "abs",
                                                "pow", "fma", "select", "floor", "ceil", NULL};
static const char *const types[] = {"f64", "f32", "f16", "bf16", "i64", "i32",  "i16",
                                    "i8",  "u64", "u32", "u16",  "u8",  "bool", NULL};
static const char *const items_of_files[] = {"kernel",   "fn",   "reducer", "instruction",
                                             "schedule", "proc", "include", NULL};

/* Adds an item, to which others may be added. NULL: the name is there already. */
static void add(Completion *c, const char *name, int kind, const char *detail,
                const char *documentation)
{
    if (!g_hash_table_add(c->seen, g_strdup(name)))
        return;
    GVariant *text = documentation ? lsp_object("kind", lsp_string("markdown"), "value",
                                                lsp_string(documentation), NULL)
                                   : NULL;
    g_ptr_array_add(c->items,
                    lsp_object("label", lsp_string(name), "kind", lsp_int(kind), "detail",
                               detail ? lsp_string(detail) : NULL, "documentation", text, NULL));
}

static void add_words(Completion *c, const char *const *words, int kind)
{
    for (; *words; words++)
        add(c, *words, kind, NULL, NULL);
}

/* ---- names ----------------------------------------------------------------------------------- */

static gboolean holds(const Completion *c, const tirc_place *place)
{
    return place->line <= c->line && c->line <= place->end_line;
}

static gboolean is_script(tirc_named_kind kind)
{
    return kind == TIRC_NAMED_SCHEDULE || kind == TIRC_NAMED_PROC;
}

static gboolean is_own(const Completion *c, const tirc_named *named, const char *path)
{
    (void)c;
    return named->place.path && !strcmp(named->place.path, path);
}

/* The kernel or script around the line. */
static void find_around(Completion *c, const char *path)
{
    tirc_named named;
    Analysis *a = c->analysis;
    c->around = -1;
    c->script = g_str_has_suffix(path, ".sched");
    for (size_t i = 0; a->names && tirc_named_at(a->t, a->names, i, &named); i++) {
        if (named.parent >= 0 || !is_own(c, &named, path) || !holds(c, &named.whole))
            continue;
        c->around = (int)i;
        c->script = is_script(named.kind);
    }
}

/* Blocks, buffers, temps and sizes of programs, which scripts name. */
static gboolean is_for_scripts(tirc_named_kind kind)
{
    return kind == TIRC_NAMED_BLOCK || kind == TIRC_NAMED_BUFFER || kind == TIRC_NAMED_TEMP ||
           kind == TIRC_NAMED_SIZE;
}

static gboolean is_visible(const Completion *c, const tirc_named *named)
{
    tirc_named parent;
    if (named->kind == TIRC_NAMED_PRIMITIVE)
        return FALSE; /* all of them are added */
    if (named->parent < 0)
        return c->script ? named->kind == TIRC_NAMED_PROC || named->kind == TIRC_NAMED_INSTRUCTION
                         : named->kind == TIRC_NAMED_FUNCTION || named->kind == TIRC_NAMED_REDUCER;
    if (named->parent == c->around)
        return named->scope.path ? holds(c, &named->scope) : TRUE;
    return c->script && is_for_scripts(named->kind) &&
           tirc_named_at(c->analysis->t, c->analysis->names, (size_t)named->parent, &parent) &&
           parent.kind == TIRC_NAMED_KERNEL;
}

static int kind_of(tirc_named_kind kind)
{
    switch (kind) {
    case TIRC_NAMED_PROC:
    case TIRC_NAMED_INSTRUCTION:
    case TIRC_NAMED_FUNCTION: return KIND_FUNCTION;
    case TIRC_NAMED_SIZE: return KIND_CONSTANT;
    case TIRC_NAMED_TYPE:
    case TIRC_NAMED_REDUCER: return KIND_TYPE;
    case TIRC_NAMED_BLOCK: return KIND_MODULE;
    default: return KIND_VARIABLE;
    }
}

static void add_names(Completion *c)
{
    tirc_named named;
    Analysis *a = c->analysis;
    for (size_t i = 0; a->names && tirc_named_at(a->t, a->names, i, &named); i++) {
        if (!is_visible(c, &named))
            continue;
        const char *detail = named.type ? named.type : tirc_named_kind_text(named.kind);
        if (named.kind == TIRC_NAMED_PROC && named.declaration)
            detail = named.declaration;
        add(c, named.name, kind_of(named.kind), detail, NULL);
    }
}

static void add_primitives(Completion *c)
{
    const char *const *names = tirc_primitives(c->analysis->t);
    for (; *names; names++)
        add(c, *names, KIND_FUNCTION, "a primitive", tirc_primitive_summary(*names));
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void add_all(Completion *c)
{
    add_names(c);
    if (c->around < 0) {
        add_words(c, items_of_files, KIND_KEYWORD);
    } else if (c->script) {
        add_primitives(c);
        add_words(c, script_functions, KIND_FUNCTION);
        add_words(c, script_values, KIND_VALUE);
        add_words(c, script_words, KIND_KEYWORD);
    } else {
        add_words(c, program_functions, KIND_FUNCTION);
        add_words(c, types, KIND_TYPE);
        add_words(c, program_words, KIND_KEYWORD);
    }
}

/* Behind a '.', only the coordinates of an axis may stand. */
static gboolean is_behind_dot(const Document *document, GVariant *position)
{
    g_autoptr(Lines) lines = lines_new(document->text->str, document->text->len);
    gsize at = lines_offset(lines, position);
    while (at > 0 && g_ascii_isalnum(document->text->str[at - 1]))
        at--;
    return at > 0 && document->text->str[at - 1] == '.';
}

GVariant *answer_completion(const Documents *documents, GVariant *params)
{
    static const char *const axes[] = {"x", "y", "z", NULL};
    Document *document = documents_of(documents, params);
    g_autoptr(GVariant) position = lsp_member(params, "position");
    if (!document)
        return NULL;
    Completion c = {.analysis = document_names(documents, document),
                    .line = (int)lsp_number(position, "line", 0) + 1,
                    .items = g_ptr_array_new(),
                    .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    find_around(&c, document->path);
    if (is_behind_dot(document, position))
        add_words(&c, axes, KIND_VALUE);
    else if (c.analysis->t)
        add_all(&c);
    g_hash_table_destroy(c.seen);
    return lsp_object("isIncomplete", lsp_bool(FALSE), "items", lsp_array(c.items), NULL);
}
