/* bulk_copy.c - Makes the instructions that copy boxes of tensors, and reads what they copy. */
#include "ir/copies/bulk_copy.h"

#include <string.h>

static const struct {
    const char *name;
    int64_t span, align;
} modes[BULK_MODES] = {
    [BULK_PLAIN] = {"copy_bulk", 0, 128},
    [BULK_SWIZZLE_32] = {"copy_bulk_swizzle_32", 32, 256},
    [BULK_SWIZZLE_64] = {"copy_bulk_swizzle_64", 64, 512},
    [BULK_SWIZZLE_128] = {"copy_bulk_swizzle_128", 128, 1024},
};

int64_t bulk_span(BulkMode mode)
{
    return modes[mode].span;
}

int64_t bulk_alignment(BulkMode mode)
{
    return modes[mode].align;
}

/* `copy_bulk_swizzle_32`, `multicast_bulk_swizzle_32` */
static const char *way_name(Context *c, BulkWay way)
{
    const char *name = modes[way.mode].name;
    return way.multicast ? arena_printf(c->arena, "multicast%s", name + strlen("copy")) : name;
}

BulkWay bulk_way_find(const char *name)
{
    BulkWay way = {.multicast = strncmp(name, "multicast", strlen("multicast")) == 0};
    const char *rest = way.multicast ? name + strlen("multicast") : name;
    size_t skipped = way.multicast ? strlen("copy") : 0;
    for (BulkMode mode = BULK_PLAIN; mode < BULK_MODES; mode++)
        if (strcmp(modes[mode].name + skipped, rest) == 0)
            way.mode = mode;
    return way;
}

const Instruction *bulk_instruction(Context *c, BulkWay way, DType type)
{
    static const int64_t first[1] = {0};
    Operand *operands = ARENA_ARRAY(c->arena, Operand, 2);
    OperandElement *elements = ARENA_ARRAY(c->arena, OperandElement, 2);
    Kernel *kernel = ARENA_NEW(c->arena, Kernel);
    Instruction *of = ARENA_NEW(c->arena, Instruction);
    for (int i = 0; i < 2; i++) {
        Buffer operand = {.name = ctx_name(c, i == 0 ? "to" : "from"), .type = type};
        operands[i] = (Operand){.buffer = buffer_new(c, &operand), .align = modes[way.mode].align};
        elements[i] = (OperandElement){i, first};
    }
    operands[1].align = type_bytes(type);
    kernel->name = ctx_name(c, way_name(c, way));
    *of = (Instruction){.kernel = kernel,
                        .operands = operands,
                        .n_operands = 2,
                        .lanes = 1,
                        .elements = elements,
                        .n_elements = 2,
                        .bulk = way.mode,
                        .multicast = way.multicast};
    return of;
}

/* ---- the box --------------------------------------------------------------------------------- */

BulkBox bulk_box(const Stmt *copy)
{
    const Expr *begins = copy->u.instruction.elements[1];
    BulkBox box = {.from = buffer_defined(begins->u.load.buffer),
                   .mode = copy->u.instruction.of->bulk};
    const Stmt *loops = copy->u.instruction.body, *store = loops;
    while (store->kind == ST_FOR)
        store = store->u.loop.body;
    Expr *inside;
    const Expr *read = expr_copied(stmt_single_store(store)->u.store.value, &inside);
    for (int d = 0; d < box.from->rank; d++)
        box.extent[d] = 1;
    for (; loops->kind == ST_FOR; loops = loops->u.loop.body)
        for (int d = 0; d < box.from->rank; d++)
            if (expr_uses_var(read->u.load.index[d], loops->u.loop.var))
                loop_const_extent(&loops->u.loop, &box.extent[d]);
    return box;
}

bool bulk_box_equal(const BulkBox *a, const BulkBox *b)
{
    bool same = a->from->id == b->from->id && a->mode == b->mode;
    for (int d = 0; same && d < a->from->rank; d++)
        same = a->extent[d] == b->extent[d];
    return same;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Groups that some thread has not waited for yet, and the most of them that there were. */
typedef struct {
    int now, most;
} GroupCount;

static GroupCount larger(GroupCount a, GroupCount b)
{
    return (GroupCount){a.now > b.now ? a.now : b.now, a.most > b.most ? a.most : b.most};
}

static GroupCount count_groups(const Stmt *s, GroupCount n);

/* Each iteration may leave more than the one before, up to a number at which it stays. */
static GroupCount count_in_loop(const ForStmt *loop, GroupCount n)
{
    GroupCount before = n;
    int64_t extent;
    if (loop->kind == LOOP_BIND)
        return count_groups(loop->body, n);
    bool literal = loop_const_extent(loop, &extent);
    for (int64_t i = 0; (!literal || i < extent) && n.now <= MAX_PENDING; i++) {
        GroupCount after = larger(n, count_groups(loop->body, n));
        if (after.now == n.now && after.most == n.most)
            break;
        n = after;
    }
    return larger(before, n);
}

static GroupCount count_groups(const Stmt *s, GroupCount n)
{
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            n = count_groups(s->u.seq.items[i], n);
        return n;
    case ST_FOR: return count_in_loop(&s->u.loop, n);
    case ST_IF: {
        GroupCount then = count_groups(s->u.cond.then, n);
        return larger(then, s->u.cond.otherwise ? count_groups(s->u.cond.otherwise, n) : n);
    }
    case ST_ROLES: return count_groups(s->u.roles.producer, n);
    case ST_BARRIER:
        if (s->u.barrier.of)
            return n;
        if (s->u.barrier.kind == SYNC_ACQUIRE) /* so many have a place at a time */
            n.now = s->u.barrier.pending - 1;
        if (s->u.barrier.kind == SYNC_COMMIT)
            n.now++;
        if (s->u.barrier.kind == SYNC_WAIT && n.now > s->u.barrier.pending)
            n.now = s->u.barrier.pending;
        return larger(n, (GroupCount){0, n.now});
    default: return n;
    }
}

int copy_groups(const Stmt *body)
{
    return count_groups(body, (GroupCount){0, 1}).most;
}
