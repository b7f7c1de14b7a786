/* bulk_copy.h - Defines bulk copies: a thread has the hardware copy a box of a tensor in global
 * memory into shared memory, or back (TMA).
 *
 *   instruction copy_bulk(t[0, 0], A[by * 128, ko * 64]) {
 *       for i in 128, k in 64
 *           t[i, k] async= A[by * 128 + i, ko * 64 + k];
 *   }
 *
 * The first element says where the box lies in shared memory, row by row, the second one where it
 * begins in the tensor. The loops say how long it is. A box may reach beyond the tensor, or begin
 * before it, where the value is `inside ? element : 0`: the hardware writes zeros there.
 *
 * multicast_bulk copies to the same place in all blocks of a cluster, and their groups with the
 * number of its own have landed once it has, too.
 *
 *   instruction store_bulk(C[by * 128, bx * 64], t[0, 0]) {
 *       for i in 128, j in 64
 *           C[by * 128 + i, bx * 64 + j] = t[i, j];
 *   }
 *
 * is one from shared memory: it reads `t` behind its text, until a wait for its group, as an
 * instruction with the clauses `commit` and `wait` does (instruction.h). Groups are those of its
 * thread. Its store may stand in `if inside`: the hardware stores nothing outside of the tensor. It
 * may be an update, `C[...] atomic += t[...]`: that of each element is atomic. */
#ifndef TIRC_IR_BULK_COPY_H
#define TIRC_IR_BULK_COPY_H

#include "ir/instruction.h"

enum { BULK_MAX_RANK = 5, BULK_MAX_EXTENT = 256, BULK_CHUNK_BYTES = 16, BULK_PATTERN_ROWS = 8 };

/* The block's stores are asynchronous: it has the annotation `copy_async` or `copy_bulk`. */
bool block_is_async(const BlockStmt *block);
/* The hardware makes them as one copy: it has the annotation `copy_bulk`. */
bool block_is_bulk(const BlockStmt *block);
/* The hardware copies a box to a tensor: it has the annotation `store_bulk`. */
bool block_stores_bulk(const BlockStmt *block);

/* The span of the mode's swizzle in bytes; 0: none. */
int64_t bulk_span(BulkMode mode);
/* Bytes that a copy begins at a multiple of in shared memory. */
int64_t bulk_alignment(BulkMode mode);

/* What an instruction's name says of a bulk copy; mode BULK_NONE: it is another name. */
typedef struct {
    BulkMode mode;
    bool multicast; /* to the same place in all blocks of the cluster */
    bool stores;    /* from shared memory */
} BulkKind;
BulkKind bulk_kind_find(const char *name);
/* The instruction of a kind for elements of `type`. */
const Instruction *bulk_instruction(Context *c, BulkKind kind, DType type);
/* The hardware updates elements of `type` like this as it stores a box (PTX ISA,
 * cp.reduce.async.bulk.tensor; sums of i64 are those of u64). */
bool bulk_updates(StoreOp op, DType type);
/* The one that stands for all bulk stores where their groups are committed and waited for. */
const Instruction *bulk_stores(Context *c);
static inline bool stmt_is_bulk_copy(const Stmt *s)
{
    return s->kind == ST_INSTRUCTION && s->u.instruction.of->bulk != BULK_NONE;
}
/* Where the box lies in the tensor: its first element there. */
static inline const Expr *bulk_begins(const Stmt *copy)
{
    return copy->u.instruction.elements[copy->u.instruction.of->stores ? 0 : 1];
}
/* Where it lies in shared memory. */
static inline const Expr *bulk_lies(const Stmt *copy)
{
    return copy->u.instruction.elements[copy->u.instruction.of->stores ? 1 : 0];
}

/* A box of a tensor: what the host describes to the hardware. */
typedef struct {
    const Buffer *tensor;
    int64_t extent[BULK_MAX_RANK]; /* [tensor->rank] in elements */
    BulkMode mode;
    DType type; /* that the hardware takes elements for: unsigned ones where it only moves them */
} BulkBox;
/* The box that a bulk copy copies. */
BulkBox bulk_box(const Stmt *copy);
/* The one store of its body. */
const StoreStmt *bulk_store(const Stmt *copy);
/* The body, which a person may have written, is loops with literal ranges and conditions around one
 * store from one of the elements' buffers to the other. */
bool bulk_copy_is_whole(const Stmt *copy);
bool bulk_box_equal(const BulkBox *a, const BulkBox *b);

/* How many groups of copies are under way at a time below `body`, that of a launch, the one that a
 * place is about to begin included; more than MAX_PENDING: no number of them is known to be
 * enough. */
int copy_groups(const Stmt *body);

#endif
