/* parse_text.h - parsing and resolving of a text in a test, in a context with a guard. */
#ifndef TIRC_TESTS_PARSE_TEXT_H
#define TIRC_TESTS_PARSE_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/syntax/parse.h"

typedef struct {
    Context *ctx;
    jmp_buf guard;
    AstFile *file;
} Text;

/* A fresh context whose fatal errors fail the test. */
static inline void text_open(Text *t)
{
    t->ctx = ctx_new(0);
    t->file = NULL;
    t->ctx->guard = &t->guard;
}

static inline void text_close(Text *t)
{
    ctx_free(t->ctx);
}

static inline AstFile *text_parse_bytes(Text *t, const char *text, size_t length)
{
    if (setjmp(t->guard)) {
        fail_msg("fatal: %s", t->ctx->fatal_message);
        return NULL;
    }
    return t->file = parse_text(t->ctx, source_add(t->ctx, "test.tir", text, length));
}

static inline AstFile *text_parse(Text *t, const char *text)
{
    return text_parse_bytes(t, text, strlen(text));
}

/* Everything that was reported, as the command shows it. */
static inline const char *text_report(Text *t)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    diag_render_all(t->ctx, DIAG_PLAIN, &out);
    return out.text;
}

/* The kernel number `i` of a text that must be right. */
static inline Kernel *text_kernel(Text *t, int i)
{
    if (setjmp(t->guard)) {
        fail_msg("fatal: %s", t->ctx->fatal_message);
        return NULL;
    }
    if (!t->file)
        fail_msg("refused:\n%s", text_report(t));
    Kernel *kernel = resolve_kernel(t->ctx, t->file->kernels[i], NULL, 0);
    if (!kernel)
        fail_msg("refused:\n%s", text_report(t));
    const char *broken = ir_verify(t->ctx, kernel);
    if (broken)
        fail_msg("the verifier objects: %s", broken);
    return kernel;
}

static inline const char *text_print(Text *t, const Kernel *kernel)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    print_kernel(t->ctx, kernel, &out);
    return out.text;
}

/* Parses and resolves a text in which something is wrong. */
static inline void text_refuse(Text *t, const char *text)
{
    AstFile *file = text_parse(t, text);
    if (setjmp(t->guard))
        fail_msg("fatal: %s", t->ctx->fatal_message);
    for (int i = 0; file && i < file->n_kernels; i++)
        resolve_kernel(t->ctx, file->kernels[i], NULL, 0);
}

#endif
