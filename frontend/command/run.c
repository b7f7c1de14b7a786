/* run.c - Implements --run, --verify, --bench and --analyze on one device, with one compiled
 * program. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"
#include "page.h"

static tirc_status no_memory(void)
{
    fputs("tirc: out of memory for the buffers; choose smaller sizes with -D\n", stderr);
    return TIRC_UNAVAILABLE;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static tirc_status read_size(const char *text, size_t name_length, int64_t *value)
{
    char *end;
    const char *digits = text + name_length + 1;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    if (errno || end == digits || *end || *value < 0)
        return usage_error("--size %.60s: expected NAME=VALUE, with a value from 0 to 2^63 - 1",
                           text);
    return TIRC_OK;
}

/* The number of a symbolic size among the symbolic ones, or -1. */
static int find_symbolic(const tirc_kernel *kernel, const char *name, size_t length)
{
    tirc_size s;
    int n = 0;
    for (size_t i = 0; tirc_size_at(kernel, i, &s); i++) {
        if (s.symbolic && strlen(s.name) == length && !strncmp(s.name, name, length))
            return n;
        n += s.symbolic;
    }
    return -1;
}

tirc_status command_sizes(const Command *c, const tirc_kernel *kernel, int64_t **values)
{
    tirc_size s;
    const Words *given = &c->options->sizes;
    size_t n = 0;
    for (size_t i = 0; tirc_size_at(kernel, i, &s); i++)
        n += s.symbolic;
    *values = n ? malloc(n * sizeof **values) : NULL;
    if (n && !*values)
        return no_memory();
    for (size_t i = 0; i < n; i++)
        (*values)[i] = i < c->binding.n_sizes ? c->binding.sizes[i] : -1;
    for (size_t i = 0; i < given->n; i++) {
        size_t length = strcspn(given->items[i], "=");
        int at = given->items[i][length] ? find_symbolic(kernel, given->items[i], length) : -1;
        if (at < 0)
            return usage_error("--size %.60s: kernel '%s' has no symbolic size of this name; use "
                               "-D to set other sizes",
                               given->items[i], tirc_kernel_name(kernel));
        int64_t from_arrays = (*values)[at];
        tirc_status status = read_size(given->items[i], length, &(*values)[at]);
        if (status)
            return status;
        if (from_arrays >= 0 && from_arrays != (*values)[at])
            return usage_error(
                "--size %.60s: the arrays of --input, or another --size, say %" PRId64,
                given->items[i], from_arrays);
    }
    n = 0;
    for (size_t i = 0; tirc_size_at(kernel, i, &s); i++)
        if (s.symbolic && (*values)[n++] < 0)
            return usage_error(
                "size '%s' of '%s' is symbolic; set it for this run with --size %s=1000", s.name,
                tirc_kernel_name(kernel), s.name);
    return TIRC_OK;
}

/* ---- the user's data ------------------------------------------------------------------------- */

typedef struct {
    tirc_parameter *parameters;
    const void **given; /* data of the user's, NULL where there are none */
    int64_t *scalars;   /* room for those that are scalars */
    void **data;        /* host memory of a run; NULL before */
    size_t n;
} Arguments;

static void arguments_free(Arguments *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->data[i]);
    free(a->parameters);
    free(a->given);
    free(a->scalars);
    free(a->data);
}

static tirc_status arguments_find(const Command *c, const Report *r, Arguments *a)
{
    size_t n = tirc_parameter_count(r->program);
    *a = (Arguments){.parameters = calloc(n + 1, sizeof *a->parameters),
                     .given = calloc(n + 1, sizeof *a->given),
                     .scalars = calloc(n + 1, sizeof *a->scalars),
                     .data = calloc(n + 1, sizeof *a->data)};
    if (!a->parameters || !a->given || !a->scalars || !a->data)
        return no_memory();
    a->n = n;
    for (size_t i = 0; i < n; i++) {
        tirc_parameter *p = &a->parameters[i];
        if (!tirc_parameter_at(c->t, r->program, r->sizes, i, p))
            return TIRC_REFUSED; /* it does not fit, and the diagnostic says so */
        tirc_status status = data_find(c, p, &a->scalars[i], &a->given[i]);
        if (status)
            return status;
    }
    return data_check(c, a->parameters, n);
}

/* ---- --run ----------------------------------------------------------------------------------- */

/* Inputs are the user's or random, outputs poisoned with a pattern that no result is likely to
 * have. */
static tirc_status arguments_fill(const Command *c, const Report *r, Arguments *a)
{
    tirc_status status = TIRC_OK;
    for (size_t i = 0; i < a->n && !status; i++) {
        const tirc_parameter *p = &a->parameters[i];
        a->data[i] = malloc(p->bytes + 1);
        if (!a->data[i])
            return no_memory();
        if (a->given[i])
            memcpy(a->data[i], a->given[i], p->bytes);
        else if (p->is_input)
            status = tirc_fill_random(c->t, r->program, r->sizes, (uint64_t)c->options->seed, i,
                                      a->data[i]);
        else
            memset(a->data[i], 0xff, p->bytes);
    }
    return status;
}

static uint64_t checksum(const unsigned char *data, size_t bytes)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 1099511628211u;
    return hash;
}

static void describe_output(const tirc_parameter *p, const void *data, OutputReport *out)
{
    int64_t elements = 1;
    *out = (OutputReport){.name = p->name, .type = p->type, .rank = p->rank, .dims = p->dims};
    out->checksum = checksum(data, p->bytes);
    for (int i = 0; i < p->rank; i++)
        elements *= p->dims[i];
    out->summary = tirc_summarize(p->type, data, (size_t)elements);
    for (; out->n_first < SHOWN && out->n_first < elements; out->n_first++)
        out->first[out->n_first] = tirc_element(p->type, data, (size_t)out->n_first);
}

static tirc_status describe_outputs(const Arguments *a, Report *r)
{
    r->outputs = calloc(a->n + 1, sizeof *r->outputs);
    if (!r->outputs)
        return no_memory();
    for (size_t i = 0; i < a->n; i++)
        if (a->parameters[i].is_output)
            describe_output(&a->parameters[i], a->data[i], &r->outputs[r->n_outputs++]);
    r->ran = true;
    return TIRC_OK;
}

static tirc_status write_outputs(const Command *c, const Arguments *a)
{
    tirc_status status = TIRC_OK;
    for (size_t i = 0; i < a->n && !status; i++)
        if (a->parameters[i].is_output)
            status = data_write(c, &a->parameters[i], a->data[i]);
    return status;
}

static tirc_status run(const Command *c, Report *r, tirc_program *program, Arguments *a)
{
    tirc_status status = arguments_fill(c, r, a);
    double start = seconds_now();
    if (!status)
        status = tirc_run(c->t, program, r->sizes, a->data);
    r->run_ms = (seconds_now() - start) * 1e3;
    if (!status)
        status = write_outputs(c, a);
    return status ? status : describe_outputs(a, r);
}

/* ---- all ------------------------------------------------------------------------------------- */

tirc_device_kind command_device_kind(const Command *c)
{
    static const tirc_device_kind kinds[] = {
        [DEVICE_DEFAULT] = TIRC_DEVICE_AUTO,
        [DEVICE_AUTO] = TIRC_DEVICE_AUTO,
        [DEVICE_CUDA] = TIRC_DEVICE_CUDA,
        [DEVICE_SIM] = TIRC_DEVICE_SIM,
    };
    return kinds[c->options->device];
}

tirc_status command_open_device(Command *c)
{
    if (c->device)
        return TIRC_OK;
    return tirc_device_open(c->t, command_device_kind(c), 0, c->options->arch, &c->device);
}

static tirc_status compile(const Command *c, tirc_device *device, tirc_program **program)
{
    Progress *progress = progress_begin("compiling");
    tirc_status status = tirc_compile(c->t, device, c->lowered, program);
    progress_end(progress);
    return status;
}

/* --run, and the user's data for what follows. */
static tirc_status run_on_data(const Command *c, Report *r, tirc_program *program, Arguments *a)
{
    const Options *o = c->options;
    tirc_status status = arguments_find(c, r, a);
    if (!status && o->run) {
        Progress *progress = progress_begin("running");
        status = run(c, r, program, a);
        progress_end(progress);
    }
    if (!status && (o->inputs.n || o->arguments.n))
        status = tirc_set_inputs(c->t, program, a->given);
    return status;
}

static tirc_status run_all(const Command *c, Report *r, const tirc_device *device,
                           tirc_program *program)
{
    const Options *o = c->options;
    Arguments a = {0};
    tirc_status status = run_on_data(c, r, program, &a);
    if (!status && o->verify) {
        Progress *progress = progress_begin("verifying");
        status = tirc_verify(c->t, program, r->sizes, (uint64_t)o->seed, &r->verification);
        r->verified = status == TIRC_OK || status == TIRC_WRONG;
        progress_end(progress);
    }
    if (o->verify || o->json)
        r->bounded = tirc_memory_bounds(c->t, c->lowered, &r->memory) == TIRC_OK;
    if (!status && o->bench) {
        Progress *progress = progress_begin("measuring");
        status = versus_measure(c, r, (tirc_device *)device, program);
        r->measured = status == TIRC_OK;
        progress_end(progress);
    }
    if (!status && o->analyze)
        status = command_analyze(c, r->sizes, device, &r->analyzed);
    arguments_free(&a);
    return status;
}

/* Prints the results, also if they are wrong. */
static tirc_status print_results(const Command *c, Report *r, const tirc_device *device,
                                 tirc_status status)
{
    if (status && status != TIRC_WRONG)
        return status;
    r->faults = status == TIRC_WRONG ? device : NULL;
    const Options *o = c->options;
    if (!o->json) {
        report_print(c, r);
        bool page = o->output && !o->emit && r->analyzed.analysis && !status;
        return page ? report_page(c, r) : status;
    }
    tirc_status written = report_json(c, r);
    return status ? status : written;
}

tirc_status command_measure(Command *c)
{
    tirc_program *program = NULL;
    int64_t *sizes = NULL;
    Report r = {
        .kernel = tirc_kernel_name(c->lowered), .schedule = c->schedule, .lowered = c->lowered};
    tirc_status status = command_sizes(c, c->lowered, &sizes);
    if (!status)
        status = command_open_device(c);
    if (!status)
        status = compile(c, c->device, &program);
    if (!status) {
        r.device = tirc_device_describe(c->device);
        r.program = program;
        r.sizes = sizes;
        status = print_results(c, &r, c->device, run_all(c, &r, c->device, program));
    }
    analysis_report_free(&r.analyzed);
    free(r.outputs);
    versus_free(&r);
    free(sizes);
    return status;
}
