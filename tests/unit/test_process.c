/* test_process.c - the library in one process for long: many compilations, threads with contexts of
 * their own, and a fork. `test_process --long` compiles a thousand times. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "include/tirc.h"

enum { N = 12, THREADS = 4, WARM_UP = 50 };
/* The C library keeps blocks that were released, at first a few more in each compilation, and then
 * as many. One that is lost in each takes 32 bytes at least, so it is more. */
enum { KEPT = 4096 };

static int compilations = 300;

static const char TEXT[] = "kernel add<N = 12>(x: i32[N], y: i32[N]) -> z: i32[N]\n"
                           "{\n"
                           "    temp sum: i32[N];\n"
                           "    for i in N\n"
                           "        sum[i] = x[i] + y[i];\n"
                           "    for i in N\n"
                           "        z[i] = 2 * sum[i];\n"
                           "}\n"
                           "schedule ours for add() { compute_inline(sum); bind(loops(z)[0], "
                           "blockIdx.x); }\n";

static bool runs_right(tirc *t, tirc_program *program)
{
    int32_t x[N], y[N], z[N], wrong = 0;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 100;
    }
    if (tirc_run(t, program, NULL, (void *[]){x, y, z}))
        return false;
    for (int i = 0; i < N; i++)
        wrong += z[i] != 2 * (i + 100);
    return wrong == 0;
}

static bool compile(tirc *t, tirc_program **program)
{
    tirc_file *file;
    tirc_kernel *kernel;
    tirc_device *device;
    const void *text;
    size_t length;
    return !tirc_parse_text(t, "add.tir", TEXT, strlen(TEXT), &file) &&
           !tirc_resolve(t, file, NULL, NULL, 0, &kernel) &&
           !tirc_apply(t, file, kernel, "ours", NULL, 0, &kernel) &&
           !tirc_lower(t, kernel, NULL, &kernel) &&
           !tirc_emit(t, kernel, TIRC_CUDA, NULL, &text, &length) &&
           !tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device) &&
           !tirc_compile(t, device, kernel, program);
}

/* In a context of its own, which also refuses a program. */
static bool works(void)
{
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    tirc_file *file;
    bool good = t && compile(t, &program) && runs_right(t, program) &&
                tirc_parse_text(t, "bad.tir", "kernel f(", 9, &file) == TIRC_REFUSED;
    if (t)
        tirc_free(t);
    return good;
}

static void *work(void *user)
{
    int *done = user;
    for (int i = 0; i < compilations / THREADS; i++)
        *done += works();
    return NULL;
}

static void many_compilations_take_no_memory(void **state)
{
    (void)state;
    for (int i = 0; i < WARM_UP; i++)
        assert_true(works());
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < compilations; i++)
        assert_true(works());
    assert_true(mallinfo2().uordblks < before + KEPT);
}

static void threads_have_contexts_of_their_own(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int done[THREADS] = {0};
    size_t before = 0;
    for (int round = 0; round < 2; round++) { /* the first one warms up */
        before = mallinfo2().uordblks;
        memset(done, 0, sizeof done);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &done[i]), 0);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(done[i], compilations / THREADS);
        }
    }
    assert_true(mallinfo2().uordblks < before + KEPT);
}

/* A child goes on with the context of its parent, whose other threads it does not have. */
static void a_child_goes_on(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    assert_true(t && compile(t, &program) && runs_right(t, program));
    tirc_prepare(t, TIRC_CUBIN, NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60); /* a lock that nobody opens would be forever */
        bool good = runs_right(t, program) && compile(t, &program) && runs_right(t, program);
        tirc_free(t);
        _exit(good && works() ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(runs_right(t, program));
    tirc_free(t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_compilations_take_no_memory),
        cmocka_unit_test(threads_have_contexts_of_their_own),
        cmocka_unit_test(a_child_goes_on),
    };
    mallopt(M_ARENA_MAX, 1); /* so that mallinfo2 counts what threads allocate */
    if (argc > 1 && !strcmp(argv[1], "--long"))
        compilations = 1000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
