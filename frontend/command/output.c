/* output.c - see output.h. */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static tirc_status refuse(const char *path, int error)
{
    fprintf(stderr, "tirc: cannot write '%s': %s\n", path, strerror(error));
    return TIRC_UNAVAILABLE;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static tirc_status write_stream(const char *path, FILE *f, const void *data, size_t length)
{
    bool ok = fwrite(data, 1, length, f) == length;
    ok = fflush(f) == 0 && ok;
    return ok ? TIRC_OK : refuse(path, errno);
}

/* Devices and pipes cannot be replaced. */
static tirc_status write_special(const char *path, const void *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return refuse(path, errno);
    tirc_status status = write_stream(path, f, data, length);
    fclose(f);
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

static bool fill_temporary(int file, const char *data, size_t length)
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
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(file, 0666 & ~mask) == 0;
}

static tirc_status write_whole(const char *path, const void *data, size_t length)
{
    char temporary[PATH_MAX];
    int file = make_temporary(path, temporary, sizeof temporary);
    if (file < 0)
        return refuse(path, errno);
    bool ok = fill_temporary(file, data, length);
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

tirc_status output_write(const char *path, const void *data, size_t length)
{
    struct stat info;
    char real[PATH_MAX];
    if (!path || !strcmp(path, "-"))
        return write_stream("standard output", stdout, data, length);
    bool exists = stat(path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode))
        return write_special(path, data, length);
    return write_whole(exists && realpath(path, real) ? real : path, data, length);
}

tirc_status output_finish(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TIRC_OK;
    return refuse("standard output", errno);
}

/* ---- progress -------------------------------------------------------------------------------------------- */

struct Progress {
    const char *what;
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
        fprintf(stderr, "\r\033[K%s... %d s", p->what, seconds);
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
