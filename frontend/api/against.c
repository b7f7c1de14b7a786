/* against.c - Relates lowered text to the program that it is compared with, which must have the
 * same interface. */
#include "frontend/api/internal.h"

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
    return a->buffer->type == b->buffer->type && a->buffer->role == b->buffer->role &&
           same_shape(a->buffer, b->buffer);
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
        return name_of(a->n_params > b->n_params ? &a->params[b->n_params]
                                                 : &b->params[a->n_params]);
    return same_sizes(a, b) && a->n_outputs == b->n_outputs ? NULL : "its sizes";
}

/* ---- random inputs: those of the program ----------------------------------------------------- */

typedef struct {
    Context *c;
    const Kernel *from, *to; /* of one interface */
    VEC(Subst) sizes;
} Transfer;

static Expr *transferred_end(Transfer *m, Expr *end)
{
    return end ? expr_subst(m->c, end, m->sizes.items, m->sizes.n) : NULL;
}

static Fact transferred(Transfer *m, const Fact *fact)
{
    Fact out = *fact;
    for (int i = 0; i < m->from->n_params; i++) {
        const Param *p = &m->from->params[i];
        if (p->buffer == fact->subject.buffer && p->scalar == fact->subject.scalar)
            out.subject = m->to->params[i];
    }
    out.lo = transferred_end(m, fact->lo);
    out.hi = transferred_end(m, fact->hi);
    return out;
}

/* The kernel, whose random inputs are drawn from what the program says of its own: flat subscripts
 * tell less of the axes. */
static const Kernel *with_draws(Context *c, const Kernel *kernel, const Kernel *program)
{
    Transfer m = {.c = c, .from = program, .to = kernel};
    for (int i = 0; i < program->n_sizes; i++) {
        const Size *size = &kernel->sizes[i];
        Subst subst = {program->sizes[i].var, size->symbolic ? expr_var(c, size->var, size->span)
                                                             : expr_index(c, size->value)};
        if (program->sizes[i].symbolic)
            VEC_PUSH(c->arena, &m.sizes, subst);
    }
    Fact *draws = ARENA_ARRAY(c->arena, Fact, program->n_facts + program->n_draws + 1);
    Kernel *out = ARENA_NEW(c->arena, Kernel);
    *out = *kernel;
    out->n_draws = 0;
    for (int i = 0; i < program->n_facts; i++)
        if (program->facts[i].kind != FACT_SIZES)
            draws[out->n_draws++] = transferred(&m, &program->facts[i]);
    for (int i = 0; i < program->n_draws; i++)
        draws[out->n_draws++] = transferred(&m, &program->draws[i]);
    out->draws = draws;
    return out;
}

static bool against(tirc *t, const tirc_kernel *kernel, const tirc_kernel *program,
                    tirc_kernel **result)
{
    Context *c = t->ctx;
    t->subject = kernel->command;
    const char *what = difference(kernel->kernel, program->kernel);
    if (program->level != LEVEL_PROGRAM || what) {
        diag_error(c, E0706, program->kernel->span, "'%s' cannot be compared with '%s': %s%s",
                   kernel->kernel->name, program->kernel->name,
                   what ? "they differ in "
                        : "it is already scheduled or lowered, and not a program",
                   what ? what : "");
        return false;
    }
    *result = api_kernel_new(t, with_draws(c, kernel->kernel, program->kernel), kernel);
    (*result)->program = (*result)->declared = program->kernel;
    return true;
}

tirc_status tirc_against(tirc *t, const tirc_kernel *kernel, const tirc_kernel *program,
                         tirc_kernel **result)
{
    API_GUARDED(t, against(t, kernel, program, result));
}
