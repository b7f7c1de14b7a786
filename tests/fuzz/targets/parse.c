/* parse.c - libFuzzer target of the parser, the resolver and the printer.
 *
 * Any bytes are parsed.  What is accepted must pass the verifier and survive the round trip through
 * text; what is refused must have said why.  Built with -DTIRC_FUZZ=ON and clang:
 *     fuzz_parse -dict=tests/fuzz/tir.dict CORPUS examples */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/syntax/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fault(const char *what, const char *text)
{
    fprintf(stderr, "%s\n%s\n", what, text);
    abort();
}

static void check_round_trip(Context *c, const Kernel *kernel)
{
    StrBuf text = strbuf_new(c->arena);
    const char *broken = ir_verify(c, kernel);
    if (broken)
        fault("the verifier objects to what was accepted:", broken);
    print_kernel(c, kernel, &text);
    AstFile *file = parse_text(c, source_add(c, "printed", text.text, text.length));
    Kernel *again = file ? resolve_kernel(c, file->kernels[0], NULL, 0) : NULL;
    if (!again || !kernel_equal(kernel, again)) {
        StrBuf report = strbuf_new(c->arena);
        diag_render_all(c, DIAG_PLAIN, &report);
        fprintf(stderr, "%s\n", report.text);
        fault("the round trip changes:", text.text);
    }
}

static void run(Context *c, const uint8_t *data, size_t size)
{
    AstFile *file = parse_text(c, source_add(c, "fuzz", (const char *)data, size));
    if (!file && c->n_errors == 0)
        fault("refused without a word", "");
    for (int i = 0; file && i < file->n_kernels; i++) {
        int errors = c->n_errors;
        Kernel *kernel = resolve_kernel(c, file->kernels[i], NULL, 0);
        if (kernel)
            check_round_trip(c, kernel);
        else if (c->n_errors == errors)
            fault("a kernel was refused without a word", "");
    }
    StrBuf report = strbuf_new(c->arena);
    diag_render_all(c, DIAG_PLAIN, &report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Context *c = ctx_new((size_t)256 << 20);
    jmp_buf guard;
    if (setjmp(guard) == 0) {
        c->guard = &guard;
        run(c, data, size);
    } else if (c->fatal == FATAL_BUG) {
        fault("a bug:", c->fatal_message);
    }
    ctx_free(c);
    return 0;
}
