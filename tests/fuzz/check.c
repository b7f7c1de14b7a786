/* check.c - see check.h. */
#include "fuzz/check.h"

#include <string.h>

#include "codegen/codegen.h"
#include "frontend/syntax/parse.h"
#include "fuzz/work.h"
#include "passes/lower/lower.h"
#include "passes/shared/relayout.h"
#include "support/form.h"

/* ---- text ------------------------------------------------------------------------------------ */

static const char *text_of(Context *c, const Kernel *kernel)
{
    StrBuf text = strbuf_new(c->arena);
    print_kernel(c, kernel, &text);
    return text.text;
}

static const char *messages(Context *c)
{
    StrBuf text = strbuf_new(c->arena);
    diag_render_all(c, DIAG_PLAIN, &text);
    return text.text ? text.text : "";
}

const char *check_text(Context *c, const Kernel *kernel)
{
    const char *broken = ir_verify(c, kernel);
    if (broken)
        return arena_printf(c->arena, "does not verify: %s\n%s", broken, text_of(c, kernel));
    const char *text = text_of(c, kernel);
    AstFile *file = parse_text(c, source_add(c, "printed.tir", text, strlen(text)));
    Kernel *again = file ? resolve_kernel(c, file->kernels[0], NULL, 0) : NULL;
    if (!again)
        return arena_printf(c->arena, "its text is refused: %s\n%s", messages(c), text);
    const char *second = text_of(c, again);
    if (strcmp(text, second) != 0)
        return arena_printf(c->arena,
                            "its text changes:\n"
                            "%s\n"
                            "---- read and printed\n"
                            "%s",
                            text, second);
    return kernel_equal(kernel, again) ? NULL : "what its text gives is not equal";
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct {
    Context *c;
    Device *d;
    const int64_t *sizes;
    const Module *reference; /* NULL: bit for bit */
    bool reversed, rounds;
} Run;

static const char *compare(const Run *run, const Form *program, Form *form, int width)
{
    Context *c = run->c;
    if (form_run(run->d, form, run->sizes, program, (Turns){width, run->reversed}))
        return form_difference(c, run->d, program, form, run->reference);
    return arena_printf(c->arena, "%s: %s", fault_name(form->fault.kind),
                        form->fault.kind ? form->fault.message : messages(c));
}

/* Runs `module` in the given manner; NULL or what is wrong. */
static const char *try_form(const Run *run, const Form *program, const Module *module, int width,
                            const char *what)
{
    Form form = {.module = module, .rounds = run->rounds};
    const char *why = compare(run, program, &form, width);
    form_free(&form);
    return why ? arena_printf(run->c->arena, "%s: %s", what, why) : NULL;
}

/* Warps exchange values among their 32 lanes, so those stay together. */
static int legal_width(const Module *m, int width)
{
    for (int k = 0; k < m->n_kernels; k++)
        for (int i = 0; i < m->kernels[k].code->n_code; i++)
            if (m->kernels[k].code->code[i].op == VM_SHUFFLE ||
                m->kernels[k].code->code[i].op == VM_SHUFFLE_LANE)
                return 32;
    return width;
}

static const char *run_all(const Run *run, Form *program, const Module *sequential,
                           const Module *lowered, int width)
{
    if (!form_run(run->d, program, run->sizes, NULL, (Turns){0}))
        return arena_printf(run->c->arena, "the program itself: %s", messages(run->c));
    const char *why =
        sequential ? try_form(run, program, sequential, 0, "scheduled, in order") : NULL;
    if (!why && lowered)
        why = try_form(run, program, lowered, 0, "lowered");
    if (!why && lowered)
        why = try_form(run, program, lowered, legal_width(lowered, width),
                       "lowered, threads in groups");
    return why;
}

/* NULL where there is no kernel. */
static Module *built(Context *c, const Kernel *kernel, const Kernel *program)
{
    Module *module = kernel ? module_build(c, kernel, NULL) : NULL;
    if (module)
        module_allow_partial(c, module, program);
    return module;
}

/* Symbolic sizes gave a launch more blocks than a grid has, which only the launch can tell. */
static bool has_too_many_blocks(const Context *c, const Kernel *program)
{
    bool symbolic = false;
    for (int i = 0; i < program->n_sizes; i++)
        symbolic |= program->sizes[i].symbolic;
    return symbolic && c->last && c->last->code == E0632;
}

CheckAnswer check_run(Context *c, const Kernel *program, const Kernel *scheduled,
                      const int64_t *sizes, CheckManner manner, const char **why)
{
    LowerOptions options = {.limits = limits_default()};
    program = relayout_like(c, program, scheduled);
    Kernel *plain = sequential_kernel(c, program), *sequential = sequential_kernel(c, scheduled);
    if (!plain)
        return *why = "the program itself cannot run in order", CHECK_WRONG;
    if (!sequential)
        return CHECK_REFUSED;
    if (manner.in_order && work_about(c, scheduled, sizes) > WORK_MOST)
        return *why = "too many iterations to run in order", CHECK_LONG;
    Kernel *lowered = lower_kernel(c, scheduled, &options);
    *why = lowered ? check_text(c, lowered) : NULL;
    if (*why)
        return CHECK_WRONG;
    DiagMark refusal = diag_mark(c);
    Run run = {
        .c = c, .sizes = sizes, .reversed = manner.reversed, .rounds = scheduled->n_retypes > 0};
    run.d = device_open(c, &(DeviceOptions){.kind = DEVICE_SIM});
    if (manner.reorders)
        run.reference = module_build(c, reference_kernel(c, program), NULL);
    Form form = {.module = built(c, plain, program)};
    *why = run_all(&run, &form, manner.in_order ? built(c, sequential, program) : NULL,
                   built(c, lowered, program), manner.width);
    form_free(&form);
    run.d->ops->close(run.d);
    if (*why && has_too_many_blocks(c, program))
        return CHECK_REFUSED;
    if (!*why)
        diag_forget(c, refusal);
    return *why ? CHECK_WRONG : lowered ? CHECK_OK : CHECK_REFUSED;
}
