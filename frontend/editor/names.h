/* names.h - Finds what the names of a file stand for, for editors: declarations, scopes and uses.
 *
 * It works on the syntax tree, so a program that is refused has names, too. Scripts see the names
 * of the programs that they are for. */
#ifndef TIRC_FRONTEND_EDITOR_NAMES_H
#define TIRC_FRONTEND_EDITOR_NAMES_H

#include "frontend/syntax/ast.h"

typedef enum {
    NAMED_KERNEL,
    NAMED_SIZE,
    NAMED_TYPE,
    NAMED_BUFFER, /* a parameter with elements, or an output */
    NAMED_SCALAR,
    NAMED_TEMP,
    NAMED_VALUE, /* `let` */
    NAMED_LOOP,
    NAMED_ITER,
    NAMED_BLOCK,
    NAMED_REDUCER,
    NAMED_FUNCTION,
    NAMED_SCHEDULE,
    NAMED_PROC,
    NAMED_PARAMETER, /* of a schedule or proc */
    NAMED_VARIABLE,  /* of a script */
    NAMED_PRIMITIVE,
    NAMED_INSTRUCTION,
} NamedKind;

typedef struct {
    NamedKind kind;
    Name name;
    Span span;  /* of the name; no source for a primitive */
    Span whole; /* of the declaration */
    Span scope; /* where the name means this; no source: in all files that see the declaration */
    int parent; /* the kernel, schedule ... around it; -1: none */
    Span type, domain; /* their texts; no source: none */
} Named;

/* A name in the text of the file. */
typedef struct {
    Span span;
    int named;
    bool declares;
} NameUse;

typedef struct {
    VEC(Named) items;
    VEC(NameUse) uses;
} NameIndex;

/* The names of `file`. `program`: the file with the kernels of its schedules, or NULL where that is
 * `file`. Declarations of both, and those of includes and the library that `file` uses. */
const NameIndex *names_index(Context *c, const AstFile *file, const AstFile *program);

#endif
