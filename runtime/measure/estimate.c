/* estimate.c - see estimate.h.
 *
 * The rooflines of an analysis bound the time from below as if a kernel filled the GPU. This model
 * adds what distinguishes schedules of one program: multiprocessors that stay idle in the last wave
 * of blocks, too few warps to hide latencies, and the chain of memory accesses of one warp. A
 * kernel takes the longest of its parts, and kernels run one after the other. */
#include "runtime/measure/estimate.h"

#include "runtime/measure/occupancy.h"
#include "runtime/measure/roofline.h"

static const double NOTHING_S = 1e-9; /* for sizes that launch nothing */
static const double LAUNCH_S = 2e-6;
static const double GLOBAL_LATENCY_S = 600e-9;
static const double SHARED_LATENCY_S = 15e-9;
static const double BARRIER_S = 20e-9;
static const double IN_FLIGHT = 4;    /* requests of a warp at the same time */
static const double ENOUGH_WARPS = 8; /* per multiprocessor, for its full arithmetic speed */

/* What one kernel does, in all its launches. */
typedef struct {
    Work work;
    double global_requests, shared_requests, global_bytes, barriers;
} KernelWork;

static KernelWork work_of(const Module *m, const Census *census, int k)
{
    KernelWork w = {0};
    const VmFunction *code = m->kernels[k].code;
    for (int i = 0; i < code->n_code; i++) {
        const AccessCounter *at = counters_at(census->counters, k, i);
        ExecutionCount n = counters_executions(census->counters, k, i);
        double requests = (double)census_scale(census, k, at->cost.requests);
        if (code->code[i].op == VM_BARRIER)
            w.barriers += (double)census_scale(census, k, n.times);
        if (requests > 0 && at->buffer->space == VM_GLOBAL) {
            w.global_requests += requests;
            w.global_bytes += (double)census_scale(census, k, at->cost.lanes) * at->bytes;
        } else {
            w.shared_requests += requests;
        }
    }
    work_add(&w.work, m, census, k);
    return w;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double ceil_div(double a, double b)
{
    int64_t n = (int64_t)(a / b);
    return (double)n * b < a ? (double)n + 1 : (double)n;
}

/* How a kernel occupies the device. */
typedef struct {
    double blocks;   /* of a launch */
    double warps;    /* of a block */
    double busiest;  /* blocks of the busiest multiprocessor */
    double resident; /* warps at the same time on it */
    double waves;    /* blocks that run one after the other in one place */
} Shape;

static Shape shape_of(const Profile *p, const ModuleKernel *k, const KernelCensus *census)
{
    int64_t threads = k->block[0] * k->block[1] * k->block[2];
    double multiprocessors = larger(p->multiprocessors, 1);
    Occupancy o =
        occupancy_of(p, &(OccupancyNeed){threads, k->shared_static + k->shared_dynamic, 0});
    Shape s = {.blocks = (double)census->blocks / (double)census->launches,
               .warps = ceil_div((double)threads, 32)};
    double together = larger((double)o.blocks, 1);
    s.busiest = ceil_div(s.blocks, multiprocessors);
    s.waves = ceil_div(s.busiest, together);
    s.resident = (s.busiest < together ? s.busiest : together) * s.warps;
    return s;
}

/* Seconds of the parts of each multiprocessor: arithmetic, tensor cores, load/store units. */
static double local_seconds(const Profile *p, const KernelWork *w, const Shape *s)
{
    Roof roofs[ROOFS];
    roofline_of(p, &w->work, roofs);
    double computed = larger(roofs[ROOF_ARITHMETIC].ms, roofs[ROOF_TENSOR].ms);
    double full = larger(computed, roofs[ROOF_L1].ms) * 1e-3;
    double uneven = s->busiest * larger(p->multiprocessors, 1) / larger(s->blocks, 1);
    double hidden = s->resident < ENOUGH_WARPS ? s->resident / ENOUGH_WARPS : 1;
    return full * uneven / larger(hidden, 1e-3);
}

/* Seconds of the second-level cache with as many requests in flight as the warps make. */
static double shared_seconds(const Profile *p, const KernelWork *w, const Shape *s)
{
    double used = s->blocks < p->multiprocessors ? s->blocks : p->multiprocessors;
    double each = w->global_requests > 0 ? w->global_bytes / w->global_requests : 0;
    double in_flight = used * s->resident * each * IN_FLIGHT / GLOBAL_LATENCY_S;
    double rate = p->l2_gbps > 0 ? p->l2_gbps * 1e9 : p->dram_gbps * 2e9;
    if (in_flight > 0 && in_flight < rate)
        rate = in_flight;
    return rate > 0 ? w->work.beyond_l1_bytes / rate : 0;
}

/* Seconds of the accesses of one warp after another, in all waves of all launches. */
static double chain_seconds(const KernelWork *w, const Shape *s, const KernelCensus *census)
{
    double all = larger((double)census->blocks, 1);
    double warps = all * larger(s->warps, 1);
    double one = w->global_requests / warps * GLOBAL_LATENCY_S / IN_FLIGHT +
                 w->shared_requests / warps * SHARED_LATENCY_S / IN_FLIGHT +
                 w->barriers / all * BARRIER_S;
    return one * s->waves * (double)census->launches;
}

double estimate_ms(const Profile *p, const Module *m, const Census *census, int64_t least_bytes)
{
    double seconds = 0;
    for (int k = 0; k < m->n_kernels; k++) {
        const KernelCensus *of = &census->kernels[k];
        if (of->launches == 0 || of->blocks == 0)
            continue;
        KernelWork w = work_of(m, census, k);
        Shape s = shape_of(p, &m->kernels[k], of);
        double longest = larger(local_seconds(p, &w, &s), shared_seconds(p, &w, &s));
        seconds += larger(longest, chain_seconds(&w, &s, of)) + LAUNCH_S * (double)of->launches;
    }
    double device = p->dram_gbps > 0 ? (double)least_bytes / (p->dram_gbps * 1e9) : 0;
    return larger(larger(seconds, device), NOTHING_S) * 1e3;
}
