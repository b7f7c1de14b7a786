/* thread_reduction.c - reductions across the threads of a block.
 *
 *   for k in 32 bind threadIdx.x                     for t in 32 bind threadIdx.x { y_part[t] = 0; }
 *       block y(i in N = i, reduce ...)      =>      for k in 32 bind threadIdx.x ... y_part[k] += A[i, ...];
 *       { init y[i] = 0;                             for t in 32 bind threadIdx.x {
 *         y[i] += A[i, ...]; }                           y_part[t] += shuffle_xor(y_part[t], 16); ... 8, 4, 2, 1 }
 *                                                    for t in 32 bind threadIdx.x where t == 0 { y[i] = y_part[t]; }
 *
 * Each thread keeps a partial result in a register, from the identity of the operator on, so a thread that has no
 * instance of the block adds nothing.  Warps combine by butterflies of shuffles, after which all their lanes hold the
 * same value; several warps hand theirs over in shared memory. Threads that are not in whole warps along x combine in
 * shared memory, halving their number each time.
 *
 * What comes out is a program of loops and blocks like any other: whether it may run on threads, and where it needs
 * barriers, is asked of it as of any other, by the primitives that bind loops and by the passes after this one.  The
 * blocks that shuffle write local memory only, so they run on every thread, whatever guards their neighbours have. */
#include "passes/analysis/reducer.h"
#include "passes/lower/pass.h"
#include "passes/lower/reductions.h"

enum { WARP = 32, MAX_LANES = 1024 };

typedef VEC(const ForStmt *) LoopList;

/* One reduction that is taken apart. */
typedef struct {
    Context *c;
    const Kernel *kernel;
    Names names;
    StmtPath path; /* from the body to the block */
    const BlockStmt *block;
    Reducer r;
    const Stmt *lanes; /* the loop that is bound to threads */
    int64_t extent;    /* its iterations */
    int anchor;        /* on the path: the outermost loop that carries the reduction */
    LoopList
        dims; /* loops that tell partial results apart: of threads outside the anchor, spatial ones inside */
    int outside;         /* how many of them are outside */
    Buffer *part;        /* of each thread, in registers */
    Buffer *red;         /* what threads hand over at present, in shared memory; NULL: nothing */
    VEC(Buffer *) temps; /* both, and those before */
    const char *why;     /* the reason of a refusal */
} Apart;

static bool refuse(Apart *a, const char *format, ...) TIRC_PRINTF(2, 3);

/* Always false. */
static bool refuse(Apart *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    a->why = arena_vprintf(a->c->arena, format, args);
    va_end(args);
    return false;
}

/* ---- what there is ------------------------------------------------------------------------------ */

static bool used_by(const BlockStmt *block, IterKind kind, const Stmt *loop)
{
    return loop->kind == ST_FOR && block_uses_loop(block, kind, loop->u.loop.var);
}

static bool is_thread_loop(const Stmt *s)
{
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_BIND && axis_is_thread(s->u.loop.axis);
}

/* The loops of threads that the block at the end of the path reduces over, of more than one iteration. A loop that spatial
 * iterators use, too, only says where the reduction of its element begins. */
static int reduced_lanes(const StmtPath *path, const Stmt **first)
{
    int n = 0;
    int64_t extent;
    const BlockStmt *block = &path->items[path->n - 1]->u.block;
    for (int i = 0; i + 1 < path->n; i++) {
        const Stmt *s = path->items[i];
        if (!is_thread_loop(s) || !used_by(block, ITER_REDUCE, s) ||
            used_by(block, ITER_SPATIAL, s) || (loop_const_extent(&s->u.loop, &extent) && extent <= 1))
            continue;
        if (n++ == 0)
            *first = s;
    }
    return n;
}

typedef struct {
    StmtPath path, found;
    Context *c;
} BlockSearch;

static bool is_across_threads(const StmtPath *path)
{
    const Stmt *lanes;
    const BlockStmt *block = &path->items[path->n - 1]->u.block;
    return block->init && !block->atomic && reduced_lanes(path, &lanes) > 0;
}

static Stmt *search_block(void *user, Stmt *s)
{
    BlockSearch *search = user;
    VEC_PUSH(search->c->arena, &search->path, s);
    if (search->found.n == 0 && s->kind == ST_BLOCK && is_across_threads(&search->path))
        for (int i = 0; i < search->path.n; i++)
            VEC_PUSH(search->c->arena, &search->found, search->path.items[i]);
    if (search->found.n == 0)
        stmt_map_children(search->c, s, search_block, search);
    search->path.n--;
    return s;
}

/* ---- whether it can be done ----------------------------------------------------------------------- */

static bool check_lanes(Apart *a)
{
    const Stmt *second = NULL;
    for (int i = 0; i + 1 < a->path.n && !second; i++)
        if (a->path.items[i] != a->lanes && is_thread_loop(a->path.items[i]) &&
            used_by(a->block, ITER_REDUCE, a->path.items[i]))
            second = a->path.items[i];
    const ForStmt *loop = &a->lanes->u.loop;
    if (second)
        return refuse(a,
                      "block '%s' would reduce over '%s' and '%s', both of threads; fuse the loops "
                      "and bind the one",
                      a->block->name, loop->var->name, second->u.loop.var->name);
    if (!loop_const_extent(loop, &a->extent) || a->extent > MAX_LANES)
        return refuse(a,
                      "loop '%s' needs a literal number of iterations, at most %d, to be the "
                      "threads of a reduction",
                      loop->var->name, MAX_LANES);
    return true;
}

/* A loop inside the anchor, and what the partial results must be told apart by. */
static bool check_inner(Apart *a, const Stmt *s)
{
    int64_t extent;
    const ForStmt *loop = &s->u.loop;
    bool reduces = used_by(a->block, ITER_REDUCE, s), spatial = used_by(a->block, ITER_SPATIAL, s);
    if (loop->kind == LOOP_BIND && axis_is_block(loop->axis))
        return refuse(a,
                      "loop '%s', of blocks, is inside the reduction, whose threads are of one "
                      "block; bind it outside",
                      loop->var->name);
    if (reduces && spatial)
        return refuse(a,
                      "loop '%s' carries both the reduction and elements of '%s'; split it so that "
                      "each has its own",
                      loop->var->name, a->r.update->u.store.buffer->name);
    if (!spatial)
        return true;
    if (!loop_const_extent(loop, &extent))
        return refuse(a,
                      "loop '%s' is inside the reduction, so each thread keeps a result for every "
                      "iteration of it, and their "
                      "number must be a literal; split it, and reorder the outer part outside",
                      loop->var->name);
    VEC_PUSH(a->c->arena, &a->dims, loop);
    return true;
}

static bool check_loops(Apart *a)
{
    int64_t extent;
    for (int i = 0; i < a->anchor; i++)
        if (is_thread_loop(a->path.items[i]) && used_by(a->block, ITER_SPATIAL, a->path.items[i]) &&
            loop_const_extent(&a->path.items[i]->u.loop, &extent))
            VEC_PUSH(a->c->arena, &a->dims, &a->path.items[i]->u.loop);
    a->outside = a->dims.n;
    for (int i = a->anchor; i + 1 < a->path.n; i++)
        if (a->path.items[i]->kind == ST_FOR && !check_inner(a, a->path.items[i]))
            return false;
    return true;
}

/* Every thread comes to the place: nothing around it runs for some threads and not for others. */
static bool check_convergent(Apart *a)
{
    VarList threads = {0};
    for (int i = 0; i < a->anchor; i++) {
        const Stmt *s = a->path.items[i];
        bool apart = s->kind == ST_IF    ? expr_uses_any(s->u.cond.cond, threads.items, threads.n)
                     : s->kind == ST_FOR ? expr_uses_any(s->u.loop.lo, threads.items, threads.n) ||
                                               expr_uses_any(s->u.loop.hi, threads.items, threads.n)
                                         : false;
        if (apart)
            return refuse(a,
                          "the threads of the reduction wait for each other, and %s '%s' around it "
                          "is not the same for all",
                          s->kind == ST_IF ? "the condition of" : "loop",
                          s->kind == ST_IF ? a->block->name : s->u.loop.var->name);
        if (is_thread_loop(s))
            VEC_PUSH(a->c->arena, &threads, s->u.loop.var);
    }
    return true;
}

/* Nobody else sees the result while it is partial, and what it starts from is still there at the end. */
static bool check_alone(Apart *a)
{
    Stmt *anchor = a->path.items[a->anchor];
    const Buffer *buffer = a->r.update->u.store.buffer;
    AccessList touched = {0}, start = {0};
    access_collect(a->c, anchor, buffer, ACCESS_ANY, &touched);
    for (int i = 0; i < touched.n; i++)
        if (touched.items[i].block != a->block)
            return refuse(a,
                          "'%s' is also accessed by block '%s' inside the reduction, where no "
                          "thread has all of it",
                          buffer->name, touched.items[i].block ? touched.items[i].block->name : "");
    access_collect_expr(a->c, a->r.start, NULL, &start);
    for (int i = 0; i < start.n; i++) {
        touched.n = 0;
        access_collect(a->c, anchor, start.items[i].buffer, ACCESS_WRITE, &touched);
        if (touched.n > 0)
            return refuse(a,
                          "the init reads '%s', which is written inside the reduction; the init is "
                          "added at its end",
                          start.items[i].buffer->name);
    }
    return true;
}

/* Results are stored where the init would stand. */
static bool check_place(Apart *a)
{
    Stmt *nest, *rest;
    DiagMark mark = diag_mark(a->c);
    if (reduction_take_init(a->c, a->kernel, &a->path, a->anchor, &nest, &rest))
        return true;
    const Diag *why = mark.last ? mark.last->next : a->c->first;
    refuse(a, "%s", why->message);
    diag_forget(a->c, mark);
    return false;
}

static bool check(Apart *a)
{
    const char *why;
    if (!reducer_of(a->c, a->block, &a->r, &why))
        return refuse(a, "block '%s' cannot be reduced across threads: %s", a->block->name, why);
    return check_lanes(a) && check_loops(a) && check_convergent(a) && check_alone(a) && check_place(a);
}

/* ---- nests of partial results ---------------------------------------------------------------------- */

/* Where a block of partial results stands: what its iterators are bound to. */
typedef struct {
    Expr **dims; /* [a->dims.n], from 0 */
    Expr *lane;
} Place;

/* A block under construction. */
typedef struct {
    BlockIter *iters; /* dims, then the lane */
    Expr **index;     /* [dims + 1] the iterators */
    Expr *lane;
} Frame;

/* The number of the iteration that `var` is in. */
static Expr *iteration(Context *c, const ForStmt *loop, Var *var)
{
    Expr *from = index_sub(c, expr_var(c, var, var->span), loop->lo);
    return loop->step == 1 ? from : index_div(c, from, expr_index(c, loop->step));
}

/* The loop's name, or one like it where an iterator of the block has that. */
static Name iter_name(Apart *a, Name name)
{
    for (int i = 0; i < a->block->n_iters; i++)
        if (a->block->iters[i].var->name == name)
            return iter_name(a, ctx_namef(a->c, "%s_", name));
    return name;
}

static BlockIter iter_over(Apart *a, const ForStmt *loop, Expr *binding)
{
    int64_t extent = 0;
    loop_const_extent(loop, &extent);
    return (BlockIter){
        .var = var_new(a->c, iter_name(a, loop->var->name), DT_INDEX, VAR_ITER, loop->var->span),
        .lo = expr_index(a->c, 0),
        .hi = expr_index(a->c, extent),
        .binding = binding,
        .kind = ITER_SPATIAL};
}

static Frame open_frame(Apart *a, const Place *place)
{
    int n = a->dims.n;
    Frame f = {.iters = ARENA_ARRAY(a->c->arena, BlockIter, n + 1),
               .index = ARENA_ARRAY(a->c->arena, Expr *, n + 1)};
    for (int i = 0; i <= n; i++) {
        const ForStmt *loop = i < n ? a->dims.items[i] : &a->lanes->u.loop;
        f.iters[i] = iter_over(a, loop, i < n ? place->dims[i] : place->lane);
        f.index[i] = expr_var(a->c, f.iters[i].var, loop->var->span);
    }
    f.lane = f.index[n];
    return f;
}

/* The subscripts of a buffer of partial results with another last one. */
static Expr *const *at(Apart *a, const Frame *f, Expr *last)
{
    Expr **index = ARENA_ARRAY(a->c->arena, Expr *, a->dims.n + 1);
    for (int i = 0; i < a->dims.n; i++)
        index[i] = f->index[i];
    index[a->dims.n] = last;
    return index;
}

static Expr *load(Apart *a, Buffer *b, const Frame *f, Expr *last)
{
    return expr_load(a->c, b, at(a, f, last), a->r.update->span);
}

static Stmt *store(Apart *a, Buffer *b, const Frame *f, Expr *last, StoreOp op, Expr *value)
{
    Stmt *s = stmt_store(a->c, b, at(a, f, last), op, value, false, a->r.update->span);
    return stmt_stamp(s, a->lanes);
}

/* The block `what` of the reduction. */
static Stmt *close_frame(Apart *a, const Frame *f, const char *what, Expr *predicate, Stmt *body)
{
    BlockStmt block = {.name =
                           names_fresh(&a->names, ctx_namef(a->c, "%s_%s", a->block->name, what)),
                       .iters = f->iters,
                       .n_iters = a->dims.n + 1,
                       .predicate = predicate,
                       .body = body};
    return stmt_stamp(stmt_block(a->c, &block, a->r.update->span), a->lanes);
}

/* A copy of a loop without its iterations' contents. */
static ForStmt copy_loop(Apart *a, const ForStmt *loop)
{
    ForStmt copy = *loop;
    if (copy.kind != LOOP_BIND && copy.kind != LOOP_UNROLL)
        copy.kind = LOOP_SERIAL;
    copy.var = var_new(a->c, loop->var->name, DT_INDEX, VAR_LOOP, loop->var->span);
    copy.id = ctx_new_id(a->c);
    copy.annotations = NULL;
    copy.n_annotations = 0;
    return copy;
}

/* The loops over all partial results around what `stage` makes there. */
static Stmt *nest(Apart *a, Stmt *(*stage)(Apart *a, const Place *place, int64_t n), int64_t n)
{
    Context *c = a->c;
    int dims = a->dims.n;
    ForStmt lanes = copy_loop(a, &a->lanes->u.loop);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, dims + 1);
    Place place = {ARENA_ARRAY(c->arena, Expr *, dims + 1), iteration(c, &lanes, lanes.var)};
    for (int i = 0; i < dims; i++) {
        loops[i] = *a->dims.items[i];
        if (i >= a->outside)
            loops[i] = copy_loop(a, a->dims.items[i]);
        place.dims[i] = iteration(c, &loops[i], loops[i].var);
    }
    Stmt *s = stage(a, &place, n);
    for (int i = dims - 1; i >= a->outside; i--) {
        loops[i].body = s;
        s = stmt_stamp(stmt_for(c, &loops[i], s->span), a->lanes);
    }
    lanes.body = s;
    return stmt_stamp(stmt_for(c, &lanes, s->span), a->lanes);
}

/* ---- stages ------------------------------------------------------------------------------------------ */

static Stmt *start(Apart *a, const Place *place, int64_t n)
{
    (void)n;
    Frame f = open_frame(a, place);
    return close_frame(a, &f, "start", NULL,
                       store(a, a->part, &f, f.lane, STORE_SET, a->r.identity));
}

/* n lanes, a power of two, combine: afterwards each has the result of all. */
static Stmt *butterfly(Apart *a, const Frame *f, int64_t n)
{
    Stmt *all = NULL;
    for (int64_t apart = n / 2; apart >= 1; apart /= 2) {
        Expr *other = expr_binary(a->c, EX_SHUFFLE_XOR, load(a, a->part, f, f->lane),
                                  expr_index(a->c, apart), a->r.update->span);
        all = stmt_then(a->c, all, store(a, a->part, f, f->lane, a->r.op, other));
    }
    return all;
}

static Stmt *combine_warp(Apart *a, const Place *place, int64_t n)
{
    Frame f = open_frame(a, place);
    return close_frame(a, &f, "combine", NULL, butterfly(a, &f, n));
}

/* Each warp combines, and its first lane hands the result over. */
static Stmt *combine_and_share(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Stmt *warp = combine_warp(a, place, n);
    Frame f = open_frame(a, place);
    Expr *number = index_div(c, f.lane, expr_index(c, WARP));
    Stmt *share = store(a, a->red, &f, number, STORE_SET, load(a, a->part, &f, f.lane));
    Expr *first = expr_binary(c, EX_EQ, index_mod(c, place->lane, expr_index(c, WARP)),
                              expr_index(c, 0), a->block->body->span);
    return stmt_then(c, warp, close_frame(a, &f, "share", first, share));
}

/* Every warp combines what the n warps have handed over. */
static Stmt *combine_shared(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Frame f = open_frame(a, place);
    Expr *lane = index_mod(c, f.lane, expr_index(c, WARP)), *theirs = load(a, a->red, &f, lane);
    if (n < WARP)
        theirs = expr_select(c, expr_binary(c, EX_LT, lane, expr_index(c, n), lane->span), theirs,
                             a->r.identity, lane->span);
    int64_t lanes = 1;
    while (lanes < n)
        lanes *= 2;
    Stmt *take = store(a, a->part, &f, f.lane, STORE_SET, theirs);
    return close_frame(a, &f, "combine", NULL, stmt_then(c, take, butterfly(a, &f, lanes)));
}

static Stmt *spread(Apart *a, const Place *place, int64_t n)
{
    (void)n;
    Frame f = open_frame(a, place);
    Expr *mine = load(a, a->part, &f, f.lane);
    return close_frame(a, &f, "share", NULL, store(a, a->red, &f, f.lane, STORE_SET, mine));
}

/* The first lane hands over the result of all. */
static Stmt *share_result(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Frame f = open_frame(a, place);
    Expr *zero = expr_index(c, n), *first = expr_binary(c, EX_EQ, place->lane, zero, zero->span);
    Expr *mine = load(a, a->part, &f, f.lane);
    return close_frame(a, &f, "share", first, store(a, a->red, &f, zero, STORE_SET, mine));
}

/* Threads below n take in what the threads n further on have, where there are such. */
static Stmt *halve(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Frame f = open_frame(a, place);
    Expr *other = load(a, a->red, &f, index_add(c, f.lane, expr_index(c, n)));
    int64_t below = n < a->extent - n ? n : a->extent - n;
    Expr *low = expr_binary(c, EX_LT, place->lane, expr_index(c, below), a->r.update->span);
    return close_frame(a, &f, "combine", low, store(a, a->red, &f, f.lane, a->r.op, other));
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static Buffer *partial_buffer(Apart *a, const char *suffix, int64_t last, Scope scope)
{
    const Buffer *of = a->r.update->u.store.buffer;
    Expr **shape = ARENA_ARRAY(a->c->arena, Expr *, a->dims.n + 1);
    for (int i = 0; i < a->dims.n; i++) {
        int64_t extent = 0;
        loop_const_extent(a->dims.items[i], &extent);
        shape[i] = expr_index(a->c, extent);
    }
    shape[a->dims.n] = expr_index(a->c, last);
    Name name = names_fresh(&a->names, ctx_namef(a->c, "%s_%s", of->name, suffix));
    Buffer *b = buffer_new(a->c, name, of->type, shape, a->dims.n + 1, scope, ROLE_TEMP, of->span);
    VEC_PUSH(a->c->arena, &a->temps, b);
    return b;
}

/* What the iterators of partial results are around the block itself. */
static Place place_of_block(Apart *a)
{
    Place place = {.dims = ARENA_ARRAY(a->c->arena, Expr *, a->dims.n + 1)};
    for (int i = 0; i < a->dims.n; i++)
        place.dims[i] = iteration(a->c, a->dims.items[i], a->dims.items[i]->var);
    place.lane = iteration(a->c, &a->lanes->u.loop, a->lanes->u.loop.var);
    return place;
}

/* The block with `n` iterators of the frame after its own. */
static BlockStmt with_frame(Apart *a, const Frame *f, int n)
{
    BlockStmt block = *a->block;
    BlockIter *iters = ARENA_ARRAY(a->c->arena, BlockIter, block.n_iters + n + 1);
    for (int i = 0; i < block.n_iters; i++)
        iters[i] = block.iters[i];
    for (int i = 0; i < n; i++)
        iters[block.n_iters + i] = f->iters[i];
    block.iters = iters;
    block.n_iters += n;
    return block;
}

static Stmt *update(Apart *a)
{
    const Stmt *old = a->path.items[a->path.n - 1];
    Place place = place_of_block(a);
    Frame f = open_frame(a, &place);
    BlockStmt block = with_frame(a, &f, a->dims.n + 1);
    block.init = NULL;
    block.body = store(a, a->part, &f, f.lane, a->r.op, a->r.update->u.store.value);
    return stmt_stamp(stmt_block(a->c, &block, old->span), old);
}

static Stmt *bottom_block(Stmt *nest)
{
    while (nest->kind != ST_BLOCK)
        nest = nest->kind == ST_FOR ? nest->u.loop.body : nest->u.cond.then;
    return nest;
}

/* The nest that stores results, on the thread of lane 0. */
static Stmt *on_lane(Apart *a, Stmt *stores, BlockIter lane)
{
    Context *c = a->c;
    Stmt *old = bottom_block(stores);
    ForStmt lanes = copy_loop(a, &a->lanes->u.loop);
    BlockStmt block = old->u.block;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, block.n_iters + 1);
    for (int i = 0; i < block.n_iters; i++)
        iters[i] = block.iters[i];
    lane.binding = iteration(c, &lanes, lanes.var);
    iters[block.n_iters++] = lane;
    block.iters = iters;
    Expr *first = expr_binary(c, EX_EQ, lane.binding, expr_index(c, 0), old->span);
    block.predicate = cond_and(c, block.predicate, first);
    lanes.body = stmt_replace(c, stores, old, stmt_stamp(stmt_block(c, &block, old->span), old));
    return stmt_stamp(stmt_for(c, &lanes, stores->span), a->lanes);
}

/* The result goes where the block would have made it: the place of its init, which has the same instances. What is in shared
 * memory is stored by the thread that a block without a loop of lanes runs on, or by every thread into its own copy. */
static Stmt *finish(Apart *a, bool in_registers)
{
    Context *c = a->c;
    Stmt *old = a->path.items[a->path.n - 1], *stores, *rest;
    const Stmt *to = a->r.update;
    Place place = place_of_block(a);
    Frame f = open_frame(a, &place);
    Expr *value =
        in_registers ? load(a, a->part, &f, f.lane) : load(a, a->red, &f, expr_index(c, 0));
    if (!a->r.from_identity)
        value = reducer_combine(c, &a->r, a->r.start, value);
    BlockStmt block = with_frame(a, &f, a->dims.n);
    block.init = stmt_stamp(
        stmt_store(c, to->u.store.buffer, to->u.store.index, STORE_SET, value, false, to->span),
        old);
    StmtPath path = {0};
    for (int i = 0; i + 1 < a->path.n; i++)
        VEC_PUSH(c->arena, &path, a->path.items[i]);
    VEC_PUSH(c->arena, &path, stmt_stamp(stmt_block(c, &block, old->span), old));
    if (!reduction_take_init(c, a->kernel, &path, a->anchor, &stores, &rest))
        TIRC_BUG(c, "the results of block '%s' have no place", a->block->name);
    BlockStmt named = bottom_block(stores)->u.block;
    named.name = names_fresh(&a->names, ctx_namef(c, "%s_result", a->block->name));
    Stmt *result = stmt_stamp(stmt_block(c, &named, old->span), old);
    stores = stmt_replace(c, stores, bottom_block(stores), result);
    return in_registers ? on_lane(a, stores, f.iters[a->dims.n]) : stores;
}

static bool whole_warps(const Apart *a)
{
    bool power = (a->extent & (a->extent - 1)) == 0;
    return a->lanes->u.loop.axis == AXIS_THREAD_X &&
           (a->extent % WARP == 0 || (a->extent < WARP && power));
}

/* The partial results of whole warps become one, which all their threads have. */
static Stmt *combine_warps(Apart *a)
{
    if (a->extent <= WARP)
        return nest(a, combine_warp, a->extent);
    a->red = partial_buffer(a, "warps", a->extent / WARP, SCOPE_SHARED);
    Stmt *warps = nest(a, combine_and_share, WARP);
    return stmt_then(a->c, warps, nest(a, combine_shared, a->extent / WARP));
}

/* The same of any threads; element 0 has the result. */
static Stmt *combine_threads(Apart *a)
{
    int64_t half = 1;
    while (2 * half < a->extent)
        half *= 2;
    a->red = partial_buffer(a, "threads", a->extent, SCOPE_SHARED);
    Stmt *all = nest(a, spread, 0);
    for (; half >= 1; half /= 2)
        all = stmt_then(a->c, all, nest(a, halve, half));
    return all;
}

/* From partial results to the result where the program wants it. */
static Stmt *combine(Apart *a)
{
    if (!whole_warps(a)) {
        Stmt *all = combine_threads(a);
        return stmt_then(a->c, all, finish(a, false));
    }
    Stmt *all = combine_warps(a);
    bool everywhere = a->r.update->u.store.buffer->scope == SCOPE_LOCAL;
    if (everywhere) {
        a->red = partial_buffer(a, "total", 1, SCOPE_SHARED);
        all = stmt_then(a->c, all, nest(a, share_result, 0));
    }
    return stmt_then(a->c, all, finish(a, !everywhere));
}

/* One launch holds it all, also where only threads are bound: then it has one block. */
static Stmt *in_one_launch(Apart *a, Stmt *s)
{
    for (int i = 0; i < a->anchor; i++)
        if (a->path.items[i]->kind == ST_FOR && a->path.items[i]->u.loop.kind == LOOP_BIND)
            return s;
    ForStmt grid = {
        .var = var_new(a->c, names_fresh(&a->names, "grid"), DT_INDEX, VAR_LOOP, s->span),
        .lo = expr_index(a->c, 0),
        .hi = expr_index(a->c, 1),
        .step = 1,
        .kind = LOOP_BIND,
        .axis = AXIS_BLOCK_X,
        .body = s,
    };
    return stmt_stamp(stmt_for(a->c, &grid, s->span), a->lanes);
}

static Kernel *take_apart(Apart *a)
{
    Context *c = a->c;
    Stmt *anchor = a->path.items[a->anchor], *block = a->path.items[a->path.n - 1];
    a->part = partial_buffer(a, "part", a->extent, SCOPE_LOCAL);
    Stmt *all = nest(a, start, 0);
    all = stmt_then(c, all, stmt_replace(c, anchor, block, update(a)));
    all = in_one_launch(a, stmt_then(c, all, combine(a)));
    Stmt *body = stmt_replace(c, a->kernel->body, anchor, all);
    for (int i = a->temps.n - 1; i >= 0; i--)
        body =
            stmt_then(c, stmt_stamp(stmt_temp(c, a->temps.items[i], body->span), a->lanes), body);
    return kernel_with_body(c, a->kernel, body);
}

const Kernel *thread_reductions_apart(Context *c, const Kernel *kernel, ThreadReduction *refused)
{
    *refused = (ThreadReduction){0};
    for (;;) {
        BlockSearch search = {.c = c};
        search_block(&search, kernel->body);
        if (search.found.n == 0)
            return kernel;
        Apart a = {.c = c, .kernel = kernel, .path = search.found};
        a.block = &a.path.items[a.path.n - 1]->u.block;
        reduced_lanes(&a.path, &a.lanes);
        while (!used_by(a.block, ITER_REDUCE, a.path.items[a.anchor]))
            a.anchor++;
        if (!check(&a)) {
            *refused = (ThreadReduction){a.block, a.lanes, a.why};
            return NULL;
        }
        a.names = names_of_kernel(c, kernel);
        kernel = take_apart(&a);
    }
}

Kernel *pass_lower_thread_reductions(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    ThreadReduction refused;
    const Kernel *apart = thread_reductions_apart(c, kernel, &refused);
    if (apart)
        return kernel_with_body(c, apart, apart->body);
    diag_error(c, E0480, refused.lanes->span, "%s", refused.why);
    return NULL;
}
