/* pipeline.c - Runs the passes of pipeline.def: times each, reports it, and verifies its result. */
#include "ir/target/target.h"
#include "passes/lower/pass.h"

#include <time.h>

typedef enum { LEAVES_SCHEDULED, LEAVES_MIXED, LEAVES_LOWERED } Leaves;

typedef struct {
    const char *name;
    Leaves leaves;
    Kernel *(*run)(Context *c, const Kernel *kernel, const LowerOptions *options);
} Pass;

static const Pass passes[] = {
#define PASS(name, leaves, why) {#name, LEAVES_##leaves, pass_##name},
#include "passes/lower/pipeline.def"
#undef PASS
};

Limits limits_default(void)
{
    return (Limits){
        .max_threads_per_block = 1024,
        .max_block = {1024, 1024, 64},
        .max_grid = {INT32_MAX, 65535, 65535},
        .max_shared = 232448,
        .max_registers = 65536,
        .max_resident_blocks = 32,
        .max_resident_threads = 2048,
        .max_resident_shared = 233472,
        .reserved_shared = 1024,
        .max_constant = 65536,
    };
}

Limits limits_of(Target target)
{
    Limits limits = limits_default();
    limits.max_shared = target_max_shared(target);
    return limits;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* In builds that check themselves, a pass that leaves a malformed kernel is a bug of that pass. */
static void verify_after(Context *c, const Pass *pass, const Kernel *kernel)
{
#if defined(TIRC_VERIFY) || !defined(NDEBUG)
    if (pass->leaves == LEAVES_MIXED)
        return;
    const char *broken = ir_verify(c, kernel);
    if (broken)
        TIRC_BUG(c, "after the pass %s: %s", pass->name, broken);
#else
    (void)c;
    (void)pass;
    (void)kernel;
#endif
}

Kernel *lower_kernel(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    Kernel *current = temps_sized(c, kernel, TEMPS_GLOBAL);
    if (current && kernel_level(c, kernel) == LEVEL_LOWERED)
        return pass_widen(c, current, options);
    if (!current)
        return NULL;
    /* Terms of sums stand in the order of age: outer variables first, also those of late steps, and
     * so as if the kernel's text had been read. */
    current->body = stmt_clone_fresh(c, current->body);
    const Kernel *apart = current, *stages = current;
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        double start = now();
        Kernel *next = passes[i].run(c, current, options);
        double seconds = now() - start;
        if (!next)
            return NULL;
        verify_after(c, &passes[i], next);
        if (options->after_pass)
            options->after_pass(options->user, passes[i].name, next, next->body != current->body,
                                seconds);
        current = next;
        if (passes[i].run == pass_drop_dead_blocks)
            stages = next;
        if (passes[i].run == pass_lower_thread_reductions)
            /* reductions across threads are ordinary loops, and all loops are still there */
            apart = next;
    }
    ir_demand(c, current);
    if (!threads_proved(c, apart) || !awaits_proved(c, apart))
        return NULL;
    warn_of_waste(c, stages);
    return current;
}
