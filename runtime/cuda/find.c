/* find.c - Finds NVIDIA's libraries.
 *
 * A CUDA toolkit tells the loader where they are, or lies under /usr/local/cuda; Python's packages
 * bring them along under site-packages/nvidia, one folder a library up to CUDA 12 and one for all
 * since 13.  The environments that a user may mean are found from the variables that activate them
 * and from the python3 programs in $PATH, without running any. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda/api.h"

/* The versions in the names of libraries that may fit. */
enum { NEWEST_CUDA = 16, OLDEST_CUDA = 12 };

enum { OPEN_FLAGS = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE };

/* `text` as a glob pattern that matches it alone. */
static const char *quote_pattern(Context *ctx, const char *text)
{
    StrBuf out = strbuf_new(ctx->arena);
    for (; *text; text++) {
        if (strchr("*?[]\\", *text))
            strbuf_addc(&out, '\\');
        strbuf_addc(&out, *text);
    }
    return out.text;
}

/* NVRTC opens libnvrtc-builtins by its name alone when it compiles, which the loader satisfies with
 * one that is loaded already: so the one beside it comes first. */
static void open_companions(LibrarySearch *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    glob_t found;
    if (!slash)
        return;
    const char *folder = arena_strndup(s->ctx->arena, path, (size_t)(slash - path));
    const char *pattern = arena_printf(s->ctx->arena, "%s/lib%s-builtins.so.*",
                                       quote_pattern(s->ctx, folder), s->stem);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        (void)dlopen(found.gl_pathv[i], OPEN_FLAGS);
    globfree(&found);
}

typedef enum { SILENT_IF_MISSING, REPORT_FAILURE } FileReport;

/* `exists`: that it does not load is worth telling. */
static void *open_file(LibrarySearch *s, const char *path, FileReport report)
{
    void *library = dlopen(path, OPEN_FLAGS);
    const char *complaint = library ? NULL : dlerror();
    if (library) {
        s->path = arena_strdup(s->ctx->arena, path);
        open_companions(s, path);
    } else if (report == REPORT_FAILURE && complaint) {
        s->failure = arena_strdup(s->ctx->arena, complaint);
    }
    return library;
}

/* The newest usable one of the files lib<stem>.so.<version> in the folders that match. */
static void *open_in(LibrarySearch *s, const char *folders)
{
    strbuf_addf(&s->searched, "\n  %s", folders);
    glob_t found;
    const char *pattern = arena_printf(s->ctx->arena, "%s/lib%s.so.*", folders, s->stem);
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    void *library = NULL;
    for (size_t i = found.gl_pathc; !library && i-- > 0;) /* sorted: the newest is the last */
        library = open_file(s, found.gl_pathv[i], REPORT_FAILURE);
    globfree(&found);
    return library;
}

static void *open_by_loader(LibrarySearch *s)
{
    strbuf_addf(&s->searched,
                "\n  lib%s.so.%d to .%d in the loader's path ($LD_LIBRARY_PATH, ldconfig)", s->stem,
                NEWEST_CUDA, OLDEST_CUDA);
    void *library = NULL;
    for (int version = NEWEST_CUDA; !library && version >= OLDEST_CUDA; version--)
        library = open_file(s, arena_printf(s->ctx->arena, "lib%s.so.%d", s->stem, version),
                            SILENT_IF_MISSING);
    return library;
}

/* The folders that `format` makes of an environment variable, which may be a list as $PATH is. */
static void *open_in_variable(LibrarySearch *s, const char *variable, const char *below)
{
    const char *rest = getenv(variable);
    void *library = NULL;
    while (!library && rest && *rest) {
        size_t length = strcspn(rest, ":");
        const char *folder = arena_strndup(s->ctx->arena, rest, length);
        if (length > 0)
            library = open_in(
                s, arena_printf(s->ctx->arena, "%s/%s", quote_pattern(s->ctx, folder), below));
        rest += length + (rest[length] == ':');
    }
    return library;
}

static void *open_in_toolkit(LibrarySearch *s)
{
    void *library = open_in_variable(s, "CUDA_HOME", "lib64");
    if (!library)
        library = open_in_variable(s, "CUDA_PATH", "lib64");
    if (!library)
        library = open_in(s, "/usr/local/cuda/lib64");
    if (!library)
        library = open_in(s, "/usr/local/cuda-*/lib64");
    if (!library)
        library = open_in(s, "/opt/cuda/lib64");
    if (!library)
        library = open_in_variable(s, "CONDA_PREFIX", "lib");
    return library;
}

/* Below the prefix of a Python, "/usr/local" of /usr/local/bin/python3. */
#define PACKAGES "lib/python3*/*-packages/nvidia/*/lib"

/* The environments of the python3 programs in $PATH, also behind a link to one. */
static void *open_beside_python(LibrarySearch *s)
{
    const char *rest = getenv("PATH");
    void *library = NULL;
    while (!library && rest && *rest) {
        size_t length = strcspn(rest, ":");
        const char *folder = arena_strndup(s->ctx->arena, rest, length);
        const char *python = arena_printf(s->ctx->arena, "%s/python3", folder);
        char real[PATH_MAX];
        if (length > 0 && access(python, X_OK) == 0) {
            library = open_in(
                s, arena_printf(s->ctx->arena, "%s/../" PACKAGES, quote_pattern(s->ctx, folder)));
            char *slash = realpath(python, real) ? strrchr(real, '/') : NULL;
            if (slash)
                *slash = '\0';
            if (!library && slash && strcmp(real, folder) != 0)
                library = open_in(
                    s, arena_printf(s->ctx->arena, "%s/../" PACKAGES, quote_pattern(s->ctx, real)));
        }
        rest += length + (rest[length] == ':');
    }
    return library;
}

/* "/venv/lib/python3.12/site-packages" */
static bool is_packages(const char *folder)
{
    const char *name = strrchr(folder, '/');
    return name && (!strcmp(name, "/site-packages") || !strcmp(name, "/dist-packages"));
}

/* In the environment that tirc itself is installed in: site-packages/tirc/_native.abi3.so, or
 * site-packages/tirc/bin/tirc. */
static void *open_beside_tirc(LibrarySearch *s)
{
    char real[PATH_MAX];
    Dl_info info;
    if (dladdr(s->variable, &info) == 0 || !realpath(info.dli_fname, real))
        return NULL;
    void *library = NULL;
    for (int up = 0; up < 3 && !library; up++) {
        char *slash = strrchr(real, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
        if (up > 0 && is_packages(real))
            library = open_in(
                s, arena_printf(s->ctx->arena, "%s/nvidia/*/lib", quote_pattern(s->ctx, real)));
    }
    return library;
}

static void *open_in_python(LibrarySearch *s)
{
    void *library = open_beside_tirc(s);
    if (!library)
        library = open_in_variable(s, "VIRTUAL_ENV", PACKAGES);
    if (!library)
        library = open_in_variable(s, "CONDA_PREFIX", PACKAGES);
    if (!library)
        library = open_in_variable(s, "PYTHONPATH", "nvidia/*/lib");
    if (!library)
        library = open_beside_python(s);
    if (!library)
        library = open_in_variable(s, "HOME", ".local/" PACKAGES);
    if (!library)
        library = open_in(s, "/usr/local/" PACKAGES);
    if (!library)
        library = open_in(s, "/usr/lib/python3/dist-packages/nvidia/*/lib");
    if (!library)
        library = open_in(s, "/opt/*/.venv/" PACKAGES);
    return library;
}

void *library_find(LibrarySearch *s)
{
    s->path = s->failure = NULL;
    s->searched = strbuf_new(s->ctx->arena);
    const char *given = getenv(s->variable);
    if (given && *given) {
        strbuf_addf(&s->searched, "\n  %s, named by $%s", given, s->variable);
        return open_file(s, given, REPORT_FAILURE);
    }
    void *library = open_by_loader(s);
    if (!library)
        library = open_in_toolkit(s);
    if (!library)
        library = open_in_python(s);
    return library;
}
