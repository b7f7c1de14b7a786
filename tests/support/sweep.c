/* sweep.c - see sweep.h. */
#include "support/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_FOLDERS = 32, MOST_PROGRAMS = 1000, MOST_SIZES = 8 };

typedef struct {
    Program *programs[MOST_FOLDERS];
    int count[MOST_FOLDERS], n_folders;
    struct CMUnitTest tests[MOST_PROGRAMS];
    Question questions[MOST_PROGRAMS];
    int n;
} Suite;

void question_complain(Question *q, const char *why)
{
    print_error("%s, schedule %s, sizes %s: %s\n", q->program->name,
                q->program->schedules[q->schedule], q->sizes, why);
    q->failures++;
}

bool program_is_example(const Program *p)
{
    return !strstr(p->path, "tests/programs");
}

/* With one value for all sizes, "?" for symbolic ones; NULL: those of the file. */
static void ask_at(Question *q, const char *value)
{
    const Program *p = q->program;
    char text[MOST_SIZES][48];
    const char *overrides[MOST_SIZES] = {0};
    for (int i = 0; value && i < p->n_sizes; i++) {
        snprintf(text[i], sizeof text[i], "%s=%s", p->sizes[i], value);
        overrides[i] = text[i];
    }
    q->sizes = value ? value : "of the file";
    Use use;
    jmp_buf guard;
    if (!program_use(p, p->schedules[q->schedule], overrides, value ? p->n_sizes : 0, &use)) {
        question_complain(q, use_messages(&use));
    } else if (setjmp(guard)) {
        question_complain(q, use_messages(&use));
    } else {
        use.c->guard = &guard;
        q->sweep->ask(q, &use);
    }
    ctx_free(use.c);
}

static void ask_program(void **state)
{
    Question *q = *state;
    const Program *p = q->program;
    char first[24], last[24];
    snprintf(first, sizeof first, "%lld", (long long)p->values[0]);
    snprintf(last, sizeof last, "%lld", (long long)p->values[p->n_values - 1]);
    for (q->schedule = 0; q->schedule < p->n_schedules; q->schedule++) {
        if (!p->literal[q->schedule])
            ask_at(q, "?");
        if (program_is_example(p)) {
            ask_at(q, NULL);
            continue;
        }
        bool every = q->sweep->every;
        if (every || p->literal[q->schedule] || q->schedule % 2 == 0)
            ask_at(q, first);
        if (every || p->literal[q->schedule] || q->schedule % 2 == 1)
            ask_at(q, last);
    }
    assert_int_equal(q->failures, 0);
}

static void add_folder(Suite *suite, Sweep *sweep, const char *path)
{
    int f = suite->n_folders++;
    suite->count[f] = programs_read(path, &suite->programs[f]);
    for (int k = 0; k < suite->count[f]; k++, suite->n++) {
        const Program *p = &suite->programs[f][k];
        suite->questions[suite->n] = (Question){.sweep = sweep, .program = p};
        suite->tests[suite->n] =
            (struct CMUnitTest){p->name, ask_program, NULL, NULL, &suite->questions[suite->n]};
    }
}

int sweep_main(Sweep *sweep, int argc, char **argv)
{
    Suite *suite = calloc(1, sizeof *suite);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list"))
            sweep->list = true;
        else if (!strcmp(argv[i], "--long"))
            sweep->every = true;
        else if (!strcmp(argv[i], "--short") && i + 1 < argc)
            cmocka_set_test_filter(argv[++i]);
        else
            add_folder(suite, sweep, argv[i]);
    }
    suite->tests[suite->n] = (struct CMUnitTest){"most_is_proved", sweep->last, NULL, NULL, sweep};
    int failed =
        _cmocka_run_group_tests(sweep->name, suite->tests, (size_t)suite->n + 1, NULL, NULL);
    for (int f = 0; f < suite->n_folders; f++)
        programs_free(suite->programs[f], suite->count[f]);
    free(suite);
    return failed > 0;
}
