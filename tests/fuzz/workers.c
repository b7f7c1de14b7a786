/* workers.c - see workers.h. A worker takes the next seed, leaves the trial in memory that it
 * shares with its parent, and counts in a tally there. However a worker ends before all trials have
 * begun, that is a failure of the trial it was at, and another worker takes its place. A trial that
 * failed is reduced: each attempt runs in one more process, whose end is the answer.
 *
 * Only the parent writes `pid`: parent and child share the memory, so what the child stored could
 * be what is left. */
#define _GNU_SOURCE
#include "fuzz/workers.h"

#include <sched.h>
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

typedef enum {
    PHASE_IDLE,     /* between two trials, or done */
    PHASE_DRAWING,  /* `seed` becomes `trial` */
    PHASE_RUNNING,  /* `trial` is under way */
    PHASE_REDUCING, /* `trial` has failed and is counted */
} Phase;

/* What a process ends with that came to its end: nothing that a library could end it with. */
enum { ENDED_RIGHT = 90, ENDED_WRONG = 91, SHOWN = 1 << 16 };

typedef struct {
    pid_t pid; /* written by the parent only */
    Phase phase;
    uint64_t seed;
    Trial trial;
    Tally tally;
} Slot;

typedef struct {
    atomic_long next;  /* the trial that begins next */
    atomic_long wrong; /* failures so far */
    time_t begin;
    Slot slots[];
} Shared;

/* ---- in a process of its own ----------------------------------------------------------------- */

static struct itimerval timer_of(double seconds)
{
    long whole = (long)seconds;
    return (struct itimerval){
        .it_value = {.tv_sec = whole, .tv_usec = (long)((seconds - (double)whole) * 1e6)}};
}

/* SIGPROF after so many seconds of CPU, SIGALRM after far more by the clock; 0: neither. */
static void set_clocks(double seconds)
{
    struct itimerval used = timer_of(seconds), clock = timer_of(20 * seconds);
    setitimer(ITIMER_PROF, &used, NULL);
    setitimer(ITIMER_REAL, &clock, NULL);
}

/* Those, and allocations that fail. */
static void set_limits(double seconds)
{
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes */
    rlim_t bytes = (rlim_t)WORKERS_MEBIBYTES << 20;
    setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    set_clocks(seconds);
}

static bool is_right(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == ENDED_RIGHT;
}

/* How the steps of a trial end: the status of waitpid. What is wrong goes to `show`. */
static int status_of(const WorkPlan *plan, Trial *t, FILE *show)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        set_limits(plan->limit);
        if (show)
            setvbuf(show, NULL, _IOFBF, SHOWN); /* at once: other processes write there, too */
        static Tally unused;
        bool right = trial_run(t, &unused, NULL, show);
        if (show)
            fflush(show);
        _exit(right ? ENDED_RIGHT : ENDED_WRONG);
    }
    int status = W_EXITCODE(ENDED_RIGHT, 0); /* without a process nothing was found */
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
}

static bool is_hang(int status)
{
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);
}

/* What a trial itself could not say about its end. */
static const char *ending(int status)
{
    if (is_right(status))
        return "it is right when it is made again";
    if (WIFEXITED(status))
        return WEXITSTATUS(status) == ENDED_WRONG ? NULL : "it ends the process";
    return is_hang(status) ? "it does not end" : strsignal(WTERMSIG(status));
}

/* Drops steps while the trial fails, shows what is left, and counts it. */
static void reduce(const WorkPlan *plan, Trial t, Tally *tally)
{
    for (int i = t.n_steps - 1; i >= 0; i--) {
        Trial less = t;
        memmove(less.steps + i, less.steps + i + 1,
                sizeof *less.steps * (size_t)(--less.n_steps - i));
        if (!is_right(status_of(plan, &less, NULL)))
            t = less;
    }
    int status = status_of(plan, &t, stderr);
    if (ending(status)) {
        trial_print(&t, stderr);
        fprintf(stderr, "%s\n", ending(status));
    }
    for (int i = 0; i < t.n_steps; i++)
        tally_of(tally, t.steps[i].primitive)->wrong++;
}

/* ---- workers --------------------------------------------------------------------------------- */

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

/* The next trial: true if it is right. */
static bool try_seed(const WorkPlan *plan, Slot *slot)
{
    Random r;
    double begin = cpu_seconds();
    set_limits(plan->limit);
    slot->tally.trials++;
    slot->phase = PHASE_DRAWING;
    slot->trial = plan->draw(plan->user, slot->seed, &r);
    slot->phase = PHASE_RUNNING;
    bool right = trial_run(&slot->trial, &slot->tally, &r, NULL);
    set_clocks(0);
    measure(&slot->tally, slot->seed, cpu_seconds() - begin);
    if (cpu_seconds() - begin > WORKERS_SLOW) {
        fprintf(stderr, "slow, %.1f s: ", cpu_seconds() - begin);
        trial_print(&slot->trial, stderr);
    }
    *(right ? &slot->tally.right : &slot->tally.wrong) += 1;
    slot->phase = right ? PHASE_IDLE : PHASE_REDUCING;
    return right;
}

/* Keeps a worker to one core: the simulator starts as many threads as there are usable cores, and
 * with dozens of them in each of dozens of workers most of the time went to starting threads. */
static void keep_to_core(int worker)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    int core = 0, n = worker % CPU_COUNT(&all);
    while (!CPU_ISSET(core, &all) || n-- > 0)
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void work(const WorkPlan *plan, Shared *shared, Slot *slot)
{
    long i;
    keep_to_core((int)(slot - shared->slots));
    while (goes_on(plan, shared) && (i = atomic_fetch_add(&shared->next, 1)) < plan->count) {
        slot->seed = plan->seed + (uint64_t)i;
        if (try_seed(plan, slot))
            continue;
        atomic_fetch_add(&shared->wrong, 1);
        reduce(plan, slot->trial, &slot->tally);
        slot->phase = PHASE_IDLE;
    }
}

static bool start(const WorkPlan *plan, Shared *shared, Slot *slot)
{
    fflush(stdout);
    slot->phase = PHASE_IDLE;
    pid_t pid = fork();
    if (pid == 0) {
        work(plan, shared, slot);
        _exit(ENDED_RIGHT);
    }
    slot->pid = pid;
    return pid > 0;
}

/* Counts the trial at which a worker has ended, unless the worker itself had counted it. */
static void count_end(const WorkPlan *plan, Shared *shared, Slot *slot, int status)
{
    if (slot->phase == PHASE_REDUCING)
        return;
    atomic_fetch_add(&shared->wrong, 1);
    *(is_hang(status) ? &slot->tally.hung : &slot->tally.crashed) += 1;
    if (slot->phase == PHASE_RUNNING)
        reduce(plan, slot->trial, &slot->tally);
    else
        fprintf(stderr, "---- seed %llu: a worker ended %s it, with status %d\n",
                (unsigned long long)slot->seed,
                slot->phase == PHASE_DRAWING ? "while it drew" : "after", status);
}

/* A worker has ended; true if another took its place. */
static bool replace(const WorkPlan *plan, Shared *shared, Slot *slot, int status)
{
    slot->pid = 0;
    if (is_right(status) && slot->phase == PHASE_IDLE)
        return false;
    count_end(plan, shared, slot, status);
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
    long ends = tally->right + tally->wrong + tally->crashed + tally->hung;
    bool stopped =
        plan->seconds > 0 || tally->wrong + tally->crashed + tally->hung >= WORKERS_WRONG;
    return ends == tally->trials && (stopped || ends == plan->count);
}
