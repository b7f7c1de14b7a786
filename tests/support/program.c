/* program.c - see program.h. */
#include "program.h"

#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SHIPPED_FIRST = 2 }; /* `default` and `naive` */

static const int64_t DEFAULT_VALUES[] = {1, 2, 3, 7, 31, 32, 33, 127};

static void read_text(Program *p)
{
    FILE *f = fopen(p->path, "rb");
    if (!f)
        fail_msg("cannot read %s", p->path);
    fseek(f, 0, SEEK_END);
    p->length = (size_t)ftell(f);
    rewind(f);
    p->text = calloc(p->length + 1, 1);
    if (fread(p->text, 1, p->length, f) != p->length)
        fail_msg("cannot read %s", p->path);
    fclose(f);
}

/* The words of the comment "// key: ..." in `out`; how many there are. */
static int directive(const Program *p, const char *key, char out[][32], int most)
{
    char start[40], line[512];
    snprintf(start, sizeof start, "// %s:", key);
    const char *at = strstr(p->text, start);
    if (!at)
        return 0;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    int n = 0;
    char *rest = line + strlen(start);
    for (char *word; n < most && (word = strtok_r(rest, " =", &rest));)
        snprintf(out[n++], 32, "%s", word);
    return n;
}

static void mark_schedules(Program *p, const char *key, bool *marks)
{
    char words[PROGRAM_LIST][32];
    int n = directive(p, key, words, PROGRAM_LIST);
    for (int i = 0; i < n; i++) {
        bool found = false;
        for (int k = 0; k < p->n_schedules; k++)
            if (strcmp(words[i], p->schedules[k]) == 0)
                marks[k] = found = true;
        if (!found)
            fail_msg("%s: '// %s:' names '%s', which is no schedule of the file", p->path, key,
                     words[i]);
    }
}

static void add_schedule(Program *p, const char *name)
{
    if (p->n_schedules == PROGRAM_LIST)
        fail_msg("%s: more than %d schedules", p->path, PROGRAM_LIST);
    snprintf(p->schedules[p->n_schedules++], sizeof p->schedules[0], "%.31s", name);
}

static void read_directives(Program *p)
{
    char words[PROGRAM_LIST][32];
    p->n_values = directive(p, "sizes", words, PROGRAM_LIST);
    for (int i = 0; i < p->n_values; i++)
        p->values[i] = atoll(words[i]);
    if (p->n_values == 0) {
        p->n_values = (int)(sizeof DEFAULT_VALUES / sizeof *DEFAULT_VALUES);
        memcpy(p->values, DEFAULT_VALUES, sizeof DEFAULT_VALUES);
    }
    int n = directive(p, "types", words, 9);
    if (n > 0)
        memcpy(p->type, words[0], sizeof p->type);
    for (int i = 1; i < n; i++)
        snprintf(p->types[p->n_types++], sizeof p->types[0], "%.7s", words[i]);
    n = directive(p, "library", words, PROGRAM_LIST);
    for (int i = 0; i < n; i++)
        add_schedule(p, words[i]);
    mark_schedules(p, "reorders", p->reorders);
    mark_schedules(p, "literal", p->literal);
}

static bool fits(const AstSchedule *schedule, Name kernel)
{
    for (int i = 0; i < schedule->n_kernels; i++)
        if (schedule->kernels[i].text == kernel)
            return true;
    return false;
}

/* The kernel of that number of a file, with the schedules for it; how many kernels there are. */
static int read_program(const char *folder, const char *file, int kernel, Program *p)
{
    snprintf(p->path, sizeof p->path, "%s/%s", folder, file);
    read_text(p);
    Context *c = ctx_new(0);
    AstFile *ast = parse_text(c, source_add(c, p->path, p->text, p->length));
    if (!ast || ast->n_kernels <= kernel) {
        StrBuf text = strbuf_new(c->arena);
        diag_render_all(c, DIAG_PLAIN, &text);
        fail_msg("%s: expected a kernel\n%s", p->path, text.text);
    }
    const AstKernel *k = ast->kernels[kernel];
    int n_kernels = ast->n_kernels;
    p->kernel = kernel;
    snprintf(p->name, sizeof p->name, "%.*s%s%s", (int)(strlen(file) - 4), file,
             n_kernels > 1 ? "." : "", n_kernels > 1 ? k->name.text : "");
    for (int i = 0; i < k->n_sizes; i++)
        if (!k->sizes[i].is_type)
            snprintf(p->sizes[p->n_sizes++], sizeof p->sizes[0], "%s", k->sizes[i].name.text);
    add_schedule(p, "default");
    add_schedule(p, "naive");
    for (int i = 0; i < ast->n_schedules; i++)
        if (fits(ast->schedules[i], k->name.text))
            add_schedule(p, ast->schedules[i]->name.text);
    p->n_own = p->n_schedules - SHIPPED_FIRST;
    ctx_free(c);
    read_directives(p);
    return n_kernels;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Program *)a)->name, ((const Program *)b)->name);
}

int programs_read(const char *folder, Program **out)
{
    DIR *d = opendir(folder);
    if (!d)
        fail_msg("cannot read folder %s", folder);
    int n = 0;
    *out = NULL;
    for (const struct dirent *e; (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        if (length < 5 || strcmp(e->d_name + length - 4, ".tir") != 0)
            continue;
        for (int kernel = 0, n_kernels = 1; kernel < n_kernels; kernel++) {
            *out = realloc(*out, sizeof **out * (size_t)(n + 1));
            memset(&(*out)[n], 0, sizeof **out);
            n_kernels = read_program(folder, e->d_name, kernel, &(*out)[n++]);
        }
    }
    closedir(d);
    if (n == 0)
        fail_msg("no programs in %s", folder);
    qsort(*out, (size_t)n, sizeof **out, by_name);
    return n;
}

void programs_free(Program *programs, int n)
{
    for (int i = 0; i < n; i++)
        free(programs[i].text);
    free(programs);
}

bool program_ships(const Program *program, int schedule)
{
    return schedule < SHIPPED_FIRST || schedule >= SHIPPED_FIRST + program->n_own;
}

bool program_use(const Program *program, const char *schedule, const char *const *overrides,
                 int n_overrides, Use *use)
{
    Context *c = ctx_new(0);
    *use = (Use){.c = c};
    if (setjmp(use->guard))
        return false;
    c->guard = &use->guard;
    use->file = parse_text(c, source_add(c, program->path, program->text, program->length));
    SizeOverride *sizes = ARENA_ARRAY(c->arena, SizeOverride, n_overrides + 1);
    for (int i = 0; i < n_overrides; i++)
        if (!size_override_parse(c, overrides[i], &sizes[i]))
            return false;
    if (use->file) {
        const AstKernel *ast = script_program(c, use->file, use->file->kernels[program->kernel]);
        use->kernel = resolve_kernel(c, ast, sizes, n_overrides);
    }
    FoundSchedule found;
    if (use->kernel && *schedule && script_find(c, use->file, use->kernel->name, schedule, &found))
        use->schedule = script_run(c, use->kernel, &found, NULL, 0);
    c->guard = NULL;
    return *schedule ? use->schedule != NULL : use->kernel != NULL;
}

const char *use_messages(const Use *use)
{
    StrBuf text = strbuf_new(use->c->arena);
    diag_render_all(use->c, DIAG_PLAIN, &text);
    if (use->c->fatal != FATAL_NONE)
        strbuf_addf(&text, "fatal: %s\n", use->c->fatal_message);
    return text.length > 0 ? text.text : "refused without a word";
}
