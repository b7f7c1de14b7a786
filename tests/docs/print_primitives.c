/* print_primitives.c - writes docs/primitives.md from the table of primitives, to standard output.
 *
 *     print_primitives FILE...     programs with schedules that are refused: tests/legality
 *
 * What a primitive refuses is what it says to the examples of the errors and to those schedules.
 * The page repeats what `tirc --help NAME` says, in the order of the table. docs.primitives holds
 * the file against this text; tests/docs/test_docs.py runs the examples. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/manual.h"
#include "frontend/script/script.h"
#include "frontend/syntax/parse.h"
#include "passes/schedule/schedule.h"

enum { MOST_PRIMITIVES = 256 };

/* Which primitive has refused with which code. */
typedef struct {
    bool with[MOST_PRIMITIVES][ERROR_COUNT];
} Refusals;

/* ---- what is refused ------------------------------------------------------------------------- */

/* The first error of the context, if a primitive says it: "split: ...". */
static void note_refusal(Refusals *r, const Context *c)
{
    int n;
    const Primitive *table = primitive_table(&n);
    const Diag *d = c->first;
    if (n > MOST_PRIMITIVES)
        exit(1);
    while (d && d->severity != SEVERITY_ERROR)
        d = d->next;
    for (int i = 0; d && i < n; i++) {
        size_t length = strlen(table[i].name);
        if (!strncmp(d->message, table[i].name, length) && d->message[length] == ':')
            r->with[i][d->code] = true;
    }
}

static void run_example(Refusals *r, const ErrorInfo *info)
{
    Context *c = ctx_new(0);
    jmp_buf guard;
    if (!c)
        exit(1);
    if (!setjmp(guard)) {
        c->guard = &guard;
        explain_run_example(c, info);
    }
    note_refusal(r, c);
    ctx_free(c);
}

/* Runs schedule `number` of a file; false where it has no such. */
static bool run_schedule(Refusals *r, const char *path, int number)
{
    Context *c = ctx_new(0);
    jmp_buf guard;
    volatile bool found = false;
    if (!c)
        exit(1);
    if (!setjmp(guard)) {
        c->guard = &guard;
        uint32_t source = script_read_file(c, path, span_none());
        const AstFile *file = source ? parse_text(c, source) : NULL;
        const AstSchedule *schedule =
            file && number < file->n_schedules ? file->schedules[number] : NULL;
        for (int k = 0; schedule && k < file->n_kernels; k++) {
            FoundSchedule steps;
            found = true;
            if (file->kernels[k]->name.text != schedule->kernels[0].text)
                continue;
            const Kernel *kernel = resolve_kernel(c, file->kernels[k], NULL, 0);
            if (kernel && script_find(c, file, kernel->name, schedule->name.text, &steps))
                script_run(c, kernel, &steps, NULL, 0);
        }
    }
    note_refusal(r, c);
    ctx_free(c);
    return found;
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char intro[] =
    "# The primitives\n"
    "\n"
    "Every step of a schedule calls a primitive. A primitive proves that the program computes the\n"
    "same result as before, or refuses and says why. `tirc --help NAME` prints the text below, "
    "and\n"
    "`tirc --explain E0424` explains an error. [schedules.md](schedules.md) describes scripts.\n"
    "\n"
    "In a call, `a...` takes any number of arguments or one list. Arguments\n"
    "can be named: `pad(t, amount = 1)`. \"Before\" and \"After\" show the body of a kernel. A "
    "statement\n"
    "whose iterators are no longer its loops prints as `block NAME(iterator in DOMAIN = value)`.\n"
    "\n"
    "`tests/docs/print_primitives.c` generates this file from `passes/schedule/tables/*.def`.\n";

/* `text` with a capital letter first. */
static void print_sentence(const char *text)
{
    printf("%c%s.\n", toupper((unsigned char)*text), text + (*text != '\0'));
}

static void print_block(const char *title, const char *tag, const char *text)
{
    printf("\n%s:\n\n```%s\n%s\n```\n", title, tag, text);
}

static void print_refusals(const bool *with)
{
    const char *between = "\n**Refuses** with ";
    for (int code = 0; code < ERROR_COUNT; code++) {
        if (!with[code])
            continue;
        const ErrorInfo *info = error_info((ErrorCode)code);
        printf("%s`%s` (%s)", between, info->id, info->title);
        between = ", ";
    }
    if (*between == ',')
        printf(".\n");
}

static void print_primitive(const Primitive *p, const bool *refuses)
{
    Context *c = ctx_new((size_t)1 << 20);
    if (!c)
        exit(1);
    StrBuf usage = strbuf_new(c->arena);
    primitive_usage(p, &usage);
    printf("\n### %s\n\n`%s`", p->name, usage.text);
    printf(*p->result ? " gives %s.\n\n" : "\n\n", p->result);
    print_sentence(p->summary);
    if (*p->before) {
        print_block("Before", "tir before", p->before);
        print_block("Steps", "sched steps", p->steps);
        print_block("After", "tir after", p->after);
    }
    printf("\n**Legal when** %s.\n", p->legal);
    print_refusals(refuses);
    if (*p->tvm)
        printf("\n**In TVM** `Schedule.%s`\n", p->tvm);
    ctx_free(c);
}

static void print_all(const char *title, bool queries, const Refusals *r)
{
    int n;
    const Primitive *table = primitive_table(&n);
    printf("\n## %s\n", title);
    for (int i = 0; i < n; i++)
        if (table[i].is_query == queries)
            print_primitive(&table[i], r->with[i]);
}

int main(int argc, char **argv)
{
    Refusals refusals = {0};
    for (int code = 0; code < ERROR_COUNT; code++)
        if (error_info((ErrorCode)code)->schedule)
            run_example(&refusals, error_info((ErrorCode)code));
    for (int i = 1; i < argc; i++)
        for (int k = 0; run_schedule(&refusals, argv[i], k); k++)
            ;
    fputs(intro, stdout);
    print_all("Queries", true, &refusals);
    print_all("Steps", false, &refusals);
    return ferror(stdout) != 0;
}
