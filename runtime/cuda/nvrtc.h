/* nvrtc.h - Compiles CUDA text to machine code (internal to runtime). */
#ifndef TIRC_RUNTIME_CUDA_NVRTC_H
#define TIRC_RUNTIME_CUDA_NVRTC_H

#include "runtime/cuda/api.h"
#include "runtime/device.h"

/* One compilation. `arch` may be written for the other kind: sm_90a and compute_90a name one
 * architecture. */
typedef struct {
    const char *source, *name; /* the name that messages give the source, "matmul.cu" */
    const char *arch;
    NvrtcKind kind;
    bool line_info; /* the image says which lines of the source its instructions come from */
} NvrtcJob;

/* The inputs of a compilation besides the source: NVRTC's version, and its options in order. */
enum { NVRTC_OPTIONS = 2 };
typedef struct {
    int major; /* of the version */
    char version[32], arch[48];
    const char *options[NVRTC_OPTIONS];
} NvrtcSettings;

/* False after E0605, or E0606 when `arch` is not an architecture. The options point into `out`. */
bool nvrtc_settings(Context *ctx, const NvrtcApi *api, const char *arch, NvrtcKind kind,
                    NvrtcSettings *out);

/* The image in memory that the caller frees, or NULL after E0603 to E0606. */
void *nvrtc_build(Context *ctx, const NvrtcApi *api, const NvrtcJob *job, size_t *bytes);

/* Shows a log's errors against the source, as one E0604 with notes. */
void nvrtc_report_log(Context *ctx, const NvrtcJob *job, const char *log);

#endif
