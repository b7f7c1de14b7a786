/* trial.c - see trial.h. After each accepted step the kernel verifies and reads back from its text;
 * at the end check.h says what it computes. */
#include "fuzz/trial.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/check.h"
#include "fuzz/pairs.h"
#include "fuzz/record.h"
#include "fuzz/start.h"
#include "fuzz/work.h"

/* One execution of a trial. */
typedef struct {
    Trial *trial;
    Tally *tally;
    Random *random; /* NULL: the steps of the trial are made again */
    FILE *record;   /* the schedule is written there, not run; NULL: it is run */
    bool complete;  /* with the complete program */
    Use use;
    Schedule *schedule;
    const char *why; /* what is wrong, or NULL */
    bool refused;    /* by lowering, or too long to run */
    Pair pair;
    Step queue[DRAW_ITEMS];
    int n_queue;
    StartRest rest; /* of the schedule that the trial begins with */
} Execution;

enum { AGAIN = 8 }; /* one step in so many is taken back and made again */
/* Iterations of a trial that begins with a schedule: tiles are larger than what is drawn. */
enum { BEGUN_MOST = 200000 };

/* ---- steps ----------------------------------------------------------------------------------- */

/* These may add floats in another order, or multiply them so, and so may steps that say so. */
static bool reorders(const Schedule *s)
{
    static const char *const names[] = {"reorder",    "atomic",       "bind",
                                        "rfactor",    "scan_chunks",  "transform_block_layout",
                                        "serpentine", "split_product"};
    for (int step = 1; step <= schedule_steps(s); step++) {
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(schedule_step_name(s, step), names[k]) == 0)
                return true;
        if (schedule_step_reassociates(s, step))
            return true;
    }
    return schedule_kernel(s)->n_retypes > 0; /* copies may round less */
}

static const char *text_now(const Execution *x)
{
    StrBuf text = strbuf_new(x->use.c->arena);
    print_kernel(x->use.c, schedule_kernel(x->schedule), &text);
    return text.text;
}

/* Takes the last step back and makes it again: the kernel has to be the one before the step, and
 * then the one after it. */
static const char *again(Execution *x, const Step *step, Value *result, const ScheduleMark *mark,
                         const char *before)
{
    bool refused;
    const char *after = text_now(x);
    schedule_go_back(x->schedule, mark, NULL);
    if (strcmp(text_now(x), before) != 0)
        return "the step could not be taken back";
    if (!draw_call(x->schedule, step, result, &refused))
        return "the step is refused after it was taken back";
    return strcmp(text_now(x), after) == 0 ? NULL : "the step does another thing the second time";
}

/* False where nothing was changed. */
static bool make_step(Execution *x, const Step *step, Value *result)
{
    Context *c = x->use.c;
    CallTally *tally = tally_of(x->tally, step->primitive);
    bool refused;
    DiagMark mark = diag_mark(c);
    ScheduleMark before = schedule_mark(x->schedule);
    bool twice = (x->trial->seed + (uint64_t)schedule_steps(x->schedule)) % AGAIN == 0;
    const char *text = twice ? text_now(x) : NULL;
    if (draw_call(x->schedule, step, result, &refused)) {
        const char *broken = twice ? again(x, step, result, &before, text) : NULL;
        if (!broken)
            broken = check_text(c, schedule_kernel(x->schedule));
        if (broken)
            x->why = arena_printf(c->arena, "after %s: %s", step->primitive->name, broken);
        tally->accepted++;
        return true;
    }
    if (refused)
        tally_refusal(tally->refused, c);
    else
        tally->inapplicable++;
    if (refused && c->n_errors == mark.n_errors)
        x->why = arena_printf(c->arena, "%s refuses without a word", step->primitive->name);
    diag_forget(c, mark);
    return false;
}

/* The next of the schedule that the trial begins with, mostly, while there is one. */
static bool next_of_rest(Execution *x, Step *step)
{
    return x->rest.at < x->rest.n && random_below(x->random, 4) &&
           start_next(&x->rest, x->random, step);
}

/* The next of those that usually follow, or any. False where there is nothing that it could be
 * called with. */
static bool next_step(Execution *x, Step *step)
{
    bool found = true;
    if (x->n_queue > 0) {
        *step = x->queue[0];
        memmove(x->queue, x->queue + 1, sizeof *x->queue * (size_t)--x->n_queue);
    } else if (!next_of_rest(x, step)) {
        found = draw_step(x->schedule, x->random, pair_wanted(&x->pair, x->random), step);
    }
    tally_of(x->tally, step->primitive)->drawn++;
    tally_of(x->tally, step->primitive)->inapplicable += !found;
    return found;
}

static void draw_steps(Execution *x)
{
    Trial *t = x->trial;
    int most = 1 + (int)random_below(x->random, 12);
    x->pair = pair_draw(x->random);
    int attempts = 3 * most + (x->pair.first ? 12 : 0);
    most += (x->pair.first ? 2 : 0) + x->rest.n;
    attempts += 2 * x->rest.n;
    for (int attempt = 0; attempt < attempts && t->n_steps < most && !x->why; attempt++) {
        Step *step = &t->steps[t->n_steps];
        Value result = {.kind = VALUE_NONE};
        if (!next_step(x, step))
            continue;
        t->n_steps++; /* there while it runs, so that a crash can be made again */
        if (!make_step(x, step, &result)) {
            t->n_steps--;
            continue;
        }
        pair_made(&x->pair, step->primitive);
        if (x->n_queue == 0 && x->rest.at >= x->rest.n && !x->why)
            x->n_queue = draw_sequel(x->schedule, x->random, step, &result, x->queue);
    }
}

static void make_steps(Execution *x)
{
    for (int i = 0; i < x->trial->n_steps && !x->why; i++)
        make_step(x, &x->trial->steps[i], &(Value){0});
}

/* ---- a trial --------------------------------------------------------------------------------- */

static void run_kernel(Execution *x)
{
    Trial *t = x->trial;
    Context *c = x->use.c;
    const char *why = NULL;
    x->refused = t->begun && work_about(c, schedule_kernel(x->schedule), t->sizes) > BEGUN_MOST;
    if (x->refused)
        return;
    CheckManner manner = {true, reorders(x->schedule), t->width, t->reversed};
    switch (check_run(c, x->use.kernel, schedule_kernel(x->schedule), t->sizes, manner, &why)) {
    case CHECK_OK:
        x->tally->lowered++;
        for (int i = 0; i < t->n_steps; i++)
            tally_of(x->tally, t->steps[i].primitive)->run++;
        pairs_count(x->tally, t->steps, t->n_steps);
        break;
    case CHECK_REFUSED:
        x->refused = true;
        x->why = c->n_errors > 0 ? NULL : "lowering refuses without a word";
        x->tally->unlowered++;
        tally_refusal(x->tally->not_lowered, c);
        break;
    case CHECK_WRONG: x->why = why; break;
    case CHECK_LONG: x->refused = true; break; /* fewer steps may take less */
    }
}

static void record_kernel(Execution *x)
{
    Context *c = x->use.c;
    StrBuf trace = strbuf_new(c->arena);
    const Kernel *scheduled = schedule_kernel(x->schedule);
    x->refused = scheduled->n_relayouts + scheduled->n_retypes > 0; /* of another program */
    if (x->refused)
        return;
    schedule_trace(x->schedule, ctx_name(c, "found"), &trace);
    RecordAnswer answer =
        record_write(x->trial, trace.text, reorders(x->schedule), x->complete, x->record);
    x->refused = answer == RECORD_REFUSED;
}

static void run_guarded(Execution *x)
{
    jmp_buf guard;
    if (setjmp(guard)) {
        x->why = x->use.c->fatal_message;
        return;
    }
    x->use.c->guard = &guard;
    x->schedule = x->use.schedule ? x->use.schedule : schedule_new(x->use.c, x->use.kernel);
    if (x->random)
        draw_steps(x);
    else
        make_steps(x);
    if (!x->why && x->record)
        record_kernel(x);
    else if (!x->why)
        run_kernel(x);
}

static void print_head(const Trial *t, FILE *to)
{
    fprintf(to, "---- seed %llu: %s", (unsigned long long)t->seed, t->program->path);
    for (int i = 0; i < t->n_overrides; i++)
        fprintf(to, " -D %s", t->overrides[i]);
    for (int i = 0; i < t->program->n_sizes; i++)
        fprintf(to, "%s%s=%lld", i ? " " : ", at ", t->program->sizes[i], (long long)t->sizes[i]);
    fprintf(to, ", groups of %d%s", t->width, t->reversed ? ", reversed" : "");
    if (t->begun)
        fprintf(to, ", from schedule %s without %d steps", t->program->schedules[t->schedule],
                t->behind);
    fprintf(to, "\n");
}

static void print_steps(const Trial *t, FILE *to)
{
    for (int i = 0; i < t->n_steps; i++) {
        fprintf(to, "step %d: %s", i + 1, t->steps[i].primitive->name);
        for (int k = 0; k < t->steps[i].n_args; k++)
            for (int m = 0; m < t->steps[i].args[k].n; m++) {
                const Pick *pick = &t->steps[i].args[k].items[m];
                if (pick->kind == VALUE_INT || pick->kind == VALUE_MAP ||
                    pick->kind == VALUE_SIZES || pick->kind == VALUE_BOOL)
                    fprintf(to, " %lld", (long long)pick->i);
                else
                    fprintf(to, " %s", pick->kind == VALUE_FILL ? "_" : pick->name);
            }
        fprintf(to, "\n");
    }
}

void trial_print(const Trial *t, FILE *to)
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return;
    print_head(t, memory);
    print_steps(t, memory);
    fclose(memory);
    fwrite(text, 1, length, to); /* at once: other processes write there, too */
    free(text);
}

/* A fatal error leaves a schedule that cannot be written down. */
static void print_wrong(const Execution *x, FILE *to)
{
    Context *c = x->use.c;
    bool whole = x->schedule && c->fatal == FATAL_NONE;
    StrBuf trace = strbuf_new(c->arena);
    if (whole)
        schedule_trace(x->schedule, ctx_name(c, "found"), &trace);
    print_head(x->trial, to);
    fprintf(to, "%s%s\n", trace.text ? trace.text : "", x->why);
    if (!whole)
        print_steps(x->trial, to);
}

/* With the steps that the trial begins with, or, where their schedule is refused for these sizes,
 * without. */
static bool use_program(Execution *x, const char *const *overrides)
{
    const Trial *t = x->trial;
    if (t->begun && start_use(t, overrides, &x->use, &x->rest))
        return true;
    if (t->begun)
        ctx_free(x->use.c);
    return program_use(t->program, "", overrides, t->n_overrides, &x->use);
}

/* True if it is right; x->refused: lowering refuses the schedule. */
static bool run_once(Execution *at, FILE *show)
{
    Execution x = *at;
    x.refused = false; /* by an earlier run of the same trial */
    const Trial *t = x.trial;
    const char *overrides[TRIAL_SIZES + 1];
    for (int i = 0; i < t->n_overrides; i++)
        overrides[i] = t->overrides[i];
    if (use_program(&x, overrides))
        run_guarded(&x);
    else
        x.why = use_messages(&x.use);
    if (x.why && show)
        print_wrong(&x, show);
    at->refused = x.refused;
    bool right = !x.why;
    ctx_free(x.use.c);
    return right;
}

bool trial_run(Trial *t, Tally *tally, Random *random, FILE *show)
{
    static Tally unused; /* steps are counted when they are drawn */
    Execution drawn = {.trial = t, .tally = tally, .random = random},
              again = {.trial = t, .tally = &unused};
    if (!run_once(&drawn, show))
        return false;
    again.refused = random && drawn.refused;
    while (again.refused && t->n_steps > 1) {
        t->n_steps /= 2;
        if (!run_once(&again, show))
            return false;
        tally->shortened += !again.refused;
    }
    return true;
}

bool trial_write(Trial *t, Tally *tally, Random *random, bool complete, FILE *to)
{
    Execution x = {
        .trial = t, .tally = tally, .random = random, .record = to, .complete = complete};
    bool good = run_once(&x, stderr);
    for (x.random = NULL; good && x.refused && t->n_steps > 1;) {
        t->n_steps /= 2;
        good = run_once(&x, stderr);
    }
    return good && !x.refused;
}

/* Is the program for these sizes? Its `where` clause says so. */
static bool takes_sizes(const Program *p, const int64_t *sizes)
{
    char text[TRIAL_SIZES][64];
    const char *overrides[TRIAL_SIZES];
    for (int i = 0; i < p->n_sizes; i++) {
        snprintf(text[i], sizeof text[i], "%s=%lld", p->sizes[i], (long long)sizes[i]);
        overrides[i] = text[i];
    }
    Use use;
    bool taken = program_use(p, "", overrides, p->n_sizes, &use);
    ctx_free(use.c);
    return taken;
}

static void draw_sizes(const Program *p, Random *r, int64_t *sizes)
{
    enum { TRIES = 100 };
    bool assumes = strstr(p->text, "where") != NULL, taken = false;
    for (int try = 0; try < TRIES && !taken; try++) {
        for (int i = 0; i < p->n_sizes; i++)
            sizes[i] = p->values[random_below(r, (uint64_t)p->n_values)];
        taken = !assumes || takes_sizes(p, sizes);
    }
}

Trial trial_draw(const Program *p, Random *r, uint64_t seed)
{
    static const int widths[] = {1, 2, 7, 32};
    Trial t = {.program = p, .seed = seed};
    draw_sizes(p, r, t.sizes);
    for (int i = 0; i < p->n_sizes; i++) {
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
