/* cache_hints.c - Turns the cache hints of blocks into properties of accesses, and proves claims of
 * `read_only` first.
 *
 *   block y(i in 64 = i) @cache_hint_x("streaming") {          y[i] = x.streaming[i];
 *       y[i] = x[i];                                       =>
 *   }
 *
 * A hint applies to the accesses that its block has when the kernel is lowered: accesses that
 * cache_read has moved since belong to the copy. If the block updates an element (+=), the hint
 * applies to the store, and to the load if it is valid for loads; atomic updates have no hints. */
#include <string.h>

#include "passes/lower/pass.h"
#include "passes/lower/threads/async.h"

static CacheHint hint_of(const Annotation *a)
{
    CacheHint hint = a->kind == ANNOTATION_STRING && annotation_member(a, ANNOTATION_CACHE_HINT)
                         ? cache_hint_find(a->string)
                         : HINT_NONE;
    return hint == HINT_COUNT ? HINT_NONE : hint;
}

/* The cache hint of the block for a buffer in global memory. */
static CacheHint hint_for(const BlockStmt *block, const Buffer *buffer)
{
    for (int i = 0; i < block->annotations.n; i++) {
        const Annotation *a = &block->annotations.items[i];
        if (hint_of(a) != HINT_NONE &&
            !strcmp(annotation_member(a, ANNOTATION_CACHE_HINT), buffer->name))
            return buffer->scope == SCOPE_GLOBAL ? hint_of(a) : HINT_NONE;
    }
    return HINT_NONE;
}

/* The block reduces tuples, and the buffer holds a part of them. */
static bool holds_tuples(Context *c, const BlockStmt *block, const Buffer *buffer)
{
    TupleUpdate update;
    if (!tuple_update_of(c, block->body, &update))
        return false;
    for (int k = 0; k < update.combiner->n; k++)
        if (update.targets[k].buffer == buffer)
            return true;
    return false;
}

/* The loads of an update of tuples belong to its stores. */
static Expr *hint_load(Rewriter *r, Expr *e)
{
    CacheHint hint = e->kind == EX_LOAD ? hint_for(r->user, e->u.load.buffer) : HINT_NONE;
    const CacheHintInfo *info = cache_hint_info(hint);
    if (hint == HINT_NONE || !info->load ||
        (!info->store && holds_tuples(r->ctx, r->user, e->u.load.buffer)))
        return e;
    Expr *load = expr_load_like(r->ctx, e, e->u.load.buffer, e->u.load.index);
    load->hint = hint;
    return load;
}

static Stmt *hint_store(Rewriter *r, Stmt *s)
{
    CacheHint hint = s->kind == ST_STORE && !s->u.store.atomic
                         ? hint_for(r->user, s->u.store.buffer)
                         : HINT_NONE;
    if (hint == HINT_NONE || !cache_hint_info(hint)->store)
        return s;
    Stmt *store = stmt_store_like(r->ctx, s, s->u.store.buffer, s->u.store.index, s->u.store.value);
    store->u.store.hint = hint;
    return store;
}

Stmt *block_hints_apply(Context *c, const BlockStmt *block, Stmt *body)
{
    bool some = false;
    for (int i = 0; i < block->annotations.n; i++)
        some |= hint_of(&block->annotations.items[i]) != HINT_NONE;
    Rewriter r = {.ctx = c, .user = (void *)block, .expr = hint_load, .stmt = hint_store};
    return some ? rewrite_stmt(&r, body) : body;
}

/* ---- read_only is a claim -------------------------------------------------------------------- */

static bool claims_read_only(const BlockStmt *block)
{
    for (int i = 0; i < block->annotations.n; i++)
        if (hint_of(&block->annotations.items[i]) == HINT_READ_ONLY)
            return true;
    return false;
}

static bool claimed(void *user, const Buffer *buffer)
{
    return hint_for(user, buffer) == HINT_READ_ONLY;
}

/* The claims of one launch. */
static Stmt *check_launch(LaunchWalk *w, Stmt *root)
{
    Context *c = w->c;
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    Threads *model = NULL;
    for (int i = 0; i < blocks.n; i++) {
        BlockStmt *block = &blocks.items[i]->u.block;
        Conflict why;
        if (!claims_read_only(block))
            continue;
        Kernel around = *w->kernel;
        around.body = w->nest;
        model = model ? model : threads_model(c, &around, root);
        if (threads_leave_alone(model, block->id, claimed, block, &why))
            continue;
        diag_error(c, E0517, why.first_span,
                   "the cache hint of block '%s' requires '%s' to be read-only, but the launch "
                   "writes %s%s%s%s%s: %s",
                   block->name, why.buffer->name, why.element, *why.second_at ? " at " : "",
                   why.second_at, *why.first_at ? ", and the block reads it at " : "", why.first_at,
                   why.reason);
        diag_note(c, why.second_span,
                  "the write; remove the hint, or give the write a launch of its own");
        return NULL;
    }
    return root;
}

Kernel *pass_check_claims(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    LaunchWalk w = {.c = c, .kernel = kernel, .root = check_launch};
    Stmt *body = launch_roots_map(&w, kernel->body);
    return body ? kernel_with_body(c, kernel, body) : NULL;
}
