/* threads.c - see threads.h. Each thread takes the next part until none is left. */
#define _GNU_SOURCE
#include "runtime/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64 };

typedef struct {
    void (*run)(void *user, int64_t part);
    void *user;
    int64_t parts;
    _Atomic int64_t next;
} Work;

int threads_usable(void)
{
    cpu_set_t usable; /* by this process, which may be fewer than there are */
    int n = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
    return n > 1 ? n : 1;
}

static void *take_parts(void *user)
{
    Work *w = user;
    for (int64_t part; (part = atomic_fetch_add(&w->next, 1)) < w->parts;)
        w->run(w->user, part);
    return NULL;
}

void threads_share(int64_t parts, void (*run)(void *user, int64_t part), void *user)
{
    pthread_t others[MOST_THREADS];
    Work w = {.run = run, .user = user, .parts = parts};
    int wanted = threads_usable(), started = 0;
    if (wanted > MOST_THREADS)
        wanted = MOST_THREADS;
    if (wanted > parts)
        wanted = (int)parts;
    while (started < wanted - 1 && pthread_create(&others[started], NULL, take_parts, &w) == 0)
        started++;
    take_parts(&w);
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}
