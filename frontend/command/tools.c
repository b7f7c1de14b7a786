/* tools.c - Implements `tirc fmt`, which formats files in place or standard input to standard
 * output, and `tirc lsp`, which starts the language server. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "output.h"

static const char usage[] =
    "tirc fmt [--check] [FILE...]\n"
    "\n"
    "Formats programs (.tir) and schedules (.sched) in place; without FILE, or for \"-\", "
    "standard\n"
    "input to standard output. Comments and numbers stay as they are written.\n"
    "\n"
    "  --check   writes nothing, names the files that are not formatted, and exits with 1\n";

static bool is_stream(const char *path)
{
    return !strcmp(path, "-");
}

static tirc_status write_result(const char *path, bool changed, tirc_text formatted)
{
    if (is_stream(path))
        return output_write(NULL, formatted.text, formatted.length);
    return changed ? output_write(path, formatted.text, formatted.length) : TIRC_OK;
}

static tirc_status format_with(tirc *t, const char *path, bool check)
{
    tirc_text text, formatted;
    tirc_status status = tirc_format_file(t, path, &text, &formatted);
    if (status)
        return status;
    bool changed =
        text.length != formatted.length || memcmp(text.text, formatted.text, text.length) != 0;
    if (!check)
        return write_result(path, changed, formatted);
    if (changed)
        printf("%s\n", is_stream(path) ? "<stdin>" : path);
    return changed ? TIRC_REFUSED : TIRC_OK;
}

static tirc_status format_file(const char *path, bool check)
{
    tirc *t = tirc_new(NULL);
    if (!t) {
        fputs("tirc: out of memory\n", stderr);
        return TIRC_UNAVAILABLE;
    }
    tirc_status status = format_with(t, path, check);
    output_diagnostics(t, COLOR_DEFAULT, status);
    tirc_free(t);
    return status;
}

/* argv[0] is "fmt". Formats all files that can be; the status is that of the first that cannot. */
tirc_status command_format(int argc, char **argv)
{
    bool check = false, any = false, files_only = false;
    tirc_status status = TIRC_OK;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (files_only || word[0] != '-' || is_stream(word))
            continue;
        files_only = !strcmp(word, "--");
        check = check || !strcmp(word, "--check");
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            fputs(usage, stdout);
            return TIRC_OK;
        }
        if (!files_only && strcmp(word, "--check") != 0)
            return usage_error("unknown option '%.60s' of fmt; it takes --check and files", word);
    }
    files_only = false;
    for (int i = 1; i < argc; i++) {
        bool option = !files_only && argv[i][0] == '-' && !is_stream(argv[i]);
        files_only = files_only || !strcmp(argv[i], "--");
        if (option)
            continue;
        tirc_status one = format_file(argv[i], check);
        status = status ? status : one;
        any = true;
    }
    return any ? status : format_file("-", check);
}

/* ---- the language server --------------------------------------------------------------------- */

/* The path of tirc-lsp in the folder of this program; false if there is no room for it. */
static bool path_beside(char *path, size_t room)
{
    static const char name[] = "tirc-lsp";
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    char *end = strrchr(path, '/') + 1;
    if ((size_t)(end - path) + sizeof name > room)
        return false;
    memcpy(end, name, sizeof name);
    return true;
}

tirc_status command_serve(char **argv)
{
    char path[PATH_MAX];
    if (path_beside(path, sizeof path))
        execv(path, argv);
    fputs("tirc: the language server 'tirc-lsp' is not in the folder of tirc; the build makes it "
          "where jsonrpc-glib is found (Debian: libjsonrpc-glib-1.0-dev)\n",
          stderr);
    return TIRC_UNAVAILABLE;
}
