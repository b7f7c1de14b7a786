/* context.c - Creates and frees the context of one use of the library: memory, names, sources, and
 * the guard that fatal errors unwind to.
 *
 * Two errors cannot be reported as diagnostics: exhausted memory, and a violated invariant of tirc.
 * Both unwind to the guard that the public call has set. The context itself holds their message,
 * since there may be no memory to format it. */
#include "ir/diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(void *user, size_t wanted)
{
    Context *ctx = user;
    ctx_fatal(ctx, FATAL_OUT_OF_MEMORY,
              "out of memory: %zu bytes are in use and %zu more were asked for",
              ctx->arena ? arena_used(ctx->arena) : 0, wanted);
}

/* Initializes the parts that need the arena; false if the first allocations fail. */
static bool set_up(Context *ctx)
{
    jmp_buf guard;
    if (setjmp(guard))
        return false;
    ctx->guard = &guard;
    ctx->names = interner_new(ctx->arena);
    ctx->guard = NULL;
    return true;
}

Context *ctx_new(size_t memory_limit)
{
    Context *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return NULL;
    ctx->max_errors = 20;
    ctx->next_id = 1;
    ctx->target = (Target){90, 'a'};
    ctx->arena = arena_new(memory_limit, out_of_memory, ctx);
    if (!ctx->arena || !set_up(ctx)) {
        ctx_free(ctx);
        return NULL;
    }
    return ctx;
}

void ctx_free(Context *ctx)
{
    if (!ctx)
        return;
    if (ctx->solver && ctx->solver_free)
        ctx->solver_free(ctx->solver);
    arena_free(ctx->arena);
    free(ctx);
}

void ctx_fatal(Context *ctx, FatalKind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ctx->fatal_text, sizeof ctx->fatal_text, format, args);
    va_end(args);
    ctx->fatal = kind;
    ctx->fatal_message = ctx->fatal_text;
    if (!ctx->guard)
        abort();
    longjmp(*ctx->guard, 1);
}

Name ctx_name(Context *ctx, const char *text)
{
    return interner_get(ctx->names, text, strlen(text));
}

Name ctx_namef(Context *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(ctx->arena, format, args);
    va_end(args);
    return ctx_name(ctx, text);
}

/* ---- sources --------------------------------------------------------------------------------- */

static void find_lines(Context *ctx, Source *source)
{
    VEC(uint32_t) begin = {0};
    const char *text = source->text, *end = text + source->length;
    VEC_PUSH(ctx->arena, &begin, 0);
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        VEC_PUSH(ctx->arena, &begin, (uint32_t)(at + 1 - text));
    source->line_begin = begin.items;
    source->n_lines = begin.n;
}

uint32_t source_add(Context *ctx, const char *path, const char *text, size_t length)
{
    if (length >= INT32_MAX)
        ctx_fatal(ctx, FATAL_OUT_OF_MEMORY, "a source text of %zu bytes is too long", length);
    Source source = {.path = arena_strdup(ctx->arena, path), .length = length};
    source.text = arena_strndup(ctx->arena, text, length);
    find_lines(ctx, &source);
    VEC_PUSH(ctx->arena, &ctx->sources, source);
    return (uint32_t)ctx->sources.n;
}

const Source *source_get(const Context *ctx, uint32_t source)
{
    return source >= 1 && source <= (uint32_t)ctx->sources.n ? &ctx->sources.items[source - 1]
                                                             : NULL;
}

void source_position(const Source *source, uint32_t offset, int *line, int *column)
{
    int low = 0, high = source->n_lines; /* the line is in [low, high) */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (source->line_begin[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    *line = low + 1;
    *column = (int)(offset - source->line_begin[low]) + 1;
}

Span span_join(Span a, Span b)
{
    if (a.source == 0 || b.source == 0 || a.source != b.source)
        return a.source ? a : b;
    uint32_t begin = a.begin < b.begin ? a.begin : b.begin;
    uint32_t end = a.end > b.end ? a.end : b.end;
    return (Span){a.source, begin, end};
}
