/* names.c - Chooses all names of a CUDA text.
 *
 *   kernel clamp(x: f32[N], max: f32) with a loop `max_`   `max` becomes max_1, the loop stays
 *   kernel exp(...), which CUDA has                        exp_
 *   a loop `k` that an operand of an instruction uses,     k_
 *   whose own lines have a `k`
 *
 * Functions and arrays in constant memory come first, since others look them up by name. Two lists,
 * written by tests/names/reserved.py, hold the names that compilers and libraries reserve. */
#include "codegen/cuda/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What is named, each kind in a space of its own: a kernel `y` may have a buffer `y`. */
typedef enum { NAMED_LAUNCH, NAMED_SYMBOL, NAMED_VALUE, NAMED_MADE, NAMED_COUNT } NamedKind;

typedef struct {
    Name from, to;
} Given;

struct CudaNames {
    Context *c;
    bool host;
    Names taken;    /* in the program, and in the text */
    Names captured; /* values that would mean something else in the lines of an instruction */
    /* values only where they are called something else than in the program */
    VEC(Given) given[NAMED_COUNT];
};

/* ---- what is reserved ------------------------------------------------------------------------ */

static const char *const words[] = {
#include "codegen/cuda/reserved_words.def"
};

static const char *const symbols[] = {
#include "codegen/cuda/reserved_symbols.def"
};

/* The names of the host part of a program, sorted. */
static const char *const host_words[] = {
    "CHECK",           "Check",        "Inputs",         "allocate",
    "allocated",       "atoi",         "atoll",          "check_call",
    "check_grid",      "choose",       "compare",        "compute",
    "compute_exactly", "exact_sum",    "exit",           "expected",
    "fprintf",         "fputs",        "inputs",         "memset",
    "printf",          "random_above", "random_below",   "random_between",
    "random_bits",     "random_float", "random_integer", "random_real",
    "random_state",    "release",      "size_t",         "std",
    "stderr",          "verify",       "verify_exactly",
};

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

#define IS_ONE_OF(list, text)                                                                      \
    (bsearch(text, list, sizeof list / sizeof *list, sizeof *list, compare_words) != NULL)

/* Names that belong to the compiler and its libraries by their form. */
static bool has_foreign_form(const char *text)
{
    return strstr(text, "__") || (text[0] == '_' && isupper((unsigned char)text[1])) ||
           (!strncmp(text, "cuda", 4) && isupper((unsigned char)text[4])) ||
           !strncmp(text, "CUDA", 4) || !strncmp(text, "NV_", 3);
}

/* Most names differ from `text` in their first letter. */
static inline bool is_same(const char *text, const char *name)
{
    return *text == *name && !strcmp(text, name);
}

/* The functions that the text calls. */
static bool is_called(const char *text)
{
    for (int i = 0; i < CALL_COUNT; i++)
        if (is_same(text, call_info((CallKind)i)->f32) ||
            is_same(text, call_info((CallKind)i)->f64))
            return true;
    for (int i = 0; i < HELPER_COUNT; i++)
        if (is_same(text, cuda_helper_name((Helper)i)))
            return true;
    return false;
}

/* The functions that the host's reference calls. */
static bool is_called_on_host(const char *text)
{
    for (int i = 0; i < HOST_HELPER_COUNT; i++)
        if (is_same(text, cuda_host_helper_name((HostHelper)i)))
            return true;
    return false;
}

static bool is_reserved(const CudaNames *n, NamedKind kind, Name text)
{
    if (has_foreign_form(text) || IS_ONE_OF(words, text) || is_called(text))
        return true;
    if (kind == NAMED_VALUE && names_has(&n->captured, text))
        return true;
    bool global = kind == NAMED_LAUNCH || kind == NAMED_SYMBOL;
    if ((global || n->host) && (IS_ONE_OF(host_words, text) || is_called_on_host(text)))
        return true;
    return global && (text[0] == '_' || IS_ONE_OF(symbols, text));
}

/* ---- giving out ------------------------------------------------------------------------------ */

/* `name` without what makes a name foreign by its form. */
static char *tidy(Context *c, const char *name)
{
    StrBuf out = strbuf_new(c->arena);
    for (name += strspn(name, "_"); *name; name++)
        if (*name != '_' || (name[1] != '_' && name[1] != '\0'))
            strbuf_addc(&out, *name);
    bool stays = isalpha((unsigned char)out.text[0]) && !has_foreign_form(out.text);
    return stays ? out.text : arena_printf(c->arena, "v_%s", out.text);
}

/* A name that nothing has: base_, base_1, base_2 ... */
static Name free_name(CudaNames *n, NamedKind kind, const char *base)
{
    const char *tidied = tidy(n->c, base);
    Name name = ctx_namef(n->c, "%s_", tidied);
    for (int i = 1; is_reserved(n, kind, name) || names_has(&n->taken, name); i++)
        name = ctx_namef(n->c, "%s_%d", tidied, i);
    names_take(&n->taken, name);
    return name;
}

static Name find(const CudaNames *n, NamedKind kind, Name from)
{
    for (int i = 0; i < n->given[kind].n; i++)
        if (n->given[kind].items[i].from == from)
            return n->given[kind].items[i].to;
    return NULL;
}

/* A function or array at global scope has the name. */
static bool is_global(const CudaNames *n, Name name)
{
    for (NamedKind kind = NAMED_LAUNCH; kind <= NAMED_SYMBOL; kind++)
        for (int i = 0; i < n->given[kind].n; i++)
            if (n->given[kind].items[i].to == name)
                return true;
    return false;
}

static void give(CudaNames *n, NamedKind kind, Name name)
{
    if (find(n, kind, name))
        return;
    bool stays = !is_reserved(n, kind, name) && !is_global(n, name);
    if (stays && kind == NAMED_VALUE)
        return;
    Given given = {name, stays ? name : free_name(n, kind, name)};
    VEC_PUSH(n->c->arena, &n->given[kind], given);
}

/* ---- the names of a kernel ------------------------------------------------------------------- */

/* The definition that the statement makes, and its kind; NULL: none. */
static Name defined_by(const Stmt *s, NamedKind *kind)
{
    bool symbol = s->kind == ST_TEMP && s->u.temp->scope == SCOPE_CONSTANT;
    *kind = s->kind == ST_LAUNCH ? NAMED_LAUNCH : symbol ? NAMED_SYMBOL : NAMED_VALUE;
    switch (s->kind) {
    case ST_LAUNCH: return s->u.launch.name;
    case ST_FOR: return s->u.loop.var->name;
    case ST_LET: return s->u.let.var->name;
    case ST_TEMP: return s->u.temp->name;
    default: return NULL;
    }
}

static void give_in_body(CudaNames *n, NamedKind kind, const Kernel *kernel)
{
    for (Cursor at = cursor_stmts(n->c, kernel->body); cursor_next(&at);) {
        NamedKind is;
        Name name = defined_by(at.stmt, &is);
        if (name && is == kind)
            give(n, kind, name);
    }
}

static void give_values(CudaNames *n, const Kernel *kernel)
{
    for (int i = 0; i < kernel->n_sizes; i++)
        give(n, NAMED_VALUE, kernel->sizes[i].name);
    for (int i = 0; i < kernel->n_params; i++) {
        const Param *p = &kernel->params[i];
        give(n, NAMED_VALUE, p->buffer ? p->buffer->name : p->scalar->name);
    }
    give_in_body(n, NAMED_VALUE, kernel);
}

/* ---- the names of instructions --------------------------------------------------------------- */

/* Behind the quote that ends a string. */
static const char *behind_string(const char *text)
{
    for (text++; *text && *text != '"'; text++)
        text += *text == '\\' && text[1];
    return *text ? text + 1 : text;
}

/* The words of lines outside of their strings. */
static void take_words(Names *out, Context *c, const char *text)
{
    while (*text) {
        size_t n = 0;
        while (isalnum((unsigned char)text[n]) || text[n] == '_')
            n++;
        if (n > 0)
            names_take(out, interner_get(c->names, text, n));
        text = *text == '"' ? behind_string(text) : text + (n > 0 ? n : 1);
    }
}

/* What the text of an element uses, where lines of the instruction have a word like it. */
static void capture_element(CudaNames *n, const Names *lines, const Expr *element)
{
    const Buffer *b = element->u.load.buffer;
    if (names_has(lines, b->name))
        names_take(&n->captured, b->name);
    for (int d = 0; d < 2 * b->rank; d++)
        for (Cursor at =
                 cursor_expr(n->c, d < b->rank ? element->u.load.index[d] : b->shape[d - b->rank]);
             cursor_next(&at);) {
            Name name = at.expr->kind == EX_VAR    ? at.expr->u.var->name
                        : at.expr->kind == EX_LOAD ? at.expr->u.load.buffer->name
                                                   : NULL;
            if (name && names_has(lines, name))
                names_take(&n->captured, name);
        }
}

static void find_captured(CudaNames *n, const Kernel *lowered)
{
    for (Cursor at = cursor_stmts(n->c, lowered->body); cursor_next(&at);) {
        const Instruction *of = at.stmt->kind == ST_INSTRUCTION ? at.stmt->u.instruction.of : NULL;
        Names lines = {.c = n->c};
        for (int i = 0; of && i < of->n_pieces; i++)
            if (of->pieces[i].kind == PIECE_TEXT)
                take_words(&lines, n->c, of->pieces[i].text);
        int before = n->captured.n;
        for (int i = 0; of && i < of->n_elements; i++)
            capture_element(n, &lines, at.stmt->u.instruction.elements[i]);
        for (int i = 0; n->captured.n > before && i < lines.capacity; i++)
            if (lines.entries[i].name)
                names_take(&n->taken, lines.entries[i].name);
    }
}

/* All names of the kernel: what gets another name gets none of these. */
static void take_names(Names *taken, Context *c, const Kernel *kernel)
{
    Names own = names_of_kernel(c, kernel);
    StmtList launches = stmts_of_kind(c, kernel->body, ST_LAUNCH);
    for (int i = 0; i < launches.n; i++)
        names_take(&own, launches.items[i]->u.launch.name);
    for (int i = 0; i < own.capacity; i++)
        if (own.entries[i].name)
            names_take(taken, own.entries[i].name);
}

CudaNames *cuda_names_new(Context *c, const Kernel *lowered)
{
    CudaNames *n = ARENA_NEW(c->arena, CudaNames);
    n->c = c;
    n->taken.c = c;
    n->captured.c = c;
    take_names(&n->taken, c, lowered);
    find_captured(n, lowered);
    give_in_body(n, NAMED_LAUNCH, lowered);
    give_in_body(n, NAMED_SYMBOL, lowered);
    give_values(n, lowered);
    return n;
}

CudaNames *cuda_names_host(const CudaNames *device, const CuKernels *k)
{
    const Kernel *all[] = {k->lowered, k->expected, k->exact};
    int n_all = k->exact ? 3 : 2;
    Context *c = device->c;
    CudaNames *n = ARENA_NEW(c->arena, CudaNames);
    n->c = c;
    n->taken.c = c;
    n->host = true;
    for (int i = 0; i < n_all; i++)
        take_names(&n->taken, c, all[i]);
    for (NamedKind kind = NAMED_LAUNCH; kind <= NAMED_SYMBOL; kind++)
        for (int i = 0; i < device->given[kind].n; i++) {
            VEC_PUSH(c->arena, &n->given[kind], device->given[kind].items[i]);
            names_take(&n->taken, device->given[kind].items[i].to);
        }
    for (int i = 0; i < n_all; i++)
        give_values(n, all[i]);
    return n;
}

/* ---- asking ---------------------------------------------------------------------------------- */

Name cuda_names_launch(const CudaNames *n, Name launch)
{
    Name to = find(n, NAMED_LAUNCH, launch);
    return to ? to : launch;
}

Name cuda_names_value(const CudaNames *n, Name name)
{
    Name to = find(n, NAMED_VALUE, name);
    return to ? to : name;
}

Name cuda_names_buffer(const CudaNames *n, const Buffer *b)
{
    Name symbol = b->scope == SCOPE_CONSTANT ? find(n, NAMED_SYMBOL, b->name) : NULL;
    return symbol ? symbol : cuda_names_value(n, b->name);
}

Name cuda_names_made(CudaNames *n, const char *what, const char *base)
{
    Name from = ctx_namef(n->c, "%s %s", what, base), name = ctx_name(n->c, base),
         to = find(n, NAMED_MADE, from);
    if (to)
        return to;
    bool stays = !is_reserved(n, NAMED_MADE, name) && !names_has(&n->taken, name);
    Given given = {from, stays ? name : free_name(n, NAMED_MADE, name)};
    names_take(&n->taken, given.to);
    VEC_PUSH(n->c->arena, &n->given[NAMED_MADE], given);
    return given.to;
}
