/* cache_hint.c - Implements cache_hint: annotates the accesses of a block with cache hints.
 *
 * The step only says so, in an annotation of the block; lowering puts it to the accesses, and
 * proves a claim of `read_only` once it knows what a launch is
 * (passes/lower/threads/cache_hints.c).
 *
 * Legal: the block accesses the buffer, in global memory.
 * Invariant: what the program computes does not change. */
#include "passes/schedule/flow.h"

/* The hint that the call names, if the accesses can have it. */
static bool read_hint(Schedule *s, const PrimCall *call, const char *block, const Buffer *buffer,
                      AccessMode mode)
{
    const char *word = call->cache_hint.hint.u.s, *words[HINT_COUNT];
    CacheHint hint = cache_hint_find(word);
    StrBuf all = strbuf_new(s->ctx->arena);
    for (int i = HINT_NONE + 1; i < HINT_COUNT; i++) {
        words[i - 1] = cache_hint_info((CacheHint)i)->name;
        strbuf_addf(&all, "%s%s", all.length ? ", " : "", words[i - 1]);
    }
    const char *near = diag_suggest(word, words, HINT_COUNT - 1);
    REQUIRE_WORD(s, E0449, call->span, hint != HINT_COUNT,
                 "there is no cache hint '%s'%s%s%s (hints: %s)", word,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all.text);
    const CacheHintInfo *info = cache_hint_info(hint);
    REQUIRE(s, E0449, call->span,
            (mode & ACCESS_READ && info->load) || (mode & ACCESS_WRITE && info->store),
            "block '%s' only %s '%s', and '%s' is a hint for %s", block,
            mode & ACCESS_READ ? "reads" : "writes", buffer->name, word,
            info->load ? "loads" : "stores");
    return true;
}

bool prim_cache_hint(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *node = sched_node(s, &call->cache_hint.block, NULL);
    BlockStmt block = node->u.block;
    const Buffer *buffer = sched_buffer(s, call->cache_hint.buffer.u.id);
    AccessMode mode = 0;
    for (AccessMode one = ACCESS_READ; one <= ACCESS_WRITE; one++)
        mode |= stmt_accesses(s->ctx, node, buffer, one) ? one : 0;
    REQUIRE(s, E0449, call->span, buffer->scope == SCOPE_GLOBAL && buffer->rank > 0,
            "'%s' is %s; hints apply to arrays in global memory", buffer->name,
            buffer->scope == SCOPE_GLOBAL
                ? "a single value"
                : ctx_namef(s->ctx, "in %s memory", scope_name(buffer->scope)));
    REQUIRE(s, E0449, call->span, mode != 0,
            "block '%s' does not access '%s'; name the block that does, for example the copy made "
            "by cache_read or cache_write",
            block.name, buffer->name);
    if (!read_hint(s, call, block.name, buffer, mode))
        return false;
    Annotation hint = {.key = ctx_namef(s->ctx, "%s%s",
                                        annotation_info(ANNOTATION_CACHE_HINT)->name, buffer->name),
                       .kind = ANNOTATION_STRING,
                       .string = ctx_name(s->ctx, call->cache_hint.hint.u.s)};
    block.annotations =
        annotations_with(s->ctx, annotations_without(s->ctx, block.annotations, hint.key), hint);
    sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    *result = (Value){.kind = VALUE_NONE};
    return true;
}
