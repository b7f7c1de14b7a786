/* NVRTC without a GPU: machine code and PTX, and what a user reads when something is wrong.  The
 * first test says loudly when there is no NVRTC; those that need it are then skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda/nvrtc.h"

static const char KERNEL[] = "extern \"C\" __global__ void twice(float *x, int n)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n)\n"
                             "        x[i] *= 2;\n"
                             "}\n";

static int set_up(void **state)
{
    *state = ctx_new(0);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    ctx_free(*state);
    return 0;
}

static void need_nvrtc(Context *ctx)
{
    NvrtcApi api;
    DiagMark mark = diag_mark(ctx);
    if (nvrtc_load(ctx, &api))
        return;
    diag_forget(ctx, mark);
    print_message("SKIPPED: no usable libnvrtc on this machine; install nvidia-cuda-nvrtc to run "
                  "this test\n");
    skip();
}

/* All diagnostics as the command prints them. */
static const char *rendered(Context *ctx)
{
    StrBuf out = strbuf_new(ctx->arena);
    diag_render_all(ctx, DIAG_PLAIN, &out);
    return out.text;
}

static void expect_text(Context *ctx, const char *part)
{
    if (!strstr(rendered(ctx), part))
        fail_msg("expected '%s' in:\n%s", part, rendered(ctx));
}

static bool compile(Context *ctx, const char *source, const char *arch, NvrtcKind kind,
                    const void **image, size_t *bytes)
{
    return nvrtc_compile(
        ctx,
        &(NvrtcRequest){
            .source = source, .name = "twice", .arch = arch, .kind = kind, .lines = NVRTC_PLAIN},
        image, bytes);
}

static void makes_machine_code(void **state)
{
    Context *ctx = *state;
    const void *image = NULL;
    size_t bytes = 0;
    need_nvrtc(ctx);
    assert_true(compile(ctx, KERNEL, "sm_90a", NVRTC_CUBIN, &image, &bytes));
    assert_true(bytes > 500);
    assert_memory_equal(image, "\177ELF", 4);
    assert_true(compile(ctx, KERNEL, "compute_90a", NVRTC_CUBIN, &image, &bytes));
    assert_memory_equal(image, "\177ELF", 4);
    assert_int_equal(ctx->n_errors, 0);
}

static void makes_ptx(void **state)
{
    Context *ctx = *state;
    const void *image = NULL;
    size_t bytes = 0;
    need_nvrtc(ctx);
    assert_true(compile(ctx, KERNEL, "compute_90a", NVRTC_PTX, &image, &bytes));
    assert_int_equal(strlen(image), bytes);
    assert_non_null(strstr(image, ".target sm_90a"));
    assert_non_null(strstr(image, ".entry twice("));
    assert_true(compile(ctx, KERNEL, "sm_90a", NVRTC_PTX, &image, &bytes));
    assert_non_null(strstr(image, ".target sm_90a"));
}

static void shows_errors_against_the_source(void **state)
{
    Context *ctx = *state;
    const void *image;
    size_t bytes;
    need_nvrtc(ctx);
    assert_false(compile(
        ctx, "extern \"C\" __global__ void twice(float *x)\n{\n    x[0] = y;\n    z();\n}\n",
        "sm_90a", NVRTC_CUBIN, &image, &bytes));
    assert_int_equal(ctx->n_errors, 1);
    assert_int_equal(ctx->first->code, E0604);
    expect_text(ctx, "identifier \"y\" is undefined");
    expect_text(ctx, "identifier \"z\" is undefined");
    expect_text(ctx, "twice.cu:3:5");
    expect_text(ctx, "x[0] = y;");
    expect_text(ctx, "twice.cu:4:5");
    expect_text(ctx, "this is a bug in tirc");
}

/* ptxas has no line to show. */
static void shows_errors_of_the_assembler(void **state)
{
    Context *ctx = *state;
    const void *image;
    size_t bytes;
    need_nvrtc(ctx);
    assert_false(compile(ctx,
                         "extern \"C\" __global__ void twice()\n{\n"
                         "    asm volatile(\"nothing.of.the.kind;\");\n}\n",
                         "sm_90", NVRTC_CUBIN, &image, &bytes));
    assert_int_equal(ctx->first->code, E0604);
    expect_text(ctx, "nothing");
    expect_text(ctx, "this is a bug in tirc");
}

/* Each has another message of ptxas. */
static void refuses_what_an_architecture_lacks(void **state)
{
    static const char *const cases[][3] = {
        {"wgmma.fence.sync.aligned;", "sm_90", "'wgmma.fence' not supported on .target"},
        {"wgmma.fence.sync.aligned;", "sm_100", "'wgmma.fence' not supported on .target"},
        {"cp.async.wait_all;", "sm_75", "requires .target sm_80 or higher"},
    };
    Context *ctx = *state;
    const void *image;
    size_t bytes;
    need_nvrtc(ctx);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        DiagMark mark = diag_mark(ctx);
        const char *source = arena_printf(
            ctx->arena, "extern \"C\" __global__ void twice()\n{\n    asm volatile(\"%s\");\n}\n",
            cases[i][0]);
        assert_false(compile(ctx, source, cases[i][1], NVRTC_CUBIN, &image, &bytes));
        assert_int_equal(ctx->first->code, E0607);
        assert_int_equal(ctx->n_errors, 1);
        expect_text(ctx, arena_printf(ctx->arena,
                                      "'twice.cu' uses what '%s' does not have: ", cases[i][1]));
        expect_text(ctx, cases[i][2]);
        diag_forget(ctx, mark);
    }
}

static void refuses_architectures(void **state)
{
    static const char *const wrong[] = {"",      "sm_",     "sm_9",   "90a",    "sm_90b", "sm_90aa",
                                        "SM_90", "sm_9000", "sm_ 90", "sm_-90", "volta"};
    Context *ctx = *state;
    const void *image;
    size_t bytes;
    need_nvrtc(ctx);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        DiagMark mark = diag_mark(ctx);
        assert_false(compile(ctx, KERNEL, wrong[i], NVRTC_CUBIN, &image, &bytes));
        assert_int_equal(ctx->first->code, E0606);
        diag_forget(ctx, mark);
    }
    assert_false(compile(ctx, KERNEL, "sm_20", NVRTC_CUBIN, &image, &bytes));
    assert_int_equal(ctx->first->code, E0603);
    expect_text(ctx, "does not support 'sm_20'; it supports sm_ ");
}

static void refuses_clusters_before_sm_90(void **state)
{
    static const char *const source =
        "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) pairs() {}";
    Context *ctx = *state;
    const void *image;
    size_t bytes;
    need_nvrtc(ctx);
    assert_true(compile(ctx, source, "sm_90a", NVRTC_CUBIN, &image, &bytes));
    assert_false(compile(ctx, source, "sm_80", NVRTC_CUBIN, &image, &bytes));
    assert_int_equal(ctx->first->code, E0607);
}

static void reads_every_form_of_log(void **state)
{
    Context *ctx = *state;
    NvrtcJob job = {"a\n  b  \n\nc", "k.cu", "sm_90a", NVRTC_CUBIN, false};
    nvrtc_report_log(ctx, &job,
                     "k.cu(1): warning #177-D: variable was declared but never referenced\n"
                     "k.cu(2): error: first: with a colon\n\n"
                     "k.cu(4): catastrophic error: second\n"
                     "k.cu(99): error: beyond the end\n"
                     "k.cu(0): error: before the start\n"
                     "k.cu(: error: no line\n"
                     "ptxas error   : third\n"
                     "2 errors detected in the compilation of \"k.cu\".\n");
    assert_int_equal(ctx->n_errors, 1);
    expect_text(ctx, "k.cu:2:3");
    expect_text(ctx, "first: with a colon");
    expect_text(ctx, "k.cu:4:1");
    expect_text(ctx, "beyond the end");
    expect_text(ctx, "before the start");
    expect_text(ctx, "ptxas error   : third");
    assert_null(strstr(rendered(ctx), "warning #177"));
    assert_null(strstr(rendered(ctx), "no line"));
}

static void long_and_empty_logs(void **state)
{
    Context *ctx = *state;
    NvrtcJob job = {"", "k.cu", "sm_90a", NVRTC_CUBIN, false};
    StrBuf log = strbuf_new(ctx->arena);
    for (int i = 0; i < 50; i++)
        strbuf_addf(&log, "k.cu(1): error: number %d\n", i);
    nvrtc_report_log(ctx, &job, log.text);
    expect_text(ctx, "number 9");
    expect_text(ctx, "and 40 more");
    assert_null(strstr(rendered(ctx), "number 10"));
    nvrtc_report_log(ctx, &job, "");
    expect_text(ctx, "no reason given");
    nvrtc_report_log(ctx, &job, "something else");
    expect_text(ctx, "something else");
}

/* ---- getting ready --------------------------------------------------------------------------- */

/* A compilation that begins while the thread is at work is right, and so is one after it. */
static void warms_up_beside_others(void **state)
{
    Context *ctx = *state;
    const void *images[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    need_nvrtc(ctx);
    NvrtcWarmup *w = nvrtc_warmup_begin("sm_90a");
    assert_non_null(w);
    assert_true(compile(ctx, KERNEL, "sm_90a", NVRTC_CUBIN, &images[0], &bytes[0]));
    nvrtc_warmup_end(w);
    assert_true(compile(ctx, KERNEL, "sm_90a", NVRTC_CUBIN, &images[1], &bytes[1]));
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(images[0], images[1], bytes[0]);
}

/* What is missing or wrong is said where something is compiled. */
static void warms_up_in_silence(void **state)
{
    (void)state;
    setenv("TIRC_NVRTC", "/nowhere/libnvrtc.so.13", 1);
    nvrtc_warmup_end(nvrtc_warmup_begin("sm_90a"));
    unsetenv("TIRC_NVRTC");
    nvrtc_warmup_end(
        nvrtc_warmup_begin("no architecture, and a name that is longer than any of them is"));
    nvrtc_warmup_end(NULL);
}

/* ---- finding the library --------------------------------------------------------------------- */

static void a_named_file_that_is_missing(void **state)
{
    Context *ctx = *state;
    NvrtcApi api;
    setenv("TIRC_NVRTC", "/nowhere/libnvrtc.so.13", 1);
    assert_false(nvrtc_load(ctx, &api));
    unsetenv("TIRC_NVRTC");
    assert_int_equal(ctx->first->code, E0602);
    expect_text(ctx, "/nowhere/libnvrtc.so.13");
    expect_text(ctx, "pip install nvidia-cuda-nvrtc");
    expect_text(ctx, "--emit cuda and --device sim work without it");
}

static void a_named_file_that_is_another_library(void **state)
{
    Context *ctx = *state;
    NvrtcApi api;
    setenv("TIRC_NVRTC", "libm.so.6", 1);
    assert_false(nvrtc_load(ctx, &api));
    unsetenv("TIRC_NVRTC");
    assert_int_equal(ctx->first->code, E0602);
    expect_text(ctx, "'libm.so.6' has no function 'nvrtcGetErrorString'");
}

/* The search goes through an environment's packages, and its failure lists the places. */
static void packages_of_python_are_found(void **state)
{
    Context *ctx = *state;
    char root[] = "/tmp/tirc-[venv]-XXXXXX", command[1024], path[256];
    LibrarySearch search = {.ctx = ctx, .stem = "tircprobe", .variable = "TIRC_PROBE"};
    assert_non_null(mkdtemp(root));
    setenv("VIRTUAL_ENV", root, 1);
    assert_null(library_find(&search));
    assert_null(search.failure);
    assert_non_null(strstr(search.searched.text, "venv"));
    assert_non_null(strstr(search.searched.text, "/usr/local/cuda/lib64"));
    assert_non_null(strstr(search.searched.text, "libtircprobe.so.16 to .12"));

    snprintf(path, sizeof path, "%s/lib/python3.12/site-packages/nvidia/cu13/lib", root);
    snprintf(command, sizeof command, "mkdir -p '%s' && : > '%s/libtircprobe.so.13'", path, path);
    assert_int_equal(system(command), 0);
    assert_null(library_find(&search)); /* an empty file is no library */
    assert_non_null(search.failure);

    snprintf(command, sizeof command,
             "echo 'int tirc_probe(void) { return 7; }' | cc -x c -shared -fPIC -o "
             "'%s/libtircprobe.so.12' - "
             "&& rm '%s/libtircprobe.so.13'",
             path, path);
    if (system(command) == 0) {
        assert_non_null(library_find(&search));
        assert_non_null(strstr(search.path, "/nvidia/cu13/lib/libtircprobe.so.12"));
    }
    unsetenv("VIRTUAL_ENV");
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(makes_machine_code),
        TEST(makes_ptx),
        TEST(shows_errors_against_the_source),
        TEST(shows_errors_of_the_assembler),
        TEST(refuses_what_an_architecture_lacks),
        TEST(refuses_architectures),
        TEST(refuses_clusters_before_sm_90),
        TEST(reads_every_form_of_log),
        TEST(long_and_empty_logs),
        TEST(warms_up_beside_others),
        TEST(warms_up_in_silence),
        TEST(a_named_file_that_is_missing),
        TEST(a_named_file_that_is_another_library),
        TEST(packages_of_python_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
