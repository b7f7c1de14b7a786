/* reach.c - Decides whether what a block writes may reach a later access: a definition that the
 * access may find, whatever else writes the element in between.
 *
 *   for j in N  t[j] = x[j];
 *   for j in N  t[j] = f(t[j]);      its load finds the first block's elements, its own never
 *   for j in N  y[j] = t[j];         finds those of both, unless one counts what overwrites them
 *
 * A system for each pair of a write and an access of one element, the write first, in one iteration
 * of the loops that declare the buffer. */
#include "passes/analysis/dependence/model.h"

static bool is_meant(const Access *access, const Reach *r)
{
    return r->index ? access->load && exprs_equal(access->index, r->index, r->buffer->rank)
                    : access->writes;
}

/* The write may come before the access, of the same element. */
static bool reaches(Poly *p, const Model *m, const AccessOf *write, const AccessOf *then,
                    Conflict *why)
{
    const InnerBuffer *inside = model_inner_buffer(m, write->access->buffer);
    int within = inside ? inside->loops.n : 0, common = units_common(write->unit, then->unit);
    PolyPart part = poly_begin(p);
    Instance a = instance_new(p, write->unit), b = instance_new(p, then->unit);
    AccessPair pair = {&a, write->access, &b, then->access};
    pair_collide(p, pair);
    if (!conflict_none_before(p, pair, (Precedence){.level = within < common ? within : common},
                              "the second may find what the first writes", why))
        return true;
    poly_end(p, &part);
    return false;
}

bool dependence_may_reach(Context *c, const Kernel *kernel, const Reach *r, Conflict *why)
{
    Poly *p = poly_new(c);
    Model *m = model_new(c, kernel, kernel->body, kernel->body);
    model_enter(m, p);
    for (BufferAccesses x = accesses_of(m, r->buffer); accesses_next(&x);) {
        AccessOf write = {.unit = model_unit(m, x.unit), .access = x.access};
        if (!x.access->writes || write.unit->stmt != r->writer)
            continue;
        for (BufferAccesses y = accesses_of(m, r->buffer); accesses_next(&y);) {
            AccessOf then = {.unit = model_unit(m, y.unit), .access = y.access};
            if (then.unit->stmt == r->to && is_meant(y.access, r) &&
                reaches(p, m, &write, &then, why))
                return true;
        }
    }
    return false;
}
