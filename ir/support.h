/* support.h - Declares memory, strings and growable arrays.
 *
 * Everything the compiler builds lives in an Arena and is released with it; nothing is freed one
 * by one.  Running out of memory does not return: it unwinds to the guard that the caller of the
 * library set (see Context in diag.h), so no function here has an error return. */
#ifndef TIRC_IR_SUPPORT_H
#define TIRC_IR_SUPPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define TIRC_PRINTF(at, first) __attribute__((format(printf, at, first)))
#define TIRC_NORETURN          __attribute__((noreturn))
#else
#define TIRC_PRINTF(at, first)
#define TIRC_NORETURN
#endif

typedef struct Arena Arena;

/* Called when an arena cannot grow; must not return. */
typedef void ArenaOutOfMemory(void *user, size_t wanted);

/* A new, empty arena that may hold at most `limit` bytes (0: no limit). */
Arena *arena_new(size_t limit, ArenaOutOfMemory *out_of_memory, void *user);
void arena_free(Arena *arena);

/* `size` zeroed bytes, aligned for any type; valid until the arena is freed or reset. */
void *arena_alloc(Arena *arena, size_t size);

/* The same, but of any values: for what is filled in at once. */
void *arena_room(Arena *arena, size_t size);

/* A copy of `size` bytes, and `more` zeroed ones behind them. */
void *arena_copy(Arena *arena, const void *bytes, size_t size, size_t more);

/* Bytes handed out so far. */
size_t arena_used(const Arena *arena);

/* A place in an arena's life; arena_reset releases everything allocated since. */
typedef struct {
    void *chunk;
    size_t used, total;
} ArenaMark;
ArenaMark arena_mark(const Arena *arena);
void arena_reset(Arena *arena, ArenaMark mark);
/* Between the two, allocations may go beyond the limit; the next one after them may not. For work
 * with objects of another library, which nobody would free if running out of memory unwound it.
 * They nest. */
void arena_begin_lenient(Arena *arena);
void arena_end_lenient(Arena *arena);

#define ARENA_NEW(arena, T)      ((T *)arena_alloc((arena), sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))
/* A copy of `n` items, with room for `more` behind them. */
#define ARENA_COPY(arena, T, items, n, more)                                                       \
    ((T *)arena_copy((arena), (items), sizeof(T) * (size_t)(n), sizeof(T) * (size_t)(more)))

/* Text in the arena. */
char *arena_strdup(Arena *arena, const char *text);
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) TIRC_PRINTF(2, 3);
char *arena_vprintf(Arena *arena, const char *format, va_list args);

/* A string under construction; `text` is always terminated. */
typedef struct {
    Arena *arena;
    char *text;
    size_t length, capacity;
} StrBuf;

StrBuf strbuf_new(Arena *arena);
void strbuf_add(StrBuf *s, const char *text);
void strbuf_addn(StrBuf *s, const char *text, size_t n);
void strbuf_addc(StrBuf *s, char c);
void strbuf_addf(StrBuf *s, const char *format, ...) TIRC_PRINTF(2, 3);
void strbuf_vaddf(StrBuf *s, const char *format, va_list args);
/* A finite number with so many significant digits: 20.0, 0.001, 1e-5, 1.5e20. It has a point or an
 * exponent, and a point in any locale. */
void strbuf_add_decimal(StrBuf *s, double value, int digits);

/* A growable array in an arena:  VEC(Expr *) v = {0};  VEC_PUSH(arena, &v, e);  v.items[i]  v.n */
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *items;                                                                                  \
        int n, capacity;                                                                           \
    }
#define VEC_PUSH(arena, v, item)                                                                   \
    do {                                                                                           \
        if ((v)->n == (v)->capacity)                                                               \
            (v)->items =                                                                           \
                vec_grow((arena), (v)->items, (v)->n, &(v)->capacity, sizeof *(v)->items);         \
        (v)->items[(v)->n++] = (item);                                                             \
    } while (0)
/* Adds the first `count` of an array. */
#define VEC_APPEND(arena, v, array, count)                                                         \
    do {                                                                                           \
        int vec_n = (count);                                                                       \
        if (vec_n > (v)->capacity - (v)->n) {                                                      \
            (v)->capacity = vec_capacity((arena), (v)->n, (v)->capacity, vec_n);                   \
            (v)->items = vec_move((arena), (v)->items, sizeof *(v)->items * (size_t)(v)->n,        \
                                  sizeof *(v)->items * (size_t)(v)->capacity);                     \
        }                                                                                          \
        for (int vec_at = 0; vec_at < vec_n; vec_at++)                                             \
            (v)->items[(v)->n++] = (array)[vec_at];                                                \
    } while (0)
void *vec_grow(Arena *arena, void *items, int n, int *capacity, size_t item_size);
/* A capacity for `more` items behind the n that there are. */
int vec_capacity(Arena *arena, int n, int capacity, int more);
/* Room for `wanted` bytes, the first `used` of which are those of the items. */
void *vec_move(Arena *arena, const void *items, size_t used, size_t wanted);

/* Strings as identities: equal text, equal pointer. */
typedef const char *Name;
typedef struct Interner Interner;
Interner *interner_new(Arena *arena);
Name interner_get(Interner *interner, const char *text, size_t length);

/* For tables of words: most entries differ in their first character. */
static inline bool word_is(const char *word, const char *text)
{
    return word[0] == text[0] && strcmp(word, text) == 0;
}

/* Integer arithmetic that says when it does not fit: false on overflow. */
static inline bool checked_add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool checked_sub(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}
static inline bool checked_mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
/* The greatest common divisor, at least 0; 0 of zeros, and 1 where it does not fit. */
int64_t gcd64(int64_t a, int64_t b);
/* a / d, rounded down, and up, for d > 0. */
static inline int64_t floor_div64(int64_t a, int64_t d)
{
    return a / d - (a % d < 0);
}
static inline int64_t ceil_div64(int64_t a, int64_t d)
{
    return a / d + (a % d > 0);
}

#endif
