/* compile.c - Compiles a file to a lowered kernel and shows the steps: --print-after, --dump-dir,
 * --trace, --time-passes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "command.h"
#include "output.h"

static void show_time(const Command *c, const char *what, double seconds)
{
    if (c->options->time_passes)
        fprintf(stderr, "%10.3f ms  %s\n", seconds * 1e3, what);
}

/* ---- showing a step -------------------------------------------------------------------------- */

/* The text of a kernel; "" where it cannot be had, after diagnostics. */
static const char *text_of(Command *c, const tirc_kernel *kernel, size_t *length)
{
    const void *data = "";
    *length = 0;
    tirc_emit(c->t, kernel, TIRC_TIR, NULL, &data, length);
    return data;
}

/* NN-NAME.tir, NN counting from 0. */
static void dump(Command *c, const char *name, const char *suffix, const void *data, size_t length)
{
    if (!c->options->dump_dir || c->dump_status)
        return;
    size_t room = strlen(c->options->dump_dir) + strlen(name) + strlen(suffix) + 32;
    char *path = malloc(room);
    if (!path)
        return;
    snprintf(path, room, "%s/%02d-%s%s", c->options->dump_dir, c->dumped++, name, suffix);
    c->dump_status = output_write_own(path, data, length);
    free(path);
}

static bool wants(const Command *c, const char *name, size_t number)
{
    const char *asked = c->options->print_after;
    char digits[24];
    if (!asked)
        return false;
    snprintf(digits, sizeof digits, "%zu", number);
    return !strcmp(asked, "all") || !strcmp(asked, name) || (number && !strcmp(asked, digits));
}

/* The kernel after the step `title`, called `name`; number 0 is a pass, or the program. */
static void show(Command *c, const char *name, size_t number, const char *title,
                 const tirc_kernel *kernel)
{
    bool wanted = wants(c, name, number);
    if (!wanted && !c->options->dump_dir)
        return;
    size_t length;
    const char *text = text_of(c, kernel, &length);
    dump(c, name, ".tir", text, length);
    if (!wanted)
        return;
    c->print_found = true;
    printf("// ---- after %s\n%s\n", title, text);
}

static void show_steps(Command *c)
{
    show(c, "program", 0, "reading", c->program);
    bool shows = c->options->print_after || c->options->dump_dir;
    for (size_t i = 1; shows && i <= tirc_step_count(c->scheduled); i++) {
        const char *text = tirc_step_text(c->scheduled, i);
        char name[64], title[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "("), text);
        snprintf(title, sizeof title, "step %zu: %.200s", i, text);
        if (wants(c, name, i) || c->options->dump_dir)
            show(c, name, i, title, tirc_step_kernel(c->t, c->scheduled, i));
    }
}

static void after_pass(void *user, const char *pass, const tirc_kernel *kernel, bool changed,
                       double seconds)
{
    Command *c = user;
    char title[128];
    snprintf(title, sizeof title, "%s%s", pass, changed ? "" : " (nothing changed)");
    show_time(c, pass, seconds);
    show(c, pass, 0, title, kernel);
}

/* ---- the way --------------------------------------------------------------------------------- */

tirc_status command_read(Command *c)
{
    const Options *o = c->options;
    double start = seconds_now();
    tirc_status status = tirc_parse_file(c->t, o->word, &c->file);
    if (status)
        return status;
    show_time(c, "parse", seconds_now() - start);
    status = data_read(c);
    if (status)
        return status;
    start = seconds_now();
    status = tirc_resolve(c->t, c->file, o->kernel, c->binding.defines, c->binding.n_defines,
                          &c->program);
    show_time(c, "resolve", seconds_now() - start);
    return status;
}

/* The definitions that give another kernel the sizes of this one; each of them and the array belong
 * to the caller. */
static char **sizes_as_defines(const tirc_kernel *kernel, size_t *n)
{
    tirc_size s;
    *n = 0;
    while (tirc_size_at(kernel, *n, &s))
        ++*n;
    char **defines = calloc(*n + 1, sizeof *defines);
    for (size_t i = 0; defines && i < *n && tirc_size_at(kernel, i, &s); i++) {
        size_t room = strlen(s.name) + 24;
        defines[i] = malloc(room);
        if (defines[i] && s.symbolic)
            snprintf(defines[i], room, "%s=?", s.name);
        else if (defines[i])
            snprintf(defines[i], room, "%s=%lld", s.name, (long long)s.value);
    }
    return defines;
}

/* --against FILE: the kernel of that name there, at the same sizes, is what the result is compared
 * with. */
static tirc_status read_against(Command *c)
{
    tirc_file *file;
    tirc_kernel *program;
    size_t n;
    if (!c->options->against)
        return TIRC_OK;
    tirc_status status = tirc_parse_file(c->t, c->options->against, &file);
    if (status)
        return status;
    char **defines = sizes_as_defines(c->program, &n);
    if (!defines)
        return TIRC_UNAVAILABLE;
    status = tirc_resolve(c->t, file, tirc_kernel_name(c->program), (const char *const *)defines, n,
                          &program);
    for (size_t i = 0; i < n; i++)
        free(defines[i]);
    free(defines);
    return status ? status : tirc_against(c->t, c->program, program, &c->program);
}

/* What the log of tuned programs says depends on the GPU, if there will be one. */
static tirc_status open_tuned_device(Command *c)
{
    bool tuned = !strcmp(c->schedule, "default") || !strcmp(c->schedule, "tuned");
    return tuned && options_measure(c->options) ? command_open_device(c) : TIRC_OK;
}

/* A program gets `default` where no schedule is named, unless the program itself is asked for; text
 * that a schedule has been through already is left as it is. */
static tirc_status schedule_program(Command *c)
{
    const Options *o = c->options;
    bool plain = tirc_kernel_level(c->program) == TIRC_PROGRAM;
    bool only_text = o->emit == EMIT_TIR && !o->trace && !options_measure(o);
    c->scheduled = c->program;
    if (!o->schedule && (!plain || only_text)) {
        if (o->settings.n)
            return usage_error("--set %s sets a parameter of a schedule, and no schedule is given; "
                               "choose one with --schedule",
                               o->settings.items[0]);
        return TIRC_OK;
    }
    double start = seconds_now();
    c->schedule = o->schedule ? o->schedule : "default";
    tirc_status status = open_tuned_device(c);
    if (status)
        return status;
    status = tirc_apply(c->t, c->file, c->program, c->schedule, o->settings.items, o->settings.n,
                        &c->scheduled);
    show_time(c, "schedule", seconds_now() - start);
    if (!status && tirc_tuned_choice(c->scheduled))
        c->schedule = tirc_tuned_choice(c->scheduled);
    return status;
}

static bool needs_lowering(const Command *c)
{
    const Options *o = c->options;
    return o->emit > EMIT_TIR || options_measure(o) || o->dump_dir || o->time_passes ||
           (o->print_after && (!c->print_found || !strcmp(o->print_after, "all")));
}

static tirc_status lower(Command *c)
{
    const Options *o = c->options;
    bool shows = o->print_after || o->dump_dir || o->time_passes;
    tirc_lower_options options = {
        .index64 = o->index64, .after_pass = shows ? after_pass : NULL, .user = c};
    Progress *progress = progress_begin("lowering");
    tirc_status status = tirc_lower(c->t, c->scheduled, &options, &c->lowered);
    progress_end(progress);
    if (status || !o->dump_dir)
        return status;
    const void *cuda;
    size_t length;
    status = tirc_emit(c->t, c->lowered, TIRC_CUDA, NULL, &cuda, &length);
    if (!status)
        dump(c, "kernel", ".cu", cuda, length);
    return status;
}

static tirc_status make_dump_dir(const Command *c)
{
    const char *dir = c->options->dump_dir;
    if (!dir || mkdir(dir, 0777) == 0 || errno == EEXIST)
        return TIRC_OK;
    fprintf(stderr, "tirc: cannot create the folder '%s': %s\n", dir, strerror(errno));
    return TIRC_UNAVAILABLE;
}

tirc_status command_compile(Command *c)
{
    tirc_status status = make_dump_dir(c);
    status = status ? status : command_read(c);
    status = status ? status : read_against(c);
    if (status)
        return status;
    command_prepare(c);
    Progress *progress = progress_begin("scheduling");
    status = schedule_program(c);
    progress_end(progress);
    if (status)
        return status;
    show_steps(c);
    if (c->options->trace && tirc_step_count(c->scheduled) > 0)
        fputs(tirc_trace(c->t, c->scheduled), stdout);
    if (needs_lowering(c))
        status = lower(c);
    if (!status && c->options->print_after && !c->print_found)
        return usage_error(
            "no step or pass is named '%s'; --trace lists the steps, --time-passes the passes",
            c->options->print_after);
    return status ? status : c->dump_status;
}
