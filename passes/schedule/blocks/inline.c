/* inline.c - Implements compute_inline: substitutes a block into its readers.
 *
 * Legal: the producer is one store, a function of its iterators; what it reads is declared around
 * its readers, too, and nothing changes it before these.
 * Invariant: every block that stays computes what it computed. */
#include "passes/schedule/blocks/inline.h"

#include "passes/schedule/blocks/tie.h"

enum { MOST_NODES = 1000 }; /* of an expression that replaces reads */

bool inline_is_bounded(Schedule *s, Span span, const Buffer *buffer, const Expr *value)
{
    REQUIRE(s, E0460, span, expr_nodes(value, MOST_NODES) <= MOST_NODES,
            "the expression of '%s' has more than %d operations and operands; inlined time and "
            "again, expressions grow beyond bounds, so keep this buffer, or inline others first",
            buffer->name, MOST_NODES);
    return true;
}

/* A value that replaces reads: `place` are the variables that stand for the subscripts. In it are
 * iterators of the block, too, with the value that they have as long as the buffer lives. */
typedef struct {
    const Buffer *buffer;
    Var *const *place; /* [rank] */
    Expr *value;
    const BlockIter **kept; /* [n_kept] these iterators */
    int n_kept;
    Var **alike; /* [n_kept] those of the reader at work that have the same values */
} Inline;

static Expr *inline_load(Rewriter *r, Expr *e)
{
    const Inline *in = r->user;
    if (!expr_is_load(e, in->buffer))
        return e;
    int n = 0;
    Subst *map = ARENA_ARRAY(r->ctx->arena, Subst, in->buffer->rank + in->n_kept + 1);
    for (int i = 0; i < in->buffer->rank; i++)
        map[n++] = (Subst){in->place[i], e->u.load.index[i]};
    for (int i = 0; i < in->n_kept; i++)
        map[n++] = (Subst){in->kept[i]->var, expr_var(r->ctx, in->alike[i], e->span)};
    return expr_subst(r->ctx, in->value, map, n);
}

/* Finds iterators of a reader with the values of those in the expression. Returns the first one
 * that has no such iterator, or NULL. */
static const BlockIter *match_iters(const BlockStmt *reader, Inline *in)
{
    for (int k = 0; k < in->n_kept; k++) {
        in->alike[k] = NULL;
        for (int i = 0; i < reader->n_iters && !in->alike[k]; i++)
            if (expr_equal(reader->iters[i].binding, in->kept[k]->binding))
                in->alike[k] = reader->iters[i].var;
        if (!in->alike[k])
            return in->kept[k];
    }
    return NULL;
}

/* Values of a reader that only subscripts of the buffer used are gone with these. */
static Stmt *inline_into_block(Rewriter *r, Stmt *stmt)
{
    Inline *in = r->user;
    if (stmt->kind != ST_BLOCK || !stmt_accesses(r->ctx, stmt, in->buffer, ACCESS_READ))
        return stmt;
    match_iters(&stmt->u.block, in);
    Rewriter loads = {.ctx = r->ctx, .user = r->user, .expr = inline_load};
    return stmt_without_unused_lets(r->ctx, rewrite_stmt(&loads, stmt));
}

bool inline_is_producer(Schedule *s, Span span, const StmtPath *path, const char *what)
{
    Stmt *block = path_end(path);
    Name name = block->u.block.name;
    const Stmt *store = flow_single_store(s->ctx, block);
    REQUIRE(s, E0460, span, store && store->u.store.op == STORE_SET && !block->u.block.init,
            "%s '%s' %s, so no single expression can replace its buffer", what, name,
            store ? "is a reduction" : flow_no_single_store(s->ctx, block));
    const Buffer *buffer = store->u.store.buffer;
    REQUIRE(s, E0460, span, !stmt_accesses(s->ctx, block, buffer, ACCESS_READ),
            "%s '%s' reads '%s', which it writes", what, name, buffer->name);
    REQUIRE(s, E0460, span, buffer->role == ROLE_TEMP,
            "%s '%s' writes '%s', a parameter, which must exist after the kernel", what, name,
            buffer->name);
    const Stmt *other = flow_other_block(s, s->kernel->body, block, buffer, ACCESS_WRITE);
    REQUIRE(s, E0460, span, !other, "'%s' is also written by block '%s'", buffer->name,
            stmt_label(other));
    for (int i = 0; i < path->n; i++)
        REQUIRE(s, E0460, span, path->items[i]->kind != ST_IF, "%s '%s' is in a conditional branch",
                what, name);
    return true;
}

static bool shares_loop(const StmtPath *a, const StmtPath *b)
{
    for (int i = flow_common(a, b) - 1; i >= 0; i--)
        if (a->items[i]->kind == ST_FOR)
            return true;
    return false;
}

/* What a reader copies of elements that the block has not made yet does no harm, but the expression
 * in their place may read what is not there yet. */
static bool made_before_read(Schedule *s, Span span, const StmtPath *path, const BlockList *readers,
                             const Buffer *buffer)
{
    for (int r = 0; r < readers->n; r++) {
        StmtPath reader = {0};
        stmt_find(s->ctx, s->kernel->body, readers->items[r]->u.block.id, &reader);
        if (!shares_loop(path, &reader))
            continue;
        REQUIRE(s, E0461, span, flow_written_before_read(s, path, buffer),
                "block '%s' and others in the same loop read '%s'; could not prove that they read "
                "only elements that block '%s' has written already, so the inlined expression "
                "might read missing values",
                readers->items[r]->u.block.name, buffer->name, path_end(path)->u.block.name);
        return true;
    }
    return true;
}

/* What the block reads is declared around its readers, too. */
static bool stays_in_scope(Schedule *s, Span span, const StmtPath *path, const BlockList *readers)
{
    Stmt *block = path_end(path);
    BufferSet read = flow_buffers(s, block, ACCESS_READ);
    for (int r = 0; r < readers->n; r++) {
        const BlockStmt *reader = &readers->items[r]->u.block;
        StmtPath to = {0};
        stmt_find(s->ctx, s->kernel->body, reader->id, &to);
        const Stmt *own = path->items[flow_common(path, &to)];
        for (int i = 0; i < read.n; i++)
            REQUIRE(s, E0465, span, !stmt_declares(s->ctx, own, read.items[i]),
                    "block '%s' reads '%s', which is declared in its loops, and block '%s' stands "
                    "outside of these",
                    block->u.block.name, read.items[i]->name, reader->name);
    }
    return true;
}

/* No block but the readers' own statements stands between, that writes what the block reads. */
static bool inputs_last(Schedule *s, Span span, Stmt *block, const StmtPath *path,
                        const BlockList *readers)
{
    const Buffer *overwritten;
    for (int r = 0; r < readers->n; r++) {
        StmtPath reader = {0};
        stmt_find(s->ctx, s->kernel->body, readers->items[r]->u.block.id, &reader);
        int n = flow_common(path, &reader);
        const Stmt *seq = path->items[n - 1];
        if (seq->kind != ST_SEQ)
            continue;
        int from = stmt_place(seq, path->items[n]), to = stmt_place(seq, reader.items[n]);
        REQUIRE(s, E0461, span, from < to, "block '%s' reads '%s' before block '%s' writes it",
                readers->items[r]->u.block.name,
                flow_single_store(s->ctx, block)->u.store.buffer->name, block->u.block.name);
        const Stmt *writer = flow_overwritten(s, (SeqRange){.seq = seq, .from = from, .to = to},
                                              (BlockIn){s->kernel, block}, &overwritten);
        REQUIRE(s, E0461, span, !writer,
                "block '%s' writes '%s' before block '%s' has finished, so the inlined expression "
                "would read other values",
                writer->u.block.name, overwritten->name, readers->items[r]->u.block.name);
    }
    return true;
}

/* The value of an iterator that has one; NULL otherwise. */
static Expr *only_value(Facts *f, const BlockIter *iter)
{
    int64_t lo, hi;
    bool one = expr_is_const(simplify(f, iter->lo), &lo) &&
               expr_is_const(simplify(f, iter->hi), &hi) && hi - lo == 1;
    return one ? iter->lo : NULL;
}

/* The value of an expression of loops does not change as long as the buffer lives: it is declared
 * in all of these loops. */
static bool same_while_alive(Schedule *s, const StmtPath *path, const Buffer *buffer,
                             const Expr *value)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR && !stmt_declares(s->ctx, path->items[i], buffer) &&
            expr_uses_var(value, path->items[i]->u.loop.var))
            return false;
    return true;
}

/* The value of an element in terms of its subscripts: the block's, at the iteration that stores
 * it. */
static bool find_value(Schedule *s, Span span, const StmtPath *path, const Stmt *store, Inline *in)
{
    const Stmt *block = path_end(path);
    const BlockStmt *b = &block->u.block;
    const Buffer *buffer = store->u.store.buffer;
    Arena *arena = s->ctx->arena;
    Subst *at = ARENA_ARRAY(arena, Subst, b->n_iters + 1);
    Tie tie;
    bool tied = tie_find(s, block, buffer, store->u.store.index, &tie) && tie.covers;
    Facts *f = facts_of_kernel(s->ctx, s->kernel);
    *in = (Inline){.buffer = buffer,
                   .place = tie.place,
                   .kept = ARENA_ARRAY(arena, const BlockIter *, b->n_iters + 1),
                   .alike = ARENA_ARRAY(arena, Var *, b->n_iters + 1)};
    int n = 0;
    for (int i = 0; i < b->n_iters && tied; i++) {
        const BlockIter *iter = &b->iters[i];
        Expr *value = tie.back[i] ? tie.back[i] : only_value(f, iter);
        if (value)
            at[n++] = (Subst){iter->var, value};
        else if ((tied = same_while_alive(s, path, buffer, iter->binding)))
            in->kept[in->n_kept++] = iter;
    }
    REQUIRE(s, E0460, span, tied,
            "the subscripts at which block '%s' writes '%s' do not decide its iterators for each "
            "element, so the value of an element is unknown",
            b->name, buffer->name);
    in->value = expr_subst(s->ctx, store->u.store.value, at, n);
    return inline_is_bounded(s, span, buffer, in->value);
}

static bool iters_in_readers(Schedule *s, Span span, const BlockList *readers, Inline *in)
{
    for (int r = 0; r < readers->n; r++) {
        const BlockStmt *reader = &readers->items[r]->u.block;
        const BlockIter *missing = match_iters(reader, in);
        REQUIRE(s, E0460, span, !missing,
                "block '%s' has no iterator with the value of '%s', which the elements of '%s' "
                "depend on",
                reader->name, missing->var->name, in->buffer->name);
    }
    return true;
}

/* Every element of the buffer is the block's. */
static bool makes_all(Schedule *s, const Stmt *block, const Stmt *store)
{
    Tie tie;
    const BlockStmt *b = &block->u.block;
    const Buffer *buffer = store->u.store.buffer;
    Facts *f = facts_of_kernel(s->ctx, s->kernel);
    if (!tie_find(s, block, buffer, store->u.store.index, &tie))
        return false;
    for (int axis = 0; axis < buffer->rank; axis++)
        facts_range(f, tie.place[axis], expr_index(s->ctx, 0), buffer->shape[axis]);
    for (int i = 0; i < b->n_iters; i++)
        if (tie.back[i] && !(prove_compare(f, tie.back[i], EX_GE, b->iters[i].lo) &&
                             prove_compare(f, tie.back[i], EX_LT, b->iters[i].hi)))
            return false;
    return true;
}

/* All that the block reads exists for each of its instances. */
static bool loads_exist(Schedule *s, const Stmt *block)
{
    const BlockStmt *b = &block->u.block;
    Facts *f = facts_of_kernel(s->ctx, s->kernel);
    for (int i = 0; i < b->n_iters; i++)
        facts_range(f, b->iters[i].var, b->iters[i].lo, b->iters[i].hi);
    for (Cursor at = cursor_stmt(s->ctx, block); cursor_next(&at);)
        if (at.expr && at.expr->kind == EX_LOAD && !load_exists(f, at.expr))
            return false;
    return true;
}

/* Readers copy elements that nothing sets, too, and the expression in the place of these may read
 * what does not exist. `now` is the body with the expression. */
static bool reads_exist(Schedule *s, Span span, const Stmt *block, const BlockList *readers,
                        Stmt *now)
{
    const Stmt *store = flow_single_store(s->ctx, block);
    const Buffer *buffer = store->u.store.buffer;
    if (makes_all(s, block, store))
        return true;
    for (int r = 0; r < readers->n; r++) {
        const Stmt *reader = stmt_find(s->ctx, now, readers->items[r]->u.block.id, NULL);
        REQUIRE(s, E0461, span,
                loads_exist(s, reader) || flow_kernel_writes_before_use(s, s->kernel, buffer),
                "block '%s' may read elements of '%s' that block '%s' does not set, and where the "
                "inlined expression would read elements that do not exist",
                reader->u.block.name, buffer->name, block->u.block.name);
    }
    return true;
}

bool prim_compute_inline(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Context *c = s->ctx;
    Span span = call->compute_inline.block.span;
    Stmt *block = sched_node(s, &call->compute_inline.block, &path);
    const Stmt *store = flow_single_store(c, block);
    Inline in;
    if (!inline_is_producer(s, span, &path, "block"))
        return false;
    const Buffer *buffer = store->u.store.buffer;
    REQUIRE(s, E0460, span, !block->u.block.predicate,
            "block '%s' has a condition; where it is false, the expression may be undefined; "
            "inline the block before its loops are split",
            block->u.block.name);
    BlockList readers = flow_blocks(s, s->kernel->body, buffer, ACCESS_READ);
    if (!find_value(s, span, &path, store, &in) || !iters_in_readers(s, span, &readers, &in) ||
        !stays_in_scope(s, span, &path, &readers) ||
        !inputs_last(s, span, block, &path, &readers) ||
        !made_before_read(s, span, &path, &readers, buffer))
        return false;

    Stmt *body = flow_remove(s, s->kernel->body, block);
    Rewriter r = {.ctx = c, .user = &in, .stmt = inline_into_block};
    body = flow_undeclare(s, rewrite_stmt(&r, body), buffer);
    if (!reads_exist(s, span, block, &readers, body))
        return false;
    sched_replace_body(s, body);
    (void)result;
    return true;
}
