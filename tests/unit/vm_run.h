/* vm_run.h - parsing, running and verifying small kernels in the tests of the machine. */
#ifndef TIRC_TESTS_VM_RUN_H
#define TIRC_TESTS_VM_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "frontend/syntax/parse.h"
#include "passes/lower/lower.h"
#include "runtime/measure/verify.h"

static inline int new_context(void **state)
{
    *state = ctx_new(0);
    return 0;
}

static inline int free_context(void **state)
{
    ctx_free(*state);
    return 0;
}

static inline const char *messages(Context *c)
{
    StrBuf out = strbuf_new(c->arena);
    diag_render_all(c, DIAG_PLAIN, &out);
    return out.text;
}

/* Fails the test with tirc's own words where a bug unwinds. */
#define GUARD(c)                                                                                   \
    jmp_buf guard_;                                                                                \
    (c)->guard = &guard_;                                                                          \
    if (setjmp(guard_))                                                                            \
    fail_msg("%s", (c)->fatal_message)

static inline Kernel *parsed(Context *c, const char *text)
{
    uint32_t source = source_add(c, "test.tir", text, strlen(text));
    AstFile *file = parse_text(c, source);
    Kernel *k = file && file->n_kernels ? resolve_kernel(c, file->kernels[0], NULL, 0) : NULL;
    if (!k)
        fail_msg("%s", messages(c));
    const char *broken = ir_verify(c, k);
    if (broken)
        fail_msg("%s", broken);
    return k;
}

static inline Device *simulator(Context *c)
{
    Device *d = device_open_sim(c, &(DeviceOptions){0});
    assert_non_null(d);
    return d;
}

/* A program run and its outputs compared with a reference. */
typedef struct {
    Device *d;
    Module *m;
    Workload *w;
} Run;

static inline int64_t *module_sizes(Context *c, const Module *m)
{
    int64_t *sizes = ARENA_ARRAY(c->arena, int64_t, m->n_sizes + 1);
    for (int i = 0; i < m->n_sizes; i++)
        sizes[i] = m->sizes[i].value;
    return sizes;
}

static inline Run run_open(Context *c, const Kernel *k)
{
    Run r = {.d = simulator(c)};
    const Kernel *plain = kernel_level(c, k) == LEVEL_LOWERED ? k : sequential_kernel(c, k);
    r.m = module_build(c, plain, NULL);
    r.w = workload_new(r.d, r.m, module_sizes(c, r.m), 1);
    if (!r.w)
        fail_msg("%s", messages(c));
    return r;
}

static inline bool run_once(Run *r)
{
    LoadedModule *loaded = r->d->ops->load(r->d, r->m);
    return loaded && r->d->ops->run(r->d, loaded, workload_arguments(r->w));
}

static inline void run_close(Run *r)
{
    workload_free(r->w);
    r->d->ops->close(r->d);
}

static inline int buffer_named(const Run *r, const char *name)
{
    for (int i = 0; i < r->m->n_buffers; i++)
        if (strcmp(r->m->buffers[i].name, name) == 0)
            return i;
    fail_msg("no buffer '%s'", name);
    return -1;
}

/* The memory of a buffer: the simulator's is this process's. */
static inline void *data_of(const Run *r, const char *name)
{
    return (void *)(uintptr_t)workload_arguments(r->w)->buffers[buffer_named(r, name)];
}

static inline VerifyResult verified_with(Context *c, const Run *r, const Kernel *program,
                                         const VerifyOptions *options)
{
    int64_t wanted = options->wanted;
    Kernel *reference =
        wanted ? reference_kernel_sampled(c, program) : reference_kernel(c, program);
    assert_non_null(reference);
    const char *broken = ir_verify(c, reference);
    StrBuf text = strbuf_new(c->arena);
    print_kernel(c, reference, &text);
    if (broken)
        fail_msg("%s\n%s", broken, text.text);
    VerifyResult result;
    if (!verify_run(r->d,
                    &(VerifyRun){.module = r->m,
                                 .workload = r->w,
                                 .reference = module_build(c, reference, NULL)},
                    options, &result))
        fail_msg("%s", messages(c));
    return result;
}

static inline VerifyResult verified(Context *c, const Run *r, const Kernel *program, int64_t wanted)
{
    return verified_with(c, r, program, &(VerifyOptions){.wanted = wanted, .seed = 7});
}

#endif
