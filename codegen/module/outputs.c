/* outputs.c - Decides which outputs a run must write in full.
 *
 * A program may skip elements of an output (the border of a stencil), so an unwritten element is a
 * fault only if the program certainly writes it: by a store that runs in every iteration of
 * nonempty loops, with a separate iterator over the whole of each axis. */
#include "codegen/codegen.h"

typedef struct {
    Context *c;
    const Buffer *wanted;
    VEC(const ForStmt *) loops; /* around the statement at work */
} Cover;

static const BlockIter *iter_of(const BlockStmt *block, const Expr *e)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_is_var(e, block->iters[i].var))
            return &block->iters[i];
    return NULL;
}

/* The iterator takes each value of lo..hi: a loop over them is what it is bound to. */
static bool takes_all(const Cover *k, const BlockIter *iter)
{
    for (int i = 0; i < k->loops.n; i++) {
        const ForStmt *l = k->loops.items[i];
        Expr *lo, *hi;
        if (!expr_is_var(iter->binding, l->var) || (l->step != 1 && l->step != -1))
            continue;
        loop_domain(k->c, l, &lo, &hi);
        return expr_equal(lo, iter->lo) && expr_equal(hi, iter->hi);
    }
    return false;
}

static bool never_empty(const BlockIter *iter)
{
    int64_t lo, hi;
    return expr_is_const(iter->lo, &lo) && expr_is_const(iter->hi, &hi) && lo < hi;
}

/* Each subscript is an iterator over the whole axis, none is used twice, and the others always have
 * values. */
static bool store_covers(const Cover *k, const BlockStmt *block, const Stmt *s, bool init)
{
    const Buffer *b = s->u.store.buffer;
    if (b->id != k->wanted->id)
        return false;
    for (int d = 0; d < b->rank; d++) {
        const BlockIter *iter = iter_of(block, s->u.store.index[d]);
        if (!iter || !takes_all(k, iter) || !expr_is(iter->lo, 0) ||
            !expr_equal(iter->hi, b->shape[d]))
            return false;
        for (int before = 0; before < d; before++)
            if (iter_of(block, s->u.store.index[before]) == iter)
                return false;
    }
    for (int i = 0; i < block->n_iters; i++) {
        bool subscript = false;
        for (int d = 0; d < b->rank; d++)
            subscript |= iter_of(block, s->u.store.index[d]) == &block->iters[i];
        bool counts = !init || block->iters[i].kind == ITER_SPATIAL;
        if (!subscript && counts &&
            (!takes_all(k, &block->iters[i]) || !never_empty(&block->iters[i])))
            return false;
    }
    return true;
}

typedef enum { COVER_BODY, COVER_INIT } CoverPart;

static bool body_covers(const Cover *k, const BlockStmt *block, const Stmt *s, CoverPart part)
{
    if (!s)
        return false;
    if (s->kind == ST_STORE)
        return store_covers(k, block, s, part == COVER_INIT);
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        if (body_covers(k, block, s->u.seq.items[i], part))
            return true;
    return false;
}

static bool covers(Cover *k, const Stmt *s)
{
    if (s->kind == ST_BLOCK) {
        const BlockStmt *block = &s->u.block;
        return !block->predicate && (body_covers(k, block, block->init, COVER_INIT) ||
                                     body_covers(k, block, block->body, COVER_BODY));
    }
    if (s->kind == ST_FOR) {
        VEC_PUSH(k->c->arena, &k->loops, &s->u.loop);
        bool found = covers(k, s->u.loop.body);
        k->loops.n--;
        return found;
    }
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        if (covers(k, s->u.seq.items[i]))
            return true;
    return false;
}

void module_allow_partial(Context *c, Module *m, const Kernel *program)
{
    if (kernel_level(c, program) == LEVEL_LOWERED)
        return;
    for (int i = 0; i < program->n_params; i++) {
        Cover k = {.c = c, .wanted = program->params[i].buffer};
        for (int b = 0; k.wanted && b < m->n_buffers; b++)
            if (m->buffers[b].name == k.wanted->name)
                ((ModuleBuffer *)m->buffers)[b].partial = !covers(&k, program->body);
    }
}
