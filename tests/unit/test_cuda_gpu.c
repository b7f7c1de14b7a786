/* The CUDA device on a real GPU. Without one every test says that it is skipped, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/device.h"
#include "scale_module.h"

enum { N = 100003 };

typedef struct {
    Context *ctx;
    Device *d;
    DevicePtr x, y;
} Fixture;

static const char *rendered(Context *ctx)
{
    StrBuf out = strbuf_new(ctx->arena);
    diag_render_all(ctx, DIAG_PLAIN, &out);
    return out.text;
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    if (!f || !(f->ctx = ctx_new(0)))
        return -1;
    f->d = device_open(f->ctx, &(DeviceOptions){.kind = DEVICE_CUDA, .cache_dir = ""});
    if (f->d) {
        f->x = f->d->ops->alloc(f->d, N * sizeof(float));
        f->y = f->d->ops->alloc(f->d, N * sizeof(float));
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    if (f->d) {
        f->d->ops->free(f->d, f->x);
        f->d->ops->free(f->d, f->y);
        f->d->ops->close(f->d);
    }
    ctx_free(f->ctx);
    free(f);
    return 0;
}

/* The device, or the end of the test. */
static Device *need_gpu(Fixture *f)
{
    if (f->d)
        return f->d;
    ErrorCode code = f->ctx->first->code;
    if (code != E0610 && code != E0612 && code != E0613)
        fail_msg("%s", rendered(f->ctx));
    print_message("SKIPPED: this machine has no usable GPU: %s\n", f->ctx->first->message);
    skip();
    return NULL;
}

#define EXPECT(f, condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s:\n%s", #condition, rendered((f)->ctx));                                   \
    } while (0)

static void run_scale(Fixture *f, const Module *module, int64_t size)
{
    const DeviceOps *ops = f->d->ops;
    float alpha = 3, *host = malloc(N * sizeof *host);
    const void *const scalars[] = {&alpha};
    const DevicePtr buffers[] = {f->x, f->y};
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    EXPECT(f, ops->write(f->d, f->x, host, N * sizeof *host));
    EXPECT(f, ops->fill(f->d, f->y, 0xff, N * sizeof *host));
    LoadedModule *m = ops->load(f->d, module);
    EXPECT(f, m);
    EXPECT(f, ops->run(f->d, m, &(RunArguments){&size, scalars, buffers}));
    EXPECT(f, ops->sync(f->d));
    EXPECT(f, ops->read(f->d, host, f->y, N * sizeof *host));
    ops->unload(f->d, m);
    for (int i = 0; i < N; i++)
        if (i < size ? host[i] != 3 * (float)i + 1 : host[i] == host[i])
            fail_msg("y[%d] is %g", i, (double)host[i]);
    free(host);
}

static void describes_the_gpu(void **state)
{
    const DeviceInfo *info = &need_gpu(*state)->info;
    print_message("%s, %s, %d multiprocessors, %d MHz, %lld MiB, L2 %lld KiB, %lld bytes shared\n",
                  info->name, info->arch, info->multiprocessors, info->clock_khz / 1000,
                  (long long)info->memory_bytes >> 20, (long long)info->l2_bytes >> 10,
                  (long long)info->max_shared_per_block);
    assert_true(info->multiprocessors > 0 && info->clock_khz > 0 && info->warp_size == 32);
    assert_true(info->memory_bytes > 1 << 28 && info->l2_bytes > 0);
    assert_true(info->max_shared_per_block >= 48 * 1024);
    assert_true(strncmp(info->name, "CUDA device", 11) != 0);
}

static void runs_a_module(void **state)
{
    Fixture *f = *state;
    need_gpu(f);
    run_scale(f, &MODULE_SCALE, N);
    run_scale(f, &MODULE_SCALE, 1);
    run_scale(f, &MODULE_SCALE, 0);
}

static void runs_with_64_bit_indices(void **state)
{
    Fixture *f = *state;
    need_gpu(f);
    Module module = MODULE_SCALE;
    module.kernels = WIDE_KERNELS;
    module.source =
        "extern \"C\" __global__ void\n"
        "scale(float *y, const float *x, const float alpha, const long long N, const long long t)\n"
        "{\n"
        "    long long i = blockIdx.x * 32ll + threadIdx.x;\n"
        "    if (i < N)\n"
        "        y[i] = alpha * x[i] + t;\n"
        "}\n";
    run_scale(f, &module, N);
}

/* More shared memory than a kernel gets without asking. */
static void runs_with_dynamic_shared_memory(void **state)
{
    Fixture *f = *state;
    need_gpu(f);
    ModuleKernel kernel = KERNELS[0];
    Module module = MODULE_SCALE;
    kernel.shared_dynamic = f->d->info.max_shared_per_block;
    module.kernels = &kernel;
    module.source = "extern \"C\" __global__ void\n"
                    "scale(float *y, const float *x, const float alpha, const int N, const int t)\n"
                    "{\n"
                    "    extern __shared__ __align__(16) unsigned char memory[];\n"
                    "    unsigned size;\n"
                    "    asm(\"mov.u32 %0, %%dynamic_smem_size;\" : \"=r\"(size));\n"
                    "    float *last = (float *)(memory + size) - 32;\n"
                    "    int i = blockIdx.x * 32 + threadIdx.x;\n"
                    "    last[threadIdx.x] = i < N ? x[i] : 0;\n"
                    "    if (i < N)\n"
                    "        y[i] = alpha * last[threadIdx.x] + t;\n"
                    "}\n";
    run_scale(f, &module, N);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void the_cache_saves_compiling(void **state)
{
    Fixture *f = *state;
    need_gpu(f);
    char folder[] = "/tmp/tirc-gpu-XXXXXX", command[64];
    double ms[2];
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        Device *d = device_open(f->ctx, &(DeviceOptions){.kind = DEVICE_CUDA, .cache_dir = folder});
        EXPECT(f, d);
        double begin = now_ms();
        LoadedModule *m = d->ops->load(d, &MODULE_SCALE);
        ms[i] = now_ms() - begin;
        EXPECT(f, m);
        d->ops->unload(d, m);
        d->ops->close(d);
    }
    print_message("load: %.1f ms compiled, %.1f ms from the cache\n", ms[0], ms[1]);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    assert_true(ms[1] < ms[0]);
}

typedef struct {
    Fixture *f;
    LoadedModule *m;
} Running;

static bool run_once(void *user)
{
    const Running *r = user;
    static const int64_t size = N;
    static const float alpha = 3;
    const void *const scalars[] = {&alpha};
    const DevicePtr buffers[] = {r->f->x, r->f->y};
    return r->f->d->ops->run(r->f->d, r->m, &(RunArguments){&size, scalars, buffers});
}

static void measures(void **state)
{
    Fixture *f = *state;
    need_gpu(f);
    Running r = {f, f->d->ops->load(f->d, &MODULE_SCALE)};
    EXPECT(f, r.m);
    for (int cold = 0; cold < 2; cold++) {
        Contender c[2] = {{.name = "a", .run = run_once, .user = &r},
                          {.name = "b", .run = run_once, .user = &r}};
        EXPECT(f, bench_run(f->d, c, 2, &(BenchOptions){.cold_l2 = cold}));
        print_message("two launches, %s: median %.4f and %.4f ms, min %.4f, p95 %.4f, %d runs\n",
                      cold ? "cold" : "warm", c[0].result.median_ms, c[1].result.median_ms,
                      c[0].result.min_ms, c[0].result.p95_ms, c[0].result.runs);
        assert_true(c[0].result.min_ms > 0.001 && c[0].result.median_ms < 1);
    }
    f->d->ops->unload(f->d, r.m);
}

static void refuses_what_does_not_fit(void **state)
{
    Fixture *f = *state;
    Device *d = need_gpu(f);
    assert_int_equal(d->ops->alloc(d, (size_t)1 << 44), 0);
    assert_int_equal(f->ctx->first->code, E0614);
    run_scale(f, &MODULE_SCALE, N); /* and goes on */
}

/* Ends the process's use of the GPU, so a child does it, before any other test has started CUDA. */
static void a_wild_store_is_told(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        Context *ctx = ctx_new(0);
        Device *d = device_open(ctx, &(DeviceOptions){.kind = DEVICE_CUDA, .cache_dir = ""});
        if (!d)
            _exit(77);
        int64_t size = 32;
        float alpha = 1;
        const void *const scalars[] = {&alpha};
        const DevicePtr buffers[] = {64, 64};
        LoadedModule *m = d->ops->load(d, &MODULE_SCALE);
        bool ran =
            m && d->ops->run(d, m, &(RunArguments){&size, scalars, buffers}) && d->ops->sync(d);
        bool told = ctx->n_errors == 1 && ctx->first->code == E0615 &&
                    strstr(rendered(ctx), "--device sim");
        d->ops->unload(d, m);
        d->ops->close(d);
        _exit(m && !ran && told && ctx->n_errors == 1 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("SKIPPED: this machine has no usable GPU\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wild_store_is_told),
        TEST(describes_the_gpu),
        TEST(runs_a_module),
        TEST(runs_with_64_bit_indices),
        TEST(runs_with_dynamic_shared_memory),
        TEST(the_cache_saves_compiling),
        TEST(measures),
        TEST(refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
