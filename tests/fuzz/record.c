/* record.c - see record.h. The trace goes through parser, resolver and script again, so that only
 * the public interface is used. */
#include "fuzz/record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tirc.h"

typedef struct {
    tirc *t;
    tirc_kernel *program, *scheduled, *lowered;
    json_t *line;
} Record;

static json_t *sizes_json(const Trial *t)
{
    json_t *sizes = json_object();
    for (int i = 0; i < t->program->n_sizes; i++)
        json_object_set_new(sizes, t->program->sizes[i], json_integer(t->sizes[i]));
    return sizes;
}

static json_t *overrides_json(const Trial *t)
{
    json_t *overrides = json_array();
    for (int i = 0; i < t->n_overrides; i++)
        json_array_append_new(overrides, json_string(t->overrides[i]));
    return overrides;
}

static json_t *head_json(const Trial *t, const char *trace, bool reorders)
{
    return json_pack("{s:I, s:s, s:i, s:o, s:o, s:b, s:s}", "seed", (json_int_t)t->seed, "path",
                     t->program->path, "kernel_number", t->program->kernel, "overrides",
                     overrides_json(t), "sizes", sizes_json(t), "reorders", (int)reorders,
                     "schedule", trace);
}

/* The program's text with the trace below it. */
static tirc_status schedule(Record *r, const Trial *t, const char *trace)
{
    const char *overrides[TRIAL_SIZES + 1];
    for (int i = 0; i < t->n_overrides; i++)
        overrides[i] = t->overrides[i];
    size_t length = t->program->length + strlen(trace) + 2;
    char *text = malloc(length);
    snprintf(text, length, "%s\n%s", t->program->text, trace);
    tirc_file *file = NULL;
    tirc_status status = tirc_parse_text(r->t, t->program->path, text, strlen(text), &file);
    free(text);
    if (!status)
        status = tirc_resolve(r->t, file, tirc_file_kernel(file, (size_t)t->program->kernel),
                              overrides, (size_t)t->n_overrides, &r->program);
    return status ? status : tirc_apply(r->t, file, r->program, "found", NULL, 0, &r->scheduled);
}

static tirc_status add_text(Record *r, const char *key, tirc_format format)
{
    const void *text;
    size_t length;
    tirc_status status = tirc_emit(r->t, r->lowered, format, NULL, &text, &length);
    if (!status)
        json_object_set_new(r->line, key, json_stringn(text, length));
    return status;
}

static RecordAnswer emit(Record *r, const Trial *t, const char *trace, bool complete)
{
    if (schedule(r, t, trace) != TIRC_OK)
        return RECORD_BROKEN;
    json_object_set_new(r->line, "kernel", json_string(tirc_kernel_name(r->program)));
    tirc_status status = tirc_lower(r->t, r->scheduled, NULL, &r->lowered);
    if (status == TIRC_REFUSED)
        return RECORD_REFUSED;
    if (!status)
        status = add_text(r, "lowered", TIRC_TIR);
    if (!status)
        status = add_text(r, "launches", TIRC_JSON);
    if (!status && complete)
        status = add_text(r, "complete", TIRC_CU);
    return status ? RECORD_BROKEN : RECORD_WRITTEN;
}

RecordAnswer record_write(const Trial *t, const char *trace, bool reorders, bool complete, FILE *to)
{
    Record r = {.t = tirc_new(NULL), .line = head_json(t, trace, reorders)};
    RecordAnswer answer = emit(&r, t, trace, complete);
    if (answer == RECORD_BROKEN)
        json_object_set_new(r.line, "broken", json_string(tirc_diagnostics(r.t, false)));
    if (answer != RECORD_REFUSED) {
        json_dumpf(r.line, to, JSON_COMPACT);
        fputc('\n', to);
    }
    json_decref(r.line);
    tirc_free(r.t);
    return answer;
}
