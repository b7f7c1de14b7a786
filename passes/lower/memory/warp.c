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
 * chunk. All threads of several warps are such lanes, too: each then reads what its own warp has.
 * Every write must be the lane's own.
 * Where all lanes of a reduction have the same bits (lanes_alike), a lane reads its own register
 * instead of another one's, so any number of lanes up to 32 may share the buffer. A lane sends one
 * register at a time, so what a shuffle reads has the same number in all lanes; where the numbers
 * differ and the registers are few, all of them are sent. All lanes run the shuffle: it is a block
 * of its own in front of the one that reads, without that one's guards. check_limits asks whether
 * the loops and conditions around are the same for all lanes.
 *
 * An instruction of all lanes may have an operand in their registers (`in warp`). Its body, which
 * simulates it, has shuffles in the place of the reads; its text names registers of the lane that
 * executes it. */
#include "passes/lower/elements.h"
#include "passes/lower/memory/warp_parts.h"

enum { MOST_SENT = 4 };

/* A shuffle in front of a block. */
typedef struct {
    Buffer *to;
    Expr *const *element; /* of the registers */
    Expr *lane;
    Span span;
} Shuffle;

/* The block at work. */
typedef struct {
    WarpMemory *w;
    const BlockStmt *block;
    bool reads_lanes; /* its instruction has an operand in the registers of all lanes */
    Expr *self;       /* the coordinate that runs it; NULL: any */
    ExprList conds;   /* that hold where the access stands, and not for all lanes */
    SubstList lets;   /* of the body, in terms of loops */
    int loops;        /* of the body around the access */
    VEC(Shuffle) shuffles;
} AtBlock;

/* ---- shuffles -------------------------------------------------------------------------------- */

/* The same in all lanes of a warp. */
static bool is_uniform(const WarpMemory *w, const Expr *e)
{
    for (Cursor at = cursor_expr(w->c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD ||
            (at.expr->kind == EX_AXIS && at.expr->u.axis == AXIS_THREAD_X))
            return false;
    for (int i = 0; i < w->path.n; i++)
        if (warp_is_lane_loop(w->path.items[i]) && expr_uses_var(e, w->path.items[i]->u.loop.var))
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
    Expr *end = expr_index(c, rows ? (i + 1) * w->parts.lanes : i + 1);
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

/* All lanes have the element, in one register. */
static bool check_element(WarpMemory *w, const Shuffle *s)
{
    const Buffer *to = w->parts.to;
    const char *why = NULL;
    for (int d = 0; d < to->rank && !why; d++) {
        Expr *e = s->element[d];
        if (!is_uniform(w, e))
            why = "the lanes read different registers of one another here: a shuffle sends one "
                  "register, the same of all lanes";
        else if (!prove_inside(w->facts, e, to->shape[d]))
            why = "this reads an element that is not known to exist where some lanes run the block "
                  "and others do not";
    }
    if (why)
        warp_refuse(w, E0524, s->span, why);
    return !why;
}

/* The lane that has element `e` is in the warp of the one that reads, `*far` lanes beside it. */
static bool is_beside(const AtBlock *b, Expr *e, int64_t *far)
{
    const WarpMemory *w = b->w;
    Context *c = w->c;
    Expr *rest, *lanes = expr_index(c, w->parts.lanes), *warp = expr_index(c, LANES_WARP);
    int64_t factor;
    if (w->parts.chunk != 1 || !b->self ||
        !split_linear(w->facts, e, b->self->u.var, &factor, &rest) || factor != 1)
        return false;
    Expr *beside = simplify(w->facts, index_mod(c, index_add(c, rest, lanes), lanes));
    if (!expr_is_const(beside, far))
        return false;
    *far -= *far < w->parts.lanes / 2 ? 0 : w->parts.lanes;
    Expr *lane = index_add(c, index_mod(c, b->self, warp), expr_index(c, *far));
    return prove_inside(w->facts, lane, warp);
}

/* The coordinate that runs the block; NULL: several do. */
static Expr *runs_on(const AtBlock *b)
{
    bool every;
    const Stmt *loop = thread_loop(b->w->c, &b->w->path, AXIS_THREAD_X, &every);
    return !loop && !every ? expr_index(b->w->c, 0) : b->self;
}

/* The number within its warp of the lane that has element `e`, or one that is the same modulo 32,
 * as a shuffle takes it. NULL: the lane may be of another warp than the one that reads. */
static Expr *lane_in_warp(AtBlock *b, Expr *e)
{
    Context *c = b->w->c;
    int64_t far;
    if (is_beside(b, e, &far))
        return simplify(b->w->facts, index_add(c, b->self, expr_index(c, far)));
    Expr *lane = warp_lane_of(b->w, e), *warp = expr_index(c, LANES_WARP), *self = runs_on(b);
    if (b->w->parts.lanes == LANES_WARP)
        return lane->kind == EX_MOD ? lane->u.arg[0] : lane;
    bool same = self && prove_compare(b->w->facts, index_div(c, lane, warp), EX_EQ,
                                      index_div(c, self, warp));
    return same ? simplify(b->w->facts, index_mod(c, lane, warp)) : NULL;
}

/* The read of an instruction's operand: the shuffle stands in its place, in all lanes alike. */
static Expr *read_operand(AtBlock *b, Expr *load, Expr *lane, Expr *const *element)
{
    Shuffle s = {.element = element, .lane = lane, .span = load->span};
    if (!check_element(b->w, &s))
        return load;
    Expr *sent = expr_load(b->w->c, b->w->parts.to, element, load->span);
    return expr_binary(b->w->c, EX_SHUFFLE, sent, lane, load->span);
}

/* The read of an element that another lane may have. */
static Expr *read_other(AtBlock *b, Expr *load, Expr *e, Expr *const *element)
{
    Context *c = b->w->c;
    Expr *lane = lane_in_warp(b, e);
    if (!lane) {
        warp_refuse(b->w, E0524, load->span, "this may read what a lane of another warp has");
        return load;
    }
    if (b->reads_lanes)
        return read_operand(b, load, lane, element);
    if (needs_conditions(c, lane) && b->conds.n > 0)
        lane = expr_select(c, cond_join(c, &b->conds), lane, expr_index(c, 0), load->span);
    const char *why = why_no_shuffle(b, lane);
    if (why) {
        warp_refuse(b->w, E0524, load->span, why);
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
    warp_assume_inside(w, at);
    int64_t far = 0;
    Expr *own = is_beside(b, at, &far) ? index_sub(c, at, expr_index(c, far)) : at;
    for (int d = 0; d < p->from->rank; d++)
        element[d] = d == p->axis ? warp_register_of(w, own)
                                  : simplify(w->facts, in_loops(b, e->u.load.index[d]));
    Expr *done;
    if (warp_is_own(w, at, b->self) || p->from->lanes_alike)
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
    Expr **element = ARENA_COPY(w->c->arena, Expr *, s->u.store.index, p->from->rank, 1);
    Expr *at = in_loops(b, element[p->axis]);
    warp_assume_inside(w, at);
    element[p->axis] = warp_register_of(w, at);
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

/* What decides whether a block runs reads inputs alone (flow_require_no_range). */
static void demand_undecided(const WarpMemory *w, const ExprList *conds)
{
    for (int i = 0; i < conds->n; i++)
        if (expr_reads(conds->items[i], w->parts.from))
            TIRC_BUG(w->c, "'%s' decides whether a block runs", w->parts.from->name);
}

/* A block that all threads run: the shuffle into a variable. */
static Stmt *shuffle_block(const WarpMemory *w, const Shuffle *s, Expr *where)
{
    Context *c = w->c;
    Expr *zero = expr_index(c, 0);
    Expr *sent = expr_load(c, w->parts.to, s->element, s->span);
    Expr *received = expr_binary(c, EX_SHUFFLE, sent, s->lane, s->span);
    BlockStmt block = {.name = s->to->name,
                       .predicate = where,
                       .body = stmt_set(c, (BufferElement){s->to, &zero}, received, s->span)};
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

/* ---- elements of instructions ---------------------------------------------------------------- */

static bool reads_lanes(const Instruction *of)
{
    for (int i = 0; of && i < of->n_operands; i++)
        if (of->operands[i].has_scope && of->operands[i].scope == SCOPE_WARP)
            return true;
    return false;
}

/* The elements that the template of the block's instruction names, before they lie in registers.
 * NULL after an error. */
static Expr *const *find_elements(WarpMemory *w, const Stmt *s)
{
    bool every;
    const BlockStmt *block = &s->u.block;
    const Stmt *loop = thread_loop(w->c, &w->path, AXIS_THREAD_X, &every);
    const SubstList value = {.items = block_bindings(w->c, block), .n = block->n_iters};
    return instruction_elements(w->c, w->facts, s, loop ? loop->u.loop.var : NULL, &value);
}

/* The template reads as many bytes from the element on as its operand is aligned to. */
static bool is_read_wide(const Instruction *of, int element)
{
    for (int i = 0; i < of->n_pieces; i++)
        if (of->pieces[i].kind == PIECE_WIDE && of->pieces[i].element == element)
            return true;
    return false;
}

/* Why the template cannot name the element, which lies in register `at` of the lane that has it;
 * NULL: it can. */
static const char *why_no_register(AtBlock *b, Expr *e, Expr *at, int element)
{
    WarpMemory *w = b->w;
    const Instruction *of = b->block->instruction;
    const Operand *operand = &of->operands[of->elements[element].operand];
    int64_t run = operand->align / type_bytes(operand->buffer->type), chunk = w->parts.chunk;
    if (!warp_is_own(w, e, b->self))
        return "the text of the instruction names an element that the lane does not write: its own "
               "are t * n + 0..n of every 32 * n, or 128 * n of a warpgroup";
    if (is_read_wide(of, element) && (chunk % run != 0 || !prove_divisible(w->facts, at, run)))
        return arena_printf(w->c->arena,
                            "the text of the instruction may read %lld bytes from an element on, "
                            "and a lane has %lld elements next to each other",
                            (long long)operand->align, (long long)chunk);
    return NULL;
}

/* An element that the template names: a register of the lane that executes it. */
static Expr *rewrite_element(AtBlock *b, Expr *load, int element)
{
    WarpMemory *w = b->w;
    if (load->u.load.buffer != w->parts.from)
        return load;
    Expr **index = ARENA_ARRAY(w->c->arena, Expr *, w->parts.from->rank + 1);
    for (int d = 0; d < w->parts.from->rank; d++)
        index[d] = simplify(w->facts, in_loops(b, load->u.load.index[d]));
    Expr *e = index[w->parts.axis];
    index[w->parts.axis] = warp_register_of(w, e);
    const char *why = why_no_register(b, e, index[w->parts.axis], element);
    if (why)
        warp_refuse(w, E0524, b->block->body->span, why);
    return expr_load(w->c, w->parts.to, index, load->span);
}

static Expr *const *rewrite_elements(AtBlock *b, const Stmt *s)
{
    const BlockStmt *block = &s->u.block;
    Expr *const *named = block->elements ? block->elements : find_elements(b->w, s);
    b->w->failed |= !named;
    int n = block->instruction->n_elements;
    Expr **elements = ARENA_ARRAY(b->w->c->arena, Expr *, n + 1);
    for (int i = 0; named && i < n; i++)
        elements[i] = rewrite_element(b, named[i], i);
    return elements;
}

/* ---- blocks that access the buffer ----------------------------------------------------------- */

static Stmt *rewrite_block(WarpMemory *w, Stmt *s)
{
    Context *c = w->c;
    BlockStmt block = s->u.block;
    AtBlock b = {.w = w,
                 .block = &s->u.block,
                 .reads_lanes = reads_lanes(block.instruction),
                 .self = warp_coordinate(w)};
    FactsMark start = facts_mark(w->facts);
    ExprList all = block_runs_where(c, &block), apart = {0};
    demand_undecided(w, &all);
    Expr *where = common_conditions(w, &all, &apart);
    if (b.reads_lanes)
        block.elements = rewrite_elements(&b, s);
    block.body = rewrite_apart(&b, &apart);
    Stmt *before = NULL;
    for (int i = 0; i < b.shuffles.n && check_element(w, &b.shuffles.items[i]); i++)
        before = stmt_then(c, before, shuffle_block(w, &b.shuffles.items[i], where));
    facts_reset(w->facts, start);
    return stmt_then(c, before, stmt_stamp(stmt_block(c, &block, s->span), s));
}

/* ---- one buffer of a launch ------------------------------------------------------------------ */

/* The lanes that share the buffer: all threads of whole warps, or one. 0 after a
 * refusal. */
static int64_t count_lanes(WarpMemory *w, const Stmt *root)
{
    int64_t lanes = 1;
    for (Cursor at = cursor_outer(w->c, root); cursor_next(&at);) {
        int64_t extent;
        if (!warp_is_lane_loop(at.stmt) ||
            (loop_const_extent(&at.stmt->u.loop, &extent) && extent == lanes))
            continue;
        if (!loop_const_extent(&at.stmt->u.loop, &extent) ||
            (extent % LANES_WARP != 0 && !(w->parts.from->lanes_alike && extent < LANES_WARP))) {
            warp_refuse(w, E0523, at.stmt->span,
                        "the iterations of the loop that is bound to threadIdx.x are not those of "
                        "whole warps");
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
    Expr **shape = ARENA_COPY(c->arena, Expr *, to->shape, to->rank, 1);
    int64_t extent = 1;
    if (expr_is_const(shape[p->axis], &extent))
        shape[p->axis] = expr_index(c, ((extent - 1) / (p->lanes * p->chunk) + 1) * p->chunk);
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
    w->parts.lanes = lanes < LANES_WARP ? LANES_WARP : lanes;
    if (!warp_find_parts(w, root))
        return NULL;
    w->parts.to = registers(w);
    w->at_block = rewrite_block;
    root = warp_walk(w, root);
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
