/* publish.c - Implements publish: stores the elements of a temp as words, which their readers
 * await, so that blocks of a grid can read what earlier ones have computed.
 *
 *   for i in N { t[i] = x[i]; }         for i in N { w[i] = 0; }
 *   for j in N { y[j] = t[j]; }   =>    for i in N { w[i] = word(x[i]); }
 *                                       for j in N { y[j] = value(await(w[j])); }
 *
 * words.c says what a word is. shift and merge then run the producers and the consumers in the
 * iterations of one loop, and bind makes these the blocks of one launch: it proves that each block
 * awaits earlier ones only, and that each word is stored once.
 *
 * Legal: one block writes the temp, by plain stores of defined values, and every element that is
 * read has been written before. No instruction accesses it.
 * Invariant: every load gives what the last store has stored. */
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/enter.h"
#include "passes/schedule/scans/words.h"

typedef struct {
    Schedule *s;
    Span span;
    const Buffer *from;
    int n_words; /* of an element */
    Buffer *words;
} Publish;

/* ---- check ----------------------------------------------------------------------------------- */

static bool declared_at_top(const Publish *p)
{
    const Stmt *body = p->s->kernel->body;
    for (int i = 0; body->kind == ST_SEQ && i < body->u.seq.n; i++)
        if (body->u.seq.items[i]->kind == ST_TEMP && body->u.seq.items[i]->u.temp == p->from)
            return true;
    return false;
}

static bool check_buffer(const Publish *p)
{
    Schedule *s = p->s;
    const Buffer *b = p->from;
    REQUIRE(s, E0865, p->span, b->role == ROLE_TEMP && b->scope == SCOPE_GLOBAL,
            "'%s' is no temp in global memory, which blocks of a grid share; publish a copy "
            "(cache_write(block, global))",
            b->name);
    REQUIRE(s, E0865, p->span, declared_at_top(p),
            "'%s' is declared in a loop, but words are cleared before it; give each iteration its "
            "elements first (expand)",
            b->name);
    return true;
}

/* A block with an init updates by another operator, or tuples. */
static bool check_store(const Publish *p, const Stmt *block, const StoreStmt *store)
{
    REQUIRE(p->s, E0865, p->span, store->op == STORE_SET,
            "block '%s' updates '%s' by '%s', so a word would say too early that the value is "
            "there; publish what it copies its result to (cache_write(block, local))",
            block->u.block.name, p->from->name, store_op_token(store->op));
    return true;
}

/* A copy of what nothing has written is no fault, but its word would say that it is there. */
static bool check_value(const Publish *p, const Stmt *block)
{
    Schedule *s = p->s;
    for (Cursor at = cursor_stmt(s->ctx, block); cursor_next(&at);) {
        const Buffer *read = at.expr && at.expr->kind == EX_LOAD ? at.expr->u.load.buffer : NULL;
        REQUIRE(s, E0865, p->span,
                !read || read == p->from || enter_has_values(s, s->kernel->body, read),
                "block '%s' may read elements of '%s' that no block has written before, and their "
                "words would say that they are there; publish what has been written",
                block->u.block.name, read->name);
    }
    return true;
}

static bool check_writer(const Publish *p)
{
    Schedule *s = p->s;
    Context *c = s->ctx;
    BlockList writers = flow_blocks(s, s->kernel->body, p->from, ACCESS_WRITE);
    REQUIRE(s, E0865, p->span, writers.n == 1,
            "%d blocks write '%s', so a word would not say which of them has run", writers.n,
            p->from->name);
    Stmt *block = writers.items[0];
    for (Cursor at = cursor_stmts(c, block); cursor_next(&at);) {
        const Stmt *stmt = at.stmt;
        if (stmt->kind == ST_STORE && stmt->u.store.buffer == p->from &&
            !check_store(p, block, &stmt->u.store))
            return false;
        REQUIRE(s, E0865, p->span, stmt->kind != ST_SEQ || !stmt->u.seq.combiner,
                "block '%s' updates a tuple with the component '%s'; publish what it copies its "
                "result to (cache_write(block, local))",
                block->u.block.name, p->from->name);
    }
    REQUIRE(s, E0865, p->span, flow_written_before_use(s, s->kernel->body, p->from),
            "some elements of '%s' may be read that no block has written before, and their readers "
            "would wait for ever; write all of it",
            p->from->name);
    return check_value(p, block);
}

/* An instruction takes the elements as they are, and what is awaited has words already. */
static bool check_users(const Publish *p)
{
    Schedule *s = p->s;
    BlockList users = flow_blocks(s, s->kernel->body, p->from, ACCESS_ANY);
    for (int i = 0; i < users.n; i++) {
        REQUIRE(s, E0865, p->span, !users.items[i]->u.block.instruction,
                "block '%s' accesses '%s' by an instruction, which waits for no word",
                stmt_label(users.items[i]), p->from->name);
        REQUIRE(s, E0865, p->span, !stmt_awaits(s->ctx, users.items[i], p->from),
                "block '%s' awaits elements of '%s', which are words already: a copy of published "
                "ones",
                stmt_label(users.items[i]), p->from->name);
    }
    return true;
}

/* ---- build ----------------------------------------------------------------------------------- */

static Buffer *word_buffer(const Publish *p)
{
    Context *c = p->s->ctx;
    int rank = p->from->rank + (p->n_words > 1);
    Expr **extent = ARENA_COPY(c->arena, Expr *, p->from->shape, p->from->rank, 1);
    extent[p->from->rank] = expr_index(c, p->n_words);
    Buffer *out = stage_buffer(p->s, p->from, "words", SCOPE_GLOBAL, p->span);
    out->type = DT_U64;
    out->digits = (Digits){0}; /* words are exact */
    out->shape = stage_shape(p->s, extent, rank);
    out->rank = rank;
    return out;
}

/* The subscripts of word `number` of an element. */
static Expr **word_index(const Publish *p, Expr *const *index, int number)
{
    Context *c = p->s->ctx;
    Expr **out = ARENA_COPY(c->arena, Expr *, index, p->from->rank, 1);
    out[p->from->rank] = expr_index(c, number);
    return out;
}

static Expr *await_load(Rewriter *rewriter, Expr *e)
{
    const Publish *p = rewriter->user;
    if (e->kind != EX_LOAD || e->u.load.buffer != p->from)
        return e;
    Expr *words[2];
    for (int w = 0; w < p->n_words; w++)
        words[w] = expr_load_like(p->s->ctx, e, p->words, word_index(p, e->u.load.index, w));
    return value_of_words(p->s->ctx, p->from->type, words);
}

static Stmt *publish_store(Rewriter *rewriter, Stmt *s)
{
    const Publish *p = rewriter->user;
    Context *c = p->s->ctx;
    if (s->kind != ST_STORE || s->u.store.buffer != p->from)
        return s;
    const StoreStmt *store = &s->u.store;
    Stmt *items[2];
    for (int w = 0; w < p->n_words; w++)
        items[w] = stmt_store_like(c, s, p->words, word_index(p, store->index, w),
                                   word_of(c, store->value, w));
    return p->n_words == 1 ? items[0] : stmt_seq(c, items, p->n_words, s->span);
}

/* The body with the words in the place of the temp, declared and cleared in front. */
static Stmt *with_words(const Publish *p, Stmt *clear)
{
    Context *c = p->s->ctx;
    Rewriter rewriter = {.ctx = c, .user = (void *)p, .expr = await_load, .stmt = publish_store};
    Stmt *body = rewrite_stmt(&rewriter, flow_undeclare(p->s, p->s->kernel->body, p->from));
    body = flow_declare(p->s, body, p->words);
    StmtList items = {0};
    int at = 0;
    for (; body->u.seq.items[at]->kind == ST_TEMP; at++)
        VEC_PUSH(c->arena, &items, body->u.seq.items[at]);
    VEC_PUSH(c->arena, &items, clear);
    for (; at < body->u.seq.n; at++)
        VEC_PUSH(c->arena, &items, body->u.seq.items[at]);
    return stmt_seq(c, items.items, items.n, body->span);
}

bool prim_publish(Schedule *s, const PrimCall *call, Value *result)
{
    Publish p = {.s = s, .span = call->publish.buffer.span};
    p.from = sched_buffer(s, call->publish.buffer.u.id);
    if (!check_buffer(&p) || !check_writer(&p) || !check_users(&p))
        return false;
    p.n_words = words_of(p.from->type);
    p.words = word_buffer(&p);
    Stmt *clear = words_clear(s, p.words, p.span);
    Stmt *body = with_words(&p, clear);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_block(stmt_nest_block(clear));
    return true;
}
