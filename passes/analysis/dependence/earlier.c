/* earlier.c - Decides whether a block reads the values that elements had before a statement.
 *
 *   for i in M, j in N, k in i + 1..M        row k is read before it is written: the block finds
 *       B[i, j] += A[k, i] * B[k, j];        what the loop over i has found in B
 *
 * A system for each pair of a write and a read of one element, the write first. */
#include "passes/analysis/dependence/model.h"

static bool is_asked(const Access *access, const Buffer *buffer, Expr *const *index)
{
    return access->load && access->buffer->id == buffer->id &&
           (!index || exprs_equal(access->index, index, buffer->rank));
}

/* An execution of the body reads what it needs before it writes: it is one store. Loops, or another
 * store, may read what was written before. */
static bool reads_first(Context *c, Stmt *body)
{
    int stores = 0;
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);) {
        if (at.stmt->kind != ST_STORE && at.stmt->kind != ST_IF && at.stmt->kind != ST_LET &&
            at.stmt->kind != ST_SEQ)
            return false;
        stores += at.stmt->kind == ST_STORE;
    }
    return stores == 1;
}

bool dependence_reads_earlier(Context *c, const Kernel *kernel, Stmt *root, const ReadsOf *reads,
                              Conflict *why)
{
    Poly *p = poly_new(c);
    Model *m = model_new(c, kernel, root, root);
    model_enter(m, p);
    for (Pairs at = pairs_all(m); pairs_next(&at);) {
        const Unit *a = model_unit(m, at.a), *b = model_unit(m, at.b);
        if (!at.x->writes || b->block->id != reads->block ||
            !is_asked(at.y, reads->buffer, reads->index))
            continue;
        PolyPart part = poly_begin(p);
        Instance writes = instance_new(p, a), found = instance_new(p, b);
        AccessPair pair = {&writes, at.x, &found, at.y};
        pair_collide(p, pair);
        const char *reason = "the second would find what was there before the first";
        bool kept = at.a == at.b && !reads_first(c, b->block->body)
                        ? conflict_none(p, pair, reason, why)
                        : conflict_none_before(p, pair, (Precedence){.level = 0}, reason, why);
        if (!kept)
            return false;
        poly_end(p, &part);
    }
    return true;
}
