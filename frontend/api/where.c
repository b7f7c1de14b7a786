/* where.c - Checks the arguments of a run against the program's `where` clause. */
#include "frontend/api/internal.h"

#include "runtime/values.h"

static bool refuse(tirc *t, const Module *m, const ModuleFact *fact, const char *found)
{
    diag_error(t->ctx, E0652, fact->span, "'%s' requires %s, but %s", m->name, fact->text, found);
    return false;
}

/* "N = 5, M = 3" */
static const char *sizes_text(tirc *t, const Module *m, const int64_t *sizes)
{
    StrBuf text = strbuf_new(t->ctx->arena);
    for (int i = 0; i < m->n_sizes; i++)
        if (m->sizes[i].symbolic)
            strbuf_addf(&text, "%s%s = %lld", text.length ? ", " : "", m->sizes[i].name,
                        (long long)sizes[i]);
    return text.text;
}

bool api_sizes_fit(tirc *t, const Module *m, const int64_t *sizes)
{
    int64_t holds;
    for (int i = 0; i < m->n_facts; i++)
        if (m->facts[i].cond && (!vm_eval_shape(m->facts[i].cond, sizes, &holds) || !holds))
            return refuse(t, m, &m->facts[i],
                          arena_printf(t->ctx->arena, "the sizes are %s", sizes_text(t, m, sizes)));
    return true;
}

typedef struct {
    DType type;
    const void *data;
    int64_t n;
    const char *name;
} GivenValues;

static bool check_values(tirc *t, const Module *m, const ModuleFact *fact, const GivenValues *given,
                         const int64_t *sizes)
{
    int64_t at = values_first_outside(given->type, given->data, given->n, &fact->values, sizes);
    if (at < 0)
        return true;
    const char *element = (const char *)given->data + at * type_bytes(given->type);
    double value = vm_value_double(given->type, vm_value_load(given->type, element));
    if (fact->scalar >= 0)
        return refuse(t, m, fact, arena_printf(t->ctx->arena, "'%s' is %.17g", given->name, value));
    return refuse(t, m, fact,
                  arena_printf(t->ctx->arena, "element %lld of '%s' is %.17g", (long long)at,
                               given->name, value));
}

bool api_scalars_fit(tirc *t, const Module *m, const int64_t *sizes, const void *const *scalars)
{
    for (int i = 0; i < m->n_facts; i++) {
        const ModuleFact *fact = &m->facts[i];
        if (fact->scalar < 0)
            continue;
        const ModuleScalar *scalar = &m->scalars[fact->scalar];
        if (!check_values(t, m, fact,
                          &(GivenValues){.type = scalar->type,
                                         .data = scalars[fact->scalar],
                                         .n = 1,
                                         .name = scalar->name},
                          sizes))
            return false;
    }
    return true;
}

bool api_elements_fit(tirc *t, const Module *m, const int64_t *sizes, const DevicePtr *host,
                      const int64_t *bytes)
{
    for (int i = 0; i < m->n_facts; i++) {
        const ModuleFact *fact = &m->facts[i];
        if (fact->buffer < 0)
            continue;
        const ModuleBuffer *b = &m->buffers[fact->buffer];
        const void *data = (const void *)(uintptr_t)host[fact->buffer];
        if (!check_values(t, m, fact,
                          &(GivenValues){.type = b->type,
                                         .data = data,
                                         .n = bytes[fact->buffer] / type_bytes(b->type),
                                         .name = b->name},
                          sizes))
            return false;
    }
    return true;
}
