/* sample.c - Implements the search spaces sample_perfect_tile, sample_categorical and
 * sample_compute_location.
 *
 * In TVM these draw one value. Here they give all of them, the default first, and `tune NAME in
 * ...` takes one: the default, or what --set says. So a schedule runs to the same text every time,
 * and what it leaves open can be enumerated.
 *
 *   sample_perfect_tile(i, 2)    for i in 12    =>    [[1, 12], [2, 6], [3, 4], ..., [12, 1]]
 *
 * Legal: the extent of the loop is a literal; the weights fit the values; compute_at accepts some
 * loop.
 * Invariant: the kernel stays as it is. */
#include <stdlib.h>

#include "passes/schedule/sched.h"

enum { MAX_FACTORS = 16, MAX_TILES = 65536, MAX_INNERMOST = 16 };

typedef VEC(int64_t) Divisors;

typedef struct {
    Schedule *s;
    int n;
    int64_t innermost;           /* the largest last factor */
    Divisors divisors;           /* of the extent, ascending */
    int64_t factor[MAX_FACTORS]; /* of the tile at work */
    int64_t first[MAX_FACTORS];  /* the default */
    ValueList tiles;
    bool too_many;
} Tiles;

static Divisors divisors_of(Schedule *s, int64_t extent)
{
    Divisors all = {0};
    VEC(int64_t) large = {0};
    for (int64_t d = 1; d <= extent / d; d++) {
        if (extent % d)
            continue;
        VEC_PUSH(s->ctx->arena, &all, d);
        if (d != extent / d)
            VEC_PUSH(s->ctx->arena, &large, extent / d);
    }
    for (int i = large.n - 1; i >= 0; i--)
        VEC_PUSH(s->ctx->arena, &all, large.items[i]);
    return all;
}

static void add_tile(Tiles *t, const int64_t *factor)
{
    Value *items = ARENA_ARRAY(t->s->ctx->arena, Value, t->n);
    for (int i = 0; i < t->n; i++)
        items[i] = value_int(factor[i]);
    VEC_PUSH(t->s->ctx->arena, &t->tiles, value_list(t->s, items, t->n));
}

static bool is_first(const Tiles *t)
{
    for (int i = 0; i < t->n; i++)
        if (t->factor[i] != t->first[i])
            return false;
    return true;
}

/* All tiles with the factors before `at` as they are; `rest` is what the others must multiply
 * to. */
static void add_tiles(Tiles *t, int at, int64_t rest)
{
    if (at == t->n - 1) {
        t->factor[at] = rest;
        t->too_many |= t->tiles.n == MAX_TILES;
        if (rest <= t->innermost && !is_first(t) && !t->too_many)
            add_tile(t, t->factor);
        return;
    }
    for (int i = 0; i < t->divisors.n && t->divisors.items[i] <= rest && !t->too_many; i++) {
        if (rest % t->divisors.items[i])
            continue;
        t->factor[at] = t->divisors.items[i];
        add_tiles(t, at + 1, rest / t->divisors.items[i]);
    }
}

/* The default; false where no factor in the last place is small enough. */
static bool find_first(Tiles *t, int64_t extent)
{
    for (int at = t->n - 1; at > 0; at--) {
        t->first[at] = 1;
        for (int i = 0; i < t->divisors.n && t->divisors.items[i] <= t->innermost; i++)
            if (extent % t->divisors.items[i] == 0)
                t->first[at] = t->divisors.items[i];
        extent /= t->first[at];
    }
    t->first[0] = extent;
    return t->n > 1 || extent <= t->innermost;
}

bool prim_sample_perfect_tile(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->sample_perfect_tile.loop, &path);
    int64_t n = call->sample_perfect_tile.n.u.i, extent;
    bool limited = call->sample_perfect_tile.max_innermost.kind != VALUE_NONE;
    int64_t innermost = limited ? call->sample_perfect_tile.max_innermost.u.i : MAX_INNERMOST;
    Name name = stmt_label(loop);
    Expr *count = sched_extent(s, &path);
    REQUIRE(s, E0800, call->span, expr_is_const(count, &extent) && extent >= 1,
            "loop '%s' has %s iterations, but only a literal extent of at least 1 can be "
            "factorized; set its sizes with -D, or tune the factors of split(%s, [_, T]) one by "
            "one: tune T in [8, 16, 32]",
            name, expr_text(s->ctx, count), name);
    REQUIRE(s, E0801, call->span, n >= 1 && n <= MAX_FACTORS && innermost >= 1,
            "found %lld factors, the last at most %lld; expected 1 to %d factors, each at least 1",
            (long long)n, (long long)innermost, MAX_FACTORS);
    Tiles t = {.s = s, .n = (int)n, .innermost = innermost, .divisors = divisors_of(s, extent)};
    REQUIRE(s, E0801, call->span, find_first(&t, extent),
            "loop '%s' has %lld iterations, which a single factor of at most %lld cannot cover; "
            "use more factors, or a larger max_innermost",
            name, (long long)extent, (long long)innermost);
    add_tile(&t, t.first);
    add_tiles(&t, 0, extent);
    REQUIRE(s, E0801, call->span, !t.too_many,
            "loop '%s' has %lld iterations, with factorizations into %lld factors that exceed the "
            "limit of %d; use fewer factors, or a smaller max_innermost",
            name, (long long)extent, (long long)n, MAX_TILES);
    *result = value_list(s, t.tiles.items, t.tiles.n);
    return true;
}

/* ---- sample_categorical ---------------------------------------------------------------------- */

typedef struct {
    int64_t weight;
    int place;
} Weighted;

static int heavier(const void *a, const void *b)
{
    const Weighted *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

bool prim_sample_categorical(Schedule *s, const PrimCall *call, Value *result)
{
    int n = call->sample_categorical.candidates.u.list.n;
    bool weighted = call->sample_categorical.probs.kind != VALUE_NONE;
    const Value *weights = weighted ? call->sample_categorical.probs.u.list.items : NULL;
    REQUIRE(s, E0802, call->span, !weighted || call->sample_categorical.probs.u.list.n == n,
            "found %d candidate%s and %d probabilit%s; give one for each, or none", n,
            n == 1 ? "" : "s", call->sample_categorical.probs.u.list.n,
            call->sample_categorical.probs.u.list.n == 1 ? "y" : "ies");
    Weighted *order = ARENA_ARRAY(s->ctx->arena, Weighted, n);
    Value *values = ARENA_ARRAY(s->ctx->arena, Value, n);
    for (int i = 0; i < n; i++) {
        order[i] = (Weighted){weighted ? weights[i].u.i : 0, i};
        REQUIRE(s, E0802, call->span, order[i].weight >= 0,
                "the probability of candidate %d is %lld; weights are nonnegative", i + 1,
                (long long)order[i].weight);
    }
    qsort(order, (size_t)n, sizeof *order, heavier);
    for (int i = 0; i < n; i++)
        values[i] = call->sample_categorical.candidates.u.list.items[order[i].place];
    *result = value_list(s, values, n);
    return true;
}

/* ---- sample_compute_location ----------------------------------------------------------------- */

/* The loops around the block's first consumer, outermost first: compute_at takes no others. */
static ValueList loops_around_consumer(Schedule *s, const PrimCall *call)
{
    Value consumers;
    StmtPath path = {0};
    if (prim_consumers(s, call, &consumers) && consumers.u.list.n > 0)
        sched_node(s, &consumers.u.list.items[0], &path);
    return value_loops(s, &path);
}

bool prim_sample_compute_location(Schedule *s, const PrimCall *call, Value *result)
{
    const Stmt *block = sched_node(s, &call->sample_compute_location.block, NULL);
    ValueList around = loops_around_consumer(s, call), found = {0};
    PrimCall move = {.primitive = primitive_find("compute_at"), .span = call->span};
    move.compute_at.block = call->sample_compute_location.block;
    for (int i = 0; i < around.n; i++) {
        move.compute_at.loop = around.items[i];
        if (sched_would_accept(s, &move))
            VEC_PUSH(s->ctx->arena, &found, around.items[i]);
    }
    REQUIRE(s, E0806, call->span, found.n > 0,
            "compute_at accepts block '%s' at none of the %d loops around its consumers; "
            "compute_at(%s, LOOP) tells why",
            stmt_label(block), around.n, stmt_label(block));
    *result = value_list(s, found.items, found.n);
    return true;
}
