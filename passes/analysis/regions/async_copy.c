/* async_copy.c - Recognizes copies that the hardware can do asynchronously. */
#include "passes/analysis/regions/async_copy.h"

const char *async_copy_obstacle(Context *c, const BlockStmt *block)
{
    const Stmt *store = block->init ? NULL : stmt_single_store(block->body);
    Expr *where;
    const Expr *load = store && store->u.store.op == STORE_SET
                           ? expr_copied_or(store->u.store.value, &where)
                           : NULL;
    if (!load)
        return arena_printf(c->arena,
                            "block '%s' does more than copy; an asynchronous copy is one store of "
                            "an element of another buffer, or of 'condition ? element : literal'",
                            block->name);
    const Buffer *to = store->u.store.buffer, *from = load->u.load.buffer;
    if (to->scope == SCOPE_SHARED && from->scope == SCOPE_GLOBAL && to->type == from->type)
        return NULL;
    return arena_printf(c->arena,
                        "block '%s' copies '%s' (%s, %s) to '%s' (%s, %s); an asynchronous copy "
                        "goes from global to shared memory, without conversion",
                        block->name, from->name, type_info(from->type)->name,
                        scope_name(from->scope), to->name, type_info(to->type)->name,
                        scope_name(to->scope));
}
