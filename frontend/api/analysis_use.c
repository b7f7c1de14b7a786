/* analysis_use.c - Reports which resources of a multiprocessor the kernels of an analysis use, and
 * where their blocks wait. */
#include "frontend/api/analysis.h"
#include "runtime/cuda/cubin.h"

#include <string.h>

/* ---- barriers ------------------------------------------------------------------------------ */

/* The next barrier of the cursor's text; NULL after the last. */
static const Stmt *next_barrier(Cursor *at)
{
    while (cursor_next(at))
        if (at->stmt->kind == ST_BARRIER && sync_meets(at->stmt->u.barrier.kind))
            return at->stmt;
    return NULL;
}

/* The machine has one instruction for each barrier of the text, in the same order. */
static void barriers_of(Analyst *a, int kernel, const LaunchUse *use)
{
    const VmFunction *code = a->module->kernels[kernel].code;
    Cursor at = cursor_stmts(a->c, use->launch->u.launch.body);
    for (int i = 0; i < code->n_code; i++) {
        const Stmt *s = code->code[i].op == VM_BARRIER ? next_barrier(&at) : NULL;
        if (!s)
            continue;
        int64_t counted = counters_executions(a->census.counters, kernel, i).times;
        int64_t blocks = a->census.kernels[kernel].counted;
        tirc_barrier row = {.kernel = a->module->kernels[kernel].name,
                            .reason = s->u.barrier.why,
                            .executed = census_scale(&a->census, kernel, counted),
                            .per_block = blocks ? (double)counted / (double)blocks : 0,
                            .origin = api_origin(a->t, a->kernel, (Origin){s->span, s->step})};
        VEC_PUSH(a->c->arena, &a->out->barriers, row);
    }
}

void analysis_barriers(Analyst *a)
{
    LaunchUseList uses = {0};
    launch_uses(a->c, a->kernel->kernel, &uses);
    for (int k = 0; k < a->module->n_kernels && k < uses.n; k++)
        barriers_of(a, k, &uses.items[k]);
}

/* ---- occupancy ----------------------------------------------------------------------------- */

typedef struct {
    const void *image;
    size_t bytes;
} Cubin;

/* Machine code, where NVRTC is there: it is needed for nothing but the registers, so that its
 * absence is no error. */
static Cubin machine_code(const Analyst *a)
{
    Cubin cubin = {0};
    DiagMark mark = diag_mark(a->c);
    if (!nvrtc_compile(a->c,
                       &(NvrtcRequest){.source = api_cuda_text(a->t, a->kernel),
                                       .name = a->kernel->kernel->name,
                                       .arch = a->arch,
                                       .kind = NVRTC_CUBIN,
                                       .lines = NVRTC_PLAIN},
                       &cubin.image, &cubin.bytes))
        cubin = (Cubin){0};
    diag_forget(a->c, mark);
    return cubin;
}

static void set_occupancy(const Analyst *a, tirc_kernel_use *use)
{
    int64_t threads = use->block[0] * use->block[1] * use->block[2];
    Occupancy o =
        occupancy_of(&a->profile, &(OccupancyNeed){threads, use->shared_bytes, use->registers});
    double resident = (double)o.blocks * a->profile.multiprocessors;
    use->resident_blocks = o.blocks;
    use->resident_threads = o.threads;
    use->occupancy = o.share;
    use->limited_by = o.by[o.limit] == INT64_MAX ? NULL : occupancy_limit_name(o.limit);
    use->waves = resident > 0 ? (double)(use->grid[0] * use->grid[1] * use->grid[2]) / resident : 0;
}

void analysis_kernels(Analyst *a)
{
    Cubin cubin = machine_code(a);
    for (int k = 0; k < a->module->n_kernels; k++) {
        const ModuleKernel *kernel = &a->module->kernels[k];
        const KernelCensus *census = &a->census.kernels[k];
        CubinKernel code = {0};
        if (census->launches == 0)
            continue;
        if (cubin.image)
            cubin_kernel(cubin.image, cubin.bytes, kernel->symbol, &code);
        tirc_kernel_use use = {.name = kernel->name,
                               .launches = census->launches,
                               .registers = code.registers,
                               .stack_bytes = code.stack_bytes,
                               .shared_bytes = kernel->shared_static + kernel->shared_dynamic};
        memcpy(use.grid, census->grid, sizeof use.grid);
        memcpy(use.block, kernel->block, sizeof use.block);
        set_occupancy(a, &use);
        VEC_PUSH(a->c->arena, &a->out->kernels, use);
    }
}
