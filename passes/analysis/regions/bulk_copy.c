/* bulk_copy.c - Recognizes copies of boxes of tensors, which the hardware can do. */
#include "passes/analysis/regions/bulk_copy.h"

#include "passes/analysis/regions/region.h"

/* Adds a loop of several iterations to `form`; false: it has another form. */
static bool add_loop(const ForStmt *loop, BulkForm *form)
{
    int64_t lo, extent;
    if (!loop_const_extent(loop, &extent) || loop->step != 1 || !expr_is_const(loop->lo, &lo) ||
        lo != 0 || extent < 1 || (extent > 1 && form->n == BULK_MAX_RANK))
        return false;
    if (extent == 1)
        return true;
    form->extent[form->n] = extent;
    form->loops[form->n++] = loop;
    return true;
}

/* The store in the nest, with its loops and the conditions around it in `form`; NULL: another
 * form. */
static const Stmt *find_store(Context *c, const Stmt *s, BulkForm *form)
{
    while (s->kind == ST_FOR || (s->kind == ST_IF && !s->u.cond.otherwise)) {
        if (s->kind == ST_FOR && !add_loop(&s->u.loop, form))
            return NULL;
        if (s->kind == ST_IF)
            form->guard = cond_and(c, form->guard, s->u.cond.cond);
        s = s->kind == ST_FOR ? s->u.loop.body : s->u.cond.then;
    }
    return stmt_single_store(s);
}

/* The axis of the tensor along which loop `i` goes in steps of 1, if it is the only one with the
 * loop; -1: there is none. */
static int axis_of_loop(Facts *f, const BulkForm *form, int i)
{
    int axis = -1;
    for (int d = 0; d < form->tensor.buffer->rank; d++) {
        int64_t factor;
        Expr *rest;
        if (!expr_uses_var(form->tensor.index[d], form->loops[i]->var))
            continue;
        if (axis >= 0 ||
            !split_linear(f, form->tensor.index[d], form->loops[i]->var, &factor, &rest) ||
            factor != 1)
            return -1;
        axis = d;
    }
    return axis;
}

/* NULL: the loops go through a box of the tensor, row by row. */
static const char *box_obstacle(Context *c, Facts *f, BulkForm *form)
{
    const Buffer *tensor = form->tensor.buffer;
    for (int i = 0; i < form->n; i++) {
        const char *loop = form->loops[i]->var->name;
        form->axis[i] = axis_of_loop(f, form, i);
        if (form->axis[i] < 0)
            return arena_printf(c->arena, "goes along no axis of '%s' in steps of 1 with loop '%s'",
                                tensor->name, loop);
        if (i > 0 && form->axis[i] <= form->axis[i - 1])
            return arena_printf(c->arena,
                                "does not go through '%s' row by row: reorder loop '%s' and those "
                                "around it, in the order of the axes",
                                tensor->name, loop);
        if (form->extent[i] > BULK_MAX_EXTENT)
            return arena_printf(c->arena,
                                "copies more than %d elements along an axis with loop '%s', which "
                                "is the most; split it",
                                BULK_MAX_EXTENT, loop);
    }
    if (form->n == 0 || form->axis[form->n - 1] != tensor->rank - 1)
        return arena_printf(c->arena, "has no loop along the last axis of '%s'", tensor->name);
    return NULL;
}

/* NULL: the rows of the tensor begin at multiples of 16 bytes. */
static const char *rows_obstacle(Context *c, Facts *f, const BulkForm *form)
{
    const Buffer *tensor = form->tensor.buffer;
    int64_t chunk = BULK_CHUNK_BYTES / type_bytes(tensor->type);
    Expr *stride = expr_index(c, 1);
    bool aligned = true;
    for (int d = tensor->rank - 1; d > 0 && aligned; d--) {
        stride = index_mul(c, stride, tensor->shape[d]);
        aligned = prove_divisible(f, stride, chunk);
    }
    if (aligned)
        return NULL;
    return arena_printf(c->arena,
                        "copies %s '%s', whose rows are not known to begin at multiples of %d "
                        "bytes",
                        form->stores ? "to" : "from", tensor->name, BULK_CHUNK_BYTES);
}

/* NULL: the copy goes from a tensor to shared memory, or back. */
static const char *sides_obstacle(Context *c, const BulkForm *form)
{
    const Buffer *to = form->store->u.store.buffer;
    const Buffer *from = to == form->tensor.buffer ? form->shared.buffer : form->tensor.buffer;
    const Buffer *tensor = form->tensor.buffer;
    bool whole = tensor->role == ROLE_TEMP || tensor->role == (form->stores ? ROLE_OUT : ROLE_IN) ||
                 (form->updates && tensor->role == ROLE_INOUT);
    if (form->shared.buffer->scope != SCOPE_SHARED || tensor->scope != SCOPE_GLOBAL || !whole ||
        to->type != from->type)
        return arena_printf(c->arena,
                            "copies '%s' (%s, %s) to '%s' (%s, %s), and not an input or a temp in "
                            "global memory to shared memory, or from there an output or a temp, "
                            "without conversion",
                            from->name, type_info(from->type)->name, scope_name(from->scope),
                            to->name, type_info(to->type)->name, scope_name(to->scope));
    if (tensor->rank < 1 || tensor->rank > BULK_MAX_RANK)
        return arena_printf(c->arena, "copies %s '%s', which has %d axes and not 1 to %d",
                            form->stores ? "to" : "from", tensor->name, tensor->rank,
                            BULK_MAX_RANK);
    return NULL;
}

/* NULL: the box begins at a multiple of 16 bytes of a row. The hardware takes no other, though the
 * manual does not say so: H100 and H200 stop at an illegal instruction. */
static const char *begin_obstacle(Context *c, Facts *f, const BlockStmt *block,
                                  const BulkForm *form)
{
    const Buffer *tensor = form->tensor.buffer;
    int64_t chunk = BULK_CHUNK_BYTES / type_bytes(tensor->type);
    Subst first[BULK_MAX_RANK];
    for (int i = 0; i < form->n; i++)
        first[i] = (Subst){form->loops[i]->var, expr_index(c, 0)};
    Expr *at = expr_subst(c, form->tensor.index[tensor->rank - 1], first, form->n);
    at = simplify(f, iters_to_loops(c, block, at));
    if (prove_divisible(f, at, chunk))
        return NULL;
    return arena_printf(c->arena,
                        "copies boxes that begin at element '%s' of rows of '%s', which is not "
                        "known to be a multiple of %d bytes",
                        expr_text(c, at), tensor->name, BULK_CHUNK_BYTES);
}

/* NULL: the hardware updates elements of the type in this way. */
static const char *update_obstacle(Context *c, const StoreStmt *store)
{
    if (bulk_updates(store->op, store->buffer->type))
        return NULL;
    return arena_printf(c->arena,
                        "updates '%s %s' with elements of type %s, which the hardware does not do; "
                        "it adds f32, f16, bf16 and integers of 4 and 8 bytes, takes the least and "
                        "the largest of f16, bf16 and these integers, and combines bits of the "
                        "latter; let threads update it",
                        store->buffer->name, store_op_token(store->op),
                        type_info(store->buffer->type)->name);
}

static const char *copy_obstacle(Context *c, const BlockStmt *block, BulkForm *form)
{
    const Expr *load = NULL;
    Expr *inside = NULL;
    form->store = block->init ? NULL : find_store(c, block->body, form);
    if (form->store)
        load = expr_copied(form->store->u.store.value, &inside);
    form->stores = load && form->store->u.store.buffer->scope == SCOPE_GLOBAL && !inside;
    form->updates = load && form->store->u.store.op != STORE_SET;
    if (!load || ((form->guard || form->updates) && !form->stores))
        return "is more than a nest of loops with literal ranges from 0 around one copy of an "
               "element, or of 'condition ? element : 0', or one update by an element in shared "
               "memory";
    if (inside)
        form->guard = inside;
    const StoreStmt *store = &form->store->u.store;
    BulkSide to = {store->buffer, store->index}, from = {load->u.load.buffer, load->u.load.index};
    form->tensor = form->stores ? to : from;
    form->shared = form->stores ? from : to;
    const char *why = sides_obstacle(c, form);
    return why || !form->updates ? why : update_obstacle(c, store);
}

/* ---- the edge -------------------------------------------------------------------------------- */

/* 0 <= i < M && 0 <= k < K for the element A[i, k]; NULL: a subscript is no index. */
static Expr *inside_tensor(Context *c, const BulkSide *side)
{
    const Buffer *from = buffer_defined(side->buffer);
    Expr *inside = NULL;
    for (int d = 0; d < from->rank; d++) {
        Expr *at = side->index[d];
        if (at->type != DT_INDEX)
            return NULL;
        inside = cond_and(c, inside, expr_binary(c, EX_GE, at, expr_index(c, 0), at->span));
        inside = cond_and(c, inside, expr_binary(c, EX_LT, at, from->shape[d], at->span));
    }
    return inside;
}

/* Under the facts and `given`, `cond` holds. */
static bool follows(Facts *f, Expr *given, Expr *cond)
{
    FactsMark mark = facts_mark(f);
    facts_assume(f, given);
    bool proved = prove(f, cond);
    facts_reset(f, mark);
    return proved;
}

/* NULL: an element of the box is 0, or not stored, exactly where it is outside of the tensor, as
 * the hardware has it. */
static const char *edge_obstacle(Context *c, Facts *f, const BulkForm *form)
{
    if (!form->guard)
        return NULL;
    FactsMark mark = facts_mark(f);
    for (int i = 0; i < form->n; i++)
        facts_range(f, form->loops[i]->var, form->loops[i]->lo, form->loops[i]->hi);
    Expr *inside = inside_tensor(c, &form->tensor);
    bool same = inside && follows(f, inside, form->guard) && follows(f, form->guard, inside);
    facts_reset(f, mark);
    if (same)
        return NULL;
    return arena_printf(c->arena,
                        form->stores
                            ? "stores elements under a condition that is not known to hold "
                              "exactly inside of '%s'; the hardware stores all of a box "
                              "but what is outside of it"
                            : "sets elements to 0 under a condition that is not known to "
                              "hold exactly inside of '%s'; the hardware writes zeros "
                              "outside of it, and nowhere else",
                        form->tensor.buffer->name);
}

/* Along the axis of loop `i`, the box begins inside of the tensor or behind it, and ends inside if
 * it is as long as the tensor: no subscript relies on the condition for where the box lies. */
static bool begins_well(Context *c, Facts *f, const BulkForm *form, int i)
{
    const BulkSide *side = &form->tensor;
    Expr *shape = buffer_defined(side->buffer)->shape[form->axis[i]];
    Expr *extent = expr_index(c, form->extent[i]);
    Subst zero = {form->loops[i]->var, expr_index(c, 0)};
    Expr *first = expr_subst(c, side->index[form->axis[i]], &zero, 1);
    Expr *end = index_add(c, first, extent);
    return prove_at_least(f, first, 0) &&
           (prove_compare(f, extent, EX_LT, shape) || prove_compare(f, end, EX_LE, shape));
}

/* NULL: a store at the edge of the tensor is of boxes that are shorter than it. */
static const char *long_obstacle(Context *c, Facts *f, const BulkForm *form)
{
    for (int i = 0; i < form->n && form->guard && form->stores; i++)
        if (!begins_well(c, f, form, i))
            return arena_printf(c->arena,
                                "stores boxes that are not known to begin at element 0 or behind "
                                "it along loop '%s', and to be shorter than '%s' or to end inside",
                                form->loops[i]->var->name, form->tensor.buffer->name);
    return NULL;
}

const char *bulk_copy_obstacle(Context *c, Facts *f, const BlockStmt *block, BulkForm *form)
{
    *form = (BulkForm){0};
    const char *why = copy_obstacle(c, block, form);
    if (!why)
        why = box_obstacle(c, f, form);
    if (!why)
        why = rows_obstacle(c, f, form);
    if (!why)
        why = begin_obstacle(c, f, block, form);
    if (!why)
        why = edge_obstacle(c, f, form);
    if (!why)
        why = long_obstacle(c, f, form);
    return why ? arena_printf(c->arena, "block '%s' %s", block->name, why) : NULL;
}
