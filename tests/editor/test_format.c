/* One style for programs and schedules. For each .tir and .sched file of the folders given, as it
 * is, with random blanks and comments between its tokens, and with random bytes changed: formatting
 * changes nothing but blanks, its result formats to itself, and kernels mean what they meant.
 *
 *     test_format ROUNDS FOLDER...     so many changes of each file */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tirc.h"

typedef struct {
    const char *path;
    uint64_t random;
    int formatted, refused, failures;
} Test;

static uint32_t draw(Test *test, uint32_t below)
{
    test->random = test->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(test->random >> 33) % below;
}

static void complain(Test *test, const char *what, tirc_text before, tirc_text after)
{
    fprintf(stderr, "%s: %s\n---- before\n%.*s\n---- after\n%.*s\n", test->path, what,
            (int)before.length, before.text, (int)after.length, after.text);
    test->failures++;
}

/* ---- what must hold -------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c && strchr(" \t\r\n\f\v", c);
}

/* All bytes but blanks, in order; blanks in comments and strings do not count either. */
static bool same_but_blanks(tirc_text a, tirc_text b)
{
    size_t i = 0, j = 0;
    for (;;) {
        while (i < a.length && is_blank(a.text[i]))
            i++;
        while (j < b.length && is_blank(b.text[j]))
            j++;
        if (i == a.length || j == b.length)
            return i == a.length && j == b.length;
        if (a.text[i++] != b.text[j++])
            return false;
    }
}

/* The kernels of a text that resolve, as the printer writes them. */
static char *meaning(tirc_text text)
{
    size_t length;
    char *out;
    FILE *f = open_memstream(&out, &length);
    tirc *t = tirc_new(NULL);
    tirc_file *file;
    if (tirc_parse_text(t, "text", text.text, text.length, &file) == TIRC_OK)
        for (size_t i = 0; tirc_file_kernel(file, i); i++) {
            tirc_kernel *kernel;
            const void *printed = "refused";
            size_t n = 7;
            if (tirc_resolve(t, file, tirc_file_kernel(file, i), NULL, 0, &kernel) == TIRC_OK)
                tirc_emit(t, kernel, TIRC_TIR, NULL, &printed, &n);
            fwrite(printed, 1, n, f);
        }
    tirc_free(t);
    fclose(f);
    return out;
}

static void check_meaning(Test *test, tirc_text before, tirc_text after)
{
    char *one = meaning(before), *other = meaning(after);
    if (strcmp(one, other) != 0)
        complain(test, "the program means something else", before, after);
    free(one);
    free(other);
}

/* Returns whether the text parses. */
static bool check_text(Test *test, tirc_text text)
{
    tirc *t = tirc_new(NULL);
    tirc_text once = {NULL, 0}, twice = {NULL, 0};
    tirc_status status = tirc_format_text(t, "text", text, &once);
    if (status > TIRC_REFUSED)
        complain(test, tirc_diagnostics(t, false), text, text);
    if (status == TIRC_OK && !same_but_blanks(text, once))
        complain(test, "more changed than blanks", text, once);
    if (status == TIRC_OK &&
        (tirc_format_text(t, "text", once, &twice) != TIRC_OK || once.length != twice.length ||
         memcmp(once.text, twice.text, once.length) != 0))
        complain(test, "formatting is not idempotent", once, twice);
    if (status == TIRC_OK && draw(test, 4) == 0)
        check_meaning(test, text, once);
    *(status == TIRC_OK ? &test->formatted : &test->refused) += 1;
    tirc_free(t);
    return status == TIRC_OK;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The end of the comment or string that begins at `i`; `i` if none does. */
static size_t skip_quoted(tirc_text text, size_t i)
{
    const char *s = text.text;
    size_t end = i;
    if (s[i] == '"') {
        for (end++; end < text.length && s[end] != '"' && s[end] != '\n'; end++)
            end += s[end] == '\\';
        return end + 1;
    }
    if (s[i] == '/' && i + 1 < text.length && s[i + 1] == '/')
        while (end < text.length && s[end] != '\n')
            end++;
    return end;
}

/* The text with other blanks, and with comments, where it has a blank. */
static void blanks_changed(Test *test, tirc_text text, FILE *out)
{
    static const char *const blanks[] = {" ",         "\n",      "\n\n\n",   "\t ",
                                         " /* c */ ", " // c\n", "\n// c\n", "\n\n/* c\n */\n",
                                         "/* c */\n", "\r\n"};
    for (size_t i = 0; i < text.length;) {
        size_t end = skip_quoted(text, i);
        if (end > i) {
            end = end < text.length ? end : text.length;
            fwrite(text.text + i, 1, end - i, out);
            i = end;
            continue;
        }
        char c = text.text[i++];
        if (c == '\n' && i > 1 && text.text[i - 2] != '\n')
            fputc('\n', out); /* it may end a comment */
        if (is_blank(c) && draw(test, 3) == 0)
            fputs(blanks[draw(test, 10)], out);
        else if (c != '\n')
            fputc(c, out);
        if (c == ',' && draw(test, 8) == 0)
            fputs(blanks[draw(test, 10)], out);
    }
}

/* The text with bytes replaced, removed or repeated. */
static void bytes_changed(Test *test, tirc_text text, FILE *out)
{
    static const char bytes[] = "()[]{}<>;:,.=+-*/?!~&|@\"_ \n\t0aZ\x80";
    uint32_t rate = 20 + draw(test, 600);
    for (size_t i = 0; i < text.length; i++) {
        uint32_t what = draw(test, rate);
        if (what == 0)
            fputc(bytes[draw(test, sizeof bytes - 1)], out);
        else if (what != 1)
            fputc(text.text[i], out);
        if (what == 2)
            fputc(text.text[i], out);
    }
}

static void check_changed(Test *test, tirc_text text, int round)
{
    char *changed;
    size_t length;
    FILE *out = open_memstream(&changed, &length);
    (round % 2 ? bytes_changed : blanks_changed)(test, text, out);
    fclose(out);
    check_text(test, (tirc_text){changed, length});
    free(changed);
}

/* ---- files ----------------------------------------------------------------------------------- */

static tirc_text read_file(const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = fopen(path, "rb"), *out = open_memstream(&text, &length);
    for (int c; f && (c = fgetc(f)) != EOF;)
        fputc(c, out);
    fclose(out);
    if (f)
        fclose(f);
    return (tirc_text){text, length};
}

static void check_file(Test *test, const char *path, int rounds)
{
    tirc_text text = read_file(path);
    test->path = path;
    check_text(test, text);
    for (int i = 0; i < rounds; i++)
        check_changed(test, text, i);
    free((char *)text.text);
}

static int has_ending(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && (!strcmp(dot, ".tir") || !strcmp(dot, ".sched"));
}

static void check_folder(Test *test, const char *folder, int rounds)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, has_ending, alphasort);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        check_file(test, path, rounds);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    Test test = {.random = 15};
    for (int i = 2; i < argc; i++)
        check_folder(&test, argv[i], atoi(argv[1]));
    printf("%d texts formatted, %d refused, %d failures\n", test.formatted, test.refused,
           test.failures);
    return test.failures > 0 || test.formatted < 1000 || test.refused < 100;
}
