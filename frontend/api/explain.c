/* explain.c - Implements the calls that read the manual. */
#include "frontend/api/internal.h"

#include "frontend/api/manual.h"

/* Runs the example in a context of its own, so that its errors are not the caller's. */
static bool write_error(Context *c, const ErrorInfo *info, StrBuf *out)
{
    jmp_buf guard;
    if (setjmp(guard))
        return false;
    c->guard = &guard;
    explain_error(c, info, out);
    c->guard = NULL;
    return true;
}

static bool explain(tirc *t, const char *code, const char **text)
{
    ErrorCode found = error_find(code);
    if (found == ERROR_COUNT)
        return false;
    StrBuf out = strbuf_new(t->ctx->arena);
    Context *c = ctx_new((size_t)256 << 20);
    bool ok = c && write_error(c, error_info(found), &out);
    bool bug = c && c->fatal == FATAL_BUG;
    ctx_free(c);
    if (!ok)
        ctx_fatal(t->ctx, bug ? FATAL_BUG : FATAL_OUT_OF_MEMORY, "the example of %s does not run",
                  code);
    *text = out.text;
    return true;
}

static tirc_status explain_guarded(tirc *t, const char *code, const char **text)
{
    API_GUARDED(t, explain(t, code, text));
}

const char *tirc_explain(tirc *t, const char *code)
{
    const char *text = NULL;
    return explain_guarded(t, code, &text) == TIRC_OK ? text : NULL;
}

const char *tirc_error_code(size_t i)
{
    return i < ERROR_COUNT ? error_info((ErrorCode)i)->id : NULL;
}

/* ---- primitives ------------------------------------------------------------------------------ */

static bool explain_named(tirc *t, const char *name, const char **text)
{
    const Primitive *primitive = primitive_find(name);
    if (!primitive)
        return false;
    StrBuf out = strbuf_new(t->ctx->arena);
    explain_primitive(primitive, &out);
    *text = out.text;
    return true;
}

static tirc_status explain_named_guarded(tirc *t, const char *name, const char **text)
{
    API_GUARDED(t, explain_named(t, name, text));
}

const char *tirc_explain_primitive(tirc *t, const char *name)
{
    const char *text = NULL;
    return explain_named_guarded(t, name, &text) == TIRC_OK ? text : NULL;
}

static bool list_primitives(tirc *t, const char *const **names)
{
    int n;
    const Primitive *table = primitive_table(&n);
    const char **list = ARENA_ARRAY(t->ctx->arena, const char *, n + 1);
    for (int i = 0; i < n; i++)
        list[i] = table[i].name;
    *names = list;
    return true;
}

static tirc_status list_primitives_guarded(tirc *t, const char *const **names)
{
    API_GUARDED(t, list_primitives(t, names));
}

const char *const *tirc_primitives(tirc *t)
{
    static const char *const none[] = {NULL};
    const char *const *names = NULL;
    return list_primitives_guarded(t, &names) == TIRC_OK ? names : none;
}

const char *tirc_primitive_summary(const char *name)
{
    const Primitive *primitive = primitive_find(name);
    return primitive ? primitive->summary : NULL;
}

const char *tirc_nearest(const char *word, const char *const *words, size_t n)
{
    return diag_suggest(word, words, (int)n);
}
