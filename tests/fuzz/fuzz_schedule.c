/* Random schedules keep the meaning of programs. Each trial takes a program of the folders given,
 * sizes (literal or symbolic) and up to 12 random calls of primitives, some behind a part of a
 * schedule of the program, whose other steps come changed (start.h); after every accepted one the
 * kernel verifies and reads back from its text, and at the end it must compute what the program
 * computes: in order, lowered on the simulator, and with the threads of each block taking turns
 * between barriers, in either direction. Before seed 1, the schedules that the files of the first
 * folder hold are known to be legal, and must be accepted, lowered and right: each at each PART-th
 * of the program's sizes (1: at all), other ones for each schedule.
 *
 *     fuzz_schedule [-j PROCESSES] [-t SECONDS] [-l LIMIT] [-k PART] COUNT SEED FOLDER...
 *
 * Trials SEED, SEED + 1, ..., of which none begins after SECONDS, and each of which has LIMIT
 * seconds of CPU (300). A failure is reduced and printed, and makes the status 1, and so does a
 * trial whose end is not known, or a primitive of the table that two thousand trials or more never
 * call, or call nearly always without success. The report has a line for each primitive: how many
 * calls it accepted of those that were made.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz/check.h"
#include "fuzz/start.h"
#include "fuzz/workers.h"

enum { MAX_FOLDERS = 16 };

typedef struct {
    Program *of[MAX_FOLDERS];
    int n[MAX_FOLDERS], n_folders, all;
} Programs;

/* ---- known to be legal ----------------------------------------------------------------------- */

static bool is_right(Use *use, const int64_t *sizes, bool in_order, const char **why)
{
    jmp_buf guard;
    if (setjmp(guard)) {
        *why = use->c->fatal_message;
        return false;
    }
    use->c->guard = &guard;
    const Kernel *scheduled = schedule_kernel(use->schedule);
    *why = check_text(use->c, scheduled);
    CheckManner manner = {.in_order = in_order, .reorders = true, .width = 1, .reversed = true};
    return !*why && check_run(use->c, use->kernel, scheduled, sizes, manner, why) == CHECK_OK;
}

/* The schedule is accepted, reads back, is lowered and right where all sizes are `size`. (What
 * ships with tirc has tiles of a thousand threads, which would go through loops beyond them in
 * order for seconds.) */
static bool run_known(const Program *p, int schedule, int64_t size)
{
    char text[TRIAL_SIZES][48];
    const char *overrides[TRIAL_SIZES], *why = NULL;
    int64_t sizes[TRIAL_SIZES];
    for (int i = 0; i < p->n_sizes; i++) {
        sizes[i] = size;
        snprintf(text[i], sizeof text[i], "%s=%lld", p->sizes[i], (long long)size);
        overrides[i] = text[i];
    }
    Use use;
    const char *name = p->schedules[schedule];
    bool own = schedule > 1; /* behind `default` and `naive` */
    bool good =
        program_use(p, name, overrides, p->n_sizes, &use) && is_right(&use, sizes, own, &why);
    if (!good)
        fprintf(stderr, "%s, schedule %s, sizes %lld: %s\n", p->path, name, (long long)size,
                why ? why : use_messages(&use));
    ctx_free(use.c);
    return good;
}

static long run_known_ones(const Programs *programs, int part)
{
    long wrong = 0;
    for (int i = 0; i < programs->n[0]; i++) {
        const Program *p = &programs->of[0][i];
        for (int s = 0; s < p->n_schedules; s++)
            for (int v = s % part; v < p->n_values; v += part)
                wrong += !run_known(p, s, p->values[v]);
    }
    return wrong;
}

/* ---- random ---------------------------------------------------------------------------------- */

enum { RARE = 8 }; /* one trial in so many is of a program with rare steps */

static const Program *draw_program(const Programs *programs, Random *r)
{
    int at = (int)random_below(r, (uint64_t)programs->all), f = 0;
    while (at >= programs->n[f])
        at -= programs->n[f++];
    return &programs->of[f][at];
}

static Trial draw_trial(void *user, uint64_t seed, Random *r)
{
    enum { TRIES = 100 };
    *r = random_new(seed, 0);
    const Program *p = draw_program(user, r);
    bool rare = random_below(r, RARE) == 0;
    for (int i = 0; i < TRIES && rare && !start_is_rare(p); i++)
        p = draw_program(user, r);
    Trial t = trial_draw(p, r, seed);
    start_draw(&t, r, rare && start_is_rare(p));
    return t;
}

static int usage(void)
{
    fputs("usage: fuzz_schedule [-j PROCESSES] [-t SECONDS] [-l LIMIT] [-k PART] "
          "COUNT SEED FOLDER...\n",
          stderr);
    return 2;
}

/* The states of a thousand threads come and go with each launch: their memory stays. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

int main(int argc, char **argv)
{
    int jobs = 1, seconds = 0, part = 1, option;
    double limit = 300;
    keep_memory();
    while ((option = getopt(argc, argv, "j:t:l:k:")) != -1) {
        if (option == 'j')
            jobs = atoi(optarg);
        else if (option == 't')
            seconds = atoi(optarg);
        else if (option == 'l')
            limit = strtod(optarg, NULL);
        else if (option == 'k')
            part = atoi(optarg);
        else
            return usage();
    }
    int at = optind;
    if (argc - at < 3 || jobs < 1 || jobs > WORKERS_MOST || seconds < 0 || part < 1 || !(limit > 0))
        return usage();
    long count = atol(argv[at]);
    uint64_t seed = strtoull(argv[at + 1], NULL, 10);
    Programs programs = {0};
    for (int i = at + 2; i < argc && programs.n_folders < MAX_FOLDERS; i++) {
        int f = programs.n_folders++;
        programs.all += programs.n[f] = programs_read(argv[i], &programs.of[f]);
    }
    long known_wrong = seed == 1 ? run_known_ones(&programs, part) : 0;
    Tally tally = {0};
    bool ran =
        workers_run(&(WorkPlan){count, seed, jobs, seconds, limit, draw_trial, &programs}, &tally);
    tally_report(&tally, count);
    for (int f = 0; f < programs.n_folders; f++)
        programs_free(programs.of[f], programs.n[f]);
    if (!ran)
        fprintf(stderr, "not every trial came to an end that is known\n");
    int lacking = tally.trials >= 2000 ? tally_lacking(&tally) : 0;
    return !ran || lacking > 0 || tally.wrong + tally.crashed + tally.hung + known_wrong > 0;
}
