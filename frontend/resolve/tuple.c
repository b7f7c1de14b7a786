/* tuple.c - Resolves buffers of a reducer's type, and updates with reducers.
 *
 *   for i in M {                          for i in M {
 *       temp best: argmax;                    temp best_value: f32;
 *       for j in N                            temp best_index: i32;
 *           best argmax= (x[i, j], j);  =>    for j in N { init { best_value = -inf; ... }
 *       at[i] = best.index;                       best_value, best_index argmax= ...; }
 *   }                                         at[i] = best_index; }
 *
 * A tuple is one buffer per component. It starts as the identity: the first update is a reduction
 * with this init if it can be; otherwise, the init stands where the tuple is declared. */
#include "frontend/resolve/internal.h"

/* ---- declarations ---- */

/* The buffers of the components, declared with their own names, too. */
static bool declare_parts(Resolver *r, Tuple *tuple, const Buffer *like)
{
    Buffer **buffers = ARENA_ARRAY(r->ctx->arena, Buffer *, tuple->combiner->n);
    int errors = r->ctx->n_errors;
    for (int k = 0; k < tuple->combiner->n; k++) {
        const CombinerPart *part = &tuple->combiner->parts[k];
        Buffer own = *like;
        own.name = ctx_namef(r->ctx, "%s_%s", like->name, part->name);
        own.type = part->type;
        buffers[k] = buffer_new(r->ctx, &own);
        names_add(r, (Symbol){.name = own.name,
                              .kind = SYMBOL_BUFFER,
                              .span = own.span,
                              .buffer = buffers[k]});
    }
    tuple->buffers = buffers;
    return r->ctx->n_errors == errors;
}

Tuple *resolve_tuple(Resolver *r, AstName name, const AstType *type, const Buffer *like)
{
    Tuple *tuple = ARENA_NEW(r->ctx->arena, Tuple);
    tuple->combiner = resolve_reducer(r, type->name);
    tuple->started = like->role == ROLE_IN || like->role == ROLE_INOUT;
    Buffer all = *like;
    all.shape = tuple->combiner ? resolve_shape(r, type, tuple->combiner->parts[0].type) : NULL;
    all.rank = type->rank;
    bool good = all.shape && declare_parts(r, tuple, &all);
    names_add(r, (Symbol){.name = name.text,
                          .kind = SYMBOL_TUPLE,
                          .span = name.span,
                          .tuple = tuple,
                          .broken = !good});
    return good ? tuple : NULL;
}

/* The identity in all elements, in loops over them. */
Stmt *tuple_start(Resolver *r, const Tuple *tuple)
{
    Context *c = r->ctx;
    const Combiner *combiner = tuple->combiner;
    const Buffer *like = tuple->buffers[0];
    BufferElement *targets = ARENA_ARRAY(c->arena, BufferElement, combiner->n);
    Expr **index = ARENA_ARRAY(c->arena, Expr *, like->rank + 1);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, like->rank + 1);
    int outside = r->loops.n;
    for (int d = 0; d < like->rank; d++) {
        Name name = ctx_namef(c, "%s_%d", like->name, d);
        Var *var = var_new(c, name, DT_INDEX, VAR_LOOP, like->span);
        loops[d] = (ForStmt){
            .var = var, .lo = expr_index(c, 0), .hi = like->shape[d], .step = 1, .axis = AXIS_NONE};
        index[d] = expr_var(c, var, like->span);
        VEC_PUSH(c->arena, &r->loops, &loops[d]);
    }
    for (int k = 0; k < combiner->n; k++)
        targets[k] = (BufferElement){tuple->buffers[k], index};
    Label none = {0};
    Stmt *s =
        block_wrap(r, NULL, tuple_identities(c, combiner, targets, like->span), r->loops.n, &none);
    r->loops.n = outside;
    for (int d = like->rank - 1; d >= 0; d--) {
        loops[d].body = s;
        s = stmt_for(c, &loops[d], like->span);
    }
    return s;
}

/* ---- updates ---- */

/* The targets of an update of buffers that are named themselves. */
static bool plain_targets(Resolver *r, const AstStmt *s, const Combiner *combiner,
                          BufferElement *out)
{
    AstExpr *const *items = s->u.update.places->u.list.items;
    int n = s->u.update.places->u.list.n;
    if (n != combiner->n) {
        diag_error(r->ctx, E0246, s->u.update.places->span,
                   "reducer '%.60s' updates %d buffer%s, but %d %s named", combiner->name,
                   combiner->n, combiner->n == 1 ? "" : "s", n, n == 1 ? "is" : "are");
        return false;
    }
    bool good = true;
    for (int k = 0; good && k < n; k++) {
        out[k].buffer = resolve_target(r, items[k], &out[k].index);
        good = out[k].buffer != NULL;
        if (good && out[k].buffer->type != combiner->parts[k].type) {
            diag_error(r->ctx, E0246, items[k]->span,
                       "component '%.60s' of reducer '%.60s' has type %s, but '%.60s' holds %s",
                       combiner->parts[k].name, combiner->name,
                       type_info(combiner->parts[k].type)->name, out[k].buffer->name,
                       type_info(out[k].buffer->type)->name);
            good = false;
        }
    }
    return good;
}

static bool tuple_targets(Resolver *r, const AstStmt *s, const Symbol *symbol,
                          const Combiner *combiner, BufferElement *out)
{
    if (symbol->broken)
        return false;
    if (symbol->tuple->combiner != combiner) {
        diag_error(r->ctx, E0246, s->u.update.reducer.span,
                   "'%.60s' is a tuple of reducer '%.60s', so '%.60s' cannot update it",
                   symbol->name, symbol->tuple->combiner->name, combiner->name);
        return false;
    }
    if (symbol->tuple->buffers[0]->role == ROLE_IN) {
        diag_error(r->ctx, E0211, s->u.update.places->span,
                   "'%.60s' is an input and cannot be written; declare it 'inout' if the kernel "
                   "changes it in place",
                   symbol->name);
        return false;
    }
    Expr **index = tuple_index(r, s->u.update.places->u.list.items[0], symbol);
    for (int k = 0; index && k < combiner->n; k++)
        out[k] = (BufferElement){symbol->tuple->buffers[k], index};
    return index != NULL;
}

/* Some loop around the update carries the reduction, and the ranges of the others do not depend on
 * it, so that the init may run before it. */
static bool can_have_init(Resolver *r, Stmt *update)
{
    bool any = false;
    const Stmt *body = values_bind(r, update);
    for (int i = 0; i < r->loops.n; i++) {
        const ForStmt *loop = r->loops.items[i];
        bool reduces = loop_implied_kind(r, body, i) == ITER_REDUCE;
        any |= reduces;
        for (int k = 0; !reduces && k < i; k++) {
            const Var *outer = r->loops.items[k]->var;
            if (loop_implied_kind(r, body, k) == ITER_REDUCE &&
                (expr_uses_var(loop->lo, outer) || expr_uses_var(loop->hi, outer)))
                return false;
        }
    }
    return any && r->mode == MODE_PROGRAM;
}

/* The init of the first update of a tuple, if it may stand there; else the tuple starts where it is
 * declared. */
static Stmt *first_init(Resolver *r, Tuple *tuple, const BufferElement *targets, Stmt *update)
{
    if (!tuple || tuple->started)
        return NULL;
    tuple->started = true;
    if (can_have_init(r, update))
        return tuple_identities(r->ctx, tuple->combiner, targets, update->span);
    tuple->starts_early = true;
    tuple->first = update;
    return NULL;
}

Stmt *tuple_guarded_init(Resolver *r, Stmt *s)
{
    TupleUpdate update;
    const Stmt *first = stmt_guarded_update(s);
    for (int i = 0; first && i < r->symbols.n; i++) {
        const Symbol *symbol = &r->symbols.items[i];
        if (symbol->kind != SYMBOL_TUPLE || symbol->broken || symbol->tuple->first != first)
            continue;
        if (!can_have_init(r, s) || !tuple_update_of(r->ctx, first, &update))
            return NULL;
        symbol->tuple->starts_early = false;
        return tuple_identities(r->ctx, update.combiner, update.targets, s->span);
    }
    return NULL;
}

Stmt *resolve_update(Resolver *r, const AstStmt *s, Stmt **init)
{
    Context *c = r->ctx;
    const Combiner *combiner = resolve_reducer(r, s->u.update.reducer);
    if (!combiner)
        return NULL;
    if (r->mode == MODE_HOST) {
        diag_error(c, E0222, s->span,
                   "in a kernel with launches, each store must be inside a launch");
        return NULL;
    }
    const AstExpr *places = s->u.update.places;
    const Symbol *symbol = places->u.list.n == 1 ? tuple_find(r, places->u.list.items[0]) : NULL;
    BufferElement *targets = ARENA_ARRAY(c->arena, BufferElement, combiner->n);
    Expr **values = ARENA_ARRAY(c->arena, Expr *, combiner->n);
    bool good = symbol ? tuple_targets(r, s, symbol, combiner, targets)
                       : plain_targets(r, s, combiner, targets);
    for (int k = 0; good && k < combiner->n; k++) {
        values[k] = resolve_component(r, s->u.update.value, combiner, k);
        good = values[k] != NULL;
    }
    if (!good)
        return NULL;
    for (int k = 0; k < combiner->n; k++)
        VEC_PUSH(c->arena, &r->written, targets[k].buffer);
    Stmt *update = tuple_update(c, &(TupleUpdate){combiner, targets, values}, s->span);
    *init = first_init(r, symbol ? symbol->tuple : NULL, targets, update);
    return update;
}
