/* reasons.c - Makes barriers and waits that say what they order:
 *
 *   __syncthreads();  // A_shared: written above by other threads, read below */
#include "passes/lower/threads/reasons.h"

#include <stdlib.h>
#include <string.h>

Reasons reasons_none(Context *c)
{
    return (Reasons){.c = c, .pending = {-1, -1, -1}};
}

void reasons_add(void *user, const Hazard *h)
{
    Reasons *r = user;
    if (!r->any)
        r->example = *h;
    r->any = true;
    for (int i = 0; i < r->buffers[h->kind].n; i++)
        if (r->buffers[h->kind].items[i] == h->buffer->name)
            return;
    VEC_PUSH(r->c->arena, &r->buffers[h->kind], h->buffer->name);
}

/* ---- words ----------------------------------------------------------------------------------- */

static int by_name(const void *x, const void *y)
{
    return strcmp(*(const Name *)x, *(const Name *)y);
}

static void reason_words(StrBuf *out, HazardKind kind, const Stmt *carrier, const char *threads)
{
    static const char *const first[HAZARD_KINDS] = {
        [HAZARD_RAW] = "written above",
        [HAZARD_WAR] = "read above",
        [HAZARD_WAW] = "written above",
    };
    static const char *const second[HAZARD_KINDS] = {
        [HAZARD_RAW] = "read",
        [HAZARD_WAR] = "overwritten",
        [HAZARD_WAW] = "written again",
    };
    if (carrier)
        strbuf_addf(out, "%s, %s in the next iteration of %s by %s", first[kind], second[kind],
                    carrier->u.loop.var->name, threads);
    else
        strbuf_addf(out, "%s by %s, %s below", first[kind], threads, second[kind]);
}

/* The threads that a barrier orders with this one. */
static const char *other_threads(Context *c, SyncKind kind)
{
    const char *part = sync_word(kind);
    return part ? arena_printf(c->arena, "other threads of the %s", part) : "other threads";
}

/* "all copies but those of the last 2 groups" */
static const char *all_but(Context *c, const char *what, int pending)
{
    if (pending == 0)
        return what;
    if (pending == 1)
        return arena_printf(c->arena, "%s but those of the last group", what);
    return arena_printf(c->arena, "%s but those of the last %d groups", what, pending);
}

static Stmt *make_barrier(Reasons *r, const SyncPlace *place)
{
    StrBuf text = strbuf_new(r->c->arena);
    for (HazardKind kind = 0; kind < HAZARD_KINDS; kind++) {
        int n = r->buffers[kind].n;
        if (n == 0)
            continue;
        if (text.length)
            strbuf_add(&text, "; ");
        qsort(r->buffers[kind].items, (size_t)n, sizeof(Name), by_name);
        for (int i = 0; i < n; i++)
            strbuf_addf(&text, "%s%s", i ? ", " : "", r->buffers[kind].items[i]);
        strbuf_add(&text, ": ");
        reason_words(&text, kind, place->carrier, other_threads(r->c, place->kind));
    }
    return stmt_barrier(r->c, place->kind, text.text, r->example.second_span);
}

static Stmt *make_instruction_wait(const Reasons *r, const Instruction *queue, Span span)
{
    int pending = r->pending[FLIGHT_INSTRUCTIONS];
    const char *words = all_but(r->c, "all instructions", pending);
    if (r->registers)
        words = arena_printf(r->c->arena, "%s: %s is accessed below", words, r->registers);
    return stmt_wait(r->c, queue, pending, words, span);
}

void reasons_append(Reasons *r, const SyncPlace *place, StmtList *out)
{
    Context *c = r->c;
    int copies = r->pending[FLIGHT_COPIES], stores = r->pending[FLIGHT_STORES], from = out->n;
    Span span = r->any ? r->example.second_span : place->at->span;
    if (r->pending[FLIGHT_INSTRUCTIONS] >= 0)
        VEC_PUSH(c->arena, out, make_instruction_wait(r, place->queue, span));
    if (copies >= 0)
        VEC_PUSH(c->arena, out, stmt_wait(c, NULL, copies, all_but(c, "all copies", copies), span));
    if (stores >= 0)
        VEC_PUSH(c->arena, out,
                 stmt_wait(c, bulk_stores(c), stores, all_but(c, "all stores", stores), span));
    if (r->any)
        VEC_PUSH(c->arena, out, make_barrier(r, place));
    for (int i = from; i < out->n; i++)
        out->items[i]->step = r->any ? r->example.buffer->step : place->at->step;
}
