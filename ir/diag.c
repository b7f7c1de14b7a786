/* diag.c - Collects diagnostics. How they look is diag_render.c's. */
#include "ir/diag.h"

#include <string.h>

static void add(Context *ctx, const Diag *head, const char *format, va_list args)
{
    if (ctx->n_errors > ctx->max_errors)
        return;
    Diag *diag = ARENA_NEW(ctx->arena, Diag);
    diag->severity = head->severity;
    diag->code = head->code;
    diag->span = head->span;
    diag->message = arena_vprintf(ctx->arena, format, args);
    if (ctx->last)
        ctx->last->next = diag;
    else
        ctx->first = diag;
    ctx->last = diag;
}

void diag_error(Context *ctx, ErrorCode code, Span span, const char *format, ...)
{
    ctx->n_errors++;
    va_list args;
    va_start(args, format);
    add(ctx, &(Diag){.severity = SEVERITY_ERROR, .code = code, .span = span}, format, args);
    va_end(args);
}

void diag_warning(Context *ctx, ErrorCode code, Span span, const char *format, ...)
{
    ctx->n_warnings++;
    va_list args;
    va_start(args, format);
    add(ctx, &(Diag){.severity = SEVERITY_WARNING, .code = code, .span = span}, format, args);
    va_end(args);
}

void diag_note(Context *ctx, Span span, const char *format, ...)
{
    ErrorCode code = ctx->last ? ctx->last->code : ERROR_COUNT;
    va_list args;
    va_start(args, format);
    add(ctx, &(Diag){.severity = SEVERITY_NOTE, .code = code, .span = span}, format, args);
    va_end(args);
}

void diag_remedy(Context *ctx, Span span, const char *wrong, const char *right)
{
    const Source *source = source_get(ctx, span.source);
    size_t length = strlen(wrong);
    Diag *last = ctx->n_errors > ctx->max_errors ? NULL : ctx->last;
    if (!last || last->severity == SEVERITY_NOTE || !source || span.end - span.begin != length ||
        span.end > source->length || memcmp(source->text + span.begin, wrong, length) != 0)
        return;
    last->wrong = span;
    last->remedy = arena_strdup(ctx->arena, right);
}

DiagMark diag_mark(const Context *ctx)
{
    return (DiagMark){ctx->last, ctx->n_errors, ctx->n_warnings};
}

void diag_forget(Context *ctx, DiagMark mark)
{
    ctx->last = mark.last;
    if (mark.last)
        mark.last->next = NULL;
    else
        ctx->first = NULL;
    ctx->n_errors = mark.n_errors;
    ctx->n_warnings = mark.n_warnings;
}

/* ---- suggestions ----------------------------------------------------------------------------- */

enum { LONGEST_WORD = 64 };

static int min3(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits that turn `a` into `b`, a swap of neighbours counting as one (Damerau's restricted
 * distance). */
static int edit_distance(const char *a, int n_a, const char *b, int n_b)
{
    int rows[3][LONGEST_WORD + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2];
    for (int j = 0; j <= n_b; j++)
        above[j] = before[j] = j;
    for (int i = 1; i <= n_a; i++) {
        row[0] = i;
        for (int j = 1; j <= n_b; j++) {
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        int *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[n_b];
}

const char *diag_suggest(const char *word, const char *const *words, int n_words)
{
    size_t length = strlen(word);
    const char *best = NULL;
    int least = INT32_MAX;
    for (int i = 0; i < n_words && length <= LONGEST_WORD; i++) {
        size_t other = strlen(words[i]);
        if (other > LONGEST_WORD)
            continue;
        int longer = (int)(length > other ? length : other);
        int distance = edit_distance(word, (int)length, words[i], (int)other);
        if (distance <= longer / 3 && distance < least) {
            least = distance;
            best = words[i];
        }
    }
    return best;
}
