/* twins.c - generated kernels beside hand-written kernels of the same design, in one interleaved
 * run on one GPU.
 *
 * A twin has the signature and the launch of the generated kernel, so it runs as the same module
 * with another source. Both are verified before they are timed; the table shows medians with a cold
 * L2 and the ratio of the two. Prints "SKIPPED: " where there is no GPU. Exit status 1 if a result
 * is wrong or a ratio falls below the argument (default 0.97). */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "codegen/cuda/cuda.h"
#include "frontend/script/script.h"
#include "frontend/syntax/parse.h"
#include "passes/lower/lower.h"
#include "runtime/measure/verify.h"

static const char matmul_twin[] =
    "extern \"C\" __global__ void __launch_bounds__(1024)\n"
    "matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)\n"
    "{\n"
    "    __shared__ float a[32][32], b[32][32];\n"
    "    int ty = threadIdx.y, tx = threadIdx.x, r = blockIdx.y * 32 + ty, c = blockIdx.x * 32 + "
    "tx;\n"
    "    float s = 0;\n"
    "    for (int p = 0; p < N / 32; p++) {\n"
    "        a[ty][tx] = A[r * N + p * 32 + tx];\n"
    "        b[ty][tx] = B[(p * 32 + ty) * N + c];\n"
    "        __syncthreads();\n"
    "        #pragma unroll\n"
    "        for (int k = 0; k < 32; k++)\n"
    "            s += a[ty][k] * b[k][tx];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    C[r * N + c] = s;\n"
    "}\n";

/* 4 x 8 threads with 8 x 4 elements each: TVM's step 3, which adds to C in memory, ... */
static const char step3_twin[] =
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)\n"
    "{\n"
    "    __shared__ float a[32][32], b[32][32];\n"
    "    int lane = threadIdx.y * 4 + threadIdx.x;\n"
    "    int r = blockIdx.x * 32 + threadIdx.x * 8, c = blockIdx.y * 32 + threadIdx.y * 4;\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        for (int j = 0; j < 4; j++)\n"
    "            C[(r + i) * N + c + j] = 0;\n"
    "    for (int p = 0; p < N / 32; p++) {\n"
    "        for (int i = 0; i < 32; i++)\n"
    "            a[i][lane] = A[(blockIdx.x * 32 + i) * N + p * 32 + lane];\n"
    "        for (int i = 0; i < 32; i++)\n"
    "            b[i][lane] = B[(p * 32 + i) * N + blockIdx.y * 32 + lane];\n"
    "        __syncthreads();\n"
    "        for (int k = 0; k < 32; k++)\n"
    "            for (int i = 0; i < 8; i++)\n"
    "                for (int j = 0; j < 4; j++)\n"
    "                    C[(r + i) * N + c + j] += a[threadIdx.x * 8 + i][k] * b[k][threadIdx.y * "
    "4 + j];\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n";

/* ... and the same with sums in registers, step 4. */
static const char step4_twin[] =
    "extern \"C\" __global__ void __launch_bounds__(32)\n"
    "matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)\n"
    "{\n"
    "    __shared__ float a[32][32], b[32][32];\n"
    "    int lane = threadIdx.y * 4 + threadIdx.x;\n"
    "    int r = blockIdx.x * 32 + threadIdx.x * 8, c = blockIdx.y * 32 + threadIdx.y * 4;\n"
    "    float s[8][4] = {};\n"
    "    for (int p = 0; p < N / 32; p++) {\n"
    "        for (int i = 0; i < 32; i++)\n"
    "            a[i][lane] = A[(blockIdx.x * 32 + i) * N + p * 32 + lane];\n"
    "        for (int i = 0; i < 32; i++)\n"
    "            b[i][lane] = B[(p * 32 + i) * N + blockIdx.y * 32 + lane];\n"
    "        __syncthreads();\n"
    "        for (int k = 0; k < 32; k++)\n"
    "            for (int i = 0; i < 8; i++)\n"
    "                for (int j = 0; j < 4; j++)\n"
    "                    s[i][j] += a[threadIdx.x * 8 + i][k] * b[k][threadIdx.y * 4 + j];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        for (int j = 0; j < 4; j++)\n"
    "            C[(r + i) * N + c + j] = s[i][j];\n"
    "}\n";

static const char transpose_twin[] =
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "transpose(const float *__restrict__ in, float *__restrict__ out)\n"
    "{\n"
    "    __shared__ float t[32][33];\n"
    "    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;\n"
    "    #pragma unroll\n"
    "    for (int j = 0; j < 32; j += 8)\n"
    "        if (x < N && y + j < N)\n"
    "            t[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * N + x];\n"
    "    __syncthreads();\n"
    "    x = blockIdx.y * 32 + threadIdx.x;\n"
    "    y = blockIdx.x * 32 + threadIdx.y;\n"
    "    #pragma unroll\n"
    "    for (int j = 0; j < 32; j += 8)\n"
    "        if (x < N && y + j < N)\n"
    "            out[(size_t)(y + j) * N + x] = t[threadIdx.x][threadIdx.y + j];\n"
    "}\n";

typedef struct {
    const char *file, *schedule, *twin, *define[3];
    int n, n_define;
    double work; /* flops or bytes of one run, for the unit */
    const char *unit;
} Pair;

typedef struct {
    Device *device;
    LoadedModule *loaded;
    const RunArguments *arguments;
} Side;

static bool run_side(void *user)
{
    Side *side = user;
    return side->device->ops->run(side->device, side->loaded, side->arguments);
}

/* The generated module and its reference. */
static Module *build(Context *c, const Pair *p, Module **reference)
{
    SizeOverride defines[3];
    FoundSchedule found;
    uint32_t source = script_read_file(c, p->file, span_none());
    AstFile *file = source ? parse_text(c, source) : NULL;
    for (int i = 0; i < p->n_define; i++)
        if (!size_override_parse(c, p->define[i], &defines[i]))
            return NULL;
    Kernel *program = file ? resolve_kernel(c, file->kernels[0], defines, p->n_define) : NULL;
    if (!program || !script_find(c, file, program->name, p->schedule, &found))
        return NULL;
    Schedule *schedule = script_run(c, program, &found, NULL, 0);
    LowerOptions options = {.limits = limits_default()};
    Kernel *lowered = schedule ? lower_kernel(c, schedule_kernel(schedule), &options) : NULL;
    if (!lowered)
        return NULL;
    StrBuf cuda = strbuf_new(c->arena);
    cuda_emit(c, lowered, &cuda, NULL);
    *reference = module_build(c, reference_kernel_sampled(c, program), NULL);
    return module_build(c, lowered, cuda.text);
}

static bool verified(Device *d, const Module *m, LoadedModule *loaded, Workload *w,
                     const Module *reference, const char *name)
{
    VerifyOptions options = {.wanted = 0};
    VerifyResult result;
    options.wanted = verify_sample_size(2, VERIFY_SAMPLES);
    bool ok = workload_reset(w) && d->ops->run(d, loaded, workload_arguments(w)) &&
              d->ops->sync(d) &&
              verify_run(d, &(VerifyRun){.module = m, .workload = w, .reference = reference},
                         &options, &result);
    if (ok && !result.ok) {
        StrBuf text = strbuf_new(d->ctx->arena);
        verify_describe(&result, &text);
        printf("%s is wrong: %s\n", name, text.text);
    }
    return ok && result.ok;
}

/* Both verified and timed: the ratio twin / generated of the medians; negative on failure. */
static double compare(Device *d, const Pair *p)
{
    Context *c = d->ctx;
    Module *reference = NULL, *generated = build(c, p, &reference);
    if (!generated || !reference)
        return -1;
    Module twin = *generated;
    twin.source = arena_printf(c->arena, "#define N %d\n%s", p->n, p->twin);
    int64_t *sizes = ARENA_ARRAY(c->arena, int64_t, generated->n_sizes + 1);
    for (int i = 0; i < generated->n_sizes; i++)
        sizes[i] = generated->sizes[i].value;
    Workload *w = workload_new(d, generated, sizes, 1);
    LoadedModule *a = w ? d->ops->load(d, generated) : NULL, *b = a ? d->ops->load(d, &twin) : NULL;
    double ratio = -1;
    if (b && verified(d, generated, a, w, reference, "the generated kernel") &&
        verified(d, &twin, b, w, reference, "the twin")) {
        Side sides[2] = {{d, a, workload_arguments(w)}, {d, b, workload_arguments(w)}};
        Contender contenders[2] = {{.name = "tirc", .run = run_side, .user = &sides[0]},
                                   {.name = "hand-written", .run = run_side, .user = &sides[1]}};
        BenchOptions options = {.cold_l2 = true};
        if (bench_run(d, contenders, 2, &options)) {
            double x = contenders[0].result.median_ms, y = contenders[1].result.median_ms;
            ratio = y / x;
            printf(
                "%-34s %-9s %9.4f ms %9.1f %s   twin %9.4f ms %9.1f %s   ratio %.3f  (%d runs)\n",
                p->file, p->schedule, x, p->work / x / 1e6, p->unit, y, p->work / y / 1e6, p->unit,
                ratio, contenders[0].result.runs);
        }
    }
    if (a)
        d->ops->unload(d, a);
    if (b)
        d->ops->unload(d, b);
    workload_free(w);
    return ratio;
}

static int compare_all(Context *c, double least)
{
    static const Pair pairs[] = {
        {"examples/matmul/matmul.tir",
         "tiled32",
         matmul_twin,
         {"M=1024", "N=1024", "K=1024"},
         1024,
         3,
         2.0 * 1024 * 1024 * 1024,
         "GFLOP/s"},
        {"examples/matmul/matmul.tir",
         "tiled32",
         matmul_twin,
         {"M=4096", "N=4096", "K=4096"},
         4096,
         3,
         2.0 * 4096 * 4096 * 4096,
         "GFLOP/s"},
        {"examples/matmul/matmul.tir",
         "tvm_step3",
         step3_twin,
         {"M=1024", "N=1024", "K=1024"},
         1024,
         3,
         2.0 * 1024 * 1024 * 1024,
         "GFLOP/s"},
        {"examples/matmul/matmul.tir",
         "tvm_step3",
         step3_twin,
         {"M=4096", "N=4096", "K=4096"},
         4096,
         3,
         2.0 * 4096 * 4096 * 4096,
         "GFLOP/s"},
        {"examples/matmul/matmul.tir",
         "tvm_step4",
         step4_twin,
         {"M=4096", "N=4096", "K=4096"},
         4096,
         3,
         2.0 * 4096 * 4096 * 4096,
         "GFLOP/s"},
        {"examples/transpose/transpose.tir",
         "padded",
         transpose_twin,
         {"R=4096", "C=4096"},
         4096,
         2,
         8.0 * 4096 * 4096,
         "GB/s"},
        {"examples/transpose/transpose.tir",
         "padded",
         transpose_twin,
         {"R=16384", "C=16384"},
         16384,
         2,
         8.0 * 16384 * 16384,
         "GB/s"},
    };
    DeviceOptions options = {.kind = DEVICE_CUDA};
    Device *d = device_open(c, &options);
    if (!d) {
        printf("SKIPPED: no GPU\n");
        return 0;
    }
    int failures = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        failures += !(compare(d, &pairs[i]) >= least); /* also where it is no number */
    d->ops->close(d);
    if (c->n_errors) {
        StrBuf text = strbuf_new(c->arena);
        diag_render_all(c, DIAG_PLAIN, &text);
        printf("%s", text.text);
    }
    printf("%d of %zu below %.2f\n", failures, sizeof pairs / sizeof *pairs, least);
    return failures != 0;
}

int main(int argc, char **argv)
{
    Context *c = ctx_new(0);
    jmp_buf guard;
    c->guard = &guard;
    if (setjmp(guard)) {
        printf("%s\n", c->fatal_message);
        return 1;
    }
    int status = compare_all(c, argc > 1 ? atof(argv[1]) : 0.97);
    ctx_free(c);
    return status;
}
