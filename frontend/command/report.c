/* report.c - Prints the results of --run, --verify, --bench and --analyze as text. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_head(const Report *r)
{
    printf("%s", r->kernel);
    if (r->schedule)
        printf(", schedule %s", r->schedule);
    printf(", on %s (%s)\n", r->device.name, r->device.arch);
}

static void print_launches(const Command *c, const Report *r)
{
    tirc_launch_info l;
    for (size_t i = 0; tirc_launch_at(c->t, r->program, r->sizes, i, &l); i++) {
        printf("  launch  %s<<<(%" PRId64 ", %" PRId64 ", %" PRId64 "), (%" PRId64 ", %" PRId64
               ", %" PRId64 ")>>>",
               l.name, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2]);
        printf("  %" PRId64 " bytes shared, %d barrier%s", l.shared_bytes, l.barriers,
               l.barriers == 1 ? "" : "s");
        double threads = 1;
        for (int axis = 0; axis < 3; axis++)
            threads *= (double)l.grid[axis] * (double)l.block[axis];
        if (l.idle_threads > 0)
            printf(", %.3g%% of the threads idle", (double)l.idle_threads / threads * 100);
        printf("\n");
    }
}

static void print_output(const OutputReport *o)
{
    const tirc_summary *s = &o->summary;
    printf("          %s: %s[", o->name, o->type);
    for (int i = 0; i < o->rank; i++)
        printf("%s%" PRId64, i ? ", " : "", o->dims[i]);
    printf("]  checksum %016" PRIx64 "  starts", o->checksum);
    for (int i = 0; i < o->n_first; i++)
        printf(" %.7g", o->first[i]);
    printf("\n            least %.7g, largest %.7g, mean %.7g", s->least, s->largest, s->mean);
    if (s->nans)
        printf(", %" PRId64 " NaN%s", s->nans, s->nans == 1 ? "" : "s");
    printf("\n");
}

static void print_measurement(const tirc_measurement *m)
{
    printf("  bench   median %.4f ms, min %.4f, p95 %.4f  (%d runs, %s L2)\n", m->median_ms,
           m->min_ms, m->p95_ms, m->runs, m->cold_l2 ? "cold" : "warm");
    printf("          ");
    if (m->gflops > 0)
        printf("%.5g GFLOP/s, ", m->gflops);
    printf("%.4g GB/s\n", m->gbps);
}

static void print_versus(const Report *r)
{
    for (size_t i = 0; i < r->n_versus; i++)
        printf("  versus  %s: median %.4f ms, this kernel takes %.3f of its time%s\n", r->versus[i],
               r->beside[i].median_ms, r->measurement.median_ms / r->beside[i].median_ms,
               r->beside[i].agrees ? ", the same result" : "");
}

static void print_written(const tirc_verification *v)
{
    bool once = !strcmp(v->written, "once");
    printf("  writes  %s: %s\n",
           once                          ? "proved"
           : !strcmp(v->written, "open") ? "not proved"
                                         : "WRONG",
           once ? "each element that the program writes is written exactly once" : v->written_why);
}

/* Prints accesses that are out of bounds first: they matter most. */
static void print_open_accesses(const Command *c, const Report *r, const char *answer)
{
    tirc_open_access a;
    for (size_t i = 0; tirc_open_access_at(c->t, r->lowered, i, &a); i++)
        if (!strcmp(a.answer, answer))
            printf("          %s%s: %s\n", a.element,
                   !strcmp(answer, "leaves") ? " is out of bounds" : "", a.why);
}

static void print_memory(const Command *c, const Report *r)
{
    const tirc_memory *m = &r->memory;
    printf("  bounds  %s: %" PRId64 " of %" PRId64 " accesses are in bounds",
           m->leaving > 0             ? "VIOLATED for some sizes"
           : m->proved == m->accesses ? "proved"
                                      : "partly proved",
           m->proved, m->accesses);
    if (m->data > 0)
        printf(", %" PRId64 " depend%s on data", m->data, m->data == 1 ? "s" : "");
    printf("\n");
    print_open_accesses(c, r, "leaves");
    print_open_accesses(c, r, "unproved");
    print_open_accesses(c, r, "data");
}

static void print_verified(const tirc_verification *v)
{
    if (!*v->method) {
        printf("  verify  WRONG: the run did not finish\n");
        return;
    }
    printf("  verify  %s: %" PRId64 " of %" PRId64 " elements checked",
           v->ok                                ? "ok"
           : v->wrong || v->checked == v->total ? "WRONG"
           : v->checked                         ? "PARTLY"
                                                : "NOT CHECKED",
           v->checked, v->total);
    if (v->overflown)
        printf(", %" PRId64 " overflow in the program itself", v->overflown);
    if (v->wrong)
        printf(", %" PRId64 " wrong", v->wrong);
    if (v->structure)
        printf("\n          structure: %s", v->structure);
    printf("\n          rounding: %s\n", v->method);
}

void report_print(const Command *c, const Report *r)
{
    print_head(r);
    print_launches(c, r);
    if (r->ran)
        printf("  run     %.3f ms, including copies\n", r->run_ms);
    for (size_t i = 0; r->ran && i < r->n_outputs; i++)
        print_output(&r->outputs[i]);
    if (r->verified)
        print_verified(&r->verification);
    if (r->verified && r->verification.written)
        print_written(&r->verification);
    if (r->verified && r->bounded)
        print_memory(c, r);
    if (r->measured)
        print_measurement(&r->measurement);
    print_versus(r);
    if (r->analyzed.analysis)
        analysis_print(r->analyzed.analysis);
    if (r->analyzed.other)
        changes_print(&r->analyzed.changes, r->schedule ? r->schedule : r->kernel,
                      r->analyzed.other_name);
}
