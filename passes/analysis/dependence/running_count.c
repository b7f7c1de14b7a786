/* running_count.c - Proves that a block which stores at a running count stores to other elements in
 * each iteration.
 *
 *   for i in N {                        for i in N {
 *       if x[i] > 0                         at[i] = count;
 *           y[count] = x[i];                count += x[i] > 0 ? 1 : 0;
 *       if x[i] > 0                     }
 *           count += 1;                 for i in N
 *   }                                       if x[i] > 0  y[at[i]] = x[i];
 *
 * A count is an element to which a loop only adds terms that are never negative: its values never
 * fall. Between two iterations that store, the update of one of them runs: that of the earlier one
 * if it stands behind the place where the count is read, else that of the later one. If the
 * conditions of the store imply that this update runs, and adds at least 1, the two read different
 * values. The place may also be read from an array to which one block stores the count, each
 * element once.
 *
 * The loop may be added to the count n: n + i grows in each iteration. i - n is the place of an
 * element among those that are not counted. It never falls if an iteration counts at most 1, and
 * grows where the conditions of the store imply that it counts none.
 *
 * An integer of b bits wraps around, so it has different values only where the terms add up to less
 * than 2^b. One of 64 bits has room for more iterations than any run has.
 *
 * Subscripts of other axes that are loops themselves tell their iterations apart: the outermost
 * loops of the store may be such rows, and each row counts anew or goes on. */
#include "passes/analysis/dependence/running_count.h"

#include "passes/analysis/dependence/count_conditions.h"
#include "passes/analysis/dependence/model.h"

/* A block that stores once, under conditions and behind lets alone, in loops that each give one of
 * its iterators all values, in their order. */
typedef struct {
    const Stmt *block;
    StmtPath path;        /* from the kernel's body down to the block */
    EnclosingList around; /* the same, with the branches of conditions */
    StmtList loops;
    const StoreStmt *store;
    EnclosingList inside; /* conditions and lets of the block around the store */
    SubstList values;     /* of iterators and lets, in terms of loops */
} Place;

/* A subscript  a + sign * c + slope * i  of an element c of a buffer and the loop i, where a is the
 * same in all iterations that count. */
typedef struct {
    const Expr *load; /* c */
    int sign;         /* 1 or -1 */
    int64_t slope;
    int bits; /* sums that differ modulo 2^bits give different subscripts */
} Counter;

typedef struct {
    Context *c;
    const Kernel *kernel;
    Place store;     /* at the count */
    int n_rows;      /* the outermost loops of the store that other subscripts name */
    Counter counter; /* the count, where it is read; */
    Place reader; /* the block that reads it: the store's own, or one that keeps it in an array */
    int first;    /* the outermost loop of the reader whose iterations count */
    SubstList mapped; /* loops of the reader as those of the store */
    bool *met;        /* [loops of the store] those that loops of the reader are mapped to */
    const char *why;
} Count;

static bool refuse(Count *k, const char *why)
{
    k->why = why;
    return false;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static Expr *in_loops(const Count *k, const Place *p, Expr *e)
{
    return expr_subst(k->c, e, p->values.items, p->values.n);
}

/* The iterators are the loops around, with their ranges. */
static bool iterates_loops(const Count *k, const Place *p)
{
    const BlockStmt *b = &p->block->u.block;
    bool same = b->n_iters == p->loops.n;
    for (int i = 0; same && i < b->n_iters; i++) {
        const ForStmt *loop = &p->loops.items[i]->u.loop;
        Expr *lo, *hi;
        loop_domain(k->c, loop, &lo, &hi);
        same = expr_is_var(b->iters[i].binding, loop->var) &&
               expr_equal(iters_to_loops(k->c, b, b->iters[i].lo), lo) &&
               expr_equal(iters_to_loops(k->c, b, b->iters[i].hi), hi);
    }
    return same;
}

static void enter_values(const Count *k, Place *p)
{
    const BlockStmt *b = &p->block->u.block;
    for (int i = 0; i < b->n_iters; i++)
        VEC_PUSH(k->c->arena, &p->values, ((Subst){b->iters[i].var, b->iters[i].binding}));
    for (int i = 0; i < p->inside.n; i++) {
        const Stmt *s = p->inside.items[i].stmt;
        if (s->kind == ST_LET)
            VEC_PUSH(k->c->arena, &p->values,
                     ((Subst){s->u.let.var, in_loops(k, p, s->u.let.value)}));
    }
}

static bool find_place(const Count *k, const Stmt *block, Place *p)
{
    Context *c = k->c;
    const BlockStmt *b = &block->u.block;
    AccessList writes = access_list(c, block, NULL, ACCESS_WRITE);
    *p = (Place){.block = block};
    if (b->init || b->instruction || writes.n != 1 || !writes.items[0].store)
        return false;
    const Access *write = &writes.items[0];
    p->store = &write->store->u.store;
    for (int i = 0; i < write->path.n; i++) {
        StmtKind kind = write->path.items[i].stmt->kind;
        if (kind != ST_IF && kind != ST_LET && kind != ST_BLOCK)
            return false;
    }
    p->inside = write->path;
    p->path = stmt_path_to(c, k->kernel->body, block);
    stmt_enclosing(c, k->kernel->body, block, &p->around);
    p->loops = enclosing_loops(c, &p->around);
    enter_values(k, p);
    return p->path.n > 0 && iterates_loops(k, p);
}

/* The place of the loop of that variable; -1: none. */
static int loop_of(const Place *p, const Expr *e)
{
    for (int i = 0; i < p->loops.n; i++)
        if (expr_is_var(e, p->loops.items[i]->u.loop.var))
            return i;
    return -1;
}

/* Loops of the place from number `from` on stand in the expression. */
static bool uses_loops(const Place *p, const Expr *e, int from)
{
    for (int i = from; i < p->loops.n; i++)
        if (expr_uses_var(e, p->loops.items[i]->u.loop.var))
            return true;
    return false;
}

/* Its conditions, in terms of loops, but those of `other`, which encloses it likewise. */
static void add_conditions(const Count *k, const Place *p, const Place *other, KnownList *out)
{
    Context *c = k->c;
    for (int i = 0; i < p->around.n; i++) {
        Enclosing at = p->around.items[i];
        bool shared = false;
        for (int n = 0; other && n < other->around.n; n++)
            shared |= other->around.items[n].stmt == at.stmt &&
                      other->around.items[n].otherwise == at.otherwise;
        if (at.stmt->kind == ST_IF && !shared)
            VEC_PUSH(c->arena, out,
                     ((Known){at.stmt->u.cond.cond, at.otherwise ? HOLDS_NOT : HOLDS}));
    }
    if (p->block->u.block.predicate)
        VEC_PUSH(c->arena, out, ((Known){p->block->u.block.predicate, HOLDS}));
    for (int i = 0; i < p->inside.n; i++) {
        Enclosing at = p->inside.items[i];
        if (at.stmt->kind == ST_IF)
            VEC_PUSH(
                c->arena, out,
                ((Known){in_loops(k, p, at.stmt->u.cond.cond), at.otherwise ? HOLDS_NOT : HOLDS}));
    }
}

/* ---- the count ------------------------------------------------------------------------------- */

static int bits_of(DType type)
{
    return type == DT_INDEX ? 64 : type_info(type)->bits;
}

/* Loops of a place whose iterations count, and a subscript in them. */
typedef struct {
    const Count *k;
    const Place *p;
    int from; /* the outermost of these loops */
} Counting;

/* The expression has one value in all iterations of the loops. */
static bool is_same(const Counting *in, const Expr *e)
{
    const Stmt *loop = in->p->loops.items[in->from];
    if (uses_loops(in->p, e, in->from))
        return false;
    for (Cursor at = cursor_expr(in->k->c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD &&
            stmt_accesses(in->k->c, loop, at.expr->u.load.buffer, ACCESS_WRITE))
            return false;
    return true;
}

/* Adds sign * e; false where that is no sum of one element of a buffer, what is the same in all
 * iterations, and the innermost loop. */
static bool add_terms(const Counting *in, const Expr *e, int sign, Counter *out)
{
    if (!type_is_int(e->type))
        return false;
    if (bits_of(e->type) < out->bits)
        out->bits = bits_of(e->type);
    Expr *const *arg = e->u.arg;
    switch (e->kind) {
    case EX_CAST: return add_terms(in, arg[0], sign, out);
    case EX_NEG: return add_terms(in, arg[0], -sign, out);
    case EX_ADD: return add_terms(in, arg[0], sign, out) && add_terms(in, arg[1], sign, out);
    case EX_SUB: return add_terms(in, arg[0], sign, out) && add_terms(in, arg[1], -sign, out);
    default: break;
    }
    if (is_same(in, e))
        return true;
    if (e->kind == EX_LOAD && !out->load && !e->u.load.buffer->view_of) {
        out->load = e;
        out->sign = sign;
        return true;
    }
    out->slope += sign;
    return loop_of(in->p, e) == in->p->loops.n - 1 && in->from == in->p->loops.n - 1;
}

static bool find_counter(const Counting *in, const Expr *e, Counter *out)
{
    return add_terms(in, e, 1, out) && out->load;
}

/* The outermost loops of the store that are subscripts by themselves, and the first other one that
 * is an element of a buffer. */
static bool find_subscripts(Count *k)
{
    const StoreStmt *store = k->store.store;
    Arena *arena = k->c->arena;
    bool *named = ARENA_ARRAY(arena, bool, k->store.loops.n + 1);
    k->met = ARENA_ARRAY(arena, bool, k->store.loops.n + 1);
    for (int i = 0; i < store->buffer->rank; i++) {
        int loop = loop_of(&k->store, in_loops(k, &k->store, store->index[i]));
        if (loop >= 0)
            named[loop] = true;
    }
    while (k->n_rows < k->store.loops.n && named[k->n_rows])
        k->n_rows++;
    for (int i = k->n_rows; i < k->store.loops.n; i++)
        k->met[i] = named[i];
    for (int i = 0; i < store->buffer->rank && !k->counter.load; i++) {
        Counter counter = {.bits = 64};
        Counting in = {k, &k->store, k->n_rows};
        if (k->n_rows < k->store.loops.n &&
            find_counter(&in, in_loops(k, &k->store, store->index[i]), &counter))
            k->counter = counter;
    }
    if (store->op != STORE_SET || !k->counter.load)
        return refuse(k, "no subscript of its one plain store is a count, with or without a "
                         "number added, that goes through its loops");
    return true;
}

/* How many loops are around the declaration of a temp. */
static int loops_around(const Count *k, const Buffer *buffer)
{
    for (Cursor at = cursor_with_path(cursor_outer(k->c, k->kernel->body), NULL); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP && at.stmt->u.temp->id == buffer->id)
            return enclosing_loops(k->c, &at.path).n;
    return 0;
}

/* Loop `i` of the reader is an axis of the array; the store reads it at loop `*to` of its own. */
static bool map_loop(const Count *k, const Expr *load, int i, int *to)
{
    for (int d = 0; d < load->u.load.buffer->rank; d++) {
        Expr *at = in_loops(k, &k->reader, k->reader.store->index[d]);
        if (loop_of(&k->reader, at) != i)
            continue;
        *to = loop_of(&k->store, load->u.load.index[d]);
        return *to >= 0;
    }
    return false;
}

/* The store reads the array at loops of its own, each in the place of one of the reader, which
 * stores each element once. */
static bool map_loops(Count *k, const Expr *load)
{
    const Buffer *array = load->u.load.buffer;
    int shared = loops_around(k, array), to;
    k->first = -1;
    if (shared > k->n_rows || array->rank != k->reader.loops.n - shared)
        return false;
    for (int i = 0; i < shared; i++)
        if (k->store.loops.n <= i || k->store.loops.items[i] != k->reader.loops.items[i])
            return false;
    for (int i = shared; i < k->reader.loops.n; i++) {
        if (!map_loop(k, load, i, &to))
            return false;
        for (int n = 0; n < k->mapped.n; n++)
            if (k->mapped.items[n].value->u.var == k->store.loops.items[to]->u.loop.var)
                return false;
        if (k->first < 0 && to >= k->n_rows)
            k->first = i;
        k->met[to] = true;
        VEC_PUSH(k->c->arena, &k->mapped,
                 ((Subst){k->reader.loops.items[i]->u.loop.var,
                          expr_var(k->c, k->store.loops.items[to]->u.loop.var, span_none())}));
    }
    return k->first >= 0;
}

/* The innermost loop of the store goes along with the only loop of the reader that counts. */
static bool is_counting_loop(Count *k)
{
    const Var *inner = k->store.loops.items[k->store.loops.n - 1]->u.loop.var;
    const Subst *last = &k->mapped.items[k->mapped.n - 1];
    bool same = k->first == k->reader.loops.n - 1 && last->value->u.var == inner;
    return same || refuse(k, "a loop is added to the count that is not the one which counts");
}

/* The count is kept in an array: the block that stores it there is the reader. */
static bool find_array(Count *k)
{
    const Expr *load = k->counter.load;
    const Buffer *array = load->u.load.buffer;
    const Stmt *writer = only_block_accessing(k->c, k->kernel->body, array, ACCESS_WRITE);
    Counter of = k->counter, counter = {.bits = of.bits};
    if (!writer || (array->role != ROLE_TEMP && array->role != ROLE_OUT) ||
        !find_place(k, writer, &k->reader) || k->reader.store->op != STORE_SET ||
        !map_loops(k, load) ||
        !find_counter(&(Counting){k, &k->reader, k->first},
                      in_loops(k, &k->reader, k->reader.store->value), &counter))
        return refuse(k, "what it reads its places from is neither a count nor an array of which "
                         "one block stores each element once, a count");
    /* The loop of the store that has a slope is the one that counts, which has one in its place. */
    counter.slope = of.sign * counter.slope + of.slope;
    counter.sign *= of.sign;
    k->counter = counter;
    return of.slope == 0 || is_counting_loop(k);
}

/* A buffer that other loops update is a count; else an array keeps one. */
static bool find_reader(Count *k)
{
    const Stmt *loop = k->store.loops.items[k->n_rows];
    if (!stmt_accesses(k->c, loop, k->counter.load->u.load.buffer, ACCESS_WRITE) ||
        uses_loops(&k->store, k->counter.load, k->n_rows))
        return find_array(k);
    k->reader = k->store;
    k->first = k->n_rows;
    return true;
}

/* ---- the loop that counts -------------------------------------------------------------------- */

static const Stmt *counting_loop(const Count *k)
{
    return k->reader.loops.items[k->first];
}

/* Iterations of the loops of the place from the counting one inwards; false where too many, or not
 * known. */
static bool count_iterations(const Count *k, const Place *p, int64_t *out)
{
    Facts *facts = facts_of_kernel(k->c, k->kernel);
    bool inside = false;
    *out = 1;
    for (int i = 0; i < p->loops.n; i++) {
        const ForStmt *loop = &p->loops.items[i]->u.loop;
        int64_t min, max;
        Expr *lo, *hi;
        inside |= p->loops.items[i] == counting_loop(k);
        if (!inside)
            continue;
        loop_domain(k->c, loop, &lo, &hi);
        Expr *extent = simplify(facts, index_sub(k->c, hi, lo));
        if (!bounds_const(facts, extent, &min, &max) || max == INT64_MAX ||
            !checked_mul(*out, max > 0 ? max : 0, out))
            return false;
    }
    return true;
}

/* One block of the counting loop adds no negative term to the count; adds what all of its terms are
 * at most to *sum, -1 where that is not known. */
static bool only_adds(const Count *k, const Stmt *block, int64_t *sum, int64_t *largest)
{
    Place p;
    int64_t times, all;
    if (!find_place(k, block, &p) || p.store->op != STORE_ADD)
        return false;
    Bounds term = term_range(k->kernel, in_loops(k, &p, p.store->value));
    if (!bounds_are_finite(term) || term.min < 0)
        return false;
    *largest = term.max > *largest ? term.max : *largest;
    bool known = *sum >= 0 && count_iterations(k, &p, &times) &&
                 checked_mul(times, term.max, &all) && checked_add(*sum, all, sum);
    *sum = known ? *sum : -1;
    return true;
}

/* What the slope adds to the count in one iteration, as if the count were added with sign 1. */
static int64_t slope_of(const Count *k)
{
    int64_t step = counting_loop(k)->u.loop.step, slope;
    return checked_mul(k->counter.sign * k->counter.slope, step, &slope) ? slope : INT64_MAX;
}

/* Adds what the slope adds in all iterations; -1 where that is not known. */
static int64_t with_slope(const Count *k, int64_t sum)
{
    int64_t times, slope = slope_of(k), all;
    if (slope == 0)
        return sum;
    bool known = sum >= 0 && slope != INT64_MAX && count_iterations(k, &k->reader, &times) &&
                 checked_mul(times, slope < 0 ? -slope : slope, &all) &&
                 checked_add(sum, all, &sum);
    return known ? sum : -1;
}

/* The blocks of the loop that counts which write the count. */
static StmtList count_writers(const Count *k)
{
    return blocks_accessing(k->c, counting_loop(k), k->counter.load->u.load.buffer, ACCESS_WRITE);
}

/* The count never falls in the loop, and its values do not wrap around. */
static bool check_updates(Count *k)
{
    enum { MOST_TERM_BITS = 20 }; /* no run has 2^43 iterations */
    const Buffer *count = k->counter.load->u.load.buffer;
    StmtList blocks = count_writers(k);
    int64_t sum = 0, largest = 0;
    if (stmt_declares(k->c, counting_loop(k), count))
        return refuse(k, "the count is declared in the loop that counts");
    for (int i = 0; i < blocks.n; i++)
        if (!only_adds(k, blocks.items[i], &sum, &largest))
            return refuse(k, "a block of the loop that counts does more to the count than to add a "
                             "term that is never negative");
    int bits = bits_of(count->type) < k->counter.bits ? bits_of(count->type) : k->counter.bits;
    sum = with_slope(k, sum);
    bool few = largest < (int64_t)1 << MOST_TERM_BITS &&
               slope_of(k) < (int64_t)1 << MOST_TERM_BITS &&
               slope_of(k) > -((int64_t)1 << MOST_TERM_BITS);
    bool fits = bits == 64 ? few : sum >= 0 && sum < (int64_t)1 << bits;
    return fits || refuse(k, "the terms may add up to more than the type of the count holds; use "
                             "i64, or say in the `where` clause how large sizes are");
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* The place of the last statement that both paths have. */
static int where_apart(const StmtPath *a, const StmtPath *b)
{
    int at = 0;
    while (at + 1 < a->n && at + 1 < b->n && a->items[at + 1] == b->items[at + 1])
        at++;
    return at;
}

/* An item of the sequence from `from` to `to` writes the buffer, or `to` comes first. */
static bool writes_between(const Count *k, const Stmt *seq, const Stmt *from, const Stmt *to,
                           const Buffer *buffer)
{
    bool inside = false;
    for (int i = 0; i < seq->u.seq.n; i++) {
        inside |= seq->u.seq.items[i] == from;
        if (!inside && seq->u.seq.items[i] == to)
            return true;
        if (inside && stmt_accesses(k->c, seq->u.seq.items[i], buffer, ACCESS_WRITE))
            return true;
        if (inside && seq->u.seq.items[i] == to)
            return false;
    }
    return true;
}

/* Nothing from the counting loop to the store, both included, writes the buffer. */
static bool is_stable(void *user, const Buffer *buffer)
{
    const Count *k = user;
    StmtPath loop = stmt_path_to(k->c, k->kernel->body, counting_loop(k));
    const StmtPath *store = &k->store.path;
    int at = where_apart(&loop, store);
    if (at + 1 >= loop.n) /* the store is in the loop */
        return !stmt_accesses(k->c, counting_loop(k), buffer, ACCESS_WRITE);
    const Stmt *both = loop.items[at];
    return both->kind == ST_SEQ &&
           !writes_between(k, both, loop.items[at + 1], store->items[at + 1], buffer);
}

/* An expression of the update's loops, which are those of the reader, in terms of the store's. */
static Expr *at_store(const Count *k, Expr *e)
{
    return expr_subst(k->c, e, k->mapped.items, k->mapped.n);
}

/* The update is in exactly those loops of the reader that count. Where the store reads the count
 * itself, it may be in more loops inside, whose variables other subscripts name. */
static bool shares_loops(const Count *k, const Place *update)
{
    bool own = k->reader.block == k->store.block;
    if (update->loops.n > k->reader.loops.n || update->loops.n <= k->first ||
        (!own && update->loops.n != k->reader.loops.n))
        return false;
    for (int i = 0; i < update->loops.n; i++)
        if (update->loops.items[i] != k->reader.loops.items[i] ||
            (i >= k->first && !loop_has_order(&update->loops.items[i]->u.loop)))
            return false;
    return true;
}

static bool same_element(const Count *k, const Place *update)
{
    const Expr *load = k->counter.load;
    for (int d = 0; d < load->u.load.buffer->rank; d++) {
        Expr *at = load->u.load.index[d];
        if (expr_has_load(at) || uses_loops(&k->reader, at, k->first) ||
            !expr_equal(at, in_loops(k, update, update->store->index[d])))
            return false;
    }
    return true;
}

/* What holds where the block stores. */
static Conditions at_stores(Count *k)
{
    Conditions known = {.c = k->c, .kernel = k->kernel, .is_stable = is_stable, .user = k};
    KnownList all = {0};
    add_conditions(k, &k->store, NULL, &all);
    for (int i = 0; i < all.n; i++)
        known_add(k->c, &known.known, all.items[i].cond, all.items[i].truth);
    return known;
}

/* Where the block stores, the update runs, and adds at least 1. */
static bool is_counted(Count *k, const Place *update)
{
    Conditions known = at_stores(k);
    KnownList needed = {0};
    add_conditions(k, update, &k->store, &needed);
    for (int i = 0; i < needed.n; i++)
        if (!conditions_imply(&known, at_store(k, needed.items[i].cond), needed.items[i].truth))
            return false;
    return conditions_count(&known, at_store(k, in_loops(k, update, update->store->value)));
}

/* Where the block stores, the update does not run, or adds 0. */
static bool is_left_out(Count *k, const Place *update)
{
    Conditions known = at_stores(k);
    KnownList needed = {0};
    add_conditions(k, update, &k->store, &needed);
    for (int i = 0; i < needed.n; i++)
        if (conditions_imply(&known, at_store(k, needed.items[i].cond), !needed.items[i].truth))
            return true;
    return conditions_leave_out(&known, at_store(k, in_loops(k, update, update->store->value)));
}

/* The loop moves the place away from the count, in each iteration by as much as the only update
 * adds, or more: i - count, of elements that are not counted. */
static bool moves_against(Count *k)
{
    StmtList blocks = count_writers(k);
    int n = 0;
    for (int i = 0; i < blocks.n; i++) {
        Place update;
        if (!find_place(k, blocks.items[i], &update) || !shares_loops(k, &update) ||
            !same_element(k, &update) || !is_left_out(k, &update) || n++ > 0 ||
            term_range(k->kernel, in_loops(k, &update, update.store->value)).max > -slope_of(k))
            return false;
    }
    return true;
}

/* The loops of the store that the first `n` of the reader do not tell apart have subscripts. */
static bool tells_all_apart(const Count *k, int n)
{
    bool all = true;
    for (int i = k->n_rows; i < k->store.loops.n; i++)
        all &= k->met[i] || (k->reader.block == k->store.block && i < n);
    return all;
}

/* An update of the count tells all iterations apart that no other subscript does. */
static bool check_counted(Count *k)
{
    StmtList blocks = count_writers(k);
    for (int i = 0; i < blocks.n; i++) {
        Place update;
        if (find_place(k, blocks.items[i], &update) && shares_loops(k, &update) &&
            same_element(k, &update) && is_counted(k, &update) &&
            tells_all_apart(k, update.loops.n))
            return true;
    }
    return refuse(k, "the conditions of the store do not imply, where they are asked, that the "
                     "count grows in its iteration");
}

/* The same of a count to which the loop is added. */
static bool check_slope(Count *k)
{
    bool ordered = loop_has_order(&counting_loop(k)->u.loop);
    bool apart =
        ordered && tells_all_apart(k, k->reader.loops.n) && (slope_of(k) > 0 || moves_against(k));
    return apart ||
           refuse(k, "the conditions of the store do not imply, where they are asked, that "
                     "the count stands still in its iteration, and other iterations may "
                     "add more to it than to the loop");
}

int running_count_distinct(Context *c, const Kernel *kernel, const Stmt *block, const char **why)
{
    Count k = {.c = c, .kernel = kernel, .why = NULL};
    if (!find_place(&k, block, &k.store))
        refuse(&k, "it is not one store, under conditions alone, whose iterators are its loops");
    else if (find_subscripts(&k) && find_reader(&k) && check_updates(&k) &&
             (slope_of(&k) == 0 ? check_counted(&k) : check_slope(&k)))
        return k.store.loops.n - k.n_rows;
    *why = k.why;
    return 0;
}
