/* form.c - see form.h. */
#include "support/form.h"

#include <string.h>

typedef struct {
    Form *form;
    Turns turns;
} Launching;

static bool launch_in_turns(void *user, const VmLaunch *launch)
{
    Launching *l = user;
    return vm_run_kernel_in_groups(
        l->form->module, workload_arguments(l->form->data), launch,
        (VmGroups){.width = l->turns.width, .reversed = l->turns.reversed}, &l->form->fault);
}

static bool run_in_turns(Form *form, Turns turns)
{
    VmFault fault;
    Launching l = {form, turns};
    if (vm_run_host(form->module, workload_arguments(form->data), launch_in_turns, &l, &fault))
        return true;
    if (fault.kind != FAULT_STOPPED)
        form->fault = fault;
    return false;
}

static bool run_in_step(Device *d, Form *form)
{
    LoadedModule *loaded = d->ops->load(d, form->module);
    bool ok = loaded && d->ops->run(d, loaded, workload_arguments(form->data)) && d->ops->sync(d);
    form->fault = d->fault;
    if (loaded)
        d->ops->unload(d, loaded);
    return ok;
}

/* To the device, and to what verification takes for the inputs. */
static bool copy_inputs(Device *d, Form *form, const Form *like)
{
    for (int i = 0; i < form->module->n_buffers; i++) {
        const ModuleBuffer *b = &form->module->buffers[i];
        if (b->role != BUFFER_IN && b->role != BUFFER_INOUT)
            continue;
        size_t bytes = (size_t)workload_elements(form->data, i) * (size_t)type_bytes(b->type);
        if (!d->ops->write(d, workload_arguments(form->data)->buffers[i],
                           workload_input(like->data, i), bytes))
            return false;
        memcpy((void *)(uintptr_t)workload_input(form->data, i), workload_input(like->data, i),
               bytes);
    }
    return true;
}

bool form_run(Device *d, Form *form, const int64_t *sizes, const Form *like, Turns turns)
{
    form->data = workload_new(d, form->module, sizes, 7);
    if (!form->data || (like && !copy_inputs(d, form, like)))
        return false;
    return turns.width > 0 ? run_in_turns(form, turns) : run_in_step(d, form);
}

void form_free(Form *form)
{
    if (form->data)
        workload_free(form->data);
    form->data = NULL;
}

static const char *first_difference(Context *c, const Form *a, const Form *b)
{
    const RunArguments *x = workload_arguments(a->data), *y = workload_arguments(b->data);
    for (int i = 0; i < a->module->n_buffers; i++) {
        const ModuleBuffer *buffer = &a->module->buffers[i];
        if (buffer->role != BUFFER_OUT && buffer->role != BUFFER_INOUT)
            continue;
        const char *p = (const char *)(uintptr_t)x->buffers[i],
                   *q = (const char *)(uintptr_t)y->buffers[i];
        int64_t n = workload_elements(a->data, i), bytes = type_bytes(buffer->type);
        for (int64_t e = 0; e < n; e++)
            if (memcmp(p + e * bytes, q + e * bytes, (size_t)bytes) != 0)
                return arena_printf(c->arena, "output '%s' differs at element %lld of %lld",
                                    buffer->name, (long long)e, (long long)n);
    }
    return NULL;
}

const char *form_difference(Context *c, Device *d, const Form *program, const Form *form,
                            const Module *reference)
{
    const char *why = first_difference(c, program, form);
    if (!why || !reference)
        return why;
    VerifyResult result;
    StrBuf text = strbuf_new(c->arena);
    if (!verify_run(
            d, &(VerifyRun){.module = form->module, .workload = form->data, .reference = reference},
            &(VerifyOptions){0}, &result)) {
        diag_render_all(c, DIAG_PLAIN, &text);
        return text.length > 0 ? text.text : "verification says nothing";
    }
    verify_describe(&result, &text);
    bool same = result.ok || (form->rounds && result.wrong == 0);
    return same ? NULL : text.text;
}
