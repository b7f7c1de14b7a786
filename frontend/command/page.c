/* page.c - Writes the report as one self-contained page: a frame, its style and its script
 * (frontend/command/page), and the data.
 *
 * The data are those of --json, and with them what the pictures need: the texts, where the lines of
 * the CUDA come from, and the program after each step. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "page_files.h"

/* ---- texts ----------------------------------------------------------------------------------- */

static json_t *text_of(const Command *c, const tirc_kernel *kernel, tirc_format format)
{
    const void *data;
    size_t length;
    return tirc_emit(c->t, kernel, format, NULL, &data, &length) ? json_string("")
                                                                 : json_string(data);
}

static json_t *step_json(const Command *c, const char *call, const tirc_kernel *kernel)
{
    return json_pack("{s:s, s:o}", "call", call, "text", text_of(c, kernel, TIRC_TIR));
}

static json_t *steps_json(const Command *c)
{
    json_t *steps = json_array();
    json_array_append_new(steps, step_json(c, "the program", c->program));
    for (size_t i = 1; i <= tirc_step_count(c->scheduled); i++)
        json_array_append_new(steps, step_json(c, tirc_step_text(c->scheduled, i),
                                               tirc_step_kernel(c->t, c->scheduled, i)));
    json_array_append_new(steps, step_json(c, "lowering", c->lowered));
    return steps;
}

/* Adds a file that lines come from, once. */
static void add_source(const Command *c, json_t *sources, const char *path)
{
    const char *text = path ? tirc_source_text(c->t, path) : NULL;
    size_t i;
    json_t *known;
    json_array_foreach(sources, i,
                       known) if (!strcmp(json_string_value(json_object_get(known, "path")),
                                          path ? path : "")) return;
    if (text)
        json_array_append_new(sources, json_pack("{s:s, s:s}", "path", path, "text", text));
}

static json_t *optional(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* Of the CUDA lines that come from somewhere; and the files that they come from. */
static void add_lines(const Command *c, json_t *top)
{
    const tirc_origin *origins;
    size_t n;
    json_t *lines = json_array(), *sources = json_array();
    if (tirc_origins(c->t, c->lowered, &origins, &n))
        n = 0;
    for (size_t i = 0; i < n; i++) {
        const tirc_origin *o = &origins[i];
        if (!o->path)
            continue;
        json_array_append_new(
            lines, json_pack("{s:I, s:s, s:i, s:I, s:o, s:i}", "cuda", (json_int_t)i + 1, "file",
                             o->path, "line", o->line, "step", (json_int_t)o->step, "schedule_file",
                             optional(o->step_path), "schedule_line", o->step_line));
        add_source(c, sources, o->path);
    }
    for (size_t i = 0; i < n; i++)
        add_source(c, sources, origins[i].step_path);
    json_object_set_new(top, "lines", lines);
    json_object_set_new(top, "sources", sources);
}

static json_t *page_data(const Command *c, const Report *r)
{
    json_t *top = report_object(c, r);
    json_object_set_new(top, "cuda", text_of(c, c->lowered, TIRC_CUDA));
    json_object_set_new(top, "steps", steps_json(c));
    add_lines(c, top);
    return top;
}

/* ---- the page -------------------------------------------------------------------------------- */

typedef struct {
    char *text;
    size_t length, capacity;
    bool out_of_memory;
} Page;

static void add(Page *p, const char *text, size_t length)
{
    if (p->length + length + 1 > p->capacity) {
        size_t capacity = 2 * (p->length + length + 1);
        char *grown = p->out_of_memory ? NULL : realloc(p->text, capacity);
        if (!grown) {
            p->out_of_memory = true;
            return;
        }
        p->text = grown;
        p->capacity = capacity;
    }
    memcpy(p->text + p->length, text, length);
    p->length += length;
}

/* Text in which a '<' ends nothing: as an entity, or inside the strings of JSON. */
static void add_escaped(Page *p, const char *text, const char *less)
{
    while (*text) {
        size_t plain = strcspn(text, "<");
        add(p, text, plain);
        text += plain;
        if (*text++ != '<')
            return;
        add(p, less, strlen(less));
    }
}

static const char *file_text(const char *name)
{
    for (int i = 0; i < page_file_count; i++)
        if (!strcmp(page_files[i].name, name))
            return page_files[i].text;
    return "";
}

/* The frame with its holes filled. */
static void fill(Page *p, const Report *r, const char *data)
{
    const char *at = file_text("page.html");
    for (const char *hole; (hole = strchr(at, '@')) != NULL;) {
        add(p, at, (size_t)(hole - at));
        const char *end = strchr(hole + 1, '@');
        size_t length = end ? (size_t)(end + 1 - hole) : 1;
        if (!strncmp(hole, "@TITLE@", length))
            add_escaped(p, r->kernel, "&lt;");
        else if (!strncmp(hole, "@STYLE@", length))
            add(p, file_text("page.css"), strlen(file_text("page.css")));
        else if (!strncmp(hole, "@SCRIPT@", length))
            add(p, file_text("page.js"), strlen(file_text("page.js")));
        else if (!strncmp(hole, "@DATA@", length))
            add_escaped(p, data, "\\u003c");
        at = hole + length;
    }
    add(p, at, strlen(at));
}

tirc_status report_page(const Command *c, const Report *r)
{
    json_t *object = page_data(c, r);
    char *data = json_dumps(object, JSON_REAL_PRECISION(9));
    Page page = {0};
    json_decref(object);
    if (data)
        fill(&page, r, data);
    bool made = data && !page.out_of_memory;
    if (!made)
        fputs("tirc: out of memory for the report\n", stderr);
    tirc_status status =
        made ? output_write(c->options->output, page.text, page.length) : TIRC_UNAVAILABLE;
    free(data);
    free(page.text);
    return status;
}
