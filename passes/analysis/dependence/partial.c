/* partial.c - Decides whether a reduction can be computed from partial results, also where its
 * terms read other elements of the buffer that it updates. See partial.h.
 *
 *   for i in N                         for each i, the terms of x[i] read x[j] of j < i: in one run
 *       for j in i                     of the loop over j, no element that is read is updated
 *           x[i] -= L[i, j] * x[j];
 *
 * With partial results, updates move behind the run. So no element that an instance reads may be
 * one that an instance of the same run updates, whichever comes first, nor one that an init sets,
 * which may move, too. One run of the loop over i has such elements. */
#include "passes/analysis/dependence/partial.h"

#include "passes/analysis/dependence/model.h"

typedef struct {
    Model *model;
    const BlockStmt *block;
    int n_inside; /* loops of the path that run in one run of the statement */
} Terms;

static int loops_from(const StmtPath *path, int from)
{
    int n = 0;
    for (int i = from; i < path->n; i++)
        n += path->items[i]->kind == ST_FOR;
    return n;
}

/* No instance of `reader` reads, by x, the element that one of `writer` writes in the same run. */
static bool is_apart(const Terms *t, const Unit *reader, const Access *x, const Unit *writer,
                     const Access *y)
{
    Conflict why;
    Poly *p = poly_new(t->model->ctx);
    model_enter(t->model, p);
    Instance reads = instance_new(p, reader);
    Instance writes = instance_within(p, writer, &reads, reader->n_loops - t->n_inside);
    AccessPair pair = {&reads, x, &writes, y};
    pair_collide(p, pair);
    return conflict_none(p, pair, "", &why);
}

static bool reads_apart(const Terms *t, const Unit *reader, const Access *read)
{
    for (BufferAccesses at = accesses_of(t->model, read->buffer); accesses_next(&at);) {
        const Unit *writer = model_unit(t->model, at.unit);
        if (writer->block->id == t->block->id && at.access->writes &&
            !is_apart(t, reader, read, writer, at.access))
            return false;
    }
    return true;
}

static bool updates(const Reducer *r, const Buffer *buffer)
{
    for (int k = 0; k < r->n; k++)
        if (r->parts[k].target.buffer->id == buffer->id)
            return true;
    return false;
}

static bool terms_apart(const Terms *t, const Reducer *r)
{
    for (int i = 0; i < t->model->units.n; i++) {
        const Unit *u = model_unit(t->model, i);
        for (int k = 0; k < u->accesses.n && u->block->id == t->block->id && !u->init; k++) {
            const Access *access = &u->accesses.items[k];
            if (!access->writes && updates(r, access->buffer) && !reads_apart(t, u, access))
                return false;
        }
    }
    return true;
}

bool partial_results_of(Context *c, RunOf run, Reducer *out, const char **why)
{
    if (!reducer_but_for_reads(c, run.path, run.from, out, why) || !out->own)
        return !*why;
    Terms t = {.model = model_new(c, run.kernel, run.kernel->body, run.kernel->body),
               .block = &path_end(run.path)->u.block,
               .n_inside = loops_from(run.path, run.from)};
    if (!terms_apart(&t, out))
        *why = arena_printf(c->arena,
                            "the value it adds depends on '%s' itself, perhaps on elements that "
                            "are updated before it is complete",
                            out->own->name);
    return !*why;
}
