/* workers.c - see workers.h. A worker takes the next seed, leaves the trial in memory that it shares with its parent, and counts in a tally
 * there. A worker that dies is replaced; the trial that it left is reduced like one that came back wrong: each attempt runs in one
 * more process, and what that ends with is the answer. */
#include "fuzz/workers.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    pid_t pid;
    bool busy; /* `trial` is under way */
    Trial trial;
    Tally tally;
} Slot;

typedef struct {
    atomic_long next;  /* the trial that begins next */
    atomic_long wrong; /* failures so far */
    time_t begin;
    Slot slots[];
} Shared;

/* ---- in a process of its own --------------------------------------------------------------------- */

/* SIGPROF and SIGALRM, and allocations that fail. */
static void set_limits(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes */
    rlim_t bytes = (rlim_t)WORKERS_MEBIBYTES << 20;
    setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = WORKERS_SECONDS}}, NULL);
    alarm(20 * WORKERS_SECONDS);
}

/* How the steps of a trial end: the status of waitpid. What is wrong goes to `show`. */
static int status_of(Trial *t, FILE *show)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        set_limits();
        static Tally unused;
        bool right = trial_run(t, &unused, NULL, show);
        if (show)
            fflush(show);
        _exit(!right);
    }
    int status = 0;
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
}

static const char *ending(int status)
{
    if (!WIFSIGNALED(status))
        return NULL;
    return WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM ? "it does not end" : strsignal(WTERMSIG(status));
}

/* Drops steps while the trial fails, shows what is left, and counts it. */
static void reduce(Trial t, Tally *tally)
{
    for (int i = t.n_steps - 1; i >= 0; i--) {
        Trial less = t;
        memmove(less.steps + i, less.steps + i + 1, sizeof *less.steps * (size_t)(--less.n_steps - i));
        if (status_of(&less, NULL) != 0)
            t = less;
    }
    int status = status_of(&t, stderr);
    if (ending(status) || status == 0) {
        trial_print(&t, stderr);
        fprintf(stderr, "%s\n", status ? ending(status) : "it is right when it is made again");
    }
    for (int i = 0; i < t.n_steps; i++)
        tally_of(tally, t.steps[i].primitive)->wrong++;
}

/* ---- workers ------------------------------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void measure(Tally *tally, uint64_t seed, double seconds)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > tally->memory)
        tally->memory = usage.ru_maxrss;
    if (seconds <= tally->slowest)
        return;
    tally->slowest = seconds;
    tally->slowest_seed = seed;
}

/* Whether another trial may begin. */
static bool goes_on(const WorkPlan *plan, const Shared *shared)
{
    bool in_time = plan->seconds == 0 || time(NULL) < shared->begin + plan->seconds;
    return in_time && atomic_load(&shared->wrong) < WORKERS_WRONG;
}

static void work(const WorkPlan *plan, Shared *shared, Slot *slot)
{
    long i;
    while (goes_on(plan, shared) && (i = atomic_fetch_add(&shared->next, 1)) < plan->count) {
        Random r;
        uint64_t seed = plan->seed + (uint64_t)i;
        double begin = cpu_seconds();
        set_limits();
        slot->trial = plan->draw(plan->user, seed, &r);
        slot->tally.trials++;
        slot->busy = true;
        bool right = trial_run(&slot->trial, &slot->tally, &r, NULL);
        slot->busy = false;
        measure(&slot->tally, seed, cpu_seconds() - begin);
        if (cpu_seconds() - begin > WORKERS_SLOW) {
            fprintf(stderr, "slow, %.1f s: ", cpu_seconds() - begin);
            trial_print(&slot->trial, stderr);
        }
        if (right)
            continue;
        atomic_fetch_add(&shared->wrong, 1);
        slot->tally.wrong++;
        reduce(slot->trial, &slot->tally);
    }
}

static bool start(const WorkPlan *plan, Shared *shared, Slot *slot)
{
    fflush(stdout);
    slot->busy = false;
    slot->pid = fork();
    if (slot->pid != 0)
        return slot->pid > 0;
    work(plan, shared, slot);
    _exit(0);
}

/* A worker has ended; true if another took its place. */
static bool replace(const WorkPlan *plan, Shared *shared, Slot *slot, int status)
{
    slot->pid = 0;
    if (!WIFSIGNALED(status) || !slot->busy)
        return false;
    bool hung = WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM;
    atomic_fetch_add(&shared->wrong, 1);
    *(hung ? &slot->tally.hung : &slot->tally.crashed) += 1;
    reduce(slot->trial, &slot->tally);
    return start(plan, shared, slot);
}

static void watch(const WorkPlan *plan, Shared *shared, int running)
{
    int status;
    for (pid_t pid; running > 0 && (pid = wait(&status)) > 0;)
        for (int i = 0; i < plan->n; i++)
            if (shared->slots[i].pid == pid && !replace(plan, shared, &shared->slots[i], status))
                running--;
}

bool workers_run(const WorkPlan *plan, Tally *tally)
{
    size_t bytes = sizeof(Shared) + sizeof(Slot) * (size_t)plan->n;
    Shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int running = 0;
    if (shared == MAP_FAILED)
        return false;
    shared->begin = time(NULL);
    for (int i = 0; i < plan->n; i++)
        running += start(plan, shared, &shared->slots[i]);
    watch(plan, shared, running);
    for (int i = 0; i < plan->n; i++)
        tally_add(tally, &shared->slots[i].tally);
    munmap(shared, bytes);
    return running > 0;
}
