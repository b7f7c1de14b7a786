/* wide.c - Decides whether a vectorized loop is one wide access (internal to passes/lower).
 *
 * Every access has to be contiguous in the loop's variable or not use it, and the contiguous ones
 * start at multiples of their width, 2 to 16 bytes: in local memory, too, which a subscript that is
 * no constant keeps from being registers. A store to memory may take its lanes from any elements of
 * a local buffer. */
#include "passes/lower/access/wide.h"

#include "ir/packed.h"
#include "passes/shared/unify.h"

static void refuse(WideCheck *v, const char *why, const char *remedy)
{
    if (!v->why) {
        v->why = why;
        v->remedy = remedy;
    }
}

/* Without names, once what holds of these has simplified it: in x[min(N - 1, j)], where j < N. */
static Expr *written_out(const WideCheck *v, Expr *e)
{
    return simplify(v->facts, expr_expand(v->c, simplify(v->facts, e), &v->lets));
}

static Expr *offset_of(WideCheck *v, const Buffer *b, Expr *const *index)
{
    return written_out(v, buffer_place(v->c, b, index));
}

/* The offset of the first lane is a multiple of the width. */
static bool aligned(WideCheck *v, const Buffer *b, Expr *const *index)
{
    const ForStmt *loop = &v->loop->u.loop;
    Subst first = {loop->var, loop->lo};
    Expr *offset = expr_subst(v->c, offset_of(v, b, index), &first, 1);
    return prove_divisible(v->facts, simplify(v->facts, offset), v->lanes);
}

static void check_width(WideCheck *v, const Buffer *b)
{
    int64_t bytes = v->lanes * type_bytes(b->type);
    if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16)
        refuse(
            v,
            arena_printf(v->c->arena,
                         "%lld elements of '%s' have %lld bytes; a wide access has 2, 4, 8 or 16",
                         (long long)v->lanes, b->name, (long long)bytes),
            "split the loop by a factor that gives one of these widths");
}

/* Suggests a loop to vectorize instead: an enclosing loop along which `b` is contiguous. */
static const char *contiguous_remedy(WideCheck *v, const Buffer *b, Expr *const *index)
{
    int64_t apart;
    if (expr_is_const(buffer_stride(v->c, b, b->rank - 1), &apart) && apart > 1)
        return "do not apply storage_align to its last axis, so that adjacent elements stay "
               "adjacent in memory";
    Expr *last = simplify(v->facts, expr_expand(v->c, index[b->rank - 1], &v->lets)), *rest;
    for (int i = v->around.n - 1; i >= 0; i--) {
        const ForStmt *loop = &v->around.items[i]->u.loop;
        int64_t coefficient, extent;
        if (expr_uses_var(last, loop->var) && loop_const_extent(loop, &extent) &&
            split_linear(v->facts, last, loop->var, &coefficient, &rest) && coefficient == 1)
            return arena_printf(v->c->arena, "vectorize loop '%s', along which '%s' is contiguous",
                                loop->var->name, b->name);
    }
    return "vectorize the loop of its last axis";
}

/* In a swizzled axis, all lanes must be in one chunk. */
static void check_chunks(WideCheck *v, const Buffer *b)
{
    int last = b->rank - 1;
    if (buffer_is_swizzled(b, last) && b->layout[last].swizzle.chunk % v->lanes != 0)
        refuse(v,
               arena_printf(v->c->arena, "the swizzle of '%s' separates chunks of %lld elements",
                            b->name, (long long)b->layout[last].swizzle.chunk),
               arena_printf(v->c->arena, "swizzle by chunks of a multiple of %lld elements",
                            (long long)v->lanes));
}

typedef enum { SIDE_STORE, SIDE_LOAD } AccessSide;

/* Lanes that go on in the next row, where no row is padded:  x[f / M, f % M]  for f = t * 4 + v is
 * element f of x. Only global memory gets one subscript for all axes (flatten.c). */
static bool crosses_rows(WideCheck *v, const Buffer *b, Expr *const *index)
{
    int64_t coefficient;
    Expr *rest;
    return b->scope == SCOPE_GLOBAL && b->rank > 1 &&
           split_linear(v->facts, offset_of(v, b, index), v->loop->u.loop.var, &coefficient,
                        &rest) &&
           coefficient == 1;
}

static void check_contiguous(WideCheck *v, const Buffer *b, Expr *const *index)
{
    check_width(v, b);
    check_chunks(v, b);
    if (!v->why && !aligned(v, b, index))
        refuse(v,
               arena_printf(v->c->arena,
                            "the first element of '%s' is not known to be aligned to %lld elements",
                            b->name, (long long)v->lanes),
               "make the last extent a multiple of the width; pad a shared buffer if needed");
}

/* `read`: the access is a load. Registers have no order: a wide store may gather them from
 * anywhere. */
static void check_access(WideCheck *v, const Buffer *b, Expr *const *index, AccessSide side)
{
    Context *c = v->c;
    const Var *var = v->loop->u.loop.var;
    if (side == SIDE_LOAD && b->scope == SCOPE_LOCAL &&
        v->loop->u.loop.body->u.store.buffer->scope != SCOPE_LOCAL)
        return;
    if (crosses_rows(v, b, index)) {
        check_contiguous(v, b, index);
        return;
    }
    for (int d = 0; d < b->rank && !v->why; d++) {
        int64_t coefficient, distance;
        Expr *rest, *e = written_out(v, index[d]), *stride = buffer_stride(c, b, d);
        if (!expr_uses_var(e, var))
            continue;
        if (!split_linear(v->facts, e, var, &coefficient, &rest)) {
            refuse(v,
                   arena_printf(c->arena, "'%s' is not accessed at equal distances along %s",
                                b->name, var->name),
                   "vectorize a loop along which it is contiguous");
        } else if (coefficient != 1 || !expr_is_const(stride, &distance) || distance != 1) {
            Expr *step = simplify(v->facts, index_mul(c, stride, expr_index(c, coefficient)));
            refuse(v,
                   arena_printf(c->arena, "'%s' is strided by %s elements along %s", b->name,
                                expr_text(c, step), var->name),
                   contiguous_remedy(v, b, index));
        } else {
            check_contiguous(v, b, index);
        }
    }
}

/* A wide load runs for all lanes or for none: it is no part of what may be left out. */
static bool is_wide(const WideCheck *v, const Expr *load)
{
    bool registers = load->u.load.buffer->scope == SCOPE_LOCAL &&
                     v->loop->u.loop.body->u.store.buffer->scope != SCOPE_LOCAL;
    bool uses = false;
    for (int d = 0; d < load->u.load.buffer->rank && !registers; d++) {
        Expr *e = written_out(v, load->u.load.index[d]);
        uses |= expr_uses_var(e, v->loop->u.loop.var);
    }
    return uses && !registers;
}

/* An element of an input, which exists whatever the condition says. */
static bool may_run_early(const WideCheck *v, const Expr *load)
{
    Buffer *buffer = load->u.load.buffer;
    Expr **index = ARENA_ARRAY(v->c->arena, Expr *, buffer->rank + 1);
    for (int d = 0; d < buffer->rank; d++)
        index[d] = expr_expand(v->c, load->u.load.index[d], &v->lets);
    return buffer->role == ROLE_IN &&
           load_exists(v->facts, expr_load(v->c, buffer, index, load->span));
}

/* What decides over an access: data, which each lane has of its own, or loops and sizes, which
 * leave out whole accesses. */
typedef enum { BY_LOOPS, BY_DATA } Decider;

/* A wide load that must run under the condition alone. */
static bool has_wide(const WideCheck *v, const Expr *e, Decider by)
{
    const Expr *value = v->loop->u.loop.body->u.store.value;
    for (Cursor at = cursor_expr(v->c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD && is_wide(v, at.expr) &&
            !expr_reads_certainly(value, at.expr) && !(by == BY_DATA && may_run_early(v, at.expr)))
            return true;
    return false;
}

bool wide_is_lazy(const WideCheck *v, const Expr *e)
{
    bool choice = e->kind == EX_SELECT;
    if (!choice && e->kind != EX_AND && e->kind != EX_OR)
        return false;
    Decider by = expr_has_load(e->u.arg[0]) ? BY_DATA : BY_LOOPS;
    return has_wide(v, e->u.arg[1], by) || (choice && has_wide(v, e->u.arg[2], by));
}

static void check_loads(WideCheck *v, const Expr *e)
{
    for (Cursor at = cursor_expr(v->c, e); cursor_next(&at) && !v->why;)
        if (at.expr->kind == EX_LOAD)
            check_access(v, at.expr->u.load.buffer, at.expr->u.load.index, SIDE_LOAD);
}

static void check_lazy(WideCheck *v, const Expr *e)
{
    for (Cursor at = cursor_expr(v->c, e); cursor_next(&at) && !v->why;)
        if (wide_is_lazy(v, at.expr))
            refuse(v, "a condition inside it may differ between lanes",
                   "make the extent a multiple of the number of lanes");
}

static bool subscripts_use(const Stmt *store, const Var *var)
{
    return exprs_use_var(store->u.store.index, store->u.store.buffer->rank, var);
}

void wide_check(WideCheck *w, Stmt *loop)
{
    w->loop = loop;
    w->why = NULL;
    const ForStmt *f = &loop->u.loop;
    Stmt *store = f->body;
    if (!loop_const_extent(f, &w->lanes) || f->step != 1)
        refuse(w, "the number of lanes is not a constant", "split the loop by a constant");
    else if (store->kind == ST_IF)
        refuse(w, "its guard may differ between lanes",
               "make the extent a multiple of the number of lanes");
    else if (store->kind != ST_STORE)
        refuse(w, "the loop body is more than one store",
               "move its other statements out of the loop, for example with cache_read or "
               "cache_write");
    else if (store->u.store.atomic)
        refuse(w, "an atomic update cannot be wide", "leave the loop serial");
    else if (stmt_awaits(w->c, store, NULL))
        refuse(w, "each element is awaited by itself", "leave the loop serial");
    else if (!subscripts_use(store, f->var))
        refuse(w,
               arena_printf(w->c->arena, "all lanes store to the same element of '%s'",
                            store->u.store.buffer->name),
               "vectorize a loop along which it is contiguous");
    if (w->why)
        return;
    FactsMark mark = facts_mark(w->facts);
    facts_range(w->facts, f->var, f->lo, f->hi);
    check_access(w, store->u.store.buffer, store->u.store.index, SIDE_STORE);
    Expr *where;
    const Expr *copied =
        store->u.store.op == STORE_ASYNC ? expr_copied_or(store->u.store.value, &where) : NULL;
    /* the copy itself has the condition */
    bool fills = copied && where && !expr_uses_var(where, f->var);
    check_loads(w, store->u.store.value);
    check_lazy(w, fills ? copied : store->u.store.value);
    facts_reset(w->facts, mark);
}
