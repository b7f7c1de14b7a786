/* separate.c - Implements separate: gives each store of a block a block of its own.
 *
 *   block y(i in N = i) {              block y(i in N = i) {
 *       if x[i] > 0 {                      if x[i] > 0
 *           y[count] = x[i];                   y[count] = x[i];
 *           count += 1;            =>      }
 *       }                              block count(reduce i in N = i) {
 *   }                                      if x[i] > 0
 *                                              count += 1;
 *                                      }
 *
 * Each new block has the conditions and lets around its store. The blocks follow each other in the
 * order of the stores, in the same loops, so the order of all accesses stays. Loops around one
 * store alone become loops around its block:
 *
 *   block s(i in N = i) {              for j in M
 *       if x[i] > 0                        block s(i in N = i, j in M = j) {
 *           for j in M            =>           if x[i] > 0
 *               s[j] += y[i, j];                   s[j] += y[i, j];
 *   }                                      }
 *
 * Another loop in the body stays whole.
 *
 * Legal: no store writes what a condition or a let around a later one reads, since that is read
 * again; in a loop that becomes one around a block, neither does its own. The block has no init,
 * annotation or instruction, and is not atomic. Loops around that are bound, parallel or vectorized
 * stay legal.
 * Invariant: each store runs in the iterations in which it ran, with the same value. */
#include "ir/implied.h"
#include "passes/schedule/flow.h"

/* The body of a new block, and the loops of the old body that come to stand around the block. */
typedef struct {
    StmtList loops;
    Stmt *body;
} Part;

typedef struct {
    Schedule *s;
    Span span;
    const Stmt *block;
    StmtList around; /* the conditions and lets around the place; of an else, as one of its own */
    VEC(Part) parts; /* one for each store */
    const Buffer *read;
} Separate;

/* ---- parts ----------------------------------------------------------------------------------- */

/* The statement under what is around it. */
static Stmt *wrapped(const Separate *p, Stmt *body)
{
    Context *c = p->s->ctx;
    for (int i = p->around.n - 1; i >= 0; i--) {
        Stmt *at = p->around.items[i];
        if (at->kind == ST_LET)
            body = stmt_then(c, at, body);
        else
            body = stmt_if(c, at->u.cond.cond, body, NULL, at->span);
    }
    return body;
}

/* A buffer that what is around the place reads and `body` writes, or NULL. */
static const Buffer *read_around(const Separate *p, Stmt *body)
{
    Context *c = p->s->ctx;
    for (int i = 0; i < p->around.n; i++) {
        const Stmt *at = p->around.items[i];
        Expr *e = at->kind == ST_LET ? at->u.let.value : at->u.cond.cond;
        AccessList reads = access_list_expr(c, e, NULL);
        for (int n = 0; n < reads.n; n++)
            if (stmt_accesses(c, body, reads.items[n].buffer, ACCESS_WRITE))
                return reads.items[n].buffer;
    }
    return NULL;
}

/* An expression of what is around reads a buffer that an earlier part writes. */
static bool reads_written(Separate *p)
{
    for (int k = 0; k < p->parts.n && !p->read; k++)
        p->read = read_around(p, p->parts.items[k].body);
    return p->read;
}

/* The range of a loop is one for an iterator: it has no other values than those in lo..hi, and
 * reads neither memory nor a let. */
static bool has_plain_range(const Separate *p, const ForStmt *loop)
{
    if (loop->kind != LOOP_SERIAL || loop->step != 1 || loop->annotations.n > 0 ||
        expr_has_load(loop->lo) || expr_has_load(loop->hi))
        return false;
    for (int i = 0; i < p->around.n; i++)
        if (p->around.items[i]->kind == ST_LET &&
            loop_uses_var(loop, p->around.items[i]->u.let.var))
            return false;
    return true;
}

/* The part of `s`: of loops around one store that leaves what is around them as it is, the store,
 * or else all of `s`. */
static Part part_of(const Separate *p, Stmt *s)
{
    Part part = {.body = s};
    while (part.body->kind == ST_FOR && has_plain_range(p, &part.body->u.loop)) {
        VEC_PUSH(p->s->ctx->arena, &part.loops, part.body);
        part.body = part.body->u.loop.body;
    }
    if (part.body->kind != ST_STORE || (part.loops.n > 0 && read_around(p, part.body)))
        part = (Part){.body = s};
    part.body = wrapped(p, part.body);
    return part;
}

static bool take_parts(Separate *p, Stmt *s);

static bool take_branch(Separate *p, Stmt *s, Expr *cond, Stmt *branch)
{
    int n = p->around.n;
    Stmt *alone = stmt_if(p->s->ctx, cond, branch, NULL, s->span);
    VEC_PUSH(p->s->ctx->arena, &p->around, alone);
    bool good = take_parts(p, branch);
    p->around.n = n;
    return good;
}

/* False where a part would read what an earlier one has written. */
static bool take_parts(Separate *p, Stmt *s)
{
    Context *c = p->s->ctx;
    bool good = true;
    if (s->kind == ST_SEQ && !s->u.seq.combiner) {
        int n = p->around.n;
        for (int i = 0; i < s->u.seq.n && good; i++)
            if (s->u.seq.items[i]->kind == ST_LET)
                VEC_PUSH(c->arena, &p->around, s->u.seq.items[i]);
            else
                good = take_parts(p, s->u.seq.items[i]);
        p->around.n = n;
    } else if (s->kind == ST_IF) {
        Expr *cond = s->u.cond.cond;
        good = take_branch(p, s, cond, s->u.cond.then);
        if (s->u.cond.otherwise && good)
            good = take_branch(p, s, expr_unary(c, EX_NOT, cond, cond->span), s->u.cond.otherwise);
    } else {
        good = !reads_written(p);
        VEC_PUSH(c->arena, &p->parts, part_of(p, s));
    }
    return good;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A loop that declares what the body writes: each of its iterations has an element of its own. */
static bool is_private(const Separate *p, const StmtPath *path, const Stmt *body, const Expr *at)
{
    for (int i = 0; i < path->n; i++) {
        const Stmt *loop = path->items[i];
        if (loop->kind != ST_FOR || !expr_uses_var(at, loop->u.loop.var))
            continue;
        StmtList temps = stmts_of_kind(p->s->ctx, loop, ST_TEMP);
        for (int k = 0; k < temps.n; k++)
            if (stmt_accesses(p->s->ctx, body, temps.items[k]->u.temp, ACCESS_WRITE))
                return true;
    }
    return false;
}

/* A name that no block has, nor one of the n that have been made. */
static Name part_name(const Separate *p, Stmt *const *made, int n, Name base)
{
    Name name = sched_fresh_name(p->s, base);
    for (int i = 0, next = 1; i < n; i++)
        if (made[i]->u.block.name == name) {
            name = sched_fresh_name(p->s, ctx_namef(p->s->ctx, "%s_%d", base, next++));
            i = -1;
        }
    return name;
}

/* The loops of a part around the block, as `loops`, and an iterator for each, behind its others.
 * Returns the body in terms of these. */
static Stmt *take_loops(const Separate *p, const StmtPath *path, const Part *part, BlockStmt *block,
                        ForStmt *loops)
{
    Context *c = p->s->ctx;
    int n = block->n_iters, more = part->loops.n;
    BlockIter *iters = block_own_iters(c, block, more);
    Subst *names = ARENA_ARRAY(c->arena, Subst, more + 1);
    for (int i = 0; i < more; i++) {
        const ForStmt *old = &part->loops.items[i]->u.loop;
        BlockIter *iter = &iters[n + i];
        iter->var = var_new(c, old->var->name, DT_INDEX, VAR_ITER, old->var->span);
        iter->lo = expr_subst(c, old->lo, names, i);
        iter->hi = expr_subst(c, old->hi, names, i);
        names[i] = (Subst){old->var, expr_var(c, iter->var, old->var->span)};
        loops[i] = *old;
        loops[i].id = ctx_new_id(c);
        Name name = sched_fresh_loop_name(p->s, path, old->var->name, old->id);
        loops[i].var = var_new(c, name, DT_INDEX, VAR_LOOP, old->var->span);
        iter->binding = expr_var(c, loops[i].var, old->var->span);
        loops[i].lo = iters_to_loops(c, block, iter->lo);
        loops[i].hi = iters_to_loops(c, block, iter->hi);
        block->n_iters++;
    }
    return stmt_subst(c, part->body, names, more);
}

/* Part n, with its loops, behind the blocks that have been made. */
static Stmt *block_of(const Separate *p, const StmtPath *path, Stmt **made, int n)
{
    Context *c = p->s->ctx;
    const Part *part = &p->parts.items[n];
    BlockStmt block = p->block->u.block;
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, part->loops.n + 1);
    block.body = take_loops(p, path, part, &block, loops);
    BlockIter *iters = block_own_iters(c, &block, 0);
    for (int i = 0; i < block.n_iters; i++)
        iters[i].kind = is_private(p, path, block.body, iters[i].binding)
                            ? ITER_SPATIAL
                            : block_implied_kind(c, block.body, iters[i].var);
    if (n > 0) {
        block.id = 0;
        block.name = part_name(p, made, n, block_implied_name(c, block.body));
    }
    made[n] = stmt_block(c, &block, p->block->span);
    if (n > 0)
        made[n] = stmt_clone_fresh(c, made[n]);
    return stmt_in_loops(c, loops, part->loops.n, made[n], p->block->span);
}

static bool check_block(const Separate *p)
{
    const BlockStmt *b = &p->block->u.block;
    REQUIRE(p->s, E0812, p->span, !b->init && !b->instruction && !b->atomic && !b->annotations.n,
            "block '%s' %s; separate takes plain blocks", b->name,
            b->init          ? "has an init"
            : b->instruction ? "is an instruction"
            : b->atomic      ? "is atomic"
                             : "has annotations");
    return true;
}

bool prim_separate(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    Separate p = {.s = s, .span = call->span, .block = sched_node(s, &call->separate.block, &path)};
    if (!check_block(&p))
        return false;
    Name name = stmt_label(p.block);
    bool good = take_parts(&p, p.block->u.block.body);
    REQUIRE(s, E0812, call->span, good,
            "a condition or value of block '%s' reads '%s', which an earlier store of the block "
            "writes, and the block of a later store would read it again",
            name, p.read->name);
    REQUIRE(s, E0812, call->span, p.parts.n > 1 || p.parts.items[0].loops.n > 0,
            "block '%s' has one statement, so there is nothing to separate", name);
    Stmt **blocks = ARENA_ARRAY(c->arena, Stmt *, p.parts.n),
         **nests = ARENA_ARRAY(c->arena, Stmt *, p.parts.n);
    Value *made = ARENA_ARRAY(c->arena, Value, p.parts.n);
    for (int i = 0; i < p.parts.n; i++) {
        nests[i] = block_of(&p, &path, blocks, i);
        made[i] = value_block(blocks[i]);
    }
    Stmt *all = stmt_seq(c, nests, p.parts.n, p.block->span);
    Stmt *body = stmt_replace(c, s->kernel->body, p.block, all);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_list(s, made, p.parts.n);
    return true;
}
