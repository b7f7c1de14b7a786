/* structure.c - Verifies a program on small integers, for which every order of evaluation is exact:
 * results must be equal bit for bit, which reveals missing, doubled or misplaced terms.
 *
 * How small they must be depends on the program: sums of many terms in a narrow type have room for
 * few ones among zeros. The exact reference knows which elements are the same in every order; a
 * small sample of it, without a run, counts them, for one kind of inputs after another. */
#include "frontend/api/internal.h"

#include "passes/lower/lower.h"

/* From rich to poor. Where all are equal, still a missing or doubled term shows, if not a misplaced
 * one. */
static const SmallIntegers kinds[] = {{16, 1},       {4, 1},        {1, 1}, {1, 0.25},
                                      {1, 1.0 / 16}, {1, 1.0 / 64}, {0, 0}};
enum { KINDS = sizeof kinds / sizeof *kinds, TRIED = 8 /* indices of an axis */ };

typedef struct {
    tirc *t;
    const tirc_program *program;
    const Module *reference;
    const int64_t *sizes;
    uint64_t seed;
    double work; /* of the reference */
    Peer peer;   /* for what a sample leaves out */
} Search;

typedef Workload *Maker(Device *d, const Module *m, const int64_t *sizes, uint64_t seed,
                        const SmallIntegers *from);

/* Leaves it in t->workload. */
static bool draw(const Search *s, Maker *make, int kind, int round)
{
    tirc *t = s->t;
    workload_free(t->workload);
    t->workload = NULL;
    uint64_t seed = s->seed + (uint64_t)round * 0x9e3779b97f4a7c15u;
    t->workload =
        make(s->program->device->device, s->program->module, s->sizes, seed, &kinds[kind]);
    return t->workload != NULL;
}

/* The first kind of inputs on which all elements of the sample are exact, and not all 0; else one
 * on which most are that. KINDS: none is on any. False after a diagnostic. */
static bool choose_kind(const Search *s, Structure *out)
{
    VerifyOptions few = {.wanted = TRIED, .seed = s->seed};
    int64_t most = 0;
    out->kind = KINDS;
    for (int kind = 0; kind < KINDS; kind++) {
        VerifyResult r;
        if (!draw(s, workload_on_host, kind, 0) ||
            !verify_count(s->program->device->device,
                          &(VerifyRun){.module = s->program->module,
                                       .workload = s->t->workload,
                                       .reference = s->reference},
                          &few, &r))
            return false;
        if (kind == 0)
            out->blame = r.blame;
        if (r.nonzero > most) {
            most = r.nonzero;
            out->kind = kind;
        }
        if (r.unchecked == 0 && r.nonzero > 0)
            return true;
    }
    return true;
}

/* More runs if one run shows little: few different values, few elements. Among zeros a term has to
 * be met by chance: in 64 runs one of 4 is missed once in 10^8, one of 64 in every third case.
 * Programs that take long make fewer. */
static int rounds_of(const Search *s, const Structure *found)
{
    enum { RICH = 2, FEW_ELEMENTS = 256, LEAST = 4, MOST = 64 };
    const SmallIntegers *from = &kinds[found->kind];
    if (found->kind < RICH || from->magnitude == 0)
        return 1;
    if (from->share == 1 || found->result.checked >= FEW_ELEMENTS)
        return LEAST;
    double affordable = s->t->full_work / (s->work + 1);
    return affordable > MOST ? MOST : affordable < LEAST ? LEAST : (int)affordable;
}

/* The rest of a sample: all elements are those of another schedule, or the exact reference is
 * asked about some that differ; where one is not exact, both may be right. */
static bool check_whole(const Search *s, const VerifyOptions *options, Structure *out)
{
    tirc *t = s->t;
    Device *d = s->program->device->device;
    Agreement whole;
    if (!api_agree(t, s->program, &s->peer, 0, &whole))
        return false;
    if (whole.different >= out->whole.different)
        out->whole = whole;
    for (int i = 0; i < whole.n_shown && out->result.wrong == 0; i++) {
        VerifyOptions one = {.seed = options->seed, .only = &whole.shown[i]};
        VerifyResult r;
        if (!verify_run(d,
                        &(VerifyRun){.module = s->program->module,
                                     .workload = t->workload,
                                     .reference = s->reference},
                        &one, &r))
            return false;
        if (r.wrong)
            out->result = r;
    }
    return true;
}

static bool run_round(const Search *s, const VerifyOptions *options, int round, Structure *out)
{
    Device *d = s->program->device->device;
    VerifyResult r;
    if (!draw(s, workload_new_small, out->kind, round) ||
        !api_run(s->t, s->program, workload_arguments(s->t->workload)) || !d->ops->sync(d) ||
        !verify_run(d,
                    &(VerifyRun){.module = s->program->module,
                                 .workload = s->t->workload,
                                 .reference = s->reference},
                    options, &r))
        return false;
    bool fewer = round == 0 || r.wrong || r.checked < out->result.checked;
    if (fewer)
        out->result = r;
    return r.wrong || options->wanted == 0 || check_whole(s, options, out);
}

bool api_check_structure(tirc *t, const tirc_program *program, const int64_t *sizes,
                         const VerifyOptions *options, Structure *out)
{
    Context *c = t->ctx;
    const Kernel *reference = reference_kernel_exact(c, program->kernel->program);
    Search s = {.t = t, .program = program, .sizes = sizes, .seed = options->seed};
    if (!reference)
        return false;
    int64_t wanted = options->wanted > 0 ? options->wanted : INT64_MAX;
    s.work = reference_work(c, reference, sizes, wanted);
    reference = sequential_kernel(c, reference);
    s.reference = reference
                      ? module_build_in_lanes(c, reference_in_lanes(c, reference, sizes, wanted))
                      : NULL;
    if (!s.reference || !choose_kind(&s, out))
        return false;
    if (out->kind < KINDS && options->wanted > 0 && !api_find_peer(t, program, 0, &s.peer))
        return false;
    for (int round = 0; out->kind < KINDS && (round == 0 || round < rounds_of(&s, out)); round++) {
        if (!run_round(&s, options, round, out))
            return false;
        out->rounds = round + 1;
        if (out->result.wrong)
            break;
    }
    return true;
}

void api_describe_structure(const Structure *s, StrBuf *out)
{
    const VerifyResult *r = &s->result;
    const SmallIntegers *from = &kinds[s->kind < KINDS ? s->kind : 0];
    if (s->by_bounds) {
        strbuf_addf(out, "exact, %lld of %lld elements: the program rounds nothing",
                    (long long)r->checked, (long long)r->total);
        return;
    }
    if (r->checked == 0) {
        strbuf_add(out, "not checked: no element is exact on small integers");
        if (s->blame)
            strbuf_addf(out, ": %s", s->blame);
        return;
    }
    strbuf_addf(out, "%s, %lld of %lld elements equal bit for bit ", r->wrong ? "WRONG" : "exact",
                (long long)(r->checked - r->wrong), (long long)r->total);
    if (from->magnitude == 0)
        strbuf_add(out, "on zeros");
    else if (from->share < 1)
        strbuf_addf(out, "on zeros and ones (1/%.0f of them ones)", 1 / from->share);
    else
        strbuf_addf(out, "on integers up to %d", from->magnitude);
    if (s->rounds > 1)
        strbuf_addf(out, ", in %d runs", s->rounds);
    if (s->whole.compared && s->whole.different)
        strbuf_addf(out,
                    "; %lld of all elements differ from those of schedule '%s', and none of "
                    "the %d examined is exact",
                    (long long)s->whole.different, s->whole.with, s->whole.n_shown);
    else if (s->whole.compared)
        strbuf_addf(out, "; all equal those of schedule '%s'", s->whole.with);
}
