/* module.c - Checks which sizes a module accepts. */
#include "runtime/module.h"

const ModuleLimit *module_broken_limit(const Module *m, const int64_t *sizes)
{
    int64_t value;
    for (int i = 0; i < m->n_limits; i++)
        if (!vm_eval_shape(m->limits[i].value, sizes, &value) || value > INT32_MAX)
            return &m->limits[i];
    return NULL;
}
