/* device.h - Declares one interface for everything that can run a module: the GPU and the
 * simulator. */
#ifndef TIRC_RUNTIME_DEVICE_H
#define TIRC_RUNTIME_DEVICE_H

#include "ir/diag.h"
#include "runtime/module.h"
#include "runtime/random.h"

typedef struct Device Device;
typedef struct LoadedModule LoadedModule; /* a module ready to run on one device */

typedef enum { DEVICE_AUTO, DEVICE_CUDA, DEVICE_SIM } DeviceKind;
const char *device_kind_name(DeviceKind kind); /* "cuda" */

typedef struct {
    char name[128];  /* "NVIDIA H200", "simulator" */
    DeviceKind kind; /* of a device that is open: not AUTO */
    char arch[16];   /* "sm_90a"; what the module is compiled for */
    int capability;  /* 90 for compute capability 9.0; 0: not a GPU */
    int multiprocessors, clock_khz, warp_size;
    int memory_clock_khz, memory_bus_bits; /* 0 where the GPU does not say */
    int threads_per_multiprocessor, blocks_per_multiprocessor, registers_per_multiprocessor,
        shared_reserved_per_block;
    int64_t shared_per_multiprocessor;
    int64_t memory_bytes, l2_bytes, max_shared_per_block;
} DeviceInfo;

typedef uint64_t DevicePtr; /* an address in the device's memory; 0 is none */

/* One argument set of a run, in the order of the module's tables. */
typedef struct RunArguments {
    const int64_t *sizes;       /* [n_sizes], constants included */
    const void *const *scalars; /* [n_scalars], each to a value of its type */
    const DevicePtr *buffers;   /* [n_buffers], temps included */
} RunArguments;

/* The functions of a device. All but close return false (or 0, NULL) after diag_error; nothing is
 * printed. */
typedef struct DeviceOps {
    void (*close)(Device *d);
    DevicePtr (*alloc)(Device *d, size_t bytes); /* aligned to 256 bytes */
    void (*free)(Device *d, DevicePtr p);
    bool (*write)(Device *d, DevicePtr to, const void *from, size_t bytes);
    bool (*read)(Device *d, void *to, DevicePtr from, size_t bytes);
    bool (*fill)(Device *d, DevicePtr to, int byte, size_t bytes);
    /* compiles; cached on disk by content */
    LoadedModule *(*load)(Device *d, const Module *module);
    void (*unload)(Device *d, LoadedModule *m);
    /* asynchronous where it can be */
    bool (*run)(Device *d, LoadedModule *m, const RunArguments *args);
    bool (*sync)(Device *d);
    /* Exchanges the stream of the device with *stream; NULL: it has none. */
    void (*use_stream)(Device *d, void **stream);
    /* Time between two marks on the device in milliseconds: mark(0), work, mark(1), elapsed. */
    bool (*mark)(Device *d, int which);
    bool (*elapsed)(Device *d, double *ms);
    bool (*flush_l2)(Device *d); /* makes the next run start with a cold cache */
    /* The last writer of the element, where the latest run was of its module; NULL or false:
     * unknown. */
    bool (*writer)(Device *d, const VmElement *element, VmFault *who, VmPlace *store);
} DeviceOps;

struct Device {
    const DeviceOps *ops;
    Context *ctx;
    DeviceInfo info;
    /* the fault of the last run, if the device detects faults (the simulator); kind FAULT_NONE:
     * none */
    VmFault fault;
};

typedef struct {
    DeviceKind kind;
    int ordinal;      /* of the GPU */
    const char *arch; /* overrides the GPU's own, or NULL */
    /* NULL: $TIRC_CACHE_DIR, $XDG_CACHE_HOME/tirc, ~/.cache/tirc; "": no cache */
    const char *cache_dir;
} DeviceOptions;

/* NULL with a diagnostic when the device cannot be had. AUTO takes the GPU if there is one, else
 * the simulator. The caller closes it with device->ops->close. */
Device *device_open(Context *ctx, const DeviceOptions *options);

/* The two kinds behind device_open. */
Device *device_open_cuda(Context *ctx, const DeviceOptions *options);
Device *device_open_sim(Context *ctx, const DeviceOptions *options);
/* Does the driver see a GPU?  So it may be that only CUDA's runtime library is missing. */
bool cuda_gpu_is_likely(void);

/* A run on the simulator in which somebody else takes part: for each launch `take` is called, which
 * runs what it wants of it by sim_run_blocks.  False after a diagnostic, also where `take` gave
 * false (after one of its own, or of sim_run_blocks). */
typedef struct SimLaunch SimLaunch;
typedef bool SimTake(void *user, const SimLaunch *launch);
bool sim_run_with(Device *sim, LoadedModule *m, const RunArguments *args, SimTake *take,
                  void *user);
const VmLaunch *sim_launch_of(const SimLaunch *launch);
bool sim_run_blocks(const SimLaunch *launch, const VmRunOptions *options);

/* The output format of NVRTC. */
typedef enum { NVRTC_PTX, NVRTC_CUBIN } NvrtcKind;
/* With NVRTC_LINE_INFO profilers and debuggers find the lines of the source, or those that its
 * #line directives name. */
typedef enum { NVRTC_PLAIN, NVRTC_LINE_INFO } NvrtcLines;
typedef struct {
    const char *source;
    const char *name; /* the file that messages name, without ".cu" */
    const char *arch; /* "sm_90a" or "compute_90a", which name the same */
    NvrtcKind kind;
    NvrtcLines lines;
} NvrtcRequest;

/* NVRTC without a device. The result lives in the context's arena; PTX is terminated. False after
 * diag_error: E0601 to E0607, a compiler's log shown against the source. */
bool nvrtc_compile(Context *ctx, const NvrtcRequest *request, const void **image, size_t *bytes);

/* Loads NVRTC on a separate thread and compiles an empty kernel, which spares a later compilation
 * the start-up cost of the process. NULL if no thread can be started, which only costs time. */
typedef struct NvrtcWarmup NvrtcWarmup;
NvrtcWarmup *nvrtc_warmup_begin(const char *arch);
/* Waits for the thread. NULL is allowed. */
void nvrtc_warmup_end(NvrtcWarmup *w);

/* Compiles a module for the architecture of `options` into the cache, for a GPU that loads it later
 * in this process or another. False after a diagnostic. */
bool cuda_compile_ahead(Context *ctx, const DeviceOptions *options, const Module *module);

/* ---- above a device -------------------------------------------------------------------------- */

/* Buffers and scalars of one module on one device, filled with seeded random data. */
typedef struct Workload Workload;
/* sizes: one value for each module size. NULL after a diagnostic. */
Workload *workload_new(Device *d, const Module *m, const int64_t *sizes, uint64_t seed);
/* The same, but inputs that are given are copied: buffers from addresses in this process's memory,
 * 0 where they are random, and scalars, NULL where they are random. The sizes are those of
 * `given`. */
Workload *workload_new_given(Device *d, const Module *m, const RunArguments *given, uint64_t seed);
/* The same with small integers, as `from` says, in the place of reals and of integers that are no
 * subscripts: inputs on which sums and products are exact (runtime/random.h). */
Workload *workload_new_small(Device *d, const Module *m, const int64_t *sizes, uint64_t seed,
                             const SmallIntegers *from);
/* The inputs of workload_new_small alone, in the host's memory: for verify_count, not for a run. */
Workload *workload_on_host(Device *d, const Module *m, const int64_t *sizes, uint64_t seed,
                           const SmallIntegers *from);
/* The same with gentle reals: each divided by the last extent of its buffer, rounded up to a power
 * of 2, and 1 added on the diagonal of matrices, which makes them well conditioned. */
Workload *workload_new_gentle(Device *d, const Module *m, const int64_t *sizes, uint64_t seed);
/* The same data as `of`, for a module of the same program. The two share the host's copy of the
 * inputs: `of` must not be freed before the last run. */
Workload *workload_like(const Workload *of, const Module *m);
void workload_free(Workload *w);
/* Inputs and inouts rewritten with the seed's data, outputs poisoned with bytes that read as NaN or
 * an odd integer. */
bool workload_reset(Workload *w);
const RunArguments *workload_arguments(const Workload *w);
/* Elements of buffer `index`, and its dimensions. */
int64_t workload_elements(const Workload *w, int index);
const int64_t *workload_dims(const Workload *w, int index);
/* The host copy of an input as it was generated (in its own type). */
const void *workload_input(const Workload *w, int index);
/* Bytes of all parameters: what the kernel must at least move. */
int64_t workload_bytes(const Workload *w);

typedef struct {
    int runs, warmup; /* 0: chosen from the warm-up's times, about `total_ms` a contender */
    double total_ms;  /* 0: 300, and 30 on the simulator */
    double worth_ms;  /* if one run of each takes longer, one sample must do; 0: no limit */
    /* each sample is one run after flush_l2; else a burst of runs, divided by their number */
    bool cold_l2;
} BenchOptions;
typedef struct {
    double median_ms, min_ms, p95_ms;
    int runs;
    bool cold_l2;
    double *ms; /* each sample, in order; in the context's arena */
} BenchResult;
/* One contender of an interleaved measurement. */
typedef struct {
    const char *name;
    bool (*run)(void *user);
    void *user;
    BenchResult result;
} Contender;
/* Runs the contenders in turn, A B A B ..., and fills their results. False after the diagnostic of
 * whatever failed. */
bool bench_run(Device *d, Contender *contenders, int n, const BenchOptions *options);

#endif
