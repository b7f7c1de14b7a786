/* copy_async.c - copy_async: a copy into shared memory that goes on while the threads do something else.
 *
 * The step only says so, in an annotation of the block: what a copy means does not change, because lowering puts a wait in
 * front of every access that may meet it (passes/lower/async.c). */
#include <string.h>

#include "passes/schedule/flow.h"

/* The load whose bytes arrive: the value, or `cond ? load : 0`. */
static const Expr *copied(const Expr *value)
{
    const Expr *zero = value->kind == EX_SELECT ? value->u.arg[2] : NULL;
    bool none = zero && ((zero->kind == EX_FLOAT && zero->u.f == 0) || (zero->kind == EX_INT && zero->u.i == 0));
    if (none)
        value = value->u.arg[1];
    return value->kind == EX_LOAD ? value : NULL;
}

bool prim_copy_async(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *node = sched_block(s, &call->arg[0], &path);
    BlockStmt block = node->u.block;
    const Stmt *store = flow_single_store(node);
    const Expr *load = store && store->u.store.op == STORE_SET && !block.init ? copied(store->u.store.value) : NULL;
    REQUIRE(s, E0440, call->span, load,
            "block '%s' does more than move bytes; an asynchronous copy is one store of an element of another buffer, or of "
            "'condition ? element : 0'",
            block.name);
    const Buffer *to = sched_buffer(s, store->u.store.buffer->id), *from = sched_buffer(s, load->u.load.buffer->id);
    REQUIRE(s, E0440, call->span, to->scope == SCOPE_SHARED && from->scope == SCOPE_GLOBAL && to->type == from->type,
            "block '%s' copies '%s' (%s, %s) to '%s' (%s, %s); an asynchronous copy goes from global to shared memory and "
            "converts nothing",
            block.name, from->name, type_info(from->type)->name, scope_name(from->scope), to->name,
            type_info(to->type)->name, scope_name(to->scope));
    Annotation *items = ARENA_ARRAY(s->ctx->arena, Annotation, block.n_annotations + 1);
    *result = (Value){.kind = VALUE_NONE};
    for (int i = 0; i < block.n_annotations; i++) {
        items[i] = block.annotations[i];
        if (!strcmp(items[i].key, "copy_async"))
            return true;
    }
    items[block.n_annotations++] =
        (Annotation){.key = ctx_name(s->ctx, "copy_async"), .kind = ANNOTATION_INT, .i = 1};
    block.annotations = items;
    sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    return true;
}
