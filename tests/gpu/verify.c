/* verify.c - verifies one case after another on a GPU: what `tirc FILE ... --device cuda --verify`
 * does, without a process and a CUDA context for each.
 *
 * A line of the standard input is a case: the words of the command, with tabs between (FILE,
 * --kernel, --schedule, -D, --set, --size). The answer to each is a line with its exit status and
 * how many bytes of diagnostics follow, and these. With `sim` as argument it runs on the
 * simulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tirc.h>

enum { MAX_WORDS = 32 };

typedef struct {
    const char *items[MAX_WORDS];
    size_t n;
} Words;

typedef struct {
    const char *file, *kernel, *schedule;
    Words defines, settings, sizes;
} Case;

static void push(Words *words, const char *word)
{
    if (words->n < MAX_WORDS)
        words->items[words->n++] = word;
}

/* Cuts the line. False where a word is no option that is known here. */
static bool case_read(char *line, Case *k)
{
    *k = (Case){0};
    for (char *word = strtok(line, "\t\n"); word; word = strtok(NULL, "\t\n")) {
        if (*word != '-') {
            k->file = word;
            continue;
        }
        const char *value = strtok(NULL, "\t\n");
        Words *list = !strcmp(word, "-D")      ? &k->defines
                      : !strcmp(word, "--set") ? &k->settings
                                               : &k->sizes;
        if (!value)
            return false;
        if (!strcmp(word, "--kernel"))
            k->kernel = value;
        else if (!strcmp(word, "--schedule"))
            k->schedule = value;
        else if (list != &k->sizes || !strcmp(word, "--size"))
            push(list, value);
        else
            return false;
    }
    return k->file != NULL;
}

/* The value of a symbolic size among "M=1000". */
static int64_t size_of(const Case *k, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < k->sizes.n; i++)
        if (!strncmp(k->sizes.items[i], name, length) && k->sizes.items[i][length] == '=')
            return atoll(k->sizes.items[i] + length + 1);
    return 1;
}

static void values_of(const Case *k, const tirc_kernel *kernel, int64_t values[MAX_WORDS])
{
    tirc_size size;
    size_t n = 0;
    for (size_t i = 0; n < MAX_WORDS && tirc_size_at(kernel, i, &size); i++)
        if (size.symbolic)
            values[n++] = size_of(k, size.name);
}

static tirc_status case_verify(tirc *t, const Case *k, tirc_device_kind kind)
{
    tirc_file *file;
    tirc_kernel *kernel, *scheduled, *lowered;
    tirc_device *device;
    tirc_program *program;
    tirc_verification found;
    int64_t values[MAX_WORDS] = {0};
    tirc_status status = tirc_parse_file(t, k->file, &file);
    status =
        status ? status : tirc_resolve(t, file, k->kernel, k->defines.items, k->defines.n, &kernel);
    if (!status)
        values_of(k, kernel, values);
    status = status ? status
                    : tirc_apply(t, file, kernel, k->schedule, k->settings.items, k->settings.n,
                                 &scheduled);
    status = status ? status : tirc_lower(t, scheduled, NULL, &lowered);
    status = status ? status : tirc_device_open(t, kind, 0, NULL, &device);
    status = status ? status : tirc_compile(t, device, lowered, &program);
    return status ? status : tirc_verify(t, program, values, 0, &found);
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    tirc_device_kind kind =
        argc > 1 && !strcmp(argv[1], "sim") ? TIRC_DEVICE_SIM : TIRC_DEVICE_CUDA;
    while (getline(&line, &room, stdin) > 0) {
        Case k;
        tirc *t = tirc_new(NULL);
        tirc_status status = !t                    ? TIRC_UNAVAILABLE
                             : case_read(line, &k) ? case_verify(t, &k, kind)
                                                   : TIRC_USAGE;
        const char *said = t ? tirc_diagnostics(t, false) : "";
        printf("%d %zu\n%s", (int)status, strlen(said), said);
        fflush(stdout);
        tirc_free(t);
    }
    free(line);
    return 0;
}
