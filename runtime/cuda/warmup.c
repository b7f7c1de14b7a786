/* warmup.c - Initializes NVRTC on a separate thread.
 *
 * A process pays for its first compilation before it begins: 100 MB of library are mapped and
 * touched page by page, tables of options and passes are built. That is as long as tirc takes to
 * schedule and lower a product, and nothing in it depends on the program. A kernel without
 * statements makes NVRTC do it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/nvrtc.h"

struct NvrtcWarmup {
    pthread_t thread;
    char arch[48];
};

/* Errors are ignored: they occur again in the actual compilation, which reports them. */
static void compile_nothing(Context *ctx, const char *arch)
{
    jmp_buf guard;
    NvrtcApi api = {0};
    NvrtcJob job = {"extern \"C\" __global__ void nothing() {}", "nothing.cu", arch, NVRTC_CUBIN,
                    false};
    size_t bytes;
    if (setjmp(guard))
        return;
    ctx->guard = &guard;
    if (nvrtc_load(ctx, &api))
        free(nvrtc_build(ctx, &api, &job, &bytes));
}

static void *warm_up(void *user)
{
    NvrtcWarmup *w = user;
    Context *ctx = ctx_new(0);
    if (ctx)
        compile_nothing(ctx, w->arch);
    ctx_free(ctx);
    return NULL;
}

NvrtcWarmup *nvrtc_warmup_begin(const char *arch)
{
    NvrtcWarmup *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    strncpy(w->arch, arch, sizeof w->arch - 1);
    if (pthread_create(&w->thread, NULL, warm_up, w) == 0)
        return w;
    free(w);
    return NULL;
}

void nvrtc_warmup_end(NvrtcWarmup *w)
{
    if (!w)
        return;
    pthread_join(w->thread, NULL);
    free(w);
}
