/* data.c - Implements --input, --output, --arg and --range: runs on the user's own data. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

static tirc_status no_memory(const char *what)
{
    fprintf(stderr, "tirc: out of memory for %s\n", what);
    return TIRC_UNAVAILABLE;
}

/* ---- NAME=VALUE ------------------------------------------------------------------------------ */

/* Whether `word` is NAME=VALUE, and *value then. */
static bool names(const char *word, const char *name, const char **value)
{
    size_t length = strlen(name);
    *value = word + length + 1;
    return !strncmp(word, name, length) && word[length] == '=';
}

/* The value that `words` give to the name, the last one counts; NULL: none. */
static const char *find(const Words *words, const char *name)
{
    const char *value;
    for (size_t i = words->n; i-- > 0;)
        if (names(words->items[i], name, &value))
            return value;
    return NULL;
}

/* Calls take(user, NAME, VALUE) for each word; all are NAME=VALUE. */
static tirc_status check_words(const Words *words, const char *option, const char *example)
{
    for (size_t i = 0; i < words->n; i++) {
        const char *equals = strchr(words->items[i], '=');
        if (!equals || equals == words->items[i] || !equals[1])
            return usage_error("--%s %.60s: expected %s", option, words->items[i], example);
    }
    return TIRC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The bytes of a file of any kind, owned by the caller; NULL with errno. */
static void *read_stream(FILE *f, size_t *length)
{
    size_t room = 1 << 16;
    char *bytes = malloc(room);
    *length = 0;
    while (bytes && !feof(f) && !ferror(f)) {
        if (*length == room) {
            char *larger = realloc(bytes, room *= 2);
            if (!larger)
                free(bytes);
            bytes = larger;
        }
        if (bytes)
            *length += fread(bytes + *length, 1, room - *length, f);
    }
    if (bytes && ferror(f)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static tirc_status read_input(tirc *t, const char *path, InputFile *input)
{
    size_t length = 0;
    FILE *f = fopen(path, "rb");
    if (f)
        input->bytes = read_stream(f, &length);
    int error = errno;
    if (f)
        fclose(f);
    if (input->bytes)
        return tirc_npy_parse(t, path, input->bytes, length, &input->array);
    fprintf(stderr, "tirc: cannot read '%s': %s\n", path, strerror(error));
    return TIRC_UNAVAILABLE;
}

static tirc_status read_inputs(Command *c)
{
    const Words *words = &c->options->inputs;
    c->inputs = calloc(words->n + 1, sizeof *c->inputs);
    if (!c->inputs)
        return no_memory("the arrays");
    for (size_t i = 0; i < words->n; i++) {
        InputFile *input = &c->inputs[c->n_inputs++];
        size_t length = strcspn(words->items[i], "=");
        input->name = strndup(words->items[i], length);
        if (!input->name)
            return no_memory("the arrays");
        tirc_status status = read_input(c->t, words->items[i] + length + 1, input);
        if (status)
            return status;
    }
    return TIRC_OK;
}

/* ---- what the arrays say about the sizes ----------------------------------------------------- */

/* The layouts of arrays that the schedule changes are not those that the program declares, so such
 * arrays say no sizes. Finds their parameters as a schedule at sizes that no array says would leave
 * them; what it refuses then is judged later, at the right sizes. */
static tirc_status find_layouts(const Command *c, tirc_kernel **scheduled)
{
    const Options *o = c->options;
    size_t said = tirc_diagnostic_count(c->t);
    const tirc_arguments none = {o->defines.items, o->defines.n, NULL, 0};
    tirc_binding binding;
    tirc_kernel *program;
    *scheduled = NULL;
    if (!o->schedule || !c->n_inputs)
        return TIRC_OK;
    tirc_status status = tirc_bind(c->t, c->file, o->kernel, &none, &binding);
    if (!status)
        status =
            tirc_resolve(c->t, c->file, o->kernel, binding.defines, binding.n_defines, &program);
    if (!status)
        status = tirc_apply(c->t, c->file, program, o->schedule, o->settings.items, o->settings.n,
                            scheduled);
    if (status)
        *scheduled = NULL;
    tirc_keep_diagnostics(c->t, said);
    return status == TIRC_REFUSED ? TIRC_OK : status;
}

static bool has_layout(tirc *t, const tirc_kernel *scheduled, const char *name)
{
    tirc_layout layout;
    for (size_t i = 0; scheduled && tirc_layout_at(t, scheduled, i, &layout); i++)
        if (!strcmp(layout.name, name))
            return true;
    return false;
}

static tirc_status bind_sizes(Command *c)
{
    tirc_declaration d;
    for (size_t i = 0; tirc_declaration_at(c->t, c->file, c->options->kernel, i, &d); i++)
        if (!d.is_input && find(&c->options->inputs, d.name))
            return usage_error("--input %s=...: it is an output; --output %s=FILE.npy writes it",
                               d.name, d.name);
    tirc_kernel *scheduled;
    tirc_status status = find_layouts(c, &scheduled);
    if (status)
        return status;
    tirc_argument *arguments = calloc(c->n_inputs + 1, sizeof *arguments);
    if (!arguments)
        return no_memory("the arrays");
    size_t n = 0;
    for (size_t i = 0; i < c->n_inputs; i++) {
        const tirc_npy *a = &c->inputs[i].array;
        if (!has_layout(c->t, scheduled, c->inputs[i].name))
            arguments[n++] = (tirc_argument){c->inputs[i].name, a->type, a->rank, a->dims};
    }
    const Words *defines = &c->options->defines;
    const tirc_arguments all = {defines->items, defines->n, arguments, n};
    status = tirc_bind(c->t, c->file, c->options->kernel, &all, &c->binding);
    free(arguments);
    return status;
}

/* --range label=0..C is the condition `label in 0..C`. */
static tirc_status add_range(Command *c, const char *word)
{
    size_t length = strcspn(word, "="), room = strlen(word) + 8;
    char *condition = malloc(room);
    if (!condition)
        return no_memory("the ranges");
    snprintf(condition, room, "%.*s in %s", (int)length, word, word + length + 1);
    tirc_status status = tirc_require(c->t, c->file, c->options->kernel, condition, &c->file);
    free(condition);
    return status;
}

tirc_status data_read(Command *c)
{
    const Options *o = c->options;
    tirc_status status = check_words(&o->inputs, "input", "NAME=FILE.npy");
    status = status ? status : check_words(&o->arguments, "arg", "NAME=VALUE, as in alpha=0.5");
    status = status ? status : check_words(&o->ranges, "range", "NAME=LO..HI, as in label=0..10");
    for (size_t i = 0; i < o->ranges.n && !status; i++)
        status = add_range(c, o->ranges.items[i]);
    status = status ? status : read_inputs(c);
    return status ? status : bind_sizes(c);
}

void data_free(Command *c)
{
    for (size_t i = 0; i < c->n_inputs; i++) {
        free(c->inputs[i].name);
        free(c->inputs[i].bytes);
    }
    free(c->inputs);
}

/* ---- the arguments of a run ------------------------------------------------------------------ */

static const tirc_parameter *find_parameter(const tirc_parameter *all, size_t n, const char *word)
{
    const char *value;
    for (size_t i = 0; i < n; i++)
        if (names(word, all[i].name, &value))
            return &all[i];
    return NULL;
}

tirc_status data_check(const Command *c, const tirc_parameter *parameters, size_t n)
{
    const Options *o = c->options;
    for (size_t i = 0; i < o->outputs.n; i++) {
        const tirc_parameter *p = find_parameter(parameters, n, o->outputs.items[i]);
        if (!p || !p->is_output)
            return usage_error("--output %.60s: the kernel writes no parameter of this name",
                               o->outputs.items[i]);
    }
    for (size_t i = 0; i < o->arguments.n; i++) {
        const tirc_parameter *p = find_parameter(parameters, n, o->arguments.items[i]);
        if (!p || p->is_buffer)
            return usage_error("--arg %.60s: the kernel has no scalar parameter of this name",
                               o->arguments.items[i]);
    }
    return TIRC_OK;
}

static const InputFile *find_input(const Command *c, const char *name)
{
    for (size_t i = c->n_inputs; i-- > 0;)
        if (!strcmp(c->inputs[i].name, name))
            return &c->inputs[i];
    return NULL;
}

/* Types and numbers of axes, where the schedule has changed the layout of the parameter. */
static tirc_status check_form(const tirc_parameter *p, const tirc_npy *a)
{
    bool raw = (!strcmp(a->type, "V2") && !strcmp(p->type, "bf16")) ||
               (!strcmp(a->type, "V1") && !strncmp(p->type, "f8", 2));
    if (strcmp(a->type, p->type) != 0 && !raw)
        return usage_error("--input %s: '%s' has elements of type %s, but the array has %.20s",
                           p->name, p->name, p->type, a->type);
    if (a->rank != p->rank)
        return usage_error("--input %s: '%s' has %d axes in the layout that the schedule gives it, "
                           "but the array has %d",
                           p->name, p->name, p->rank, a->rank);
    return TIRC_OK;
}

/* What tirc_bind could not compare: dimensions whose sizes came from elsewhere, and the layouts of
 * schedules. */
static tirc_status check_shape(const tirc_parameter *p, const tirc_npy *a)
{
    tirc_status status = check_form(p, a);
    for (int i = 0; !status && i < p->rank; i++)
        if (a->dims[i] != p->dims[i])
            return usage_error("--input %s: axis %d of '%s' has extent %lld for these sizes, but "
                               "the array has %lld",
                               p->name, i, p->name, (long long)p->dims[i], (long long)a->dims[i]);
    return status;
}

tirc_status data_find(const Command *c, const tirc_parameter *p, void *scalar, const void **data)
{
    const InputFile *input = find_input(c, p->name);
    const char *text = p->is_buffer ? NULL : find(&c->options->arguments, p->name);
    *data = text ? scalar : input ? input->array.data : NULL;
    if (text)
        return tirc_parse_element(c->t, p, text, scalar);
    return input ? check_shape(p, &input->array) : TIRC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static tirc_status write_array(const Command *c, const tirc_parameter *p, const void *data,
                               const char *path)
{
    const tirc_argument array = {p->name, p->type, p->rank, p->dims};
    const void *header;
    size_t length;
    tirc_status status = tirc_npy_header(c->t, &array, &header, &length);
    if (status)
        return status;
    char *file = malloc(length + p->bytes);
    if (!file)
        return no_memory("an output");
    memcpy(file, header, length);
    memcpy(file + length, data, p->bytes);
    status = output_write(path, file, length + p->bytes);
    free(file);
    return status;
}

tirc_status data_write(const Command *c, const tirc_parameter *p, const void *data)
{
    const char *path = find(&c->options->outputs, p->name);
    return path ? write_array(c, p, data, path) : TIRC_OK;
}
