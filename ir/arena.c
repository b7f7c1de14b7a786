/* arena.c - Allocates memory by lifetime, grows arrays, and checks arithmetic for overflow.
 *
 * An arena is a list of chunks, newest first, from which allocations are cut in order. The first
 * is small, for arenas that hold little. All others are one huge page, or several where an
 * allocation needs more: 512 small pages take the system six times as long, a tenth of the time of
 * a large compile. A reset keeps one of the chunks that it releases for the next that is needed: a
 * question that goes back and forth over the end of a chunk would get new pages from the system
 * each time.
 *
 * With TIRC_ARENA_MALLOC every allocation is a chunk of exactly its own size, so that a memory
 * checker sees each overflow; marks and resets work the same way, as a mark names the newest
 * chunk. */
#include "ir/support.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 64 << 10, HUGE_PAGE = 2 << 20 };

typedef struct Chunk {
    struct Chunk *older;
    size_t used, capacity;
    size_t clean; /* from here on, no byte was handed out before the last reset: all are zero */
    _Alignas(ALIGNMENT) unsigned char data[];
} Chunk;

struct Arena {
    Chunk *newest;
    Chunk *spare;    /* released, or NULL */
    bool has_chunks; /* or had some */
    size_t total;    /* bytes handed out */
    size_t most;     /* that may be handed out now: the limit, or nearly all there are */
    size_t limit;    /* 0: none */
    int lenient;     /* how many sections are under way that the limit does not interrupt */
    ArenaOutOfMemory *out_of_memory;
    void *user;
};

static void set_most(Arena *arena)
{
    arena->most = arena->limit && !arena->lenient ? arena->limit : SIZE_MAX / 2;
}

Arena *arena_new(size_t limit, ArenaOutOfMemory *out_of_memory, void *user)
{
    Arena *arena = malloc(sizeof *arena);
    if (!arena)
        return NULL;
    *arena = (Arena){.limit = limit, .out_of_memory = out_of_memory, .user = user};
    set_most(arena);
    return arena;
}

#ifdef TIRC_ARENA_MALLOC

static Chunk *new_chunk(Arena *arena, size_t size)
{
    (void)arena;
    Chunk *chunk = calloc(1, sizeof(Chunk) + size);
    if (chunk)
        chunk->capacity = size;
    return chunk;
}

static void free_chunk(Chunk *chunk)
{
    free(chunk);
}

/* Nothing is kept, so that each use after a reset is seen. */
static void release_chunk(Arena *arena, Chunk *chunk)
{
    (void)arena;
    free_chunk(chunk);
}

#else

/* Of zeros, for `size` bytes or more; NULL where there is no memory. */
static Chunk *new_chunk(Arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t least = arena->has_chunks ? HUGE_PAGE : FIRST_CHUNK;
    size_t bytes = (sizeof(Chunk) + size + least - 1) / least * least;
    arena->has_chunks = true;
    Chunk *chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (least == HUGE_PAGE) /* a wish: small pages will do */
        madvise(chunk, bytes, MADV_HUGEPAGE);
#endif
    chunk->capacity = bytes - sizeof(Chunk);
    return chunk;
}

static void free_chunk(Chunk *chunk)
{
    if (chunk)
        munmap(chunk, sizeof(Chunk) + chunk->capacity);
}

/* Frees the chunk, or keeps it and frees a smaller spare one. */
static void release_chunk(Arena *arena, Chunk *chunk)
{
    if (!arena->spare || arena->spare->capacity < chunk->capacity) {
        Chunk *smaller = arena->spare;
        arena->spare = chunk;
        chunk = smaller;
    }
    free_chunk(chunk);
}

#endif

static void release_chunks_after(Arena *arena, const Chunk *last)
{
    while (arena->newest != last) {
        Chunk *older = arena->newest->older;
        release_chunk(arena, arena->newest);
        arena->newest = older;
    }
}

void arena_free(Arena *arena)
{
    if (!arena)
        return;
    release_chunks_after(arena, NULL);
    free_chunk(arena->spare);
    free(arena);
}

/* Takes back what was handed out from `used` on, which may hold anything. */
static void cut(Chunk *chunk, size_t used)
{
    if (chunk->clean < chunk->used)
        chunk->clean = chunk->used;
    chunk->used = used;
}

static void add_chunk(Arena *arena, size_t size)
{
    bool fits = arena->spare && arena->spare->capacity >= size;
    Chunk *chunk = fits ? arena->spare : new_chunk(arena, size);
    if (!chunk)
        arena->out_of_memory(arena->user, size);
    if (fits)
        arena->spare = NULL;
    chunk->older = arena->newest;
    cut(chunk, 0);
    arena->newest = chunk;
}

/* Few allocations come here: those of the others stay short. */
__attribute__((noinline)) static unsigned char *room_in_new_chunk(Arena *arena, size_t size)
{
    if (size > arena->most || arena->total > arena->most - size)
        arena->out_of_memory(arena->user, size);
    add_chunk(arena, size);
    arena->newest->used = size;
    arena->total += size;
    return arena->newest->data;
}

static inline unsigned char *take_room(Arena *arena, size_t size)
{
    Chunk *chunk = arena->newest;
    if (!chunk)
        return room_in_new_chunk(arena, size);
    size_t at = (chunk->used + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1), end = at + size;
    if (end < at || end > chunk->capacity || arena->total + size > arena->most)
        return room_in_new_chunk(arena, size);
    chunk->used = end;
    arena->total += size;
    return chunk->data + at;
}

void *arena_room(Arena *arena, size_t size)
{
    return take_room(arena, size);
}

void *arena_alloc(Arena *arena, size_t size)
{
    unsigned char *room = take_room(arena, size);
    Chunk *chunk = arena->newest;
    size_t at = (size_t)(room - chunk->data);
    if (at < chunk->clean)
        memset(room, 0, chunk->used < chunk->clean ? size : chunk->clean - at);
    return room;
}

void *arena_copy(Arena *arena, const void *bytes, size_t size, size_t more)
{
    void *copy = arena_alloc(arena, size + more);
    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

void arena_begin_lenient(Arena *arena)
{
    arena->lenient++;
    set_most(arena);
}

void arena_end_lenient(Arena *arena)
{
    arena->lenient--;
    set_most(arena);
}

size_t arena_used(const Arena *arena)
{
    return arena->total;
}

ArenaMark arena_mark(const Arena *arena)
{
    return (ArenaMark){arena->newest, arena->newest ? arena->newest->used : 0, arena->total};
}

void arena_reset(Arena *arena, ArenaMark mark)
{
    release_chunks_after(arena, mark.chunk);
    if (arena->newest)
        cut(arena->newest, mark.used);
    arena->total = mark.total;
}

void *vec_grow(Arena *arena, void *items, int n, int *capacity, size_t item_size)
{
    int grown = *capacity ? *capacity : 2;
    size_t wanted = (size_t)grown * 2 * item_size;
    void *moved = arena_room(arena, grown > INT_MAX / 2 ? SIZE_MAX : wanted);
    if (n > 0)
        memcpy(moved, items, (size_t)n * item_size);
    *capacity = grown * 2;
    return moved;
}

int vec_capacity(Arena *arena, int n, int capacity, int more)
{
    if (more > INT_MAX / 2 - n)
        arena->out_of_memory(arena->user, SIZE_MAX);
    return n + more > capacity * 2 ? n + more : capacity * 2;
}

void *vec_move(Arena *arena, const void *items, size_t used, size_t wanted)
{
    void *moved = arena_room(arena, wanted);
    if (used > 0)
        memcpy(moved, items, used);
    return moved;
}

int64_t gcd64(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y != 0) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x > INT64_MAX ? 1 : (int64_t)x;
}
