/* info.c - Implements --list, --help, --explain and --devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* ---- --list ---------------------------------------------------------------------------------- */

static void print_schedule(const tirc_schedule_info *s)
{
    printf("    %-15s ", s->name); /* a blank after a long name, too */
    for (size_t i = 0; i < s->n_parameters; i++) {
        printf("%s%s", i ? ", " : "", s->parameters[i]);
        if (s->defaults[i])
            printf(" = %s", s->defaults[i]);
        if (s->tune[i])
            printf(" in %s", s->tune[i]);
    }
    printf("%s(%s)\n", s->n_parameters ? "  " : "", s->where);
}

static void list_kernel(Command *c, const char *name)
{
    tirc_schedule_info s;
    printf("kernel %s\n", tirc_file_signature(c->t, c->file, name));
    for (size_t i = 0; tirc_schedule_at(c->t, c->file, name, i, &s); i++)
        print_schedule(&s);
}

tirc_status command_list(Command *c)
{
    tirc_status status = tirc_parse_file(c->t, c->options->word, &c->file);
    if (status)
        return status;
    bool found = false;
    for (size_t i = 0; tirc_file_kernel(c->file, i); i++) {
        const char *name = tirc_file_kernel(c->file, i);
        if (c->options->kernel && strcmp(c->options->kernel, name) != 0)
            continue;
        printf("%s", found ? "\n" : "");
        list_kernel(c, name);
        found = true;
    }
    if (!found && c->options->kernel)
        return usage_error("'%s' has no kernel '%s'", c->options->word, c->options->kernel);
    return tirc_diagnostic_count(c->t) ? TIRC_REFUSED : TIRC_OK;
}

/* ---- the manual ------------------------------------------------------------------------------ */

tirc_status command_help(tirc *t, const char *topic)
{
    if (!topic) {
        options_help(stdout);
        return TIRC_OK;
    }
    const char *text = tirc_explain_primitive(t, topic);
    const char *const *names = tirc_primitives(t);
    if (text) {
        fputs(text, stdout);
    } else if (!strcmp(topic, "primitives")) {
        for (; *names; names++)
            printf("%-24s%s\n", *names, tirc_primitive_summary(*names));
    } else {
        size_t n = 0;
        while (names[n])
            n++;
        const char *near = tirc_nearest(topic, names, n);
        if (near)
            return usage_error("unknown primitive '%.60s'; did you mean '%s'?", topic, near);
        return usage_error("unknown primitive '%.60s'; `tirc --help primitives` lists them all, "
                           "and docs/schedules.md the procs of the library",
                           topic);
    }
    return TIRC_OK;
}

/* E0424, e0424, 0424 and 424 are one code. */
tirc_status command_explain(tirc *t, const char *code)
{
    char full[8];
    const char *digits = code + (*code == 'E' || *code == 'e');
    size_t n = strspn(digits, "0123456789");
    bool short_form = n > 0 && n <= 4 && !digits[n];
    if (short_form)
        snprintf(full, sizeof full, "E%.*s%s", (int)(4 - n), "0000", digits);
    const char *text = tirc_explain(t, short_form ? full : code);
    if (text)
        fputs(text, stdout);
    else if (!tirc_diagnostic_count(t))
        return usage_error(
            "unknown error code '%.60s'; messages show their code in brackets, as in error[E0413]",
            code);
    return text ? TIRC_OK : TIRC_BUG;
}

/* ---- --devices ------------------------------------------------------------------------------- */

static void print_device(tirc *t, tirc_device *device)
{
    tirc_device_info d = tirc_device_describe(device);
    printf("%-5s %s, %s", d.kind, d.name, d.arch);
    if (d.multiprocessors && !strcmp(d.kind, "cuda"))
        printf(", %d multiprocessors, %.1f GB, %.1f MB of L2", d.multiprocessors,
               (double)d.memory_bytes / 1e9, (double)d.l2_bytes / 1e6);
    printf("\n");
    tirc_device_close(t, device);
}

/* A GPU that is not there is no error here: that is what was asked. */
tirc_status command_devices(tirc *t)
{
    tirc_device *device;
    for (int i = 0; tirc_device_open(t, TIRC_DEVICE_CUDA, i, NULL, &device) == TIRC_OK; i++)
        print_device(t, device);
    tirc_clear_diagnostics(t);
    tirc_status status = tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device);
    if (!status)
        print_device(t, device);
    return status;
}
