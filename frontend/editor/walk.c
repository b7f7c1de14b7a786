/* walk.c - Keeps the scopes of a walk over a file, and records declarations and uses. */
#include "frontend/editor/internal.h"

int walk_declare(Walk *w, const Named *named)
{
    int number = w->index->items.n;
    Named own = *named;
    own.parent = w->parent;
    VEC_PUSH(w->c->arena, &w->index->items, own);
    if (!w->foreign && own.span.source) {
        NameUse use = {own.span, number, true};
        VEC_PUSH(w->c->arena, &w->index->uses, use);
    }
    return number;
}

void walk_declare_here(Walk *w, const Named *named)
{
    int number = walk_declare(w, named);
    w->index->items.items[number].scope = named->span;
    VEC_PUSH(w->c->arena, &w->visible, number);
}

int walk_begin(const Walk *w)
{
    return w->visible.n;
}

void walk_end(Walk *w, int begin, Span around)
{
    while (w->visible.n > begin) {
        Named *named = &w->index->items.items[w->visible.items[--w->visible.n]];
        named->scope.end = around.end;
    }
}

int walk_find(const Walk *w, Name name)
{
    for (int i = w->visible.n - 1; i >= 0; i--)
        if (w->index->items.items[w->visible.items[i]].name == name)
            return w->visible.items[i];
    return -1;
}

int walk_find_item(const Walk *w, NamedKind kind, Name name)
{
    for (int i = 0; i < w->index->items.n; i++)
        if (w->index->items.items[i].kind == kind && w->index->items.items[i].name == name)
            return i;
    return -1;
}

void walk_use(Walk *w, Span span, int named)
{
    if (named < 0 || w->foreign)
        return;
    NameUse use = {span, named, false};
    VEC_PUSH(w->c->arena, &w->index->uses, use);
}

Span walk_span(Span begin, Span end)
{
    return (Span){begin.source, begin.begin, end.end};
}
