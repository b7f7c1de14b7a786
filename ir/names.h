/* names.h - Keeps the names in use and makes new ones. */
#ifndef TIRC_IR_NAMES_H
#define TIRC_IR_NAMES_H

#include "ir/ir.h"

/* Names in use, as a hash table. */
typedef struct {
    Name name; /* NULL: free */
    int next;  /* the first suffix of the name that has not been tried */
} NameEntry;
typedef struct {
    Context *c;
    NameEntry *entries;
    int n, capacity; /* a power of two, at least twice n */
} Names;
/* `name` is in use from now on. */
void names_take(Names *n, Name name);
bool names_has(const Names *n, Name name);
/* `base`, or the first of base_1, base_2 ... that is not in use; it then is. */
Name names_fresh(Names *n, const char *base);
/* Sizes, parameters, and every loop, let, temp and block below the body. */
Names names_of_kernel(Context *c, const Kernel *kernel);

#endif
