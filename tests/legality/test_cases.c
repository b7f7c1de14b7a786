/* Runs the cases of the files and folders given: a schedule in a .tir file, with what it must make
 * of its program, or how it must be refused, in the comment above it. A program without steps has
 * an empty schedule.
 *
 *     // with: -D N=?         sizes and types, as in the command
 *     // arch: sm_80          what the schedule is for, instead of sm_90a
 *     // error: E0424         where it must be refused: the code
 *     // says: TEXT           a part of the messages; continued on lines with a deeper indentation
 *     // omits: TEXT          what the messages do not contain
 *     // prints: TEXT         a part of the kernel after the steps; a run of blanks counts as one
 *     // holds: TEXT          the same of the lowered text
 *     // lacks: TEXT          what the lowered text does not contain
 *     // at: 1 7 33           values that all symbolic sizes take in turn, or those of one run, as
 *     // at: M=3 N=4          here: the simulator finds the results right, and no fault
 *     // fixed: 32 33         the same with sizes that are literals
 *     // makes:               and behind it the body of the kernel after the steps,
 *     // lowers:              of the lowered kernel,
 *     // outline:             of what its threads wait for, with the loops around that,
 *     // cuda:                of its CUDA text,
 *     // traces:              or of the trace, up to the next of these
 *
 * The text that the steps make reads back to a kernel that prints the same, and their trace makes
 * the same text.
 *
 *     test_cases FILE|FOLDER... [--only NAME] */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tirc.h"

enum { MANY = 16, FILES = 256 };

typedef struct {
    const char *path, *text;   /* of the file, but for other kernels and their schedules */
    const char *comment, *end; /* the comment is what stands between them, in the whole file */
    char name[128], kernel[128];
    char *values;    /* of the keys, each with its terminator */
    size_t n_values; /* bytes of them */
    char *outline;
    int failures;
} Case;

/* A case as far as tirc takes it: what comes behind a refusal is NULL. */
typedef struct {
    tirc *t;
    tirc_file *file;
    tirc_kernel *program, *scheduled, *lowered;
    tirc_device *device;
    tirc_program *run;
} Taken;

static void complain(Case *k, const char *what, const char *wanted, const char *got)
{
    fprintf(stderr, "%s: %s: %s\n%s\n---- got\n%s\n", k->path, k->name, what, wanted, got);
    k->failures++;
}

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        abort();
    return memory;
}

/* ---- comments -------------------------------------------------------------------------------- */

static const char *next_line(const char *line, const char *end)
{
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    return stop ? stop + 1 : end;
}

/* The text of a line behind "// KEY: ", or NULL. */
static const char *after_key(const char *line, const char *key)
{
    size_t n = strlen(key);
    return strncmp(line, "// ", 3) == 0 && strncmp(line + 3, key, n) == 0 && line[3 + n] == ':'
               ? line + 4 + n + (line[4 + n] == ' ')
               : NULL;
}

static bool starts_a_text(const char *line)
{
    return after_key(line, "makes") || after_key(line, "lowers") || after_key(line, "cuda") ||
           after_key(line, "traces") || after_key(line, "outline");
}

/* Stores the values of `key` in `out`, with those lines joined that continue one; their number. */
static size_t values(Case *k, const char *key, const char **out)
{
    size_t n = 0;
    const char *line = k->comment, *value;
    while (line < k->end && !starts_a_text(line)) {
        const char *next = next_line(line, k->end);
        if ((value = after_key(line, key)) && n < MANY) {
            char *to = k->values + k->n_values;
            out[n++] = to;
            to += sprintf(to, "%.*s", (int)(next - 1 - value), value);
            for (; next < k->end && strncmp(next, "//  ", 4) == 0; next = next_line(line, k->end)) {
                line = next;
                for (value = line + 2; *value == ' '; value++)
                    ;
                to += sprintf(to, " %.*s", (int)(next_line(line, k->end) - 1 - value), value);
            }
            k->n_values = (size_t)(to - k->values) + 1;
        }
        line = next;
    }
    return n;
}

/* The text behind a line "// KEY:", without what makes it a comment; NULL where there is none. */
static const char *text_of(Case *k, const char *key)
{
    const char *line = k->comment;
    while (line < k->end && !after_key(line, key))
        line = next_line(line, k->end);
    if (line >= k->end || !starts_a_text(line))
        return NULL;
    char *start = k->values + k->n_values, *to = start;
    for (line = next_line(line, k->end); line < k->end && !starts_a_text(line);
         line = next_line(line, k->end)) {
        const char *from = line + 2 + (line[2] == ' ');
        to += sprintf(to, "%.*s", (int)(next_line(line, k->end) - from), from);
    }
    k->n_values = (size_t)(to - k->values) + 1;
    return start;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The kernel of the case at each level, as far as it is asked for and not refused. */
static Taken take(Case *k, const char *const *defines, size_t n, bool lower)
{
    Taken s = {.t = tirc_new(NULL)};
    tirc_lower_options options = {0};
    const char *arch[MANY];
    if ((values(k, "arch", arch) && tirc_set_arch(s.t, arch[0])) ||
        tirc_parse_text(s.t, k->path, k->text, strlen(k->text), &s.file) ||
        tirc_resolve(s.t, s.file, k->kernel, defines, n, &s.program) ||
        tirc_apply(s.t, s.file, s.program, k->name, NULL, 0, &s.scheduled) || !lower ||
        tirc_lower(s.t, s.scheduled, &options, &s.lowered))
        s.lowered = NULL;
    return s;
}

static const char *emitted(Taken *s, const tirc_kernel *kernel, tirc_format format)
{
    const void *data;
    size_t length;
    return kernel && tirc_emit(s->t, kernel, format, NULL, &data, &length) == TIRC_OK
               ? data
               : tirc_diagnostics(s->t, false);
}

/* What stands between the braces of the kernel, the last of the text: compared, and not copied. */
static bool has_body(const char *text, const char *body)
{
    const char *kernel = strstr(text, "\nkernel ");
    const char *open = strstr(kernel ? kernel : text, "\n{\n");
    size_t length = strlen(body);
    return open && strncmp(open + 3, body, length) == 0 && strcmp(open + 3 + length, "}\n") == 0;
}

/* The kernel that a text describes, after one of its schedules where `schedule` is its name. */
static const char *again(Taken *s, const char *text, const char *schedule)
{
    tirc_file *file;
    tirc_kernel *kernel = s->program;
    if (tirc_parse_text(s->t, "again.tir", text, strlen(text), &file) ||
        (schedule ? tirc_apply(s->t, file, s->program, schedule, NULL, 0, &kernel)
                  : tirc_resolve(s->t, file, NULL, NULL, 0, &kernel)))
        return tirc_diagnostics(s->t, false);
    return emitted(s, kernel, TIRC_TIR);
}

/* ---- what a case asks ------------------------------------------------------------------------ */

/* A dependence that is broken shows both iterations, with the element that they share. */
static void expect_two_iterations(Case *k, const char *messages)
{
    int notes = 0;
    for (const char *at = messages; (at = strstr(at, "note: block '")); at++)
        notes++;
    if (strstr(messages, "runs first") && notes < 2)
        complain(k, "only one iteration is shown", "", messages);
}

static void expect_refusal(Case *k, Taken *s, const char *code)
{
    const char *messages = tirc_diagnostics(s->t, false);
    if (s->lowered || tirc_diagnostic_count(s->t) == 0) {
        complain(k, "is accepted, instead of", code, emitted(s, s->scheduled, TIRC_TIR));
        return;
    }
    size_t at = 0; /* warnings of the program come before the refusal */
    while (at + 1 < tirc_diagnostic_count(s->t) && tirc_diagnostic_at(s->t, at).code[0] == 'W')
        at++;
    tirc_diagnostic first = tirc_diagnostic_at(s->t, at);
    if (strcmp(first.code, code) != 0 || first.line < 1)
        complain(k, "another code, or no position", code, messages);
    expect_two_iterations(k, messages);
}

static void expect_text(Case *k, const char *key, const char *got)
{
    const char *wanted = text_of(k, key);
    if (wanted && !has_body(got, wanted))
        complain(k, key, wanted, got);
}

/* Text reads back, and the trace makes the same of the program. */
static void expect_round_trips(Case *k, Taken *s)
{
    const char *text = emitted(s, s->scheduled, TIRC_TIR);
    const char *back = again(s, text, NULL);
    if (strcmp(back, text) != 0)
        complain(k, "the text reads back as another", text, back);
    if (tirc_step_count(s->scheduled) == 0)
        return;
    back = again(s, tirc_trace(s->t, s->scheduled), k->name);
    if (strcmp(back, text) != 0)
        complain(k, "the trace makes another text", text, back);
}

static bool blank(char c)
{
    return c == ' ' || c == '\n';
}

/* Is `piece` in `text`, where a run of blanks counts as one? */
static bool has_piece(const char *text, const char *piece)
{
    for (; *text; text++) {
        const char *t = text, *p = piece;
        while (*p && *t && (*t == *p || (blank(*t) && blank(*p)))) {
            bool blanks = blank(*p);
            t++, p++;
            while (blanks && blank(*t))
                t++;
            while (blanks && blank(*p))
                p++;
        }
        if (!*p)
            return true;
    }
    return false;
}

static void expect_pieces(Case *k, const char *key, const char *text)
{
    const char *pieces[MANY];
    size_t n = values(k, key, pieces);
    for (size_t i = 0; i < n; i++)
        if (has_piece(text, pieces[i]) == (strcmp(key, "lacks") == 0 || strcmp(key, "omits") == 0))
            complain(k, key, pieces[i], text);
}

/* Compiles the lowered kernel for the simulator, once for all sizes. */
static bool compiled(Taken *s)
{
    return s->run || (!tirc_device_open(s->t, TIRC_DEVICE_SIM, 0, NULL, &s->device) &&
                      !tirc_compile(s->t, s->device, s->lowered, &s->run));
}

static void expect_results(Case *k, Taken *s, const char *at, const int64_t *sizes)
{
    tirc_verification result = {0};
    if (!compiled(s) || tirc_verify(s->t, s->run, sizes, 1, &result) || !result.ok) {
        tirc_fault fault = {0};
        const char *what = s->device && tirc_fault_at(s->t, s->device, 0, &fault) ? fault.message
                                                                                  : "wrong results";
        complain(k, what, at, tirc_diagnostics(s->t, false));
    }
}

/* What stands behind "N=" in a list of such settings; NULL where it is not among them. */
static const char *setting(const char *list, const char *key)
{
    const char *at = list;
    while ((at = strstr(at, key)) && at != list && at[-1] != ' ')
        at++;
    return at;
}

/* The value of a size in a list of settings, or in a list that is one number, for all sizes. */
static bool value_of(const char *list, const char *name, int64_t *value)
{
    char key[64];
    snprintf(key, sizeof key, "%s=", name);
    const char *found = strchr(list, '=') ? setting(list, key) : list;
    if (found)
        *value = strtoll(strchr(list, '=') ? found + strlen(key) : list, NULL, 10);
    return found != NULL;
}

/* The results with symbolic sizes of these values. */
static void expect_results_of(Case *k, Taken *s, const char *list)
{
    int64_t sizes[MANY];
    size_t n = 0;
    tirc_size size;
    for (size_t i = 0; tirc_size_at(s->program, i, &size) && n < MANY; i++)
        if (size.symbolic && !value_of(list, size.name, &sizes[n++]))
            complain(k, "no value for a size", size.name, list);
    expect_results(k, s, list, sizes);
}

/* The results of the kernel that is compiled for these values. */
static void expect_results_with(Case *k, Taken *s, const char *list)
{
    char texts[MANY][96];
    const char *defines[MANY];
    size_t n = 0;
    tirc_size size;
    for (size_t i = 0; tirc_size_at(s->program, i, &size) && n < MANY; i++) {
        int64_t value = size.value;
        if (size.symbolic && !value_of(list, size.name, &value))
            complain(k, "no value for a size", size.name, list);
        snprintf(texts[n], sizeof texts[n], "%s=%lld", size.name, (long long)value);
        defines[n] = texts[n];
        n++;
    }
    Taken with = take(k, defines, n, true);
    if (with.lowered)
        expect_results(k, &with, list, NULL);
    else
        complain(k, "is refused", list, tirc_diagnostics(with.t, false));
    tirc_free(with.t);
}

/* For each list of settings behind `key`, or for each number: a list that holds it alone. */
static void expect_results_at(Case *k, Taken *s, const char *key,
                              void (*expect)(Case *, Taken *, const char *))
{
    const char *lists[MANY];
    size_t n = values(k, key, lists);
    for (size_t i = 0; i < n; i++) {
        if (strchr(lists[i], '=')) {
            expect(k, s, lists[i]);
            continue;
        }
        char number[24];
        for (const char *at = lists[i]; sscanf(at, " %23[-0-9]", number) == 1;
             at += strspn(at, " ") + strlen(number))
            expect(k, s, number);
    }
}

/* The sizes and types that a case sets: the words of `with` but for the -D. */
static size_t defines_of(Case *k, const char **defines)
{
    const char *lists[MANY];
    size_t n = 0, lines = values(k, "with", lists);
    for (size_t i = 0; i < lines; i++)
        for (char *word = strtok(k->values + (lists[i] - k->values), " "); word && n < MANY;
             word = strtok(NULL, " "))
            if (strcmp(word, "-D") != 0)
                defines[n++] = word;
    return n;
}

/* Does the case ask for one of these? */
static bool asks(const Case *k, const char *const *keys)
{
    for (; *keys; keys++)
        for (const char *line = k->comment; line < k->end; line = next_line(line, k->end))
            if (after_key(line, *keys))
                return true;
    return false;
}

/* Of the kernel before it is lowered, and after. */
static const char *const BEFORE[] = {"makes", "traces", "prints", NULL};
static const char *const AFTER[] = {"error", "lowers", "outline", "cuda", "holds",
                                    "lacks", "at",     "fixed",   NULL};

static void expect_scheduled(Case *k, Taken *s)
{
    expect_text(k, "makes", emitted(s, s->scheduled, TIRC_TIR));
    expect_text(k, "traces", tirc_trace(s->t, s->scheduled));
    expect_pieces(k, "prints", emitted(s, s->scheduled, TIRC_TIR));
    expect_round_trips(k, s);
}

/* Does a line begin with one of these words? */
static bool is_one_of(const char *line, const char *const *words)
{
    line += strspn(line, " ");
    for (; *words; words++)
        if (strncmp(line, *words, strlen(*words)) == 0 && strchr(" ;", line[strlen(*words)]))
            return true;
    return false;
}

static const char *const LOOPS[] = {"for", NULL};
static const char *const BARRIERS[] = {"barrier", "acquire", "receive", "release", NULL};
static const char *const SYNCS[] = {"barrier", "commit",  "wait", "acquire",
                                    "receive", "release", NULL};

/* Is there a barrier, a commit or a wait in the body of the loop at `line`? */
static bool loop_has_sync(const char *line, const char *end)
{
    size_t depth = strspn(line, " ");
    for (line = next_line(line, end); line < end && strspn(line, " ") > depth;
         line = next_line(line, end))
        if (is_one_of(line, SYNCS))
            return true;
    return false;
}

/* What threads wait for in a text, and the loops around that, without the reasons of BARRIERS. */
static const char *outline_of(Case *k, const char *text)
{
    const char *end = text + strlen(text), *kernel = strstr(text, "kernel ");
    char *to = k->outline = allocate(strlen(text) + 8);
    to += sprintf(to, "\n{\n");
    if (kernel) /* behind declarations of instructions, which have such clauses */
        text = kernel;
    for (const char *line = text; line < end; line = next_line(line, end)) {
        int length = (int)(next_line(line, end) - 1 - line);
        if (is_one_of(line, BARRIERS))
            length = (int)(strchr(line, '"') - 1 - line);
        if (line[length - 1] == ';')
            length--;
        if (length > 2 && line[length - 1] == '{')
            length -= 2;
        if (is_one_of(line, SYNCS) || (is_one_of(line, LOOPS) && loop_has_sync(line, end)))
            to += sprintf(to, "%.*s\n", length, line);
    }
    sprintf(to, "}\n");
    return k->outline;
}

static void expect_lowered(Case *k, Taken *s)
{
    const char *lowered = emitted(s, s->lowered, TIRC_TIR);
    expect_text(k, "lowers", lowered);
    expect_text(k, "outline", outline_of(k, lowered));
    expect_text(k, "cuda", emitted(s, s->lowered, TIRC_CUDA));
    expect_pieces(k, "holds", lowered);
    expect_pieces(k, "lacks", lowered);
    expect_results_at(k, s, "at", expect_results_of);
    expect_results_at(k, s, "fixed", expect_results_with);
    if (!asks(k, BEFORE) && !asks(k, AFTER))
        expect_results(k, s, "", NULL);
}

static void check(Case *k)
{
    const char *defines[MANY], *errors[MANY];
    size_t n = defines_of(k, defines), refused = values(k, "error", errors);
    bool lower = asks(k, AFTER) || !asks(k, BEFORE);
    Taken s = take(k, defines, n, lower);
    if (refused)
        expect_refusal(k, &s, errors[0]);
    else if (!s.scheduled || (lower && !s.lowered))
        complain(k, "is refused", "", tirc_diagnostics(s.t, false));
    else if (s.lowered)
        expect_lowered(k, &s);
    if (k->failures == 0 && s.scheduled)
        expect_scheduled(k, &s);
    expect_pieces(k, "says", tirc_diagnostics(s.t, false));
    expect_pieces(k, "omits", tirc_diagnostics(s.t, false));
    tirc_free(s.t);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(2);
    }
    size_t size = (size_t)ftell(file);
    char *text = allocate(size + 1);
    rewind(file);
    if (fread(text, 1, size, file) != size)
        exit(2);
    fclose(file);
    return text;
}

typedef struct {
    int cases, failures;
    const char *only;
} Tally;

/* The kernel that an item is or is for, in 128 bytes; false where it may be for any. */
static bool belongs(const char *line, char *kernel)
{
    return sscanf(line, "kernel %127[a-zA-Z0-9_]", kernel) == 1 ||
           (sscanf(line, "schedule %*s for %127[a-zA-Z0-9_]", kernel) == 1 &&
            strcmp(kernel, "any") != 0);
}

/* The text of a file without what belongs to other kernels. Empty lines are left of that, so that
 * the others have their numbers. */
static char *text_for(const char *kernel, const char *text)
{
    const char *end = text + strlen(text);
    char *kept = allocate((size_t)(end - text) + 1), *to = kept, of[128];
    bool others = false;
    for (const char *line = text, *next; line < end; line = next) {
        next = next_line(line, end);
        if (isalpha((unsigned char)line[0]) || line[0] == '/') /* an item begins */
            others = belongs(line, of) && strcmp(of, kernel) != 0;
        size_t from = others ? (size_t)(next - line) - 1 : 0;
        memcpy(to, line + from, (size_t)(next - line) - from);
        to += (size_t)(next - line) - from;
    }
    return kept;
}

static void check_file(const char *path, Tally *tally)
{
    char *text = read_file(path);
    const char *end = text + strlen(text), *comment = NULL;
    for (const char *line = text; line < end; line = next_line(line, end)) {
        Case k = {.path = path, .comment = comment ? comment : line, .end = line};
        if (sscanf(line, "schedule %127s for %127[a-zA-Z0-9_]", k.name, k.kernel) == 2 &&
            (!tally->only || strstr(k.name, tally->only))) {
            k.values = allocate((size_t)(k.end - k.comment) * 4 + 64);
            char *kept = text_for(k.kernel, text);
            k.text = kept;
            check(&k);
            free(kept);
            free(k.values);
            free(k.outline);
            tally->cases++;
            tally->failures += k.failures > 0;
        }
        comment = strncmp(line, "//", 2) == 0 ? (comment ? comment : line) : NULL;
    }
    free(text);
}

static bool is_program(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".tir") == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_folder(const char *folder, Tally *tally)
{
    char *paths[FILES];
    size_t n = 0;
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && n < FILES && (entry = readdir(open));) {
        if (is_program(entry->d_name)) {
            size_t size = strlen(folder) + strlen(entry->d_name) + 2;
            paths[n] = allocate(size);
            snprintf(paths[n++], size, "%s/%s", folder, entry->d_name);
        }
    }
    if (open)
        closedir(open);
    qsort(paths, n, sizeof *paths, by_name);
    for (size_t i = 0; i < n; i++) {
        check_file(paths[i], tally);
        free(paths[i]);
    }
}

int main(int argc, char **argv)
{
    Tally tally = {0};
    int paths = argc;
    if (argc > 2 && strcmp(argv[argc - 2], "--only") == 0) {
        tally.only = argv[argc - 1];
        paths = argc - 2;
    }
    for (int i = 1; i < paths; i++) {
        int before = tally.cases;
        if (is_program(argv[i]))
            check_file(argv[i], &tally);
        else
            check_folder(argv[i], &tally);
        if (tally.cases == before && !tally.only) {
            fprintf(stderr, "%s: no cases\n", argv[i]);
            return 2;
        }
    }
    printf("%d cases, %d failed\n", tally.cases, tally.failures);
    return tally.cases == 0 || tally.failures > 0;
}
