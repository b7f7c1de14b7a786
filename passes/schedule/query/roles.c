/* roles.c - Implements the query term_roles: what the terms read that blocks reduce together in one
 * nest, any number of elements, and the roles of the loops.
 *
 *   for i, j, k {                             term_roles(c, d) is
 *       c[i, j] += a[i, k] * w[k] * b[k, j]       [[[a, [c, d], 1, true]],
 *       d[i, j] += a[i, k] * b[k, j]               [[b, [c, d], 1, true]], [[w, [c], 1, true]],
 *                                                  [], [i], [j], [k]]
 *   }
 *
 * Two spatial loops are of one side if an element depends on both. A loop that all of these
 * elements depend on is a loop over batches, and makes no side; if no other is left, all make the
 * first side, as in forces of all bodies on each: f[i] += m[j] * (x[j] - x[i]). Elements may be the
 * same in all batches, as m[i] in c[b, i, j] += (a[b, i, k] - m[i]) * d[b, k, j]: outer loops are
 * over batches where one side would have all loops otherwise.
 *
 * Legal: always, where the arguments are of the right kind.
 * Invariant: the kernel stays as it is. */
#include "passes/schedule/flow.h"

enum { SIDE_FIRST, SIDE_SECOND, SIDE_OTHER, SIDE_BATCH, N_SIDES, MAX_LOOPS = 30 };

/* An operand: elements of one buffer that depend on loops of one side. */
typedef struct {
    const Buffer *buffer;
    uint32_t loops;     /* a bit for each loop of the nest */
    Expr *const *index; /* of the first element */
    bool has_parts;     /* others have another number for their last subscript */
    ValueList readers;
} TermOperand;

typedef struct {
    Schedule *s;
    const StmtPath *nest;     /* to the first block */
    ForStmt *loop[MAX_LOOPS]; /* of the nest, from the outermost */
    int n;
    uint32_t sums; /* the loops of the reduction */
    VEC(TermOperand) operands;
    uint32_t side[N_SIDES];
} Roles;

/* ---- the nest -------------------------------------------------------------------------------- */

static bool find_loops(Roles *r)
{
    for (int i = 0; i < r->nest->n; i++)
        if (r->nest->items[i]->kind == ST_FOR) {
            if (r->n == MAX_LOOPS)
                return false;
            r->loop[r->n++] = &r->nest->items[i]->u.loop;
        }
    return r->n > 0;
}

/* The iterator of the block that loop number `at` is. */
static const BlockIter *iter_of(const Roles *r, const BlockStmt *block, int at)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_is_var(block->iters[i].binding, r->loop[at]->var) &&
            expr_is(block->iters[i].lo, 0))
            return &block->iters[i];
    return NULL;
}

/* The block is in the loops of the nest and no others. */
static bool shares_nest(const Roles *r, const StmtPath *path)
{
    int n = 0;
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR &&
            (n == r->n || &path->items[i]->u.loop != r->loop[n++]))
            return false;
    return n == r->n;
}

/* Each loop is an iterator of the block; those of the reduction are the same in all blocks. */
static bool has_kinds(Roles *r, const BlockStmt *block, bool first)
{
    uint32_t sums = 0;
    for (int i = 0; i < r->n; i++) {
        const BlockIter *iter = iter_of(r, block, i);
        if (!iter)
            return false;
        sums |= iter->kind == ITER_REDUCE ? 1u << i : 0;
    }
    bool same = first || sums == r->sums;
    r->sums = sums;
    return same && sums != 0;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* The loops that lead to an element of a block. */
static uint32_t loops_to(const Roles *r, const BlockStmt *block, const Access *element)
{
    uint32_t loops = 0;
    for (int i = 0; i < r->n; i++)
        if (exprs_use_var(element->index, element->buffer->rank, iter_of(r, block, i)->var))
            loops |= 1u << i;
    return loops;
}

/* Two subscripts are different numbers. */
static bool are_apart(const Expr *a, const Expr *b)
{
    int64_t one, other;
    return expr_is_const(a, &one) && expr_is_const(b, &other) && one != other;
}

/* The element is in another plane than those of the operand, as u[0, i, k] and u[1, i, k] are. */
static bool is_in_other_plane(const TermOperand *o, const Access *element)
{
    bool other = false;
    for (int axis = 0; axis < o->buffer->rank - 1; axis++)
        other |= are_apart(o->index[axis], element->index[axis]);
    return other;
}

static bool is_last_reader(const TermOperand *o, const Stmt *block)
{
    return o->readers.n > 0 && o->readers.items[o->readers.n - 1].u.id == value_block(block).u.id;
}

/* The operand that an element of a block is of: of the same buffer and side. Planes that several
 * blocks read are operands of each; those that one block reads are one operand. */
static TermOperand *find_operand(Roles *r, const Access *element, uint32_t loops, const Stmt *block)
{
    TermOperand *found = NULL;
    for (int i = 0; i < r->operands.n; i++) {
        TermOperand *o = &r->operands.items[i];
        if (o->buffer->id == element->buffer->id && (o->loops & ~r->sums) == (loops & ~r->sums) &&
            (!is_in_other_plane(o, element) || is_last_reader(o, block)))
            found = o;
    }
    return found;
}

/* Adds an element that a block reads to the operand that it is of. */
static void add_element(Roles *r, const Access *element, uint32_t loops, const Stmt *block)
{
    Context *c = r->s->ctx;
    int last = element->buffer->rank - 1;
    TermOperand *found = find_operand(r, element, loops, block);
    if (!found) {
        VEC_PUSH(c->arena, &r->operands,
                 ((TermOperand){.buffer = element->buffer, .index = element->index}));
        found = &r->operands.items[r->operands.n - 1];
    }
    found->loops |= loops;
    found->has_parts |= are_apart(found->index[last], element->index[last]);
    if (!is_last_reader(found, block))
        VEC_PUSH(c->arena, &found->readers, value_block(block));
}

/* The block is one update whose terms do not read what it writes. */
static bool add_terms(Roles *r, const Stmt *block)
{
    const Stmt *store = flow_single_store(r->s->ctx, block);
    if (!store || !store_updates(store->u.store.op) || block->u.block.predicate ||
        expr_reads(store->u.store.value, store->u.store.buffer))
        return false;
    AccessList reads = access_list_expr(r->s->ctx, store->u.store.value, NULL);
    for (int i = 0; i < reads.n; i++) {
        uint32_t loops = loops_to(r, &block->u.block, &reads.items[i]);
        if (loops)
            add_element(r, &reads.items[i], loops, block);
    }
    return true;
}

/* ---- sides ----------------------------------------------------------------------------------- */

/* All loops that are on the side of these, of those that make sides. */
static uint32_t closed(const Roles *r, uint32_t side)
{
    uint32_t all = ~(r->sums | r->side[SIDE_BATCH]), before;
    do {
        before = side;
        for (int i = 0; i < r->operands.n; i++)
            if (r->operands.items[i].loops & side)
                side |= r->operands.items[i].loops & all;
    } while (side != before);
    return side;
}

/* The loops that all elements with spatial loops depend on. */
static uint32_t loops_of_all(const Roles *r, uint32_t spatial)
{
    uint32_t batch = spatial;
    for (int i = 0; i < r->operands.n; i++)
        if (r->operands.items[i].loops & spatial)
            batch &= r->operands.items[i].loops;
    return batch;
}

/* Finds the sides beside the loops over batches. The second side is that of the innermost loop
 * outside the reduction, the first one the rest. */
static void find_sides_beside(Roles *r, uint32_t spatial, uint32_t batch)
{
    uint32_t rest = spatial & ~batch;
    r->side[SIDE_BATCH] = batch;
    r->side[SIDE_SECOND] = 0;
    for (int i = r->n - 1; i >= 0 && !r->side[SIDE_SECOND]; i--)
        if (rest & 1u << i)
            r->side[SIDE_SECOND] = closed(r, 1u << i);
    r->side[SIDE_FIRST] = rest ? rest & ~r->side[SIDE_SECOND] : batch;
    r->side[SIDE_BATCH] = rest ? batch : 0;
}

/* Where one side would have all loops, the fewest of the outermost ones that leave two sides are
 * over batches, too: some elements are the same in all of these. */
static void find_sides(Roles *r)
{
    uint32_t spatial = (1u << r->n) - 1;
    spatial &= ~r->sums;
    uint32_t batch = loops_of_all(r, spatial);
    find_sides_beside(r, spatial, batch);
    bool two = r->side[SIDE_FIRST] != 0;
    for (int i = 0; i < r->n && !two; i++) {
        Roles other = *r;
        batch |= spatial & 1u << i;
        find_sides_beside(&other, spatial, batch);
        two = other.side[SIDE_FIRST] && other.side[SIDE_SECOND];
        if (two)
            *r = other;
    }
}

static int side_of(const Roles *r, const TermOperand *o)
{
    return o->loops & r->side[SIDE_FIRST]    ? SIDE_FIRST
           : o->loops & r->side[SIDE_SECOND] ? SIDE_SECOND
                                             : SIDE_OTHER;
}

/* ---- the query ------------------------------------------------------------------------------- */

/* The numbers that make an element, such as a complex number, side by side: 1, or the length of the
 * last axis. */
static int64_t parts_of(const TermOperand *o)
{
    int64_t parts;
    return o->has_parts && expr_is_const(o->buffer->shape[o->buffer->rank - 1], &parts) ? parts : 1;
}

/* The operands of a side, each with the blocks that read it, its parts, and whether the
 * reduction leads through it. */
static Value value_operands(const Roles *r, int side)
{
    ValueList all = {0};
    for (int i = 0; i < r->operands.n; i++) {
        const TermOperand *o = &r->operands.items[i];
        if (side_of(r, o) != side)
            continue;
        Value along = {.kind = VALUE_BOOL, .u.i = (o->loops & r->sums) != 0};
        Value operand[] = {value_buffer(o->buffer),
                           value_list(r->s, o->readers.items, o->readers.n), value_int(parts_of(o)),
                           along};
        VEC_PUSH(r->s->ctx->arena, &all, value_list(r->s, operand, 4));
    }
    return value_list(r->s, all.items, all.n);
}

static Value value_loops_of(const Roles *r, uint32_t loops)
{
    ValueList all = {0};
    int n = 0;
    for (int i = 0; i < r->nest->n; i++)
        if (r->nest->items[i]->kind == ST_FOR && loops & 1u << n++)
            VEC_PUSH(r->s->ctx->arena, &all, value_loop(r->nest->items[i]));
    return value_list(r->s, all.items, all.n);
}

static bool find_roles(Roles *r, const Value *blocks)
{
    if (!find_loops(r))
        return false;
    for (int i = 0; i < blocks->u.list.n; i++) {
        StmtPath path = {0};
        const Stmt *block = sched_node(r->s, &blocks->u.list.items[i], &path);
        if (!shares_nest(r, &path) || !has_kinds(r, &block->u.block, i == 0) ||
            !add_terms(r, block))
            return false;
    }
    find_sides(r);
    return true;
}

bool prim_term_roles(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *blocks = &call->term_roles.blocks;
    StmtPath nest = {0};
    Roles r = {.s = s, .nest = &nest};
    *result = value_list(s, NULL, 0);
    if (blocks->u.list.n == 0)
        return true;
    sched_node(s, &blocks->u.list.items[0], &nest);
    if (!find_roles(&r, blocks))
        return true;
    Value parts[N_SIDES + 3];
    for (int side = SIDE_FIRST; side <= SIDE_OTHER; side++)
        parts[side] = value_operands(&r, side);
    parts[N_SIDES - 1] = value_loops_of(&r, r.side[SIDE_BATCH]);
    parts[N_SIDES] = value_loops_of(&r, r.side[SIDE_FIRST]);
    parts[N_SIDES + 1] = value_loops_of(&r, r.side[SIDE_SECOND]);
    parts[N_SIDES + 2] = value_loops_of(&r, r.sums);
    *result = value_list(s, parts, N_SIDES + 3);
    return true;
}
