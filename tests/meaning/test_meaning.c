/* Schedules keep the meaning of programs: every program of tests/programs runs as it is written,
 * after each of its schedules in order (the blocks and loops that schedules make, executed one
 * after the other), and lowered on the simulator, at sizes 1, primes, powers of two and their
 * neighbours, symbolic and literal. Integers, and floats whose additions keep their order, must
 * agree bit for bit; others lie within the bound of verification.
 *
 *     test_meaning FOLDER --short   a half of the sizes all alike and of seeded mixes, as symbols;
 *                                   as numbers, and with further element types, a fifth of them;
 *                                   other ones for each schedule; the blocks and loops in order at
 *                                   a half of those alike, those of shipped schedules where the
 *                                   sizes are numbers
 *     test_meaning FOLDER           of these, each schedule in turn as symbols or as numbers
 *     test_meaning FOLDER --sweep   the rest of these
 *     test_meaning FOLDER --long    every combination of sizes
 *     test_meaning FOLDER --short PROGRAM, or --long PROGRAM    one program */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "passes/lower/lower.h"
#include "passes/shared/relayout.h"
#include "runtime/random.h"
#include "support/form.h"
#include "support/program.h"

enum {
    MAX_SIZES = 8,
    MIXES = 6,
    SYMBOLIC_PART = 2,
    PART = 5,
    MOST_COMBINATIONS = 4096,
    MOST_PRIMITIVES = 256
};

/* What a run of the tests has seen; the only state of this file. */
typedef struct {
    Program *programs;
    int n_programs;
    bool every_size;
    bool usual, sweep;          /* the runs of the default, and the rest */
    bool seen[MOST_PRIMITIVES]; /* primitives of the table that some schedule called */
} Tests;

/* One schedule of one program, at one set of sizes or for all of them. */
typedef struct {
    Tests *tests;
    const Program *program;
    int schedule;
    const char *type; /* or NULL */
    /* at the sizes at hand the scheduled kernel runs in order, too: it goes through whole tiles
     * element by element, which takes long and finds little that the lowered one does not */
    bool in_order;
    int failures;
} Case;

/* ---- saying what went wrong ------------------------------------------------------------------ */

static void complain(Case *k, const int64_t *sizes, const char *what, const char *why)
{
    char text[256] = "symbolic";
    size_t at = 0;
    for (int i = 0; sizes && i < k->program->n_sizes; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s=%lld", i ? " " : "",
                               k->program->sizes[i], (long long)sizes[i]);
    print_error("%s, schedule %s%s%s, %s: %s\n%s\n", k->program->name,
                k->program->schedules[k->schedule], k->type ? ", " : "", k->type ? k->type : "",
                text, what, why);
    k->failures++;
}

/* ---- one use of a schedule ------------------------------------------------------------------- */

typedef struct {
    Use use;
    Form program, sequential, lowered;
    const Module *reference; /* NULL where results must agree bit for bit */
} Built;

/* What the program computes, with bounds for what the schedule regroups. */
static Kernel *reference_of(Context *c, const Kernel *program, const Kernel *scheduled)
{
    return reference_kernel(c,
                            scheduled->composes ? relayout_like(c, program, scheduled) : program);
}

static bool build(Case *k, Built *b, const char *const *overrides, int n)
{
    *b = (Built){0};
    if (!program_use(k->program, k->program->schedules[k->schedule], overrides, n, &b->use))
        return false;
    Context *c = b->use.c;
    jmp_buf guard;
    if (setjmp(guard))
        return false;
    c->guard = &guard;
    LowerOptions options = {.limits = limits_default()};
    const Kernel *scheduled = schedule_kernel(b->use.schedule);
    Kernel *program = sequential_kernel(c, b->use.kernel),
           *sequential = sequential_kernel(c, scheduled);
    Kernel *lowered = lower_kernel(c, scheduled, &options);
    if (program && sequential && lowered) {
        b->program.module = module_build(c, program, NULL);
        b->sequential.module = module_build(c, sequential, NULL);
        Module *module = module_build(c, lowered, NULL);
        if (module)
            module_allow_partial(c, module, b->use.kernel);
        b->lowered.module = module;
        if (k->program->reorders[k->schedule])
            b->reference = module_build(c, reference_of(c, b->use.kernel, scheduled), NULL);
    }
    c->guard = NULL;
    return b->program.module && b->sequential.module && b->lowered.module;
}

static void compare(Case *k, Device *d, Built *b, Form *form, const int64_t *sizes,
                    const char *what)
{
    bool ran = form_run(d, form, sizes, &b->program, (Turns){0});
    const char *why =
        ran ? form_difference(b->use.c, d, &b->program, form, b->reference) : use_messages(&b->use);
    if (why)
        complain(k, sizes, what, why);
}

static void run_at(Case *k, Built *b, const int64_t *sizes)
{
    Context *c = b->use.c;
    jmp_buf guard;
    if (setjmp(guard)) {
        complain(k, sizes, "running", use_messages(&b->use));
        return;
    }
    c->guard = &guard;
    ArenaMark mark = arena_mark(c->arena);
    Device *d = device_open(c, &(DeviceOptions){.kind = DEVICE_SIM});
    if (!form_run(d, &b->program, sizes, NULL, (Turns){0})) {
        complain(k, sizes, "the program itself", use_messages(&b->use));
    } else {
        if (k->in_order)
            compare(k, d, b, &b->sequential, sizes, "scheduled, in order");
        compare(k, d, b, &b->lowered, sizes, "lowered, on the simulator");
    }
    form_free(&b->program);
    form_free(&b->sequential);
    form_free(&b->lowered);
    d->ops->close(d);
    if (!c->first)
        arena_reset(c->arena, mark);
    c->guard = NULL;
}

static void note_primitives(Tests *t, const Schedule *s)
{
    int n;
    const Primitive *table = primitive_table(&n);
    assert_true(n <= MOST_PRIMITIVES);
    for (int step = 1; step <= schedule_steps(s); step++)
        for (int i = 0; i < n; i++)
            if (strcmp(table[i].name, schedule_step_name(s, step)) == 0)
                t->seen[i] = true;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef void Visit(Case *k, const int64_t *sizes, void *user);

static void each_combination(Case *k, Visit *visit, void *user)
{
    const Program *p = k->program;
    int64_t sizes[MAX_SIZES];
    int at[MAX_SIZES] = {0};
    for (int visited = 0; visited < MOST_COMBINATIONS; visited++) {
        for (int i = 0; i < p->n_sizes; i++)
            sizes[i] = p->values[at[i]];
        visit(k, sizes, user);
        int i = 0;
        while (i < p->n_sizes && ++at[i] == p->n_values)
            at[i++] = 0;
        if (i == p->n_sizes)
            return;
    }
}

/* Each `part`-th of the sizes that are all alike, and a `part` of the mixes. */
static void each_size(Case *k, int part, Visit *visit, void *user)
{
    const Program *p = k->program;
    int64_t sizes[MAX_SIZES];
    k->in_order = true;
    if (k->tests->every_size || p->n_sizes == 0) {
        each_combination(k, visit, user);
        return;
    }
    for (int v = k->schedule % part % p->n_values; v < p->n_values; v += part) {
        for (int i = 0; i < p->n_sizes; i++)
            sizes[i] = p->values[v];
        k->in_order = (v / part + k->schedule) % 2 == 0 || p->literal[k->schedule];
        visit(k, sizes, user);
    }
    k->in_order = false;
    Random r = random_new((uint64_t)part, (uint64_t)k->schedule);
    for (int mix = 0; p->n_sizes > 1 && mix < MIXES / part; mix++) {
        for (int i = 0; i < p->n_sizes; i++)
            sizes[i] = p->values[random_below(&r, (uint64_t)p->n_values)];
        visit(k, sizes, user);
    }
}

static int overrides_of(const Case *k, const int64_t *sizes, char text[MAX_SIZES + 1][48],
                        const char **out)
{
    int n = 0;
    for (int i = 0; i < k->program->n_sizes; i++, n++) {
        snprintf(text[n], sizeof text[n], "%s=?", k->program->sizes[i]);
        if (sizes)
            snprintf(text[n], sizeof text[n], "%s=%lld", k->program->sizes[i], (long long)sizes[i]);
    }
    if (k->type)
        snprintf(text[n++], sizeof text[0], "%s=%s", k->program->type, k->type);
    for (int i = 0; i < n; i++)
        out[i] = text[i];
    return n;
}

/* The tiles of a shipped schedule are a GPU's where sizes are symbols: in order they take a hundred
 * times as long as on the simulator. It runs in order at sizes that are numbers. */
static void visit_symbolic(Case *k, const int64_t *sizes, void *user)
{
    k->in_order = k->in_order && !program_ships(k->program, k->schedule);
    run_at(k, user, sizes);
}

static void visit_literal(Case *k, const int64_t *sizes, void *user)
{
    (void)user;
    char text[MAX_SIZES + 1][48];
    const char *overrides[MAX_SIZES + 1];
    int n = overrides_of(k, sizes, text, overrides);
    Built b;
    if (build(k, &b, overrides, n)) {
        note_primitives(k->tests, b.use.schedule);
        run_at(k, &b, sizes);
    } else {
        complain(k, sizes, "refused", use_messages(&b.use));
    }
    ctx_free(b.use.c);
}

static void run_symbolic(Case *k, int part)
{
    char text[MAX_SIZES + 1][48];
    const char *overrides[MAX_SIZES + 1];
    int n = overrides_of(k, NULL, text, overrides);
    Built b;
    if (build(k, &b, overrides, n)) {
        note_primitives(k->tests, b.use.schedule);
        each_size(k, part, visit_symbolic, &b);
        int64_t none[MAX_SIZES] = {0};
        k->in_order = true;
        if (k->program->values[0] == 1)
            run_at(k, &b, none);
    } else {
        complain(k, NULL, "refused", use_messages(&b.use));
    }
    ctx_free(b.use.c);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Does this run have the sizes as symbols, or as numbers? The default has one of the two. */
static bool has_form(const Case *k, int type, bool as_symbols)
{
    bool usual = k->program->literal[k->schedule] || k->program->n_sizes == 0 ||
                 (k->schedule + type) % 2 == as_symbols;
    return usual ? k->tests->usual : k->tests->sweep;
}

static void keeps_its_meaning(void **state)
{
    const Case *given = *state;
    const Program *p = given->program;
    int failures = 0;
    for (int s = 0; s < p->n_schedules; s++) {
        for (int t = 0; t < (p->n_types ? p->n_types : 1); t++) {
            Case k = {.tests = given->tests,
                      .program = p,
                      .schedule = s,
                      .type = p->n_types ? p->types[t] : NULL};
            bool symbolic = p->n_sizes > 0 && !p->literal[s];
            if (symbolic && has_form(&k, t, true))
                run_symbolic(&k, t == 0 ? SYMBOLIC_PART : PART);
            if (has_form(&k, t, false))
                each_size(&k, symbolic || t > 0 ? PART : SYMBOLIC_PART, visit_literal, NULL);
            failures += k.failures;
        }
    }
    if (failures > 0)
        fail_msg("%s: %d runs went wrong", p->name, failures);
}

/* With another element type, and products of fewer digits, results round otherwise: nothing that
 * this test could compare. */
static bool changes_the_program(const Primitive *primitive)
{
    return strcmp(primitive->name, "unsafe_set_dtype") == 0 ||
           strcmp(primitive->name, "split_product") == 0;
}

static void every_primitive_is_tested(void **state)
{
    const Tests *t = *state;
    int n, missing = 0;
    const Primitive *table = primitive_table(&n);
    for (int i = 0; i < n; i++) {
        if (table[i].is_query || t->seen[i] || !t->usual || changes_the_program(&table[i]))
            continue;
        print_error("no schedule of tests/programs calls '%s'\n", table[i].name);
        missing++;
    }
    assert_int_equal(missing, 0);
}

/* Schedules of a program are looked at one after the other; the last test looks back at all. */
int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[2] : "";
    Tests t = {.every_size = strcmp(part, "--long") == 0,
               .usual = strcmp(part, "--sweep") != 0,
               .sweep = argc > 2};
    if (argc < 2)
        return fputs("usage: test_meaning FOLDER [--sweep|--short|--long [PROGRAM]]\n", stderr), 2;
    t.n_programs = programs_read(argv[1], &t.programs);
    Case *cases = calloc((size_t)t.n_programs, sizeof *cases);
    struct CMUnitTest *tests = calloc((size_t)t.n_programs + 1, sizeof *tests);
    for (int i = 0; i < t.n_programs; i++) {
        cases[i] = (Case){.tests = &t, .program = &t.programs[i]};
        tests[i] =
            (struct CMUnitTest){t.programs[i].name, keeps_its_meaning, NULL, NULL, &cases[i]};
    }
    tests[t.n_programs] =
        (struct CMUnitTest){"every_primitive", every_primitive_is_tested, NULL, NULL, &t};
    if (argc > 3) /* one program */
        cmocka_set_test_filter(argv[3]);
    int failed = _cmocka_run_group_tests("meaning", tests, (size_t)t.n_programs + 1, NULL, NULL);
    free(tests);
    free(cases);
    programs_free(t.programs, t.n_programs);
    return failed > 0;
}
