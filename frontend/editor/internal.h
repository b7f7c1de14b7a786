/* internal.h - Declares the walk over a file that finds its names (internal to frontend/editor). */
#ifndef TIRC_FRONTEND_EDITOR_INTERNAL_H
#define TIRC_FRONTEND_EDITOR_INTERNAL_H

#include "frontend/editor/names.h"

typedef struct {
    Context *c;
    NameIndex *index;
    const AstFile *file;
    VEC(int) visible; /* numbers of names in scope, the innermost last */
    int parent;
    bool foreign; /* in another file: its declarations count, its uses do not */
} Walk;

/* Declares `named`, whose name may be `_` or missing; returns its number. */
int walk_declare(Walk *w, const Named *named);
/* The same, visible up to walk_end of a scope that begins in front of it. */
void walk_declare_here(Walk *w, const Named *named);
int walk_begin(const Walk *w);
/* Ends a scope at the end of `around`. */
void walk_end(Walk *w, int begin, Span around);
/* What a name in scope stands for; -1: nothing. */
int walk_find(const Walk *w, Name name);
/* Records a use of number `named`; nothing for -1. */
void walk_use(Walk *w, Span span, int named);
/* A declaration among the items of files: a kernel, reducer, function, instruction; -1: none. */
int walk_find_item(const Walk *w, NamedKind kind, Name name);
/* From the begin of one to the end of the other. */
Span walk_span(Span begin, Span end);

/* The kernels, reducers and functions of a file; and the schedules and procs (names_script.c). */
void walk_programs(Walk *w, const AstFile *file);
void walk_scripts(Walk *w, const AstFile *file);

#endif
