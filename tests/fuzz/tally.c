/* tally.c - see tally.h. */
#include "fuzz/tally.h"

#include <stdio.h>

#include "fuzz/pairs.h"

CallTally *tally_of(Tally *t, const Primitive *primitive)
{
    int n;
    return &t->calls[primitive - primitive_table(&n)];
}

void tally_refusal(long *by_code, const Context *c)
{
    const Diag *first = c->first;
    while (first && first->severity != SEVERITY_ERROR)
        first = first->next;
    if (first)
        by_code[first->code]++;
}

static void add_codes(long *sum, const long *by_code)
{
    for (int code = 0; code < ERROR_COUNT; code++)
        sum[code] += by_code[code];
}

void tally_add(Tally *sum, const Tally *t)
{
    sum->trials += t->trials;
    sum->lowered += t->lowered;
    sum->unlowered += t->unlowered;
    sum->shortened += t->shortened;
    sum->right += t->right;
    sum->wrong += t->wrong;
    sum->crashed += t->crashed;
    sum->hung += t->hung;
    add_codes(sum->not_lowered, t->not_lowered);
    for (int p = 0; p < TALLY_PRIMITIVES; p++) {
        CallTally *to = &sum->calls[p];
        const CallTally *from = &t->calls[p];
        to->drawn += from->drawn;
        to->accepted += from->accepted;
        to->inapplicable += from->inapplicable;
        to->run += from->run;
        to->wrong += from->wrong;
        add_codes(to->refused, from->refused);
        for (int k = 0; k < TALLY_PRIMITIVES; k++)
            sum->pairs[p][k] += t->pairs[p][k];
    }
    if (t->slowest > sum->slowest) {
        sum->slowest = t->slowest;
        sum->slowest_seed = t->slowest_seed;
    }
    if (t->memory > sum->memory)
        sum->memory = t->memory;
}

/* The codes that are most frequent, in falling order. */
static void print_codes(const long *by_code, int most)
{
    long below = -1;
    int below_code = -1;
    for (int printed = 0; printed < most; printed++) {
        int best = -1;
        for (int code = 0; code < ERROR_COUNT; code++) {
            bool done = below_code >= 0 &&
                        (by_code[code] > below || (by_code[code] == below && code <= below_code));
            if (!done && by_code[code] > 0 && (best < 0 || by_code[code] > by_code[best]))
                best = code;
        }
        if (best < 0)
            break;
        printf(" %s %ld", error_info((ErrorCode)best)->id, by_code[best]);
        below = by_code[best];
        below_code = best;
    }
    printf("\n");
}

/* Calls that were made: the kernel had something to make them with. */
static long calls_made(const CallTally *t)
{
    return t->drawn - t->inapplicable;
}

static void report_call(const Primitive *p, const CallTally *t)
{
    long made = calls_made(t);
    printf("%-24s %8ld %8ld %8ld %8ld %5.1f%% %8ld %6ld ", p->name, t->drawn, t->inapplicable,
           made - t->accepted, t->accepted,
           made > 0 ? 100.0 * (double)t->accepted / (double)made : 0, t->run, t->wrong);
    print_codes(t->refused, 3);
}

void tally_report(const Tally *t, long planned)
{
    long drawn = 0, accepted = 0;
    int n;
    const Primitive *table = primitive_table(&n);
    for (int p = 0; p < n; p++) {
        drawn += t->calls[p].drawn;
        accepted += t->calls[p].accepted;
    }
    printf("%-24s %8s %8s %8s %8s %6s %8s %6s  %s\n", "primitive", "drawn", "no place", "refused",
           "accepted", "", "run", "wrong", "refused most with");
    for (int p = 0; p < n; p++)
        if (!table[p].is_query)
            report_call(&table[p], &t->calls[p]);
    printf("lowering refused:");
    print_codes(t->not_lowered, 20);
    pairs_report(t);
    printf("slowest trial %.2f s (seed %llu), most memory %ld MiB\n", t->slowest,
           (unsigned long long)t->slowest_seed, t->memory / 1024);
    if (t->trials < planned)
        printf("%ld trials of %ld were begun\n", t->trials, planned);
    printf("%ld trials: %ld calls drawn, %ld accepted; %ld schedules lowered, %ld refused by "
           "lowering (%ld lowered when shortened); %ld right, %ld wrong, %ld crashed, %ld hung\n",
           t->trials, drawn, accepted, t->lowered, t->unlowered, t->shortened, t->right, t->wrong,
           t->crashed, t->hung);
}

int tally_lacking(const Tally *t)
{
    int n, lacking = 0;
    const Primitive *table = primitive_table(&n);
    for (int p = 0; p < n; p++) {
        long made = calls_made(&t->calls[p]), accepted = t->calls[p].accepted;
        if (table[p].is_query || (made > 0 && made < TALLY_CALLS) ||
            100 * accepted > TALLY_PERCENT * made)
            continue;
        fprintf(stderr, "of %ld calls of %s %ld were accepted\n", made, table[p].name, accepted);
        lacking++;
    }
    return lacking;
}
