/* nvrtc.c - Compiles CUDA C with NVRTC, directly to machine code (CUBIN) or to PTX.
 *
 * Straight to CUBIN because the driver's own compiler, which takes PTX, is older than the toolkit's
 * and is paid for at every start.  Nothing here needs a GPU or a driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/target/target.h"
#include "runtime/cuda/nvrtc.h"

static bool refuse_call(Context *ctx, const NvrtcApi *api, int status, const char *call)
{
    diag_error(ctx, E0605, span_none(), "%s of '%s' failed: %s", call, api->path,
               api->nvrtcGetErrorString(status));
    return false;
}

#define NVRTC_TRY(name, ...) nvrtc_check(ctx, api, api->name(__VA_ARGS__), #name)

static bool nvrtc_check(Context *ctx, const NvrtcApi *api, int status, const char *call)
{
    return status == NVRTC_OK || refuse_call(ctx, api, status, call);
}

bool nvrtc_settings(Context *ctx, const NvrtcApi *api, const char *arch, NvrtcKind kind,
                    NvrtcSettings *out)
{
    const char *suffix = target_suffix(arch);
    int minor = 0;
    if (!suffix) {
        diag_error(ctx, E0606, span_none(), TARGET_EXPECTED, arch);
        return false;
    }
    if (!NVRTC_TRY(nvrtcVersion, &out->major, &minor))
        return false;
    snprintf(out->version, sizeof out->version, "%d.%d", out->major, minor);
    snprintf(out->arch, sizeof out->arch, "--gpu-architecture=%s%s",
             kind == NVRTC_CUBIN ? "sm_" : "compute_", suffix);
    out->options[0] = out->arch;
    out->options[1] = "--std=c++17";
    return true;
}

/* `known`: "70, 80". */
static bool refuse_arch(Context *ctx, const NvrtcApi *api, const NvrtcSettings *settings,
                        const char *arch, const char *known)
{
    diag_error(ctx, E0603, span_none(),
               "NVRTC %s ('%s') does not support '%s'; it supports sm_ %s; install another "
               "version, or choose one of these with --arch",
               settings->version, api->path, arch, known);
    return false;
}

/* Asked before compiling, so that an unknown architecture is not taken for a mistake of tirc. */
static bool check_arch(Context *ctx, const NvrtcApi *api, const NvrtcSettings *settings,
                       const char *arch)
{
    int known[256], n = 0;
    long number = strtol(target_suffix(arch), NULL, 10);
    if (!NVRTC_TRY(nvrtcGetNumSupportedArchs, &n))
        return false;
    if (n < 0 || n > (int)(sizeof known / sizeof *known))
        return true; /* NVRTC itself will say */
    if (!NVRTC_TRY(nvrtcGetSupportedArchs, known))
        return false;
    StrBuf list = strbuf_new(ctx->arena);
    for (int i = 0; i < n; i++) {
        if (known[i] == number)
            return true;
        strbuf_addf(&list, "%s%d", i ? ", " : "", known[i]);
    }
    return refuse_arch(ctx, api, settings, arch, list.text);
}

enum { FIRST_WITH_CLUSTERS = 90 };

/* The text is all that NVRTC gets, so what it says of clusters decides. */
static bool check_clusters(Context *ctx, const NvrtcJob *job)
{
    if (strtol(target_suffix(job->arch), NULL, 10) >= FIRST_WITH_CLUSTERS ||
        !strstr(job->source, "__cluster_dims__"))
        return true;
    diag_error(
        ctx, E0607, span_none(),
        "'%s' runs thread blocks in clusters, which GPUs have from sm_90 on, but is compiled "
        "for '%s'; choose a schedule that binds no loop to cluster.rank",
        job->name, job->arch);
    return false;
}

/* The log of a compilation, in the context's arena; empty when NVRTC does not give it. */
static const char *get_log(Context *ctx, const NvrtcApi *api, void *program)
{
    size_t bytes = 0;
    if (api->nvrtcGetProgramLogSize(program, &bytes) != NVRTC_OK || bytes == 0)
        return "";
    char *log = arena_alloc(ctx->arena, bytes + 1);
    return api->nvrtcGetProgramLog(program, log) == NVRTC_OK ? log : "";
}

static void *refuse_memory(Context *ctx, size_t bytes)
{
    diag_error(ctx, E0600, span_none(), "out of memory for %zu bytes of compiled code", bytes);
    return NULL;
}

static void *get_image(Context *ctx, const NvrtcApi *api, void *program, NvrtcKind kind,
                       size_t *bytes)
{
    bool sized = kind == NVRTC_PTX ? NVRTC_TRY(nvrtcGetPTXSize, program, bytes)
                                   : NVRTC_TRY(nvrtcGetCUBINSize, program, bytes);
    if (!sized)
        return NULL;
    char *image = malloc(*bytes + 1);
    if (!image)
        return refuse_memory(ctx, *bytes);
    image[*bytes] = '\0';
    bool got = kind == NVRTC_PTX ? NVRTC_TRY(nvrtcGetPTX, program, image)
                                 : NVRTC_TRY(nvrtcGetCUBIN, program, image);
    if (got)
        return image;
    free(image);
    return NULL;
}

/* From this version on NVRTC keeps what it has compiled, and for that starts the driver where there
 * is one: 0.25 s on a machine with a GPU. tirc has a cache of its own (runtime/cache.h). */
enum { HAS_NO_CACHE = 13 };

static void *compile(Context *ctx, const NvrtcApi *api, const NvrtcJob *job,
                     const NvrtcSettings *settings, void *program, size_t *bytes)
{
    const char *options[NVRTC_OPTIONS + 2];
    int n = NVRTC_OPTIONS;
    memcpy(options, settings->options, sizeof settings->options);
    if (job->line_info)
        options[n++] = "--generate-line-info";
    if (settings->major >= HAS_NO_CACHE)
        options[n++] = "--no-cache";
    int status = api->nvrtcCompileProgram(program, n, options);
    if (status == NVRTC_OK)
        return get_image(ctx, api, program, job->kind, bytes);
    const char *log = get_log(ctx, api, program);
    if (status == NVRTC_ERROR_COMPILATION) {
        nvrtc_report_log(ctx, job, log);
        return NULL;
    }
    refuse_call(ctx, api, status, "nvrtcCompileProgram");
    if (*log)
        diag_note(ctx, span_none(), "%s", log);
    return NULL;
}

void *nvrtc_build(Context *ctx, const NvrtcApi *api, const NvrtcJob *job, size_t *bytes)
{
    NvrtcSettings settings;
    void *program = NULL;
    if (!nvrtc_settings(ctx, api, job->arch, job->kind, &settings) ||
        !check_arch(ctx, api, &settings, job->arch) || !check_clusters(ctx, job) ||
        !NVRTC_TRY(nvrtcCreateProgram, &program, job->source, job->name, 0, NULL, NULL))
        return NULL;
    void *image = compile(ctx, api, job, &settings, program, bytes);
    if (!NVRTC_TRY(nvrtcDestroyProgram, &program)) {
        free(image);
        return NULL;
    }
    return image;
}

bool nvrtc_compile(Context *ctx, const NvrtcRequest *request, const void **image, size_t *bytes)
{
    NvrtcApi api = {0};
    NvrtcJob job = {request->source, arena_printf(ctx->arena, "%s.cu", request->name),
                    request->arch, request->kind, request->lines == NVRTC_LINE_INFO};
    if (!nvrtc_load(ctx, &api))
        return false;
    void *built = nvrtc_build(ctx, &api, &job, bytes);
    if (!built)
        return false;
    if (request->kind == NVRTC_PTX && *bytes > 0) /* NVRTC counts the terminator */
        *bytes = strnlen(built, *bytes);
    char *copy = arena_alloc(ctx->arena, *bytes + 1);
    memcpy(copy, built, *bytes);
    free(built);
    *image = copy;
    return true;
}
