/* names.c - Chooses all names of a CUDA text.
 *
 *   kernel clamp(x: f32[N], max: f32) with a loop `max_`   `max` becomes max_1, the loop stays
 *   kernel exp(...), which CUDA has                        exp_
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
    Names taken; /* in the program, and in the text */
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

/* The functions that the text calls. */
static bool is_called(const char *text)
{
    for (int i = 0; i < CALL_COUNT; i++)
        if (!strcmp(text, call_info((CallKind)i)->f32) ||
            !strcmp(text, call_info((CallKind)i)->f64))
            return true;
    for (int i = 0; i < HELPER_COUNT; i++)
        if (!strcmp(text, cuda_helper_name((Helper)i)))
            return true;
    return false;
}

/* The functions that the host's reference calls. */
static bool is_called_on_host(const char *text)
{
    for (int i = 0; i < HOST_HELPER_COUNT; i++)
        if (!strcmp(text, cuda_host_helper_name((HostHelper)i)))
            return true;
    return false;
}

static bool is_reserved(const CudaNames *n, NamedKind kind, const char *text)
{
    if (has_foreign_form(text) || IS_ONE_OF(words, text) || is_called(text))
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
    take_names(&n->taken, c, lowered);
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
