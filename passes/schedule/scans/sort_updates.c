/* sort_updates.c - Implements sort_updates: sorts the iterations of a loop by the row that a block
 * accesses in them, and gives each row those iterations, in their order.
 *
 *   for j in D, i in N                    count, first: the numbers of iterations of rows
 *       y[at[i], j] += x[i, j];    =>     order: the iterations, sorted by at[i], then by i
 *                                         for j in D, row in S
 *                                             for k in first[row]..first[row + 1]
 *                                                 y[row, j] += x[order[k], j];
 *
 * Data choose the rows, so two iterations may meet in any of them. Rows do not meet. The sort is by
 * the digits of the row's number, the lowest first (least significant digit radix sort: Knuth, The
 * Art of Computer Programming, volume 3, section 5.2.5). A pass counts each digit in each chunk of
 * iterations, scans the counts, and gives each iteration a place, in the order of the pass before:
 *
 *   for q in N                     tally[digit(q), q / 64] += 1;
 *   for r in R { on = start[r];    for p in P { next[r, p] = on; on += tally[r, p]; } }
 *   for p in P, c in 64            { rank[q] = next[digit(q), p]; next[digit(q), p] += 1; }
 *   for q in N                     order[rank[q]] = q;  @distinct
 *
 * Rows that are computed are stored first: two launches could round a subscript in different ways.
 * All of these run in parallel but for the c of a chunk. Iterations whose row does not exist, which
 * a condition in the block has to keep from accessing it, belong to one more row that nobody reads.
 *
 * Legal: the loop starts at 0 and is the innermost of loops that hold nothing but a block, which
 * writes one buffer. One subscript of that, alike in all accesses, reads memory, and uses no
 * iterator but that of the loop. What it reads exists in all iterations.
 * Invariant: each access of a row has those before it that it had. No iterations of rows are left
 * out, since places are a permutation of the iterations. */
#include "ir/implied.h"
#include "passes/schedule/copies/stage.h"

enum { CHUNK = 64, RADIX = 256, MOST_RADIX = 16384, MOST_PASSES = 4 };

/* A buffer for each number of a pass. */
typedef struct {
    int64_t below; /* what the row's number is divided by */
    Buffer *tally, *total, *start, *next, *rank, *order;
    Stmt *blocks[3]; /* which count, rank and place */
} Pass;

typedef struct {
    Schedule *s;
    Span span, origin;
    StmtPath path; /* to the block */
    int top, at;   /* on the path: the outermost loop, and that of the call */
    Stmt *node;
    BlockIter iter;       /* of the loop */
    Buffer *to;           /* which the block writes */
    int axis;             /* whose subscript is the row */
    Expr *key;            /* that subscript */
    Expr *n, *rows;       /* how many iterations, and rows */
    bool inside;          /* all rows exist */
    DType type, row_type; /* of numbers of iterations, and of rows */
    Buffer *row;          /* of each iteration; NULL: it stands in memory as it is */
    int64_t chunk, radix;
    Expr *chunks;
    Buffer *count, *first;
    Pass passes[MOST_PASSES];
    int n_passes;
    StmtList temps, nests;
    VEC(Name) names; /* of buffers and blocks so far */
} Sort;

/* ---- check ----------------------------------------------------------------------------------- */

/* The loops down to the block hold nothing else. */
static bool find_nest(Sort *o, const PrimCall *call)
{
    Schedule *s = o->s;
    Stmt *loop = sched_node(s, &call->sort_updates.loop, &o->path);
    o->at = o->path.n - 1;
    o->node = loop->u.loop.body;
    REQUIRE(s, E0531, o->span, o->node->kind == ST_BLOCK,
            "loop '%s' holds more than one block; fission and reorder make it the innermost loop "
            "around the block alone",
            stmt_label(loop));
    for (o->top = o->at; o->top > 0 && o->path.items[o->top - 1]->kind == ST_FOR;)
        o->top--;
    for (int i = 0; i <= o->at; i++) {
        Stmt *at = o->path.items[i];
        bool within = at->kind != ST_FOR || i >= o->top;
        REQUIRE(s, E0531, o->span, within,
                "loop '%s' holds other statements beside the block '%s'; fission gives it a nest "
                "of its own",
                stmt_label(at), stmt_label(o->node));
        if (at->kind == ST_FOR && !sched_require_serial(s, at, o->span))
            return false;
    }
    REQUIRE(s, E0531, o->span,
            loop_counts_from_zero(&loop->u.loop) && expr_of_sizes(loop->u.loop.hi),
            "the range of loop '%s' is not one of sizes that starts at 0, as that of the places of "
            "sorted iterations is",
            stmt_label(loop));
    VEC_PUSH(s->ctx->arena, &o->path, o->node);
    return true;
}

static bool check_block(Sort *o)
{
    Schedule *s = o->s;
    const BlockStmt *block = &o->node->u.block;
    REQUIRE(s, E0531, o->span, !block->init && !block->instruction && !block->atomic,
            "block '%s' has an init, is an instruction or atomic; sort_updates takes plain "
            "statements in their order",
            block->name);
    o->to = flow_written(s, o->node);
    REQUIRE(s, E0531, o->span, o->to && !stmt_awaits(s->ctx, o->node, NULL),
            "block '%s' writes several buffers, or awaits elements; fission gives each its block",
            block->name);
    return true;
}

/* The loop is one iterator, over all of its range, which nothing else of the block depends on. */
static bool find_iter(Sort *o)
{
    const BlockStmt *block = &o->node->u.block;
    const ForStmt *loop = &o->path.items[o->at]->u.loop;
    bool good = !block->predicate || !expr_uses_var(block->predicate, loop->var);
    int n = 0;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (expr_is_var(iter->binding, loop->var)) {
            o->iter = *iter;
            n++;
            good &= expr_equal(iter->lo, loop->lo) && expr_equal(iter->hi, loop->hi);
        } else {
            good &= iter->kind == ITER_SPATIAL && !expr_uses_var(iter->binding, loop->var);
        }
    }
    for (int i = 0; i < block->n_iters; i++)
        good &= n != 1 || (!expr_uses_var(block->iters[i].lo, o->iter.var) &&
                           !expr_uses_var(block->iters[i].hi, o->iter.var));
    REQUIRE(o->s, E0531, o->span, n == 1 && good,
            "loop '%s' is not one iterator of block '%s' over its whole range, or other iterators "
            "or conditions depend on it, or reduce; sort_updates takes loops as the program has "
            "them, before split and fuse",
            stmt_label(o->path.items[o->at]), block->name);
    return true;
}

/* A subscript that reads memory and uses only the iterator. */
static bool is_key(const Sort *o, const Expr *e)
{
    const BlockStmt *block = &o->node->u.block;
    if (!expr_has_load(e) || !expr_uses_var(e, o->iter.var) || expr_reads(e, o->to))
        return false;
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].var != o->iter.var && expr_uses_var(e, block->iters[i].var))
            return false;
    return !stage_other_var(o->s->ctx, block, e);
}

static bool find_key(Sort *o)
{
    Schedule *s = o->s;
    AccessList all = access_list(s->ctx, o->node, o->to, ACCESS_ANY);
    for (o->axis = 0; o->axis < o->to->rank && !is_key(o, all.items[0].index[o->axis]);)
        o->axis++;
    REQUIRE(s, E0531, o->span, o->axis < o->to->rank,
            "no subscript of '%s' in block '%s' reads memory and depends on loop '%s' alone, so "
            "there is nothing to sort by",
            o->to->name, stmt_label(o->node), stmt_label(o->path.items[o->at]));
    o->key = all.items[0].index[o->axis];
    for (int i = 1; i < all.n; i++)
        REQUIRE(s, E0531, o->span, expr_equal(o->key, all.items[i].index[o->axis]),
                "block '%s' accesses several rows of '%s' in an iteration, so its iterations "
                "belong to no single row",
                stmt_label(o->node), o->to->name);
    return true;
}

/* What the key reads is there in all iterations, whatever conditions the block has, and before the
 * nest. */
static bool check_loads(Sort *o, Facts *facts)
{
    for (Cursor at = cursor_expr(o->s->ctx, o->key); cursor_next(&at);) {
        if (!at.expr || at.expr->kind != EX_LOAD)
            continue;
        const Buffer *read = at.expr->u.load.buffer;
        REQUIRE(o->s, E0531, o->span, load_exists(facts, at.expr) && read->scope == SCOPE_GLOBAL,
                "the subscript of '%s' reads an element of '%s' that is not proved to exist in all "
                "iterations, or is not in global memory; the rows are found before the loop",
                o->to->name, read->name);
    }
    return true;
}

static bool choose_numbers(Sort *o, const PrimCall *call)
{
    const Value *chunk = &call->sort_updates.chunk, *radix = &call->sort_updates.radix;
    o->chunk = chunk->kind == VALUE_NONE ? CHUNK : chunk->u.i;
    o->radix = radix->kind == VALUE_NONE ? RADIX : radix->u.i;
    REQUIRE(o->s, E0531, chunk->span, o->chunk >= 1 && o->chunk <= INT32_MAX,
            "a chunk has at least one iteration, not %lld", (long long)o->chunk);
    REQUIRE(o->s, E0531, radix->span, o->radix >= 2 && o->radix <= MOST_RADIX,
            "a pass has from 2 to %d rows, not %lld", MOST_RADIX, (long long)o->radix);
    return true;
}

/* radix ^ passes, for numbers far below overflow. */
static int64_t power_of(int64_t radix, int passes)
{
    int64_t power = 1;
    for (int i = 0; i < passes; i++)
        power *= radix;
    return power;
}

/* The numbers of all rows that iterations have are below a power of the radix. */
static bool are_below(const Sort *o, Facts *facts, Expr *most, int64_t power)
{
    const Expr *value = o->key->kind == EX_CAST ? o->key->u.arg[0] : o->key;
    if (prove_compare(facts, most, EX_LE, expr_index(o->s->ctx, power)))
        return true;
    int bits = type_info(value->type)->bits;
    return o->inside && type_is_int(value->type) && bits <= 32 && power >= (int64_t)1 << bits;
}

/* How many passes tell all rows apart, and with a constant number of rows, the least radix. */
static bool count_passes(Sort *o, Facts *facts)
{
    Context *c = o->s->ctx;
    Expr *most = o->inside ? o->rows : index_add(c, o->rows, expr_index(c, 1));
    int64_t number;
    for (o->n_passes = 1; o->n_passes <= MOST_PASSES; o->n_passes++)
        if (are_below(o, facts, most, power_of(o->radix, o->n_passes)))
            break;
    REQUIRE(o->s, E0531, o->span, o->n_passes <= MOST_PASSES,
            "'%s' is not known to have at most %lld rows, which %d passes can tell apart; the "
            "where clause of the kernel can bound its size",
            o->to->name, (long long)power_of(o->radix, MOST_PASSES), MOST_PASSES);
    if (expr_is_const(simplify(facts, most), &number))
        while (o->radix > 2 && power_of(o->radix - 1, o->n_passes) >= number)
            o->radix--;
    return true;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static Expr *binary(const Sort *o, ExprKind kind, Expr *a, Expr *b)
{
    return expr_binary(o->s->ctx, kind, a, b, o->origin);
}

static Expr *element(const Sort *o, Buffer *of, Expr *a, Expr *b)
{
    Expr *index[2] = {a, b};
    return expr_load(o->s->ctx, of, index, o->origin);
}

static Expr *as_index(const Sort *o, Expr *e)
{
    return expr_cast(o->s->ctx, DT_INDEX, e, o->origin);
}

static bool is_taken(const Sort *o, Name name)
{
    for (int i = 0; i < o->names.n; i++)
        if (o->names.items[i] == name)
            return true;
    return false;
}

/* A name that neither the kernel nor the step has used: base, base_1, base_2 ... */
static Name fresh_name(Sort *o, const char *base)
{
    Context *c = o->s->ctx;
    Name name = sched_fresh_name(o->s, base);
    for (int i = 1; is_taken(o, name); i++)
        name = sched_fresh_name(o->s, arena_printf(c->arena, "%s_%d", base, i));
    VEC_PUSH(c->arena, &o->names, name);
    return name;
}

/* The store  of[a, b] op= value. */
static Stmt *assign(const Sort *o, Expr *load, StoreOp op, Expr *value)
{
    BufferElement to = {load->u.load.buffer, load->u.load.index};
    return stmt_assign(o->s->ctx, to, op, value, o->origin);
}

static Expr *number(const Sort *o, int64_t value)
{
    return expr_int(o->s->ctx, o->type, value, o->origin);
}

/* The row of iteration `i`; the one behind the last where it does not exist. */
static Expr *found_row(const Sort *o, Expr *i)
{
    Context *c = o->s->ctx;
    Expr *row = expr_subst(c, o->key, &(Subst){o->iter.var, i}, 1);
    if (o->inside)
        return row;
    Expr *exists =
        binary(o, EX_AND, binary(o, EX_GE, row, expr_index(c, 0)), binary(o, EX_LT, row, o->rows));
    return expr_select(c, exists, row, o->rows, o->origin);
}

/* The same as passes read it: two roundings of a subscript may differ, so it is computed once. */
static Expr *row_of(const Sort *o, Expr *i)
{
    return o->row ? as_index(o, element(o, o->row, i, NULL)) : found_row(o, i);
}

/* The iteration at place q before pass k. */
static Expr *iteration_at(const Sort *o, int k, Expr *q)
{
    return k == 0 ? q : as_index(o, element(o, o->passes[k - 1].order, q, NULL));
}

static Expr *digit_at(const Sort *o, int k, Expr *q)
{
    Context *c = o->s->ctx;
    Expr *row = row_of(o, iteration_at(o, k, q));
    if (k > 0)
        row = binary(o, EX_DIV, row, expr_index(c, o->passes[k].below));
    return k == o->n_passes - 1 ? row : binary(o, EX_MOD, row, expr_index(c, o->radix));
}

/* ---- nests ----------------------------------------------------------------------------------- */

/* Loops from 0, and how many of them give a temporary of their own, or choose elements. */
typedef struct {
    ForStmt loops[2];
    Expr *at[2]; /* their variables */
    int n, n_spatial;
} Nest;

static void add_loop(const Sort *o, Nest *nest, const char *name, Expr *extent)
{
    Context *c = o->s->ctx;
    ForStmt *loop = &nest->loops[nest->n];
    *loop = flow_loop(o->s, sched_fresh_name(o->s, name), expr_index(c, 0), extent);
    nest->at[nest->n++] = expr_var(c, loop->var, o->origin);
}

static Nest nest_over(const Sort *o, const char *name, Expr *extent)
{
    Nest nest = {.n = 0};
    add_loop(o, &nest, name, extent);
    return nest;
}

/* A block in the loops, named after what it writes. */
static Stmt *block_in(Sort *o, const Nest *nest, Stmt *init, Stmt *body)
{
    Context *c = o->s->ctx;
    const ForStmt *loops[2] = {&nest->loops[0], &nest->loops[1]};
    Name name = fresh_name(o, block_implied_name(c, body));
    return block_implied(c, &(ImpliedBlock){.loops = loops,
                                            .n_loops = nest->n,
                                            .n_spatial = nest->n_spatial,
                                            .name = name,
                                            .init = init,
                                            .body = body,
                                            .span = o->origin});
}

static Stmt *in_loops(const Sort *o, Nest *nest, Stmt *body)
{
    for (int i = nest->n - 1; i >= 0; i--) {
        nest->loops[i].body = body;
        body = stmt_for(o->s->ctx, &nest->loops[i], o->origin);
    }
    return body;
}

static void add_nest(Sort *o, Nest *nest, Stmt *body)
{
    VEC_PUSH(o->s->ctx->arena, &o->nests, in_loops(o, nest, body));
}

static Buffer *temp_of(Sort *o, DType type, const char *suffix, Expr *a, Expr *b)
{
    Context *c = o->s->ctx;
    Expr *extents[2] = {a, b};
    int rank = (a != NULL) + (b != NULL);
    Buffer *buffer = buffer_new(
        c, &(Buffer){.name = fresh_name(o, arena_printf(c->arena, "%s_%s", o->to->name, suffix)),
                     .type = type,
                     .rank = rank,
                     .shape = stage_shape(o->s, extents, rank),
                     .role = ROLE_TEMP,
                     .scope = SCOPE_GLOBAL,
                     .span = o->to->span,
                     .origin = o->origin});
    VEC_PUSH(c->arena, &o->temps, stmt_temp(c, buffer, o->origin));
    return buffer;
}

static Buffer *temp(Sort *o, const char *suffix, Expr *a, Expr *b)
{
    return temp_of(o, o->type, suffix, a, b);
}

/* A nest that clears a buffer. */
static void clear(Sort *o, Buffer *buffer)
{
    Nest nest = nest_over(o, "r", buffer->shape[0]);
    if (buffer->rank > 1)
        add_loop(o, &nest, "p", buffer->shape[1]);
    Expr *to = element(o, buffer, nest.at[0], nest.at[1]);
    add_nest(o, &nest, block_in(o, &nest, NULL, assign(o, to, STORE_SET, number(o, 0))));
}

/* first[row]: how many iterations have rows before it. */
static void scan_rows(Sort *o)
{
    Context *c = o->s->ctx;
    Buffer *sum = temp(o, "sum", NULL, NULL);
    Nest none = {.n = 0}, nest = nest_over(o, "r", o->first->shape[0]);
    Expr *value = element(o, sum, NULL, NULL);
    Expr *first = element(o, o->first, nest.at[0], NULL);
    Expr *each = element(o, o->count, nest.at[0], NULL);
    add_nest(o, &none, block_in(o, &none, NULL, assign(o, value, STORE_SET, number(o, 0))));
    Stmt *before = block_in(o, &nest, NULL, assign(o, first, STORE_SET, value));
    Stmt *update = block_in(o, &nest, NULL, assign(o, value, STORE_ADD, each));
    add_nest(o, &nest, stmt_then(c, before, update));
}

/* The row is an integer that stands in memory. */
static bool stands_in_memory(const Expr *key)
{
    const Expr *read = key->kind == EX_CAST ? key->u.arg[0] : key;
    if (read->kind != EX_LOAD || !type_is_int(read->type))
        return false;
    for (int i = 0; i < read->u.load.buffer->rank; i++)
        if (expr_has_load(read->u.load.index[i]))
            return false;
    return true;
}

/* row[q], unless it stands in memory as it is. */
static void find_rows(Sort *o)
{
    Context *c = o->s->ctx;
    if (o->inside && stands_in_memory(o->key))
        return;
    Nest nest = nest_over(o, "q", o->n);
    Expr *row = expr_cast(c, o->row_type, found_row(o, nest.at[0]), o->origin);
    Buffer *rows = temp_of(o, o->row_type, "row", o->n, NULL);
    Expr *to = element(o, rows, nest.at[0], NULL);
    add_nest(o, &nest, block_in(o, &nest, NULL, assign(o, to, STORE_SET, row)));
    o->row = rows;
}

/* count[row] and first[row], for one row more than there are. */
static Stmt *count_rows(Sort *o)
{
    Context *c = o->s->ctx;
    Expr *all = index_add(c, o->rows, expr_index(c, 1));
    o->count = temp(o, "count", all, NULL);
    o->first = temp(o, "first", all, NULL);
    clear(o, o->count);
    Nest nest = nest_over(o, "q", o->n);
    Expr *to = element(o, o->count, row_of(o, nest.at[0]), NULL);
    Stmt *block = block_in(o, &nest, NULL, assign(o, to, STORE_ADD, number(o, 1)));
    add_nest(o, &nest, block);
    scan_rows(o);
    return block;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Passes use the same memory, but for two orders in turn. */
static void declare_pass(Sort *o, int k)
{
    Expr *digits = expr_index(o->s->ctx, o->radix);
    Pass *pass = &o->passes[k], *first = &o->passes[0];
    if (k > 0) {
        int64_t below = pass->below;
        *pass = *first;
        pass->below = below;
    } else {
        pass->tally = temp(o, "tally", digits, o->chunks);
        pass->total = temp(o, "total", digits, NULL);
        pass->start = temp(o, "start", digits, NULL);
        pass->next = temp(o, "next", digits, o->chunks);
        pass->rank = temp(o, "rank", o->n, NULL);
    }
    pass->order = k < 2 ? temp(o, "order", o->n, NULL) : o->passes[k - 2].order;
}

/* A nest that adds up what the inner loop gives to the elements of the outer one. */
static void add_sum(Sort *o, Nest *nest, Buffer *sums, Expr *value)
{
    Expr *sum = element(o, sums, nest->at[0], NULL);
    add_nest(o, nest,
             block_in(o, nest, assign(o, sum, STORE_SET, number(o, 0)),
                      assign(o, sum, STORE_ADD, value)));
}

/* tally[digit, chunk], and total[digit]. */
static void tally(Sort *o, int k)
{
    Context *c = o->s->ctx;
    Pass *pass = &o->passes[k];
    clear(o, pass->tally);
    Nest nest = nest_over(o, "q", o->n);
    Expr *chunk = binary(o, EX_DIV, nest.at[0], expr_index(c, o->chunk));
    Expr *to = element(o, pass->tally, digit_at(o, k, nest.at[0]), chunk);
    pass->blocks[0] = block_in(o, &nest, NULL, assign(o, to, STORE_ADD, number(o, 1)));
    add_nest(o, &nest, pass->blocks[0]);

    Nest sums = nest_over(o, "r", expr_index(c, o->radix));
    add_loop(o, &sums, "p", o->chunks);
    add_sum(o, &sums, pass->total, element(o, pass->tally, sums.at[0], sums.at[1]));
}

/* start[digit]: how many iterations have smaller digits. Digits are few, so each adds them up. */
static void start(Sort *o, int k)
{
    Context *c = o->s->ctx;
    Pass *pass = &o->passes[k];
    Nest nest = nest_over(o, "r", expr_index(c, o->radix));
    add_loop(o, &nest, "d", expr_index(c, o->radix));
    Expr *less = binary(o, EX_LT, nest.at[1], nest.at[0]);
    Expr *total = element(o, pass->total, nest.at[1], NULL);
    add_sum(o, &nest, pass->start, expr_select(c, less, total, number(o, 0), o->origin));
}

/* next[digit, chunk]: the place of the first iteration of a chunk that has the digit. */
static void scan_chunks_of_digits(Sort *o, int k)
{
    Context *c = o->s->ctx;
    Pass *pass = &o->passes[k];
    Buffer *running = temp(o, "on", NULL, NULL);
    Stmt *own = o->temps.items[--o->temps.n]; /* of a row */
    Nest row = nest_over(o, "r", expr_index(c, o->radix));
    Expr *on = element(o, running, NULL, NULL);
    Stmt *first =
        block_in(o, &row, NULL, assign(o, on, STORE_SET, element(o, pass->start, row.at[0], NULL)));
    Nest both = row;
    add_loop(o, &both, "p", o->chunks);
    both.n_spatial = 1;
    Stmt *next = block_in(o, &both, NULL,
                          assign(o, element(o, pass->next, both.at[0], both.at[1]), STORE_SET, on));
    Stmt *update = block_in(
        o, &both, NULL, assign(o, on, STORE_ADD, element(o, pass->tally, both.at[0], both.at[1])));
    Nest chunks = {.loops = {both.loops[1]}, .n = 1};
    Stmt *items[3] = {own, first, in_loops(o, &chunks, stmt_then(c, next, update))};
    add_nest(o, &row, stmt_seq(c, items, 3, o->origin));
}

/* The block where the condition holds. */
static Stmt *where(const Sort *o, Stmt *node, Expr *cond)
{
    BlockStmt block = node->u.block;
    block.predicate = cond;
    return stmt_block(o->s->ctx, &block, o->origin);
}

/* rank[q]: the place of an iteration. */
static void rank(Sort *o, int k)
{
    Context *c = o->s->ctx;
    Pass *pass = &o->passes[k];
    Nest nest = nest_over(o, "p", o->chunks);
    add_loop(o, &nest, "c", expr_index(c, o->chunk));
    Expr *q = binary(o, EX_ADD, binary(o, EX_MUL, nest.at[0], expr_index(c, o->chunk)), nest.at[1]);
    Expr *next = element(o, pass->next, digit_at(o, k, q), nest.at[0]);
    Stmt *own =
        block_in(o, &nest, NULL, assign(o, element(o, pass->rank, q, NULL), STORE_SET, next));
    Stmt *bump = block_in(o, &nest, NULL, assign(o, next, STORE_ADD, number(o, 1)));
    int64_t n;
    if (!expr_is_const(o->n, &n) || n % o->chunk != 0) {
        Expr *exists = binary(o, EX_LT, q, o->n);
        own = where(o, own, exists);
        bump = where(o, bump, exists);
    }
    pass->blocks[1] = own;
    add_nest(o, &nest, stmt_then(c, own, bump));
}

/* order[rank[q]]: the iteration at a place. Places are a permutation. */
static void place(Sort *o, int k)
{
    Context *c = o->s->ctx;
    Pass *pass = &o->passes[k];
    Nest nest = nest_over(o, "q", o->n);
    Expr *at = as_index(o, element(o, pass->rank, nest.at[0], NULL));
    Expr *value = k == 0 ? expr_cast(c, o->type, nest.at[0], o->origin)
                         : element(o, o->passes[k - 1].order, nest.at[0], NULL);
    Stmt *node =
        block_in(o, &nest, NULL, assign(o, element(o, pass->order, at, NULL), STORE_SET, value));
    BlockStmt block = node->u.block;
    block.annotations = annotations_with(
        c, block.annotations,
        (Annotation){.key = ctx_name(c, annotation_info(ANNOTATION_DISTINCT)->name),
                     .kind = ANNOTATION_INT,
                     .i = 1});
    pass->blocks[2] = stmt_block(c, &block, o->origin);
    add_nest(o, &nest, pass->blocks[2]);
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct {
    const Sort *o;
    Expr *row;
} OwnRow;

static Expr *const *row_index(const OwnRow *own, Expr *const *index)
{
    const Sort *o = own->o;
    Expr **out = ARENA_ARRAY(o->s->ctx->arena, Expr *, o->to->rank);
    for (int i = 0; i < o->to->rank; i++)
        out[i] = i == o->axis ? own->row : index[i];
    return out;
}

static Expr *in_row_expr(Rewriter *r, Expr *e)
{
    const OwnRow *own = r->user;
    return expr_is_load(e, own->o->to)
               ? expr_load_like(r->ctx, e, e->u.load.buffer, row_index(own, e->u.load.index))
               : e;
}

static Stmt *in_row_stmt(Rewriter *r, Stmt *s)
{
    const OwnRow *own = r->user;
    return s->kind == ST_STORE && s->u.store.buffer->id == own->o->to->id
               ? stmt_store_like(r->ctx, s, s->u.store.buffer, row_index(own, s->u.store.index),
                                 s->u.store.value)
               : s;
}

/* The block with the loop over the iterations of a row in its body. */
static Stmt *block_of_rows(const Sort *o, const ForStmt *rows)
{
    Context *c = o->s->ctx;
    BlockStmt block = o->node->u.block;
    Var *row = var_new(c, rows->var->name, DT_INDEX, VAR_ITER, o->origin);
    OwnRow own = {o, expr_var(c, row, o->origin)};
    Expr *next = binary(o, EX_ADD, own.row, expr_index(c, 1));
    ForStmt loop = flow_loop(o->s, sched_fresh_name(o->s, "k"),
                             as_index(o, element(o, o->first, own.row, NULL)),
                             as_index(o, element(o, o->first, next, NULL)));
    Rewriter r = {.ctx = c, .user = &own, .expr = in_row_expr, .stmt = in_row_stmt};
    Expr *i = iteration_at(o, o->n_passes, expr_var(c, loop.var, o->origin));
    loop.body = stmt_subst(c, rewrite_stmt(&r, block.body), &(Subst){o->iter.var, i}, 1);
    block.body = stmt_for(c, &loop, o->node->span);
    BlockIter *iters = block_own_iters(c, &block, 0);
    for (int k = 0; k < block.n_iters; k++)
        if (iters[k].var == o->iter.var)
            iters[k] = (BlockIter){row, expr_index(c, 0), o->rows,
                                   expr_var(c, rows->var, o->origin), ITER_SPATIAL};
    Name mark = ctx_name(c, annotation_info(ANNOTATION_DISTINCT)->name);
    block.annotations = annotations_without(c, block.annotations, mark);
    return stmt_stamp(stmt_block(c, &block, o->node->span), o->node);
}

/* The nest of the block, over rows. */
static Stmt *nest_of_rows(Sort *o, Stmt **block)
{
    Context *c = o->s->ctx;
    Stmt *loop = o->path.items[o->at];
    ForStmt rows = flow_loop(o->s, sched_fresh_name(o->s, "row"), expr_index(c, 0), o->rows);
    *block = rows.body = block_of_rows(o, &rows);
    return stmt_replace(c, o->path.items[o->top], loop, stmt_for(c, &rows, loop->span));
}

/* ---- the step -------------------------------------------------------------------------------- */

static void sort(Sort *o)
{
    int64_t below = 1;
    for (int k = 0; k < o->n_passes; k++) {
        o->passes[k].below = below;
        below *= o->radix;
        declare_pass(o, k);
        tally(o, k);
        start(o, k);
        scan_chunks_of_digits(o, k);
        rank(o, k);
        place(o, k);
    }
}

static Value blocks_made(const Sort *o, Stmt *rows, Stmt *count)
{
    Value blocks[2 + 3 * MOST_PASSES] = {value_block(rows), value_block(count)};
    int n = 2;
    for (int k = 0; k < o->n_passes; k++)
        for (int i = 0; i < 3; i++)
            blocks[n++] = value_block(o->passes[k].blocks[i]);
    return value_list(o->s, blocks, n);
}

/* A type for numbers up to that of sizes. */
static DType type_up_to(const Sort *o, Facts *facts, Expr *most)
{
    Expr *largest = expr_index(o->s->ctx, INT32_MAX);
    return prove_compare(facts, most, EX_LE, largest) ? DT_I32 : DT_I64;
}

static bool find(Sort *o, const PrimCall *call)
{
    Schedule *s = o->s;
    Context *c = s->ctx;
    if (!find_nest(o, call) || !check_block(o))
        return false;
    o->node = flow_write_out_subscripts(s, o->node, &o->path, o->to);
    if (!find_iter(o) || !find_key(o) || !choose_numbers(o, call))
        return false;
    Facts *facts = sched_facts(s, &o->path);
    facts_enter(facts, o->node);
    if (!check_loads(o, facts))
        return false;
    o->n = o->iter.hi;
    o->rows = o->to->shape[o->axis];
    o->inside = prove_inside(facts, o->key, o->rows);
    o->type = type_up_to(o, facts, o->n);
    o->row_type = type_up_to(o, facts, o->rows);
    o->chunks = simplify(facts, index_ceildiv(c, o->n, expr_index(c, o->chunk)));
    return count_passes(o, facts);
}

bool prim_sort_updates(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Sort o = {.s = s, .span = call->sort_updates.loop.span, .origin = call->span};
    if (!find(&o, call))
        return false;

    find_rows(&o);
    Stmt *count = count_rows(&o), *block;
    sort(&o);
    VEC_PUSH(c->arena, &o.nests, nest_of_rows(&o, &block));
    Stmt *body = stmt_replace(c, s->kernel->body, o.path.items[o.top],
                              stmt_seq(c, o.nests.items, o.nests.n, call->span));
    for (int i = 0; i < o.temps.n; i++)
        body = flow_declare(s, body, o.temps.items[i]->u.temp);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    s->has_distinct = s->proves_distinct = true;
    sched_replace_body(s, body);
    *result = blocks_made(&o, block, count);
    return true;
}
