/* census.c - see census.h. */
#include "runtime/measure/census.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Device *sim;
    const Module *m;
    Census *out;
    int64_t budget;   /* for each launch */
    int64_t launches; /* in all */
    bool sampled;     /* as in CensusRun */
    Counters *workers[VM_WORKERS];
    bool out_of_memory[VM_WORKERS];
} Taker;

/* ---- the observer -------------------------------------------------------------------------- */

static int kernel_of(const Taker *t, const VmFunction *f)
{
    int kernel = 0;
    while (t->m->kernels[kernel].code != f)
        kernel++;
    return kernel;
}

static Counters *counters_of(Taker *t, int worker)
{
    if (!t->workers[worker])
        t->workers[worker] = counters_new(t->m);
    if (!t->workers[worker])
        t->out_of_memory[worker] = true;
    return t->workers[worker];
}

static AccessOp op_of(VmOp op)
{
    return op == VM_LOAD ? ACCESS_LOAD : op == VM_STORE ? ACCESS_STORE : ACCESS_ATOMIC;
}

static void on_request(void *user, const VmRequest *r)
{
    Taker *t = user;
    Counters *c = counters_of(t, r->worker);
    if (!c)
        return;
    AccessEvent e = {.kernel = kernel_of(t, r->function),
                     .inst = r->inst,
                     .buffer = r->buffer,
                     .op = op_of(r->op),
                     .block = r->block,
                     .warp = r->warp};
    e.lanes.active = r->active;
    e.lanes.bytes = r->bytes;
    e.lanes.writes = r->op != VM_LOAD;
    memcpy(e.lanes.address, r->address, sizeof e.lanes.address);
    if (!counters_add(c, &e))
        t->out_of_memory[r->worker] = true;
}

static bool note_unit(Counters *c, const VmFunction *f, const VmInst *inst)
{
    if (inst->sub == VM_UNIT_END)
        return counters_end_unit(c);
    counters_begin_unit(c, f->units[inst->c].lanes);
    return true;
}

static void on_execution(void *user, const VmExecution *x)
{
    Taker *t = user;
    Counters *c = counters_of(t, x->worker);
    if (!c)
        return;
    counters_add_execution(c, kernel_of(t, x->function), x->inst, x->lanes);
    const VmInst *inst = &x->function->code[x->inst];
    if (inst->op == VM_UNIT && !note_unit(c, x->function, inst))
        t->out_of_memory[x->worker] = true;
}

/* ---- which blocks -------------------------------------------------------------------------- */

enum { OPERATIONS_PER_REQUEST = 256 };

/* The work done so far, in requests; arithmetic is converted to requests of the same duration. */
static int64_t work_so_far(const Taker *t, int kernel)
{
    const VmFunction *code = t->m->kernels[kernel].code;
    int64_t requests = 0, operations = 0;
    for (int w = 0; w < VM_WORKERS; w++) {
        requests += t->workers[w] ? counters_requests(t->workers[w]) : 0;
        for (int i = 0; t->workers[w] && i < code->n_code; i++)
            if (vm_flops(&code->code[i]) > 0)
                operations += counters_executions(t->workers[w], kernel, i).lanes;
    }
    return requests + operations / OPERATIONS_PER_REQUEST;
}

typedef enum { BLOCKS_RUN, BLOCKS_COUNTED } BlockCensus;

/* Blocks of a cluster run together: what follows counts clusters, which are blocks where a kernel
 * has none. */
static int cluster_of(const Taker *t, const SimLaunch *l)
{
    return t->m->kernels[sim_launch_of(l)->kernel].code->cluster;
}

static bool run_blocks(Taker *t, const SimLaunch *l, const int64_t *numbers, int64_t n,
                       BlockCensus census)
{
    VmObserver observer = {t, on_request, on_execution};
    VmRunOptions options = {.clusters = numbers,
                            .n_clusters = n,
                            .observer = census == BLOCKS_COUNTED ? &observer : NULL};
    if (census == BLOCKS_COUNTED)
        t->out->kernels[sim_launch_of(l)->kernel].counted += n * cluster_of(t, l);
    return n == 0 || sim_run_blocks(l, &options);
}

/* How many blocks are counted, where one takes as much work as the one that has been run. */
static int64_t sample_size(const Taker *t, int64_t of_one, int64_t blocks)
{
    int64_t fits = of_one > 0 ? t->budget / of_one : blocks;
    return fits < 1 ? 1 : fits < blocks ? fits : blocks;
}

typedef enum { SAMPLE_REST, SAMPLE_CHOSEN } BlockSample;

/* The blocks but the middle one that are among `n` at even distances, or are not; how many. */
static int64_t choose(int64_t n, int64_t blocks, BlockSample sample, int64_t *numbers)
{
    int64_t found = 0;
    for (int64_t i = 0; i < blocks; i++) {
        bool chosen = (__int128)(i + 1) * n / blocks > (__int128)i * n / blocks;
        if (i != blocks / 2 && chosen == (sample == SAMPLE_CHOSEN))
            numbers[found++] = i;
    }
    return found;
}

/* One block in the middle shows what a block takes; then the others of the sample, and then, if
 * need be, the rest. */
static bool take_blocks(Taker *t, const SimLaunch *l, int64_t blocks, int64_t *numbers)
{
    int kernel = sim_launch_of(l)->kernel;
    int64_t middle = blocks / 2, before = work_so_far(t, kernel);
    if (!run_blocks(t, l, &middle, 1, BLOCKS_COUNTED))
        return false;
    int64_t n = sample_size(t, work_so_far(t, kernel) - before, blocks);
    return run_blocks(t, l, numbers, choose(n, blocks, SAMPLE_CHOSEN, numbers), BLOCKS_COUNTED) &&
           (t->sampled || t->launches == 1 ||
            run_blocks(t, l, numbers, choose(n, blocks, SAMPLE_REST, numbers), BLOCKS_RUN));
}

/* Blocks that await what others store have to run in order: the first ones are the sample. */
static bool take_in_order(Taker *t, const SimLaunch *l, int64_t blocks, int64_t *numbers)
{
    int kernel = sim_launch_of(l)->kernel;
    int64_t before = work_so_far(t, kernel);
    for (int64_t i = 0; i < blocks; i++)
        numbers[i] = i;
    if (!run_blocks(t, l, numbers, 1, BLOCKS_COUNTED))
        return false;
    int64_t n = sample_size(t, work_so_far(t, kernel) - before, blocks);
    return run_blocks(t, l, numbers + 1, n - 1, BLOCKS_COUNTED) &&
           (t->sampled || t->launches == 1 ||
            run_blocks(t, l, numbers + n, blocks - n, BLOCKS_RUN));
}

static bool take_launch(void *user, const SimLaunch *l)
{
    Taker *t = user;
    const VmLaunch *launch = sim_launch_of(l);
    int64_t blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    KernelCensus *k = &t->out->kernels[launch->kernel];
    if (k->launches++ == 0)
        memcpy(k->grid, launch->grid, sizeof k->grid);
    k->blocks += blocks;
    for (int w = 0; w < VM_WORKERS; w++)
        if (t->workers[w])
            counters_begin_launch(t->workers[w]);
    int64_t *numbers = malloc((size_t)blocks * sizeof *numbers);
    if (!numbers) {
        diag_error(t->sim->ctx, E0600, span_none(), "out of memory while sampling %lld blocks",
                   (long long)blocks);
        return false;
    }
    bool awaits = t->m->kernels[launch->kernel].code->awaits;
    bool ok = (awaits ? take_in_order : take_blocks)(t, l, blocks / cluster_of(t, l), numbers);
    free(numbers);
    return ok;
}

/* ---- all ----------------------------------------------------------------------------------- */

static bool count_launch(void *user, const SimLaunch *l)
{
    (void)l;
    ++*(int64_t *)user;
    return true;
}

/* Adds up what the threads of the machine counted. */
static bool gather(Taker *t)
{
    bool ok = true;
    t->out->counters = counters_new(t->m);
    for (int w = 0; w < VM_WORKERS; w++) {
        ok = ok && !t->out_of_memory[w] && t->out->counters;
        if (ok && t->workers[w])
            counters_merge(t->out->counters, t->workers[w]);
        counters_free(t->workers[w]);
    }
    if (!ok)
        diag_error(t->sim->ctx, E0600, span_none(), "out of memory for the counters of '%s'",
                   t->m->name);
    return ok;
}

bool census_take(Device *sim, const CensusRun *run, int64_t budget, Census *out)
{
    Taker t = {.sim = sim, .m = run->module, .out = out, .sampled = run->sampled};
    *out = (Census){.kernels = calloc((size_t)run->module->n_kernels + 1, sizeof *out->kernels)};
    if (!out->kernels) {
        diag_error(sim->ctx, E0600, span_none(), "out of memory for the counters of '%s'",
                   run->module->name);
        return false;
    }
    if (!sim_run_with(sim, run->loaded, run->args, count_launch, &t.launches))
        return false;
    t.budget = t.launches > 0 ? budget / t.launches : budget;
    bool ran = sim_run_with(sim, run->loaded, run->args, take_launch, &t);
    return gather(&t) && ran;
}

void census_free(Census *c)
{
    counters_free(c->counters);
    free(c->kernels);
    *c = (Census){0};
}

int64_t census_scale(const Census *c, int kernel, int64_t counted)
{
    const KernelCensus *k = &c->kernels[kernel];
    return k->counted > 0 ? (int64_t)((__int128)counted * k->blocks / k->counted) : 0;
}
