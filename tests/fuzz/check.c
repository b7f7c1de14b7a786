/* check.c - see check.h. */
#include "fuzz/check.h"

#include <string.h>

#include "codegen/codegen.h"
#include "frontend/parse.h"
#include "passes/lower/lower.h"
#include "runtime/device.h"
#include "runtime/verify.h"

/* ---- text ---------------------------------------------------------------------------------------- */

static const char *text_of(Context *c, const Kernel *kernel)
{
    StrBuf text = strbuf_new(c->arena);
    print_kernel(c, kernel, &text);
    return text.text;
}

static const char *messages(Context *c)
{
    StrBuf text = strbuf_new(c->arena);
    diag_render_all(c, false, &text);
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
        return arena_printf(c->arena, "its text changes:\n%s\n---- read and printed\n%s", text, second);
    return kernel_equal(kernel, again) ? NULL : "what its text gives is not equal";
}

/* ---- running ------------------------------------------------------------------------------------- */

typedef struct {
    Context *c;
    Device *d;
    const int64_t *sizes;
    const Module *reference; /* NULL: bit for bit */
    int width;               /* of groups; 0: all threads in step */
    bool reversed;
} Run;

typedef struct {
    const Module *module;
    Workload *data;
    VmFault fault;
} Form;

typedef struct {
    const Run *run;
    Form *form;
} Launching;

static bool launch_groups(void *user, const VmLaunch *launch)
{
    Launching *l = user;
    return vm_run_kernel_in_groups(l->form->module, workload_arguments(l->form->data), launch,
                                   l->run->width, l->run->reversed, &l->form->fault);
}

static bool execute(const Run *run, Form *form)
{
    if (run->width > 0) {
        VmFault fault;
        Launching l = {run, form};
        if (vm_run_host(form->module, workload_arguments(form->data), launch_groups, &l, &fault))
            return true;
        if (fault.kind != FAULT_STOPPED)
            form->fault = fault;
        return false;
    }
    LoadedModule *loaded = run->d->ops->load(run->d, form->module);
    bool ok = loaded && run->d->ops->run(run->d, loaded, workload_arguments(form->data));
    form->fault = run->d->fault;
    return ok;
}

/* With the inputs of `like`, or new ones. */
static bool form_run(const Run *run, Form *form, const Form *like)
{
    form->data = workload_new(run->d, form->module, run->sizes, 7);
    if (!form->data)
        return false;
    for (int i = 0; like && i < form->module->n_buffers; i++) {
        const ModuleBuffer *b = &form->module->buffers[i];
        if (b->role != BUFFER_IN && b->role != BUFFER_INOUT)
            continue;
        size_t bytes = (size_t)workload_elements(form->data, i) * (size_t)type_bytes(b->type);
        run->d->ops->write(run->d, workload_arguments(form->data)->buffers[i],
                           workload_input(like->data, i), bytes);
        memcpy((void *)(uintptr_t)workload_input(form->data, i), workload_input(like->data, i), bytes);
    }
    return execute(run, form);
}

static const char *difference(Context *c, const Form *a, const Form *b)
{
    const RunArguments *x = workload_arguments(a->data), *y = workload_arguments(b->data);
    for (int i = 0; i < a->module->n_buffers; i++) {
        const ModuleBuffer *buffer = &a->module->buffers[i];
        if (buffer->role != BUFFER_OUT && buffer->role != BUFFER_INOUT)
            continue;
        const char *p = (const char *)(uintptr_t)x->buffers[i], *q = (const char *)(uintptr_t)y->buffers[i];
        int64_t n = workload_elements(a->data, i), bytes = type_bytes(buffer->type);
        for (int64_t e = 0; e < n; e++)
            if (memcmp(p + e * bytes, q + e * bytes, (size_t)bytes) != 0)
                return arena_printf(c->arena, "output '%s' differs at element %lld of %lld", buffer->name,
                                    (long long)e, (long long)n);
    }
    return NULL;
}

static const char *compare(const Run *run, const Form *program, Form *form)
{
    Context *c = run->c;
    if (!form_run(run, form, program))
        return arena_printf(c->arena, "%s: %s", fault_name(form->fault.kind),
                            form->fault.kind ? form->fault.message : messages(c));
    const char *why = difference(c, program, form);
    if (!why || !run->reference)
        return why;
    VerifyResult result;
    StrBuf text = strbuf_new(c->arena);
    if (!verify_run(run->d, form->module, form->data, run->reference, &(VerifyOptions){0}, &result))
        return messages(c);
    verify_describe(&result, &text);
    return result.wrong > 0 ? text.text : NULL;
}

/* Runs `module` in the given manner; NULL or what is wrong. */
static const char *try_form(Run run, const Form *program, const Module *module, int width, const char *what)
{
    Form form = {.module = module};
    run.width = width;
    const char *why = compare(&run, program, &form);
    if (form.data)
        workload_free(form.data);
    return why ? arena_printf(run.c->arena, "%s: %s", what, why) : NULL;
}

/* Warps exchange values among their 32 lanes, so those stay together. */
static int legal_width(const Module *m, int width)
{
    for (int k = 0; k < m->n_kernels; k++)
        for (int i = 0; i < m->kernels[k].code->n_code; i++)
            if (m->kernels[k].code->code[i].op == VM_SHUFFLE)
                return 32;
    return width;
}

static const char *run_all(Run *run, Form *program, const Module *sequential, const Module *lowered,
                           int width)
{
    if (!form_run(run, program, NULL))
        return arena_printf(run->c->arena, "the program itself: %s", messages(run->c));
    const char *why = try_form(*run, program, sequential, 0, "scheduled, in order");
    if (!why && lowered)
        why = try_form(*run, program, lowered, 0, "lowered");
    if (!why && lowered)
        why = try_form(*run, program, lowered, legal_width(lowered, width), "lowered, threads in groups");
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

CheckAnswer check_run(Context *c, const Kernel *program, const Kernel *scheduled, const int64_t *sizes,
                      bool reorders, int width, bool reversed, const char **why)
{
    LowerOptions options = {.limits = limits_default()};
    Kernel *plain = sequential_kernel(c, program), *sequential = sequential_kernel(c, scheduled);
    if (!plain || !sequential)
        return CHECK_REFUSED;
    Kernel *lowered = lower_kernel(c, scheduled, &options);
    *why = lowered ? check_text(c, lowered) : NULL;
    if (*why)
        return CHECK_WRONG;
    DiagMark refusal = diag_mark(c);
    Run run = {.c = c, .sizes = sizes, .reversed = reversed};
    run.d = device_open(c, &(DeviceOptions){.kind = DEVICE_SIM});
    if (reorders)
        run.reference = module_build(c, reference_kernel(c, program), NULL);
    Form form = {.module = built(c, plain, program)};
    *why = run_all(&run, &form, built(c, sequential, program), built(c, lowered, program), width);
    if (form.data)
        workload_free(form.data);
    run.d->ops->close(run.d);
    if (!*why)
        diag_forget(c, refusal);
    return *why ? CHECK_WRONG : lowered ? CHECK_OK : CHECK_REFUSED;
}
