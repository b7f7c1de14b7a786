/* reindex.c - Implements reindex, reindex_cache_read and reindex_cache_write: copies what a block
 * accesses, laid out by its iterators.
 *
 *   reindex_cache_read(y, x, shared, [i, j] -> [j, i]):
 *
 *   y[i, j] = x[i + 2 * j]      =>      x_shared[j, i] = x[i + 2 * j]  for all i, j
 *                                       y[i, j] = x_shared[j, i]
 *
 * Every access of the block has the same subscripts, the element; an index map of the iterators
 * says the place. The copy can stand for the buffer if the place tells the element (relation.h):
 * then there is one formula for the element at each place, and the copying block runs over the
 * places. TVM asks for a map that has exactly the iterators that the subscripts use; here [y + dy]
 * is a place for x[y + dy], and iterators may be left out wherever the element does not need them.
 * What is written goes both ways: a place of its own for each element, too.
 *
 * A block that reads `inside ? x[i - u] : 0` gets a copy of that value, zeros included, where the
 * place tells the iterators of the condition: the copy makes the test once for each place, and the
 * block none.
 *
 * Other blocks may read the copy, too, if they read the same elements in the same iterations.
 *
 * A block that reads several elements of a buffer gets a copy of those whose subscripts are made of
 * the iterators of the map:
 *
 *   reindex_cache_read(y, x, shared, [i, j, k] -> [k, i]):
 *
 *   y[i, j] += x[i, k] * x[j, k]    =>      y[i, j] += x_shared[k, i] * x[j, k]
 *
 * Parts of an element, such as x[i, k, 0] and x[i, k, 1], are copied together (reindex_element.c).
 *
 * Legal: all of these accesses of the block have the same subscripts, and the place tells the
 * element.
 * Invariant: every access finds the value that it found in the buffer itself. */
#include "passes/schedule/copies/reindex.h"

#include "passes/analysis/polyhedral/index_map.h"
#include "passes/analysis/regions/inits.h"
#include "passes/schedule/enter.h"

/* ---- from the place to the element ----------------------------------------------------------- */

static bool find_places(Reindex *r)
{
    Context *c = r->s->ctx;
    Facts *f = facts_of_kernel(c, r->s->kernel), *loose = facts_new(c);
    facts_points(f, &r->points);
    for (int i = 0; i < r->points.n; i++)
        facts_range_loosely(loose, r->points.var[i], r->points.lo[i], r->points.hi[i]);
    r->extent = ARENA_ARRAY(c->arena, Expr *, r->n_to + 1);
    for (int k = 0; k < r->n_to; k++)
        r->to[k] = simplify(loose, r->to[k]);
    int wrong = box_of(f, &r->points, r->to, r->n_to, r->extent);
    REQUIRE(
        r->s, E0902, r->map_span, wrong < 0,
        "the place '%s' along axis %d is negative or unbounded for some iteration of block '%s'",
        expr_text(r->s->ctx, r->to[wrong]), wrong, r->stmt->u.block.name);
    r->place = ARENA_ARRAY(c->arena, Var *, r->n_to + 1);
    r->at_place = facts_of_kernel(c, r->s->kernel);
    for (int k = 0; k < r->n_to; k++) {
        Name name = sched_iter_name(r->s, k);
        if (r->to[k]->kind == EX_VAR && r->to[k]->u.var->kind == VAR_ITER)
            name = r->to[k]->u.var->name;
        Name base = name;
        for (int before = 0, tries = k; before < k; before++)
            if (r->place[before]->name == name) {
                name = ctx_namef(c, "%.32s_%d", base, tries++);
                before = -1;
            }
        r->place[k] = var_new(c, name, DT_INDEX, VAR_ITER, r->span);
        facts_range(r->at_place, r->place[k], expr_index(c, 0), r->extent[k]);
    }
    return true;
}

static bool refuse_element(const Reindex *r, const Relation *relation)
{
    const char *clash = NULL;
    Tells tells = relation_tells(r->s->ctx, relation, &clash);
    if (tells == TELLS_NOT)
        return sched_refuse(
            r->s, E0911, r->map_span,
            "two elements of '%s' would share a place in the copy: those of block '%s' at %s",
            r->from->name, r->stmt->u.block.name, clash);
    return sched_refuse(r->s, E0911, r->map_span,
                        "no formula found from a place of the copy to its element of '%s'; use a "
                        "map of the iterators that the subscripts use, in any order",
                        r->from->name);
}

/* False, without an error if there is a condition, where the place does not tell the element. */
static bool find_elements(Reindex *r)
{
    Context *c = r->s->ctx;
    Facts *f = facts_of_kernel(c, r->s->kernel);
    int n = r->points.n;
    Relation relation = {&r->points, r->to, r->at, r->n_to, r->from->rank};
    facts_points(f, &r->points);
    r->back = ARENA_ARRAY(c->arena, Expr *, n + 1);
    if (digits_solve(c, f, &r->points, r->to, r->n_to, r->place, r->back)) {
        Subst *subst = ARENA_ARRAY(c->arena, Subst, n + 1);
        for (int i = 0; i < n; i++)
            subst[i] = (Subst){r->points.var[i], r->back[i]};
        r->element = exprs_subst(c, r->at, r->from->rank, subst, n);
        if (r->inside)
            r->inside_at_place = simplify(r->at_place, expr_subst(c, r->inside, subst, n));
    } else if (r->inside) {
        return false;
    } else {
        r->back = NULL;
        r->element = ARENA_ARRAY(c->arena, Expr *, r->from->rank + 1);
        if (!relation_solve(c, &relation, r->place, r->element))
            return refuse_element(r, &relation);
    }
    for (int d = 0; d < r->from->rank; d++)
        r->element[d] = simplify(r->at_place, r->element[d]);
    return true;
}

/* Which places iterations come to; NULL: all. */
static Expr *taken_places(const Reindex *r)
{
    IndexMap map = {r->points.var, r->points.n, r->to, r->n_to};
    return index_map_taken(r->at_place, &map, &r->points, r->back, r->place);
}

/* ---- the copy -------------------------------------------------------------------------------- */

static Buffer *make_buffer(const Reindex *r)
{
    Buffer *b = stage_buffer(r->s, r->from, r->suffix, r->scope, r->span);
    b->shape = stage_shape(r->s, r->extent, r->n_to);
    b->rank = r->n_to;
    return b;
}

static Expr **place_index(const Reindex *r)
{
    Context *c = r->s->ctx;
    Expr **index = ARENA_ARRAY(c->arena, Expr *, r->n_to + 1);
    for (int k = 0; k < r->n_to; k++)
        index[k] = expr_var(c, r->place[k], r->span);
    return index;
}

/* The copying block, but for its name and body. */
typedef struct {
    Expr *where;         /* which places there are; NULL: all */
    const Interval *box; /* the places that it runs over; NULL: all */
} CopyOf;

static Stmt *copy_nest(const Reindex *r, Name block, CopyOf of, Stmt *body)
{
    Expr **lo = exprs_zero(r->s->ctx, r->n_to);
    StageNest nest = {block, r->n_to, r->place, lo, r->extent, of.where, body, of.box};
    return stage_nest(r->s, &nest, r->stmt->span);
}

/* Sizes, numbers and the loops around `parent` make up the value: a list on the path to the block,
 * or the one statement that a copy stands in front of. */
static bool is_known_at(const Reindex *r, const Stmt *parent, const Expr *e)
{
    Context *c = r->s->ctx;
    int n = 0;
    while (n < r->path.n && r->path.items[n] != parent)
        n++;
    StmtPath outer = path_joined(c, &r->path, n < r->path.n ? n : 0, (StmtPath){0});
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD ||
            (at.expr->kind == EX_VAR && at.expr->u.var->kind != VAR_SIZE &&
             at.expr->u.var->kind != VAR_LOOP))
            return false;
    return !expr_loop_outside(c, e, &outer);
}

/* What an iteration of the loops around `place` needs of elements that data choose: one place along
 * the axes that these decide. NULL: all places. */
static const Interval *places_in(const Reindex *r, const StagePlace *place)
{
    Context *c = r->s->ctx;
    Interval *box = ARENA_ARRAY(c->arena, Interval, r->n_to + 1);
    bool some = false, chosen = false;
    for (int d = 0; d < r->from->rank; d++)
        chosen |= expr_has_load(r->at[d]);
    for (int k = 0; k < r->n_to && chosen; k++) {
        Expr *at = iters_to_loops(c, &r->stmt->u.block, r->to[k]);
        bool one = r->readers.n == 0 && place->parent && expr_loop_var(c, at) &&
                   is_known_at(r, place->parent, at);
        box[k] =
            one ? (Interval){at, expr_index(c, 1)} : (Interval){expr_index(c, 0), r->extent[k]};
        some |= one;
    }
    return some ? box : NULL;
}

typedef struct {
    const Reindex *r;
    Buffer *to;
    Expr **at;            /* the place, in the iterators of the block */
    Expr *const *element; /* the subscripts that are redirected, but for the part */
} Redirect;

/* The place of the accessed part. */
static Expr **place_of_part(const Redirect *d, Context *c, Expr *const *index)
{
    if (!d->r->part)
        return d->at;
    Subst part = {d->r->part, index[d->r->part_axis]};
    return exprs_subst(c, d->at, d->r->n_to, &part, 1);
}

static Expr *redirect_load(Rewriter *rewriter, Expr *e)
{
    Redirect *d = rewriter->user;
    Expr *where;
    const Expr *load = d->r->inside ? expr_copied(e, &where) : NULL;
    if (load && where && load->u.load.buffer == d->to)
        return e->u.arg[1];
    if (!expr_is_load(e, d->r->from) || !reindex_is_part(d->r, e->u.load.index, d->element))
        return e;
    return expr_load(rewriter->ctx, d->to, place_of_part(d, rewriter->ctx, e->u.load.index),
                     e->span);
}

static Stmt *redirect_store(Rewriter *rewriter, Stmt *stmt)
{
    Redirect *d = rewriter->user;
    if (stmt->kind != ST_STORE || stmt->u.store.buffer->id != d->r->from->id)
        return stmt;
    Stmt *store = stmt_assign(rewriter->ctx, (BufferElement){d->to, d->at}, stmt->u.store.op,
                              stmt->u.store.value, stmt->span);
    store->u.store.atomic = stmt->u.store.atomic;
    return store;
}

static Stmt *redirect(const Reindex *r, Stmt *list, Stmt *block, Redirect *to)
{
    Context *c = r->s->ctx;
    Rewriter rewriter = {.ctx = c, .user = to, .expr = redirect_load, .stmt = redirect_store};
    return stmt_replace(c, list, block, rewrite_stmt(&rewriter, block));
}

/* The kernel's body with the copy at its place and the blocks on it. */
static void put(const Reindex *r, const StagePlace *place, Buffer *to, Stmt *before, Stmt *after)
{
    Context *c = r->s->ctx;
    int n = r->stmt->u.block.n_iters;
    Stmt *list = stage_insert(r->s, place, before, after);
    list = redirect(r, list, r->stmt, &(Redirect){r, to, r->to, r->at});
    for (int i = 0; i < r->readers.n; i++) {
        const Reader *reader = &r->readers.items[i];
        Expr **at = exprs_subst(c, r->to, r->n_to, reader->iters, n),
             **element = exprs_subst(c, r->at, r->from->rank, reader->iters, n);
        list = redirect(r, list, reader->stmt, &(Redirect){r, to, at, element});
    }
    Stmt *body = stmt_replace(c, r->s->kernel->body, place->parent, list);
    sched_replace_body(r->s, flow_declare_beside(r->s, body, r->from, to));
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The part of the block that is evaluated in every instance: its only store, or the condition
 * around all else. False where it has neither. */
static bool first_evaluated(const Reindex *r, Cursor *at)
{
    Context *c = r->s->ctx;
    const Stmt *store = flow_single_store(c, r->stmt), *body = r->stmt->u.block.body;
    if (!store && body->kind != ST_IF)
        return false;
    *at = store ? cursor_stmt(c, store) : cursor_expr(c, body->u.cond.cond);
    return true;
}

/* Every instance of the block reads the buffer, whatever the data are. */
static bool always_reads(const Reindex *r)
{
    Cursor at;
    if (r->stmt->u.block.predicate || !first_evaluated(r, &at))
        return false;
    while (cursor_next(&at)) {
        const Expr *e = at.expr;
        if (e && expr_is_load(e, r->from))
            return true;
        if (e && (e->kind == EX_SELECT || e->kind == EX_AND || e->kind == EX_OR))
            cursor_prune(&at);
    }
    return false;
}

/* Subscripts that read memory are evaluated at every place, so each place must be one where the
 * block does, too. */
static bool check_gather(const Reindex *r, Expr **where)
{
    const BlockStmt *block = &r->stmt->u.block;
    Facts *f = facts_of_kernel(r->s->ctx, r->s->kernel);
    bool loads = false, sure = r->back && always_reads(r);
    for (int d = 0; d < r->from->rank; d++)
        loads |= expr_has_load(r->at[d]);
    if (!loads)
        return true;
    facts_enter(f, r->stmt);
    for (int i = 0; i < block->n_iters; i++)
        sure &= exprs_use_var(r->to, r->n_to, block->iters[i].var) ||
                facts_range_is_literal(f, block->iters[i].var);
    REQUIRE(r->s, E0912, r->span, sure,
            "a subscript of '%s' reads memory, and block '%s' does not evaluate it for every place "
            "of the copy",
            r->from->name, block->name);
    *where = taken_places(r);
    return true;
}

/* The init of the block reads the element of the copy, at these subscripts. */
static bool init_reads(const Reindex *r, const BlockStmt *block, Expr *const *at)
{
    if (!block->init)
        return false;
    AccessList reads = access_list(r->s->ctx, block->init, r->from, ACCESS_READ);
    for (int i = 0; i < reads.n; i++)
        if (reindex_is_part(r, reads.items[i].index, at))
            return true;
    return false;
}

/* An init has no value of a reduction's iterators, so a place that is made of them is none for what
 * it reads; and it also runs where the reduction is empty, at places that no instance of the block
 * tells. */
static bool check_init(const Reindex *r, const BlockStmt *block, Expr *const *at, Expr *const *to)
{
    bool reads = init_reads(r, block, at);
    const BlockIter *empty = reads ? reduction_empty_for_some(r->s->ctx, block) : NULL;
    REQUIRE(r->s, E0911, r->span, !empty,
            "the init of block '%s' reads '%s' even for empty ranges of '%s', for which the copy "
            "has no place; use decompose_reduction first",
            block->name, r->from->name, empty->var->name);
    for (int i = 0; i < block->n_iters && reads; i++)
        REQUIRE(r->s, E0911, r->map_span,
                block->iters[i].kind == ITER_SPATIAL ||
                    !exprs_use_var(to, r->n_to, block->iters[i].var),
                "the init of block '%s' reads '%s', but its place depends on '%s', a reduction "
                "iterator, which has no value in the init",
                block->name, r->from->name, block->iters[i].var->name);
    return true;
}

static bool check_inits(const Reindex *r)
{
    int n = r->stmt->u.block.n_iters;
    for (int i = 0; i < r->readers.n; i++) {
        const Reader *reader = &r->readers.items[i];
        Expr **to = exprs_subst(r->s->ctx, r->to, r->n_to, reader->iters, n),
             **at = exprs_subst(r->s->ctx, r->at, r->from->rank, reader->iters, n);
        if (!check_init(r, &reader->stmt->u.block, at, to))
            return false;
    }
    return check_init(r, &r->stmt->u.block, r->at, r->to);
}

/* Elements that the block reads under a condition may not exist at other places. */
static Expr *existing_elements(const Reindex *r, Expr *where)
{
    Context *c = r->s->ctx;
    for (int d = 0; d < r->from->rank; d++) {
        Expr *low = expr_binary(c, EX_GE, r->element[d], expr_index(c, 0), span_none());
        Expr *high = expr_binary(c, EX_LT, r->element[d], r->from->shape[d], span_none());
        if (expr_has_load(r->element[d]))
            continue;
        if (!prove(r->at_place, low))
            where = cond_and(c, where, low);
        if (!prove(r->at_place, high))
            where = cond_and(c, where, high);
    }
    return where ? simplify(r->at_place, where) : NULL;
}

/* The copy of an element that its condition, or that it exists, decides about. */
static Stmt *copy_or_zero(const Reindex *r, const Stmt *copy)
{
    Context *c = r->s->ctx;
    StoreStmt store = copy->u.store;
    FactsMark mark = facts_mark(r->at_place);
    facts_assume(r->at_place, r->inside_at_place);
    Expr *exists = existing_elements(r, NULL);
    facts_reset(r->at_place, mark);
    Expr *inside = exists ? expr_binary(c, EX_AND, r->inside_at_place, exists, copy->span)
                          : r->inside_at_place;
    Expr *zero = expr_number(c, r->from->type, 0, copy->span);
    store.value = expr_select(c, inside, store.value, zero, copy->span);
    return stmt_store(c, &store, copy->span);
}

/* Which elements of the buffer exist in an iteration depends on the loop: a block inside it that
 * writes them does, or reads a buffer of that kind. Inputs exist as a whole. */
static bool makes_parts(const Reindex *r, Stmt *loop, const Buffer *buffer)
{
    BufferSet sources = {0};
    VEC_PUSH(r->s->ctx->arena, &sources, buffer);
    for (int k = 0; k < sources.n; k++) {
        Role role = enter_program_role(r->s, sources.items[k]);
        if (role == ROLE_IN || role == ROLE_INOUT)
            continue;
        BlockList writers = flow_blocks(r->s, loop, sources.items[k], ACCESS_WRITE);
        for (int i = 0; i < writers.n; i++) {
            if (block_uses_loop(&writers.items[i]->u.block, ITER_SPATIAL, loop->u.loop.var))
                return true;
            flow_add_buffers(r->s, writers.items[i], ACCESS_READ, &sources);
        }
    }
    return false;
}

/* The copy takes all elements at once, so what its subscripts read is there as a whole: not made in
 * a loop around it, part by part. */
static bool subscripts_are_complete(const Reindex *r, const BufferSet *staged,
                                    const StagePlace *place)
{
    for (int i = 0; i < r->path.n && r->path.items[i] != place->parent; i++)
        for (int k = 1; k < staged->n && r->path.items[i]->kind == ST_FOR; k++)
            REQUIRE(
                r->s, E0443, r->span, !makes_parts(r, r->path.items[i], staged->items[k]),
                "the copy of '%s' would be in loop '%s', but needs all of '%s', which the loop "
                "computes in parts; make the copy first, and move it into the loop with compute_at",
                r->from->name, stmt_label(r->path.items[i]), staged->items[k]->name);
    return true;
}

static bool stage_read(Reindex *r, Value *result)
{
    Schedule *s = r->s;
    Context *c = s->ctx;
    BlockList users = {0};
    BufferSet staged = {0};
    StagePlace place = {0};
    Expr *where = NULL;
    if (!check_inits(r) || !check_gather(r, &where))
        return false;
    VEC_PUSH(c->arena, &users, r->stmt);
    for (int i = 0; i < r->readers.n; i++)
        VEC_PUSH(c->arena, &users, r->readers.items[i].stmt);
    VEC_PUSH(c->arena, &staged, r->from);
    for (int d = 0; d < r->from->rank; d++) {
        AccessList inner = access_list_expr(c, r->element[d], NULL);
        for (int i = 0; i < inner.n; i++)
            VEC_PUSH(c->arena, &staged, inner.items[i].buffer);
    }
    REQUIRE(s, E0443, r->span, stage_place(s, &users, &staged, ACCESS_WRITE, &place),
            "block '%s' also writes '%s' or data that its subscripts read%s, so an earlier copy "
            "would miss these writes",
            r->stmt->u.block.name, r->from->name,
            r->readers.n > 0 ? ", or another block does in between" : "");
    if (!subscripts_are_complete(r, &staged, &place))
        return false;
    Buffer *to = make_buffer(r);
    BufferElement element = {.buffer = r->from, .index = r->element};
    Stmt *body = stage_copy(s, (BufferElement){.buffer = to, .index = place_index(r)}, element,
                            r->stmt->span);
    if (r->inside)
        body = copy_or_zero(r, body);
    else
        where = existing_elements(r, where);
    CopyOf copy = {where, places_in(r, &place)};
    Stmt *nest = copy_nest(r, to->name, copy, body);
    put(r, &place, to, nest, NULL);
    *result = value_block(stmt_nest_block(nest));
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A reduction's iterators do not change the place of an element: also where, of what runs, they
 * have one value, since an init has none. */
static bool check_not_reduced(const Reindex *r)
{
    const BlockStmt *block = &r->stmt->u.block;
    for (int i = 0; i < block->n_iters; i++)
        REQUIRE(r->s, E0913, r->map_span,
                block->iters[i].kind == ITER_SPATIAL ||
                    !exprs_use_var(r->to, r->n_to, block->iters[i].var),
                "'%s' is a reduction iterator, but the element of '%s' that it updates has a "
                "single place",
                block->iters[i].var->name, r->from->name);
    return true;
}

static bool check_one_place(const Reindex *r)
{
    const BlockStmt *block = &r->stmt->u.block;
    const char *clash = NULL;
    Relation relation = {&r->points, r->at, r->to, r->from->rank, r->n_to};
    Tells tells = relation_tells(r->s->ctx, &relation, &clash);
    REQUIRE(r->s, E0913, r->map_span, tells != TELLS_NOT,
            "an element of '%s' would have two places in the copy: those of block '%s' at %s",
            r->from->name, block->name, clash);
    REQUIRE(r->s, E0913, r->map_span, tells == TELLS && r->back,
            "could not prove that each element of '%s' has one place in the copy; use a map that "
            "splits, joins and permutes iterators",
            r->from->name);
    return true;
}

static bool stage_write(Reindex *r, Value *result)
{
    Schedule *s = r->s;
    const Stmt *store = flow_single_store(s->ctx, r->stmt);
    StagePlace place = {0};
    REQUIRE(s, E0444, r->span, store && store->u.store.buffer->id == r->from->id,
            "block '%s' %s; give it one store to redirect", r->stmt->u.block.name,
            flow_no_single_store(s->ctx, r->stmt));
    if (!stage_can_write(s, &r->path, store, r->span, &place) || !check_one_place(r))
        return false;
    Buffer *to = make_buffer(r);
    Stmt *body = stage_copy(s, (BufferElement){.buffer = r->from, .index = r->element},
                            (BufferElement){.buffer = to, .index = place_index(r)}, r->stmt->span);
    Stmt *nest = copy_nest(r, to->name, (CopyOf){taken_places(r), NULL}, body);
    put(r, &place, to, NULL, nest);
    *result = value_block(stmt_nest_block(nest));
    return true;
}

/* ---- the primitives -------------------------------------------------------------------------- */

/* The block and the buffer of the call, where the block touches it in `mode`. */
static bool check_access(const Reindex *r, Span at, AccessMode mode)
{
    REQUIRE(r->s, E0442, at, stmt_accesses(r->s->ctx, r->stmt, r->from, mode),
            "block '%s' does not %s '%s'; name a buffer that it accesses this way",
            r->stmt->u.block.name,
            mode == ACCESS_READ    ? "read"
            : mode == ACCESS_WRITE ? "write"
                                   : "access",
            r->from->name);
    return true;
}

static bool reindex_new(Reindex *r, Schedule *s, const PrimCall *call, AccessMode mode,
                        const IndexMap *map)
{
    *r = (Reindex){.s = s, .span = call->span, .map_span = call->span, .part_axis = -1};
    r->takes_parts = map && mode == ACCESS_READ;
    if (map)
        r->map_span = call->reindex_cache_read.index_map.span;
    r->stmt = sched_node(s, &call->reindex.block, &r->path);
    r->from = sched_buffer(s, call->reindex.buffer.u.id);
    if (!flow_require_no_range(s, r->stmt, r->from, call->reindex.buffer.span))
        return false;
    const BlockStmt *block = &r->stmt->u.block;
    for (int i = 0; i < block->n_iters; i++)
        REQUIRE(s, E0912, call->span,
                !expr_has_load(block->iters[i].lo) && !expr_has_load(block->iters[i].hi),
                "data decide the range of '%s' in block '%s', so the size of the copy is not known",
                block->iters[i].var->name, block->name);
    r->stmt = flow_write_out_subscripts(s, r->stmt, &r->path, r->from);
    if (mode == ACCESS_READ || !stmt_accesses(s->ctx, r->stmt, r->from, ACCESS_WRITE))
        reindex_find_condition(r);
    /* written out, a value that nothing uses is gone */
    return check_access(r, call->reindex.buffer.span, mode) &&
           (!map || reindex_place_by_map(r, map)) && reindex_find_element(r);
}

static bool solve(Reindex *r)
{
    reindex_find_points(r);
    if (!find_places(r))
        return false;
    if (find_elements(r))
        return true;
    if (!r->inside)
        return false;
    r->inside = NULL;
    return solve(r);
}

bool prim_reindex(Schedule *s, const PrimCall *call, Value *result)
{
    Reindex r;
    if (!reindex_new(&r, s, call, ACCESS_ANY, NULL))
        return false;
    r.suffix = "reindex";
    r.scope = SCOPE_GLOBAL;
    reindex_place_by_iterators(&r);
    bool writes = stmt_accesses(s->ctx, r.stmt, r.from, ACCESS_WRITE);
    if ((writes && !check_not_reduced(&r)) || !solve(&r))
        return false;
    return writes ? stage_write(&r, result) : stage_read(&r, result);
}

/* With the blocks of `readers` (NULL: none), whose reads need not have the condition of the
 * block's. */
static bool with_map(Schedule *s, const PrimCall *call, const Value *readers, Reindex *r)
{
    AccessMode mode = readers ? ACCESS_READ : ACCESS_WRITE;
    const IndexMap *map = call->reindex_cache_read.index_map.u.map;
    if (!reindex_new(r, s, call, mode, map) || (readers && !reindex_find_readers(r, readers)))
        return false;
    if (r->readers.n > 0)
        r->inside = NULL;
    reindex_place_parts(r);
    r->scope = scope_find(call->reindex_cache_read.scope.u.s);
    r->suffix = scope_name(r->scope);
    return (mode == ACCESS_READ || check_not_reduced(r)) && solve(r);
}

bool prim_reindex_cache_read(Schedule *s, const PrimCall *call, Value *result)
{
    Reindex r;
    return with_map(s, call, &call->reindex_cache_read.consumers, &r) && stage_read(&r, result);
}

bool prim_reindex_cache_write(Schedule *s, const PrimCall *call, Value *result)
{
    Reindex r;
    return with_map(s, call, NULL, &r) && stage_write(&r, result);
}
