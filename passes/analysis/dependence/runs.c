/* runs.c - Decides whether a block ever runs: a system for an instance of it. */
#include "passes/analysis/dependence/model.h"

bool dependence_never_runs(Context *c, const Kernel *kernel, const Stmt *block)
{
    Poly *p = poly_new(c);
    Model *m = model_new(c, kernel, kernel->body, kernel->body);
    model_enter(m, p);
    bool never = true;
    for (int i = 0; i < m->units.n && never; i++) {
        if (model_unit(m, i)->stmt != block)
            continue;
        PolyPart part = poly_begin(p);
        instance_new(p, model_unit(m, i));
        never = poly_solve(p, NULL, 0, NULL) == POLY_NONE;
        poly_end(p, &part);
    }
    return never;
}
