/* run_each.c - runs many kernels on a GPU, one behind the other, in one process: what a tool that
 * starts slowly is given to watch (tests/gpu/sanitize: compute-sanitizer takes a second to come up,
 * and milliseconds for a small kernel).
 *
 *     run_each < list
 *
 * Each line of the list is PATH KERNEL SCHEDULE [NAME=VALUE ...]. The line is printed before its
 * kernel runs, on random inputs and outputs that nothing has written, and every kernel has a
 * context, a device and buffers of its own. Exit status 1 where one did not run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/tirc.h"

enum { MAX_WORDS = 32, MAX_PARAMETERS = 64 };

typedef struct {
    const char *path, *kernel, *schedule;
    const char *defines[MAX_WORDS];
    size_t n_defines;
} Case;

/* Cuts the line up in place. */
static bool read_case(char *line, Case *c)
{
    *c = (Case){.path = strtok(line, " \n"),
                .kernel = strtok(NULL, " \n"),
                .schedule = strtok(NULL, " \n")};
    const char *word;
    while (c->n_defines < MAX_WORDS && (word = strtok(NULL, " \n")))
        c->defines[c->n_defines++] = word;
    return c->schedule != NULL;
}

static tirc_status build(tirc *t, const Case *c, tirc_program **program)
{
    tirc_file *file;
    tirc_kernel *kernel, *scheduled, *lowered;
    tirc_device *device;
    tirc_status status = tirc_parse_file(t, c->path, &file);
    if (!status)
        status = tirc_resolve(t, file, c->kernel, c->defines, c->n_defines, &kernel);
    if (!status)
        status = tirc_apply(t, file, kernel, c->schedule, NULL, 0, &scheduled);
    if (!status)
        status = tirc_lower(t, scheduled, NULL, &lowered);
    if (!status)
        status = tirc_device_open(t, TIRC_DEVICE_CUDA, 0, NULL, &device);
    return status ? status : tirc_compile(t, device, lowered, program);
}

static tirc_status run(tirc *t, tirc_program *program)
{
    void *data[MAX_PARAMETERS] = {NULL};
    tirc_parameter p;
    tirc_status status = TIRC_OK;
    for (size_t i = 0; !status && i < tirc_parameter_count(program); i++) {
        if (i == MAX_PARAMETERS || !tirc_parameter_at(t, program, NULL, i, &p))
            return TIRC_REFUSED;
        data[i] = calloc(p.bytes + 1, 1);
        if (!data[i])
            status = TIRC_UNAVAILABLE;
        else if (p.is_input)
            status = tirc_fill_random(t, program, NULL, 0, i, data[i]);
    }
    if (!status)
        status = tirc_run(t, program, NULL, data);
    for (size_t i = 0; i < MAX_PARAMETERS; i++)
        free(data[i]);
    return status;
}

static bool run_case(const Case *c)
{
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    tirc_status status = t ? build(t, c, &program) : TIRC_UNAVAILABLE;
    if (!status)
        status = run(t, program);
    if (status)
        printf("did not run: %s\n", t ? tirc_diagnostics(t, false) : "no memory");
    tirc_free(t);
    return status == TIRC_OK;
}

int main(void)
{
    char line[4096];
    Case c;
    bool all = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        printf("== %s", line);
        all = read_case(line, &c) && run_case(&c) && all;
    }
    return !all;
}
