/* blockize.c - Implements blockize: makes a loop nest, or adjacent blocks, the body of one block.
 *
 *   for io in 4, jo in 4, ko in 8          for io in 4, jo in 4, ko in 8
 *       for i in 16, j in 16, k in 16          block C_o(io in 4 = io, jo in 4 = jo,
 *           block C(...) {                               reduce ko in 8 = ko) {
 *               init C[..] = 0;        =>          init for i in 16, j in 16
 *               C[..] += ..;                           C[io * 16 + i, jo * 16 + j] = 0;
 *           }                                      for i in 16, j in 16, k in 16
 *                                                      C[io * 16 + i, jo * 16 + j] += ..;
 *                                              }
 *
 * Blocks do not nest: a block's body may hold loops, so the inner blocks dissolve into statements
 * under the conditions that their domains and predicates put on the loops, as far as these cannot
 * be proved. The new block has an iterator for each loop outside that its body depends on or that
 * counts its updates: a reduce iterator where that loop carries on a reduction whose init is taken
 * over, or may have no iteration where such a reduction is empty. The order of everything stays.
 *
 * Legal: the blocks are all that the nest holds, and conditions between its loops can be said of
 * the new block.
 * Invariant: every statement runs for the same iterations, in the same order. */
#include "ir/implied.h"
#include "passes/analysis/regions/inits.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"
#include "passes/shared/reductions.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    StmtPath path; /* to the first node */
    int depth;     /* index on it of the first node */
    Stmt *whole;   /* what becomes the body: one node, or a seq of several */
    Stmt **items;  /* those */
    Stmt *init;    /* of the new block, or NULL */
    Facts *facts;  /* at the statement being dissolved */
    /* loops outside that carry a reduction on, or that an init stands before */
    VEC(const Var *) reduced;
    Stmt *start;                /* the outermost of them */
    StmtList taken;             /* the blocks whose inits become the new block's, as they were */
    bool atomic, plain;         /* some inner block is; some is not */
    AnnotationList annotations; /* of the inner blocks */
    VEC(Name) values;           /* of the inner blocks so far */
} Blockize;

/* ---- what is taken --------------------------------------------------------------------------- */

static bool refuse_inner(Blockize *b, const Stmt *stmt, const char *why)
{
    sched_refuse(b->s, E0810, b->call->span, "%s", why);
    if (stmt)
        sched_note_at(b->s, stmt, "it is now");
    return false;
}

/* The new block takes over what other tools read, and the order of updates; what else tirc reads is
 * said of the inner block. */
static bool take_annotations(Blockize *b, const Stmt *stmt)
{
    Context *c = b->s->ctx;
    const BlockStmt *block = &stmt->u.block;
    REQUIRE_AT(b->s, E0810, b->call->span, !block->instruction, stmt,
               "block '%s' is an instruction, which would become plain statements; blockize before "
               "tensorize",
               block->name);
    for (int i = 0; i < block->annotations.n; i++) {
        const Annotation *a = &block->annotations.items[i];
        bool again = annotations_without(c, b->annotations, a->key).n < b->annotations.n;
        AnnotationKey key = annotation_key(a->key);
        if (key != ANNOTATION_IN_ORDER && (again || key != ANNOTATION_KEYS))
            return refuse_inner(b, stmt,
                                arena_printf(c->arena,
                                             "block '%s' has the annotation '%s'%s, which would be "
                                             "lost; unannotate it first",
                                             block->name, a->key, again ? " as another has" : ""));
        b->annotations = annotations_with(c, b->annotations, *a);
    }
    return true;
}

static bool check_inner(Blockize *b, const Stmt *stmt)
{
    if (stmt->kind == ST_FOR)
        return sched_require_plain(b->s, stmt, b->call->span);
    if (stmt->kind == ST_TEMP)
        return refuse_inner(b, NULL,
                            arena_printf(b->s->ctx->arena,
                                         "temp '%s' is declared in it, and temporaries stand "
                                         "outside of blocks; choose a loop further in",
                                         stmt->u.temp->name));
    if (stmt->kind != ST_BLOCK)
        return true;
    b->atomic |= stmt->u.block.atomic;
    b->plain |= !stmt->u.block.atomic;
    return take_annotations(b, stmt);
}

static bool check_all_inner(Blockize *b)
{
    for (Cursor at = cursor_outer(b->s->ctx, b->whole); cursor_next(&at);)
        if (!check_inner(b, at.stmt))
            return false;
    return true;
}

static int count_blocks(Context *c, const Stmt *stmt)
{
    return stmts_of_kind(c, (Stmt *)stmt, ST_BLOCK).n;
}

/* Cuts the path to a node at the item that stands for it, in the innermost sequence that holds all
 * nodes: the loops between hold nothing else. */
static bool find_item(Blockize *b, const Value *node, int depth, StmtPath *path)
{
    Context *c = b->s->ctx;
    const Stmt *given = state_path(b->s, node->u.id, path), *item = path->items[depth];
    REQUIRE(b->s, E0810, node->span, count_blocks(c, item) == count_blocks(c, given),
            "'%s' is in a loop with other blocks, which would become part of the new block; name "
            "that loop, or separate them with fission",
            stmt_label(given));
    path->n = depth + 1;
    return true;
}

/* How deep the paths to all nodes agree. */
static int common_depth(Blockize *b, const Value *nodes, int n)
{
    int depth = b->path.n - 1;
    for (int i = 1; i < n; i++) {
        StmtPath other = {0};
        sched_node(b->s, &nodes[i], &other);
        int common = flow_common(&b->path, &other);
        depth = common < depth ? common : depth;
    }
    return depth;
}

/* The nodes, or the loops around them alone, are neighbours in one sequence, in the order in which
 * they stand there. */
static bool find_whole(Blockize *b)
{
    const Value *nodes = b->call->blockize.nodes.u.list.items;
    int n = b->call->blockize.nodes.u.list.n, first = -1;
    Stmt *node = b->whole = sched_node(b->s, &nodes[0], &b->path);
    b->depth = n > 1 ? common_depth(b, nodes, n) : b->path.n - 1;
    if (n == 1)
        return true;
    Stmt *seq = b->depth > 0 ? b->path.items[b->depth - 1] : node;
    b->items = ARENA_ARRAY(b->s->ctx->arena, Stmt *, n);
    for (int i = 0; i < n; i++) {
        StmtPath path = {0};
        if (!find_item(b, &nodes[i], b->depth, i == 0 ? &b->path : &path))
            return false;
        b->items[i] = (i == 0 ? &b->path : &path)->items[b->depth];
        if (i == 0 && seq->kind == ST_SEQ)
            first = stmt_place(seq, b->items[0]);
        REQUIRE(
            b->s, E0810, nodes[i].span,
            first >= 0 && first + i < seq->u.seq.n && seq->u.seq.items[first + i] == b->items[i],
            "'%s' does not follow '%s' in the same sequence; give adjacent nodes in their order",
            stmt_label(b->items[i]), stmt_label(b->items[i ? i - 1 : 0]));
    }
    b->whole = stmt_seq(b->s->ctx, b->items, n, node->span);
    return true;
}

/* ---- inits ----------------------------------------------------------------------------------- */

/* The init stands before the loop at `anchor`, outside: the new block takes it over, with that loop
 * and the others that carry the reduction on as reduce iterators. It has one init, so all that it
 * takes over stand in the same place. */
static bool reduce_outside(Blockize *b, const Stmt *block, const StmtPath *path, int anchor)
{
    Context *c = b->s->ctx;
    Stmt *start = path->items[anchor];
    REQUIRE(b->s, E0810, b->call->span, !b->start || b->start == start,
            "the init of block '%s' is before loop '%s', that of another block before loop '%s', "
            "but one block has one place for its init; use decompose_reduction for one of them",
            block->u.block.name, stmt_label(start), stmt_label(b->start));
    b->start = start;
    for (int i = anchor; i < b->depth; i++) {
        if (path->items[i]->kind != ST_FOR || !reduction_starts_at(c, &block->u.block, path, i))
            continue;
        const Var *var = path->items[i]->u.loop.var;
        for (int k = 0; k < block->u.block.n_iters; k++) {
            const BlockIter *iter = &block->u.block.iters[k];
            REQUIRE(b->s, E0810, b->call->span,
                    iter->kind == ITER_REDUCE || !expr_uses_var(iter->binding, var),
                    "iterator '%s' of block '%s', '%s', and its reduction both depend on loop "
                    "'%s', which stays outside, so the new block's init has no place; use "
                    "decompose_reduction first, or choose an outer loop",
                    iter->var->name, block->u.block.name, expr_text(b->s->ctx, iter->binding),
                    var->name);
        }
        VEC_PUSH(c->arena, &b->reduced, var);
    }
    return true;
}

/* The init of `block`, which is in b->whole: before its outermost reduction loop where that is
 * inside, else of the new block. */
static bool take_init(Blockize *b, Stmt *block)
{
    Context *c = b->s->ctx;
    StmtPath inner = {0};
    Stmt *nest, *update;
    stmt_find(c, b->whole, block->u.block.id, &inner);
    StmtPath path = path_joined(c, &b->path, b->depth, inner);
    int anchor = reduction_start(c, &path);
    bool outside = anchor < b->depth;
    if (outside && !reduce_outside(b, block, &path, anchor))
        return false;
    anchor = outside ? b->depth : anchor;
    if (!reduction_take_init(
            c, &(ReductionPlace){.kernel = b->s->kernel, .path = &path, .anchor = anchor}, &nest,
            &update))
        return false;
    Stmt *at = path.items[anchor], *now = stmt_replace(c, at, block, update);
    if (outside) {
        VEC_PUSH(c->arena, &b->taken, block);
        b->init = b->init ? stmt_seq(c, (Stmt *[]){b->init, nest}, 2, nest->span) : nest;
        b->whole = stmt_replace(c, b->whole, block, update);
        return true;
    }
    b->whole = stmt_replace(c, b->whole, at, stmt_then(c, nest, now));
    return true;
}

/* ---- dissolving ------------------------------------------------------------------------------ */

static Expr *unless_known(Blockize *b, Expr *all, ExprKind kind, Expr *x, Expr *y)
{
    Expr *cond = expr_binary(b->s->ctx, kind, x, y, span_none());
    return prove(b->facts, cond) ? all : cond_and(b->s->ctx, all, simplify(b->facts, cond));
}

/* Bounds are written as numbers where they are: so they are read. */
static Stmt *fold_bounds(Rewriter *r, Stmt *stmt)
{
    if (stmt->kind != ST_FOR)
        return stmt;
    Facts *none = facts_new(r->ctx);
    ForStmt loop = stmt->u.loop;
    loop.lo = simplify(none, loop.lo);
    loop.hi = simplify(none, loop.hi);
    return loop.lo == stmt->u.loop.lo && loop.hi == stmt->u.loop.hi
               ? stmt
               : stmt_stamp(stmt_for(r->ctx, &loop, stmt->span), stmt);
}

/* The body, shorter by what the facts say of it. What never runs stays, for what it writes. */
static Stmt *simple_body(Blockize *b, Stmt *body)
{
    Stmt *simple = simplify_stmt(b->facts, body);
    Rewriter bounds = {.ctx = b->s->ctx, .stmt = fold_bounds};
    return stmt_is_empty(simple) ? rewrite_stmt(&bounds, body) : simple;
}

static bool is_value(const Blockize *b, Name name)
{
    for (int i = 0; i < b->values.n; i++)
        if (b->values.items[i] == name)
            return true;
    return false;
}

static Name free_value(Blockize *b, Name base)
{
    Name name = base;
    for (int i = 1; is_value(b, name); i++)
        name = sched_fresh_name(b->s, arena_printf(b->s->ctx->arena, "%s_%d", base, i));
    VEC_PUSH(b->s->ctx->arena, &b->values, name);
    return name;
}

typedef struct {
    const Var *from;
    Var *to;
} Renamed;

static Stmt *define_renamed(Rewriter *r, Stmt *stmt)
{
    const Renamed *let = r->user;
    bool it = stmt->kind == ST_LET && stmt->u.let.var == let->from;
    return it ? stmt_let(r->ctx, let->to, stmt->u.let.value, stmt->span) : stmt;
}

/* The body with other names for values that are called as one of another block: they come to stand
 * in the same braces. */
static Stmt *rename_values(Blockize *b, Stmt *body)
{
    Context *c = b->s->ctx;
    StmtList lets = stmts_of_kind(c, body, ST_LET);
    for (int i = 0; i < lets.n; i++) {
        Var *var = lets.items[i]->u.let.var;
        Name name = free_value(b, var->name);
        if (name == var->name)
            continue;
        Renamed let = {var, var_new(c, name, var->type, var->kind, var->span)};
        Subst use = {var, expr_var(c, let.to, var->span)};
        body =
            rewrite_stmt(&(Rewriter){c, &let, NULL, define_renamed}, stmt_subst(c, body, &use, 1));
    }
    return body;
}

/* The body in terms of the loops, under the conditions that make an instance exist. */
static Stmt *dissolve_block(Blockize *b, Stmt *stmt)
{
    Context *c = b->s->ctx;
    const BlockStmt *block = &stmt->u.block;
    Subst *map = ARENA_ARRAY(c->arena, Subst, block->n_iters + 1);
    Expr *cond = block->predicate && !prove(b->facts, block->predicate) ? block->predicate : NULL;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        cond = unless_known(b, cond, EX_LE, expr_subst(c, iter->lo, map, i), iter->binding);
        cond = unless_known(b, cond, EX_LT, iter->binding, expr_subst(c, iter->hi, map, i));
        map[i] = (Subst){iter->var, iter->binding};
    }
    Stmt *body = simple_body(b, stmt_subst(c, block->body, map, block->n_iters));
    body = rename_values(b, body);
    return cond ? stmt_if(c, cond, body, NULL, stmt->span) : body;
}

static Stmt *dissolve(void *user, Stmt *stmt)
{
    Blockize *b = user;
    return stmt->kind == ST_BLOCK ? dissolve_block(b, stmt)
                                  : stmt_map_inside(b->s->ctx, b->facts, stmt, dissolve, b);
}

/* ---- the new block --------------------------------------------------------------------------- */

typedef struct {
    const ForStmt **loops;
    bool *used;
    int n;
} Outer;

static bool is_reduced(const Blockize *b, const Var *var)
{
    for (int i = 0; i < b->reduced.n; i++)
        if (b->reduced.items[i] == var)
            return true;
    return false;
}

/* A block inside has an instance for each iteration of the loop, which updates what it reads: the
 * iterations are different ones, also where no subscript speaks of the loop. */
static bool counts_updates(Blockize *b, const Var *var)
{
    Context *c = b->s->ctx;
    StmtList blocks = stmts_of_kind(c, b->whole, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        if (block->init || !block_uses_var(block, var))
            continue;
        AccessList writes = access_list(c, blocks.items[i], NULL, ACCESS_WRITE);
        for (int k = 0; k < writes.n; k++)
            if (stmt_accesses(c, blocks.items[i], writes.items[k].buffer, ACCESS_READ))
                return true;
    }
    return false;
}

/* The loops outside on which the body depends, those that carry a reduction on or count updates,
 * and those on which their ranges do. */
static Outer outer_loops(Blockize *b, Stmt *body, Stmt *init)
{
    Arena *arena = b->s->ctx->arena;
    Outer o = {ARENA_ARRAY(arena, const ForStmt *, b->depth + 1),
               ARENA_ARRAY(arena, bool, b->depth + 1), 0};
    for (int i = 0; i < b->depth; i++)
        if (b->path.items[i]->kind == ST_FOR)
            o.loops[o.n++] = &b->path.items[i]->u.loop;
    for (int i = o.n - 1; i >= 0; i--) {
        const Var *var = o.loops[i]->var;
        o.used[i] = is_reduced(b, var) || counts_updates(b, var) ||
                    stmt_uses_var(b->s->ctx, body, var) ||
                    (init && stmt_uses_var(b->s->ctx, init, var));
        for (int in = i + 1; in < o.n; in++)
            o.used[i] |= o.used[in] && loop_uses_var(o.loops[in], var);
    }
    return o;
}

/* The init also stands where the loops of its reduction run not at all: what they say does not hold
 * for it. */
static Facts *facts_of_init(const Blockize *b)
{
    Facts *f = facts_of_kernel(b->s->ctx, b->s->kernel);
    for (int i = 0; i < b->depth; i++)
        if (b->path.items[i]->kind == ST_FOR && !is_reduced(b, b->path.items[i]->u.loop.var))
            facts_enter(f, b->path.items[i]);
    return f;
}

/* The init of the block has a place: no range of its spatial iterators changes with what carries
 * the reduction on. */
static bool check_ranges(Blockize *b, const Stmt *init, const Outer *outer)
{
    for (int i = 0; i < outer->n && init; i++)
        for (int k = 0; k < b->reduced.n; k++)
            REQUIRE(b->s, E0810, b->call->span,
                    !outer->used[i] || is_reduced(b, outer->loops[i]->var) ||
                        !loop_uses_var(outer->loops[i], b->reduced.items[k]),
                    "the range of loop '%s' depends on loop '%s', which carries the reduction, and "
                    "both stay outside, so the new block's init has no place; use "
                    "decompose_reduction first, or choose an outer loop",
                    outer->loops[i]->var->name, b->reduced.items[k]->name);
    return true;
}

/* The inits that the block takes over ran one after the other, and will run together for each of
 * its points. */
static bool check_inits(Blockize *b, const Stmt *init, const Outer *outer)
{
    Context *c = b->s->ctx;
    VEC(const Var *) loops = {0};
    Conflict why = {0};
    for (int i = 0; i < b->reduced.n && init; i++)
        REQUIRE(b->s, E0810, b->call->span, !stmt_uses_var(b->s->ctx, init, b->reduced.items[i]),
                "the init of one block runs for each iteration of loop '%s', which carries another "
                "block's reduction and stays outside, so the new block's init has no place; use "
                "decompose_reduction first, or choose an outer loop",
                b->reduced.items[i]->name);
    for (int i = outer->n - 1; i >= 0 && b->start && outer->loops[i] != &b->start->u.loop; i--)
        if (outer->used[i] && !is_reduced(b, outer->loops[i]->var))
            VEC_PUSH(c->arena, &loops, outer->loops[i]->var);
    const InitNest nest = {b->s->kernel, b->start, loops.items, loops.n};
    for (int i = 0; i < b->taken.n; i++)
        for (int j = i + 1; j < b->taken.n; j++) {
            const Stmt *one = b->taken.items[i], *other = b->taken.items[j];
            REQUIRE_KEPT(
                b->s, E0810, b->call->span,
                dependence_inits_meet_within(c, &nest, one, other, &why), &why,
                "the inits of blocks '%s' and '%s' access the same elements, and one would no "
                "longer run before the whole other block; use decompose_reduction for one of them",
                one->u.block.name, other->u.block.name);
        }
    return true;
}

/* NULL after a refusal. */
static Stmt *build_block(Blockize *b)
{
    Context *c = b->s->ctx;
    b->facts = sched_facts(b->s, &b->path);
    Stmt *body = dissolve(b, b->whole);
    b->facts = facts_of_init(b);
    Stmt *init = b->init ? dissolve(b, b->init) : NULL;
    Outer outer = outer_loops(b, body, init);
    if (!check_inits(b, init, &outer) || !check_ranges(b, init, &outer))
        return NULL;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, outer.n + 1);
    Subst *map = ARENA_ARRAY(c->arena, Subst, outer.n + 1);
    int n = 0;
    for (int i = 0; i < outer.n; i++) {
        if (!outer.used[i])
            continue;
        const ForStmt *loop = outer.loops[i];
        Expr *lo, *hi;
        Span span = loop->var->span.source ? loop->var->span : b->whole->span;
        loop_domain(c, loop, &lo, &hi);
        iters[n] = (BlockIter){.var = var_new(c, loop->var->name, DT_INDEX, VAR_ITER, span),
                               .lo = expr_subst(c, lo, map, n),
                               .hi = expr_subst(c, hi, map, n),
                               .binding = expr_var(c, loop->var, span_none()),
                               .kind = is_reduced(b, loop->var) ? ITER_REDUCE : ITER_SPATIAL};
        map[n] = (Subst){loop->var, expr_var(c, iters[n].var, span_none())};
        n++;
    }
    Name name = block_implied_name(c, body);
    BlockStmt block = {
        .name = sched_fresh_name(b->s, arena_printf(c->arena, "%s_o", name ? name : "block")),
        .iters = iters,
        .n_iters = n,
        .init = init ? stmt_subst(c, init, map, n) : NULL,
        .body = stmt_subst(c, body, map, n),
        .atomic = b->atomic,
        .annotations = b->annotations};
    return stmt_block(c, &block, b->whole->span);
}

/* The kernel's body with `block` in the place of the nodes. */
static Stmt *placed(Blockize *b, Stmt *first, Stmt *block)
{
    Context *c = b->s->ctx;
    int n = b->call->blockize.nodes.u.list.n;
    Stmt *body = stmt_replace(c, b->s->kernel->body, first, block);
    for (int i = 1; i < n; i++)
        body = stmt_replace(c, body, b->items[i], NULL);
    return body;
}

/* The bounds of loops in a block are read wherever it runs, and not only where they exist. */
static bool require_sized_loops(Blockize *b)
{
    for (Cursor at = cursor_outer(b->s->ctx, b->whole); cursor_next(&at);)
        REQUIRE(b->s, E0810, b->call->span,
                at.stmt->kind != ST_FOR ||
                    (!expr_has_load(at.stmt->u.loop.lo) && !expr_has_load(at.stmt->u.loop.hi)),
                "data decide the range of loop '%s', which lowering reads before the loop; a loop "
                "in a block has a range of sizes",
                stmt_label(at.stmt));
    return true;
}

bool prim_blockize(Schedule *s, const PrimCall *call, Value *result)
{
    Blockize b = {.s = s, .call = call};
    if (!find_whole(&b) || !check_all_inner(&b) || !require_sized_loops(&b))
        return false;
    REQUIRE(s, E0810, call->span, !b.atomic || !b.plain,
            "some of its blocks are atomic and some are not; make all of them atomic, or none");
    Stmt *first = b.path.items[b.depth], *with_init;
    while ((with_init = block_with_init(s->ctx, b.whole)))
        if (!take_init(&b, with_init))
            return false;
    Stmt *block = build_block(&b);
    if (!block)
        return false;
    Stmt *body = placed(&b, first, block);
    for (int i = 0; i < b.depth; i++)
        if (b.path.items[i]->kind == ST_FOR && b.path.items[i]->u.loop.kind != LOOP_SERIAL) {
            if (!flow_recheck_block(s, body, b.path.items[i]->u.loop.id, &block->u.block,
                                    call->span))
                return false;
            break;
        }
    sched_replace_body(s, body);
    *result = value_block(block);
    return true;
}
