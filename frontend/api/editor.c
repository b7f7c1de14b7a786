/* editor.c - Implements the calls for editors: texts that may be wrong, names and their uses,
 * schedules that are refused half-way, and the one style of programs and schedules. */
#include "frontend/api/internal.h"

#include <stdio.h>
#include <string.h>

#include "frontend/editor/names.h"
#include "frontend/editor/regions.h"
#include "frontend/script/script.h"
#include "frontend/syntax/format.h"
#include "frontend/syntax/parse.h"

struct tirc_names {
    const NameIndex *index;
    Context *c;
};

_Static_assert((int)TIRC_NAMED_INSTRUCTION == (int)NAMED_INSTRUCTION,
               "the kinds are those of names.h");

/* ---- texts ----------------------------------------------------------------------------------- */

static bool open_text(tirc *t, const char *name, tirc_text text, tirc_file **file)
{
    int errors = t->ctx->n_errors;
    uint32_t source = source_add(t->ctx, name, text.text, text.length);
    *file = api_file_new(t, parse_readable(t->ctx, source));
    return t->ctx->n_errors == errors;
}

tirc_status tirc_open_text(tirc *t, const char *name, tirc_text text, tirc_file **file)
{
    API_GUARDED(t, open_text(t, name, text, file));
}

tirc_status tirc_provide_text(tirc *t, const char *path, tirc_text text)
{
    API_GUARDED(t, script_provide(t->ctx, path, text.text, text.length) != NULL);
}

static tirc_place place_of(const Context *c, Span span)
{
    const Source *source = source_get(c, span.source);
    tirc_place place = {0};
    if (!source || span.end > source->length)
        return place;
    place.path = source->path;
    source_position(source, span.begin, &place.line, &place.column);
    source_position(source, span.end, &place.end_line, &place.end_column);
    return place;
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *tirc_named_kind_text(tirc_named_kind kind)
{
    static const char *const texts[] = {
        [TIRC_NAMED_KERNEL] = "a kernel",       [TIRC_NAMED_SIZE] = "a size",
        [TIRC_NAMED_TYPE] = "a type parameter", [TIRC_NAMED_BUFFER] = "a buffer",
        [TIRC_NAMED_SCALAR] = "a scalar",       [TIRC_NAMED_TEMP] = "a temp",
        [TIRC_NAMED_VALUE] = "a value",         [TIRC_NAMED_LOOP] = "a loop",
        [TIRC_NAMED_ITERATOR] = "an iterator",  [TIRC_NAMED_BLOCK] = "a block",
        [TIRC_NAMED_REDUCER] = "a reducer",     [TIRC_NAMED_FUNCTION] = "a function",
        [TIRC_NAMED_SCHEDULE] = "a schedule",   [TIRC_NAMED_PROC] = "a proc",
        [TIRC_NAMED_PARAMETER] = "a parameter", [TIRC_NAMED_VARIABLE] = "a variable",
        [TIRC_NAMED_PRIMITIVE] = "a primitive", [TIRC_NAMED_INSTRUCTION] = "an instruction",
    };
    return texts[kind];
}

static bool find_names(tirc *t, const tirc_file *file, const tirc_file *program, tirc_names **names)
{
    *names = ARENA_NEW(t->ctx->arena, tirc_names);
    (*names)->c = t->ctx;
    (*names)->index = names_index(t->ctx, file->ast, program ? program->ast : NULL);
    return true;
}

tirc_status tirc_find_names(tirc *t, const tirc_file *file, const tirc_file *program,
                            tirc_names **names)
{
    API_GUARDED(t, find_names(t, file, program, names));
}

static const char *text_of(Context *c, Span span)
{
    return span.source ? api_span_text(c, span) : NULL;
}

/* The declaration up to the brace of its body. */
static const char *declaration_of(Context *c, const Named *named)
{
    const Source *source = source_get(c, named->whole.source);
    Span head = named->whole;
    if (!source)
        return NULL;
    const char *begin = source->text + head.begin;
    const char *brace = memchr(begin, '{', head.end - head.begin);
    if (brace)
        head.end = head.begin + (uint32_t)(brace - begin);
    while (head.end > head.begin && strchr(" \t\r\n", source->text[head.end - 1]))
        head.end--;
    return api_span_text(c, head);
}

static void describe(Context *c, const Named *named, tirc_named *out)
{
    *out = (tirc_named){
        .kind = (tirc_named_kind)named->kind,
        .name = named->name,
        .place = place_of(c, named->span),
        .whole = place_of(c, named->whole),
        .scope = place_of(c, named->scope),
        .parent = named->parent,
        .type = text_of(c, named->type),
        .domain = text_of(c, named->domain),
        .declaration = declaration_of(c, named),
    };
}

static bool named_at(tirc *t, const tirc_names *names, size_t i, tirc_named *named)
{
    if (i >= (size_t)names->index->items.n)
        return false;
    describe(t->ctx, &names->index->items.items[i], named);
    return true;
}

bool tirc_named_at(tirc *t, const tirc_names *names, size_t i, tirc_named *named)
{
    API_ANSWER(t, named_at(t, names, i, named));
}

bool tirc_name_use_at(tirc *t, const tirc_names *names, size_t i, tirc_name_use *use)
{
    if (i >= (size_t)names->index->uses.n)
        return false;
    const NameUse *found = &names->index->uses.items[i];
    *use = (tirc_name_use){place_of(t->ctx, found->span), found->named, found->declares};
    return true;
}

int tirc_name_use_find(const tirc_names *names, int line, int column)
{
    for (int i = 0; i < names->index->uses.n; i++) {
        tirc_place p = place_of(names->c, names->index->uses.items[i].span);
        if (p.line == line && p.column <= column && column <= p.end_column)
            return i;
    }
    return -1;
}

static bool regions(tirc *t, const tirc_kernel *kernel, const char *buffer, const char **text)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    regions_describe(t->ctx, kernel->kernel, buffer, &out);
    *text = out.length ? out.text : NULL;
    return true;
}

static tirc_status regions_guarded(tirc *t, const tirc_kernel *kernel, const char *buffer,
                                   const char **text)
{
    API_GUARDED(t, regions(t, kernel, buffer, text));
}

const char *tirc_regions(tirc *t, const tirc_kernel *kernel, const char *buffer)
{
    const char *text = NULL;
    return regions_guarded(t, kernel, buffer, &text) == TIRC_OK ? text : NULL;
}

/* ---- schedules ------------------------------------------------------------------------------- */

static bool file_schedule(tirc *t, const tirc_file *file, size_t i, tirc_named *schedule)
{
    if (i >= (size_t)file->ast->n_schedules)
        return false;
    const AstSchedule *s = file->ast->schedules[i];
    describe(t->ctx,
             &(Named){.kind = NAMED_SCHEDULE,
                      .name = s->name.text,
                      .span = s->name.span,
                      .whole = s->span,
                      .parent = -1},
             schedule);
    return true;
}

bool tirc_file_schedule(tirc *t, const tirc_file *file, size_t i, tirc_named *schedule)
{
    API_ANSWER(t, file_schedule(t, file, i, schedule));
}

const char *tirc_file_schedule_kernel(const tirc_file *file, size_t i, size_t kernel)
{
    const AstSchedule *s = i < (size_t)file->ast->n_schedules ? file->ast->schedules[i] : NULL;
    return s && kernel < (size_t)s->n_kernels ? s->kernels[kernel].text : NULL;
}

static bool apply_partly(tirc *t, const tirc_file *file, size_t i, const tirc_kernel *kernel,
                         tirc_kernel **scheduled)
{
    if (i >= (size_t)file->ast->n_schedules)
        return false;
    FoundSchedule found = {file->ast->schedules[i], file->ast,
                           source_get(t->ctx, file->ast->source)->path};
    ScriptRun run = {.found = &found};
    t->subject = arena_printf(t->ctx->arena, "%s --schedule %s:%s", kernel->command, found.where,
                              found.schedule->name.text);
    bool done = script_run_partly(t->ctx, kernel->kernel, &run);
    *scheduled = api_kernel_new(t, schedule_kernel(run.schedule), kernel);
    (*scheduled)->schedule = run.schedule;
    (*scheduled)->schedule_name = found.schedule->name.text;
    (*scheduled)->sites = run.sites;
    (*scheduled)->command = t->subject;
    return done;
}

tirc_status tirc_apply_partly(tirc *t, const tirc_file *file, size_t i, const tirc_kernel *kernel,
                              tirc_kernel **scheduled)
{
    API_GUARDED(t, apply_partly(t, file, i, kernel, scheduled));
}

bool tirc_step_place(tirc *t, const tirc_kernel *scheduled, size_t step, tirc_place *place)
{
    if (!scheduled->sites || step < 1 || step > tirc_step_count(scheduled))
        return false;
    *place = place_of(t->ctx, scheduled->sites[step - 1]);
    return true;
}

/* ---- formatting ------------------------------------------------------------------------------ */

static bool format_source(tirc *t, uint32_t source, tirc_text *formatted)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    if (!source)
        return false;
    t->subject = arena_printf(t->ctx->arena, "tirc fmt %s", source_get(t->ctx, source)->path);
    if (!format_text(t->ctx, source, &out))
        return false;
    *formatted = (tirc_text){out.text, out.length};
    return true;
}

static bool format(tirc *t, const char *name, tirc_text text, tirc_text *formatted)
{
    return format_source(t, source_add(t->ctx, name, text.text, text.length), formatted);
}

tirc_status tirc_format_text(tirc *t, const char *name, tirc_text text, tirc_text *formatted)
{
    API_GUARDED(t, format(t, name, text, formatted));
}

static bool format_file(tirc *t, const char *path, tirc_text *text, tirc_text *formatted)
{
    uint32_t source = !strcmp(path, "-") ? script_read_stream(t->ctx, stdin, "<stdin>", span_none())
                                         : script_read_file(t->ctx, path, span_none());
    if (!format_source(t, source, formatted))
        return false;
    *text = (tirc_text){source_get(t->ctx, source)->text, source_get(t->ctx, source)->length};
    return true;
}

tirc_status tirc_format_file(tirc *t, const char *path, tirc_text *text, tirc_text *formatted)
{
    API_GUARDED(t, format_file(t, path, text, formatted));
}
