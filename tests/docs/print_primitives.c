/* print_primitives.c - writes docs/primitives.md from the table of primitives, to standard output.
 *
 * The page repeats what `tirc --help NAME` says, in the order of the table. docs.primitives holds the file against this
 * text; tests/docs/test_docs.py runs the examples. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/schedule/schedule.h"

static const char intro[] =
    "# The primitives\n"
    "\n"
    "Every step of a schedule calls a primitive. Each proves that the program computes the same as before, or refuses\n"
    "and says why.\n"
    "`tirc --help NAME` prints these texts; [schedules.md](schedules.md) says how scripts are written.\n"
    "\n"
    "In a call, `a...` takes any number of arguments or one list, `a?` may be left out, and arguments may be named:\n"
    "`pad(t, amount = 1)`. \"Before\" and \"after\" show the body of a kernel. As tirc does, they say\n"
    "`block NAME(iterator in DOMAIN = value)` where the iterators of a statement are no longer its loops.\n"
    "\n"
    "This file is written by `tests/docs/print_primitives.c` from the table in `passes/schedule/*.def`.\n";

/* `text` with a capital letter first. */
static void print_sentence(const char *text)
{
    printf("%c%s.\n", toupper((unsigned char)*text), text + (*text != '\0'));
}

static void print_block(const char *title, const char *tag, const char *text)
{
    printf("\n%s:\n\n```%s\n%s\n```\n", title, tag, text);
}

static void print_primitive(const Primitive *p)
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
    if (*p->tvm)
        printf("\n**In TVM** `Schedule.%s`\n", p->tvm);
    ctx_free(c);
}

static void print_all(const char *title, bool queries)
{
    int n;
    const Primitive *table = primitive_table(&n);
    printf("\n## %s\n", title);
    for (int i = 0; i < n; i++)
        if (table[i].is_query == queries)
            print_primitive(&table[i]);
}

int main(void)
{
    fputs(intro, stdout);
    print_all("Queries", true);
    print_all("Steps", false);
    return ferror(stdout) != 0;
}
