/* manual.c - see manual.h. The examples are run, not quoted: what is shown is what happens. */
#include "frontend/api/manual.h"

#include <stdio.h>
#include <string.h>

#include "frontend/script/script.h"
#include "frontend/syntax/parse.h"
#include "passes/lower/lower.h"

enum { WIDTH = 80 };

/* ---- text ------------------------------------------------------------------------------------ */

/* `text` in lines of at most WIDTH columns, each after `indent` blanks. */
static void add_wrapped(StrBuf *out, const char *text, int indent)
{
    int column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + (int)word > WIDTH) {
            strbuf_addc(out, '\n');
            column = 0;
        }
        if (column == 0) {
            strbuf_addf(out, "%*s", indent, "");
            column = indent;
        } else {
            strbuf_addc(out, ' ');
            column++;
        }
        strbuf_addn(out, text, word);
        column += (int)word;
        text += word;
        text += strspn(text, " ");
    }
    strbuf_addc(out, '\n');
}

static void add_indented(StrBuf *out, const char *text, int indent)
{
    while (*text) {
        size_t line = strcspn(text, "\n");
        if (line)
            strbuf_addf(out, "%*s", indent, "");
        strbuf_addn(out, text, line);
        strbuf_addc(out, '\n');
        text += line + (text[line] == '\n');
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *example_text(Context *c, const ErrorInfo *info)
{
    StrBuf out = strbuf_new(c->arena);
    size_t length = strlen(info->program);
    while (length > 0 && info->program[length - 1] == '\n')
        length--;
    strbuf_addn(&out, info->program, length);
    if (info->schedule) {
        strbuf_add(&out, "\n\nschedule example for any()\n{\n");
        add_indented(&out, info->schedule, 4);
        strbuf_add(&out, "}\n");
    } else {
        strbuf_addc(&out, '\n');
    }
    return out.text;
}

static void run_example(Context *c, const ErrorInfo *info, const char *text)
{
    const AstFile *file = parse_text(c, source_add(c, "example.tir", text, strlen(text)));
    const Kernel *kernel = NULL;
    if (file && file->n_kernels > 0)
        kernel = resolve_kernel(c, file->kernels[0], NULL, 0);
    if (kernel && info->schedule) {
        FoundSchedule found;
        Schedule *s = script_find(c, file, kernel->name, "example", &found)
                          ? script_run(c, kernel, &found, NULL, 0)
                          : NULL;
        kernel = s ? schedule_kernel(s) : NULL;
    }
    LowerOptions options = {.limits = limits_default()};
    if (kernel)
        lower_kernel(c, kernel, &options);
}

void explain_run_example(Context *c, const ErrorInfo *info)
{
    run_example(c, info, example_text(c, info));
}

void explain_error(Context *c, const ErrorInfo *info, StrBuf *out)
{
    strbuf_addf(out, "%s: %s\n\n", info->id, info->title);
    add_wrapped(out, info->explanation, 0);
    if (!info->program)
        return;
    const char *text = example_text(c, info);
    strbuf_add(out, "\nexample.tir:\n\n");
    add_indented(out, text, 4);
    run_example(c, info, text);
    strbuf_add(out, "\ntirc says:\n\n");
    StrBuf said = strbuf_new(c->arena);
    diag_render_all(c, DIAG_PLAIN, &said);
    add_indented(out, said.text, 4);
}

/* ---- primitives ------------------------------------------------------------------------------ */

static void add_section(StrBuf *out, const char *title, const char *text)
{
    if (!*text)
        return;
    strbuf_addf(out, "\n%s:\n", title);
    add_indented(out, text, 4);
}

void explain_primitive(const Primitive *p, StrBuf *out)
{
    primitive_usage(p, out);
    strbuf_add(out, "\n\n");
    add_wrapped(out, p->summary, 4);
    if (*p->result) {
        strbuf_add(out, "    gives ");
        strbuf_addf(out, "%s\n", p->result);
    }
    add_section(out, "before", p->before);
    add_section(out, "steps", p->steps);
    add_section(out, "after", p->after);
    if (*p->legal) {
        strbuf_add(out, "\nlegal when:\n");
        add_wrapped(out, p->legal, 4);
    }
    if (*p->tvm)
        strbuf_addf(out, "\nin TVM: Schedule.%s\n", p->tvm);
}
