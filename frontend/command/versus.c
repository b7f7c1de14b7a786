/* versus.c - Implements --bench --versus: runs the program alternately with peers and with other
 * schedules. */
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "report.h"

/* The entries of the list: peers by name, schedules as programs after the first. */
typedef struct {
    char *text;
    const char **names; /* in the order of the list */
    const char **peers;
    tirc_program **programs; /* [0] is the program itself */
    size_t n, n_peers, n_programs;
    int *place; /* [n] the number of its result: programs first, then peers */
} Versus;

static bool is_peer(const char *name)
{
    return !strcmp(name, "cublas") || !strcmp(name, "memcpy");
}

static tirc_status compile_schedule(const Command *c, tirc_device *device, const char *words,
                                    tirc_program **program)
{
    Choice choice;
    tirc_kernel *scheduled, *lowered;
    tirc_lower_options options = {.index64 = c->options->index64};
    tirc_status status = choice_parse(words, &choice);
    if (!status)
        status = tirc_apply(c->t, c->file, c->program, choice.name, choice.settings, choice.n,
                            &scheduled);
    status = status ? status : tirc_lower(c->t, scheduled, &options, &lowered);
    status = status ? status : tirc_compile(c->t, device, lowered, program);
    choice_free(&choice);
    return status;
}

static tirc_status versus_read(const Command *c, tirc_device *device, tirc_program *program,
                               Versus *v)
{
    size_t length = c->options->versus ? strlen(c->options->versus) : 0;
    *v = (Versus){.text = calloc(length + 1, 1),
                  .names = calloc(length + 1, sizeof *v->names),
                  .peers = calloc(length + 1, sizeof *v->peers),
                  .programs = calloc(length + 2, sizeof(tirc_program *)),
                  .place = calloc(length + 1, sizeof *v->place)};
    if (!v->text || !v->names || !v->peers || !v->programs || !v->place) {
        fputs("tirc: out of memory for the list of --versus\n", stderr);
        return TIRC_UNAVAILABLE;
    }
    v->programs[v->n_programs++] = program;
    memcpy(v->text, length ? c->options->versus : "", length);
    char *rest = v->text;
    for (char *word = choice_next(&rest); word; word = choice_next(&rest)) {
        v->names[v->n] = word;
        if (is_peer(word)) {
            v->place[v->n++] = -(int)v->n_peers - 1;
            v->peers[v->n_peers++] = word;
            continue;
        }
        tirc_status status = compile_schedule(c, device, word, &v->programs[v->n_programs]);
        if (status)
            return status;
        v->place[v->n++] = (int)v->n_programs++;
    }
    return TIRC_OK;
}

static tirc_status measure_all(const Command *c, Report *r, Versus *v)
{
    tirc_measurement *all = calloc(v->n_programs + v->n_peers, sizeof *all);
    r->beside = calloc(v->n + 1, sizeof *r->beside);
    tirc_status status = !all || !r->beside
                             ? TIRC_UNAVAILABLE
                             : tirc_bench_versus(c->t, v->programs, v->n_programs, v->peers,
                                                 v->n_peers, r->sizes, all);
    if (!status) {
        r->measurement = all[0];
        r->versus = v->names;
        r->versus_text = v->text;
        r->n_versus = v->n;
        for (size_t i = 0; i < v->n; i++)
            r->beside[i] = all[v->place[i] > 0 ? (size_t)v->place[i]
                                               : v->n_programs + (size_t)(-v->place[i] - 1)];
    }
    free(all);
    return status;
}

tirc_status versus_measure(const Command *c, Report *r, tirc_device *device, tirc_program *program)
{
    Versus v;
    tirc_status status = versus_read(c, device, program, &v);
    if (!status)
        status = measure_all(c, r, &v);
    free(v.peers);
    free(v.programs);
    free(v.place);
    if (!r->versus) {
        free(v.names);
        free(v.text);
    }
    return status;
}

void versus_free(Report *r)
{
    free(r->versus_text);
    free(r->versus);
    free(r->beside);
}
