/* analyze_table.c - Prints an analysis as text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze.h"

/* ---- numbers --------------------------------------------------------------------------------- */

/* "33.6 MB": three digits and a prefix. */
static void number_short(double value, const char *unit, char out[NUMBER_ROOM])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int prefix = 0;
    while (fabs(value) >= 999.5 && prefix < 5) {
        value /= 1000;
        prefix++;
    }
    snprintf(out, NUMBER_ROOM, "%.3g %s%s", value, prefixes[prefix], unit);
}

void number_plain(double value, char out[NUMBER_ROOM])
{
    if (value == floor(value) && fabs(value) < 1e15)
        snprintf(out, NUMBER_ROOM, "%.0f", value);
    else
        snprintf(out, NUMBER_ROOM, "%.2f", value);
}

static const char *plural(double n)
{
    return n == 1 ? "" : "s";
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void print_kernel_use(const tirc_kernel_use *k)
{
    printf("  %s: %" PRId64 " threads and %" PRId64 " bytes of shared memory per block", k->name,
           k->block[0] * k->block[1] * k->block[2], k->shared_bytes);
    if (k->registers)
        printf(", %d registers per thread", k->registers);
    if (k->stack_bytes)
        printf(", %d bytes of them spilled to memory", k->stack_bytes);
    printf("\n");
    if (!k->limited_by)
        return;
    printf("    a multiprocessor holds %" PRId64 " block%s, %" PRId64 " threads",
           k->resident_blocks, plural((double)k->resident_blocks), k->resident_threads);
    if (k->occupancy > 0)
        printf(", %.3g%% of the maximum", 100 * k->occupancy);
    printf("; %s bind%s", k->limited_by,
           strchr("sm", k->limited_by[strlen(k->limited_by) - 1]) ? "" : "s");
    if (k->waves >= 1)
        printf("; %.3g wave%s of blocks", k->waves, plural(k->waves));
    else if (k->waves > 0)
        printf("; the grid fills %.3g%% of the GPU", 100 * k->waves);
    printf("\n");
}

/* ---- accesses -------------------------------------------------------------------------------- */

void access_cost_text(const tirc_access *a, char out[COST_ROOM])
{
    char number[NUMBER_ROOM];
    bool global = !strcmp(a->scope, "global"), shared = !strcmp(a->scope, "shared");
    double cost = global   ? a->sectors_per_request
                  : shared ? a->wavefronts_per_request
                           : a->passes_per_request;
    number_plain(cost, number);
    snprintf(out, COST_ROOM, "%s %s%s", number,
             global   ? "sector"
             : shared ? "wavefront"
                      : "word",
             plural(cost));
}

static void print_access(const tirc_access *a)
{
    char place[32] = "", what[96], cost[COST_ROOM], ideal[NUMBER_ROOM];
    if (a->origin.path)
        snprintf(place, sizeof place, "%d:%d", a->origin.line, a->origin.column);
    snprintf(what, sizeof what, "%s %.40s (%s)", a->op, a->buffer, a->scope);
    access_cost_text(a, cost);
    number_plain(a->ideal, ideal);
    printf("    %-8s %-34s %3d %12" PRId64 "  %-16s %s\n", place, what, a->bytes, a->requests, cost,
           ideal);
    if (a->verdict)
        printf("             %s\n", a->verdict);
}

static void print_accesses(const tirc_analysis *analysis)
{
    tirc_access a;
    const char *kernel = NULL;
    for (size_t i = 0; tirc_access_at(analysis, i, &a); i++) {
        if (!kernel || strcmp(kernel, a.kernel) != 0)
            printf("\n    %-8s %-34s %3s %12s  %-16s %s\n", "line", a.kernel, "B", "requests",
                   "each costs", "ideal");
        kernel = a.kernel;
        print_access(&a);
    }
}

static void print_barriers(const tirc_analysis *analysis)
{
    tirc_barrier b;
    char times[NUMBER_ROOM];
    for (size_t i = 0; tirc_barrier_at(analysis, i, &b); i++) {
        if (i == 0)
            printf("\n    barriers, and how often each block executes them\n");
        number_plain(b.per_block, times);
        printf("    %d:%-6d %s in %s: %s\n", b.origin.line, b.origin.column, times, b.kernel,
               b.reason ? b.reason : "");
    }
}

/* ---- traffic and limits ---------------------------------------------------------------------- */

static void print_per_element(const tirc_analysis_summary *s)
{
    const struct {
        int64_t count;
        const char *name;
    } all[] = {{s->loads, "load"}, {s->stores, "store"}, {s->atomics, "atomic"}};
    if (s->output_elements == 0)
        return;
    printf("    each output element takes");
    for (int i = 0, said = 0; i < 3; i++) {
        char number[NUMBER_ROOM];
        double each = (double)all[i].count / (double)s->output_elements;
        if (all[i].count == 0)
            continue;
        number_plain(each, number);
        printf("%s %s %s%s", said++ ? "," : "", number, all[i].name, plural(each));
    }
    printf(" of global memory\n");
}

static void print_traffic(const tirc_analysis_summary *s)
{
    char named[NUMBER_ROOM], sectors[NUMBER_ROOM], beyond[NUMBER_ROOM], least[NUMBER_ROOM],
        flops[NUMBER_ROOM];
    number_short((double)s->bytes_named, "B", named);
    number_short((double)s->bytes_sectors, "B", sectors);
    number_short((double)s->bytes_beyond_l1, "B", beyond);
    number_short((double)s->bytes_least, "B", least);
    printf("\n    threads access %s of global memory, %s in whole sectors; %s pass the L1 cache;\n "
           "   the parameters have %s\n",
           named, sectors, beyond, least);
    print_per_element(s);
    if (s->bytes_per_flop <= 0)
        return;
    number_short((double)s->program_flops, "flop", flops);
    printf("    %s: %.3g bytes per flop", flops, s->bytes_per_flop);
    if (s->uncached_gflops > 0)
        printf("; without caches, %.4g GB/s would allow %.4g GFLOP/s", s->dram_gbps,
               s->uncached_gflops);
    if (s->peak_gflops > 0)
        printf(", and %.5g GFLOP/s would need %.4g GB/s", s->peak_gflops,
               s->peak_gflops * s->bytes_per_flop);
    printf("\n");
}

void time_text(double ms, char out[NUMBER_ROOM])
{
    if (ms >= 1)
        snprintf(out, NUMBER_ROOM, "%.4g ms", ms);
    else if (ms * 1e3 < 0.1)
        snprintf(out, NUMBER_ROOM, ms > 0 ? "%.3g ns" : "0", ms * 1e6);
    else
        snprintf(out, NUMBER_ROOM, "%.3f us", ms * 1e3);
}

static void print_limits(const tirc_analysis *analysis)
{
    tirc_limit l;
    printf("\n    minimum time on this GPU\n");
    for (size_t i = 0; tirc_limit_at(analysis, i, &l); i++) {
        char amount[NUMBER_ROOM], rate[NUMBER_ROOM], time[NUMBER_ROOM];
        const char *unit = !strcmp(l.unit, "byte") ? "B" : l.unit;
        if (l.amount == 0)
            continue;
        number_short(l.amount, unit, amount);
        number_short(l.rate, unit, rate);
        time_text(l.ms, time);
        if (l.rate > 0)
            printf("    %-20s %11s  %s at %s/s%s\n", l.name, time, amount, rate,
                   l.binds ? "  <- bottleneck" : "");
        else
            printf("    %-20s %11s  %s; the profile gives no rate\n", l.name, "?", amount);
    }
}

void analysis_print(const tirc_analysis *analysis)
{
    tirc_analysis_summary s = tirc_analysis_describe(analysis);
    tirc_kernel_use k;
    printf("  analyze for %s: ", s.profile);
    if (s.counted_blocks == s.blocks)
        printf("%s%" PRId64 " block%s counted\n", s.blocks == 1 ? "" : "all ", s.blocks,
               plural((double)s.blocks));
    else
        printf("from %" PRId64 " of %" PRId64 " blocks, which stand for all\n", s.counted_blocks,
               s.blocks);
    for (size_t i = 0; tirc_kernel_use_at(analysis, i, &k); i++)
        print_kernel_use(&k);
    print_accesses(analysis);
    print_barriers(analysis);
    print_traffic(&s);
    print_limits(analysis);
}
