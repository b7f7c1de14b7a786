/* outside.c - see outside.h.
 *
 *   for i in 64
 *       y[i] = x[i + 1];       i reaches 63, so the subscript reaches 64, of an axis that ends at 63
 *
 * A subscript that is linear in iterators over literal ranges takes its least and its largest value in corners of their box. Both
 * corners are iterations that run: nothing but the loops around the block decides, each of them over a range of its own, and the
 * access stands under no condition. */
#include "passes/analysis/outside.h"

#include "passes/analysis/simplify.h"

typedef struct {
    Context *c;
    Facts *facts;
    StmtPath loops; /* around the place, outermost first */
    const BlockStmt *block;
    int64_t *lo, *hi; /* of its iterators: lo..hi */
    int64_t *corner;  /* values of its iterators */
} Outside;

/* The literal range of a loop that runs upwards in steps of 1, and at least once. */
static bool literal_range(const ForStmt *loop, int64_t *lo, int64_t *hi)
{
    return loop->step == 1 && expr_is_const(loop->lo, lo) && expr_is_const(loop->hi, hi) && *lo < *hi;
}

/* Every iterator of the block is a loop around it, over the whole of the loop's range, and nothing else decides whether it runs. */
static bool runs_everywhere(Outside *o, const BlockStmt *block)
{
    int64_t lo, hi;
    for (int i = 0; i < o->loops.n; i++)
        if (!literal_range(&o->loops.items[i]->u.loop, &lo, &hi))
            return false;
    o->block = block;
    o->lo = ARENA_ARRAY(o->c->arena, int64_t, block->n_iters + 1);
    o->hi = ARENA_ARRAY(o->c->arena, int64_t, block->n_iters + 1);
    o->corner = ARENA_ARRAY(o->c->arena, int64_t, block->n_iters + 1);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        int n = 0;
        while (n < o->loops.n && !(iter->binding->kind == EX_VAR && iter->binding->u.var == o->loops.items[n]->u.loop.var))
            n++;
        if (n == o->loops.n || !literal_range(&o->loops.items[n]->u.loop, &o->lo[i], &o->hi[i]) ||
            !expr_is_const(iter->lo, &lo) || !expr_is_const(iter->hi, &hi) || lo > o->lo[i] || hi < o->hi[i])
            return false;
    }
    return !block->predicate;
}

/* The largest (upper) or least value of a subscript, and in o->corner where it takes it; false where that is not known. */
static bool extreme(Outside *o, Expr *subscript, bool upper, int64_t *value)
{
    Expr *rest = subscript;
    *value = 0;
    for (int i = 0; i < o->block->n_iters; i++) {
        const Var *var = o->block->iters[i].var;
        int64_t factor = 0, part;
        if (expr_uses_var(rest, var) && !split_linear(o->facts, rest, var, &factor, &rest))
            return false;
        o->corner[i] = upper == (factor > 0) ? o->hi[i] - 1 : o->lo[i];
        if (!checked_mul(factor, o->corner[i], &part) || !checked_add(*value, part, value))
            return false;
    }
    int64_t constant;
    return expr_is_const(simplify(o->facts, rest), &constant) && checked_add(*value, constant, value);
}

/* "i = 63, j = 0", of the iterators that the subscript speaks of. */
static const char *corner_text(const Outside *o, const Expr *subscript)
{
    StrBuf text = strbuf_new(o->c->arena);
    for (int i = 0; i < o->block->n_iters; i++) {
        const Var *var = o->block->iters[i].var;
        if (expr_uses_var(subscript, var))
            strbuf_addf(&text, "%s%s = %lld", text.length ? ", " : "", var->name, (long long)o->corner[i]);
    }
    return text.length ? text.text : "every iteration";
}

static bool leaves(Outside *o, const Buffer *buffer, int axis, Expr *subscript, Span span)
{
    int64_t extent, value;
    if (!expr_is_const(simplify(o->facts, buffer->shape[axis]), &extent) ||
        !((extreme(o, subscript, true, &value) && value >= extent) || (extreme(o, subscript, false, &value) && value < 0)))
        return false;
    StrBuf text = strbuf_new(o->c->arena);
    print_expr(subscript, &text);
    const char *end = value < 0 ? "axes begin at 0" : arena_printf(o->c->arena, "the axis ends at %lld", (long long)extent - 1);
    diag_warning(o->c, E0232, span,
                 "at %s the subscript %s of '%s' is %lld, and %s; let the loop end earlier, or put the access under a condition",
                 corner_text(o, subscript), text.text, buffer->name, (long long)value, end);
    return true;
}

static void check_access(Outside *o, const Buffer *buffer, Expr *const *index, Span span)
{
    for (int axis = 0; axis < buffer->rank; axis++)
        if (leaves(o, buffer, axis, index[axis], span))
            return;
}

/* Operands that are evaluated under a condition are not looked at. */
static bool check_loads(Visitor *v, Expr *e)
{
    if (e->kind == EX_LOAD)
        check_access(v->user, e->u.load.buffer, e->u.load.index, e->span);
    return e->kind != EX_SELECT && e->kind != EX_AND && e->kind != EX_OR;
}

static void check_block(Outside *o, const BlockStmt *block)
{
    const Stmt *store = stmt_single_store(block->body);
    if (!store || !runs_everywhere(o, block))
        return;
    Visitor v = {.user = o, .expr = check_loads};
    check_access(o, store->u.store.buffer, store->u.store.index, store->span);
    for (int axis = 0; axis < store->u.store.buffer->rank; axis++)
        visit_expr(&v, store->u.store.index[axis]);
    visit_expr(&v, store->u.store.value);
}

/* A condition decides what runs, so nothing under one is asked. */
static bool check_stmt(Walker *w, Stmt *s)
{
    Outside *o = w->user;
    if (s->kind == ST_BLOCK) {
        o->loops = enclosing_loops(o->c, &w->path);
        check_block(o, &s->u.block);
    }
    return s->kind != ST_IF;
}

void warn_outside(Context *c, const Kernel *program)
{
    Outside o = {.c = c, .facts = facts_of_kernel(c, program)};
    Walker w = {.ctx = c, .user = &o, .stmt = check_stmt};
    walk_stmt(&w, program->body);
}
