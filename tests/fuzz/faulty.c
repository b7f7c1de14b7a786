/* faulty.c - breaks trials on purpose: linked into fuzz_faulty in place of trial_run and
 * trial_draw. $FUZZ_FAULT says how each trial whose seed is a multiple of $FUZZ_EVERY goes wrong;
 * test_workers.py holds that each is counted. The others are right. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/trial.h"

bool __wrap_trial_run(Trial *t, Tally *tally, Random *random, FILE *show);
Trial __real_trial_draw(const Program *p, Random *r, uint64_t seed);
Trial __wrap_trial_draw(const Program *p, Random *r, uint64_t seed);

static void crash(void)
{
    raise(SIGSEGV);
}

static void hang(void)
{
    for (volatile int going = 1; going;)
        ;
}

/* Until there is none: what asks for memory and does not look is what ends. */
static void exhaust_memory(void)
{
    const size_t piece = (size_t)256 << 20;
    for (volatile char *p; (p = malloc(piece)) != NULL;)
        *p = 1;
    abort();
}

static void be_killed(void)
{
    raise(SIGKILL);
}

static void end_well(void)
{
    exit(0);
}

static void end_badly(void)
{
    exit(1);
}

static const struct {
    const char *name;
    void (*break_it)(void); /* NULL: the trial says itself that it is wrong */
} FAULTS[] = {
    {"crash", crash},    {"hang", hang},       {"memory", exhaust_memory},
    {"kill", be_killed}, {"exit 0", end_well}, {"exit 1", end_badly},
    {"wrong", NULL},
};

static bool is_chosen(uint64_t seed)
{
    const char *every = getenv("FUZZ_EVERY");
    return every && seed % strtoull(every, NULL, 10) == 0;
}

bool __wrap_trial_run(Trial *t, Tally *tally, Random *random, FILE *show)
{
    const char *wanted = getenv("FUZZ_FAULT");
    (void)tally, (void)random;
    for (size_t i = 0; wanted && is_chosen(t->seed) && i < sizeof FAULTS / sizeof *FAULTS; i++) {
        if (strcmp(FAULTS[i].name, wanted) != 0)
            continue;
        if (FAULTS[i].break_it)
            FAULTS[i].break_it();
        if (show)
            trial_print(t, show);
        return false;
    }
    return true;
}

Trial __wrap_trial_draw(const Program *p, Random *r, uint64_t seed)
{
    const char *wanted = getenv("FUZZ_FAULT");
    if (wanted && !strcmp(wanted, "draw") && is_chosen(seed))
        crash();
    return __real_trial_draw(p, r, seed);
}
