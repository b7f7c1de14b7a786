/* output.c - Writes files whole or not at all, and shows diagnostics and progress. */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "options.h"

static tirc_status refuse(const char *path, int error)
{
    fprintf(stderr, "tirc: cannot write '%s': %s\n", path, strerror(error));
    return TIRC_UNAVAILABLE;
}

/* ---- files ----------------------------------------------------------------------------------- */

static tirc_status write_stream(const char *path, FILE *f, const void *data, size_t length)
{
    bool ok = fwrite(data, 1, length, f) == length;
    ok = fflush(f) == 0 && ok;
    return ok ? TIRC_OK : refuse(path, errno);
}

/* Devices and pipes cannot be replaced, and a file of another user would become one of this. */
static tirc_status write_special(const char *path, const void *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return refuse(path, errno);
    tirc_status status = write_stream(path, f, data, length);
    if (fclose(f) != 0 && !status)
        status = refuse(path, errno);
    return status;
}

static int make_temporary(const char *path, char *name, size_t room)
{
    if ((size_t)snprintf(name, room, "%s.XXXXXX", path) >= room) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkstemp(name);
}

static bool fill(int file, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(file, data, length);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            data += n;
            length -= (size_t)n;
        }
    }
    return true;
}

/* The mode of a new file. */
static mode_t new_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static tirc_status write_whole(const char *path, mode_t mode, const void *data, size_t length)
{
    char temporary[PATH_MAX];
    int file = make_temporary(path, temporary, sizeof temporary);
    if (file < 0)
        return refuse(path, errno);
    bool ok = fill(file, data, length) && fchmod(file, mode) == 0;
    int error = errno;
    if (close(file) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && rename(temporary, path) == 0)
        return TIRC_OK;
    error = ok ? errno : error;
    unlink(temporary);
    return refuse(path, error);
}

static bool is_open_as(FILE *stream, const struct stat *info)
{
    struct stat open;
    return fstat(fileno(stream), &open) == 0 && open.st_dev == info->st_dev &&
           open.st_ino == info->st_ino;
}

/* Over a regular file that is there. */
static tirc_status replace(const char *path, const struct stat *info, const void *data,
                           size_t length)
{
    char real[PATH_MAX];
    if (access(path, W_OK) != 0 || !realpath(path, real))
        return refuse(path, errno);
    if (info->st_uid != geteuid())
        return write_special(path, data, length);
    return write_whole(real, info->st_mode & 0777, data, length);
}

tirc_status output_write(const char *path, const void *data, size_t length)
{
    struct stat info;
    if (!path || !strcmp(path, "-"))
        return write_stream("standard output", stdout, data, length);
    if (stat(path, &info) != 0) {
        bool dangles = lstat(path, &info) == 0;
        return dangles ? refuse(path, ENOENT) : write_whole(path, new_mode(), data, length);
    }
    if (is_open_as(stdout, &info))
        return write_stream(path, stdout, data, length);
    if (is_open_as(stderr, &info))
        return write_stream(path, stderr, data, length);
    return S_ISREG(info.st_mode) ? replace(path, &info, data, length)
                                 : write_special(path, data, length);
}

tirc_status output_write_own(const char *path, const void *data, size_t length)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return write_whole(path, new_mode(), data, length);
    if (S_ISREG(info.st_mode))
        return write_whole(path, info.st_mode & 0777, data, length);
    fprintf(stderr, "tirc: cannot write '%s': it exists and is not a regular file\n", path);
    return TIRC_UNAVAILABLE;
}

/* Writes a new file that only this user may read, in `folder`: PREFIX, letters that nobody can
 * foresee, SUFFIX. Its path, which the caller frees; NULL after a line on standard error. */
static char *output_write_new(const char *folder, const char *prefix, const char *suffix,
                              const void *data, size_t length)
{
    char *path;
    if (asprintf(&path, "%s/%sXXXXXX%s", folder, prefix, suffix) < 0)
        return NULL;
    int file = mkostemps(path, (int)strlen(suffix), O_CLOEXEC);
    bool ok = file >= 0 && fill(file, data, length);
    int error = errno;
    if (file >= 0 && close(file) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok)
        return path;
    refuse(path, error);
    if (file >= 0)
        unlink(path);
    free(path);
    return NULL;
}

tirc_status output_finish(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TIRC_OK;
    return refuse("standard output", errno);
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

static bool use_color(int choice)
{
    if (choice == COLOR_ALWAYS || choice == COLOR_NEVER)
        return choice == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
}

static void save_bug(tirc *t)
{
    const char *report = tirc_bug_report(t), *temporary = getenv("TMPDIR");
    if (!report)
        return;
    char *path = output_write_new(temporary && *temporary ? temporary : "/tmp", "tirc-bug-", ".tir",
                                  report, strlen(report));
    if (path)
        fprintf(stderr, "tirc: please report this bug with %s, which reproduces it\n", path);
    free(path);
}

bool output_has(const tirc *t, tirc_severity severity)
{
    for (size_t i = 0; i < tirc_diagnostic_count(t); i++)
        if (tirc_diagnostic_at(t, i).severity == severity)
            return true;
    return false;
}

void output_diagnostics(tirc *t, int color, tirc_status status)
{
    fflush(stdout);
    fputs(tirc_diagnostics(t, use_color(color)), stderr);
    if (status == TIRC_BUG)
        save_bug(t);
}

/* ---- progress -------------------------------------------------------------------------------- */

struct Progress {
    const char *what;
    char more[128];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
};

static void erase_line(void)
{
    fputs("\r\033[K", stderr);
    fflush(stderr);
}

/* Wakes up once a second until the work is done. */
static void *watch(void *user)
{
    Progress *p = user;
    struct timespec next;
    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&p->lock);
    for (int seconds = 1; !p->is_done; seconds++) {
        next.tv_sec++;
        while (!p->is_done && pthread_cond_timedwait(&p->done, &p->lock, &next) == 0)
            ;
        if (p->is_done)
            break;
        fprintf(stderr, "\r\033[K%s%s... %d s", p->what, p->more, seconds);
        fflush(stderr);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

Progress *progress_begin(const char *what)
{
    Progress *p = isatty(STDERR_FILENO) ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
    p->what = what;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->done, NULL);
    if (pthread_create(&p->thread, NULL, watch, p) == 0)
        return p;
    free(p);
    return NULL;
}

void progress_say(Progress *p, const char *text)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    snprintf(p->more, sizeof p->more, "%s", text);
    pthread_mutex_unlock(&p->lock);
}

void progress_end(Progress *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_done = true;
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    erase_line();
    free(p);
}

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
