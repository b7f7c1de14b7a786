/* options.c - libFuzzer target of the command line: its words are the lines of the input. What
 * --define, --set and --versus are given is read as the command does, and goes to a program and a
 * schedule with parameters. No file is read: a schedule is called by the name of one that is
 * there. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/command/choice.h"
#include "frontend/command/options.h"
#include "tirc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = 64 };

static const char PROGRAM[] = "kernel k<M = 24, N = 40, T: type = f32>(x: T[M, N]) -> y: T[N, M] { "
                              "for i in N, j in M y[i, j] = x[j, i]; }\n"
                              "schedule s for k(A = 8, B = [4, 8], C = true)\n"
                              "{\n"
                              "    tune D in [1, 2];\n"
                              "    let [i, j] = loops(y);\n"
                              "    if C { split(i, [_, A]); split(j, [_, D]); }\n"
                              "}\n";

/* A failure must be a refusal with words. */
static bool done(tirc *t, tirc_status status)
{
    if (status == TIRC_BUG || (status != TIRC_OK && tirc_diagnostic_count(t) == 0)) {
        fprintf(stderr, "status %d\n%s\n", (int)status, tirc_diagnostics(t, false));
        abort();
    }
    return status == TIRC_OK;
}

static void schedule(tirc *t, const Options *o, const char *const *settings, size_t n)
{
    tirc_file *file;
    tirc_kernel *program, *scheduled;
    if (done(t, tirc_parse_text(t, "fuzz", PROGRAM, sizeof PROGRAM - 1, &file)) &&
        done(t, tirc_resolve(t, file, o->kernel, o->defines.items, o->defines.n, &program)))
        done(t, tirc_apply(t, file, program, "s", settings, n, &scheduled));
    tirc_diagnostics(t, true);
    tirc_clear_diagnostics(t);
}

static void choices(tirc *t, const Options *o)
{
    char *list = strdup(o->versus), *rest = list, *word;
    while ((word = choice_next(&rest)) != NULL) {
        Choice choice;
        if (choice_parse(word, &choice) == TIRC_OK)
            schedule(t, o, choice.settings, choice.n);
        choice_free(&choice);
    }
    free(list);
}

static void use(const Options *o)
{
    tirc_options options = {.memory_limit = (size_t)64 << 20, .cache_dir = ""};
    tirc *t = tirc_new(&options);
    if (!t)
        return;
    schedule(t, o, o->settings.items, o->settings.n);
    if (o->versus)
        choices(t, o);
    tirc_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *rest = text, *argv[MOST_WORDS + 2] = {"tirc"};
    int argc = 1;
    Options options;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *word; argc <= MOST_WORDS && (word = strsep(&rest, "\n")) != NULL;)
        argv[argc++] = word;
    optind = 0; /* from the beginning again */
    if (options_parse(argc, argv, &options))
        use(&options);
    options_free(&options);
    free(text);
    return 0;
}
