/* text.c - Copies strings into an arena, builds them, and interns names.
 *
 * The interner is an open hash table of the texts seen so far.  Interned names compare by pointer,
 * which is what makes look-ups by name cheap everywhere else. */
#include "ir/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *arena_strndup(Arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(Arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(Arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return arena_strdup(arena, "");
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

/* ---- strings under construction -------------------------------------------------------------- */

StrBuf strbuf_new(Arena *arena)
{
    enum { FIRST = 64 };
    return (StrBuf){arena, arena_alloc(arena, FIRST), 0, FIRST};
}

/* Makes room for n more bytes and the terminator. */
static void strbuf_reserve(StrBuf *s, size_t n)
{
    if (n < s->capacity - s->length)
        return;
    size_t capacity = s->capacity * 2;
    while (capacity - s->length <= n && capacity <= SIZE_MAX / 4)
        capacity *= 2;
    char *text = arena_alloc(s->arena, capacity);
    memcpy(text, s->text, s->length + 1);
    s->text = text;
    s->capacity = capacity;
}

void strbuf_addn(StrBuf *s, const char *text, size_t n)
{
    strbuf_reserve(s, n);
    if (n)
        memcpy(s->text + s->length, text, n);
    s->length += n;
    s->text[s->length] = '\0';
}

void strbuf_add(StrBuf *s, const char *text)
{
    strbuf_addn(s, text, strlen(text));
}

void strbuf_addc(StrBuf *s, char c)
{
    strbuf_addn(s, &c, 1);
}

void strbuf_vaddf(StrBuf *s, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length <= 0)
        return;
    strbuf_reserve(s, (size_t)length);
    vsnprintf(s->text + s->length, (size_t)length + 1, format, args);
    s->length += (size_t)length;
}

void strbuf_addf(StrBuf *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strbuf_vaddf(s, format, args);
    va_end(args);
}

/* Numbers from 0.0001 to 10^15 have no exponent. */
void strbuf_add_decimal(StrBuf *s, double value, int digits)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    char *e = strchr(text, 'e');
    int exponent = (int)strtol(e + 1, NULL, 10), decimals = digits - 1 - exponent;
    if (exponent < -4 || exponent >= 15)
        snprintf(e, sizeof text - (size_t)(e - text), "e%d", exponent);
    else
        snprintf(text, sizeof text, "%.*f", decimals > 1 ? decimals : 1, value);
    for (char *at = text; *at; at++)
        if (!strchr("-0123456789e", *at))
            *at = '.'; /* what a locale of the embedding program may have put there */
    strbuf_add(s, text);
}

/* ---- interning ------------------------------------------------------------------------------- */

typedef struct {
    const char *text; /* NULL: a free slot */
    size_t length;
    uint32_t hash;
} Entry;

struct Interner {
    Arena *arena;
    Entry *slots;
    uint32_t n_slots, n_used; /* n_slots is a power of two, at least twice n_used */
};

Interner *interner_new(Arena *arena)
{
    Interner *interner = ARENA_NEW(arena, Interner);
    interner->arena = arena;
    interner->n_slots = 128;
    interner->slots = ARENA_ARRAY(arena, Entry, interner->n_slots);
    return interner;
}

/* FNV-1a, of Fowler, Noll and Vo. */
static uint32_t hash_text(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

/* The slot that holds this text, or the free slot where it belongs. */
static Entry *find_slot(const Interner *interner, const char *text, size_t length, uint32_t hash)
{
    for (uint32_t at = hash;; at++) {
        Entry *slot = &interner->slots[at & (interner->n_slots - 1)];
        if (!slot->text ||
            (slot->hash == hash && slot->length == length && memcmp(slot->text, text, length) == 0))
            return slot;
    }
}

static void interner_grow(Interner *interner)
{
    Entry *old = interner->slots;
    uint32_t n_old = interner->n_slots;
    interner->slots = ARENA_ARRAY(interner->arena, Entry, (size_t)n_old * 2);
    interner->n_slots = n_old * 2;
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i].text)
            *find_slot(interner, old[i].text, old[i].length, old[i].hash) = old[i];
}

Name interner_get(Interner *interner, const char *text, size_t length)
{
    uint32_t hash = hash_text(text, length);
    Entry *slot = find_slot(interner, text, length, hash);
    if (slot->text)
        return slot->text;
    if (interner->n_used >= interner->n_slots / 2) {
        interner_grow(interner);
        slot = find_slot(interner, text, length, hash);
    }
    *slot = (Entry){arena_strndup(interner->arena, text, length), length, hash};
    interner->n_used++;
    return slot->text;
}
