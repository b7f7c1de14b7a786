/* One language at every level: each program of the folders given, each step of each of its
 * schedules and its lowered kernel print as text that reads back to an equal kernel, which prints
 * the same; finishing the pipeline from there gives the same CUDA; and the trace of a schedule runs
 * again to the same kernel.
 *
 *     test_roundtrip FOLDER...          each schedule with sizes as symbols or as numbers, and with
 *                                       one element type, in turn
 *     test_roundtrip --long FOLDER...   with both, and with all types */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/cuda/cuda.h"
#include "passes/lower/lower.h"
#include "support/program.h"

/* A program, with what a test asks of it. */
typedef struct {
    const Program *program;
    int number;
    bool every_use;
} Subject;

typedef struct {
    const Program *program;
    const char *schedule;
    const char *const *overrides;
    int n_overrides, failures;
    Use use;
} Case;

static void complain(Case *k, const char *what, const char *why)
{
    print_error("%s, schedule %s%s%s, %s: %s\n", k->program->name, k->schedule,
                k->n_overrides ? ", " : "", k->n_overrides ? k->overrides[0] : "", what, why);
    k->failures++;
}

static const char *text_of(Context *c, const Kernel *kernel)
{
    StrBuf text = strbuf_new(c->arena);
    print_kernel(c, kernel, &text);
    return text.text;
}

/* ---- text and back --------------------------------------------------------------------------- */

static Kernel *read_back(Case *k, const char *text)
{
    Context *c = k->use.c;
    AstFile *file = parse_text(c, source_add(c, "printed.tir", text, strlen(text)));
    return file ? resolve_kernel(c, file->kernels[0], NULL, 0) : NULL;
}

/* The kernel that the text of `kernel` gives; NULL after a complaint. */
static Kernel *round_trip(Case *k, const Kernel *kernel, const char *what)
{
    Context *c = k->use.c;
    const char *text = text_of(c, kernel);
    Kernel *again = read_back(k, text);
    if (!again) {
        complain(k, what, "the printed text is refused");
        print_error("%s\n%s\n", text, use_messages(&k->use));
        return NULL;
    }
    const char *second = text_of(c, again);
    if (strcmp(text, second) != 0) {
        complain(k, what, "the text changes when it is read and printed");
        print_error("---- first\n%s\n---- second\n%s\n", text, second);
        return NULL;
    }
    if (kernel_equal(kernel, again))
        return again;
    complain(k, what, "the kernel that is read back is not equal");
    print_error("%s\n", text);
    return NULL;
}

/* ---- CUDA from there ------------------------------------------------------------------------- */

static Kernel *lower(Case *k, const Kernel *kernel, const char *what)
{
    LowerOptions options = {.limits = limits_default()};
    Kernel *lowered = kernel ? lower_kernel(k->use.c, kernel, &options) : NULL;
    if (kernel && !lowered)
        complain(k, what, use_messages(&k->use));
    return lowered;
}

/* Every line of a launch comes from a place in the program. */
static void check_origins(Case *k, const char *cuda, const LineOrigins *lines)
{
    bool inside = false;
    for (int i = 0; i < lines->n; i++) {
        inside |= !strncmp(cuda, "extern \"C\"", 10);
        size_t length = strcspn(cuda, "\n");
        if (inside && !lines->items[i].span.source)
            complain(k, "the line map",
                     arena_printf(k->use.c->arena, "no place for '%.*s'", (int)length, cuda));
        inside &= *cuda != '}';
        cuda += length + (cuda[length] != '\0');
    }
    if (*cuda)
        complain(k, "the line map", "it ends before the text");
}

static const char *cuda_of(Case *k, const Kernel *lowered)
{
    StrBuf text = strbuf_new(k->use.c->arena);
    LineOrigins lines = {0};
    cuda_emit(k->use.c, lowered, &text, &lines);
    check_origins(k, text.text, &lines);
    return text.text;
}

static void check_cuda(Case *k, const char *cuda, const Kernel *from, const char *what)
{
    Kernel *lowered = lower(k, from, what);
    if (!lowered)
        return;
    const char *other = cuda_of(k, lowered);
    if (strcmp(cuda, other) == 0)
        return;
    complain(k, what, "the CUDA differs");
    print_error("---- directly\n%s\n---- through text\n%s\n", cuda, other);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static void check_trace(Case *k)
{
    Context *c = k->use.c;
    StrBuf trace = strbuf_new(c->arena);
    schedule_trace(k->use.schedule, ctx_name(c, "again"), &trace);
    AstFile *file = parse_text(c, source_add(c, "trace.sched", trace.text, trace.length));
    FoundSchedule found;
    Schedule *again = NULL;
    if (file && script_find(c, file, k->use.kernel->name, "again", &found))
        again = script_run(c, k->use.kernel, &found, NULL, 0);
    if (!again) {
        complain(k, "trace", use_messages(&k->use));
        print_error("%s\n", trace.text);
    } else if (!kernel_equal(schedule_kernel(k->use.schedule), schedule_kernel(again))) {
        complain(k, "trace", "it makes another kernel");
        print_error("%s\n%s\n%s\n", trace.text, text_of(c, schedule_kernel(k->use.schedule)),
                    text_of(c, schedule_kernel(again)));
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void check_levels(Case *k)
{
    const Schedule *s = k->use.schedule;
    Kernel *last = NULL;
    for (int step = 0; step <= schedule_steps(s); step++)
        last = round_trip(k, schedule_kernel_after(s, step),
                          step ? schedule_step_text(s, step) : "program");
    check_trace(k);
    Kernel *lowered = lower(k, schedule_kernel(s), "lower");
    if (!lowered)
        return;
    const char *cuda = cuda_of(k, lowered);
    check_cuda(k, cuda, last, "--emit tir fed back");
    check_cuda(k, cuda, round_trip(k, lowered, "lowered"), "--emit lowered fed back");
}

static void check_case(Case *k)
{
    jmp_buf guard;
    if (!program_use(k->program, k->schedule, k->overrides, k->n_overrides, &k->use)) {
        complain(k, "refused", use_messages(&k->use));
    } else if (setjmp(guard)) {
        complain(k, "stopped", use_messages(&k->use));
    } else {
        k->use.c->guard = &guard;
        check_levels(k);
    }
    ctx_free(k->use.c);
}

/* One use, with sizes or with symbols for them, and the element type of that number; the count of
 * failures. */
static int check_use(const Program *p, int schedule, int type, bool symbolic)
{
    char text[9][48];
    const char *overrides[9] = {text[0]};
    int n = 0;
    if (p->n_types)
        snprintf(text[n++], sizeof text[0], "%s=%s", p->type, p->types[type]);
    for (int i = 0; i < p->n_sizes; i++)
        if (symbolic)
            snprintf(text[n++], sizeof text[0], "%s=?", p->sizes[i]);
        else
            snprintf(text[n++], sizeof text[0], "%s=%d", p->sizes[i], i == 0 ? 33 : 40 + 20 * i);
    for (int i = 0; i < n; i++)
        overrides[i] = text[i];
    Case k = {
        .program = p, .schedule = p->schedules[schedule], .overrides = overrides, .n_overrides = n};
    check_case(&k);
    return k.failures;
}

static void reads_back(void **state)
{
    const Subject *subject = *state;
    const Program *p = subject->program;
    int failures = 0, types = p->n_types ? p->n_types : 1;
    for (int s = 0; s < p->n_schedules; s++)
        for (int type = 0; type < types; type++) {
            bool all = subject->every_use, can = p->n_sizes > 0 && !p->literal[s];
            bool symbols = can && (s + subject->number) % 2 == 0;
            if (!all && type != s % types)
                continue;
            if (can && (all || symbols))
                failures += check_use(p, s, type, true);
            if (all || !symbols)
                failures += check_use(p, s, type, false);
        }
    if (failures > 0)
        fail_msg("%s: %d of its texts do not read back", p->name, failures);
}

int main(int argc, char **argv)
{
    int failed = 0;
    bool every_use = argc > 1 && strcmp(argv[1], "--long") == 0;
    for (int f = 1 + every_use; f < argc; f++) {
        Program *programs;
        int n = programs_read(argv[f], &programs);
        Subject *subjects = calloc((size_t)n, sizeof *subjects);
        struct CMUnitTest *tests = calloc((size_t)n, sizeof *tests);
        for (int i = 0; i < n; i++) {
            subjects[i] = (Subject){&programs[i], i, every_use};
            tests[i] = (struct CMUnitTest){programs[i].name, reads_back, NULL, NULL, &subjects[i]};
        }
        failed += _cmocka_run_group_tests("roundtrip", tests, (size_t)n, NULL, NULL);
        free(tests);
        free(subjects);
        programs_free(programs, n);
    }
    return failed > 0;
}
