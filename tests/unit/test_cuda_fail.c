/* The CUDA device without a GPU: what it passes to CUDA's functions, and that each of them may fail
 * at any moment without a crash, a leak or silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "cuda_fake.h"
#include "runtime/cuda/tensor_map.h"
#include "scale_module.h"

enum { N = 100 };

typedef struct {
    Context *ctx;
    Device *device;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    fake_reset();
    if (!f || !(f->ctx = ctx_new(0)))
        return -1;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    if (f->device)
        f->device->ops->close(f->device);
    ctx_free(f->ctx);
    free(f);
    return fake.live;
}

static Device *open_fake(Context *ctx, const char *arch, const char *cache)
{
    CudaApi api = fake_api();
    DeviceOptions options = {.kind = DEVICE_CUDA, .ordinal = 1, .arch = arch, .cache_dir = cache};
    return cuda_open_with(ctx, &options, &api);
}

static Device *opened(Fixture *f)
{
    f->device = open_fake(f->ctx, NULL, "");
    assert_non_null(f->device);
    return f->device;
}

static void expect_error(Fixture *f, ErrorCode code, const char *part)
{
    StrBuf out = strbuf_new(f->ctx->arena);
    diag_render_all(f->ctx, DIAG_PLAIN, &out);
    if (!f->ctx->first || f->ctx->first->code != code || !strstr(out.text, part))
        fail_msg("expected %s with '%s' in:\n%s", error_info(code)->id, part, out.text);
}

/* ---- a whole life ---------------------------------------------------------------------------- */

static bool use_buffers(Device *d, LoadedModule *m, DevicePtr x, DevicePtr y, float *result)
{
    const DeviceOps *ops = d->ops;
    float input[N], alpha = 2;
    for (int i = 0; i < N; i++)
        input[i] = (float)i;
    const int64_t sizes[] = {N};
    const void *const scalars[] = {&alpha};
    const DevicePtr buffers[] = {x, y};
    RunArguments args = {sizes, scalars, buffers};
    double ms = 0;
    return ops->write(d, x, input, sizeof input) && ops->fill(d, y, 0xff, sizeof input) &&
           ops->flush_l2(d) && ops->mark(d, 0) && ops->run(d, m, &args) && ops->mark(d, 1) &&
           ops->elapsed(d, &ms) && ms == 0.25 && ops->sync(d) &&
           ops->read(d, result, y, sizeof input) && ops->read(d, NULL, y, 0);
}

/* Everything that a device does, once. */
static bool live_once(Context *ctx, const char *cache, float *result)
{
    Device *d = open_fake(ctx, NULL, cache);
    if (!d)
        return false;
    DevicePtr x = d->ops->alloc(d, N * sizeof(float));
    DevicePtr y = x ? d->ops->alloc(d, N * sizeof(float)) : 0;
    LoadedModule *m = y ? d->ops->load(d, &MODULE_SCALE) : NULL;
    bool ok = m && use_buffers(d, m, x, y, result);
    d->ops->unload(d, m);
    if (y)
        d->ops->free(d, y);
    if (x)
        d->ops->free(d, x);
    d->ops->close(d);
    return ok;
}

static void a_device_runs_a_module(void **state)
{
    Fixture *f = *state;
    float result[N];
    assert_true(live_once(f->ctx, "", result));
    for (int i = 0; i < N; i++)
        assert_true(result[i] == 2 * (float)i + 1); /* the second launch, t = 1 */
    assert_int_equal(fake.live, 0);
    assert_int_equal(fake.launches, 2);
    assert_int_equal(fake.grid.x, 4);
    assert_int_equal(fake.grid.y * fake.grid.z, 1);
    assert_int_equal(fake.block.x, 32);
    assert_string_equal(fake.option, "--gpu-architecture=sm_90a");
    assert_int_equal(f->ctx->n_errors, 0);
}

/* Whose failure is nobody's business: the device goes on without what they give. */
static bool may_fail(const char *name)
{
    static const char *const names[] = {"fake_cuDeviceGet", "fake_cuDeviceGetName"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Whose failure is told though the work was done. */
static bool is_release(const char *name)
{
    return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "Unload");
}

static void fail_each_call(int failure, bool sticky)
{
    for (int n = 1;; n++) {
        float result[N];
        fake_reset();
        fake.fail_at = n;
        fake.failure = failure;
        fake.sticky = sticky;
        Context *ctx = ctx_new(0);
        bool ok = live_once(ctx, "", result);
        assert_int_equal(fake.live, 0);
        if (!fake.failed) {
            assert_true(n > 40); /* all have had their turn */
            assert_true(ok);
            ctx_free(ctx);
            return;
        }
        bool releasing =
            is_release(fake.failed) && strcmp(fake.failed, "fake_nvrtcDestroyProgram") != 0;
        bool closing = strcmp(fake.failed, "fake_cudaSetDevice") == 0 && ok;
        if (may_fail(fake.failed) && !sticky) {
            assert_true(ok);
            assert_int_equal(ctx->n_errors, 0);
        } else if (ctx->n_errors == 0 || (ok && !releasing && !closing)) {
            fail_msg("call %d, %s: %d errors, result %d", n, fake.failed, ctx->n_errors, ok);
        }
        ctx_free(ctx);
    }
}

static void any_call_may_fail(void **state)
{
    (void)state;
    fail_each_call(999, false);
    fail_each_call(CUDA_ERROR_MEMORY, false);
    fail_each_call(CUDA_ERROR_ILLEGAL_ADDRESS, false);
}

static void all_calls_may_fail_from_one_on(void **state)
{
    (void)state;
    fail_each_call(999, true);
    fail_each_call(CUDA_ERROR_MEMORY, true);
    fail_each_call(CUDA_ERROR_ILLEGAL_ADDRESS, true);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void describes_the_gpu(void **state)
{
    const DeviceInfo *info = &opened(*state)->info;
    assert_string_equal(info->name, "Fake GPU 1");
    assert_int_equal(info->kind, DEVICE_CUDA);
    assert_string_equal(info->arch, "sm_90a");
    assert_int_equal(info->multiprocessors, 132);
    assert_int_equal(info->memory_bytes, 128 << 20);
    assert_int_equal(info->l2_bytes, 1 << 16);
    assert_int_equal(info->max_shared_per_block, 227 * 1024);
    assert_int_equal(info->warp_size, 32);
}

static void names_other_architectures_plainly(void **state)
{
    Fixture *f = *state;
    fake.major = 12;
    fake.minor = 1;
    assert_string_equal(opened(f)->info.arch, "sm_121");
    assert_null(open_fake(f->ctx, "an architecture with a long name", ""));
    expect_error(f, E0606, "that of this GPU is 'sm_121'");
}

static void no_driver(void **state)
{
    Fixture *f = *state;
    fake.count_status = CUDA_ERROR_OLD_DRIVER;
    fake.driver_version = 0;
    assert_null(open_fake(f->ctx, NULL, ""));
    expect_error(f, E0612, "there is no NVIDIA driver");
}

static void an_old_driver(void **state)
{
    Fixture *f = *state;
    fake.count_status = CUDA_ERROR_OLD_DRIVER;
    fake.driver_version = 12040;
    assert_null(open_fake(f->ctx, NULL, ""));
    expect_error(f, E0612,
                 "supports CUDA up to 12.4, but 'libfakert.so' is the runtime of CUDA 13.0");
}

static void no_gpu(void **state)
{
    Fixture *f = *state;
    fake.count_status = CUDA_ERROR_NO_DEVICE;
    assert_null(open_fake(f->ctx, NULL, ""));
    expect_error(f, E0613, "lists no GPU");
}

static void too_few_gpus(void **state)
{
    Fixture *f = *state;
    fake.devices = 1;
    assert_null(open_fake(f->ctx, NULL, ""));
    expect_error(f, E0613, "unknown GPU number 1; the driver lists 1");
}

/* ---- choosing, with the libraries that this machine has -------------------------------------- */

static void auto_always_finds_a_device(void **state)
{
    Fixture *f = *state;
    f->device = device_open(f->ctx, &(DeviceOptions){.kind = DEVICE_AUTO, .cache_dir = ""});
    assert_non_null(f->device);
    assert_int_equal(f->ctx->n_errors, 0);
    if (f->device->info.kind == DEVICE_SIM)
        assert_int_equal(f->ctx->n_warnings, 0);
}

static void auto_warns_of_a_broken_library(void **state)
{
    Fixture *f = *state;
    setenv("TIRC_CUDART", "libm.so.6", 1);
    f->device = device_open(f->ctx, &(DeviceOptions){.kind = DEVICE_AUTO});
    unsetenv("TIRC_CUDART");
    assert_non_null(f->device);
    assert_int_equal(f->device->info.kind, DEVICE_SIM);
    assert_int_equal(f->ctx->n_errors, 0);
    assert_int_equal(f->ctx->n_warnings, 1);
    expect_error(f, E0611, "'libm.so.6' has no function");
    expect_error(f, E0611, "the simulator is used instead");
}

static void cuda_says_why_not(void **state)
{
    Fixture *f = *state;
    setenv("TIRC_CUDART", "/nowhere/libcudart.so.13", 1);
    assert_null(device_open(f->ctx, &(DeviceOptions){.kind = DEVICE_CUDA}));
    unsetenv("TIRC_CUDART");
    expect_error(f, E0611, "/nowhere/libcudart.so.13");
    expect_error(f, E0611, "pip install nvidia-cuda-runtime");
}

/* ---- memory and loading ---------------------------------------------------------------------- */

static void no_memory(void **state)
{
    Fixture *f = *state;
    Device *d = opened(f);
    assert_int_equal(d->ops->alloc(d, (size_t)200 << 20), 0);
    expect_error(f, E0614,
                 "cannot allocate 200.0 MiB on 'Fake GPU 1': 3.0 of its 128.0 MiB are free");
}

static void empty_buffers_have_an_address(void **state)
{
    Device *d = opened(*state);
    DevicePtr p = d->ops->alloc(d, 0);
    assert_true(p != 0);
    assert_true(d->ops->write(d, p, NULL, 0) && d->ops->fill(d, p, 1, 0));
    d->ops->free(d, p);
}

static void flushing_writes_twice_the_cache(void **state)
{
    Device *d = opened(*state);
    assert_true(d->ops->flush_l2(d) && d->ops->flush_l2(d));
    assert_int_equal(fake.flushed, 2 << 16);
}

static void compiled_code_is_cached(void **state)
{
    Fixture *f = *state;
    char folder[] = "/tmp/tirc-cuda-XXXXXX", command[64];
    float result[N];
    assert_non_null(mkdtemp(folder));
    assert_true(live_once(f->ctx, folder, result));
    assert_true(live_once(f->ctx, folder, result));
    assert_int_equal(fake.compiles, 1);
    Device *d = open_fake(f->ctx, "sm_80", folder); /* another key */
    LoadedModule *m = d->ops->load(d, &MODULE_SCALE);
    assert_non_null(m);
    assert_int_equal(fake.compiles, 2);
    assert_string_equal(fake.option, "--gpu-architecture=sm_80");
    d->ops->unload(d, m);
    d->ops->close(d);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void refused_source_is_shown(void **state)
{
    Fixture *f = *state;
    Device *d = opened(f);
    fake.compile_status = NVRTC_ERROR_COMPILATION;
    fake.log = "scale.cu(3): error: that is no CUDA\n";
    assert_null(d->ops->load(d, &MODULE_SCALE));
    expect_error(f, E0604, "that is no CUDA\n    3 | {");
}

static void a_compiler_that_breaks_is_quoted(void **state)
{
    Fixture *f = *state;
    Device *d = opened(f);
    fake.compile_status = 7;
    fake.log = "nvrtc: error: failed to open libnvrtc-builtins.so";
    assert_null(d->ops->load(d, &MODULE_SCALE));
    expect_error(f, E0605, "failed to open libnvrtc-builtins.so");
}

static void unknown_architectures_are_told(void **state)
{
    Fixture *f = *state;
    f->device = open_fake(f->ctx, "sm_100", "");
    assert_null(f->device->ops->load(f->device, &MODULE_SCALE));
    expect_error(f, E0603, "does not support 'sm_100'; it supports sm_ 80, 90");
}

/* x is an input, so it is copied once in a run that launches twice. */
static void constant_memory_is_filled_before_a_launch(void **state)
{
    static const ModuleConstant constants[] = {{"table", 0, 2 * sizeof(float), false}};
    static const int reads[] = {0};
    Fixture *f = *state;
    Device *d = opened(f);
    ModuleKernel kernel = KERNELS[0];
    Module module = MODULE_SCALE;
    float result[N];
    kernel.constants = reads;
    kernel.n_constants = 1;
    module.kernels = &kernel;
    module.constants = constants;
    module.n_constants = 1;
    DevicePtr x = d->ops->alloc(d, N * sizeof(float)), y = d->ops->alloc(d, N * sizeof(float));
    LoadedModule *m = d->ops->load(d, &module);
    assert_non_null(m);
    assert_true(use_buffers(d, m, x, y, result));
    assert_true(fake.constant[0] == 0 && fake.constant[1] == 1);
    assert_int_equal(fake.fills, 1);
    ModuleConstant temp = constants[0];
    temp.changes = true;
    module.constants = &temp;
    assert_true(use_buffers(d, m, x, y, result));
    assert_int_equal(fake.fills, 3);
    d->ops->unload(d, m);
    d->ops->free(d, x);
    d->ops->free(d, y);
}

static void launches_go_to_the_stream_in_use(void **state)
{
    Fixture *f = *state;
    Device *d = opened(f);
    int other;
    void *stream = &other;
    float result[N];
    DevicePtr x = d->ops->alloc(d, N * sizeof(float)), y = d->ops->alloc(d, N * sizeof(float));
    LoadedModule *m = d->ops->load(d, &MODULE_SCALE);
    d->ops->use_stream(d, &stream);
    assert_ptr_not_equal(stream, &other);
    assert_true(use_buffers(d, m, x, y, result));
    assert_ptr_equal(fake.stream, &other);
    void *own = stream;
    d->ops->use_stream(d, &stream);
    assert_ptr_equal(stream, &other);
    assert_true(use_buffers(d, m, x, y, result));
    assert_ptr_equal(fake.stream, own);
    d->ops->unload(d, m);
    d->ops->free(d, x);
    d->ops->free(d, y);
}

static LoadedModule *load_with_shared(Device *d, ModuleKernel *kernel, Module *module,
                                      int64_t fixed, int64_t dynamic)
{
    *kernel = KERNELS[0];
    *module = MODULE_SCALE;
    kernel->shared_static = fixed;
    kernel->shared_dynamic = dynamic;
    module->kernels = kernel;
    return d->ops->load(d, module);
}

static void much_shared_memory_is_asked_for(void **state)
{
    Fixture *f = *state;
    Device *d = opened(f);
    ModuleKernel kernel;
    Module module;
    LoadedModule *m = load_with_shared(d, &kernel, &module, 0, 48 * 1024);
    assert_int_equal(fake.max_dynamic, 0);
    d->ops->unload(d, m);
    m = load_with_shared(d, &kernel, &module, 1024, 226 * 1024);
    assert_non_null(m);
    assert_int_equal(fake.max_dynamic, 226 * 1024);
    d->ops->unload(d, m);
    assert_null(load_with_shared(d, &kernel, &module, 1024, 227 * 1024));
    expect_error(f, E0617,
                 "needs 233472 bytes of shared memory per block, but 'Fake GPU 1' has 232448");
}

/* ---- launching ------------------------------------------------------------------------------- */

static bool run_module(Device *d, const Module *module, int64_t size)
{
    LoadedModule *m = d->ops->load(d, module);
    float none = 0;
    const void *const scalars[] = {&none};
    const DevicePtr buffers[] = {(DevicePtr)(uintptr_t)&none, (DevicePtr)(uintptr_t)&none};
    RunArguments args = {&size, scalars, buffers};
    bool ok = m && d->ops->run(d, m, &args);
    d->ops->unload(d, m);
    return ok;
}

static bool run_size(Device *d, bool wide, int64_t size)
{
    Module module = MODULE_SCALE;
    fake.wide = wide;
    module.kernels = wide ? WIDE_KERNELS : KERNELS;
    return run_module(d, &module, size);
}

static void indices_have_the_width_of_the_kernel(void **state)
{
    Fixture *f = *state;
    Device *d = opened(f);
    assert_true(run_size(d, false, 1));
    assert_true(run_size(d, true, 1));
    assert_int_equal(fake.launches, 4);
    assert_true(run_size(d, true, ((int64_t)1 << 31) + 5));
    assert_int_equal(fake.n, ((int64_t)1 << 31) + 5);
    assert_int_equal(fake.t, 1);
    assert_true(run_size(d, false, INT32_MAX));
    assert_int_equal(fake.n, INT32_MAX);
    assert_false(run_size(d, false, (int64_t)1 << 31));
    expect_error(f, E0618, "'N' is 2147483648, but this kernel uses 32-bit indices");
}

/* What is launched keeps every limit of its indices, also those of products. */
static void limits_of_sizes_are_kept(void **state)
{
    static const int n = 1;
    static const VmRegister registers[] = {{VM_I64, true}, {VM_I64, true}};
    static const VmInst code[] = {{.op = VM_STOP}};
    static const VmFunction itself = {.name = "a limit",
                                      .n_registers = 2,
                                      .n_inputs = 1,
                                      .n_outputs = 1,
                                      .n_code = 1,
                                      .registers = registers,
                                      .inputs = &n,
                                      .outputs = &n,
                                      .code = code,
                                      .spans = HOST_SPANS,
                                      .steps = HOST_STEPS,
                                      .axes = {{-1, -1, -1, -1, -1, -1, -1}}};
    static const ModuleLimit limit = {"N", &itself};
    Fixture *f = *state;
    Device *d = opened(f);
    Module module = MODULE_SCALE;
    module.limits = &limit;
    module.n_limits = 1;
    assert_true(run_module(d, &module, INT32_MAX));
    int before = fake.launches;
    assert_false(run_module(d, &module, (int64_t)INT32_MAX + 1));
    assert_int_equal(fake.launches, before);
    expect_error(f, E0618, "N is larger, but this kernel uses 32-bit indices");
}

static void empty_grids_launch_nothing(void **state)
{
    Device *d = opened(*state);
    assert_true(run_size(d, false, 0));
    assert_int_equal(fake.launches, 0);
}

static void grids_have_limits(void **state)
{
    Fixture *f = *state;
    assert_false(run_size(opened(f), true, (int64_t)1 << 36));
    expect_error(f, E0617,
                 "would launch a grid of 2147483648 x 1 x 1 blocks, but CUDA allows at most "
                 "2147483647 in x");
}

/* ---- tensor maps ----------------------------------------------------------------------------- */

/* A shape of 6 x 16 for any sizes. */
static const VmRegister SHAPE_REGISTERS[] = {{VM_I64, true}, {VM_I64, true}};
static const VmConstant SHAPE_CONSTANTS[] = {{0, {.i64 = 6}}, {1, {.i64 = 16}}};
static const VmConstant LONG_CONSTANTS[] = {{0, {.i64 = 6}}, {1, {.i64 = (int64_t)1 << 31}}};
static const VmInst SHAPE_CODE[] = {{.op = VM_STOP}};
static const Span SHAPE_SPANS[1];
static const int SHAPE_STEPS[1];
static const int SHAPE_OUTPUTS[] = {0, 1};

static bool make_map_of(Device *d, const VmConstant *constants, uint64_t at, int span, DType type)
{
    VmFunction shape = {.name = "shape",
                        .n_registers = 2,
                        .n_constants = 2,
                        .n_code = 1,
                        .n_outputs = 2,
                        .registers = SHAPE_REGISTERS,
                        .constants = constants,
                        .code = SHAPE_CODE,
                        .spans = SHAPE_SPANS,
                        .steps = SHAPE_STEPS,
                        .outputs = SHAPE_OUTPUTS,
                        .axes = {{-1, -1, -1, -1, -1, -1, -1}}};
    ModuleBuffer buffer = {.name = "x", .type = DT_F32, .rank = 2, .shape = &shape};
    Module module = {.n_buffers = 1, .buffers = &buffer};
    ModuleMap map = {.buffer = 0, .box = {4, 8}, .span = span, .type = type};
    const int64_t sizes[] = {0};
    const DevicePtr buffers[] = {at};
    TensorMap made;
    return tensor_map_make((CudaDevice *)d, &module, &map,
                           &(RunArguments){.sizes = sizes, .buffers = buffers}, &made);
}

static bool make_map(Device *d, const VmConstant *constants, uint64_t at, int span)
{
    return make_map_of(d, constants, at, span, DT_U32);
}

static void tensor_maps_have_the_last_axis_first(void **state)
{
    static const int spans[] = {0, 32, 64, 128};
    Device *d = opened(*state);
    for (int i = 0; i < 4; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "16:64/1*8 6:384/1*4 type 2 swizzle %d", i);
        assert_true(make_map(d, SHAPE_CONSTANTS, 4096, spans[i]));
        assert_string_equal(fake.map, wanted);
    }
}

/* Those of updates say what the elements are, as cuda.h numbers types. */
static void tensor_maps_have_the_type_of_elements(void **state)
{
    static const struct {
        DType type;
        int number;
    } types[] = {{DT_U8, 0},  {DT_U16, 1}, {DT_U32, 2}, {DT_I32, 3}, {DT_U64, 4},
                 {DT_I64, 5}, {DT_F16, 6}, {DT_F32, 7}, {DT_BF16, 9}};
    Device *d = opened(*state);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "16:64/1*8 6:384/1*4 type %d swizzle 0", types[i].number);
        assert_true(make_map_of(d, SHAPE_CONSTANTS, 4096, 0, types[i].type));
        assert_string_equal(fake.map, wanted);
    }
}

static void tensor_maps_need_aligned_tensors(void **state)
{
    Fixture *f = *state;
    assert_false(make_map(opened(f), SHAPE_CONSTANTS, 4104, 0));
    expect_error(f, E0617, "cannot read 'x': it does not begin at a multiple of 16 bytes");
}

static void tensor_maps_have_coordinates_of_32_bits(void **state)
{
    Fixture *f = *state;
    assert_false(make_map(opened(f), LONG_CONSTANTS, 4096, 0));
    expect_error(f, E0617, "an axis has no elements, or more than 2147483136");
}

static void old_drivers_make_no_tensor_maps(void **state)
{
    Fixture *f = *state;
    fake.no_maps = true;
    assert_false(make_map(opened(f), SHAPE_CONSTANTS, 4096, 0));
    expect_error(f, E0617, "the driver makes no tensor maps");
}

static void the_driver_may_refuse_a_tensor_map(void **state)
{
    Fixture *f = *state;
    assert_false(make_map(opened(f), SHAPE_CONSTANTS, 0, 0));
    expect_error(f, E0617, "the driver refuses its tensor map");
}

static void a_failed_kernel_points_to_the_simulator(void **state)
{
    Fixture *f = *state;
    Device *d = opened(f);
    fake.fail_at = fake.calls + 2; /* after cudaSetDevice */
    fake.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
    fake.sticky = true;
    assert_false(d->ops->sync(d));
    expect_error(f, E0615, "an illegal memory access was encountered (cudaErrorIllegalAddress)");
    expect_error(f, E0615, "--device sim");
    assert_false(d->ops->mark(d, 0));
    expect_error(f, E0615, "an earlier kernel failed");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_device_runs_a_module),
        TEST(constant_memory_is_filled_before_a_launch),
        TEST(any_call_may_fail),
        TEST(all_calls_may_fail_from_one_on),
        TEST(describes_the_gpu),
        TEST(names_other_architectures_plainly),
        TEST(no_driver),
        TEST(an_old_driver),
        TEST(no_gpu),
        TEST(too_few_gpus),
        TEST(auto_always_finds_a_device),
        TEST(auto_warns_of_a_broken_library),
        TEST(cuda_says_why_not),
        TEST(no_memory),
        TEST(empty_buffers_have_an_address),
        TEST(flushing_writes_twice_the_cache),
        TEST(compiled_code_is_cached),
        TEST(refused_source_is_shown),
        TEST(a_compiler_that_breaks_is_quoted),
        TEST(unknown_architectures_are_told),
        TEST(launches_go_to_the_stream_in_use),
        TEST(much_shared_memory_is_asked_for),
        TEST(indices_have_the_width_of_the_kernel),
        TEST(limits_of_sizes_are_kept),
        TEST(empty_grids_launch_nothing),
        TEST(tensor_maps_have_the_last_axis_first),
        TEST(tensor_maps_have_the_type_of_elements),
        TEST(tensor_maps_need_aligned_tensors),
        TEST(tensor_maps_have_coordinates_of_32_bits),
        TEST(old_drivers_make_no_tensor_maps),
        TEST(the_driver_may_refuse_a_tensor_map),
        TEST(grids_have_limits),
        TEST(a_failed_kernel_points_to_the_simulator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
