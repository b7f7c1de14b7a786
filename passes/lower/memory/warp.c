/* warp.c - Lowers memory of a warp: each of its lanes keeps a part of the elements in registers,
 * and what reads the part of another lane becomes a shuffle.
 *
 *   temp w: f32[64] in warp;                 temp w: f32[2] in local;
 *   for k in 2                               for k in 2
 *       w[k * 32 + lane] = x[..];                w[k] = x[..];
 *   for k in 2                         =>    for k in 2 {
 *       if (i < N)                               w_from[0] = shuffle(w[k], 31 - lane);
 *           y[i] = w[k * 32 + 31 - lane];        if (i < N)
 *                                                    y[i] = w_from[0]; }
 *
 * Along one axis, lane e / chunk % 32 has element e, in its register e / (32 * chunk) * chunk + e %
 * chunk. Every write must be the lane's own. Where all lanes of a reduction have the same bits
 * (lanes_alike), a lane reads its own register instead of another one's, so any number of lanes up
 * to 32 may share the buffer. A lane sends one register at a time, so what a shuffle
 * reads has the same number in all lanes; where the numbers differ and the registers are few, all
 * of them are sent. All lanes run the shuffle: it is a block of its own in front of the one that
 * reads, without that one's guards. check_limits asks whether the loops and conditions around are
 * the same for all lanes. */
#include "passes/lower/pass.h"

enum { LANES = 32, MOST_SENT = 4 };

/* How the elements of a buffer lie in the registers of the lanes. */
typedef struct {
    const Buffer *from;
    Buffer *to;
    int axis;
    int64_t chunk;
} Parts;

/* A shuffle in front of a block. */
typedef struct {
    Buffer *to;
    Expr *const *element; /* of the registers */
    Expr *lane;
    Span span;
} Shuffle;

typedef struct WarpMemory WarpMemory;
struct WarpMemory {
    Context *c;
    Facts *facts;
    Names *names;
    StmtPath path; /* from the root of the launch to the statement at work */
    Parts parts;
    Stmt *(*at_block)(WarpMemory *w, Stmt *s);
    const Stmt *refused; /* by own_writes: a write that is not the lane's own */
    bool failed;
};

/* The block at work. */
typedef struct {
    WarpMemory *w;
    const BlockStmt *block;
    Expr *self;     /* the coordinate that runs it; NULL: any */
    ExprList conds; /* that hold where the access stands, and not for all lanes */
    SubstList lets; /* of the body, in terms of loops */
    int loops;      /* of the body around the access */
    VEC(Shuffle) shuffles;
} AtBlock;

/* ---- places ---------------------------------------------------------------------------------- */

static bool is_lane_loop(const Stmt *s)
{
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_BIND && s->u.loop.axis == AXIS_THREAD_X;
}

/* The coordinate on threadIdx.x of what runs the block at the end of the path; NULL: all do, or
 * none that a loop tells. */
static Expr *coordinate(const WarpMemory *w)
{
    bool every;
    const Stmt *loop = thread_loop(w->c, &w->path, AXIS_THREAD_X, &every);
    if (!loop || !loop_counts_from_zero(&loop->u.loop))
        return NULL;
    return expr_var(w->c, loop->u.loop.var, loop->span);
}

/* The lane that has element `e` of the axis. */
static Expr *lane_of(const WarpMemory *w, Expr *e)
{
    const Parts *p = &w->parts;
    Expr *chunk = index_div(w->c, e, expr_index(w->c, p->chunk));
    return simplify(w->facts, index_mod(w->c, chunk, expr_index(w->c, LANES)));
}

/* The register that it has there. */
static Expr *register_of(const WarpMemory *w, Expr *e)
{
    Context *c = w->c;
    if (expr_is(w->parts.to->shape[w->parts.axis], 1))
        return expr_index(c, 0);
    Expr *chunk = expr_index(c, w->parts.chunk);
    Expr *row = index_div(c, e, expr_index(c, LANES * w->parts.chunk));
    return simplify(w->facts, index_add(c, index_mul(c, row, chunk), index_mod(c, e, chunk)));
}

/* The subscripts name an element, which the facts may assume where the access stands. */
static void assume_inside(WarpMemory *w, Expr *e)
{
    Context *c = w->c;
    Expr *extent = w->parts.from->shape[w->parts.axis];
    facts_assume(w->facts, expr_binary(c, EX_GE, e, expr_index(c, 0), e->span));
    facts_assume(w->facts, expr_binary(c, EX_LT, e, extent, e->span));
}

static bool is_own(WarpMemory *w, Expr *e, Expr *self)
{
    return self && prove(w->facts, expr_binary(w->c, EX_EQ, lane_of(w, e), self, e->span));
}

static void refuse(WarpMemory *w, ErrorCode code, Span span, const char *why)
{
    if (!w->failed)
        diag_error(w->c, code, span, "'%s' is in the memory of a warp, but %s", w->parts.from->name,
                   why);
    w->failed = true;
}

/* ---- a walk over the blocks of a launch ------------------------------------------------------ */

static Stmt *walk(void *user, Stmt *s)
{
    WarpMemory *w = user;
    VEC_PUSH(w->c->arena, &w->path, s);
    Stmt *done = s;
    if (s->kind != ST_BLOCK)
        done = stmt_map_inside(w->c, w->facts, s, walk, w);
    else if (!w->failed && stmt_accesses(w->c, s, w->parts.from, ACCESS_ANY))
        done = w->at_block(w, s);
    w->path.n--;
    return done;
}

/* ---- which lane has which elements ----------------------------------------------------------- */

/* Each write of the block is to the part of the lane that runs it. */
static Stmt *check_writes(WarpMemory *w, Stmt *s)
{
    Context *c = w->c;
    const BlockStmt *block = &s->u.block;
    Expr *self = coordinate(w);
    FactsMark mark = facts_mark(w->facts);
    block_assume_domains(w->facts, c, block);
    for (Cursor at = cursor_stmts(c, block->body); cursor_next(&at);) {
        if (at.stmt->kind == ST_FOR)
            facts_enter(w->facts, at.stmt);
        if (at.stmt->kind != ST_STORE || at.stmt->u.store.buffer != w->parts.from)
            continue;
        FactsMark inside = facts_mark(w->facts);
        Expr *e = iters_to_loops(c, block, at.stmt->u.store.index[w->parts.axis]);
        assume_inside(w, e);
        if (!w->refused && !is_own(w, e, self))
            w->refused = at.stmt;
        facts_reset(w->facts, inside);
    }
    facts_reset(w->facts, mark);
    return s;
}

static bool own_writes(WarpMemory *w, Stmt *root)
{
    w->at_block = check_writes;
    w->refused = NULL;
    walk(w, root);
    return !w->refused;
}

/* Keeps, as the chunk, the factor of the lane in the first write's subscript. */
static Stmt *measure_chunk(WarpMemory *w, Stmt *s)
{
    Context *c = w->c;
    AccessList writes = {0};
    Expr *self = coordinate(w), *rest;
    int64_t factor;
    access_collect(c, s, w->parts.from, ACCESS_WRITE, &writes);
    for (int i = 0; i < writes.n && self && w->parts.chunk == 0; i++) {
        Expr *e = iters_to_loops(c, &s->u.block, writes.items[i].index[w->parts.axis]);
        if (split_linear(w->facts, e, self->u.var, &factor, &rest) && factor > 0)
            w->parts.chunk = factor;
    }
    return s;
}

/* The axis and the chunk for which each lane writes its own part. */
static bool find_parts(WarpMemory *w, Stmt *root)
{
    Parts *p = &w->parts;
    const Stmt *refused = NULL;
    for (p->axis = p->from->rank - 1; p->axis >= 0; p->axis--) {
        p->chunk = 0;
        w->at_block = measure_chunk;
        walk(w, root);
        if (p->chunk == 0)
            p->chunk = 1;
        if (own_writes(w, root))
            return true;
        refused = refused ? refused : w->refused;
    }
    refuse(w, E0523, refused ? refused->span : p->from->span,
           "this may write an element that another lane keeps: along one axis, lane t has to write "
           "the elements t * n + 0..n of every 32 * n");
    return false;
}

/* ---- shuffles -------------------------------------------------------------------------------- */

/* The same in all lanes of a warp. */
static bool is_uniform(const WarpMemory *w, const Expr *e)
{
    for (Cursor at = cursor_expr(w->c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD ||
            (at.expr->kind == EX_AXIS && at.expr->u.axis == AXIS_THREAD_X))
            return false;
    for (int i = 0; i < w->path.n; i++)
        if (is_lane_loop(w->path.items[i]) && expr_uses_var(e, w->path.items[i]->u.loop.var))
            return false;
    return true;
}

/* In the terms of the loops around the block. */
static Expr *in_loops(const AtBlock *b, Expr *e)
{
    Context *c = b->w->c;
    return iters_to_loops(c, b->block, expr_subst(c, e, b->lets.items, b->lets.n));
}

static void hold(AtBlock *b, Expr *cond)
{
    VEC_PUSH(b->w->c->arena, &b->conds, cond);
    if (!expr_loads_change(cond))
        facts_assume(b->w->facts, cond);
}

/* It has a meaning only where the block runs: it reads memory, or divides. */
static bool needs_conditions(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        bool divides = at.expr->kind == EX_DIV || at.expr->kind == EX_MOD;
        if (at.expr->kind == EX_LOAD || (divides && at.expr->u.arg[1]->kind != EX_INT))
            return true;
    }
    return false;
}

/* The block may write what the lane of a shuffle in front of it reads. */
static bool reads_written(const AtBlock *b, const Expr *lane)
{
    for (Cursor at = cursor_expr(b->w->c, lane); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD &&
            stmt_accesses(b->w->c, b->block->body, at.expr->u.load.buffer, ACCESS_WRITE))
            return true;
    return false;
}

/* Why the read cannot be made in front of the block; NULL: it can. */
static const char *why_no_shuffle(const AtBlock *b, const Expr *lane)
{
    Context *c = b->w->c;
    bool writes = stmt_accesses(c, b->block->body, b->w->parts.from, ACCESS_WRITE);
    if (b->block->instruction)
        return "an instruction reads it";
    if (b->loops > 0)
        return "this reads what another lane has in a loop that data end, which the lanes do not "
               "run together";
    if ((writes && !stmt_valued_store(b->block->body)) || reads_written(b, lane))
        return "this reads what another lane has behind a store of the same block";
    return NULL;
}

static Expr *shuffled(AtBlock *b, const Shuffle *s)
{
    Context *c = b->w->c;
    Expr *zero = expr_index(c, 0);
    for (int i = 0; i < b->shuffles.n; i++) {
        const Shuffle *known = &b->shuffles.items[i];
        if (expr_equal(known->lane, s->lane) &&
            exprs_equal(known->element, s->element, b->w->parts.to->rank))
            return expr_load(c, known->to, &zero, s->span);
    }
    Shuffle made = *s;
    const Buffer *of = b->w->parts.from;
    Name name = names_fresh(b->w->names, ctx_namef(c, "%s_from", of->name));
    Expr *one = expr_index(c, 1);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, 1);
    shape[0] = one;
    made.to = buffer_new(c, &(Buffer){.name = name,
                                      .type = of->type,
                                      .rank = 1,
                                      .shape = shape,
                                      .scope = SCOPE_LOCAL,
                                      .role = ROLE_TEMP,
                                      .span = of->span,
                                      .origin = of->origin,
                                      .step = of->step});
    VEC_PUSH(c->arena, &b->shuffles, made);
    return expr_load(c, made.to, &zero, s->span);
}

/* Element `e` of the axis lies in register i, or in one before it. */
static Expr *is_up_to(const WarpMemory *w, Expr *e, Expr *at, int64_t i)
{
    Context *c = w->c;
    bool rows = w->parts.chunk == 1;
    Expr *end = expr_index(c, rows ? (i + 1) * LANES : i + 1);
    return simplify(w->facts, expr_binary(c, EX_LT, rows ? e : at, end, e->span));
}

/* The registers that a read of `e` may find along the axis: one, or some few that it chooses from,
 * all of which are sent. */
static Expr *send_registers(AtBlock *b, Expr *e, Expr *const *element, Shuffle s)
{
    Context *c = b->w->c;
    const Parts *p = &b->w->parts;
    int64_t n = 1;
    Expr *sent[MOST_SENT] = {0}, *at = element[p->axis];
    if (is_uniform(b->w, at) || !expr_is_const(p->to->shape[p->axis], &n) || n > MOST_SENT)
        n = 1;
    for (int64_t i = 0; i < n; i++) {
        Expr **one = ARENA_ARRAY(c->arena, Expr *, p->to->rank + 1);
        for (int d = 0; d < p->to->rank; d++)
            one[d] = n > 1 && d == p->axis ? expr_index(c, i) : element[d];
        s.element = one;
        sent[i] = shuffled(b, &s);
    }
    Expr *value = sent[n - 1];
    for (int64_t i = n - 2; i >= 0; i--)
        value = expr_select(c, is_up_to(b->w, e, at, i), sent[i], value, s.span);
    return value;
}

/* The read of an element that another lane may have. */
static Expr *read_other(AtBlock *b, Expr *load, Expr *e, Expr *const *element)
{
    Context *c = b->w->c;
    Expr *lane = lane_of(b->w, e);
    if (lane->kind == EX_MOD) /* a shuffle takes the remainder */
        lane = lane->u.arg[0];
    if (needs_conditions(c, lane) && b->conds.n > 0)
        lane = expr_select(c, cond_join(c, &b->conds), lane, expr_index(c, 0), load->span);
    const char *why = why_no_shuffle(b, lane);
    if (why) {
        refuse(b->w, E0524, load->span, why);
        return load;
    }
    return send_registers(b, e, element, (Shuffle){.lane = lane, .span = load->span});
}

static Expr *rewrite_load(AtBlock *b, Expr *e)
{
    WarpMemory *w = b->w;
    Context *c = w->c;
    const Parts *p = &w->parts;
    FactsMark mark = facts_mark(w->facts);
    Expr **element = ARENA_ARRAY(c->arena, Expr *, p->from->rank + 1);
    Expr *at = in_loops(b, e->u.load.index[p->axis]);
    assume_inside(w, at);
    for (int d = 0; d < p->from->rank; d++)
        element[d] =
            d == p->axis ? register_of(w, at) : simplify(w->facts, in_loops(b, e->u.load.index[d]));
    Expr *done;
    if (is_own(w, at, b->self) || p->from->lanes_alike)
        done = expr_load_like(c, e, p->to, element);
    else
        done = read_other(b, e, at, element);
    facts_reset(w->facts, mark);
    return done;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static Expr *rewrite_value(void *user, Expr *e);

/* An operand that is evaluated only where `cond` holds, or does not. */
static Expr *rewrite_where(AtBlock *b, Expr *cond, Branch branch, Expr *e)
{
    Context *c = b->w->c;
    int n = b->conds.n;
    FactsMark mark = facts_mark(b->w->facts);
    Expr *holds = in_loops(b, cond);
    hold(b, branch == BRANCH_THEN ? holds : expr_unary(c, EX_NOT, holds, cond->span));
    Expr *done = rewrite_value(b, e);
    facts_reset(b->w->facts, mark);
    b->conds.n = n;
    return done;
}

static Expr *rewrite_value(void *user, Expr *e)
{
    AtBlock *b = user;
    Context *c = b->w->c;
    if (!expr_reads(e, b->w->parts.from))
        return e;
    if (e->kind == EX_SELECT || e->kind == EX_AND || e->kind == EX_OR) {
        Expr *cond = rewrite_value(b, e->u.arg[0]);
        Branch second = e->kind == EX_OR ? BRANCH_ELSE : BRANCH_THEN;
        Expr *yes = rewrite_where(b, cond, second, e->u.arg[1]);
        if (e->kind != EX_SELECT)
            return expr_binary(c, e->kind, cond, yes, e->span);
        return expr_select(c, cond, yes, rewrite_where(b, cond, BRANCH_ELSE, e->u.arg[2]), e->span);
    }
    Expr *done = expr_map_children(c, e, rewrite_value, b);
    bool read = done->kind == EX_LOAD && done->u.load.buffer == b->w->parts.from;
    return read ? rewrite_load(b, done) : done;
}

static Stmt *rewrite_store(AtBlock *b, Stmt *s)
{
    WarpMemory *w = b->w;
    const Parts *p = &w->parts;
    if (s->kind != ST_STORE || s->u.store.buffer != p->from)
        return s;
    FactsMark mark = facts_mark(w->facts);
    Expr **element = ARENA_ARRAY(w->c->arena, Expr *, p->from->rank + 1);
    for (int d = 0; d < p->from->rank; d++)
        element[d] = s->u.store.index[d];
    Expr *at = in_loops(b, element[p->axis]);
    assume_inside(w, at);
    element[p->axis] = register_of(w, at);
    facts_reset(w->facts, mark);
    return stmt_store_like(w->c, s, p->to, element, s->u.store.value);
}

static Stmt *rewrite_body(void *user, Stmt *s);

static Stmt *rewrite_branch(AtBlock *b, Expr *cond, Branch branch, Stmt *s)
{
    if (!s)
        return NULL;
    int n = b->conds.n;
    FactsMark mark = facts_mark(b->w->facts);
    Expr *holds = in_loops(b, cond);
    hold(b, branch == BRANCH_THEN ? holds : expr_unary(b->w->c, EX_NOT, holds, cond->span));
    Stmt *done = rewrite_body(b, s);
    facts_reset(b->w->facts, mark);
    b->conds.n = n;
    return done;
}

static Stmt *rewrite_body(void *user, Stmt *s)
{
    AtBlock *b = user;
    Context *c = b->w->c;
    if (s->kind == ST_IF) {
        Expr *cond = rewrite_value(b, s->u.cond.cond);
        Stmt *then = rewrite_branch(b, cond, BRANCH_THEN, s->u.cond.then);
        Stmt *otherwise = rewrite_branch(b, cond, BRANCH_ELSE, s->u.cond.otherwise);
        return stmt_stamp(stmt_if(c, cond, then, otherwise, s->span), s);
    }
    FactsMark mark = facts_mark(b->w->facts);
    b->loops += s->kind == ST_FOR;
    if (s->kind == ST_FOR)
        facts_enter(b->w->facts, s);
    Stmt *done = stmt_map_children(c, stmt_map_exprs(c, s, rewrite_value, b), rewrite_body, b);
    b->loops -= s->kind == ST_FOR;
    facts_reset(b->w->facts, mark);
    if (done->kind == ST_LET)
        VEC_PUSH(c->arena, &b->lets, ((Subst){done->u.let.var, in_loops(b, done->u.let.value)}));
    return rewrite_store(b, done);
}

/* What decides whether the block runs: in terms of loops, first what the later ones need. */
static ExprList conditions(const WarpMemory *w, const BlockStmt *block)
{
    Context *c = w->c;
    ExprList given = {0}, all = {0};
    int plain = block_conditions(c, block, &given);
    for (int i = 0; i < plain; i++)
        VEC_PUSH(c->arena, &all, given.items[i]);
    block_add_domains(c, block, &all);
    for (int i = plain; i < given.n; i++)
        VEC_PUSH(c->arena, &all, given.items[i]);
    return all;
}

/* What decides whether a block runs reads inputs alone (flow_require_no_range). */
static void demand_undecided(const WarpMemory *w, const ExprList *conds)
{
    for (int i = 0; i < conds->n; i++)
        if (expr_reads(conds->items[i], w->parts.from))
            TIRC_BUG(w->c, "'%s' decides whether a block runs", w->parts.from->name);
}

/* All lanes have the element, in one register. */
static bool check_element(WarpMemory *w, const Shuffle *s)
{
    Context *c = w->c;
    const Buffer *to = w->parts.to;
    const char *why = NULL;
    for (int d = 0; d < to->rank && !why; d++) {
        Expr *e = s->element[d];
        if (!is_uniform(w, e))
            why = "the lanes read different registers of one another here: a shuffle sends one "
                  "register, the same of all lanes";
        else if (!prove(w->facts, expr_binary(c, EX_GE, e, expr_index(c, 0), e->span)) ||
                 !prove(w->facts, expr_binary(c, EX_LT, e, to->shape[d], e->span)))
            why = "this reads an element that is not known to exist where some lanes run the block "
                  "and others do not";
    }
    if (why)
        refuse(w, E0524, s->span, why);
    return !why;
}

/* A block that all threads run: the shuffle into a variable. */
static Stmt *shuffle_block(const WarpMemory *w, const Shuffle *s, Expr *where)
{
    Context *c = w->c;
    Expr *zero = expr_index(c, 0);
    Expr *sent = expr_load(c, w->parts.to, s->element, s->span);
    StoreStmt store = {.buffer = s->to,
                       .index = &zero,
                       .op = STORE_SET,
                       .value = expr_binary(c, EX_SHUFFLE, sent, s->lane, s->span)};
    BlockStmt block = {
        .name = s->to->name, .predicate = where, .body = stmt_store(c, &store, s->span)};
    return stmt_then(c, stmt_temp(c, s->to, s->span), stmt_block(c, &block, s->span));
}

/* The conditions that all lanes of a warp agree on, joined; the facts have them. The others go to
 * `apart`. */
static Expr *common_conditions(WarpMemory *w, const ExprList *all, ExprList *apart)
{
    Expr *common = NULL;
    for (int i = 0; i < all->n; i++) {
        Expr *cond = all->items[i];
        if (!is_uniform(w, cond) || needs_conditions(w->c, cond)) {
            VEC_PUSH(w->c->arena, apart, cond);
        } else if (!prove(w->facts, cond)) {
            common = cond_and(w->c, common, cond);
            facts_assume(w->facts, cond);
        }
    }
    return common;
}

/* The body of the block, where what the lanes do not agree on holds, too. */
static Stmt *rewrite_apart(AtBlock *b, const ExprList *apart)
{
    FactsMark mark = facts_mark(b->w->facts);
    for (int i = 0; i < apart->n; i++)
        if (!prove(b->w->facts, apart->items[i]))
            hold(b, apart->items[i]);
    Stmt *body = rewrite_body(b, b->block->body);
    facts_reset(b->w->facts, mark);
    return body;
}

static Stmt *rewrite_block(WarpMemory *w, Stmt *s)
{
    Context *c = w->c;
    BlockStmt block = s->u.block;
    AtBlock b = {.w = w, .block = &s->u.block, .self = coordinate(w)};
    FactsMark start = facts_mark(w->facts);
    ExprList all = conditions(w, &block), apart = {0};
    demand_undecided(w, &all);
    Expr *where = common_conditions(w, &all, &apart);
    block.body = rewrite_apart(&b, &apart);
    Stmt *before = NULL;
    for (int i = 0; i < b.shuffles.n && check_element(w, &b.shuffles.items[i]); i++)
        before = stmt_then(c, before, shuffle_block(w, &b.shuffles.items[i], where));
    facts_reset(w->facts, start);
    return stmt_then(c, before, stmt_stamp(stmt_block(c, &block, s->span), s));
}

/* ---- one buffer of a launch ------------------------------------------------------------------ */

/* The lanes that share the buffer: all threads of a warp, or one. 0 after a refusal. */
static int64_t count_lanes(WarpMemory *w, const Stmt *root)
{
    int64_t lanes = 1;
    for (Cursor at = cursor_outer(w->c, root); cursor_next(&at);) {
        int64_t extent;
        if (!is_lane_loop(at.stmt) ||
            (loop_const_extent(&at.stmt->u.loop, &extent) && extent == lanes))
            continue;
        if (!loop_const_extent(&at.stmt->u.loop, &extent) ||
            (extent != LANES && !(w->parts.from->lanes_alike && extent < LANES))) {
            refuse(w, E0523, at.stmt->span,
                   "the loop that is bound to threadIdx.x has not the 32 iterations of a warp");
            return 0;
        }
        lanes = extent;
    }
    return lanes;
}

/* The same buffer in the memory of a thread. */
static Buffer *made_local(Context *c, const Buffer *from)
{
    Buffer *to = buffer_copy(c, from);
    to->layout = NULL;
    to->scope = SCOPE_LOCAL;
    return to;
}

/* The registers of a lane. */
static Buffer *registers(const WarpMemory *w)
{
    Context *c = w->c;
    const Parts *p = &w->parts;
    Buffer *to = made_local(c, p->from);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, to->rank + 1);
    for (int d = 0; d < to->rank; d++)
        shape[d] = to->shape[d];
    int64_t extent = 1;
    if (expr_is_const(shape[p->axis], &extent))
        shape[p->axis] = expr_index(c, ((extent - 1) / (LANES * p->chunk) + 1) * p->chunk);
    to->shape = shape;
    return to;
}

typedef struct {
    Buffer *from, *to;
} Moved;

typedef struct {
    Names names;
    VEC(Moved) moved;
} WarpWalk;

/* Of the launch, those buffers that it uses first. */
static Buffer *next_buffer(Context *c, const Stmt *root)
{
    for (Cursor at = cursor_stmt(c, root); cursor_next(&at);) {
        Buffer *b = at.expr && at.expr->kind == EX_LOAD    ? at.expr->u.load.buffer
                    : at.stmt && at.stmt->kind == ST_STORE ? at.stmt->u.store.buffer
                                                           : NULL;
        if (b && b->scope == SCOPE_WARP)
            return b;
    }
    return NULL;
}

/* The launch with the buffer in the memory of its threads; NULL after a refusal. */
static Stmt *lower_buffer(WarpMemory *w, Stmt *root)
{
    int64_t lanes = count_lanes(w, root);
    if (lanes <= 1) { /* one thread has all of it */
        w->parts.to = made_local(w->c, w->parts.from);
        return lanes ? stmt_replace_buffer(w->c, root, w->parts.from, w->parts.to) : NULL;
    }
    if (!find_parts(w, root))
        return NULL;
    w->parts.to = registers(w);
    w->at_block = rewrite_block;
    root = walk(w, root);
    return w->failed ? NULL : root;
}

static Stmt *lower_root(LaunchWalk *launches, Stmt *root)
{
    Context *c = launches->c;
    WarpWalk *all = launches->user;
    for (Buffer *from; root && (from = next_buffer(c, root));) {
        WarpMemory w = {.c = c, .facts = launches->facts, .names = &all->names, .parts.from = from};
        root = lower_buffer(&w, root);
        VEC_PUSH(c->arena, &all->moved, ((Moved){from, w.parts.to}));
    }
    return root;
}

static Stmt *redeclare(Rewriter *r, Stmt *s)
{
    const WarpWalk *all = r->user;
    for (int i = 0; s->kind == ST_TEMP && i < all->moved.n; i++)
        if (s->u.temp == all->moved.items[i].from)
            return stmt_stamp(stmt_temp(r->ctx, all->moved.items[i].to, s->span), s);
    return s;
}

Kernel *pass_lower_warp_memory(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    WarpWalk all = {.names = names_of_kernel(c, kernel)};
    LaunchWalk w = {.c = c,
                    .kernel = kernel,
                    .facts = facts_of_kernel(c, kernel),
                    .user = &all,
                    .root = lower_root};
    Stmt *body = launch_roots_map(&w, kernel->body);
    if (!body)
        return NULL;
    Rewriter temps = {.ctx = c, .user = &all, .stmt = redeclare};
    return kernel_with_body(c, kernel, rewrite_stmt(&temps, body));
}
