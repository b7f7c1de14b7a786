/* names.c - Keeps the names in scope and the names of blocks.
 *
 * A name means one thing at a time: declaring one that is in sight is an error, so text can move
 * through rewrites without renaming.  Loops, values and views are out of sight in the body of a
 * written block, which speaks of its iterators; those may share the loops' names. */
#include <string.h>

#include "frontend/resolve/internal.h"

static bool is_hidden_loop(const Resolver *r, int i)
{
    const Symbol *s = &r->symbols.items[i];
    bool hides = s->kind == SYMBOL_VIEW ||
                 (s->kind == SYMBOL_VAR && (s->var->kind == VAR_LOOP || s->var->kind == VAR_LET));
    return i < r->loops_from && hides;
}

static bool in_sight(const Resolver *r, int i)
{
    return !r->symbols.items[i].over && !is_hidden_loop(r, i);
}

const Symbol *names_find(const Resolver *r, Name name)
{
    for (int i = r->symbols.n - 1; i >= 0; i--)
        if (r->symbols.items[i].name == name && in_sight(r, i))
            return &r->symbols.items[i];
    return NULL;
}

const char *symbol_describe(const Symbol *s)
{
    switch (s->kind) {
    case SYMBOL_SIZE: return "a size";
    case SYMBOL_TYPE: return "a type parameter";
    case SYMBOL_TUPLE: return "a tuple";
    case SYMBOL_VIEW: return "a view";
    case SYMBOL_BUFFER: return s->buffer->role == ROLE_TEMP ? "a temp" : "a buffer";
    case SYMBOL_VAR: break;
    }
    switch (s->var->kind) {
    case VAR_SIZE: return "a size";
    case VAR_SCALAR: return "a scalar parameter";
    case VAR_LOOP: return "a loop";
    case VAR_ITER: return "an iterator";
    case VAR_LET: return "a named value";
    }
    return "a name";
}

/* Iterators may have the names of loops that their block does not see. */
static const Symbol *find_clash(const Resolver *r, const Symbol *own)
{
    bool iter = own->kind == SYMBOL_VAR && own->var->kind == VAR_ITER;
    for (int i = r->symbols.n - 1; i >= 0; i--)
        if (r->symbols.items[i].name == own->name && !r->symbols.items[i].is_free &&
            !(iter && is_hidden_loop(r, i)))
            return &r->symbols.items[i];
    return NULL;
}

/* A temporary of this name that has ended, or NULL. */
static const Symbol *find_ended_twin(const Resolver *r, const Symbol *own)
{
    for (int i = 0; own->kind == SYMBOL_BUFFER && i < r->ended.n; i++)
        if (r->ended.items[i].buffer->name == own->buffer->name)
            return &r->ended.items[i];
    return NULL;
}

void names_add(Resolver *r, Symbol symbol)
{
    const Symbol *ended = find_ended_twin(r, &symbol);
    const Symbol *other = find_clash(r, &symbol);
    if (other) {
        diag_error(r->ctx, E0202, symbol.span,
                   "'%.60s' is already the name of %s; choose another name here", symbol.name,
                   symbol_describe(other));
        diag_note(r->ctx, other->span, "'%.60s' is declared here", other->name);
    } else if (ended) {
        diag_error(r->ctx, E0202, symbol.span,
                   "'%.60s' is already the name of an earlier temp; schedules find buffers by "
                   "name, so each temp needs a name of its own",
                   symbol.name);
        diag_note(r->ctx, ended->span, "'%.60s' is declared here", ended->name);
    } else if (type_find(symbol.name) != DT_COUNT) {
        diag_error(r->ctx, E0202, symbol.span, "'%s' is the name of a type; choose another",
                   symbol.name);
    }
    VEC_PUSH(r->ctx->arena, &r->symbols, symbol);
}

void names_cut(Resolver *r, int n)
{
    for (int i = n; i < r->symbols.n; i++)
        if (r->symbols.items[i].kind == SYMBOL_BUFFER)
            VEC_PUSH(r->ctx->arena, &r->ended, r->symbols.items[i]);
    r->symbols.n = n;
}

void names_end(Resolver *r, int n)
{
    for (int i = n; i < r->symbols.n; i++) {
        Symbol *s = &r->symbols.items[i];
        s->over = true;
        s->is_free = r->mode == MODE_PROGRAM && (s->kind == SYMBOL_VAR || s->kind == SYMBOL_VIEW);
    }
}

/* ---- a name that means nothing ---- */

static const Symbol *find_ended(const Resolver *r, Name name)
{
    for (int i = r->symbols.n - 1; i >= 0; i--)
        if (r->symbols.items[i].over && r->symbols.items[i].name == name)
            return &r->symbols.items[i];
    for (int i = r->ended.n - 1; i >= 0; i--)
        if (r->ended.items[i].name == name)
            return &r->ended.items[i];
    return NULL;
}

static const char *suggest(Resolver *r, Name name)
{
    const char **words = ARENA_ARRAY(r->ctx->arena, const char *, r->symbols.n + 1);
    int n = 0;
    for (int i = 0; i < r->symbols.n; i++)
        if (in_sight(r, i))
            words[n++] = r->symbols.items[i].name;
    return diag_suggest(name, words, n);
}

void names_unknown(Resolver *r, AstName name, const char *what)
{
    const Symbol *ended = find_ended(r, name.text);
    if (ended) {
        diag_error(r->ctx, E0201, name.span,
                   "'%.60s' is no longer in scope; the scope of a temp or value ends with the "
                   "braces around its declaration, so declare it further out",
                   name.text);
        diag_note(r->ctx, ended->span, "'%.60s' is declared here", name.text);
        return;
    }
    const char *near = suggest(r, name.text);
    if (!near) {
        diag_error(r->ctx, E0201, name.span,
                   "unknown %s '%.60s'; declare it as a size, a parameter, a temp or a loop", what,
                   name.text);
        return;
    }
    diag_error(r->ctx, E0201, name.span, "unknown %s '%.60s'; did you mean '%s'?", what, name.text,
               near);
    diag_remedy(r->ctx, name.span, name.text, near);
}

/* ---- names of blocks: a hash table by the interned pointer ---- */

static int slot_of(const NameTable *t, Name name)
{
    size_t mask = (size_t)t->capacity - 1;
    size_t i = ((uintptr_t)name >> 3) * 0x9e3779b97f4a7c15u >> 20 & mask;
    while (t->names[i] && t->names[i] != name)
        i = (i + 1) & mask;
    return (int)i;
}

static void table_grow(Context *c, NameTable *t)
{
    NameTable old = *t;
    t->capacity = old.capacity ? 2 * old.capacity : 64;
    t->names = ARENA_ARRAY(c->arena, Name, t->capacity);
    t->counts = ARENA_ARRAY(c->arena, int, t->capacity);
    for (int i = 0; i < old.capacity; i++)
        if (old.names[i]) {
            int slot = slot_of(t, old.names[i]);
            t->names[slot] = old.names[i];
            t->counts[slot] = old.counts[i];
        }
}

/* How often the name was asked for before, and counts it. */
static int *table_use(Context *c, NameTable *t, Name name)
{
    if (2 * (t->n + 1) > t->capacity)
        table_grow(c, t);
    int slot = slot_of(t, name);
    if (!t->names[slot]) {
        t->names[slot] = name;
        t->n++;
    }
    return &t->counts[slot];
}

static void claim(Resolver *r, AstName name)
{
    if ((*table_use(r->ctx, &r->blocks, name.text))++ > 0)
        diag_error(r->ctx, E0202, name.span,
                   "'%.60s' is already the name of another block; schedules find blocks by name, "
                   "so each block needs a name of its own",
                   name.text);
}

void block_names_claim(Resolver *r, const AstStmt *s)
{
    switch (s->kind) {
    case AS_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            block_names_claim(r, s->u.seq.items[i]);
        break;
    case AS_FOR: block_names_claim(r, s->u.loop.body); break;
    case AS_IF:
    case AS_WHILE:
        block_names_claim(r, s->u.cond.then);
        if (s->u.cond.otherwise)
            block_names_claim(r, s->u.cond.otherwise);
        break;
    case AS_LABEL:
        claim(r, s->u.label.name);
        block_names_claim(r, s->u.label.body);
        break;
    case AS_BLOCK: claim(r, s->u.block.name); break;
    default: break;
    }
}

Name block_names_fresh(Resolver *r, Name base)
{
    int *count = table_use(r->ctx, &r->blocks, base);
    if (*count == 0) {
        *count = 1;
        return base;
    }
    for (;;) {
        Name name = ctx_namef(r->ctx, "%s_%d", base, (*table_use(r->ctx, &r->blocks, base))++);
        int *used = table_use(r->ctx, &r->blocks, name);
        if (*used == 0) {
            *used = 1;
            return name;
        }
    }
}
