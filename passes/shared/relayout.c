/* relayout.c - Rewrites the accesses of a buffer that gets another layout (relayout.h).
 *
 * The map keeps elements apart, so a place of the new buffer stands for one element of the old one,
 * and no dependence changes. */
#include "passes/shared/relayout.h"

#include "passes/analysis/polyhedral/index_map.h"
#include "passes/shared/rebuild.h"
#include "passes/shared/retype.h"

typedef struct {
    Context *c;
    const Kernel *kernel;
    const Relayout *of;
    Facts *facts; /* at the access */
} Rewrite;

/* ---- accesses -------------------------------------------------------------------------------- */

static bool is_old(const Rewrite *r, const Buffer *buffer)
{
    return buffer->id == r->of->from->id && buffer != r->of->to;
}

static Expr *const *new_index(Rewrite *r, Expr *const *index)
{
    const Relayout *of = r->of;
    IndexMap map = {of->at, of->from->rank, of->place, of->to->rank};
    Expr **out = index_map_apply(r->c, &map, index);
    for (int i = 0; i < of->to->rank; i++)
        out[i] = simplify(r->facts, out[i]);
    return out;
}

static Expr *rewrite_load(Rewriter *rewriter, Expr *e)
{
    Rewrite *r = rewriter->user;
    if (e->kind != EX_LOAD || !is_old(r, e->u.load.buffer))
        return e;
    return expr_load(rewriter->ctx, r->of->to, new_index(r, e->u.load.index), e->span);
}

static Stmt *rewrite_store(Rewriter *rewriter, Stmt *stmt)
{
    Rewrite *r = rewriter->user;
    if (stmt->kind != ST_STORE || !is_old(r, stmt->u.store.buffer))
        return stmt;
    return stmt_store_like(rewriter->ctx, stmt, r->of->to, new_index(r, stmt->u.store.index),
                           stmt->u.store.value);
}

typedef enum { PART_BODY, PART_INIT } BlockPart;

/* The init or the body; an init knows nothing of reduction iterators, which it runs without. */
static Stmt *rewrite_part(Rewrite *r, const BlockStmt *block, Stmt *part, BlockPart which)
{
    if (!part)
        return NULL;
    r->facts = facts_of_kernel(r->c, r->kernel);
    for (int i = 0; i < block->n_iters; i++)
        if (which != PART_INIT || block->iters[i].kind == ITER_SPATIAL)
            facts_range_loosely(r->facts, block->iters[i].var, block->iters[i].lo,
                                block->iters[i].hi);
    Rewriter inner = {.ctx = r->c, .user = r, .expr = rewrite_load, .stmt = rewrite_store};
    return rewrite_stmt(&inner, part);
}

static Stmt *rewrite_block(Rewriter *rewriter, Stmt *stmt)
{
    Rewrite *r = rewriter->user;
    if (stmt->kind == ST_TEMP && is_old(r, stmt->u.temp))
        return stmt_temp(rewriter->ctx, r->of->to, stmt->span);
    if (stmt->kind != ST_BLOCK)
        return stmt;
    BlockStmt block = stmt->u.block;
    block.init = rewrite_part(r, &stmt->u.block, block.init, PART_INIT);
    block.body = block_body_at_init(rewriter->ctx, &stmt->u.block, block.init,
                                    rewrite_part(r, &stmt->u.block, block.body, PART_BODY));
    bool same = block.init == stmt->u.block.init && block.body == stmt->u.block.body;
    return same ? stmt : stmt_block(rewriter->ctx, &block, stmt->span);
}

/* The blocks, then what stands in no body of a block: bounds of loops, domains, conditions. */
Stmt *relayout_body(Context *c, const Kernel *kernel, const Relayout *of)
{
    Rewrite r = {.c = c, .kernel = kernel, .of = of};
    Rewriter blocks = {.ctx = c, .user = &r, .stmt = rewrite_block};
    Rewriter around = {.ctx = c, .user = &r, .expr = rewrite_load};
    Stmt *body = rewrite_stmt(&blocks, kernel->body);
    r.facts = facts_of_kernel(c, kernel);
    return of->from->role == ROLE_IN ? rewrite_stmt(&around, body) : body;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static const Param *new_params(Context *c, const Kernel *kernel, const Relayout *of)
{
    Param *params = ARENA_ARRAY(c->arena, Param, kernel->n_params + 1);
    for (int i = 0; i < kernel->n_params; i++) {
        params[i] = kernel->params[i];
        if (params[i].buffer && params[i].buffer->id == of->from->id)
            params[i].buffer = of->to;
    }
    return params;
}

static const Fact *new_facts(Context *c, const Fact *facts, int n, const Relayout *of)
{
    Fact *out = ARENA_ARRAY(c->arena, Fact, n + 1);
    for (int i = 0; i < n; i++) {
        out[i] = facts[i];
        if (facts[i].subject.buffer && facts[i].subject.buffer->id == of->from->id)
            out[i].subject.buffer = of->to;
    }
    return out;
}

/* `of` behind an earlier change of the same parameter. */
static Relayout composed(Context *c, const Kernel *kernel, const Relayout *first,
                         const Relayout *of)
{
    IndexMap map = {of->at, of->from->rank, of->place, of->to->rank};
    Expr **lo = exprs_zero(c, first->from->rank);
    Expr **place = index_map_apply(c, &map, first->place);
    Facts *f = facts_of_kernel(c, kernel);
    facts_points(f, &(PointBox){first->at, lo, first->from->shape, first->from->rank});
    for (int i = 0; i < of->to->rank; i++)
        place[i] = simplify(f, place[i]);
    return (Relayout){first->from, of->to, first->at, place};
}

static void record(Context *c, Kernel *kernel, const Relayout *of)
{
    int n = kernel->n_relayouts, at = 0;
    Relayout *all = ARENA_COPY(c->arena, Relayout, kernel->relayouts, n, 1);
    while (at < n && all[at].from->id != of->from->id)
        at++;
    all[at] = at < n ? composed(c, kernel, &all[at], of) : *of;
    kernel->relayouts = all;
    kernel->n_relayouts = at < n ? n : n + 1;
}

const Kernel *relayout_parameter(Context *c, const Kernel *kernel, const Relayout *of)
{
    Kernel *out = kernel_with_body(c, kernel, relayout_body(c, kernel, of));
    out->params = new_params(c, kernel, of);
    out->facts = new_facts(c, kernel->facts, kernel->n_facts, of);
    out->draws = new_facts(c, kernel->draws, kernel->n_draws, of);
    record(c, out, of);
    return out;
}

const Kernel *relayout_like(Context *c, const Kernel *program, const Kernel *scheduled)
{
    for (int i = 0; i < scheduled->n_retypes; i++)
        program = retype_temp(c, program, &scheduled->retypes[i]);
    for (int i = 0; i < scheduled->n_relayouts; i++)
        program = relayout_parameter(c, program, &scheduled->relayouts[i]);
    if (scheduled->composes) {
        Kernel *out = kernel_with_body(c, program, program->body);
        out->composes = true;
        program = out;
    }
    return program;
}

const char *relayout_text(Context *c, const Relayout *of)
{
    StrBuf out = strbuf_new(c->arena);
    IndexMap map = {of->at, of->from->rank, of->place, of->to->rank};
    index_map_print(&map, &out);
    return out.text;
}
