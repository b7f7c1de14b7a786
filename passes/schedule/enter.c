/* enter.c - Implements enter: later steps see the body of a loop as the whole program.
 *
 *   kernel k<T>(x) -> y {             kernel k<T, t>(x, inout y)
 *       temp s;                           where 0 <= t, t < T
 *       for t in T {                  {
 *           s(t) = ...          =>        temp s;
 *           y(t) = ...                    s() = ...
 *       }                                 y() = ...
 *   }                                 }
 *
 * The variable becomes a size, and blocks lose the iterator that is the loop. What is declared
 * outside becomes a parameter. A temporary whose values no iteration takes from another is declared
 * in the body. So a rule for whole programs serves for one step of many in time.
 *
 * Legal: the loop and those around it are serial, without annotations, and carry no reduction that
 * begins before them; sizes decide their ranges, which hold no negative numbers.
 * Invariant: from any contents of its parameters the body computes the same ones, and so do its
 * iterations, which keep their order. */
#include "passes/schedule/enter.h"

#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/regions/affine_bounds.h"
#include "passes/schedule/flow.h"

typedef VEC(Fact) FactList;
typedef VEC(Param) ParamList;

typedef struct {
    Schedule *s;
    Span span;
    const Kernel *whole; /* with the temporaries of the loop declared there */
    uint32_t loop;
    StmtPath path;  /* to the loop, */
    StmtPath loops; /* and its loops, outermost first: */
    SubstList map;  /* each variable becomes a size */
    Facts *facts;   /* that hold in the loop */
    Entered *entered;
} Enter;

/* ---- check ----------------------------------------------------------------------------------- */

/* A block with an init whose reduction the loop carries; NULL: none. */
static const BlockStmt *begun_outside(Context *c, const Stmt *loop)
{
    for (Cursor at = cursor_outer(c, loop); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK && at.stmt->u.block.init &&
            block_uses_loop(&at.stmt->u.block, ITER_REDUCE, loop->u.loop.var))
            return &at.stmt->u.block;
    return NULL;
}

static bool check_loop(const Enter *e, const Stmt *stmt)
{
    const ForStmt *loop = &stmt->u.loop;
    const BlockStmt *sum;
    REQUIRE_AT(e->s, E0869, e->span,
               (loop->kind == LOOP_SERIAL || loop->kind == LOOP_PARALLEL) && !loop->annotations.n,
               stmt,
               "loop '%s' is %s or has annotations, and the iterations of a loop to enter run one "
               "after the other; enter it before these steps",
               stmt_label(stmt), loop_kind_name(loop->kind));
    REQUIRE_AT(e->s, E0869, e->span, !expr_has_load(loop->lo) && !expr_has_load(loop->hi), stmt,
               "data decide the range of loop '%s', whose variable would become a size; enter a "
               "loop outside of it",
               stmt_label(stmt));
    REQUIRE_AT(e->s, E0869, e->span,
               prove_at_least(e->facts, expr_var(e->s->ctx, loop->var, e->span), 0), stmt,
               "loop '%s' may start below 0, and its variable would become a size, which is at "
               "least 0; call shift first",
               stmt_label(stmt));
    sum = begun_outside(e->s->ctx, stmt);
    REQUIRE_AT(
        e->s, E0869, e->span, !sum, stmt,
        "loop '%s' carries the reduction of block '%s', which begins before the loop; enter a "
        "loop outside of it, or call decompose_reduction first",
        stmt_label(stmt), sum->name);
    return true;
}

static bool check_temps(const Enter *e)
{
    Stmt *loop = path_end(&e->path);
    AccessList accesses = access_list(e->s->ctx, loop, NULL, ACCESS_ANY);
    for (int i = 0; i < accesses.n; i++) {
        const Buffer *buffer = accesses.items[i].buffer;
        REQUIRE(e->s, E0869, e->span,
                scope_outlives_launch(buffer->scope) || stmt_declares(e->s->ctx, loop, buffer),
                "'%s', which is declared outside of loop '%s', is in %s memory and would become a "
                "parameter; enter a loop around its declaration, or set its scope to global",
                buffer->name, stmt_label(loop), scope_name(buffer->scope));
    }
    return true;
}

static bool check(const Enter *e)
{
    for (int i = 0; i < e->loops.n; i++)
        if (!check_loop(e, e->loops.items[i]))
            return false;
    return check_temps(e);
}

/* ---- temporaries ----------------------------------------------------------------------------- */

/* Each iteration writes what it reads of the temporary, which nothing outside of the loop uses. */
static bool is_own(const Enter *e, const Buffer *buffer)
{
    Stmt *body = e->whole->body, *loop = path_end(&e->path);
    int inside = flow_blocks(e->s, loop, buffer, ACCESS_ANY).n;
    return buffer->scope == SCOPE_GLOBAL && inside > 0 && !stmt_declares(e->s->ctx, loop, buffer) &&
           inside == flow_blocks(e->s, body, buffer, ACCESS_ANY).n &&
           flow_written_in_iteration(e->s, body, &e->path, buffer);
}

static void find_loop(Enter *e)
{
    e->path.n = e->loops.n = 0;
    stmt_find(e->s->ctx, e->whole->body, e->loop, &e->path);
    sched_loops_on(e->s, &e->path, &e->loops);
}

/* Moves the declaration of a temporary into the loop. */
static void take_temp(Enter *e, Buffer *buffer)
{
    Stmt *body = flow_declare_in(e->s, e->whole->body, path_end(&e->path), buffer);
    e->whole = kernel_with_body(e->s->ctx, e->whole, body);
    find_loop(e);
}

static void take_temps(Enter *e)
{
    StmtList temps = stmts_of_kind(e->s->ctx, e->whole->body, ST_TEMP);
    for (int i = 0; i < temps.n; i++)
        if (is_own(e, temps.items[i]->u.temp))
            take_temp(e, temps.items[i]->u.temp);
}

/* ---- the body -------------------------------------------------------------------------------- */

Stmt *enter_rebuilt(Context *c, const Stmt *stmt, BlockStmt block, const SubstList *map)
{
    block.init = block.init ? stmt_subst(c, block.init, map->items, map->n) : NULL;
    block.body = stmt_subst(c, block.body, map->items, map->n);
    if (block.elements)
        block.elements =
            exprs_subst(c, block.elements, block.instruction->n_elements, map->items, map->n);
    return stmt_stamp(stmt_block(c, &block, stmt->span), stmt);
}

/* The iterator is a loop to enter, in all of whose iterations the block runs. */
static bool is_entered(const Enter *e, const BlockIter *iter)
{
    bool is = false;
    for (int i = 0; i < e->map.n; i++)
        is |= iter->binding->kind == EX_VAR && iter->binding->u.var == e->map.items[i].var;
    return is && prove_compare(e->facts, iter->lo, EX_LE, iter->binding) &&
           prove_compare(e->facts, iter->binding, EX_LT, iter->hi);
}

/* A block without the iterators that are loops to enter: it uses their variables instead. */
static Stmt *without_loops(Rewriter *r, Stmt *stmt)
{
    const Enter *e = r->user;
    if (stmt->kind != ST_BLOCK)
        return stmt;
    BlockStmt block = stmt->u.block;
    BlockIter *iters = block_own_iters(r->ctx, &block, 0);
    SubstList map = {0};
    int n = 0;
    for (int i = 0; i < block.n_iters; i++) {
        BlockIter iter = iters[i];
        iter.lo = expr_subst(r->ctx, iter.lo, map.items, map.n);
        iter.hi = expr_subst(r->ctx, iter.hi, map.items, map.n);
        Subst value = {iter.var, iter.binding};
        if (is_entered(e, &iter))
            VEC_PUSH(r->ctx->arena, &map, value);
        else
            iters[n++] = iter;
    }
    block.n_iters = n;
    return enter_rebuilt(r->ctx, stmt, block, &map);
}

bool enter_defines(const Stmt *stmt, Name name)
{
    bool is = (stmt->kind == ST_FOR && stmt->u.loop.var->name == name) ||
              (stmt->kind == ST_TEMP && stmt->u.temp->name == name) ||
              (stmt->kind == ST_LET && stmt->u.let.var->name == name) ||
              (stmt->kind == ST_BLOCK && stmt->u.block.name == name);
    for (int i = 0; stmt->kind == ST_BLOCK && i < stmt->u.block.n_iters; i++)
        is |= stmt->u.block.iters[i].var->name == name;
    return is;
}

/* Gives a new size another name than its loop's where something in the body has that. */
static void rename_size(const Enter *e, Var *size, const Stmt *body)
{
    for (Cursor at = cursor_stmts(e->s->ctx, body); cursor_next(&at);)
        if (enter_defines(at.stmt, size->name))
            size->name = sched_fresh_name(e->s, size->name);
}

static void add_sizes(Enter *e)
{
    Context *c = e->s->ctx;
    for (int i = 0; i < e->loops.n; i++) {
        Var *var = e->loops.items[i]->u.loop.var;
        Var *size = var_new(c, var->name, DT_INDEX, VAR_SIZE, var->span);
        Subst one = {var, expr_var(c, size, var->span)};
        VEC_PUSH(c->arena, &e->map, one);
    }
}

static Stmt *body_of_sizes(const Enter *e)
{
    Context *c = e->s->ctx;
    Rewriter blocks = {.ctx = c, .user = (void *)e, .stmt = without_loops};
    Stmt *body = rewrite_stmt(&blocks, path_end(&e->path)->u.loop.body);
    body = stmt_subst_shaped(c, body, e->map.items, e->map.n);
    for (int i = 0; i < e->map.n; i++)
        rename_size(e, e->map.items[i].value->u.var, body);
    return body;
}

/* ---- what holds in it ------------------------------------------------------------------------ */

static void add_fact(const Enter *e, Expr *cond, FactList *facts)
{
    cond = expr_subst(e->s->ctx, cond, e->map.items, e->map.n);
    Fact fact = {.kind = FACT_SIZES, .span = cond->span, .cond = cond};
    if (expr_of_sizes(cond))
        VEC_PUSH(e->s->ctx->arena, facts, fact);
}

/* lo <= t, t < hi */
static void add_range(const Enter *e, const Stmt *stmt, FactList *facts)
{
    Context *c = e->s->ctx;
    Expr *lo, *hi, *at = expr_var(c, stmt->u.loop.var, stmt->span);
    loop_domain(c, &stmt->u.loop, &lo, &hi);
    add_fact(e, expr_binary(c, EX_LE, lo, at, stmt->span), facts);
    add_fact(e, expr_binary(c, EX_LT, at, hi, stmt->span), facts);
}

/* What the program assumes of sizes, and of what it does not write; the ranges of the loops, and
 * the conditions around. */
static FactList facts_inside(const Enter *e)
{
    Context *c = e->s->ctx;
    FactList facts = {0};
    for (int i = 0; i < e->whole->n_facts; i++) {
        const Fact *fact = &e->whole->facts[i];
        if (fact->kind == FACT_SIZES || !fact->subject.buffer ||
            fact->subject.buffer->role == ROLE_IN)
            VEC_PUSH(c->arena, &facts, *fact);
    }
    for (int i = 0; i < e->path.n; i++) {
        const Stmt *stmt = e->path.items[i];
        if (stmt->kind == ST_FOR)
            add_range(e, stmt, &facts);
        else if (stmt->kind == ST_IF && e->path.items[i + 1] == stmt->u.cond.otherwise)
            add_fact(e, expr_unary(c, EX_NOT, stmt->u.cond.cond, stmt->span), &facts);
        else if (stmt->kind == ST_IF)
            add_fact(e, stmt->u.cond.cond, &facts);
    }
    return facts;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void add_param(const Enter *e, Buffer *buffer, ParamList *params)
{
    Context *c = e->s->ctx;
    bool written = stmt_accesses(c, path_end(&e->path), buffer, ACCESS_WRITE);
    ParamPair pair = {buffer, buffer_subst(c, buffer, e->map.items, e->map.n)};
    pair.to->role = written ? ROLE_INOUT : ROLE_IN;
    if (buffer->role == pair.to->role)
        pair.to = buffer;
    else
        VEC_PUSH(c->arena, &e->entered->params, pair);
    Param param = {.buffer = pair.to};
    VEC_PUSH(c->arena, params, param);
}

/* Inputs and scalars, of which facts may speak, and what the loop accesses and does not declare. */
static ParamList params_inside(const Enter *e)
{
    Context *c = e->s->ctx;
    Stmt *loop = path_end(&e->path);
    ParamList params = {0};
    for (int i = 0; i < e->whole->n_params; i++) {
        const Param *param = &e->whole->params[i];
        if (!param->buffer || param->buffer->role == ROLE_IN)
            VEC_PUSH(c->arena, &params, *param);
        else if (stmt_accesses(c, loop, param->buffer, ACCESS_ANY))
            add_param(e, param->buffer, &params);
    }
    StmtList temps = stmts_of_kind(c, e->whole->body, ST_TEMP);
    for (int i = 0; i < temps.n; i++)
        if (!stmt_declares(c, loop, temps.items[i]->u.temp) &&
            stmt_accesses(c, loop, temps.items[i]->u.temp, ACCESS_ANY))
            add_param(e, temps.items[i]->u.temp, &params);
    return params;
}

static void add_loop_sizes(const Enter *e, Kernel *body)
{
    Context *c = e->s->ctx;
    Size *sizes = ARENA_ARRAY(c->arena, Size, body->n_sizes + e->map.n);
    for (int i = 0; i < body->n_sizes; i++)
        sizes[i] = body->sizes[i];
    for (int i = 0; i < e->map.n; i++) {
        Var *var = e->map.items[i].value->u.var;
        sizes[body->n_sizes + i] =
            (Size){.name = var->name, .symbolic = true, .var = var, .span = var->span};
    }
    body->sizes = sizes;
    body->n_sizes += e->map.n;
}

/* ---- enter ----------------------------------------------------------------------------------- */

static Kernel *kernel_inside(Enter *e)
{
    Context *c = e->s->ctx;
    add_sizes(e);
    FactList facts = facts_inside(e);
    Kernel *body = kernel_with_body(c, e->whole, body_of_sizes(e));
    body->facts = facts.items;
    body->n_facts = facts.n;
    ParamList params = params_inside(e);
    body->params = params.items;
    body->n_params = params.n;
    body->n_outputs = 0;
    for (int i = 0; i < e->entered->params.n; i++)
        body->body = stmt_replace_buffer(c, body->body, e->entered->params.items[i].from,
                                         e->entered->params.items[i].to);
    add_loop_sizes(e, body);
    return body;
}

bool prim_enter(Schedule *s, const PrimCall *call, Value *result)
{
    Enter e = {.s = s, .span = call->span, .whole = s->kernel, .loop = call->enter.loop.u.id};
    find_loop(&e);
    e.facts = sched_facts(s, &e.path);
    facts_enter(e.facts, path_end(&e.path));
    if (!check(&e))
        return false;
    take_temps(&e);
    e.entered = ARENA_NEW(s->ctx->arena, Entered);
    *e.entered = (Entered){.whole = e.whole, .loop = e.loop, .outer = s->entered};
    Kernel *inside = kernel_inside(&e);
    e.entered->inside = inside;
    e.entered->sizes = e.map;
    s->entered = e.entered;
    sched_replace_interface(s, inside);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}

/* ---- later steps ----------------------------------------------------------------------------- */

SubstList enter_to_loops(Context *c, const Entered *entered)
{
    SubstList map = {0};
    for (int i = 0; i < entered->sizes.n; i++) {
        Subst size = {entered->sizes.items[i].value->u.var,
                      expr_var(c, entered->sizes.items[i].var, span_none())};
        VEC_PUSH(c->arena, &map, size);
    }
    return map;
}

Expr *enter_in_loops(const Schedule *s, Expr *e)
{
    for (const Entered *entered = s->entered; entered; entered = entered->outer) {
        SubstList map = enter_to_loops(s->ctx, entered);
        e = expr_subst(s->ctx, e, map.items, map.n);
    }
    return e;
}

/* In the loop, where the sizes are variables, the bound would be none that a loop may have. */
static bool is_no_bound(Context *c, Expr *bound, const SubstList *map)
{
    return expr_is_affine(bound) && !expr_is_affine(expr_subst(c, bound, map->items, map->n));
}

/* The first bound of a loop, or of an iterator, that would be none there; NULL: there is none. */
static const Expr *no_bound(Context *c, const Stmt *body, const SubstList *map)
{
    for (Cursor at = cursor_outer(c, body); cursor_next(&at);) {
        const Stmt *stmt = at.stmt;
        bool loop = stmt->kind == ST_FOR, block = stmt->kind == ST_BLOCK;
        for (int i = 0; i < (loop ? 1 : block ? stmt->u.block.n_iters : 0); i++) {
            Expr *lo = loop ? stmt->u.loop.lo : stmt->u.block.iters[i].lo;
            Expr *hi = loop ? stmt->u.loop.hi : stmt->u.block.iters[i].hi;
            if (is_no_bound(c, lo, map) || is_no_bound(c, hi, map))
                return is_no_bound(c, lo, map) ? lo : hi;
        }
    }
    return NULL;
}

bool enter_allows_step(Schedule *s, Span span)
{
    const Entered *entered = s->entered;
    if (!entered)
        return true;
    REQUIRE(s, E0870, span, s->kernel->params == entered->inside->params,
            "changes a buffer that is declared outside of the loop that the schedule has entered, "
            "where other blocks may use it; run this step before enter, or after leave");
    SubstList map = enter_to_loops(s->ctx, entered);
    const Expr *bound = no_bound(s->ctx, s->kernel->body, &map);
    REQUIRE(s, E0872, span, !bound,
            "makes a loop with the bound %s, a product with the variable of a loop that the "
            "schedule has entered; bounds are sums of variables, and products of them with sizes",
            expr_text(s->ctx, bound));
    return true;
}

bool enter_is_outside(Schedule *s, uint32_t id)
{
    for (const Entered *e = s->entered; e; e = e->outer)
        for (Cursor at = cursor_outer(s->ctx, e->whole->body); cursor_next(&at);)
            if ((at.stmt->kind == ST_FOR && at.stmt->u.loop.id == id) ||
                (at.stmt->kind == ST_BLOCK && at.stmt->u.block.id == id) ||
                (at.stmt->kind == ST_TEMP && at.stmt->u.temp->id == id))
                return true;
    return false;
}

bool enter_has_block_outside(Schedule *s, Name name)
{
    for (const Entered *e = s->entered; e; e = e->outer)
        for (Cursor at = cursor_outer(s->ctx, e->whole->body); cursor_next(&at);)
            if (at.stmt->kind == ST_BLOCK && at.stmt->u.block.name == name)
                return true;
    return false;
}
