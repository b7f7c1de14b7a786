/* device.c - Chooses a device.
 *
 * `auto` means the GPU where there is one. Without a GPU, it chooses the simulator silently, and
 * DeviceInfo says so. A GPU that cannot be used gives a warning, because its owner expects it to
 * run. */
#include "runtime/device.h"

const char *device_kind_name(DeviceKind kind)
{
    static const char *const names[] = {"auto", "cuda", "sim"};
    return names[kind];
}

/* Is `code` the plain absence of a GPU? */
static bool is_absence(ErrorCode code)
{
    return code == E0612 || code == E0613 || (code == E0610 && !cuda_gpu_is_likely());
}

static Device *open_any(Context *ctx, const DeviceOptions *options)
{
    DiagMark before = diag_mark(ctx);
    Device *device = device_open_cuda(ctx, options);
    if (device)
        return device;
    const Diag *error = before.last ? before.last->next : ctx->first; /* NULL: more than are kept */
    diag_forget(ctx, before);
    if (error && !is_absence(error->code)) {
        diag_warning(ctx, error->code, span_none(), "%s", error->message);
        diag_note(ctx, span_none(),
                  "the simulator is used instead; --device cuda makes this an error");
    }
    return device_open_sim(ctx, options);
}

Device *device_open(Context *ctx, const DeviceOptions *options)
{
    switch (options->kind) {
    case DEVICE_AUTO: return open_any(ctx, options);
    case DEVICE_CUDA: return device_open_cuda(ctx, options);
    case DEVICE_SIM: return device_open_sim(ctx, options);
    }
    return NULL;
}
