/* poly_memo.c - Memoizes decided sets of rows in a table that compares whole rows.
 *
 * It has an arena of its own, because the arena of the context is cut back after each question. */
#include "passes/analysis/polyhedral/poly_memo.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };
#define MOST_BYTES ((size_t)32 << 20) /* then all is forgotten, and the table begins again */

typedef struct Kept {
    const struct Kept *next;
    uint64_t hash;
    Row *rows; /* columns renamed */
    int n, n_forms;
    Answer answer;
    Bounds *ranges; /* [n_forms] */
} Kept;

struct PolyMemo {
    Arena *arena;
    ArenaMark empty;
    const Kept *buckets[BUCKETS];
};

static void out_of_memory(void *user, size_t wanted)
{
    ctx_fatal(user, FATAL_OUT_OF_MEMORY, "out of memory for %zu bytes in the dependence analysis",
              wanted);
}

PolyMemo *memo_new(Context *c)
{
    PolyMemo *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->arena = arena_new(0, out_of_memory, c);
    if (!m->arena) {
        free(m);
        return NULL;
    }
    m->empty = arena_mark(m->arena);
    return m;
}

void memo_free(PolyMemo *m)
{
    if (m)
        arena_free(m->arena);
    free(m);
}

static uint64_t mix(uint64_t hash, int64_t number)
{
    hash = (hash ^ (uint64_t)number) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_of(Asked asked)
{
    uint64_t hash = mix((uint64_t)asked.n, asked.n_forms);
    for (int i = 0; i < asked.n; i++) {
        Affine form = asked.rows[i].form;
        hash = mix(mix(hash, form.n * 2 + asked.rows[i].equal), form.constant);
        for (int k = 0; k < form.n; k++)
            hash = mix(mix(hash, asked.dimension[form.terms[k].column]), form.terms[k].factor);
    }
    return hash;
}

static bool same_row(const Row *kept, const Row *row, const int *dimension)
{
    if (kept->equal != row->equal || kept->form.n != row->form.n ||
        kept->form.constant != row->form.constant)
        return false;
    for (int k = 0; k < row->form.n; k++)
        if (kept->form.terms[k].column != dimension[row->form.terms[k].column] ||
            kept->form.terms[k].factor != row->form.terms[k].factor)
            return false;
    return true;
}

static bool same_rows(const Kept *kept, Asked asked)
{
    if (kept->n != asked.n || kept->n_forms != asked.n_forms)
        return false;
    for (int i = 0; i < asked.n; i++)
        if (!same_row(&kept->rows[i], &asked.rows[i], asked.dimension))
            return false;
    return true;
}

Answer memo_find(PolyMemo *m, Asked asked, Bounds *ranges)
{
    uint64_t hash = hash_of(asked);
    const Kept *kept = m->buckets[hash % BUCKETS];
    while (kept && (kept->hash != hash || !same_rows(kept, asked)))
        kept = kept->next;
    for (int i = 0; kept && i < asked.n_forms; i++)
        ranges[i] = kept->ranges[i];
    return kept ? kept->answer : POLY_SPENT;
}

static Row renamed(PolyMemo *m, Row row, const int *dimension)
{
    Term *terms = ARENA_ARRAY(m->arena, Term, row.form.n + 1);
    for (int k = 0; k < row.form.n; k++)
        terms[k] = (Term){dimension[row.form.terms[k].column], row.form.terms[k].factor, NULL};
    row.form.terms = terms;
    return row;
}

void memo_keep(PolyMemo *m, Asked asked, Answer answer, const Bounds *ranges)
{
    if (answer == POLY_SPENT)
        return;
    if (arena_used(m->arena) > MOST_BYTES) {
        arena_reset(m->arena, m->empty);
        memset(m->buckets, 0, sizeof m->buckets);
    }
    Kept *kept = ARENA_NEW(m->arena, Kept);
    *kept =
        (Kept){.hash = hash_of(asked), .n = asked.n, .n_forms = asked.n_forms, .answer = answer};
    kept->rows = ARENA_ARRAY(m->arena, Row, asked.n + 1);
    for (int i = 0; i < asked.n; i++)
        kept->rows[i] = renamed(m, asked.rows[i], asked.dimension);
    kept->ranges = ARENA_ARRAY(m->arena, Bounds, asked.n_forms);
    for (int i = 0; i < asked.n_forms; i++)
        kept->ranges[i] = ranges[i];
    kept->next = m->buckets[kept->hash % BUCKETS];
    m->buckets[kept->hash % BUCKETS] = kept;
}
