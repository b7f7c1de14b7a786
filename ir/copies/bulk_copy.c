/* bulk_copy.c - Makes the instructions that copy boxes of tensors, and reads what they copy. */
#include "ir/copies/bulk_copy.h"

#include <string.h>

bool block_is_bulk(const BlockStmt *block)
{
    return annotation_find(block->annotations, ANNOTATION_COPY_BULK) != NULL;
}

bool block_is_async(const BlockStmt *block)
{
    return annotation_find(block->annotations, ANNOTATION_COPY_ASYNC) || block_is_bulk(block);
}

bool block_stores_bulk(const BlockStmt *block)
{
    return annotation_find(block->annotations, ANNOTATION_STORE_BULK) != NULL;
}

static const struct {
    const char *suffix; /* of an instruction's name */
    int64_t span, align;
} modes[BULK_MODES] = {
    [BULK_PLAIN] = {"", 0, 128},
    [BULK_SWIZZLE_32] = {"_swizzle_32", 32, 256},
    [BULK_SWIZZLE_64] = {"_swizzle_64", 64, 512},
    [BULK_SWIZZLE_128] = {"_swizzle_128", 128, 1024},
};

int64_t bulk_span(BulkMode mode)
{
    return modes[mode].span;
}

int64_t bulk_alignment(BulkMode mode)
{
    return modes[mode].align;
}

static const char *verb_of(BulkKind kind)
{
    return kind.stores ? "store_bulk" : kind.multicast ? "multicast_bulk" : "copy_bulk";
}

BulkKind bulk_kind_find(const char *name)
{
    static const BulkKind verbs[] = {
        {BULK_NONE, false, false}, {BULK_NONE, true, false}, {BULK_NONE, false, true}};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        size_t length = strlen(verb_of(verbs[i]));
        if (strncmp(verb_of(verbs[i]), name, length) != 0)
            continue;
        for (BulkMode mode = BULK_PLAIN; mode < BULK_MODES; mode++)
            if (strcmp(modes[mode].suffix, name + length) == 0)
                return (BulkKind){mode, verbs[i].multicast, verbs[i].stores};
    }
    return (BulkKind){BULK_NONE, false, false};
}

const Instruction *bulk_instruction(Context *c, BulkKind kind, DType type)
{
    Operand *operands = ARENA_ARRAY(c->arena, Operand, 2);
    OperandElement *elements = ARENA_ARRAY(c->arena, OperandElement, 2);
    Kernel *kernel = ARENA_NEW(c->arena, Kernel);
    Instruction *of = ARENA_NEW(c->arena, Instruction);
    for (int i = 0; i < 2; i++) {
        Buffer operand = {.name = ctx_name(c, i == 0 ? "to" : "from"), .type = type};
        bool shared = kind.stores == (i == 1);
        int64_t align = shared ? modes[kind.mode].align : type_bytes(type);
        operands[i] = (Operand){.buffer = buffer_new(c, &operand), .align = align};
        elements[i] = (OperandElement){i, NULL};
    }
    kernel->name = ctx_namef(c, "%s%s", verb_of(kind), modes[kind.mode].suffix);
    *of = (Instruction){.kernel = kernel,
                        .operands = operands,
                        .n_operands = 2,
                        .lanes = 1,
                        .elements = elements,
                        .n_elements = 2,
                        .bulk = kind.mode,
                        .multicast = kind.multicast,
                        .stores = kind.stores};
    return of;
}

const Instruction *bulk_stores(Context *c)
{
    return bulk_instruction(c, (BulkKind){.mode = BULK_PLAIN, .stores = true}, DT_U8);
}

bool bulk_updates(StoreOp op, DType type)
{
    bool word = type == DT_I32 || type == DT_U32 || type == DT_I64 || type == DT_U64;
    bool half = type == DT_F16 || type == DT_BF16;
    switch (op) {
    case STORE_ADD: return word || half || type == DT_F32;
    case STORE_MIN:
    case STORE_MAX: return word || half;
    case STORE_AND:
    case STORE_OR:
    case STORE_XOR: return word;
    default: return false;
    }
}

/* ---- the box --------------------------------------------------------------------------------- */

/* The body of a loop, or of a condition that holds inside of the tensor; NULL: neither. */
static const Stmt *body_of(const Stmt *s)
{
    return s->kind == ST_FOR ? s->u.loop.body : s->kind == ST_IF ? s->u.cond.then : NULL;
}

const StoreStmt *bulk_store(const Stmt *copy)
{
    const Stmt *inner = copy->u.instruction.body;
    while (body_of(inner))
        inner = body_of(inner);
    return &stmt_single_store(inner)->u.store;
}

bool bulk_copy_is_whole(const Stmt *copy)
{
    const Stmt *inner = copy->u.instruction.body;
    int64_t extent;
    for (; body_of(inner); inner = body_of(inner))
        if (inner->kind == ST_FOR ? !loop_const_extent(&inner->u.loop, &extent)
                                  : inner->u.cond.otherwise != NULL)
            return false;
    inner = stmt_single_store(inner);
    if (!inner)
        return false;
    const StoreStmt *store = &inner->u.store;
    Expr *inside;
    const Expr *load = expr_copied(store->value, &inside);
    bool stores = copy->u.instruction.of->stores;
    const Buffer *to = stores ? bulk_begins(copy)->u.load.buffer : bulk_lies(copy)->u.load.buffer,
                 *from = stores ? bulk_lies(copy)->u.load.buffer : bulk_begins(copy)->u.load.buffer;
    bool moves = store->op == STORE_SET || store->op == STORE_ASYNC;
    return load && load->u.load.buffer == from && store->buffer == to && to->type == from->type &&
           (moves || (stores && bulk_updates(store->op, to->type)));
}

/* Bits move, and sums and bits of integers are those of unsigned ones. */
static DType type_of_elements(const StoreStmt *store)
{
    DType type = store->buffer->type;
    bool ordered = store->op == STORE_MIN || store->op == STORE_MAX;
    if (ordered || (store_updates(store->op) && type_is_float(type)))
        return type;
    int64_t bytes = type_bytes(type);
    return bytes == 1 ? DT_U8 : bytes == 2 ? DT_U16 : bytes == 4 ? DT_U32 : DT_U64;
}

BulkBox bulk_box(const Stmt *copy)
{
    const Instruction *of = copy->u.instruction.of;
    const StoreStmt *store = bulk_store(copy);
    BulkBox box = {.tensor = buffer_defined(bulk_begins(copy)->u.load.buffer),
                   .mode = of->bulk,
                   .type = type_of_elements(store)};
    Expr *inside;
    Expr *const *at = of->stores ? store->index : expr_copied(store->value, &inside)->u.load.index;
    for (int d = 0; d < box.tensor->rank; d++)
        box.extent[d] = 1;
    for (const Stmt *s = copy->u.instruction.body; body_of(s); s = body_of(s))
        for (int d = 0; d < box.tensor->rank && s->kind == ST_FOR; d++)
            if (expr_uses_var(at[d], s->u.loop.var))
                loop_const_extent(&s->u.loop, &box.extent[d]);
    return box;
}

bool bulk_box_equal(const BulkBox *a, const BulkBox *b)
{
    bool same = a->tensor->id == b->tensor->id && a->mode == b->mode && a->type == b->type;
    for (int d = 0; same && d < a->tensor->rank; d++)
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
