/* api_against.c - text that has been lowered says what it is to be compared with: a program of the same interface. */
#include "frontend/api_internal.h"

#include <string.h>

static const char *name_of(const Param *p)
{
    return p->buffer ? p->buffer->name : p->scalar->name;
}

/* Extents that are not both numbers are taken at their word: sizes have the same names. */
static bool same_shape(const Buffer *a, const Buffer *b)
{
    int64_t x, y;
    if (a->rank != b->rank)
        return false;
    for (int axis = 0; axis < a->rank; axis++)
        if (expr_is_const(a->shape[axis], &x) && expr_is_const(b->shape[axis], &y) && x != y)
            return false;
    return true;
}

static bool same_param(const Param *a, const Param *b)
{
    if (!a->buffer != !b->buffer || strcmp(name_of(a), name_of(b)) != 0)
        return false;
    if (!a->buffer)
        return a->scalar->type == b->scalar->type;
    return a->buffer->type == b->buffer->type && a->buffer->role == b->buffer->role && same_shape(a->buffer, b->buffer);
}

static bool same_sizes(const Kernel *a, const Kernel *b)
{
    bool same = a->n_sizes == b->n_sizes;
    for (int i = 0; same && i < a->n_sizes; i++)
        same = !strcmp(a->sizes[i].name, b->sizes[i].name);
    return same;
}

/* A parameter that the two do not share, by name; NULL: they agree. */
static const char *difference(const Kernel *a, const Kernel *b)
{
    for (int i = 0; i < a->n_params && i < b->n_params; i++)
        if (!same_param(&a->params[i], &b->params[i]))
            return name_of(&a->params[i]);
    if (a->n_params != b->n_params)
        return name_of(a->n_params > b->n_params ? &a->params[b->n_params] : &b->params[a->n_params]);
    return same_sizes(a, b) && a->n_outputs == b->n_outputs ? NULL : "its sizes";
}

static bool against(tirc *t, const tirc_kernel *kernel, const tirc_kernel *program, tirc_kernel **result)
{
    Context *c = t->ctx;
    t->subject = kernel->command;
    const char *what = difference(kernel->kernel, program->kernel);
    if (kernel_level(program->kernel) != LEVEL_PROGRAM || what) {
        diag_error(c, E0706, program->kernel->span,
                   "'%s' cannot be compared with '%s': %s%s", kernel->kernel->name, program->kernel->name,
                   what ? "they differ in " : "that is no program, but what a schedule or lowering made of one",
                   what ? what : "");
        return false;
    }
    *result = api_kernel_new(t, kernel->kernel, kernel);
    (*result)->program = program->kernel;
    return true;
}

tirc_status tirc_against(tirc *t, const tirc_kernel *kernel, const tirc_kernel *program, tirc_kernel **result)
{
    API_GUARDED(t, against(t, kernel, program, result));
}
