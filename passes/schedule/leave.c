/* leave.c - Implements leave: puts the body that enter has shown back into its loop.
 *
 *   kernel k<T, t>(x, inout y) {          for t in T {
 *       block y(i in N = i) {                 block y(t in T = t, i in N = i) {
 *           y[t, i] = x[i];         =>            y[t, i] = x[i];
 *       }                                     }
 *   }                                     }
 *
 * A block that was about the loop, or that uses its size, has an iterator for it again.
 *
 * Legal: a loop was entered. enter_allows_step has checked each step since then.
 * Invariant: the loop runs, one after the other, what the body has become. */
#include "passes/schedule/enter.h"

#include "passes/schedule/flow.h"

typedef struct {
    const Entered *entered;
    StmtPath loops; /* that were entered, outermost first */
    const Stmt *body;
} Leave;

/* Its iterator that was the loop when it was entered; NULL: a new block, or one without. */
static const BlockIter *iterator_before(Context *c, const BlockStmt *block, const ForStmt *loop)
{
    const Stmt *before = stmt_find(c, loop->body, block->id, NULL);
    for (int i = 0; before && i < before->u.block.n_iters; i++)
        if (before->u.block.iters[i].binding->kind == EX_VAR &&
            before->u.block.iters[i].binding->u.var == loop->var)
            return &before->u.block.iters[i];
    return NULL;
}

static bool uses_size(Context *c, const BlockStmt *block, const Var *size)
{
    bool uses =
        (block->init && stmt_uses_var(c, block->init, size)) || stmt_uses_var(c, block->body, size);
    for (int i = 0; i < block->n_iters; i++)
        uses |= iter_uses_var(&block->iters[i], size);
    for (int i = 0; block->elements && i < block->instruction->n_elements; i++)
        uses |= expr_uses_var(block->elements[i], size);
    return uses;
}

static bool is_taken(Context *c, const Leave *l, Name name)
{
    const Kernel *inside = l->entered->inside;
    for (int i = 0; i < inside->n_sizes; i++)
        if (inside->sizes[i].name == name)
            return true;
    for (int i = 0; i < inside->n_params; i++)
        if ((inside->params[i].buffer ? inside->params[i].buffer->name
                                      : inside->params[i].scalar->name) == name)
            return true;
    for (Cursor at = cursor_stmts(c, l->body); cursor_next(&at);)
        if (enter_defines(at.stmt, name))
            return true;
    return false;
}

/* The name of the loop, or another if an iterator of the block has it. */
static Name iterator_name(Context *c, const Leave *l, const Stmt *block, Name loop)
{
    Name name = loop;
    for (int i = 1; enter_defines(block, loop) && (i == 1 || is_taken(c, l, name)); i++)
        name = ctx_namef(c, "%s_%d", loop, i);
    return name;
}

/* The block is about the loop: it was before, or it uses its variable, itself or in the range of a
 * loop further inside. */
static bool is_about(Context *c, const Leave *l, const BlockStmt *block, int k)
{
    const ForStmt *loop = &l->loops.items[k]->u.loop;
    if (iterator_before(c, block, loop) ||
        uses_size(c, block, l->entered->sizes.items[k].value->u.var))
        return true;
    for (int i = k + 1; i < l->loops.n; i++)
        if (loop_uses_var(&l->loops.items[i]->u.loop, loop->var) && is_about(c, l, block, i))
            return true;
    return false;
}

/* An iterator for a loop that the block is about; `outer` are loops around it as iterators. A
 * reduction with an init begins in each iteration: one that went on before has got it since. */
static BlockIter iterator_of(Context *c, const Leave *l, const Stmt *block, int k,
                             const SubstList *outer)
{
    const ForStmt *loop = &l->loops.items[k]->u.loop;
    const BlockIter *before = iterator_before(c, &block->u.block, loop);
    Expr *lo, *hi;
    loop_domain(c, loop, &lo, &hi);
    return (BlockIter){
        .var = var_new(c, iterator_name(c, l, block, loop->var->name), DT_INDEX, VAR_ITER,
                       loop->var->span),
        .lo = expr_subst(c, lo, outer->items, outer->n),
        .hi = expr_subst(c, hi, outer->items, outer->n),
        .binding = expr_var(c, loop->var, loop->var->span),
        .kind = before && !block->u.block.init ? before->kind : ITER_SPATIAL,
    };
}

/* The block in the loops, with iterators for those that it is about. */
static Stmt *with_loops(Rewriter *r, Stmt *stmt)
{
    const Leave *l = r->user;
    Context *c = r->ctx;
    if (stmt->kind != ST_BLOCK)
        return stmt;
    BlockStmt block = stmt->u.block;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, block.n_iters + l->loops.n + 1);
    SubstList sizes = {0}, outer = {0}; /* what they are in the block */
    int n = 0;
    for (int k = 0; k < l->loops.n; k++) {
        if (!is_about(c, l, &block, k))
            continue;
        iters[n] = iterator_of(c, l, stmt, k, &outer);
        Expr *value = expr_var(c, iters[n].var, iters[n].var->span);
        VEC_PUSH(c->arena, &outer, ((Subst){l->loops.items[k]->u.loop.var, value}));
        VEC_PUSH(c->arena, &sizes, ((Subst){l->entered->sizes.items[k].value->u.var, value}));
        n++;
    }
    for (int i = 0; i < block.n_iters; i++, n++) {
        iters[n] = block.iters[i];
        iters[n].lo = expr_subst(c, iters[n].lo, sizes.items, sizes.n);
        iters[n].hi = expr_subst(c, iters[n].hi, sizes.items, sizes.n);
    }
    block.iters = iters;
    block.n_iters = n;
    return enter_rebuilt(c, stmt, block, &sizes);
}

static Stmt *body_of_loops(Context *c, const Leave *l, Stmt *body)
{
    Rewriter blocks = {.ctx = c, .user = (void *)l, .stmt = with_loops};
    SubstList map = enter_to_loops(c, l->entered);
    body = rewrite_stmt(&blocks, body);
    body = stmt_subst_shaped(c, body, map.items, map.n);
    for (int i = 0; i < l->entered->params.n; i++)
        body = stmt_replace_buffer(c, body, l->entered->params.items[i].to,
                                   l->entered->params.items[i].from);
    return body;
}

Kernel *enter_whole(Context *c, const Entered *entered, const Kernel *body)
{
    Leave l = {.entered = entered, .body = body->body};
    StmtPath path = {0};
    Stmt *loop = stmt_find(c, entered->whole->body, entered->loop, &path);
    for (int i = 0; i < path.n; i++)
        if (path.items[i]->kind == ST_FOR)
            VEC_PUSH(c->arena, &l.loops, path.items[i]);
    Stmt *now = loop_with_body(c, loop, body_of_loops(c, &l, body->body));
    Kernel *whole =
        kernel_with_body(c, entered->whole, stmt_replace(c, entered->whole->body, loop, now));
    whole->retypes = body->retypes;
    whole->n_retypes = body->n_retypes;
    whole->composes |= body->composes;
    return whole;
}

/* What is around the loop has this buffer as. */
static const Buffer *outside_of(const Entered *entered, const Buffer *buffer)
{
    for (int i = 0; i < entered->params.n; i++)
        if (entered->params.items[i].to->id == buffer->id)
            return entered->params.items[i].from;
    return buffer;
}

Role enter_program_role(const Schedule *s, const Buffer *buffer)
{
    for (const Entered *e = s->entered; e; e = e->outer)
        buffer = outside_of(e, buffer);
    return buffer->role;
}

bool enter_has_values(Schedule *s, Stmt *body, const Buffer *buffer)
{
    Role role = enter_program_role(s, buffer);
    if (role == ROLE_IN || role == ROLE_INOUT)
        return true;
    const Kernel *kernel = kernel_with_body(s->ctx, s->kernel, body);
    for (const Entered *e = s->entered; e && buffer->role != ROLE_TEMP; e = e->outer) {
        kernel = enter_whole(s->ctx, e, kernel);
        buffer = outside_of(e, buffer);
    }
    return flow_kernel_writes_before_use(s, kernel, buffer);
}

bool prim_leave(Schedule *s, const PrimCall *call, Value *result)
{
    const Entered *entered = s->entered;
    REQUIRE(s, E0871, call->span, entered,
            "the schedule has not entered a loop; call enter first, or remove this step");
    s->entered = entered->outer;
    sched_replace_interface(s, enter_whole(s->ctx, entered, s->kernel));
    *result = (Value){.kind = VALUE_NONE};
    return true;
}
