/* Writes random schedules with the text that tirc emits for them, a line of JSON each (record.h),
 * for tests/emulate.
 *
 *     fuzz_record [-c EVERY] COUNT SEED FOLDER...
 *
 * Trials SEED, SEED + 1, ..., one line for each: `{"seed": S}` alone where there is nothing to run.
 * Every EVERY-th line has the complete program, too. What has been written when a trial crashes
 * tells the seed that did it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz/trial.h"

enum { MOST_FOLDERS = 16, MOST_SECONDS = 60 };

typedef struct {
    Program *of[MOST_FOLDERS];
    int n[MOST_FOLDERS], n_folders, all;
} Folders;

static const Program *pick(const Folders *folders, Random *r)
{
    int at = (int)random_below(r, (uint64_t)folders->all), f = 0;
    while (at >= folders->n[f])
        at -= folders->n[f++];
    return &folders->of[f][at];
}

static void write_trial(const Folders *folders, uint64_t seed, int every)
{
    static Tally unused;
    Random r = random_new(seed, 0);
    const Program *p = pick(folders, &r);
    Trial t = trial_draw(p, &r, seed);
    alarm(MOST_SECONDS);
    bool complete = every > 0 && seed % (uint64_t)every == 0;
    if (!trial_write(&t, &unused, &r, complete, stdout))
        printf("{\"seed\": %llu}\n", (unsigned long long)seed);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int every = 0, option;
    while ((option = getopt(argc, argv, "c:")) != -1)
        if (option == 'c')
            every = atoi(optarg);
    if (argc - optind < 3) {
        fputs("usage: fuzz_record [-c EVERY] COUNT SEED FOLDER...\n", stderr);
        return 2;
    }
    Folders folders = {0};
    for (int i = optind + 2; i < argc && folders.n_folders < MOST_FOLDERS; i++) {
        int f = folders.n_folders++;
        folders.all += folders.n[f] = programs_read(argv[i], &folders.of[f]);
    }
    long count = atol(argv[optind]);
    uint64_t seed = strtoull(argv[optind + 1], NULL, 10);
    for (long i = 0; i < count; i++)
        write_trial(&folders, seed + (uint64_t)i, every);
    for (int f = 0; f < folders.n_folders; f++)
        programs_free(folders.of[f], folders.n[f]);
    return 0;
}
