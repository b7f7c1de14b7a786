/* poly_memo.c - Memoizes decided sets of rows in a table that compares whole rows.
 *
 * The rows are kept as the bytes of their numbers, which are small: a question takes a tenth of the
 * memory of its rows. The table has an arena of its own, because the arena of the context is cut
 * back after each question. */
#include "passes/analysis/polyhedral/poly_memo.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };
#define MOST_BYTES ((size_t)8 << 20) /* then all is forgotten, and the table begins again */

typedef struct Kept {
    const struct Kept *next;
    MemoKey key;
    Answer answer;
    Bounds *ranges; /* of the forms */
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
        memo_free(m);
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

/* ---- questions as bytes ---------------------------------------------------------------------- */

/* Seven bits a byte, the lowest first; all but the last byte have the eighth. Signs are in the
 * lowest bit. */
static uint8_t *put(uint8_t *at, int64_t number)
{
    uint64_t left = (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0);
    for (; left > 127; left >>= 7)
        *at++ = (uint8_t)(left | 128);
    *at++ = (uint8_t)left;
    return at;
}

/* Room for the bytes of the question. */
static size_t most_bytes(Asked asked)
{
    enum { BYTES = 10 }; /* of one number, at most */
    size_t numbers = 1;
    for (int i = 0; i < asked.n; i++)
        numbers += 2 + 2 * (size_t)asked.rows[i].form.n;
    return numbers * BYTES;
}

/* The question, with columns renamed. */
static uint8_t *put_question(uint8_t *at, Asked asked)
{
    at = put(at, asked.n_forms);
    for (int i = 0; i < asked.n; i++) {
        Affine form = asked.rows[i].form;
        at = put(put(at, form.n * 2 + asked.rows[i].equal), form.constant);
        for (int k = 0; k < form.n; k++)
            at = put(put(at, asked.dimension[form.terms[k].column]), form.terms[k].factor);
    }
    return at;
}

static uint64_t hash_of(const uint8_t *bytes, size_t n)
{
    uint64_t hash = n, word;
    for (size_t at = 0; at < n; at += sizeof word) {
        word = 0;
        memcpy(&word, bytes + at, n - at < sizeof word ? n - at : sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return hash;
}

MemoKey memo_key(Arena *arena, Asked asked)
{
    uint8_t *bytes = arena_room(arena, most_bytes(asked));
    size_t n = (size_t)(put_question(bytes, asked) - bytes);
    return (MemoKey){hash_of(bytes, n), bytes, n, asked.n_forms};
}

static bool same_key(const MemoKey *a, const MemoKey *b)
{
    return a->hash == b->hash && a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

Answer memo_find(PolyMemo *m, const MemoKey *key, Bounds *ranges)
{
    const Kept *kept = m->buckets[key->hash % BUCKETS];
    while (kept && !same_key(&kept->key, key))
        kept = kept->next;
    for (int i = 0; kept && i < key->n_forms; i++)
        ranges[i] = kept->ranges[i];
    return kept ? kept->answer : POLY_SPENT;
}

void memo_keep(PolyMemo *m, const MemoKey *key, Answer answer, const Bounds *ranges)
{
    if (answer == POLY_SPENT)
        return;
    if (arena_used(m->arena) > MOST_BYTES) {
        arena_reset(m->arena, m->empty);
        memset(m->buckets, 0, sizeof m->buckets);
    }
    Kept *kept = ARENA_NEW(m->arena, Kept);
    *kept = (Kept){.next = m->buckets[key->hash % BUCKETS], .key = *key, .answer = answer};
    kept->key.bytes = memcpy(arena_room(m->arena, key->n), key->bytes, key->n);
    kept->ranges = ARENA_ARRAY(m->arena, Bounds, key->n_forms);
    for (int i = 0; i < key->n_forms; i++)
        kept->ranges[i] = ranges[i];
    m->buckets[key->hash % BUCKETS] = kept;
}
