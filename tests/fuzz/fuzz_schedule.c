/* Random schedules keep the meaning of programs. Each trial takes a program of the folders given, sizes (literal or symbolic) and up
 * to 12 random calls of primitives; after every accepted one the kernel verifies and reads back from its text, and at the
 * end it must compute what the program computes: in order, lowered on the simulator, and with the threads of each block taking
 * turns between barriers, in either direction. Before that, the schedules that the files hold are known to be legal, and must
 * be accepted, lowered and right.
 *
 *     fuzz_schedule COUNT SEED FOLDER...     trials SEED, SEED + 1, ...; a failure is reduced and printed, with status 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fuzz/check.h"
#include "fuzz/draw.h"
#include "support/program.h"

enum { MAX_STEPS = 16, MAX_SIZES = 8 };

typedef struct {
    const Program *program;
    char overrides[MAX_SIZES + 1][64];
    int n_overrides;
    int64_t sizes[MAX_SIZES];
    Step steps[MAX_STEPS];
    int n_steps, width;
    bool reversed;
    uint64_t seed;
} Trial;

typedef struct {
    long trials, drawn, accepted, lowered, unlowered, wrong;
    long refused[ERROR_COUNT];     /* by code, of primitives */
    long not_lowered[ERROR_COUNT]; /* by code, of lowering */
} Tally;

/* One execution of a trial. */
typedef struct {
    Trial *trial;
    Tally *tally;
    Random *random; /* NULL: the steps of the trial are made again */
    Use use;
    Schedule *schedule;
    const char *why; /* what is wrong, or NULL */
    Step queue[DRAW_ITEMS];
    int n_queue;
} Execution;

/* ---- steps --------------------------------------------------------------------------------------- */

/* These may add floats in another order. */
static bool reorders(const Trial *t)
{
    static const char *const names[] = {"reorder", "atomic", "bind", "rfactor", "transform_block_layout", "serpentine"};
    for (int i = 0; i < t->n_steps; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(t->steps[i].primitive->name, names[k]) == 0)
                return true;
    return false;
}

static void count_refusal(Context *c, long *by_code)
{
    const Diag *first = c->first;
    while (first && first->severity != SEVERITY_ERROR)
        first = first->next;
    if (first)
        by_code[first->code]++;
}

/* False where nothing was changed. */
static bool make_step(Execution *x, const Step *step, Value *result)
{
    Context *c = x->use.c;
    bool refused;
    DiagMark mark = diag_mark(c);
    if (draw_call(x->schedule, step, result, &refused)) {
        const char *broken = check_text(c, schedule_kernel(x->schedule));
        if (broken)
            x->why = arena_printf(c->arena, "after %s: %s", step->primitive->name, broken);
        return true;
    }
    if (refused && x->random)
        count_refusal(c, x->tally->refused);
    diag_forget(c, mark);
    return false;
}

static void draw_steps(Execution *x)
{
    Trial *t = x->trial;
    int most = 1 + (int)random_below(x->random, 12);
    for (int attempt = 0; attempt < 3 * most && t->n_steps < most && !x->why; attempt++) {
        Step step;
        Value result = {.kind = VALUE_NONE};
        if (x->n_queue > 0) {
            step = x->queue[0];
            memmove(x->queue, x->queue + 1, sizeof *x->queue * (size_t)--x->n_queue);
        } else if (!draw_step(x->schedule, x->random, &step)) {
            break;
        }
        x->tally->drawn++;
        t->steps[t->n_steps++] = step; /* there while it runs, so that a crash can be made again */
        if (!make_step(x, &step, &result)) {
            t->n_steps--;
            continue;
        }
        x->tally->accepted++;
        if (x->n_queue == 0 && !x->why)
            x->n_queue = draw_sequel(x->schedule, x->random, &step, &result, x->queue);
    }
}

static void make_steps(Execution *x)
{
    for (int i = 0; i < x->trial->n_steps && !x->why; i++)
        make_step(x, &x->trial->steps[i], &(Value){0});
}

/* ---- a trial ------------------------------------------------------------------------------------- */

static void run_kernel(Execution *x)
{
    Trial *t = x->trial;
    Context *c = x->use.c;
    const char *why = NULL;
    switch (check_run(c, x->use.kernel, schedule_kernel(x->schedule), t->sizes, reorders(t), t->width,
                      t->reversed, &why)) {
    case CHECK_OK:
        x->tally->lowered++;
        break;
    case CHECK_REFUSED:
        x->tally->unlowered++;
        count_refusal(c, x->tally->not_lowered);
        break;
    case CHECK_WRONG:
        x->why = why;
        break;
    }
}

static void run_guarded(Execution *x)
{
    jmp_buf guard;
    if (setjmp(guard)) {
        x->why = x->use.c->fatal_message;
        return;
    }
    x->use.c->guard = &guard;
    x->schedule = schedule_new(x->use.c, x->use.kernel);
    if (x->random)
        draw_steps(x);
    else
        make_steps(x);
    if (!x->why)
        run_kernel(x);
}

/* Runs a trial; true if it is right. With `show`, what is wrong and how to see it goes to stderr. */
static bool trial_run(Trial *t, Tally *tally, Random *random, bool show)
{
    Execution x = {.trial = t, .tally = tally, .random = random};
    const char *overrides[MAX_SIZES + 1];
    for (int i = 0; i < t->n_overrides; i++)
        overrides[i] = t->overrides[i];
    if (program_use(t->program, "", overrides, t->n_overrides, &x.use))
        run_guarded(&x);
    else
        x.why = use_messages(&x.use);
    if (x.why && show) {
        fprintf(stderr, "---- seed %llu: %s", (unsigned long long)t->seed, t->program->path);
        for (int i = 0; i < t->n_overrides; i++)
            fprintf(stderr, " -D %s", t->overrides[i]);
        for (int i = 0; i < t->program->n_sizes; i++)
            fprintf(stderr, "%s%s=%lld", i ? " " : ", at ", t->program->sizes[i], (long long)t->sizes[i]);
        StrBuf trace = strbuf_new(x.use.c->arena);
        if (x.schedule && x.use.c->fatal == FATAL_NONE)
            schedule_trace(x.schedule, ctx_name(x.use.c, "found"), &trace);
        fprintf(stderr, ", groups of %d%s\n%s%s\n", t->width, t->reversed ? ", reversed" : "",
                trace.text ? trace.text : "", x.why);
        for (int i = 0; x.use.c->fatal != FATAL_NONE && i < t->n_steps; i++)
            fprintf(stderr, "step %d: %s %s\n", i + 1, t->steps[i].primitive->name,
                    t->steps[i].args[0].items[0].name);
    }
    bool right = !x.why;
    ctx_free(x.use.c);
    return right;
}

/* Drops steps while the trial stays wrong. */
static void reduce(Trial *t)
{
    Tally unused = {0};
    for (int i = t->n_steps - 1; i >= 0; i--) {
        Trial less = *t;
        memmove(less.steps + i, less.steps + i + 1, sizeof *less.steps * (size_t)(--less.n_steps - i));
        if (!trial_run(&less, &unused, NULL, false))
            *t = less;
    }
    trial_run(t, &unused, NULL, true);
}

static Trial trial_draw(const Program *p, Random *r, uint64_t seed)
{
    static const int widths[] = {1, 2, 7, 32};
    Trial t = {.program = p, .seed = seed};
    for (int i = 0; i < p->n_sizes; i++) {
        t.sizes[i] = p->values[random_below(r, (uint64_t)p->n_values)];
        char value[24] = "?";
        if (random_below(r, 2))
            snprintf(value, sizeof value, "%lld", (long long)t.sizes[i]);
        snprintf(t.overrides[t.n_overrides++], sizeof t.overrides[0], "%s=%s", p->sizes[i], value);
    }
    if (p->n_types > 0)
        snprintf(t.overrides[t.n_overrides++], sizeof t.overrides[0], "%s=%s", p->type,
                 p->types[random_below(r, (uint64_t)p->n_types)]);
    t.width = widths[random_below(r, 4)];
    t.reversed = random_below(r, 2);
    return t;
}

/* ---- known to be legal --------------------------------------------------------------------------- */

static bool is_right(Use *use, const int64_t *sizes, const char **why)
{
    jmp_buf guard;
    if (setjmp(guard)) {
        *why = use->c->fatal_message;
        return false;
    }
    use->c->guard = &guard;
    return check_run(use->c, use->kernel, schedule_kernel(use->schedule), sizes, true, 1, true, why) == CHECK_OK;
}

/* The schedule is accepted, lowered and right where all sizes are `size`. */
static bool run_known(const Program *p, const char *schedule, int64_t size)
{
    char text[MAX_SIZES][48];
    const char *overrides[MAX_SIZES], *why = NULL;
    int64_t sizes[MAX_SIZES];
    for (int i = 0; i < p->n_sizes; i++) {
        sizes[i] = size;
        snprintf(text[i], sizeof text[i], "%s=%lld", p->sizes[i], (long long)size);
        overrides[i] = text[i];
    }
    Use use;
    bool good = program_use(p, schedule, overrides, p->n_sizes, &use) && is_right(&use, sizes, &why);
    if (!good)
        fprintf(stderr, "%s, schedule %s, sizes %lld: %s\n", p->path, schedule, (long long)size,
                why ? why : use_messages(&use));
    ctx_free(use.c);
    return good;
}

static long run_all_known(const Program *p)
{
    long wrong = 0;
    for (int s = 0; s < p->n_schedules; s++)
        for (int v = 0; v < p->n_values; v++)
            wrong += !run_known(p, p->schedules[s], p->values[v]);
    return wrong;
}

/* ---- the report ---------------------------------------------------------------------------------- */

static void report_codes(const char *what, const long *by_code)
{
    printf("%s:", what);
    for (int code = 0; code < ERROR_COUNT; code++)
        if (by_code[code] > 0)
            printf(" %s %ld", error_info((ErrorCode)code)->id, by_code[code]);
    printf("\n");
}

static void report(const Tally *t)
{
    printf("%ld trials: %ld calls drawn, %ld accepted; %ld schedules lowered, %ld refused by lowering; %ld wrong\n",
           t->trials, t->drawn, t->accepted, t->lowered, t->unlowered, t->wrong);
    report_codes("calls refused", t->refused);
    report_codes("lowering refused", t->not_lowered);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fputs("usage: fuzz_schedule COUNT SEED FOLDER...\n", stderr), 2;
    long count = atol(argv[1]), known_wrong = 0;
    uint64_t seed = strtoull(argv[2], NULL, 10);
    Program *programs[16];
    int n_programs[16], n_folders = argc - 3 < 16 ? argc - 3 : 16, all = 0;
    for (int f = 0; f < n_folders; f++)
        all += n_programs[f] = programs_read(argv[3 + f], &programs[f]);
    for (int i = 0; i < n_programs[0] && seed == 1; i++)
        known_wrong += run_all_known(&programs[0][i]);
    Tally tally = {0};
    for (long i = 0; i < count && tally.wrong < 10; i++) {
        Random r = random_new(seed + (uint64_t)i, 0);
        int at = (int)random_below(&r, (uint64_t)all), f = 0;
        while (at >= n_programs[f])
            at -= n_programs[f++];
        Trial t = trial_draw(&programs[f][at], &r, seed + (uint64_t)i);
        tally.trials++;
        if (trial_run(&t, &tally, &r, false))
            continue;
        tally.wrong++;
        reduce(&t);
    }
    report(&tally);
    for (int f = 0; f < n_folders; f++)
        programs_free(programs[f], n_programs[f]);
    return tally.wrong + known_wrong > 0;
}
