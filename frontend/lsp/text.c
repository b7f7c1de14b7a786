/* text.c - Formats a document, and shows the program after a step of a schedule. */
#include <string.h>

#include "answers.h"

/* ---- formatting ------------------------------------------------------------------------------ */

/* One edit of the lines that differ. */
static GVariant *edit_between(const Lines *old, tirc_text new)
{
    gsize begin = 0, tail = 0;
    while (begin < old->length && begin < new.length && old->text[begin] == new.text[begin])
        begin++;
    while (begin > 0 && old->text[begin - 1] != '\n')
        begin--;
    gsize most = MIN(old->length, new.length) - begin;
    while (tail < most && old->text[old->length - tail - 1] == new.text[new.length - tail - 1])
        tail++;
    while (tail > 0 && old->text[old->length - tail - 1] != '\n')
        tail--;
    tirc_place place = {.path = ""};
    lines_place(old, begin, &place.line, &place.column);
    lines_place(old, old->length - tail, &place.end_line, &place.end_column);
    g_autofree char *text = g_strndup(new.text + begin, new.length - tail - begin);
    return lsp_object("range", lines_range(old, &place), "newText", lsp_string(text), NULL);
}

GVariant *answer_formatting(const Documents *documents, GVariant *params)
{
    Document *document = documents_of(documents, params);
    GPtrArray *edits = g_ptr_array_new();
    tirc_text formatted, text;
    tirc *t = document ? tirc_new(NULL) : NULL;
    if (t) {
        g_autoptr(Lines) lines = lines_new(document->text->str, document->text->len);
        text = (tirc_text){document->text->str, document->text->len};
        if (tirc_format_text(t, document->path, text, &formatted) == TIRC_OK &&
            (formatted.length != text.length ||
             memcmp(formatted.text, text.text, text.length) != 0))
            g_ptr_array_add(edits, edit_between(lines, formatted));
    }
    tirc_free(t);
    return lsp_array(edits);
}

/* ---- the program after a step ---------------------------------------------------------------- */

/* The schedule of the file around the line; -1: none. */
static gssize schedule_at(Analysis *a, int line, tirc_named *schedule)
{
    for (size_t i = 0; tirc_file_schedule(a->t, a->file, i, schedule); i++)
        if (schedule->whole.line <= line && line <= schedule->whole.end_line)
            return (gssize)i;
    return -1;
}

/* The first kernel that the schedule is for, at its default sizes. */
static tirc_kernel *kernel_of(Analysis *a, size_t schedule)
{
    const char *name;
    tirc_kernel *kernel = NULL;
    for (size_t k = 0; (name = tirc_file_schedule_kernel(a->file, schedule, k)) != NULL; k++) {
        const char *wanted = !strcmp(name, "any") ? tirc_file_kernel(a->file, 0) : name;
        if (wanted && tirc_resolve(a->t, a->file, wanted, NULL, 0, &kernel) == TIRC_OK)
            return kernel;
        if (wanted && a->program &&
            tirc_resolve(a->t, a->program, wanted, NULL, 0, &kernel) == TIRC_OK)
            return kernel;
    }
    return NULL;
}

/* The last step of a statement that begins on the line or above. */
static size_t last_step(const Analysis *a, const tirc_kernel *scheduled, int line)
{
    tirc_place place;
    size_t step = tirc_step_count(scheduled);
    while (step > 0 && tirc_step_place(a->t, scheduled, step, &place) && place.line > line)
        step--;
    return step;
}

static GVariant *program_after(Analysis *a, const tirc_named *schedule,
                               const tirc_kernel *scheduled, int line)
{
    size_t step = last_step(a, scheduled, line), length;
    const void *text;
    tirc_kernel *kernel = tirc_step_kernel(a->t, scheduled, step);
    if (!kernel || tirc_emit(a->t, kernel, TIRC_TIR, NULL, &text, &length) != TIRC_OK)
        return NULL;
    g_autofree char *program = g_strndup(text, length);
    return lsp_object("schedule", lsp_string(schedule->name), "kernel",
                      lsp_string(tirc_kernel_name(scheduled)), "step", lsp_int((gint64)step),
                      "steps", lsp_int((gint64)tirc_step_count(scheduled)), "call",
                      step ? lsp_string(tirc_step_text(scheduled, step)) : NULL, "program",
                      lsp_string(program), NULL);
}

GVariant *answer_program_after(const Documents *documents, GVariant *params)
{
    Document *document = documents_of(documents, params);
    g_autoptr(GVariant) position = lsp_member(params, "position");
    int line = (int)lsp_number(position, "line", 0) + 1;
    Analysis *a = document ? document_analysis(documents, document) : NULL;
    tirc_named schedule;
    tirc_kernel *scheduled = NULL;
    if (!a || !a->file)
        return NULL;
    gssize at = schedule_at(a, line, &schedule);
    tirc_kernel *kernel = at >= 0 ? kernel_of(a, (size_t)at) : NULL;
    size_t own = tirc_diagnostic_count(a->t);
    if (kernel)
        tirc_apply_partly(a->t, a->file, (size_t)at, kernel, &scheduled);
    tirc_keep_diagnostics(a->t, own);
    return scheduled ? program_after(a, &schedule, scheduled, line) : NULL;
}
