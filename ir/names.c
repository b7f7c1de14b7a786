/* names.c - Keeps a hash table of the names in use and makes new names that differ from them. */
#include "ir/names.h"

/* Where `name` is in the table, or would be. */
static NameEntry *names_slot(const Names *n, Name name)
{
    size_t mask = (size_t)n->capacity - 1, at = ((uintptr_t)name >> 3) * 0x9e3779b1u & mask;
    while (n->entries[at].name && n->entries[at].name != name)
        at = (at + 1) & mask;
    return &n->entries[at];
}

static void names_grow(Names *n)
{
    Names old = *n;
    n->capacity = old.capacity ? old.capacity * 2 : 64;
    n->entries = ARENA_ARRAY(n->c->arena, NameEntry, n->capacity);
    for (int i = 0; i < old.capacity; i++)
        if (old.entries[i].name)
            *names_slot(n, old.entries[i].name) = old.entries[i];
}

void names_take(Names *n, Name name)
{
    if (2 * (n->n + 1) > n->capacity)
        names_grow(n);
    NameEntry *slot = names_slot(n, name);
    if (slot->name)
        return;
    *slot = (NameEntry){name, 1};
    n->n++;
}

bool names_has(const Names *n, Name name)
{
    return n->capacity && names_slot(n, name)->name;
}

Name names_fresh(Names *n, const char *base)
{
    Name first = ctx_name(n->c, base), name = first;
    if (names_has(n, first)) {
        int suffix = names_slot(n, first)->next;
        do
            name = ctx_namef(n->c, "%s_%d", base, suffix++);
        while (names_has(n, name));
        names_slot(n, first)->next = suffix;
    }
    names_take(n, name);
    return name;
}

static Name defined_by(const Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: return s->u.loop.var->name;
    case ST_LET: return s->u.let.var->name;
    case ST_TEMP: return s->u.temp->name;
    case ST_BLOCK: return s->u.block.name;
    default: return NULL;
    }
}

Names names_of_kernel(Context *c, const Kernel *kernel)
{
    Names n = {.c = c};
    for (int i = 0; i < kernel->n_sizes; i++)
        names_take(&n, kernel->sizes[i].name);
    for (int i = 0; i < kernel->n_params; i++)
        names_take(&n, kernel->params[i].buffer ? kernel->params[i].buffer->name
                                                : kernel->params[i].scalar->name);
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);)
        if (defined_by(at.stmt))
            names_take(&n, defined_by(at.stmt));
    return n;
}
