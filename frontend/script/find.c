/* find.c - Reads each schedule file once, and finds schedules and procs by name.
 *
 * The library that ships with tirc is part of the program (library/NAME.sched, embedded by the
 * build), so that the command needs no installed files. */
#include "frontend/script/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/script/library.h"
#include "frontend/syntax/parse.h"
#include "ir/instruction.h"

typedef struct {
    const char *path;
    const AstFile *file; /* NULL: it did not parse */
} LoadedFile;

/* What a shipped file can declare by a name. */
typedef enum { DECLARED_PROC, DECLARED_INSTRUCTION, DECLARED_SCHEDULE } Declared;

struct ScriptFiles {
    VEC(LoadedFile) loaded;
    VEC(const AstFile *) programs; /* that kernels come from */
    uint32_t *library; /* [library_count] the sources of the shipped files, 0: not yet */
    /* [library_files_index_count] their declarations, each parsed alone, NULL: not yet */
    const AstFile **declarations;
};

static struct ScriptFiles *files_of(Context *c)
{
    if (!c->script_files) {
        c->script_files = ARENA_NEW(c->arena, struct ScriptFiles);
        c->script_files->library = ARENA_ARRAY(c->arena, uint32_t, library_count);
        c->script_files->declarations =
            ARENA_ARRAY(c->arena, const AstFile *, library_files_index_count);
    }
    return c->script_files;
}

static const LoadedFile *find_loaded(Context *c, const char *path)
{
    struct ScriptFiles *files = files_of(c);
    for (int i = 0; i < files->loaded.n; i++)
        if (!strcmp(files->loaded.items[i].path, path))
            return &files->loaded.items[i];
    return NULL;
}

static const AstFile *parse_source(Context *c, const char *path, uint32_t source)
{
    LoadedFile loaded = {arena_strdup(c->arena, path), NULL};
    int slot = files_of(c)->loaded.n;
    VEC_PUSH(c->arena, &files_of(c)->loaded, loaded);
    const AstFile *file = parse_text(c, source);
    files_of(c)->loaded.items[slot].file = file;
    return file;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* More is no program; something that never ends must not be read for ever. */
enum { FILE_LIMIT = 64 << 20 };

static bool read_all(Context *c, FILE *f, StrBuf *text)
{
    char chunk[65536];
    size_t n;
    *text = strbuf_new(c->arena);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) {
        if (text->length + n > FILE_LIMIT) {
            errno = EFBIG;
            return false;
        }
        strbuf_addn(text, chunk, n);
    }
    return !ferror(f);
}

uint32_t script_read_stream(Context *c, FILE *f, const char *path, Span from)
{
    StrBuf text;
    if (read_all(c, f, &text))
        return source_add(c, path, text.text, text.length);
    if (errno == EFBIG)
        diag_error(c, E0314, from, "'%s' is not read: it is larger than %d MiB", path,
                   FILE_LIMIT >> 20);
    else
        diag_error(c, E0314, from, "'%s' cannot be read: %s", path, strerror(errno));
    return 0;
}

uint32_t script_read_file(Context *c, const char *path, Span from)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        diag_error(c, E0314, from, "'%s' cannot be read: %s", path, strerror(errno));
        return 0;
    }
    uint32_t source = script_read_stream(c, f, path, from);
    fclose(f);
    return source;
}

static bool file_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_path(const char *name)
{
    size_t n = strlen(name);
    return n > 6 && !strcmp(name + n - 6, ".sched");
}

/* Does the path lead to a file of schedules, by its name, links followed? Messages show lines of
 * what is read, so a program from elsewhere must not choose any file at all. */
static bool leads_to_schedules(const char *path)
{
    char *real = realpath(path, NULL);
    bool good = real && is_path(real);
    free(real);
    return good;
}

/* NULL after E0314. */
static FILE *open_schedules(Context *c, const char *path, Span from)
{
    struct stat status;
    if (!is_path(path)) {
        diag_error(c, E0314, from,
                   "'%s' is not read: the name of a schedule file must end in .sched", path);
        return NULL;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* which waits for no pipe */
    if (file < 0 || fstat(file, &status) != 0)
        diag_error(c, E0314, from, "'%s' cannot be read: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        diag_error(c, E0314, from, "'%s' is not read: it is not a regular file", path);
    else if (!leads_to_schedules(path))
        diag_error(c, E0314, from,
                   "'%s' is not read: it links to a file whose name does not end in .sched", path);
    else
        return fdopen(file, "rb");
    if (file >= 0)
        close(file);
    return NULL;
}

static const AstFile *load_file(Context *c, const char *path, Span from)
{
    const LoadedFile *loaded = find_loaded(c, path);
    if (loaded)
        return loaded->file;
    FILE *f = open_schedules(c, path, from);
    uint32_t source = f ? script_read_stream(c, f, path, from) : 0;
    if (f)
        fclose(f);
    return source ? parse_source(c, path, source) : NULL;
}

const AstFile *script_provide(Context *c, const char *path, const char *text, size_t length)
{
    return parse_source(c, path, source_add(c, path, text, length));
}

static uint32_t library_source(Context *c, int i)
{
    const LibraryFile *file = &library_files[i];
    uint32_t *source = &files_of(c)->library[i];
    if (!*source)
        *source = source_add(c, file->path, file->text, strlen(file->text));
    return *source;
}

static const AstFile *require_parsed(Context *c, int i, const AstFile *file)
{
    if (!file)
        TIRC_BUG(c, "%s, which ships with tirc, does not parse", library_files[i].path);
    return file;
}

static const AstFile *load_library(Context *c, int i)
{
    const char *path = library_files[i].path;
    const LoadedFile *loaded = find_loaded(c, path);
    return require_parsed(c, i,
                          loaded ? loaded->file : parse_source(c, path, library_source(c, i)));
}

/* How a declaration begins: a keyword with a blank behind it, and the name. */
typedef struct {
    const char *keyword, *name;
} Beginning;

static int compare_line(const void *wanted, const void *with)
{
    const Beginning *begins = wanted;
    const char *line = ((const LibraryLine *)with)->line;
    size_t length = strlen(begins->keyword);
    int order = strncmp(begins->keyword, line, length);
    return order ? order : strcmp(begins->name, line + length);
}

/* Where the library declares `name`; NULL: nowhere. */
static const LibraryLine *find_line(Declared as, const char *name)
{
    static const char *const keywords[] = {"proc ", "instruction ", "schedule "};
    const Beginning begins = {keywords[as], name};
    return bsearch(&begins, library_files_index, (size_t)library_files_index_count,
                   sizeof *library_files_index, compare_line);
}

/* Parses a declaration, which ends with a brace on its own line, without the rest of its file. */
static const AstFile *parse_declaration(Context *c, const LibraryLine *line)
{
    const char *text = library_files[line->file].text, *begin = text + line->at;
    const char *close = strstr(begin, "\n}\n");
    const char *end = close ? close + strlen("\n}\n") : begin + strlen(begin);
    const AstFile *file =
        parse_part(c, library_source(c, line->file), (uint32_t)line->at, (uint32_t)(end - text));
    return require_parsed(c, line->file, file);
}

/* The declaration at a line of the index, parsed once. */
static const AstFile *library_item(Context *c, const LibraryLine *line)
{
    const AstFile **file = &files_of(c)->declarations[line - library_files_index];
    if (!*file)
        *file = parse_declaration(c, line);
    return *file;
}

/* The declaration of `name` in the library; NULL if there is none. */
static const AstFile *find_library_item(Context *c, Declared as, const char *name)
{
    const LibraryLine *line = find_line(as, name);
    return line ? library_item(c, line) : NULL;
}

static int library_index(const char *name)
{
    for (int i = 0; i < library_count; i++)
        if (!strcmp(library_files[i].path + strlen("library/"), name))
            return i;
    return -1;
}

static const char *path_of(Context *c, const AstFile *file)
{
    return file ? source_get(c, file->source)->path : "";
}

/* `name` in the folder of `path`. */
static const char *beside(Context *c, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    if (!slash || name[0] == '/')
        return name;
    return arena_printf(c->arena, "%.*s/%s", (int)(slash - path), path, name);
}

static const AstFile *load_include(Context *c, const AstFile *file, const AstInclude *include)
{
    const char *name = include->path->u.string.text;
    const char *path = beside(c, path_of(c, file), name);
    int shipped = library_index(name);
    if (!find_loaded(c, path) && !file_exists(path) && shipped >= 0)
        return load_library(c, shipped);
    return load_file(c, path, include->span);
}

/* ---- procs ----------------------------------------------------------------------------------- */

typedef VEC(const AstFile *) FileList;

/* `file` and all that it includes, each once. */
static void reachable(Context *c, const AstFile *file, FileList *seen)
{
    for (int i = 0; i < seen->n; i++)
        if (seen->items[i] == file)
            return;
    if (!file)
        return;
    VEC_PUSH(c->arena, seen, file);
    for (int i = 0; i < file->n_includes; i++)
        reachable(c, load_include(c, file, file->includes[i]), seen);
}

void script_files_seen(Context *c, const AstFile *file, ScriptFileList *out)
{
    FileList seen = {0};
    reachable(c, file, &seen);
    VEC_APPEND(c->arena, out, seen.items, seen.n);
    for (int i = 0; i < library_count; i++)
        VEC_PUSH(c->arena, out, load_library(c, i));
}

const AstProc *script_find_proc(Context *c, const AstFile *file, Name name, const AstFile **where)
{
    FileList seen = {0};
    reachable(c, file, &seen);
    for (int pass = 0; pass <= seen.n; pass++) {
        *where = pass < seen.n ? seen.items[pass] : find_library_item(c, DECLARED_PROC, name);
        for (int i = 0; *where && i < (*where)->n_procs; i++)
            if ((*where)->procs[i]->name.text == name)
                return (*where)->procs[i];
    }
    *where = NULL;
    return NULL;
}

/* ---- instructions ---------------------------------------------------------------------------- */

void script_add_program(Context *c, const AstFile *file)
{
    VEC_PUSH(c->arena, &files_of(c)->programs, file);
}

/* The file that the kernel was resolved from; NULL: it has none. */
static const AstFile *program_of(Context *c, const Kernel *kernel)
{
    const struct ScriptFiles *files = files_of(c);
    for (int i = 0; i < files->programs.n; i++)
        if (files->programs.items[i]->source == kernel->span.source)
            return files->programs.items[i];
    return NULL;
}

static AstInstruction *find_in(Context *c, const FileList *files, Name name)
{
    for (int pass = 0; pass <= files->n; pass++) {
        const AstFile *in =
            pass < files->n ? files->items[pass] : find_library_item(c, DECLARED_INSTRUCTION, name);
        for (int i = 0; in && i < in->n_instructions; i++)
            if (in->instructions[i]->name.text == name)
                return in->instructions[i];
    }
    return NULL;
}

const AstInstruction *script_find_declaration(Context *c, const AstFile *file, const Kernel *kernel,
                                              Name name)
{
    FileList seen = {0};
    reachable(c, program_of(c, kernel), &seen);
    reachable(c, file, &seen);
    return find_in(c, &seen, name);
}

const AstKernel *script_program(Context *c, const AstFile *file, const AstKernel *kernel)
{
    VEC(AstInstruction *) all = {0};
    FileList seen = {0};
    if (kernel->n_calls == 0)
        return kernel;
    reachable(c, file, &seen);
    VEC_APPEND(c->arena, &all, kernel->instructions, kernel->n_instructions);
    for (int i = 0; i < kernel->n_calls; i++) {
        AstInstruction *found = find_in(c, &seen, kernel->calls[i].text);
        for (int k = 0; found && k < all.n; k++)
            if (all.items[k] == found)
                found = NULL;
        if (found)
            VEC_PUSH(c->arena, &all, found);
    }
    AstKernel *out = ARENA_NEW(c->arena, AstKernel);
    *out = *kernel;
    out->instructions = all.items;
    out->n_instructions = all.n;
    return out;
}

/* ---- schedules ------------------------------------------------------------------------------- */

static bool fits(const AstSchedule *schedule, Name kernel)
{
    for (int i = 0; i < schedule->n_kernels; i++)
        if (schedule->kernels[i].text == kernel || !strcmp(schedule->kernels[i].text, "any"))
            return true;
    return false;
}

/* The kernels of a schedule, as messages show them: 'f', or 'f', 'g' and 'h'. */
static const char *kernels_of(Context *c, const AstSchedule *schedule)
{
    StrBuf text = strbuf_new(c->arena);
    int n = schedule->n_kernels;
    for (int i = 0; i < n; i++)
        strbuf_addf(&text, "%s'%s'",
                    i == 0       ? ""
                    : i == n - 1 ? " and "
                                 : ", ",
                    schedule->kernels[i].text);
    return text.text;
}

static void add_schedules(Context *c, const AstFile *file, Name kernel, FoundScheduleList *out)
{
    FileList seen = {0};
    reachable(c, file, &seen);
    for (int f = 0; f < seen.n; f++)
        for (int i = 0; i < seen.items[f]->n_schedules; i++)
            if (!kernel || fits(seen.items[f]->schedules[i], kernel)) {
                FoundSchedule found = {seen.items[f]->schedules[i], seen.items[f],
                                       path_of(c, seen.items[f])};
                VEC_PUSH(c->arena, out, found);
            }
}

/* The schedules of the kernel's file, of NAME.sched beside it if it is there, and that of the
 * library that has the name. */
static void collect(Context *c, const AstFile *file, Name kernel, const char *name,
                    FoundScheduleList *out)
{
    add_schedules(c, file, kernel, out);
    const char *path = beside(c, path_of(c, file), arena_printf(c->arena, "%s.sched", name));
    if (file && file_exists(path))
        add_schedules(c, load_file(c, path, span_none()), kernel, out);
    add_schedules(c, find_library_item(c, DECLARED_SCHEDULE, name), kernel, out);
}

typedef VEC(const char *) NameList;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the .sched files in the folder of `file`, sorted; none if it cannot be read. */
static void script_files_beside(Context *c, const AstFile *file, NameList *out)
{
    const char *folder = beside(c, path_of(c, file), "");
    DIR *dir = opendir(*folder ? folder : ".");
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (is_path(entry->d_name))
            VEC_PUSH(c->arena, out, arena_strdup(c->arena, entry->d_name));
    closedir(dir);
    if (out->n > 1)
        qsort(out->items, (size_t)out->n, sizeof *out->items, compare_names);
}

/* Adds the schedule that is named as its file, which is the one that --schedule finds. */
static void add_namesake(Context *c, const char *path, const char *name, Name kernel,
                         FoundScheduleList *out)
{
    FoundScheduleList in_file = {0};
    add_schedules(c, load_file(c, path, span_none()), kernel, &in_file);
    for (int i = 0; i < in_file.n; i++) {
        const AstSchedule *schedule = in_file.items[i].schedule;
        bool listed = strlen(schedule->name.text) + strlen(".sched") != strlen(name) ||
                      strncmp(schedule->name.text, name, strlen(schedule->name.text)) != 0;
        for (int k = 0; k < out->n; k++)
            listed |= out->items[k].schedule == schedule;
        if (!listed)
            VEC_PUSH(c->arena, out, in_file.items[i]);
    }
}

static int compare_places(const void *a, const void *b)
{
    const LibraryLine *l = *(const LibraryLine *const *)a, *r = *(const LibraryLine *const *)b;
    return l->file != r->file ? l->file - r->file : l->at - r->at;
}

/* Adds those of the library, in the order of its text, of which nothing else is parsed. */
static void add_shipped(Context *c, Name kernel, FoundScheduleList *out)
{
    static const char keyword[] = "schedule ";
    VEC(const LibraryLine *) lines = {0};
    for (int i = 0; i < library_files_index_count; i++)
        if (strncmp(library_files_index[i].line, keyword, strlen(keyword)) == 0)
            VEC_PUSH(c->arena, &lines, &library_files_index[i]);
    qsort(lines.items, (size_t)lines.n, sizeof *lines.items, compare_places);
    for (int i = 0; i < lines.n; i++)
        add_schedules(c, library_item(c, lines.items[i]), kernel, out);
}

void script_list(Context *c, const AstFile *file, Name kernel, FoundScheduleList *out)
{
    NameList beside_it = {0};
    add_schedules(c, file, kernel, out);
    script_files_beside(c, file, &beside_it);
    for (int i = 0; i < beside_it.n; i++)
        add_namesake(c, beside(c, path_of(c, file), beside_it.items[i]), beside_it.items[i], kernel,
                     out);
    add_shipped(c, kernel, out);
}

/* `wanted` is the schedule's name; NULL: the file's only one for the kernel. */
static bool find_in_path(Context *c, const char *path, const char *wanted, Name kernel,
                         FoundSchedule *out)
{
    int errors = c->n_errors;
    const AstFile *file = load_file(c, path, span_none());
    FoundScheduleList all = {0};
    if (!file || c->n_errors > errors)
        return false;
    for (int i = 0; i < file->n_schedules; i++)
        if (fits(file->schedules[i], kernel) &&
            (!wanted || !strcmp(file->schedules[i]->name.text, wanted))) {
            FoundSchedule found = {file->schedules[i], file, path};
            VEC_PUSH(c->arena, &all, found);
        }
    if (all.n > 0 && (wanted || all.n == 1)) {
        *out = all.items[0];
        return true;
    }
    if (all.n == 0)
        diag_error(c, E0300, span_none(), "'%s' contains no schedule%s for kernel '%s'", path,
                   wanted ? arena_printf(c->arena, " '%s'", wanted) : "", kernel);
    else
        diag_error(c, E0300, span_none(),
                   "'%s' contains %d schedules for kernel '%s'; choose one by name, as in '%s:%s'",
                   path, all.n, kernel, path, all.items[0].schedule->name.text);
    for (int i = 0; i < file->n_schedules; i++)
        diag_note(c, file->schedules[i]->name.span, "schedule '%s' for %s",
                  file->schedules[i]->name.text, kernels_of(c, file->schedules[i]));
    return false;
}

static bool not_found(Context *c, const AstFile *file, const FoundScheduleList *all, Name kernel,
                      const char *name)
{
    for (int i = 0; i < all->n; i++) {
        const AstSchedule *schedule = all->items[i].schedule;
        if (!strcmp(schedule->name.text, name)) {
            diag_error(c, E0301, span_none(), "schedule '%s' is for kernel%s %s, not for '%s'",
                       name, schedule->n_kernels > 1 ? "s" : "", kernels_of(c, schedule), kernel);
            diag_note(c, schedule->kernels[0].span, "it is declared here");
            return false;
        }
    }
    FoundScheduleList fitting = {0};
    script_list(c, file, kernel, &fitting);
    const char **names = ARENA_ARRAY(c->arena, const char *, fitting.n + 1);
    StrBuf listed = strbuf_new(c->arena);
    int n = 0;
    for (int i = 0; i < fitting.n; i++) {
        names[n++] = fitting.items[i].schedule->name.text;
        strbuf_addf(&listed, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = diag_suggest(name, names, n);
    diag_error(c, E0300, span_none(),
               near ? "unknown schedule '%s' for kernel '%s'; did you mean '%s'?"
                    : "unknown schedule '%s' for kernel '%s'",
               name, kernel, near);
    diag_note(c, span_none(), "schedules for '%s': %s", kernel, listed.text);
    return false;
}

bool script_has(Context *c, const AstFile *file, Name kernel, const char *name)
{
    int errors = c->n_errors;
    FoundScheduleList all = {0};
    collect(c, file, kernel, name, &all);
    for (int i = 0; i < all.n; i++)
        if (!strcmp(all.items[i].schedule->name.text, name))
            return true;
    return c->n_errors > errors;
}

bool script_find(Context *c, const AstFile *file, Name kernel, const char *name, FoundSchedule *out)
{
    const char *in_file = strstr(name, ".sched:");
    if (in_file)
        return find_in_path(c, arena_strndup(c->arena, name, (size_t)(in_file - name) + 6),
                            in_file + 7, kernel, out);
    if (is_path(name))
        return find_in_path(c, name, NULL, kernel, out);
    int errors = c->n_errors;
    FoundScheduleList all = {0};
    collect(c, file, NULL, name, &all);
    if (c->n_errors > errors)
        return false;
    for (int i = 0; i < all.n; i++)
        if (!strcmp(all.items[i].schedule->name.text, name) &&
            fits(all.items[i].schedule, kernel)) {
            *out = all.items[i];
            return true;
        }
    return not_found(c, file, &all, kernel, name);
}
